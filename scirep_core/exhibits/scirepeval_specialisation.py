"""Chapter `scirepeval/specialisation`: does each code do its own job? (v2 Table 3, v1 Table 4, section 7 of both)

    recorded   study `cross`: every code's vectors on one in-train and one out-of-train task a format, several trainings
    live       the same of one small training made in this build
    one vector study `main`: MTL CLS on the same tasks, of the same size

An advantage of the own code over the others has two sides: the own code may be better than one vector for all tasks, or the
other codes worse. With V the score of one vector, own - others = (own - V) + (V - others).
"""

from __future__ import annotations

import html
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from scirep_core.bench import studied
from scirep_core.bench.study_tables import OWN, TABLE_3
from scirep_core.exhibits import cell, studies
from scirep_core.exhibits import scirepeval_codes as codes
from scirep_core.exhibits.counting import names_in, title
from scirep_core.exhibits.scirepeval_codes import PARTS, UNIT, Estimate, Matrix, own_code
from scirep_core.exhibits.scirepeval_codes_figure import Panel, show
from scirep_core.exhibits.scirepeval_codes_print import marked, task_label
from scirep_core.kit.formats import FORMATS
from scirep_core.page import report
from scirep_core.page import study as study_
from scirep_core.page.chapter import Chapter
from scirep_core.results import Result, arithmetic, provenance
from scirep_core.training.variants import variant as variant_of

CHAPTER = "scirepeval/specialisation"
STUDY = "cross"
LIVE_REFERENCES = (studies.FLOOR, studies.CEILING)
ONE_VECTOR = {"MTL CTRL": "MTL CLS", "Adapters": "MTL CLS", "one pass": "MTL CLS", "one pass dense": "MTL CLS dense"}
"""Variant with several vectors -> the one with a single vector that is trained on the same labels."""


class Kind(NamedTuple):
    """One run of the study.

    Attributes:
        name: recorded or live.
        rows: one a training and task.
        matrices: by variant.
        cells: (variant, task, code) -> the mean over trainings, a row that can be shown.
        others: (system without codes, task) -> one value a training: floor, TF-IDF, ceiling, one vector.
    """

    name: str
    rows: Sequence[Result]
    matrices: Mapping[str, Matrix]
    cells: Mapping[tuple[str, str, str], Result]
    others: Mapping[tuple[str, str], tuple[float, ...]]


# ---- the runs --------------------------------------------------------------------------------------------------------


def runs(chapter: Chapter, variants: str, seeds: int) -> list[Kind]:
    """Return the recorded study, where there is one, and the live one, trained in this build where it is missing.

    Args:
        variants: comma-separated ways of training for the live run; empty for none.
        seeds: how many trainings of each.
    """
    kept = studies.recorded_study(STUDY)
    studies.say_unrecorded(chapter, STUDY, kept)
    found = [kind(chapter, "recorded", kept, recorded_others(kept))] if kept else []
    names = names_in(variants)
    if names:
        # floor and ceiling of fields of study cost more than the trainings: their probes do not converge
        ends = study_.live(chapter, STUDY, (), [0], tasks=TABLE_3[1:], references=LIVE_REFERENCES)
        live = study_.live(chapter, STUDY, names, range(seeds))
        found.append(kind(chapter, "live", [*live, *ends], {}))
    return found


def kind(
    chapter: Chapter, name: str, rows: Sequence[Result], others: Mapping[tuple[str, str], tuple[float, ...]]
) -> Kind:
    """Return a run of the study; means over the settings of a task are recorded by the chapter."""
    units = codes.unit_rows(rows)
    means = studied.over_seeds(units)
    plain = [row for row in means if row.split != UNIT]
    of_settings = [replace(row, metric=f"{row.metric}, {name}") for row in means if row.split == UNIT]
    shown = [*plain, *study_.record(chapter, of_settings)]
    cells = {(row.parameters["variant"], row.task, row.parameters["code"]): row for row in shown}
    alone: dict[tuple[str, str], tuple[float, ...]] = {}
    for row in units:  # floor and ceiling, and variants with one vector
        one = row.parameters.get("variant", row.encoder)
        if row.encoder in studies.REFERENCES or not variant_of(one).many:
            alone[one, row.task] = (*alone.get((one, row.task), ()), row.value)
    of_formats = {key: matrix for key, matrix in codes.matrices(units).items() if not variant_of(key).codes}
    return Kind(name, units, of_formats, cells, {**others, **alone})


def recorded_others(cross: Sequence[Result]) -> dict[tuple[str, str], tuple[float, ...]]:
    """Return the scores without codes of study `main`, if it was recorded with as many papers and the same width."""
    size = {(row.parameters.get("papers"), row.parameters.get("width")) for row in studied.means(cross)}
    found: dict[tuple[str, str], list[float]] = {}
    for row in studied.trainings(studies.recorded_study("main")):
        told = row.parameters
        if row.metric != "average" or row.split != "all":
            continue
        if row.encoder not in studies.REFERENCES and (told.get("papers"), told.get("width")) not in size:
            continue
        for task in TABLE_3:
            if task in row.by_query:
                found.setdefault((told["variant"], task), []).append(row.by_query[task])
    return {key: tuple(values) for key, values in found.items()}


def about(of: Kind, only: str = "") -> str:
    """Return what a run, or one variant of it, rests on: trainings, papers, size, base."""
    rows = [row for row in of.rows if not only or row.parameters.get("variant") == only]
    return studies.facts(studied.over_seeds(rows))


def row_of(of: Kind, task: str, metric: str, encoder: str, found: Estimate, note: str) -> Result:
    """Return a number over the trainings of a run as a row to record."""
    one, n = of.rows[0], max(1, len(found.values))
    return Result(
        task, "all", f"{metric} ({of.name})", one.protocol, found.value, n, encoder=encoder, low=found.low, high=found.high,
        source=one.source, data_hash=one.data_hash, provenance=provenance(), note=f"{note}, over the {of.name} trainings",
    )  # fmt: skip


# ---- scores ----------------------------------------------------------------------------------------------------------


def scores(chapter: Chapter, of: Kind, opened: str = "MTL CTRL") -> None:
    """Show every variant's scores by task and code, beside one vector, TF-IDF, floor and ceiling; all but one folded."""
    first = opened if opened in of.matrices else next(iter(of.matrices), "")
    for variant, matrix in of.matrices.items():
        rivals = [
            one for one in (ONE_VECTOR.get(variant, ""), *studies.REFERENCES) if any(one == k for k, _ in of.others)
        ]
        trained = any((variant, task, OWN) in of.cells for task in matrix.tasks)
        body = []
        for task in matrix.tasks:
            best = codes.best_codes(matrix, task)
            cells = [task_label(task)]
            for code in FORMATS:
                cells.append(marked(_score(chapter, of, variant, task, code), code == own_code(task), code in best))
            cells += [_score(chapter, of, variant, task, OWN)] if trained else []
            body.append(cells + [_other(chapter, of, one, task) for one in rivals])
        header = ["Task", *FORMATS, *(["as trained"] if trained else [])]
        labels = [studies.REFERENCES.get(one, html.escape(one)).partition(":")[0] for one in rivals]
        caption = (
            f"{html.escape(variant)}: each code’s vectors on each format’s tasks, {of.name} (0 to 100, ± standard deviation over "
            f"trainings): {about(of, variant)}. Framed: the task’s own code; bold: the highest of the four"
        )
        classes = [["", *[of.name] * (len(header) - 1 + len(rivals))]] * len(body)
        table = report.table([*header, *labels], body, caption, classes)
        if variant == first:
            chapter.show(table)
        else:
            chapter.show(f"<details><summary>{html.escape(variant)}, {of.name}: scores</summary>{table}</details>")


def _score(chapter: Chapter, of: Kind, variant: str, task: str, code: str) -> str:
    row = of.cells.get((variant, task, code))
    return "" if row is None else f"{chapter.number(row, 1)}{studies.spread(row)}"


def _other(chapter: Chapter, of: Kind, name: str, task: str) -> str:
    if (name, task) not in of.others:
        return ""
    found = codes.over(of.others[name, task])
    row = chapter.record([row_of(of, task, "score of its unit", name, found, "mean of the settings of the task")])[0]
    return chapter.number(row, 1)


# ---- advantages ------------------------------------------------------------------------------------------------------


class Shown(NamedTuple):
    """A column of the table of advantages: its heading, the scores, and the run they are of (None: print)."""

    heading: str
    matrix: Matrix
    of: Kind | None


def columns(found: Sequence[Kind]) -> list[Shown]:
    """Return printed tables, recorded variants and live ones."""
    printed = [Shown(exhibit[:2].lower(), codes.printed_matrix(exhibit), None) for exhibit in codes.PRINTED]
    return printed + [Shown(variant, matrix, of) for of in found for variant, matrix in of.matrices.items()]


def advantages(chapter: Chapter, found: Sequence[Kind]) -> None:
    """Show the own code minus the mean of the others, task by task and averaged: published, recorded, live."""
    shown = columns(found)
    tasks = [task for task in TABLE_3 if any(task in one.matrix.tasks for one in shown)]
    lines = {task_label(task): [task] for task in tasks}
    body = [[label, *(_advantage(chapter, one, of, of[0]) for one in shown)] for label, of in lines.items()]
    for name in (*PARTS, "all"):
        cells = []
        for one in shown:
            mine = one.matrix.tasks if name == "all" else one.matrix.part(name)
            cells.append(f"<strong>{_advantage(chapter, one, mine, f'group/{name}')}</strong>")
        body.append([f"<strong>mean, {name}</strong>", *cells])
    kinds = ["published" if one.of is None else one.of.name for one in shown]
    header = [f"{html.escape(one.heading)}<br><small>{kind}</small>" for one, kind in zip(shown, kinds, strict=True)]
    told = "; ".join(f"{of.name}: {about(of)}" for of in found)
    caption = (
        "Own code minus the mean of the three others, in points, with 95 % t intervals over trainings where there are several. "
        f"Published numbers are of the real tasks, the others of invented text{f'. {told}' if told else ''}"
    )
    chapter.show(report.table(["Task", *header], body, caption, [["", *kinds]] * len(body)))


def _advantage(chapter: Chapter, one: Shown, tasks: Sequence[str], name: str) -> str:
    if not tasks or any(task not in one.matrix.tasks for task in tasks):
        return ""
    found = codes.mean_advantage(one.matrix, tasks)
    if one.of is None:
        printed = [codes.printed_cell(one.matrix.label, task, code) for task in tasks for code in FORMATS]
        metric = f"own code minus mean of others, {name.rpartition('/')[2]} of {len(tasks)}"
        return chapter.number(
            chapter.record([arithmetic(one.matrix.label, metric, found.value, 1, printed)])[0], 1, True
        )
    row = row_of(one.of, name, "own code minus mean of others", one.matrix.label, found, f"{len(tasks)} tasks, paired")
    return cell(chapter, chapter.record([row])[0], signed=True)


def say(chapter: Chapter, of: Kind) -> None:
    """Say of every variant of a run where its own code is the best, and what is more than the spread of trainings."""
    items = []
    for variant, matrix in of.matrices.items():
        alone, tasks = codes.own_is_best(matrix, matrix.tasks), matrix.tasks
        other = [
            f"{html.escape(title(t))} ({' and '.join(codes.best_codes(matrix, t))})" for t in tasks if t not in alone
        ]
        where, best = codes.place(matrix, tasks)
        parts = [
            f"{len([t for t in alone if codes.part_of(t) == part])} of {len(matrix.part(part))} {part}"
            for part in PARTS
        ]
        text = (
            f"<strong>{html.escape(variant)}</strong>: the own code has the highest mean on {' and '.join(parts)} tasks (a code "
            f"chosen blindly: {codes.CHANCE * len(tasks):.0f} of {len(tasks)})"
            + (f"; another one on {', '.join(other)}" if other else "")
            + f". {_settled(matrix)} Of the {codes.WAYS} ways to hand out the codes the papers’ is number {where}"
            + (f"; the best gives CLF, RGN, PRX and QRY tasks the codes {best}" if where > 1 else "")
            + "."
        )
        items.append(f"<li>{text}</li>")
    chapter.show(f"<p>{of.name.capitalize()}, {about(of)}:</p><ul>{''.join(items)}</ul>")


def _settled(matrix: Matrix) -> str:
    """Return on how many tasks, and on which mean, the advantage's interval leaves out 0."""
    if matrix.trainings < 2:
        return "One training has no spread: its differences may be chance."
    each = {task: codes.mean_advantage(matrix, [task]) for task in matrix.tasks}
    named = {way: [html.escape(title(task)) for task, found in each.items() if found.sign == way] for way in (1, -1)}
    told = [
        f"{'above' if way > 0 else 'below'} 0 on {len(names)} ({', '.join(names)})" if names
        else f"{'above' if way > 0 else 'below'} 0 on none"
        for way, names in named.items()
    ]  # fmt: skip
    means = []
    for part in PARTS:
        found = codes.mean_advantage(matrix, matrix.part(part))
        words = {1: "ahead", -1: "behind", 0: "not told from 0"}[found.sign]
        means.append(f"{part} {words} ({found.value:+.2f}, {found.low:+.2f} to {found.high:+.2f})")
    return (
        f"Own minus the mean of the others: the interval over {matrix.trainings} trainings lies {' and '.join(told)} of "
        f"{len(each)} tasks ({0.05 * len(each):.1f} would by chance alone); in the mean {', '.join(means)}."
    )


# ---- one vector ------------------------------------------------------------------------------------------------------


def against_one_vector(chapter: Chapter, found: Sequence[Kind]) -> None:
    """Show own and other codes against one vector for all tasks, trained on the same labels, and which side the advantage has."""
    asked = {of.name: _rivals(of) for of in found}
    if not any(asked.values()):
        chapter.note("No model with one vector is recorded at the size of these, so this cannot be asked yet.")
    for of in found:
        if asked[of.name]:
            _against(chapter, of, asked[of.name])


def _rivals(of: Kind) -> dict[str, str]:
    """Return variant -> its rival with one vector, where that was trained beside it."""
    return {v: ONE_VECTOR[v] for v in of.matrices if any(ONE_VECTOR.get(v) == name for name, _ in of.others)}


def _against(chapter: Chapter, of: Kind, pairs: Mapping[str, str]) -> None:
    tasks = next(iter(of.matrices.values())).tasks
    body: list[list[str]] = []
    header, items = ["Task"], []
    gaps = {variant: sides(of, variant, one) for variant, one in pairs.items()}
    for task in tasks:
        cells = [task_label(task)]
        for variant, found in gaps.items():
            cells += [_side(chapter, of, task, variant, name, found[task, name]) for name in ("own", "others")]
        body.append(cells)
    for part in PARTS:
        cells = [f"<strong>mean, {part}</strong>"]
        for variant, found in gaps.items():
            cells += [
                _side(chapter, of, f"group/{part}", variant, name, found[part, name]) for name in ("own", "others")
            ]
        body.append(cells)
    for variant, one in pairs.items():
        header += ["own − one vector", "others − one vector"]
        items.append(f"<li>{_say_sides(variant, one, gaps[variant], tasks)}</li>")
    groups = [f"{html.escape(variant)} against {html.escape(one)}" for variant, one in pairs.items()]
    caption = (
        f"The own code, and the mean of the three others, minus one vector for all tasks, in points, with Welch’s 95 % intervals "
        f"over trainings. {of.name.capitalize()}: {about(of)}"
    )
    chapter.show(report.table(header, body, caption, [["", *[of.name] * (len(header) - 1)]] * len(body), groups))
    chapter.show(f"<ul>{''.join(items)}</ul>")


Sides = Mapping[tuple[str, str], Estimate]
"""(task or part, own | others) -> the difference from one vector."""


def sides(of: Kind, variant: str, one: str) -> Sides:
    """Return the differences of own and other codes from one vector, task by task and in the mean of each part."""
    matrix, found = of.matrices[variant], dict[tuple[str, str], Estimate]()
    drawn: dict[tuple[str, str], tuple[float, ...]] = {}
    for task in matrix.tasks:
        own = matrix.values.get((task, OWN), matrix.values[task, own_code(task)])
        others = zip(*(matrix.values[task, code] for code in FORMATS if code != own_code(task)), strict=True)
        drawn[task, "own"], drawn[task, "others"] = own, tuple(sum(values) / len(values) for values in others)
    for name in ("own", "others"):
        for task in matrix.tasks:
            found[task, name] = codes.between(drawn[task, name], of.others[one, task])
        for part in PARTS:
            inside = matrix.part(part)
            mine = [sum(v) / len(v) for v in zip(*(drawn[task, name] for task in inside), strict=True)]
            theirs = [sum(v) / len(v) for v in zip(*(of.others[one, task] for task in inside), strict=True)]
            found[part, name] = codes.between(mine, theirs)
    return found


def _side(chapter: Chapter, of: Kind, task: str, variant: str, name: str, found: Estimate) -> str:
    row = row_of(of, task, f"{name} minus one vector", variant, found, "difference of two means, Welch")
    return cell(chapter, chapter.record([replace(row, n=of.matrices[variant].trainings)])[0], signed=True)


def _say_sides(variant: str, one: str, found: Sides, tasks: Sequence[str]) -> str:
    """Say whether a variant's own codes beat one vector, and whether its other codes fall behind it."""
    if found[tasks[0], "own"].low is None:
        pair = f"<strong>{html.escape(variant)}</strong> against {html.escape(one)}"
        return f"{pair}: one training has no spread, nothing is settled."
    words = {1: "above", -1: "below", 0: "not told from"}
    up, down = (sum(found[task, "own"].sign == way for task in tasks) for way in (1, -1))
    means = [
        f"{part} the own code is {words[found[part, 'own'].sign]} it ({found[part, 'own'].value:+.2f}) and the other codes are "
        f"{words[found[part, 'others'].sign]} it ({found[part, 'others'].value:+.2f})"
        for part in PARTS
    ]
    return (
        f"<strong>{html.escape(variant)}</strong> against {html.escape(one)}: the own code is ahead on {up} of {len(tasks)} tasks "
        f"and behind on {down} (intervals that leave out 0). In the mean, {'; '.join(means)}."
    )


# ---- the figure ------------------------------------------------------------------------------------------------------


def printed_figure(chapter: Chapter) -> None:
    """Draw codes against tasks of the printed tables."""
    panels = [Panel(name.partition(",")[0], "published", codes.printed_matrix(e)) for e, name in codes.PRINTED.items()]
    show(chapter, "published", panels, "Published, of the real tasks")


def figure(chapter: Chapter, found: Sequence[Kind]) -> None:
    """Draw codes against tasks of every variant of each run."""
    for of in found:
        panels = [Panel(variant, of.name, matrix) for variant, matrix in of.matrices.items()]
        if panels:
            show(chapter, of.name, panels, f"{of.name.capitalize()}: {about(of)}")


# ---- explore ---------------------------------------------------------------------------------------------------------


def models(chapter: Chapter, variants: str) -> dict[str, str]:
    """Return the live models with a vector a format: variant -> folder, trained with seed 0."""
    from scirep_core.training.models import obtain

    names = names_in(variants)
    of_formats = [
        name for name in names if variant_of(name).kind and variant_of(name).many and not variant_of(name).codes
    ]
    return {name: obtain(name, 0, study_.live_budget(chapter.parameters))[0].encoder for name in of_formats}
