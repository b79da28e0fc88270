"""Chapter `scirepeval/citation_recommendation`: Tables 5 and 10 of SciRepEval v2, appendix E's claim: MDCR, field by field.

    MAP, Recall@5   of a field: the mean over its queries; of the benchmark: the plain mean over fields

Differences of two systems are of their rows' bootstrap values, draw by draw: both saw the same queries.
"""

from __future__ import annotations

import html
from collections.abc import Iterable, Sequence
from dataclasses import replace

import numpy as np
import pandas as pd

from scirep_core.bench.benchmark import score
from scirep_core.bench.systems import is_sentence_matcher
from scirep_core.evaluators import pairs
from scirep_core.exhibits import sign
from scirep_core.exhibits.counting import Gathered, arithmetic, names_in
from scirep_core.exhibits.scirepeval_kinds import data_of, differences, kinds_table
from scirep_core.page import report
from scirep_core.page.chapter import Chapter, progress
from scirep_core.results import Result, recorded
from scirep_core.results.differences import BETWEEN, measured
from scirep_core.results.published import Printed, lookup, table

CHAPTER = "scirepeval/citation_recommendation"
TASK = "scirepeval/mdcr"
WANTED = (TASK,)
METRICS = {"map": "MAP", "recall@5": "R@5"}
BASELINE = "bm25"
ENSEMBLE = "SPECTER2 Adapters + MTL CTRL"
PRINTED = {"bm25": "BM25", "specter2_base": "SPECTER2 Base", "specter2": "SPECTER2 Adapters"}
LABELS = {
    "random": "floor: random vectors",
    "oracle": "oracle",
    "tfidf": "TF-IDF",
    "bm25": "BM25",
    "minilm": "MiniLM",
}
BOUNDS = ("random", "oracle")
EXEMPT = ("Computer Science", "Biology", "Medicine")
"""The domains section 5 names as those where BM25 was not ahead: computer science and what MDCR has of "BioMed"."""
LEAST = 10
"""Queries a field must have for its interval to be read: of one or two a bootstrap knows nothing."""


# ---- measuring -------------------------------------------------------------------------------------------------------


def measure(chapter: Chapter, gathered: Gathered) -> list[Result]:
    """Return MAP and Recall@5 of every named system, field by field and over fields, and differences from BM25."""
    names = names_in(chapter.parameters["encoders"])
    tasks = [task for task in gathered.tasks.values() if task.name == TASK]
    seed = chapter.parameters["seed"]
    where = {
        "source": chapter.parameters["data"],
        "papers": chapter.parameters["papers"],
        "data_seed": seed,
        "seed": seed,
    }
    known = BOUNDS if any(task.oracle is not None for task in tasks) else BOUNDS[:1]
    by_system: dict[str, list[Result]] = {}
    for name in dict.fromkeys([BOUNDS[0], BASELINE, *names, *known]) if tasks else ():
        if is_sentence_matcher(name):
            pairs.prepare(tasks, name, progress(name, "sentences encoded"))
        by_system[name] = [replace(row, by_query={}) for row in score(tasks, name, **where)]
    rows = [row for found in by_system.values() for row in found]
    for name, found in by_system.items():
        if name not in (*BOUNDS, BASELINE):
            rows += differences(found, by_system[BASELINE])
    return chapter.record(rows)


# ---- the printed tables ----------------------------------------------------------------------------------------------


def fields() -> list[str]:
    """Return the printed fields of study, without the average."""
    return [row for row in dict.fromkeys(row for row, _ in lookup("V2-T10")) if row != "Avg"]


def systems() -> list[str]:
    """Return the systems of Table 10, in print order."""
    return list(dict.fromkeys(column.partition("/")[0] for _, column in lookup("V2-T10")))


def sums(chapter: Chapter) -> None:
    """Show whether the printed averages are the means over the printed fields, and whether Table 5 repeats them."""
    ten, five = lookup("V2-T10"), lookup("V2-T5")
    cells, off, differ = [], [], []
    for name in systems():
        for metric in METRICS.values():
            printed, parts = ten["Avg", f"{name}/{metric}"], [ten[field, f"{name}/{metric}"] for field in fields()]
            value = float(np.mean([p.number for p in parts]))
            made = chapter.record(
                [arithmetic("V2-T10", f"mean over fields, {name}, {metric}", value, len(parts), parts)]
            )[0]
            gap = printed.number - value
            off += [f"{name}, {metric}"] if abs(gap) > 0.1 else []
            other = five.get((name, metric))
            differ += [f"{name}, {metric}"] if other is None or other.value != printed.value else []
            cells.append([f"{html.escape(name)}, {metric}", chapter.number(other) if other else "", chapter.number(printed),
                          chapter.number(made), f"{gap:+.3f}"])  # fmt: skip
    chapter.show(report.table(["System", "Table 5", "Table 10, Avg", "mean of the fields", "difference"], cells,
                              f"Averages as printed and as they follow from the {len(fields())} printed fields, 0 to 100",
                              [["", "published", "published", "", ""]] * len(cells)))  # fmt: skip
    chapter.say(
        f"{len(cells) - len(off)} of {len(cells)} averages of Table 10 follow from their fields within rounding"
        f"{': not ' + '; '.join(off) if off else ''}; {len(cells) - len(differ)} of {len(cells)} are the same in Table 5"
        f"{': not ' + '; '.join(differ) if differ else ''}."
    )
    only = [row for row in dict.fromkeys(row for row, _ in five) if row not in systems()]
    if only:
        chapter.say(f"Table 5 alone has {', '.join(map(html.escape, only))}: its fields are not printed.")


def table10(chapter: Chapter) -> None:
    """Show Table 10, the best of each field marked, and whether its bold print marks the same."""
    ten = lookup("V2-T10")
    cells, wrong = [], []
    for field in [*fields(), "Avg"]:
        line = [html.escape(field)]
        best = {m: max(ten[field, f"{name}/{m}"].number for name in systems()) for m in METRICS.values()}
        for name in systems():
            for metric in METRICS.values():
                printed = ten[field, f"{name}/{metric}"]
                top, bold = printed.number == best[metric], "bold" in printed.note
                wrong += [printed] if top != bold else []
                shown = chapter.number(printed)
                line.append(f"<strong>{shown}</strong>" if top else shown)
        cells.append(line)
    groups = [
        name.replace("SPECTER2 Adapters + MTL CTRL", "Adapters + CTRL").replace("SPECTER2 ", "") for name in systems()
    ]
    header = ["Field", *(metric for _ in systems() for metric in METRICS.values())]
    chapter.show(report.table(header, cells, "Table 10 as printed, 0 to 100; bold here: the highest number of the field",
                              [["", *["published"] * (len(header) - 1)]] * len(cells), groups))  # fmt: skip
    if wrong:
        listed = "; ".join(f"{html.escape(p.row)}, {html.escape(p.column)} ({p.value}, {'' if 'bold' in p.note else 'not '}bold)"
                           for p in wrong)  # fmt: skip
        chapter.note(f"The print’s bold marks differ from the highest number in {len(wrong)} cells: {listed}.")


def below(name: str, metric: str) -> list[str]:
    """Return the fields in which a system's printed number is below BM25's."""
    ten = lookup("V2-T10")
    return [f for f in fields() if ten[f, f"{name}/{metric}"].number < ten[f, f"BM25/{metric}"].number]


def claim(chapter: Chapter) -> None:
    """Say where each system of Table 10 is below BM25, and whether appendix E's sentence on the ensemble holds (V2-C13)."""
    said = table("V2-C13")[0]
    named = sorted(part.strip() for part in said.value.split(","))
    found = {(name, metric): below(name, metric) for name in systems() if name != "BM25" for metric in METRICS.values()}
    cells = [
        [html.escape(name), *(", ".join(found[name, m]) or "none" for m in METRICS.values())]
        for name in systems()
        if name != "BM25"
    ]
    chapter.show(report.table(["System", *(f"below BM25 by {m}" for m in METRICS.values())], cells,
                              "Fields in which a printed number is below BM25’s", [["", "text", "text"]] * len(cells)))  # fmt: skip
    ours = sorted({field for metric in METRICS.values() for field in found[ENSEMBLE, metric]})
    quoted = chapter.number(said)
    if ours == named:
        chapter.say(f"Appendix E: apart from {quoted} the ensemble equals BM25 or is better. The table says the same.")
        return
    fitting = [f"{name} by {metric}" for (name, metric), those in found.items() if sorted(those) == named]
    there = f"in {', '.join(ours)}" if ours else "in no field"
    hint = f" The two fields are those of {html.escape(' and '.join(fitting))}." if fitting else ""
    chapter.note(
        f"Appendix E says that apart from {quoted} the ensemble equals BM25 or is better. By the printed table it is below BM25 "
        f"{there}.{hint}"
    )


def against_readme(chapter: Chapter) -> None:
    """Check section 5's sentence on Medić and Šnajder's finding by SciNCL's numbers in the benchmark's repository (SR-MDCR)."""
    ten, theirs = lookup("V2-T10"), lookup("SR-MDCR")
    parts, lost = [], {}
    for metric in METRICS.values():
        lines = [(ten[f, f"BM25/{metric}"].number, theirs[f, f"SciNCL/{metric}"].number, f) for f in fields()]
        lost[metric] = [f for lexical, dense, f in lines if lexical < dense]
        given = theirs["Avg", f"SciNCL/{metric}"]
        rounded = chapter.record([arithmetic("SR-MDCR", f"Avg, SciNCL/{metric}", given.number, 1, [given])])[0]
        both = f"{chapter.number(ten['Avg', f'BM25/{metric}'])} against {chapter.number(rounded, 1)}"
        ahead = sum(lexical > dense for lexical, dense, _ in lines)
        parts.append(
            f"by {metric} {both}, BM25 ahead in {ahead} of {len(lines)} fields, behind in {named_fields(lost[metric])}"
        )
    chapter.say(
        f"BM25 as SciRepEval prints it against SciNCL as the benchmark’s own repository reports it: {'; '.join(parts)}."
    )
    more = {metric: [f for f in those if f not in EXEMPT] for metric, those in lost.items()}
    fewer = {metric: [f for f in EXEMPT if f not in those] for metric, those in lost.items()}
    said = [
        f"by {metric} BM25 is behind in {named_fields(more[metric])} fields that the sentence does not except, and not behind "
        f"in {named_fields(fewer[metric])} that it does"
        for metric in METRICS.values()
        if more[metric] or fewer[metric]
    ]
    told = f"these numbers do not say so: {'; '.join(said)}" if said else "these numbers say the same"
    chapter.say(
        f"“All the domains except Computer Science and BioMed”, read as {', '.join(EXEMPT)}: {told}. Only SciNCL can be checked: "
        "SPECTER’s numbers by field are not at hand, and the BM25 here is SciRepEval’s row."
    )


def named_fields(names: Sequence[str]) -> str:
    """Return how many fields, and which.

    >>> named_fields(["Art", "Law"])
    '2 (Art, Law)'
    """
    return f"{len(names)} ({html.escape(', '.join(names))})" if names else "0"


# ---- ours ------------------------------------------------------------------------------------------------------------


def kept() -> list[Result]:
    """Return our committed run on the embedded literature of 3,000 papers."""
    return recorded(CHAPTER, "embedded")


def label(name: str) -> str:
    """Return a system's name as the tables show it."""
    return LABELS.get(name, html.escape(name))


def scores(rows: Iterable[Result], split: str = "test") -> dict[tuple[str, str], Result]:
    """Return the scores over fields, or of one, by (system, metric as printed)."""
    return {
        (r.encoder, METRICS[r.metric]): r for r in rows if r.task == TASK and r.split == split and r.metric in METRICS
    }


def table5(chapter: Chapter, rows: Sequence[Result]) -> None:
    """Show Table 5: published, recorded and live means over fields."""
    quoted, of = lookup("V2-T5"), {"recorded": scores(kept()), "live": scores(rows)}
    ours = list(dict.fromkeys(name for cells in of.values() for name, _ in cells))
    named = {PRINTED[name]: name for name in ours if name in PRINTED}
    printed: dict[tuple[str, str], Printed] = {(named.get(r, r), c): p for (r, c), p in quoted.items()}
    lines = list(
        dict.fromkeys(
            [*(name for name, _ in printed), *(n for n in ours if n not in BOUNDS), *(b for b in BOUNDS if b in ours)]
        )
    )
    caption = "Table 5: MDCR, mean over fields of study, 0 to 100. Printed rows are of the real benchmark"
    for kind, cells in of.items():
        if cells:
            found = list(cells.values())
            caption += f"; {kind} rows of {data_of(found)} ({found[0].n} queries), whose fields are its own"
    chapter.show(kinds_table(chapter, caption, "System", lines, list(METRICS.values()), printed, of["recorded"], of["live"],
                             {name: label(name) for name in ours}))  # fmt: skip


def by_field(chapter: Chapter, rows: Sequence[Result]) -> None:
    """Say how each system compares with BM25 over fields, and in which fields, if they have queries enough; nothing for no rows."""
    gaps = [r for r in rows if r.against]
    if not gaps:
        return
    sizes = {r.split: r.n for r in gaps if r.split != "test"}
    enough = sum(n >= LEAST for n in sizes.values())
    said = []
    for names in dict.fromkeys(r.encoder for r in gaps):
        for metric, shown in METRICS.items():
            mine = [r for r in gaps if r.encoder == names and measured(r.metric) == metric]
            whole = next(r for r in mine if r.split == "test")
            parts = [r for r in mine if r.split != "test" and r.n >= LEAST]
            split = {way: [r.split.partition("/")[2] for r in parts if sign(r) == way] for way in (1, -1, 0)}
            way = {1: "ahead", -1: "behind", 0: "not told apart"}[sign(whole)]
            told = (
                f"; its interval lies above 0 in {named_fields(split[1])}, below 0 in {named_fields(split[-1])}, and holds 0 "
                f"in {len(split[0])}"
                if parts
                else ""
            )
            said.append(
                f"{label(names.partition(BETWEEN)[0])} − BM25 in {shown}: {way} ({chapter.number(whole, 1, sign=True)}, "
                f"95 % interval {whole.low:+.1f} to {whole.high:+.1f}){told}"
            )
    least, most = min(sizes.values(), default=0), max(sizes.values(), default=0)
    queries = f"{most}" if least == most else f"{least} to {most}"
    apart = (
        f"{enough} of {len(sizes)} fields have {LEAST} queries or more and are told apart"
        if enough
        else f"fields are not told apart: they have {queries} queries each, and intervals are read from {LEAST}"
    )
    chapter.say(f"{gaps[0].kind.capitalize()}, mean over fields: {'; '.join(said)}. Of {data_of(gaps)}, {apart}.")


def beside_oracle(chapter: Chapter, rows: Sequence[Result], metric: str = "MAP") -> None:
    """Say where a system scores above the oracle, and why one can; nothing where there is no oracle."""
    splits = sorted({r.split for r in rows if r.task == TASK and r.split.startswith("test/")})
    whole = scores(rows)
    if ("oracle", metric) not in whole:
        return
    names = [name for name, of in whole if of == metric and name not in BOUNDS]
    above = {name: [s.partition("/")[2] for s in splits if _gap(scores(rows, s), name, metric) > 0] for name in names}
    some = {field for those in above.values() for field in those}
    over = [label(name) for name in names if _gap(whole, name, metric) > 0]
    listed = "; ".join(f"{label(name)} in {named_fields(those)}" for name, those in above.items() if those)
    chapter.say(
        f"{rows[0].kind.capitalize()}: the oracle knows what makes a citation likely (problem, topic, fame and more), not which "
        "citations were then drawn, and folds it into one vector a paper; it is no upper bound, and in a field of few queries "
        f"luck can put another above it. By {metric} that happens in {len(some)} of {len(splits)} fields"
        f"{f' ({listed})' if listed else ''}, and over all fields for {', '.join(over) if over else 'no system'}."
    )


def _gap(cells: dict[tuple[str, str], Result], name: str, metric: str) -> float:
    return cells[name, metric].value - cells["oracle", metric].value


@report.styled
def draw(chapter: Chapter, rows: Sequence[Result], metric: str = "map") -> None:
    """Draw the difference from BM25 in every field, one mark a system, with intervals; nothing for no rows."""
    found = [r for r in rows if r.against and measured(r.metric) == metric]
    if not found:
        return
    names = list(dict.fromkeys(r.encoder for r in found))
    size = {r.split: r.n for r in found}
    order = sorted(
        {r.split for r in found if r.split != "test"}, key=lambda s: next(r.value for r in found if r.split == s)
    )
    places = {split: i + 1 for i, split in enumerate(order)} | {"test": -0.5}
    figure, axes = report.subplots(figsize=(report.WIDTH, 1.3 + 0.14 * len(places) * (1 + len(names))))
    frame = []
    for i, name in enumerate(names):
        mine = [r for r in found if r.encoder == name]
        at = [places[r.split] + 0.3 - 0.6 * i / max(1, len(names) - 1) for r in mine]
        colour = report.SERIES[i % len(report.SERIES)]
        for r, y in zip(mine, at, strict=True):
            read = r.split == "test" or r.n >= LEAST
            if read:
                axes.plot([r.low, r.high], [y, y], color=colour, linewidth=1.2)
            low, high = (r.low, r.high) if read else (None, None)
            frame.append({"field": r.split, "difference": name, "value": r.value, "low": low, "high": high, "n": r.n})
        axes.plot(
            [r.value for r in mine],
            at,
            "osD^v"[i % 5],
            color=colour,
            markersize=5,
            label=f"{label(name.partition(BETWEEN)[0])} − BM25",
        )
    axes.axvline(0, color=report.FLOOR, linewidth=1)
    axes.set_yticks(list(places.values()), [f"{s.partition('/')[2] or 'all fields'} ({size[s]})" for s in places])
    axes.grid(axis="y", visible=False)
    axes.set_xlabel(f"difference in {METRICS[metric]}, points")
    figure.legend(loc="outside upper left", ncols=3)
    kind = rows[0].kind
    chapter.figure(
        f"fields-{metric.replace('@', '-')}-{kind}", figure, pd.DataFrame(frame),
        f"{kind.capitalize()}: {METRICS[metric]} minus BM25’s in each field of {data_of(found)} (number of queries in "
        f"brackets). Bars are paired 95 % bootstrap intervals, given from {LEAST} queries; right of 0 the system is better.",
        f"Dot plot of differences from BM25 of {len(names)} systems in {len(order)} fields and over all.",
    )  # fmt: skip


def field_table(chapter: Chapter, rows: Sequence[Result]) -> None:
    """Show our own Table 10: every field's MAP and Recall@5 of every system; nothing for no rows."""
    names = list(dict.fromkeys(name for name, _ in scores(rows)))  # not of the arithmetic of printed cells
    splits = sorted({r.split for r in rows if r.split.startswith("test/")})
    if not splits:
        return
    cells = []
    for split in [*splits, "test"]:
        of = scores(rows, split)
        count = next(iter(of.values())).n
        queries = "1 query" if count == 1 else f"{count} queries"
        cells.append([f"{html.escape(split.partition('/')[2]) or 'mean over fields'}<br><small>{queries}</small>",
                      *(chapter.number(of[name, m], 1) for name in names for m in METRICS.values())])  # fmt: skip
    kind = rows[0].kind
    header = ["Field", *(m for _ in names for m in METRICS.values())]
    chapter.show(report.table(header, cells, f"{kind.capitalize()}: our Table 10, on {data_of(rows)}, 0 to 100",
                              [["", *[kind] * (len(header) - 1)]] * len(cells), [label(n) for n in names]))  # fmt: skip
