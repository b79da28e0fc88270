"""Systems that rank and systems by name: what each compares and which tasks it suits; MiniLM against transformers."""

from __future__ import annotations

import pickle
from dataclasses import replace

import numpy as np
import pytest
import tiny_models
from scripts import alone
from sklearn.feature_extraction.text import TfidfVectorizer
from small_tasks import all_tasks

from scirep_core import evaluate
from scirep_core.bench.systems import RANKING, System, load_system
from scirep_core.data.text import Recipe
from scirep_core.encoders import ENCODERS, aspire, hub, lexical, load_encoder
from scirep_core.evaluators import inputs
from scirep_core.evaluators.facets import facet_systems
from scirep_core.evaluators.facets.facet_systems import SYSTEMS, rank, resolve
from scirep_core.evaluators.inputs import vectors_of
from scirep_core.evaluators.pairs import PairScorer
from scirep_core.kit.errors import CacheError, ConfigError, DataError, UnknownName
from scirep_core.kit.records import Query
from scirep_core.kit.store import sha256_file

QUERY = Query("1", "method")


class Letters:
    name, fingerprint, recipe = "letters", "letters-1", Recipe(". ")

    def encode(self, texts, format):
        alphabet = "abcdefghijklmnopqrstuvwxyz"
        return np.array([[text.lower().count(c) for c in alphabet] for text in texts], dtype=np.float32)


def test_short_names_find_their_system():
    assert [resolve(name)[0] for name in ("bm25", "minilm")] == ["fabs_bm25", "minilm_sentences"]
    kinds = {"allenai/specter2_base:abstract": "abstract", "org/model": "sentences"}
    assert {name: resolve(name)[1].kind for name in kinds} == kinds
    for name, said in (("fabs_bm52", "did you mean 'fabs_bm25'"), ("minilm:sentence", "unknown system")):
        with pytest.raises(ConfigError, match=said):
            resolve(name)


def test_every_lexical_system_ranks_every_pool(tiny):
    pools = {q: set(tiny.candidates(q)) for q in tiny.queries}
    for name in (name for name, named in SYSTEMS.items() if named.kind == "lexical"):
        rankings = rank(tiny, name).system.rankings
        assert {q: set(r) for q, r in rankings.items()} == pools and rankings == rank(tiny, name).system.rankings


def test_tfidf_ranks_by_shared_rare_words_and_says_which(tiny):
    ranked = rank(tiny, "fabs_tfidf")
    assert ranked.system.rankings[QUERY][0] == "3"  # shares "stack machine"
    assert {term for term, _ in ranked.explain(QUERY, "3").terms} == {"stack", "machine"}


def test_lexical_scores_are_those_of_their_definitions(tiny):
    corpus = [paper.abstract for paper in tiny.papers.values()]
    rows = TfidfVectorizer(analyzer=lexical.tokens).fit(corpus)
    query, others = rows.transform(["a stack machine"]).toarray(), rows.transform(corpus).toarray()
    distance = np.linalg.norm(others - query, axis=1)  # l2 of normalised rows
    assert 2 - 2 * lexical.tfidf(corpus).scores("a stack machine", corpus) == pytest.approx(distance**2)
    assert lexical.bm25([]).scores("stack machine", ["", "a"]).tolist() == [0, 0]  # a pool without words ties
    assert lexical.tokens("The BM25 of a-b, it's naïve_x 7 42!") == ("bm25", "naïve_x", "42")  # as published


def test_definitions_one_and_two_differ_where_a_facet_hides_the_best_sentence_and_chosen_ones_replace_it(
    tiny, monkeypatch
):
    monkeypatch.setattr(facet_systems, "load_encoder", lambda name: Letters())
    # query 1/method: "We use a stack machine."; candidate 4 says "stack" in a result sentence only
    two, one = (rank(tiny, f"minilm_{kind}").explain(QUERY, "4").pairs for kind in ("sentences", "facet"))
    assert two[0][0] == 1  # the query's only method sentence
    assert tiny.papers["4"].labels[one[0][1]] == "method_label" and max(s for _, _, s in two) >= one[0][2]
    chosen = rank(tiny, "minilm_sentences", chosen={QUERY: [2]})
    assert {i for i, _, _ in chosen.explain(QUERY, "4").pairs} == {2} and chosen.system.fingerprint.endswith("-chosen")
    for wrong in ([7], [], [-1]):
        with pytest.raises(ConfigError, match="query 1_method"):
            rank(tiny, "fabs_tfidf", chosen={QUERY: wrong})


@pytest.mark.parametrize("step", [1, -1])
def test_word_vectors_depend_neither_on_the_run_nor_on_the_order_of_the_papers(tiny, tmp_path, monkeypatch, step):
    corpus, found = [paper.abstract for paper in tiny.papers.values()] * 3, []
    for home, given in (("first", corpus), ("again", corpus[::step])):  # nothing kept
        monkeypatch.setenv("SCIREP_HOME", str(tmp_path / home))
        found.append(lexical.cbow(given, 1).scores("stack machine", corpus[:4]))
    assert np.array_equal(*found)


@pytest.fixture
def tiny_model(tmp_path):
    for name, safe in (("safe", True), ("bin", False)):
        tiny_models.bert(tmp_path / name, safe=safe)
    return tmp_path


def test_a_name_may_say_the_number_type_so_that_rows_say_it_too(tiny_model):
    folder = tiny_model / "safe"
    plain, named = load_encoder(str(folder)), load_encoder(f"{folder}:bfloat16")
    given = load_encoder(str(folder), dtype="bfloat16")
    assert named.name == f"{folder}:bfloat16" and named.fingerprint == given.fingerprint != plain.fingerprint
    by_cls = load_encoder(f"{folder}@cls", dtype="bfloat16")
    assert load_encoder(f"{folder}@cls:bfloat16").fingerprint == by_cls.fingerprint
    parts = load_encoder(f"{folder}:bfloat16+{folder}").members
    assert [one.fingerprint for one in parts] == [given.fingerprint, plain.fingerprint]
    assert load_encoder(f"{folder}:bfloat16#PRX").encoder.fingerprint == given.fingerprint
    with pytest.raises(ConfigError, match="minilm:bfloat61"):
        load_encoder("minilm:bfloat61")


def test_weights_as_pickle_need_a_word_are_read_weights_only_and_never_executed(tiny_model, monkeypatch):
    names = {name: f"{tiny_model / name}@cls" for name in ("safe", "bin")}
    with pytest.raises(ConfigError, match="SCIREP_ALLOW_BIN=1"):
        load_encoder(names["bin"]).encode(["a"], "PRX")
    monkeypatch.setenv("SCIREP_ALLOW_BIN", "1")
    vectors = [load_encoder(name).encode(["a b"], "PRX") for name in names.values()]
    assert vectors[1] == pytest.approx(vectors[0])
    hostile = pickle.dumps({"x": tiny_models.Hostile(tiny_model / "owned")})
    (tiny_model / "bin" / "pytorch_model.bin").write_bytes(hostile)
    with pytest.raises(Exception, match=r"(?i)weights"):
        load_encoder(names["bin"]).encode(["a"], "PRX")
    assert not (tiny_model / "owned").exists()


def test_registry_rows_are_complete():
    for name, spec in ENCODERS.items():
        assert spec.pooling in ("mean", "cls", "pooler") or spec.model.startswith("scirep_core."), name
        assert spec.text, name
    assert sha256_file(load_encoder("minilm").folder / "model.safetensors") == hub.MINILM_SHA256


SMALL = all_tasks()


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    return str(tiny_models.bert(tmp_path_factory.mktemp("systems") / "bert"))


def test_floor_and_ceiling_are_passed_on_by_name(tmp_path):
    task, random, oracle = SMALL["proximity"], load_system("random"), load_system("oracle")
    assert random.on(task) == random.fingerprint == "random" and not oracle.suits(task)
    with pytest.raises(ConfigError, match="oracle cannot be scored on small/proximity"):
        oracle.on(task)
    assert oracle.on(replace(task, oracle=tmp_path / "oracle.npz")) == "oracle"


def test_what_has_vectors_suits_every_task_and_what_ranks_only_the_ranking_ones(tiny, model):
    for name in ("random", "tfidf", model, "minilm", f"{model}++{model}"):
        assert all(load_system(name).suits(task) for task in SMALL.values()), name
    for name in ("bm25", f"ts:{model}", f"ot:{model}"):
        assert {task.type for task in SMALL.values() if load_system(name).suits(task)} == set(RANKING), name
    assert not any(load_system(name).suits(tiny) for name in ("random", "tfidf", "bm25", "minilm"))  # it has its own


def test_every_system_scores_what_it_suits(model):
    for name in ("random", "tfidf", "bm25", model, f"{model}+{model}", f"ts:{model}", f"ot:{model}"):
        system = load_system(name)
        for key in ("proximity", "adhoc_search", "reviewer_matching", "triplets", "label_ranking", "classification"):
            task = SMALL[key]
            if system.suits(task):
                rows = evaluate(task, system.on(task), name=system.name)
                assert rows and all(np.isfinite(row.value) for row in rows), (name, key)
            else:
                with pytest.raises(ConfigError, match="cannot be scored on"):
                    system.on(task)


def test_vectors_and_scorers_are_those_of_their_parts(model):
    task = SMALL["adhoc_search"]
    words = load_system("tfidf").on(SMALL["label_ranking"])
    for scorer in (load_system("bm25").on(task), load_system(f"ts:{model}").on(task), words):
        assert isinstance(scorer, PairScorer)
    fitted = TfidfVectorizer(stop_words="english", sublinear_tf=True).fit(words.texts.values())
    for key in ("p0", "p1"):
        rows = fitted.transform([words.texts[key], words.texts["L1"]])
        assert words.scores(key, ["L1"])[0] == pytest.approx((rows[0] @ rows[1].T).toarray()[0, 0], abs=1e-6)
    for protocol in ("paper", "sound"):
        for found, expected in (
            (load_system("tfidf").on(task, protocol), inputs.tfidf_vectors(task, protocol=protocol)),
            (load_system(model).on(task, protocol), vectors_of(task, load_encoder(model), protocol)),
        ):
            assert set(found) == set(expected) and all(np.array_equal(found[key], expected[key]) for key in found)


def test_bm25_names_a_query_or_candidate_without_text():
    task = SMALL["proximity"]
    scorer, known = load_system("bm25").on(task), task.payload.rows[0]
    assert np.isfinite(scorer.scores(known.query_id, [known.cand_id])).all()
    for query, candidate, said in (("gone", known.cand_id, "query gone"), (known.query_id, "gone", "paper gone")):
        with pytest.raises(DataError, match=said):
            scorer.scores(query, [candidate])


def test_sentences_of_several_tasks_are_encoded_in_one_go(model, tmp_path, monkeypatch):
    monkeypatch.setenv("SCIREP_HOME", str(tmp_path))
    encoded, plain = [], aspire.SentenceEncoder.encode

    def counting(self, texts, format):
        encoded.append(len(texts))
        return plain(self, texts, format)

    monkeypatch.setattr(aspire.SentenceEncoder, "encode", counting)
    system = load_system(f"ts:{model}")
    for protocol in ("paper", "sound"):
        system.prepare(list(SMALL.values()), protocol)
    assert len(encoded) <= 2  # a group for a protocol
    done = len(encoded)
    for task in SMALL.values():
        for protocol in ("paper", "sound") if system.suits(task) else ():
            system.on(task, protocol)
    assert done and len(encoded) == done


def test_an_encoder_of_some_formats_suits_tasks_of_those(tmp_path):
    base = tiny_models.bert(tmp_path / "base")
    for seed, format in enumerate(("PRX", "CLF")):
        tiny_models.adapter(base, base / format, format, seed)
    system = load_system(str(base))
    suited = {task.format for task in SMALL.values() if system.suits(task)}
    assert suited == {"PRX", "CLF"}  # searching needs QRY beside PRX


def test_fingerprints_are_stable_and_all_different(model, tmp_path):
    other = str(tiny_models.bert(tmp_path / "other", 1))
    names = ["random", "oracle", "tfidf", "bm25", "minilm", model, other, f"{model}@mean", f"{model}+{other}",
             f"{other}+{model}", f"{model}++{other}", f"ts:{model}", f"ot:{model}", f"ts:{other}"]  # fmt: skip
    prints = {name: load_system(name).fingerprint for name in names}
    assert len(set(prints.values())) == len(names)
    assert prints == {name: load_system(name).fingerprint for name in names}
    assert prints[model] == load_encoder(model).fingerprint


def test_a_task_without_texts_says_what_to_give_instead(model):
    bare = replace(SMALL["proximity"], texts=tuple)
    for name in ("tfidf", "bm25", model):
        with pytest.raises(DataError, match=r"no texts to encode.*Give vectors by id"):
            load_system(name).on(bare)
    assert load_system("random").on(bare) == "random"


def test_unknown_names_name_the_nearest_and_an_error_is_known_by_its_type_and_not_by_its_words(monkeypatch):
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    for wrong, nearest in (("bm52", "bm25"), ("tf-idf", "tfidf"), ("ot_aspire_sc", "ot_aspire_cs"), ("scinlc", "scincl"),
                           ("randomm", "random"), ("minilmm", "minilm")):  # fmt: skip
        with pytest.raises(UnknownName, match=f"unknown system '{wrong}'; did you mean '{nearest}'") as caught:
            load_system(wrong)
        assert (caught.value.kind, caught.value.name) == ("system", wrong)
    refusals = {"nobody/nothing": "neither in the hub cache nor reachable", "minilm@max": "unknown pooling 'max'"}
    for wrong, said in refusals.items():
        with pytest.raises(ConfigError, match=said):
            load_system(wrong)
    refused = ConfigError("unknown encoder layer 'x' in config.json")  # the words of one error in the text of another
    monkeypatch.setattr("scirep_core.bench.systems.load_encoder", lambda name: (_ for _ in ()).throw(refused))
    with pytest.raises(ConfigError) as caught:
        load_system("minilm")
    assert caught.value is refused


@pytest.mark.parametrize("error", [UnknownName("metric", "mop", ["map"]), DataError("a.csv", 3, "no id", "Give one"),
                                   CacheError("damaged", "Again"), ConfigError("no")])  # fmt: skip
def test_an_error_crosses_a_border_of_processes_whole(error):
    back = pickle.loads(pickle.dumps(error))
    assert (type(back), str(back), vars(back)) == (type(error), str(error), vars(error))


def test_only_encoders_can_be_joined(model):
    for name, part in (("bm25+minilm", "bm25"), ("minilm++tfidf", "tfidf"), ("random+oracle", "random"),
                       (f"{model}+ts_aspire_cs", "ts_aspire_cs")):  # fmt: skip
        with pytest.raises(ConfigError, match=rf"\+ and \+\+ join encoders, and {part} is none; "):
            load_system(name)
    with pytest.raises(ConfigError, match="unknown encoder 'minilmm'; did you mean 'minilm'"):
        load_system(f"{model}+minilmm")
    with pytest.raises(ConfigError, match="no name is given"):
        load_system("")


def test_every_name_is_known(monkeypatch, tmp_path):
    """Without a network all but the bundled model are known and not there, and the message says which is missing."""
    monkeypatch.setenv("SCIREP_HOME", str(tmp_path))
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    for name in (*ENCODERS, *aspire.ASPIRE):
        done = None
        try:
            done = load_system(name)
        except ConfigError as error:
            assert "unknown" not in str(error), name
            assert "neither in the hub cache nor reachable" in str(error) or "is on no hub" in str(error), name
        assert done is None or isinstance(done, System)


def test_no_network_library_is_imported_to_name_a_system(model):
    code = ("import sys; from scirep_core.bench.systems import load_system\n"
            "for name in ('random', 'oracle', 'tfidf', 'bm25', 'minilm', sys.argv[1], 'ts:minilm'): load_system(name)\n"
            "print({'torch', 'transformers', 'adapters', 'sklearn', 'ot'} & set(sys.modules))")  # fmt: skip
    assert alone(code, model).strip() == "set()"
