"""Biomedical sources: SciFact's abstracts, PubMedQA, Biomimicry."""

from __future__ import annotations

import csv
import io
import re
import zipfile
from ast import literal_eval
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from scirep_core.data.open.compact import Files, clean
from scirep_core.kit.records import parse_line, raw_lines, read_json

_STRING = re.compile(r"""'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*\"""", re.DOTALL)
"""A string as Python prints it."""


def pubmedqa(raw: Path, _: Sequence[int] = ()) -> Files:
    """PubMedQA: title as question, sections with their roles, year, MeSH, decision."""
    papers = []
    for key, row in read_json(raw / "pubmedqa/pubmedqa/data/ori_pqal.json").items():
        contexts = [*row["CONTEXTS"], row["LONG_ANSWER"]]
        sections = [[label, clean(text)] for label, text in zip([*row["LABELS"], "CONCLUSION"], contexts, strict=True)]
        papers.append(
            {
                "paper_id": f"pmid:{key}",
                "question": clean(row["QUESTION"]),
                "abstract": " ".join(text for _, text in sections),
                "sections": sections,
                "year": int(row["YEAR"]) if row["YEAR"] else None,
                "mesh": sorted(set(row["MESHES"])),
                "decision": row["final_decision"],
            }
        )
    return {"papers.jsonl.gz": sorted(papers, key=lambda p: int(p["paper_id"][5:]))}


def biomimicry(raw: Path, _: Sequence[int] = ()) -> Files:
    """Papers with an abstract of 100 characters or more, whether they are about biomimicry, and which functions they show."""
    papers = []
    path = raw / "nasa-petal/biomimicry-binary-classifier/svm-blumin/squished_golden.json"
    for number, line in raw_lines(path):  # a list with a comma too many: one object a line
        if line.strip() in (b"[", b"]"):
            continue
        row = parse_line(line.strip().rstrip(b","), path, number)
        if len(clean(row["abstract"])) < 100:
            continue
        papers.append(
            {
                "paper_id": f"mag:{row['paper'][1:]}",
                "title": clean(row["title"]),
                "abstract": clean(row["abstract"]),
                "is_biomimicry": row["isBiomimicry"] == "Y",
                "level1": sorted(set(row["level1"])),
                "level2": sorted(set(row["level2"])),
                "mesh": sorted(set(row["mesh_terms"])),
                "mag_terms": row["mag_terms"],
            }
        )
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
