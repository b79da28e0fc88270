"""Chapter `scirepeval/tasks`: Tables 1, 6 and 9 of SciRepEval (v2), Tables 1 and 8 of its first submission (v1).

Counts as the tables give them: train + dev of the eight training sets, test; queries and pairs of ranking tasks.
Tables 9 and 8 are in scirepeval_domains.py, the figures in distributions.py.
"""

from __future__ import annotations

import html
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

from scirep_core.data import TASKS, TRAINING, sources
from scirep_core.data.readers import scirepeval
from scirep_core.data.task import Labelled, Task
from scirep_core.data.validate import printed_counts
from scirep_core.exhibits import counting
from scirep_core.exhibits.counting import Gathered, by_count, number, row, title
from scirep_core.kit.records import Paper
from scirep_core.page import report
from scirep_core.page.chapter import Chapter
from scirep_core.results import Result, arithmetic, recorded
from scirep_core.results.published import Printed, lookup, table

CHAPTER = "scirepeval/tasks"
WANTED = tuple(name for name, spec in TASKS.items() if spec.paper == "scirepeval" and "V1-T1" in spec.rows) + tuple(
    name for name, spec in TASKS.items() if spec.rows == ("V2-T1",)
)
"""The 24 tasks of v2 and the three Feeds tasks of v1."""
LINES = (
    ("", "train", "test", ("papers", "train")), ("queries", "train queries", "queries", ("queries",)),
    ("pairs", "train pairs", "pairs", ("pairs",)), ("silver", "", "test silver", ()), ("gold", "", "test gold", ("papers",)),
    ("clusters", "", "clusters", ("clusters",)), ("signatures", "", "signatures", ("signatures",)),
)  # fmt: skip
"""Lines a task may have in Table 1, with the names of their counts under Train + Dev, under Test, and in a sample."""
FORMS = {"Classification": ("classification",), "Regression": ("regression",),
         "Proximity": ("proximity", "reviewer_matching", "author_disambiguation"),
         "Ad-hoc Search": ("adhoc_search",)}  # fmt: skip
"""Task forms of Table 6 and the types they are here."""


# ---- counting --------------------------------------------------------------------------------------------------------


def measure(chapter: Chapter, gathered: Gathered) -> list[Result]:
    """Return counts, lengths, labels and scores of every task at hand, and the sizes of the training sets."""
    rows = measure_tasks(gathered)
    if chapter.parameters["data"] != "real":
        for name in (n for n in TRAINING if n in gathered.tasks and TASKS[n].type != "triplets"):
            found = scirepeval.training_counts(name, root_of(chapter, name))
            units = next(iter(found.values()))
            rows += [row(gathered.tasks[name], key.replace("_", " "), n, units) for key, n in found.items()]
    return rows


def measure_tasks(gathered: Gathered) -> list[Result]:
    """Return what the tasks themselves hold."""
    return [
        row(task, *count)
        for task in gathered.tasks.values()
        for of in (as_printed, counting.lengths, counting.label_shares, counting.score_shares)
        for count in of(task)
    ]


def root_of(chapter: Chapter, name: str) -> Path:
    """Return the folder below which a task's files lie."""
    data, papers, seed = (chapter.parameters[key] for key in ("data", "papers", "seed"))
    return sources.root_of(name, data, papers, seed)


def as_printed(task: Task) -> Iterator[counting.Count]:
    """Yield the counts of a task as the paper counts (`validate.printed_counts`), under the names Table 1 has for them.

    The splits of a sample are our own, so its papers are counted together.
    """
    if not isinstance(task.payload, Labelled):
        kept = ("reviewers", "queries" if task.type == "triplets" else "")
        yield from (count for count in counting.counts(task) if count[0] not in kept)
        return
    found, names = printed_counts(task), {"papers": "test", "test": "test"}
    if task.name.startswith(counting.SAMPLE):
        names = {"papers": "papers"}
    elif task.name.endswith("/drsm"):
        names = {"train": "test silver", "test": "test gold"}
    yield from ((name, found[key], found[key]) for key, name in names.items() if key in found)


# ---- Table 1 ---------------------------------------------------------------------------------------------------------


def _v1_row(name: str) -> str:
    """Return how v1 names a task: the six of SciDocs stand in a section of their own there."""
    return name.removeprefix("SciDocs ")


def table1(chapter: Chapter, rows: Sequence[Result]) -> None:
    """Show Table 1 of v2 beside v1 with our own counts (V2-T1, V1-T1)."""
    v2, v1 = lookup("V2-T1"), lookup("V1-T1")
    live, kept = by_count(rows), by_count(recorded(CHAPTER))
    cells, classes = [], []
    for name in sorted(WANTED, key=list(TASKS).index):
        shown, first, sample = title(name), True, counting.sample_of(name)
        for label, before, after, there in LINES:
            sides = [(v2.get((shown, c)), v1.get((_v1_row(shown), c)), live.get((name, c))) for c in (before, after)]
            if not any(printed for *quoted, _ in sides for printed in quoted):
                continue
            ours = [found[sample, metric] for found in (live, kept) for metric in there if (sample, metric) in found]
            about = v2.get((shown, "metric")) or v1[_v1_row(shown), "metric"]
            small = f"<br><small>{TASKS[name].format}, {html.escape(about.value)}</small>" if first else ""
            line = [
                cell for new, old, count in sides for cell in (_versions(chapter, new, old), number(chapter, count))
            ]
            head = ", ".join(filter(None, (html.escape(shown) if first else "", label)))
            cells.append([head + small, *line, number(chapter, ours[0] if ours else None)])
            classes.append(["", *["published", "live"] * 2, ours[0].kind if ours else ""])
            first = False
    header = ["Task", "train + dev", "live", "test", "live", "real sample"]
    caption = (
        "Table 1: tasks, format, metric and size. Printed sizes of the publication (v2), below them those of the submission (v1) "
        "where they differ; our counts of the data this page was built with (live), and of the real samples at hand"
    )
    chapter.show(report.table(header, cells, caption, classes))


def _versions(chapter: Chapter, new: Printed | None, old: Printed | None) -> str:
    """Return a printed size, the earlier version's below it where it is another."""
    if old is None or (new is not None and new.value == old.value):
        return number(chapter, new)
    return "<br>".join(filter(None, (number(chapter, new), f"<small>v1:</small> {number(chapter, old)}")))


def versions(chapter: Chapter) -> None:
    """Say which printed sizes differ between v1 and v2, and whether the captions' task counts hold."""
    v2, v1 = lookup("V2-T1"), lookup("V1-T1")
    numeric = [(r, c) for r, c in v2 if c not in ("format", "part", "metric") and r != "all"]
    pairs = [(v2[r, c], v1[_v1_row(r), c]) for r, c in numeric if (_v1_row(r), c) in v1]
    off = [(new, old) for new, old in pairs if new.value != old.value]
    listed = "; ".join(
        f"{html.escape(n.row)}, {n.column}: {number(chapter, o)} in v1, {number(chapter, n)} in v2" for n, o in off
    )
    new = sorted({r for r, _ in v2} - {r if ("SciDocs " + r, c) not in v2 else "SciDocs " + r for r, c in v1})
    gone = sorted({r for r, _ in v1} - {_v1_row(r) for r, _ in v2})
    chapter.say(
        f"Of the {len(pairs)} sizes printed in both versions {len(pairs) - len(off)} are equal. {listed}. "
        f"Only v2 has {', '.join(new)}; only v1 has {', '.join(gone)}."
    )
    for exhibit, printed in (("V2-T1", v2), ("V1-T1", v1)):
        parts = Counter(p.value for (_, column), p in printed.items() if column == "part")
        outside = sum(count for part, count in parts.items() if part != "in-train")
        made = chapter.record(
            [arithmetic(exhibit, "out-of-train tasks listed", outside, parts.total(), table(exhibit))]
        )
        said = printed["all", "out-of-train tasks"]
        verdict = "as" if made[0].value == said.number else "not as"
        chapter.say(
            f"{exhibit}: the table lists {number(chapter, made[0])} tasks that are not trained on, {verdict} its caption "
            f"says ({number(chapter, said)})."
        )


def misprints(chapter: Chapter) -> None:
    """Name what cannot be right in Table 1, by comparing its own numbers and those of SciMult's Table A2."""
    v2, other = lookup("V2-T1"), lookup("SM-TA2")
    clusters, signatures = v2["S2AND", "clusters"], v2["S2AND", "signatures"]
    if clusters.number > signatures.number:
        chapter.note(
            f"S2AND: {number(chapter, clusters)} clusters of {number(chapter, signatures)} author-paper pairs are "
            "printed. A cluster holds at least one pair, so there cannot be more clusters than pairs: the two numbers are "
            "most likely swapped, in both versions."
        )
    mag, mesh = v2["SciDocs MAG", "test"], v2["SciDocs MeSH Diseases", "test"]
    fields, diseases = (other[f"SciDocs ({x})", "#Queries"] for x in ("MAG Fields", "MeSH Diseases"))
    straight = abs(mag.number - fields.number) + abs(mesh.number - diseases.number)
    crossed = abs(mag.number - diseases.number) + abs(mesh.number - fields.number)
    if crossed < straight:
        chapter.note(
            f"SciDocs: MAG {number(chapter, mag)} and MeSH Diseases {number(chapter, mesh)} are printed here; SciMult, on the "
            f"same data, prints {number(chapter, fields)} and {number(chapter, diseases)}. Row by row the two papers are "
            f"{straight:,.0f} papers apart, with SciRepEval's rows swapped {crossed:,.0f}: a swap explains it."
        )
    wrong = [p for p in v2.values() if p.column == "metric" and "misprint" in p.note]
    if wrong:
        chapter.note("; ".join(f"{p.row}: the metric is printed {p.value}, a {p.note}" for p in wrong) + ".")


def released(chapter: Chapter) -> None:
    """Show the printed sizes beside what the data hub's own pages state, and name those that rounding cannot explain."""
    v2 = lookup("V2-T1")
    cells, off = [], []
    for (name, column), there in lookup("SR-HUB").items():
        printed = [v2[name, part] for part in column.split(" + ")]
        low, high = there.bounds
        same = low <= sum(p.number for p in printed) <= high
        quoted = " + ".join(number(chapter, p) for p in printed)
        if not same:
            off.append(f"{html.escape(name)}, {column}: printed {quoted}, released {number(chapter, there)}")
        cells.append([f"{html.escape(name)}, {column}", quoted, number(chapter, there), "yes" if same else "no",
                      html.escape(there.note)])  # fmt: skip
    chapter.show(
        report.table(
            ["Task", "printed", "hub", "agree", "where"], cells,
            "Sizes printed in v2 and stated by the hub, which rounds most of its counts",
            [["", "published", "published", "", "text"]] * len(cells),
        )
    )  # fmt: skip
    chapter.say(f"{len(cells) - len(off)} of {len(cells)} sizes agree within the hub's rounding.")
    if off:
        chapter.note(f"{'; '.join(off)}. A score on the released files is not a score on the data the paper counts.")


def per_query(chapter: Chapter, rows: Sequence[Result]) -> None:
    """Show the candidates per query that v2 gives as its reason to drop the Feeds tasks (V2-C10)."""
    v2, v1, said = lookup("V2-T1"), lookup("V1-T1"), lookup("V2-C10")
    live, cells = by_count(rows), []
    for name, printed in (("relish", v2), ("nfcorpus", v2), ("feeds_1", v1), ("feeds_m", v1), ("feeds_title", v1)):
        task = f"scirepeval/{name}"
        queries, pairs = printed[title(task), "queries"], printed[title(task), "pairs"]
        ratio = arithmetic(queries.exhibit, f"candidates per query, {title(task)}", pairs.number / queries.number,
                           int(queries.number), (queries, pairs))  # fmt: skip
        made = chapter.record([ratio])[0]
        quoted = said[title(task) if printed is v2 else "Feeds", "candidates per query"]
        cells.append([title(task), chapter.number(quoted), chapter.number(made, 1),
                      number(chapter, live.get((task, "candidates per query")), 1)])  # fmt: skip
    chapter.show(
        report.table(
            ["Task", "text (appendix A)", "from Table 1", "live"], cells, "Candidates per query",
            [["", "published", "published", "live"]] * len(cells),
        )
    )  # fmt: skip


# ---- Table 6 ---------------------------------------------------------------------------------------------------------


def model_input(code: str, paper: Paper, separator: str = "[SEP]") -> str:
    """Return what a model with control codes reads: the code, then the fields that are not empty around the separator.

    Search adds venue and year (section 4.1); other readers leave these two empty.
    """
    fields = (paper.title, paper.abstract, paper.venue, str(paper.year or ""))
    return f"[{code}] " + f" {separator} ".join(text for text in fields if text)


def inputs(chapter: Chapter, gathered: Gathered) -> None:
    """Show Table 6 of both versions on a record at hand (V2-T6, V1-T6): what string each format gets, that codes fit."""
    specs = [TASKS[name] for name in WANTED if TASKS[name].type != "triplets"]
    cells, fitting, equal, first = [], 0, 0, lookup("V1-T6")
    for (form, column), printed in lookup("V2-T6").items():
        codes = re.findall(r"\[(\w+)\]", printed.value)
        used = {spec.format for spec in specs if spec.type in FORMS[form]} | (
            {"PRX"} if form == "Ad-hoc Search" else set()
        )
        fitting += used == set(codes)
        strings = _strings(form, codes, gathered)
        equal += printed.value.replace(" ", "") == first[form, column].value.replace(" ", "")
        cells.append([form, chapter.number(printed), chapter.number(first[form, column]), *strings])
    chapter.show(
        report.table(
            ["Task form", "v2, Table 6", "v1, Table 6", "input of a record at hand (cut)", "tokens"], cells,
            "Input formats: printed, and as built from the first paper of a task of that form",
            [["", "published", "published", "text", ""]] * len(cells),  # tokens are counted, no result
        )
    )  # fmt: skip
    pieces = {
        code: counting.tokenizer().encode(f"[{code}]", add_special_tokens=False).tokens
        for code in ("CLF", "RGN", "PRX", "QRY")
    }
    split = "; ".join(
        f"<code>[{code}]</code> becomes {' '.join(map(html.escape, found))}" for code, found in pieces.items()
    )
    whole = sum(len(found) == 1 for found in pieces.values())
    chapter.say(
        f"Spaces aside, {equal} of {len(cells)} lines are the same in both versions. "
        f"The codes of {fitting} of {len(cells)} task forms are those of the inventory's formats.",
        f"A tokenizer that was not told of the codes keeps {whole} of {len(pieces)} whole ({split}): they must be added as "
        "special tokens before training, or the model reads brackets. With adapters nothing is written before the text; "
        "the format chooses the adapter instead.",
    )


def _strings(form: str, codes: Sequence[str], gathered: Gathered) -> tuple[str, str]:
    """Return the inputs of one task form, cut for display, and their lengths in tokens."""
    for name, task in gathered.tasks.items():
        if name in TASKS and task.type not in FORMS[form]:
            continue
        first = next((p for p in task.texts() if p.abstract), None) if task.type in FORMS[form] else None
        if first is None:
            continue
        texts = [model_input(code, first) for code in codes]
        if form == "Ad-hoc Search" and task.queries:
            texts[0] = f"[{codes[0]}] {next(iter(task.queries.values()))}"
        shown = "<br>".join(f"<code>{html.escape(t[:150])}{'…' if len(t) > 150 else ''}</code>" for t in texts)
        return f"{shown}<br><small>{html.escape(title(name))}</small>", "<br>".join(
            map(str, counting.token_counts(texts))
        )
    return "<em>no task of this form is at hand</em>", ""
