"""SciMult's five sources of training pairs, as training tasks (SciMult 3.1, 4.1, appendix A.2, Table A1).

    scimult/pretrain_cs_journal, _biomedicine_mesh, _coarse    paper -> one of its labels (name, definition)     CLF
    scimult/pretrain_citation                                  paper -> a paper it cites                         PRX
    scimult/pretrain_search                                    query -> a paper that was clicked                 QRY

A row is a positive pair with its query's hard negative, or none. All three texts go the way of their task: an expert, an
instruction, serves queries and candidates alike. Sources are read from files in DPR's form, streamed (`data/readers/scimult.py`);
labels of real papers become such files by `scirep data pairs` (`data/readers/maple.py`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from scirep_core.data.readers.scimult import SEP, dpr_rows
from scirep_core.data.text import Recipe
from scirep_core.kit.errors import ConfigError, check_name
from scirep_core.kit.formats import Format
from scirep_core.kit.records import Paper
from scirep_core.training.data import READING, Reading, Shelf, TrainTask

if TYPE_CHECKING:
    from scirep_core.encoders.trunk.tokens import Tokens

SOURCES: dict[str, Format] = {
    "scimult/pretrain_cs_journal": "CLF", "scimult/pretrain_biomedicine_mesh": "CLF", "scimult/pretrain_coarse": "CLF",
    "scimult/pretrain_citation": "PRX", "scimult/pretrain_search": "QRY",
}  # fmt: skip
"""Source -> its task as a format of SciRepEval: classification, link prediction, search."""


def pair_tasks(
    names: Sequence[str],
    root: Path,
    tokens: Tokens,
    reading: Reading = READING,
    *,
    split: str = "train",
    cap: int | None = None,
    file: Path | None = None,
) -> list[TrainTask]:
    """Return sources of SciMult's training, in the order named, over one collection of documents.

    Args:
        names: of `SOURCES`.
        root: folder that holds `scimult/pretraining/`.
        tokens: the encoder's tokenizer.
        split: train or validation.
        reading: its recipe and max_length; SciMult's settings have 256.
        cap: most pairs of each source; the first ones.
        file: where token ids go, see `Shelf`.

    Raises ConfigError for an unknown source or split, DataError with file and line for what is malformed or not there.
    """
    for name in names:
        check_name("source of SciMult's training", name, SOURCES)
    if not names:
        raise ConfigError("there is nothing to train on: name a source")
    check_name("split", split, ("train", "validation"))
    shelf = Shelf(tokens, reading.max_length, file)
    rows = {name: _rows(name, root, split, shelf, reading.recipe, cap) for name in names}
    documents = shelf.documents()
    return [TrainTask(name, SOURCES[name], SOURCES[name], "triplet", documents, rows[name]) for name in names]


def _rows(name: str, root: Path, split: str, shelf: Shelf, recipe: Recipe, most: int | None) -> NDArray[np.int64]:
    format, part = SOURCES[name], name.partition("pretrain_")[2]
    path = root / "scimult" / "pretraining" / f"{part}_{'train' if split == 'train' else 'val'}.json"

    def number(text: str, asked: bool = False) -> int:
        title, _, abstract = text.partition(SEP)
        bare = asked and format == "QRY"
        return shelf.number(recipe.of_query(text) if bare else recipe.of_paper(Paper("", title, abstract)))

    def triplets() -> Iterator[tuple[int, int, int]]:
        for question, positives, negatives in dpr_rows(path):
            query = number(question, asked=True)
            negative = number(negatives[0]) if negatives else -1
            for positive in positives:
                yield query, number(positive), negative

    found = np.fromiter(chain.from_iterable(islice(triplets(), most)), np.int64).reshape(-1, 3)
    if not len(found):
        raise ConfigError(f"{name}: no pair was read of {path}. Leave it out, or look at its files")
    return found
