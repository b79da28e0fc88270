"""`scirep list`: the names that commands and parameters take, out of the registries themselves."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Annotated, Any

from scirep_core.cli.shared import argument
from scirep_core.kit.errors import ConfigError, nearest, some_of
from scirep_core.kit.terminal import Json, print_json, table

EXAMPLES = "Examples: scirep list encoders;  scirep list tasks --json"
Row = Mapping[str, Any]


def _tasks() -> list[Row]:
    from scirep_core.bench.suites import SPECS
    from scirep_core.data import TASKS
    from scirep_core.data.readers.samples import SAMPLES

    real = {name: TASKS[one.like] for name, one in SAMPLES.items()}
    return [
        {"name": name, "format": spec.format, "type": spec.type, "metrics": list(spec.metrics), "paper": spec.paper,
         "title": SAMPLES[name].about if name in SAMPLES else spec.title}
        for name, spec in (SPECS | real).items()
    ]  # fmt: skip


def _encoders() -> list[Row]:
    from scirep_core.bench.systems import BOUNDS, LEXICAL
    from scirep_core.encoders import ENCODERS

    rows = [(name, spec.pooling, spec.text) for name, spec in ENCODERS.items()]
    rows += [(name, "", "words, not meaning") for name in LEXICAL]
    rows += [(name, "", f"the {what} of a task") for name, what in zip(BOUNDS, ("floor", "ceiling"), strict=True)]
    return [{"name": name, "pooling": pooling, "what": what} for name, pooling, what in rows]


def _metrics() -> list[Row]:
    from scirep_core.book.reference.schema import MEASURES
    from scirep_core.results.metrics import ACCEPTED, METRICS

    written = {f"{name}{'@k' * one.at}": one.text for name, one in METRICS.items()} | MEASURES
    asked = {name: [kind for kind, names in ACCEPTED.items() if name in names] for name in written}
    return [{"name": name, "what": text, "types": asked[name] or ["csfcube"]} for name, text in written.items()]


def _suites() -> list[Row]:
    from scirep_core.bench.suites import SUITES
    from scirep_core.book.reference.schema import HELD

    return [{"name": name, "what": HELD[name], "tasks": list(tasks)} for name, tasks in SUITES.items()]


def _conditionings() -> list[Row]:
    from scirep_core.encoders.conditioning.base import CONDITIONINGS

    return [{"name": name, "paper": way.paper} for name, way in CONDITIONINGS.items()]


KINDS: dict[str, Callable[[], list[Row]]] = {
    "tasks": _tasks, "encoders": _encoders, "metrics": _metrics, "suites": _suites, "conditionings": _conditionings,
}  # fmt: skip


def listing(
    kind: Annotated[str, argument(f"{', '.join(KINDS)}.")],
    as_json: Json = False,
) -> None:
    """List what there is by name: tasks, encoders, metrics, suites, conditionings."""
    if kind not in KINDS:
        raise ConfigError(f"list {kind!r}: {nearest(kind, KINDS)}")
    rows = KINDS[kind]()
    if as_json:
        print_json(rows)
        return
    table(f"{len(rows)} {kind}", list(rows[0]), [[_shown(value) for value in row.values()] for row in rows], words=True)


def _shown(value: str | list[str]) -> str:
    return value if isinstance(value, str) else some_of(value, 3)
