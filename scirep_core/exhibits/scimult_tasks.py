"""What the chapters `scimult/classification` and `scimult/training` take from the one on tasks, until they are rewritten."""

from __future__ import annotations

import html
from dataclasses import replace
from pathlib import Path

from scirep_core.data.manifests import fetch
from scirep_core.data.readers import samples_scimult
from scirep_core.data.task import LabelText, Task
from scirep_core.evaluators.labels import counts, matcher
from scirep_core.evaluators.rows import summary
from scirep_core.exhibits.counting import number, row, token_counts
from scirep_core.kit.errors import CacheError, ConfigError, DataError
from scirep_core.page import report
from scirep_core.page.chapter import Chapter
from scirep_core.results import Result, arithmetic
from scirep_core.results.published import lookup

CANDIDATES, PAIRS = "#Candidates", "#Positive (Query, Candidate) Pairs"
MESH = "MeSH names in SciFact abstracts"
MATCHING = (
    ("labels per paper, mean", "labels", 1), ("matching labels per paper ({}), mean", "matches", 1),
    ("papers without a match ({}), %", "none, %", 1), ("gold labels that match ({}), %", "gold found, %", 1),
    ("matching labels that are gold ({}), %", "gold among them, %", 1),
)  # fmt: skip
"""Count, heading, decimals."""
labels = counts


def mesh_labels() -> dict[str, LabelText]:
    """Return MeSH's real names as labels; {} where they are neither here nor to be had. What is here must be right."""
    try:
        folder = fetch("mesh")
    except (DataError, CacheError, ConfigError) as error:
        if isinstance(error, DataError) and Path(error.path).exists():
            raise
        return {}
    return {key: LabelText(key, name) for key, name in samples_scimult.mesh_terms(folder / "terms.tsv").items()}


def mesh_names(claims: Task) -> list[Result]:
    """Return how many of MeSH's real names match the real abstracts at hand, by our rule; there are no gold labels."""
    terms = mesh_labels()
    if not terms:
        return []
    match = matcher(terms)
    matches = [len(match(paper.abstract)) for paper in claims.texts()]
    without = 100 * sum(not n for n in matches) / len(matches)
    found = [
        ("labels", len(terms), len(terms)), ("papers without a match (by rule), %", without, len(matches)),
        *summary(matches, "matching labels per paper (by rule)"),
    ]  # fmt: skip
    return [replace(row(claims, *count), task=MESH) for count in found]


def table1(chapter: Chapter) -> None:
    """Show the three instructions (SM-T1) with their length, which every query and candidate pays."""
    printed = lookup("SM-T1")
    made = chapter.record([
        arithmetic("SM-T1", f"tokens of the instruction, {task}", count, 1, (p,))
        for ((task, _), p), count in zip(printed.items(), token_counts([p.value for p in printed.values()]), strict=True)
    ])  # fmt: skip
    cells = [
        [task, html.escape(p.value), number(chapter, r)]
        for ((task, _), p), r in zip(printed.items(), made, strict=True)
    ]
    chapter.show(
        report.table(
            ["Task", "instruction", "tokens"], cells,
            "Table 1: the instructions, and their tokens with [CLS] and [SEP] (MiniLM’s tokenizer; PubMedBERT’s differs a little)",
            [["", "published text", "live"]] * len(cells),
        )
    )  # fmt: skip
