"""The leaderboard explorer: every printed, recorded, submitted and live row, filtered, searched, sorted, shared and taken along.

Tens of thousands of rows stand in the page: each column as numbers into a list of its distinct texts, values to six
significant digits (printed ones with the digits they are printed with), the whole deflated and in base64, which the page
unpacks itself. Rows come in the order of their cells (`leaderboard.Cell`), best first; a rank is counted in its cell alone, and
an order by value never leaves it.

The browser half is `leaderboard.js`, what it exports `leaderboard_export.js`, the plain twin `fallback`.
"""

from __future__ import annotations

import base64
import json
import zlib
from collections.abc import Mapping, Sequence
from typing import Any

from scirep_core.bench.leaderboard import BOUNDS, KINDS, WHATS, Row, direction, shortened
from scirep_core.bench.suites import main_metric
from scirep_core.kit.errors import ConfigError
from scirep_core.page.names import metric_in_words, named
from scirep_core.page.widgets.common import Explorer, Places, View, check_choice, complete, folded, within

CAP = 1_400_000
"""Bytes of the data in the page."""
COLUMNS = ("kind", "what", "paper", "format", "task", "metric", "split", "protocol", "source", "data", "system", "std", "chapter",
           "page", "note")  # fmt: skip
"""Columns of texts; value, low, high and n are numbers, and the id follows from the others, a printed number's own aside."""
FILTERS = ("paper", "format", "task", "metric", "split", "protocol", "source")
SORTS = ("rank", "value", "width", "system", "n", "task", "metric", "split", "protocol", "source", "kind", "chapter")
"""Orders; `-` before one turns it round. The first three order within each cell."""
START: dict[str, Any] = {"what": "score", "kind": "", **dict.fromkeys(FILTERS, ""), "q": "", "sort": "rank", "page": 1}
LONGEST = 200
"""Characters of a search."""


class LeaderboardExplorer(Explorer, prefix="lbx", scripts=("leaderboard_export.js", "leaderboard.js")):
    """The widget. `selection` has the keys of `START`: observe it, or set all or part of it; `kind` is comma-separated."""

    def __init__(self, view: View, **chosen: Any) -> None:
        """Take what `leaderboard_data` returned; keywords are those of the selection."""
        self._known = view["known"]
        super().__init__({key: value for key, value in view.items() if key != "known"}, **chosen)

    def _resolve(self, before: Mapping[str, Any], wanted: Mapping[str, Any]) -> dict[str, Any]:
        new = complete(START, before, wanted)
        known = {name: ["", *values] for name, values in self._known.items()}
        known |= {"what": ["", *WHATS], "sort": [sign + name for sign in ("", "-") for name in SORTS]}
        for key, value in new.items():
            if key == "page":
                if isinstance(value, bool) or not isinstance(value, int) or value < 1:
                    raise ConfigError(f"selection: page {value!r}; pages count from 1")
            elif not isinstance(value, str):
                raise ConfigError(f"selection: {key} must be text, not {value!r:.40}")
            elif key == "q" and len(value) > LONGEST:
                raise ConfigError(f"selection: q has {len(value)} characters; at most {LONGEST} are searched for")
            elif key == "kind" and set(value.split(",")) - {"", *KINDS}:
                raise ConfigError(f"selection: kind {value!r}; comma-separated of {', '.join(KINDS)}")
            elif key in known:
                check_choice(key, value, known[key])
        return new


ESM = LeaderboardExplorer._esm


def leaderboard_data(rows: Sequence[Row], *, titles: Mapping[str, str] | None = None, cap: int = CAP) -> View:
    """Return the explorer's data as plain JSON values; rows in the order of `leaderboard.collect`.

    Args:
        titles: tasks in words, by name.

    Raises ConfigError without rows, and where the data are over the cap.
    """
    if not rows:
        raise ConfigError("the leaderboard has no rows: there are neither printed, recorded nor live ones")
    places = {name: Places() for name in COLUMNS}
    codes = {name: [of[getattr(row, name)] for row in rows] for name, of in places.items()}
    texts = {name: list(of) for name, of in places.items()}
    packed = {
        "texts": texts,
        "codes": codes,
        "value": [row.printed or shortened(row.value) for row in rows],
        "low": [None if row.low is None else shortened(row.low) for row in rows],
        "high": [None if row.high is None else shortened(row.high) for row in rows],
        "n": [row.n for row in rows],
        # the others follow from their columns
        "ids": {at: row.id for at, row in enumerate(rows) if row.id != _spelled(row)},
    }
    text = json.dumps(packed, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    view: View = {
        "rows": len(rows),
        "packed": base64.b64encode(zlib.compress(text.encode(), 9)).decode(),
        "directions": {name: side for name in texts["metric"] if (side := direction(name)) != 1},
        "bounds": BOUNDS,
        "names": {name: words for name in texts["system"] if (words := named(name)) != name},
        "titles": dict(titles or {}),
        "measures": {name: words for name in texts["metric"] if (words := metric_in_words(name)) != name},
        "main": {task: metric for task in texts["task"] if (metric := main_metric(task))},
    }
    remedy = f"show fewer rows (now {len(rows):,}); measurements are the ones to leave out"
    view = within(cap, view, "leaderboard", remedy)
    return view | {"known": {name: texts[name] for name in FILTERS}}


def _spelled(row: Row) -> str:
    """Return the id that a number of ours has by its columns; a system under a second name goes by its own there."""
    kind = "recorded" if row.kind == "submitted" else row.kind
    return ":".join((kind, row.chapter, row.task, row.system, row.metric, row.split, row.protocol))


def fallback(view: View, tables: Sequence[str]) -> str:
    """Return HTML tables of a few rankings as the twin without script; the widget folds it away when it starts."""
    summary = f"{len(tables)} rankings as plain tables (searching all {view['rows']:,} rows needs JavaScript)"
    return folded(LeaderboardExplorer.prefix, view["key"], summary, tables)
