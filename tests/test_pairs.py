"""Training pairs: MAPLE's by label and relation, SciMult's sources as tasks, its variants in two stages, `scirep train` on them."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from dataclasses import replace

import pytest
import torch
from counted import peak
from small_files import jsonl, refused

from scirep_core.cli import main
from scirep_core.data.readers import scimult
from scirep_core.data.readers.maple import Report, pairs
from scirep_core.data.readers.scimult import dpr_rows
from scirep_core.data.sources import ensure
from scirep_core.data.text import Recipe
from scirep_core.encoders.models.model_store import load_model
from scirep_core.encoders.trunk.tokens import Tokens
from scirep_core.kit.errors import ConfigError, DataError
from scirep_core.training import models, sets
from scirep_core.training.base import wordpieces
from scirep_core.training.config import TrainConfig
from scirep_core.training.data.pairs import pair_tasks
from scirep_core.training.variants import VARIANTS, budget, config


def paper(key, labels, authors=(), venue="", references=(), year=2010):
    return {
        "paper": key, "venue": venue, "year": str(year), "title": f"about {key}", "label": list(labels), "author": list(authors),
        "reference": list(references), "abstract": "", "title_raw": f"About {key}", "abstract_raw": f"We study {key}.",
    }  # fmt: skip


@pytest.fixture
def folder(tmp_path):
    def write(rows, name="Field", labels="abcdef"):
        jsonl(tmp_path / name / "papers.json", rows)
        (tmp_path / name / "labels.txt").write_text("".join(f"{key}\tthe label {key}\t1\n" for key in labels))
        return tmp_path / name

    return write


def read(*folders, **more):
    told = Report()
    rows = {row["question"].split()[1]: row for row in pairs(folders, report=told, **more)}
    return rows, told


def names(row, kind):
    return [one["passage_id"] for one in row[kind]]


def test_each_relation_gives_a_label_that_the_paper_has_not(folder):
    rows = [
        paper("p1", "ab", references=["p2", "elsewhere"]), paper("p2", "bc"),
        paper("q1", "ab", authors=["x"]), paper("q2", "ad", authors=["x"]),
        paper("r1", "ab", venue="V"), paper("r2", "abe", venue="V"),
        paper("alone", "f"), paper("same", "a", references=["twin"]), paper("twin", "a"),
    ]  # fmt: skip
    found, told = read(folder(rows))
    assert {key: names(row, "hard_negative_ctxs") for key, row in found.items()} == {
        "p1": ["c"], "p2": [], "q1": ["d"], "q2": ["b"], "r1": ["e"], "r2": [], "alone": [], "same": [], "twin": [],
    }  # fmt: skip
    assert told.hard == Counter({"": 5, "author": 2, "reference": 1, "venue": 1})
    assert (told.papers, told.pairs, told.dropped, told.labels) == (9, 16, 0, 6)
    assert (told.references, told.resolved) == (3, 2)
    assert found["p1"]["question"] == "About p1 [SEP] We study p1."
    assert found["p1"]["positive_ctxs"][0] == {"title": "the label a", "text": "", "passage_id": "a"}


def test_an_author_of_one_paper_is_not_asked_where_another_has_more(folder):
    alone = [f"alone {i}" for i in range(20)]
    rows = [paper(f"p{i}", "ab"[i % 2], authors=[*alone[i : i + 1], f"both {i // 2}"]) for i in range(20)]
    assert read(folder(rows))[1].hard == Counter({"author": 20})


def test_a_label_is_in_at_most_so_many_pairs_whatever_else_is_there(folder):
    rows = [paper(f"p{i}", "ab" if i % 2 else "a") for i in range(30)]
    found, told = read(folder(rows), cap=7)
    counts = Counter(key for row in found.values() for key in names(row, "positive_ctxs"))
    assert counts == {"a": 7, "b": 7} and told.pairs == 14 and told.dropped == 31
    kept = {key for key, row in found.items() if "a" in names(row, "positive_ctxs")}
    again, _ = read(folder([*rows, paper("new", "c")]), cap=7)
    assert kept == {key for key, row in again.items() if "a" in names(row, "positive_ctxs")}
    other, _ = read(folder(rows), cap=7, seed=1)
    assert kept != {key for key, row in other.items() if "a" in names(row, "positive_ctxs")}
    # published are 1.5 pairs a paper, of papers that have a dozen labels: who keeps one does not keep all
    found, told = read(folder([paper(f"p{i}", "abcdef") for i in range(60)]), cap=10)
    assert told.pairs == 60 and len(found) > 25


def test_papers_after_2015_and_without_a_text_are_neither_asked_nor_give_labels(folder):
    rows = [paper("p1", "a", references=["late"]), paper("late", "b", year=2016), paper("bare", "")]
    found, _ = read(folder(rows))
    assert set(found) == {"p1"} and not found["p1"]["hard_negative_ctxs"]
    assert set(read(folder(rows), split="test")[0]) == {"late"}
    assert names(read(folder(rows), split="all")[0]["p1"], "hard_negative_ctxs") == ["b"]
    blank = paper("void", "b", venue="V") | {"title_raw": " ", "abstract_raw": ""}
    found, told = read(folder([paper("p1", "a", venue="V"), blank]))
    assert set(found) == {"p1"} and not found["p1"]["hard_negative_ctxs"]
    assert (told.papers, told.blank, told.labels) == (1, 1, 1)


def test_a_paper_of_two_folders_is_asked_once_with_all_its_labels(folder):
    first = folder([paper("p1", "a"), paper("p2", "c")], "Biology_MeSH")
    second = folder([paper("p1", "b"), paper("p3", "a", references=["p1"])], "Medicine_MeSH")
    assert len(list(pairs([first, second]))) == 3
    found, _ = read(first, second)
    assert names(found["p1"], "positive_ctxs") == ["a", "b"] and names(found["p3"], "hard_negative_ctxs") == ["b"]


def test_memory_is_of_ids_and_labels_not_of_references(folder):
    source = folder([paper(f"p{i}", "ab", references=[f"elsewhere {i} {j}" for j in range(200)]) for i in range(300)])
    counts = []
    most = peak(lambda: counts.append(sum(len(row["positive_ctxs"]) for row in pairs([source]))))
    assert counts == [200] and most < 2 << 20, "60,000 references alone are 5 MB"


@pytest.mark.parametrize(("labels", "more", "error", "says"), [
    ("z", {}, DataError, "papers.json:1: paper p1: label 'z' is not in labels.txt"),
    ("a", {"split": "tain"}, ConfigError, "unknown split 'tain'"), ("a", {"split": "test"}, DataError, "no labelled paper"),
    (None, {}, ConfigError, "name a folder"),
])  # fmt: skip
def test_what_cannot_be_read_is_named(folder, labels, more, error, says):
    folders = [folder([paper("p1", labels)])] if labels else []
    refused(lambda: list(pairs(folders, **more)), says, error=error)


def test_rows_go_to_standard_output_even_where_that_is_a_file(folder, tmp_path):
    source, out = folder([paper("p1", "a")]), tmp_path / "rows.json"
    words = [sys.executable, "-m", "scirep_core.cli", "data", "pairs", str(source), "--out", "-"]
    with out.open("wb") as stream:
        done = subprocess.run(words, stdout=stream, stderr=subprocess.PIPE, text=True, check=True)
    assert [json.loads(row)["question"] for row in out.read_text().splitlines()] == ["About p1 [SEP] We study p1."]
    assert "1 pairs of 1 papers" in done.stderr


def test_a_reader_who_has_seen_enough_ends_the_command_without_a_complaint(folder):
    source = folder([paper(f"p{i}", "a") for i in range(3000)])
    words = [sys.executable, "-m", "scirep_core.cli", "data", "pairs", str(source), "--cap", "3000", "--out", "-"]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as command:
        command.stdout.read(1)
        command.stdout.close()
        assert b"scirep:" not in command.stderr.read()


def test_the_embedded_field_becomes_a_file_that_training_reads(tmp_path, capsys):
    ensure(tmp_path / "literature", "maple", 1200, 0)
    source, out = tmp_path / "literature" / "maple" / "Computer_Science", tmp_path / "cs_journal_train.json"
    with pytest.raises(SystemExit, match="0"):
        main(["data", "pairs", str(source), "--out", str(out), "--json"])
    told = json.loads(capsys.readouterr().out)
    rows = list(dpr_rows(out))
    assert told["papers"] >= len(rows) > 10 and told["pairs"] == sum(len(positives) for _, positives, _ in rows)
    assert sum(told["hard"].values()) == len(rows) and told["hard"].get("", 0) < len(rows) / 2
    assert all(negatives[0] not in positives for _, positives, negatives in rows if negatives)


TINY = budget("tiny")
NAMES = [f"scimult/pretrain_{name}" for name in ("cs_journal", "citation", "search")]


def context(title, text=""):
    return {"title": title, "text": text, "passage_id": title}


@pytest.fixture(scope="module")
def tokens() -> Tokens:
    return wordpieces(["paper of words about label one two three asks query name meaning graph tree"] * 3, 200)


@pytest.fixture
def root(tmp_path):
    rows = {
        "cs_journal_train": [
            {"question": "paper one [SEP] of words", "positive_ctxs": [context("label one", "meaning"), context("label two")],
             "hard_negative_ctxs": [context("label three")]},
            {"question": "paper two [SEP] of words", "positive_ctxs": [context("label two")], "hard_negative_ctxs": []},
        ],
        "citation_train": [{"question": "paper one [SEP] of words", "positive_ctxs": [context("paper two", "of words")],
                            "hard_negative_ctxs": []}],
        "search_train": [{"question": "query name", "positive_ctxs": [context("paper one", "of words")],
                          "hard_negative_ctxs": [context("paper two", "of words")]}],
        "search_val": [{"question": "query tree", "positive_ctxs": [context("paper two", "of words")]}],
    }  # fmt: skip
    folder = tmp_path / "scimult" / "pretraining"
    folder.mkdir(parents=True)
    for name, lines in rows.items():
        (folder / f"{name}.json").write_text("".join(json.dumps(row) + "\n" for row in lines))
    return tmp_path


def texts(task, tokens):
    decode = tokens.tokenizer.decode
    read = [decode(ids, skip_special_tokens=False) for ids in task.documents.of(range(task.documents.docs))]
    return [[read[i] if i >= 0 else None for i in row] for row in task.rows]


def test_a_row_is_a_positive_with_its_querys_hard_negative(root, tokens):
    labels, citation, search = pair_tasks(NAMES, root, tokens)
    assert texts(labels, tokens) == [
        ["[CLS] paper one [SEP] of words [SEP]", "[CLS] label one [SEP] meaning [SEP]", "[CLS] label three [SEP]"],
        ["[CLS] paper one [SEP] of words [SEP]", "[CLS] label two [SEP]", "[CLS] label three [SEP]"],
        ["[CLS] paper two [SEP] of words [SEP]", "[CLS] label two [SEP]", None],
    ]
    assert texts(search, tokens)[0][0] == "[CLS] query name [SEP]"
    formats = [(task.format, task.query_format) for task in (labels, citation, search)]
    assert formats == [(format, format) for format in ("CLF", "PRX", "QRY")]
    assert labels.documents is citation.documents is search.documents
    assert citation.rows[0, 0] == labels.rows[0, 0], "a paper of two sources is one document"


def test_a_cap_takes_the_first_pairs_and_validation_has_its_own_file(root, tokens):
    assert [len(task) for task in pair_tasks(NAMES, root, tokens, cap=2)] == [2, 1, 1]
    assert texts(pair_tasks(NAMES[2:], root, tokens, split="validation")[0], tokens)[0][0] == "[CLS] query tree [SEP]"


@pytest.mark.parametrize(("names", "more", "error", "said"), [
    (["scimult/pretrain_citations"], {}, ConfigError, "unknown source.*scimult/pretrain_citation"),
    ([], {}, ConfigError, "name a source"), (NAMES, {"split": "test"}, ConfigError, "unknown split 'test'"),
    (["scimult/pretrain_coarse"], {}, DataError, "coarse_train.json"),
])  # fmt: skip
def test_what_is_not_there_is_named(root, tokens, names, more, error, said):
    with pytest.raises(error, match=said):
        pair_tasks(names, root, tokens, **more)


def test_files_from_windows_and_half_characters_are_read_as_they_are(root, tokens):
    path = root / "scimult" / "pretraining" / "search_train.json"
    row = {"question": "query \ud800 tree", "positive_ctxs": [context("paper one", "of words")]}
    path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes().replace(b"\n", b"\r\n") + json.dumps(row).encode())
    found = texts(pair_tasks(NAMES[2:], root, tokens)[0], tokens)
    assert found[0][0] == "[CLS] query name [SEP]" and len(found) == 2
    assert len({triple.query for triple in scimult.triples(path)}) == 2


def test_settings_are_those_of_the_paper():
    settings = config("SciMult MHAExpert", 0, TINY)
    assert (settings.triplet_loss, settings.mixing) == ("contrastive", "homogeneous")
    assert (settings.weight_decay, settings.clip) == (0.01, 2.0)
    assert settings.mask_duplicates and not config("SciMult Vanilla, duplicates as negatives", 0, TINY).mask_duplicates
    shares = [settings.share(step, 1000) for step in (0, 49, 50, 524, 999)]
    assert shares == pytest.approx([1 / 50, 1.0, 1 - 1 / 950, 0.5, 0.0])
    assert TrainConfig(steps=10, warmup_share=0.1).share(0, 10) == 1.0


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    home = tmp_path_factory.mktemp("home")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SCIREP_HOME", str(home))
        yield {name: models.obtain(f"SciMult {name}", 0, TINY, "embedded untrained")[0]
               for name in ("Vanilla", "MHAExpert", "FFNExpert", "Prefix", "Instruction")}  # fmt: skip


@pytest.mark.slow
def test_the_second_stage_starts_where_vanilla_ended(made):
    vanilla = load_model(made["Vanilla"].folder).model
    for name in ("MHAExpert", "FFNExpert", "Prefix", "Instruction"):
        chosen = VARIANTS[f"SciMult {name}"]
        saved = load_model(made[name].folder)
        before = sets.Base("Vanilla", made["Vanilla"].folder, Recipe(), "")
        options = saved.described.options | {"routes": saved.described.routes}
        start = models.untrained(chosen.kind, before, options, 0)
        documents = [[2, 9, 11, 3], [2, 8, 3]]
        assert saved.described.routes == ("search", "link", "classification")
        with torch.no_grad():
            for format in ("CLF", "PRX", "QRY"):
                plain = vanilla.eval()(vanilla.pack(documents, [format] * 2))
                first = start.eval()(start.pack(documents, [format] * 2))
                last = saved.model.eval()(saved.model.pack(documents, [format] * 2))
                if name.endswith("Expert"):
                    assert torch.equal(first, plain), "a warm start is exact"
                assert not torch.allclose(last, first)
        assert saved.described.made["before"] == made["Vanilla"].key
        kept, trunk = (one.trunk.state_dict() for one in (vanilla, saved.model))
        assert all(torch.equal(trunk[key], value) for key, value in kept.items()) == (name == "Prefix")


def test_scimult_has_no_real_samples():
    given = replace(TINY, source="samples")
    with pytest.raises(ConfigError, match="SciMult's training pairs are embedded ones"):
        sets.examples(models.base("minilm", given), given, VARIANTS["SciMult Vanilla"])


@pytest.mark.slow
def test_experts_of_tasks_read_a_query_and_what_it_finds_alike(made):
    from scirep_core import load_encoder, load_task
    from scirep_core.evaluators.inputs import alike, inputs

    task = load_task("scirepeval/search", papers=600)
    for name, both in (("MHAExpert", {"QRY"}), ("Instruction", {"QRY"}), ("Vanilla", {"QRY", "PRX"})):
        encoder = load_encoder(made[name].encoder)
        given = inputs(task, encoder.recipe, by_task=alike(encoder))
        assert {one.format for one in given.values()} == both, name
