"""Author disambiguation (S2AND; SciRepEval A.2): which mentions of one name are one person? B-cubed F1.

S2AND-mini as SciRepEval scores it: a vector is one of thirty things known of a pair of mentions, beside names,
affiliations, co-authors, venues, years and references (author_features). A model learns which pairs are one person
(author_model), average linkage joins them, a threshold tuned on blocks of its own cuts, and B-cubed F1 is taken on a
third set of blocks (author_blocks). What is before the slash of a block's name is its collection: `test/COLLECTION` has
a row, and `test` is the plain mean over collections.

    b3_f1            the pipeline
    b3_f1_metadata   the same pipeline without vectors: what a vector is to be measured against. The floor of this
                     task is metadata, not chance: a vector that knows nothing scores about this
    b3_f1_vectors    the vectors alone: average linkage on their cosine distances, the threshold tuned on the training
                     and validation blocks

and the same for b3_p and b3_r. Protocol `paper` means five splits of the blocks into 80, 10 and 10 % and takes the mean,
as S2AND does (SciRepEval's blocks are fixed, but are not in its repository); `sound` scores every block once, in five
folds. Intervals resample blocks. A mention without a vector has a missing value (published), under `b3_f1_vectors` it
is left out; both need on_missing `drop`. Mentions of nobody known are left out, as in S2AND-mini.

Where no collection has ten blocks there is nothing to learn from: `b3_f1` then is of the vectors alone, the threshold
tuned on one half of the blocks, the other half scored; `parameters["method"]` and the note say so.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from operator import attrgetter
from typing import Any, NamedTuple

import numpy as np

from scirep_core.data.task import Signature, Signatures, Task
from scirep_core.evaluators.authors import author_features, author_model
from scirep_core.evaluators.authors.author_blocks import ENOUGH, Block, Split, b3, by_collection, linked, splits, tune
from scirep_core.evaluators.authors.author_model import Mentions, Outcome, scored
from scirep_core.evaluators.pairs import evaluator
from scirep_core.evaluators.rows import FEW, Asked, Floats, counted, draws, sentence, unit
from scirep_core.kit.errors import DataError
from scirep_core.kit.records import grouped
from scirep_core.kit.store import stable_hash
from scirep_core.results import Result
from scirep_core.results.statistics import counts_of

METRICS = ("b3_p", "b3_r", "b3_f1")
METADATA, VECTORS = "_metadata", "_vectors"
"""What follows a metric's name in the rows of the pipeline without vectors, and of the vectors alone."""
MODEL, ALONE = "pairwise model", "vectors alone"
BLOCK = attrgetter("block")
Sums = dict[str, tuple[float, float, int]]
_TABLES: dict[tuple[str, str, str], author_features.Table] = {}
"""What was known of the mentions of the last tasks: every encoder of a chapter asks for the same."""


class Way(NamedTuple):
    """One way of clustering, done: the sums of B-cubed of the blocks scored, once for each split; what to say of it."""

    suffix: str
    runs: list[Sums]
    parameters: dict[str, Any]
    note: str


@evaluator(Signatures, "cosine")
def evaluate(asked: Asked, data: Signatures) -> list[Result]:
    """Return rows for b3_f1, b3_p, b3_r. Vectors are those of the papers; where these are missing and every mention
    has its own, by signature id, they are taken instead. Raises DataError for a missing vector or a single block.
    """
    by_mention = all(row.signature_id in asked.vectors for row in data.rows) and not all(
        row.paper_id in asked.vectors for row in data.rows
    )
    vector_ids = asked.vector_ids(key_of(row, by_mention) for row in data.rows)
    known = [row for row in data.rows if row.cluster]
    covered = [row for row in known if key_of(row, by_mention) in vector_ids]
    if not covered:
        name = asked.task.name
        if not known:
            raise DataError(name, None, "nobody is known of whom a mention is", "Give every signature its cluster")
        reason = f"{name}: no mention of a person known has a vector"
        raise DataError("vectors", None, reason, "Check the ids of the vectors")
    unknown = counted(len(data.rows) - len(known), "mentions of nobody known left out")
    shared = {"coverage": sum(key_of(row, by_mention) in vector_ids for row in data.rows) / len(data.rows)}
    names = by_collection(dict.fromkeys(row.block for row in known))
    enough = any(len(blocks) >= ENOUGH for blocks in names.values())
    ways = _ways(asked, known, covered, by_mention) if enough else [_alone(asked, covered, by_mention)]
    rows = []
    for way in ways:
        more = shared | {"parameters": way.parameters | {"vectors": "mentions" if by_mention else "papers"}}
        rows += _rows(asked, way, more | {"note": sentence(way.note, unknown), "ties": "merges at the threshold stay"})
    return rows


def key_of(row: Signature, by_mention: bool) -> str:
    """Return the id of the vector a mention is clustered by."""
    return row.signature_id if by_mention else row.paper_id


def mentions_of(task: Task, rows: Sequence[Signature]) -> Mentions:
    """Return the mentions of a task, compared by nothing but metadata; those of its last tasks are kept in memory."""
    data = task.payload
    assert isinstance(data, Signatures)
    # some rows, others' clusters: another table
    key = (task.name, task.data_hash, stable_hash([list(row) for row in rows]))
    table = _TABLES.get(key) or author_features.table(rows, task.papers, data.bylines)
    if task.data_hash:
        _TABLES.pop(key, None)
        _TABLES[key] = table
        if len(_TABLES) > 2:
            del _TABLES[next(iter(_TABLES))]
    places = grouped(range(len(rows)), lambda k: rows[k].block)
    blocks = {name: np.array(where, dtype=np.int64) for name, where in places.items()}
    return Mentions(table, blocks, np.array([row.cluster for row in rows]))


def _ways(asked: Asked, known: Sequence[Signature], covered: Sequence[Signature], by_mention: bool) -> list[Way]:
    """Return the pipeline with vectors, without them, and the vectors alone, all on the same splits."""
    plain = mentions_of(asked.task, known)
    parts = splits(plain.blocks, asked.protocol, asked.seed)
    ids = {key_of(row, by_mention) for row in covered}
    width = len(asked.vectors[next(iter(ids))])
    table = np.full((len(known), width), np.nan)
    there = [k for k, row in enumerate(known) if key_of(row, by_mention) in ids]
    table[there] = asked.matrix([key_of(known[k], by_mention) for k in there])
    both = replace(plain, vectors=table, similarity=asked.similarity)
    memo = plain.table.memo
    key = ("metadata only", asked.seed, stable_hash(parts))
    if key not in memo:
        memo[key] = [author_model.run(plain, part, asked.seed) for part in parts]
    trees = {name: _block(asked, name, rows, by_mention) for name, rows in grouped(covered, BLOCK).items()}
    return [
        _way(asked, "", MODEL, [author_model.run(both, part, asked.seed) for part in parts]),
        _way(asked, METADATA, f"{MODEL}, no vectors", memo[key]),
        _way(asked, VECTORS, ALONE, [_cut(trees, part) for part in parts]),
    ]


def _cut(trees: Mapping[str, Block], part: Split) -> Outcome:
    """Return the blocks scored, cut by distance alone at a threshold tuned on all other blocks."""
    threshold = tune([trees[name] for name in (*part.train, *part.validation) if name in trees])
    return Outcome(threshold, scored([trees[name] for name in part.test if name in trees], threshold), 0)


def _way(asked: Asked, suffix: str, method: str, runs: Sequence[Outcome]) -> Way:
    sound = asked.protocol == "sound"
    how = "five folds of blocks, each scored once" if sound else "mean of five splits of the blocks, 80/10/10 %"
    pairs = {"training_pairs": [run.pairs for run in runs]} if method != ALONE else {}
    parameters = {"method": method, "thresholds": [round(run.threshold, 6) for run in runs], **pairs}
    sums = [run.sums for run in runs]
    whole = [{name: one for run in sums for name, one in run.items()}] if sound else sums
    return Way(suffix, whole, parameters, f"{method}, {how}")


def _alone(asked: Asked, rows: Sequence[Signature], by_mention: bool) -> Way:
    """Return the vectors alone, where there are too few blocks to learn from: half of them tune, half are scored."""
    named = grouped(rows, BLOCK)
    if len(named) < 2:
        reason = "one block of names: none is left to tune the threshold on"
        raise DataError(asked.task.name, None, reason, "Give two or more")
    order = sorted(named, key=lambda name: stable_hash([asked.seed, name]))
    tuning, rest = order[: len(order) // 2], order[len(order) // 2 :]
    trees = {name: _block(asked, name, named[name], by_mention) for name in order}
    threshold = tune([trees[name] for name in tuning])
    note = (
        f"fewer than {ENOUGH} blocks in every collection, so no pairwise model: average linkage on the distances of "
        f"vectors alone, threshold {threshold:.4g} tuned on the other {len(tuning)} blocks"
    )
    parameters = {"method": ALONE, "threshold": threshold, "tuned_on": len(tuning)}
    return Way("", [scored([trees[name] for name in rest], threshold)], parameters, note)


def _block(asked: Asked, name: str, rows: Sequence[Signature], by_mention: bool) -> Block:
    from scipy.spatial.distance import pdist

    gold = tuple(row.cluster for row in rows)
    matrix = asked.matrix([key_of(row, by_mention) for row in rows]).astype(np.float64)
    if len(rows) == 1 or asked.similarity == "l2":
        return linked(name, gold, pdist(matrix))
    matrix = unit(matrix) if asked.similarity == "cosine" else matrix
    similar = matrix @ matrix.T
    shift = 1.0 if asked.similarity == "cosine" else float(similar.max())
    return linked(name, gold, np.maximum(shift - similar[np.triu_indices(len(matrix), 1)], 0))


def _rows(asked: Asked, way: Way, shared: dict[str, Any]) -> list[Result]:
    size = {name: int(one[2]) for run in way.runs for name, one in run.items()}
    sets = by_collection(sorted(size))
    parts = {name: _values(asked, name, blocks, way.runs) for name, blocks in sets.items()}
    rows = []
    for metric in asked.metrics:
        i, name = METRICS.index(metric), metric + way.suffix
        for collection, (values, spread) in parts.items() if len(parts) > 1 else ():
            n = sum(size[block] for block in sets[collection])
            rows.append(asked.row(name, values[i], n, f"test/{collection}", replicates=spread[i], **shared))
        several = f"mean of {len(parts)} data sets" if len(parts) > 1 else ""
        more = shared | {"note": sentence(shared["note"], several)}
        more["pool"] = f"{sum(size.values())} mentions in {len(size)} blocks scored"
        if len(size) <= FEW:
            more["by_query"] = {block: round(_of_block(block, way.runs, i), 6) for block in size}
        value = float(np.mean([part[0][i] for part in parts.values()]))
        spread = np.mean([part[1][i] for part in parts.values()], axis=0)
        rows.append(asked.row(name, value, sum(size.values()), replicates=spread, **more))
    return rows


def _values(asked: Asked, collection: str, blocks: Sequence[str], runs: Sequence[Sums]) -> tuple[list[float], Floats]:
    """Return p, r, f1 (0-100) of a collection, the mean over runs, and their (3, resamples) bootstrap values.

    A draw takes blocks, with what each run made of them; a run of which it takes none has no part in that draw.
    """
    place = {name: k for k, name in enumerate(blocks)}
    tables = np.zeros((len(runs), len(blocks), 3))
    for table, run in zip(tables, runs, strict=True):
        for name, one in run.items():
            if name in place:
                table[place[name]] = one
    values = np.nanmean(b3(tables), axis=1)
    spread = []
    for picks in draws(asked, len(blocks), f"blocks of {collection}"):
        drawn = counts_of(picks, len(blocks)) @ tables  # (runs, some, 3)
        spread.append(np.nanmean(b3(drawn[:, :, None]), axis=1))
    return [100 * float(value) for value in values], 100 * np.concatenate(spread, axis=1)


def _of_block(block: str, runs: Sequence[Sums], metric: int) -> float:
    return 100 * float(np.mean([b3(np.array([run[block]]))[metric] for run in runs if block in run]))
