"""SciMult's tables as data: complete, averaged as printed, consistent with one another; what the text says of them decided.

Sums are in decimals, so that an average is right to its last digit or it is not: none of the 87 is wrong.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable
from decimal import ROUND_HALF_UP, Decimal

import pytest

from scirep_core.results.published import lookup, table

SYSTEMS = ("SciBERT", "SentBERT", "SPECTER", "PubMedBERT", "LinkBERT", "BioLinkBERT", "OAG-BERT", "SciNCL",
           "SPECTER 2.0")  # fmt: skip
"""The language models that are baselines in every table; BM25 and others come along in some."""
VANILLA, MHA, FFN, PREFIX, INSTRUCTION = VARIANTS = tuple(
    f"SciMult-{name}" for name in ("Vanilla", "MHAExpert", "FFNExpert", "Prefix", "Instruction")
)
FINE = ("CS-Conference", "Chemistry-MeSH", "Geography", "Psychology")
RELATIONS = ("Co-view", "Co-read", "Cite", "Co-cite")
RECALLS = ("R@20", "R@50", "R@100")
SETS = {
    "SM-T3": dict.fromkeys(FINE, RECALLS),
    "SM-TA3": dict.fromkeys(FINE, RECALLS),
    "SM-T4": dict.fromkeys(("MAG Fields", "MeSH Diseases"), ("Linear", "BiEnc")),
    "SM-T5": dict.fromkeys(("Cite", "Co-cite", "Patient-to-Patient"), RECALLS),
    "SM-T7": {**dict.fromkeys(RELATIONS, ("MAP", "nDCG")), "Recommendation": ("nDCG@5", "nDCG@10", "nDCG")},
    "SM-T8": dict.fromkeys(
        ("SciRepEval-Search", "TREC-COVID in SciRepEval", "TREC-COVID in BEIR", "SciFact", "NFCorpus"), ("nDCG@10",)
    ),
}  # fmt: skip
"""Data sets and metrics of each table with an average over all of them."""
EXTRA = {"SM-TA3": ("BM25",), "SM-T4": ("BM25",), "SM-T5": ("BM25",), "SM-T8": ("BM25",),
         "SM-T7": ("Citeomatic", "Kanakia et al. (2019)")}  # fmt: skip
DASHES = {("SM-T4", "BM25"): {"MAG Fields/Linear", "MeSH Diseases/Linear", "Average"},
          ("SM-T7", "Citeomatic"): {"Recommendation/nDCG@5", "Recommendation/nDCG@10", "Recommendation/nDCG", "Average"},
          ("SM-T7", "Kanakia et al. (2019)"): {"Average", *(f"{r}/{m}" for r in RELATIONS for m in ("MAP", "nDCG"))}}  # fmt: skip
"""Cells printed as a dash: they have no line."""
TASKS = {"Classification (Fine)": "SM-T3", "Classification (Coarse)": "SM-T4", "Link Prediction (Retrieval)": "SM-T5",
         "Link Prediction (Reranking)": "SM-T7", "Search": "SM-T8"}  # fmt: skip
"""Rows of Tables 9, A4, A5 and A7, and the table whose average they are of."""
PMC = ("Patient-to-Article Retrieval", "Patient-to-Patient Retrieval")
SUPERVISED = ("MRR", "P@10", "nDCG@10", "R@1K")


def values(exhibit: str) -> dict[tuple[str, str], Decimal]:
    return {key: Decimal(printed.value) for key, printed in lookup(exhibit).items()}


def rows(exhibit: str) -> list[str]:
    return list(dict.fromkeys(printed.row for printed in table(exhibit)))


def cells(exhibit: str, *sets: str) -> list[str]:
    """Columns of an averaged table, of the data sets given or of all; never the average."""
    return [
        f"{name}/{metric}" for name, metrics in SETS[exhibit].items() for metric in metrics if not sets or name in sets
    ]


def mean(numbers: Iterable[Decimal]) -> Decimal:
    found = list(numbers)
    return sum(found, Decimal()) / len(found)


def rounded(number: Decimal) -> str:
    return str(number.quantize(Decimal("0.01"), ROUND_HALF_UP))


def best_baseline(exhibit: str, column: str) -> Decimal:
    found = values(exhibit)
    return max(found[row, column] for row in rows(exhibit) if row not in VARIANTS and (row, column) in found)


def beaten(exhibit: str, variant: str, columns: Iterable[str]) -> list[bool]:
    """Whether a variant beats every baseline, for each column."""
    found = values(exhibit)
    return [found[variant, column] > best_baseline(exhibit, column) for column in columns]


def ahead(exhibit: str, one: str, other: str, columns: Iterable[str]) -> list[str]:
    found = values(exhibit)
    return [column for column in columns if found[one, column] > found[other, column]]


# ---- nothing missing, nothing out of place ---------------------------------------------------------------------------


@pytest.mark.parametrize(("exhibit", "count"), [("SM-T3", 14 * 13), ("SM-TA3", 15 * 13), ("SM-T4", 14 * 5 + 2),
                                                ("SM-T5", 15 * 10), ("SM-T7", 14 * 12 + 8 + 3), ("SM-T8", 15 * 6)])  # fmt: skip
def test_averaged_tables_have_every_system_and_every_cell_but_the_dashes(exhibit, count):
    found = values(exhibit)
    assert rows(exhibit) == [*EXTRA.get(exhibit, ()), *SYSTEMS, *VARIANTS]
    every = {(row, column) for row in rows(exhibit) for column in [*cells(exhibit), "Average"]}
    assert set(found) == {(row, column) for row, column in every if column not in DASHES.get((exhibit, row), ())}
    assert len(table(exhibit)) == count
    assert all(0 < value < 100 for value in found.values())


def test_small_tables_have_every_cell():
    sizes = {"SM-T6": (7, 8), "SM-T9": (5, 4), "SM-TA4": (5, 2), "SM-TA5": (5, 2), "SM-TA6": (4, 4), "SM-TA7": (2, 3),
             "SM-TA8": (4, 6)}  # fmt: skip
    for exhibit, (height, width) in sizes.items():
        columns = dict.fromkeys(column for _, column in lookup(exhibit))
        assert (len(rows(exhibit)), len(columns)) == (height, width)
        assert set(lookup(exhibit)) == {(row, column) for row in rows(exhibit) for column in columns}
        assert len(table(exhibit)) == height * width
        assert all(printed.decimals == 2 for printed in table(exhibit))
    for exhibit in ("SM-T9", "SM-TA4", "SM-TA5"):
        assert rows(exhibit) == list(TASKS)


LOCK = {
    "SM-T3": "abd67a6f7ced", "SM-T4": "4014b5d9aaec", "SM-T5": "daad87fd8dbb", "SM-T6": "76fc4a5f4eeb",
    "SM-T7": "b4e7c910b811", "SM-T8": "f3c3ee8e6086", "SM-T9": "48abf7f60afc", "SM-TA3": "f7adfc9aac53",
    "SM-TA4": "c2305d8fd8ef", "SM-TA5": "c794ebb74287", "SM-TA6": "a12a5b3d96a1", "SM-TA7": "430a8a47b8a6",
    "SM-TA8": "4ece2eb41b48",
}  # fmt: skip
"""The cells as read from the paper by a program: most have no second print to be held against, so a change must be meant."""


def test_cells_are_those_read_from_the_paper():
    for exhibit, digest in LOCK.items():
        text = "\n".join(f"{p.row}\t{p.column}\t{p.value}" for p in table(exhibit))
        assert hashlib.sha256(text.encode()).hexdigest().startswith(digest), exhibit


def test_only_numbers_quoted_from_the_older_papers_have_one_decimal():
    short = {(e, p.row) for e in SETS for p in table(e) if p.decimals == 1}
    assert {row for _, row in short} == {"Citeomatic", "SciBERT", "SentBERT", "SPECTER", "SciNCL"}
    assert {exhibit for exhibit, _ in short} == {"SM-T4", "SM-T7"}
    for exhibit in SETS:
        for p in table(exhibit):
            assert p.decimals == 2 or "quoted there from SPECTER, SciNCL and SciRepEval" in p.note, p.id
    quoted = [p for e in ("SM-T4", "SM-T7", "SM-T8") for p in table(e) if p.decimals == 2 and "quoted" in p.note]
    assert {p.row for p in quoted} == {"SPECTER 2.0"}
    assert [p.value for p in quoted if p.exhibit == "SM-T8"] == ["78.22"]


def test_domains_in_the_notes_are_those_of_table_2():
    role: dict[str, str] = {}
    other = {"PMC-Patients": ("Patient-to-Patient",), "TREC-COVID": ("TREC-COVID in SciRepEval", "TREC-COVID in BEIR")}
    for (_, kind), printed in lookup("SM-T2").items():
        for short in re.findall(r"[\w-][\w -]*(?=[,}]|$)", printed.value) if kind != "Pre-training" else ():
            role |= dict.fromkeys(other.get(short, (short,)), kind.removesuffix(" Evaluation").lower())
    told = set()
    for exhibit in ("SM-T3", "SM-TA3", "SM-T4", "SM-T5", "SM-T8", "SM-TA8"):
        for p in table(exhibit):
            data, _, metric = p.column.partition("/")
            assert p.note.partition("; ")[0] == (role[data] if metric else ""), p.id
            told.add(data)
    assert {name for name in role if name not in told} == {"Co-view", "Co-read", "Recommendation"}  # of Table 7 alone


def test_recall_grows_with_its_cut_off_and_ndcg_lies_above_map():
    for exhibit in ("SM-T3", "SM-TA3", "SM-T5", "SM-TA8"):
        found = values(exhibit)
        for row, column in found:
            if column.endswith("@20"):
                few, some, many = (found[row, column.replace("@20", f"@{k}")] for k in (20, 50, 100))
                assert few < some < many, (exhibit, row, column)
    found = values("SM-T7")
    for row, column in found:
        if column.endswith("/MAP"):
            assert found[row, column] < found[row, column.replace("MAP", "nDCG")], (row, column)
        if column.endswith("@5"):
            head = column.removesuffix("@5")
            assert found[row, column] < found[row, f"{head}@10"] < found[row, head], row


# ---- averages --------------------------------------------------------------------------------------------------------

SLIPS: dict[tuple[str, str], str] = {}
"""(exhibit, row) -> the value that a wrong printed average should have had: there is none."""


def test_every_printed_average_is_the_plain_mean_of_its_cells_to_the_last_digit():
    off, count = {}, 0
    for exhibit in SETS:
        found = lookup(exhibit)
        for row in rows(exhibit):
            if (row, "Average") in found:
                count += 1
                computed = rounded(mean(Decimal(found[row, column].value) for column in cells(exhibit)))
                if computed != found[row, "Average"].value:
                    off[exhibit, row] = computed
    assert off == SLIPS
    assert count == 14 + 15 + 14 + 15 + 14 + 15


def test_a_mean_over_data_sets_is_not_what_table_7_prints():
    """Recommendation has three metrics, a relation two: in the printed mean it weighs 3 of 11, not 1 of 5."""
    found = values("SM-T7")
    other = {
        row: rounded(mean(mean(found[row, column] for column in cells("SM-T7", name)) for name in SETS["SM-T7"]))
        for row in (*SYSTEMS, *VARIANTS)
    }
    assert all(other[row] != str(found[row, "Average"]) for row in other)
    assert (other["SciNCL"], other["SPECTER 2.0"], other[MHA]) == ("91.66", "91.42", "91.35")


def test_quoted_numbers_of_scincl_give_the_scidocs_average_of_scirepeval_and_those_of_specter_do_not():
    """Ten numbers that SciMult quotes (two linear, eight reranking) against the average in SciRepEval's Table 2 (v1)."""
    four, seven, v1 = values("SM-T4"), values("SM-T7"), lookup("V1-T2")
    sums = {
        row: mean(
            [
                *(four[row, f"{name}/Linear"] for name in SETS["SM-T4"]),
                *(seven[row, c] for c in cells("SM-T7", *RELATIONS)),
            ]
        )
        for row in ("SciNCL", "SPECTER", "SciBERT", "SPECTER 2.0")
    }
    assert {row: rounded(value) for row, value in sums.items()} == {
        "SciNCL": "90.80", "SPECTER": "88.65", "SciBERT": "64.53", "SPECTER 2.0": "90.65",
    }  # fmt: skip
    assert [v1[row, "SciDocs"].value for row in ("SciNCL", "SPECTER", "SciBERT")] == ["90.8", "89.1", "69.0"]


def test_table_9_follows_from_the_averages_of_five_tables_in_all_20_cells():
    printed = lookup("SM-T9")
    for task, exhibit in TASKS.items():
        found = values(exhibit)
        for variant in VARIANTS[1:]:
            change = 100 * (found[variant, "Average"] / found[VANILLA, "Average"] - 1)
            assert f"{change:+.2f}" == printed[task, variant.removeprefix("SciMult-")].value, (task, variant)
    coarse, base = values("SM-T4"), values("SM-TA4")["Classification (Coarse)", "Vanilla (w/ Hard Negative)"]
    other = [f"{100 * (coarse[variant, 'Average'] / base - 1):+.2f}" for variant in VARIANTS[1:]]
    assert other == ["+1.06", "+0.37", "+1.54", "+0.97"]  # none is printed: Table 9 is of Table 4, not of Table A4


# ---- tables that share a row -----------------------------------------------------------------------------------------

TWICE_DIFFERENT = {
    ("SM-TA4", "Classification (Coarse)"): ("75.51", "75.54"),
    ("SM-TA5", "Classification (Coarse)"): ("76.28", "76.31"),
}
"""The same average of the same model in two tables: as printed there, as printed and recomputed in Table 4."""


def test_ablations_repeat_the_averages_of_the_main_tables_but_for_the_two_coarse_ones():
    differ = {}
    for exhibit, column, row in (
        ("SM-TA4", "Vanilla (w/ Hard Negative)", VANILLA),
        ("SM-TA5", "MHAExpert (w/ Warm-up)", MHA),
    ):
        for task, main in TASKS.items():
            here, there = lookup(exhibit)[task, column], lookup(main)[row, "Average"]
            if here.value != there.value:
                differ[exhibit, task] = (here.value, there.value)
                assert there.value in here.note
    assert differ == TWICE_DIFFERENT
    # rounding the four cells and then their mean moves it by 0.01 at most
    assert all(Decimal(b) - Decimal(a) == Decimal("0.03") for a, b in differ.values())


def test_tables_a6_and_a7_repeat_the_instruction_row_and_a8_the_rows_with_definitions():
    six, seven = values("SM-TA6"), values("SM-T7")
    for relation in RELATIONS:
        assert six[f"{relation} Prediction", "Cite Instruction"] == seven[INSTRUCTION, f"{relation}/MAP"]
    for task in rows("SM-TA7"):
        assert values("SM-TA7")[task, "Cite Instruction"] == values(TASKS[task])[INSTRUCTION, "Average"]
    eight, three = values("SM-TA8"), values("SM-T3")
    for row in ("SPECTER 2.0", MHA):
        for column in cells("SM-T3", *FINE[:2]):
            assert eight[f"{row} (Name+Definition)", column] == three[row, column]


def test_names_and_sources_of_table_6():
    printed, found = lookup("SM-T6"), values("SM-T6")
    assert rows("SM-T6")[0] == "DPR (SciMult-MHAExpert)"
    for p in table("SM-T6"):
        assert ("fine-tuned" in p.note) == ("SciMult" in p.row)
        assert ("leaderboard" in p.note) == ("SciMult" not in p.row)
    lost = {key for key, p in printed.items() if "not in the text at hand" in p.note}
    assert lost == {("SentBERT", f"{PMC[1]}/{metric}") for metric in SUPERVISED}
    assert sum("SciMult" not in row for row, _ in printed) - len(lost) == 44
    for task in PMC:
        for metric in SUPERVISED:
            own = [found[row, f"{task}/{metric}"] for row in rows("SM-T6")]
            assert max(own) == own[0]
            assert own[-1] == min(own)  # SentBERT, in both halves
    sorted_by = {
        task: [m for m in SUPERVISED if _falls([p.number for p in table("SM-T6") if p.column == f"{task}/{m}"])]
        for task in PMC
    }
    assert sorted_by == {PMC[0]: ["P@10"], PMC[1]: ["MRR", "nDCG@10"]}  # no metric orders both halves


def _falls(numbers: list[float]) -> bool:
    return numbers == sorted(numbers, reverse=True)


def test_bold_cells_of_the_text_at_hand_are_the_best_of_their_column():
    bold = [p for exhibit in [*SETS, "SM-T6", "SM-T9"] for p in table(exhibit) if "bold" in p.note]
    assert [(p.row, p.value) for p in bold] == [("SPECTER 2.0", "89.40"), ("DPR (SciMult-MHAExpert)", "83.78")]
    for p in bold:
        assert p.number == max(q.number for q in table(p.exhibit) if q.column == p.column)


# ---- what the text says of the tables --------------------------------------------------------------------------------


def test_c1_two_variants_beat_all_baselines_on_all_four_sets_and_one_is_best_across_domains():
    told = lookup("SM-C1")
    won = {variant: sum(all(beaten("SM-T3", variant, cells("SM-T3", name))) for name in FINE) for variant in VARIANTS}
    assert won == {VANILLA: 2, MHA: 4, FFN: 2, PREFIX: 2, INSTRUCTION: 4}
    assert {row: p.number for (row, _), p in told.items()} == {v: n for v, n in won.items() if n == 4}
    for exhibit in ("SM-T3", "SM-TA3"):
        found = values(exhibit)
        for column in cells(exhibit, *FINE[2:]):
            assert max(VARIANTS, key=lambda v, c=column: found[v, c]) == MHA
        assert {max(SYSTEMS, key=lambda s, c=c: found[s, c]) for c in cells(exhibit)} == {"SPECTER 2.0"}
    without = {v: sum(all(beaten("SM-TA3", v, cells("SM-TA3", name))) for name in FINE) for v in VARIANTS}
    assert without == {VANILLA: 4, MHA: 4, FFN: 3, PREFIX: 2, INSTRUCTION: 3}  # the pair of Table 3 is not that of A3


def test_c3_variants_beat_specter_in_32_of_40_cells_and_rarely_scincl_and_specter_2():
    columns = cells("SM-T7", *RELATIONS)
    wins = {v: len(ahead("SM-T7", v, "SPECTER", columns)) for v in VARIANTS}
    assert wins == {VANILLA: 8, MHA: 8, FFN: 6, PREFIX: 6, INSTRUCTION: 4}
    assert sum(wins.values()) == 32
    assert sum(len(ahead("SM-T7", v, "SciNCL", columns)) for v in VARIANTS) == 5
    assert sum(len(ahead("SM-T7", v, "SPECTER 2.0", columns)) for v in VARIANTS) == 14
    assert sum(sum(beaten("SM-T7", v, columns)) for v in VARIANTS) == 5
    assert [v for v in VARIANTS if all(beaten("SM-T7", v, cells("SM-T7", "Recommendation")))] == [VANILLA, MHA]


def test_c4_all_variants_but_one_beat_all_baselines_on_cross_domain_search_and_on_average():
    told = {column: p.value for (_, column), p in lookup("SM-C4").items()}
    cross = list(dict.fromkeys(p.column for p in table("SM-T8") if p.note == "cross-domain"))
    assert len(cross) == int(told["cross-domain evaluation data sets"])
    winners = [v for v in VARIANTS if all(beaten("SM-T8", v, [*cross, "Average"]))]
    assert winners == [VANILLA, MHA, PREFIX, INSTRUCTION]
    assert len(winners) == int(told["variants that beat all baselines on these and on average"])
    tables = [f"SM-T{n}" for n in told["beat all baselines on average in Tables"].split(", ")]
    for exhibit in tables:
        assert {v for v in VARIANTS if not all(beaten(exhibit, v, ["Average"]))} <= {FFN}
    assert not any(all(beaten("SM-T7", v, ["Average"])) for v in VARIANTS)  # the table that the sentence leaves out
    found = values("SM-T8")
    assert all(found[row, "NFCorpus/nDCG@10"] < found["BM25", "NFCorpus/nDCG@10"] for row in SYSTEMS)
    assert not any(beaten("SM-T8", v, ["SciRepEval-Search/nDCG@10"])[0] for v in VARIANTS)  # in-domain


def test_c5_mha_experts_improve_every_average_but_not_most_cells_of_reranking_and_search():
    nine = values("SM-T9")
    better = {v: sum(nine[task, v.removeprefix("SciMult-")] > 0 for task in TASKS) for v in VARIANTS[1:]}
    assert better == {MHA: 5, FFN: 2, PREFIX: 2, INSTRUCTION: 3}
    up = {task: len(ahead(exhibit, MHA, VANILLA, cells(exhibit))) for task, exhibit in TASKS.items()}
    assert list(up.values()) == [9, 4, 9, 3, 1]
    assert ahead("SM-T8", MHA, VANILLA, cells("SM-T8")) == ["TREC-COVID in BEIR/nDCG@10"]
    assert ahead("SM-T7", MHA, VANILLA, cells("SM-T7")) == ["Cite/MAP", "Cite/nDCG", "Recommendation/nDCG@10"]
    for exhibit, dropped in (("SM-T8", "TREC-COVID in BEIR"), ("SM-T7", "Cite")):  # without one data set the sign turns
        found, left = values(exhibit), [c for c in cells(exhibit) if not c.startswith(f"{dropped}/")]
        assert mean(found[MHA, c] for c in left) < mean(found[VANILLA, c] for c in left)


def test_c6_every_number_of_table_3_falls_without_name_matching_and_the_best_on_cs_changes():
    three, without = values("SM-T3"), values("SM-TA3")
    falls = {key: three[key] - without[key] for key in three}
    assert len(falls) == 182
    assert min(falls.values()) == Decimal("7.56")
    assert set(without) - set(three) == {("BM25", column) for column in [*cells("SM-TA3"), "Average"]}
    for column in cells("SM-T3", "CS-Conference"):
        assert max(VARIANTS, key=lambda v, c=column: three[v, c]) == MHA
        assert max(VARIANTS, key=lambda v, c=column: without[v, c]) == INSTRUCTION
    assert sorted(VARIANTS, key=lambda v: without[v, "CS-Conference/R@20"])[:2] == [VANILLA, MHA]
    assert all(all(beaten("SM-TA3", v, ["Average"])) for v in VARIANTS)


def test_coarse_classification_is_won_on_average_through_the_bi_encoder_alone():
    four = values("SM-T4")
    assert all(all(beaten("SM-T4", v, ["Average"])) for v in VARIANTS)
    linear = {row: mean(four[row, f"{name}/Linear"] for name in SETS["SM-T4"]) for row in (*SYSTEMS, *VARIANTS)}
    assert max(linear, key=linear.__getitem__) == "SPECTER 2.0"
    assert not any(any(beaten("SM-T4", v, [f"{name}/Linear" for name in SETS["SM-T4"]])) for v in VARIANTS)
    single = [row for row in SYSTEMS if row != "SPECTER 2.0"]  # which is the one multi-task model among them
    above = [(v, name) for v in VARIANTS for name in SETS["SM-T4"]
             if four[v, f"{name}/Linear"] > max(four[row, f"{name}/Linear"] for row in single)]  # fmt: skip
    assert len(above) == 6
    assert [v for v in VARIANTS if not beaten("SM-T4", v, ["MeSH Diseases/BiEnc"])[0]] == [FFN, INSTRUCTION]


def test_retrieval_is_won_in_44_of_45_cells():
    lost = [(v, c) for v in VARIANTS for c in cells("SM-T5") if not beaten("SM-T5", v, [c])[0]]
    assert lost == [(VANILLA, "Patient-to-Patient/R@20")]


def test_hard_negatives_help_four_tasks_of_five_though_section_4_7_has_all_and_warm_up_all_five():
    negatives, warm = values("SM-TA4"), values("SM-TA5")
    with_, without = "Vanilla (w/ Hard Negative)", "Vanilla (w/o Hard Negative)"
    assert [t for t in TASKS if negatives[t, with_] < negatives[t, without]] == ["Classification (Coarse)"]
    printed = lookup("SM-TA4")["Classification (Coarse)", without]
    assert "section 4.7" in printed.note
    assert Decimal(printed.value) > max(p for (_, c), p in values("SM-T4").items() if c == "Average")
    gains = [warm[t, "MHAExpert (w/ Warm-up)"] - warm[t, "MHAExpert (w/o Warm-up)"] for t in TASKS]
    assert [str(gain) for gain in gains] == ["2.23", "0.20", "2.87", "0.36", "4.71"]


def test_no_instruction_is_best_for_its_own_kind_of_link():
    found = values("SM-TA6")
    instructions = list(dict.fromkeys(column for _, column in found))
    best = {row: max(instructions, key=lambda i, r=row: found[r, i]) for row in rows("SM-TA6")}
    kind = dict(zip(rows("SM-TA6"), instructions, strict=True))
    assert all(kind[row].split()[0] == row.split()[0] for row in kind)
    assert not [row for row in best if best[row] == kind[row]]
    pairs = [(row, a, b) for row in rows("SM-TA6") for a in instructions[:2] for b in instructions[2:]]
    assert [p for p in pairs if found[p[0], p[1]] > found[p[0], p[2]]] == [
        ("Cite Prediction", "Co-read Instruction", "Cite Instruction")
    ]
    for task, spread in zip(rows("SM-TA7"), ("0.40", "0.04"), strict=True):
        three = [value for (row, _), value in values("SM-TA7").items() if row == task]
        assert str(max(three) - min(three)) == spread


def test_names_alone_of_mha_experts_beat_names_and_definitions_of_specter_2():
    found = values("SM-TA8")
    for column in cells("SM-T3", *FINE[:2]):
        own, theirs = (
            {k: found[f"{m} ({k})", column] for k in ("Name Only", "Name+Definition")} for m in (MHA, "SPECTER 2.0")
        )
        assert theirs["Name Only"] < theirs["Name+Definition"] < own["Name Only"] < own["Name+Definition"]
        assert own["Name+Definition"] - own["Name Only"] > 2 * (theirs["Name+Definition"] - theirs["Name Only"])


def test_numbers_quoted_in_claims_fit_the_tables_of_sizes():
    configuration = {column: p.number for (_, column), p in lookup("SM-C8").items()}
    assert (configuration["GPUs"], configuration["batch size per GPU"]) == (48, 32)
    assert configuration["peak learning rate"] == 3e-4
    assert configuration["variants trained on from SciMult-Vanilla"] == len(VARIANTS) - 1
    pairs = sum(p.number for p in table("SM-TA1") if "Pairs" in p.column)
    steps = configuration["epochs"] * pairs / (48 * 32)
    assert round(steps) == 72_391
    # a warm-up of 5 % of 20 epochs is one epoch
    assert configuration["warm-up, % of the steps"] / 100 * configuration["epochs"] == 1
    assert [p.value for exhibit in ("SM-C2", "SM-C7") for p in table(exhibit)] == ["40.5", "40"]
    assert all(re.search(r"section \d|appendix [A-E]", p.note) for n in (1, 2, 4, 7, 8) for p in table(f"SM-C{n}"))
