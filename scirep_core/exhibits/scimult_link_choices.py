"""Chapter `scimult/link_prediction`, measuring: what choices outside the encoder do to a number (4.5, appendix B, Tables 5 to 7).

    self         the published scripts leave a query's own paper in the pool; dropped, one place is free for another paper
    similarity   inner product (SciMult), cosine (the baselines), minus the Euclidean distance (SciDocs' own evaluator): of
                 one encoder's vectors, on the same candidates
    patients     PMC-Patients without any training on it, where the query is taken out of the pool
    triplets     200 real citation triplets: is the cited paper nearer than the other one?

Encoders are words and, on the embedded literature, those trained live in this build, whose vectors are stored. The three
similarities order alike where all vectors are of one length; those of a trained model are not.
"""

from __future__ import annotations

import html
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import cast

from scirep_core.bench import scoring
from scirep_core.bench.systems import System, load_system
from scirep_core.data import load_task
from scirep_core.data.manifests import fetch
from scirep_core.data.readers import recommendation
from scirep_core.data.task import Pooled, Task
from scirep_core.evaluators.inputs import Vectors
from scirep_core.exhibits import counting, scimult_recommendation, scimult_systems, studies
from scirep_core.exhibits.counting import title
from scirep_core.exhibits.scimult_systems import changed, differences, score, systems_table
from scirep_core.kit.formats import SIMILARITIES
from scirep_core.page.chapter import Chapter
from scirep_core.results import Result
from scirep_core.training.models import obtain

POOLS = ("scimult/cite", "scimult/cocite")
ORDERED = ("scimult/coview", "scimult/coread", "scimult/cite_rerank", "scimult/cocite_rerank")
PATIENTS = ("scimult/pmc_par", "scimult/pmc_ppr")
TRIPLETS = "sample/cite_prediction"
TRAINED = ("SciMult Vanilla", "SciMult MHAExpert")
CUTS = ("recall@20", "recall@50", "recall@100")
OF_PATIENTS = {"mrr": "MRR", "p@10": "P@10", "ndcg@10": "nDCG@10", "recall@1000": "R@1K"}
"""Metrics of Table 6, as printed there."""
KEPT_OR_NOT = "own paper dropped, kept"
OWN_FIRST = "own paper found first, %"
CALLED = {"dot": "inner product", "cosine": "cosine", "l2": "−L2"}


# ---- measuring -------------------------------------------------------------------------------------------------------


def measure(chapter: Chapter) -> list[Result]:
    """Return every row of the chapter's own measurements, recorded: of the published files, or what stands for them; with
    `data = real` of the real pieces too.
    """
    names, seed = scimult_systems.names_of(chapter), chapter.parameters["seed"]
    rows = [*(_pieces(names, seed) if chapter.parameters["data"] == "real" else ()), *_files(chapter, names, seed)]
    return chapter.record(scimult_systems.bare(rows))


def _pieces(names: Sequence[str], seed: int) -> Iterator[Result]:
    task = load_task(TRIPLETS, "real")
    assert isinstance(task, Task)
    found = score(task, names, ("accuracy",), seed=seed)
    yield from found
    yield from differences(found)
    yield from scimult_recommendation.measure(fetch("recommendation") / recommendation.STUDY, seed)


def _files(chapter: Chapter, names: Sequence[str], seed: int) -> Iterator[Result]:
    gathered = counting.gather(chapter, (*POOLS, *ORDERED, *PATIENTS))
    counting.say_absent(chapter, gathered)
    patients, pools, ordered = (
        [gathered.tasks[n] for n in some if n in gathered.tasks] for some in (PATIENTS, POOLS, ORDERED)
    )
    # what is trained here reads invented papers; a folder of one's own is for systems by name
    models = trained(chapter) if chapter.parameters["data"] == "embedded" else {}
    for task in patients:
        found = score(task, names, tuple(OF_PATIENTS), seed=seed)
        yield from (counting.row(task, *count) for count in counting.counts(task))
        yield from found
        yield from differences(found)
        for label, system in models.items():
            yield from _rows(task, _vectors(system, task), tuple(OF_PATIENTS), "dot", label, seed)
    for label, system in models.items():
        for task in pools:
            yield from own_paper(task, label, _vectors(system, task), "dot", seed)
        for task in ordered:
            yield from three_ways(task, label, _vectors(system, task), seed)
    for task in pools if "tfidf" in names else ():
        yield from own_paper(task, "tfidf", _vectors(load_system("tfidf"), task), None, seed)


def trained(chapter: Chapter) -> dict[str, System]:
    """Return the models of this build's live study by name; they are there already where the study was run."""
    budget = studies.live_budget(chapter)
    return {name: load_system(obtain(name, 0, budget, "embedded untrained")[0].encoder) for name in TRAINED}


def _vectors(system: System, task: Task) -> Vectors:
    return cast(Vectors, system.on(task))


def own_paper(task: Task, label: str, vectors: Vectors, similarity: str | None, seed: int = 0) -> Iterator[Result]:
    """Yield recall with the query's own paper in the pool and dropped, their difference, and how often it is found first."""
    data = cast(Pooled, task.payload)
    assert data.keep_self
    inside = set(data.pool)
    kept = _rows(task, vectors, CUTS, similarity, label, seed)
    without = replace(task, payload=replace(data, keep_self=False))
    dropped = _rows(without, vectors, CUTS, similarity, label, seed)
    itself = replace(
        task, payload=replace(data, relevant={q: {q: 1} for q, found in data.relevant.items() if found and q in inside})
    )
    for how, rows in (("kept", kept), ("dropped", dropped)):
        yield from (replace(row, metric=f"{row.metric} (own paper {how})") for row in rows)
    yield from changed(dropped, kept, KEPT_OR_NOT, "kept")
    yield from (
        replace(row, metric=OWN_FIRST) for row in _rows(itself, vectors, ("recall@1",), similarity, label, seed)
    )


def three_ways(task: Task, label: str, vectors: Vectors, seed: int = 0) -> Iterator[Result]:
    """Yield MAP by the three similarities on the same candidates, and the differences from the inner product."""
    found = {how: _rows(task, vectors, ("map",), how, label, seed) for how in SIMILARITIES}
    for how, rows in found.items():
        yield from (replace(row, metric=f"map ({how})") for row in rows)
        if how != "dot":
            yield from changed(rows, found["dot"], f"{how} minus inner product", "inner product")


def _rows(task: Task, vectors: Vectors, metrics: Sequence[str], how: str | None, label: str, seed: int) -> list[Result]:
    return scoring.evaluate(task, vectors, metrics=metrics, similarity=how, name=label, seed=seed)


# ---- showing ---------------------------------------------------------------------------------------------------------


def show_own_paper(chapter: Chapter, rows: Sequence[Result]) -> None:
    """Show recall with the own paper kept and dropped, and say what dropping it does."""
    columns = [(task, f"{CUTS[0]} (own paper {how})") for task in POOLS for how in ("kept", "dropped")]
    columns += [(task, OWN_FIRST) for task in POOLS]
    labels = {
        (t, m): f"{html.escape(title(t))}, whole pool<br>{html.escape(m.replace('recall@', 'R@'))}" for t, m in columns
    }
    if not systems_table(
        chapter, "The query’s own paper in the pool, and dropped from it", [("live", rows)], columns, labels
    ):
        _unmeasured(chapter)
        return
    gaps = [row for row in rows if row.metric.endswith(KEPT_OR_NOT)]
    up = sum(scimult_systems.sign(row) == 1 for row in gaps)
    at_20 = [row for row in gaps if f"recall@20, {KEPT_OR_NOT}" in row.metric]
    told = "; ".join(
        f"{scimult_systems.called(r.encoder)} on {html.escape(title(r.task))} {scimult_systems.points(chapter, r)}"
        for r in at_20
    )
    found = sorted((row for row in rows if row.metric == OWN_FIRST), key=lambda row: row.value)
    ends = " to ".join(
        chapter.number(row, 1) for row in {f"{row.value:.1f}": row for row in (found[0], found[-1])}.values()
    )
    chapter.say(
        f"Dropping the own paper frees one place of k, so it can only help. Recall@20, dropped minus kept: {told}. Of {len(gaps)} "
        f"differences at three cut-offs {up} are settled above 0.",
        f"The own paper is found first for {ends} % of the queries. By cosine nothing can be nearer than it; by the inner "
        "product a longer vector can come before it.",
    )


def _unmeasured(chapter: Chapter) -> None:
    chapter.note(
        "This is measured on the embedded literature, <code>-p data embedded</code>, and on the published files where they "
        "lie here."
    )


def show_similarities(chapter: Chapter, rows: Sequence[Result]) -> None:
    """Show MAP of the same vectors by three similarities, and say how far the choice moves it."""
    columns = [(task, f"map ({how})") for task in ORDERED for how in ("dot", "cosine", "l2")]
    labels = {(t, m): f"{html.escape(title(t))}<br>MAP, {CALLED[m.partition('(')[2].rstrip(')')]}" for t, m in columns}
    if not systems_table(chapter, "The same vectors, compared in three ways", [("live", rows)], columns, labels):
        _unmeasured(chapter)
        return
    gaps = [row for row in rows if row.against == "inner product"]
    low, high = min(gaps, key=lambda r: r.value), max(gaps, key=lambda r: r.value)
    settled = sum(scimult_systems.sign(row) != 0 for row in gaps)
    chapter.say(
        f"Against the inner product the choice moves MAP by {scimult_systems.points(chapter, low)} ({_choice(low)}) to "
        f"{scimult_systems.points(chapter, high)} ({_choice(high)}); {settled} of {len(gaps)} differences are settled."
    )


def _choice(row: Result) -> str:
    how = row.metric.partition(", ")[2].partition(" ")[0]
    return f"{CALLED[how]}, {scimult_systems.called(row.encoder)}, {html.escape(title(row.task))}"


def show_patients(chapter: Chapter, rows: Sequence[Result]) -> None:
    """Show systems without any training on patients, by the metrics of Table 6, and say how large the pools are."""
    columns = [(task, metric) for task in PATIENTS for metric in OF_PATIENTS]
    labels = {(t, m): f"{html.escape(title(t))}<br>{OF_PATIENTS[m]}" for t, m in columns}
    caption = "Patients, without training on them: the metrics of Table 6"
    if not systems_table(chapter, caption, [("live", rows)], columns, labels):
        _unmeasured(chapter)
        return
    cells, count = scimult_systems.by_cell(rows), counting.by_count(rows)
    told = [
        f"{counting.number(chapter, count[task, 'papers'])} in {html.escape(title(task))}, where random vectors have an R@1K of "
        f"{chapter.number(cells[task, 'random', 'recall@1000'], 1)}"
        for task in PATIENTS if (task, "papers") in count and (task, "random", "recall@1000") in cells
    ]  # fmt: skip
    chapter.say(f"The pools are small, so that the last metric says little: {'; '.join(told)}." if told else "")


def show_triplets(chapter: Chapter, kinds: Sequence[tuple[str, Sequence[Result]]]) -> None:
    """Show how often the cited paper is nearer in real triplets, and which system is ahead."""
    columns = [(TRIPLETS, "accuracy")]
    labels = {columns[0]: "real citation triplets<br>accuracy"}
    if systems_table(
        chapter, "Is the cited paper nearer than the other one? 200 real triplets", kinds, columns, labels
    ):
        scimult_systems.say_differences(chapter, kinds, columns, labels)
