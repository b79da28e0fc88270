"""Do tasks agree on which systems are good? Correlations of two tasks' scores over systems, as rows (SciRepEval, Figure 2).

    table = score_table(rows)                    a line a system, a column a task; no floor: with it any two agree
    correlation(table, first, second)            Pearson's r with Fisher's interval
    table = unit_table(rows)                     the same of a study's models, from the averages over its suite
    of_groups(table, groups), of_tasks(table)    lowest, median and highest r of groups of tasks; each task and the others

A number over systems is of the papers that these were scored on: `source` is that of the scores.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations

import numpy as np
import pandas as pd

from scirep_core.bench.leaderboard import BOUNDS
from scirep_core.bench.suites import main_metric
from scirep_core.kit.store import stable_hash
from scirep_core.results import Result, provenance
from scirep_core.results.statistics import fisher

OVER = "over systems"
"""Stands for the encoder in rows about several of them."""
LOWEST, MEDIAN, HIGHEST, ABOVE = "lowest r", "median r", "highest r", "pairs with r above 0.99"
SETTLED = "pairs settled"
CLAIM, PEARSON = 0.99, "pearson"


def score_table(rows: Sequence[Result], floor: bool = False) -> pd.DataFrame:
    """Return main scores, one row a system and one column a task; `attrs["source"]` tells what they are of.

    Systems that lack a task, and tasks on which all systems score the same, are left out.
    """
    out = {*BOUNDS, OVER} - ({"random"} if floor else set())
    main = [
        r for r in rows
        if r.split == "test" and not r.against and r.encoder and r.encoder not in out
        and r.metric == (main_metric(r.task) or r.metric) and r.metric != PEARSON
    ]  # fmt: skip
    table = pd.DataFrame([(r.encoder, r.task, r.value) for r in main], columns=["system", "task", "value"])
    wide = table.drop_duplicates(["system", "task"]).pivot(index="system", columns="task", values="value")
    order = [name for name in dict.fromkeys(r.task for r in main) if name in wide.columns]
    wide = wide[order].dropna(axis=0)
    wide = wide[[name for name in wide.columns if np.ptp(wide[name].to_numpy()) > 1e-9]]
    wide.attrs["source"] = "+".join(sorted({r.source for r in main}))
    return wide


def unit_table(rows: Sequence[Result]) -> pd.DataFrame:
    """Return the score of each unit of a study's suite, one row a line of the study and one column a unit; no floor."""
    whole = [r for r in rows if (r.metric, r.split) == ("average", "all") and "training_seed" not in r.parameters]
    table = pd.DataFrame({r.encoder: r.by_query for r in whole if r.encoder not in BOUNDS}).T
    table.attrs["source"] = "+".join(sorted({r.source for r in whole}))
    return table


def row_over(
    table: pd.DataFrame, task: str, metric: str, value: float, note: str, bounds: tuple[float, float] | None = None,
    split: str = "test",
) -> Result:  # fmt: skip
    """Return a number over a table's systems (rows) as a result row; its data hash is of the whole table."""
    low, high = bounds or (None, None)
    hashed = stable_hash([list(table.index), list(table.columns), table.to_numpy().tolist()])
    return Result(task, split, metric, "paper", value, len(table), encoder=OVER, low=low, high=high, data_hash=hashed,
                  source=table.attrs.get("source", ""), provenance=provenance(), note=note)  # fmt: skip


def _r(table: pd.DataFrame, first: str, second: str) -> float:
    return float(np.corrcoef(table[first], table[second])[0, 1])


def correlation(table: pd.DataFrame, first: str, second: str) -> Result:
    """Return the correlation of two tasks over the systems of a table, as a row with its interval."""
    r, n = _r(table, first, second), len(table)
    note, pair = f"Pearson over {n} systems, Fisher interval", table[[first, second]]
    return row_over(pair, first, f"pearson with {second}", r, note, fisher(r, n))


def of_groups(table: pd.DataFrame, groups: Mapping[str, Sequence[str]], split: str = "test") -> Iterator[Result]:
    """Yield, for each group of tasks, the lowest, highest and median correlation, and how many are above the papers' claim."""
    for name, members in groups.items():
        inside = table[[task for task in members if task in table.columns]]
        found = {f"{a} and {b}": _r(inside, a, b) for a, b in combinations(inside.columns, 2)}
        if not found:
            continue
        about, of = f"group/{name}", f"of {len(found)} pairs"
        for metric, pair in ((LOWEST, min(found, key=found.__getitem__)), (HIGHEST, max(found, key=found.__getitem__))):
            yield row_over(inside, about, metric, found[pair], pair, fisher(found[pair], len(inside)), split)
        yield row_over(inside, about, MEDIAN, float(np.median([*found.values()])), of, None, split)
        yield row_over(inside, about, ABOVE, sum(r > CLAIM for r in found.values()), of, None, split)


def of_tasks(table: pd.DataFrame, split: str = "test") -> Iterator[Result]:
    """Yield each task's median correlation with the others, and with how many it is shown to be correlated."""
    for task in table.columns:
        found = [_r(table, task, other) for other in table.columns if other != task]
        settled = sum(fisher(r, len(table))[0] > 0 for r in found)
        yield row_over(table, task, MEDIAN, float(np.median(found)), f"with the {len(found)} other tasks", None, split)
        yield row_over(table, task, SETTLED, settled, f"of {len(found)}: interval above 0", None, split)
