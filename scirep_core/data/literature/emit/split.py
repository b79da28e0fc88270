"""Which papers are kept for evaluation, and what all writers of labelled papers share.

Every paper belongs to one split, decided by a hash of its number alone: no paper of the evaluation split is a query, a
labelled row, or (in cite_prediction) a text of a training set. Two kinds of paper are scarce and go to evaluation more often, so
that their tasks can be scored at 3,000 papers: papers of medicine (DRSM, MeSH diseases), and papers about organisms or
nature-inspired designs (Biomimicry).

A labelled task of the hub is two tables joined by id: texts (`scirepeval/<config>/evaluation`) and labels
(`scirepeval_test/<config>/{train,test}`). Texts are written in order of time, labels in a shuffled order, because SciRepEval's
cross-validation takes folds as they come.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from scirep_core.data.literature.emit.files import Column, Columns, scaled, write_oracle, write_papers, write_parquet
from scirep_core.data.literature.latents import NONE, Ints, Mask, stream
from scirep_core.data.literature.lexicon import FIELDS
from scirep_core.data.literature.model import Literature
from scirep_core.data.readers.scirepeval import TEXTS

TRAIN, VALIDATION, EVALUATION = 0, 1, 2
SHARES, SCARCE = (42, 8), (20, 5)  # per cent of training and validation
FEWEST = 3  # training papers of a class
LEAST = 60  # labelled papers of a small task, where the literature has them


class Parts(NamedTuple):
    """Positions of the labelled papers of a task, shuffled; train and test share none."""

    train: Ints
    test: Ints


class Target(NamedTuple):
    """A labelled task.

    Attributes:
        label: (papers, ...) the label of each paper of the literature; `kind` its column type.
        oracle: vectors of the papers of `parts`, in that order.
        columns: of its texts; those of tasks that share a table of texts are the same.
    """

    config: str
    parts: Parts
    label: npt.NDArray[Any]
    oracle: npt.NDArray[Any]
    columns: Columns
    kind: Any = "int32"


def held_out(literature: Literature) -> Ints:
    """Return (papers,) the split of each paper: TRAIN, VALIDATION or EVALUATION."""
    latents = literature.latents
    scarce = (latents.field == FIELDS.index("Medicine")) | (latents.biomimetic != NONE)
    place = (_mixed(latents.paper_number, "held out") % np.uint64(100)).astype(np.int64)
    train, validation = (np.where(scarce, few, many) for many, few in zip(SHARES, SCARCE, strict=True))
    return np.where(place < train, TRAIN, np.where(place < train + validation, VALIDATION, EVALUATION))


def shuffled(literature: Literature, purpose: str, positions: Ints) -> Ints:
    """Return positions in an order that depends on the papers' numbers and the purpose, not on the other papers."""
    return positions[np.argsort(_mixed(literature.latents.paper_number[positions], purpose), kind="stable")]


def sample(literature: Literature, purpose: str, positions: Ints, count: int) -> Ints:
    """Return up to `count` of the positions, drawn by the literature's seed, ascending."""
    return np.sort(stream(literature.seed, purpose).permutation(positions)[:count])


def divide(literature: Literature, purpose: str, label: Ints, published: int, percent: float,
           tested: Mask | None = None) -> Parts:  # fmt: skip
    """Choose the labelled papers of a task among those of the evaluation split and divide them, two thirds to train.

    Args:
        label: (papers,) the class of each paper, negative where the paper is no part of the task; train and test have
            the classes in equal shares. A target in place of a class: pass zeros.
        published: size of the published task, never exceeded.
        percent: size of the task, of all papers.
        tested: (papers,) where given, which papers are for testing, in place of a third of each class.

    A class needs `FEWEST` training papers (one for each fold of a grid search): in a small literature it gets them from its
    papers for testing, or is left out where it has no more.
    """
    candidates = np.flatnonzero((label >= 0) & (held_out(literature) == EVALUATION))
    chosen = shuffled(literature, purpose, candidates)[: scaled(len(literature), published, percent, LEAST)]
    test, members = np.zeros(len(literature), dtype=np.bool_), np.ones(len(literature), dtype=np.bool_)
    for value in np.unique(label[chosen]):
        of_class = chosen[label[chosen] == value]
        for_test = of_class[: (len(of_class) + 1) // 3] if tested is None else of_class[tested[of_class]]
        needed = max(0, FEWEST - (len(of_class) - len(for_test)))
        test[for_test[needed:]] = True
        members[of_class] = needed < len(for_test)
    chosen = chosen[members[chosen]]
    return Parts(chosen[~test[chosen]], chosen[test[chosen]])


def flat(literature: Literature) -> dict[str, Column]:
    """Return doc_id, corpus_id, title and abstract: the columns of every configuration."""
    return {
        "doc_id": ("string", literature.paper_id),
        "corpus_id": ("uint64", literature.latents.paper_number.item),
        "title": ("string", lambda i: literature.paper(i).title),
        "abstract": ("string", lambda i: literature.paper(i).abstract),
    }


def venue(literature: Literature) -> Column:
    """Return the column of the name of a paper's venue."""
    return "string", lambda i: literature.paper(i).venue


def table(root: Path, collection: str, config: str, split: str) -> Path:
    """Return where the hub keeps a split of a configuration."""
    return root / collection / config / split / "0000.parquet"


def write_texts(root: Path, config: str, columns: Columns, positions: Ints, shard: int = 0) -> None:
    """Write the `evaluation` texts of a configuration, each once, in order of time."""
    path = table(root, "scirepeval", config, "evaluation").with_name(f"{shard:04d}.parquet")
    write_papers(path, columns, np.unique(positions).tolist())


def write_targets(root: Path, literature: Literature, targets: Iterable[Target]) -> None:
    """Write labels, oracle and texts of labelled tasks; one of which a part is empty is left out."""
    texts: dict[str, tuple[Columns, list[Ints]]] = {}
    for config, parts, label, oracle, columns, kind in targets:
        if not all(len(positions) for positions in parts):
            continue
        for split, positions in zip(parts._fields, parts, strict=True):
            pairs = zip(literature.ids(positions), label[positions].tolist(), strict=True)
            rows = ({"paper_id": paper_id, "label": value} for paper_id, value in pairs)
            write_parquet(table(root, "scirepeval_test", config, split), {"paper_id": "string", "label": kind}, rows)
        write_oracle(root, f"scirepeval/{config.lower()}", literature.ids(np.concatenate(parts)), oracle)
        texts.setdefault(TEXTS.get(config, config), (columns, []))[1].extend(parts)
    for config, (columns, places) in texts.items():
        write_texts(root, config, columns, np.concatenate(places))


def _mixed(numbers: Ints, purpose: str) -> npt.NDArray[np.uint64]:
    """Return the numbers scattered over 64 bits (SplitMix64's finaliser: a permutation, so no two are equal)."""
    x = numbers.astype(np.uint64) + np.uint64(zlib.crc32(purpose.encode()) << 32)
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        x = (x ^ (x >> np.uint64(shift))) * np.uint64(factor)
    return x ^ (x >> np.uint64(31))
