"""SciMult's files and MAPLE: what each layout reads, and what each kind of damage says."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest

from scirep_core.bench.scoring import evaluate
from scirep_core.data.inventory import TASKS, TaskSpec
from scirep_core.data.readers import maple, scimult
from scirep_core.data.task import LabelText, Pooled, Triple
from scirep_core.kit.errors import ConfigError, DataError

FINE, COARSE, LINKS = "classification_fine", "classification_coarse", "link_prediction_retrieval"
NAMES, PAPERS, MATCHES = (f"{FINE}/Geography_{what}.json" for what in ("label", "papers_test", "matched"))
MAG, PAIRS = f"{COARSE}/MAG_papers_test.json", "pretraining/search_train.json"
SCIDOCS, PATIENTS, ASKED = (
    f"{LINKS}/{what}_test.json" for what in ("SciDocs_papers", "PMCPatientsPPR_patients", "PMCPatientsPPR_queries")
)
LABELS = [
    {"label": "L1", "name": ["kites", "paper kites"], "definition": "things on a line"},
    {"label": "L2", "name": ["gliders"], "definition": ""},
    {"label": "L3", "name": ["balloons"], "definition": None},
]


def paper(key: str, **more: object) -> dict:
    return {"paper": key, "title": f"Title {key}", "abstract": f"Abstract {key}.", **more}


FINE_PAPERS = [paper("1", label=["L1", "L3"]), paper("2", label=["L2"]), paper("3", label=["L3"], abstract=None)]
MATCHED = [{"candidate": ["L1", "L1"]}, {"candidate": []}, {"candidate": ["L3", "L2"]}]
LINKED = [paper("1", **{"cite": ["2", "3", "2", "99"], "co-cite": []}), paper("2", **{"cite": [], "co-cite": ["1"]}),
          paper("3", **{"cite": ["98"], "co-cite": []})]  # fmt: skip
PAIR = {"question": "flying on a line", "answers": [],
        "positive_ctxs": [{"title": "Kites", "text": "A kite.", "passage_id": "7"}],
        "negative_ctxs": [{"title": "Boats", "text": "A boat.", "passage_id": "8"}],
        "hard_negative_ctxs": [{"title": "Gliders", "text": "", "passage_id": "9"}]}  # fmt: skip


def jsonl(path: Path, rows: list) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Write one small file of every kind."""
    base = tmp_path / "scimult"
    jsonl(base / FINE / "Geography_label.json", LABELS)
    jsonl(base / FINE / "Geography_papers_test.json", FINE_PAPERS)
    jsonl(base / FINE / "Geography_matched.json", MATCHED)
    jsonl(base / COARSE / "MAG_label.json", LABELS)
    jsonl(base / COARSE / "MAG_papers_test.json", [paper("1", label=2), paper("2", label=0)])
    jsonl(base / LINKS / "SciDocs_papers_test.json", LINKED)
    jsonl(base / LINKS / "PMCPatientsPPR_patients_test.json",
          [{"patient": key, "title": f"Patient {key}", "abstract": "Coughs."} for key in ("p1", "p2")])  # fmt: skip
    jsonl(base / LINKS / "PMCPatientsPPR_queries_test.json",
          [{"patient": ["p2"], "title": "A cough", "abstract": "Dry."},
           {"patient": ["p1", "p2"], "title": "B", "abstract": ""}])  # fmt: skip
    pmc = base / "pmc_patients" / "PMCPatients"
    jsonl(
        pmc / "PAR" / "PAR_corpus.jsonl",
        [{"_id": "a1", "title": "Cough", "text": "Dry."}, {"_id": "a2", "title": "", "text": "Wet."}],
    )
    jsonl(
        pmc / "queries" / "test_queries.jsonl",
        [{"_id": "x1", "text": "He coughs."}, {"_id": "x2", "text": "She does not."}],
    )
    (pmc / "PAR" / "PAR_test_qrels.tsv").write_text("query-id\tcorpus-id\tscore\nx1\ta1\t2\nx1\ta2\t1\n")
    jsonl(base / "pretraining" / "search_train.json",
          [PAIR, {**PAIR, "question": "q2", "hard_negative_ctxs": []},
           {"question": "q3", "positive_ctxs": [*PAIR["positive_ctxs"], {"title": "", "text": "Wind."}]}])  # fmt: skip
    return tmp_path


def read(root: Path, name: str):
    return scimult.read(TASKS[f"scimult/{name}"], f"scimult/{name}", root, "embedded")


def test_fine(root):
    task = read(root, "geography")
    assert (task.type, task.format, task.similarity) == ("label_ranking", "CLF", "dot")
    space = task.payload
    assert space.gold == {"1": ("L1", "L3"), "2": ("L2",), "3": ("L3",)}
    assert list(space.labels.values()) == [LabelText("L1", "kites", "things on a line"), LabelText("L2", "gliders"),
                                           LabelText("L3", "balloons")]  # fmt: skip
    assert space.matched == {"1": ("L1",), "2": (), "3": ("L3", "L2")}
    assert task.papers["3"].abstract == ""
    assert task.papers["1"].title == "Title 1"
    assert task.notes == ""
    before = task.data_hash
    (root / "scimult" / FINE / "Geography_matched.json").unlink()
    task = read(root, "geography")
    assert (task.payload.matched, task.notes) == ({}, "no lists of name matches")
    assert task.data_hash != before


@pytest.mark.parametrize("count", [2, 4])
def test_match_lists_are_never_shifted(root, count):
    path = jsonl(root / "scimult" / FINE / "Geography_matched.json", (MATCHED * 2)[:count])
    with pytest.raises(DataError, match=f"{count} lines for the 3 papers") as error:
        read(root, "geography")
    assert error.value.path == str(path)


def test_coarse(root):
    space = read(root, "mag").payload
    assert space.gold == {"1": ("L3",), "2": ("L1",)}
    assert space.matched == {}


def test_links(root):
    task = read(root, "cite")
    relevant = {"1": {"2": 1, "3": 1, "99": 1}, "3": {"98": 1}}
    assert task.payload == Pooled(relevant, ("1", "2", "3"), keep_self=True, text_query=False)
    for note in ("1 papers without a link", "2 links to papers outside the pool", "1 papers with such links only score 0",
                 "1 repeated links"):  # fmt: skip
        assert note in task.notes
    assert len(task.papers) == 3
    vectors = {key: np.array([float(key), 1.0]) for key in "123"}
    for protocol, value, n in (("paper", 100 * (2 / 3 + 0) / 2, 2), ("sound", 100.0, 1)):
        row = evaluate(task, vectors, protocol)[0]
        assert (row.metric, row.n, row.value) == ("recall@20", n, pytest.approx(value))
        assert f"2 judged papers outside the pool {'count as not' if n == 2 else 'left out'}" in row.note
    task = read(root, "cocite")
    assert task.payload.relevant == {"2": {"1": 1}}
    assert task.notes == "2 papers without a link are in the pool but are no query"


def test_patients_zero_shot(root):
    task = read(root, "ppr")
    assert task.payload.relevant == {"query-0": {"p2": 1}, "query-1": {"p1": 1, "p2": 1}}
    assert task.payload.pool == ("p1", "p2")
    assert [p.paper_id for p in task.texts()] == ["p1", "p2", "query-0", "query-1"]
    assert task.papers["query-0"].title == "A cough"


def test_patients_supervised(root):
    task = read(root, "pmc_par")
    assert task.payload == Pooled({"x1": {"a1": 2, "a2": 1}}, ("a1", "a2"), keep_self=False, text_query=True)
    assert task.queries == {"x1": "He coughs."}
    assert task.notes == "1 queries without a judgement left out"
    full = root / "scimult/pmc_patients/PMCPatientsPAR_queries_test.json"
    jsonl(full, [{"query": "x1", "title": "A cough", "abstract": "Dry."}])
    task = read(root, "pmc_par")
    assert not task.payload.text_query
    assert task.queries == {}
    assert [p.paper_id for p in task.texts()] == ["a1", "a2", "x1"]
    jsonl(full, [{"query": "x7", "title": "A cough", "abstract": "Dry."}])
    with pytest.raises(DataError, match="judged query x1 has no text here"):
        read(root, "pmc_par")


def test_pretraining(root):
    task = read(root, "pretrain_search")
    kite, boat = "Kites [SEP] A kite.", "Boats [SEP] A boat."
    assert task.payload.splits == ("train",)
    texts = {paper.paper_id: paper.title for paper in task.texts()}
    assert [Triple(*(texts.get(key, "") for key in row)) for row in task.payload.rows("train")] == [
        Triple("flying on a line", kite, "Gliders [SEP] "), Triple("q2", kite, boat), Triple("q3", kite), Triple("q3", "Wind."),
    ]  # fmt: skip
    assert {scimult.text_id(text) for text in texts.values()} == set(texts)
    assert len(list(task.payload.rows("train"))) == 4  # opens the file again
    with pytest.raises(ConfigError, match="did you mean 'train'"):
        task.payload.rows("trian")
    jsonl(root / "scimult/pretraining/search_val.json", [PAIR])
    task = read(root, "pretrain_search")
    assert task.payload.splits == ("train", "validation")
    assert len(list(task.payload.rows("validation"))) == 1


def test_pretraining_is_streamed(root):
    path = root / "scimult/pretraining/search_train.json"
    jsonl(path, [PAIR, PAIR, {**PAIR, "question": 7}])
    rows = read(root, "pretrain_search").payload.rows("train")
    assert next(rows) == next(rows)
    with pytest.raises(DataError, match=r"search_train\.json:3: field 'question' must be str"):
        next(rows)


GONE = object()


def edit(index: int, **change: object):
    """Return a change of one row of a file; GONE takes the field out."""

    def apply(rows: list[dict]) -> list[dict]:
        row = {**rows[index], **change}
        rows[index] = {key: value for key, value in row.items() if value is not GONE}
        return rows

    return apply


DAMAGE = {
    "label without a name": ("geography", NAMES, edit(1, name=[]), 2, "label L2 has no name"),
    "name a text": ("geography", NAMES, edit(1, name="x"), 2, "field 'name' must be list"),
    "label twice": ("geography", NAMES, edit(1, label="L1"), 2, "label 'L1' is listed twice"),
    "paper twice": ("geography", PAPERS, edit(2, paper="1"), 3, "paper '1' is listed twice (first on line 1)"),
    "no title": ("geography", PAPERS, edit(2, title=GONE), 3, "field 'title' is missing"),
    "gold unknown": ("geography", PAPERS, edit(0, label=["L4"]), 1, "label 'L4' is not in the label file"),
    "gold empty": ("geography", PAPERS, edit(0, label=[]), 1, "paper 1 has no label"),
    "gold twice": ("geography", PAPERS, edit(0, label=["L1", "L1"]), 1, "paper 1 has a label twice"),
    "gold no id": ("geography", PAPERS, edit(0, label=[True]), 1, "True is no id"),
    "paper is a label": ("geography", PAPERS, edit(1, paper="L2"), 2, "L2 is a paper and a label"),
    "match unknown": ("geography", MATCHES, edit(2, candidate=["L9"]), 3, "label 'L9' is not in the label file"),
    "match missing": ("geography", MATCHES, edit(2, candidate=GONE), 3, "field 'candidate' is missing"),
    "row too high": ("mag", MAG, edit(1, label=3), 2, "label 3 is no row of MAG_label.json. It has rows 0-2"),
    "row negative": ("mag", MAG, edit(1, label=-1), 2, "label -1 is no row"),
    "row a bool": ("mag", MAG, edit(1, label=True), 2, "field 'label' must be int"),
    "coarse paper is a label": ("mag", MAG, edit(1, paper="L2"), 2, "L2 is a paper and a label"),
    "links missing": ("cite", SCIDOCS, edit(1, cite=GONE), 2, "field 'cite' is missing"),
    "link no id": ("cite", SCIDOCS, edit(1, cite=[{}]), 2, "{} is no id"),
    "no link at all": ("cite", SCIDOCS, edit(0, cite=[]), None, "no paper has a link `cite`"),
    "patient unknown": ("ppr", ASKED, edit(1, patient=["p9"]), 2, "patient p9 is not in"),
    "no similar patient": ("ppr", ASKED, edit(1, patient=[]), 2, "no similar patient"),
    "patient twice": ("ppr", PATIENTS, edit(1, patient="p1"), 2, "patient 'p1' is listed twice"),
    "query is a patient": ("ppr", ASKED, edit(1, query="p1"), 2, "p1 is a query and a patient"),
    "article twice": ("pmc_par", "pmc_patients/PMCPatients/PAR/PAR_corpus.jsonl", edit(1, _id="a1"), 2,
                      "document 'a1' is listed twice"),
    "question empty": ("pretrain_search", PAIRS, edit(0, question=" "), 1, "the question is empty"),
    "no positive": ("pretrain_search", PAIRS, edit(0, positive_ctxs=[]), 1, "no positive context"),
    "context no object": ("pretrain_search", PAIRS, edit(0, positive_ctxs=[5]), 1, "positive_ctxs[0] must be an object"),
    "context without text": ("pretrain_search", PAIRS, edit(0, positive_ctxs=[{"title": "x"}]), 1, "field 'text' is missing"),
    "context blank": ("pretrain_search", PAIRS, edit(0, positive_ctxs=[{"title": "", "text": ""}]), 1,
                      "has neither title nor text"),
    "empty": ("geography", PAPERS, lambda rows: [], None, "the file is empty"),
    "empty pairs": ("pretrain_search", PAIRS, lambda rows: [], None, "the file is empty"),
}  # fmt: skip


@pytest.mark.parametrize("name", DAMAGE)
def test_damage_names_file_and_line(root, name):
    task, file, change, line, message = DAMAGE[name]
    path = root / "scimult" / file
    jsonl(path, change([json.loads(row) for row in path.read_text().splitlines()]))
    with pytest.raises(DataError, match=re.escape(message)) as error:
        read(root, task)
    assert (error.value.path, error.value.line) == (str(path), line)


@pytest.mark.parametrize(
    ("tail", "message"), [(b'{"paper": "\xff"}\n', "not UTF-8"), (b'{"paper": "4"', "not a JSON object")]
)
def test_bad_bytes(root, tail, message):
    path = root / "scimult" / FINE / "Geography_papers_test.json"
    path.write_bytes(path.read_bytes() + tail)
    with pytest.raises(DataError, match=message) as error:
        read(root, "geography")
    assert (error.value.path, error.value.line) == (str(path), 4)


def test_files_from_windows_are_read_as_any(root, tmp_path):
    folder = tmp_path / "maple" / "Geography"
    jsonl(folder / "papers.json", [field_paper("1", 2015, ["L1"])])
    (folder / "labels.txt").write_text("L1\tkites\t1\n")
    tasks = {name: read(root, name) for name in ("geography", "cite", "pmc_par")}
    for path in (path for path in tmp_path.rglob("*") if path.is_file()):
        path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes().replace(b"\n", b"\r\n"))
    for name, task in tasks.items():
        found = read(root, name)
        assert (found.payload, list(found.texts())) == (task.payload, list(task.texts()))
    assert [paper.labels for paper in maple.papers(folder)] == [("L1",)]
    assert maple.labels(folder / "labels.txt") == {"L1": "kites"}


def test_missing_files_and_unknown_kinds(root, tmp_path):
    (root / "scimult" / FINE / "Geography_label.json").unlink()
    with pytest.raises(DataError, match=r"Geography_label\.json: file not found"):
        read(root, "geography")
    with pytest.raises(DataError, match=r"test_queries\.jsonl: file not found"):
        (root / "scimult/pmc_patients/PMCPatients/queries/test_queries.jsonl").unlink()
        read(root, "pmc_par")
    spec: TaskSpec = TASKS["scimult/cite"]
    with pytest.raises(ConfigError, match=r"unknown kind 'link'.*did you mean 'links'"):
        scimult.read(spec._replace(config="link/cite"), "scimult/cite", root, "embedded")
    with pytest.raises(ConfigError, match=r"unknown link 'cites'.*did you mean 'cite'"):
        scimult.read(spec._replace(config="links/cites"), "scimult/cite", root, "embedded")
    with pytest.raises(DataError, match="no such folder"):
        scimult.read(spec, "scimult/cite", tmp_path / "none", "embedded")


# ---- MAPLE ----------------------------------------------------------------------------------------------------------


def field_paper(key: str, year: object, labels: list[str]) -> dict:
    return {"paper": key, "venue": "V1", "year": year, "title": f"title {key}", "label": labels, "author": ["A1"],
            "reference": ["99"], "abstract": "a b", "title_raw": f"Title-{key}!", "abstract_raw": "A, B."}  # fmt: skip


@pytest.fixture
def field(tmp_path: Path) -> Path:
    folder = tmp_path / "maple" / "Geography"
    rows = [field_paper("1", 2015, ["L1", "L3"]), field_paper("2", "2016", ["L2"]), field_paper("3", 2001, [])]
    jsonl(folder / "papers.json", rows)
    (folder / "labels.txt").write_text("L3\tballoons\t2\nL1\tkites\t1\nL2\tgliders\t2\n")
    (folder / "labels_mesh.txt").write_text("L1\tkites\tpaper kites\tkite\nL2\tgliders\n")
    return folder


def test_maple_folder(field):
    first = next(maple.papers(field))
    assert (first.raw.title, first.raw.abstract) == ("Title-1!", "A, B.")
    assert (first.raw.year, first.raw.venue, first.labels, first.references) == (2015, "V1", ("L1", "L3"), ("99",))
    splits = {split: [p.raw.paper_id for p in maple.papers(field) if maple.wanted(p, split)] for split in maple.SPLITS}
    assert splits == {"all": ["1", "2", "3"], "train": ["1", "3"], "test": ["2"]}
    assert maple.labels(field / "labels.txt") == {"L3": "balloons", "L1": "kites", "L2": "gliders"}
    assert maple.labels(field / "labels_mesh.txt") == {"L1": "kites", "L2": "gliders"}


MAPLE_DAMAGE = {
    "paper twice": ("papers.json", lambda t: t.replace('"paper": "2"', '"paper": "1"'), 2, "paper '1' is listed twice"),
    "year a word": ("papers.json", lambda t: t.replace('"2016"', '"then"'), 2, "year 'then' is no whole number"),
    "raw title missing": ("papers.json", lambda t: t.replace("title_raw", "raw"), 1, "field 'title_raw' is missing"),
    "authors a text": ("papers.json", lambda t: t.replace('["A1"]', '"A1"'), 1, "field 'author' must be list"),
    "label row short": ("labels.txt", lambda t: t.replace("L1\tkites\t1", "L1"), 2, "a label needs an id and a name"),
    "label listed twice": ("labels.txt", lambda t: t.replace("L2", "L1"), 3, "label 'L1' is listed twice"),
    "labels empty": ("labels.txt", lambda t: "", None, "the file is empty"),
    "labels not UTF-8": ("labels.txt", lambda t: t.replace("kites", "kites\udcff"), 2, "not UTF-8 at byte 8"),
}  # fmt: skip


@pytest.mark.parametrize("name", MAPLE_DAMAGE)
def test_damaged_maple(field, name):
    file, change, line, message = MAPLE_DAMAGE[name]
    path = field / file
    path.write_text(change(path.read_text()), errors="surrogateescape")
    with pytest.raises(DataError, match=re.escape(message)) as error:
        _ = maple.labels(field / "labels.txt"), [*maple.papers(field)]
    assert (error.value.path, error.value.line) == (str(path), line)
