"""Chapter `scimult/search`: SciMult's Table 8, what its sentences say of it (4.6, 4.7), and our study beside it.

    nDCG@10   as trec_eval has it: gain = grade, unjudged papers count as 0, discount log2(rank + 1)

Two of the five data sets put judged candidates in order (SciRepEval's Search and TREC-COVID), three search a whole pool (BEIR's
TREC-COVID, SciFact, NFCorpus): the same metric has a high floor in the first and next to none in the others.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from scirep_core.exhibits import scimult_print as pr
from scirep_core.page.chapter import Chapter
from scirep_core.results import Result
from scirep_core.results.published import lookup

CHAPTER, EXHIBIT = "scimult/search", "SM-T8"
IN_DOMAIN, COVID, COVID_BEIR, NFCORPUS = (
    "SciRepEval-Search",
    "TREC-COVID in SciRepEval",
    "TREC-COVID in BEIR",
    "NFCorpus",
)
METRIC = "nDCG@10"
Kinds = Mapping[str, Sequence[Result]]


def table8(chapter: Chapter) -> None:
    """Show Table 8, recompute its averages, and decide what sections 4.6 and 4.7 say of it (SM-C4)."""
    pr.show(chapter, EXHIBIT, "Table 8: nDCG@10 of search")
    pr.say_averages(chapter, EXHIBIT)
    told = {column: p for (_, column), p in lookup("SM-C4").items()}
    cross = [name for name in pr.columns(EXHIBIT) if not name.startswith(IN_DOMAIN)]
    wanted = [*cross, pr.AVERAGE]
    won = [line for line in pr.VARIANTS if pr.beaten(EXHIBIT, line, wanted) == wanted]
    stated = told["variants that beat all baselines on these and on average"]
    chapter.say(
        f"Section 4.6 has {chapter.number(stated)} variants ahead of all baselines on the {len(cross)} cross-domain sets and on "
        f"average, without naming them: {len(won)} are, {pr.named(won)}.",
        _in_domain(chapter), _words(chapter), _everywhere(chapter),
    )  # fmt: skip
    _covid(chapter)
    _gain(chapter)


def _in_domain(chapter: Chapter) -> str:
    name = f"{IN_DOMAIN}/{METRIC}"
    printed, top = lookup(EXHIBIT), pr.bar(EXHIBIT, f"{IN_DOMAIN}/{METRIC}")
    best = max(pr.VARIANTS, key=lambda line: printed[line, name].number)
    over = [line for line in pr.VARIANTS if pr.beaten(EXHIBIT, line, [name])]
    return (
        f"It does not speak of {IN_DOMAIN}, which is in-domain: {len(over)} of {len(pr.VARIANTS)} variants are ahead of all "
        f"baselines there ({pr.short(best)} {chapter.number(printed[best, name])}, {pr.short(top.row)} {chapter.number(top)})."
    )


def _words(chapter: Chapter) -> str:
    """Return who beats BM25 on NFCorpus: "only SciMult", says section 4.6."""
    name, printed = f"{NFCORPUS}/{METRIC}", lookup(EXHIBIT)
    words = printed["BM25", name]
    over = [line for line in pr.systems(EXHIBIT) if printed[line, name].number > words.number]
    others = [line for line in over if not line.startswith(pr.OWN)]
    behind = [line for line in pr.VARIANTS if line not in over]
    said = "Only SciMult is ahead of BM25" if not others else f"{pr.named(others)} are ahead of BM25 too"
    return (
        f"{said} on {NFCORPUS} ({chapter.number(words)}): {pr.named([line for line in over if line not in others])}"
        + (
            f"; {pr.named(behind)} is not ({', '.join(chapter.number(printed[line, name]) for line in behind)})."
            if behind
            else "."
        )
    )


def _everywhere(chapter: Chapter) -> str:
    """Return what section 4.7 says of four tables, decided in each."""
    claim = lookup("SM-C4")["all variants but SciMult-FFNExpert", "beat all baselines on average in Tables"]
    tables = [f"SM-T{n}" for n in claim.value.split(", ")]
    behind = {e: [line for line in pr.VARIANTS if not pr.beaten(e, line, [pr.AVERAGE])] for e in tables}
    told = [
        f"{pr.label_of(e)}: all" if not lines else f"{pr.label_of(e)}: all but {pr.named(lines)}"
        for e, lines in behind.items()
    ]
    return f"Section 4.7 has all variants but FFNExpert ahead on average in {len(tables)} tables. {'; '.join(told)}."


def _covid(chapter: Chapter) -> None:
    """Say how far apart the two versions of TREC-COVID are, and whether they order the lines alike."""
    from scipy.stats import kendalltau

    printed, lines = lookup(EXHIBIT), pr.systems(EXHIBIT)
    pairs = [(printed[line, f"{COVID}/{METRIC}"], printed[line, f"{COVID_BEIR}/{METRIC}"]) for line in lines]
    tau = float(kendalltau([a.number for a, _ in pairs], [b.number for _, b in pairs]).statistic)
    low = min(pairs, key=lambda pair: pair[1].number)
    shown = pr.worked(
        chapter, EXHIBIT, "Kendall’s tau of the two TREC-COVIDs", tau, [p for pair in pairs for p in pair]
    )
    fell = sum(a.number > b.number for a, b in pairs)
    chapter.say(
        f"TREC-COVID is there twice. {fell} of {len(pairs)} lines are lower in BEIR’s, where {pr.short(low[1].row)} falls from "
        f"{chapter.number(low[0])} to {chapter.number(low[1])}; Kendall’s τ between the two columns is {shown}."
    )


def _gain(chapter: Chapter) -> None:
    """Say what MHAExpert's gain over Vanilla rests on."""
    printed, names = lookup(EXHIBIT), pr.columns(EXHIBIT)
    up = pr.ahead(EXHIBIT, pr.MHA, pr.VANILLA, names)
    rest = [name for name in names if name not in up]
    told = ", ".join(
        f"{name.partition('/')[0]} ({chapter.number(printed[pr.VANILLA, name])} → {chapter.number(printed[pr.MHA, name])})"
        for name in up
    )
    means = [
        pr.worked(chapter, EXHIBIT, f"average of the others, {line}", pr.mean_of(EXHIBIT, line, rest, "").value,
                  [printed[line, name] for name in rest])
        for line in (pr.VANILLA, pr.MHA)
    ]  # fmt: skip
    chapter.say(
        f"MHAExpert is ahead of Vanilla on average ({chapter.number(printed[pr.MHA, pr.AVERAGE])} against "
        f"{chapter.number(printed[pr.VANILLA, pr.AVERAGE])}) thanks to {len(up)} of {len(names)} data sets: {told}. On the others "
        f"the mean goes from {means[0]} to {means[1]}."
    )


def ours(chapter: Chapter, kinds: Kinds) -> None:
    """Show our study beside Table 8."""
    pr.ours(chapter, EXHIBIT, kinds, (*pr.columns(EXHIBIT), pr.AVERAGE), "Search: nDCG@10")
    pr.say_ours(chapter, EXHIBIT, kinds)
