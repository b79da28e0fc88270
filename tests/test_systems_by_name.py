"""Systems by name: what each is, which tasks it suits, what it gives `evaluate`; unknown names; nothing heavy early."""

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
from scirep_core.encoders import ENCODERS, aspire, load_encoder
from scirep_core.evaluators import reference
from scirep_core.evaluators.inputs import vectors_of
from scirep_core.evaluators.pairs import PairScorer
from scirep_core.kit.errors import CacheError, ConfigError, DataError, UnknownName

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
