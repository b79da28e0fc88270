"""Chapter `scirepeval/affinity`: how SPECTER2 Base draws its negatives (v2 section 5), counted on invented citations.

    a query of SPECTER2 Base    up to 10 triplets: 4 hard negatives, 4 easy ones of its field, 2 of other fields
    hard                        cited by a paper that the query cites, not by the query
    here                        the sampler of `training/base.py` on the citations that the training set's own triplets tell
    nearness                    cosine of TF-IDF vectors of query and candidate, over the training set's papers

Bases trained either way are compared over trainings that differ by their seed (initial weights, triplets, batches).
"""

from __future__ import annotations

import html
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from statistics import mean
from typing import Any

import numpy as np
import pandas as pd

from scirep_core.bench import studied, study
from scirep_core.data.readers.scirepeval import PaperTriple, TrainExample, training
from scirep_core.encoders import lexical
from scirep_core.exhibits import cell, sign
from scirep_core.exhibits.counting import number as count_of
from scirep_core.exhibits.counting import title
from scirep_core.exhibits.scirepeval_affinity import CHAPTER
from scirep_core.exhibits.scirepeval_affinity_figure import over_trainings
from scirep_core.kit.records import Paper
from scirep_core.kit.store import stable_hash
from scirep_core.page import report
from scirep_core.page import study as study_
from scirep_core.page.chapter import Chapter
from scirep_core.results import Result, arithmetic, provenance, recorded
from scirep_core.results.published import lookup
from scirep_core.training.base import CITES, FIELDS_OF, HARD, OTHER_FIELD, SAME_FIELD, triplets_by_field
from scirep_core.training.models import root

KINDS = ("hard", "same field", "other field")
PROMISED = dict(zip(KINDS, (HARD, SAME_FIELD, OTHER_FIELD), strict=True))
POSITIVE = "cited"
DRAWN, GIVEN = "SPECTER2’s way", "the training set’s own"
FIELDS_CODE = 23
"""Fields in the published code's list of classes; Table 9 prints fewer."""


@dataclass(frozen=True)
class Graph:
    """Citations as the training triplets tell them.

    Attributes:
        papers: by id.
        cites: query -> what it cites.
        fields: paper -> its fields of study.
        given: (query, cited, negative) as the training set has them.
    """

    papers: Mapping[str, Paper]
    cites: Mapping[str, Sequence[str]]
    fields: Mapping[str, frozenset[str]]
    given: Sequence[tuple[str, str, str]]

    def beyond(self, query: str) -> set[str]:
        """Return what the query's citations cite and it does not: its hard negatives."""
        cited = self.cites[query]
        return {key for one in cited for key in self.cites.get(one, ())} - {query, *cited}

    def kind(self, query: str, candidate: str) -> str:
        """Return what a negative is, hard first."""
        if candidate in self.beyond(query):
            return KINDS[0]
        return KINDS[1] if self.fields.get(query, frozenset()) & self.fields.get(candidate, frozenset()) else KINDS[2]


def graph(chapter: Chapter) -> Graph:
    """Return the citations of the embedded literature's training triplets, and the papers' fields."""
    where = root(study_.live_budget(chapter.parameters))
    papers, cites, given = dict[str, Paper](), dict[str, list[str]](), list[tuple[str, str, str]]()
    for row in training(CITES, where):
        assert isinstance(row, PaperTriple)
        papers |= {paper.paper_id: paper for paper in row}
        query, cited, negative = (paper.paper_id for paper in row)
        given.append((query, cited, negative))
        if cited not in cites.setdefault(query, []):
            cites[query].append(cited)
    fields = {row.paper.paper_id: frozenset(row.target) for row in training(FIELDS_OF, where)
              if isinstance(row, TrainExample) and isinstance(row.target, tuple)}  # fmt: skip
    return Graph(papers, cites, fields, given)


def drawn(of: Graph, seed: int) -> list[tuple[str, str, str]]:
    """Return triplets drawn SPECTER2's way."""
    return list(triplets_by_field(of.cites, of.fields, sorted(of.papers), seed))


# ---- as printed ------------------------------------------------------------------------------------------------------


def in_print(chapter: Chapter) -> None:
    """Say what section 5 counts, and what other numbers of the paper make of it."""
    said = {column: one for (_, column), one in lookup("V2-C7").items()}
    before, table = lookup("V2-T1")["Citation Prediction Triplets", "train"], {row for row, _ in lookup("V2-T9")}
    millions, thousands = said["training triplets, millions"], said["validation triplets, thousands"]
    both = millions.number * 1e6 + thousands.number * 1e3
    per, claimed = said["triplets of a query, up to"], said["times the data of SPECTER"]
    times, queries, share = chapter.record([
        arithmetic("V2-C7", "all triplets over SPECTER’s", both / before.number, 3, [millions, thousands, before]),
        arithmetic("V2-C7", "queries at least, thousands", millions.number * 1e3 / per.number, 2, [millions, per]),
        arithmetic("V2-C7", "validation triplets, percent", 1e5 * thousands.number / both, 2, [millions, thousands]),
    ])  # fmt: skip
    quoted = {key: chapter.number(one) for key, one in said.items()}
    easy, hard = said["easy negatives of a query"], said["hard negatives of a query"]
    two = [said[f"easy negatives of {x}"] for x in ("the query's field", "other fields")]
    adds = sum(one.number for one in two) == easy.number and easy.number + hard.number == per.number
    chapter.say(
        f"Section 5: {chapter.number(millions)} million training triplets and {chapter.number(thousands)} thousand for "
        f"validation ({chapter.number(share, 1)} percent of all), up to {chapter.number(per)} a query, so "
        f"{chapter.number(queries, 0)} thousand queries or more. The negatives are {chapter.number(easy)} easy ones "
        f"({chapter.number(two[0])} of the query’s field, "
        f"{chapter.number(two[1])} of others) and {chapter.number(hard)} hard ones, which "
        f"{'adds' if adds else 'does not add'} up."
    )
    near = abs(times.value / claimed.number - 1) < 0.05
    chapter.say(
        f"The text says {chapter.number(claimed)} times the data of SPECTER. Table 1 counts {count_of(chapter, before)} triplets "
        f"of SPECTER, training and validation together; of the new ones there are "
        f"{'as many' if near else f'{chapter.number(times, 1)} times as many'}. It says {quoted['fields of study']} fields of "
        f"study; Table 9 of the same paper lists {len(table)}, the published code has {FIELDS_CODE} classes. That code "
        "draws easy negatives otherwise than the text: 2 of exactly the query’s fields, 2 that share a field, 2 that share "
        "none; and its exclusion of cited papers has no effect."
    )


# ---- the sampler, live -----------------------------------------------------------------------------------------------


def count(chapter: Chapter, of: Graph) -> list[Result]:
    """Show which negatives SPECTER2's way draws here, beside the promise and the training set's own; return the shares."""
    seed = chapter.parameters["seed"]
    made = {DRAWN: drawn(of, seed), GIVEN: list(of.given)}
    rows, body = list[Result](), []
    for kind in KINDS:
        line = [f"{kind}", f"{PROMISED[kind]} of {sum(PROMISED.values())}"]
        for name, triplets in made.items():
            number = sum(of.kind(q, n) == kind for q, _, n in triplets)
            rows += chapter.record([_share(of, f"{kind} negatives, percent, {name}", number, len(triplets), triplets)])
            line.append(f"{chapter.number(rows[-1], 1)} <small>{number:,} of {len(triplets):,}</small>")
        body.append(line)
    caption = (
        f"Live: negatives by kind, percent, on {len(of.papers):,} papers and {len(of.cites):,} queries of the training triplets. "
        "An easy negative that happens to be cited by a cited paper counts as hard"
    )
    chapter.show(
        report.table(["Negative", "section 5", *made], body, caption, [["", "published", "live", "live"]] * len(body))
    )
    _say_counts(chapter, of, made[DRAWN], rows[0])
    _say_positives(chapter, of, made[DRAWN])
    return rows


def _share(of: Graph, metric: str, number: float, total: int, triplets: Any, unit: float = 100.0) -> Result:
    return Result(
        CITES, "train", metric, "paper", unit * number / total, total, source="embedded", data_hash=stable_hash(triplets),
        provenance=provenance(), note=f"{number:g} of {total}",
    )  # fmt: skip


def _say_counts(chapter: Chapter, of: Graph, triplets: Sequence[tuple[str, str, str]], hard: Result) -> None:
    """Say for how many queries all ten could be drawn, and why not for the others."""
    full = sum(count == sum(PROMISED.values()) for count in _per_query(triplets).values())
    few = {query: len(of.beyond(query)) for query in of.cites}
    short, none = sum(size < HARD for size in few.values()), sum(size == 0 for size in few.values())
    rows = chapter.record([
        _share(of, "queries with ten triplets, percent", full, len(few), triplets),
        _share(of, f"queries with fewer than {HARD} hard negatives at hand, percent", short, len(few), sorted(few.items())),
        _share(of, "queries without a hard negative, percent", none, len(few), sorted(few.items())),
    ])  # fmt: skip
    promised = 100 * HARD / sum(PROMISED.values())
    way = "less than" if hard.value < promised - 0.5 else "more than" if hard.value > promised + 0.5 else "about"
    chapter.say(
        f"{chapter.number(rows[0], 1)} percent of the {len(few):,} queries get all {sum(PROMISED.values())}. "
        f"{chapter.number(rows[1], 1)} percent have fewer than {HARD} papers that a cited paper cites and they do not, "
        f"{chapter.number(rows[2], 1)} percent none: who cites whom is known of the triplets’ own queries and positives alone. "
        f"So hard negatives make {chapter.number(hard, 1)} percent of all, {way} the promised {promised:.0f}."
    )


def _per_query(triplets: Iterable[tuple[str, str, str]]) -> dict[str, int]:
    found: dict[str, int] = {}
    for query, _, _ in triplets:
        found[query] = found.get(query, 0) + 1
    return found


def _say_positives(chapter: Chapter, of: Graph, triplets: Sequence[tuple[str, str, str]]) -> None:
    """Say how many negatives are cited by their query, and how many would be if cited papers were not left out."""
    wrong = sum(negative in of.cites[query] for query, _, negative in triplets)
    pool = len(of.papers)
    expected = 0.0
    for query, cited in of.cites.items():
        mine = of.fields.get(query, frozenset())
        near = sum(bool(mine & of.fields.get(key, frozenset())) for key in of.papers) - 1
        among = sum(bool(mine & of.fields.get(key, frozenset())) for key in cited)
        expected += SAME_FIELD * among / max(near, 1) + OTHER_FIELD * (len(cited) - among) / max(pool - 1 - near, 1)
    easy = sum(of.kind(q, n) != KINDS[0] for q, _, n in triplets)
    rows = chapter.record([
        _share(of, "negatives that their query cites, percent", wrong, len(triplets), triplets),
        _share(of, "easy negatives their query would cite were nothing left out, percent", expected, easy, sorted(of.cites)),
    ])  # fmt: skip
    chapter.say(
        f"{chapter.number(rows[0], 1)} percent of the negatives are cited by their query. Were cited papers not left out, "
        f"which the published code means to do and does not, {chapter.number(rows[1], 1)} percent of the easy ones would be "
        "expected to be: a query cites a good part of so small a field. Among millions of papers the chance is slight."
    )


# ---- how hard is hard? -----------------------------------------------------------------------------------------------


@report.styled
def nearness(chapter: Chapter, of: Graph) -> None:
    """Draw how near each kind of candidate is to its query by TF-IDF: mean over queries, interval over queries."""
    ids = sorted(of.papers)
    place = {key: i for i, key in enumerate(ids)}
    rows_of = _tfidf([f"{of.papers[key].title} {of.papers[key].abstract}" for key in ids])
    seed = chapter.parameters["seed"]
    triplets = drawn(of, seed)
    by: dict[str, dict[str, list[float]]] = {kind: {} for kind in (POSITIVE, *KINDS)}
    for query, cited, negative in triplets:
        for kind, other in ((POSITIVE, cited), (of.kind(query, negative), negative)):
            cosine = float(rows_of[place[query]].multiply(rows_of[place[other]]).sum())
            by[kind].setdefault(query, []).append(cosine)
    rows = []
    for kind, found in by.items():
        values = np.array([mean(found[query]) for query in sorted(found)])
        means = values[np.random.default_rng(seed).integers(len(values), size=(1000, len(values)))].mean(1)
        low, high = np.quantile(means, [0.025, 0.975])
        rows.append(Result(
            CITES, "train", f"TF-IDF cosine with the query, {kind}", "paper", float(values.mean()), len(values), low=float(low),
            high=float(high), source="embedded", data_hash=stable_hash(triplets), seed=seed, provenance=provenance(),
            note="mean over queries of the mean over their papers, bootstrap over queries",
        ))  # fmt: skip
    rows = chapter.record(rows)
    figure, axes = report.subplots(figsize=(report.WIDTH, 2.2))
    for y, row in enumerate(reversed(rows)):
        axes.plot([row.low, row.high], [y, y], color=report.LIVE, linewidth=1.6)
        axes.plot(row.value, y, "D", color=report.LIVE, markersize=5.5)
    axes.set_yticks(range(len(rows)), list(reversed(by)))
    axes.set_ylim(-0.6, len(rows) - 0.4)
    axes.set_xlim(left=0)
    axes.set_xlabel("cosine of TF-IDF vectors, candidate and query")
    axes.grid(axis="y", visible=False)
    frame = pd.DataFrame([{"candidate": kind, "cosine": row.value, "low": row.low, "high": row.high, "queries": row.n}
                          for kind, row in zip(by, rows, strict=True)])  # fmt: skip
    chapter.figure(
        "nearness", figure, frame,
        f"Live: how near a query’s candidates are to it in words: means over {min(r.n for r in rows):,} to "
        f"{max(r.n for r in rows):,} queries with 95 % bootstrap intervals.",
        "Mean TF-IDF cosine with the query of cited papers and of three kinds of negatives.",
    )  # fmt: skip
    _say_nearness(chapter, dict(zip(by, rows, strict=True)))
    hard = [(query, negative) for query, _, negative in triplets if of.kind(query, negative) == KINDS[0]]
    home = sum(bool(of.fields.get(a, frozenset()) & of.fields.get(b, frozenset())) for a, b in hard)
    share = chapter.record([_share(of, "hard negatives of the query’s field, percent", home, len(hard), hard)])[0]
    chapter.say(
        f"{chapter.number(share, 0)} percent of the hard negatives are of the query’s field; the others came by citations across "
        "fields: papers of the embedded literature cite for a method in common too, or for no reason of topic."
    )


def _tfidf(texts: Sequence[str]) -> Any:
    return lexical.term_weights(dtype=np.float64).fit_transform(texts)


def _say_nearness(chapter: Chapter, rows: Mapping[str, Result]) -> None:
    """Say in which order the kinds lie, as far as their intervals tell."""
    order = sorted(rows, key=lambda kind: -rows[kind].value)
    text = f"{order[0]} {chapter.number(rows[order[0]], 3)}"
    for above, kind in pairwise(order):
        apart = (rows[kind].high or 0) < (rows[above].low or 0)
        text += f"{', then ' if apart else ', not told apart from '}{kind} {chapter.number(rows[kind], 3)}"
    hard, same = rows["hard"], rows["same field"]
    chapter.say(f"From the nearest: {text}.")
    if (hard.low or 0) > (same.high or 0):
        chapter.say("So a hard negative is hard in words too: nearer to its query than a paper of the same field.")
    elif (hard.high or 0) < (same.low or 0):
        chapter.say(
            "By words alone a paper of the same field is nearer to its query than a hard negative, whatever the names say."
        )
    else:
        chapter.say("By words alone a hard negative and a paper of the same field are not told apart.")


# ---- bases trained either way ----------------------------------------------------------------------------------------

WAYS = {"embedded specter": "SPECTER’s negatives", "embedded": "SPECTER2’s negatives"}
UNTRAINED = "embedded untrained"
COMPARED = tuple(f"scirepeval/{name}" for name in (
    "mesh_descriptors", "scidocs_mag", "cite_count", "pub_year", "same_author", "high_influence_cite", "relish", "scidocs_cite",
    "scidocs_cocite", "search", "trec_covid", "nfcorpus"))  # fmt: skip
"""Tasks of all formats without few-shot settings, which are quick to score."""
MEAN = "mean of tasks"


def train_bases(chapter: Chapter) -> list[Result]:
    """Train the base either way, as often as `seeds` says; return its scores by task, their mean, and means over trainings.

    Nothing is trained in a quick run.
    """
    if chapter.parameters["quick"]:
        return []
    rows = list[Result]()
    for seed in range(chapter.parameters["seeds"]):
        given = replace(study_.live_budget(chapter.parameters), base_seed=seed)
        bases = (*WAYS, *([UNTRAINED] if seed == 0 else []))
        found = study.run(
            "bases", given, [0], changes={"variants": ("Base",), "bases": bases, "tasks": COMPARED, "split": "test"},
            keep_vectors=True, protocol=chapter.parameters["protocol"], out=chapter.folder / f"bases-{seed}.jsonl",
        )  # fmt: skip
        for base in bases:
            mine = [
                row for row in studied.trainings(found) if row.parameters["base"] == base and studied.main_metric(row)
            ]
            rows += [_named(row, base, seed) for row in (*mine, _mean_of(mine))]
    rows = [replace(row, by_query={}, replicates=None) for row in rows]
    return study_.record(chapter, [*rows, *studied.over_seeds(rows), *_gaps(rows)])


def _named(row: Result, base: str, seed: int) -> Result:
    return replace(row, encoder=f"{base}, seed {seed}", parameters={**row.parameters, "training_seed": seed})


def _mean_of(rows: Sequence[Result]) -> Result:
    """Return the plain mean of one training's tasks, each by its main metric."""
    return replace(
        rows[0], task=MEAN, metric="mean of main metrics", value=mean(row.value for row in rows), n=len(rows), low=None,
        high=None, data_hash=stable_hash([row.data_hash for row in rows]), note="of single tasks’ main metrics", fingerprint="",
    )  # fmt: skip


def _gaps(rows: Sequence[Result]) -> list[Result]:
    """Return SPECTER2's way minus SPECTER's by task, over trainings with equal seeds."""
    found = {(row.parameters["base"], row.parameters["training_seed"], row.task): row for row in rows}
    first, second = reversed(WAYS)
    made = []
    for task in dict.fromkeys(row.task for row in rows):
        seeds = sorted({seed for base, seed, of in found if of == task and base == first})
        values = [found[first, seed, task].value - found[second, seed, task].value for seed in seeds]
        row = over_trainings(found[first, 0, task], f"{WAYS[first]} minus {WAYS[second]}", values)
        made.append(replace(row, parameters={"trainings": len(values), "gap": True}))
    return made


def kept() -> list[Result]:
    """Return our recorded bases."""
    return [row for row in recorded(CHAPTER, "embedded") if row.task == MEAN or row.task in COMPARED]


def show_bases(chapter: Chapter, live: Sequence[Result]) -> None:
    """Show bases trained by either way's negatives, task by task; say on which they differ over trainings."""
    for rows in (kept(), live):
        gaps = {row.task: row for row in rows if row.metric.endswith(f"minus {WAYS['embedded specter']}")}
        cells = {(row.encoder, row.task): row for row in rows if row.encoder in WAYS}
        start = {row.task: row for row in rows if row.encoder.startswith(UNTRAINED)}
        if not gaps or not cells:
            continue
        some = next(iter(gaps.values()))
        body = []
        for task in (*COMPARED, MEAN):
            label = html.escape(title(task)) if task != MEAN else f"mean of the {len(COMPARED)}"
            shown = [chapter.number(cells[base, task], 1) for base in WAYS]
            begun = chapter.number(start[task], 1) if task in start else ""
            body.append([label, begun, *shown, cell(chapter, gaps[task], signed=True)])
        header = ["Task", "no citations", *WAYS.values(), "difference"]
        papers = some.parameters.get("papers") or chapter.parameters["papers"]
        caption = (
            f"{some.kind.capitalize()}: bases alone, {some.n} training{'s' if some.n > 1 else ''} each way, {papers:,} invented "
            "papers, main metric on the full data; difference: SPECTER2’s minus SPECTER’s, t interval over pairs of equal seed"
        )
        chapter.show(report.table(header, body, caption, [["", *[some.kind] * 4]] * len(body)))
        _say_bases(chapter, gaps)
    if not kept() and not live:
        chapter.say(
            "No comparison of the two bases is recorded, and a quick run trains none: "
            f"<code>{html.escape(chapter.command(quick=False, seeds=5))}</code> trains five of each."
        )


def _say_bases(chapter: Chapter, gaps: Mapping[str, Result]) -> None:
    total = gaps[MEAN]
    signs = {task: sign(row) for task, row in gaps.items() if task != MEAN}
    if total.low is None:
        chapter.say(
            f"One training each way: a difference of {chapter.number(total, 1, sign=True)} on the mean says nothing by itself."
        )
        return
    word = {1: "better", -1: "worse", 0: "not told apart"}[sign(total)]
    up, down = ([f"{html.escape(title(t))}" for t, s in signs.items() if s == way] for way in (1, -1))
    named = "; ".join(f"{how} on {', '.join(names)}" for how, names in (("better", up), ("worse", down)) if names)
    chapter.say(
        f"On the mean of {len(signs)} tasks the base with SPECTER2’s negatives is {word} "
        f"({chapter.number(total, 2, sign=True)}, {report.interval(total.low, total.high)}); by task, settled: "
        f"{named or 'nothing'}. The paper prints no such comparison: its Base differs from SPECTER in its data too."
    )
