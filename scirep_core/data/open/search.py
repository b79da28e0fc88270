"""CACM, CISI and Cranfield, in SMART's form: records of lines under `.I` (identifier) and other letters."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from scirep_core.data.open.compact import Files, clean, opaque, title_key
from scirep_core.kit.records import raw_lines

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
    """Return documents; Cranfield's abstracts begin with the title once more, which is left out."""
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
