"""Chapter `neighbours/retrieval`: does an altered text still find its original? (textual neighbours, section 6.2, appendix E.2)

    NNk_Ret   % of altered texts that have their original among the k nearest of title + abstract of ALL papers; k = 1, 10

By code, and by category as the mean over its codes; the paper does not say whether it means that or all queries together, so
both are given. Beside it, of each code, the share of altered texts whose vector is the original's: an encoder that cannot see
a change finds every original, and its 100 % says nothing. White space is the case in point: widened spaces reach no encoder
that splits at them, while the public code's walk repeats text, so both readings of T_A_WS are measured.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from scirep_core.data.perturbations import CATEGORIES, LITERAL, LL_HS, LL_PS, LO_DS, LO_HS, LO_PS, PERTURBATIONS
from scirep_core.encoders import Encoder
from scirep_core.evaluators import perturbed
from scirep_core.evaluators.perturbed import Clouds
from scirep_core.evaluators.rows import Asked, unit
from scirep_core.exhibits import neighbours_drawing as drawing
from scirep_core.exhibits import neighbours_views as views
from scirep_core.exhibits.counting import of_how_many, title
from scirep_core.exhibits.neighbours_shared import Subject, named
from scirep_core.exhibits.neighbours_views import (
    AS_WRITTEN,
    SPACE,
    THIRDS,
    Run,
    View,
    coded,
    listed,
    settled,
    told,
    value,
)
from scirep_core.page import report
from scirep_core.page.chapter import Chapter, progress
from scirep_core.results import Result
from scirep_core.results.differences import versus
from scirep_core.results.published import lookup

CHAPTER = "neighbours/retrieval"
NN1, NN10, SEEN = "nn1_ret", "nn10_ret", "same_vector"
LABELS = {NN1: "NN1_Ret", NN10: "NN10_Ret"}
GAIN = f"{NN10} and {NN1}"
HIERARCHY = tuple((hs, ps) for hs in (LL_HS, LO_HS) for ps in (LL_PS, LO_PS))
"""Categories found more often, and less often, if highly similar texts stand above partially similar ones."""
FORMS = ((LL_HS, LO_HS), (LL_PS, LO_PS))
"""Lossless and lossy of one kind."""
ANTONYM = "T_ARepADJ"
SAME = 1e-5
"""Distance by cosine up to which vectors count as one: encoders on other processors round differently."""
BLIND = 99.9
"""% of a code's texts from which on the page says that an encoder cannot see it: bfloat16 rounds a few equal inputs apart."""


# ---- measuring -------------------------------------------------------------------------------------------------------


def measure(chapter: Chapter, found: Sequence[Subject]) -> list[Result]:
    """Record shares by code and category, their differences, what the encoder can see, and both readings of two codes."""
    literal = {id(one): replace(one, codes=tuple(LITERAL), variant="literal") for one in found}

    def of(subject: Subject, encoder: Encoder) -> Iterator[Result]:
        whole, clouds, asked = subject.whole(encoder), subject.clouds(encoder), subject.asked()
        rows = perturbed.retrieval(asked, whole, clouds, progress(f"{encoder.name}: retrieval", "codes"))
        yield from rows
        pairs = [*HIERARCHY, *FORMS, *((THIRDS[2], other) for other in THIRDS[:2]), (ANTONYM, LO_DS)]
        yield from views.differences(rows, NN1, pairs)
        yield from gains(rows)
        yield from seen(asked, whole, clouds)
        yield from as_written(asked, whole, clouds, literal[id(subject)].clouds(encoder), rows)

    return views.measure(chapter, found, of, (NN1, NN10))


def gains(rows: Sequence[Result]) -> Iterator[Result]:
    """Yield what the ten nearest add to the nearest, by category."""
    by = {(row.metric, row.split): row for row in rows}
    for category in CATEGORIES:
        if (NN1, category) in by:
            yield from views.difference(by[NN10, category], by[NN1, category], NN1, GAIN)


def seen(asked: Asked, whole: NDArray[np.floating], clouds: Clouds) -> Iterator[Result]:
    """Yield by code the share of altered texts whose vector is that of the original, to rounding."""
    for code, cloud in clouds.items():
        if len(cloud.own):
            apart = 1 - np.einsum("ij,ij->i", unit(cloud.vectors), unit(whole[cloud.own]))
            yield asked.row(SEEN, 100 * float((apart < SAME).mean()), len(cloud.own), code)


def as_written(
    asked: Asked, whole: NDArray[np.floating], clouds: Clouds, literal: Clouds, rows: Sequence[Result]
) -> Iterator[Result]:
    """Yield the same for the public code's own reading of a code, and its difference from ours where papers are the same."""
    by = {(row.metric, row.split): row for row in rows}
    ours, theirs = (np.unique(np.concatenate([cloud.own for cloud in of.values()])) for of in (clouds, literal))
    for row in perturbed.retrieval(asked, whole, literal):
        if row.split in literal and row.metric in (NN1, NN10, "median_rank"):
            yield replace(row, split=row.split + AS_WRITTEN)
            if row.metric in LABELS and np.array_equal(ours, theirs):
                split = versus(f"{row.split}{AS_WRITTEN}", row.split)
                yield from views.difference(row, by[row.metric, row.split], row.split, split=split)


# ---- by category and by code -----------------------------------------------------------------------------------------


def by_category(chapter: Chapter, shown: Sequence[Run]) -> None:
    """Show Figures 5 and 11 (TN-F5, TN-F11) of our encoders: a table, and a figure a collection."""
    lines = drawing.category_lines(chapter, shown, LABELS)
    caption = "NN1_Ret and NN10_Ret in %, mean over the codes of a category, 95 % intervals that draw papers"
    chapter.show(drawing.category_table(lines, caption) if lines else "")
    for collection in views.collections(shown):
        marks = drawing.spread(shown, {NN1: ("nearest", False), NN10: ("among ten", True)}, 0.14 * len(shown))
        step = 0.26 + 0.12 * len(shown)
        figure, rows = drawing.figure_of(shown, collection, drawing.CATEGORY_LINES, marks, step, "% of altered texts")
        if rows:
            chapter.figure(
                f"by-category-{collection}", figure, drawing.frame(rows),
                f"{drawing.titled(rows)}: share of altered texts that find their original as the nearest paper (filled) and among "
                f"the ten nearest (hollow), mean over the codes of a category; lines are 95 % intervals; {_n(rows)}. The paper "
                "stacks the two as bars and prints no numbers.",
                f"Dots by category and encoder; {drawing.extremes(rows)}.",
            )  # fmt: skip


def _n(rows: Sequence[Result]) -> str:
    return of_how_many(rows, "altered texts a dot")


def by_code(chapter: Chapter, shown: Sequence[Run]) -> None:
    """Show Figures 6 and 12 (TN-F6, TN-F12) of our encoders: NN1_Ret of the 32 codes, a figure a collection."""
    at = lookup("TN-C7")["SPECTER", "NN1_Ret below, two types"].number
    for collection in views.collections(shown):
        marks = drawing.spread(shown, {NN1: ("", False)})
        figure, rows = drawing.figure_of(
            shown, collection, drawing.CODE_LINES, marks, 0.175, "NN1_Ret, %", {at: f"{at:.0f}"}
        )
        if rows:
            chapter.figure(
                f"by-code-{collection}", figure, drawing.frame(rows),
                f"{drawing.titled(rows)}: NN1_Ret of the 32 codes by category, 95 % intervals; {_n(rows)}. The dashed line is the "
                "bound that the paper reads SPECTER's figure with; its own figures have no numbers.",
                f"Dots for 32 codes and each encoder; {drawing.extremes(rows)}.",
            )  # fmt: skip
    blind(chapter, shown)


def blind(chapter: Chapter, shown: Sequence[Run]) -> None:
    """Say which changes each encoder cannot see: there 100 % says nothing."""
    items = []
    for view in views.views(shown):
        same = view.rows(SEEN, PERTURBATIONS)
        codes = [code for code, row in same.items() if row.value >= BLIND]
        told = f"{len(codes)} of {len(same)} codes: {coded(codes)}" if codes else f"none of {len(same)} codes"
        items += [f"<li>{view.name}, {view.run.kind}: {told}.</li>"] if same else []
    if items:
        chapter.show(
            f"<p>What an encoder cannot see it cannot fail on. Codes of which at least {BLIND} % of the altered texts have their "
            f"original’s vector, so that finding it says nothing:</p><ul>{''.join(items)}</ul>"
        )


# ---- two means -------------------------------------------------------------------------------------------------------


def two_means(chapter: Chapter, shown: Sequence[Run]) -> None:
    """Say how far the mean over codes and the share of all queries together lie apart; show the latter folded away."""
    lines = drawing.category_lines(chapter, shown, {f"{metric}_pooled": label for metric, label in LABELS.items()})
    if not lines:
        return
    for run in shown:
        pairs = [(run.found[c, e, m.removesuffix("_pooled"), split], row)
                 for (c, e, m, split), row in run.found.items() if m.endswith("_pooled")]  # fmt: skip
        counts = [row.n for (_, _, metric, split), row in run.found.items() if metric == NN1 and split in PERTURBATIONS]
        mean, together = max(pairs, key=lambda pair: abs(pair[0].value - pair[1].value))
        chapter.say(
            f"{run.named}: a code applies to {min(counts):,} to {max(counts):,} papers.",
            f"The two readings lie farthest apart on {LABELS[mean.metric]} of {mean.split} by {named(mean.encoder)}: "
            f"{chapter.number(mean, 1)} as the mean of codes, {chapter.number(together, 1)} of all queries together."
            if abs(mean.value - together.value) > 0.05
            else "The two readings give the same numbers, to a tenth of a point.",
        )
    caption = "NN1_Ret and NN10_Ret in % of all queries of a category, 95 % intervals"
    table = drawing.category_table(lines, caption)
    chapter.show(f"<details><summary>The same with all queries of a category together</summary>{table}</details>")


# ---- white space -----------------------------------------------------------------------------------------------------


def white_space(chapter: Chapter, shown: Sequence[Run]) -> None:
    """Show NN1_Ret under both readings of T_A_WS and T_ADelRand (TN-C8), and say what an encoder can see of them."""
    names = list(dict.fromkeys(e for run in shown for e in run.encoders))
    body, classes = [], []
    for run, collection in ((one, c) for one in shown for c in one.collections):
        for code, suffix in ((code, suffix) for code in LITERAL for suffix in ("", AS_WRITTEN)):
            found = [run.found.get((collection, name, NN1, code + suffix)) for name in names]
            there = [row for row in found if row]
            if there:
                label = f"<code>{code}</code>{' as the public code has it' if suffix else ''}"
                label += f"<br><small>{title(there[0].task)}, {run.kind}</small>"
                body.append([label, *(value(chapter, row) for row in found)])
                classes.append(["", *[run.kind] * len(found)])
    if not body:
        return
    caption = "NN1_Ret in % under two readings of two codes, 95 % intervals"
    chapter.show(report.table(["Reading", *(named(name) for name in names)], body, caption, classes))
    for run, collection in ((one, c) for one in shown for c in one.collections):
        _say_space(chapter, [view for view in views.views([run]) if view.collection == collection])


def _say_space(chapter: Chapter, found: Sequence[View]) -> None:
    """Say, of the encoders of one run and collection, what widened spaces and the repeated text do to them."""
    row = {view.encoder: view.row(NN1, SPACE) for view in found}
    same = {view.encoder: view.row(SEEN, SPACE) for view in found}
    literal = {view.encoder: view.row(NN1, SPACE + AS_WRITTEN) for view in found}
    there = [name for name in row if row[name] and same[name] and literal[name]]
    if not there:
        return
    gaps = {view.encoder: view.gap(SPACE + AS_WRITTEN, SPACE, NN1) for view in found}
    quoted = lookup("TN-C8")["SciBERT", f"{SPACE} NN1_Ret below"]
    sides = {name: settled(literal[name], quoted.number) for name in there}
    unseen = [name for name in there if (one := same[name]) and one.value == 100]
    low, unsure = ([named(name) for name, side in sides.items() if side == way] for way in (-1, 0))
    lower = [
        f"{named(name)} {told(chapter, gap, sign=True)}" for name, gap in gaps.items() if gap and settled(gap) == -1
    ]
    first = found[0].row(NN1, SPACE)
    chapter.say(
        f"<strong>{title(first.task) if first else ''}, {found[0].run.kind}.</strong>",
        f"For {listed([named(name) for name in unseen])} every widened text has its original’s vector: nothing can be nearer, "
        f"NN1_Ret has to be 100 and is {listed([chapter.number(one, 1) for name in unseen if (one := row[name])])}."
        if unseen
        else "",
        *(
            f"{named(name)} gives {chapter.number(seen_, 2)} % of the widened texts their original’s vector and finds "
            f"{told(chapter, one)} %."
            for name in there
            if name not in unseen and (seen_ := same[name]) and (one := row[name])
        ),
        f"On the repeated text NN1_Ret is {listed([f'{named(n)} {told(chapter, one)}' for n in there if (one := literal[n])])}. "
        f"Below the {chapter.number(quoted)} % printed of SciBERT: {listed(low)}{f', open {listed(unsure)}' if unsure else ''}; "
        f"lower than on the widened text, in points: {listed(lower, 'none that is settled')}.",
    )
