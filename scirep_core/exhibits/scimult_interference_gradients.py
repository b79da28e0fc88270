"""Chapter `scimult/interference`, angles between gradients: do tasks pull the weights they share apart?

    cos(g_a, g_b)    of the gradients of two batches, of one task or of two, in one part of the encoder

Of the live Vanilla model, whose every weight all tasks share, without dropout. Each of `DRAWS` draws takes two batches of every
task, of pairs from each of its sources in turn; a mean over draws has a 95 % interval (t). Batches are drawn anew from the same
pairs, so the interval is of batches and not of trainings.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import combinations_with_replacement

import numpy as np
import pandas as pd
import torch

from scirep_core import report
from scirep_core.batching import plan
from scirep_core.chapter import Chapter
from scirep_core.exhibits import studies
from scirep_core.exhibits.scimult_training_figure import PARTS
from scirep_core.exhibits.scimult_training_loss import VANILLA, Trained, trained
from scirep_core.results import Result, provenance
from scirep_core.train import gather, known_of, taken
from scirep_core.training.contrast import triplet_loss
from scirep_core.training.data import TrainTask
from scirep_core.training.models import hash_of
from scirep_core.training.variants import ALONE, budget, config

DRAWS = 12
EMBEDDINGS = "embeddings"
SHOWN = (EMBEDDINGS, "attention", "feed-forward")
"""Parts of the encoder whose gradients are compared."""
Grads = Mapping[str, torch.Tensor]
"""Part -> its gradient (parameters,)."""


def gradients(of: Trained, task: TrainTask, batch: int, step: int) -> Grads:
    """Return the gradient of a batch's loss in each part of the trunk."""
    numbers = plan({task.name: len(task)}, batch, "homogeneous", 0, step)
    settings = config(VANILLA, 0, budget("small"))
    known, rows = known_of([task], settings), task.rows[numbers[task.name]]
    drawn = gather(of.model, [task], numbers, known)
    assert drawn.packed is not None
    of.model.zero_grad()
    vectors, places = of.model(drawn.packed), torch.from_numpy(drawn.places[task.name])
    three = [taken(vectors, places[:, i], of.model, task.format) for i in range(3)]
    triplet_loss(three, rows, known.pairs[task.name], settings).backward()  # type: ignore[no-untyped-call]
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
    of, size = trained(chapter), studies.live_budget(chapter).train["batch"]
    with torch.enable_grad():
        found = cosines(of, size)
    hashed = hash_of(of.tasks)
    rows = {key: chapter.record([_row(key, values, hashed)])[0] for key, values in found.items()}
    body = []
    for a, b in dict.fromkeys(key[:2] for key in rows):
        cells = [
            f"{chapter.number(rows[a, b, part], 2)} {report.interval(rows[a, b, part].low, rows[a, b, part].high, 2)}"
            for part in SHOWN
        ]
        body.append([f"{a}, twice" if a == b else f"{a} and {b}", *cells])
    chapter.show(
        report.table(
            ["", *SHOWN], body,
            f"Live: cosine between the gradients of two batches of {size} by part of Vanilla, mean of {DRAWS} draws with "
            "its 95 % interval over draws", [["", *["live"] * len(SHOWN)]] * len(body),
        )
    )  # fmt: skip
    between = {key: row for key, row in rows.items() if key[0] != key[1]}
    against = [key for key, row in between.items() if studies.sign(row) < 0]
    along = [key for key, row in between.items() if studies.sign(row) > 0]
    within = float(np.mean([row.value for key, row in rows.items() if key[0] == key[1]]))
    mean = float(np.mean([row.value for row in between.values()]))
    low = min(between, key=lambda key: between[key].value)
    chapter.say(
        f"Of {len(between)} cosines between two tasks {len(against)} are settled below 0, where one task undoes what the other "
        f"does, and {len(along)} above. The lowest is that of {low[0]} and {low[1]} in the {low[2]}, "
        f"{chapter.number(between[low], 2)}. On average they are {'lower' if mean < within else 'no lower'} than within a task."
    )
    _draw(chapter, rows)


def _row(key: tuple[str, str, str], values: list[float], hashed: str) -> Result:
    from scipy.stats import t

    a, b, part = key
    mean, half = (
        float(np.mean(values)),
        float(t.ppf(0.975, len(values) - 1) * np.std(values, ddof=1) / len(values) ** 0.5),
    )
    return Result(
        "scimult/gradients", "train", f"cosine of {a} and {b}, {part}", "paper", mean, len(values), encoder=VANILLA,
        low=mean - half, high=mean + half, source="embedded", data_hash=hashed,
        provenance=provenance(), note="n: draws of two batches",
    )  # fmt: skip


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
