"""Chapter `beyond/slips`, SciMult: its sentences against its tables, its tables against one another (sections 3 and 4, A to E).

All sums are right, and most sentences hold as they are worded (beyond_slips_right.py). What is left is between main tables and
appendix, between the word "all" and the cells, and in what is unsaid.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from scirep_core.exhibits import scimult_interference_print as interference
from scirep_core.exhibits import scimult_print as pr
from scirep_core.exhibits import scimult_shared as shared
from scirep_core.exhibits.beyond_slips_base import CLAIM, TEXTS, UNSAID, Evidence, Slip, cells, rows, worked
from scirep_core.exhibits.scimult_print import AVERAGE, MHA, VANILLA, VARIANTS
from scirep_core.exhibits.scimult_tasks import parts
from scirep_core.results import Result
from scirep_core.results.published import Printed, lookup

PAPER = "scimult"
COARSE = "Classification (Coarse)"
WITH, WITHOUT = "Vanilla (w/ Hard Negative)", "Vanilla (w/o Hard Negative)"
WARM = "MHAExpert (w/ Warm-up)"
LINEAR = ("MAG Fields/Linear", "MeSH Diseases/Linear")
ALONE = {"SM-T7": "Cite", "SM-T8": "TREC-COVID in BEIR"}
"""The data set of a table without which MHAExpert is behind Vanilla."""


def mean(exhibit: str, line: str, names: Sequence[str]) -> float:
    """Return the plain mean of some cells of a line."""
    return pr.mean_of(exhibit, line, names, "mean").value


def numbers(exhibit: str, lines: Sequence[str], names: Sequence[str]) -> list[Printed]:
    """Return the printed cells of some lines and columns."""
    printed = lookup(exhibit)
    return [printed[line, name] for line in lines for name in names if (line, name) in printed]


def _twice() -> Evidence:
    places = {VANILLA: ("SM-TA4", WITH), MHA: ("SM-TA5", WARM)}
    shown: dict[str, Printed] = {}
    made: dict[str, Result] = {}
    same: list[bool] = []
    for key, (line, (ablation, column)) in zip(("plain", "expert"), places.items(), strict=True):
        four, here = lookup("SM-T4")[line, AVERAGE], lookup(ablation)[COARSE, column]
        own = numbers("SM-T4", [line], pr.columns("SM-T4"))
        shown |= {key: four, f"{key}_again": here}
        made[f"{key}_mean"] = worked("SM-T4", f"mean of {line}", mean("SM-T4", line, pr.columns("SM-T4")), own)
        gap = four.number - here.number
        made[f"{key}_gap"] = worked("SM-T4", f"average of {line}, Table 4 minus appendix", gap, [four, here])
        same += [lookup(ablation)[task, column].number == lookup(table)[line, AVERAGE].number
                 for table, task in shared.TASKS.items() if task != COARSE]  # fmt: skip
    off = all(abs(made[f"{key}_gap"].value) > 0.011 for key in ("plain", "expert"))
    return Evidence(off and all(same), shown, made)


def _negatives() -> Evidence:
    printed, top = lookup("SM-TA4"), pr.bar("SM-T4", AVERAGE, pr.systems("SM-T4"))
    worse = [task for task in rows("SM-TA4") if printed[task, WITH].number < printed[task, WITHOUT].number]
    shown = cells("SM-TA4", more=(COARSE, WITH), less=(COARSE, WITHOUT)) | {"top": top}
    made = {
        "better": worked(
            "SM-TA4", "tasks that hard negatives help", len(rows("SM-TA4")) - len(worse), printed.values(), 5
        )
    }
    return Evidence(bool(worse) and shown["less"].number > top.number, shown, made)


def _without(table: str) -> dict[str, Result]:
    left = [c for c in pr.columns(table) if c.partition("/")[0] != ALONE[table]]
    return {
        line: worked(table, f"{line} without {ALONE[table]}", mean(table, line, left), numbers(table, [line], left))
        for line in (MHA, VANILLA)
    }


def _all_tasks() -> Evidence:
    up = {table: interference.ahead(table) for table in shared.TASKS}
    every = [p for table in shared.TASKS for p in numbers(table, [MHA, VANILLA], list(shared.TABLES[table].values()))]
    total = sum(len(shared.TABLES[table]) for table in shared.TASKS)
    made = {
        "up": worked("SM-T9", "columns with MHAExpert ahead of Vanilla", sum(map(len, up.values())), every, total),
        "all": worked("SM-T9", "columns", total, every, total),
    }
    left = {}
    for table, key in (("SM-T7", "rerank"), ("SM-T8", "search")):
        both, left[key] = numbers(table, [MHA, VANILLA], pr.columns(table)), _without(table)
        made[key] = worked(
            table, f"{key} columns with MHAExpert ahead", len(up[table]), both, len(shared.TABLES[table])
        )
        made |= {f"{key}_own": left[key][MHA], f"{key}_other": left[key][VANILLA]}
    few = len(up["SM-T8"]) < 3 and len(up["SM-T7"]) < 6
    return Evidence(few and all(one[MHA].value < one[VANILLA].value for one in left.values()), {}, made)


def _matching() -> Evidence:
    column, line, turned = "Geography/R@20", "BioLinkBERT", "CS-Conference/R@20"
    shown = cells("SM-TA3", bare=(line, column)) | cells("SM-T3", matched=(line, column))
    both = [(lookup("SM-T3")[place], lookup("SM-TA3")[place]) for place in lookup("SM-T3")]
    falls, every = [a.number - b.number for a, b in both], [p for pair in both for p in pair]
    place = {e: 1 + sum(lookup(e)[v, turned].number > lookup(e)[MHA, turned].number for v in VARIANTS)
             for e in ("SM-T3", "SM-TA3")}  # fmt: skip
    made = {
        "all": worked("SM-TA3", "numbers that fall without name matching", sum(f > 0 for f in falls), every, len(both)),
        "most": worked("SM-TA3", "largest fall without name matching", max(falls), every, len(both)),
        "place": worked("SM-TA3", "place of MHAExpert, CS R@20 without name matching", place["SM-TA3"],
                        numbers("SM-TA3", VARIANTS, [turned])),
    }  # fmt: skip
    carried = shown["matched"].number > 50 * shown["bare"].number and min(falls) > 0
    return Evidence(carried and place["SM-T3"] == 1 < place["SM-TA3"], shown, made)


def _hard() -> Evidence:
    shown = cells("SM-C7", share=("Citation Prediction Triplets", "negatives that are hard, %"))
    rest = worked(
        "SM-C7", "negatives of the triplets that are not hard, %", 100 - shown["share"].number, shown.values()
    )
    return Evidence(rest.value > 0, shown, {"rest": rest})


def _left_out() -> Evidence:
    named = [part for (_, column), p in lookup("SM-T2").items() if column == "Pre-training" for part in parts(p.value)]
    pairs = {row: p for (row, column), p in lookup("SM-TA1").items() if "Pairs" in column}
    missing = "MAPLE (Coarse)"
    share = 100 * pairs[missing].number / sum(p.number for p in pairs.values())
    made = {"share": worked("SM-TA1", "pairs of MAPLE (Coarse), %", share, pairs.values())}
    return Evidence(not any("Coarse" in name for name in named), {"pairs": pairs[missing]}, made)


def _labels() -> Evidence:
    shown = cells("SM-TA2", labels=("SciDocs (MAG Fields)", "#Candidates"))
    shown |= cells("SM-TA1", pairs=("MAPLE (Coarse)", "#Positive (Query, Candidate) Pairs"))
    fields = worked("SM-TA1", "fields of 50,000 coarse pairs each", shown["pairs"].number / 50_000, [shown["pairs"]])
    return Evidence(fields.value < shown["labels"].number, shown, {"fields": fields})


def _decimals() -> Evidence:
    printed, width = lookup("SM-T7"), len(pr.columns("SM-T7"))
    lines = [line for line in pr.systems("SM-T7") if (line, AVERAGE) in printed]
    short = {line: [p for p in numbers("SM-T7", [line], pr.columns("SM-T7")) if p.decimals == 1] for line in lines}
    reach = {line: 0.05 * len(cells_) / width for line, cells_ in short.items()}
    order = sorted(lines, key=lambda line: printed[line, AVERAGE].number)
    steady = all(printed[b, AVERAGE].number - printed[a, AVERAGE].number > reach[a] + reach[b]
                 for a, b in pairwise(order))  # fmt: skip
    made = {
        "short": worked("SM-T7", "cells of SciNCL with one decimal", len(short["SciNCL"]), short["SciNCL"]),
        "reach": worked(
            "SM-T7", "points that rounding can move SciNCL’s average", reach["SciNCL"], short["SciNCL"], width
        ),
    }
    shown = {"mean": printed["SciNCL", AVERAGE]}
    return Evidence(shown["mean"].decimals == 2 and reach["SciNCL"] > 0.01 and steady, shown, made)


def _generations() -> Evidence:
    relations = [c for c in pr.columns("SM-T7") if not c.startswith("Recommendation")]

    def ten(line: str) -> tuple[float, list[Printed]]:
        quoted = [*numbers("SM-T4", [line], LINEAR), *numbers("SM-T7", [line], relations)]
        return sum(p.number for p in quoted) / len(quoted), quoted

    names = {"scincl": "SciNCL", "specter": "SPECTER", "scibert": "SciBERT"}
    made = {key: worked("SM-T7", f"mean of ten quoted numbers, {line}", *ten(line)) for key, line in names.items()}
    shown = {f"v1_{key}": lookup("V1-T2")[line, "SciDocs"] for key, line in names.items()}
    gaps = {key: abs(made[key].value - shown[f"v1_{key}"].number) for key in names}
    return Evidence(gaps["scincl"] <= 0.1 and gaps["specter"] > 0.1 and gaps["scibert"] > 1, shown, made)


def _stages() -> Evidence:
    said = {column: p for (_, column), p in lookup("SM-C8").items()}
    pairs = [p for (_, column), p in lookup("SM-TA1").items() if "Pairs" in column]
    batch = said["GPUs"].number * said["batch size per GPU"].number
    steps = said["epochs"].number * sum(p.number for p in pairs) / batch
    made = {"steps": worked("SM-C8", "steps of all epochs", steps, [*pairs, *said.values()])}
    shown = {"epochs": said["epochs"], "later": said["variants trained on from SciMult-Vanilla"]}
    return Evidence(not any("stage" in column for column in said), shown, made)


SLIPS = (
    Slip("sm-a4", PAPER, "Tables 4, A4 and A5", TEXTS,
         "The coarse averages of Vanilla and MHAExpert are {plain} and {expert} in Table 4, {plain_again} in A4 and "
         "{expert_again} in A5.",
         "The cells of Table 4 give {plain_mean:4} and {expert_mean:4}. The appendix is {plain_gap:2} and {expert_gap:2} lower, so "
         "it is not of these cells. Its other rows of the two equal the main tables.",
         "No. Table 9 uses Table 4.", _twice),
    Slip("sm-hard-all", PAPER, "Section 4.7, Table A4", CLAIM,
         "Hard negatives are said to benefit all tasks.",
         "They help {better} of 5. Coarse classification has {more} with them and {less} without, which is above every average of "
         "Table 4 ({top} at best). Appendix E says “most tasks”.",
         "In part: four of five hold. A4 leaves out those of classification alone.", _negatives),
    Slip("sm-all-tasks", PAPER, "Section 4.7, Table 9", CLAIM,
         "MHAExpert is said to improve on Vanilla across all tasks, and so to overcome their interference.",
         "The five averages do rise. Of {all} columns behind them {up} do: {rerank} of 11 in reranking, {search} of 5 in search. "
         "Without the two columns of Cite it is behind in reranking, {rerank_own:2} against {rerank_other:2}; without TREC-COVID "
         "in BEIR, 50 queries, in search, {search_own:2} against {search_other:2}.",
         "In part: classification and retrieval carry the sentence. No spread is printed.", _all_tasks),
    Slip("sm-names-carry", PAPER, "Section 4.3, Tables 3 and A3", UNSAID,
         "Labels whose name appears in the paper go first; when a name appears (whole words, plurals, synonyms) is not said. "
         "BioLinkBERT has {matched} on Geography.",
         "Without the matching it has {bare}. All {all} numbers fall, by up to {most:1} points, and MHAExpert, first of the five "
         "on CS-Conference by R@20, becomes number {place}.",
         "Yes, for the size of Table 3’s numbers. That MHAExpert is first on the cross-domain sets holds in both.", _matching),
    Slip("sm-one-hard", PAPER, "Section 3.4, appendix A.2", TEXTS,
         "One hard negative is said to be sampled for each positive pair.",
         "Of the citation triplets about {share} % of the negatives are hard by appendix A.2, so {rest} % are not.",
         "A little: of one of the three tasks.", _hard),
    Slip("sm-coarse-left-out", PAPER, "Tables 2 and A1", TEXTS,
         "Table 2 lists the training data.",
         "MAPLE (Coarse), {pairs} pairs or {share:1} % of Table A1, is not in it.",
         "No: the appendix says so.", _left_out),
    Slip("sm-coarse-labels", PAPER, "Appendix A.1, Table A2", TEXTS,
         "MAG Fields has {labels} labels and counts as in-domain, which footnote 2 explains by the label space, among others.",
         "Coarse training is on {fields} fields, {pairs} pairs of 50,000 each: one test label or more was never a coarse label "
         "in training.",
         "A little: of one column.", _labels),
    Slip("sm-decimals", PAPER, "Tables 4 and 7", UNSAID,
         "The average of SciNCL has two decimals, {mean}.",
         "{short} of its 11 cells are quoted with one, so that the average may be off by {reach:2}.",
         "No: no order of Table 7 turns on it. The second decimal of quoted rows says nothing.", _decimals),
    Slip("sm-generations", PAPER, "Tables 4 and 7", UNSAID,
         "Quoted numbers have one mark for three sources; which row is from which is not said.",
         "It matters: ten numbers of SciNCL have the mean {scincl:2}, as SciRepEval’s {v1_scincl}, but SPECTER’s have "
         "{specter:2} against {v1_specter} there, and SciBERT’s {scibert:2} against {v1_scibert}.",
         "For small differences between quoted rows.", _generations),
    Slip("sm-stages", PAPER, "Appendix C", UNSAID,
         "{epochs} epochs are given, and {later} variants go on from Vanilla in a second stage.",
         "How many epochs each stage has is not said, so that of {steps:0} steps in all no split is known.",
         "Yes, for anyone who trains it again.", _stages),
)  # fmt: skip
