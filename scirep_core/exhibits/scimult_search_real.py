"""Chapter `scimult/search`, measuring: real searches, the five data sets, splits that are merged, other readings of nDCG (4.6).

At hand: 265 claims of SciFact whose evidence is among the 2,101 abstracts at hand, without titles; 100 searches with 10 results
each and their clicks; topics and judgements of TREC-COVID and NFCorpus, which have no texts here and are counted.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, cast

import numpy as np

from scirep_core.bench import scoring
from scirep_core.bench.systems import load_system
from scirep_core.data import load_task
from scirep_core.data.manifests import fetch
from scirep_core.data.readers import beir
from scirep_core.data.task import Pooled, Task
from scirep_core.evaluators import retrieval
from scirep_core.exhibits import counting, scimult_systems
from scirep_core.exhibits.counting import by_count, number, title
from scirep_core.exhibits.scimult_systems import changed, differences, score, systems_table
from scirep_core.page.chapter import Chapter
from scirep_core.results import Result
from scirep_core.results.published import lookup

METRIC = "ndcg@10"
CLAIMS, CLICKS = "sample/scifact", "sample/search"
SPLIT = {"train": f"{CLAIMS}, train", "test": f"{CLAIMS}, test"}
FIVE = tuple(f"scimult/{name}" for name in ("search", "trec_covid", "trec_covid_beir", "scifact", "nfcorpus"))
COVID, COVID_BEIR = "scimult/trec_covid", "scimult/trec_covid_beir"
TOPICS, JUDGED = "topics of TREC-COVID", "judgements of NFCorpus"
CALLED = {CLAIMS: "SciFact, 265 claims at hand", SPLIT["train"]: "its training claims", SPLIT["test"]: "its test claims",
          CLICKS: "100 real searches"}  # fmt: skip


# ---- measuring -------------------------------------------------------------------------------------------------------


def measure(chapter: Chapter) -> list[Result]:
    """Return every row of the chapter's own measurements, recorded: of the published files, or what stands for them; with
    `data = real` of the real pieces too.
    """
    names, seed = scimult_systems.names_of(chapter), chapter.parameters["seed"]
    rows = [*(_pieces(names, seed) if chapter.parameters["data"] == "real" else ()), *_files(chapter, names, seed)]
    rows += differences([row for row in rows if row.metric == METRIC])
    return chapter.record(scimult_systems.bare(rows))


def _pieces(names: Sequence[str], seed: int) -> Iterator[Result]:
    claims, clicks = load_task(CLAIMS, "real"), load_task(CLICKS, "real")
    assert isinstance(claims, Task)
    assert isinstance(clicks, Task)
    for task in (claims, *by_split(claims).values(), clicks):
        yield from (counting.row(task, *count) for count in counting.counts(task))
        yield from score(task, names, (METRIC,), seed=seed)
    yield from other_readings(claims, names, seed)
    yield from counts_of_judgements(claims)


def _files(chapter: Chapter, names: Sequence[str], seed: int) -> Iterator[Result]:
    gathered = counting.gather(chapter, FIVE)
    counting.say_absent(chapter, gathered)
    for task in (gathered.tasks[name] for name in FIVE if name in gathered.tasks):
        yield from (counting.row(task, *count) for count in [*counting.counts(task), *query_words(task)])
        yield from score(task, names, (METRIC,), seed=seed)
    if COVID_BEIR in gathered.tasks:
        yield from other_readings(gathered.tasks[COVID_BEIR], names, seed)


def by_split(task: Task) -> dict[str, Task]:
    """Return the claims of each of SciFact's two published splits as tasks of their own, on the whole pool."""
    folder, data = fetch("scifact_sample"), cast(Pooled, task.payload)
    found = {}
    for split, name in SPLIT.items():
        asked = {row.query_id for _, row in beir.qrels(folder / f"beir_qrels_{split}.tsv")}
        kept = {query: grades for query, grades in data.relevant.items() if query in asked}
        made = scimult_systems.renamed(task, name, relevant=kept)
        found[split] = replace(made, queries={query: task.queries[query] for query in kept})
    return found


def query_words(task: Task) -> Iterator[counting.Count]:
    """Yield how many words a query has."""
    yield from counting.summary([len(text.split()) for text in task.queries.values()], "words of a query")


def counts_of_judgements(stamp: Task) -> Iterator[Result]:
    """Yield what is in the real topics of TREC-COVID and in NFCorpus' judgements, which have no texts here.

    Args:
        stamp: a real task, for what its rows say of the source.
    """
    covid, nf = fetch("trec_covid_sample"), fetch("nfcorpus_sample")
    topics = (covid / "topics_round5.xml").read_text(encoding="utf-8")
    made: list[tuple[str, counting.Count]] = []
    for part in ("query", "question", "narrative"):
        lengths = [len(text.split()) for text in re.findall(rf"<{part}>(.*?)</{part}>", topics, re.DOTALL)]
        made.append((TOPICS, (f"words of the {part}, mean", float(np.mean(lengths)), len(lengths))))
    asked = beir.read_queries(covid / "beir_queries.jsonl")
    questions = {text.strip() for text in re.findall(r"<question>(.*?)</question>", topics, re.DOTALL)}
    made.append(
        (
            TOPICS,
            (
                "BEIR queries that are a topic’s question",
                sum(t.strip() in questions for t in asked.values()),
                len(asked),
            ),
        )
    )
    grades = [row.score for _, row in beir.qrels(covid / "qrels_beir_test.txt")]
    made.append((TOPICS, ("judgements per query", len(grades) / len(asked), len(asked))))
    made += [
        (TOPICS, (f"judgements of grade {g}, %", 100 * grades.count(g) / len(grades), len(grades)))
        for g in sorted(set(grades))
    ]
    every = beir.read_queries(nf / "queries.jsonl")
    tested = {row.query_id for _, row in beir.qrels(nf / "qrels_test.txt")}
    made.append((JUDGED, ("queries of all splits", len(every), len(every))))
    made.append((JUDGED, ("queries of the test split", len(tested), len(tested))))
    for name, count in made:
        yield replace(counting.row(stamp, *count), task=name)


# ---- nDCG in other readings ------------------------------------------------------------------------------------------


def other_readings(task: Task, names: Sequence[str], seed: int = 0) -> Iterator[Result]:
    """Yield nDCG@10 of words on a pool in the readings of `retrieval.READINGS`, and their differences from trec_eval's."""
    for name in names:
        if name in scimult_systems.WORDS:
            scorer: Any = load_system(name).on(task)
            ours = scoring.evaluate(task, scorer, metrics=(METRIC,), name=name, seed=seed)
            for reading, row in retrieval.readings(task, scorer, METRIC, seed=seed).items():
                row = replace(row, encoder=name)
                yield replace(row, metric=f"{METRIC} ({reading})")
                yield from changed([row], ours, f"{reading} minus trec_eval", "trec_eval")


# ---- showing ---------------------------------------------------------------------------------------------------------

Shown = Sequence[tuple[str, Sequence[Result]]]


def called(name: str) -> str:
    """Return how a task is called."""
    return html.escape(CALLED.get(name, title(name)))


def systems(chapter: Chapter, kinds: Shown, names: Sequence[str], caption: str) -> None:
    """Show systems on some tasks, and which is ahead of which."""
    columns = [(name, METRIC) for name in names]
    labels = {column: f"{called(column[0])}<br>nDCG@10" for column in columns}
    if systems_table(chapter, caption, kinds, columns, labels):
        scimult_systems.say_differences(chapter, kinds, columns, labels)


def floors(chapter: Chapter, kinds: Shown) -> None:
    """Say what random vectors reach where candidates are given, and in a whole pool."""
    for kind, rows in kinds:
        whole = [row for row in rows if row.task not in SPLIT.values()]
        found = [row for row in whole if row.encoder == "random" and row.metric == METRIC]
        if found:
            low, high = min(found, key=lambda r: r.value), max(found, key=lambda r: r.value)
            chapter.say(
                f"{kind.capitalize()}: random vectors have an nDCG@10 of {chapter.number(high, 1)} on {called(high.task)} and of "
                f"{chapter.number(low, 1)} on {called(low.task)}. A plain mean over data sets adds up numbers from such floors."
            )


def splits(chapter: Chapter, kinds: Shown) -> None:
    """Say how the two splits of SciFact differ, which SciMult merges and BEIR does not."""
    for kind, rows in kinds:
        cells = scimult_systems.by_cell(rows)
        names = [s for t, s, m in cells if (t, m) == (CLAIMS, METRIC) and s not in scimult_systems.BOUNDS]
        told = [
            f"{scimult_systems.called(name)} {chapter.number(cells[SPLIT['train'], name, METRIC], 1)} and "
            f"{chapter.number(cells[SPLIT['test'], name, METRIC], 1)}, together {chapter.number(cells[CLAIMS, name, METRIC], 1)}"
            for name in names if (SPLIT["train"], name, METRIC) in cells
        ]  # fmt: skip
        count = by_count(rows)
        if told:
            chapter.say(
                f"{kind.capitalize()}, nDCG@10 of {number(chapter, count[SPLIT['train'], 'queries'])} training claims and "
                f"{number(chapter, count[SPLIT['test'], 'queries'])} test claims: {'; '.join(told)}."
            )
        if (JUDGED, "queries of all splits") in count:
            chapter.say(
                f"Of NFCorpus SciMult takes all {number(chapter, count[JUDGED, 'queries of all splits'])} queries; BEIR’s is of "
                f"the {number(chapter, count[JUDGED, 'queries of the test split'])} in the test split."
            )


def two_covids(chapter: Chapter, kinds: Shown) -> None:
    """Say how the two versions of TREC-COVID differ: what a query is, what is ranked."""
    for kind, rows in kinds:
        count = by_count(rows)
        if (TOPICS, "words of the query, mean") in count:
            theirs = lookup("SM-TA2")["TREC-COVID in SciRepEval", "candidates per query"]
            words = [
                f"{number(chapter, count[TOPICS, f'words of the {part}, mean'], 1)} ({part})"
                for part in ("query", "question", "narrative")
            ]
            same = count[TOPICS, "BEIR queries that are a topic’s question"]
            graded = [f"{number(chapter, row, 1)} % {m.removeprefix('judgements of ').removesuffix(', %')}"
                      for (t, m), row in count.items() if t == TOPICS and m.startswith("judgements of grade")]  # fmt: skip
            chapter.say(
                f"{kind.capitalize()}: a topic has three texts, of {', '.join(words)} words on average. {number(chapter, same)} of "
                f"{same.n} queries of BEIR are the question alone; SciRepEval joins several. BEIR has "
                f"{number(chapter, count[TOPICS, 'judgements per query'])} judgements a query, {', '.join(graded)}; SciRepEval, in "
                f"print, {number(chapter, theirs)}."
            )
        if (COVID, "words of a query, mean") in count:
            cells = [(name, count[name, "words of a query, mean"]) for name in (COVID, COVID_BEIR)]
            told = " and ".join(f"{number(chapter, row, 1)} in {called(name)}" for name, row in cells)
            chapter.say(
                f"{kind.capitalize()}: words of a query {told}; {number(chapter, count[COVID, 'pairs'])} pairs are put "
                f"in order in the one, {number(chapter, count[COVID_BEIR, 'papers'])} papers are searched in the other."
            )


def show_readings(chapter: Chapter, kinds: Shown) -> None:
    """Show nDCG@10 in other readings beside trec_eval's, and say what each moves."""
    names = (COVID_BEIR, CLAIMS)
    columns = [
        (name, metric)
        for name in names
        for metric in (METRIC, *(f"{METRIC} ({reading})" for reading in retrieval.READINGS))
    ]
    there = [(kind, [row for row in rows if row.encoder in scimult_systems.WORDS]) for kind, rows in kinds]
    labels = {
        (t, m): f"{called(t)}<br>{'trec_eval' if m == METRIC else html.escape(m[len(METRIC) + 2 : -1])}"
        for t, m in columns
    }
    if not systems_table(chapter, "nDCG@10 as trec_eval has it, and in four other readings", there, columns, labels):
        return
    for kind, rows in there:
        for reading in retrieval.READINGS:
            gaps = [row for row in rows if row.metric.endswith(f"{METRIC}, {reading} minus trec_eval")]
            told = "; ".join(
                f"{scimult_systems.called(r.encoder)}, {called(r.task)}, {scimult_systems.points(chapter, r)}"
                for r in gaps
            )
            chapter.say(f"{kind.capitalize()}, {html.escape(reading)} minus trec_eval: {told}." if told else "")
        alone: dict[str, list[Result]] = {}
        for row in rows:
            if row.metric == f"{METRIC} (judged only)":
                alone.setdefault(row.task, []).append(row)
        for task, of in alone.items():
            if all(row.value > 100 - 1e-9 for row in of):
                chapter.say(
                    f"In {called(task)} every judgement names a relevant paper: with the others left out any ranking is perfect, "
                    f"{chapter.number(of[0], 0)}."
                )
