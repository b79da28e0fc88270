"""Rows of studies made by hand: what a study would record, with values a test chooses."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from scirep_core.bench.studies.codes import SPECS
from scirep_core.bench.studies.outcome import over_seeds
from scirep_core.bench.studies.tables import OPEN_TABLE_3, OWN, STUDIES, TABLE_3, Cell, cells
from scirep_core.bench.suites import units
from scirep_core.kit.formats import FORMATS
from scirep_core.results import Result
from scirep_core.training.variants import budget, variant

SPLITS = ("in-train", "out-of-train", "all", "CLF", "RGN", "PRX", "QRY")
Value = Callable[[Cell, str], float]
"""Cell, split or task -> its value."""


def made(
    name: str, value: Value, seeds: Sequence[int] = range(5), kind: str = "recorded", **changes: Any
) -> list[Result]:
    """Return a study's rows as it would record them: averages of a suite or single tasks, and means over trainings."""
    of, given = replace(STUDIES[name], **changes), budget("small")
    shared = {"tasks": of.tasks, "chapter": f"study/{name}", "kind": kind}
    rows = [
        _row(system, column, value(Cell(system, "", 0, 0), column), {"variant": system}, **shared)
        for system in of.references for column in columns(of.tasks)
    ]  # fmt: skip
    for seed in seeds:
        for cell in cells(of, seed, given):
            known = variant(cell.variant)
            told = {"variant": cell.variant, "training_seed": cell.seed, "base": cell.base, "code": cell.code,
                    "width": cell.width, "layers": 2} | ({"papers": 3000} if of.tasks != "samples" else {})  # fmt: skip
            told |= {"steps": int(200 * known.longer), "model": f"{cell.variant}-{seed}"} if known.kind else {}
            rows += [_row(cell.label(of), column, value(cell, column), told, **shared) for column in columns(of.tasks)]
    return [*rows, *over_seeds(rows)]


def columns(tasks: str | tuple[str, ...]) -> tuple[str, ...]:
    """Return what a study has values of: splits of the average, or its tasks."""
    return SPLITS if tasks == "scirepeval" else tasks if isinstance(tasks, tuple) else ("sample/fos", "sample/search")


def _row(label: str, column: str, value: float, told: dict[str, Any], tasks: Any, **more: Any) -> Result:
    average = tasks == "scirepeval"
    every = {unit.name: value for unit in units("v2")} if average and column == "all" else {}
    metric = "average" if average else {"sample/fos": "f1_macro", "sample/search": "ndcg"}.get(column, "f1_macro")
    return Result(
        "scirepeval/average-v2" if average else column, column if average else "test", metric, "paper", value, 27,
        encoder=label, source="real" if tasks == "samples" else "embedded", data_hash="0" * 16, parameters=told, by_query=every,
        seed=0, **more,
    )  # fmt: skip


def scattered(centres: dict[str, float], sd: float = 0.3, otherwise: float = 50.0) -> Value:
    """Return values that scatter around a centre for each variant: the same for the same cell and column."""

    def value(cell: Cell, column: str) -> float:
        centre = centres.get(cell.variant, otherwise)
        drawn = np.random.default_rng([sum(map(ord, f"{cell.variant}{cell.base}{column}")), cell.seed, cell.width])
        return float(centre + sd * drawn.standard_normal())

    return value


Score = Callable[[str, str, str, int], float]
"""(variant, task, code, seed) -> score."""


def coded(variants: Sequence[str], score: Score, seeds: int = 3, tasks: Sequence[str] = TABLE_3) -> list[Result]:
    """Return rows as study `cross` or `partitions` records them, few-shot settings 10 and 20 points below the full data."""
    found = []
    for variant_, seed, task in itertools.product(variants, range(seeds), tasks):
        spec = SPECS[task]
        metric = "mean_of_four" if "mean_of_four" in spec.metrics else spec.metrics[0]
        for code in (*((OWN,) if not variant_.startswith("random") else ()), *FORMATS):
            value = score(variant_, task, spec.format if code == OWN else code, seed)
            told = {"variant": variant_, "training_seed": seed, "code": code, "papers": 3000, "width": 64,
                    "base": "embedded"}  # fmt: skip
            made = Result(
                task, "test", metric, "paper", value, 100, kind="recorded", chapter="study/cross", data_hash="d", seed=0,
                encoder=f"{variant_}{f' as {code}' if code != OWN else ''}, seed {seed}", parameters=told,
                source="open" if task in OPEN_TABLE_3 else "embedded",
            )  # fmt: skip
            splits = ["test", *(f"{shot.sample_size}-shot" for shot in spec.few_shot)]
            found += [replace(made, split=split, value=value - 10 * i) for i, split in enumerate(splits)]
            found.append(replace(made, value=1.0, metric="p@5" if "mean_of_four" in spec.metrics else "other"))
    return [*found, *over_seeds(found)]


def wobble(seed: int) -> float:
    return (-0.3, 0.1, 0.2, -0.1, 0.15)[seed]
