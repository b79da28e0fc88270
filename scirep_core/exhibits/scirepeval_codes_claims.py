"""Chapter `scirepeval/specialisation`, the end: what the texts say of codes, against print, recorded and live trainings.

    yes, no        the whole 95 % interval lies on one side of 0; print has none, and is taken by its sign
    not told       the interval holds 0

One line a claim, one column a run; nothing is said of a run that cannot speak to a claim.
"""

from __future__ import annotations

import html
from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple

import numpy as np

from scirep_core.bench.study_tables import TABLE_3
from scirep_core.exhibits import scirepeval_codes as codes
from scirep_core.exhibits.scirepeval_codes import PARTS, Estimate
from scirep_core.exhibits.scirepeval_codes_print import gain
from scirep_core.exhibits.scirepeval_partitions import FORMATTED, Groups, gain_of
from scirep_core.exhibits.scirepeval_specialisation import ONE_VECTOR, Kind, Shown, columns, sides
from scirep_core.page import report
from scirep_core.page.chapter import Chapter


class Told(NamedTuple):
    """What a run says of a claim, and the number behind it."""

    word: str
    number: str


Answer = Callable[[Shown], Told | None]


def verdict(found: Estimate | None, printed: bool = False) -> Told | None:
    """Return yes, no or not told, with the difference; one training alone tells nothing, print its sign.

    >>> verdict(Estimate(1.5, 0.5, 2.5, ()))
    Told(word='yes', number='+1.5')
    >>> verdict(Estimate(-0.1, -0.5, 0.3, ())).word, verdict(Estimate(-1.0, None, None, ()), printed=True).word
    ('not told', 'no, by sign')
    """
    if found is None:
        return None
    if found.low is None and not printed:
        return Told("one training", f"{found.value:+.1f}")
    if found.low is None:
        return Told("yes, by sign" if found.value > 0 else "no, by sign", f"{found.value:+.1f}")
    return Told({1: "yes", -1: "no", 0: "not told"}[found.sign], f"{found.value:+.1f}")


def highest(part: str, one: Shown) -> Told | None:
    """Return whether the own code alone is the highest on every task of a part, and on how many."""
    tasks = one.matrix.part(part)
    if not tasks:
        return None
    count = len(codes.own_is_best(one.matrix, tasks))
    return Told("yes" if count == len(tasks) else "no" if count == 0 else "in part", f"{count} of {len(tasks)}")


def advantage(part: str, one: Shown) -> Told | None:
    """Return whether the own code is ahead of the others in the mean of a part."""
    tasks = one.matrix.part(part)
    return verdict(codes.mean_advantage(one.matrix, tasks), one.of is None) if tasks else None


def over_one_vector(part: str, one: Shown) -> Told | None:
    """Return whether the own code is ahead of one vector for all tasks in the mean of a part."""
    rival = ONE_VECTOR.get(one.matrix.label, "")
    if one.of is None or not any(name == rival for name, _ in one.of.others):
        return None
    return verdict(sides(one.of, one.matrix.label, rival)[part, "own"])


def over_groups(found: Sequence[Groups], part: str, one: Shown) -> Told | None:
    """Return whether formats are ahead of random groups in the mean of a part: by the own group's code, else any code."""
    tasks = [task for task in TABLE_3 if codes.part_of(task) == part]
    if one.of is None:
        if one.matrix.label != "V1-T4":
            return None
        return verdict(Estimate(float(np.mean([gain(task).number for task in tasks])), None, None, ()), printed=True)
    mine = [groups for groups in found if groups.of.name == one.of.name] if one.matrix.label == FORMATTED else []
    if not mine:
        return None
    return verdict(gain_of(mine[0], "own group" if part == "in-train" else "any", tasks))


def claims(chapter: Chapter, found: Sequence[Kind], groups: Sequence[Groups]) -> None:
    """Show every claim of the texts against every run."""
    shown = columns(found)
    asked: dict[str, Answer] = {}
    for words, answer in (
        ("own code the best of four", highest),
        ("own code over the others", advantage),
        ("own code over one vector", over_one_vector),
        ("formats over random groups", partial(over_groups, groups)),
    ):
        asked |= {f"{words}<br><small>{part}</small>": partial(answer, part) for part in PARTS}
    body = [[name, *(_cell(answer(one)) for one in shown)] for name, answer in asked.items()]
    kinds = ["published" if one.of is None else one.of.name for one in shown]
    header = [f"{html.escape(one.heading)}<br><small>{kind}</small>" for one, kind in zip(shown, kinds, strict=True)]
    caption = (
        "What the texts say of codes, run by run: tasks, or points in the mean of the tasks, in small. Best of four: by means, on "
        "all tasks (yes), some (in part) or none (no). Else yes and no: the 95 % interval over trainings lies on one side of 0; "
        "not told: it holds 0; print has no intervals: its sign. Random groups: in-train by the code of the task’s own group, "
        "out-of-train by the mean of the four"
    )
    chapter.show(report.table(["Claim", *header], body, caption, [["", *kinds]] * len(body)))


def _cell(told: Told | None) -> str:
    return "" if told is None else f"{told.word}<br><small>{told.number}</small>"
