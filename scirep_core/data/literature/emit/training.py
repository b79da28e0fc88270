"""Training sets of SciRepEval (appendix A, Table 1) with targets of their own, and the citation triplets.

Splits are those of split.py: `train` and `validation`. Rows come shuffled, as training reads them in file order. The three
sets of ranked candidates are written elsewhere (proximity.py, search.py).

Citation triplets (appendix A.2): the positives of a query are papers it cites. Three of five negatives are easy, papers of
another problem drawn at random; two are hard, papers that a cited paper cites and the query does not. Where a query has
no hard negative an easy one stands in. Query, positive and negative are of the same split (validation may draw upon
training papers): no text of an evaluation paper is seen in training.

The oracle of cite_prediction has a code for each of problem, topic, area, field and method, the reasons for which papers cite
(citations.py); citations for other reasons it cannot tell.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from scirep_core.data.literature.emit import split as hub
from scirep_core.data.literature.emit.files import Floats, scaled, struct, write_oracle, write_papers, write_parquet
from scirep_core.data.literature.emit.scirepeval import classification, regression
from scirep_core.data.literature.emit.split import TRAIN, VALIDATION, held_out, shuffled
from scirep_core.data.literature.latents import NONE, Ints, stream
from scirep_core.data.literature.model import Literature

SPLITS = {"train": TRAIN, "validation": VALIDATION}
PER_QUERY = 5
HARD = (1, 3)  # which of a query's five negatives are hard
DRAWS = 24  # random numbers a query may use
CODE = 24  # dimensions of each code of the oracle
REASONS = (("problem", 2.0), ("topic", 1.6), ("area", 1.0), ("field", 1.0), ("method", 0.8))
PUBLISHED = {"fos": (608_872, 67_652), "mesh_descriptors": (2_069_492, 258_687), "cite_count": (175_944, 26_830),
             "pub_year": (196_978, 21_886), "cite_prediction": (676_150, 143_686)}  # fmt: skip
"""Rows of train and validation, never exceeded. Sums as in Table 1; nine to one where no page tells the division."""


def write(root: Path, literature: Literature) -> None:
    """Write train and validation of the five sets, and the oracle of the triplets."""
    split, descriptor = held_out(literature), classification.descriptors(literature)
    for config, columns, among, percent in (
        ("fos", classification.fos_columns(literature, classification.silver_fields(literature)), split, 42),
        (
            "mesh_descriptors",
            classification.mesh_columns(literature, descriptor),
            np.where(descriptor == NONE, NONE, split),
            42,
        ),
        ("cite_count", regression.cites_columns(literature, regression.citations(literature)), split, 25),
        ("pub_year", regression.year_columns(literature), split, 25),
    ):
        for (name, number), published in zip(SPLITS.items(), PUBLISHED[config], strict=True):
            size = scaled(len(literature), published, percent, 1)
            positions = shuffled(literature, f"{config} training", np.flatnonzero(among == number))[:size]
            if len(positions):
                write_papers(hub.table(root, "scirepeval", config, name), columns, positions.tolist())
    _triplets(root, literature, split)


def triplets(literature: Literature, split: Ints, number: int, most: int) -> Ints:
    """Return (n, 3) positions of query, positive, negative: up to `most` rows, queries of split `number`, shuffled."""
    latents = literature.latents
    allowed = split <= number  # validation (1) may use training papers (0)
    pool = np.flatnonzero(allowed)
    queries = shuffled(literature, "cite_prediction", np.flatnonzero(split == number))[:most]
    draws = stream(literature.seed, "triplets", number).integers(0, 1 << 40, size=(len(queries), DRAWS)).tolist()
    rows: list[tuple[int, int, int]] = []
    for query, numbers in zip(queries.tolist(), draws, strict=True):
        if len(rows) >= most:
            break
        rows += _of_query(literature, latents.problem, allowed, pool, query, numbers)
    found = np.array(rows[:most], dtype=np.int64).reshape(-1, 3)
    return found[stream(literature.seed, "triplets order", number).permutation(len(found))]


def _of_query(
    literature: Literature, problem: Ints, allowed: Any, pool: Ints, query: int, numbers: list[int]
) -> Iterator[tuple[int, int, int]]:
    cited = literature.cites.of(query)
    positives = cited[allowed[cited]]
    if not len(positives):
        return
    shift = numbers[0] % len(positives)
    positives = np.roll(positives, shift)[:PER_QUERY].tolist()
    beyond = np.unique(np.concatenate([literature.cites.of(c) for c in cited.tolist()]))
    hard = np.setdiff1d(beyond[allowed[beyond]], cited, assume_unique=True).tolist()  # older than the query, so not it
    known, taken, at = set(cited.tolist()), set[int](), 1
    for k, positive in enumerate(positives):
        negative = NONE
        hard = [h for h in hard if h not in taken]  # an easy one may have been among them
        if k in HARD and hard:
            negative = hard[numbers[at] % len(hard)]
            at += 1
        while negative == NONE and at < DRAWS:
            drawn = int(pool[numbers[at] % len(pool)])
            at += 1
            if drawn != query and drawn not in known | taken and problem[drawn] != problem[query]:
                negative = drawn
        if negative != NONE:
            taken.add(negative)
            yield query, positive, negative


def _triplets(root: Path, literature: Literature, split: Ints) -> None:
    columns = hub.flat(literature)
    columns["corpus_id"] = columns.pop("corpus_id")  # the last one here
    kind, paper = struct(columns)
    roles, used = ("query", "pos", "neg"), []
    for (name, number), published in zip(SPLITS.items(), PUBLISHED["cite_prediction"], strict=True):
        found = triplets(literature, split, number, scaled(len(literature), published, 150, 1))
        if not len(found):
            continue
        used.append(np.unique(found))
        rows = (dict(zip(roles, map(paper, row), strict=True)) for row in found.tolist())
        write_parquet(hub.table(root, "scirepeval", "cite_prediction", name), dict.fromkeys(roles, kind), rows)
    if used:
        positions = np.unique(np.concatenate(used))
        write_oracle(root, "scirepeval/cite_prediction", literature.ids(positions), reasons(literature, positions))


def reasons(literature: Literature, positions: Ints) -> Floats:
    """Return (n, 5 * CODE) for each reason a random code of its value: different values lie about equally far apart."""
    blocks = []
    for name, weight in REASONS:
        values = getattr(literature.latents, name)
        codes = stream(literature.seed, f"oracle {name}").integers(0, 2, size=(int(values.max()) + 1, CODE))
        blocks.append(((2 * codes - 1) * (weight / CODE**0.5)).astype(np.float32)[values[positions]])
    return np.hstack(blocks)
