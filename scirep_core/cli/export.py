"""`scirep export`: an encoder as a folder in hub layout, safetensors, read again and compared before it is called done."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from scirep_core.cli.shared import argument, option
from scirep_core.kit.terminal import Json, print_json, say, warn

EXAMPLES = (
    "Examples: scirep export minilm --to models/minilm;  scirep export specter2 --to models/specter2;  "
    "scirep export runs/mtl_ctrl --to models/mtl_ctrl"
)


def export(
    encoder: Annotated[
        str, argument("A registered encoder, a model folder, a hub name org/model, or a SciMult file.ckpt.")
    ],
    to: Annotated[Path, option("A new folder, or one that an earlier export or training wrote.", "--to")],
    as_json: Json = False,
    base: Annotated[
        str, option("Of a SciMult file.ckpt: folder or hub name of the model whose tokenizer it takes.")
    ] = "",
) -> None:
    """Write an encoder to a folder that this book, transformers and (adapters) the adapters library read.

    Weights are safetensors. A pickle is read weights-only, and only if SCIREP_ALLOW_BIN=1 says so, or where it is what you
    name: a checkpoint of SciMult. The folder is loaded again, and must give the same vectors. Its README.md is a model card.
    """
    from scirep_core.encoders.models.export import elsewhere
    from scirep_core.encoders.models.export import export as written

    done = written(encoder, to, say, base)
    for note in (done.note, elsewhere(done.kind)):
        if note:
            warn(f"scirep: {note}")
    if as_json:
        print_json(done._asdict() | {"folder": str(done.folder), "formats": list(done.formats)})
        return
    kind = "as it is" if done.kind in ("plain", "transformers") else done.kind
    print(
        f"{done.folder}: {done.files} files, {done.bytes / 1e6:.1f} MB, {kind}, for {', '.join(done.formats)}; its vectors "
        f"differ by {done.largest_difference:.1e} at most. Use it by its folder: --encoder {done.folder}"
    )
