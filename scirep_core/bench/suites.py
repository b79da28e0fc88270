"""Suites of tasks by name, and the benchmark's average exactly as SciRepEval defines it.

The papers print averages but never write the rule down. It follows from appendix A and is confirmed by every row that prints
its parts (v1 Tables 2 and 3, v2 Tables 2 and 8; tests/test_benchmark.py):

    FoS, DRSM, Biomimicry    mean of F1 on the full data and in the two few-shot settings     one unit each
    reviewer matching        mean of P@5 and P@10, hard and soft                              one unit
    SciDocs Co-view, Co-read, Cite, Co-cite    MAP, nDCG                                      two units each
    every other task         its one metric                                                   one unit
    average                  plain mean over units: v2 (7 x in-train + 20 x out-of-train) / 27,
                             v1 (7 x in-train + 11 x out-of-train + 10 x SciDocs) / 28

The open literature's average is made by the same rule: 8 x in-train + 18 x out-of-train, arXiv's categories in place of FoS.

An average over fewer units is another number. It is refused, or, where asked for, says which units it lacks. A few-shot
task that lacks one of its settings lacks its unit: the mean of the rest would be another number too.

Intervals: the rows' bootstrap values are averaged draw by draw. Tasks have draws of their own, so they vary independently;
two metrics of one task share theirs, so their covariance is in the interval.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from scirep_core.data import load_task, names
from scirep_core.data.inventory import SCIMULT, SCIREPEVAL, TASKS
from scirep_core.data.open.tasks import OPEN
from scirep_core.data.readers.csfcube import FacetCollection
from scirep_core.data.readers.samples import SAMPLES
from scirep_core.data.sources import PAPERS, check_size
from scirep_core.data.task import Task
from scirep_core.kit.errors import ConfigError, ScirepError, check_name, nearest, some_of
from scirep_core.kit.formats import FORMATS
from scirep_core.kit.store import stable_hash
from scirep_core.results import Result, provenance


def _names(*configs: str) -> tuple[str, ...]:
    return tuple(f"scirepeval/{config}" for config in configs)


IN_TRAIN = _names(
    "mesh_descriptors", "fos", "cite_count", "pub_year", "same_author", "high_influence_cite", "search"
)  # fmt: skip
SCIDOCS = _names("scidocs_mag", "scidocs_mesh", "scidocs_view", "scidocs_read", "scidocs_cite", "scidocs_cocite")
_SHARED = _names("biomimicry", "drsm", "peer_review_score", "hindex", "tweet_mentions", "s2and",
                 "paper_reviewer_matching", "trec_covid")  # fmt: skip
PARTS: dict[str, dict[str, tuple[str, ...]]] = {
    "v1": {"in-train": IN_TRAIN, "out-of-train": (*_SHARED, *_names("feeds_1", "feeds_m", "feeds_title")),
           "scidocs": SCIDOCS},
    "v2": {"in-train": IN_TRAIN, "out-of-train": (*_SHARED, *_names("relish", "nfcorpus"), *SCIDOCS)},
    "open": {part: tuple(name for name, spec in OPEN.items() if spec.relation == part) for part in ("in-train", "out-of-train")},
}  # fmt: skip
"""Version -> part -> tasks. v2 folds SciDocs into out-of-train and has RELISH and NFCorpus for the three Feeds tasks; `open` is
the open literature's."""
UNIT = "unit"
"""Split of the mean over a task's settings."""
SPECS = {**TASKS, **OPEN}
"""Name -> what the inventory says of a task, the open literature's among them."""


def _in_order(tasks: Iterable[str]) -> tuple[str, ...]:
    chosen = set(tasks)
    return tuple(name for name in (*SCIREPEVAL, *OPEN) if name in chosen)


SUITES: dict[str, tuple[str, ...]] = {
    "scirepeval": _in_order(name for tasks in PARTS["v2"].values() for name in tasks),
    "scirepeval-v1": _in_order(name for tasks in PARTS["v1"].values() for name in tasks),
    "scidocs": SCIDOCS,
    "mdcr": ("scirepeval/mdcr",),
    "samples": tuple(name for name, sample in SAMPLES.items() if sample.like.startswith("scirepeval/")),
    "embedded-all": tuple(name for name, spec in SCIREPEVAL.items() if spec.type != "triplets"),
    "scimult": (
        *(name for name in SCIMULT if not name.startswith(("scimult/pretrain_", "scimult/pmc_"))),
        *_names("scidocs_mag", "scidocs_mesh"),
    ),
    "open": tuple(name for tasks in PARTS["open"].values() for name in tasks),
    "open-scimult": tuple(f"open/{name}" for name in (
        "category_labels", "mesh_labels", "track_labels", "link_prediction", "search", "phrases", "scifact", "cranfield",
        "reviewer_match")),
}  # fmt: skip
"""What `scirep score SUITE` scores: the benchmark (23 tasks), its first version (24), SciDocs' six tasks, MDCR, the small
real samples, and every SciRepEval task there is embedded data for (27: v1, v2 and MDCR); and what SciMult evaluates without
further training (Tables 3 to 5, 7 and 8), its linear classification being SciDocs'; and the open literature (26), and
what SciMult asks of it: labels by their texts, citations, searches, reviewers."""
AVERAGED: dict[str, tuple[str, tuple[str, ...]]] = {
    "scirepeval": ("v2", ()),
    "scirepeval-v1": ("v1", ()),
    "scidocs": ("v1", ("scidocs",)),
    "open": ("open", ()),
}
"""Suite -> the version of the average, and the splits of it (all of them unless named), that its rows can form."""

AVERAGES = {"v1": "scirepeval/average-v1", "v2": "scirepeval/average-v2", "open": "open/average"}
"""Version of an average -> the task name its rows bear."""


def main_metric(task: str) -> str:
    """Return the metric a task is looked at by, "" if it has none of its own.

    >>> main_metric("csfcube/all"), main_metric("scirepeval/average-v2"), main_metric("sample/search")
    ('ndcg%20', 'average', 'ndcg')
    """
    if task.startswith(("scirepeval/average", "open/average", "scimult/SM-")):
        return "average"
    if task.startswith("average/"):
        return "Average"
    spec = SPECS.get(SAMPLES[task].like if task in SAMPLES else task)
    return "" if spec is None else "mean_of_four" if "mean_of_four" in spec.metrics else spec.metrics[0]


def load_tasks(
    tasks: Sequence[str | Task] | str, source: str = "embedded", papers: int = PAPERS, data_seed: int = 0
) -> tuple[list[Task], dict[str, Exception]]:
    """Return the tasks that can be read, and of the others task -> why not.

    Args:
        tasks: a suite, a task, a task folder, or several of the latter two.
        source, papers, data_seed: of `load_task`.

    Raises ConfigError for a name that is neither, or a literature too small to hold every task.
    """
    if source == "embedded":
        check_size(papers)
    found: list[Task] = []
    failed: dict[str, Exception] = {}
    for name in SUITES.get(tasks, (tasks,)) if isinstance(tasks, str) else tasks:
        if isinstance(name, Task):
            found.append(name)
            continue
        known(name)
        try:
            task = load_task(name, source, papers, data_seed)
            if isinstance(task, FacetCollection):
                raise ConfigError("faceted queries are scored by `scirep_core.evaluate` and `scirep score csfcube`")
            found.append(task)
        except ScirepError as error:
            failed[name] = error
    return found, failed


def known(name: str) -> None:
    """Raise ConfigError unless a name is a suite, a task or an existing folder."""
    path = Path(name).expanduser()
    if name in SUITES or name in names() or name.startswith("sample/") or path.is_dir():
        return
    if path.exists():
        raise ConfigError(f"{name}: this is a file. Give the folder that holds a task.json")
    if name.endswith(("/", os.sep)) or name.startswith((".", "/", "~")):
        raise ConfigError(f"{name}: no such folder. Give a task folder, a task or a suite by name")
    valid = nearest(name, [*SUITES, *names()])
    raise ConfigError(f"unknown suite or task {name!r}, and no folder of that name; {valid}")


class Unit(NamedTuple):
    """One summand of the average.

    Attributes:
        part: in-train, out-of-train, or (v1) scidocs.
        format: CLF, RGN, PRX, QRY.
        task: name of the task.
        members: (split, metric) of the rows whose mean is the unit's value.
    """

    part: str
    format: str
    task: str
    members: tuple[tuple[str, str], ...]

    @property
    def name(self) -> str:
        """The task's name; with the metric where a task has two units."""
        pair = len(SPECS[self.task].metrics) == 2
        return f"{self.task}:{self.members[0][1]}" if pair else self.task


def units(version: str = "v2") -> tuple[Unit, ...]:
    """Return the units of an average: 27 of v2, 28 of v1, 26 of open. Raises ConfigError for another version."""
    check_name("version of the average", version, PARTS)
    found = []
    for part, name in ((part, name) for part, tasks in PARTS[version].items() for name in _in_order(tasks)):
        spec = SPECS[name]
        metrics = ("mean_of_four",) if "mean_of_four" in spec.metrics else spec.metrics
        splits = ("test", *(f"{shot.sample_size}-shot" for shot in spec.few_shot))
        found += [Unit(part, spec.format, name, tuple((split, metric) for split in splits)) for metric in metrics]
    return tuple(found)


def mean_row(rows: Sequence[Result], task: str, split: str, metric: str, note: str) -> Result:
    """Return the mean of a system's rows as a row: bootstrap values are averaged draw by draw, `n` is the first row's."""
    replicates = _mean([row.replicates for row in rows])
    low, high = (None, None) if replicates is None else map(float, np.quantile(replicates, [0.025, 0.975]))
    return replace(
        rows[0], task=task, split=split, metric=metric, value=sum(row.value for row in rows) / len(rows), low=low, high=high,
        replicates=replicates, note=note, by_query={},
        coverage=min((row.coverage for row in rows if row.coverage is not None), default=None),
    )  # fmt: skip


def over_settings(rows: Sequence[Result]) -> Result:
    """Return the mean of a task's settings, of split `UNIT`; a single one as it stands."""
    if len(rows) == 1:
        return rows[0]
    return mean_row(rows, rows[0].task, UNIT, rows[0].metric, f"mean of {', '.join(row.split for row in rows)}")


def unit_rows(rows: Iterable[Result], versions: Sequence[str] = ("v1", "v2")) -> dict[str, Result]:
    """Return one system's rows by unit of these averages; of a unit of several settings their mean, where all are there."""
    found = {(row.task, row.split, row.metric): row for row in rows}
    made = {}
    for unit in (unit for version in versions for unit in units(version)):
        there = [found[key] for member in unit.members if (key := (unit.task, *member)) in found]
        if len(there) == len(unit.members):
            made[unit.name] = over_settings(there)
    return made


def averages(
    rows: Sequence[Result], version: str = "v2", partial: bool = False, splits: Sequence[str] = ()
) -> list[Result]:
    """Return the averages of one system's rows, as rows of task `scirepeval/average-<version>` (`open/average`), metric `average`.

    Splits: in-train, out-of-train, scidocs (v1), all, CLF, RGN, PRX, QRY, and by part and format: in-train/CLF and so on
    (v1 Table 9, v2 Table 11). `n` counts units, `by_query` gives the value of each. `coverage` is the share of units times
    the lowest coverage of a unit's rows, which is in `parameters["lowest_coverage"]` where papers are missing.

    Args:
        rows: rows of `benchmark.score` or `evaluate`; rows of other tasks (MDCR, say) do not count.
        version: v1, v2 or open.
        partial: average what is there, say in the note what is not; a split without any unit has no row.
        splits: only these; all of them unless named.

    Raises ConfigError for rows of several encoders, protocols, sources, seeds, sizes of the literature or versions of a
    task's data; for a row that is there twice; and, unless `partial`, with the list of what is missing.
    """
    wanted = units(version)
    chosen = _splits(wanted)
    if unknown := [name for name in splits if name not in chosen]:
        raise ConfigError(f"no split {unknown[0]!r} of the average; {nearest(unknown[0], chosen)}")
    chosen = {name: inside for name, inside in chosen.items() if not splits or name in splits}
    concerned = [unit for unit in wanted if any(unit in inside for inside in chosen.values())]
    found = _one_system([row for row in rows if any(row.task == unit.task for unit in concerned)])
    values = unit_rows(found.values(), (version,))
    missing = {
        unit.name: [member for member in unit.members if (unit.task, *member) not in found]
        for unit in concerned
        if unit.name not in values
    }
    if not values or (missing and not partial):
        raise ConfigError(
            f"no average of {len(concerned)} units: {len(missing)} missing: {_lacking(concerned, missing)}. "
            "Score them, or ask for a partial average, which says what it lacks"
        )
    made = []
    for split, inside in chosen.items():
        there = {unit.name: values[unit.name] for unit in inside if unit.name in values}
        if there:
            lacking = [unit for unit in inside if unit.name in missing]
            made.append(_average(AVERAGES[version], split, there, lacking, missing, found))
    return made


def _splits(wanted: Sequence[Unit]) -> dict[str, tuple[Unit, ...]]:
    found: dict[str, list[Unit]] = {part: [] for part in dict.fromkeys(unit.part for unit in wanted)}
    found |= {name: [] for name in ("all", *FORMATS)}
    for unit in wanted:
        for name in (unit.part, "all", unit.format, f"{unit.part}/{unit.format}"):
            found.setdefault(name, []).append(unit)
    return {name: tuple(inside) for name, inside in found.items()}


def _lacking(wanted: Sequence[Unit], missing: Mapping[str, Sequence[tuple[str, str]]]) -> str:
    labels = []
    for unit in wanted:
        lacks = missing.get(unit.name, ())
        if lacks:
            some = f" ({', '.join(split for split, _ in lacks)})" if len(lacks) < len(unit.members) else ""
            labels.append(unit.name.removeprefix("scirepeval/").removeprefix("open/") + some)
    return some_of(labels, 8)


def _one_system(rows: Sequence[Result]) -> dict[tuple[str, str, str], Result]:
    """Return the rows by (task, split, metric). Raises ConfigError unless they are one system's on one set of data."""
    for what, of in SAME.items():
        values = sorted({str(of(row)) for row in rows} - {"None"})
        if len(values) > 1:
            raise ConfigError(
                f"an average of rows of {len(values)} {what} ({', '.join(values[:3])}) is no number. Choose one"
            )
    hashes: dict[str, Result] = {}
    found: dict[tuple[str, str, str], Result] = {}
    for row in rows:
        other = hashes.setdefault(row.task, row)
        if (other.data_hash, other.fingerprint) != (row.data_hash, row.fingerprint):
            what = "data" if other.data_hash != row.data_hash else "vectors"
            raise ConfigError(f"rows of {row.task} are from different {what}. Score it again")
        if (row.task, row.split, row.metric) in found:
            raise ConfigError(f"{row.task}, {row.split}, {row.metric} is there twice. Give one system's rows")
        found[row.task, row.split, row.metric] = row
    return found


SAME: dict[str, Callable[[Result], Any]] = {
    "encoders": lambda row: row.encoder,
    "protocols": lambda row: row.protocol,
    "sources": lambda row: row.source,
    "kinds": lambda row: row.kind,
    "seeds": lambda row: row.seed,
    "sizes": lambda row: row.parameters.get("papers"),
    "literatures": lambda row: row.parameters.get("data_seed"),
    "back ends": lambda row: (
        row.parameters.get("intercept", True) if SPECS[row.task].format in ("CLF", "RGN") else None
    ),
}
"""What all rows of an average must share, where they say it."""


def _mean(drawn: Sequence[NDArray[np.float32] | None]) -> NDArray[np.float32] | None:
    there = [one for one in drawn if one is not None]
    if len(there) < len(drawn) or len({len(one) for one in there}) != 1:
        return None
    return np.asarray(np.mean(there, axis=0, dtype=np.float64), dtype=np.float32)


def _average(
    task: str, split: str, there: Mapping[str, Result], lacking: Sequence[Unit],
    missing: Mapping[str, Sequence[tuple[str, str]]], found: Mapping[tuple[str, str, str], Result],
) -> Result:  # fmt: skip
    tasks = {name.partition(":")[0] for name in there}
    rows = [row for (name, _, _), row in found.items() if name in tasks]
    one = rows[0]
    replicates, low, high = _mean([value.replicates for value in there.values()]), None, None
    if replicates is not None:
        low, high = (float(bound) for bound in np.quantile(replicates.astype(np.float64), [0.025, 0.975]))
    covered = [1.0 if value.coverage is None else value.coverage for value in there.values()]
    of, short, lowest = len(there) + len(lacking), sum(one < 1 for one in covered), min(covered)
    parameters = {key: value for key, value in one.parameters.items() if key in ("papers", "data_seed")}
    # a ranking row knows no back end; probes' rows agree on theirs (SAME)
    parameters |= {"intercept": False} if any(row.parameters.get("intercept") is False for row in rows) else {}
    parameters |= {"lowest_coverage": lowest} if lowest < 1 else {}
    prints = sorted({row.fingerprint for row in rows})
    notes = (
        f"{len(there)} of {of} units; without {_lacking(lacking, missing)}" if lacking else "",
        f"{short} units scored with papers missing, the worst with {100 * lowest:.1f} % there" if short else "",
        "" if replicates is not None else "no interval: some rows have no bootstrap values",
    )
    return Result(
        task, split, "average", one.protocol, float(np.mean([value.value for value in there.values()])), len(there),
        encoder=one.encoder, low=low, high=high, kind=one.kind, source=one.source, seed=one.seed,
        fingerprint=prints[0] if len(prints) == 1 else stable_hash(prints)[:16],
        data_hash=stable_hash(sorted({(row.task, row.split, row.metric, row.n, row.data_hash) for row in rows})),
        coverage=lowest * len(there) / of, pool=f"{len(there)} of {of} units, {len(tasks)} tasks",
        parameters=parameters, provenance=provenance(), note="; ".join(note for note in notes if note),
        by_query={name: float(value.value) for name, value in there.items()}, replicates=replicates,
    )  # fmt: skip
