"""Chapter `neighbours/embedding_space`, the statements of section 6.1 held against our encoders (TN-C4, TN-C5), and what is new.

A mean cosine above 0.5 everywhere is anisotropy: with unit vectors u of n texts, |mean u|^2 = (1 + (n - 1) mean cosine) / n, so
that it says how long the common part of all vectors is, not how alike two papers are.
"""

from __future__ import annotations

from collections.abc import Sequence

from scirep_core.data.perturbations import CATEGORIES, LO_DS, PERTURBATIONS
from scirep_core.exhibits import counting
from scirep_core.exhibits import neighbours_drawing as drawing
from scirep_core.exhibits import neighbours_views as views
from scirep_core.exhibits.neighbours_drawing import Statement
from scirep_core.exhibits.neighbours_embedding_space import ABOVE, LEAST, MEAN, SD, UNCHANGED
from scirep_core.exhibits.neighbours_shared import named
from scirep_core.exhibits.neighbours_views import Run, View, coded, listed, settled, told
from scirep_core.page.chapter import Chapter
from scirep_core.results import arithmetic
from scirep_core.results.published import lookup

ABOUT = 5.0
"""Points that "about" allows; the paper does not say."""
CHANCE = 0.05
"""Share of codes that may lie apart by chance at 95 % intervals."""
OTHERS = [category for category in CATEGORIES if category != LO_DS]


def statements(chapter: Chapter, shown: Sequence[Run]) -> None:
    """Show what section 6.1 says of the printed models, and whether it holds of ours."""
    four, five, number = lookup("TN-C4"), lookup("TN-C5"), chapter.number
    half, zero = four["all models", "mean similarity above"], four["SPECTER", "lowest similarity above"]
    over, about = five["OAG-BERT", "pairs above mean, over"], five["SPECTER", "pairs above mean, about"]
    drawing.statements_table(chapter, shown, [
        Statement("all three", f"the mean similarity is above {number(half)} on all collections",
                  lambda view: _codes(view, MEAN, half.number)),
        Statement("all three", "the mean similarity does not differ between types of neighbour",
                  lambda view: _no_difference(chapter, view)),
        Statement("SPECTER", f"the lowest similarity is above {number(zero)} in all categories",
                  lambda view: _lowest(chapter, view, zero.number)),
        Statement("OAG-BERT", f"{LO_DS} has a low mean similarity", lambda view: _dissimilar(chapter, view)),
        Statement("OAG-BERT", "similarities spread wider than those of the other models", lambda view: _widest(chapter, view)),
        Statement("OAG-BERT", f"more than {number(over)} % of pairs lie above the mean, for most types",
                  lambda view: _codes(view, ABOVE, over.number)),
        Statement("SPECTER", f"about {number(about)} % of pairs (here ± {ABOUT:.0f} points) lie above the mean, for all types",

                  lambda view: _around(view, about.number)),
    ], "What the paper says of its models, and whether it holds of ours: decided where a 95 % interval leaves out the bound, or 0 "
       "of a difference")  # fmt: skip
    _say_pairs(chapter, shown)


def _say_pairs(chapter: Chapter, shown: Sequence[Run]) -> None:
    """Say of how many pairs the lowest similarities are: more pairs, lower lowest."""
    printed = lookup("TN-T2")["ACL-ANTH", "#Papers"]
    papers = int(printed.number)
    pairs = arithmetic("TN-T2", "pairs of ACL-ANTH, in millions", papers * (papers - 1) / 2e6, papers, [printed])
    sizes = [
        (run, max(row.n for row in run.rows if row.metric == LEAST and row.split in PERTURBATIONS)) for run in shown
    ]
    ours = [f"{n * (n - 1) // 2:,} a code in the {run.kind} run" for run, n in sizes]
    if ours:
        chapter.say(
            f"The lowest of more pairs is lower. Pairs are {listed(ours)} at most; {counting.number(chapter, printed)} papers, all "
            f"altered, have {chapter.number(chapter.record([pairs])[0], 0)} million."
        )


def _codes(view: View, metric: str, at: float) -> str:
    """Say of how many codes a number lies above a bound, below it, or is open."""
    sides = [settled(row, at) for row in view.rows(metric, PERTURBATIONS).values()]
    if not sides:
        return ""
    up, down, unsure = (sides.count(way) for way in (1, -1, 0))
    needed = len(sides) // 2 + 1 if metric == ABOVE else len(sides)  # "for most types", or for all
    verdict = "holds" if up >= needed else "open" if up + unsure >= needed else "does not hold"
    return f"<strong>{verdict}</strong>: of {len(sides)} codes {up} are above, {down} below, {unsure} open"


def _around(view: View, at: float) -> str:
    """Say of how many codes the share is about so much: the interval within, outside, or across `ABOUT` points of it."""
    sides = {
        code: (settled(row, at - ABOUT), settled(row, at + ABOUT))
        for code, row in view.rows(ABOVE, PERTURBATIONS).items()
    }
    if not sides:
        return ""
    inside = sum(low == 1 and high == -1 for low, high in sides.values())
    below, above = (sum(side == edge for side in sides.values()) for edge in ((-1, -1), (1, 1)))
    verdict = "holds" if inside == len(sides) else "does not hold" if below + above > CHANCE * len(sides) else "open"
    rest = len(sides) - inside - below - above
    return f"<strong>{verdict}</strong>: of {len(sides)} codes {inside} are, {below} are lower, {above} higher, {rest} open"


def _no_difference(chapter: Chapter, view: View) -> str:
    """Say how many codes differ in mean similarity from the unchanged texts of the same papers."""
    gaps = {code: gap for code in PERTURBATIONS if (gap := view.gap(code, UNCHANGED, MEAN))}
    if not gaps:
        return ""
    down, up = ([code for code, gap in gaps.items() if settled(gap) == way] for way in (-1, 1))
    verdict = "does not hold" if len(down) + len(up) > CHANCE * len(gaps) else "nothing speaks against it"
    largest = max(gaps, key=lambda code: abs(gaps[code].value))
    return (
        f"<strong>{verdict}</strong>: against the unchanged texts {len(down)} of {len(gaps)} codes are lower, {len(up)} higher; "
        f"most apart is {coded([largest])}, {told(chapter, gaps[largest], 2, sign=True)}"
    )


def _lowest(chapter: Chapter, view: View, at: float) -> str:
    rows = view.rows(LEAST, CATEGORIES)
    if not rows:
        return ""
    below = [split for split, row in rows.items() if row.value <= at]
    least = min(rows.values(), key=lambda row: row.value)
    verdict = "does not hold" if below else "holds of these pairs"
    return f"<strong>{verdict}</strong>: the lowest is {chapter.number(least, 2)}, of {least.split}"


def _dissimilar(chapter: Chapter, view: View) -> str:
    gaps = {other: gap for other in OTHERS if (gap := view.gap(LO_DS, other, MEAN))}
    row = view.row(MEAN, LO_DS)
    if not gaps or row is None:
        return ""
    down, up = ([other for other, gap in gaps.items() if settled(gap) == way] for way in (-1, 1))
    verdict = "holds" if len(down) == len(gaps) else "does not hold" if up else "open"
    return f"<strong>{verdict}</strong>: {told(chapter, row, 2)}, lower than {listed(down)}" + (
        f", higher than {listed(up)}" if up else ""
    )


def _widest(chapter: Chapter, view: View) -> str:
    """Say the place of an encoder's spread among those of the run, on the unchanged texts (a spread has no interval here)."""
    rows = [other.row(SD, UNCHANGED) for other in views.views([view.run]) if other.collection == view.collection]
    own = view.row(SD, UNCHANGED)
    if own is None:
        return ""
    values = sorted((row.value for row in rows if row), reverse=True)
    return f"place {values.index(own.value) + 1} of {len(values)}: sd {chapter.number(own, 3)} of the unchanged texts"


# ---- a modern encoder ------------------------------------------------------------------------------------------------


def modern(chapter: Chapter, shown: Sequence[Run]) -> None:
    """Say what a language model of today changes: how high its cosines stand, what moves them, against counting."""
    found = [view for view in views.views(shown) if views.models([view.encoder])]
    for view in found:
        _say_modern(chapter, view)
    if shown and not found:
        views.say_no_model(chapter)


def _say_modern(chapter: Chapter, view: View) -> None:
    plain, codes = view.row(MEAN, UNCHANGED), view.rows(MEAN, PERTURBATIONS)
    if plain is None or not codes:
        return
    half = lookup("TN-C4")["all models", "mean similarity above"]
    reads = {1: "above", -1: "below", 0: "not settled against"}[settled(plain, half.number)]
    low, high = min(codes.values(), key=lambda row: row.value), max(codes.values(), key=lambda row: row.value)
    words = {1: "higher", -1: "lower", 0: "not told apart"}
    beside = [
        f"{split} {told(chapter, row, 2, sign=True)} to {named(other)}, {words[settled(row)]}"
        for split in (CATEGORIES[0], LO_DS)
        for other, row in view.against(MEAN, split).items()
    ]
    apart = [code for code in codes if (gap := view.gap(code, UNCHANGED, MEAN)) and settled(gap) == 1]
    chapter.say(
        f"<strong>{view.name}, {view.run.kind}.</strong> Its mean cosine between unchanged papers is {told(chapter, plain, 2)}: "
        f"{reads} the {chapter.number(half)} of the printed models. By code it goes from {told(chapter, low, 2)}, "
        f"<code>{low.split}</code>, to {told(chapter, high, 2)}, <code>{high.split}</code>.",
        f"Texts that lie closer together altered than unchanged, settled: {coded(apart)}.",
        f"Against the other encoders: {'; '.join(beside)}." if beside else "",
    )
