"""MDCR: find the papers a paper cites among candidates that six miners hold for likely (Medic and Snajder 2022).

| task | a candidate scores | what decides | exact? | relation |
|---|---|---|---|---|
| mdcr | 1: cited, the 5 mentioned most; 0: mined, not cited | problem, family, finding group, topic; luck | no | related |

Groups are the 19 fields of MAG; papers of the four other fields are candidates only. The miners of this literature stand
for the published ones by what they look at:

    bm25         same topic or same obstacle        specter      same area
    scincl       same area or same method           graph        cited by what the query cites, or with it
    most_cited   the most cited of the field        random       anything

so mined candidates are hard for the same reasons that make references likely, and the task is harder than SciDocs Cite.
All candidates are older than the query, as whatever it could cite is.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

from scirep_core.data.literature.emit.files import scaled, texts, write_lines
from scirep_core.data.literature.emit.scirepeval import judged
from scirep_core.data.literature.emit.split import EVALUATION, held_out
from scirep_core.data.literature.latents import NONE, Ints, Random, stream
from scirep_core.data.literature.lexicon import FIELDS, MAG
from scirep_core.data.literature.model import Literature
from scirep_core.kit.store import atomic

FAME = 12.0  # of the oracle: how near fame brings a candidate; miners make all candidates likely
MINED = 6
"""Candidates of each miner."""
CITED = 5


def write(root: Path, literature: Literature) -> None:
    """Write `mdcr_test.json` and the papers it names."""
    latents, papers = literature.latents, judged.traits(literature)
    part, references = held_out(literature), literature.cites.counts()
    size = scaled(len(literature), 200, 0.15, 3)
    benchmark: dict[str, dict[str, Any]] = {}
    queries, tables, grades = [], [], []
    best_known = _most_cited(literature)
    for field in MAG:
        number = FIELDS.index(field)
        able = (part == EVALUATION) & (latents.field == number) & (references >= CITED)
        asked = judged.askers(literature, f"mdcr {field}", size, able)
        if not len(asked):
            continue
        rng = stream(literature.seed, "mdcr", number)
        cited, mentions = judged.linked(literature.cites, asked, 200)
        weight = np.where(cited == NONE, -1, mentions * 1_000 + rng.integers(0, 1_000, size=cited.shape))
        true = judged.ordered(cited, -weight)[:, :CITED]
        mined = {}
        for name, found in _mined(rng, literature, papers, asked, best_known[number]).items():
            early = np.where(latents.year[found] < latents.year[asked][:, None], found, NONE)
            mined[name] = judged.first(judged.without(judged.distinct(early, asked), cited), MINED)
        lists = {**mined, "true": true}
        benchmark[field.title()] = {
            literature.paper_id(query): {
                name: literature.ids(found[k][found[k] != NONE]) for name, found in lists.items()
            }
            for k, query in enumerate(asked.tolist())
        }
        queries.append(asked)
        tables.append(np.concatenate(list(lists.values()), axis=1))
        grades.append(np.repeat([0, 1], [len(mined) * MINED, CITED])[None].repeat(len(asked), axis=0))
    pools = judged.Pools(np.concatenate(queries), np.concatenate(tables), np.concatenate(grades))
    with atomic(root / "mdcr" / "mdcr_test.json") as stream_:
        stream_.write((json.dumps(benchmark, indent=1) + "\n").encode())
    positions = np.union1d(pools.queries, pools.candidates())
    write_lines(root / "mdcr" / "mdcr_test_data.jsonl", texts(literature, positions))
    judged.write_oracles(root, literature, ["scirepeval/mdcr"], "mdcr", pools, fame=FAME)


def _mined(
    rng: Random, literature: Literature, papers: judged.Traits, queries: Ints, best_known: Ints
) -> dict[str, Ints]:
    def like(name: str) -> Ints:
        return judged.sharing(rng, papers, queries, [((name,), 4 * MINED)])

    def both(one: Ints, other: Ints) -> Ints:
        return judged.shuffled(rng, np.concatenate([one, other], axis=1))

    return {
        "bm25": both(like("topic"), like("obstacle")),
        "graph": both(*_second_hand(rng, literature, queries)),
        "most_cited": judged.anyone(rng, best_known, len(queries), 4 * MINED),
        "random": judged.anyone(rng, np.arange(len(literature)), len(queries), 4 * MINED),
        "scincl": both(like("area"), like("method")),
        "specter": like("area"),
    }


def _second_hand(rng: Random, literature: Literature, queries: Ints) -> tuple[Ints, Ints]:
    """Return papers cited by a cited one, and papers cited by one that cites the query: two steps in the graph."""
    found = []
    for links in (literature.cites, literature.cited_by):
        near = judged.first(judged.shuffled(rng, judged.linked(links, queries, 50)[0]), 4)
        far = judged.linked(literature.cites, np.maximum(near, 0).ravel(), 50)[0]
        far = np.where(near.ravel()[:, None] == NONE, NONE, far)
        found.append(judged.first(judged.shuffled(rng, far.reshape(len(queries), -1)), 4 * MINED))
    return found[0], found[1]


def _most_cited(literature: Literature) -> dict[int, Ints]:
    count, field = literature.cited_by.counts(), literature.latents.field
    return {number: (of_field := np.flatnonzero(field == number))[np.argsort(-count[of_field], kind="stable")][:40]
            for number in range(len(FIELDS))}  # fmt: skip
