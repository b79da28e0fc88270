"""Chapter `scimult/link_prediction`: SciMult's Tables 5, 6 and 7, and what its sentences say of them (4.5, 4.7).

    Table 5   linked papers found in a whole pool             Recall@k
    Table 6   PMC-Patients after further training on it       MRR, P@10, nDCG@10, R@1K, beside a leaderboard
    Table 7   given candidates put in order                   MAP and nDCG; nDCG@5, nDCG@10, nDCG where grades are 1 to 5

Averages are plain means over columns, so that Recommendation weighs 3 of 11 in Table 7 and a relation of SciDocs 2 of 11.
Lines with a dagger quote other papers; which evaluation a quoted number is of is inferred from means (`quoted`).
"""

from __future__ import annotations

import html
from collections.abc import Mapping, Sequence

from scirep_core.exhibits import scimult_print as pr
from scirep_core.page import report
from scirep_core.page.chapter import Chapter
from scirep_core.results import Result, arithmetic
from scirep_core.results.published import Printed, lookup, table

CHAPTER = "scimult/link_prediction"
FOUND, PATIENTS, ORDERED, COARSE, EVALUATED = "SM-T5", "SM-T6", "SM-T7", "SM-T4", "V1-T2"
RELATIONS = ("Co-view", "Co-read", "Cite", "Co-cite")
RATED = "Recommendation"
QUOTED = "quoted there"
"""In the note of a printed number that SciMult has from another paper."""
ROUNDING = 0.1
"""What the mean of numbers with one decimal and a printed mean with one can be apart by rounding alone."""
SHOWN = {
    FOUND: ("Cite/R@20", "Co-cite/R@20", "Patient-to-Patient/R@20", pr.AVERAGE),
    ORDERED: (*(f"{name}/MAP" for name in RELATIONS), f"{RATED}/nDCG", pr.AVERAGE),
}
Kinds = Mapping[str, Sequence[Result]]


# ---- Table 5 ---------------------------------------------------------------------------------------------------------


def retrieval(chapter: Chapter) -> None:
    """Show Table 5, recompute its averages, and count the cells in which SciMult is ahead of all baselines."""
    pr.show(chapter, FOUND, "Table 5: Recall@k of linked papers in the whole pool")
    pr.say_averages(chapter, FOUND)
    names, printed = pr.columns(FOUND), lookup(FOUND)
    lost = [(line, name) for line in pr.VARIANTS for name in names if name not in pr.beaten(FOUND, line, [name])]
    total = len(names) * len(pr.VARIANTS)
    told = [
        f"{pr.short(line)} on {name.replace('/', ', ')}: {chapter.number(printed[line, name])} against "
        f"{html.escape(pr.bar(FOUND, name).row)}’s {chapter.number(pr.bar(FOUND, name))}"
        for line, name in lost
    ]
    chapter.say(
        f"Section 4.5 has the variants ahead of all baselines in almost all cases: in {total - len(lost)} of {total} cells."
        + (f" Not so {'; '.join(told)}." if told else "")
    )


# ---- Table 6 ---------------------------------------------------------------------------------------------------------


def patients(chapter: Chapter) -> None:
    """Show both halves of Table 6, and say in which metrics its order is the leaderboard's, and what is not its own."""
    pr.show(chapter, PATIENTS, "Table 6: PMC-Patients, SciMult-MHAExpert trained further beside the leaderboard")
    lines, printed = pr.systems(PATIENTS), lookup(PATIENTS)
    own = lines[0]
    first = [name for name in pr.columns(PATIENTS) if pr.winners(PATIENTS, name, lines) == [own]]
    chapter.say(f"{html.escape(own)} is first in {len(first)} of {len(pr.columns(PATIENTS))} columns.")
    for half in pr.data_sets(PATIENTS):
        order = [
            name.partition("/")[2] for name in pr.columns(PATIENTS, half)
            if _falls([p.number for p in table(PATIENTS) if p.column == name])
        ]  # fmt: skip
        chapter.say(f"{half}: the lines are printed in the order of {pr.named(order)}.")
    lost = [p for p in printed.values() if "not in the text at hand" in p.note]
    chapter.say(
        f"{len(lost)} numbers ({pr.named(dict.fromkeys(p.row for p in lost))}) are missing in the text at hand and are taken from "
        "the leaderboard, which the other numbers of the baselines agree with."
        if lost
        else ""
    )


def _falls(numbers: Sequence[float]) -> bool:
    return list(numbers) == sorted(numbers, reverse=True)


# ---- Table 7 ---------------------------------------------------------------------------------------------------------


def reranking(chapter: Chapter) -> None:
    """Show Table 7, recompute its averages, and decide what sections 4.5 and 4.7 say of it (SM-C3)."""
    pr.show(chapter, ORDERED, "Table 7: candidates in order")
    pr.say_averages(chapter, ORDERED)
    names = pr.columns(ORDERED, *RELATIONS)
    wins = {line: pr.ahead(ORDERED, line, "SPECTER", names) for line in pr.VARIANTS}
    total = len(names) * len(pr.VARIANTS)
    lost = {name.partition("/")[0] for line in pr.VARIANTS for name in names if name not in wins[line]}
    chapter.say(
        "Section 4.5 (1): on SciDocs the variants are ahead of SPECTER, whose training pairs they share, in most cases: in "
        f"{sum(map(len, wins.values()))} of {total} ({', '.join(f'{pr.short(line)} {len(won)}' for line, won in wins.items())})"
        + (f"; all that they lose are of {pr.named(n for n in RELATIONS if n in lost)}." if lost else "."),
    )
    newer = ("SciNCL", "SPECTER 2.0")
    over = {one: sum(len(pr.ahead(ORDERED, line, one, names)) for line in pr.VARIANTS) for one in newer}
    both = sum(len(pr.beaten(ORDERED, line, names)) for line in pr.VARIANTS)
    chapter.say(
        f"(2): they rarely are ahead of SciNCL and SPECTER 2.0: in {over[newer[0]]} and {over[newer[1]]} of {total} cells, "
        f"of all baselines at once in {both}.",
        _overlap(chapter),
        _rated(),
    )
    _averages(chapter)


def _overlap(chapter: Chapter) -> str:
    leak = next(iter(lookup("SM-C2").values()))
    return (
        "Its reasons, which it does not test, are how SciNCL draws negatives and that SPECTER 2.0 has seen more kinds of data. It "
        f"also quotes that {chapter.number(leak)} % of SciDocs’ papers occur in the training data, and adds {RATED} for that "
        "reason. Its own citation triplets are SPECTER’s, so its own numbers have that advantage too."
    )


def _rated() -> str:
    names = pr.columns(ORDERED, RATED)
    first = [line for line in pr.VARIANTS if len(pr.beaten(ORDERED, line, names)) == len(names)]
    return f"On {RATED}, cross-domain by Table 2, {pr.named(first)} are ahead of all baselines in all {len(names)} columns."


def _averages(chapter: Chapter) -> None:
    """Say who is first on average, what the weights do to it, and what MHAExpert's gain rests on."""
    printed = lookup(ORDERED)
    lines = [line for line in pr.systems(ORDERED) if (line, pr.AVERAGE) in printed]
    order = sorted(lines, key=lambda line: -printed[line, pr.AVERAGE].number)
    won = [line for line in pr.VARIANTS if pr.beaten(ORDERED, line, [pr.AVERAGE])]
    chapter.say(
        f"On average {len(won)} of {len(pr.VARIANTS)} variants are ahead of all baselines; the highest are "
        + ", ".join(f"{pr.short(line)} {chapter.number(printed[line, pr.AVERAGE])}" for line in order[:3])
        + ". Section 4.7 leaves this table out where it says that the variants beat all baselines on average.",
    )
    other = chapter.record([_over_sets(line) for line in lines])
    ranked = sorted(other, key=lambda row: -row.value)
    chapter.say(
        "A mean over the five data sets instead of the columns would be "
        + ", ".join(f"{pr.short(row.metric.partition(', ')[2])} {chapter.number(row, 3)}" for row in ranked[:3])
        + " at the top."
    )
    rest = [name for name in pr.columns(ORDERED) if not name.startswith("Cite/")]
    pair = []
    for line in (pr.VANILLA, pr.MHA):
        mean = pr.mean_of(ORDERED, line, rest, "").value
        pair.append(pr.worked(chapter, ORDERED, f"average without Cite, {line}", mean, _cells(line, rest)))
    up = pr.ahead(ORDERED, pr.MHA, pr.VANILLA, pr.columns(ORDERED))
    chapter.say(
        f"MHAExpert is ahead of Vanilla on average, {chapter.number(printed[pr.MHA, pr.AVERAGE])} against "
        f"{chapter.number(printed[pr.VANILLA, pr.AVERAGE])}, and in {len(up)} of {len(pr.columns(ORDERED))} columns. Without the "
        f"two of Cite the averages are {pair[1]} and {pair[0]}."
    )


def _cells(line: str, names: Sequence[str]) -> list[Printed]:
    printed = lookup(ORDERED)
    return [printed[line, name] for name in names]


def _over_sets(line: str) -> Result:
    """Return the mean over data sets of the means over their columns."""
    printed = lookup(ORDERED)
    sets = [[printed[line, name].number for name in pr.columns(ORDERED, one)] for one in pr.data_sets(ORDERED)]
    mean = sum(sum(found) / len(found) for found in sets) / len(sets)
    return arithmetic(ORDERED, f"mean over data sets, {line}", mean, len(sets), _cells(line, pr.columns(ORDERED)))


# ---- quoted numbers --------------------------------------------------------------------------------------------------


def quoted(chapter: Chapter) -> None:
    """Show whose evaluation the quoted numbers of Tables 4 and 7 can be of: their means beside SciRepEval's own (v1, Table 2)."""
    ten = {line: cells for line in pr.baselines(ORDERED) if (cells := _quoted(line))}
    means = chapter.record([
        arithmetic(ORDERED, f"mean of quoted numbers, {line}", sum(p.number for p in cells) / len(cells), len(cells), cells)
        for line, cells in ten.items()
    ])  # fmt: skip
    own = {line: lookup(EVALUATED).get((line, "SciDocs")) for line in ten}
    gaps: dict[str, Result] = {}
    for (line, cells), mean in zip(ten.items(), means, strict=True):
        if p := own[line]:
            both = [*cells, p]
            made = arithmetic(
                EVALUATED, f"SciDocs minus mean of quoted numbers, {line}", p.number - mean.value, len(both), both
            )
            gaps[line] = chapter.record([made])[0]
    body = [
        [html.escape(line), chapter.number(mean), chapter.number(p) if (p := own[line]) else "not printed",
         chapter.number(gaps[line], sign=True) if line in gaps else ""]
        for line, mean in zip(ten, means, strict=True)
    ]  # fmt: skip
    chapter.show(
        report.table(["", "mean of the ten", "SciDocs in SciRepEval", "difference"], body,
                     "Ten numbers of a line that SciMult quotes, two of Table 4 (Linear) and eight of Table 7, beside the mean "
                     "that SciRepEval prints for its own run (v1, Table 2)", [["", *["published"] * 3]] * len(body))
    )  # fmt: skip
    same = [line for line, gap in gaps.items() if abs(gap.value) <= ROUNDING]
    apart = [line for line in gaps if line not in same]
    silent = [line for line in ten if line not in gaps]
    chapter.say(
        f"A dagger names three papers at once. The mean of {pr.named(same)} is SciRepEval’s, to within rounding; those of "
        f"{pr.named(apart)} are not: they must be of other runs, most likely the older papers’ own. For {pr.named(silent)} "
        "SciRepEval prints no such mean, and neither of its versions prints single numbers of SciDocs: they cannot be looked up "
        "there. The quoted lines are thus of more than one evaluation.",
        _within(chapter, gaps),
    )


def _quoted(line: str) -> list[Printed]:
    """Return a line's quoted numbers of Tables 4 (Linear) and 7 (SciDocs), [] where some of the ten are not quoted."""
    names = {COARSE: [n for n in pr.columns(COARSE) if n.endswith("/Linear")], ORDERED: pr.columns(ORDERED, *RELATIONS)}
    cells = [lookup(exhibit).get((line, name)) for exhibit, found in names.items() for name in found]
    return [p for p in cells if p] if all(p and QUOTED in p.note for p in cells) else []


def _within(chapter: Chapter, gaps: Mapping[str, Result]) -> str:
    """Say how many of the cells ahead of SPECTER are so by less than SPECTER's own two means are apart."""
    if "SPECTER" not in gaps:
        return ""
    names, printed = pr.columns(ORDERED, *RELATIONS), lookup(ORDERED)
    leads = [
        printed[line, name].number - printed["SPECTER", name].number
        for line in pr.VARIANTS for name in pr.ahead(ORDERED, line, "SPECTER", names)
    ]  # fmt: skip
    small = sum(lead < abs(gaps["SPECTER"].value) for lead in leads)
    return (
        f"The two evaluations of SPECTER are {chapter.number(gaps['SPECTER'])} points apart on average. Of the {len(leads)} cells "
        f"of Table 7 in which a variant is ahead of SPECTER it is so by less than that in {small}."
    )


# ---- our study -------------------------------------------------------------------------------------------------------


def ours(chapter: Chapter, exhibit: str, kinds: Kinds) -> None:
    """Show our study beside Table 5 or 7."""
    what = "Recall in the whole pool" if exhibit == FOUND else "Candidates in order"
    pr.ours(chapter, exhibit, kinds, SHOWN[exhibit], what)
    pr.say_ours(chapter, exhibit, kinds)
