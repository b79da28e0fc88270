"""What an encoder is given per id: fields, prefixes, years, formats, ids that are query and candidate; who is asked."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
from small_files import refused
from small_tasks import all_tasks, task

from scirep_core.data.folder import read_folder, write_folder
from scirep_core.data.task import Judged, LabelSpace, LabelText, Qrel
from scirep_core.data.text import Recipe
from scirep_core.encoders import E5, ENCODERS
from scirep_core.encoders.ensemble import Ensemble
from scirep_core.evaluators.inputs import QUERY, Input, inputs, prepare, tfidf_vectors, vectors_of
from scirep_core.kit.errors import ConfigError
from scirep_core.kit.records import Paper

PAPERS = (
    Paper("1", "On swarms", "We count.", 2019, venue="Bee Days"),
    Paper("2", "On hives", "", None, venue="Bee Days"),
    Paper("3", "On wax", "We melt.", 0),
    Paper("4", "", "No title here.", 2001),
)
SEARCH = replace(
    task("adhoc_search", Judged((Qrel("q", "1", 1), Qrel("2", "3", 1)), True), ["ndcg"], format="QRY"),
    texts=lambda: PAPERS,
    queries={"q": "bees", "2": "hives in winter"},
    fields=("title", "abstract", "venue", "year"),
)
BERT = Recipe(" [SEP] ")


def test_search_has_venue_and_year_and_the_published_code_writes_years_as_floats():
    found = inputs(SEARCH, BERT, "paper")
    assert found["1"] == Input("On swarms [SEP] We count. [SEP] Bee Days [SEP] 2019.0", "PRX")
    assert found["3"].text == "On wax [SEP] We melt."  # a year of 0 is no year
    assert found["4"].text == "No title here. [SEP] 2001.0"
    assert inputs(SEARCH, BERT, "sound")["1"].text == "On swarms [SEP] We count. [SEP] Bee Days [SEP] 2019"
    plain = replace(SEARCH, fields=("title", "abstract"))
    assert inputs(plain, BERT)["1"].text == "On swarms [SEP] We count."


def test_a_bare_query_is_encoded_as_one_and_its_candidates_as_papers_to_be_found():
    found = inputs(SEARCH, E5, "sound")
    assert found["q"] == Input("query: bees", "QRY")
    assert found["1"] == Input("passage: On swarms [SEP] We count. [SEP] Bee Days [SEP] 2019", "PRX")
    proximity = replace(all_tasks()["proximity"], texts=lambda: PAPERS)
    assert inputs(proximity, E5)["1"] == Input("query: On swarms [SEP] We count.", "PRX")


def test_an_id_that_is_query_and_candidate_is_a_query_under_paper_and_both_under_sound():
    paper, sound = inputs(SEARCH, BERT, "paper"), inputs(SEARCH, BERT, "sound")
    assert paper["2"] == sound[f"2{QUERY}"] == Input("hives in winter", "QRY")
    assert sound["2"] == Input("On hives [SEP] Bee Days", "PRX")
    assert set(paper) == {"q", "1", "2", "3", "4"} == set(sound) - {f"2{QUERY}"}
    # a paper listed twice keeps its first text, and the query its own
    twice = replace(SEARCH, texts=lambda: (*PAPERS, Paper("2", "Another", "text"), Paper("1", "Another", "text")))
    assert (inputs(twice, BERT, "paper"), inputs(twice, BERT, "sound")) == (paper, sound)


def test_a_task_has_its_own_format_everywhere_but_in_search():
    for name, small in all_tasks().items():
        formats = {key: value.format for key, value in inputs(small, BERT).items()}
        queries = {formats.pop(key) for key in small.queries}
        assert queries == ({"QRY"} if small.format == "QRY" else set()), name
        assert set(formats.values()) == {"PRX" if small.format == "QRY" else small.format}, name


def test_short_queries_and_labels_are_texts_of_their_own():
    found = inputs(replace(all_tasks()["alternative_self"], texts=lambda: PAPERS), BERT)
    assert (found["1/t"].text, found["1/ta"].text) == ("On swarms", "On swarms [SEP] We count.")
    ranking = all_tasks()["label_ranking"]
    found = inputs(ranking, E5)  # name and definition
    assert (found["L0"].text, found["L1"].text) == ("query: topic 0", "query: topic 1 [SEP] what it is")
    shared = LabelSpace({"p0": ("p1",)}, {"p1": LabelText("p1", "a name")})
    refused(lambda: inputs(replace(ranking, payload=shared), BERT), "label p1 has the id of a paper")


class Lengths:
    """A stand-in encoder: length of a text and number of its format; remembers what it was asked."""

    formats = ("CLF", "RGN", "PRX", "QRY")

    def __init__(self, name, recipe, dim=2):
        self.name, self.recipe, self.dim, self.asked = name, recipe, dim, []
        self.fingerprint = f"lengths-{name}-{dim}"

    def encode(self, texts, format):
        self.asked += [(format, text) for text in texts]
        row = [[len(text), self.formats.index(format), *range(self.dim - 2)] for text in texts]
        return np.array(row, dtype=np.float32)


def test_vectors_are_made_under_the_format_of_each_id():
    encoder = Lengths("each", BERT)
    found = vectors_of(SEARCH, encoder, "sound")
    wanted = inputs(SEARCH, BERT, "sound")
    assert {key: (len(one.text), encoder.formats.index(one.format)) for key, one in wanted.items()} == {
        key: tuple(vector) for key, vector in found.items()
    }


def test_texts_of_several_tasks_are_encoded_once_and_then_only_found():
    encoder = Lengths("once", BERT)
    prepare([SEARCH, replace(SEARCH, name="again")], encoder)
    asked = len(encoder.asked)
    assert asked == len(set(encoder.asked)) == len(inputs(SEARCH, BERT))
    vectors_of(SEARCH, encoder)
    assert len(encoder.asked) == asked


def test_members_of_an_ensemble_read_their_own_texts():
    one, two = Lengths("one", BERT), Lengths("two", E5)
    alone = [vectors_of(SEARCH, member, "sound") for member in (one, two)]
    for how, expected in (
        ("mean", {key: (alone[0][key] + alone[1][key]) / 2 for key in alone[0]}),
        ("concatenation", {key: np.concatenate([alone[0][key], alone[1][key]]) for key in alone[0]}),
    ):
        asked = len(one.asked)
        both = Ensemble("both", (one, two), how)
        prepare([SEARCH], both, "sound")
        found = vectors_of(SEARCH, both, "sound")
        assert set(found) == set(expected)
        assert all(np.array_equal(found[key], expected[key]) for key in found), how
        assert len(one.asked) == asked  # what members have encoded alone is found
    assert ("QRY", "query: bees") in two.asked and ("QRY", "bees") in one.asked
    wide = Ensemble("no", (one, Lengths("wide", BERT, 3)), "mean")
    refused(lambda: vectors_of(SEARCH, wide), "cannot be averaged (one 2, wide 3)", error=ConfigError)


def test_ensembles_are_named_by_their_members_in_order_and_by_how():
    one, two = Lengths("one", BERT), Lengths("two", E5)
    pairs = [(one, two), (two, one), (one, one)]
    prints = {Ensemble("same", pair, how).fingerprint for pair in pairs for how in ("mean", "concatenation")}
    assert len(prints) == 6
    assert Ensemble("x", (one, two), "mean").fingerprint == Ensemble("y", (one, two), "mean").fingerprint
    assert Ensemble("x", (one, two), "concatenation").dim == 4
    mixed = Ensemble("x", (one, two), "mean")
    refused(lambda: mixed.recipe, "members read different texts", error=ConfigError)
    same = Ensemble("x", (one, Lengths("three", BERT)), "mean")
    assert same.encode(["abc"], "RGN").tolist() == [[3, 1]]


def test_tfidf_has_a_row_per_id_of_length_one():
    small = all_tasks()["search"]
    rows = tfidf_vectors(small)
    assert set(rows) == set(inputs(small, ENCODERS["minilm"].recipe))
    assert {round(float(np.linalg.norm(row)), 5) for row in rows.values()} <= {0.0, 1.0}
    words = [Paper(f"p{i}", word, "") for i, word in enumerate(("moss", "fern", "of"))]
    bare, says = replace(small, queries={}, texts=lambda: words), "no word but stop words stands in two of its 3 texts"
    refused(lambda: tfidf_vectors(bare), says)


def test_a_task_folder_keeps_the_fields_of_its_texts(tmp_path):
    for name, given, stated in (("search", SEARCH, [*SEARCH.fields]), ("plain", all_tasks()["proximity"], None)):
        write_folder(given, tmp_path / name)
        assert json.loads((tmp_path / name / "task.json").read_text()).get("fields") == stated
        back = read_folder(tmp_path / name)
        assert back.fields == given.fields and inputs(back, BERT) == inputs(given, BERT)
