"""`scirep perturb`: a line in, a line out for each code; clear errors; the same lines again."""

from __future__ import annotations

import gzip
import io
import json
import sys
from types import SimpleNamespace

import pytest
from small_files import jsonl
from test_perturbations import reference

from scirep_core.data.perturbations import MORE, PERTURBATIONS

ABSTRACT = "We build large graphs. They grow quickly. The deep model learns."
LINES = [
    {"paper_id": "a", "title": "Large graphs", "abstract": ABSTRACT},
    {"paper_id": 7, "title": "No abstract", "abstract": None, "year": 2020},
    {"paper_id": "c", "title": "Half a pair \ud83d", "abstract": "We use large graphs.\u2028They\tgrow."},
]
GIVEN = "".join(json.dumps(line) + "\n" for line in LINES)


@pytest.fixture
def run(monkeypatch, scirep):
    """Run the command on lines, with the fallback tools if no others are named; returns exit code, rows, errors."""

    def run(*words, given=GIVEN):
        words += () if "--tools" in words else ("--tools", "fallback")
        monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(given.encode())))
        code, out, err = scirep("perturb", *words)
        return code, [json.loads(line) for line in out.splitlines() if line.startswith("{")], err

    return run


def test_one_line_out_for_each_line_in_and_each_code(run):
    code, rows, err = run("--code", "T_ARot")
    assert code == 0 and "fallbacks do part of the work" in err and [row["paper_id"] for row in rows] == ["a", "7", "c"]
    assert rows[:2] == [
        {"paper_id": "a", "code": "T_ARot", "applies": True, "title": "Large graphs",
         "abstract": "They grow quickly. The deep model learns. We build large graphs."},
        {"paper_id": "7", "code": "T_ARot", "applies": False, "title": None, "abstract": None, "reason": "no abstract"},
    ]  # fmt: skip
    code, rows, _ = run("--code", "all")
    assert code == 0 and [row["code"] for row in rows] == [*PERTURBATIONS] * 3
    assert run("--code", "T_ARot", given="")[:2] == (0, [])


def test_the_same_seed_gives_the_same_lines_and_another_other_ones(run):
    first, again, other = (run("--code", "T_AShuff,T_ADelRand", "--seed", seed)[1] for seed in "334")
    assert first == again != other


def test_the_literal_variant_is_named(run):
    literal, default = (run("--code", "T_A_WS", *more)[1][0] for more in (("--variant", "literal"), ()))
    assert default["abstract"].split() == ABSTRACT.split() != literal["abstract"].split()


def test_top_phrases_come_from_the_input_or_from_a_corpus(run, tmp_path):
    own = run("--code", "T_ADelTopNNPH")[1]
    texts = ["A deep model helps. Large graphs help."] + ["Large graphs help."] * 9
    corpus = jsonl(tmp_path / "corpus.jsonl", [{"paper_id": str(i), "abstract": text} for i, text in enumerate(texts)])
    other = run("--code", "T_ADelTopNNPH", "--corpus", corpus)[1]
    assert len(own) == len(other) == 3 and own != other
    assert "deep model" not in other[0]["abstract"] and "large graphs" in other[0]["abstract"]


ROTATE = ("--code", "T_ARot")


@pytest.mark.parametrize(("words", "given", "said"), [
    (("--code", "T_ARott"), "", "unknown neighbour 'T_ARott'"),
    ((), "", "give --code"),
    ((*ROTATE, "--variant", "litteral"), "", "default or literal"),
    ((*ROTATE, "--tools", "spacy"), "", "unknown linguistic tools 'spacy'"),
    (ROTATE, '{"paper_id": "a"}\n{"title": "b"}\n', "standard input:2: field 'paper_id' is missing"),
    (ROTATE, '{"paper_id": "a", "abstract": ["x"]}\n', "standard input:1: field 'abstract' must be str or null"),
    (ROTATE, "{broken\n", "standard input:1: not a JSON object"),
    (("--code", "T_ADelTopNNPH", "--corpus", "nowhere.jsonl"), "", "nowhere.jsonl: file not found"),
])  # fmt: skip
def test_bad_input_ends_with_one_line_and_2(run, words, given, said):
    code, _, err = run(*words, given=given)
    assert code == 2 and said in err.splitlines()[-1]


def test_files_as_windows_saves_them_are_read_and_half_a_corpus_is_not(run, tmp_path):
    line = json.dumps(LINES[0])
    code, rows, _ = run(*ROTATE, given=f"\ufeff{line}\r\n{line}\r\n")
    assert code == 0 and rows[0] == rows[1] == run(*ROTATE)[1][0]
    corpus, whole = tmp_path / "corpus.jsonl.gz", gzip.compress(("\ufeff" + line).encode())
    for content, ends in ((whole, 0), (whole[:40], 2)):
        corpus.write_bytes(content)
        code, _, err = run("--code", "T_ADelTopNNPH", "--corpus", corpus)
        assert code == ends and (not ends or "corpus.jsonl.gz:1: not a whole gzip file" in err.splitlines()[-1])


def test_the_codes_can_be_listed(scirep):
    rows = json.loads(scirep("perturb", "--list", "--json")[1])
    assert [row["code"] for row in rows] == [*PERTURBATIONS, *MORE]
    assert {row["category"] for row in rows} == {known.category for known in PERTURBATIONS.values()}


def test_all_32_codes_with_nltk(run):
    reference()
    code, rows, err = run("--code", "all", "--tools", "nltk")
    assert code == 0 and len(rows) == 32 * len(LINES) and "fallback" not in err
    applied = {row["code"] for row in rows if row["applies"] and row["paper_id"] == "a"}
    assert {"T_ADelNN", "T_ARepADJ", "TDelADJ_A"} <= applied
