"""Chapter `beyond/slips`, textual neighbours: what sections 5 to 7 say of ranks, overlaps and normalisation (Tables 3, 4, 5 and 9).

Tables 1 and 7, the 32 codes and their example, are in beyond_slips_perturbations.py.
"""

from __future__ import annotations

import re
from collections import Counter

import numpy as np

from scirep_core.data.perturbations import CATEGORIES
from scirep_core.evaluators.neighbourhoods import overlaps
from scirep_core.evaluators.rows import unit
from scirep_core.exhibits.beyond_slips_base import (
    CLAIM,
    MISPRINT,
    SEED,
    TEXTS,
    UNSAID,
    Evidence,
    Slip,
    cells,
    counted,
    worked,
)
from scirep_core.exhibits.neighbours_shared import MODELS, SETS, noise_of_shares
from scirep_core.results.published import Printed, lookup

PAPER = "neighbours"


def _categories() -> Evidence:
    labels = Counter(p.value for (_, column), p in lookup("TN-T1").items() if column == "category")
    every = [p for (_, column), p in lookup("TN-T1").items() if column == "category"]
    made = {
        "there": worked("TN-T1", "codes in LO-PS", labels["LO-PS"], every),
        "all": worked("TN-T1", "codes", labels.total(), every),
    }
    return Evidence(labels["LL-DS"] == 0 and labels["LO-PS"] > 0, {}, made)


def _task_two() -> Evidence:
    printed = lookup("TN-T3")
    pairs = {name: [printed[name, f"{task}/OAG-BERT/T100"] for task in ("Task I", "Task II")] for name in SETS}
    gaps = {name: two.number - one.number for name, (one, two) in pairs.items()}
    beyond = [name for name, gap in gaps.items() if gap > noise_of_shares([p.number for p in pairs[name]], name)]
    every = [p for pair in pairs.values() for p in pair]
    made = {
        "up": worked(
            "TN-T3", "sets on which OAG-BERT’s T100 rises", sum(gap > 0 for gap in gaps.values()), every, len(SETS)
        ),
        "beyond": worked("TN-T3", "of these beyond what other queries explain", len(beyond), every, len(SETS)),
        "all": worked("TN-T3", "sets", len(SETS), every, len(SETS)),
    }
    shown = {"one": pairs["Arxiv-HEP"][0], "two": pairs["Arxiv-HEP"][1]}
    return Evidence(made["up"].value > 0 and bool(beyond), shown, made)


def _rank() -> Evidence:
    printed = lookup("TN-T3")
    shares = [printed[name, "Task I/OAG-BERT/T100"] for name in SETS]
    inverse = [printed[name, "Task I/OAG-BERT/MRR"] for name in SETS]
    least = min(p.number / 100 + 101 * (1 - p.number / 100) for p in shares)
    most = max(1 / p.number for p in inverse)
    made = {
        "least": worked("TN-T3", "mean rank of OAG-BERT at least", least, shares),
        "most": worked("TN-T3", "1 / MRR of OAG-BERT at most", most, inverse),
        "over": worked("TN-T3", "sets whose median rank is over 100", sum(p.number < 50 for p in shares), shares),
    }
    shown = cells("TN-C2", said=("OAG-BERT", "rank on average, Task I")) | {"best": max(shares, key=lambda p: p.number)}
    return Evidence(all(p.number < 50 for p in shares) and least > most, shown, made)


def _top_two() -> Evidence:
    shares = [lookup("TN-T3")[name, "Task I/SPECTER/T100"] for name in SETS]
    bounds = [p.number / 100 + 101 * (1 - p.number / 100) for p in shares]
    shown = cells("TN-C2", said=("SPECTER", "rank on average, Task I"))
    over = [p for p, bound in zip(shares, bounds, strict=True) if bound > shown["said"].number]
    made = {"over": worked("TN-T3", "sets whose mean rank must be over 2", len(over), shares, len(SETS)),
            "most": worked("TN-T3", "mean rank of SPECTER at least, on the worst set", max(bounds), shares)}  # fmt: skip
    return Evidence(len(over) > len(SETS) / 2, shown, made)


def _normalised() -> Evidence:
    vectors = np.random.default_rng(SEED.get()).normal(size=(60, 8)) * np.linspace(0.2, 5, 60)[:, None]
    before = np.argsort(-(unit(vectors) @ unit(vectors).T), axis=1, kind="stable")
    after = np.argsort(-(unit(unit(vectors)) @ unit(unit(vectors)).T), axis=1, kind="stable")
    nine, three = lookup("TN-T9"), lookup("TN-T3")
    pairs = [
        (nine[place], three[place[0], place[1].replace("L2/", "Task I/")])
        for place in nine
        if place[1].startswith("L2/")
    ]
    gaps = [round(new.number - old.number, 6) for new, old in pairs]
    every = [p for pair in pairs for p in pair]
    made = {
        "differ": worked("TN-T9", "cells that L2 changes", sum(gap != 0 for gap in gaps), every, len(pairs)),
        "fall": worked("TN-T9", "cells that fall under L2", sum(gap < 0 for gap in gaps), every, len(pairs)),
        "all": worked("TN-T9", "cells", len(pairs), every, len(pairs)),
        "moved": counted(
            "ranks that L2 moves under cosine, 60 vectors", float((before != after).sum()), before.size, True
        ),
    }
    shown = {"new": nine["Arxiv-MATH", "L2/SPECTER/MRR"], "old": three["Arxiv-MATH", "Task I/SPECTER/MRR"]}
    return Evidence(made["differ"].value > 0 and made["moved"].value == 0 and made["fall"].value > 0, shown, made)


def _irrespective() -> Evidence:
    printed = lookup("TN-T4")
    shares = [100 * printed[n, "LO-DS/SPECTER"].number / printed[n, "LL-HS/SPECTER"].number for n in SETS]
    numbers = [printed[n, f"{c}/SPECTER"] for n in SETS for c in ("LO-DS", "LL-HS")]
    made = {"least": worked("TN-T4", "LO-DS of SPECTER over its LL-HS, %, lowest", min(shares), numbers),
            "most": worked("TN-T4", "LO-DS of SPECTER over its LL-HS, %, highest", max(shares), numbers)}  # fmt: skip
    shown = cells("TN-T4", low=("ICLR", "LO-DS/SPECTER"), high=("ICLR", "LL-HS/SPECTER"))
    shown |= cells("TN-C7", found=("SPECTER", "NN1_Ret below, two types"))
    return Evidence(max(shares) < 50, shown, made)


def ranked(exhibit: str, row: str, column: str) -> list[str]:
    """Return the three models by their printed number, highest first; `column` has a place for the model."""
    printed = lookup(exhibit)
    value = {model: printed[row, column.format(model)].number for model in MODELS}
    return sorted(value, key=lambda model: -value[model])


def bound(printed: Printed) -> float:
    """Return the last number of a printed threshold."""
    return float(re.findall(r"\d+", printed.value)[-1])


def _increasing() -> Evidence:
    printed = lookup("TN-T5")
    limits = [bound(printed["Threshold", c]) for c in CATEGORIES]
    shown = {"first": printed["Threshold", CATEGORIES[0]], "last": printed["Threshold", CATEGORIES[-1]]}
    return Evidence(limits == sorted(limits, reverse=True) and limits[0] > limits[-1], shown)


def _capped() -> Evidence:
    shown = cells("TN-T5", limit=("Threshold", "LL-PS"), own=("SPECTER", "LL-PS"))
    four = lookup("TN-T4")
    first = [n for n in SETS if ranked("TN-T4", n, "LL-PS/{}")[0] == "SPECTER"]
    made = {"first": worked("TN-T4", "sets with SPECTER highest on LL-PS", len(first), four.values(), len(SETS))}
    return Evidence(shown["own"].number > bound(shown["limit"]) and len(first) == len(SETS), shown, made)


def _own_vector() -> Evidence:
    pool = np.random.default_rng(SEED.get()).normal(size=(60, 8))
    found = overlaps(pool.copy(), pool, np.arange(60), np.arange(60), [10])[10]
    made = {
        "literal": counted(
            "AOP-10 of texts that are not altered, own vector counted", 100 * float(found.with_self.mean()), 60, True
        ),
        "other": counted(
            "AOP-10 of texts that are not altered, own vector left out",
            100 * float(found.without_self.mean()),
            60,
            True,
        ),
    }
    return Evidence(made["literal"].value - made["other"].value > 5, {}, made)


SLIPS = (
    Slip("tn-categories", PAPER, "Section 6", MISPRINT,
         "The five categories of the experiments are listed as LL-HS, LL-PS, LL-DS, LO-HS and LO-DS.",
         "No code of Table 1 is LL-DS, which section 3 excludes; {there} of {all} are LO-PS, which the list lacks.",
         "No: tables and figures have the right five.", _categories),
    Slip("tn-task-two", PAPER, "Section 5, Table 3", CLAIM,
         "OAG-BERT is said not to falter in Task II, its T100 being comparable.",
         "Task II adds candidates and takes none away, so for the same queries T100 cannot rise. It rises on {up} of {all} sets "
         "(Arxiv-HEP {one} to {two}), on {beyond} by more than drawing other queries explains (95 %).",
         "Yes: the sentence rests on numbers that cannot be of the same queries and vectors.", _task_two),
    Slip("tn-rank-five", PAPER, "Section 5, Table 3", CLAIM,
         "OAG-BERT is said to rank the paper {said}th on average.",
         "That is 1 / MRR (at most {most:1}), a harmonic mean. At best {best} % are in the top 100, so the median rank is over "
         "100 on {over} sets, and the mean rank at least {least:0}.",
         "Yes: the model does far worse than the sentence says. The next sentence gives the T100.", _rank),
    Slip("tn-top-two", PAPER, "Section 5, Table 3", CLAIM,
         "SPECTER’s MRR is said to put the paper in the top {said} on average.",
         "By T100 alone the mean rank is over 2 on {over} of 7 sets, and at least {most:1} on the worst.",
         "In part: where MRR is above two thirds, as on most sets, the median is in the top 2.", _top_two),
    Slip("tn-normalised", PAPER, "Appendix D, Table 9", CLAIM,
         "L2 normalisation is said to lead to an incremental improvement, e.g. MRR {old} to {new}.",
         "A cosine divides by the lengths anyway: on 60 vectors {moved} ranks move. Of {all} printed cells {differ} differ from "
         "Table 3, {fall} of them downwards. Other queries were drawn, or another measure taken.",
         "Yes, for this sentence: there is nothing to improve.", _normalised),
    Slip("tn-irrespective", PAPER, "Section 7, Table 4", CLAIM,
         "SPECTER’s vectors of all types are said to be highly similar whether the meaning is kept or not.",
         "Its overlap on LO-DS is {least:0} to {most:0} % of that on LL-HS, e.g. {low} against {high} on ICLR: less than half "
         "on every set.",
         "In part: by another measure, NN1_Ret, with all types but two at {found} % or more (section 6.2), it is so.",
         _irrespective),
    Slip("tn-increasing", PAPER, "Section 6.3", MISPRINT,
         "Categories are said to be arranged in increasing order of similarity, LL-HS first.",
         "The list is joined by ≥ and >, and the thresholds of Table 5 fall along it, {first} to {last}: it is decreasing.",
         "No.", _increasing),
    Slip("tn-higher-is-better", PAPER, "Tables 4 and 5", TEXTS,
         "The caption of Table 4 calls the highest overlap the best in all categories but LO-DS.",
         "Table 5 asks for {limit} on LL-PS. SPECTER, highest there on {first} sets of Table 4, has {own} in Table 5: too high to "
         "be optimal.",
         "Yes, for SPECTER on LL-PS: best by one rule, out of bounds by the other.", _capped),
    Slip("tn-own-vector", PAPER, "Sections 4 and 6.3", UNSAID,
         "AOP-10 is the overlap of ten nearest neighbours; whether a text is its own neighbour is not said.",
         "On texts that are not altered at all the one reading gives {literal:0} %, the other {other:0} %.",
         "Yes: it moves all numbers of Tables 4 and 5, and the highest that is possible.", _own_vector),
)  # fmt: skip
