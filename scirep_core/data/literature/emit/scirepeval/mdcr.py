"""MDCR: find the papers a paper cites among candidates that six miners hold for likely (Medic and Snajder 2022).

A candidate scores 1 if it is among the five cited and mentioned most, 0 if it was mined. Groups are the 19 fields of MAG;
papers of the four other fields are candidates only. The miners stand for the published ones by what they look at (`_mined`),
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
from scirep_core.data.literature.links import Links
from scirep_core.data.literature.model import Literature
from scirep_core.kit.store import atomic

FAME = 12.0  # of the oracle: how near fame brings a candidate; miners make all candidates likely
MINED = 6
"""Candidates of each miner."""
CITED = 5


def write(root: Path, literature: Literature) -> None:
    """Write `mdcr_test.json` and the papers it names; nothing for a literature without any of the 19 fields."""
    latents, papers = literature.latents, judged.traits(literature)
    part, references = held_out(literature), literature.cites.counts()
    size = scaled(len(literature), 200, 0.15, 3)
    benchmark: dict[str, dict[str, Any]] = {}
    queries, tables = [], []
    for field in MAG:
        number = FIELDS.index(field)
        able = (part == EVALUATION) & (latents.field == number) & (references >= CITED)
        asked = judged.askers(literature, f"mdcr {field}", size, able)
        if not len(asked):
            continue
        rng = stream(literature.seed, "mdcr", number)
        cited, mentions = judged.linked(literature.cites, asked, 200)
        weight = np.where(cited == NONE, -1, mentions * 1_000 + rng.integers(0, 1_000, size=cited.shape))
        lists = {}
        for name, found in _mined(rng, literature, papers, asked, number).items():
            early = np.where(latents.year[found] < latents.year[asked][:, None], found, NONE)
            lists[name] = judged.first(judged.without(judged.distinct(early, asked), cited), MINED)
        lists["true"] = judged.ordered(cited, -weight)[:, :CITED]
        benchmark[field.title()] = {
            query: {name: literature.ids(found[k][found[k] != NONE]) for name, found in lists.items()}
            for k, query in enumerate(literature.ids(asked))
        }
        queries.append(asked)
        tables.append(np.concatenate(list(lists.values()), axis=1))
    if not tables:
        return
    table = np.concatenate(tables)
    grades = np.zeros_like(table)
    grades[:, -CITED:] = 1
    pools = judged.Pools(np.concatenate(queries), table, grades)
    with atomic(root / "mdcr" / "mdcr_test.json") as stream_:
        stream_.write((json.dumps(benchmark, indent=1) + "\n").encode())
    write_lines(root / "mdcr" / "mdcr_test_data.jsonl", texts(literature, pools.papers()))
    judged.write_oracles(root, literature, ["scirepeval/mdcr"], "mdcr", pools, fame=FAME)


def _mined(rng: Random, literature: Literature, papers: judged.Traits, queries: Ints, field: int) -> dict[str, Ints]:
    of_field = np.flatnonzero(papers["field"] == field)
    most_cited = of_field[np.argsort(-literature.cited_by.counts()[of_field], kind="stable")][:40]

    def like(*names: str) -> Ints:
        return judged.sharing(rng, papers, queries, [(names, 4 * MINED)])

    def two_steps(links: Links) -> Ints:
        near = judged.first(judged.shuffled(rng, judged.linked(links, queries, 50)[0]), 4)
        far = judged.linked(literature.cites, np.maximum(near, 0).ravel(), 50)[0]
        far = np.where(near.ravel()[:, None] == NONE, NONE, far)
        return judged.first(judged.shuffled(rng, far.reshape(len(queries), -1)), 4 * MINED)

    def both(one: Ints, other: Ints) -> Ints:
        return judged.shuffled(rng, np.concatenate([one, other], axis=1))

    return {
        "bm25": both(like("topic"), like("obstacle")),
        "graph": both(two_steps(literature.cites), two_steps(literature.cited_by)),
        "most_cited": most_cited[rng.integers(0, len(most_cited), size=(len(queries), 4 * MINED))],
        "random": like(),
        "scincl": both(like("area"), like("method")),
        "specter": like("area"),
    }
