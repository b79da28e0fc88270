"""Visualization papers: IEEE VIS and its journals by vispubdata, EuroVis and CHI by VisPubs."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from scirep_core.data.open.compact import Files, clean, is_english, opaque, shared_references, title_key
from scirep_core.kit.records import raw_lines, read_csv, read_json

_CONFERENCES = {"infovis": "InfoVis", "vis": "Vis", "vast": "VAST", "scivis": "SciVis"}
"""Of the proceedings' files; a special issue (`articles-SI.json`) mixes the conferences, and lists of titles tell them apart."""


def vis(raw: Path, numbers: Sequence[int] = ()) -> Files:
    """Papers with an English abstract of 100 characters or more, once a title; references as Crossref registers them, by DOI."""
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
    titles: set[str] = set()
    corpus = {}
    for key, paper in sorted(papers.items(), key=lambda item: (item[1]["year"], item[0])):
        title = title_key(paper["title"])
        if len(paper["abstract"]) >= 100 and is_english(paper["abstract"]) and title not in titles:
            titles.add(title)
            corpus[key] = paper
    corpus = dict(sorted(corpus.items()))
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


def _described(article: Mapping[str, Any], cited: Mapping[str, Mapping[str, str]]) -> dict[str, Any]:
    """Return what IEEE Xplore and Crossref know of an article."""
    terms = article.get("index_terms", {})
    return {
        "author_keywords": sorted({clean(term) for term in terms.get("author_terms", {}).get("terms", [])}),
        "ieee_terms": sorted({clean(term) for term in terms.get("ieee_terms", {}).get("terms", [])}),
        "crossref_citations": int(cited[article["doi"].lower()]["CitationCount_CrossRef"]),
        "downloads": article["download_count"],
    }


def _ieee(folder: Path, cited: Mapping[str, Any], names: Mapping[str, list[str]]) -> Iterator[dict[str, Any]]:
    for path in sorted(folder.glob("*/original_data/articles-*.json")):
        year, kind = int(path.parts[-3]), path.stem.removeprefix("articles-")
        listed = _titles(path.parent.parent)
        for article in read_json(path)["articles"]:
            doi = article.get("doi", "").lower()
            if doi in cited:
                conference = _CONFERENCES.get(kind) or listed.get(title_key(article["title"]))
                yield _paper(doi, article["title"], article.get("abstract", ""), year, "IEEE VIS", conference=conference,
                             author_ids=names.get(doi, []), **_described(article, cited))  # fmt: skip


def _titles(year: Path) -> dict[str, str]:
    """Return title -> conference, by the lists of a year's accepted papers."""
    return {
        title_key(line.decode("utf-8", "replace")): re.sub("(-conf)?Titles$", "", path.stem)
        for path in sorted(year.glob("*Titles.txt"))
        for _, line in raw_lines(path)
    }


def _journals(folder: Path, cited: Mapping[str, Any], names: Mapping[str, list[str]]) -> Iterator[dict[str, Any]]:
    for path in sorted((folder / "journal-data/original-data").glob("*.json")):
        for article in read_json(path)["articles"]:
            doi = article["doi"].lower()
            yield _paper(doi, article["title"], article["abstract"], article["publication_year"], "TVCG/CG&A",
                         conference="journal", author_ids=names.get(doi, []), **_described(article, cited))  # fmt: skip


def _vispubs(repository: Path) -> Iterator[dict[str, Any]]:
    for name in ("eurovis", "chi-filtered"):
        for _, row in read_csv(repository / f"src/dataProcess/intermediate/{name}.csv"):
            yield _paper(row["DOI"].lower(), row["Title"], row["Abstract"], int(row["Year"]), row["Conference"],
                         author_ids=row["AuthorNames-Deduped"].split(";"))  # fmt: skip
