"""SciMult's own files (Zhang et al. 2023, sections 3.1 and 4.2-4.4, Tables A1 and A2): JSON lines, five kinds of task.

    config               files under <root>/scimult/                               asked for
    fine/CS-Conference   classification_fine/{D}_{label,papers_test,matched}.json  rank all labels for a paper (4.2)
    coarse/MAG           classification_coarse/{D}_{label,papers_test}.json        the best label is the prediction (4.2)
    links/cite           link_prediction_retrieval/SciDocs_papers_test.json        find what a paper cites (4.3)
    links/ppr            link_prediction_retrieval/PMCPatientsPPR_*_test.json      find similar patients, zero-shot (4.3)
    pmc/PAR, pmc/PPR     pmc_patients/PMCPatients/{PAR,PPR}/ in BEIR form          the supervised patients tasks (4.3)
    pretraining/search   pretraining/{config}_{train,val}.json in DPR form         pairs with a hard negative (3.1)

A label is a text: the first of its names and its definition. A coarse gold label is a row number of the label file.
Lists of name matches are aligned with the papers by line only, so a line too few would shift all that follow: counts
are compared, and a difference is an error. Everything is compared by inner product, as in the published scripts.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from pathlib import Path

from scirep_core.data.inventory import TaskSpec
from scirep_core.data.readers import beir
from scirep_core.data.rows import Line, json_lines, once
from scirep_core.data.tables import Found, counted, first_of, folder_of, papers_in, records_in, stream
from scirep_core.data.task import LabelSpace, LabelText, Pooled, Triple, Triples
from scirep_core.kit.errors import DataError, nearest
from scirep_core.kit.records import Paper

SEP = " [SEP] "
"""SciMult writes a text as one string with a literal separator."""


def read(spec: TaskSpec, root: Path) -> Found:
    """Read one task of SciMult's bundle; `spec.config` is `<kind>/<part>` as above. Raises DataError with file and line."""
    kind, _, part = spec.config.partition("/")
    return KINDS[kind](folder_of(root, spec.manifest), part)._replace(similarity="dot")


def read_labels(path: Path) -> dict[str, LabelText]:
    """Return label id -> label in file order. Raises DataError for an id twice or a label without a name."""
    labels = {}
    for key, row in records_in(path, "label"):
        names = row.value("name", list)
        if not names or not isinstance(names[0], str) or not names[0].strip():
            raise row.wrong(f"label {key} has no name", "`name` is a list of texts; the first is shown")
        labels[key] = LabelText(key, names[0], row.text("definition"))
    return labels


def _labelled(path: Path, labels: Mapping[str, LabelText]) -> Iterator[tuple[str, Line]]:
    for paper, row in papers_in(path):
        if paper.paper_id in labels:
            raise row.wrong(f"{paper.paper_id} is a paper and a label: they would share a vector", "Rename one of them")
        yield paper.paper_id, row


def _fine(folder: Path, part: str) -> Found:
    """Fine-grained classification: gold label lists, and the labels whose name occurs in a paper (4.2)."""
    base = folder / "classification_fine"
    names, path, matches = (base / f"{part}_{what}.json" for what in ("label", "papers_test", "matched"))
    labels, gold = read_labels(names), dict[str, tuple[str, ...]]()
    for key, row in _labelled(path, labels):
        gold[key] = _known(row, "label", labels)
        if not gold[key]:
            raise row.wrong(f"paper {key} has no label: its recall would be 0/0", "Leave the paper out")
        if len(set(gold[key])) < len(gold[key]):
            raise row.wrong(f"paper {key} has a label twice: its recall could not reach 1")
    files, matched = [names, path], {}
    if matches.is_file():
        files.append(matches)
        matched = _matched(matches, tuple(gold), labels, path)
    note = "" if matched else "no lists of name matches"
    return Found(LabelSpace(gold, labels, matched), stream(path), files, (note,))


def _known(row: Line, name: str, labels: Mapping[str, LabelText]) -> tuple[str, ...]:
    for key in row.ids(name):
        if key not in labels:
            raise row.wrong(f"label {key!r} is not in the label file", nearest(key, labels))
    return row.ids(name)


def _matched(
    path: Path, papers: tuple[str, ...], labels: Mapping[str, LabelText], of: Path
) -> dict[str, tuple[str, ...]]:
    rows = [tuple(dict.fromkeys(_known(row, "candidate", labels))) for row in json_lines(path)]
    if len(rows) != len(papers):
        raise DataError(
            path, len(rows), f"{len(rows)} lines for the {len(papers)} papers of {of.name}",
            "They are aligned by line: one line a paper, `{\"candidate\": []}` where nothing matches",
        )  # fmt: skip
    return dict(zip(papers, rows, strict=True))


def _coarse(folder: Path, part: str) -> Found:
    """Coarse classification: one label a paper, given as its row in the label file (4.2, bi-encoder setting)."""
    base = folder / "classification_coarse"
    names, path = base / f"{part}_label.json", base / f"{part}_papers_test.json"
    labels, gold = read_labels(names), {}
    by_row = tuple(labels)
    for key, row in _labelled(path, labels):
        label = row.value("label", int)
        if not 0 <= label < len(by_row):
            raise row.wrong(f"label {label} is no row of {names.name}", f"It has rows 0-{len(by_row) - 1}")
        gold[key] = (by_row[label],)
    return Found(LabelSpace(gold, labels), stream(path), (names, path))


def _links(folder: Path, part: str) -> Found:
    """Link prediction, retrieval: all papers are the pool, those with links are queries (4.3, Table 5).

    Links to papers that are not in the file stay: the published recall divides by all links of a paper.
    """
    if part == "ppr":
        return _patients(folder)
    path = folder / "link_prediction_retrieval" / "SciDocs_papers_test.json"
    of_papers = {paper.paper_id: row.ids(part) for paper, row in papers_in(path)}
    linked = {query: links for query, links in of_papers.items() if links}
    relevant = {query: dict.fromkeys(links, 1) for query, links in linked.items()}
    outside = [sum(cand not in of_papers for cand in links) for links in relevant.values()]
    alone = sum(gone == len(links) for gone, links in zip(outside, relevant.values(), strict=True))
    if alone == len(relevant):
        raise DataError(path, None, f"no paper has a link `{part}` to a paper of this file")
    notes = (
        counted(len(of_papers) - len(linked), "papers without a link are in the pool but are no query"),
        counted(sum(outside), "links to papers outside the pool are never found, and count under protocol paper"),
        counted(alone, "papers with such links only score 0 there"),
        counted(sum(len(x) - len(set(x)) for x in linked.values()), "repeated links counted once"),
    )
    return Found(Pooled(relevant, tuple(of_papers)), stream(path), (path,), notes)


def _patients(folder: Path) -> Found:
    """Patient-to-patient retrieval. Queries of the published file have no id: the n-th (from 0) is `query-<n>`."""
    base = folder / "link_prediction_retrieval"
    path, asked = base / "PMCPatientsPPR_patients_test.json", base / "PMCPatientsPPR_queries_test.json"
    pool, relevant = dict.fromkeys(paper.paper_id for paper, _ in papers_in(path, "patient")), {}
    for query, row in _query_papers(asked):
        similar = row.ids("patient")
        if missing := [patient for patient in similar if patient not in pool]:
            raise row.wrong(f"patient {missing[0]} is not in {path.name}", "Fetch both of one version")
        if not similar:
            raise row.wrong("no similar patient: its recall would be 0/0", "Leave the query out")
        if query.paper_id in pool:
            raise row.wrong(f"{query.paper_id} is a query and a patient: they would share a vector")
        relevant[query.paper_id] = dict.fromkeys(similar, 1)
    candidates = stream(path, "patient")

    def texts() -> Iterator[Paper]:
        yield from candidates()
        yield from (query for query, _ in _query_papers(asked))

    return Found(Pooled(relevant, tuple(pool)), texts, (path, asked))


def _query_papers(path: Path) -> Iterator[tuple[Paper, Line]]:
    rows = ((row.id("query") if "query" in row else f"query-{i}", row) for i, row in enumerate(json_lines(path)))
    for key, row in once(rows, "query"):
        yield Paper(key, row.text("title"), row.text("abstract")), row


def _pmc(folder: Path, part: str) -> Found:
    """PMC-Patients in BEIR form: articles (PAR) or patients (PPR), grades 1 and 2, a query's own id dropped (Table 6).

    Queries are bare texts, unless the bundle's `PMCPatients{PAR,PPR}_queries_test.json` is there: then they are papers
    with title and abstract, which is what the published script encodes.
    """
    base = folder / "pmc_patients" / "PMCPatients"
    asked = first_of(base / "queries" / "test_queries.jsonl", base / part / "queries" / "test_queries.jsonl")
    corpus, judgements = base / part / f"{part}_corpus.jsonl", base / part / f"{part}_test_qrels.tsv"
    found = beir.collection(corpus, asked, (judgements,), keep_self=False)
    full = base.parent / f"PMCPatients{part}_queries_test.json"
    if not full.is_file():
        return found
    assert isinstance(found.payload, Pooled)
    relevant, pool = found.payload.relevant, set(found.payload.pool)
    there = {query.paper_id for query, _ in _query_papers(full)}
    if missing := [query for query in relevant if query not in there]:
        raise DataError(full, None, f"judged query {missing[0]} has no text here", "Fetch both of one version")
    documents = found.texts

    def texts() -> Iterator[Paper]:
        yield from documents()
        asked = (query for query, _ in _query_papers(full))
        yield from (query for query in asked if query.paper_id in relevant and query.paper_id not in pool)

    payload = Pooled(relevant, found.payload.pool, keep_self=False)
    return Found(payload, texts, (*found.files, full), found.notes)


def _pretraining(folder: Path, part: str) -> Found:
    """Training pairs in DPR form, streamed: one triple a positive, so that their number is that of Table A1 (3.1)."""
    files = {"train": folder / "pretraining" / f"{part}_train.json"}
    if (validation := folder / "pretraining" / f"{part}_val.json").is_file():
        files["validation"] = validation
    paths = tuple(files.values())
    for path in paths:
        next(triples(path))  # a file that is missing, empty or of another form is known at once
    note = "ids are content hashes of the texts, as the files give none; title and text are joined by [SEP]"
    payload = Triples.of({split: partial(triples, path) for split, path in files.items()})
    return Found(payload, lambda: pretraining_texts(paths), paths, (note,))


def triples(path: Path) -> Iterator[Triple]:
    """Yield (query, positive, negative) of a DPR file by `text_id`, streamed, one triple for each positive of a line.

    The negative is the first hard negative, else the first negative, else "" (only in-batch negatives). Raises
    DataError for a line without a question or a positive, or a context without title and text.
    """
    for question, positives, negatives in dpr_rows(path):
        for positive in positives:
            yield Triple(text_id(question), text_id(positive), text_id(negatives[0]) if negatives else "")


def text_id(text: str) -> str:
    """Return the id of a text: DPR files give none to queries, so all texts go by their content (16 hex digits)."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]  # JSON may hold half a character


def pretraining_texts(paths: Iterable[Path]) -> Iterator[Paper]:
    """Yield every text of DPR files that a triple names, once, as a paper without abstract whose title is the text."""
    seen: set[str] = set()
    for path in paths:
        for question, positives, negatives in dpr_rows(path):
            for text in (question, *positives, *negatives[:1]):
                key = text_id(text)
                if key not in seen:
                    seen.add(key)
                    yield Paper(key, text, "")


def dpr_rows(path: Path) -> Iterator[tuple[str, list[str], list[str]]]:
    """Yield (question, positives, hard negatives then negatives) of each line of a DPR file."""
    for row in json_lines(path):
        question = row.value("question")
        if not question.strip():
            raise row.wrong("the question is empty")
        positives = _contexts(row, "positive_ctxs")
        if not positives:
            raise row.wrong("no positive context", "Leave the line out: nothing can be learnt from it")
        kinds = [kind for kind in ("hard_negative_ctxs", "negative_ctxs") if kind in row]
        yield question, positives, [text for kind in kinds for text in _contexts(row, kind)]


def _contexts(row: Line, name: str) -> list[str]:
    texts = []
    for index, context in enumerate(row.value(name, list)):
        if not isinstance(context, dict):
            raise row.wrong(f"{name}[{index}] must be an object, found {type(context).__name__}")
        inner = Line(context, row.path, row.line)
        title, text = inner.text("title"), inner.text("text")
        texts.append(f"{title}{SEP}{text}" if title else text)
        if not texts[-1].strip():
            raise row.wrong(f"{name}[{index}] has neither title nor text")
    return texts


KINDS: dict[str, Callable[[Path, str], Found]] = {
    "fine": _fine,
    "coarse": _coarse,
    "links": _links,
    "pmc": _pmc,
    "pretraining": _pretraining,
}
FILES: dict[str, tuple[str, ...]] = {
    "fine": tuple(f"classification_fine/{{}}_{what}.json" for what in ("label", "papers_test", "matched")),
    "coarse": tuple(f"classification_coarse/{{}}_{what}.json" for what in ("label", "papers_test")),
    "links": ("link_prediction_retrieval/SciDocs_papers_test.json",),
    "links/ppr": tuple(
        f"link_prediction_retrieval/PMCPatientsPPR_{what}_test.json" for what in ("patients", "queries")
    ),
    "pmc": (
        "pmc_patients/PMCPatients{}_queries_test.json",
        "pmc_patients/PMCPatients/{}",
        "pmc_patients/PMCPatients/queries",
    ),
}
"""Kind, or configuration -> what of the bundle such a task reads, by part. Pre-training data were never in it."""
