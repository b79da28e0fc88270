"""Rows of SciMult's studies made by hand, all columns with values a test chooses; and a tiny model with its pairs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

import pytest

from scirep_core.exhibits.scimult_shared import TABLES
from scirep_core.exhibits.scimult_training_loss import ON, VANILLA, Trained
from scirep_core.results import Result
from scirep_core.studied import over_seeds
from scirep_core.study_tables import STUDIES, cells
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
            told = {
                "variant": cell.variant,
                "training_seed": seed,
                "base": cell.base,
                "width": 64,
                "layers": 2,
                "papers": 3000,
            }
            told |= {"steps": int(300 * known.longer)} if known.kind else {}
            rows += [
                _row(name, cell.label(of), key, value(cell.variant, COLUMNS[key], seed), told, kind) for key in COLUMNS
            ]
    return [*rows, *over_seeds(rows)]


def _row(name: str, label: str, key: tuple[str, str], value: float, told: dict[str, object], kind: str) -> Result:
    return Result(
        key[0], "test", key[1], "paper", value, 40, encoder=label, kind=kind, chapter=f"study/{name}", source="embedded",
        data_hash="0" * 16, parameters=told, seed=0,
    )  # fmt: skip


@pytest.fixture(scope="module")
def small_training(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Trained]:
    """A tiny Vanilla model as it starts, with the sources of a small literature."""
    from scirep_core.encoders.conditioning import Conditioned, conditioning
    from scirep_core.training.models import base, examples, trunk_of

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SCIREP_HOME", str(tmp_path_factory.mktemp("home")))
        given = budget("tiny", cap=300)
        start = base(ON, given)
        _, tasks = examples(start, given, variant(VANILLA))
        trunk = trunk_of(start.folder)
        yield Trained(Conditioned(trunk, conditioning("plain", trunk)).eval(), tasks)
