"""Systems that rank: what each compares, ties and determinism, MiniLM against transformers used directly, the store."""

from __future__ import annotations

import numpy as np
import pytest

from scirep_core import load_encoder
from scirep_core.data.text import Recipe
from scirep_core.encoders import ENCODERS, hub, lexical
from scirep_core.encoders.vectors.embed import encode
from scirep_core.evaluators.facets import facet_systems
from scirep_core.evaluators.facets.facet_systems import SYSTEMS, rank, resolve
from scirep_core.kit.errors import ConfigError
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


def test_a_vector_does_not_depend_on_its_neighbours(minilm):
    together = minilm.encode(TEXTS, "PRX")
    alone = np.concatenate([minilm.encode([text], "PRX") for text in TEXTS])
    assert together == pytest.approx(alone, abs=1e-5)


def test_bundled_weights_have_the_published_hash(minilm):
    from scirep_core.kit.store import sha256_file

    assert sha256_file(minilm.folder / "model.safetensors") == hub.MINILM_SHA256


def test_format_is_always_stated(minilm):
    with pytest.raises(ConfigError, match="unknown format 'prox'"):
        minilm.encode(["x"], "prox")


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


@pytest.fixture
def tiny_model(tmp_path):
    """A BERT of a few thousand weights in a folder laid out like the hub's, once as safetensors, once as .bin."""
    import torch
    import transformers

    torch.manual_seed(0)
    config = transformers.BertConfig(
        vocab_size=40, hidden_size=16, num_hidden_layers=2, num_attention_heads=2, intermediate_size=32
    )
    model = transformers.BertModel(config).eval()
    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "a", "b", "c", *(f"w{i}" for i in range(30))]
    (tmp_path / "vocab.txt").write_text("\n".join(words))
    tokenizer = transformers.BertTokenizerFast(str(tmp_path / "vocab.txt"))
    for name, safe in (("safe", True), ("bin", False)):
        model.save_pretrained(tmp_path / name, safe_serialization=safe)
        tokenizer.save_pretrained(tmp_path / name)
    return tmp_path


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
    import shutil
    import subprocess
    import sys

    hub_cache = tiny_model / "home" / "hub" / "models--allenai--specter"
    shutil.copytree(tiny_model / "safe", hub_cache / "snapshots" / "abc123")
    (hub_cache / "refs").mkdir()
    (hub_cache / "refs" / "main").write_text("abc123")
    code = (
        "from scirep_core import load_encoder; e = load_encoder('specter'); "
        "print(e.folder.name, e.pooling, e.encode(['a[SEP]b'], 'PRX').shape)"
    )
    environment = dict(os.environ, HF_HOME=str(tiny_model / "home"), HF_HUB_OFFLINE="1")
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=False)
    assert done.stdout.split("\n")[0] == "abc123 cls (1, 16)", done.stderr[-500:]


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
