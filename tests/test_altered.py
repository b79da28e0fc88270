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
    Paper("a", "Large graphs of words", "We build large graphs. They grow quickly. The deep model learns three things."),
    Paper("b", "A short one", "Nothing more."),
    Paper("c", "Models without text", ""),
    Paper("d", "Sparse data", "Sparse data are common. Language models need dense data. We count language models. It works well."),
]  # fmt: skip


def task(papers=PAPERS, data_hash="hash") -> Task:
    ids = tuple(paper.paper_id for paper in papers)
    return Task("t", "alternative_self", "PRX", ("mrr",), Collection(ids), "folder", data_hash, texts=lambda: papers)


def made(data_hash="hash", **more):
    return alter(task(data_hash=data_hash), **{"tools": "fallback", "workers": 1} | more)


@pytest.mark.parametrize("variant", ["default", "literal"])
def test_a_collections_neighbours_are_those_of_each_paper(variant):
    tools = find_tools("fallback")
    parsed = {p.paper_id: (Parsed(p.title, tools), Parsed(p.abstract, tools)) for p in PAPERS}
    top = top_phrases(abstract.phrases for _, abstract in parsed.values())
    found = made(seed=5, variant=variant)
    assert list(found.by_code) == list(PERTURBATIONS) and found.tools.missing == tools.missing
    for code, of in found.by_code.items():
        alone = {key: perturb(key, *texts, code, 5, top, variant) for key, texts in parsed.items()}
        wanted = {key: Text(one.title, one.abstract) for key, one in alone.items() if one.applies}
        assert dict(zip(of.ids, of.texts, strict=True)) == wanted
        assert sum(of.reasons.values()) == len(alone) - len(wanted)
        before = {p.paper_id: Text(p.title, p.abstract) for p in PAPERS}
        assert list(of.shares) == pytest.approx(
            [words_kept(before[key], text) for key, text in wanted.items()], abs=1e-6
        )


def test_what_is_made_is_kept_and_a_killed_run_goes_on_at_its_part(monkeypatch):
    monkeypatch.setattr(altered, "PART", 1)
    first, calls, real = made(), [], altered._make
    monkeypatch.setattr(altered, "_make", lambda job: calls.append(job.papers[0].paper_id) or real(job))
    assert made().by_code == first.by_code and not calls
    next(altered.home().glob("neighbours/*/2.jsonl.gz")).unlink()
    assert made().by_code == first.by_code and calls == ["c"]
    made(seed=1)
    made("other")
    assert len(calls) == 1 + 4 + 4


@pytest.mark.parametrize("change", [lambda data: data[:-9], lambda data: data[:60] + b"?" + data[61:], lambda _: b"no"])
def test_a_kept_part_that_is_damaged_is_one_clear_line(change):
    made()
    (part,) = altered.home().glob("neighbours/*/*.jsonl.gz")
    part.write_bytes(change(part.read_bytes()))
    with pytest.raises(CacheError, match=rf"{part}: is damaged .*Delete the file; it is computed again"):
        made()


def test_both_readings_are_made_at_once_and_the_literal_one_is_other_where_it_should_be(monkeypatch):
    first = made().by_code
    monkeypatch.setattr(altered, "_make", lambda job: pytest.fail("made again"))
    literal = made(variant="literal").by_code
    assert {code for code in PERTURBATIONS if literal[code] != first[code]} == set(LITERAL)


def test_two_processes_make_what_one_makes(monkeypatch):
    one, told = made().by_code, []
    monkeypatch.setattr(altered, "PART", 2)
    two = made("other", workers=2, progress=lambda *at: told.append(at))
    assert two.by_code == one and told[-1] == (4, 4)


def test_a_part_of_the_collection_ranks_its_own_phrases():
    found = made(papers=["d", "a"], codes=["T_ARot", "T_ADelTopNNPH"]).by_code
    assert list(found) == ["T_ARot", "T_ADelTopNNPH"] and found["T_ARot"].ids == ("d", "a")


@pytest.mark.parametrize(("change", "more", "message"), [
    ({"payload": None, "type": "proximity"}, {}, "plain collections"),
    ({}, {"papers": ["z"]}, "no paper 'z'"),
    ({}, {"codes": ["T_ARott"]}, "unknown neighbour 'T_ARott'"),
    ({}, {"codes": ["T_ARot"], "variant": "literally"}, "unknown variant 'literally'"),
])  # fmt: skip
def test_only_a_plain_collection_has_neighbours(change, more, message):
    with pytest.raises(ConfigError, match=message):
        alter(replace(task(), **change), **more)
