"""Chapter `scirepeval/baselines`, measuring and comparing: encoders, back ends, BM25, and what training has shown.

difference   of two systems' rows of one question: their bootstrap values resample the same papers or queries draw by draw,
             so that the interval is of the difference itself; settled where it leaves out 0
back end     the published numbers come from a support vector machine without intercept, today's code falls back to
             scikit-learn's with one (`intercept`); protocol sound scales the features and tunes to convergence
"""

from __future__ import annotations

import html
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import combinations

import pandas as pd

from scirep_core.bench.score_cache import Question
from scirep_core.bench.scoring import Outcome, attempt
from scirep_core.data import TASKS, overlap
from scirep_core.data.overlap import Overlap, Share
from scirep_core.data.task import Labelled, Task
from scirep_core.exhibits import cell, sign
from scirep_core.exhibits import scirepeval_baselines as base
from scirep_core.exhibits.counting import SAMPLE, Gathered, title
from scirep_core.exhibits.scirepeval_baselines import (
    BARE,
    CEILING,
    FEW,
    FLOOR,
    LABELS,
    LEXICAL,
    RANKING,
    kept,
    plain,
    which,
)
from scirep_core.exhibits.scirepeval_few_shot import with_drawn
from scirep_core.kit.errors import ScirepError
from scirep_core.page import report
from scirep_core.page.chapter import Chapter, progress
from scirep_core.page.widgets.scores import Gap, Run, ScoreExplorer, score_data
from scirep_core.results import Result, provenance
from scirep_core.results.comparison import paired_bootstrap
from scirep_core.results.differences import difference_of, measured, versus

RANKED = "ranking tasks"
"""Task of the mean over what BM25 can be asked: ranking tasks without author disambiguation."""


# ---- measuring -------------------------------------------------------------------------------------------------------


def measure(chapter: Chapter, gathered: Gathered) -> list[Result]:
    """Return every row of the chapter: scores, units, averages, the other protocol, the other back end, differences.

    A quick run repeats the slowest part, the few-shot settings of FoS (23 labels, a search each), twice only, and leaves
    it out of the other protocol, which it scores for the encoders alone.
    """
    protocol, seed, quick = (chapter.parameters[key] for key in ("protocol", "seed", "quick"))
    other = "sound" if protocol == "paper" else "paper"
    tasks = [_twice(task) if quick else task for task in gathered.tasks.values()]
    probes = [task for task in tasks if task.format in ("CLF", "RGN")]
    few = [task for task in probes if task.name in FEW]
    ranking = [task for task in tasks if task.type in RANKING]
    names, scored = base.systems_of(chapter, gathered), dict[str, list[Result]]()
    rows: list[Result] = []
    for name in names:
        found = _score(chapter, tasks, name, Question(protocol, seed=seed))
        scored[name] = [*found, *base.unit_rows(found)]
        rows += [*scored[name], *base.averaged(found), *_ranked(scored[name])]
        rows += _score(chapter, ranking, name, Question(other, seed=seed, split="test"))
        if name == LEXICAL:
            continue
        shots = [task for task in few if not (quick and (TASKS[task.name].multi_label or name in (FLOOR, CEILING)))]
        rows += _score(chapter, shots, name, Question(other, seed=seed))
        if name in (FLOOR, CEILING):
            continue
        rest = [task for task in probes if task not in shots]
        rows += _score(chapter, rest, name, Question(other, seed=seed, split="test"))
        bare = _score(chapter, probes, name, Question("paper", seed=seed, intercept=False, split="test"))
        rows += [replace(row, metric=f"{row.metric}{BARE}") for row in bare]
    rows += [gap for first, second in _pairs(names) for gap in _gaps(rows, first, second, protocol)]
    rows += [gap for name in names if name not in (FLOOR, CEILING, LEXICAL) for gap in _back_end(rows, name)]
    rows += [gap for name in names for gap in _two_protocols(rows, name)]
    paired = {row.encoder for row in rows if row.task == RANKED and row.against}
    means = {row.encoder: row for row in rows if row.task == RANKED and row.metric == "mean"}
    for name in names if LEXICAL in means else ():  # all the same way round: a system minus BM25
        if name in means and name != LEXICAL and versus(name, LEXICAL) not in paired:
            rows += difference(means[name], means[LEXICAL])
    return [replace(row, by_query=row.by_query if row.metric == "average" else {}) for row in rows]


def _twice(task: Task) -> Task:
    """Return a multi-label task whose few-shot settings are repeated twice; its rows say how often they were."""
    if not isinstance(task.payload, Labelled) or not task.payload.multi_label:
        return task
    shots = tuple(shot._replace(iterations=min(2, shot.iterations)) for shot in task.payload.few_shot)
    return replace(task, payload=replace(task.payload, few_shot=shots))


def _score(chapter: Chapter, tasks: Sequence[Task], name: str, question: Question) -> list[Result]:
    """Return a system's rows on the tasks it suits. Raises ScirepError naming the task that failed."""
    if not tasks:
        return []
    tell = progress(f"{name}, {question.protocol}{'' if question.intercept else ', no intercept'}", "done")
    given = chapter.parameters
    found: Outcome = attempt(tasks, name, source=given["data"], papers=given["papers"], data_seed=given["seed"],
                             question=question, progress=lambda _, done, total: tell(done, total))  # fmt: skip
    if found.failed:
        raise ScirepError("; ".join(f"{task}: {why}" for task, why in found.failed.items()))
    at_hand = {task.name: task for task in tasks}
    return [with_drawn(row, at_hand) for row in found.rows]


def _ranked(rows: Sequence[Result]) -> list[Result]:
    """Return the mean over the units BM25 can be scored on, as a row."""
    of = [row for (unit, _), row in base.of_units(rows).items() if TASKS[unit.partition(":")[0]].type in RANKING]
    return [base.mean_row(of, RANKED, "test", "mean", f"mean of {len(of)} units")] if of else []


def _pairs(names: Sequence[str]) -> list[tuple[str, str]]:
    """Return which systems are compared: encoders with one another, later against earlier, and each with the floor."""
    inner = [name for name in names if name not in (FLOOR, CEILING)]
    return [*((b, a) for a, b in combinations(inner, 2)), *((name, FLOOR) for name in inner)]


def _gaps(rows: Sequence[Result], first: str, second: str, protocol: str) -> Iterator[Result]:
    """Yield the paired differences of two systems on every unit, every average, and the ranking tasks."""
    table = base.of_units(plain(rows, protocol))
    whole = {(r.task, r.split, r.encoder): r for r in rows if r.metric == "average" or r.task == RANKED}
    samples = {(r.task, r.metric, r.encoder): r for r in plain(rows, protocol, "test") if r.task.startswith(SAMPLE)}
    found: dict[object, dict[str, Result]] = {}
    for (*key, name), row in [*table.items(), *whole.items(), *samples.items()]:
        if name in (first, second):
            found.setdefault(tuple(key), {})[name] = row
    for pair in found.values():
        if len(pair) == 2:
            yield from difference(pair[first], pair[second])


def difference(first: Result, second: Result, metric: str = "", label: str = "", against: str = "") -> Iterator[Result]:
    """Yield the paired difference of two rows as a row; nothing where they cannot be paired (other units, no draws).

    Args:
        metric, label, against: what the row says of metric, system and other side, unless they are the rows'.
    """
    if set(first.by_query) != set(second.by_query) and first.metric == "average":
        return
    if first.replicates is None or second.replicates is None or len(first.replicates) != len(second.replicates):
        return
    found = paired_bootstrap(first, second)
    yield Result(
        first.task, first.split, difference_of(metric or first.metric), first.protocol, found.value, found.n,
        encoder=label or versus(first.encoder, second.encoder), against=against or second.encoder, low=found.low, high=found.high,
        source=first.source, data_hash=first.data_hash, seed=first.seed, provenance=provenance(),
        note=f"paired bootstrap, two-sided p = {found.p:.3g}",
    )  # fmt: skip


def _back_end(rows: Sequence[Result], name: str) -> Iterator[Result]:
    """Yield, of one encoder on every probe, the differences between back ends and between protocols."""
    found = {(r.task, r.split, r.metric, r.protocol): r for r in rows if r.encoder == name and r.split == "test"}
    for (task, split, metric, protocol), row in found.items():
        if (
            protocol != "paper"
            or metric.endswith(BARE)
            or f"{metric}{BARE}" not in {k[2] for k in found if k[0] == task}
        ):
            continue
        bare = found[task, split, f"{metric}{BARE}", "paper"]
        yield from difference(
            row, replace(bare, metric=metric), f"{metric}, with and without intercept", name, "without intercept"
        )
        sound = found.get((task, split, metric, "sound"))
        if sound:
            made = difference(replace(sound, protocol="paper"), row, f"{metric}, sound and paper", name, "paper")
            yield from (replace(gap, protocol="sound") for gap in made)


def _two_protocols(rows: Sequence[Result], name: str) -> Iterator[Result]:
    """Yield, of one system on every ranking task, sound minus paper: nothing is fitted, so ties, texts and ids remain."""
    found = {(r.task, r.metric, r.protocol): r for r in rows if r.encoder == name and r.split == "test"}
    for (task, metric, protocol), row in found.items():
        sound = found.get((task, metric, "sound"))
        # where `sound` leaves queries out, the two are means over other queries: no pair
        if protocol == "paper" and sound and sound.n == row.n and ranks(task) and metric in _own(task):
            made = difference(replace(sound, protocol="paper"), row, f"{metric}, sound and paper", name, "paper")
            yield from (replace(gap, protocol="sound") for gap in made)


def _own(task: str) -> Sequence[str]:
    """Return the metrics of a ranking task that count as units."""
    metrics = TASKS[task].metrics
    return ("mean_of_four",) if "mean_of_four" in metrics else metrics


# ---- paired differences ----------------------------------------------------------------------------------------------


def gaps_of(rows: Iterable[Result], protocol: str) -> dict[tuple[str, str], list[Result]]:
    """Return the differences of units by the pair of systems."""
    found: dict[tuple[str, str], list[Result]] = {}
    for r in rows:
        of_unit = r.task in TASKS or r.task.startswith(SAMPLE)
        if r.of_systems and of_unit and r.protocol == protocol:
            found.setdefault(r.systems, []).append(r)
    return found


def name_of(system: str) -> str:
    """Return how a system is called in a sentence."""
    ends = {FLOOR: "the floor", CEILING: "the ceiling"}
    return ends.get(system) or LABELS.get(system, f"<code>{html.escape(system)}</code>")


def say_differences(chapter: Chapter, rows: Sequence[Result]) -> None:
    """Say of every pair on how many units which is ahead, and the difference on the average."""
    protocol = chapter.parameters["protocol"]
    for of in (kept(), rows):
        if not of:
            continue
        items = []
        for (first, second), gaps in gaps_of(of, protocol).items():
            ahead, behind = (sum(sign(g) == s for g in gaps) for s in (1, -1))
            open_ = len(gaps) - ahead - behind
            text = (
                f"{name_of(first)} against {name_of(second)}: ahead on {ahead} of {len(gaps)} units, behind on {behind}, "
                f"not settled on {open_}"
            )
            for where, task, split in (("on the v2 average", "scirepeval/average-v2", "all"),
                                       ("on the v1 average", "scirepeval/average-v1", "all"),
                                       ("in-train", "scirepeval/average-v2", "in-train"),
                                       ("out-of-train (v2)", "scirepeval/average-v2", "out-of-train")):  # fmt: skip
                gap = next(
                    (r for r in of if (r.task, r.split, r.encoder) == (task, split, versus(first, second))), None
                )
                text += f"; {where} {points(chapter, gap)}" if gap else ""
            items.append(f"<li>{text}.</li>")
        if items:
            chapter.show(f"<p>{which(of).capitalize()}, in points:</p><ul>{''.join(items)}</ul>")


def points(chapter: Chapter, gap: Result | None) -> str:
    """Return a difference with its interval, "" for none."""
    return cell(chapter, gap, signed=True)


@report.styled
def differences_figure(chapter: Chapter, rows: Sequence[Result]) -> None:
    """Draw the paired differences of the encoders on every unit, with intervals, one panel a pair."""
    for of in (kept(), rows):
        found = {
            p: g for p, g in gaps_of(of, chapter.parameters["protocol"]).items() if FLOOR not in p and LEXICAL not in p
        }
        if not found:
            continue
        shown = dict(list(found.items())[:3])
        label = {id(g): _gap_title(g) for gaps in shown.values() for g in gaps}
        lines = list(dict.fromkeys(label.values()))
        figure, grid = report.subplots(
            1, len(shown), figsize=(report.WIDTH, 1.0 + 0.22 * len(lines)), sharey=True, squeeze=False
        )
        frame = []
        for ax, ((first, second), gaps) in zip(grid[0], shown.items(), strict=True):
            ax.axvline(0, color=report.FLOOR, linewidth=1)
            for gap in gaps:
                y, settled = len(lines) - 1 - lines.index(label[id(gap)]), sign(gap)
                colour = report.MUTED if not settled else report.SERIES[0] if settled > 0 else report.SERIES[1]
                ax.plot([gap.low, gap.high], [y, y], color=colour, linewidth=1.2)
                ax.plot(gap.value, y, "o" if settled >= 0 else "s", color=colour, markersize=4.5,
                        markerfacecolor=colour if settled else report.PAPER)  # fmt: skip
                frame.append({"first": first, "second": second, "unit": label[id(gap)], "difference": gap.value,
                              "low": gap.low, "high": gap.high, "settled": bool(settled), "n": gap.n})  # fmt: skip
            ax.set_title(f"{LABELS.get(first, first)} − {LABELS.get(second, second)}", fontsize=10)
            ax.set_xlabel("points")
            ax.set_yticks(range(len(lines)), [html.unescape(line) for line in reversed(lines)], fontsize=8)
            ax.set_ylim(-0.7, len(lines) - 0.3)
        least, most = (f([g.n for gaps in shown.values() for g in gaps]) for f in (min, max))
        chapter.figure(
            f"differences-{of[0].kind}", figure, pd.DataFrame(frame),
            f"{which(of).capitalize()}: paired differences on every unit, in points, with 95 % bootstrap intervals over the same "
            f"papers or queries (n = {least} to {most}). Filled: the interval leaves out 0."
            + (f" The first {len(shown)} of {len(found)} pairs; all are in the list above." if len(found) > len(shown) else ""),
            f"Differences with intervals for {' and '.join(f'{a} minus {b}' for a, b in shown)} on {len(lines)} units.",
        )  # fmt: skip


def _gap_title(row: Result) -> str:
    two = len(TASKS[row.task].metrics) == 2 if row.task in TASKS else True
    return f"{html.escape(title(row.task))}{f', {measured(row.metric)}' if two else ''}"


# ---- back ends -------------------------------------------------------------------------------------------------------


def back_ends(chapter: Chapter, rows: Sequence[Result]) -> None:
    """Show what an intercept, scaling and tuning do to the probes, encoder by encoder and task by task."""
    for of in (kept(), rows):
        gaps = [r for r in of if r.against and not r.of_systems and not ranks(r.task)]
        if not gaps:
            continue
        found = {(r.task, r.metric, r.protocol, r.encoder): r for r in of if r.split == "test"}
        body, told = [], []
        for name in dict.fromkeys(g.encoder for g in gaps):
            mine = [g for g in gaps if g.encoder == name]
            for task in dict.fromkeys(g.task for g in mine):
                metric = next(g.metric for g in mine if g.task == task)
                metric = measured(metric).partition(",")[0]
                keys = [(f"{metric}{BARE}", "paper"), (metric, "paper"), (metric, "sound")]
                scores = [found.get((task, m, p, name)) for m, p in keys]
                both = [next((g for g in mine if g.task == task and g.metric.endswith(word)), None)
                        for word in ("without intercept", "sound and paper")]  # fmt: skip
                body.append([f"{html.escape(title(task))}<br><small>{LABELS.get(name, html.escape(name))}, {metric}</small>",
                             *(chapter.number(s, 1) if s else "" for s in scores),
                             *(points(chapter, g) for g in both)])  # fmt: skip
            for word, label in (("without intercept", "an intercept"), ("sound and paper", "protocol sound")):
                of_word = [g for g in mine if g.metric.endswith(word)]
                up, down = (sum(sign(g) == s for g in of_word) for s in (1, -1))
                largest = max(of_word, key=lambda g: abs(g.value), default=None)
                told.append(
                    f"<li>{name_of(name)}: {label} raises {up} of {len(of_word)} tasks and lowers {down} (intervals that leave "
                    f"out 0)" + (f"; the largest change is {points(chapter, largest)} on {html.escape(title(largest.task))}"
                                 if largest else "") + ".</li>")  # fmt: skip
        header = ["Task", "no intercept", "paper", "sound", "intercept: change", "sound − paper"]
        table = report.table(header, body, f"{which(of).capitalize()}: the same vectors under three back ends, full training sets",
                             [["", *[of[0].kind] * 5]] * len(body))  # fmt: skip
        opened = " open" if of[0].kind == "recorded" or not kept() else ""
        chapter.show(f"<details{opened}><summary>{which(of).capitalize()}: three back ends</summary>{table}</details>",
                     f"<ul>{''.join(told)}</ul>")  # fmt: skip


def ranks(task: str) -> bool:
    """Return whether a task is one of those BM25 can be asked."""
    return task in TASKS and TASKS[task].type in RANKING


# ---- leaks -----------------------------------------------------------------------------------------------------------


def leaks(chapter: Chapter, gathered: Gathered, train: str = "scirepeval/cite_prediction") -> None:
    """Show what a training set has shown of the ranking tasks at hand, by id or title."""
    data, papers, seed = (chapter.parameters[key] for key in ("data", "papers", "seed"))
    wanted = [overlap.sought(t) for t in gathered.tasks.values() if t.type in ("proximity", "adhoc_search")]
    try:
        units = overlap.training_units(train, data, papers, seed)
        found = overlap.overlap(train, units, wanted) if wanted else []
    except ScirepError as error:
        chapter.say(f"{train} is not at hand: {html.escape(str(error))}")
        return
    if not found:
        chapter.say("No ranking task is at hand.")
        return
    kinds = {
        "papers": "papers seen",
        "queries": "queries seen",
        "both_seen": "pairs, both seen",
        "trained_on": "pairs trained on",
    }
    made = {}
    for one in found:
        task = gathered.tasks[one.task]
        for key, label in kinds.items():
            share: Share = getattr(one, key)
            made[one.task, key] = Result(
                task.name, "all", f"{label} in {train}, %", "paper", share.percent, share.of, source=task.source,
                data_hash=task.data_hash, provenance=provenance(), note=f"{share.seen} of {share.of}, {one.rows} training rows",
            )  # fmt: skip
    rows = dict(zip(made, chapter.record(made.values()), strict=True))
    body = [[base.unit_title(one.task), *(f"{chapter.number(rows[one.task, key], 1)} <small>{getattr(one, key).seen:,} of "
                                     f"{getattr(one, key).of:,}</small>" for key in kinds)] for one in found]  # fmt: skip
    caption = f"What the {found[0].rows:,} rows of {train} have shown of the ranking tasks, percent"
    chapter.show(report.table(["Task", *kinds.values()], body, caption, [["", *["live"] * len(kinds)]] * len(body)))
    _say_leaks(chapter, found)


def _say_leaks(chapter: Chapter, found: Sequence[Overlap]) -> None:
    asked, pairs = sum(one.queries.seen for one in found), sum(one.both_seen.seen for one in found)
    trained, judged = sum(one.trained_on.seen for one in found), sum(one.both_seen.of for one in found)
    least, most = (f(one.papers.percent for one in found) for f in (min, max))
    chapter.say(
        f"Of the {len(found)} tasks {sum(one.queries.of for one in found):,} queries are asked; {asked:,} of them occur in the "
        f"training set. Of the papers {least:.1f} to {most:.1f} % do. Of {judged:,} judged pairs {pairs:,} have both "
        f"sides in the training set, and {trained:,} are training pairs themselves."
    )


# ---- explore ---------------------------------------------------------------------------------------------------------


def explorer(chapter: Chapter, rows: Sequence[Result]) -> ScoreExplorer:
    """Return the explorer of two systems side by side, task by task: recorded and live runs, units and differences."""
    runs = [partial_run(of) for of in (kept(), rows) if of]
    return ScoreExplorer(score_data(runs, LABELS))


def partial_run(rows: Sequence[Result]) -> Run:
    """Return one run for the explorer: the scores of all units and settings, and the paired differences there are."""
    scores = [r for r in rows if r.metric != "average" and r.task != RANKED and r.split != "all"
              and not r.against and not r.metric.endswith(BARE)]  # fmt: skip
    gaps = [
        Gap(first, second, replace(gap, metric=measured(gap.metric)))
        for protocol in ("paper", "sound")
        for (first, second), found in gaps_of(rows, protocol).items()
        for gap in found
    ]
    kind, (_, _, about) = rows[0].kind, which(rows).partition(", ")
    return Run(kind, kind.capitalize(), f"{about.capitalize()}.", scores, gaps)
