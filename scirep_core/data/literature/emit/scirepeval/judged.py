"""Judged pools: what makes one paper relevant to another, task by task, how candidates are found, and the files of it all.

A task has a profile, weights on latents. How alike a query q and a candidate c are is a whole number,

    S(q, c) = sum over latents b of weight[b] * [x_b(q) = x_b(c)]

and the tasks grade it, add what people do to it (raters, readers, clickers err), or draw from it. Oracle vectors are
one-hot blocks, one per latent, of length sqrt(weight[b]); whatever no query asks for shares one place. So for every query

    |v(q) - v(c)|^2 = constant - 2 S(q, c)

holds exactly: the nearest candidate is the most alike. A latent that a text query leaves open is a block of zeros, which
adds the same to all distances. Tasks of one format disagree on purpose (SciRepEval section 6).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from scirep_core.data.literature.emit import split as hub
from scirep_core.data.literature.emit.files import Columns, Floats, struct, write_oracle, write_parquet
from scirep_core.data.literature.latents import NONE, Ints, Mask, Random, chance
from scirep_core.data.literature.links import Links
from scirep_core.data.literature.model import Literature

PARTS = ("train", "validation", "evaluation")
Traits = Mapping[str, Ints]
"""Latents by name: of all papers, or of queries; NONE where a query does not say."""

PROFILES: dict[str, Mapping[str, int]] = {
    # in the order of how much likelier a reference gets with each match (citations.REASONS, over the size of the group)
    "cite": {"problem": 4, "topic": 4, "area": 3, "method": 2, "field": 1},
    "high_influence_cite": {"problem": 2, "family": 1, "group": 1},  # as mentions are counted
    "mdcr": {"problem": 6, "family": 3, "group": 3, "topic": 2, "area": 1},  # likely to be cited, and often mentioned
    "relish": {"topic": 4, "family": 2, "area": 1},
    "view": {"problem": 5, "topic": 3, "obstacle": 1, "mode": 1, "area": 1},
    "read": {"problem": 5, "topic": 3, "condition": 2, "obstacle": 1, "area": 1},
    # readers of feeds: nothing that citations, mentions or authorship depend on
    "feeds": {"mode": 3, "condition": 2, "polarity": 1},
    "reviewing": {"topic": 3, "family": 3, "area": 1, "field": 1},
    "namesakes": {"topic": 1, "area": 1, "field": 1},
    # queries
    "search": {"problem": 4, "author": 3, "topic": 2, "method": 2, "venue": 2},
    "nfcorpus": {"problem": 1, "topic": 1},
    "trec_covid": {"problem": 4, "family": 2, "topic": 1},
}  # fmt: skip


class Bare(NamedTuple):
    """Queries that are no papers: their ids and texts, and what each asks for, NONE where it does not say."""

    ids: Sequence[str]
    texts: Sequence[str]
    wanted: Traits


class Pools(NamedTuple):
    """Judged candidates. `table` (queries, width) holds paper positions, NONE where a list is shorter; `grades` fit it."""

    queries: Ints
    table: Ints
    grades: Ints

    def rows(self, chosen: npt.NDArray[Any] | slice) -> Pools:
        """Return the pools of some queries: a mask, positions or a slice."""
        return Pools(self.queries[chosen], self.table[chosen], self.grades[chosen])

    def candidates(self) -> Ints:
        """Return the positions of all candidates, ascending, each once."""
        return np.unique(self.table[self.table != NONE])

    def papers(self) -> Ints:
        """Return the positions of queries and candidates, ascending, each once."""
        return np.union1d(self.queries, self.candidates())


def traits(literature: Literature) -> dict[str, Ints]:
    """Return what profiles may weigh: the latents, the venue (one number for all fields), the first author, the paper itself."""
    latents, people = literature.latents, literature.people
    names = {name for profile in PROFILES.values() for name in profile} - {"venue", "author"}
    venue = latents.field * (1 + int(latents.venue.max(initial=0))) + latents.venue
    return {
        **{name: getattr(latents, name) for name in sorted(names)},
        "venue": venue,
        "author": people.teams.items[people.teams.starts[:-1]],
        "paper": np.arange(len(literature)),
    }


def at(papers: Traits, positions: Ints) -> dict[str, Ints]:
    """Return the traits of some papers, as those of queries."""
    return {name: values[positions] for name, values in papers.items()}


def alike(profile: str, asked: Traits, papers: Traits, table: Ints) -> Ints:
    """Return S for each entry of `table` (queries, width); 0 where there is none. `asked` has one value per query."""
    total = np.zeros(table.shape, dtype=np.int64)
    for name, weight in PROFILES[profile].items():
        wanted = asked[name][:, None]
        total += weight * ((papers[name][table] == wanted) & (wanted != NONE) & (table != NONE))
    return total


def vectors(profile: str, asked: Traits, rows: Traits) -> Floats:
    """Return the oracle vectors of `rows` (papers, or the queries themselves) for queries that ask for `asked`."""
    blocks = []
    for name, weight in PROFILES[profile].items():
        known = np.unique(asked[name][asked[name] != NONE])
        if len(known):
            same = rows[name][:, None] == known
            elsewhere = (rows[name] != NONE) & ~same.any(axis=1)  # what nobody asks for
            blocks.append(np.column_stack([same, elsewhere]) * np.float32(np.sqrt(weight)))
    return np.concatenate(blocks, axis=1)


def graded(likeness: Ints, *edges: int) -> Ints:
    """Return how many of the ascending `edges` each value reaches: the grade."""
    return np.searchsorted(np.array(edges), likeness, side="right").astype(np.int64)


def rated(rng: Random, grades: Ints, noise: float, raters: int, highest: int) -> Ints:
    """Return the middle one of what an odd number of raters say; each errs by one step with probability `noise`."""
    shape = (raters, *grades.shape)
    steps = chance(rng, noise, shape) * (2 * rng.integers(0, 2, size=shape) - 1)
    middle: Ints = np.sort(np.clip(grades + steps, 0, highest), axis=0)[raters // 2]
    return middle


# --- finding candidates ---------------------------------------------------------------------------------------------------


def key_of(papers: Traits, *names: str) -> Ints:
    """Return one number per paper that is equal where all the named latents are."""
    key = np.zeros(len(papers["paper"]), dtype=np.int64)
    for name in names:
        key = key * (2 + int(papers[name].max(initial=0))) + papers[name] + 1
    return key


def partners(rng: Random, key: Ints, wanted: Ints, width: int, allowed: Mask | None = None) -> Ints:
    """Draw for each entry of `wanted` up to `width` papers whose key it is (with repetition); NONE where there is none.

    Args:
        key: (papers,) what the papers are grouped by.
        allowed: (papers,) mask of those that may be drawn.
    """
    pool = np.arange(len(key)) if allowed is None else np.flatnonzero(allowed)
    order = pool[np.argsort(key[pool], kind="stable")]
    first = np.searchsorted(key[order], wanted)
    count = np.searchsorted(key[order], wanted, side="right") - first
    drawn = first[:, None] + rng.integers(0, np.maximum(count, 1)[:, None], size=(len(wanted), width))
    if not len(order):
        return np.full((len(wanted), width), NONE)
    return np.where(count[:, None] > 0, order[np.minimum(drawn, len(order) - 1)], NONE)


def sharing(
    rng: Random, papers: Traits, queries: Ints, sources: Iterable[tuple[Sequence[str], int]],
    allowed: Mask | None = None,
) -> Ints:  # fmt: skip
    """Draw for each query, source by source, papers that share the named traits with it, as `partners` does.

    Args:
        sources: (names of traits, how many papers): () stands for any paper, ("paper",) for the query itself.
    """
    keys = [(key_of(papers, *names), count) for names, count in sources]
    return np.concatenate([partners(rng, key, key[queries], count, allowed) for key, count in keys], axis=1)


def linked(links: Links, rows: Ints, width: int) -> tuple[Ints, Ints]:
    """Return up to `width` items and values of some rows of links, as tables."""
    count = np.minimum(links.counts()[rows], width)
    columns = np.arange(width)
    place = np.minimum(links.starts[rows][:, None] + columns, max(len(links.items) - 1, 0))
    present = columns < count[:, None]
    return np.where(present, links.items[place], NONE), np.where(present, links.values[place], 0)


def distinct(table: Ints, queries: Ints | None = None) -> Ints:
    """Return the table with NONE for the query itself, where given, and for every repetition within a row."""
    if queries is not None:
        table = np.where(table == queries[:, None], NONE, table)
    order = np.argsort(table, axis=1, kind="stable")
    rows = np.take_along_axis(table, order, axis=1)
    rows[:, 1:][rows[:, 1:] == rows[:, :-1]] = NONE
    cleaned = np.empty_like(table)
    np.put_along_axis(cleaned, order, rows, axis=1)
    return cleaned


def without(table: Ints, unwanted: Ints) -> Ints:
    """Return the table with NONE for what the same row of `unwanted` holds."""
    offset = np.arange(len(table))[:, None] * (1 + int(max(table.max(initial=0), unwanted.max(initial=0))))
    return np.where(np.isin(table + offset, (unwanted + offset)[unwanted != NONE]), NONE, table)


def first(table: Ints, width: int) -> Ints:
    """Return the first `width` candidates of each row, in order, NONE behind them."""
    return ordered(table, table == NONE)[:, :width]


def candidates(drawn: Ints, width: int, queries: Ints | None = None) -> Ints:
    """Return the first `width` different papers of each row, without the query itself, where given."""
    return first(distinct(drawn, queries), width)


def ordered(table: Ints, key: npt.NDArray[Any]) -> Ints:
    """Return each row by its ascending keys; equal ones stay in order."""
    return np.take_along_axis(table, np.argsort(key, axis=1, kind="stable"), axis=1)


def shuffled(rng: Random, table: Ints) -> Ints:
    """Return each row in random order."""
    return ordered(table, rng.integers(0, 1 << 40, size=table.shape))


def binary(
    rng: Random, queries: Ints, positives: Ints, negatives: Ints, wanted: tuple[int, int], fewest: int = 1
) -> Pools:
    """Return binary pools: the first positives (1) and negatives (0) of each row, shuffled; others are left out.

    Args:
        wanted: how many of each.
        fewest: positives without which a query is dropped, as it is without any negative.
    """
    good = first(distinct(positives, queries), wanted[0])
    bad = first(without(distinct(negatives, queries), good), wanted[1])
    table = shuffled(rng, np.concatenate([good, bad], axis=1))
    grades = (without(table, good) != table).astype(np.int64)
    enough = (good != NONE).sum(axis=1) >= fewest
    return Pools(queries, table, grades).rows(enough & (bad != NONE).any(axis=1))


def askers(literature: Literature, purpose: str, at_most: int, among: Mask | None = None) -> Ints:
    """Return up to `at_most` papers in scattered order: those a task may ask about, of the evaluation split or `among` some."""
    some = hub.held_out(literature) == hub.EVALUATION if among is None else among
    return hub.shuffled(literature, f"askers of {purpose}", np.flatnonzero(some))[:at_most]


def parts(literature: Literature, task: str, times: int, *sizes: int) -> Iterator[tuple[str, int, Ints, Mask]]:
    """Yield for each split its name, the size of the task there, `times` as many papers to ask about, and which may be candidates.

    Candidates of evaluation may be of any split, those of training are of no evaluation.
    """
    part = hub.held_out(literature)
    for number, (split, size) in enumerate(zip(PARTS, sizes, strict=True)):
        allowed = (part != hub.EVALUATION) | (number == hub.EVALUATION)
        yield split, size, askers(literature, f"{task} {split}", times * size, part == number), allowed


# --- files ----------------------------------------------------------------------------------------------------------------


def write_task(
    root: Path, literature: Literature, config: str, pools: Pools, profile: str, bare: Bare | None = None,
    candidate: Columns | None = None, also: Sequence[str] = (), split: str = PARTS[-1],
) -> None:  # fmt: skip
    """Write texts, of evaluation also judgements and oracle. Arguments as in `write_texts` and `write_oracles`."""
    write_texts(root, literature, config, split, pools, bare, candidate=candidate)
    if split == PARTS[-1]:
        write_judgements(root, literature, config, pools, bare.ids if bare else None)
        write_oracles(root, literature, [f"scirepeval/{config}", *also], profile, pools, bare)


def write_texts(
    root: Path, literature: Literature, config: str, split: str, pools: Pools, bare: Bare | None = None,
    query: Columns | None = None, candidate: Columns | None = None,
) -> None:  # fmt: skip
    """Write queries with their candidates; a split of a small literature that has no query is left out.

    Args:
        bare: the queries where they are no papers.
        query, candidate: further columns of a query that is a paper, of a candidate.
    """
    if not len(pools.queries):
        return
    paper = hub.flat(literature)
    kind, described = struct(paper | dict(candidate or {}))
    asked: Columns = {"query": struct(paper), **(query or {})}
    places: Iterable[int] = pools.queries.tolist()
    if bare:
        asked = {"query": ("string", bare.texts.__getitem__), "doc_id": ("string", bare.ids.__getitem__)}
        places = range(len(bare.ids))
    kinds, asking = struct(asked)

    def rows() -> Iterator[dict[str, Any]]:
        for place, found, grades in zip(places, pools.table.tolist(), pools.grades.tolist(), strict=True):
            pairs = zip(found, grades, strict=True)
            candidates = [{**described(i), "score": grade} for i, grade in pairs if i != NONE]
            yield {**asking(place), "candidates": candidates}

    path = hub.table(root, "scirepeval", config, split)
    write_parquet(path, {**kinds, "candidates": [{**kind, "score": "int32"}]}, rows())


def write_judgements(
    root: Path, literature: Literature, config: str, pools: Pools, ids: Sequence[str] | None = None,
    split: str = "test", candidate: Callable[[int], str] | None = None,
) -> None:  # fmt: skip
    """Write the judgements; `ids` are those of bare queries, `candidate` names candidates that are no papers."""
    name = candidate or literature.paper_id
    judged = zip(ids or literature.ids(pools.queries), pools.table.tolist(), pools.grades.tolist(), strict=True)
    rows = (
        {"query_id": query_id, "cand_id": name(i), "score": grade}
        for query_id, found, grades in judged
        for i, grade in zip(found, grades, strict=True)
        if i != NONE
    )
    columns = {"query_id": "string", "cand_id": "string", "score": "int32"}
    write_parquet(hub.table(root, "scirepeval_test", config, split), columns, rows)


def write_oracles(
    root: Path, literature: Literature, tasks: Sequence[str], profile: str, pools: Pools, bare: Bare | None = None,
    fame: float = 0.0,
) -> None:  # fmt: skip
    """Write the oracle of tasks that share queries and candidates.

    Args:
        profile: a name of `PROFILES`.
        fame: weight of one more coordinate, how famous a paper is (its rank, 0 to 1); queries, which are papers then, have
            the highest, so that of equally likely candidates the more famous lies nearer.
    """
    papers = traits(literature)
    asked = bare.wanted if bare else at(papers, pools.queries)
    positions = pools.candidates() if bare else pools.papers()
    ids, found = literature.ids(positions), vectors(profile, asked, at(papers, positions))
    if bare:
        ids, found = [*bare.ids, *ids], np.concatenate([vectors(profile, asked, asked), found])
    if fame:
        rank = np.empty(len(positions), dtype=np.int64)
        rank[np.argsort(literature.latents.fame[positions], kind="stable")] = np.arange(len(positions))
        rank[np.isin(positions, pools.queries)] = len(positions) - 1
        found = np.column_stack([found, (np.sqrt(fame) * rank / max(1, len(positions) - 1)).astype(np.float32)])
    for task in tasks:
        write_oracle(root, task, ids, found)
