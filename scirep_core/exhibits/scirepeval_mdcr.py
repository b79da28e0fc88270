"""Table 10 of SciRepEval v2 as data: its fields of study and systems, and where a printed number is below BM25's."""

from __future__ import annotations

from scirep_core.results.published import lookup

METRICS = ("MAP", "R@5")
ENSEMBLE = "SPECTER2 Adapters + MTL CTRL"
EXEMPT = ("Computer Science", "Biology", "Medicine")
"""The domains section 5 names as those where BM25 was not ahead: computer science and what MDCR has of "BioMed"."""


def fields() -> list[str]:
    """Return the printed fields of study, without the average."""
    return [row for row in dict.fromkeys(row for row, _ in lookup("V2-T10")) if row != "Avg"]


def systems() -> list[str]:
    """Return the systems of Table 10, in print order."""
    return list(dict.fromkeys(column.partition("/")[0] for _, column in lookup("V2-T10")))


def below(name: str, metric: str) -> list[str]:
    """Return the fields in which a system's printed number is below BM25's."""
    ten = lookup("V2-T10")
    return [f for f in fields() if ten[f, f"{name}/{metric}"].number < ten[f, f"BM25/{metric}"].number]
