"""Sources of computer science: arXiv's categories, and reviewers' ratings of their own expertise."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from scirep_core.data.open.compact import Files, by_hash, clean, is_english, opaque, title_key
from scirep_core.kit.records import read_csv, read_jsonl, read_object

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
    titles: set[str] = set()
    primary: dict[str, list[str]] = {}
    for key, paper in sorted(papers.items()):
        title = title_key(paper["title"])
        if len(paper["abstract"]) >= 150 and is_english(paper["abstract"]) and title not in titles:
            titles.add(title)
            primary.setdefault(paper["primary"], []).append(key)
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
