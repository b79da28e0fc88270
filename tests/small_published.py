"""Small collections in the published layouts, of our own writing: what the readers' tests read, and damage."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from small_files import jsonl, lay

from scirep_core.data import READERS, TASKS, as_task
from scirep_core.data.readers import csfcube, maple, mdcr, recommendation
from scirep_core.data.task import Task, Triples

CORPUS = [
    {"_id": "d1", "title": "Kites", "text": "A kite flies on a line.", "metadata": {}},
    {"_id": "d2", "title": "", "text": "Balloons need no line."},
    {"_id": "d3", "title": "Gliders", "text": "A glider needs a hill."},
]
QUERIES = [{"_id": "q1", "text": "what flies on a line"}, {"_id": "q2", "text": "what needs a hill"},
           {"_id": "q3", "text": "what swims"}]  # fmt: skip
HEADER = "query-id\tcorpus-id\tscore\n"
STUDY = "PaperId\tRecommendedPaperId\tMethod\tStudyScore\tStudyRankByMethod\tSimilarity\n"
ROWS = ["1\t2\tContent\t2.5\t1\t0.5", "1\t3\tBehavior\t5\t2\t", "1\t2\tContent\t2\t1\t0.5", "4\t3\tBoth\t\t\t0.1",
        "4\t2\tContent\t1\t1\t0.75"]  # fmt: skip


def write_beir(root: Path) -> Path:
    return lay(root / "beir" / "scifact", {
        "corpus.jsonl": CORPUS, "queries.jsonl": QUERIES,
        "qrels/test.tsv": HEADER + "q1\td1\t2\nq1\td2\t0\n", "qrels/train.tsv": HEADER + "q2\td3\t1\n"})  # fmt: skip


def write_study(root: Path) -> Path:
    return lay(root / "recommendation", {recommendation.STUDY: STUDY + "\n".join(ROWS) + "\n"})


FINE, COARSE, LINKS = "classification_fine", "classification_coarse", "link_prediction_retrieval"
PMC = "pmc_patients/PMCPatients"
LABELS = [
    {"label": "L1", "name": ["kites", "paper kites"], "definition": "things on a line"},
    {"label": "L2", "name": ["gliders"], "definition": ""},
    {"label": "L3", "name": ["balloons"], "definition": None},
]
MATCHED = [{"candidate": ["L1", "L1"]}, {"candidate": []}, {"candidate": ["L3", "L2"]}]
PAIR = {"question": "flying on a line", "answers": [],
        "positive_ctxs": [{"title": "Kites", "text": "A kite.", "passage_id": "7"}],
        "negative_ctxs": [{"title": "Boats", "text": "A boat.", "passage_id": "8"}],
        "hard_negative_ctxs": [{"title": "Gliders", "text": "", "passage_id": "9"}]}  # fmt: skip


def titled(key: str, **more: object) -> dict[str, Any]:
    return {"paper": key, "title": f"Title {key}", "abstract": f"Abstract {key}.", **more}


def write_scimult(root: Path) -> Path:
    return lay(root / "scimult", {
        f"{FINE}/Geography_label.json": LABELS, f"{FINE}/Geography_matched.json": MATCHED, f"{COARSE}/MAG_label.json": LABELS,
        f"{FINE}/Geography_papers_test.json": [
            titled("1", label=["L1", "L3"]), titled("2", label=["L2"]), titled("3", label=["L3"], abstract=None)],
        f"{COARSE}/MAG_papers_test.json": [titled("1", label=2), titled("2", label=0)],
        f"{LINKS}/SciDocs_papers_test.json": [
            titled("1", **{"cite": ["2", "3", "2", "99"], "co-cite": []}), titled("2", **{"cite": [], "co-cite": ["1"]}),
            titled("3", **{"cite": ["98"], "co-cite": []})],
        f"{LINKS}/PMCPatientsPPR_patients_test.json": [
            {"patient": key, "title": f"Patient {key}", "abstract": "Coughs."} for key in ("p1", "p2")],
        f"{LINKS}/PMCPatientsPPR_queries_test.json": [
            {"patient": ["p2"], "title": "A cough", "abstract": "Dry."}, {"patient": ["p1", "p2"], "title": "B", "abstract": ""}],
        f"{PMC}/PAR/PAR_corpus.jsonl": [
            {"_id": "a1", "title": "Cough", "text": "Dry."}, {"_id": "a2", "title": "", "text": "Wet."}],
        f"{PMC}/queries/test_queries.jsonl": [{"_id": "x1", "text": "He coughs."}, {"_id": "x2", "text": "She does not."}],
        f"{PMC}/PAR/PAR_test_qrels.tsv": HEADER + "x1\ta1\t2\nx1\ta2\t1\n",
        "pretraining/search_train.json": [
            PAIR, {**PAIR, "question": "q2", "hard_negative_ctxs": []},
            {"question": "q3", "positive_ctxs": [*PAIR["positive_ctxs"], {"title": "", "text": "Wind."}]}],
    })  # fmt: skip


def field_paper(key: str, year: object, labels: list[str]) -> dict[str, Any]:
    return {"paper": key, "venue": "V1", "year": year, "title": f"title {key}", "label": labels, "author": ["A1"],
            "reference": ["99"], "abstract": "a b", "title_raw": f"Title-{key}!", "abstract_raw": "A, B."}  # fmt: skip


def write_maple(root: Path) -> Path:
    return lay(root / "maple" / "Geography", {
        "papers.json": [field_paper("1", 2015, ["L1", "L3"]), field_paper("2", "2016", ["L2"]), field_paper("3", 2001, [])],
        "labels.txt": "L3\tballoons\t2\nL1\tkites\t1\nL2\tgliders\t2\n",
        "labels_mesh.txt": "L1\tkites\tpaper kites\tkite\nL2\tgliders\n"})  # fmt: skip


KITES = [
    {"paper_id": "a1", "title": "Kites\u2028in wind", "abstract": "A kite.", "year": 2019, "venue": "AIR", "ratings": [4.0, 6.0]},
    {"paper_id": "a2", "title": "Gliders", "abstract": "", "gs_citation": -1},
    {"paper_id": "a3", "title": "Balloons", "year": None},
]  # fmt: skip
TEAM = [{"position": 1, "author_name": "Ada Pebble"}, {"position": 0, "author_name": "C Sand"}]
BENCHMARK = {
    "Geology": {
        "1": {"true": [4, "5"], "bm25": ["6", "4"], "random": ["7", "6"]},
        "2": {"specter": ["6"], "true": ["8"]},
    },
    "Art": {"1": {"true": ["6"], **{miner: [f"{i}9"] for i, miner in enumerate(mdcr.MINERS)}}},
}


def write_kites(root: Path) -> Path:
    return jsonl(root / "acl_anthology" / "acl_anth.jsonl.gz", KITES).parent


def mention(number: int, paper: int, block: str = "a pebble", **author: object) -> dict[str, Any]:
    info = {"position": 0, "block": block, "first": "Ada", "middle": None, "last": "Pebble", "suffix": None,
            "affiliations": ["Quarry"], "email": None, "given_block": block, **author}  # fmt: skip
    return {"signature_id": str(number), "paper_id": paper, "author_info": info}


def text(number: int, **more: object) -> dict[str, Any]:
    return {"paper_id": number, "title": f"Stones {number}", "abstract": None, "venue": "", "journal_name": "J. Stones",
            "year": 2001, "authors": [], "references": [], **more}  # fmt: skip


def collection(root: Path, name: str, prefix: bool, **files: Any) -> Path:
    return lay(
        root / "s2and" / name, {f"{name}_{part}.json" if prefix else f"{part}.json": files[part] for part in files}
    )


def cluster(name: str, *signatures: str) -> dict[str, Any]:
    return {name: {"cluster_id": name, "signature_ids": list(signatures), "model_version": -1}}


def write_stones(root: Path) -> Path:
    """Write two collections, named both ways, which share a paper."""
    folder = collection(
        root, "qian", True,
        signatures={"0": mention(0, 11),
                    "1": mention(1, 12, middle="B.", suffix="Jr", affiliations=["Quarry", "Pit"], email="a@q", position=2),
                    "2": mention(2, 12, first=None, affiliations=[])},
        clusters={**cluster("1", "0", "1")},
        papers={"11": text(11, abstract="Of pebbles.", references=[12, 99], authors=TEAM),
                "12": text(12, venue="Stone Conf.", year=None)},
    )  # fmt: skip
    collection(
        root, "zbmath", False,
        signatures={"0": mention(0, 12, block="c sand")}, clusters=cluster("1", "0"),
        papers={"12": text(12, title="Another copy"), "13": text(13)},
    )  # fmt: skip
    (root / "s2and" / "notes").mkdir()
    lay(root / "s2and", {"README.md": "no collection"})
    return folder


def write_fields(root: Path) -> Path:
    abstracts = ["Of pebbles.", None, *["Of pebbles."] * 6]
    papers = [{"paper_id": str(i), "title": f"Stones {i}", "abstract": one} for i, one in enumerate(abstracts, 1)]
    return lay(root / "mdcr", {mdcr.DATA: papers, mdcr.BENCHMARK: BENCHMARK})


CUBE = {
    "1": ("Parsing with stacks", [("Parsing sentences is slow.", "background"), ("We use a stack machine.", "method"),
                                  ("It doubles the speed.", "result")]),
    "2": ("Parsing with charts", [("Slow parsing of sentences hurts.", "objective"), ("We fill a chart.", "method"),
                                  ("Speed grows by half.", "result")]),
    "3": ("Stacks for planning", [("Robots plan badly.", "background"), ("A stack machine plans.", "method"),
                                  ("Plans are shorter.", "result")]),
    "4": ("A corpus of birds", [("Bird song is rare.", "background"), ("We record birds.", "method"),
                                ("Speed is doubled by a stack.", "result"), ("Contact us.", "other")]),
}  # fmt: skip
RATED = {
    "background": {"1": {"2": 3, "3": 1, "4": 0}},
    "method": {"1": {"2": 1, "3": 3, "4": 0}, "2": {"1": 2, "3": 0, "4": 0}},
    "result": {"3": {"1": 0, "2": 0, "4": 2}},
}
FOLDS = {
    "background": (["1_background"], ["1_background"]), "method": (["1_method"], ["2_method"]),
    "result": (["3_result"], ["3_result"]), "all": (["1_background", "1_method"], ["2_method", "3_result"]),
}  # fmt: skip


def write_cube(root: Path) -> Path:
    queries = [(query, facet, rated) for facet, of in RATED.items() for query, rated in of.items()]
    sources = [["cited", "specter"], ["specter"], ["abs_tfidf"]]
    return lay(root / "tiny", {
        csfcube.ABSTRACTS: [
            {"paper_id": key, "title": title, "abstract": [text for text, _ in said],
             "pred_labels": [f"{label}_label" for _, label in said], "metadata": {"year": 2000 + int(key)}}
            for key, (title, said) in CUBE.items()],
        **{csfcube.GOLD.format(facet=facet): {
            query: {"cands": list(rated), "relevance_adju": list(rated.values()), "relevance_ann1": list(rated.values()),
                    "relevance_ann2": [0 for _ in rated]} for query, rated in of.items()} for facet, of in RATED.items()},
        csfcube.POOL: {query: {"cands": list(rated), "cand_source": sources} for query, _, rated in queries},
        csfcube.SPLITS: {task: {"fold1_dev": b, "fold2_dev": a, "fold1_test": a, "fold2_test": b}
                         for task, (a, b) in FOLDS.items()},
        csfcube.QUERIES: "pid,facet,year,title,paper type\n" + "".join(
            f"{query},{facet},200{query},{CUBE[query][0]},data-driven approach\n" for query, facet, _ in queries),
    })  # fmt: skip


def read_cube(root: Path) -> Any:
    found = csfcube.read(root / "tiny")
    return found.papers, found.judgements, found.splits, found.info


def read(name: str, root: Path, source: str = "embedded") -> Task:
    return as_task(TASKS[name], name, root, source, READERS[TASKS[name].reader](TASKS[name], root))


def whole(task: Task) -> tuple[Any, ...]:
    payload: Any = task.payload
    if isinstance(payload, Triples):
        payload = [list(payload.rows(split)) for split in payload.splits]
    return payload, list(task.texts()), task.queries, task.notes


def read_field(root: Path) -> Any:
    folder = root / "maple" / "Geography"
    return maple.labels(folder / "labels.txt"), maple.labels(folder / "labels_mesh.txt"), [*maple.papers(folder)]


class Place(NamedTuple):
    """Where a task's files lie, when `write` has written them below a root, and what is read of them."""

    write: Callable[[Path], Path]
    read: Callable[[Path], Any]
    files: tuple[str, ...]


def of_task(name: str, write: Callable[[Path], Path], *files: str) -> tuple[str, Place]:
    return name, Place(write, lambda root: whole(read(name, root)), files)


PLACES: dict[str, Place] = dict([
    of_task("scimult/scifact", write_beir, "corpus.jsonl", "queries.jsonl", "qrels/test.tsv", "qrels/train.tsv"),
    of_task("scimult/recommendation", write_study, recommendation.STUDY),
    of_task("scimult/geography", write_scimult, *(f"{FINE}/Geography_{what}.json" for what in ("label", "papers_test", "matched"))),
    of_task("scimult/mag", write_scimult, f"{COARSE}/MAG_label.json", f"{COARSE}/MAG_papers_test.json"),
    of_task("scimult/cite", write_scimult, f"{LINKS}/SciDocs_papers_test.json"),
    of_task("scimult/ppr", write_scimult, *(f"{LINKS}/PMCPatientsPPR_{what}_test.json" for what in ("patients", "queries"))),
    of_task("scimult/pmc_par", write_scimult, f"{PMC}/PAR/PAR_corpus.jsonl", f"{PMC}/PAR/PAR_test_qrels.tsv",
            f"{PMC}/queries/test_queries.jsonl"),
    of_task("scimult/pretrain_search", write_scimult, "pretraining/search_train.json"),
    of_task("neighbours/acl_anth", write_kites, "acl_anth.jsonl.gz"),
    of_task("scirepeval/s2and", write_stones, *(f"qian_{what}.json" for what in ("signatures", "clusters", "papers"))),
    of_task("scirepeval/mdcr", write_fields, mdcr.BENCHMARK, mdcr.DATA),
    ("csfcube", Place(write_cube, read_cube, (csfcube.ABSTRACTS, csfcube.POOL, csfcube.SPLITS, csfcube.QUERIES,
                                              *(csfcube.GOLD.format(facet=facet) for facet in RATED)))),
    ("maple", Place(write_maple, read_field, ("papers.json", "labels.txt", "labels_mesh.txt"))),
])  # fmt: skip
