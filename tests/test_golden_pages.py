"""Chapters in the new form, run in this process: what stands open on the page is `tests/golden/`, and it follows its numbers.

A page's open text holds printed numbers and ours of real papers, which no machine changes; what is folded is left out. Other
numbers, printed or recorded, change sentences and verdicts: how, line by line, is `tests/golden/changed/`.
After a change that is meant: `make golden`, and read the diff.
"""

from __future__ import annotations

import ast
import html
import itertools
import json
import os
import re
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from difflib import SequenceMatcher
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, NamedTuple

import matplotlib.pyplot as plt
import numpy as np
import pytest
import small_studies as small
from bs4 import BeautifulSoup
from matplotlib.figure import Figure
from small_files import mirrored

from scirep_core import results
from scirep_core.bench import stand_ins
from scirep_core.bench.studies import codes
from scirep_core.bench.studies.outcome import over_seeds
from scirep_core.bench.studies.tables import OPEN_TABLE_3
from scirep_core.data import load_task
from scirep_core.data.sources import embedded_root, ensure, literature
from scirep_core.kit.errors import ConfigError
from scirep_core.page import chapter as chapter_
from scirep_core.page.chapter import Chapter
from scirep_core.page.papers import scimult
from scirep_core.page.widgets.common import Explorer
from scirep_core.results import Result, published, read_results

ROOT = Path(__file__).resolve().parent.parent
GOLDEN = Path(__file__).parent / "golden"
PAGES: dict[str, dict[str, Any]] = {
    "csfcube/agreement": {"papers": 300, "resamples": 100},
    "csfcube/baselines": {"papers": 300, "resamples": 100, "encoders": "fabs_tfidf,fabs_bm25"},
    "csfcube/collection": {"papers": 300},
    "csfcube/errors": {"papers": 300, "resamples": 100, "encoders": "fabs_tfidf,fabs_bm25"},
    "scirepeval/tasks": {"papers": 400},
    "scirepeval/baselines": {"papers": 300, "encoders": "bm25"},
    "scirepeval/efficiency": {"papers": 300, "batch": 2, "repeats": 1},
    "scirepeval/citation_recommendation": {"papers": 300, "encoders": "tfidf"},
    "scirepeval/multi_format": {"papers": 300},
    "scimult/tasks": {"papers": 400},
    "scimult/search": {"papers": 300},
    "scirepeval/your_encoder": {"papers": 300, "encoder": "tfidf", "tasks": "scirepeval/same_author"},
    "beyond/leaderboard": {},
    "beyond/literature": {"papers": 300},
    "beyond/own_paper": {"papers": 300},
    "beyond/slips": {},
    "neighbours/embedding_space": {"papers": 300, "queries": 12, "encoders": "lsa", "tools": "fallback"},
    "neighbours/overlap": {"papers": 300, "queries": 12, "encoders": "lsa", "tools": "fallback"},
    "scirepeval/author_disambiguation": {"papers": 500, "encoders": "tfidf"},
    "neighbours/retrieval": {"papers": 300, "queries": 12, "encoders": "lsa", "tools": "fallback"},
    "neighbours/collections": {"papers": 300},
    "neighbours/perturbations": {"papers": 300, "queries": 12, "encoders": "lsa", "tools": "fallback"},
    "neighbours/short_queries": {"papers": 300, "encoders": "lsa", "tools": "fallback"},
    "scimult/link_prediction": {"papers": 300, "data": "real", "encoders": "tfidf,bm25"},
    "scimult/classification": {"papers": 300, "encoders": "tfidf,bm25"},
    "scimult/training": {"papers": 300, "steps": 2},
    "scimult/interference": {"papers": 300, "steps": 2},
    "scirepeval/affinity": {"papers": 300, "steps": 0},
    "scirepeval/aspects": {"papers": 300, "encoders": "tfidf"},
    "scirepeval/correlations": {"papers": 300, "encoders": "bm25"},
    "scirepeval/specialisation": {"papers": 300, "variants": "MTL CLS"},
}
"""Chapters, and parameters that make them quick."""


ENDS = ("p", "tr", "dd", "caption", "figcaption", "summary", "title")


def opened(page: str) -> list[str]:
    """Return the lines of a page that are seen before anything is clicked; a drawing is its title."""
    soup = BeautifulSoup(page, "html.parser")
    for one in soup.select("details"):
        one.replace_with(" ")
    for one in soup.select("svg"):
        one.replace_with(f"{one.title.get_text() if one.title else ''}\n")
    for one in soup.find_all(True):
        if not one.is_empty_element:
            one.append("\n" if one.name in ENDS else " ")
    return [line for one in soup.get_text().splitlines() if (line := " ".join(one.split()))]


def executed(source: str, name: str, names: dict[str, Any]) -> Any:
    """Run a cell and return the value it ends in, None for a statement."""
    tree = ast.parse(source)
    last = ast.Expression(tree.body.pop().value) if tree.body and isinstance(tree.body[-1], ast.Expr) else None  # type: ignore[attr-defined]
    exec(compile(tree, name, "exec"), names)
    return eval(compile(last, name, "eval"), names) if last else None


def titled(figure: Figure, name: str, alt: str) -> str:
    """Stand for a drawing by its title: the built book draws them all."""
    plt.close(figure)
    return f"<svg><title>{html.escape(alt)}</title></svg>"


@pytest.fixture
def page(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Callable[..., list[str]]:
    """Run a chapter's cells here, with some parameters, and return its open lines; `run.live` stands for its trainings."""

    def run(name: str, **parameters: Any) -> list[str]:
        shown: list[str] = []
        monkeypatch.setenv("SCIREP_CHAPTER_DIR", str(tmp_path / "chapter"))
        monkeypatch.setattr(Chapter, "show", lambda self, *parts: shown.extend(parts))  # folded parts too
        monkeypatch.setattr(chapter_, "svg", titled)
        monkeypatch.setattr(scimult, "live", lambda chapter, variants=(): [])  # trains minutes; is folded
        monkeypatch.setattr("scirep_core.page.study.live", run.live)  # type: ignore[attr-defined]  # so does this
        for timed in ("efficiency.measure", "race.race"):  # times are folded, and of this machine
            monkeypatch.setattr(f"scirep_core.bench.speed.{timed}", lambda *given, **changes: [])
        small = ("tfidf_200", "tfidf_1000", "lsa_16", "lsa_64")  # the others encode every text of 26 tasks
        monkeypatch.setattr(stand_ins, "SYSTEMS", {name: stand_ins.SYSTEMS[name] for name in small})
        names: dict[str, Any] = {"__name__": "__main__"}
        for cell in json.loads((ROOT / "notebooks" / f"{name}.ipynb").read_text(encoding="utf-8"))["cells"]:
            if cell["cell_type"] == "code":
                last = executed("".join(cell["source"]), f"{name}, {cell['id']}", names)
                place = f"{name}, {cell['id']}"
                assert last is None or isinstance(last, Explorer), f"{place}: ends in a value, which Jupyter prints"
                names |= parameters if "parameters" in cell["metadata"].get("tags", []) else {}
        return opened("\n".join(shown))

    run.live = lambda chapter, *given, **changes: []  # type: ignore[attr-defined]
    return run


def kept(name: str, lines: list[str]) -> list[str]:
    """Return the lines of a golden file, written anew where that is asked for."""
    path = GOLDEN / f"{name}.txt"
    if os.environ.get("SCIREP_GOLDEN") == "write":
        path.parent.mkdir(exist_ok=True)
        path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path.read_text(encoding="utf-8").splitlines()


@pytest.mark.slow
@pytest.mark.parametrize("name", [
    pytest.param(name, marks=[mirrored("open", "scimult", "scirepeval")] * (given.get("data") == "real"))
    for name, given in PAGES.items()
])  # fmt: skip
def test_what_stands_open_is_the_golden_page(name: str, page: Callable[..., list[str]]) -> None:
    lines = page(name, **PAGES[name])
    assert lines == kept(name.replace("/", "-"), lines)


def test_methods_that_are_named_are_trained_live(page: Any) -> None:
    class Asked(Exception):
        """What a chapter would train; what it says of it is not made."""

    def live(chapter: Chapter, *given: Any, **changes: Any) -> list[Result]:
        raise Asked(*given)

    page.live = live
    for name, asked in (
        ("scirepeval/multi_format", ("main", ["Base", "PALs"])),
        ("scirepeval/specialisation", ("cross", ["PALs"])),
    ):
        with pytest.raises(Asked) as trained:
            page(name, **PAGES[name] | {"variants": "PALs", "seeds": 2})
        assert trained.value.args == (*asked, range(2)), name


@pytest.mark.parametrize("part", sorted({name.partition("/")[0] for name in PAGES}))
def test_what_a_part_says_it_finds_has_its_numbers_on_a_chapter(part: str) -> None:
    """Numbers of two digits or more; a chapter may give more decimals."""
    text = (ROOT / "book" / part / "index.md").read_text(encoding="utf-8")
    number = re.compile(r"(?<![\w.])\d[\d,]*(?:\.\d+)?(?![\w])")
    texts = [path.read_text() for path in GOLDEN.glob(f"{part}-*.txt")]
    shown = {float(one.replace(",", "")) for text in texts for one in number.findall(text)}
    for one in number.findall(text.partition("**What we find.**")[2].partition("**Why")[0]):
        value, decimals = float(one.replace(",", "")), len(one.partition(".")[2])
        near = {round(other, decimals) for other in shown}
        assert len(one) == 1 or value in near, f"{one} stands on no chapter of {part}"


@pytest.fixture
def follows(page: Callable[..., list[str]], request: pytest.FixtureRequest, tmp_path: Path) -> Callable[..., None]:
    """Run a chapter whose numbers a test has changed: in what its page differs from the golden one is `golden/changed/`."""
    runs = itertools.count(1)

    def run(name: str, case: str = request.node.name.removeprefix("test_"), **parameters: Any) -> None:
        before = (GOLDEN / f"{name.replace('/', '-')}.txt").read_text(encoding="utf-8").splitlines()
        after = [line.replace(str(tmp_path), "FOLDER") for line in page(name, **PAGES[name] | parameters)]
        differs = [
            f"{sign} {line}"
            for tag, *at in SequenceMatcher(None, before, after, autojunk=False).get_opcodes()
            if tag != "equal"
            for sign, some in (("-", before[at[0] : at[1]]), ("+", after[at[2] : at[3]]))
            for line in some
        ]
        stem = re.sub(r"\W+", "-", case).strip("-")
        assert differs and differs == kept(f"changed/{stem}-{next(runs)}", differs)

    return run


Prints = dict[tuple[str, str], str]
BLOCKS = ("results.published", "page.blocks", "page.rows", "page.claims", "page.papers.scimult", "page.study")


def reprint(monkeypatch: pytest.MonkeyPatch, modules: tuple[str, ...] = BLOCKS, **changes: Prints) -> None:
    """Print other numbers: exhibit -> {(row, column): value}."""
    before = published.lookup

    def lookup(exhibit: str) -> dict[tuple[str, str], published.Printed]:
        new = changes.get(exhibit.replace("-", "_"), {})
        return {key: one._replace(value=new.get(key, one.value)) for key, one in before(exhibit).items()}

    for module in modules:
        monkeypatch.setattr(f"scirep_core.{module}.lookup", lookup)


def changed(monkeypatch: pytest.MonkeyPatch, change: Callable[[Any], Any], module: Any = chapter_) -> None:
    """Record other rows, for the chapter's blocks or (`results`) its cells: each as `change` makes it, None for none."""
    before = module.recorded
    monkeypatch.setattr(module, "recorded", lambda *names: [new for row in before(*names) if (new := change(row))])


def nothing(row: Any) -> None:
    """No row is recorded."""


Numbers = tuple[float, ...]
"""Value, or value, low and high."""
Rules = list[tuple[dict[str, str], Numbers]]
"""Patterns of a row's fields -> its numbers, () for those it has; the first rule that fits."""


def by(rules: Rules) -> Callable[[Any], Any]:
    """Return the change that rules make to a row."""

    def change(row: Any) -> Any:
        for where, numbers in rules:
            if all(fnmatchcase(str(getattr(row, name)), pattern) for name, pattern in where.items()):
                return replace(row, **dict(zip(("value", "low", "high"), map(float, numbers), strict=False)))
        return row

    return change


class Case(NamedTuple):
    """A chapter with other printed and other recorded numbers; with `none` once more, without recorded rows.

    `module` is whose recorded rows these are: the blocks' unless it is `results`, the cells'.
    """

    chapter: str
    prints: dict[str, Prints] = {}  # noqa: RUF012
    change: Callable[[Any], Any] = lambda row: row
    none: bool = False
    module: Any = chapter_


ENSEMBLE = "SPECTER2 Adapters + MTL CTRL/MAP"
EXEMPT = ("Computer Science", "Biology", "Medicine")
FINE = [column for line, column in published.lookup("SM-T3") if line == "SciMult-Prefix" and "/" in column]
T10, MDCR, T7, T3, TA8 = (published.lookup(name) for name in ("V2-T10", "SR-MDCR", "SM-T7", "TN-T3", "SM-TA8"))
BFLOAT = {"encoder": "minilm:bfloat16"}
CASES = {
    "the_claim_of_appendix_e_would_hold_if_the_table_said_so": Case("scirepeval/citation_recommendation", {
        "V2_T10": {("Geology", ENSEMBLE): "1.0", ("History", ENSEMBLE): "1.0"}}),
    "the_finding_that_scirepeval_quotes_would_hold_if_scincl_were_weaker": Case("scirepeval/citation_recommendation", {
        "SR_MDCR": {(field, column): f"{T10[field, f'BM25/{column[-3:]}'].number + (1 if field in EXEMPT else -1):.1f}"
                    for field, column in MDCR if field != "Avg"}},
        by([({"encoder": "minilm - bm25"}, (-5, -6, -4))])),
    "agreement_is_said_as_the_ratings_have_it": Case("csfcube/agreement", {
        "CS_T2": {("method", "pre/spearman"): "0.99"},
        "CS_C3": {("adjudicator over-rules both", "mean per query"): "5-6"}}),
    "retrieval_is_said_as_the_recorded_rows_and_the_printed_bounds_have_it": Case("neighbours/retrieval", {
        "TN_C7": {("SPECTER", "NN1_Ret below, two types"): "50"}},
        by([(BFLOAT | {"split": "T_A_WS", "metric": "nn1_ret"}, (4, 3.5, 4.5))])),
    "without_recorded_rows_retrieval_says_nothing_of_real_papers": Case("neighbours/retrieval", change=nothing),
    "short_queries_are_said_as_the_printed_and_the_recorded_numbers_have_them": Case("neighbours/short_queries", {
        "TN_T3": {(one, "Task II/OAG-BERT/T100"): "20.0" for one, _ in T3},
        "TN_T9": {("ACL-ANTH", "standardised/SPECTER/T100"): "98.0"}},
        by([({"metric": "pieces of abstracts taken for titles, %"}, (20, 18, 22)),
            ({"encoder": "lsa", "split": "task-I", "metric": "mrr, 0 to 1, at the printed size"}, (0.1, 0.08, 0.12)),
            ({"encoder": "lsa", "split": "task-I", "metric": "t100, at the printed size"}, (60, 57, 63))])),
    "changes_are_sorted_as_the_print_and_the_recorded_words_have_it": Case("neighbours/perturbations", {
        "TN_T1": {("T_ADelADV", "category"): "LO-HS", ("T_ARot", "category"): "LO-DS"}},
        by([({"metric": "words_kept", "split": "T_ADelVB"}, (60, 59, 61)),
            ({"metric": "intact", "split": "T_A_WS literal"}, (97, 95, 99))])),
    "collections_are_said_as_they_are_counted": Case("neighbours/collections", {
        "TN_T2": {("ICLR", "#Papers"): "3519"}}, by([({"metric": "abstracts under 3 sentences, %"}, (2,))])),
    "baselines_are_said_as_the_print_and_the_recorded_rows_have_them": Case("csfcube/baselines", {
        "CS_T4": {("SPECTER", "method/ndcg%20"): "99", ("fabs_bm25", "all/r_precision_published"): "50",
                  ("SentBERT-PP", "all/p@20"): "1.00"}},
        by([({"task": "csfcube/all", "metric": "difference of ndcg%20", "encoder": "minilm_sentences - minilm*"}, (4, 3, 5)),
            ({"metric": "p of the difference of ndcg%20", "encoder": "minilm_sentences - minilm*"}, (0.001,)),
            ({"task": "csfcube/method", "metric": "ndcg%20", "encoder": "fabs_bm25"}, (99, 98, 100))])),
    "the_collection_is_said_as_its_files_have_it": Case("csfcube/collection", {
        "CS_C1": {("cited rated 0 or 1", "method"): "12"}}, by([({"metric": "rated 3 and 3"}, (500,))])),
    "failures_are_said_as_the_recorded_ranks_and_rates_have_them": Case("csfcube/errors", {}, by([
        ({"metric": "rank of 40151482"}, (3,)),  # a false negative that every system finds
        ({"metric": "false positives", "task": "csfcube/background"}, (70, 60, 80)),
        ({"metric": "Holm p*"}, (0.9,))]), none=True),
    "overlap_is_said_as_the_print_and_the_recorded_rows_have_it": Case("neighbours/overlap", {
        "TN_T4": {("ICLR", "LL-PS/SciBERT"): "20.0", ("ACL-ANTH", "LL-PS/SPECTER"): "68.0"},
        "TN_T5": {("SciBERT", "LL-HS"): "74.0", ("SPECTER", "LL-PS"): "60.0", ("OAG-BERT", "LO-DS"): "30"}},
        by([(BFLOAT | {"metric": "difference of aop@10", "split": "LO-HS - LL-PS"}, (-2, -3, -1))])),
    "without_recorded_rows_overlap_says_nothing_of_real_papers": Case("neighbours/overlap", change=nothing),
    "the_embedding_space_is_said_as_the_recorded_rows_and_the_printed_bounds_have_it": Case("neighbours/embedding_space", {
        "TN_C4": {("all models", "mean similarity above"): "0.2"}},
        by([(BFLOAT | {"metric": "share moved by squeezing"}, (7,)),
            (BFLOAT | {"metric": "difference of inter_mean", "split": "T_ARot - T+A"}, (0.3, 0.29, 0.31))])),
    "without_recorded_rows_the_embedding_space_says_nothing_of_real_papers": Case("neighbours/embedding_space", change=nothing),
    "other_sizes_and_totals_would_be_said_otherwise": Case("scirepeval/tasks", {
        "V2_T1": {("S2AND", "clusters"): "1000", ("SciDocs MAG", "test"): "25003", ("SciDocs MeSH Diseases", "test"): "23540"},
        "SR_HUB": {("Fields of study (FoS)", "test"): "471", ("Search", "train queries"): "528k", ("SciDocs MAG", "test"): "25k",
                   ("SciDocs MeSH Diseases", "test"): "23.5k", ("h-Index of Authors", "test"): "8.4k"},
        "V1_C7": {("multi-format training", "training instances, millions"): "3.6"}}),
    "systems_are_said_to_differ_as_the_recorded_intervals_have_it": Case("scirepeval/your_encoder", {}, by([
        ({"task": "sample/s2and"}, ()), ({"metric": "difference*", "task": "sample/fos"}, (-5, -6, -4)),
        ({"metric": "difference*"}, (5, 4, 6))]), none=True),
    "searches_are_said_as_the_print_and_the_recorded_rows_have_them": Case("scimult/search", {
        "SM_T8": {("SciMult-FFNExpert", "SciRepEval-Search/nDCG@10"): "79.00", ("SPECTER 2.0", "Average"): "66.00",
                  ("SciNCL", "NFCorpus/nDCG@10"): "31.00"}},
        lambda row: replace(row, value=row.value + 1) if (row.metric, row.encoder) == ("ndcg@10 (ties for)", "bm25")
        else by([({"task": "sample/search", "encoder": "minilm - bm25"}, (5, 4, 6)),
                 ({"task": "sample/scifact", "encoder": "random"}, (60,))])(row), none=True),
    "table_2_is_said_as_the_print_and_the_recorded_rows_have_it": Case("scirepeval/baselines", {
        "V2_T2": {("SPECTER", "Average"): "66.0", ("MPNet", "In-Train"): "52.0"},
        "V2_C8": {("SPECTER2 Base", "papers of which titles alone are read, percent"): "7"}},
        by([({"task": "sample/search", "against": "with abstracts"}, (-3, -4, -2)),
            ({"task": "open/cacm_links", "source": "open", "encoder": "minilm - bm25"}, (-3, -4, 1)),
            ({"source": "open", "encoder": "minilm - bm25"}, (-3, -4, -2))]), none=True),
    "labels_are_said_as_the_print_and_the_recorded_rows_have_them": Case("scimult/classification", {
        "SM_T3": {("SciMult-Prefix", column): "99.00" for column in FINE},
        "SM_TA3": {("BioLinkBERT", column): "10.00" for column in FINE},
        "SM_TA8": {("SciMult-MHAExpert (Name Only)", column): "1.00" for _, column in TA8}},
        by([({"encoder": "minilm - bm25", "metric": "difference of recall@20"}, (9, 8, 10)),
            ({"task": "labels/all of MeSH", "encoder": "tfidf", "metric": "*_name_match"}, (1, 0.5, 1.5))]), none=True),
    "sentences_are_said_to_help_as_the_print_and_the_recorded_rows_have_it": Case("scirepeval/aspects", {
        "V2_T7": {("SPECTER2 MTL CTRL", "In-Train"): "60.0", ("SPECTER2 Adapters", "Average"): "90.0"}},
        by([({"task": task, "encoder": "* - minilm"}, (3, 2, 4)) for task in ("sample/same_author", "csfcube/all")]), none=True),
    "the_claim_on_four_tasks_is_said_as_the_table_has_it": Case("scirepeval/correlations", {
        "V2_C2": {("four tasks of SciDocs", "correlation over models"): "0.2"},
        "SM_T7": {(line, column): T7[line, f"Cite/{column.partition('/')[2]}"].value for line, column in T7
                  if column.partition("/")[0] in ("Co-read", "Co-cite")}}),
    "costs_are_said_as_the_print_and_the_measured_times_have_them": Case("scirepeval/efficiency", {
        "V2_T4": {("PALs", "Parameters per Task Form"): "3M", ("Adapters", "Training Time"): "0.50x"}},
        by([({"encoder": "Adapters", "metric": "inference_time"}, (1.2, 1.1, 1.3))]), module=results),
    "the_simulation_is_held_against_real_papers_as_the_recorded_rows_have_them": Case("beyond/literature", {}, by([
        ({"source": "embedded", "encoder": "minilm - tfidf", "task": "scirepeval/mesh_descriptors"}, (12, 9, 15)),
        ({"source": "embedded", "encoder": "minilm - tfidf", "task": "scirepeval/search"}, (-9, -12, -5))]), module=results),
}  # fmt: skip
"""What `golden/changed/` is called -> what is changed."""


@pytest.mark.parametrize("case", CASES)
def test_a_page_follows_its_printed_and_recorded_numbers(case: str, follows, monkeypatch) -> None:
    of = CASES[case]
    reprint(monkeypatch, **of.prints)
    for change in (of.change, nothing)[: 1 + of.none]:
        changed(monkeypatch, change, of.module)
        follows(of.chapter, case)


def test_a_slip_that_is_mended_leaves_its_card_and_the_counts(follows, monkeypatch) -> None:
    mended = {("SentBERT-NLI", "method/r@20"): "28.98", ("fabs_bm25", "all/r_precision_published"): "23.18"}
    reprint(monkeypatch, ("results.slips", "results.published"), CS_T4=mended)
    follows("beyond/slips")


def test_a_first_place_is_clear_where_its_paired_difference_is_above_0(follows, monkeypatch) -> None:
    from scirep_core.bench import leaderboard

    collected = leaderboard.collect
    lead = by([({"task": "sample/cite_count", "of_systems": "True"}, (-2, -3, -1))])

    def wide(row: leaderboard.Row) -> leaderboard.Row:
        chosen = row.cell[:3] == ("csfcube/all", "ndcg%20", "test") and row.what == "score" and row.low is not None
        return row._replace(low=row.value - 50, high=row.value + 50) if chosen else row

    def collect(profile: str) -> leaderboard.Board:
        board = collected(profile)
        origins = {row: board.origins[row] for row in board.rows}
        rows = {wide(row): lead(one) if isinstance(one, Result) else one for row, one in origins.items()}
        return leaderboard.Board(sorted(rows, key=leaderboard._order), rows, board.left)

    monkeypatch.setattr(leaderboard, "collect", collect)
    follows("beyond/leaderboard")


def trained(monkeypatch: pytest.MonkeyPatch, name: str, rows: list[Result]) -> None:
    """Record trainings of a study on the open literature."""
    from scirep_core.page import study

    before = study.recorded
    opened = [replace(row, source="open", task=row.task.replace("scirepeval", "open")) for row in rows]
    monkeypatch.setattr(study, "recorded", lambda one, source="": (
        (opened if source in ("", "open") else []) + ([] if source == "open" else before(one, source))
        if one == name else before(one, source)))  # fmt: skip


@pytest.mark.parametrize("seeds", [1, 3])
def test_several_vectors_are_said_as_the_print_and_the_trainings_on_real_papers_have_them(
    seeds, follows, monkeypatch
) -> None:
    name = "scirepeval/multi_format"
    reprint(monkeypatch, V2_C4={("several embeddings over MTL CLS", "points, least"): "0.9"},
            V2_T2={("SPECTER2 Fusion", "Average"): "69.0"})  # fmt: skip
    centres = {"Base": 49.0, "MTL CLS": 50.0, "MTL CTRL": 53.0, "Adapters": 50.0}
    trained(monkeypatch, "main", small.made("main", small.scattered(centres), range(seeds), variants=tuple(centres)))
    follows(name)


@pytest.mark.parametrize("exclude_self", [False, True])
def test_both_readings_of_nearest_are_measured_and_differ_one_way(exclude_self, page, tmp_path) -> None:
    lines = page("neighbours/overlap", **PAGES["neighbours/overlap"] | {"exclude_self": exclude_self})
    assert any("MiniLM" in line for line in lines) != exclude_self  # what is recorded is of the other reading
    rows = read_results(tmp_path / "chapter" / "rows.jsonl")
    assert len({row.id for row in rows}) == len(rows) > 200
    by = {(row.metric, row.split): row for row in rows if row.encoder == "lsa"}
    chosen, other = by["aop@10", "LL-PS"], by[f"aop@10_{'with_self' if exclude_self else 'without_self'}", "LL-PS"]
    # counted words keep their neighbours
    assert (chosen.value, other.value) == ((90, 100) if exclude_self else (100, 90))
    costs = [row.value for (metric, _), row in by.items() if metric.endswith("without_self and with_self")]
    assert len(costs) == 10 and max(costs) < 0
    whole, fifth = (by["difference of aop@10", f"{split}, literal - {split}"] for split in ("LL-HS", "T_A_WS"))
    assert fifth.value < 0 and whole.value == pytest.approx(fifth.value / 5)


def test_citations_of_citations_and_training_instances_are_those_of_the_data(page, tmp_path) -> None:
    page("scirepeval/tasks", **PAGES["scirepeval/tasks"])
    rows = {(row.task, row.metric): row for row in read_results(tmp_path / "chapter" / "rows.jsonl")}
    task, of = load_task("scirepeval/scidocs_cite", "embedded", 400), literature(400, 0)
    place = {of.paper_id(i): i for i in range(len(of))}
    cites = np.zeros((len(of), len(of)), dtype=int)
    for i in range(len(of)):
        cites[i, of.cites.of(i)] = 1
    linked = {(True, False): "cited", (True, True): "cited, and second hand", (False, True): "second hand alone"}
    beyond, tally = cites @ cites > 0, Counter()
    for pair in task.payload.rows:
        at = place[pair.query_id], place[pair.cand_id]
        tally["positive" if pair.score else "negative", linked.get((bool(cites[at]), bool(beyond[at])), "neither")] += 1
    for grade, kind in itertools.product(("positive", "negative"), (*linked.values(), "neither")):
        total = sum(count for (of_grade, _), count in tally.items() if of_grade == grade)
        assert rows[task.name, f"{grade} pairs, {kind}, %"].value == pytest.approx(100 * tally[grade, kind] / total)
    assert tally["negative", "second hand alone"] > 0 == tally["positive", "neither"]
    triplets = rows["scirepeval/cite_prediction", "training instances"]
    searches = rows["scirepeval/search", "training instances"]
    assert triplets.value == triplets.n and searches.n < searches.value <= 5 * searches.n
    assert rows["scirepeval/fos", "test"].value < rows["scirepeval/fos", "train"].value  # gold alone
    assert rows["scirepeval/drsm", "test silver"].value > 0 and rows["scirepeval/drsm", "test gold"].value > 0


def test_authors_are_said_as_the_print_and_the_recorded_rows_have_them(follows, monkeypatch) -> None:
    name = "scirepeval/author_disambiguation"
    reprint(monkeypatch, V2_T1={("S2AND", "clusters"): "10942", ("S2AND", "signatures"): "68968"})
    lows = {"random": 50, "tfidf": 52, "minilm": 40, "*": 0}
    changed(monkeypatch, by([({"encoder": one}, (low + 5, low, 99)) for one, low in lows.items()]), results)
    follows(name)
    added = by([({"metric": "b3_f1 - b3_f1_metadata", "split": "test", "encoder": "minilm"}, (-2, -3, -1))])
    changed(monkeypatch, lambda row: replace(added(row), source="real"))  # as if the recorded run were of real papers
    follows(name)


def test_authors_need_blocks_to_learn_from(page, monkeypatch) -> None:
    before = Chapter.task

    def few(self: Chapter, name: str) -> Any:
        task = before(self, name)
        return replace(task, payload=replace(task.payload, rows=task.payload.rows[:3]))

    monkeypatch.setattr(Chapter, "task", few)
    with pytest.raises(ConfigError, match="no collection of S2AND has 10 blocks here"):
        page("scirepeval/author_disambiguation", papers=300, encoders="tfidf")


def test_what_scimult_trains_on_is_said_as_the_print_and_the_recorded_rows_have_it(follows, monkeypatch) -> None:
    sets = "MAPLE {CS-Journal, Biology-MeSH, Medicine-MeSH, Coarse}"
    reprint(monkeypatch, V2_T1={("Search", "queries"): "2637"}, SM_T2={("Classification", "Pre-training"): sets})
    changed(monkeypatch, by([({}, (77,))]), results)
    follows("scimult/tasks")
    changed(monkeypatch, nothing, results)
    changed(monkeypatch, nothing)
    follows("scimult/tasks")


def test_links_are_said_as_the_print_and_the_recorded_rows_have_them(follows, monkeypatch, tmp_path) -> None:
    scidocs = [column for row, column in T7 if row == "SciMult-Prefix" and "/" in column][:8]
    reprint(
        monkeypatch,
        SM_T7={("SPECTER", column): "99.9" for column in scidocs} | {("Kanakia et al. (2019)", "Recommendation/nDCG"): "93.33"},
        SM_T5={("BM25", "Cite/R@20"): "99.00"},
        SM_TA6={("Cite Prediction", "Cite Instruction"): "99.00"},
        V1_T2={("SPECTER", "SciDocs"): "99.3"},
    )  # fmt: skip

    def change(row: Any) -> Any:
        if row.task == "sample/cite_prediction" and row.encoder == "minilm - bm25":
            return replace(row, low=-1.0)
        return replace(row, low=50.0, high=99.0) if row.metric.endswith("queries at random") else row

    for one in (change, nothing):
        changed(monkeypatch, one)
        follows("scimult/link_prediction", data=str(tmp_path))


def test_links_are_found_in_the_published_files_where_they_lie(page, tmp_path) -> None:
    files = str(ensure(embedded_root(300, 0), "scimult", 300, 0))
    page("scimult/link_prediction", papers=300, data=files, encoders="tfidf")
    stored = read_results(tmp_path / "chapter" / "rows.jsonl")
    others = ("print", "embedded", "open", "real")
    rows = {(row.task, row.metric): row for row in stored if row.source not in others}
    assert {task for task, _ in rows} == {f"scimult/{name}" for name in ("cite", "cocite", "pmc_par", "pmc_ppr")}
    assert rows["scimult/cite", "own paper found first, %"].value == 100
    assert rows["scimult/cite", "difference of recall@20, own paper dropped, kept"].value >= 0


def records(monkeypatch: pytest.MonkeyPatch, name: str, rows: list[Result]) -> None:
    """Record a study on the open literature, and no other."""
    found = {(name, "open"): rows}
    monkeypatch.setattr("scirep_core.page.study.recorded", lambda of, source="": found.get((of, source), []))


def trains(monkeypatch: pytest.MonkeyPatch, name: str, value: Callable[[str, int], float], seeds: int = 3) -> None:
    """Record one of SciMult's studies on the open literature, by line and seed, and no other."""
    from small_scimult import made

    there: dict[tuple[str, str], tuple[str, str]] = {}
    for table, places in scimult.OPEN.items():
        there |= dict(zip(scimult.TABLES[table], places, strict=False))
    rows = made(name, lambda line, column, seed: value(line, seed), range(seeds))
    real = [replace(row, task=there[key][0], metric=there[key][1], source="open")
            for row in rows if (key := (row.task, row.metric)) in there]  # fmt: skip
    records(monkeypatch, name, real)


def test_training_choices_are_said_as_the_print_and_the_recorded_trainings_have_them(follows, monkeypatch) -> None:
    less = ("SciMult Vanilla without label negatives", "SciMult MHAExpert from the start")
    reprint(monkeypatch, SM_TA4={("Classification (Coarse)", "Vanilla (w/o Hard Negative)"): "70.00"})
    trains(monkeypatch, "scimult-choices", lambda line, seed: 50 + (0.1 * seed - 1) * (line in less))
    follows("scimult/training")
    trains(monkeypatch, "scimult-choices", lambda line, seed: 50 + (line in less), 1)
    follows("scimult/training")


def test_interference_is_said_as_the_print_and_the_recorded_trainings_have_it(follows, monkeypatch) -> None:
    mha = "SciMult MHAExpert"
    reprint(monkeypatch, SM_T7={("SciMult-MHAExpert", "Average"): "90.00"}, SM_T9={("Search", "Prefix"): "+9.99"})
    trains(monkeypatch, "scimult", lambda line, seed: 50 + (0.1 * seed - 1) * (line == mha))
    follows("scimult/interference")
    trains(monkeypatch, "scimult", lambda line, seed: 50 + (line == mha), 1)
    follows("scimult/interference")


def test_formats_are_said_to_help_as_the_print_and_the_trainings_have_it(follows, monkeypatch) -> None:
    prints = {("PRX", "In-Train/PRX"): "60.0", ("RGN+PRX", "All/Avg"): "75.0", ("CLF", "In-Train/Avg"): "51.3"}
    reprint(monkeypatch, V2_T11=prints)
    rng = np.random.default_rng(0)
    rows = [
        Result("scirepeval", split, "average", "paper", 50 - 5 * (run != "MTL CTRL") + rng.normal(0, 0.1), 15, source="open",
               data_hash="x", encoder=f"{run}, seed {seed}", parameters={"training_seed": seed})
        for run in ("MTL CTRL", "MTL CTRL on PRX", "MTL CTRL on CLF") for seed in range(3)
        for split in ("in-train/PRX", "in-train/CLF")
    ]  # fmt: skip
    once = [row for row in rows if row.encoder.endswith("seed 0")]
    wide = lambda row: replace(row, low=-1.0) if row.metric == "cosine, hard minus same" else row  # noqa: E731
    for some, change in ((rows, wide), (once, nothing)):
        records(monkeypatch, "affinity", [*some, *over_seeds(some)])
        changed(monkeypatch, change)
        follows("scirepeval/affinity")


@pytest.mark.parametrize("seeds", [1, 3])
def test_codes_are_said_as_the_print_and_the_trainings_on_real_papers_have_them(seeds, follows, monkeypatch) -> None:
    name = "scirepeval/specialisation"
    reprint(monkeypatch, V2_T3={("out-of-train/Proximity", "PRX"): "45.3", ("in-train/Regression", "CLF"): "60.0"},
            V1_C2={("in-train/Classification", "gain"): "1.0"})  # fmt: skip

    def score(variant: str, task: str, code: str, seed: int) -> float:
        own = code == codes.own_code(task) if codes.part_of(task) == "in-train" else code == "CLF"
        return 50 + 4.0 * own + small.wobble(seed) * (1 if own else 0.5)

    trained(monkeypatch, "cross", small.coded(["MTL CTRL"], score, seeds, OPEN_TABLE_3))
    follows(name)
