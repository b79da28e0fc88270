"""Chapter `beyond/slips`, SciRepEval's submission (v1): its tables against themselves, its text and the publication that followed.

average = (units x part, summed) / units        7 in-train, 11 out-of-train, 10 of SciDocs (bench/suites.py)
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import product

import numpy as np

from scirep_core.exhibits import scirepeval_affinity as affinity
from scirep_core.exhibits import scirepeval_print as printing
from scirep_core.exhibits.beyond_slips_base import (
    ARITHMETIC,
    CLAIM,
    MISPRINT,
    TEXTS,
    UNSAID,
    Evidence,
    Slip,
    cells,
    rows,
    worked,
)
from scirep_core.exhibits.scirepeval_tasks import stated
from scirep_core.results import Result
from scirep_core.results.published import Printed, lookup

PAPER = "scirepeval-v1"
ENSEMBLE = "SciNCL + Adapters + MTL CTRL"
RANDOM = 20
"""Negatives a query that section 2 gives the four neighbour tasks of SciDocs, beside five positives."""
POSITIVES = 5
A, B, RATIO = "SciRepEval (A)", "SciDocs (B)", "Increase Ratio (A/B)"


def leads(exhibit: str, about: str) -> dict[tuple[str, str, str], float]:
    """Return the printed differences that one of the texts' sentences is about, by a word of what it says."""
    claim = next(one for one in printing.CLAIMS if one.exhibit == exhibit and one.about.startswith(about))
    return printing.differences(claim)


def _cell() -> Evidence:
    table, run, part = affinity.printed("V1-T9"), "CLF+PRX", "in-train"
    share = affinity.weights("v1", part)
    total, own = sum(share.values()), table.values[run, f"{part}/SRCH"]
    away = table.values[run, part] - affinity.mean_of(table, run, part)
    shown = cells("V1-T9", cell=(run, "In-Train/SRCH"), mean=(run, "In-Train/Avg"))
    others = [lookup("V1-T9")[other, "In-Train/SRCH"] for other in affinity.RUNS if other != run]
    numbers = [lookup("V1-T9")[run, f"In-Train/{name}"] for name in (*share, "Avg")]
    made = {
        "wanted": worked("V1-T9", f"{part} SRCH of {run} from its mean", own + total * away / share["SRCH"], numbers),
        "least": worked("V1-T9", "lowest in-train SRCH of the other rows", min(p.number for p in others), others),
        "most": worked("V1-T9", "highest in-train SRCH of the other rows", max(p.number for p in others), others),
    }
    inside = made["least"].value <= made["wanted"].value <= made["most"].value
    return Evidence(abs(away) > affinity.ROUNDED and inside, shown, made)


def _influential() -> Evidence:
    shown = cells("V1-T1", old=("Highly Influential Citations", "pairs"))
    shown |= cells("V2-T1", new=("Highly Influential Citations", "pairs"))
    shown |= cells("SR-HUB", hub=("Highly Influential Citations", "pairs"))
    low, high = stated(shown["hub"].value)
    return Evidence(low <= shown["new"].number <= high and not low <= shown["old"].number <= high, shown)


def _ablation() -> Evidence:
    run, parts = "SciBERT + MTL CTRL", {"in": "In-Train", "out": "Out-of-Train"}
    shown: dict[str, Printed] = {}
    made: dict[str, Result] = {}
    for key, part in parts.items():
        with_, without = (cells("V1-C3", it=(row, part))["it"] for row in (run, f"{run} without citations"))
        table = lookup("V1-T3")[run, part]
        shown |= {f"{key}_with": with_, f"{key}_without": without, f"{key}_table": table}
        made |= {
            f"{key}_gap": worked("V1-C3", f"{part}, appendix E minus Table 3", with_.number - table.number, [with_, table]),
            f"{key}_drop": worked("V1-C3", f"{part}, with citations minus without", with_.number - without.number,
                                  [with_, without]),
        }  # fmt: skip
    return Evidence(abs(made["in_gap"].value) > abs(made["in_drop"].value) + 0.1, shown, made)


def _abstract() -> Evidence:
    found = leads("V1-C6", "several embeddings over SciNCL")
    shown = cells("V1-C6", said=("over existing single embeddings", "points, up to"))
    shown |= cells("V1-T2", own=("SciNCL + Adapters", "Average"), old=("SciNCL", "Average"))
    most = worked("V1-T2", "most points over SciNCL", max(found.values()), [shown["own"], shown["old"]])
    return Evidence(round(most.value, 1) > shown["said"].number, shown, {"most": most})


def _consistent() -> Evidence:
    found = leads("V1-C6", "the ensemble over each")
    shown = cells("V1-T2", both=(ENSEMBLE, "Out-of-Train"), one=("SciNCL + Adapters", "Out-of-Train"))
    level = worked("V1-T2", "comparisons in which the ensemble is not ahead", sum(v <= 0 for v in found.values()),
                   lookup("V1-T2").values(), len(found))  # fmt: skip
    count = worked(
        "V1-T2", "comparisons of the ensemble with its two", len(found), lookup("V1-T2").values(), len(found)
    )
    return Evidence(level.value > 0, shown, {"level": level, "all": count})


def off_by(exhibit: str, weights: Mapping[str, int]) -> dict[str, float]:
    """Return each row's printed average minus the weighted mean of its printed columns."""
    printed, total = lookup(exhibit), sum(weights.values())
    return {
        row: printed[row, "Average"].number - sum(w * printed[row, c].number for c, w in weights.items()) / total
        for row in rows(exhibit)
    }


def _aspire() -> Evidence:
    names = ("In-Train", "Out-of-Train", "SciDocs")
    tried = [dict(zip(names, shares, strict=True)) for shares in product(range(11), repeat=3) if any(shares)]
    fitting = [one for one in tried if max(map(abs, off_by("V1-T7", one).values())) <= printing.ROUNDED]
    own = off_by("V1-T7", {"In-Train": 2, "Out-of-Train": 4, "SciDocs": 8})
    away = {row: gap for row, gap in own.items() if abs(gap) > printing.ROUNDED}
    every = list(lookup("V1-T7").values())
    made = {
        "off": worked("V1-T7", "averages not of 2, 4 and 8 units", len(away), every, len(own)),
        "all": worked("V1-T7", "averages", len(own), every, len(own)),
        "tried": worked("V1-T7", "weightings tried", len(tried), every),
        "worst": worked("V1-T7", "largest distance from 2, 4 and 8 units", max(map(abs, own.values())), every),
    }
    return Evidence(not fitting and bool(away), cells("V1-T7", best=("TS ASPIRE CS", "Average")), made)


def _random() -> Evidence:
    names = ("Co-view", "Co-read", "Cite", "Co-cite")
    printed = lookup("V1-T1")
    numbers = [printed[name, column] for name in names for column in ("pairs", "queries")]
    each = sum(p.number for p in numbers[::2]) / sum(p.number for p in numbers[1::2])
    made = {"each": worked("V1-T1", "candidates a query of the four tasks", each, numbers),
            "others": worked("V1-T1", "candidates a query without five positives", each - POSITIVES, numbers)}  # fmt: skip
    return Evidence(each > POSITIVES + RANDOM + 1, cells("V1-T1", pairs=("Cite", "pairs")), made)


def _transfer() -> Evidence:
    table = affinity.printed("V1-T9")
    columns = [f"{part}/{name}" for part in affinity.PARTS for name in ("CLF", "RGN")]
    behind = [c for c in columns if table.values["CLF+RGN", c] < table.values[c.partition("/")[2], c]]
    shown = cells("V1-T9", both=("CLF+RGN", "Out-of-Train/RGN"), alone=("RGN", "Out-of-Train/RGN"))
    made = {
        "behind": worked(
            "V1-T9", "columns in which CLF+RGN is below one alone", len(behind), lookup("V1-T9").values(), len(columns)
        ),
        "all": worked("V1-T9", "columns of CLF and RGN", len(columns), lookup("V1-T9").values()),
    }
    return Evidence(bool(behind), shown, made)


def domain_ratio() -> Evidence:
    """Return whether "105 times more documents per domain" is a mean of ratios that the small fields decide."""
    printed = lookup("V1-T8")
    fields = rows("V1-T8")
    a, b = (np.array([printed[f, column].number for f in fields]) for column in (A, B))
    every = list(printed.values())
    made = {
        "mean": worked("V1-T8", "mean of the ratios", float((a / b).mean()), every, len(fields)),
        "whole": worked("V1-T8", "ratio of the sums", float(a.sum() / b.sum()), every, len(fields)),
        "middle": worked("V1-T8", "median of the ratios", float(np.median(a / b)), every, len(fields)),
    }
    shown = cells("V1-C5", said=("SciRepEval against SPECTER triplets", "documents per domain, times"))
    return Evidence(
        int(made["mean"].value) == shown["said"].number and 2 * made["whole"].value < made["mean"].value, shown, made
    )


def _fusion() -> Evidence:
    shown = cells("V1-T5", fusion=("Adapter Fusion", "Inference Time"), pals=("PALs", "Inference Time"))
    fusion, pals = (float(p.value.removesuffix("x")) for p in shown.values())
    made = {"ratio": worked("V1-T5", "inference time of fusion over PALs", fusion / pals, shown.values())}
    return Evidence(round(fusion) != fusion and fusion < 1.95 and fusion / pals < 1.95, shown, made)


SLIPS = (
    Slip("v1-search-cell", PAPER, "Table 9", MISPRINT,
         "Trained on classification and proximity, the in-train search score is {cell}.",
         "The other rows have {least} to {most}; the mean of its own row, {mean}, asks for about {wanted:1}.",
         "No: no sentence rests on it.", _cell),
    Slip("v1-influential", PAPER, "Table 1", MISPRINT,
         "Highly Influential Citations has {old} test pairs.",
         "The publication prints {new}, and {hub} are released: one digit differs.",
         "No.", _influential),
    Slip("v1-ablation", PAPER, "Appendix E, Table 3", TEXTS,
         "Without citations SciBERT + MTL CTRL is said to fall from {in_with} to {in_without} in train and from {out_with} to "
         "{out_without} out of train.",
         "Table 3 prints {in_table} and {out_table} for a model of that name. In train the two differ by {in_gap:+1}, more than "
         "by the citations, {in_drop:+1}; out of train by {out_gap:+1}, less than by them, {out_drop:+1}.",
         "In part: the drop in train is within what two runs of one name differ by. The conclusion names the other one.",
         _ablation),
    Slip("v1-abstract-points", PAPER, "Abstract, Table 2", TEXTS,
         "The abstract says up to {said} points over existing single embeddings.",
         "Table 2 has {own} against {old}, which is {most:+1}. The {said} is the lead over MTL CLS.",
         "In the paper’s favour: it understates itself.", _abstract),
    Slip("v1-consistently", PAPER, "Section 6, Table 2", CLAIM,
         "The ensemble is said to do better than both its members consistently.",
         "In {level} of {all} comparisons it does not, as printed: out of train {both} and {one}. It is ahead in the others.",
         "No.", _consistent),
    Slip("v1-aspire-averages", PAPER, "Table 7", ARITHMETIC,
         "The average of TS ASPIRE CS is {best}.",
         "With 2, 4 and 8 units a column the paper’s own two rows follow, and {off} of {all} do not, by up to {worst:2} points. "
         "Of {tried} weightings none gives all rows within rounding.",
         "No: all four would rise, and stay behind.", _aspire),
    Slip("v1-random-negatives", PAPER, "Section 2, Table 1", TEXTS,
         "Four tasks of SciDocs are said to set 5 real citations against 20 random papers.",
         "Table 1 has {each:2} candidates a query in them ({pairs} pairs for Cite), so nearly {others:0} beside five. The "
         "publication drops the numbers.",
         "No: the argument, that random papers are easy to tell, stands.", _random),
    Slip("v1-clf-rgn", PAPER, "Appendix G, Table 9", CLAIM,
         "Classification and regression together are said to transfer better than each alone.",
         "In {behind} of {all} columns they do not: out-of-train regression {both} against {alone}.",
         "In part: in the others and in both means it is so. The publication no longer says it.", _transfer),
    Slip("v1-times-more", PAPER, "Appendix D, Table 8", UNSAID,
         "{said} times more documents on average per domain.",
         "That is the unweighted mean of 19 ratios, {mean:1}, cut. Fields with a few hundred papers decide it: the median ratio "
         "is {middle:0}, and all papers together are {whole:1} times as many. The publication repeats it.",
         "The size of the claim does; its direction does not.", domain_ratio),
    Slip("v1-fusion-time", PAPER, "Section 7, Table 5", TEXTS,
         "Fusion is said to take 2x more time on inference.",
         "The table has {fusion} of MTL CTRL’s time, which is {ratio:2} times PALs’ {pals}. The publication repeats both.",
         "No: fusion is the slowest in either.", _fusion),
)  # fmt: skip
