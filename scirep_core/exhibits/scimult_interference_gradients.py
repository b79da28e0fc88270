"""Chapter `scimult/interference`, angles between gradients: do tasks pull the weights they share apart?

    cos(g_a, g_b)    of the gradients of two batches, of one task or of two, in one part of the encoder

Of the live Vanilla model, whose every weight all tasks share, without dropout. Each of `DRAWS` draws takes two batches of every
task, of pairs from each of its sources in turn; a mean over draws has a 95 % interval (t). Batches are drawn anew from the same
pairs, so the interval is of batches and not of trainings. Where the summed loss of all tasks is at a minimum their gradients add
up to 0, so that some oppose others whatever the tasks have to do with one another: the model's state belongs to the number.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations_with_replacement

import numpy as np
import pandas as pd
import torch
from numpy.typing import NDArray

from scirep_core.exhibits import cell, sign
from scirep_core.exhibits.scimult_training_figure import PARTS
from scirep_core.exhibits.scimult_training_loss import VANILLA, Trained, drawn, trained
from scirep_core.page import report
from scirep_core.page import study as study_
from scirep_core.page.chapter import Chapter
from scirep_core.results import Result, provenance
from scirep_core.training.data import TrainTask
from scirep_core.training.sets import hash_of
from scirep_core.training.variants import ALONE

DRAWS = 12
EMBEDDINGS = "embeddings"
SHOWN = (EMBEDDINGS, "attention", "feed-forward")
"""Parts of the encoder whose gradients are compared."""
Grads = Mapping[str, torch.Tensor]
"""Part -> its gradient (parameters,)."""


def gradients(of: Trained, task: TrainTask, batch: int, step: int) -> Grads:
    """Return the gradient of a batch's loss in each part of the trunk."""
    of.model.zero_grad()
    drawn(of, task, batch, step).loss().backward()  # type: ignore[no-untyped-call]
    found: dict[str, list[torch.Tensor]] = {part: [] for part in SHOWN}
    for name, parameter in of.model.trunk.named_parameters():
        part = part_of(name)
        if part in found and parameter.grad is not None:
            found[part].append(parameter.grad.flatten().clone())
    of.model.zero_grad()
    return {part: torch.cat(grads) for part, grads in found.items()}


def part_of(name: str) -> str:
    """Return the part of the encoder a parameter of the trunk belongs to, "" for norms.

    >>> part_of("layers.0.query.weight"), part_of("words.weight"), part_of("layers.1.output.bias")
    ('attention', 'embeddings', 'feed-forward')
    """
    if not name.startswith("layers."):
        return "" if name.startswith("norm") else EMBEDDINGS
    module = name.split(".")[2]
    return next((part for part, modules in PARTS.items() if module in modules and part in SHOWN), "")


def cosines(of: Trained, batch: int, draws: int = DRAWS) -> dict[tuple[str, str, str], list[float]]:
    """Return the cosines by (task, task, part), one a draw: of two batches of one task, or of one batch of each."""
    sources = {what: [task for task in of.tasks if task.format == format] for what, format in ALONE.items()}
    pairs = list(combinations_with_replacement(sources, 2))
    found: dict[tuple[str, str, str], list[float]] = {(a, b, part): [] for a, b in pairs for part in SHOWN}
    for draw in range(draws):
        two = {
            what: [gradients(of, tasks[draw % len(tasks)], batch, 2 * draw + i) for i in range(2)]
            for what, tasks in sources.items()
        }
        for a, b in pairs:
            for part in SHOWN:
                cosine = torch.nn.functional.cosine_similarity(two[a][0][part], two[b][1][part], dim=0)
                found[a, b, part].append(float(cosine))
    return found


def angles(chapter: Chapter) -> None:
    """Measure, show and draw the cosines between tasks' gradients beside those within a task; say which are settled below 0."""
    of, size = trained(chapter), study_.live_budget(chapter.parameters).train["batch"]
    with torch.enable_grad():
        found = cosines(of, size)
    hashed = hash_of(of.tasks)
    rows = {
        (a, b, part): chapter.record([_row(f"cosine of {a} and {b}, {part}", values, hashed)])[0]
        for (a, b, part), values in found.items()
    }
    body = []
    for a, b in dict.fromkeys(key[:2] for key in rows):
        cells = [cell(chapter, rows[a, b, part], 2) for part in SHOWN]
        body.append([f"{a}, twice" if a == b else f"{a} and {b}", *cells])
    chapter.show(
        report.table(
            ["", *SHOWN], body,
            f"Live: cosine between the gradients of two batches of {size} by part of Vanilla, mean of {DRAWS} draws with "
            "its 95 % interval over draws, each interval by itself; “twice”: both batches are of one task, and of one of "
            "its sources", [["", *["live"] * len(SHOWN)]] * len(body),
        )
    )  # fmt: skip
    between = {key: row for key, row in rows.items() if key[0] != key[1]}
    against = [key for key, row in between.items() if sign(row) < 0]
    along = [key for key, row in between.items() if sign(row) > 0]
    low = min(between, key=lambda key: between[key].value)
    chapter.say(
        f"Of {len(between)} cosines between two tasks {len(against)} are settled below 0, where one task undoes what the other "
        f"does, and {len(along)} above. The lowest is that of {low[0]} and {low[1]} in the {low[2]}, "
        f"{chapter.number(between[low], 2)}. {_means(chapter, found, hashed)}"
    )
    _draw(chapter, rows)


def _means(chapter: Chapter, found: Mapping[tuple[str, str, str], list[float]], hashed: str) -> str:
    """Return what cosines between tasks and within a task are on average, and whether their difference is settled."""
    apart, same = (
        np.mean([values for (a, b, _), values in found.items() if (a == b) == way], axis=0) for way in (False, True)
    )
    made = chapter.record([
        _row("mean cosine between two tasks", apart, hashed), _row("mean cosine within a task", same, hashed),
        _row("mean cosine between two tasks minus within a task", apart - same, hashed),
    ])  # fmt: skip
    way = {1: "settled above", -1: "settled below", 0: "not told from"}[sign(made[2])]
    return (
        f"On average they are {chapter.number(made[0], 2)}, {way} the {chapter.number(made[1], 2)} within a task (difference "
        f"{cell(chapter, made[2], 2, signed=True)} over draws)."
    )


def _row(metric: str, values: Sequence[float] | NDArray[np.floating], hashed: str) -> Result:
    from scipy.stats import t

    mean, n = float(np.mean(values)), len(values)
    half = float(t.ppf(0.975, n - 1) * np.std(values, ddof=1) / n**0.5)
    return Result(
        "scimult/gradients", "train", metric, "paper", mean, n, encoder=VANILLA,
        low=mean - half, high=mean + half, source="embedded", data_hash=hashed,
        provenance=provenance(), note="n: draws of two batches",
    )  # fmt: skip


@report.styled
def _draw(chapter: Chapter, rows: Mapping[tuple[str, str, str], Result]) -> None:
    pairs = list(dict.fromkeys(key[:2] for key in rows))
    names = [f"{a}, twice" if a == b else f"{a} and {b}" for a, b in pairs]
    figure, axes = report.subplots(figsize=(report.WIDTH, 3.2))
    for k, part in enumerate(SHOWN):
        for y, pair in enumerate(reversed(pairs)):
            row, at = rows[(*pair, part)], y + 0.22 * (1 - k)
            axes.plot([row.low, row.high], [at, at], color=report.SERIES[k], linewidth=1.6)
            axes.plot(
                [row.value], [at], "osD"[k], color=report.SERIES[k], markersize=4.5, label=part if y == 0 else None
            )
    axes.axvline(0, color=report.FLOOR, linewidth=1)
    axes.set_yticks(range(len(pairs)), list(reversed(names)))
    axes.set_xlabel("cosine between gradients of two batches")
    axes.grid(axis="y", visible=False)
    figure.legend(*axes.get_legend_handles_labels(), loc="outside lower center", ncols=len(SHOWN))
    frame = pd.DataFrame([
        {"tasks": name, "part": part, "cosine": row.value, "low": row.low, "high": row.high}
        for pair, name in zip(pairs, names, strict=True) for part in SHOWN for row in (rows[(*pair, part)],)
    ])  # fmt: skip
    chapter.figure(
        "angles", figure, frame,
        "Live: cosine between gradients of two batches of the same task or of two tasks, by part of the encoder; mean of "
        f"{DRAWS} draws with 95 % intervals. Left of 0 two tasks pull in opposite directions.",
        f"{len(pairs)} rows with {len(SHOWN)} marks each around a line at 0.",
    )  # fmt: skip
