"""The neighbours of a collection: the same as one by one, kept, resumable, whoever makes them."""

from __future__ import annotations

from dataclasses import replace

import pytest

from scirep_core.data.perturbations import LITERAL, PERTURBATIONS, altered, perturb, top_phrases, words_kept
from scirep_core.data.perturbations.altered import alter
from scirep_core.data.perturbations.changes import Parsed, Text
from scirep_core.data.perturbations.linguistics import find_tools
from scirep_core.data.task import Collection, Task
from scirep_core.kit.errors import CacheError, ConfigError
from scirep_core.kit.records import Paper

pytestmark = pytest.mark.usefixtures("home")
PAPERS = [
    Paper(
        "a", "Large graphs of words", "We build large graphs. They grow quickly. The deep model learns three things."
    ),
    Paper("b", "A short one", "Nothing more."),
    Paper("c", "Models without text", ""),
    Paper(
        "d",
        "Sparse data",
        "Sparse data are common. Language models need dense data. We count language models. It works well.",
    ),
]


def task(papers=PAPERS) -> Task:
    texts = tuple(papers)
    ids = tuple(paper.paper_id for paper in texts)
    return Task("t", "alternative_self", "PRX", ("mrr",), Collection(ids), "folder", "hash", texts=lambda: texts)


@pytest.mark.parametrize("variant", ["default", "literal"])
def test_a_collections_neighbours_are_those_of_each_paper(variant):
    tools = find_tools("fallback")
    parsed = {p.paper_id: (Parsed(p.title, tools), Parsed(p.abstract, tools)) for p in PAPERS}
    top = top_phrases(abstract.phrases for _, abstract in parsed.values())
    made = alter(task(), seed=5, tools="fallback", variant=variant)
    assert list(made.by_code) == list(PERTURBATIONS) and made.tools.missing == tools.missing
    for code, found in made.by_code.items():
        alone = {key: perturb(key, *texts, code, 5, top, variant) for key, texts in parsed.items()}
        assert dict(zip(found.ids, found.texts, strict=True)) == {
            key: Text(one.title, one.abstract) for key, one in alone.items() if one.applies
        }
        assert sum(found.reasons.values()) == sum(not one.applies for one in alone.values())
        for key, text, kept in zip(found.ids, found.texts, found.shares, strict=True):
            paper = next(p for p in PAPERS if p.paper_id == key)
            assert kept == pytest.approx(words_kept(Text(paper.title, paper.abstract), text), abs=1e-6)


def test_what_is_made_is_kept_and_a_killed_run_goes_on_at_its_part(monkeypatch):
    monkeypatch.setattr(altered, "PART", 1)
    made, calls = alter(task(), tools="fallback", workers=1), []
    real = altered._make
    monkeypatch.setattr(altered, "_make", lambda job: calls.append(job.papers[0].paper_id) or real(job))
    assert alter(task(), tools="fallback", workers=1).by_code == made.by_code and not calls
    next(altered.home().glob("neighbours/*/2.jsonl.gz")).unlink()
    assert alter(task(), tools="fallback", workers=1).by_code == made.by_code and calls == ["c"]
    alter(task(), seed=1, tools="fallback", workers=1)
    alter(replace(task(), data_hash="other"), tools="fallback", workers=1)
    assert len(calls) == 1 + 4 + 4


@pytest.mark.parametrize("change", [lambda data: data[:-9], lambda data: data[:60] + b"?" + data[61:], lambda _: b"no"])
def test_a_kept_part_that_is_damaged_is_one_clear_line(change):
    alter(task(), tools="fallback", workers=1)
    (part,) = altered.home().glob("neighbours/*/*.jsonl.gz")
    part.write_bytes(change(part.read_bytes()))
    with pytest.raises(CacheError, match=rf"{part}: is damaged .*Delete the file; it is computed again"):
        alter(task(), tools="fallback", workers=1)


def test_both_readings_are_made_at_once_and_the_literal_one_is_other_where_it_should_be(monkeypatch):
    made = alter(task(), tools="fallback", workers=1)
    monkeypatch.setattr(altered, "_make", lambda job: pytest.fail("made again"))
    literal = alter(task(), variant="literal", tools="fallback", workers=1)
    assert {code for code in PERTURBATIONS if literal.by_code[code] != made.by_code[code]} == set(LITERAL)


def test_two_processes_make_what_one_makes(monkeypatch):
    one = alter(task(), tools="fallback", workers=1)
    monkeypatch.setattr(altered, "PART", 2)
    told = []
    two = alter(replace(task(), data_hash="other"), tools="fallback", workers=2, progress=lambda *at: told.append(at))
    assert two.by_code == one.by_code and told[-1] == (4, 4)


def test_a_part_of_the_collection_ranks_its_own_phrases():
    made = alter(task(), papers=["d", "a"], codes=["T_ARot", "T_ADelTopNNPH"], tools="fallback")
    assert list(made.by_code) == ["T_ARot", "T_ADelTopNNPH"] and made.by_code["T_ARot"].ids == ("d", "a")


def test_only_a_plain_collection_has_neighbours():
    with pytest.raises(ConfigError, match="plain collections"):
        alter(replace(task(), payload=None, type="proximity"))
    with pytest.raises(ConfigError, match="no paper 'z'"):
        alter(task(), papers=["z"])
    with pytest.raises(ConfigError, match="unknown neighbour 'T_ARott'"):
        alter(task(), codes=["T_ARott"])
    with pytest.raises(ConfigError, match="unknown variant 'literally'"):
        alter(task(), codes=["T_ARot"], variant="literally")
