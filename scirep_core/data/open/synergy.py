"""SYNERGY: the works that nine systematic reviews screened, as OpenAlex described them in April 2023."""

from __future__ import annotations

import json
import re
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from scirep_core.data.open.compact import Files, clean, is_english, opaque, shared_references, title_key
from scirep_core.kit.records import read_csv, read_json

_OPENALEX = "https://openalex.org/"
_TAG = re.compile(r"</?[a-zA-Z][^>]*>")
_HEADING = re.compile(r"^(abstract|summary)[:.]?\s+", re.IGNORECASE)


def synergy_openalex(raw: Path, numbers: Sequence[int] = ()) -> Files:
    """Works with an English abstract of 150 characters or more, once a title: the one of the smallest number stays."""
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
            "paper_id": _id(key),
            "title": work["title"],
            "abstract": work["abstract"],
            "year": work["publication_year"],
            "venue": clean((work["host_venue"] or {}).get("display_name")),
            "type": work["type"],
            "author_ids": [authors[a] for a in _authors(work)],
            "cited_by_count": work["cited_by_count"],
            "fields": [c["display_name"] for c in work["concepts"] if c["level"] == 0 and float(c["score"]) >= 0.2],
            "topics": [c["display_name"] for c in work["concepts"] if c["level"] > 0 and float(c["score"]) >= 0.3],
            "mesh": sorted({m["descriptor_name"] for m in work["mesh"]}),
            "mesh_major": sorted({m["descriptor_name"] for m in work["mesh"] if m["is_major_topic"]}),
            "reviews": reviews[key],
        }
        for key, work in sorted(corpus.items())
    ]
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
