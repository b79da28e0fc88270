"""Chapters `baselines` and `correlations`: printed tables against themselves, what is shown from rows made by hand."""

from __future__ import annotations

import itertools
import json
import re
import zlib
from dataclasses import replace
from pathlib import Path

import matplotlib as mpl
import numpy as np
import pytest
from blank_page import Shown
from small_tasks import all_tasks as small_tasks

from scirep_core.bench.scoring import Outcome
from scirep_core.data import TASKS
from scirep_core.data.task import Example, FewShot, Judged, Labelled, Qrel, Reviewers, Signature, Signatures, Task
from scirep_core.exhibits import counting, heatmap, report, sign
from scirep_core.exhibits import scirepeval_baselines as base
from scirep_core.exhibits import scirepeval_compared as compared
from scirep_core.exhibits import scirepeval_correlations as correlations
from scirep_core.exhibits import scirepeval_few_shot as few_shot
from scirep_core.exhibits import scirepeval_print as printed
from scirep_core.exhibits import scirepeval_ranking as ranking
from scirep_core.exhibits.counting import Gathered
from scirep_core.kit.errors import ScirepError
from scirep_core.kit.records import Paper
from scirep_core.page.chapter import Chapter
from scirep_core.results import ROOT, Result
from scirep_core.results.published import lookup

# ---- the printed tables ----------------------------------------------------------------------------------------------


def test_tables_are_complete():
    sizes = {"V2-T2": (12, 3), "V2-T8": (8, 3), "V1-T2": (9, 4), "V1-T3": (8, 4)}
    for exhibit, (rows, columns) in sizes.items():
        assert len(printed.rows_of(exhibit)) == rows
        assert len(lookup(exhibit)) == rows * columns
    # six rows of each Table 2 are means of five runs; the single-run tables print no deviation
    for exhibit, count in (("V2-T2", 18), ("V1-T2", 24), ("V2-T8", 0), ("V1-T3", 0)):
        assert sum(bool(p.std) for p in lookup(exhibit).values()) == count
    table7 = lookup("SM-T7")
    assert len(table7) == 14 * 12 + 8 + 3
    assert len(correlations.printed_scores()) == 15


def test_the_same_models_have_the_same_numbers_in_two_tables():
    v1, v2 = lookup("V1-T2"), lookup("V2-T2")
    for row in ("SciBERT", "SPECTER", "SciNCL"):  # in-train tasks did not change between the versions
        assert v1[row, "In-Train"].value == v2[row, "In-Train"].value


def test_printed_averages_are_weighted_means_of_their_parts_within_rounding():
    off = {}
    for exhibit in printed.TABLES:
        for row in printed.rows_of(exhibit):
            gap = lookup(exhibit)[row, "Average"].number - printed.weighted(exhibit, row)
            assert abs(gap) <= 0.1 + 1e-9, (exhibit, row)
            if f"{printed.weighted(exhibit, row):.1f}" != lookup(exhibit)[row, "Average"].value:
                off[exhibit, row] = round(gap, 3)
    assert off == {
        ("V2-T2", "SciBERT"): 0.056, ("V2-T2", "SPECTER2 MTL CTRL"): 0.074, ("V2-T2", "SPECTER2 PALs"): 0.1,
        ("V1-T2", "SciBERT"): 0.057, ("V1-T3", "SciBERT + MTL CTRL"): 0.068,
        ("V1-T3", "SciBERT + Adapters + MTL CTRL"): 0.068,
    }  # fmt: skip


def test_other_weights_do_not_give_the_printed_averages():
    """20 units out of train, not 16 tasks; 10 units of SciDocs, not 6: else nearly every row would be off."""
    for exhibit, weights in (("V2-T2", (7, 16)), ("V1-T2", (7, 11, 6))):
        parts = list(printed.TABLES[exhibit])
        wrong = 0
        for row in printed.rows_of(exhibit):
            values = [lookup(exhibit)[row, part].number for part in parts]
            mean = float(np.average(values, weights=weights))
            wrong += abs(mean - lookup(exhibit)[row, "Average"].number) > 0.1
        assert wrong > 0.9 * len(printed.rows_of(exhibit))


def test_means_of_table_7_follow_from_its_parts():
    table = lookup("SM-T7")
    for model in dict.fromkeys(row for row, _ in table):
        if (model, "Average") in table:
            parts = [p.number for (row, column), p in table.items() if row == model and column != "Average"]
            assert len(parts) == 11
            assert np.mean(parts) == pytest.approx(table[model, "Average"].number, abs=0.0101)


@pytest.fixture
def chapter(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Shown:
    """A chapter that collects what it shows in `chapter.page`."""
    given = {
        "data": "embedded",
        "papers": 300,
        "encoders": "tfidf,bm25,minilm",
        "protocol": "paper",
        "seed": 0,
        "quick": True,
    }
    made = Shown("scirepeval/baselines", given, tmp_path)
    monkeypatch.setattr(base, "recorded", lambda *_: [])
    monkeypatch.setattr(correlations, "recorded", lambda *_: [])
    return made


def text_of(chapter: Shown) -> str:
    return re.sub(r"<svg.*?</svg>|<[^>]+>", "", "\n".join(chapter.page), flags=re.DOTALL)


def stored(chapter: Shown) -> list[dict]:
    return [json.loads(line) for line in (chapter.folder / "rows.jsonl").read_text().splitlines()]


def test_averages_are_checked_in_words(chapter):
    printed.check_averages(chapter)
    said = text_of(chapter)
    assert "31 of the 37 printed averages" in said
    assert "no row is further off than that" in said
    printed.check_averages(chapter, "untrained")
    printed.check_averages(chapter, "trained")
    parts = text_of(chapter).partition(said)[2]
    assert {row["n"] for row in stored(chapter) if row["task"] == "print/V1-T2"} == {28}  # units
    assert {row["n"] for row in stored(chapter) if row["task"] == "print/V2-T2"} == {27}
    assert "7 of the 9 printed averages" in parts and "24 of the 28 printed averages" in parts
    printed.tables(chapter)
    marked = sum("underlined" in p.note for exhibit in printed.TABLES for p in lookup(exhibit).values())
    assert "\n".join(chapter.page).count("<u style=") == marked == 21
    assert "<strong>" in "\n".join(chapter.page)


def test_a_wrong_average_is_a_contradiction(chapter, monkeypatch):
    changed = {
        key: p._replace(value="70.6") if key == ("SciNCL", "Average") else p for key, p in lookup("V2-T2").items()
    }
    monkeypatch.setattr(printed, "lookup", lambda exhibit: changed if exhibit == "V2-T2" else lookup(exhibit))
    printed.check_averages(chapter)
    assert "beyond that are V2-T2, SciNCL" in text_of(chapter)


def test_underlines_are_what_tukey_gives_or_within_rounding(chapter):
    columns = {(c.exhibit, c.column): c for e in ("V2-T2", "V1-T2") for c in printed.columns_tested(e)}
    assert columns["V2-T2", "Out-of-Train"].tied == {"SPECTER2 Adapters", "SPECTER2 Fusion"}
    assert columns["V1-T2", "Out-of-Train"].best == ("SciNCL + Adapters", "SciNCL + Adapters + MTL CTRL")
    assert columns["V1-T2", "Out-of-Train"].tied == {"SciNCL + Adapter Fusion"}
    differ = {key for key, c in columns.items() if c.tied != c.underlined}
    assert differ == {("V2-T2", "Average"), ("V1-T2", "Average")}
    assert not any(c.wrong for c in columns.values())
    printed.underlines(chapter)
    assert "In 5 of 7 columns the underlined rows are exactly those" in text_of(chapter)
    assert "in 2 more the difference lies within the rounding" in text_of(chapter)


def test_underlines_are_shown_and_those_of_the_best_are_not_counted(chapter):
    printed.underlines(chapter)
    said = text_of(chapter)
    assert "V1-T2: SciDocsF(5, 24) = 83SciNCL + Adapters + MTL CTRLnonenoneSciNCL + Adapters + MTL CTRL" in said
    assert "not counted: it does not differ from itself (SciNCL + Adapters + MTL CTRL in V1-T2, SciDocs)" in said


def test_claims_are_held_against_the_tables(chapter):
    verdicts = {
        (claim.exhibit, claim.about): printed.verdict(claim, printed.stated(claim), printed.differences(claim))
        for claim in printed.CLAIMS
    }
    assert verdicts == {
        ("V2-C4", "several embeddings a paper over one"): "in part: not for SPECTER2 PALs: +0.9",
        ("V2-C4", "adapters over control codes"): "in part: not for SPECTER2 PALs: -0.5",
        ("V2-C4", "adapters over control codes, out of train"):
            "in part: the most is +0.8, but not for SPECTER2 PALs: -0.5",
        ("V2-C4", "several embeddings over SciNCL, the best before"):
            "in part: not for SPECTER2 MTL CTRL: +1.6; SPECTER2 PALs: +1.1",
        ("V2-C4", "the ensemble over each of its two"): "yes",
        ("V2-C5", "Base against MTL CLS"): "yes, within a standard deviation",
        ("V2-C5", "general encoders over SciBERT"): "yes",
        ("V2-C5", "citation-trained over general encoders"): "yes",
        ("V2-C5", "the same, in-train tasks alone"):
            "in part: not for SPECTER − E5-base-v2: -1.0; SciNCL − E5-base-v2: -0.1",
        ("V1-C6", "several embeddings a paper over one"): "yes: the most is +1.5",
        ("V1-C6", "adapters over control codes"): "yes",
        ("V1-C6", "adapters over control codes, out of train"): "yes",
        ("V1-C6", "several embeddings over SciNCL, the best before"): "no: the most is +1.9",
        ("V1-C6", "the ensemble over each of its two"):
            "in part: not for SciNCL + Adapters + MTL CTRL − SciNCL + Adapters, Out-of-Train: +0.0",
    }  # fmt: skip
    printed.claims(chapter, ("V2-C5",))
    assert "Of 4 sentences 3 hold, 1 in part and 0 not." in text_of(chapter)
    assert "ensemble" not in text_of(chapter)
    printed.claims(chapter, ("V2-C4", "V1-C6"))
    said = text_of(chapter)
    assert "Of 10 sentences 4 hold, 5 in part and 1 not." in said
    assert "over 2" in said
    assert "1.4 to 2" in said
    assert "up to 0.8" in said


def test_a_claim_that_nothing_supports_is_refuted():
    claim = next(c for c in printed.CLAIMS if c.about == "adapters over control codes")
    found = dict.fromkeys(printed.differences(claim), -1.0)
    assert printed.verdict(claim, printed.stated(claim), found).startswith("no: not for SPECTER2 Adapters: -1.0")


# ---- rows by hand ----------------------------------------------------------------------------------------------------

STRENGTH = {"random": 20.0, "tfidf": 50.0, "bm25": 52.0, "minilm": 60.0, "oracle": 90.0}


def made_task(name: str) -> Task:
    spec = TASKS[name]
    labels = [Example(f"{name}{i}", (i % 2, 1) if spec.multi_label else i % 2) for i in range(6)]
    rows = (Qrel("a", "b", 1), Qrel("a", "c", 0))
    payload = {
        "classification": Labelled(
            {"train": tuple(labels), "test": tuple(labels[:3])}, spec.multi_label, spec.few_shot
        ),
        "regression": Labelled({"train": tuple(labels), "test": tuple(labels[:3])}),
        "reviewer_matching": Reviewers(rows, rows, {"b": ("x",)}),
        "author_disambiguation": Signatures((Signature("1", "p", "j smith", "c"),)),
    }.get(spec.type, Judged(rows, spec.text_query))
    papers = (
        Paper("a", "Swarms of small robots", ""),
        Paper("b", "Parsing with two stacks", ""),
        Paper("c", "Bird song in towns", ""),
    )
    return Task(name, spec.type, spec.format, spec.metrics, payload, "embedded", f"hash of {name}", texts=lambda: papers,
                oracle=Path("oracle.npz"))  # fmt: skip


TASKS_AT_HAND = {name: made_task(name) for name in base.WANTED}
GATHERED = Gathered(TASKS_AT_HAND, {})


def fake_attempt(tasks, system, *, question, **_) -> Outcome:
    """Score a system by its name: its strength, shifted by task, setting, protocol and back end, with paired draws."""
    name = system if isinstance(system, str) else system.name
    rows = []
    for task in tasks:
        spec = TASKS[task.name]
        if name == "bm25" and spec.type not in base.RANKING:
            continue
        metrics = question.metrics or (spec.metrics if task.format != "RGN" else ("kendall_tau",))
        for metric in metrics:
            splits = (
                ["test", *(f"{shot.sample_size}-shot" for shot in spec.few_shot)]
                if question.split is None
                else ["test"]
            )
            for split in splits:
                draws = np.random.default_rng(zlib.crc32(f"{task.name} {split}".encode())).standard_normal(1000)
                own = np.random.default_rng(zlib.crc32(f"{task.name} {name}".encode())).standard_normal(1000)
                shift = (
                    3 * (question.protocol == "sound")
                    - 5 * (not question.intercept)
                    + zlib.crc32(task.name.encode()) % 7
                )
                value = STRENGTH.get(name, 40.0 + zlib.crc32(name.encode()) % 17) + shift + own[0]
                replicates = (value + 2 * draws + 0.5 * own).astype(np.float32)
                low, high = np.quantile(replicates, [0.025, 0.975])
                rows.append(Result(
                    task.name, split, metric, question.protocol, float(value), 40, encoder=name, low=float(low), high=float(high),
                    source="embedded", data_hash=task.data_hash, fingerprint=f"print of {name}", seed=question.seed, coverage=1.0,
                    pool="3 of 3 test rows, 120 of 120 training rows", by_query={"a": 1.0}, replicates=replicates,
                ))  # fmt: skip
    return Outcome(rows, {}, (), ())


@pytest.fixture
def rows(chapter, monkeypatch) -> list[Result]:
    monkeypatch.setattr(compared, "attempt", fake_attempt)
    return chapter.record(compared.measure(chapter, GATHERED))


def only(rows, **wanted) -> Result:
    (found,) = [r for r in rows if all(getattr(r, key) == value for key, value in wanted.items())]
    return found


def test_every_score_has_its_unit_average_and_other_back_ends(rows):
    ids = [row.id for row in rows]
    assert [name for name in ids if ids.count(name) > 1] == []
    average = only(rows, task="scirepeval/average-v2", split="all", encoder="minilm", metric="average")
    assert average.n == 27
    assert average.coverage == 1
    assert only(rows, task="scirepeval/average-v1", split="all", encoder="minilm", metric="average").n == 28
    assert not [r for r in rows if r.encoder == "bm25" and r.metric == "average"]
    parts = [only(rows, task="scirepeval/drsm", split=s, encoder="minilm", metric="f1_macro", protocol="paper")
             for s in ("test", "64-shot", "24-shot")]  # fmt: skip
    unit = only(rows, task="scirepeval/drsm", split=base.UNIT, encoder="minilm")
    assert unit.value == pytest.approx(np.mean([p.value for p in parts]))
    assert unit.replicates is not None
    assert np.allclose(unit.replicates, np.mean([p.replicates for p in parts], axis=0), atol=1e-4)
    assert unit.low == pytest.approx(np.quantile(unit.replicates, 0.025), abs=1e-4)
    bare = only(rows, task="scirepeval/hindex", encoder="minilm", metric=f"kendall_tau{base.BARE}")
    plain = only(rows, task="scirepeval/hindex", encoder="minilm", metric="kendall_tau", protocol="paper", split="test")
    assert bare.value == pytest.approx(plain.value - 5)
    assert all(not row.by_query for row in rows if row.metric != "average")


def test_a_quick_run_scores_fos_under_the_other_protocol_in_full_alone(rows, chapter):
    sound = [
        r
        for r in rows
        if r.protocol == "sound" and r.task == "scirepeval/fos" and not r.metric.startswith("difference")
    ]
    assert {r.split for r in sound} == {"test"}
    assert {r.encoder for r in sound} == {"tfidf", "minilm"}
    chapter.parameters["quick"] = False
    full = compared.measure(chapter, GATHERED)
    sound = [
        r
        for r in full
        if r.protocol == "sound" and r.task == "scirepeval/fos" and not r.metric.startswith("difference")
    ]
    assert {r.split for r in sound} == {"test", "10-shot", "5-shot"}
    assert {r.encoder for r in sound} == {"tfidf", "minilm", "random", "oracle"}


def test_differences_are_paired_signed_and_counted(rows, chapter):
    gap = only(rows, task="scirepeval/average-v2", split="all", encoder="minilm - tfidf")
    first, second = (
        only(rows, task="scirepeval/average-v2", split="all", encoder=n, metric="average") for n in ("minilm", "tfidf")
    )
    assert gap.value == pytest.approx(first.value - second.value)
    assert gap.low < gap.value < gap.high
    assert gap.high - gap.low < 0.5 * (first.high - first.low)  # the shared draws cancel
    table = compared.gaps_of(rows, "paper")
    assert len(table["minilm", "tfidf"]) == 30  # 26 tasks, four of them with two units
    assert len(table["bm25", "tfidf"]) == 18
    assert all(sign(g) == 1 for g in table["minilm", "random"])
    compared.say_differences(chapter, rows)
    said = text_of(chapter)
    assert "MiniLM against TF-IDF: ahead on 30 of 30 units, behind on 0, not settled on 0" in said
    assert "TF-IDF against the floor" in said
    turned = [
        replace(r, value=-r.value, low=-r.high, high=-r.low) if r.encoder == "minilm - tfidf" else r for r in rows
    ]
    chapter.page.clear()
    compared.say_differences(chapter, turned)
    assert "MiniLM against TF-IDF: ahead on 0 of 30 units, behind on 30" in text_of(chapter)


def test_rows_that_cannot_be_paired_give_no_difference(rows):
    a = only(rows, task="scirepeval/average-v2", split="all", encoder="minilm", metric="average")
    assert not list(compared.difference(a, replace(a, encoder="x", by_query={"one": 1.0})))
    assert not list(compared.difference(a, replace(a, encoder="x", replicates=None)))


def test_back_ends_are_compared_in_words(rows, chapter):
    compared.back_ends(chapter, rows)
    said = text_of(chapter)
    assert "MiniLM: an intercept raises 11 of 11 tasks and lowers 0" in said
    assert "MiniLM: protocol sound raises 11 of 11 tasks and lowers 0" in said
    assert "BM25" not in said


def test_ranking_tasks_are_compared_under_both_protocols(rows, chapter):
    ranking.protocols(chapter, rows)
    assert (
        "MiniLM: protocol sound is above paper on 18 of 18 ranking units, below on 0, exactly the same on 0; the l"
        in (text_of(chapter))
    )
    chapter.page.clear()
    same = [replace(r, value=0.0, low=0.0, high=0.0) if r.metric.endswith("sound and paper") else r for r in rows]
    ranking.protocols(chapter, same)
    said = text_of(chapter)
    assert "BM25: protocol sound is above paper on 0 of 18 ranking units, below on 0, exactly the same on 18." in said


def test_a_ranking_task_of_other_queries_is_not_paired(rows, chapter):
    def fewer(row: Result) -> Result:
        return replace(row, n=6) if (row.task, row.protocol) == ("scirepeval/relish", "sound") else row

    scores = [fewer(r) for r in rows if not r.against]
    gaps = list(compared._two_protocols(scores, "minilm"))
    assert "scirepeval/relish" not in {g.task for g in gaps}
    assert len(gaps) == 17
    ranking.protocols(chapter, chapter.record([*scores, *gaps]))
    assert "Not compared, as sound leaves out queries with nothing relevant: RELISH (6 queries against 40)." in text_of(
        chapter
    )


def test_bm25_is_compared_where_it_ranks(rows, chapter):
    ranking.lexical(chapter, rows)
    said = text_of(chapter)
    assert "18 units" in said
    assert "The mean is over " in said
    assert "ndcg of " in said
    for name in ("random", "tfidf", "minilm", "oracle"):  # all the same way round, with the sign of this − BM25
        first, second = (only(rows, task=compared.RANKED, metric="mean", encoder=n) for n in (name, "bm25"))
        gap = only(rows, task=compared.RANKED, encoder=f"{name} - bm25")
        assert gap.value == pytest.approx(first.value - second.value)
        assert gap.low < gap.value < gap.high
        assert f"{gap.value:+.1f} {gap.low:.1f} to {gap.high:.1f}" in said
    chapter.page.clear()
    ranking.lexical(chapter, [r for r in rows if "bm25" not in r.encoder])
    assert "BM25 was not among the systems" in text_of(chapter)


def test_the_page_shows_numbers_with_rows_and_names_what_is_missing(rows, chapter):
    base.table2(chapter, rows)
    base.detail(chapter, rows)
    base.averages_figure(chapter, rows)
    few_shot.curves(chapter, rows, GATHERED)
    few_shot.settings(chapter, GATHERED)
    compared.differences_figure(chapter, rows)
    known = {r["id"] for r in stored(chapter)}
    live = [n for n in chapter.shown.values() if isinstance(n, Result)]
    assert {n.id for n in live} <= known
    said = text_of(chapter)
    assert "ceiling: oracle" in said
    assert "SciNCL" in said
    assert "(here" not in said  # the inventory has the printed settings
    assert "of 9 here" in said
    base.say_missing(chapter, rows)
    assert "not whole" not in text_of(chapter)
    assert {p.stem for p in (chapter.folder / "figures").glob("*.svg")} == {
        "averages",
        "few-shot-live",
        "differences-live",
    }


def test_a_missing_unit_is_said(chapter, monkeypatch):
    monkeypatch.setattr(compared, "attempt", fake_attempt)
    some = Gathered({k: v for k, v in TASKS_AT_HAND.items() if not k.endswith(("s2and", "feeds_m"))}, {})
    found = chapter.record(compared.measure(chapter, some))
    base.say_missing(chapter, found)
    said = text_of(chapter)
    assert "v2: 26 of 27 units; without s2and" in said
    assert "v1: 26 of 28 units; without s2and, feeds_m" in said
    base.table2(chapter, found)
    assert "Averages over 7 / 20 units (live: 7 / 19)" in text_of(chapter)
    assert "Averages over 7 / 11 / 10 units (live: 7 / 9 / 10)" in text_of(chapter)
    base.averages_figure(chapter, found)
    assert "live (26 of 27 units)" in (chapter.folder / "figures" / "averages.svg").read_text()
    why = [replace(r, note="5 steps; 64-shot left out: 58 rows cannot be cut") if r.task.endswith("biomimicry")
           and r.split == "test" else r for r in found]  # fmt: skip
    base.say_missing(chapter, why)
    assert "Biomimicry is missing because its 64-shot setting is left out: 58 rows cannot be cut." in text_of(chapter)


def test_nothing_recorded_has_no_column_and_one_sentence(rows, chapter):
    base.table2(chapter, rows)
    base.averages_figure(chapter, rows)
    said = text_of(chapter)
    assert said.count("recorded") == 1
    assert "No larger run of this chapter is recorded" in said


def labelled(counts: dict[int, int], sample_size: int) -> Task:
    examples = tuple(Example(f"{label}-{i}", label) for label, count in counts.items() for i in range(count))
    task = made_task("scirepeval/drsm")
    few = (FewShot(sample_size, 4),)
    return replace(task, payload=Labelled({"train": examples, "test": examples[:3]}, False, few))


def test_what_a_setting_draws_is_counted_not_multiplied():
    def count(protocol: str, counts: dict[int, int], k: int) -> few_shot.Drawn | None:
        task = labelled(counts, k)
        return few_shot.drawn(task, FewShot(k, 4), protocol, 0)

    assert count("sound", {0: 30, 1: 30}, 10) == (20, 0, 2)
    assert count("sound", {0: 50, 1: 8}, 16) == (24, 1, 2)  # not 2 x 16
    assert count("sound", {0: 40, 1: 25}, 64) == (65, 2, 2)  # everything, and no more than there is
    assert count("paper", {0: 32, 1: 32}, 16) == (16, 0, 2)
    assert count("paper", {0: 20, 1: 20}, 64) is None


def test_points_of_the_curve_stand_at_the_examples_drawn(rows):
    tasks = {"scirepeval/drsm": labelled({0: 50, 1: 30}, 24)}
    row = replace(only(rows, task="scirepeval/drsm", split="24-shot", encoder="minilm", protocol="sound"), note="")
    said = few_shot.with_drawn(row, tasks)
    assert said.note == "48 examples drawn, 0 of 2 classes short"
    assert few_shot.with_drawn(said, {}).note == said.note
    (point,) = few_shot._points([said], GATHERED)
    assert (point["examples"], point["short"]) == (48, False)
    tasks = {"scirepeval/drsm": labelled({0: 50, 1: 8}, 24)}
    (point,) = few_shot._points([few_shot.with_drawn(row, tasks)], GATHERED)
    assert (point["examples"], point["short"]) == (32, True)
    tasks = {"scirepeval/drsm": labelled({0: 20, 1: 8}, 24)}
    whole = few_shot.with_drawn(row, tasks)
    assert not list(few_shot._points([whole], GATHERED))
    assert set(few_shot._undrawn([whole])) == {("scirepeval/drsm", "24-shot", "sound")}


def test_a_point_without_variation_has_no_interval(rows):
    row = replace(only(rows, task="scirepeval/drsm", split="24-shot", encoder="minilm", protocol="sound"),
                  note="48 examples drawn, 0 of 2 classes short", low=40.0, high=40.0, value=40.0)  # fmt: skip
    (point,) = few_shot._points([row], GATHERED)
    assert (point["low"], point["high"]) == (None, None)
    (point,) = few_shot._points([replace(row, high=41.0)], GATHERED)
    assert (point["low"], point["high"]) == (40.0, 41.0)


def test_what_is_recorded_has_its_column_and_legend(rows, chapter, monkeypatch):
    kept = [replace(r, kind="recorded") for r in rows]
    monkeypatch.setattr(base, "recorded", lambda *_: kept)
    base.table2(chapter, rows)
    base.averages_figure(chapter, rows)
    said = text_of(chapter)
    assert "No larger run" not in said
    assert said.count("publishedrecordedlive") == 7  # the columns of both tables
    assert "Recorded and live, and the thin lines" in said
    assert "recorded" in (chapter.folder / "figures" / "averages.svg").read_text()


def test_only_scores_of_systems_are_kept_of_a_recorded_run(rows, chapter, monkeypatch):
    """Counts have no system; scores without abstracts are of the same systems, on other texts."""
    one = only(rows, task="scirepeval/relish", encoder="tfidf", metric="ndcg", protocol="paper")
    others = ("", "tfidf, with abstracts", "tfidf, titles alone", "tfidf, titles alone - with abstracts")
    monkeypatch.setattr(base, "recorded", lambda *_: [*rows, *(replace(one, encoder=name) for name in others)])
    assert base.kept() == rows
    base.detail(chapter, rows)
    assert "MiniLMceiling: oracle" in text_of(chapter)  # no column between them


def test_back_ends_name_the_metric_of_each_task(rows, chapter):
    """A sample is no task of the inventory: its metric is that of its own rows, not of the first task's."""
    fos = [r for r in rows if r.task in ("scirepeval/fos", "scirepeval/hindex") and r.encoder == "minilm"]
    samples = [replace(r, task=r.task.replace("scirepeval/", "sample/")) for r in fos]
    compared.back_ends(chapter, samples)
    said = text_of(chapter)
    assert "MiniLM, f1_macro" in said and "MiniLM, kendall_tau" in said


def test_names_may_be_written_with_spaces(chapter):
    chapter.parameters["encoders"] = "tfidf, minilm ,, tfidf"
    assert base.systems_of(chapter, GATHERED) == ["random", "tfidf", "minilm", "oracle"]


def test_ticks_of_a_curve_lie_apart():
    assert few_shot._ticks([60, 200, 600]) == ([60.0, 100.0, 300.0, 600.0], ["60", "100", "300", "600"])
    assert few_shot._ticks([190, 240]) == ([190.0, 240.0], ["190", "240"])
    assert few_shot._ticks([50]) == ([50.0], ["50"])


def test_an_interval_beside_its_value_is_drawn(rows, chapter):
    beside = [replace(r, low=r.value + 1, high=r.value + 2) if r.low is not None else r for r in rows]
    few_shot.curves(chapter, beside, GATHERED)
    base.averages_figure(chapter, beside)
    compared.differences_figure(chapter, beside)


def test_a_failed_task_stops_the_chapter_by_name(chapter, monkeypatch):
    monkeypatch.setattr(compared, "attempt", lambda *a, **k: Outcome([], {"scirepeval/fos": "no text"}, (), ()))
    with pytest.raises(ScirepError, match="scirepeval/fos: no text"):
        compared.measure(chapter, GATHERED)


def test_the_explorer_has_the_scores_and_their_differences(rows, chapter):
    made = compared.explorer(chapter, rows)
    view = made._view
    assert [name for name, _ in view["systems"]] == ["random", "tfidf", "bm25", "minilm", "oracle"]
    assert any(row["gaps"] for row in view["rows"])
    assert not any("without" in row["metric"] for row in view["rows"])


def test_leaks_are_counted_for_the_ranking_tasks_at_hand(chapter, tmp_path, monkeypatch):
    units = [compared.overlap.Unit(compared.overlap.Text("b"), ((compared.overlap.Text("a"), True),))]
    monkeypatch.setattr(compared.overlap, "training_units", lambda *_: iter(units))
    some = Gathered({k: TASKS_AT_HAND[k] for k in ("scirepeval/relish", "scirepeval/fos")}, {})
    compared.leaks(chapter, some)
    said = text_of(chapter)
    assert "Of the 1 tasks 1 queries are asked; 1 of them occur in the training set" in said
    assert "Of 2 judged pairs 1 have both sides in the training set, and 1 are training pairs themselves" in said
    assert {r["metric"] for r in stored(chapter)} >= {"papers seen in scirepeval/cite_prediction, %"}


# ---- correlations ----------------------------------------------------------------------------------------------------


def test_fisher_intervals():
    assert correlations.fisher(0.5, 28) == pytest.approx((0.156, 0.736), abs=1e-3)
    assert correlations.fisher(1.0, 15)[1] <= 1
    assert correlations.fisher(0.9, 3) == (-1.0, 1.0)


def test_the_claim_of_scimult_table_7():
    for metric, least, most in (("MAP", 0.9839, 0.9996), ("nDCG", 0.9848, 0.9997)):
        table = correlations.printed_scores(metric)
        values = [
            correlations.correlation(table, a, b).value for a, b in itertools.combinations(correlations.NEAREST, 2)
        ]
        assert sum(v > 0.99 for v in values) == 5
        assert least <= min(values)
        assert max(values) <= most
    strong = correlations.printed_scores("MAP", 80.0)
    assert len(strong) == 9
    values = [correlations.correlation(strong, a, b).value for a, b in itertools.combinations(correlations.NEAREST, 2)]
    assert min(values) == pytest.approx(0.531, abs=1e-3)
    assert max(values) == pytest.approx(0.975, abs=1e-3)


def test_cheap_systems_give_a_vector_to_every_id():
    tasks = tuple(t for t in small_tasks().values() if t.type in ("classification", "proximity", "adhoc_search"))
    shelf = correlations.Shelf(tasks, "paper", 0, {})
    for name, variant in correlations.SYSTEMS.items():
        if "minilm" in name:
            continue
        on = variant.make(shelf)
        for task in tasks:
            vectors = on(task)
            assert set(task.payload.ids().needed) <= vectors.keys(), (name, task.name)
            assert len({len(v) for v in vectors.values()}) == 1
    title, whole = (correlations.SYSTEMS[name].make(shelf)(tasks[0]) for name in ("tfidf_title", "tfidf_8000"))
    assert not all(np.array_equal(title[key], whole[key]) for key in title)


class Named:
    def __init__(self, name: str) -> None:
        self.name = name

    def suits(self, task: Task) -> bool:
        return True


@pytest.fixture
def scores(chapter, monkeypatch) -> list[Result]:
    systems = {name: correlations.Variant(correlations.COUNTS, name, True, lambda shelf: lambda task: {})
               for name in ("a", "b", "c", "d", "e", correlations.MEAN, correlations.JOINED)}  # fmt: skip
    systems["slow"] = correlations.Variant("MiniLM", "slow", False, lambda shelf: lambda task: {})
    monkeypatch.setattr(correlations, "SYSTEMS", systems)
    monkeypatch.setattr(correlations, "load_system", Named)
    monkeypatch.setattr(correlations, "attempt", fake_attempt)
    chapter.parameters["encoders"] = "minilm"
    return chapter.record(correlations.measure(chapter, GATHERED))


def test_scores_are_one_number_a_system_and_task_without_the_floor(scores):
    table = correlations.score_table(scores)
    assert len(table.columns) == 26
    assert list(table.index) == sorted(["a", "b", "c", "d", "e", correlations.MEAN, correlations.JOINED, "minilm"])
    assert len(correlations.score_table(scores, floor=True)) == 9
    pearson = {r.task for r in scores if r.metric == "pearson"}
    assert pearson == {name for name in base.WANTED if TASKS[name].format == "RGN"}
    incomplete = [r for r in scores if not (r.encoder == "a" and r.task.endswith("relish"))]
    assert "a" not in correlations.score_table(incomplete).index


def test_groups_hold_their_lowest_median_and_highest_correlation(scores):
    table = correlations.score_table(scores)
    four = [float(np.corrcoef(table[a], table[b])[0, 1]) for a, b in itertools.combinations(correlations.NEAREST, 2)]
    found = {(r.task, r.metric, r.split): r for r in scores if r.encoder == correlations.OVER}
    assert found["group/four of SciDocs", correlations.LOWEST, "test"].value == pytest.approx(min(four))
    assert found["group/four of SciDocs", correlations.MEDIAN, "test"].value == pytest.approx(np.median(four))
    assert found["group/four of SciDocs", correlations.ABOVE, "test"].value == sum(v > 0.99 for v in four)
    assert found["group/all tasks", correlations.MEDIAN, "test"].note == "of 325 pairs"
    assert found["group/all tasks", correlations.MEDIAN, "with the floor"].n == 9
    task = "scirepeval/drsm"
    others = [float(np.corrcoef(table[task], table[o])[0, 1]) for o in table.columns if o != task]
    assert found[task, correlations.MEDIAN, "test"].value == pytest.approx(np.median(others))


def test_a_heat_map_marks_sign_strength_and_number():
    values = np.array([[1.0, 0.25, -0.81], [0.25, 1.0, 0.0], [-0.81, 0.0, np.nan]])
    figure = heatmap.draw(values, ["one", "two", "three"])
    axes = figure.axes[0]
    figure.canvas.draw()
    (cells,) = axes.collections
    weak, _, strong, none = cells.get_facecolors()
    assert [text.get_text() for text in axes.texts] == ["25", "-81", "0"]
    assert tuple(weak[:3]) == mpl.colors.to_rgb(heatmap.POSITIVE) and tuple(strong[:3]) == mpl.colors.to_rgb(
        heatmap.NEGATIVE
    )
    assert strong[3] > weak[3] > none[3] and cells.get_array().mask.tolist() == [[False, True], [False, False]]
    drawn = report.svg(figure, "x", "alt")
    assert "--scirep-c1" in drawn
    assert "--scirep-c2" in drawn


# ---- the notebooks ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["baselines", "correlations"])
def test_every_cell_of_the_notebook_runs(name, chapter, monkeypatch):
    """The cells call what exists, in an order that works; the real run is the book's."""
    import scirep_core

    notebook = json.loads((ROOT / "notebooks" / "scirepeval" / f"{name}.ipynb").read_text(encoding="utf-8"))
    systems = {n: correlations.Variant("TF-IDF", n, True, lambda shelf: lambda task: {}) for n in "abcde"}
    for module in (compared, correlations):
        monkeypatch.setattr(module, "attempt", fake_attempt)
    monkeypatch.setattr(correlations, "SYSTEMS", systems)
    monkeypatch.setattr(correlations, "load_system", Named)
    monkeypatch.setattr(counting, "gather", lambda *_: GATHERED)
    monkeypatch.setattr(compared.overlap, "training_units", lambda *_: iter([compared.overlap.Unit(None, ())]))

    def start(where: str, simulated: bool = True, /, **given) -> Chapter:
        assert where == f"scirepeval/{name}"
        chapter.parameters.clear()
        chapter.parameters.update(given)
        return chapter

    monkeypatch.setattr(scirep_core, "start", start)
    names: dict[str, object] = {}
    for cell in notebook["cells"]:
        if cell["cell_type"] == "code":
            exec("".join(cell["source"]), names)
    said = text_of(chapter)
    assert "Where the" in said  # the origins at the foot
    assert {p.stem for p in (chapter.folder / "figures").glob("*.svg")} >= (
        {"averages", "few-shot-live", "differences-live"} if name == "baselines" else {"figure-2-live", "scidocs"}
    )
