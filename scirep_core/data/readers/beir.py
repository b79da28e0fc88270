"""BEIR collections: SciFact, NFCorpus, TREC-COVID (SciMult section 4.4, Table 8; Thakur et al. 2021).

    corpus.jsonl {_id, title, text}   queries.jsonl {_id, text}   qrels/{train,dev,test}.tsv query-id corpus-id score

SciMult takes the queries of all splits together (1,109 of SciFact, 3,237 of NFCorpus), which is not what BEIR's own
leaderboard scores; so does `read`. Judgements in TREC form (`qid 0 docid rel`, `qrels/test.txt`) are read as well. Where
a source has judgements and no texts (all of the real NFCorpus and TREC-COVID we could get), the pool is what was judged.

Grades stay as they are, zeros included: BEIR's TREC-COVID even has -1. A grade of 0 or less is not relevant.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from scirep_core.data.inventory import TaskSpec
from scirep_core.data.rows import to_id
from scirep_core.data.tables import Found, counted, folder_of, papers_in, records_in, split_lines, stream
from scirep_core.data.task import Pooled, Qrel
from scirep_core.kit.errors import DataError
from scirep_core.kit.records import whole

SPLITS = ("train", "dev", "test")
HEADER = ["query-id", "corpus-id", "score"]
WORST = -2
"""The lowest grade in use anywhere: TREC's mark for junk."""


def read(spec: TaskSpec, root: Path) -> Found:
    """Read `<root>/beir/<set>/`: all queries that any split judges, against the whole corpus.

    Raises DataError for malformed files, judged ids that queries or corpus lack, a pair judged twice.
    """
    folder = folder_of(root, spec.manifest) / spec.config
    if (folder / spec.config).is_dir():  # the published archives hold a folder of their own name
        folder = folder / spec.config
    corpus = folder / "corpus.jsonl"
    found = collection(corpus if corpus.is_file() else None, folder / "queries.jsonl", judgement_files(folder))
    return found._replace(similarity="dot")


def judgement_files(folder: Path) -> tuple[Path, ...]:
    """Return the files under `qrels/`, in the order train, dev, test. Raises DataError where there is none."""
    names = [f"{split}{suffix}" for split in SPLITS for suffix in (".tsv", ".txt")]
    files = tuple(path for name in names if (path := folder / "qrels" / name).is_file())
    if not files:
        raise DataError(folder / "qrels", None, "no judgements", f"Expected one of {', '.join(names)}")
    return files


def qrels(path: Path) -> Iterator[tuple[int, Qrel]]:
    """Yield (line, judgement) of a file in BEIR form (header, three columns) or TREC form (four columns, no header).

    Raises DataError for a row of another width, a grade that is no whole number or below -2.
    """
    beir = False
    for index, (line, cells) in enumerate(split_lines(path, None)):
        if index == 0 and cells == HEADER:
            beir = True
            continue
        if len(cells) != (3 if beir else 4):
            shape = f"{'' if beir else '`query 0 document grade` or a header '}`{' '.join(HEADER)}`"
            raise DataError(path, line, f"{len(cells)} columns", f"Expected {shape}")
        query, document, text = cells[0], cells[-2], cells[-1]
        grade = whole(text, "grade", path, line)
        if grade < WORST:
            raise DataError(path, line, f"grade {grade} is below {WORST}", "Grades are 0, 1, 2 ...")
        yield line, Qrel(to_id(query, path, line), to_id(document, path, line), grade)
    if beir and index == 0:
        raise DataError(path, line, "a header and no judgement below it", "Fetch the file again")


def read_queries(path: Path) -> dict[str, str]:
    """Return query id -> text of a `queries.jsonl`. Raises DataError for an id twice or an empty text."""
    queries: dict[str, str] = {}
    for key, row in records_in(path, "_id", "query"):
        queries[key] = row.value("text")
        if not queries[key].strip():
            raise row.wrong(f"query {key} has no text")
    return queries


def judged(files: Sequence[Path]) -> tuple[dict[str, dict[str, int]], dict[tuple[str, str], tuple[Path, int]]]:
    """Merge judgement files: (query -> document -> grade, where each pair stands). Raises DataError for a pair twice."""
    relevant: dict[str, dict[str, int]] = {}
    places: dict[tuple[str, str], tuple[Path, int]] = {}
    for path in files:
        for line, (query, document, grade, _) in qrels(path):
            if (query, document) in places:
                there, at = places[query, document]
                first = f"{there.name}:{at}"
                raise DataError(path, line, f"query {query}, document {document} is judged twice (first in {first})")
            places[query, document] = path, line
            relevant.setdefault(query, {})[document] = grade
    return relevant, places


def collection(corpus: Path | None, queries: Path, judgements: Sequence[Path], keep_self: bool = True) -> Found:
    """Read one collection in BEIR form.

    Args:
        corpus: documents {_id, title, text}; None where the source has no texts, then what was judged is the pool.
        queries: {_id, text}; those that nobody judged are left out and counted in the notes.
        judgements: files for `qrels`, merged in this order.
        keep_self: False where a query's own document is dropped from its results (PMC-Patients); only then may a query
            and a document have the same id, for they have one vector.
    """
    relevant, places = judged(judgements)
    texts = read_queries(queries)
    for (query, _), (path, line) in places.items():
        if query not in texts:
            raise DataError(path, line, f"query {query} is not in {queries.name}", "Fetch both files of one version")
    if corpus is not None:
        pool = {paper.paper_id: row.line for paper, row in papers_in(corpus, "_id", "text", "document")}
        for (_, document), (path, line) in places.items():
            if document not in pool:
                raise DataError(path, line, f"document {document} is not in {corpus.name}", "Fetch both of one version")
    else:
        pool = {}
        for (_, document), (_, line) in places.items():
            pool.setdefault(document, line)
    for query in relevant:
        if query in pool and keep_self:
            reason = f"{query} is a query and a document: they would share a vector"
            raise DataError(corpus or judgements[0], pool[query], reason)
    notes = [
        f"splits merged: {', '.join(path.stem for path in judgements)}" if len(judgements) > 1 else "",
        counted(len(texts.keys() - relevant.keys()), "queries without a judgement left out"),
        counted(sum(max(g.values()) <= 0 for g in relevant.values()), "queries with nothing relevant"),
        "" if corpus else "no document texts: the pool is what was judged",
    ]
    files = [queries, *judgements] + ([corpus] if corpus else [])
    payload = Pooled(relevant, tuple(pool), keep_self, text_query=True)
    query_texts = {query: texts[query] for query in relevant}
    return Found(payload, stream(corpus, "_id", "text") if corpus else tuple, files, notes, query_texts)
