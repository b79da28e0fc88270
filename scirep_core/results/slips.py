"""The register of slips: what does not add up in the five papers, each an entry of `published/slips.toml` with its check.

    [[slip]]
    id = "cs-specter-id"                                        # and paper, where, kind, says, shows, matters
    printed.own = "CS-T4 | SPECTER-ID | background/r@20"        # a cell: exhibit | row | column
    made.behind = {what = "...", by = "below", a = "CS-T4 | SPECTER-ID | background/*", b = "CS-T4 | SPECTER | background/*"}
    holds = ["behind > 2.5"]                                    # relations of numbers; all of them: the slip is there

`by` names a row of CHECKS, `a` and `b` what it is of: names of numbers of the entry, constants, cells. In rows and columns `*` is
any text, `;` joins alternatives, `!` leaves out. A name with a low line in front is reckoned with and not shown. What no general
check says is a `rule`, a function that the caller brings. A check reads the printed tables each time, so that a corrected table
makes it say no; no verdict is written down.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from scirep_core.kit.errors import ConfigError, nearest
from scirep_core.kit.store import stable_hash
from scirep_core.results import Result, arithmetic, recorded
from scirep_core.results.published import FOLDER, Printed, lookup

KINDS = (
    "misprint", "arithmetic", "claim against its table", "two places that disagree", "code or data against paper", "not stated",
)  # fmt: skip
PAPERS = {
    "csfcube": "CSFCube",
    "scirepeval-v1": "SciRepEval, submission (v1)",
    "scirepeval-v2": "SciRepEval, publication (v2)",
    "neighbours": "Textual neighbours",
    "scimult": "SciMult",
}
WEIGHTS = ("Yes", "In part", "No")
"""Whether a slip matters. Yes: a sentence of the paper does not follow, or who follows the paper gets another score; in part:
some of the sentence stands, or few numbers change; no: neither."""
Value = Printed | Result | float
Floats = NDArray[np.float64]


class Evidence(NamedTuple):
    """What a check shows: whether the slip is there, and the numbers of its texts by name."""

    holds: bool
    printed: Mapping[str, Printed]
    made: Mapping[str, Result]


Rule = Callable[[Mapping[str, Printed], int], tuple[bool, Mapping[str, Result]]]
"""(printed numbers of the entry, seed) -> whether the slip is there, and what was computed."""


@dataclass(frozen=True)
class Slip:
    """An entry; `says`, `shows` and `matters` are templates over its numbers, as `Template.format` has them."""

    id: str
    paper: str
    where: str
    shows: str
    kind: str = ""
    says: str = ""
    matters: str = ""
    printed: Mapping[str, str] = field(default_factory=dict)
    made: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    holds: Sequence[str] = ()
    rule: str = ""

    @property
    def weight(self) -> str:
        """Whether it matters, one of `WEIGHTS`, with which the comment on it begins. Raises ConfigError for another beginning."""
        for weight in WEIGHTS:
            if re.match(rf"{weight}\b", self.matters):
                return weight.lower()
        raise ConfigError(f"{self.id}: matters = {self.matters!r} begins with none of {', '.join(WEIGHTS)}")

    def check(self, rules: Mapping[str, Rule], seed: int = 0) -> Evidence:
        """Return the evidence as the tables stand. Raises ConfigError for a name, cell, check or relation that there is not."""
        printed = {name: _cell(cell) for name, cell in self.printed.items()}
        values: dict[str, Value] = dict(printed)
        for name, how in self.made.items():
            values[name] = make(how, values)
        made = {name: value for name, value in values.items() if isinstance(value, Result) and name[0] != "_"}
        verdicts = [_holds(relation, values) for relation in self.holds]
        holds = all(verdicts)
        if self.rule:
            more, own = rules[self.rule](printed, seed)
            holds, made = holds and bool(more), {**made, **own}
        return Evidence(holds, printed, made)


class Known(NamedTuple):
    """A difference that needs what a build does not have: the published code, its data, or a checkpoint."""

    paper: str
    where: str
    says: str
    source: str


class Register(NamedTuple):
    """All entries: slips, what was checked in the same way and is right, what is known and not computed."""

    slips: tuple[Slip, ...]
    right: tuple[Slip, ...]
    known: tuple[Known, ...]


def register() -> Register:
    """Return the register."""
    read = tomllib.loads((FOLDER / "slips.toml").read_text(encoding="utf-8"))
    slips, right = (tuple(Slip(**one) for one in read[part]) for part in ("slip", "right"))
    return Register(slips, right, tuple(Known(**one) for one in read["known"]))


# ---- cells -----------------------------------------------------------------------------------------------------------


def cells(place: str) -> list[Printed]:
    """Return the printed numbers of `exhibit | rows | columns`, row by row.

    >>> [p.value for p in cells("CS-T4 | fabs_tfidf; fabs_bm25 | all/ndcg%20")]
    ['43.19', '46.06']
    """
    exhibit, rows, columns = place.split(" | ")
    there = lookup(exhibit)
    wanted = [_chosen(pattern, dict.fromkeys(key[i] for key in there)) for i, pattern in enumerate((rows, columns))]
    return [there[row, column] for row in wanted[0] for column in wanted[1] if (row, column) in there]


def _chosen(pattern: str, names: Mapping[str, None]) -> list[str]:
    parts = pattern.split("; ")
    out, some = [part[1:] for part in parts if part[0] == "!"], [part for part in parts if part[0] != "!"] or ["*"]
    chosen = dict.fromkeys(name for part in some for name in names if _fits(part, name))
    return [name for name in chosen if not any(_fits(part, name) for part in out)]


def _fits(part: str, name: str) -> bool:
    return bool(re.fullmatch(".*".join(map(re.escape, part.split("*"))), name))


def _cell(place: str) -> Printed:
    """Return one printed number, of several with "highest of" in front the highest."""
    there = cells(place.removeprefix("highest of "))
    if not there or (len(there) > 1 and not place.startswith("highest of ")):
        raise ConfigError(f"slips: {place!r} is {len(there)} printed numbers, not one")
    return max(there, key=number)


def number(value: Value) -> float:
    """Return a value as a float; of a printed text the last number in it: 2 of `2x`, 70 of `50 < AOP-20 < 70`, else NaN."""
    if not isinstance(value, Printed):
        return value.value if isinstance(value, Result) else float(value)
    try:
        return value.number
    except ValueError:
        return float((re.findall(r"\d+(?:\.\d+)?", value.value) or ["nan"])[-1])


# ---- checks ----------------------------------------------------------------------------------------------------------


CHECKS: dict[str, Callable[..., float]] = {
    "sum": lambda a: a.sum(),
    "product": lambda a: a.prod(),
    "mean": lambda a: a.mean(),
    "lowest": lambda a: a.min(),
    "highest": lambda a: a.max(),
    "cells": len,
    "rises": lambda a: (np.diff(a) > 0).sum(),
    "difference": lambda a, b: a.sum() - b.sum(),
    "ratio": lambda a, b: a.sum() / b.sum(),
    "mean ratio": lambda a, b: (a / b).mean(),
    "median ratio": lambda a, b: np.median(a / b),
    "lowest ratio": lambda a, b: (a / b).min(),
    "highest ratio": lambda a, b: (a / b).max(),
    "above": lambda a, b: (a > b).sum(),
    "below": lambda a, b: (a < b).sum(),
    "not above": lambda a, b: (a <= b).sum(),
    "not below": lambda a, b: (a >= b).sum(),
    "equal": lambda a, b: (a == b).sum(),
    "differ": lambda a, b: (a != b).sum(),
    "apart": lambda a, b: np.abs(a - b).sum(),
    "least gap": lambda a, b: (a - b).min(),
    "largest gap": lambda a, b: (a - b).max(),
}
"""Check -> its number, of the values of `a` and of `b`, which are paired by place or one value for all."""
MEANS: dict[str, Callable[[Floats, Floats, float], float]] = {
    "weighted mean": lambda a, mean, slack: mean[0],
    "means off": lambda a, mean, slack: (np.abs(a - mean) > slack).sum(),
    "means right": lambda a, mean, slack: (np.abs(a - mean) <= slack).sum(),
    "worst mean": lambda a, mean, slack: np.abs(a - mean).max(),
    "turned": lambda a, mean, slack: (np.subtract.outer(a, a) * np.subtract.outer(mean, mean) < 0).sum() // 2,
}
"""Check -> its number, of totals `a`, of the mean of their `parts` by `weights`, and of what rounding explains (`slack`);
`turned` counts pairs whose order the two have otherwise."""
ALONG: dict[str, Callable[[Printed], Any]] = {
    "row": lambda p: p.row,
    "column": lambda p: (p.exhibit, p.column),
    "head": lambda p: (p.row, p.column.split("/")[0]),
    "ends": lambda p: (p.row, p.column.split("/")[0], p.column.split("/")[-1]),
}
"""Rivals of a cell stand in its row, in its column, or in its row under the same head, or head and foot, of a column."""
RIVALS: dict[str, Callable[[float, list[float]], bool]] = {
    "above all": lambda own, others: own > max(others),
    "none above": lambda own, others: own >= max(others),
    "below all": lambda own, others: own < min(others),
}


def make(how: Mapping[str, Any], values: Mapping[str, Value] | None = None) -> Value:
    """Return the number of an entry's `made`, over numbers by name: arithmetic on its operands, or a recorded row."""
    values = values or {}
    by = how["by"]
    if by == "recorded":
        row = recorded_row(**{key: value for key, value in how.items() if key not in ("by", "field")})
        return getattr(row, how["field"]) if "field" in how else row
    a, b = (_operands(how[side], values) if side in how else [] for side in "ab")
    value, n = _measured(by, a, b, how, values)
    value *= how.get("times", 1)
    of = [*a, *b, *_operands(how.get("parts", []), values)]
    quoted = [one for one in of if isinstance(one, Printed)]
    exhibit = how.get("of") or (quoted[0].exhibit if quoted else "")
    value = round(value, how["round"]) if "round" in how else value
    row = arithmetic(exhibit, how.get("what", ""), value, how.get("n", n), quoted)
    through = [one.data_hash for one in of if isinstance(one, Result)]
    return replace(row, data_hash=stable_hash([row.data_hash, *through])) if through else row


def _measured(
    by: str, a: list[Value], b: list[Value], how: Mapping[str, Any], values: Mapping[str, Value]
) -> tuple[float, int]:  # fmt: skip
    """Return a check's number, and of how many cells or pairs it is."""
    if by in CHECKS:
        a, b = _paired(a, b)
        sides = [np.array([number(one) for one in side]) for side in ((a, b) if "b" in how else (a,))]
        return float(CHECKS[by](*sides)), max(len(a), len(b))
    weights = np.array(how.get("weights", ()), dtype=float)
    if by in MEANS:
        columns = [[number(one) for one in _operands(part, values)] for part in how["parts"]]
        mean = weights @ np.array(columns) / weights.sum()
        return float(MEANS[by](np.array([number(one) for one in a]), mean, how.get("slack", 0.0))), len(a)
    if by == "part":  # what a part has to be for the total to be the mean of all parts
        gap = number(a[0]) - weights @ [number(one) for one in b] / weights.sum()
        return float(number(b[how["which"]]) + gap * weights.sum() / weights[how["which"]]), len(a) + len(b)
    own, rivals = ([one for one in side if isinstance(one, Printed)] for side in (a, b))
    if by in RIVALS:
        key = ALONG[how["along"]]
        others = [[number(r) for r in rivals if key(r) == key(one) and r.id != one.id] for one in own]
        return sum(RIVALS[by](number(one), of) for one, of in zip(own, others, strict=True)), len(a)
    if by == "worst place":
        columns = [[number(r) for r in rivals if r.column == one.column] for one in own]
        return max(1 + sum(r > number(one) for r in of) for one, of in zip(own, columns, strict=True)), len(columns[0])
    if by in ("printed as", "holding"):
        return sum(how["text"] == p.value if by == "printed as" else how["text"] in p.value for p in own), len(a)
    if by == "as recorded":
        where = {key: how[key] for key in ("chapter", "task", "metric")}
        rows = [recorded_row(**{k: v.format(row=p.row, column=p.column) for k, v in where.items()}) for p in own]
        return sum(p.equals(row.value) for p, row in zip(own, rows, strict=True)), len(a)
    known = [*CHECKS, *MEANS, *RIVALS, "part", "worst place", "printed as", "holding", "as recorded", "recorded"]
    raise ConfigError(f"slips: unknown check {by!r}; {nearest(by, known)}")


def _paired(a: list[Value], b: list[Value]) -> tuple[list[Value], list[Value]]:
    """Return two lists of numbers paired: by row and column where the second has those of the first, else as they stand."""
    left, right = ({(p.row, p.column): p for p in side if isinstance(p, Printed)} for side in (a, b))
    return (a, [right[key] for key in left]) if left.keys() <= right.keys() and len(left) == len(a) > 1 else (a, b)


def _operands(of: Any, values: Mapping[str, Value]) -> list[Value]:
    if isinstance(of, list):
        return [one for part in of for one in _operands(part, values)]
    if not isinstance(of, str):
        return [float(of)]
    if " | " in of:
        return list(cells(of))
    if of not in values:
        raise ConfigError(f"slips: no number {of!r}; {nearest(of, values)}")
    return [values[of]]


def recorded_row(
    chapter: str, task: str, metric: str, encoder: str = "", protocol: str = "paper", split: str = ""
) -> Result:
    """Return one row of our recorded run of a chapter on real data. Raises ConfigError where it is not recorded."""
    wanted = (task, metric, encoder, protocol)
    for row in recorded(chapter):
        if (row.task, row.metric, row.encoder, row.protocol) == wanted and split in ("", row.split):
            return row
    named = f"{task} {encoder} {metric} {split}"
    raise ConfigError(f"results/real/{chapter}.jsonl holds no {named}: record the chapter again")


# ---- relations -------------------------------------------------------------------------------------------------------


def _text(value: Value | str) -> str:
    return value.value if isinstance(value, Printed) else str(value)


RELATIONS: dict[str, Callable[[Any, Any], bool]] = {
    ">": lambda a, b: number(a) > number(b),
    "<": lambda a, b: number(a) < number(b),
    ">=": lambda a, b: number(a) >= number(b),
    "<=": lambda a, b: number(a) <= number(b),
    "==": lambda a, b: number(a) == number(b),
    "!=": lambda a, b: number(a) != number(b),
    "rounds": lambda a, b: a.equals(number(b)),
    "cuts": lambda a, b: a.cuts(number(b)),
    "within": lambda a, b: b.bounds[0] <= number(a) <= b.bounds[1],
    "is": lambda a, b: _text(a) == _text(b),
    "has": lambda a, b: _text(b) in _text(a),
}
"""`a rounds b`: a is b as it is printed; `a cuts b`: with its digits cut; `a within b`: of a statement such as 58.3k; `is`, `has`:
of texts. `not` in front turns one round."""


def _holds(relation: str, values: Mapping[str, Value]) -> bool:
    """Return whether "left relation right" is so; right is a name, else a constant."""
    left, *middle, right = relation.split(" ")
    name = middle[-1]
    if left not in values or name not in RELATIONS or middle[:-1] not in ([], ["not"]):
        raise ConfigError(f"slips: {relation!r} is no relation of {', '.join(values)}")
    other: Any = values.get(right, right)
    if isinstance(other, str) and name not in ("is", "has"):
        other = float(other)
    return RELATIONS[name](values[left], other) != (middle[:-1] == ["not"])
