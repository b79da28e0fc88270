"""`scirep perturb`: a line in, a line out for each code; clear errors; the same lines again."""

from __future__ import annotations

import gzip
import io
import json
import os
import sys
from types import SimpleNamespace

import pytest

from scirep_core.cli import main
from scirep_core.data.perturbations import MORE, PERTURBATIONS

LINES = [
    {
        "paper_id": "a",
        "title": "Large graphs",
        "abstract": "We build large graphs. They grow quickly. The deep model learns.",
    },
    {"paper_id": 7, "title": "No abstract", "abstract": None, "year": 2020},
    {"paper_id": "c", "title": "Half a pair \ud83d", "abstract": "We use large graphs.\u2028They\tgrow."},
]


@pytest.fixture
def run(monkeypatch, capsys):
    def run(*arguments: str, given: str | None = None) -> tuple[int, list[dict], str]:
        text = "\n".join(json.dumps(line) for line in LINES) + "\n" if given is None else given
        monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(text.encode())))
        with pytest.raises(SystemExit) as left:
            main(["perturb", *arguments])
        out, err = capsys.readouterr()
        return int(left.value.code or 0), [json.loads(line) for line in out.splitlines() if line.startswith("{")], err

    return run


def test_one_line_out_for_each_line_in_and_each_code(run):
    code, rows, err = run("--code", "T_ARot", "--tools", "fallback")
    assert code == 0 and [row["paper_id"] for row in rows] == ["a", "7", "c"]
    assert rows[0] == {"paper_id": "a", "code": "T_ARot", "applies": True, "title": "Large graphs",
                       "abstract": "They grow quickly. The deep model learns. We build large graphs."}  # fmt: skip
    assert rows[1] == {
        "paper_id": "7",
        "code": "T_ARot",
        "applies": False,
        "title": None,
        "abstract": None,
        "reason": "no abstract",
    }
    assert "fallbacks do part of the work" in err
    code, rows, _ = run("--code", "all", "--tools", "fallback")
    assert code == 0 and [row["code"] for row in rows] == [*PERTURBATIONS] * 3


def test_the_same_seed_gives_the_same_lines_and_another_other_ones(run):
    first, again, other = (
        run("--code", "T_AShuff,T_ADelRand", "--seed", seed, "--tools", "fallback")[1] for seed in "334"
    )
    assert first == again != other


def test_the_literal_variant_is_named(run):
    literal = run("--code", "T_A_WS", "--variant", "literal", "--tools", "fallback")[1][0]
    default = run("--code", "T_A_WS", "--tools", "fallback")[1][0]
    words = LINES[0]["abstract"].split()
    assert default["abstract"].split() == words and literal["abstract"].split() != words


def test_top_phrases_come_from_the_input_or_from_a_corpus(run, tmp_path):
    own = run("--code", "T_ADelTopNNPH", "--tools", "fallback")[1]
    corpus = tmp_path / "corpus.jsonl"
    corpus.write_text("".join(json.dumps({"paper_id": str(i), "abstract": text}) + "\n" for i, text in
                              enumerate(["A deep model helps. Large graphs help."] + ["Large graphs help."] * 9)))  # fmt: skip
    other = run("--code", "T_ADelTopNNPH", "--corpus", str(corpus), "--tools", "fallback")[1]
    assert len(own) == len(other) == 3 and own != other
    assert "deep model" not in other[0]["abstract"] and "large graphs" in other[0]["abstract"]


@pytest.mark.parametrize(
    ("arguments", "given", "said"),
    [
        (["--code", "T_ARott"], "", "unknown neighbour 'T_ARott'"),
        ([], "", "give --code"),
        (["--code", "T_ARot", "--variant", "litteral"], "", "default or literal"),
        (["--code", "T_ARot", "--tools", "spacy"], "", "unknown linguistic tools 'spacy'"),
        (["--code", "T_ARot"], '{"paper_id": "a"}\n{"title": "b"}\n', "standard input:2: field 'paper_id' is missing"),
        (
            ["--code", "T_ARot"],
            '{"paper_id": "a", "abstract": ["x"]}\n',
            "standard input:1: field 'abstract' must be str or null",
        ),
        (["--code", "T_ARot"], "{broken\n", "standard input:1: not a JSON object"),
        (["--code", "T_ADelTopNNPH", "--corpus", "nowhere.jsonl"], "", "nowhere.jsonl: file not found"),
    ],
)
def test_bad_input_ends_with_one_line_and_2(run, arguments, given, said):
    code, _, err = run(*arguments, given=given)
    assert code == 2 and said in err.splitlines()[-1]


def test_files_as_windows_saves_them_are_read_and_half_a_corpus_is_not(run, tmp_path):
    line = json.dumps(LINES[0])
    code, rows, _ = run("--code", "T_ARot", "--tools", "fallback", given=f"\ufeff{line}\r\n{line}\r\n")
    assert code == 0 and rows[0] == rows[1] == run("--code", "T_ARot", "--tools", "fallback")[1][0]
    corpus = tmp_path / "corpus.jsonl.gz"
    whole = gzip.compress(("\ufeff" + line).encode())
    for content, ends in ((whole, 0), (whole[:40], 2)):
        corpus.write_bytes(content)
        code, _, err = run("--code", "T_ADelTopNNPH", "--corpus", str(corpus), "--tools", "fallback")
        assert code == ends and (not ends or "corpus.jsonl.gz:1: not a whole gzip file" in err.splitlines()[-1])


def test_no_input_is_no_output(run):
    assert run("--code", "T_ARot", "--tools", "fallback", given="")[:2] == (0, [])


def test_the_codes_can_be_listed(run, capsys):
    with pytest.raises(SystemExit):
        main(["perturb", "--list", "--json"])
    rows = json.loads(capsys.readouterr().out)
    assert [row["code"] for row in rows] == [*PERTURBATIONS, *MORE] and {row["category"] for row in rows} == {
        known.category for known in PERTURBATIONS.values()
    }


@pytest.mark.slow
def test_all_32_codes_of_real_abstracts_with_nltk(run):
    from scirep_core import load_task

    if not os.environ.get("NLTK_DATA") or not os.environ.get("SCIREP_DATA_MIRROR"):
        pytest.skip("NLTK's data or the real sample are not at hand: set NLTK_DATA and SCIREP_DATA_MIRROR")
    papers = [paper for paper in load_task("sample/acl_anth", "real").papers.values() if len(paper.abstract) > 200][
        :200
    ]
    lines = [{"paper_id": paper.paper_id, "title": paper.title, "abstract": paper.abstract} for paper in papers]
    code, rows, _ = run("--code", "all", "--tools", "nltk", given="".join(json.dumps(line) + "\n" for line in lines))
    assert code == 0 and len(rows) == 32 * len(papers) == 6_400
