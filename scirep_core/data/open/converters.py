"""Converters of the open literature's sources, each from raw public files to compact ones; the ACL Anthology's is in acl.py."""

from __future__ import annotations

import csv
import io
import json
import re
import zipfile
from ast import literal_eval
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from scirep_core.data.open.compact import (
    Files,
    by_hash,
    clean,
    is_english,
    once_a_title,
    opaque,
    shared_references,
    title_key,
)
from scirep_core.kit.records import parse_line, raw_lines, read_csv, read_json, read_jsonl, read_object

# --- biomedicine ------------------------------------------------------------------------------------------------------

_STRING = re.compile(r"""'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*\"""", re.DOTALL)
"""A string as Python prints it."""


def pubmedqa(raw: Path, _: Sequence[int] = ()) -> Files:
    """PubMedQA: title as question, sections with their roles, year, MeSH, decision."""
    papers = []
    for key, row in read_json(raw / "pubmedqa/pubmedqa/data/ori_pqal.json").items():
        contexts = [*row["CONTEXTS"], row["LONG_ANSWER"]]
        sections = [[label, clean(text)] for label, text in zip([*row["LABELS"], "CONCLUSION"], contexts, strict=True)]
        papers.append({
            "paper_id": f"pmid:{key}", "question": clean(row["QUESTION"]), "abstract": " ".join(text for _, text in sections),
            "sections": sections, "year": int(row["YEAR"]) if row["YEAR"] else None, "mesh": sorted(set(row["MESHES"])),
            "decision": row["final_decision"],
        })  # fmt: skip
    return {"papers.jsonl.gz": sorted(papers, key=lambda p: int(p["paper_id"][5:]))}


def biomimicry(raw: Path, _: Sequence[int] = ()) -> Files:
    """Papers with an abstract of 100 characters or more, whether they are about biomimicry, and which functions they show."""
    papers = []
    path = raw / "nasa-petal/biomimicry-binary-classifier/svm-blumin/squished_golden.json"
    for number, line in raw_lines(path):  # a list with a comma too many: one object a line
        if line.strip() in (b"[", b"]"):
            continue
        row = parse_line(line.strip().rstrip(b","), path, number)
        if len(clean(row["abstract"])) >= 100:
            papers.append({
                "paper_id": f"mag:{row['paper'][1:]}", "title": clean(row["title"]), "abstract": clean(row["abstract"]),
                "is_biomimicry": row["isBiomimicry"] == "Y", "level1": sorted(set(row["level1"])),
                "level2": sorted(set(row["level2"])), "mesh": sorted(set(row["mesh_terms"])), "mag_terms": row["mag_terms"],
            })  # fmt: skip
    return {"papers.jsonl.gz": sorted(papers, key=lambda p: int(p["paper_id"][4:]))}


def scifact_corpus(raw: Path, _: Sequence[int] = ()) -> Files:
    """SciFact's abstracts, exported with each list of sentences as numpy prints it: adjacent Python strings in brackets."""
    with zipfile.ZipFile(raw / "sumithra-p-v/claimverifier/data/scifact.zip") as container:
        table = io.TextIOWrapper(container.open("corpus_train.csv"), encoding="utf-8", newline="")
        rows = list(csv.DictReader(table))
    docs: list[dict[str, Any]] = []
    for row in rows:
        sentences = [clean(literal_eval(t)) for t in _STRING.findall(row["abstract"])]
        docs.append({"doc_id": row["doc_id"], "title": clean(row["title"]), "abstract": sentences})
    return {"corpus.jsonl.gz": sorted(docs, key=lambda d: int(d["doc_id"]))}


# --- computer science -------------------------------------------------------------------------------------------------

_SAMPLE = {"cs.AI": 4500, "cs.CL": 4500, "cs.CV": 4500}
_OTHER = 1500  # of any other primary category


def arxiv_cs(raw: Path, _: Sequence[int] = ()) -> Files:
    """Papers with an English abstract of 150 characters or more, once a title, as first announced.

    A sample by the smallest SHA-256 of the identifier: at most 4,500 of each of the three largest primary categories, 1,500 of
    any other.
    """
    papers: dict[str, dict[str, Any]] = {}
    for path in sorted(raw.glob("dw-dengwei/daily-arXiv-ai-enhanced/data/*.jsonl")):
        for _line, row in read_jsonl(path):
            number = row["id"].partition("v")[0]
            key = f"arxiv:{number}"
            if key not in papers:
                papers[key] = {
                    "paper_id": key, "title": clean(row["title"]), "abstract": clean(row["summary"]),
                    "year": 2000 + int(number[:2]), "month": int(number[2:4]), "primary": row["categories"][0],
                    "categories": row["categories"], "n_authors": len(row["authors"]),
                }  # fmt: skip
    primary: dict[str, list[str]] = {}
    for paper in once_a_title((papers[key] for key in sorted(papers)), 150):
        primary.setdefault(paper["primary"], []).append(paper["paper_id"])
    sample = [k for name, keys in primary.items() for k in by_hash(keys)[: _SAMPLE.get(name, _OTHER)]]
    return {"papers.jsonl.gz": [papers[key] for key in sorted(sample)]}


def reviewer_match(raw: Path, numbers: Sequence[int] = ()) -> Files:
    """Participants' own papers, and their ratings of papers they had read, 1 to 5 by quarters."""
    folder = raw / "niharshah/goldstandard-reviewer-paper-match/data"
    papers = []
    for path in sorted(folder.glob("papers/*.json")):
        row = read_object(path)
        papers.append({
            "paper_id": f"s2:{path.stem}", "title": clean(row["title"]), "abstract": clean(row["abstract"]), "year": row["year"],
        })  # fmt: skip
    names = opaque((path.stem for path in folder.glob("participants/*.json")), "p", numbers)
    have = {paper["paper_id"] for paper in papers}
    profiles: list[dict[str, Any]] = [
        {"participant": name, "papers": [key for row in read_object(folder / f"participants/{author}.json")["papers"]
                                         if (key := f"s2:{row['paperId']}") in have]}
        for author, name in names.items()
    ]  # fmt: skip
    ratings = [
        (names[row["ParticipantID"]], f"s2:{row[f'Paper{n}']}", float(row[f"Expertise{n}"]))
        for _, row in read_csv(folder / "evaluations.csv", delimiter="\t")
        for n in range(1, 11)
        if row[f"Paper{n}"]
    ]
    return {
        "papers.jsonl.gz": papers,
        "profiles.jsonl.gz": sorted(profiles, key=lambda row: row["participant"]),
        "ratings.tsv.gz": [("participant", "paper", "expertise"), *sorted(ratings)],
    }


# --- CACM, CISI, Cranfield --------------------------------------------------------------------------------------------

_FIELD = re.compile(r"\.([A-Z])(?:\s+(\d+))?\s*")
_CITES = "5"  # of CACM's links: one paper cites the other


def classic_ir(raw: Path, numbers: Sequence[int] = ()) -> Files:
    """Three test collections. CISI's and CACM's judgements are binary; Cranfield's codes 1 to 4 become the grades 4 to 1."""
    cacm = raw / "charlesdlrsa/moteur_recherche_fri/cacm"
    cisi = raw / "Shakiba-Alipour/Information-Retrieval-on-CISI"
    cran = raw / "stevinjs/CS7IS3-CA1/resources"
    return {
        **_cacm_docs(cacm / "cacm.all", numbers),
        "cacm_queries.jsonl.gz": _queries("cacm", cacm / "query.text"),
        "cacm_qrels.tsv.gz": _qrels("cacm", cacm / "qrels.text"),
        "cisi_docs.jsonl.gz": _docs("cisi", cisi / "CISI.ALL"),
        "cisi_queries.jsonl.gz": _queries("cisi", cisi / "CISI.QRY"),
        "cisi_qrels.tsv.gz": _qrels("cisi", cisi / "CISI.REL"),
        "cran_docs.jsonl.gz": _docs("cran", cran / "cran.all.1400"),
        "cran_queries.jsonl.gz": _queries("cran", cran / "cran.qry", in_order=True),
        "cran_qrels.tsv.gz": _qrels("cran", cran / "cranqrel", graded=True),
    }


def _records(path: Path) -> dict[int, dict[str, list[str]]]:
    """Return identifier -> letter -> lines; an identifier that is there twice (CACM's 28) gathers the lines of both."""
    records: dict[int, dict[str, list[str]]] = {}
    fields: dict[str, list[str]] = {}
    lines: list[str] = []
    for _, line in raw_lines(path):
        text = line.decode("latin-1")
        if (head := _FIELD.fullmatch(text)) is None:
            lines.append(text)
            continue
        if head[1] == "I":
            fields = records.setdefault(int(head[2]), {})
        lines = fields.setdefault(head[1], [])
    return records


def _text(fields: dict[str, list[str]], letter: str) -> str:
    return clean(" ".join(fields.get(letter, ())))


def _docs(name: str, path: Path) -> list[dict[str, str]]:
    rows = []
    for number, fields in _records(path).items():
        title, abstract = _text(fields, "T"), _text(fields, "W")
        again = title if name == "cran" else ""
        rows.append({"doc_id": f"{name}:{number}", "title": title, "abstract": abstract.removeprefix(again).strip()})
    return rows


def _cacm_docs(path: Path, numbers: Sequence[int]) -> Files:
    records = _records(path)
    people = {
        number: [title_key(line) for line in fields.get("A", ()) if line.strip()] for number, fields in records.items()
    }
    authors = opaque((name for names in people.values() for name in names), "cacma", numbers)
    docs = [
        {
            "doc_id": f"cacm:{number}", "title": _text(fields, "T"), "abstract": _text(fields, "W"),
            "year": int(re.findall(r"\d{4}", _text(fields, "B"))[0]), "keywords": _text(fields, "K"),
            "categories": _text(fields, "C").split(), "author_ids": [authors[name] for name in people[number]],
        }
        for number, fields in records.items()
    ]  # fmt: skip
    links = {
        (min(number, int(other)), max(number, int(other)))
        for number, fields in records.items()
        for other, kind, _ in map(str.split, filter(str.strip, fields.get("X", ())))
        if kind == _CITES and int(other) != number and int(other) in records
    }
    pairs = [(f"cacm:{one}", f"cacm:{other}") for one, other in sorted(links)]
    return {"cacm_docs.jsonl.gz": docs, "cacm_links.tsv.gz": [("a", "b"), *pairs]}


def _queries(name: str, path: Path, in_order: bool = False) -> list[dict[str, str]]:
    """Return queries, numbered in the order of the file where the judgements are (Cranfield's)."""
    return [
        {"query_id": f"{name}:q{order if in_order else number}", "text": _text(fields, "W")}
        for order, (number, fields) in enumerate(_records(path).items(), start=1)
    ]


def _qrels(name: str, path: Path, graded: bool = False) -> list[tuple[str, str, int | str]]:
    """Return judgements; Cranfield's code -1 is undefined and left out."""
    rows = {}
    for _, line in raw_lines(path):
        if cells := line.split():
            query, doc, code = (int(cell) for cell in (*cells[:2], cells[2] if graded else b"4"))
            if code > 0:
                rows[f"{name}:q{query}", f"{name}:{doc}"] = 5 - code
    return [("query", "doc", "grade"), *((query, doc, grade) for (query, doc), grade in sorted(rows.items()))]


# --- SYNERGY ----------------------------------------------------------------------------------------------------------

_OPENALEX = "https://openalex.org/"
_TAG = re.compile(r"</?[a-zA-Z][^>]*>")
_HEADING = re.compile(r"^(abstract|summary)[:.]?\s+", re.IGNORECASE)


def synergy_openalex(raw: Path, numbers: Sequence[int] = ()) -> Files:
    """The works that nine systematic reviews screened, as OpenAlex described them, with an English abstract of 150 characters or
    more, once a title: the one of the smallest number stays."""
    folder = raw / "asreview/synergy-dataset"
    reviews: dict[str, list[str]] = {}
    works: dict[int, dict[str, Any]] = {}
    for path in sorted(folder.glob("*/works_1.zip")):
        for work in _works(path):
            works.setdefault(_number(work["id"]), work)
            reviews.setdefault(work["id"], []).append(path.parent.name)
    titles: set[str] = set()
    corpus = {}
    for _, work in sorted(works.items()):
        abstract, title = _abstract(work), clean(_TAG.sub("", work["title"] or ""))
        key = title_key(title)
        if len(abstract) >= 150 and key and key not in titles:
            titles.add(key)
            corpus[work["id"]] = work | {"title": title, "abstract": abstract}
    authors = opaque((a for work in corpus.values() for a in _authors(work)), "oaa", numbers)
    papers = [
        {
            "paper_id": _id(key), "title": work["title"], "abstract": work["abstract"], "year": work["publication_year"],
            "venue": clean((work["host_venue"] or {}).get("display_name")), "type": work["type"],
            "author_ids": [authors[a] for a in _authors(work)], "cited_by_count": work["cited_by_count"],
            "fields": [c["display_name"] for c in work["concepts"] if c["level"] == 0 and float(c["score"]) >= 0.2],
            "topics": [c["display_name"] for c in work["concepts"] if c["level"] > 0 and float(c["score"]) >= 0.3],
            "mesh": sorted({m["descriptor_name"] for m in work["mesh"]}),
            "mesh_major": sorted({m["descriptor_name"] for m in work["mesh"] if m["is_major_topic"]}),
            "reviews": reviews[key],
        }
        for key, work in sorted(corpus.items())
    ]  # fmt: skip
    return {
        "papers.jsonl.gz": papers,
        "citations.tsv.gz": [("citing", "cited"), *_links(corpus, "referenced_works")],
        "related_works.tsv.gz": [("work", "related"), *_links(corpus, "related_works")],
        "review_labels.tsv.gz": [("review", "work", "included"), *_labels(folder, corpus)],
        "reviews.jsonl.gz": [_review(path) for path in sorted(folder.glob("*/metadata_publication.json"))],
        "shared_references.tsv.gz": shared_references(
            {_id(key): work["referenced_works"] for key, work in corpus.items()}, {key: _id(key) for key in corpus}
        ),
    }


def _works(path: Path) -> Iterator[dict[str, Any]]:
    with zipfile.ZipFile(path) as container:
        for name in container.namelist():
            yield from json.loads(container.read(name))


def _number(address: str) -> int:
    return int(address.removeprefix(f"{_OPENALEX}W"))


def _id(address: str) -> str:
    return f"oa:{address.removeprefix(_OPENALEX)}"


def _authors(work: Mapping[str, Any]) -> list[str]:
    return [a["author"]["id"] for a in work["authorships"] if a["author"]["id"]]


def _abstract(work: Mapping[str, Any]) -> str:
    """Return the abstract, which OpenAlex keeps as word -> places; "" where it is not English."""
    places = sorted((place, word) for word, at in (work["abstract_inverted_index"] or {}).items() for place in at)
    text = " ".join(word for _, word in places)
    return _HEADING.sub("", clean(text)) if is_english(text) else ""


def _links(corpus: Mapping[str, Mapping[str, Any]], kind: str) -> list[tuple[str, str]]:
    return sorted(
        (_id(key), _id(other))
        for key, work in corpus.items()
        for other in work[kind]
        if other in corpus and other != key
    )


def _labels(folder: Path, corpus: Mapping[str, Any]) -> Iterator[tuple[str, str, str]]:
    for path in sorted(folder.glob("*/labels.csv")):
        for row in sorted((row for _, row in read_csv(path)), key=lambda row: row["openalex_id"]):
            if row["openalex_id"] in corpus:
                yield path.parent.name, _id(row["openalex_id"]), row["label_included"]


def _review(path: Path) -> dict[str, Any]:
    work = read_json(path)
    text = _abstract(work)
    return {"review": path.parent.name, "title": clean(work["title"]), "abstract": text,
            "year": work["publication_year"], "openalex": _id(work["id"])}  # fmt: skip


# --- visualization ----------------------------------------------------------------------------------------------------

_CONFERENCES = {"infovis": "InfoVis", "vis": "Vis", "vast": "VAST", "scivis": "SciVis"}
"""Of the proceedings' files; a special issue (`articles-SI.json`) mixes the conferences, and lists of titles tell them apart."""


def vis(raw: Path, numbers: Sequence[int] = ()) -> Files:
    """IEEE VIS and its journals by vispubdata, EuroVis and CHI by VisPubs: papers with an English abstract of 100 characters or
    more, once a title; references as Crossref registers them, by DOI."""
    folder = raw / "pisenberg/vispubdata/vispubdata-update"
    cited = {
        row["DOI"].lower(): row
        for part in ("", "journals_")
        for _, row in read_csv(folder / f"results/citations_references_{part}vispubdata.csv")
    }
    names: dict[str, list[str]] = {}
    for part in ("", "-journals"):
        for _, row in read_csv(folder / f"results/DedupedAuthors-Papers{part}.csv"):
            names.setdefault(row["Paper DOI"].lower(), []).append(row["Author Names"])
    papers: dict[str, dict[str, Any]] = {}
    for paper in [*_ieee(folder, cited, names), *_journals(folder, cited, names), *_vispubs(raw / "Dev-Lan/vispubs")]:
        papers.setdefault(paper["paper_id"], paper)
    ordered = sorted(papers.values(), key=lambda paper: (paper["year"], paper["paper_id"]))
    corpus = dict(sorted((paper["paper_id"], paper) for paper in once_a_title(ordered, 100)))
    authors = opaque((name for paper in corpus.values() for name in paper["author_ids"]), "visa", numbers)
    references = {
        key: [doi for doi in cited[key[4:]]["citedPapers"].split(";") if doi.startswith("10.") and f"vis:{doi}" != key]
        for key in corpus
        if key[4:] in cited
    }
    edges = {(key, f"vis:{doi}") for key, dois in references.items() for doi in dois}
    return {
        "papers.jsonl.gz": [p | {"author_ids": [authors[name] for name in p["author_ids"]]} for p in corpus.values()],
        "citations.tsv.gz": [("citing", "cited"), *sorted((a, b) for a, b in edges if b in corpus)],
        "shared_references.tsv.gz": shared_references(references, {key[4:]: key for key in corpus}),
    }


def _paper(doi: str, title: str, abstract: str, year: int, venue: str, **known: Any) -> dict[str, Any]:
    nothing: dict[str, Any] = {
        "conference": None, "author_ids": [], "author_keywords": [], "ieee_terms": [],
        "crossref_citations": None, "downloads": None,
    }  # fmt: skip
    return {"paper_id": f"vis:{doi}", "title": clean(title), "abstract": clean(abstract), "year": year, "venue": venue,
            **nothing, **known}  # fmt: skip


def _described(
    article: Mapping[str, Any], cited: Mapping[str, Mapping[str, str]], names: Mapping[str, list[str]]
) -> dict[str, Any]:
    terms, doi = article.get("index_terms", {}), article["doi"].lower()
    author_keywords, ieee_terms = (
        sorted({clean(term) for term in terms.get(f"{kind}_terms", {}).get("terms", [])}) for kind in ("author", "ieee")
    )
    return {
        "author_ids": names.get(doi, []), "author_keywords": author_keywords, "ieee_terms": ieee_terms,
        "crossref_citations": int(cited[doi]["CitationCount_CrossRef"]), "downloads": article["download_count"],
    }  # fmt: skip


def _ieee(folder: Path, cited: Mapping[str, Any], names: Mapping[str, list[str]]) -> Iterator[dict[str, Any]]:
    for path in sorted(folder.glob("*/original_data/articles-*.json")):
        year, kind = int(path.parts[-3]), path.stem.removeprefix("articles-")
        listed = _titles(path.parent.parent)
        for article in read_json(path)["articles"]:
            doi = article.get("doi", "").lower()
            if doi in cited:
                known = _described(article, cited, names)
                known["conference"] = _CONFERENCES.get(kind) or listed.get(title_key(article["title"]))
                yield _paper(doi, article["title"], article.get("abstract", ""), year, "IEEE VIS", **known)


def _titles(year: Path) -> dict[str, str]:
    return {
        title_key(line.decode("utf-8", "replace")): re.sub("(-conf)?Titles$", "", path.stem)
        for path in sorted(year.glob("*Titles.txt"))
        for _, line in raw_lines(path)
    }


def _journals(folder: Path, cited: Mapping[str, Any], names: Mapping[str, list[str]]) -> Iterator[dict[str, Any]]:
    for path in sorted((folder / "journal-data/original-data").glob("*.json")):
        for article in read_json(path)["articles"]:
            known, year = _described(article, cited, names) | {"conference": "journal"}, article["publication_year"]
            yield _paper(article["doi"].lower(), article["title"], article["abstract"], year, "TVCG/CG&A", **known)


def _vispubs(repository: Path) -> Iterator[dict[str, Any]]:
    for name in ("eurovis", "chi-filtered"):
        for _, row in read_csv(repository / f"src/dataProcess/intermediate/{name}.csv"):
            yield _paper(row["DOI"].lower(), row["Title"], row["Abstract"], int(row["Year"]), row["Conference"],
                         author_ids=row["AuthorNames-Deduped"].split(";"))  # fmt: skip
