"""Chapter `scirepeval/tasks`: the domain distribution, Table 9 of SciRepEval (v2), Table 8 of its first submission (v1).

For each field f: A(f) unique papers in all training sets, B(f) in the citation triplets, increase ratio A(f)/B(f).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

import pandas as pd

from scirep_core.data import TRAINING, sources
from scirep_core.data.readers import scirepeval
from scirep_core.exhibits.counting import number
from scirep_core.exhibits.scirepeval_tasks import root_of
from scirep_core.kit.records import Paper
from scirep_core.page import report
from scirep_core.page.chapter import Chapter
from scirep_core.results import Result, arithmetic, provenance
from scirep_core.results.published import Printed, lookup, table

TWO = ("Medicine", "Computer Science")
SAME = 1.5
"""Mean ratio below which the embedded triplets are said to be as wide as all training sets."""
A, B, RATIO = "SciRepEval (A)", "SciDocs (B)", "Increase Ratio (A/B)"


def domain_rows(chapter: Chapter) -> list[Result]:
    """Return the unique training papers of the embedded literature by field: all eight sets (A), citation triplets (B).

    Elsewhere the fields are not known (MAG, which gave them, is closed): an empty list.
    """
    if chapter.parameters["data"] != "embedded":
        return []
    from scirep_core.data.literature.lexicon import FIELDS

    root = root_of(chapter, "scirepeval/cite_prediction")
    latents = sources.literature(chapter.parameters["papers"], chapter.parameters["seed"]).latents
    field = dict(zip(map(str, latents.paper_number.tolist()), latents.field.tolist(), strict=True))
    papers: dict[str, set[str]] = {A: set(), B: set()}
    for name in TRAINING:
        found = {p.paper_id for split in ("train", "validation") for unit in scirepeval.training(name, root, split)
                 for p in _papers_of(unit)} & field.keys()  # fmt: skip
        papers[A] |= found
        if name == "scirepeval/cite_prediction":
            papers[B] = found
    rows = []
    for column, members in papers.items():
        tally = Counter(field[paper] for paper in members)
        rows += [
            Result("scirepeval/training", "train", f"{column}, {FIELDS[f]}", "paper", float(tally[f]), len(members),
                   source="embedded", data_hash=sources.generator_version(), provenance=provenance())
            for f in range(len(FIELDS))
        ]  # fmt: skip
    return rows


def _papers_of(unit: scirepeval.TrainRow) -> Iterator[Paper]:
    if isinstance(unit, scirepeval.TrainExample):
        yield unit.paper
    elif isinstance(unit, scirepeval.PaperTriple):
        yield from unit
    else:
        yield from unit.candidates
        if unit.query.abstract:  # a bare query is no paper
            yield unit.query


def domains(chapter: Chapter, rows: Sequence[Result]) -> None:
    """Show Table 9 (V2-T9, = V1-T8) with its ratios recomputed, beside the embedded training papers; check V1-C5, V2-C6."""
    printed, live = lookup("V2-T9"), {r.metric.lower(): r for r in rows}
    fields = list(dict.fromkeys(name for name, _ in printed))
    ratios = {f: arithmetic("V2-T9", f"ratio, {f}", printed[f, A].number / printed[f, B].number, int(printed[f, B].number),
                            (printed[f, A], printed[f, B])) for f in fields}  # fmt: skip
    made = dict(zip(ratios, chapter.record(ratios.values()), strict=True))
    extra = [r.metric.partition(", ")[2] for r in rows if r.metric.startswith(A)]
    others = [f for f in extra if f.lower() not in {g.lower() for g in fields}]
    cells = []
    for f in [*fields, *others]:
        quoted = [printed.get((f, column)) for column in (A, B, RATIO)]
        ours = [live.get(f"{column}, {f}".lower()) for column in (A, B)]
        cells.append([f, *(number(chapter, p) for p in quoted), number(chapter, made.get(f), 1),
                      *(number(chapter, r) for r in ours)])  # fmt: skip
    chapter.show(
        report.table(
            ["Field", "A", "B", "A/B", "computed", "A, live", "B, live"], cells,
            "Table 9 (v2) = Table 8 (v1): unique training papers by field of SciRepEval (A) and of the citation triplets (B), "
            "their ratio as printed and computed; live: of the embedded literature's training sets",
            [["", "published", "published", "published", "published", "live", "live"]] * len(cells),
        )
    )  # fmt: skip
    wrong = [f for f in fields if round(made[f].value) != printed[f, RATIO].number]
    same = all(lookup("V1-T8")[key].value == p.value for key, p in printed.items())
    chapter.say(
        f"{len(fields) - len(wrong)} of {len(fields)} printed ratios are A/B rounded"
        + (f"; not {', '.join(wrong)}." if wrong else "."),
        f"The two versions print {'the same' if same else 'different'} numbers; both call the ratio an absolute increase.",
    )
    claims(chapter, printed, fields, live)


def claims(chapter: Chapter, printed: Mapping[tuple[str, str], Printed], fields: Sequence[str],
           live: Mapping[str, Result]) -> None:  # fmt: skip
    """Check the two sentences the papers draw from the table: 105 times more papers a domain, 70 % from two domains."""
    a, b = ({f: printed[f, column].number for f in fields} for column in (A, B))
    numbers, n = table("V2-T9"), len(fields)
    share = 100 * sum(b[f] for f in TWO) / sum(b.values())
    mean, total, share_of = chapter.record([
        arithmetic("V2-T9", "mean of the ratios", sum(a[f] / b[f] for f in fields) / n, n, numbers),
        arithmetic("V2-T9", "ratio of the sums", sum(a.values()) / sum(b.values()), n, numbers),
        arithmetic("V2-T9", f"share of {' and '.join(TWO)} in B, %", share, n, numbers),
    ])  # fmt: skip
    times, seventy = lookup("V1-C5").values(), lookup("V2-C6").values()
    said, about = next(iter(times)), next(iter(seventy))
    largest = sorted(fields, key=lambda f: a[f] / b[f])[-3:][::-1]
    cut = "cut, not rounded" if int(mean.value) == said.number != round(mean.value) else "as printed"
    chapter.say(
        f"“{chapter.number(said)}x more documents on average per domain” is the mean of the {n} ratios, "
        f"{chapter.number(mean, 1)} ({cut}). The mean follows the smallest fields ({', '.join(largest)} have the largest "
        f"ratios); all training papers together are {chapter.number(total, 1)} times those of the triplets.",
        f"“About {chapter.number(about)} % from two domains”: {' and '.join(TWO)} make up {chapter.number(share_of, 1)} % of "
        "column B.",
    )
    found = {c: {f: live[f"{c}, {f}".lower()].value for f in fields if f"{c}, {f}".lower() in live} for c in (A, B)}
    both = [f for f in found[A] if found[B].get(f)]
    if both:
        top = sorted(found[B], key=lambda f: -found[B][f])[:2]
        here = 100 * sum(found[B][f] for f in top) / max(1.0, sum(found[B].values()))
        ratio = sum(found[A][f] / found[B][f] for f in both) / len(both)
        one = live[f"{A}, {both[0]}".lower()]
        made = chapter.record([
            Result("scirepeval/training", "train", name, "paper", value, size, source=one.source, data_hash=one.data_hash,
                   provenance=provenance())
            for name, value, size in (("mean of the ratios", ratio, len(both)),
                                      ("share of the two largest fields in B, %", here, one.n))
        ])  # fmt: skip
        apart = "narrower" if here > share_of.value else "wider spread"
        chapter.say(
            f"In the embedded literature the mean ratio is {chapter.number(made[0], 1)} over {len(both)} fields, and its two "
            f"largest fields ({', '.join(top)}) hold {chapter.number(made[1], 1)} % of the triplets' papers: {apart} than the "
            "printed triplets.",
            "The contrast of the table does not appear there: the triplets reach nearly all of the training papers."
            if ratio < SAME
            else "",
        )


@report.styled
def draw_domains(chapter: Chapter, rows: Sequence[Result]) -> None:
    """Draw the shares of the fields in A and B: printed, and of the embedded literature."""
    printed = lookup("V2-T9")
    fields = list(dict.fromkeys(name for name, _ in printed))
    live = {r.metric.lower(): r for r in rows}
    figure, axes = report.subplots(1, 2, figsize=(report.WIDTH, 5.4), sharey=True)
    data = []
    for ax, column, name in zip(axes, (A, B), ("all training sets (A)", "citation triplets (B)"), strict=True):
        quoted = {f: printed[f, column].number for f in fields}
        ours = {f: live[key].value for f in fields if (key := f"{column}, {f}".lower()) in live}
        series = [report.Dots("published", _shares(quoted)), *([report.Dots("live", _shares(ours))] if ours else [])]
        report.dot_plot(ax, fields, series)
        ax.set_xscale("symlog", linthresh=1)
        ax.set_xticks([0, 1, 3, 10, 30], ["0", "1", "3", "10", "30"])
        ax.minorticks_off()
        ax.set_xlim(-0.15, 75)
        ax.set_xlabel(f"% of papers, {name}")
        data += [
            {"kind": s.kind, "papers": name, "field": f, "percent": v} for s in series for f, v in s.values.items()
        ]
    axes[0].legend(ncols=2, loc="lower left", bbox_to_anchor=(0, 1))
    shown = "published and live" if rows else "published"
    chapter.figure(
        "fields", figure, pd.DataFrame(data),
        caption=f"Table 9 as shares, {shown}: papers by field among the {len(fields)} fields of the table, in percent (axis "
        f"linear to 1, then logarithmic); left all training sets, right the citation triplets.",
        alt=f"Two dot plots of the share of each field; the printed triplets hold most of {_two(printed)}.",
    )  # fmt: skip


def _shares(counts: Mapping[str, float]) -> dict[str, float]:
    total = sum(counts.values())
    return {name: 100 * value / total for name, value in counts.items()} if total else {}


def _two(printed: Mapping[tuple[str, str], Printed]) -> str:
    return " and ".join(sorted((f for f, c in printed if c == B), key=lambda f: -printed[f, B].number)[:2])
