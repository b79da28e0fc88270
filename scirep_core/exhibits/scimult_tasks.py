"""Chapter `scimult/tasks`: SciMult's Tables 1, 2, A1 and A2, labels per paper, and the name-matching heuristic (4.2).

A label matches a paper when its normalised name (lower case, runs of characters that are no letters and digits as one space)
occurs in the normalised title or abstract as whole words. The lists the released scripts read hold such matches; how they were made
was not released, so the rule is ours and its agreement with the lists is counted.
"""

from __future__ import annotations

import html
import re
import unicodedata
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from pathlib import Path

import pandas as pd

from scirep_core.data import TASKS
from scirep_core.data.literature.emit.scimult.labels import normalised
from scirep_core.data.manifests import fetch
from scirep_core.data.readers import samples_scimult
from scirep_core.data.task import LabelSpace, LabelText, Task
from scirep_core.exhibits import counting
from scirep_core.exhibits.counting import Gathered, by_count, number, row, title
from scirep_core.kit.errors import CacheError, ConfigError, DataError
from scirep_core.page import report
from scirep_core.page.chapter import Chapter
from scirep_core.results import Result, arithmetic, recorded
from scirep_core.results.published import Printed, lookup, table

CHAPTER = "scimult/tasks"
WANTED = tuple(name for name, spec in TASKS.items() if spec.paper == "scimult")
QUERIES, CANDIDATES, PER_QUERY = "#Queries", "#Candidates", "candidates per query"
PAIRS = "#Positive (Query, Candidate) Pairs"
ROWS = {
    "scimult/cite": "SciDocs (Cite, retrieval)", "scimult/cocite": "SciDocs (Co-cite, retrieval)",
    "scimult/cite_rerank": "SciDocs (Cite, reranking)", "scimult/cocite_rerank": "SciDocs (Co-cite, reranking)",
    "scimult/ppr": "PMC-Patients (Patient-to-Patient Retrieval, Zero-shot)",
    "scimult/pmc_par": "PMC-Patients (Patient-to-Article Retrieval, Supervised)",
    "scimult/pmc_ppr": "PMC-Patients (Patient-to-Patient Retrieval, Supervised)",
}  # fmt: skip
"""Rows of Table A2 that go by another name in the inventory."""
SCIFACT, MESH = "sample/scifact", "MeSH names in SciFact abstracts"
READ = 2_000
"""Papers of a task that are matched again by our rule."""


# ---- counting --------------------------------------------------------------------------------------------------------


def measure(gathered: Gathered) -> list[Result]:
    """Return sizes, lengths, labels per paper and matches of every task at hand."""
    rows: list[Result] = []
    for task in gathered.tasks.values():
        found = [*counting.counts(task), *counting.lengths(task), *labels(task)]
        found += [count for count in counting.score_shares(task) if count[0] == PER_QUERY]
        rows += [row(task, *count) for count in found]
    return rows + (mesh_names(gathered.tasks[SCIFACT]) if SCIFACT in gathered.tasks else [])


def mesh_labels() -> dict[str, LabelText]:
    """Return MeSH's real names as labels; {} where they are neither here nor to be had. What is here must be right."""
    try:
        folder = fetch("mesh")
    except (DataError, CacheError, ConfigError) as error:
        if isinstance(error, DataError) and Path(error.path).exists():
            raise
        return {}
    return {key: LabelText(key, name) for key, name in samples_scimult.mesh_terms(folder / "terms.tsv").items()}


def mesh_names(claims: Task) -> list[Result]:
    """Return how many of MeSH's real names match the real abstracts at hand, by our rule; there are no gold labels."""
    terms = mesh_labels()
    if not terms:
        return []
    match = matcher(terms)
    matches = [len(match(paper.abstract)) for paper in claims.texts()]
    without = 100 * sum(not n for n in matches) / len(matches)
    found = [
        ("labels", len(terms), len(terms)), ("papers without a match (by rule), %", without, len(matches)),
        *counting.summary(matches, "matching labels per paper (by rule)"),
    ]  # fmt: skip
    return [replace(row(claims, *count), task=MESH) for count in found]


def labels(task: Task) -> Iterator[counting.Count]:
    """Yield, of a label-ranking task, labels per paper, matches per paper, how well they fit, and how our rule agrees.

    Percentages are over labels (micro): `gold labels that match` is what name matching alone could recall.
    """
    space = task.payload
    if not isinstance(space, LabelSpace):
        return
    yield from counting.summary([len(gold) for gold in space.gold.values()], "labels per paper")
    ours = rule(task)
    for kind, matched in (("listed", space.matched), ("by rule", ours)):
        if not matched:
            continue
        gold = {paper: set(space.gold[paper]) for paper in matched}
        hits = sum(len(gold[paper] & set(names)) for paper, names in matched.items())
        found, wanted = sum(map(len, matched.values())), sum(map(len, gold.values()))
        yield from counting.summary([len(names) for names in matched.values()], f"matching labels per paper ({kind})")
        if wanted:
            yield f"gold labels that match ({kind}), %", 100 * hits / wanted, wanted
        yield (
            f"papers without a match ({kind}), %",
            100 * sum(not n for n in matched.values()) / len(matched),
            len(matched),
        )
        if found:
            yield f"matching labels that are gold ({kind}), %", 100 * hits / found, found
    listed = {paper: set(space.matched[paper]) for paper in ours if paper in space.matched}
    if total := sum(map(len, listed.values())):
        both = sum(len(listed[paper] & set(ours[paper])) for paper in listed)
        yield "listed matches that the rule finds, %", 100 * both / total, total


def matcher(names: Mapping[str, LabelText]) -> Callable[..., tuple[str, ...]]:
    """Return a function from texts to the labels whose name one of them holds as whole words, in the order of the label file.

    An accented letter is the same in one code or in two (NFC).
    """
    by_name: dict[str, list[str]] = {}
    for key, label in names.items():
        by_name.setdefault(_words(label.name), []).append(key)
    by_name.pop("", None)
    sizes = sorted({name.count(" ") + 1 for name in by_name})
    order = {key: i for i, key in enumerate(names)}

    def match(*texts: str) -> tuple[str, ...]:
        each = [_words(text).split() for text in texts]
        runs = {" ".join(words[i : i + n]) for words in each for n in sizes for i in range(len(words) - n + 1)}
        return tuple(sorted((key for run in runs & by_name.keys() for key in by_name[run]), key=order.__getitem__))

    return match


def _words(text: str) -> str:
    return normalised(unicodedata.normalize("NFC", text))


def rule(task: Task) -> dict[str, tuple[str, ...]]:
    """Return the matching labels of the first papers of a task by our rule; empty without texts."""
    assert isinstance(task.payload, LabelSpace)
    match = matcher(task.payload.labels)
    return {p.paper_id: match(p.title, p.abstract) for p in islice(task.texts(), READ)
            if p.paper_id in task.payload.gold}  # fmt: skip


# ---- Tables 1 and 2 --------------------------------------------------------------------------------------------------


def table1(chapter: Chapter) -> None:
    """Show the three instructions (SM-T1) with their length, which every query and candidate pays."""
    printed = lookup("SM-T1")
    made = chapter.record([
        arithmetic("SM-T1", f"tokens of the instruction, {task}", count, 1, (p,))
        for ((task, _), p), count in zip(printed.items(), counting.token_counts([p.value for p in printed.values()]), strict=True)
    ])  # fmt: skip
    cells = [
        [task, html.escape(p.value), number(chapter, r)]
        for ((task, _), p), r in zip(printed.items(), made, strict=True)
    ]
    chapter.show(
        report.table(
            ["Task", "instruction", "tokens"], cells,
            "Table 1: the instructions, and their tokens with [CLS] and [SEP] (MiniLM’s tokenizer; PubMedBERT’s differs a little)",
            [["", "published text", "live"]] * len(cells),
        )
    )  # fmt: skip


def table2(chapter: Chapter) -> None:
    """Show data sets by role (SM-T2) and say which rows of Tables A1 and A2 it does not name, and the other way round."""
    printed = lookup("SM-T2")
    tasks, roles = list(dict.fromkeys(t for t, _ in printed)), list(dict.fromkeys(r for _, r in printed))
    cells = [[task, *(html.escape(printed[task, role].value) for role in roles)] for task in tasks]
    chapter.show(
        report.table(
            ["Task", *roles], cells, "Table 2: data sets by role", [["", *["published text"] * 3]] * len(cells)
        )
    )
    sizes = list(dict.fromkeys(p.row for exhibit in ("SM-TA1", "SM-TA2") for p in table(exhibit)))
    named = [part for p in printed.values() for part in parts(p.value)]
    missing = [name for name in named if not any(_same(name, size) for size in sizes)]
    unnamed = [size for size in sizes if not any(_same(name, size) for name in named)]
    chapter.say(
        f"{len(named) - len(missing)} of the {len(named)} data sets of Table 2 have a row in Tables A1 and A2"
        + (f" (not {', '.join(missing)})." if missing else "."),
        f"Of the {len(sizes)} rows of those tables Table 2 leaves out {html.escape(', '.join(unnamed))}." if unnamed else
        "Every row of those tables is named in Table 2.",
    )  # fmt: skip


def parts(cell: str) -> list[str]:
    """Return the data sets a cell of Table 2 names: `MAPLE {Geography, Psychology}` is two.

    >>> parts("SciDocs {Cite, Co-cite}, Recommendation")
    ['SciDocs (Cite)', 'SciDocs (Co-cite)', 'Recommendation']
    """
    found = []
    for name, inside in re.findall(r"([^,{}]+)(?:\{([^}]*)\})?", cell):
        if name.strip():
            found += [f"{name.strip()} ({part.strip()})" for part in inside.split(",")] if inside else [name.strip()]
    return found


def _same(name: str, size: str) -> bool:
    """Return whether a data set of Table 2 is a row of A1 or A2, which join or specify some of them."""
    if (inner := re.fullmatch(r"(.+) \((.+)\)", name)) is None:
        return size.startswith(name)
    return size.startswith(inner[1]) and inner[2] in re.split(r" \+ |, ", size[len(inner[1]) + 2 :].rstrip(")"))


# ---- Tables A1 and A2 ------------------------------------------------------------------------------------------------


def sizes(chapter: Chapter, rows: Sequence[Result]) -> None:
    """Show Tables A1 and A2 (SM-TA1, SM-TA2) beside the data at hand; say what of the real data there is."""
    live, kept = by_count(rows), by_count(recorded(CHAPTER))
    there = []
    for exhibit, caption in (("SM-TA1", "Table A1: pre-training data"), ("SM-TA2", "Table A2: evaluation data")):
        printed, cells = lookup(exhibit), []
        for name in (n for n in WANTED if exhibit in TASKS[n].rows):
            line, sample = [html.escape(ROWS.get(name, title(name)))], counting.sample_of(name)
            for column, metrics in columns(name).items():
                ours = next((live[name, m] for m in metrics if (name, m) in live), None)
                # a sample of the task, or the task itself where its real files were read and recorded
                places_of = (
                    (found, key) for found in (live, kept) for key in (sample, name) if found is kept or key == sample
                )
                real = next((found[key, m] for found, key in places_of for m in metrics if (key, m) in found), None)
                quoted, places = printed[ROWS.get(name, title(name)), column], 2 if column == PER_QUERY else 0
                line += [number(chapter, quoted), number(chapter, ours, places)]
                if real:
                    what = column.removeprefix("#").lower()
                    there.append(
                        f"{line[0]}, {what} {number(chapter, real, places)} (printed {number(chapter, quoted)})"
                    )
            cells.append(line)
        second = "positive pairs" if exhibit == "SM-TA1" else "candidates (reranking: per query)"
        chapter.show(
            report.table(
                ["Data set", *["published", "live"] * 2], cells, caption, [["", *["published", "live"] * 2]] * len(cells),
                ["queries", second],
            )
        )  # fmt: skip
    chapter.say(f"Real data at hand: {'; '.join(there)}." if there else "None of the real data is at hand.")


def columns(name: str) -> dict[str, tuple[str, ...]]:
    """Return the two printed columns of a task with the counts that answer them."""
    kind = TASKS[name].type
    if kind == "triplets":
        return {QUERIES: ("queries",), PAIRS: ("train",)}
    if kind == "label_ranking":
        return {QUERIES: ("papers",), CANDIDATES: ("labels",)}
    return {QUERIES: ("queries",), (CANDIDATES if kind == "retrieval" else PER_QUERY): ("papers", PER_QUERY)}


SHARED = {
    "SciDocs (Co-view)": "SciDocs Co-view", "SciDocs (Co-read)": "SciDocs Co-read",
    "SciDocs (Cite, reranking)": "SciDocs Cite", "SciDocs (Co-cite, reranking)": "SciDocs Co-cite",
    "SciRepEval-Search": "Search", "TREC-COVID in SciRepEval": "TREC-CoVID",
}  # fmt: skip
"""Rows of Table A2 -> rows of SciRepEval's Table 1: the same data in two papers."""


def checks(chapter: Chapter) -> None:
    """Hold Tables A1 and A2 against SciRepEval's Table 1, which lists some of the same data (arithmetic on both)."""
    pairs, other, mine = lookup("SM-TA1"), lookup("V2-T1"), lookup("SM-TA2")
    every = [p for (_, column), p in pairs.items() if column == PAIRS]
    total = chapter.record(
        [arithmetic("SM-TA1", "all positive pairs", sum(p.number for p in every), len(every), every)]
    )[0]
    chapter.say(f"Table A1 adds up to {number(chapter, total)} positive pairs.")
    cells: list[list[str]] = []
    for name, theirs in SHARED.items():
        ratio = _ratio(chapter, other, theirs)
        for column, a, b in (
            (QUERIES, mine[name, QUERIES], other[theirs, "queries"]),
            (PER_QUERY, mine[name, PER_QUERY], ratio),
        ):
            value = b.number if isinstance(b, Printed) else b.value
            places = a.decimals
            cells.append([f"{name}, {column.removeprefix('#').lower()}", number(chapter, a), number(chapter, b, places),
                          "yes" if f"{value:.{places}f}" == f"{a.number:.{places}f}" else "no"])  # fmt: skip
    for name, column, theirs in (
        ("Citation Prediction Triplets", PAIRS, "train"),
        ("SciRepEval-Search", QUERIES, "train queries"),
    ):
        a, b = pairs[name, column], other["Search" if "Search" in name else name, theirs]
        cells.append(
            [f"{name}, training", number(chapter, a), number(chapter, b), "yes" if a.value == b.value else "no"]
        )
    chapter.show(
        report.table(
            ["", "SciMult", "SciRepEval, v2", "agree"], cells,
            "The same data in two papers: SciMult’s Tables A1 and A2, SciRepEval’s Table 1 (per query: pairs over queries)",
            [["", "published", "published", ""]] * len(cells),
        )
    )  # fmt: skip
    off = [line[0] for line in cells if line[-1] == "no"]
    chapter.say(f"{len(cells) - len(off)} of {len(cells)} agree" + (f"; not {', '.join(off)}." if off else "."))
    doubtful: dict[tuple[str, str], list[str]] = {}
    for p in (p for p in mine.values() if "text at hand" in p.note):
        doubtful.setdefault((p.row, p.note), []).append(f"{p.column.removeprefix('#').lower()} {number(chapter, p)}")
    for (name, note), listed in doubtful.items():
        chapter.note(f"{html.escape(name)}, {', '.join(listed)}: {html.escape(note)}.")


def _ratio(chapter: Chapter, printed: Mapping[tuple[str, str], Printed], name: str) -> Result:
    queries, pairs = printed[name, "queries"], printed[name, "pairs"]
    made = arithmetic(
        "V2-T1", f"{PER_QUERY}, {name}", pairs.number / queries.number, int(queries.number), (queries, pairs)
    )
    return chapter.record([made])[0]


# ---- name matching ---------------------------------------------------------------------------------------------------


MATCHING = (
    ("labels per paper, mean", "labels", 1), ("matching labels per paper ({}), mean", "matches", 1),
    ("papers without a match ({}), %", "none, %", 1), ("gold labels that match ({}), %", "gold found, %", 1),
    ("matching labels that are gold ({}), %", "gold among them, %", 1),
    ("listed matches that the rule finds, %", "rule finds, %", 1),
)  # fmt: skip
"""Count, heading, decimals."""


def matching(chapter: Chapter, rows: Sequence[Result]) -> None:
    """Show labels and name matches per paper for each label-ranking task: recorded on samples at hand, and live."""
    cells, classes = [], []
    for kind, of in counting.kinds(CHAPTER, rows):
        found = by_count(of)
        for task in dict.fromkeys(t for t, metric in found if metric.startswith("papers without a match")):
            how = "listed" if (task, "gold labels that match (listed), %") in found else "by rule"
            values = [found.get((task, metric.format(how))) for metric, _, _ in MATCHING]
            matches = [number(chapter, v, places) for v, (_, _, places) in zip(values, MATCHING, strict=True)]
            cells.append([f"{html.escape(title(task))}<br><small>{kind}, {how}</small>", *matches])
            classes.append(["", *[kind] * len(MATCHING)])
    if not cells:
        chapter.note("No task with a label space is at hand: nothing to match.")
        return
    chapter.show(
        report.table(
            ["Data set", *(name for _, name, _ in MATCHING)], cells,
            "Per paper: labels, and labels whose name occurs in it (matches); papers with none; gold labels that match; matches "
            "that are gold; listed matches that our rule finds", classes,
        )
    )  # fmt: skip
    live = by_count(rows)
    fine = {t: r for (t, m), r in live.items() if m == "gold labels that match (listed), %"}
    if fine:
        low, high = min(fine.values(), key=lambda r: r.value), max(fine.values(), key=lambda r: r.value)
        chapter.say(
            f"A ranking that puts the matching labels first finds, with no model at all, between {number(chapter, low, 1)} % "
            f"({html.escape(title(low.task))}) and {number(chapter, high, 1)} % ({html.escape(title(high.task))}) of the gold "
            "labels here, as long as the matches fit above the cut-off; how the other labels are ordered adds to that. So the "
            "results with name matching (Table 3) must be read beside those without (Table A3)."
        )


@report.styled
def draw_labels(chapter: Chapter, rows: Sequence[Result]) -> None:
    """Draw labels per paper beside matching labels per paper: median and middle half."""
    for kind, of in counting.kinds(CHAPTER, [r for r in rows if "per paper" in r.metric]):
        if not any(r.metric == "labels per paper, quartile 2" for r in of):
            continue
        listed = any("(listed)" in r.metric for r in of)
        name = f"matching labels per paper ({'listed' if listed else 'by rule'})"
        tasks = {r.task for r in of if r.metric.startswith(name)}
        shown = [r for r in of if r.task in tasks]
        figure, axes = report.subplots(1, 2, figsize=(report.WIDTH, 1.1 + 0.34 * len(tasks)), sharey=True)
        for ax, what, label in zip(axes, ("labels per paper", name), ("gold labels", "matching labels"), strict=True):
            counting.draw_ranges(ax, shown, what, counting.colour_of(kind))
            ax.set_xlabel(f"{label} per paper")
            ax.set_xlim(0, 1.05 * ax.get_xlim()[1])  # room for the last dot
        known = [r for r in shown if "quartile" in r.metric]
        data = [
            {"task": r.task, "what": r.metric, "labels": r.value, "papers": r.n}
            for r in shown
            if "quartile" in r.metric
        ]
        chapter.figure(
            f"labels-{kind}", figure, pd.DataFrame(data),
            caption=f"{kind.capitalize()}, {shown[0].source} data: gold labels (left) and labels whose name occurs in title or "
            f"abstract (right) per paper; median (dot) and middle half (bar), {counting.of_how_many(known, 'papers')}.",
            alt=f"Ranges of gold and of matching labels per paper for {len(tasks)} data sets.",
        )  # fmt: skip
