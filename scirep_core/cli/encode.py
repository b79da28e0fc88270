"""`scirep encode`: a file of papers to vectors, as one file through the vector store, or as a folder of any size."""

from __future__ import annotations

import json
import time
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import numpy as np

from scirep_core.cli.shared import of_scoring, one_of, option, showing
from scirep_core.kit.errors import ConfigError
from scirep_core.kit.store import atomic
from scirep_core.kit.terminal import Json, print_json, say

EXAMPLES = (
    "Examples: scirep encode --encoder minilm --format PRX --papers papers.jsonl --out vectors.npz;  "
    "scirep encode --encoder specter2 --format CLF --papers corpus.jsonl.gz --out vectors/;  "
    "scirep encode --encoder e5 --format PRX --papers papers.jsonl --dry-run"
)
ENGINES = ("local", "ray")
TEXT_FIELDS = ("title", "abstract", "venue", "year")


def encode(
    encoder: Annotated[str, option("A registered encoder, a model folder, or a hub name org/model.")],
    format: Annotated[str, option("Task format the vectors are for: CLF, RGN, PRX or QRY.")],
    papers: Annotated[Path, option("JSON lines {paper_id, title, abstract, ...}, or {paper_id, query}; .gz too.")],
    out: Annotated[Path | None, option("FILE.npz (ids and vectors), or a folder, for corpora of any size.")] = None,
    engine: Annotated[str, option("local, or ray (folders only).")] = "local",
    fields: Annotated[str, option("What of a paper is its text, of title, abstract, venue, year.")] = "title,abstract",
    to_find: Annotated[
        bool, option("The papers are what bare queries look for (prefixes of E5 and its like).", "--to-find")
    ] = False,
    float_years: Annotated[
        bool, option("Years as 2019.0, as SciRepEval's Search has them under --protocol paper.", "--float-years")
    ] = False,
    shard: Annotated[int, option("Of folders: papers in a shard.", min=1)] = 50_000,
    dtype: Annotated[str, option("Of the model: float32, bfloat16, float16, or tf32 on a GPU.")] = "float32",
    max_length: Annotated[int | None, option("Tokens kept of a text; default: what the model states.")] = None,
    device: Annotated[str | None, option("cpu, cuda, cuda:N; default: a GPU where there is one.")] = None,
    compiled: Annotated[
        bool, option("On a GPU: compile the layers first, which takes a minute.", "--compiled")
    ] = False,
    dry_run: Annotated[
        bool, option("Check the file, print the exact text of each record; load no model.", "--dry-run")
    ] = False,
    as_json: Json = False,
) -> None:
    """Encode papers; run it again after a break and it goes on where it stopped, on one kind of machine to the same bytes.

    A folder can be filled by any number of processes, on any machines that share it: run the same command in each.
    """
    from scirep_core.encoders import check_format
    from scirep_core.encoders.settings import Settings
    from scirep_core.encoders.vectors.encoding import Reading, records, scan
    from scirep_core.encoders.vectors.scale import Named

    check_format(format)
    one_of("engine", engine, ENGINES)
    reading = Reading(_fields(fields), to_find, float_years)
    named = Named(encoder, Settings(dtype, max_length, device, compiled))
    model = named.load()
    if dry_run:
        scan(papers, model.recipe, reading)  # as the real run: nothing is printed of a file it would refuse
        for record in records(papers, model.recipe, reading):
            print(json.dumps({"paper_id": record.paper_id, "text": record.text}, ensure_ascii=False))
        return
    if out is None:
        raise ConfigError("give --out FILE.npz or --out DIR, or --dry-run to see the texts")
    one_file = out.suffix == ".npz"
    if one_file and engine == "ray":
        raise ConfigError("--engine ray fills folders. Give --out DIR")
    if not one_file and out.suffix in (".npy", ".parquet", ".jsonl", ".json", ".csv", ".pt"):
        raise ConfigError(f"--out {out}: vectors are written as FILE.npz, or to a folder")
    began = time.perf_counter()
    if one_file:
        summary = _file(papers, out, model, format, reading)
    else:
        summary = _folder(papers, out, (named, model), format, reading, shard, engine == "ray")
    summary |= {"out": str(out), "encoder": model.name, "fingerprint": model.fingerprint, "format": format,
                "seconds": round(time.perf_counter() - began, 3)}  # fmt: skip
    if as_json:
        print_json(summary)
    else:
        print(f"{out}: {summary['papers']:,} vectors of {summary['dim']} numbers, {model.name} for {format}")
    _tell_speed(model)


def _tell_speed(model: Any) -> None:
    """Say how fast the trunk ran, where this process ran it: what was kept from before costs nothing and tells nothing."""
    trunk = getattr(model, "trunk", model) if getattr(model, "on_trunk", True) else model
    speed = getattr(trunk, "speed", None)
    if speed is not None and speed.documents:
        say(f"{speed.documents:,} texts encoded: {speed.line(trunk.device, trunk.settings.dtype)}")


def _fields(text: str) -> tuple[str, ...]:
    names = tuple(name.strip() for name in text.split(","))
    for name in names:
        one_of("fields", name, TEXT_FIELDS)
    if len(set(names)) < len(names):
        raise ConfigError(f"--fields {text!r}: a field is there twice")
    return names


def _file(papers: Path, out: Path, model: Any, format: Any, reading: Any) -> dict[str, Any]:
    from scirep_core.encoders.vectors.embed import embed
    from scirep_core.encoders.vectors.encoding import records, scan

    scan(papers, model.recipe, reading)  # every line is right, no id is there twice
    found = list(records(papers, model.recipe, reading))
    with showing() as show:
        vectors = embed(model, [record.text for record in found], format, partial(of_scoring(show), "texts"))
    with atomic(out) as stream:
        np.savez(stream, ids=np.array([record.paper_id for record in found]), vectors=vectors)
    return {"papers": len(found), "dim": int(vectors.shape[1])}


def _folder(
    papers: Path, out: Path, encoder: tuple[Any, Any], format: Any, reading: Any, shard: int, on_ray: bool
) -> dict[str, Any]:
    from scirep_core.encoders.vectors import encoding, scale
    from scirep_core.encoders.vectors import folder as vector_folder

    if on_ray:
        scale.import_ray()  # before anything is read
    named, model = encoder
    plan = encoding.plan(papers, out, model, format, reading, shard)
    with showing() as show:
        progress = partial(of_scoring(show), "texts")
        if on_ray:
            scale.encode_on_ray(papers, out, plan, named, format, progress)
        else:
            vector_folder.encode_folder(papers, out, plan, model, format, progress)
    return {"papers": plan.papers, "dim": vector_folder.read_manifest(out)["dim"], "shards": len(plan.parts)}
