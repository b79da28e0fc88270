"""All result rows as one plain table: what is printed, recorded, submitted by others, and live in the last book.

    kind      published   quoted from a paper's tables (results/published/)
              recorded    a run of ours, kept under results/
              submitted   somebody else's rows, checked by `scirep submit`, kept under results/submitted/
              live        of the chapters of the last book, or of this build
    what      score       a system on a task, by one of the papers' metrics
              difference  of two scores
              measurement counts, shares, similarities, p values and whatever else a chapter records
              repeat      a score that another row of its kind has with the same value (by another chapter, or resampled anew)

Numbers are compared within one *cell*: the same task, metric, split, protocol, source and data. `data` is `as published` for
printed scores and for our rows of a published collection, whose bytes the manifest has checked, else the hash of what was
scored: embedded literatures of two sizes are two cells. What does not cover all of its data stands in a cell of its own, too.
"""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from scirep_core import results as results_
from scirep_core.bench.suites import SPECS, main_metric
from scirep_core.data.inventory import TASKS
from scirep_core.data.open.tasks import OPEN
from scirep_core.data.readers.samples import SAMPLES
from scirep_core.evaluators.facets.facet_systems import HERE
from scirep_core.kit.errors import ConfigError, nearest
from scirep_core.kit.records import grouped
from scirep_core.results import PRINT, ROOT, Result, anchor, read_results
from scirep_core.results.metrics import ACCEPTED, FACET_METRICS
from scirep_core.results.published import WHATS as PRINTED_WHATS
from scirep_core.results.published import Printed, everything

KINDS = ("published", "recorded", "submitted", "live")
WHATS = ("score", "difference", "measurement", "repeat")
PROFILES = ("embedded", "real")
SOURCES = (*PROFILES, "open")
PAPERS = ("scirepeval", "csfcube", "neighbours", "scimult", "beyond")
BOUNDS = {"oracle": "ceiling", "random": "floor"}
"""Systems that are bounds and have no rank."""
CHAPTER = "beyond/leaderboard"
SUBMITTED = "submitted"
WHOLE = "as published"
WHOLE_SPLITS = ("test", "all")
DIGITS = 6
REPEATED = "repeats of a score in another table"
TWICE, ARITHMETIC = "rows that are there twice", "recorded arithmetic on printed numbers, which its page does again"

_BASES = {re.sub(r"[@%]\w+", "", name) for names in (*ACCEPTED.values(), FACET_METRICS) for name in names}
_BASES = {name.removesuffix("_name_match") for name in _BASES} | {"average", "aop", "nn1_ret", "nn10_ret"}
_SCORE = re.compile(rf"(?:{'|'.join(sorted(_BASES))})(?:[@%]\d+)?(?:_name_match)?|mrr, 0 to 1")
_AVERAGE_COLUMNS = ("In-Train", "Out-of-Train", "SciDocs", "Average")
_EXHIBIT_PAPERS = {"V": "scirepeval", "SR": "scirepeval", "CS": "csfcube", "TN": "neighbours", "SM": "scimult"}
_TABLE_FORMATS = {"SM-T3": "CLF", "SM-TA3": "CLF", "SM-T4": "CLF", "SM-T5": "PRX", "SM-T7": "PRX", "SM-T8": "QRY"}


class Cell(NamedTuple):
    """What numbers must share to be compared."""

    task: str
    metric: str
    split: str
    protocol: str
    source: str
    data: str


class Row(NamedTuple):
    """One number of the leaderboard; see this file's first lines for `kind`, `what` and `data`.

    Attributes:
        value: on the papers' scale, 0 to 100 for nearly all metrics; printed: the digits of a published one, else "".
        std: of a published number, as printed, else "".
        chapter: who recorded it, `submitted/NAME` of a submission, the exhibit of a published number.
        page: the page of the book that shows its origin, under `anchor(id)`; "" where no page does.
    """

    kind: str
    what: str
    paper: str
    format: str
    task: str
    metric: str
    split: str
    protocol: str
    source: str
    data: str
    system: str
    value: float
    printed: str
    std: str
    low: float | None
    high: float | None
    n: int | None
    chapter: str
    id: str
    page: str
    note: str

    @property
    def cell(self) -> Cell:
        """The numbers it may be compared with."""
        return Cell(self.task, self.metric, self.split, self.protocol, self.source, self.data)


class Board(NamedTuple):
    """All rows in the order of the leaderboard, the numbers behind them, and how many are no rows, by what they are."""

    rows: list[Row]
    origins: dict[Row, Result | Printed]
    left: dict[str, int]


# ---- one row ---------------------------------------------------------------------------------------------------------


def what_of(row: Result) -> str:
    """Return whether a row is a score, a difference or another measurement."""
    if row.against:
        return "difference"
    named = _SCORE.fullmatch(row.metric) or (row.task.startswith("average/") and row.metric in _AVERAGE_COLUMNS)
    return "score" if named and row.encoder and row.source in SOURCES else "measurement"


def direction(metric: str) -> int:
    """Return 1 where more is better, -1 where less is, 0 where a metric has no better side.

    How much of its neighbourhood a changed text keeps is wanted high or low, depending on the change (neighbours, 6.2, 6.3).
    """
    if metric.startswith(("aop@", "nn1_ret", "nn10_ret")):
        return 0
    return -1 if metric == "median_rank" else 1


def shortened(value: float) -> float:
    """Return a number to six significant digits, all that a page holds of it: what differs beyond them is the same number.

    >>> shortened(45.123456789)
    45.1235
    """
    return float(f"{value:.{DIGITS}g}")


def paper_of(task: str, chapter: str = "") -> str:
    """Return whose task it is: a paper of `PAPERS`, by the task's name, else by the chapter.

    >>> paper_of("sample/acl_anth"), paper_of("print/SM-T4"), paper_of("reading/field", "beyond/own_paper")
    ('neighbours', 'scimult', 'beyond')
    """
    head, _, rest = task.partition("/")
    if task in SAMPLES:
        head = SAMPLES[task].like.partition("/")[0]
    elif head in ("average", PRINT):
        head = next((paper for mark, paper in _EXHIBIT_PAPERS.items() if rest.startswith(mark)), head)
    elif head.startswith("TN-"):
        head = "neighbours"
    own = chapter.partition("/")[0]
    return head if head in PAPERS else own if own in PAPERS else "beyond"


def format_of(task: str, split: str = "") -> str:
    """Return the format of a task, of a task that a sample is like, or of an average over one format; "" if none.

    >>> format_of("sample/search"), format_of("scirepeval/average-v2", "in-train/CLF"), format_of("scimult/SM-T8")
    ('QRY', 'CLF', 'QRY')
    """
    name = SAMPLES[task].like if task in SAMPLES else task
    if name in SPECS:
        return SPECS[name].format
    if name.startswith("average/"):
        return "PRX"
    last = split.rpartition("/")[2]
    if name.startswith(("scirepeval/average", "open/average")) and last in ("CLF", "RGN", "PRX", "QRY"):
        return last
    return _TABLE_FORMATS.get(name.rpartition("/")[2], "")


def data_of(row: Result) -> str:
    """Return what tells the data of a row from others of its task and source."""
    partly = "" if row.coverage is None or row.coverage >= 1 else f", {100 * row.coverage:.2f} % covered"
    whole = row.source == "real" and (row.task in TASKS or row.task.startswith("scirepeval/average"))
    return (WHOLE if whole else row.data_hash[:6]) + partly  # a chapter's parameters may be those of other data


def ours(row: Result, pages: Mapping[str, str]) -> Row:
    """Return a recorded, submitted or live result as a row; on CSFCube systems have the names of its table."""
    kind = SUBMITTED if row.chapter.startswith(f"{SUBMITTED}/") else row.kind
    identity, system = row.id, HERE.get(row.encoder, row.encoder) if paper_of(row.task) == "csfcube" else row.encoder
    return Row(
        kind, what_of(row), paper_of(row.task, row.chapter), format_of(row.task, row.split), row.task, row.metric, row.split,
        identity.rpartition(":")[2], row.source, data_of(row), system, row.value, "", "", row.low, row.high, row.n,
        row.chapter, identity, pages.get(anchor(identity), ""), row.note,
    )  # fmt: skip


def _published(printed: Printed, pages: Mapping[str, str]) -> Row:
    task, split = printed.task, printed.split
    return Row(
        "published", "score", paper_of(task), format_of(task, split), task, printed.metric, split, "paper", "real", WHOLE,
        printed.system, printed.number, printed.value, printed.std, None, None, None, printed.exhibit, printed.id,
        pages.get(anchor(printed.id), ""), printed.note,
    )  # fmt: skip


def scores() -> tuple[list[Printed], Counter[str]]:
    """Return every printed score, and how many printed numbers are none, by what they are.

    The same score of the same system printed a second time is left out; where two tables print two values, both stay.
    """
    rows: dict[tuple[object, ...], Printed] = {}
    left = Counter[str]()
    for one in everything():
        reason = "" if one.what == "score" else PRINTED_WHATS[one.what]
        if not reason and rows.setdefault((one.task, one.metric, one.split, one.system, one.number), one) is not one:
            reason = REPEATED
        if reason:
            left[reason] += 1
    return list(rows.values()), left


# ---- all rows --------------------------------------------------------------------------------------------------------


def runs() -> Path:
    """Return the folder of executed chapters: the runner says where, else that of the checkout."""
    return Path(os.environ.get("SCIREP_RUNS") or results_.runs())


def pages(folder: Path) -> dict[str, str]:
    """Return {anchor of a number: page that shows its origin} of the executed chapters of a profile.

    Of several pages it is the first by name; `Chapter.finish` wrote the anchors.
    """
    found: dict[str, str] = {}
    for path in _visible(folder, "*/*.ipynb"):
        page = path.relative_to(folder).with_suffix("").as_posix()
        if page != CHAPTER and not path.name.endswith(".failed.ipynb"):
            for name in re.findall(r'id=\\"(o-[A-Za-z0-9-]+)\\"', path.read_text(encoding="utf-8")):
                found.setdefault(name, page)
    return found


def _visible(folder: Path, pattern: str) -> list[Path]:
    found = {path: path.relative_to(folder).parts for path in folder.glob(pattern)}
    return sorted(path for path, parts in found.items() if not any(part.startswith(".") for part in parts))


def _live(folder: Path) -> Iterable[Result]:
    for path in _visible(folder, "*/*.data/rows.jsonl"):
        if path.parent.relative_to(folder).as_posix() != f"{CHAPTER}.data":
            yield from (replace(row, kind="live") for row in read_results(path))


def _recorded(folder: Path) -> Iterable[Result]:
    for path in _visible(folder, "*/**/*.jsonl*"):
        yield from (replace(row, kind="recorded") for row in read_results(path))


def collect(profile: str = "embedded", results: Path | None = None, executed: Path | None = None) -> Board:
    """Return every row: printed, recorded and submitted ones, and the live ones of the last book of a profile.

    Args:
        results: instead of the checkout's `results/`.
        executed: instead of `runs()`.

    Raises ConfigError for an unknown profile, DataError for a row that cannot be read.
    """
    if profile not in PROFILES:
        raise ConfigError(f"data = {profile!r}: live rows are of the last book; {nearest(profile, PROFILES)}")
    folder = (executed or runs()) / profile
    where = pages(folder)
    printed, left = scores()
    origins: dict[Row, Result | Printed] = {_published(number, where): number for number in printed}
    for row in (*_recorded(results or ROOT / "results"), *_live(folder)):
        reason = ARITHMETIC if row.kind == "recorded" and row.source == PRINT else ""
        if not reason:
            made = ours(row, where)
            reason = TWICE if made in origins else ""
            origins.setdefault(made, replace(row, seconds=None, by_query={}))  # seconds differ from build to build
        if reason:
            left[reason] += 1
    seen: set[tuple[object, ...]] = set()
    told: dict[Row, Result | Printed] = {}
    # the second and further rows of one number are repeats: a ranking holds it once
    for one in sorted(origins, key=_order):
        number = (one.kind, one.cell, one.system, shortened(one.value), one.n, one.kind == SUBMITTED and one.chapter)
        repeated = one.what == "score" and number in seen
        seen.add(number)
        told[one._replace(what="repeat") if repeated else one] = origins[one]
    return Board(sorted(told, key=_order), told, left)


_PLACE = {name: at for at, name in enumerate((*TASKS, *SAMPLES, *OPEN))}


def _order(row: Row) -> tuple[object, ...]:
    """Cells by task, real data first; within one the best first."""
    return (
        WHATS.index(row.what), PAPERS.index(row.paper), _PLACE.get(row.task, len(_PLACE)), row.task, row.metric, row.split,
        row.protocol, row.source != "real", row.source, row.data, *_within(row),
    )  # fmt: skip


def _within(row: Row) -> tuple[object, ...]:
    sign = -1 if direction(row.metric) >= 0 else 1
    return (sign * shortened(row.value), KINDS.index(row.kind), row.system, row.chapter, row.id, str(row.low))


# ---- within a cell ---------------------------------------------------------------------------------------------------


def cells(rows: Iterable[Row]) -> dict[Cell, list[Row]]:
    """Return rows by cell, in the order given; within one the best first, also where two papers' studies have its rows."""
    return {cell: sorted(of, key=_within) for cell, of in grouped(rows, lambda row: row.cell).items()}


def ranks(rows: Sequence[Row]) -> list[int | None]:
    """Return the rank of each score of one cell: 1 + the systems with a better one; None for bounds and what has no side.

    A system that is there several times (recorded and live, or by several chapters) counts once, by its best: the first row
    with it has the rank, its other rows have none.
    """
    side = direction(rows[0].metric) if rows else 0
    best: dict[str, float] = {}
    for row in rows:
        if row.system not in BOUNDS and row.what == "score":
            best[row.system] = max(side * shortened(row.value), best.get(row.system, -float("inf")))
    found: list[int | None] = []
    left = dict(best) if side else {}  # systems without a rank so far
    for row in rows:
        is_best = row.what == "score" and left.get(row.system) == side * shortened(row.value)
        found.append(1 + sum(value > left[row.system] for value in best.values()) if is_best else None)
        if is_best:
            del left[row.system]
    return found


def rankings(board: Board, names: Iterable[str]) -> list[Cell]:
    """Return of each task its widest ranking of each source under protocol paper, by the task's main metric, real data first.

    Raises ConfigError for a task without such scores.
    """
    scored = cells(row for row in board.rows if row.what == "score" and row.protocol == "paper").items()
    of_scores = {c: rows for c, rows in scored if c.split in WHOLE_SPLITS and c.metric == main_metric(c.task)}
    widest = []
    for name in names:
        mine = {cell: len({row.system for row in rows}) for cell, rows in of_scores.items() if cell.task == name}
        if not mine:
            raise ConfigError(f"tasks: no scores of {name!r}; {nearest(name, {cell.task for cell in of_scores})}")
        for source in sorted({cell.source for cell in mine}, reverse=True):
            widest.append(max((cell for cell in mine if cell.source == source), key=lambda cell: (mine[cell], cell)))
    return widest


def counts(rows: Iterable[Row]) -> dict[str, Counter[str]]:
    """Return kind -> how many scores, differences and measurements."""
    found = {kind: Counter[str]() for kind in KINDS}
    for row in rows:
        found[row.kind][row.what] += 1
    return found
