"""What tests of SciMult's pages share: rows of its studies and small tasks made by hand."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from scirep_core.bench.studies.outcome import over_seeds
from scirep_core.bench.studies.tables import STUDIES, cells
from scirep_core.data.task import Pooled, Task
from scirep_core.page.papers.scimult import TABLES
from scirep_core.results import Result
from scirep_core.training.variants import budget, variant

COLUMNS = {key: name for table in TABLES.values() for key, name in table.items()}
"""(task, metric) -> the column, of all tables."""
Value = Callable[[str, str, int], float]
"""Line, column, training's seed -> its value."""


def made(
    name: str, value: Value, seeds: Sequence[int] = range(3), kind: str = "recorded", **changes: object
) -> list[Result]:
    """Return a study's rows as it would record them: every column of every table, and means over trainings."""
    of, given = replace(STUDIES[name], **changes), budget("small")  # type: ignore[arg-type]
    rows = [_row(name, one, key, value(one, COLUMNS[key], 0), {"variant": one}, kind)
            for one in of.references for key in COLUMNS]  # fmt: skip
    for seed in seeds:
        for cell in cells(of, seed, given):
            known = variant(cell.variant)
            told = {"variant": cell.variant, "training_seed": seed, "base": cell.base}
            told |= {"width": 64, "layers": 2, "papers": 3000}
            told |= {"steps": int(300 * known.longer)} if known.kind else {}
            label = cell.label(of)
            rows += [_row(name, label, key, value(cell.variant, COLUMNS[key], seed), told, kind) for key in COLUMNS]
    return [*rows, *over_seeds(rows)]


def _row(name: str, label: str, key: tuple[str, str], value: float, told: dict[str, object], kind: str) -> Result:
    return Result(
        key[0], "test", key[1], "paper", value, 40, encoder=label, kind=kind, chapter=f"study/{name}", source="embedded",
        data_hash="0" * 16, parameters=told, seed=0,
    )  # fmt: skip


def searched(
    relevant: Mapping[str, Mapping[str, int]], pool: Sequence[str], keep_self: bool = True, **more: Any
) -> Task:
    """Return a small whole-pool task: query -> grades of papers; `more` are fields of Task."""
    told = {"name": "scimult/cite", "type": "retrieval", "format": "PRX", "metrics": ("recall@20",), "source": "embedded",
            "data_hash": "0" * 16} | more  # fmt: skip
    payload = Pooled({query: dict(grades) for query, grades in relevant.items()}, tuple(pool), keep_self=keep_self)
    return Task(payload=payload, **told)
