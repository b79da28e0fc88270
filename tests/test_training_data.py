"""Training sets as token ids: texts, triplets, targets, caps by hand; nothing of the evaluation is ever in them."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from itertools import count
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from counted import peak
from small_files import MIRROR, jsonl, refused

from scirep_core.data import TASKS, TRAINING, load_task, locate
from scirep_core.data.readers.samples import SAMPLES, in_train
from scirep_core.data.readers.scirepeval import TrainExample
from scirep_core.data.task import Example, Judged, Labelled, Qrel, Task, Triple, Triples
from scirep_core.data.text import Recipe
from scirep_core.encoders.trunk.tokens import of_words
from scirep_core.kit.errors import CacheError, ConfigError, DataError, ScirepError
from scirep_core.kit.records import Paper
from scirep_core.training import data as training_data
from scirep_core.training.data import Documents, Reading, Stream, TrainTask, build, hash_of, in_proportion, real, stream
from scirep_core.training.data.published import published_streams, read_tasks_config
from scirep_core.training.data.real import TRAINED, held_out, sample_streams
from scirep_core.training.sets import mapped

WORDS = ["alpha", "beta", "gamma", "on", "the", "of", "bees", "ants", "moss", "fern", "law", "2019", ".", "0", "find",
         "journal"]  # fmt: skip
NAMES = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]


@pytest.fixture(scope="module")
def tokens():
    return of_words({name: i for i, name in enumerate([*NAMES, *WORDS])})


def paper(key: str, title: str, abstract: str = "", **more) -> dict:
    return {"doc_id": key, "title": title, "abstract": abstract, **more}


def put(root: Path, config: str, split: str, rows: list[dict]) -> None:
    jsonl(root / "scirepeval" / config / f"{split}.jsonl", rows)


BEES, ANTS = ("1", "on bees", "alpha beta"), ("2", "on ants", "gamma")
MOSS, FERN = ("3", "moss", "the law of moss"), ("4", "fern", "")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Return four training sets of four papers."""
    put(tmp_path, "fos", "train", [paper(*BEES, labels_text=["law", "art"]), paper(*ANTS, labels_text=["art"])])
    put(tmp_path, "fos", "validation", [paper(*FERN, labels_text=["year"])])
    put(tmp_path, "mesh_descriptors", "train", [paper(*p, descriptor=d) for p, d in ((ANTS, "b"), (BEES, "a"))])
    put(tmp_path, "pub_year", "train", [paper(*p, scaled_year=y) for p, y in ((BEES, 0.0), (ANTS, 1.0), (MOSS, 2.0))])
    put(tmp_path, "pub_year", "validation", [paper("4", "fern", "alpha", scaled_year=4.0)])
    put(tmp_path, "cite_prediction", "train", [
        {"query": paper(*BEES), "pos": paper(*ANTS), "neg": paper(*MOSS)},
        {"query": paper(*ANTS), "pos": paper(*MOSS), "neg": paper(*FERN)},
    ])  # fmt: skip
    put(tmp_path, "search", "train", [{
        "query": "find bees", "doc_id": "q", "candidates": [
            paper(*BEES, score=2, venue="journal", year=2019.0), paper(*FERN, score=0, venue="", year=None),
        ],
    }])  # fmt: skip
    put(tmp_path, "same_author", "train", [{
        "query": paper(*BEES), "candidates": [paper(*ANTS, score=1), paper(*MOSS, score=0), paper(*FERN, score=0)],
    }])  # fmt: skip
    return tmp_path


def shown(task: TrainTask, number: int, tokens) -> str:
    names = [*NAMES, *WORDS]
    return " ".join(names[i] for i in task.documents.of([number])[0])


def tasks_of(names: str, root: Path, tokens, split="train", cap=None, file=None, **reading) -> list[TrainTask]:
    given = Reading(**{"titles_only": 0.0, **reading})
    wanted = [stream(f"scirepeval/{name}", root, split, cap) for name in names.split()]
    return build(wanted, tokens, given.of(split), file)


# --- the eight sets ---------------------------------------------------------------------------------------------------


def test_tasks_share_documents_and_a_paper_is_one_document_in_all(root, tokens):
    tasks = tasks_of("fos mesh_descriptors pub_year cite_prediction same_author", root, tokens)
    assert len({id(task.documents) for task in tasks}) == 1 and tasks[0].documents.docs == 4
    assert [task.rows.tolist() for task in tasks[:4]] == [[0, 1], [1, 0], [0, 1, 2], [[0, 1, 2], [1, 2, 3]]]
    assert shown(tasks[0], 0, tokens) == "[CLS] on bees [SEP] alpha beta [SEP]"
    assert shown(tasks[3], 3, tokens) == "[CLS] fern [SEP]"


def test_targets_are_classes_several_classes_and_scaled_numbers_of_the_training_part(root, tokens):
    fos, mesh, year = tasks_of("fos mesh_descriptors pub_year", root, tokens)
    several = ("multi_label", ("art", "law", "year"), [[1, 1, 0], [1, 0, 0]])
    assert (fos.kind, fos.classes, fos.targets.tolist()) == several
    assert (mesh.kind, mesh.classes, mesh.targets.tolist()) == ("classification", ("a", "b"), [1, 0])
    assert year.kind == "regression" and year.targets.tolist() == pytest.approx([-np.sqrt(1.5), 0, np.sqrt(1.5)])
    assert [task.outputs for task in (fos, mesh, year)] == [3, 2, 1]
    assert [task.targets.dtype for task in (fos, mesh, year)] == ["float32", "int64", "float32"]
    fos, year = tasks_of("fos pub_year", root, tokens, split="validation", titles_only=1.0)
    assert (fos.classes, fos.targets.tolist()) == (("art", "law", "year"), [[0, 0, 1]])
    assert year.targets.tolist() == pytest.approx([(4 - 1) / np.sqrt(2 / 3)])
    put(root, "pub_year", "train", [paper(*BEES, scaled_year=1.0), paper(*ANTS, scaled_year=1.0)])
    assert tasks_of("pub_year", root, tokens)[0].targets.tolist() == [0, 0]  # not divided by nothing


GAMMA = Recipe(" . ", query="alpha ", found="beta ", paper="gamma ")


@pytest.mark.parametrize(("name", "more", "wanted"), [
    ("search", {}, ["find bees [SEP]", "on bees [SEP] alpha beta [SEP] journal [SEP] 2019 . 0 [SEP]", "fern [SEP]"]),
    ("search", {"recipe": GAMMA}, ["alpha find bees [SEP]", None, "beta fern [SEP]"]),
    ("cite_prediction", {"recipe": GAMMA}, ["gamma on bees . alpha beta [SEP]"]),
    ("search", {"titles_only": 1.0}, ["find bees [SEP]"]), ("cite_prediction", {"titles_only": 1.0}, ["on bees [SEP]"]),
    ("pub_year", {"titles_only": 1.0, "split": "validation"}, ["fern [SEP] alpha [SEP]"]),
])  # fmt: skip
def test_a_text_is_what_the_recipe_makes_of_a_query_or_a_paper(name, more, wanted, root, tokens):
    """Queries are bare, and papers that are to be found have venue and year; a title alone is of training papers only."""
    (task,) = tasks_of(name, root, tokens, **more)
    assert name != "search" or (task.format, task.query_format, task.rows.tolist()) == ("PRX", "QRY", [[0, 1, 2]])
    for number, text in enumerate(wanted):
        assert text is None or shown(task, number, tokens) == f"[CLS] {text}"


def test_documents_are_cut_and_waiting_texts_do_not_matter(root, tokens, monkeypatch):
    names = "fos mesh_descriptors pub_year cite_prediction same_author search"
    whole = tasks_of(names, root, tokens, max_length=5)
    assert whole[0].documents.lengths.max() == 5 and shown(whole[0], 0, tokens) == "[CLS] on bees [SEP] [SEP]"
    monkeypatch.setattr(training_data, "AT_ONCE", 2)
    for a, b in zip(whole, tasks_of(names, root, tokens, max_length=5), strict=True):
        for one, other in ((a.rows, b.rows), *zip(a.documents, b.documents, strict=True)):
            assert (one == other).all()


GRADED = [{"query": paper(*BEES), "candidates": [paper(*ANTS, score=2), paper(*MOSS, score=1), paper(*FERN, score=0)]}]


def test_grades_are_respected_but_by_the_published_configuration(root, tokens):
    put(root, "same_author", "train", GRADED)
    (graded,) = tasks_of("same_author", root, tokens)
    ants, moss, fern = "[CLS] on ants [SEP] gamma [SEP]", "[CLS] moss [SEP] the law of moss [SEP]", "[CLS] fern [SEP]"
    found = {(shown(graded, p, tokens), shown(graded, n, tokens)) for _, p, n in graded.rows}
    assert found == {(ants, moss), (ants, fern), (moss, fern)}
    entry = {"name": "s2and", "type": "ir", "dataset": {"path": "allenai/scirepeval", "name": "same_author"}}
    assert len(build(published_streams(configured(root, entry), lambda name: root), tokens)[0]) == 1


def test_caps_take_the_first_triplets_and_each_class_its_share(root, tokens):
    rows = [paper(str(i), "moss", "alpha " * i, descriptor="b" if i % 4 else "a") for i in range(40)]
    put(root, "mesh_descriptors", "train", rows)
    mesh, year = tasks_of("mesh_descriptors pub_year", root, tokens, cap=8)
    (cite,) = tasks_of("cite_prediction", root, tokens, cap=1)
    assert Counter(mesh.targets.tolist()) == {0: 2, 1: 6} and len(year) == 3 and len(cite) == 1
    assert shown(cite, cite.rows[0, 0], tokens) == "[CLS] on bees [SEP] alpha beta [SEP]"
    (again,) = tasks_of("mesh_descriptors", root, tokens, cap=8)
    assert again.documents.lengths.tolist() == mesh.documents.lengths[mesh.rows].tolist()
    (other,) = tasks_of("mesh_descriptors", root, tokens, cap=8, seed=1)
    assert other.documents.lengths.tolist() != again.documents.lengths.tolist()


@pytest.mark.parametrize("most", [1, 7, 10, 99])
def test_in_proportion_meets_the_cap_and_rounds_fairly(most):
    groups = ["a"] * 50 + ["b"] * 30 + ["c"] * 19
    counts = Counter(groups[i] for i in in_proportion(groups, most, seed=3))
    assert counts.total() == most and all(abs(counts[name] - most * groups.count(name) / 99) < 1 for name in "abc")
    assert most != 10 or counts == {"a": 5, "b": 3, "c": 2}  # of shares of 5.05, 3.03, 1.92


def test_what_is_unknown_missing_or_does_not_fit_is_named(root, tokens):
    rows = [TrainExample(Paper("1", "a", "b"), "lwa")]
    stray = Stream("x", "classification", lambda: iter(rows), "CLF", "CLF", classes=("law",))
    documents = Documents(np.zeros(8, np.int32), np.array([0, 4, 8]))
    good = TrainTask("x", "CLF", "CLF", "classification", documents, np.array([0, 1]), np.array([0, 1]), ("a", "b"))
    assert len(good) == 2
    empty = {"rows": np.zeros(0, np.int64), "targets": np.zeros(0)}
    wrong = [empty, *({"rows": one} for one in (np.zeros((2, 3), np.int64), np.array([0, 5]), np.array([0, -1]))),
             {"targets": None}, {"targets": np.zeros(3)}, {"kind": "triplet"}, {"kind": "multi_label"}]  # fmt: skip
    for call, error, says in (
        (lambda: tasks_of("foss", root, tokens), ConfigError, ["scirepeval/foss", "did you mean 'scirepeval/fos'"]),
        (lambda: tasks_of("fos", root, tokens, max_length=2), ConfigError, ["max_length = 2"]),
        (lambda: tasks_of("", root, tokens), ConfigError, ["nothing to train on"]),
        (lambda: tasks_of("cite_count", root, tokens), DataError, ["no configuration 'cite_count'"]),
        (lambda: build([stray], tokens, Reading()), ConfigError, ["x: unknown class 'lwa': did you mean 'law'"]),
        (lambda: build([replace(stray, rows=lambda: iter(()))], tokens, Reading()), ConfigError, ["x: no example was read"]),
        *((lambda change=change: replace(good, **change), ConfigError, ["x: "]) for change in wrong),
    ):  # fmt: skip
        refused(call, *says, error=error)


def embedded(name: str):
    return load_task(f"scirepeval/{name}", "embedded", 500, 0)


def test_nothing_that_is_labelled_or_asked_in_the_evaluation_is_trained_on():
    letters = SimpleNamespace(texts=[])

    def ids(texts, max_length=None):  # keeps the texts it is given, a token a text
        letters.texts += texts
        return [[0, 1, 2]] * len(texts)

    letters.ids = ids
    at = locate("scirepeval/fos", "embedded", 500, 0)
    tasks = build([stream(name, at) for name in TRAINING], letters, Reading(titles_only=0.0))  # type: ignore[arg-type]
    assert [task.name for task in tasks] == list(TRAINING)
    assert len(letters.texts) == len(set(letters.texts)) == tasks[0].documents.docs
    # candidates of a ranking may be training papers, as published; what is asked or labelled may not
    labelled = ("fos", "pub_year", "scidocs_mag", "tweet_mentions")
    tested = {p.abstract for name in labelled for p in embedded(name).texts()}
    for name in ("scidocs_cite", "relish", "same_author", "high_influence_cite"):
        task = embedded(name)
        tested |= {task.papers[row.query_id].abstract for row in task.payload.rows}
    trained = {part for text in letters.texts for part in text.split(" [SEP] ")[1:2]}
    assert len(trained) > 200 and len(tested - {""}) > 250
    assert not trained & tested


# --- the real samples -------------------------------------------------------------------------------------------------


def test_the_real_samples_have_the_sizes_of_their_training_parts(real, tokens):
    tasks = {task.name: task for task in build(sample_streams(), tokens)}
    assert list(tasks) == list(TRAINED)
    assert {name: len(task) for name, task in tasks.items()} == {
        "sample/fos": 121, "sample/mesh_descriptors": 130, "sample/same_author": 120, "sample/search": 300,
        "sample/cite_prediction": 126,
    }  # fmt: skip
    assert (tasks["sample/fos"].outputs, tasks["sample/mesh_descriptors"].outputs) == (23, 30)
    assert (tasks["sample/search"].query_format, tasks["sample/search"].format) == ("QRY", "PRX")
    assert {len(task) for task in build(sample_streams(most=50), tokens)} == {50}


def invented_samples() -> dict[str, Task]:
    """Return the five samples with papers that are in several of them, under ids of their own."""

    def ids(name: str, trains: bool) -> Iterator[str]:
        return (key for key in map(str, count()) if in_train(name, key) == trains)

    made = {}
    for name in TRAINED:
        trained, tested = ids(name, True), ids(name, False)
        titles = {next(trained): f"own of {name}", next(tested): f"Tested by {name}!"}
        titles |= {next(trained): f"tested by {other}" for other in TRAINED if other != name}
        papers = {key: Paper(key, title, "") for key, title in titles.items()}
        known, queries, (own, test, *others) = SAMPLES[name], {}, papers
        labels = dict.fromkeys(papers, (1,) if known.read.__name__ == "_fos" else 0)
        if name in TRAINED[:2]:
            train = tuple(Example(key, labels[key]) for key in papers if key != test)
            payload = Labelled({"train": train, "test": (Example(test, labels[test]),)}, name == TRAINED[0], (), ("x",))
        elif name == "sample/cite_prediction":
            more = {str(10_000 + i): f"{word} of {name}" for i, word in enumerate(("cited", "other"))}
            papers |= {key: Paper(key, title, "") for key, title in more.items()}
            rows = [Triple(own, *more), Triple(test, test, test), *(Triple(own, key, "10001") for key in others)]
            payload = Triples(lambda split, rows=rows: iter(rows))
        else:
            bare = name == "sample/search"
            queries = {own: "bare own", test: "bare tested"} if bare else {}
            more = {str(10_000 + i): f"{word} of {name}" for i, word in enumerate(("found", "other"))}
            papers |= {key: Paper(key, title, "") for key, title in more.items()}
            pairs = [(key, score) for score, key in enumerate(("10001", "10000"))]
            asked = (own, test) if bare else (own, test, *others)
            rows = [Qrel(query, key, score) for query in asked for key, score in pairs if query != test]
            papers["10002"] = Paper("10002", f"also tested by {name}", "")
            rows += [*(Qrel(own, key, 0) for key in (*others, "10002")), Qrel(test, "10002", 1)]
            payload = Judged(tuple(rows), bare)
        spec = TASKS[known.like]
        made[name] = Task(name, spec.type, spec.format, (), payload, "real", "", texts=papers.values, queries=queries)
    return made


def test_a_paper_that_tests_anywhere_trains_nowhere(tokens, monkeypatch):
    samples, texts = invented_samples(), []
    monkeypatch.setattr(real, "read_sample", lambda name: samples[name])

    def ids(self, some, most=None):
        texts.extend(some)
        return [[0, 1, 2]] * len(some)

    monkeypatch.setattr(type(tokens), "ids", ids)
    tasks = build(sample_streams(), tokens)
    assert not [text for text in texts if "ested by" in text or text == "bare tested"]
    assert {name for name in TRAINED if f"own of {name}" in texts} == set(TRAINED) - {"sample/search"}
    assert "bare own" in texts and {task.name: len(task) for task in tasks} == dict.fromkeys(TRAINED, 1)


def test_what_is_held_out_of_a_sample_shares_no_query_with_its_training(real):
    for name in ("sample/same_author", "sample/search"):
        task = load_task(name)
        rest = held_out(name, task)
        assert 0 < len(rest.payload.rows) < len(task.payload.rows)
        trained = {row.query_id for row in task.payload.rows} - {row.query_id for row in rest.payload.rows}
        assert len(trained) > 20 and set(rest.queries) <= {row.query_id for row in rest.payload.rows}
    triples = load_task("sample/cite_prediction")
    kept = list(held_out("sample/cite_prediction", triples).payload.rows("train"))
    assert 20 < len(kept) < 200
    with pytest.raises(ConfigError, match="is not trained on"):
        sample_streams(["sample/scifact"])


# --- the published configuration --------------------------------------------------------------------------------------

ENTRY = {"name": "x", "type": "regression", "dataset": {"path": "allenai/scirepeval", "name": "pub_year"},
         "labels_field": "scaled_year", "ctrl_token": "[RGN]", "sample_size": {"train": 2, "dev": 1}}  # fmt: skip


def configured(folder: Path, *entries: dict) -> Path:
    path = folder / "tasks_config.json"
    path.write_text(json.dumps(entries))
    return path


def test_a_published_configuration_names_sets_codes_and_sizes(root, tokens):
    search = {"name": "s", "type": "ir", "dataset": {"path": "allenai/scirepeval", "name": "search"},
              "input_fields": ["title", "year"], "ctrl_token": {"query": "[QRY]", "candidates": "[PRX]"}}  # fmt: skip
    path = configured(root, ENTRY, search)
    year, found = build(published_streams(path, lambda name: root), tokens, Reading(titles_only=0.0))
    assert (year.name, year.format, len(year)) == ("x", "RGN", 2)
    assert year.targets[0] == pytest.approx(-np.sqrt(1.5))
    assert (found.query_format, found.format) == ("QRY", "PRX")
    assert shown(found, found.rows[0, 1], tokens) == "[CLS] on bees [SEP] 2019 . 0 [SEP]"
    assert len(build(published_streams(path, lambda name: root, most=1), tokens)[0]) == 1


def test_a_published_configuration_reads_files_beside_it(root, tokens):
    (root / "labels.txt").write_text("law\nart\n")
    labelled = [paper(*BEES, labels_text=["art"]), paper(*MOSS, labels_text=["law", "art"])]
    (root / "fos.json").write_text(json.dumps(labelled))
    (root / "three.json").write_text(json.dumps([{"query": paper(*BEES), "pos": paper(*ANTS), "neg": paper(*MOSS)}]))
    fos = {"name": "f", "type": "classification", "multi_label": True, "data_files": {"train": "fos.json"},
           "labels": "labels.txt", "labels_field": "labels_text"}  # fmt: skip
    three = {"name": "t", "type": "triplet", "data_files": {"train": "three.json"}}
    a, b = build(published_streams(configured(root, fos, three), locate), tokens)
    assert (a.classes, a.targets.tolist()) == (("law", "art"), [[0, 1], [1, 1]])
    assert (b.kind, b.format, len(b)) == ("triplet", "PRX", 1)
    lacks = "data_files has no dev"
    refused(lambda: published_streams(configured(root, fos), locate, "validation"), lacks)


@pytest.mark.parametrize(("change", "said"), [
    ({"typ": "ir"}, "unknown key 'typ'.*did you mean 'type'"),
    ({"type": "regresion"}, "unknown type 'regresion'.*did you mean 'regression'"),
    ({"ctrl_token": "[RGM]"}, r"ctrl_token '\[RGM\]'.*did you mean"),
    ({"ctrl_token": {"query": "[QRY]"}}, "ctrl_token None"),
    ({"ctrl_token": ["[RGN]"]}, r"ctrl_token \['\[RGN\]'\] is no format's"),
    ({"sample_size": {"train": "all"}}, "sample_size 'all'"),
    ({"sample_size": {"trian": 9}}, "sample_size has no 'trian'.*did you mean 'train'"),
    ({"type": "classification", "multi_label": "false"}, "'multi_label' must be bool"),
    ({"sample_size": True}, "sample_size True"),
    ({"dataset": {"path": "allenai/scirepeval", "name": "pub_yeer"}}, "no training set 'pub_yeer'.*did you mean 'pub_year'"),
    ({"dataset": {"path": "elsewhere/x", "name": "fos"}}, "dataset 'elsewhere/x' is not read"),
    ({"data_files": {"train": "x.json"}}, "either dataset or data_files"),
    ({"labels": "nowhere.txt"}, "no file 'nowhere.txt'"),
    ({"labels_field": 3}, "'labels_field' must be str"),
    ({"input_fields": ["titel"]}, "input field 'titel'.*did you mean 'title'"),
    ({"contrastive": True}, "contrastive: this part of the loss is not here"),
])  # fmt: skip
def test_an_entry_that_is_wrong_is_named_with_file_and_number(tmp_path, change, said):
    path = configured(tmp_path, {**ENTRY, "name": "first"}, {**ENTRY, **change})
    with pytest.raises(DataError, match=rf"tasks_config\.json:2: .*{said}"):
        read_tasks_config(path)


def test_what_is_no_configuration_or_has_an_entry_twice_is_refused(tmp_path):
    path = tmp_path / "tasks_config.json"
    for content in ("{}", "[]", "[3]", '[{"name": "x"}]', "nonsense"):
        path.write_text(content)
        refused(lambda: read_tasks_config(path), "tasks_config", error=ScirepError)
    refused(lambda: read_tasks_config(configured(tmp_path, ENTRY, ENTRY)), "is there twice")


def test_the_shipped_configuration_is_read_and_trains_on_the_embedded_sets(real, tokens):
    path = MIRROR / "scirepeval" / "tasks_config.json"
    read = read_tasks_config(path)
    formats = {task.set: task.format for task in read}
    assert formats.keys() == set(TRAINING)
    assert all(formats[name] == TASKS[name].format for name in TRAINING if name != "scirepeval/search")
    made = build(published_streams(path, lambda name: locate(name, "embedded", 500, 0), most=20), tokens)
    assert [task.name for task in made] == [task.name for task in read]
    assert [task.outputs for task in made][:2] == [1, 1]


# ---- on the disk ------------------------------------------------------------------------------------------------------


def test_tasks_on_the_disk_are_those_in_memory_and_tokenised_once(root, tokens, tmp_path, monkeypatch):
    def make(file: Path | None) -> list[TrainTask]:
        return tasks_of("fos pub_year cite_prediction search", root, tokens, file=file)

    monkeypatch.setattr(training_data, "AT_ONCE", 2)  # several writings of the file
    want = make(None)
    for found in (mapped(tmp_path / "mapped" / "a", make), mapped(tmp_path / "mapped" / "a", None)):  # type: ignore[arg-type]
        assert hash_of(found) == hash_of(want)
        assert [task.classes for task in found] == [task.classes for task in want]
        assert isinstance(found[0].documents.ids, np.memmap) and len({id(task.documents) for task in found}) == 1
    assert sorted(path.name for path in (tmp_path / "mapped").iterdir()) == ["a"]
    large = np.memmap(tmp_path / "ids", np.int32, "w+", shape=(1_000_000,))
    task = replace(want[0], documents=Documents(large, np.array([0, len(large)])), rows=np.zeros(2, np.int64))
    assert peak(lambda: hash_of([task])) < large.nbytes / 4  # hashing copies no array


def test_tasks_half_written_are_made_again_and_damaged_ones_refused(root, tokens, tmp_path):
    def make(file: Path) -> list[TrainTask]:
        return tasks_of("fos", root, tokens, file=file)

    def stopped(file: Path) -> list[TrainTask]:
        make(file)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        mapped(tmp_path / "mapped" / "a", stopped)
    assert not (tmp_path / "mapped" / "a").exists()
    mapped(tmp_path / "mapped" / "a", make)
    ids = tmp_path / "mapped" / "a" / "ids.int32"
    ids.write_bytes(ids.read_bytes()[:-4])
    with pytest.raises(CacheError, match="is damaged"):
        mapped(tmp_path / "mapped" / "a", make)
