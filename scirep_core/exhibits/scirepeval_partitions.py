"""Chapter `scirepeval/specialisation`, random groups: are formats better groups of tasks than any others? (v2, v1 section 7)

    gain(t) = mean over trainings of F[t] - mean over groupings of R[t]
    interval: Welch's, of n trainings with formats and of m groupings, each the mean over its trainings

F is the score with codes for formats, as trained; R with codes for random groups of the training sets, as many and as large.
A paper needs a code to be read under, and the texts do not say which of a random model's four a task is given. Four readings:

    own group     the code of the group the task was trained in; a held-out task has none
    same name     the code that stands where the format's would: what evaluation code does that was not told of the groups
    any           the mean of the four codes: a code chosen blindly
    best          the best of the four codes by the test score itself, which flatters the random groups
"""

from __future__ import annotations

import html
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from scirep_core.bench import studied
from scirep_core.bench.study_tables import OWN
from scirep_core.data import TASKS
from scirep_core.data.inventory import TRAINING
from scirep_core.exhibits import cell, studies
from scirep_core.exhibits import scirepeval_codes as codes
from scirep_core.exhibits.counting import title
from scirep_core.exhibits.scirepeval_codes import PARTS, Estimate, Matrix, own_code
from scirep_core.exhibits.scirepeval_codes_print import GAINS, gain, task_label
from scirep_core.exhibits.scirepeval_specialisation import Kind, row_of
from scirep_core.kit.formats import FORMATS
from scirep_core.page import report
from scirep_core.page.chapter import Chapter
from scirep_core.results import arithmetic
from scirep_core.training.variants import PARTITIONS, random_partition

STUDY = "partitions"
FORMATTED = "MTL CTRL"
READINGS = {
    "own group": "the code of the task’s own group",
    "same name": "the code of the format’s name",
    "any": "the mean of the four codes",
    "best": "the best of the four codes",
}


class Groups(NamedTuple):
    """Scores with formats and with random groups.

    Attributes:
        of: the run.
        formats: task -> one value a training.
        random: reading -> task -> one value a grouping.
        trainings: of each grouping.
    """

    of: Kind
    formats: Mapping[str, tuple[float, ...]]
    random: Mapping[str, Mapping[str, tuple[float, ...]]]
    trainings: int

    @property
    def groupings(self) -> int:
        """How many random groupings there are."""
        return max((len(values) for values in self.random["any"].values()), default=0)


def runs(chapter: Chapter, found: Sequence[Kind]) -> list[Groups]:
    """Return the recorded study, and of the live run its random groupings, where it has some."""
    kept = studies.recorded_study(STUDY)
    studies.say_unrecorded(chapter, STUDY, kept)
    told = [Kind("recorded", codes.unit_rows(kept), {}, {}, {})] if kept else []
    made = [groups(of) for of in [*told, *(of for of in found if of.name == "live")]]
    return [one for one in made if one is not None]


def groups(of: Kind) -> Groups | None:
    """Return the scores of a run by formats and by random groups; None where it lacks one of them."""
    every = codes.matrices(of.rows)
    if FORMATTED not in every or not any(name in every for name in PARTITIONS):
        return None
    formats, drawn = every[FORMATTED], [every[name] for name in PARTITIONS if name in every]
    own = [random_partition(i) for i, name in enumerate(PARTITIONS, start=1) if name in every]
    tasks = [task for task in formats.tasks if all(task in one.tasks for one in drawn)]
    random: dict[str, dict[str, tuple[float, ...]]] = {name: {} for name in READINGS}
    for task in tasks:
        random["same name"][task] = tuple(one.mean(task, own_code(task)) for one in drawn)
        random["any"][task] = tuple(float(np.mean([one.mean(task, code) for code in FORMATS])) for one in drawn)
        random["best"][task] = tuple(_best(one, task) for one in drawn)
        if task in TRAINING:
            random["own group"][task] = tuple(one.mean(task, code[task]) for one, code in zip(drawn, own, strict=True))
    trained = {task: formats.values.get((task, OWN), formats.values[task, own_code(task)]) for task in tasks}
    return Groups(of, trained, random, max(one.trainings for one in drawn))


def _best(one: Matrix, task: str) -> float:
    """Return the highest score of the four codes in every training, averaged."""
    return float(np.mean(np.max([one.values[task, code] for code in FORMATS], axis=0)))


def gain_of(one: Groups, reading: str, tasks: Sequence[str]) -> Estimate | None:
    """Return the gain of formats on the mean of some tasks; None where a task has no such reading."""
    there = one.random[reading]
    if not tasks or any(task not in there for task in tasks):
        return None
    first = [float(np.mean(values)) for values in zip(*(one.formats[task] for task in tasks), strict=True)]
    second = [float(np.mean(values)) for values in zip(*(there[task] for task in tasks), strict=True)]
    return codes.between(first, second)


# ---- showing ---------------------------------------------------------------------------------------------------------


def how_drawn(chapter: Chapter) -> None:
    """Show the five groupings of ours, and how many pairs of one format they leave together."""
    order = sorted(TRAINING, key=lambda name: (FORMATS.index(TASKS[name].format), name))
    drawn = [random_partition(number) for number in range(1, len(PARTITIONS) + 1)]
    body = [
        [f"{html.escape(title(name))}<br><small>{TASKS[name].format}</small>", *(code[name] for code in drawn)]
        for name in order
    ]
    pairs = [(a, b) for i, a in enumerate(order) for b in order[i + 1 :] if TASKS[a].format == TASKS[b].format]
    kept = [sum(code[a] == code[b] for a, b in pairs) for code in drawn]
    table = report.table(
        ["Training set", *(f"grouping {i}" for i in range(1, len(drawn) + 1))], body,
        "Five random groupings of the training sets, groups as large as the formats’. The letters name codes, not formats",
    )  # fmt: skip
    chapter.show(f"<details><summary>The five groupings</summary>{table}</details>")
    chapter.say(
        f"Of the {len(pairs)} pairs of training sets that share a format, the groupings leave {', '.join(map(str, kept))} "
        "together."
    )


def gains(chapter: Chapter, found: Sequence[Groups]) -> None:
    """Show the gain of formats over random groups under every reading, beside the printed gains, and say what follows."""
    for one in found:
        body = []
        for task in one.formats:
            cells = [task_label(task), chapter.number(gain(task))]
            body.append([*cells, *(_cell(chapter, one, reading, [task], task) for reading in READINGS)])
        for part in PARTS:
            inside = [task for task in one.formats if codes.part_of(task) == part]
            cells = [_cell(chapter, one, reading, inside, f"group/{part}") for reading in READINGS]
            body.append([f"<strong>mean, {part}</strong>", _printed_mean(chapter, part, inside), *cells])
        n = max(len(values) for values in one.formats.values())
        caption = (
            f"Formats minus random groups, in points. Published: v1, section 7. {one.of.name.capitalize()}: {_about(one)}; {n} "
            f"training{'s' * (n > 1)} with formats, {one.groupings} grouping{'s' * (one.groupings > 1)} of {one.trainings} each, "
            "Welch’s 95 % intervals where there are several of both. A random model’s task is read under "
            + "; ".join(f"<em>{name}</em>: {words}" for name, words in READINGS.items())
        )
        header = ["Task", "published", *READINGS]
        classes = [["", "published", *[one.of.name] * len(READINGS)]] * len(body)
        chapter.show(report.table(header, body, caption, classes))
        chapter.show(f"<ul>{''.join(f'<li>{text}</li>' for text in told(one))}</ul>")


def _printed_mean(chapter: Chapter, part: str, tasks: Sequence[str]) -> str:
    if not tasks:
        return ""
    cells = [gain(task) for task in tasks]
    value = float(np.mean([cell.number for cell in cells]))
    metric = f"mean gain, {part}, {len(tasks)} of ours"
    return chapter.number(chapter.record([arithmetic(GAINS, metric, value, len(cells), cells)])[0], 1, sign=True)


def _about(one: Groups) -> str:
    rows = [row for row in one.of.rows if row.parameters.get("variant") in (FORMATTED, *PARTITIONS)]
    return studies.facts(studied.over_seeds(rows)).partition(", ")[2]


def _cell(chapter: Chapter, one: Groups, reading: str, tasks: Sequence[str], name: str) -> str:
    found = gain_of(one, reading, tasks)
    if found is None:
        return ""
    note = f"{len(tasks)} tasks, difference of two means, Welch"
    made = row_of(one.of, name, f"formats minus random groups, {reading}", FORMATTED, found, note)
    return cell(chapter, chapter.record([replace(made, n=one.groupings)])[0], signed=True)


def told(one: Groups) -> list[str]:
    """Return, reading by reading, whether formats are ahead of random groups, task by task and in the mean."""
    said = []
    for reading, words in READINGS.items():
        each = {task: found for task in one.formats if (found := gain_of(one, reading, [task]))}
        if not each:
            continue
        ahead, behind = (sum(found.sign == way for found in each.values()) for way in (1, -1))
        means = []
        for part in PARTS:
            whole = gain_of(one, reading, [task for task in one.formats if codes.part_of(task) == part])
            if whole is not None:
                means.append(f"{part} {_told(whole)}")
        settled = (
            f"formats are ahead on {ahead} of {len(each)} tasks and behind on {behind} (intervals that leave out 0); "
            if any(found.low is not None for found in each.values())
            else ""
        )
        said.append(f"Against {words}: {settled}in the mean {', '.join(means)}.")
    return said


def _told(found: Estimate) -> str:
    if found.low is None or found.high is None:
        return f"{found.value:+.2f} points (no interval)"
    words = {1: "ahead", -1: "behind", 0: "not told from them"}[found.sign]
    return f"{words} ({found.value:+.2f}, {found.low:+.2f} to {found.high:+.2f})"
