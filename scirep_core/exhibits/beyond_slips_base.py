"""Chapter `beyond/slips`, what a slip is: a place in a paper, what stands there, and a computation that shows what is odd about it.

    Slip       id, paper, place, kind, what is printed, what the check finds, whether it matters, the check
    Evidence   holds (True: the slip is there), the printed numbers by name, the computed ones by name

Texts are templates: `{name}` is a number of the evidence, `{name:2}` with two decimals, `{name:+1}` with its sign, `{name:y}` a
year. A check reads the printed tables each time it is asked, so that a corrected table makes it say no.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from contextvars import ContextVar
from types import MappingProxyType
from typing import NamedTuple

from scirep_core.kit.errors import ConfigError
from scirep_core.kit.store import stable_hash
from scirep_core.results import Result, arithmetic, provenance, recorded
from scirep_core.results.published import Printed, lookup

MISPRINT = "misprint"
ARITHMETIC = "arithmetic"
CLAIM = "claim against its table"
TEXTS = "two places that disagree"
CODE = "code or data against paper"
UNSAID = "not stated"
KINDS = (MISPRINT, ARITHMETIC, CLAIM, TEXTS, CODE, UNSAID)
PAPERS = {
    "csfcube": "CSFCube",
    "scirepeval-v1": "SciRepEval, submission (v1)",
    "scirepeval-v2": "SciRepEval, publication (v2)",
    "neighbours": "Textual neighbours",
    "scimult": "SciMult",
}
SEED: ContextVar[int] = ContextVar("slips_seed", default=0)
"""Of what a few checks draw on the papers' own examples; the chapter's parameter."""
NOTHING: Mapping[str, Printed] = MappingProxyType({})


class Evidence(NamedTuple):
    """What a check found: whether the slip is there, and the numbers that show it."""

    holds: bool
    printed: Mapping[str, Printed] = NOTHING
    made: Mapping[str, Result] = {}


class Slip(NamedTuple):
    """One slip of a paper; `says`, `shows` and `matters` are templates over the numbers of its evidence."""

    id: str
    paper: str
    where: str
    kind: str
    says: str
    shows: str
    matters: str
    check: Callable[[], Evidence]


class Right(NamedTuple):
    """Something that was checked in the same way and found right."""

    id: str
    paper: str
    where: str
    shows: str
    check: Callable[[], Evidence]


class Known(NamedTuple):
    """A difference that needs what this build does not have: the published code, its data, or a checkpoint."""

    paper: str
    where: str
    says: str
    source: str


def worked(exhibit: str, what: str, value: float, numbers: Iterable[Printed] = (), n: int | None = None) -> Result:
    """Return a number that follows from printed ones; `n` is how many they are unless given."""
    found = list(numbers)
    return arithmetic(exhibit, what, value, len(found) if n is None else n, found)


def counted(what: str, value: float, n: int = 1, drawn: bool = False) -> Result:
    """Return a number that a piece of this project's code gives on an example named in `what`."""
    return Result(
        task="print/code", split="all", metric=what, protocol="paper", value=float(value), n=n, source="arithmetic",
        seed=SEED.get() if drawn else None, data_hash=stable_hash([what]), provenance=provenance(),
        note="the published rule, run on an example",
    )  # fmt: skip


def kept(chapter: str, task: str, metric: str, encoder: str = "", protocol: str = "paper", split: str = "") -> Result:
    """Return one row of our recorded run of a chapter on real data. Raises ConfigError where it is not recorded."""
    wanted = task, metric, encoder, protocol
    for row in recorded(chapter):
        if (row.task, row.metric, row.encoder, row.protocol) == wanted and split in ("", row.split):
            return row
    raise ConfigError(
        f"results/real/{chapter}.jsonl holds no {task} {encoder} {metric} {split}: record the chapter again"
    )


def cells(exhibit: str, **names: tuple[str, str]) -> dict[str, Printed]:
    """Return printed numbers by names of ours, each given as (row, column).

    >>> cells("SM-TA4", coarse=("Classification (Coarse)", "Vanilla (w/ Hard Negative)"))["coarse"].value
    '75.51'
    """
    found = lookup(exhibit)
    return {name: found[place] for name, place in names.items()}


def rows(exhibit: str) -> list[str]:
    """Return the rows of a printed table, in order."""
    return list(dict.fromkeys(row for row, _ in lookup(exhibit)))
