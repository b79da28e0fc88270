"""The score explorer: two systems side by side on every task, the difference with its interval, in the page.

SciRepEval's tables have one row a system and one column a task; whether two rows differ they leave to the reader. Here
a reader chooses two systems, sees both scores of each task, and their paired difference

    d = score(first) - score(second), 95 % interval from resamples that both systems share

which is significant where the interval leaves out 0. Scores and differences are Result rows that a chapter recorded: nothing
is computed in the page, and a pair without a recorded difference shows none. The browser half is `scores.js`, the plain
table for readers without script `fallback`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from itertools import combinations, permutations
from typing import TYPE_CHECKING, Any, NamedTuple

from scirep_core.bench.pairs import by_place, main_rows, plain
from scirep_core.bench.suites import SPECS
from scirep_core.data.readers.samples import SAMPLES
from scirep_core.kit.errors import ConfigError
from scirep_core.kit.formats import PROTOCOLS
from scirep_core.page.blocks import spoken, value_of
from scirep_core.page.names import metric_in_words
from scirep_core.page.rows import PRINTED, Cells, Exhibit
from scirep_core.page.widgets import common
from scirep_core.page.widgets.common import Explorer, View, check_distinct, complete, keyed, table
from scirep_core.results import Result
from scirep_core.results.differences import difference_of, versus

if TYPE_CHECKING:
    from scirep_core.page.chapter import Chapter

ORDERS = ("task", "first", "second", "difference")
"""What the table may be sorted by; `-` before it turns the order round."""
BOUNDS = ("random", "oracle")
"""Floor and ceiling: not what a comparison opens with."""


class Run(NamedTuple):
    """What the reader may switch between: scores and differences that belong together."""

    key: str
    label: str
    about: str
    scores: Sequence[Result]
    gaps: Sequence[Result]
    """Paired differences of two systems, as rows."""


class ScoreExplorer(Explorer, prefix="sco", scripts=("scores.js",)):
    """The widget. `selection` = {first, second, run, protocol, order}: observe it, or set all or part of it."""

    def _resolve(self, before: Mapping[str, Any], wanted: Mapping[str, Any]) -> dict[str, Any]:
        """The two systems may be one and the same; a protocol that the chosen run does not have gives way to one it has."""
        view = self._view
        systems, runs = [name for name, _ in view["systems"]], [key for key, _, _ in view["runs"]]
        first, second, protocol = view["opens"][runs[0]]
        start = {"first": first, "second": second, "run": runs[0], "protocol": protocol, "order": "task"}
        orders = (*ORDERS, *(f"-{name}" for name in ORDERS))
        known = {"first": systems, "second": systems, "run": runs, "order": orders, "protocol": PROTOCOLS}
        new = complete(start, before, wanted, known)
        there = {row["protocol"] for row in view["rows"] if row["run"] == new["run"]}
        if new["protocol"] not in there:
            new["protocol"] = next(name for name in PROTOCOLS if name in there)
        return new

    def static_fallback(self) -> str:
        """Return all scores as HTML tables that need no script."""
        view = self._view
        names = view["systems"]
        facts = [one for one in ("metric", "n") if any(row[one] for row in view["rows"])]
        facts[1:1] = ["protocol"] * (view["protocols"] > 1)
        parts = []
        for key, words, about in view["runs"]:
            lines = []
            for row in (row for row in view["rows"] if row["run"] == key):
                cells = [escape(str(row[name])) for name in facts]
                for name, _ in names:
                    value, low, high = row["scores"].get(name, (None, None, None))
                    shown = "–" if value is None else f"{value:.1f}"
                    cells.append(f"{shown}{'' if low is None else f' ({low:.1f} to {high:.1f})'}")
                split = "" if row["split"] == "test" else f", {row['split']}"
                lines.append([escape(row["title"] + split), *cells])
            parts.append(table(f"{words}. {about}", ("task", *facts, *(name for _, name in names)), lines))
        return self.folded("All scores as plain tables", parts)


def run_of(key: str, label: str, about: str, rows: Sequence[Result]) -> Run:
    """Return scores and differences of rows (`bench/pairs.py`) as a run; an interval of no width is none."""
    places = {(task, split, difference_of(metric), protocol) for task, split, metric, protocol in by_place(rows)}
    gaps = [plain(row) for row in rows if row.of_systems and (row.task, row.split, row.metric, row.protocol) in places]
    return Run(key, label, about, [plain(row) for row in main_rows(rows)], gaps)


def score_data(runs: Iterable[Run], labels: Mapping[str, str] | None = None) -> View:
    """Return the explorer's data as plain JSON values.

    Args:
        runs: those without scores are left out.
        labels: what a system is called, where that is not its name.

    Raises ConfigError without two systems, for a run given twice, a number twice, or a gap of systems without scores.
    """
    labels = labels or {}
    given = [run for run in runs if run.scores]
    check_distinct("runs", [run.key for run in given])
    systems = list(dict.fromkeys(row.encoder for run in given for row in run.scores))
    if len(systems) < 2:
        raise ConfigError(f"runs: scores of {len(systems)} systems; a comparison needs two")
    rows = [line for run in given for line in _lines(run, systems)]
    named = [[name, labels.get(name, name)] for name in systems]
    return _view(named, [[run.key, run.label, run.about] for run in given], rows, common.FORMATS)


def _view(
    systems: Sequence[Sequence[str]], runs: Sequence[Sequence[str]], rows: Sequence[View], formats: Mapping[str, str],
    bounds: Sequence[str] = BOUNDS,
) -> View:  # fmt: skip
    names = [name for name, _ in systems]
    opens = {key: _opening(names, [row for row in rows if row["run"] == key], bounds) for key, *_ in runs}
    return keyed({
        "systems": systems, "runs": runs, "formats": formats, "rows": rows,
        "protocols": len({row["protocol"] for row in rows}), "opens": opens,
    })  # fmt: skip


def explore(
    chapter: Chapter, exhibit: Exhibit, systems: Sequence[Any] = (), scores: Sequence[Any] = (), gaps: Exhibit | None = None,
    labels: Mapping[Any, str] | None = None, **chosen: str,
) -> None:  # fmt: skip
    """Show the lines of an exhibit, its systems, two at a time: as printed, of real papers, of invented ones.

    Args:
        systems, scores: lines and columns; the exhibit's own where none are given.
        gaps: paired differences by (`versus` of two systems, column), where some were recorded.
        chosen: what it opens on (`first`, `second`, `order`); else the pair that leads each other most evenly.
    """
    systems, scores = list(systems) or exhibit.axis(0), list(scores) or exhibit.axis(1)
    words = {key: str((labels or {}).get(key, key)).replace("\n", " ") for key in (*systems, *scores)}  # text, not HTML
    names = {system: words[system] for system in systems}
    shown = list(dict.fromkeys(names.values()))  # what is called alike in print and here is one choice
    lines: list[View] = []
    runs: list[list[str]] = []
    for kind, found in (exhibit.open | exhibit.folded).items():
        apart = gaps.printed if gaps and kind == PRINTED else gaps.ours.get(kind, {}) if gaps else {}
        here = [_paired(kind, score, words[score], names, shown, found, apart) for score in scores]
        here = [line for line in here if len(line["scores"]) > 1]
        if here:
            lines += here
            runs.append([kind, (spoken(kind) if kind != PRINTED else "as printed").capitalize(), ""])
    if not runs:
        return
    view = _view([[name, name] for name in shown], runs, lines, {}, [names.get(name, name) for name in BOUNDS])
    explorer = ScoreExplorer(view, **{"order": "difference"} | chosen)
    from IPython.display import display

    display(explorer)  # type: ignore[no-untyped-call]
    chapter.show(explorer.static_fallback())  # without JavaScript; folds away when the explorer starts


def _paired(
    kind: str, score: Any, title: str, names: Mapping[Any, str], shown: Sequence[str], found: Cells, apart: Cells
) -> View:  # fmt: skip
    there = [system for system in names if (system, score) in found]
    check_distinct("systems", [names[system] for system in there])
    gaps = {}
    for first, second in permutations(there, 2):
        gap, places = apart.get((versus(first, second), score)), [shown.index(names[one]) for one in (first, second)]
        if isinstance(gap, Result):
            sign = 1 if places[0] < places[1] else -1
            ends: list[Any] = sorted(sign * x for x in (gap.low, gap.high) if x is not None) or [None, None]
            gaps["|".join(map(str, sorted(places)))] = [sign * gap.value, *ends]
    numbers = {names[system]: found[system, score] for system in there}
    counts = {number.n for number in numbers.values() if isinstance(number, Result)}
    return {
        "run": kind, "protocol": "paper", "task": title, "title": title, "format": "", "split": "test",
        "metric": "", "n": counts.pop() if len(counts) == 1 else 0, "gaps": gaps,
        "scores": {
            name: [value_of(number), getattr(number, "low", None), getattr(number, "high", None)]
            for name, number in numbers.items()
        },
    }  # fmt: skip


def _opening(systems: Sequence[str], rows: Sequence[View], bounds: Sequence[str] = BOUNDS) -> list[str]:
    """Return [first, second, protocol] of a run that show most: the pair and the protocol of most paired differences.

    A floor or a ceiling stands in it only where nothing else was compared; of equals the earlier. A run without any paired
    difference opens at the two systems that lead each other most evenly.
    """
    found = Counter((row["protocol"], pair) for row in rows for pair in row["gaps"])

    def even(pair: tuple[str, str]) -> tuple[int, int]:
        both = [[row["scores"][name][0] for name in pair] for row in rows if {*pair} <= {*row["scores"]}]
        return min(sum(a > b for a, b in both), sum(a < b for a, b in both)), len(both)

    closest = max(combinations(systems, 2), key=even)
    bare = (rows[0]["protocol"], "|".join(str(systems.index(name)) for name in closest))

    def rank(one: tuple[str, str]) -> tuple[bool, int, int]:
        floor = {systems[int(place)] for place in one[1].split("|")} & {*bounds}
        return not floor, found[one], -PROTOCOLS.index(one[0])

    protocol, pair = max(found, key=rank, default=bare)
    return [*(systems[int(place)] for place in pair.split("|")), protocol]


def _place(row: Result) -> tuple[str, str, str, str]:
    return row.protocol, row.task, row.split, row.measure


def _lines(run: Run, systems: Sequence[str]) -> list[View]:
    lines: dict[tuple[str, str, str, str], View] = {}
    for row in run.scores:
        line = lines.setdefault(_place(row), _line(run.key, row))
        if row.encoder in line["scores"]:
            raise ConfigError(f"{run.key}: two scores of {row.encoder} on {row.task}, {row.split}, {row.metric}")
        line["scores"][row.encoder] = [row.value, row.low, row.high]
    for gap in run.gaps:
        at, (first, second) = lines.get(_place(gap)), gap.systems
        if at is None or not {first, second} <= set(at["scores"]):
            raise ConfigError(f"{run.key}: a difference of {first} and {second} on {gap.task}, but not both scores")
        places, numbers = [systems.index(first), systems.index(second)], [gap.value, gap.low, gap.high]
        if places[0] > places[1]:
            numbers = [None if x is None else -x for x in (gap.value, gap.high, gap.low)]
        at["gaps"]["|".join(map(str, sorted(places)))] = numbers
    return list(lines.values())


def _line(run: str, row: Result) -> View:
    like = SAMPLES[row.task].like if row.task in SAMPLES else row.task
    spec = SPECS.get(like)
    title = f"{spec.title}{' (sample)' if like != row.task else ''}" if spec else row.task
    return {
        "run": run, "protocol": row.protocol, "task": row.task, "title": title, "format": spec.format if spec else "",
        "split": row.split, "metric": metric_in_words(row.metric), "n": row.n, "scores": {}, "gaps": {},
    }  # fmt: skip
