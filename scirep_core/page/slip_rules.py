"""Rules of the register of slips: what no row of `results.slips.CHECKS` says, and published rules run on examples.

A rule gets the printed numbers of its entry and a seed, and returns whether the slip is there, and what it computed by name.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from itertools import combinations, pairwise, product

import numpy as np

from scirep_core.data.task import FewShot
from scirep_core.evaluators import neighbourhoods
from scirep_core.evaluators.probes import paper_probes
from scirep_core.evaluators.rows import unit
from scirep_core.kit.store import stable_hash
from scirep_core.results import Result, arithmetic, metrics, provenance, recorded, slips
from scirep_core.results.comparison import anova_tukey, values_of
from scirep_core.results.published import Printed, lookup

Made = Mapping[str, Result]
Numbers = Mapping[str, Printed]
ROUNDED = 0.1 + 1e-9
"""The largest distance that rounding can explain between an average and its parts of one decimal, in points."""
SHOTS = 16


def worked(exhibit: str, what: str, value: float, numbers: Iterable[Printed] = (), n: int | None = None) -> Result:
    """Return a number that follows from printed ones; `n` is how many they are unless given."""
    quoted = list(numbers)
    return arithmetic(exhibit, what, value, len(quoted) if n is None else n, quoted)


def counted(what: str, value: float, n: int = 1, seed: int | None = None) -> Result:
    """Return a number that a piece of this project's code gives on an example named in `what`, drawn by a seed."""
    return Result(
        task="print/code", split="all", metric=what, protocol="paper", value=float(value), n=n, source="arithmetic", seed=seed,
        data_hash=stable_hash([what]), provenance=provenance(), note="the published rule, run on an example",
    )  # fmt: skip


# ---- CSFCube ---------------------------------------------------------------------------------------------------------


def r_precision(printed: Numbers, seed: int) -> tuple[bool, Made]:
    """The published script's R-Precision is not precision at rank R."""
    ratings = np.array((3, 0, 2, 0, 1))
    one, other = (100 * metrics.score(name, ratings) for name in ("r_precision_published", "r_precision"))
    return one != other, {
        "one": counted("R-Precision of ratings 3 0 2 0 1, script", one),
        "other": counted("R-Precision of ratings 3 0 2 0 1, standard", other),
    }


def ndcg_form(printed: Numbers, seed: int) -> tuple[bool, Made]:
    """The printed NDCG leaves ranks 1 and 2 undiscounted."""
    ratings = np.array((0, 3, 1, 2))
    discount = np.log2(np.arange(len(ratings)) + 2)
    script = 100 * metrics.ndcg(ratings, len(ratings))
    usual = 100 * float((ratings / discount).sum() / (np.sort(ratings)[::-1] / discount).sum())
    return script - usual > 1, {
        "script": counted("NDCG of ratings 0 3 1 2, ranks 1 and 2 undiscounted", script),
        "usual": counted("NDCG of ratings 0 3 1 2, discount log2(rank + 1)", usual),
    }


# ---- SciRepEval ------------------------------------------------------------------------------------------------------


def no_weighting(printed: Numbers, seed: int) -> tuple[bool, Made]:
    """No weights from 0 to 10 make v1's Table 7 follow from its parts."""
    columns = ("In-Train", "Out-of-Train", "SciDocs")
    parts = np.array([[p.number for p in slips.cells(f"V1-T7 | * | {column}")] for column in columns])
    averages = np.array([p.number for p in slips.cells("V1-T7 | * | Average")])
    tried = np.array([shares for shares in product(range(11), repeat=3) if any(shares)])
    gaps = np.abs(tried / tried.sum(axis=1, keepdims=True) @ parts - averages).max(axis=1)
    made = {"tried": worked("V1-T7", "weightings tried", len(tried), lookup("V1-T7").values())}
    return bool(gaps.min() > ROUNDED), made


def no_metric(printed: Numbers, seed: int) -> tuple[bool, Made]:
    """Table 1 names a metric that there is not."""
    known = {name.lower() for name in metrics.METRICS}
    return printed["metric"].value.lower() not in known and printed["other"].value.lower() in known, {}


def bold(printed: Numbers, seed: int) -> tuple[bool, Made]:
    """Bold marks of Table 10 stand beside higher numbers."""
    every = slips.cells("V2-T10 | * | *")
    top: dict[tuple[str, str], float] = {}
    for p in every:
        place = p.row, p.column.rpartition("/")[2]
        top[place] = max(p.number, top.get(place, p.number))
    wrong = [p for p in every if (p.number == top[p.row, p.column.rpartition("/")[2]]) != ("bold" in p.note)]
    made = worked("V2-T10", "cells whose mark is not the highest number’s", len(wrong), wrong, len(every))
    return bool(wrong), {"wrong": made}


def released(printed: Numbers, seed: int) -> tuple[bool, Made]:
    """Sizes of Table 1 that the hub's rounding cannot explain."""
    sizes, hub, off = lookup("V2-T1"), lookup("SR-HUB"), []
    for (name, column), there in hub.items():
        low, high = there.bounds
        if not low <= sum(sizes[name, part].number for part in column.split(" + ")) <= high:
            off.append(there)
    return bool(off), {"off": worked("SR-HUB", "sizes that rounding cannot explain", len(off), hub.values(), len(hub))}


def _shots(seed: int = 0) -> list[list[int]]:
    labels = np.array([0, 0, 0, 1] * 40)
    return [one.tolist() for one in paper_probes.shots(labels, FewShot(SHOTS, 5), seed, Counter())]


def k_shot(printed: Numbers, seed: int) -> tuple[bool, Made]:
    """k shots are k papers in total, not k a class."""
    drawn = _shots()[0]
    return len(drawn) == SHOTS, {
        "total": counted("papers drawn for 16 shots of two classes, published rule", len(drawn), 160),
        "each": counted("papers that 16 a class would be", 2 * SHOTS, 160),
    }


def unshuffled(printed: Numbers, seed: int) -> tuple[bool, Made]:
    """Few-shot sets are cut from a file in its order."""
    drawn = _shots()
    same = all(_shots(other) == drawn for other in (1, 2))
    shared, most = sum(len({*a} & {*b}) for a, b in combinations(drawn, 2)), max(drawn[0]) + 1
    return same and shared == 0 and most < 160 / 2, {
        "shared": counted("papers that two repeats of 16 shots share, published rule", shared, 160),
        "most": counted("highest position of a paper in the first repeat, of 160", most, 160),
    }


GRADED, ORDERS = "judgements of grade ", 500
"""A measured share of TREC-CoVID's judgements; how many random orders are averaged."""


def uncut(printed: Numbers, seed: int) -> tuple[bool, Made]:
    """What a random order of TREC-CoVID's size and grades scores by nDCG, uncut and at 10: the mean of many orders."""
    per, rng = round(printed["pairs"].number / printed["queries"].number), np.random.default_rng(seed)
    shares = [row for row in recorded("scimult/search") if row.metric.startswith(GRADED)]
    if not shares:  # a wheel has no recorded runs
        return False, {}
    counts = [round(per * row.value / 100) for row in shares]
    grades = np.repeat([int(row.metric[len(GRADED)]) for row in shares], counts)
    orders = [(rng.permutation(len(grades)) + 1).astype(np.float64) for _ in range(ORDERS)]
    scores = [[metrics.from_ranks(name, ranks, grades) for ranks in orders] for name in ("ndcg", "ndcg@10")]
    whole, ten = (100 * float(np.mean(of)) for of in scores)
    return whole > ten + 20, {
        "whole": counted("nDCG of a random order of TREC-CoVID’s size, uncut", whole, per, seed),
        "ten": counted("nDCG@10 of a random order of TREC-CoVID’s size", ten, per, seed),
    }


def underlines(printed: Numbers, seed: int) -> tuple[bool, Made]:
    """The underlines of Table 2 are Tukey's test on the printed means and deviations, but for what rounding decides."""
    right, every = 0, [(e, c) for e in ("V2-T2", "V1-T2") for c in dict.fromkeys(column for _, column in lookup(e))]
    every = [(e, c) for e, c in every if any(p.std for p in slips.cells(f"{e} | * | {c}"))]
    for exhibit, column in every:
        cells = {p.row: p for p in slips.cells(f"{exhibit} | * | {column}") if p.std}
        test = anova_tukey({row: list(values_of(p.number, float(p.std), 5)) for row, p in cells.items()})
        top = max(p.number for p in cells.values())
        best = next(row for row, p in cells.items() if p.number == top)
        pairs = {row: test.pair(best, row) for row, p in cells.items() if p.number < top}
        least = {row: (pair.high - pair.low) / 2 - abs(pair.difference) for row, pair in pairs.items()}
        marked = {row: "underlined" in cells[row].note for row in least}
        right += all((gap > 0) == marked[row] or abs(gap) <= ROUNDED for row, gap in least.items())
    made = worked("V2-T2", "columns whose underlines the test explains", right, lookup("V2-T2").values(), right)
    return right == len(every), {"all": made}


def ratios(printed: Numbers, seed: int) -> tuple[bool, Made]:
    """The ratios of Table 9 are A / B rounded."""
    table = np.array([[p.number for p in slips.cells(f"V2-T9 | * | {column}")] for column in (
        "SciRepEval (A)", "SciDocs (B)", "Increase Ratio (A/B)")])  # fmt: skip
    right = int((np.round(table[0] / table[1]) == table[2]).sum())
    made = worked("V2-T9", "ratios that are A / B rounded", right, lookup("V2-T9").values(), table.shape[1])
    return right == table.shape[1], {"all": made}


def domains(printed: Numbers, seed: int) -> tuple[bool, Made]:
    """The averages of Table 10 are those of its fields."""
    averages = slips.cells("V2-T10 | Avg | *")
    means = [np.mean([p.number for p in slips.cells(f"V2-T10 | !Avg | {one.column}")]) for one in averages]
    right = int(sum(abs(one.number - mean) <= 0.1 for one, mean in zip(averages, means, strict=True)))
    made = worked("V2-T10", "averages over fields within rounding", right, lookup("V2-T10").values(), len(averages))
    return right == len(averages), {"all": made}


# ---- textual neighbours ----------------------------------------------------------------------------------------------


def beyond_noise(printed: Numbers, seed: int) -> tuple[bool, Made]:
    """T100 rises from Task I to Task II by more than drawing other queries explains."""
    queries, count = 1000, 0
    every: list[Printed] = []
    both = (slips.cells(f"TN-T3 | * | {task}/OAG-BERT/T100") for task in ("Task I", "Task II"))
    for one, two in zip(*both, strict=True):
        share, papers = (one.number + two.number) / 200, lookup("TN-T2")[one.row, "#Papers"].number
        half = 196 * float(np.sqrt(2 * (1 - queries / papers) * share * (1 - share) / queries))
        count, every = count + (two.number - one.number > half), [*every, one, two]
    beyond = worked("TN-T3", "of these beyond what other queries explain", count, every, len(every) // 2)
    return count > 0, {"beyond": beyond}


def normalised(printed: Numbers, seed: int) -> tuple[bool, Made]:
    """L2 normalisation moves no rank under cosine."""
    vectors = unit(np.random.default_rng(seed).normal(size=(60, 8)) * np.linspace(0.2, 5, 60)[:, None])
    before, after = (np.argsort(-(v @ v.T), axis=1, kind="stable") for v in (vectors, unit(vectors)))
    moved = counted("ranks that L2 moves under cosine, 60 vectors", float((before != after).sum()), before.size, seed)
    return moved.value == 0, {"moved": moved}


def own_vector(printed: Numbers, seed: int) -> tuple[bool, Made]:
    """AOP-10 of texts that are not altered, with a text's own vector counted and left out."""
    pool, own = np.random.default_rng(seed).normal(size=(60, 8)), np.arange(60)
    both = neighbourhoods.overlaps(pool.copy(), pool, own, own, [10])[10]
    literal, other = (100 * float(of.mean()) for of in (both.with_self, both.without_self))
    return literal - other > 5, {
        "literal": counted("AOP-10 of texts that are not altered, own vector counted", literal, 60, seed),
        "other": counted("AOP-10 of texts that are not altered, own vector left out", other, 60, seed),
    }


def mrr_fits(printed: Numbers, seed: int) -> tuple[bool, Made]:
    """Every MRR can be of the same ranks as the T100 beside it."""
    every = [p for exhibit in ("TN-T3", "TN-T9") for p in slips.cells(f"{exhibit} | * | *MRR")]
    shares = [lookup(p.exhibit)[p.row, p.column.replace("MRR", "T100")].number / 100 for p in every]
    ends = [(0.01 * share - 0.0005, share + 0.01 * (1 - share) + 0.0005) for share in shares]
    right = sum(low <= p.number <= high for p, (low, high) in zip(every, ends, strict=True))
    made = worked("TN-T3", "pairs of MRR and T100 that can be of one list", right, lookup("TN-T3").values(), len(every))
    return right == len(every), {"all": made}


# ---- SciMult ---------------------------------------------------------------------------------------------------------


def decimals(printed: Numbers, seed: int) -> tuple[bool, Made]:
    """SciNCL's average has two decimals, of cells with one; no order of Table 7 turns on it."""
    averages = sorted(slips.cells("SM-T7 | * | Average"), key=lambda p: p.number)
    parts = {one.row: slips.cells(f"SM-T7 | {one.row} | !Average") for one in averages}
    short = {row: [p for p in of if p.decimals == 1] for row, of in parts.items()}
    width = max(map(len, parts.values()))
    reach = {row: 0.05 * len(of) / width for row, of in short.items()}
    steady = all(b.number - a.number > reach[a.row] + reach[b.row] for a, b in pairwise(averages))
    made = {
        "short": worked("SM-T7", "cells of SciNCL with one decimal", len(short["SciNCL"]), short["SciNCL"]),
        "reach": worked(
            "SM-T7", "points that rounding can move SciNCL’s average", reach["SciNCL"], short["SciNCL"], width
        ),
    }
    return printed["mean"].decimals == 2 and reach["SciNCL"] > 0.01 and steady, made


def averages_to_the_digit(printed: Numbers, seed: int) -> tuple[bool, Made]:
    """All averages of SciMult's tables are right to the last digit."""
    tables = ("SM-T3", "SM-T4", "SM-T5", "SM-T7", "SM-T8", "SM-TA3")
    every = [p for exhibit in tables for p in slips.cells(f"{exhibit} | * | Average")]
    parts = [[cell.number for cell in slips.cells(f"{p.exhibit} | {p.row} | !Average")] for p in every]
    right = sum(round(sum(of) / len(of) + 1e-9, 2) == p.number for p, of in zip(every, parts, strict=True))
    return right == len(every), {"right": worked("SM-T3", "averages right to the last digit", right, every)}


def changes_to_the_digit(printed: Numbers, seed: int) -> tuple[bool, Made]:
    """All changes of Table 9 follow from the averages."""
    tables = {"Classification (Fine)": "SM-T3", "Classification (Coarse)": "SM-T4", "Link Prediction (Retrieval)": "SM-T5",
              "Link Prediction (Reranking)": "SM-T7", "Search": "SM-T8"}  # fmt: skip
    quoted = slips.cells("SM-T9 | * | *")
    found = [(task, p) for task, exhibit in tables.items() for p in slips.cells(f"{exhibit} | * | Average")]
    averages = {(task, p.row.removeprefix("SciMult-")): p.number for task, p in found}
    follows = [100 * (averages[p.row, p.column] / averages[p.row, "Vanilla"] - 1) for p in quoted]
    right = sum(f"{value:+.2f}" == p.value for p, value in zip(quoted, follows, strict=True))
    return right == len(quoted), {"right": worked("SM-T9", "changes right to the last digit", right, quoted)}


def linear(printed: Numbers, seed: int) -> tuple[bool, Made]:
    """With a linear classifier the multi-task models are ahead of all others by the mean of both sets."""
    every = slips.cells("SM-T4 | * | MAG Fields/Linear; MeSH Diseases/Linear")
    of: dict[str, list[float]] = {}
    for p in every:
        of.setdefault(p.row, []).append(p.number)
    several = {row for row in of if row.startswith("SciMult-") or row == "SPECTER 2.0"}
    means = {row: sum(values) / len(values) for row, values in of.items()}
    least, most = min(means[row] for row in several), max(mean for row, mean in means.items() if row not in several)
    return least > most + 0.05, {  # what the quoted cells of one decimal can hide
        "least": worked("SM-T4", "lowest linear mean of a multi-task model", least, every, len(means)),
        "most": worked("SM-T4", "highest linear mean of the others", most, every, len(means)),
    }


RULES: dict[str, slips.Rule] = {one.__name__: one for one in (
    r_precision, ndcg_form, no_weighting, no_metric, bold, released, k_shot, unshuffled, uncut, underlines,
    ratios, domains, beyond_noise, normalised, own_vector, mrr_fits, decimals, averages_to_the_digit,
    changes_to_the_digit, linear,
)}  # fmt: skip
