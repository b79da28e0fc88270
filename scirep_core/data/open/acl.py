"""The ACL Anthology: papers by its XML, citations by Bollmann and Elliott (ACL 2020), tracks by the conferences' programmes."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import yaml

from scirep_core.data.open.compact import Files, bucket, by_hash, clean, once_a_title, opaque, title_key
from scirep_core.kit.records import grouped, raw_lines, read_csv

_OLD = re.compile(r"[A-Z]\d\d")  # a collection of before 2020: one letter, two digits of the year
_VENUES = {
    "A": "ANLP", "C": "COLING", "D": "EMNLP", "E": "EACL", "F": "JEPTALNRECITAL", "H": "HLT", "I": "IJCNLP", "J": "CL",
    "K": "CONLL", "L": "LREC", "M": "MUC", "N": "NAACL", "O": "ROCLING", "P": "ACL", "Q": "TACL", "R": "RANLP",
    "S": "SEMEVAL", "T": "TINLAP", "U": "ALTA", "W": "WS", "X": "TIPSTER", "Y": "PACLIC",
}  # fmt: skip


def acl_graph(raw: Path, numbers: Sequence[int] = (), held_out: bool = False) -> Files:
    """Papers with an English abstract of 100 characters or more, once a title: the oldest stays.

    Args:
        raw: folder of the raw files.
        numbers: the authors' running numbers; they are those of the papers without the held-out ones.
        held_out: take in the fifth of the papers that the published files leave out (`compact.bucket` 0 of 5).
    """
    repository = raw / "rstojnic/acl-anthology/data"
    canonical = _canonical_names(repository / "yaml/name_variants.yaml")
    areas: dict[str, tuple[str, str]] = {}
    for _, row in read_csv(raw / "mmarius/interpretability-impact/data/parsed_data.csv"):
        if row["area"] and row["doi"]:
            areas.setdefault(row["doi"].rpartition("/")[2], (row["source"], clean(row["area"])))
    papers = [paper for path in sorted((repository / "xml").glob("*.xml")) for paper in _papers(path, canonical)]
    ordered = sorted(papers, key=lambda paper: (paper["year"], paper["paper_id"]))
    first = once_a_title((paper for paper in ordered if len(paper["title"]) >= 5), 100)
    corpus = {paper["paper_id"]: paper for paper in first if held_out or bucket(paper["paper_id"], 5)}
    authors = opaque((name for paper in corpus.values() for name in paper["author_ids"]), "acla", numbers)
    rows = []
    for key, paper in sorted(corpus.items()):
        source, area = areas.get(key[4:], ("", ""))
        track = {"area_source": source, "area": area} if area else {}
        rows.append(paper | {"author_ids": [authors[name] for name in paper["author_ids"]]} | track)
    citing = _references(raw / "coastalcph/acl-citations/data", papers)
    within = {key: sorted(f"acl:{name}" for name in names if f"acl:{name}" in corpus) for key, names in citing.items()}
    edges = {(one, key) for key, names in within.items() if key in corpus for one in names if one != key}
    numbered = ((f"r{n:05d}", key) for n, key in enumerate(by_hash(citing)))
    shared = [(n, len(citing[key]), " ".join(within[key])) for n, key in numbered if len(within[key]) > 1]
    return {
        "papers.jsonl.gz": rows,
        "citations.tsv.gz": [("citing", "cited"), *sorted(edges)],
        "shared_references.tsv.gz": [("reference", "n_citing_total", "citing"), *shared],
    }


def _canonical_names(path: Path) -> dict[str, str]:
    """Return every variant of a name -> the person's id, or canonical name where there is none; as `_name` writes them."""
    people = yaml.load(path.read_text(encoding="utf-8"), yaml.CSafeLoader)
    return {
        _name(name): person.get("id") or _name(person["canonical"])
        for person in people
        for name in (person["canonical"], *person.get("variants", ()))
    }


def _name(parts: Mapping[str, str]) -> str:
    """Return a name as the Anthology writes it in the addresses of its author pages: without accents, in lower case, hyphens."""
    return title_key(f"{parts.get('first', '')} {parts.get('last', '')}").replace(" ", "-")


def _papers(path: Path, canonical: Mapping[str, str]) -> Iterator[dict[str, Any]]:
    collection = ElementTree.parse(path).getroot()
    name = collection.attrib["id"]
    old = bool(_OLD.fullmatch(name))
    for volume in collection.iter("volume"):
        for paper in volume.iter("paper"):
            key = _key(name, volume.attrib["id"], paper.attrib["id"])
            yield {
                "paper_id": f"acl:{key}", "title": _text(paper.find("title")), "abstract": _text(paper.find("abstract")),
                "year": int(volume.findtext("meta/year") or _year(name)),
                "venue": _VENUES.get(name[0], name[0]) if old else name.split(".")[1].upper(),
                "volume": key[: 6 if key[0] == "W" else 5] if old else key.rpartition(".")[0],
                "author_ids": [_person(author, canonical) for author in paper.iter("author")],
            }  # fmt: skip


def _year(collection: str) -> int:
    if not _OLD.fullmatch(collection):
        return int(collection[:4])
    return (1900 if collection[1:] >= "60" else 2000) + int(collection[1:])


def _key(collection: str, volume: str, paper: str) -> str:
    """Return the Anthology's identifier: P19-1002 up to 2019 (workshops have two digits for the volume), 2020.acl-main.2 since."""
    if not _OLD.fullmatch(collection):
        return f"{collection}-{volume}.{paper}"
    if collection[0] == "W" or collection == "C69" or (collection == "D19" and int(volume) >= 5):
        return f"{collection}-{int(volume):02d}{int(paper):02d}"
    return f"{collection}-{int(volume)}{int(paper):03d}"


def _person(author: ElementTree.Element, canonical: Mapping[str, str]) -> str:
    name = _name({part: author.findtext(part) or "" for part in ("first", "last")})
    return author.get("id") or canonical.get(name, name)


def _text(element: ElementTree.Element | None) -> str:
    return clean("".join(element.itertext())) if element is not None else ""


# --- citations --------------------------------------------------------------------------------------------------------


def _references(folder: Path, papers: Iterable[Mapping[str, Any]]) -> dict[str, set[str]]:
    """Return reference -> identifiers of the papers that cite it, over the three published lists.

    A reference is the Anthology's paper that it is matched to, else the first 120 characters of its title.
    """
    titles = grouped(papers, lambda paper: title_key(paper["title"]))
    citing: dict[str, set[str]] = {}
    for path in sorted(folder.glob("*.matched.tsv")):
        for _, raw in islice(raw_lines(path), 1, None):  # no csv: quotes stand for themselves
            _, _, years, authors, title, names = raw.decode("utf-8").split("\t")
            words = title_key(title).split()
            if not words:
                continue
            key = _matched(words, [int(year) for year in years.split("/")], set(title_key(authors).split()), titles)
            citing.setdefault(key or f"t:{' '.join(words)[:120]}", set()).update(names.split(","))
    return citing


def _matched(
    words: Sequence[str], years: Sequence[int], authors: set[str], titles: Mapping[str, Sequence[Mapping[str, Any]]]
) -> str | None:
    """Return the paper of the longest title that a reference begins with: 4 words or more, a year apart at most, a surname shared.

    The surname is the last part of the author's key, so of those with an id of the Anthology's own it may be a place.
    """
    for length in range(len(words), 3, -1):
        near = [
            (apart, paper["paper_id"])
            for paper in titles.get(" ".join(words[:length]), ())
            if (apart := min(abs(paper["year"] - year) for year in years)) <= 1
            and any(name.rpartition("-")[2] in authors for name in paper["author_ids"])
        ]
        if near:
            return str(min(near)[1])
    return None
