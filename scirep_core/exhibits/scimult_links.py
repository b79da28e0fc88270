"""Chapter `scimult/link_prediction`: SciMult's Tables 5, 6, 7, A6 and A7, and what their sentences say of them (4.5, 4.7, E.3).

    Table 5   linked papers found in a whole pool             Recall@k
    Table 6   PMC-Patients after further training on it       MRR, P@10, nDCG@10, R@1K, beside a leaderboard
    Table 7   given candidates put in order                   MAP and nDCG; nDCG@5, nDCG@10, nDCG where grades are 1 to 5

Averages are plain means over columns, so that Recommendation weighs 3 of 11 in Table 7 and a relation of SciDocs 2 of 11.
"""

from __future__ import annotations

import html
from collections.abc import Mapping, Sequence

from scirep_core.chapter import Chapter
from scirep_core.exhibits import scimult_print as pr
from scirep_core.exhibits.counting import arithmetic
from scirep_core.published import Printed, lookup, table
from scirep_core.results import Result

CHAPTER = "scimult/link_prediction"
FOUND, PATIENTS, ORDERED, BY_LINK, BY_TASK = "SM-T5", "SM-T6", "SM-T7", "SM-TA6", "SM-TA7"
RELATIONS = ("Co-view", "Co-read", "Cite", "Co-cite")
RATED = "Recommendation"
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
        f"As a reason it quotes that {chapter.number(leak)} % of SciDocs’ papers occur in the training data; SciMult’s citation "
        "triplets are the same, so its own numbers have that advantage too."
    )


def _rated() -> str:
    names = pr.columns(ORDERED, RATED)
    first = [line for line in pr.VARIANTS if len(pr.beaten(ORDERED, line, names)) == len(names)]
    return f"On {RATED}, which is of no training domain, {pr.named(first)} are ahead of all baselines in all {len(names)} columns."


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


# ---- Tables A6 and A7 ------------------------------------------------------------------------------------------------


def instructions(chapter: Chapter) -> None:
    """Show Tables A6 and A7: other instructions at inference, and which serves which kind of link (E.3)."""
    pr.show(chapter, BY_LINK, "Table A6: MAP of SciMult-Instruction with four instructions")
    names, printed = pr.columns(BY_LINK), lookup(BY_LINK)
    lines = pr.systems(BY_LINK)
    best = {line: max((printed[line, name].number, name) for name in names)[1] for line in lines}
    own = [line for line in lines if best[line].split()[0] == line.split()[0]]
    told = ", ".join(f"{line.removesuffix(' Prediction')}: {best[line].removesuffix(' Instruction')}" for line in lines)
    weak, strong = names[:2], names[2:]
    pairs = [(line, a, b) for line in lines for a in weak for b in strong]
    fits = [p for p in pairs if printed[p[0], p[1]].number < printed[p[0], p[2]].number]
    chapter.say(
        f"The best instruction by kind of link: {told}. It is the one for its own kind in {len(own)} of {len(lines)}.",
        f"Section E.3 has the Co-view and Co-read instructions behind Cite and Co-cite mostly: in {len(fits)} of {len(pairs)}.",
    )
    pr.show(chapter, BY_TASK, "Table A7: averages of SciMult-Instruction with three instructions")
    spreads = []
    for line in pr.systems(BY_TASK):
        cells = [p for (row, _), p in lookup(BY_TASK).items() if row == line]
        wide = max(p.number for p in cells) - min(p.number for p in cells)
        spreads.append(f"{pr.worked(chapter, BY_TASK, f'spread, {line}', wide, cells)} points ({html.escape(line)})")
    chapter.say(
        f"The three differ by {pr.named(spreads, str)}: on a par, says E.3; no deviation is printed to judge that by."
    )


# ---- our study -------------------------------------------------------------------------------------------------------


def ours(chapter: Chapter, exhibit: str, kinds: Kinds) -> None:
    """Show our study beside Table 5 or 7."""
    what = "Recall in the whole pool" if exhibit == FOUND else "Candidates in order"
    pr.ours(chapter, exhibit, kinds, SHOWN[exhibit], what)
    pr.say_ours(chapter, exhibit, kinds)
