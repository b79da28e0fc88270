"""Chapter `neighbours/retrieval`, the statements of section 6.2 and appendix E.2 held against our encoders (TN-C6 to TN-C10).

The paper's figures have no numbers, its text has a few bounds. A bound is decided for an encoder of ours where the 95 %
interval leaves it out, an order of two categories or codes where the interval of their paired difference leaves out 0;
what is not decided is called open.
"""

from __future__ import annotations

from collections.abc import Sequence

from scirep_core.data.perturbations import CATEGORIES, LL_PS, LO_DS, LO_PS, PERTURBATIONS
from scirep_core.exhibits import neighbours_drawing as drawing
from scirep_core.exhibits import neighbours_views as views
from scirep_core.exhibits.neighbours_drawing import Statement
from scirep_core.exhibits.neighbours_retrieval import ANTONYM, FORMS, GAIN, HIERARCHY, NN1, NN10
from scirep_core.exhibits.neighbours_shared import named
from scirep_core.exhibits.neighbours_views import SPACE, THIRDS, Run, View, coded, listed, settled, told
from scirep_core.page.chapter import Chapter
from scirep_core.results import Result
from scirep_core.results.differences import difference_of
from scirep_core.results.published import Printed, lookup

SPECTERS = ("TDelNN", "T_A_DelNNChar")
"""The two types that section 6.2 names for SPECTER."""
VERDICT = {1: "<strong>holds</strong>", -1: "<strong>does not hold</strong>", 0: "<strong>open</strong>"}
OTHERS = [category for category in CATEGORIES if category != LO_DS]


def statements(chapter: Chapter, shown: Sequence[Run]) -> None:
    """Show what the paper says of its models, statement by statement, and whether it holds of each encoder of ours."""
    six, eight = said("TN-C6", "SciBERT"), said("TN-C8", "SciBERT")
    low, high = said("TN-C7", "SPECTER", "below"), said("TN-C7", "SPECTER", "above")
    nine, ten = said("TN-C9", "SciBERT"), said("TN-C10", "OAG-BERT")
    number = chapter.number
    drawing.statements_table(chapter, shown, [
        Statement("SciBERT, OAG-BERT", f"NN10_Ret of {LO_DS} is below {number(six)} %",
                  lambda view: _bounded(chapter, view.row(NN10, LO_DS), six.number, -1)),
        Statement("OAG-BERT", f"NN10_Ret is below {number(ten)} % in all categories",
                  lambda view: _all(view.rows(NN10, CATEGORIES), ten.number, -1)),
        Statement("SPECTER", f"NN1_Ret is below {number(low)} % for {coded(SPECTERS)} alone",
                  lambda view: _codes_below(view, low.number)),
        Statement("SPECTER", f"NN1_Ret is above {number(high)} % in the four categories but {LO_DS}",
                  lambda view: _all(view.rows(NN1, OTHERS), high.number, 1)),
        Statement("SciBERT", f"NN1_Ret of <code>{SPACE}</code> is below {number(eight)} %",
                  lambda view: _bounded(chapter, view.row(NN1, SPACE), eight.number, -1)),
        Statement("SciBERT", f"NN1_Ret of <code>{ANTONYM}</code> is about {number(nine)} %",
                  lambda view: _antonyms(chapter, view, nine.number)),
        Statement("SciBERT", f"of the thirds, <code>{THIRDS[2]}</code> is found least", _thirds),
        Statement("SciBERT", "highly similar categories stand above partially similar ones", _hierarchy),
        Statement("SPECTER", "no difference between lossless and lossy, or highly and partially similar", _level),
        Statement("SciBERT", "ten instead of one help the partially similar, not the highly similar",
                  lambda view: _helped(chapter, view)),
    ], "What the paper says of its models, and whether it holds of ours: decided where a 95 % interval leaves out the bound, or 0 "
       "of a difference")  # fmt: skip


def said(exhibit: str, row: str, word: str = "") -> Printed:
    """Return the number of a statement, by whom it is about and a word of its column."""
    return next(printed for (who, column), printed in lookup(exhibit).items() if who == row and word in column)


def _bounded(chapter: Chapter, row: Result | None, at: float, way: int) -> str:
    return "" if row is None else f"{VERDICT[way * settled(row, at)]}: {told(chapter, row)}"


def _all(rows: dict[str, Result], at: float, way: int) -> str:
    """Say whether all rows lie on one side of a bound."""
    if not rows:
        return ""
    sides = {split: way * settled(row, at) for split, row in rows.items()}
    verdict = 1 if set(sides.values()) == {1} else -1 if -1 in sides.values() else 0
    if verdict == 1:
        return f"{VERDICT[1]} for all {len(rows)}"
    groups = {1: "it is so for", -1: "not for", 0: "open for"}
    parts = [(word, [split for split, side in sides.items() if side == way]) for way, word in groups.items()]
    return f"{VERDICT[verdict]}: " + "; ".join(f"{word} {listed(splits)}" for word, splits in parts if splits)


def _codes_below(view: View, at: float) -> str:
    """Say which codes lie below a bound, and whether they are the two of the text."""
    rows = view.rows(NN1, PERTURBATIONS)
    if not rows:
        return ""
    low, unsure = ([code for code, row in rows.items() if settled(row, at) == way] for way in (-1, 0))
    open_ = f"; open for {coded(unsure)}" if unsure else ""
    fits = set(low) <= set(SPECTERS) <= {*low, *unsure}
    verdict = 1 if set(low) == set(SPECTERS) and not unsure else 0 if fits else -1
    return f"{VERDICT[verdict]}: below {'is' if len(low) == 1 else 'are'} {coded(low)}{open_}"


def _antonyms(chapter: Chapter, view: View, at: float) -> str:
    row, gap = view.row(NN1, ANTONYM), view.gap(ANTONYM, LO_DS, NN1)
    if row is None:
        return ""
    word = {1: "higher", -1: "lower", 0: "its interval holds that"}[settled(row, at)]
    beside = {1: "above", -1: "below", 0: "not told apart from"}[settled(gap)]
    return f"<strong>{word}</strong>: {told(chapter, row)}" + (f"; {beside} the mean of {LO_DS}" if gap else "")


def _thirds(view: View) -> str:
    sides = {other: settled(gap) for other in THIRDS[:2] if (gap := view.gap(THIRDS[2], other, NN1))}
    if not sides:
        return ""
    above, below = ([other for other, side in sides.items() if side == way] for way in (1, -1))
    if above:
        return f"{VERDICT[-1]}: above {coded(above)}"
    if len(below) == len(sides):
        return f"{VERDICT[1]}: below {coded(below)}"
    return f"{VERDICT[0]}: " + (f"below {coded(below)} alone" if below else "not told apart from the other two")


def _hierarchy(view: View) -> str:
    sides = [settled(gap) for a, b in HIERARCHY if (gap := view.gap(a, b, NN1))]
    if not sides:
        return ""
    verdict = 1 if set(sides) == {1} else -1 if -1 in sides else 0
    counts = f"{sides.count(1)} above, {sides.count(-1)} below, {sides.count(0)} not told apart"
    return f"{VERDICT[verdict]}: of {len(sides)} pairs {counts}"


def _level(view: View) -> str:
    sides = {pair: settled(gap) for pair in (*HIERARCHY, *FORMS) if (gap := view.gap(*pair, NN1))}
    apart = [f"{a} above {b}" if side > 0 else f"{b} above {a}" for (a, b), side in sides.items() if side]
    if not sides:
        return ""
    return f"{VERDICT[-1]}: {listed(apart)}" if apart else f"{VERDICT[0]}: no difference is settled"


def _helped(chapter: Chapter, view: View) -> str:
    rows = view.rows(difference_of(GAIN), CATEGORIES)
    if not rows:
        return ""
    helped = {split: row for split, row in rows.items() if settled(row) == 1}
    partial = {LL_PS, LO_PS} & set(helped)
    verdict = -1 if any(split.endswith("HS") for split in helped) else 1 if len(partial) == 2 else 0
    gained = [f"{split} by {told(chapter, row)}" for split, row in helped.items()]
    return f"{VERDICT[verdict]}: helps {listed(gained)}"


# ---- a modern encoder ------------------------------------------------------------------------------------------------


def modern(chapter: Chapter, shown: Sequence[Run]) -> None:
    """Say what a language model of today changes against the three printed ones, and against counting words."""
    found = [view for view in views.views(shown) if views.models([view.encoder])]
    for view in found:
        _say_modern(chapter, view)
    if shown and not found:
        views.say_no_model(chapter)


def _say_modern(chapter: Chapter, view: View) -> None:
    codes = view.rows(NN1, PERTURBATIONS)
    one, ten = view.row(NN1, LO_DS), view.row(NN10, LO_DS)
    if not codes or one is None or ten is None:
        return
    worst = sorted(codes.values(), key=lambda row: row.value)[:3]
    least = [f"<code>{row.split}</code> {told(chapter, row)}" for row in worst]
    at = said("TN-C6", "SciBERT")
    reads = {1: "above", -1: "below", 0: "not settled against"}[settled(ten, at.number)]
    chapter.say(
        f"<strong>{view.name}, {view.run.kind}.</strong> The codes it finds least are {listed(least)} %.",
        f"Of {LO_DS}, where the meaning is meant to be gone, it finds {told(chapter, one)} % first and {told(chapter, ten)} % "
        f"among ten: {reads} the {chapter.number(at)} % below which the paper calls it desirable.",
        *(_beside(chapter, view, split) for split in (LO_PS, LO_DS)),
    )


def _beside(chapter: Chapter, view: View, split: str) -> str:
    words = {1: "higher", -1: "lower", 0: "not told apart"}
    parts = [
        f"{told(chapter, row, sign=True)} points to {named(other)}, {words[settled(row)]}"
        for other, row in view.against(NN1, split).items()
    ]
    return f"NN1_Ret on {split}: {'; '.join(parts)}." if parts else ""
