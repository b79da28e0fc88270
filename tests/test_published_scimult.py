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
# What it says of the locked cells alone is decided by the checks of slips.toml (test_slips.py).


def test_c1_two_variants_beat_all_baselines_on_all_four_sets():
    won = {variant: sum(all(beaten("SM-T3", variant, cells("SM-T3", name))) for name in FINE) for variant in VARIANTS}
    assert won == {VANILLA: 2, MHA: 4, FFN: 2, PREFIX: 2, INSTRUCTION: 4}
    assert {row: p.number for (row, _), p in lookup("SM-C1").items()} == {v: n for v, n in won.items() if n == 4}


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


def test_what_contradicts_section_4_7_has_a_note_that_says_so():
    assert "section 4.7" in lookup("SM-TA4")["Classification (Coarse)", "Vanilla (w/o Hard Negative)"].note


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
