"""Chapter `beyond/slips`, SciMult: its sentences against its tables, its tables against one another (sections 3 and 4, A to E).

All sums are right. What is left is between main tables and appendix, between words such as "all" and cells, and in what is unsaid.
"""

from __future__ import annotations

from collections.abc import Sequence

from scirep_core.exhibits import scimult_interference_print as interference
from scirep_core.exhibits import scimult_print as pr
from scirep_core.exhibits import scimult_shared as shared
from scirep_core.exhibits.beyond_slips_base import (
    CLAIM,
    TEXTS,
    UNSAID,
    Evidence,
    Slip,
    cells,
    rows,
    worked,
)
from scirep_core.exhibits.scimult_print import AVERAGE, FFN, INSTRUCTION, MHA, VANILLA, VARIANTS
from scirep_core.exhibits.scimult_tasks import parts
from scirep_core.published import Printed, lookup

PAPER = "scimult"
COARSE = "Classification (Coarse)"
WITH, WITHOUT = "Vanilla (w/ Hard Negative)", "Vanilla (w/o Hard Negative)"
LINEAR = ("MAG Fields/Linear", "MeSH Diseases/Linear")
TWO = "SPECTER 2.0"


def mean(exhibit: str, line: str, names: Sequence[str]) -> float:
    """Return the plain mean of some cells of a line."""
    return pr.mean_of(exhibit, line, names, "mean").value


def numbers(exhibit: str, lines: Sequence[str], names: Sequence[str]) -> list[Printed]:
    """Return the printed cells of some lines and columns."""
    printed = lookup(exhibit)
    return [printed[line, name] for line in lines for name in names if (line, name) in printed]


def _twice(ablation: str, column: str, line: str) -> Evidence:
    shown = cells(ablation, here=(COARSE, column)) | cells("SM-T4", there=(line, AVERAGE))
    of_cells = worked(
        "SM-T4",
        f"mean of {line}",
        mean("SM-T4", line, pr.columns("SM-T4")),
        numbers("SM-T4", [line], pr.columns("SM-T4")),
    )
    gap = worked(
        "SM-T4",
        f"average of {line}, Table 4 minus appendix",
        shown["there"].number - shown["here"].number,
        shown.values(),
    )
    return Evidence(abs(gap.value) > 0.011, shown, {"mean": of_cells, "gap": gap})


def _a4() -> Evidence:
    return _twice("SM-TA4", WITH, VANILLA)


def _a5() -> Evidence:
    return _twice("SM-TA5", "MHAExpert (w/ Warm-up)", MHA)


def _negatives() -> Evidence:
    printed = lookup("SM-TA4")
    worse = [task for task in rows("SM-TA4") if printed[task, WITH].number < printed[task, WITHOUT].number]
    shown = cells("SM-TA4", more=(COARSE, WITH), less=(COARSE, WITHOUT))
    made = {
        "better": worked(
            "SM-TA4", "tasks that hard negatives help", len(rows("SM-TA4")) - len(worse), printed.values(), 5
        )
    }
    return Evidence(bool(worse), shown, made)


def _best_coarse() -> Evidence:
    top = pr.bar("SM-T4", AVERAGE, VARIANTS)
    shown = cells("SM-TA4", ablation=(COARSE, WITHOUT)) | {"top": top}
    every = [p for (_, column), p in lookup("SM-T4").items() if column == AVERAGE]
    return Evidence(shown["ablation"].number > max(p.number for p in every), shown)


def _linear_half() -> Evidence:
    means = {line: mean("SM-T4", line, LINEAR) for line in pr.systems("SM-T4") if (line, LINEAR[0]) in lookup("SM-T4")}
    best = max(VARIANTS, key=lambda v: means[v])
    made = {
        "two": worked("SM-T4", f"mean of two linear columns, {TWO}", means[TWO], numbers("SM-T4", [TWO], LINEAR)),
        "best": worked(
            "SM-T4", "mean of two linear columns, best variant", means[best], numbers("SM-T4", [best], LINEAR)
        ),
    }
    won = all(pr.beaten("SM-T4", v, [AVERAGE]) for v in VARIANTS)
    return Evidence(won and max(means, key=lambda line: means[line]) == TWO, {}, made)


def _multi_task() -> Evidence:
    single = [line for line in pr.baselines("SM-T4") if line != TWO]
    ahead = [
        (v, c) for v in VARIANTS for c in LINEAR if lookup("SM-T4")[v, c].number > pr.bar("SM-T4", c, single).number
    ]
    every = numbers("SM-T4", VARIANTS, LINEAR)
    made = {"ahead": worked("SM-T4", "linear cells above every single-task baseline", len(ahead), every),
            "all": worked("SM-T4", "linear cells of the five", len(every), every)}  # fmt: skip
    return Evidence(len(ahead) < len(every), {"bar": pr.bar("SM-T4", LINEAR[1], single)}, made)


def _all_tasks() -> Evidence:
    up = {table: interference.ahead(table, interference.MHA) for table in shared.TASKS}
    every = [p for table in shared.TASKS for p in numbers(table, [MHA, VANILLA], list(shared.TABLES[table].values()))]
    total = sum(len(shared.TABLES[table]) for table in shared.TASKS)
    made = {
        "up": worked("SM-T9", "columns with MHAExpert ahead of Vanilla", sum(map(len, up.values())), every, total),
        "all": worked("SM-T9", "columns", total, every, total),
        "search": worked(
            "SM-T8", "search columns with MHAExpert ahead", len(up["SM-T8"]), every, len(shared.TABLES["SM-T8"])
        ),
        "rerank": worked(
            "SM-T7", "reranking columns with MHAExpert ahead", len(up["SM-T7"]), every, len(shared.TABLES["SM-T7"])
        ),
    }
    return Evidence(len(up["SM-T8"]) < 3 and len(up["SM-T7"]) < 6, {}, made)


def _without(table: str, name: str) -> tuple[float, float]:
    left = [c for c in pr.columns(table) if c.partition("/")[0] != name]
    return mean(table, MHA, left), mean(table, VANILLA, left)


def _carried(table: str, name: str) -> Evidence:
    own, other = _without(table, name)
    shown = cells(table, mha=(MHA, AVERAGE), vanilla=(VANILLA, AVERAGE))
    left = numbers(table, [MHA, VANILLA], [c for c in pr.columns(table) if c.partition("/")[0] != name])
    made = {
        "own": worked(table, f"MHAExpert without {name}", own, left),
        "other": worked(table, f"Vanilla without {name}", other, left),
    }
    return Evidence(name in interference.carriers(table, interference.MHA) and own < other, shown, made)


def _search() -> Evidence:
    return _carried("SM-T8", "TREC-COVID in BEIR")


def _rerank() -> Evidence:
    return _carried("SM-T7", "Cite")


def _in_domain() -> Evidence:
    column = "SciRepEval-Search/nDCG@10"
    shown = {"best": pr.bar("SM-T8", column, VARIANTS), "two": lookup("SM-T8")[TWO, column]}
    return Evidence(not any(pr.beaten("SM-T8", v, [column]) for v in VARIANTS), shown)


def _reranking() -> Evidence:
    said = lookup("SM-C4")["all variants but SciMult-FFNExpert", "beat all baselines on average in Tables"]
    shown = {"said": said, "best": pr.bar("SM-T7", AVERAGE, VARIANTS), "base": pr.bar("SM-T7", AVERAGE)}
    return Evidence("7" not in said.value and not any(pr.beaten("SM-T7", v, [AVERAGE]) for v in VARIANTS), shown)


def _without_names() -> Evidence:
    def whole(exhibit: str, line: str) -> list[str]:
        return [
            s
            for s in pr.data_sets(exhibit)
            if len(pr.beaten(exhibit, line, pr.columns(exhibit, s))) == len(pr.columns(exhibit, s))
        ]

    with_, without = ({v for v in VARIANTS if len(whole(e, v)) == 4} for e in ("SM-T3", "SM-TA3"))
    shown = cells("SM-TA3", own=(INSTRUCTION, "Geography/R@20"), two=(TWO, "Geography/R@20"))
    return Evidence(INSTRUCTION in with_ and INSTRUCTION not in without and VANILLA in without - with_, shown)


def _turned() -> Evidence:
    column = "CS-Conference/R@20"
    order = {e: sorted(VARIANTS, key=lambda v, e=e: -lookup(e)[v, column].number) for e in ("SM-T3", "SM-TA3")}  # type: ignore[misc]
    shown = cells("SM-T3", first=(MHA, column)) | cells("SM-TA3", bare=(MHA, column), top=(order["SM-TA3"][0], column))
    made = {"place": worked("SM-TA3", "place of MHAExpert, CS R@20 without name matching", 1 + order["SM-TA3"].index(MHA),
                            numbers("SM-TA3", VARIANTS, [column]))}  # fmt: skip
    return Evidence(order["SM-T3"][0] == MHA and order["SM-TA3"][0] != MHA, shown, made)


def _matching() -> Evidence:
    column, line = "Geography/R@20", "BioLinkBERT"
    shown = cells("SM-TA3", bare=(line, column)) | cells("SM-T3", matched=(line, column))
    both = [(lookup("SM-T3")[place], lookup("SM-TA3")[place]) for place in lookup("SM-T3")]
    falls = [a.number - b.number for a, b in both]
    made = {
        "all": worked(
            "SM-TA3",
            "numbers that fall without name matching",
            sum(f > 0 for f in falls),
            [p for b in both for p in b],
            len(both),
        ),
        "most": worked(
            "SM-TA3", "largest fall without name matching", max(falls), [p for b in both for p in b], len(both)
        ),
    }
    return Evidence(shown["matched"].number > 50 * shown["bare"].number and min(falls) > 0, shown, made)


def _instructions() -> Evidence:
    printed, lines = lookup("SM-TA6"), rows("SM-TA6")
    own = {line: f"{line.rpartition(' ')[0]} Instruction" for line in lines}
    best = {line: max(own.values(), key=lambda c, line=line: printed[line, c].number) for line in lines}  # type: ignore[misc]
    same = [line for line in lines if best[line] == own[line]]
    shown = cells(
        "SM-TA6", mine=("Cite Prediction", "Cite Instruction"), top=("Cite Prediction", "Co-cite Instruction")
    )
    made = {"same": worked("SM-TA6", "relations whose own instruction is the best", len(same), printed.values(), len(lines)),
            "all": worked("SM-TA6", "relations", len(lines), printed.values(), len(lines))}  # fmt: skip
    return Evidence(not same, shown, made)


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


def _fine_tuned() -> Evidence:
    cross = lookup("SM-T2")["Link Prediction", "Cross-domain Evaluation"]
    tuned = [p for p in lookup("SM-T6").values() if "fine-tuned" in p.note]
    return Evidence("PMC-Patients" in cross.value and bool(tuned), {"cell": tuned[0]} if tuned else {})


def _labels() -> Evidence:
    shown = cells("SM-TA2", labels=("SciDocs (MAG Fields)", "#Candidates"))
    shown |= cells("SM-TA1", pairs=("MAPLE (Coarse)", "#Positive (Query, Candidate) Pairs"))
    fields = worked("SM-TA1", "fields of 50,000 coarse pairs each", shown["pairs"].number / 50_000, [shown["pairs"]])
    return Evidence(fields.value < shown["labels"].number, shown, {"fields": fields})


def _weights() -> Evidence:
    def by_set(line: str) -> float:
        sets = pr.data_sets("SM-T7")
        return sum(mean("SM-T7", line, pr.columns("SM-T7", s)) for s in sets) / len(sets)

    lines = [line for line in pr.systems("SM-T7") if (line, AVERAGE) in lookup("SM-T7")]
    moved = [line for line in lines if f"{by_set(line):.2f}" != lookup("SM-T7")[line, AVERAGE].value]
    shown = cells("SM-T7", plain=("SciNCL", AVERAGE))
    every = numbers("SM-T7", lines, pr.columns("SM-T7"))
    made = {
        "moved": worked("SM-T7", "averages that a mean over data sets changes", len(moved), every, len(lines)),
        "all": worked("SM-T7", "averages", len(lines), every, len(lines)),
        "other": worked(
            "SM-T7", "mean over data sets, SciNCL", by_set("SciNCL"), numbers("SM-T7", ["SciNCL"], pr.columns("SM-T7"))
        ),
    }
    return Evidence(len(moved) == len(lines), shown, made)


def _ratio() -> Evidence:
    quoted, task = lookup("SM-T9"), shared.TASKS["SM-T8"]
    said, other = quoted[task, pr.short(FFN)], interference.mean_of_changes("SM-T8", shared.FIVE[VARIANTS.index(FFN)])
    printed = lookup("SM-T8")
    follows = 100 * (printed[FFN, AVERAGE].number / printed[VANILLA, AVERAGE].number - 1)
    made = {"other": worked("SM-T9", "search, FFNExpert, mean of the columns’ changes, %", other,
                            numbers("SM-T8", [FFN, VANILLA], pr.columns("SM-T8")))}  # fmt: skip
    return Evidence(f"{follows:+.2f}" == said.value != f"{other:+.2f}", {"said": said}, made)


def _decimals() -> Evidence:
    short = [p for p in lookup("SM-T7").values() if p.decimals == 1 and (p.row, AVERAGE) in lookup("SM-T7")]
    line = [p for p in short if p.row == "SciNCL"]
    reach = sum(0.05 for _ in line) / len(pr.columns("SM-T7"))
    made = {
        "short": worked("SM-T7", "cells of SciNCL with one decimal", len(line), line),
        "reach": worked(
            "SM-T7", "points that rounding can move SciNCL’s average", reach, line, len(pr.columns("SM-T7"))
        ),
    }
    shown = {"mean": lookup("SM-T7")["SciNCL", AVERAGE]}
    return Evidence(bool(line) and shown["mean"].decimals == 2 and reach > 0.01, shown, made)


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


def _order() -> Evidence:
    table = lookup("SM-T6")
    falls = {}
    for half in dict.fromkeys(c.partition("/")[0] for _, c in table):
        names = [c for c in dict.fromkeys(c for _, c in table) if c.startswith(half)]
        values = {c: [p.number for (_, column), p in table.items() if column == c] for c in names}
        falls[half] = {c.partition("/")[2] for c, v in values.items() if v == sorted(v, reverse=True)}
    both = set.intersection(*falls.values())
    made = {"both": worked("SM-T6", "metrics that order both halves", len(both), table.values(), 4)}
    return Evidence(not both, {"first": next(iter(table.values()))}, made)


def _stages() -> Evidence:
    said = {column: p for (_, column), p in lookup("SM-C8").items()}
    pairs = [p for (_, column), p in lookup("SM-TA1").items() if "Pairs" in column]
    batch = said["GPUs"].number * said["batch size per GPU"].number
    steps = said["epochs"].number * sum(p.number for p in pairs) / batch
    made = {"steps": worked("SM-C8", "steps of all epochs", steps, [*pairs, *said.values()])}
    shown = {"epochs": said["epochs"], "later": said["variants trained on from SciMult-Vanilla"]}
    return Evidence(not any("stage" in column for column in said), shown, made)


SLIPS = (
    Slip("sm-a4", PAPER, "Tables 4 and A4", TEXTS,
         "The coarse average of Vanilla is {there} in Table 4 and {here} in A4.",
         "The cells of Table 4 give {mean:4}, so A4 comes from other cells. Its four other rows equal the main tables.",
         "No: {gap:2} points. Table 9 uses Table 4.", _a4),
    Slip("sm-a5", PAPER, "Tables 4 and A5", TEXTS,
         "The coarse average of MHAExpert is {there} in Table 4 and {here} in A5.",
         "The cells of Table 4 give {mean:4}: the same gap, {gap:2}, as of Vanilla.",
         "No.", _a5),
    Slip("sm-hard-all", PAPER, "Section 4.7, Table A4", CLAIM,
         "Hard negatives are said to benefit all tasks.",
         "They help {better} of 5; coarse classification has {more} with them and {less} without. Appendix E says “most”.",
         "In part: four of five hold. A4 leaves out those of classification alone.", _negatives),
    Slip("sm-best-coarse", PAPER, "Tables 4 and A4", CLAIM,
         "The best coarse average of Table 4 is {top}.",
         "Vanilla without hard negatives has {ablation} in the appendix: the best of the paper on this task, and in no main "
         "table.",
         "For this task the plainest variant is the strongest.", _best_coarse),
    Slip("sm-linear-half", PAPER, "Section 4.4, Table 4", CLAIM,
         "All variants are said to beat all baselines on average.",
         "True of a mean over two settings. In the linear setting SPECTER 2.0 is first, {two:2} against {best:2} for the best "
         "variant.",
         "In part: the advantage is the bi-encoder setting’s.", _linear_half),
    Slip("sm-multi-task", PAPER, "Section 4.4, Table 4", CLAIM,
         "Multi-task models are said to do better with a linear classifier.",
         "Against the best single-task baseline (on MeSH {bar}) {ahead} of {all} cells of SciMult are higher.",
         "In part: it is right for SPECTER 2.0.", _multi_task),
    Slip("sm-all-tasks", PAPER, "Section 4.7, Table 9", CLAIM,
         "MHAExpert is said to improve on Vanilla in all tasks.",
         "True of the five averages, and of {up} of {all} columns behind them: {rerank} of 11 in reranking, {search} of 5 in "
         "search.",
         "In part: fine classification and retrieval carry the sentence.", _all_tasks),
    Slip("sm-search-gain", PAPER, "Table 8", CLAIM,
         "MHAExpert gains in search, {mha} against {vanilla}.",
         "Without TREC-COVID in BEIR, 50 queries, it is behind: {own:2} against {other:2}.",
         "Yes, for search: one data set makes the gain.", _search),
    Slip("sm-rerank-gain", PAPER, "Table 7", CLAIM,
         "MHAExpert gains in reranking, {mha} against {vanilla}.",
         "Without the two columns of Cite it is behind: {own:2} against {other:2}.",
         "Yes, for reranking; six hundredths of a point, without a printed spread.", _rerank),
    Slip("sm-search-in-domain", PAPER, "Section 4.6, Table 8", CLAIM,
         "Four variants are said to beat all baselines on the cross-domain sets.",
         "They do. On the in-domain set, of which the sentence is silent, none does: {best} at best against {two} of SPECTER "
         "2.0.",
         "No: the sentence is right as far as it goes.", _in_domain),
    Slip("sm-table-7", PAPER, "Section 4.7, Table 7", CLAIM,
         "Variants are said to always beat all baselines on average, in Tables {said}.",
         "In Table 7, which the list leaves out, none does: {best} at best against {base}.",
         "In part: “always” is of four tables in five.", _reranking),
    Slip("sm-all-four", PAPER, "Section 4.3, Table A3", CLAIM,
         "MHAExpert and Instruction are said to beat all baselines on all four sets.",
         "Without name matching Instruction does not, Geography {own} against {two} of SPECTER 2.0, and Vanilla does. Appendix "
         "D says most findings hold.",
         "In part: MHAExpert does in both.", _without_names),
    Slip("sm-names-turn", PAPER, "Tables 3 and A3", CLAIM,
         "MHAExpert is first on CS-Conference, {first}.",
         "Without name matching it is number {place} of five with {bare}, behind {top}.",
         "Yes, for the order on this set.", _turned),
    Slip("sm-names-carry", PAPER, "Tables 3 and A3", UNSAID,
         "BioLinkBERT has {matched} on Geography.",
         "Without name matching it has {bare}. All {all} numbers fall, by up to {most:1} points: how names are matched, which "
         "the text gives in one clause, decides more than the encoder.",
         "Yes, for the size of Table 3’s numbers.", _matching),
    Slip("sm-own-instruction", PAPER, "Appendix E.3, Table A6", CLAIM,
         "Each relation has an instruction of its own.",
         "It is the best for {same} of {all} relations: on Cite the instruction of Co-cite has {top}, its own {mine}.",
         "No: the appendix recommends two of them for all, and that holds.", _instructions),
    Slip("sm-one-hard", PAPER, "Section 3.4, appendix A.2", TEXTS,
         "One hard negative is said to be sampled for each positive pair.",
         "Of the citation triplets about {share} % of the negatives are hard by appendix A.2, so {rest} % are not.",
         "A little: of one of the three tasks.", _hard),
    Slip("sm-coarse-left-out", PAPER, "Tables 2 and A1", TEXTS,
         "Table 2 lists the training data.",
         "MAPLE (Coarse), {pairs} pairs or {share:1} % of Table A1, is not in it.",
         "No: the appendix says so.", _left_out),
    Slip("sm-fine-tuned", PAPER, "Tables 2 and 6", TEXTS,
         "PMC-Patients is listed as cross-domain.",
         "In Table 6 the model is fine-tuned on its training split (first cell {cell}); by the paper’s own footnote that is "
         "in-domain.",
         "No: the text says that it is fine-tuned there.", _fine_tuned),
    Slip("sm-coarse-labels", PAPER, "Appendix A.1, Table A2", TEXTS,
         "MAG Fields has {labels} labels, and counts as in-domain.",
         "Coarse training is on {fields} fields, {pairs} pairs of 50,000 each: one test label or more was never a coarse label "
         "in training.",
         "A little: of one column.", _labels),
    Slip("sm-plain-means", PAPER, "Table 7", UNSAID,
         "The average of SciNCL is {plain}.",
         "It is a plain mean over 11 columns, three of them Recommendation’s. A mean over the five data sets is {other:2}, and "
         "changes {moved} of {all} rows.",
         "No: the first place stays.", _weights),
    Slip("sm-ratio", PAPER, "Table 9", UNSAID,
         "FFNExpert changes search by {said} %.",
         "That is the ratio of two averages. The mean of the changes of the five sets is {other:+2} %.",
         "No: no sign turns between the readings.", _ratio),
    Slip("sm-decimals", PAPER, "Tables 4 and 7", UNSAID,
         "The average of SciNCL has two decimals, {mean}.",
         "{short} of its 11 cells are quoted with one, so that the average may be off by {reach:2}. Differences of Table 7 are "
         "of that size.",
         "A little: the second decimal of quoted rows says nothing.", _decimals),
    Slip("sm-generations", PAPER, "Tables 4 and 7", UNSAID,
         "Quoted numbers are marked, with several sources for all.",
         "Ten of SciNCL have the mean {scincl:2}, as SciRepEval’s {v1_scincl}; SPECTER’s {specter:2} and SciBERT’s {scibert:2} "
         "do not fit its {v1_specter} and {v1_scibert}. They are of two generations of evaluation.",
         "For small differences between quoted rows.", _generations),
    Slip("sm-table-6-order", PAPER, "Table 6", UNSAID,
         "Rows have an order, {first} first.",
         "{both} metrics order both halves: the first half falls by P@10, the second by MRR and nDCG@10.",
         "No: the first place is the same in all eight columns.", _order),
    Slip("sm-stages", PAPER, "Appendix C", UNSAID,
         "{epochs} epochs are given, and {later} variants go on from Vanilla in a second stage.",
         "How many epochs each stage has is not said, so that of {steps:0} steps in all no split is known.",
         "Yes, for anyone who trains it again.", _stages),
)  # fmt: skip
