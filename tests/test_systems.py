"""Systems that rank and systems by name: what each compares and which tasks it suits; MiniLM against transformers."""

from __future__ import annotations

import pickle
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest
import tiny_models
from sklearn.feature_extraction.text import TfidfVectorizer
from small_tasks import all_tasks

from scirep_core import evaluate
from scirep_core.bench.systems import RANKING, System, load_system
from scirep_core.data.text import Recipe
from scirep_core.encoders import ENCODERS, aspire, hub, lexical, load_encoder
from scirep_core.encoders.vectors.embed import encode
from scirep_core.evaluators import reference
from scirep_core.evaluators.facets import facet_systems
from scirep_core.evaluators.facets.facet_systems import SYSTEMS, rank, resolve
from scirep_core.evaluators.inputs import vectors_of
from scirep_core.evaluators.pairs import PairScorer
from scirep_core.kit.errors import CacheError, ConfigError, DataError, UnknownName
from scirep_core.kit.records import Query

QUERY = Query("1", "method")


class Letters:
    """A stand-in encoder: counts of letters; counts its calls."""

    name, fingerprint, recipe = "letters", "letters-1", Recipe(". ")

    def __init__(self):
        self.calls = 0

    def encode(self, texts, format):
        self.calls += 1
        return np.array(
            [[text.lower().count(c) for c in "abcdefghijklmnopqrstuvwxyz"] for text in texts], dtype=np.float32
        )


def test_short_names_find_their_system():
    assert resolve("bm25")[0] == "fabs_bm25"
    assert resolve("minilm")[0] == "minilm_sentences"
    assert resolve("allenai/specter2_base:abstract")[1].kind == "abstract"
    assert resolve("org/model")[1].kind == "sentences"
    with pytest.raises(ConfigError, match="did you mean 'fabs_bm25'"):
        resolve("fabs_bm52")
    with pytest.raises(ConfigError, match="unknown system"):
        resolve("minilm:sentence")


def test_every_lexical_system_ranks_every_pool(tiny):
    for name, named in SYSTEMS.items():
        if named.kind == "lexical":
            ranked = rank(tiny, name)
            assert {q: set(r) for q, r in ranked.system.rankings.items()} == {
                q: set(tiny.candidates(q)) for q in tiny.queries
            }
            assert ranked.system.rankings == rank(tiny, name).system.rankings


def test_tfidf_ranks_by_shared_rare_words_and_says_which(tiny):
    ranked = rank(tiny, "fabs_tfidf")
    assert ranked.system.rankings[QUERY][0] == "3"  # shares "stack machine"
    assert {term for term, _ in ranked.explain(QUERY, "3").terms} == {"stack", "machine"}


def test_tfidf_agrees_with_l2_distance_of_normalised_rows(tiny):
    from sklearn.feature_extraction.text import TfidfVectorizer

    corpus = [paper.abstract for paper in tiny.papers.values()]
    rows = TfidfVectorizer(analyzer=lexical.tokens).fit(corpus)
    query, others = rows.transform(["a stack machine"]).toarray(), rows.transform(corpus).toarray()
    distance = np.linalg.norm(others - query, axis=1)
    scores = lexical.tfidf(corpus).scores("a stack machine", corpus)
    assert 2 - 2 * scores == pytest.approx(distance**2)


def test_a_pool_without_words_ties():
    assert lexical.bm25([]).scores("stack machine", ["", "a"]).tolist() == [0, 0]


def test_tokens_are_the_published_ones():
    assert lexical.tokens("The BM25 of a-b, it's naïve_x 7 42!") == ("bm25", "naïve_x", "42")


def test_definitions_one_and_two_differ_where_a_facet_hides_the_best_sentence(tiny, monkeypatch):
    monkeypatch.setattr(facet_systems, "load_encoder", lambda name: Letters())
    # query 1/method: "We use a stack machine."; candidate 4 says "stack" in a result sentence only
    two, one = rank(tiny, "minilm_sentences"), rank(tiny, "minilm_facet")
    pair = two.explain(QUERY, "4").pairs[0]
    assert pair[0] == 1  # the query's only method sentence
    assert tiny.papers["4"].labels[one.explain(QUERY, "4").pairs[0][1]] == "method_label"
    best = max(s for _, _, s in two.explain(QUERY, "4").pairs)
    assert best >= one.explain(QUERY, "4").pairs[0][2]


def test_chosen_sentences_replace_the_facet(tiny, monkeypatch):
    monkeypatch.setattr(facet_systems, "load_encoder", lambda name: Letters())
    chosen = rank(tiny, "minilm_sentences", chosen={QUERY: [2]})
    assert {i for i, _, _ in chosen.explain(QUERY, "4").pairs} == {2}
    assert chosen.system.fingerprint.endswith("-chosen")
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


# --------------------------------------------------------------------------------------------------- encoders


@pytest.fixture(scope="module")
def minilm():
    return load_encoder("minilm")


@pytest.fixture
def tiny_model(tmp_path):
    """A BERT of a few thousand weights, once as safetensors, once as .bin."""
    for name, safe in (("safe", True), ("bin", False)):
        tiny_models.bert(tmp_path / name, safe=safe)
    return tmp_path


TEXTS = [
    "Slow parsing of sentences hurts.",
    "A stack machine plans. " * 30 + "Then birds sing. " * 90,
    "x",
    "",
    "Bird song is rare.",
]


def test_minilm_agrees_with_sentence_transformers(minilm):
    from sentence_transformers import SentenceTransformer

    oracle = SentenceTransformer(str(minilm.folder), device="cpu")
    assert minilm.length == oracle.max_seq_length == 256
    assert minilm.normalised
    assert minilm.encode(TEXTS, "PRX") == pytest.approx(oracle.encode(TEXTS, batch_size=2), abs=1e-5)


def test_bundled_weights_have_the_published_hash(minilm):
    from scirep_core.kit.store import sha256_file

    assert sha256_file(minilm.folder / "model.safetensors") == hub.MINILM_SHA256


def test_hub_layout_folder_loads_with_each_pooling_like_transformers(tiny_model):
    import torch
    import transformers

    folder = tiny_model / "safe"
    model = transformers.AutoModel.from_pretrained(folder).eval()
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    with torch.no_grad():
        out = model(**tokenizer(["a b c"], return_tensors="pt"))
    expected = {
        "cls": out.last_hidden_state[0, 0], "mean": out.last_hidden_state[0].mean(0), "pooler": out.pooler_output[0]
    }  # fmt: skip
    prints = set()
    for pooling, vector in expected.items():
        encoder = load_encoder(f"{folder}@{pooling}")
        assert encoder.encode(["a b c"], "PRX")[0] == pytest.approx(vector.numpy(), abs=1e-5)
        prints.add(encoder.fingerprint)
    assert len(prints) == 3  # pooling is part of the fingerprint
    with pytest.raises(ConfigError, match="unknown pooling 'max'"):
        load_encoder(f"{folder}@max")


def test_a_name_may_say_the_number_type_so_that_rows_say_it_too(tiny_model):
    folder = tiny_model / "safe"
    named, given = load_encoder(f"{folder}:bfloat16"), load_encoder(str(folder), dtype="bfloat16")
    assert named.name == f"{folder}:bfloat16"
    assert named.fingerprint == given.fingerprint != load_encoder(str(folder)).fingerprint
    assert (
        load_encoder(f"{folder}@cls:bfloat16").fingerprint
        == load_encoder(f"{folder}@cls", dtype="bfloat16").fingerprint
    )
    parts = load_encoder(f"{folder}:bfloat16+{folder}").members
    assert [one.fingerprint for one in parts] == [given.fingerprint, load_encoder(str(folder)).fingerprint]
    assert load_encoder(f"{folder}:bfloat16#PRX").encoder.fingerprint == given.fingerprint
    with pytest.raises(ConfigError, match="minilm:bfloat61"):
        load_encoder("minilm:bfloat61")


def test_weights_as_pickle_need_a_word_and_are_read_weights_only(tiny_model, monkeypatch):
    with pytest.raises(ConfigError, match="SCIREP_ALLOW_BIN=1"):
        load_encoder(f"{tiny_model / 'bin'}@cls").encode(["a"], "PRX")
    safe = load_encoder(f"{tiny_model / 'safe'}@cls").encode(["a b"], "PRX")
    monkeypatch.setenv("SCIREP_ALLOW_BIN", "1")
    assert load_encoder(f"{tiny_model / 'bin'}@cls").encode(["a b"], "PRX") == pytest.approx(safe)


def test_a_hostile_pickle_is_never_executed(tiny_model, monkeypatch):
    import os
    import pickle

    class Evil:
        def __reduce__(self):
            return (os.mkdir, (str(tiny_model / "owned"),))

    (tiny_model / "bin" / "pytorch_model.bin").write_bytes(pickle.dumps({"x": Evil()}))
    monkeypatch.setenv("SCIREP_ALLOW_BIN", "1")
    with pytest.raises(Exception, match=r"(?i)weights"):
        load_encoder(f"{tiny_model / 'bin'}@cls").encode(["a"], "PRX")
    assert not (tiny_model / "owned").exists()


def test_hub_names_load_from_a_filled_cache_with_no_network(tiny_model):
    """A cache tree as the hub library leaves it: refs/main names a snapshot folder."""
    import os
    import subprocess
    import sys

    tiny_models.cache(tiny_model / "home", "allenai/specter", tiny_model / "safe")
    code = (
        "from scirep_core import load_encoder; e = load_encoder('specter'); "
        "print(e.folder.name, e.pooling, e.encode(['a[SEP]b'], 'PRX').shape)"
    )
    environment = dict(os.environ, HF_HOME=str(tiny_model / "home"), HF_HUB_OFFLINE="1")
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=False)
    assert done.stdout.split("\n")[0] == "abc123 cls (1, 32)", done.stderr[-500:]


def test_unreachable_and_unknown_models_are_refused(monkeypatch):
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    with pytest.raises(ConfigError, match="neither in the hub cache nor reachable"):
        _ = load_encoder("specter").fingerprint
    with pytest.raises(ConfigError, match="did you mean 'minilm'"):
        load_encoder("minilmm")


def test_encoders_state_their_width_and_refuse_a_bare_string(minilm):
    assert minilm.dim == 384
    assert encode(minilm, [], "PRX").shape == (0, 384)
    for wrong in ("one text", [None], [1]):
        with pytest.raises(ConfigError, match="list of strings"):
            encode(minilm, wrong, "PRX")


def test_registry_rows_are_complete():
    for name, spec in ENCODERS.items():
        assert spec.pooling in ("mean", "cls", "pooler") or spec.model.startswith("scirep_core."), name
        assert spec.text, name


SMALL = all_tasks()


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    return str(tiny_models.bert(tmp_path_factory.mktemp("systems") / "bert"))


def test_floor_and_ceiling_are_passed_on_by_name(tmp_path):
    task = SMALL["proximity"]
    assert load_system("random").on(task) == "random"
    assert load_system("random").fingerprint == "random"
    oracle = load_system("oracle")
    assert not oracle.suits(task)
    with pytest.raises(ConfigError, match="oracle cannot be scored on small/proximity"):
        oracle.on(task)
    assert oracle.on(replace(task, oracle=tmp_path / "oracle.npz")) == "oracle"


def test_what_has_vectors_suits_every_task_and_what_ranks_only_the_ranking_ones(tiny, model):
    for name in ("random", "tfidf", model, "minilm", f"{model}++{model}"):
        assert all(load_system(name).suits(task) for task in SMALL.values()), name
    for name in ("bm25", f"ts:{model}", f"ot:{model}"):
        assert {task.type for task in SMALL.values() if load_system(name).suits(task)} == set(RANKING), name
    for name in ("random", "tfidf", "bm25", "minilm"):
        assert not load_system(name).suits(tiny)  # CSFCube has systems of its own


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
    assert isinstance(load_system("bm25").on(task), PairScorer)
    assert isinstance(load_system(f"ts:{model}").on(task), PairScorer)
    words = load_system("tfidf").on(SMALL["label_ranking"])
    assert isinstance(words, PairScorer)
    alone = TfidfVectorizer(stop_words="english", sublinear_tf=True).fit(words.texts.values())
    for key in ("p0", "p1"):
        rows = alone.transform([words.texts[key], words.texts["L1"]])
        assert words.scores(key, ["L1"])[0] == pytest.approx((rows[0] @ rows[1].T).toarray()[0, 0], abs=1e-6)
    for protocol in ("paper", "sound"):
        for found, expected in (
            (load_system("tfidf").on(task, protocol), reference.tfidf_vectors(task, protocol=protocol)),
            (load_system(model).on(task, protocol), vectors_of(task, load_encoder(model), protocol)),
        ):
            assert set(found) == set(expected)
            assert all(np.array_equal(found[key], expected[key]) for key in found)


def test_bm25_names_a_query_or_candidate_without_text():
    task = SMALL["proximity"]
    scorer, known = load_system("bm25").on(task), task.payload.rows[0]
    assert np.isfinite(scorer.scores(known.query_id, [known.cand_id])).all()
    for query, candidate, said in (("gone", known.cand_id, "query gone"), (known.query_id, "gone", "paper gone")):
        with pytest.raises(DataError, match=said):
            scorer.scores(query, [candidate])


def test_prepared_texts_are_only_found(model, monkeypatch):
    system = load_system(model)
    system.prepare(list(SMALL.values()), "sound")
    monkeypatch.setattr(type(system.encoder), "encode", lambda *_: pytest.fail("encoded again"))
    for task in SMALL.values():
        system.on(task, "sound")
    for name in ("random", "tfidf", "bm25"):
        load_system(name).prepare(list(SMALL.values()))


def test_sentences_of_several_tasks_are_encoded_in_one_go(model, tmp_path, monkeypatch):
    monkeypatch.setenv("SCIREP_HOME", str(tmp_path))
    encoded, plain = [], aspire.SentenceEncoder.encode
    monkeypatch.setattr(
        aspire.SentenceEncoder, "encode", lambda self, texts, f: (encoded.append(len(texts)), plain(self, texts, f))[1]
    )
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


def test_unknown_names_name_the_nearest(monkeypatch):
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    for wrong, nearest in (("bm52", "bm25"), ("tf-idf", "tfidf"), ("ot_aspire_sc", "ot_aspire_cs"), ("scinlc", "scincl"),
                           ("randomm", "random")):  # fmt: skip
        with pytest.raises(ConfigError, match=f"unknown system '{wrong}'; did you mean '{nearest}'"):
            load_system(wrong)
    with pytest.raises(ConfigError, match="neither in the hub cache nor reachable"):
        load_system("nobody/nothing")
    with pytest.raises(ConfigError, match="unknown pooling 'max'"):
        load_system("minilm@max")


def test_an_error_is_known_by_its_type_and_not_by_its_words(monkeypatch):
    with pytest.raises(UnknownName, match="unknown system 'minilmm'; did you mean 'minilm'") as caught:
        load_system("minilmm")
    assert (caught.value.kind, caught.value.name) == ("system", "minilmm")
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
    code = (
        "import sys; from scirep_core.bench.systems import load_system\n"
        "for name in ('random', 'oracle', 'tfidf', 'bm25', 'minilm', sys.argv[1], 'ts:minilm'): load_system(name)\n"
        "print({'torch', 'transformers', 'adapters', 'sklearn', 'ot'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code, model], capture_output=True, text=True, check=False)
    assert done.stdout.strip() == "set()", done.stderr[-500:]
