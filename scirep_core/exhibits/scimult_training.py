"""Chapter `scimult/training`: settings, hard negatives and the two ablations (SciMult 3.4, appendices A.2, C, E.1, E.2).

Tables A4 and A5 hold averages of the five main tables, with and without label hard negatives, with and without a first stage.
Ours are the same averages of the study `scimult-choices`; differences are over trainings of equal seed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import NamedTuple

import numpy as np
import pandas as pd
from torch import nn

from scirep_core import report
from scirep_core.chapter import Chapter
from scirep_core.datasets.maple_pairs import Report, pairs
from scirep_core.datasets.sources import embedded_root, ensure
from scirep_core.encoders.bert import Trunk
from scirep_core.encoders.conditioning import Conditioned, conditioning
from scirep_core.exhibits import scimult_shared as shared
from scirep_core.exhibits import studies
from scirep_core.exhibits.counting import arithmetic, number
from scirep_core.exhibits.scimult_training_figure import SMALL, row
from scirep_core.exhibits.scimult_training_loss import VANILLA
from scirep_core.published import Printed, lookup
from scirep_core.results import Result, provenance
from scirep_core.store import stable_hash
from scirep_core.training.config import TrainConfig, from_params
from scirep_core.training.optimisation import make_optimizer
from scirep_core.training.variants import CONTRASTIVE, config

MHA = "SciMult MHAExpert"
CHOICES = "scimult-choices"
WITHOUT, COLD = "SciMult Vanilla without label negatives", "SciMult MHAExpert from the start"
TRAINED = (VANILLA, MHA, WITHOUT, COLD)
"""What this chapter trains."""
OPEN = {"SciMult Vanilla, duplicates as negatives": "duplicates as negatives, as published",
        "SciMult Vanilla, lower layers slower": "rates that shrink by 0.8 a layer, as its code has it"}  # fmt: skip
"""Variants of what the paper leaves open -> what they do."""
CODE_DECAY = 0.8
"""Of the rate, a layer, in the published settings."""


class Ablation(NamedTuple):
    """One of the two tables: its exhibit, our two lines, how print calls them, and what is left out."""

    exhibit: str
    name: str
    whole: str
    less: str
    columns: tuple[str, str]
    what: str


ABLATIONS = (
    Ablation("SM-TA4", "Table A4", VANILLA, WITHOUT, ("Vanilla (w/ Hard Negative)", "Vanilla (w/o Hard Negative)"),
             "hard negatives of papers and labels"),
    Ablation("SM-TA5", "Table A5", MHA, COLD, ("MHAExpert (w/ Warm-up)", "MHAExpert (w/o Warm-up)"), "the first stage"),
)  # fmt: skip


# ---- Tables A4 and A5 ------------------------------------------------------------------------------------------------


def ablation(chapter: Chapter, of: Ablation, kinds: dict[str, Sequence[Result]]) -> None:
    """Show a table of averages with and without something, published, recorded and live, and say what it does.

    Args:
        kinds: recorded, live -> rows with averages.
    """
    quoted, body, gaps = lookup(of.exhibit), [], dict[str, dict[str, Result]]()
    there = {kind: rows for kind, rows in kinds.items() if rows}
    for table, task in shared.TASKS.items():
        both = [quoted[task, column] for column in of.columns]
        gap = both[0].number - both[1].number
        made = chapter.record([arithmetic(of.exhibit, f"{task}: with minus without", gap, 2, both)])[0]
        gaps.setdefault("published", {})[task] = made
        line = [task, *map(chapter.number, both), chapter.number(made, 2, sign=True)]
        for kind, rows in there.items():
            found = shared.values(rows, table)
            ours = [found.get((one, shared.AVERAGE)) for one in (of.whole, of.less)]
            change = shared.change(rows, table, of.whole, of.less, kind)
            line += [chapter.number(one, 1) if one else "" for one in ours]
            if change:
                gaps.setdefault(kind, {})[task] = studies.record(chapter, [change])[0]
            line.append(told(chapter, gaps.get(kind, {}).get(task)))
        body.append(line)
    names = ["published", *there]
    chapter.show(
        report.table(
            ["", *(["with", "without", "change"] * len(names))], body,
            f"{of.name}: averages of each group of tasks with and without {of.what}; change is with minus without, ours "
            "with its 95 % interval over trainings where there are several",
            [["", *(name for name in names for _ in range(3))]] * len(body), names,
        )
    )  # fmt: skip
    chapter.say(f"{of.name}, in print: {ways(chapter, gaps['published'])}.")
    for kind in there:
        if kind in gaps:
            chapter.say(f"{kind.capitalize()}: {ways(chapter, gaps[kind])}.")
    _same_average(chapter, of)


def told(chapter: Chapter, change: Result | None) -> str:
    """Return a change with its interval, "" for none."""
    return (
        ""
        if change is None
        else f"{chapter.number(change, 2, sign=True)} {report.interval(change.low, change.high, 2)}"
    )


def ways(chapter: Chapter, gaps: dict[str, Result]) -> str:
    """Return in which tasks something helps, hurts, or is not settled; single numbers by their sign, which settles nothing."""
    single = all(change.low is None for change in gaps.values())
    signs = {task: int(np.sign(change.value)) if single else studies.sign(change) for task, change in gaps.items()}
    parts = []
    for way, word in ((1, "it helps"), (-1, "it hurts"), (0, "it changes nothing" if single else "not settled")):
        listed = [f"{task} {chapter.number(gaps[task], 2, sign=True)}" for task, sign in signs.items() if sign == way]
        parts += [f"{word} in {len(listed)} of {len(gaps)} ({'; '.join(listed)})"] if listed else []
    one = ", each number of one training" if single else ""
    return f"{', '.join(parts)}{one}"


def _same_average(chapter: Chapter, of: Ablation) -> None:
    """Say where an ablation prints another average of a model than its main table does."""
    quoted = lookup(of.exhibit)
    for table, task in shared.TASKS.items():
        here, there = quoted[task, of.columns[0]], shared.printed(table)[of.whole, shared.AVERAGE]
        if here.value != there.value:
            cells = [shared.printed(table)[of.whole, column] for column in shared.TABLES[table].values()]
            mean = chapter.record([arithmetic(table, f"mean of the cells of {shared.CALLED[of.whole]}",
                                              sum(one.number for one in cells) / len(cells), len(cells), cells)])[0]  # fmt: skip
            chapter.note(
                f"{of.name} prints {chapter.number(here)} for {shared.CALLED[of.whole]} in {task.lower()}, Table "
                f"{table.removeprefix('SM-T')} prints {chapter.number(there)} for the same model; its cells give "
                f"{chapter.number(mean, 4)}. Rounding moves that by 0.01 at most, so the ablation is of other cells."
            )


def said_of_negatives(chapter: Chapter) -> None:
    """Hold sections 4.7 and E.1 against Table A4, and its best coarse average against Table 4."""
    of = ABLATIONS[0]
    quoted = lookup(of.exhibit)
    better = [
        task
        for task in shared.TASKS.values()
        if quoted[task, of.columns[0]].number > quoted[task, of.columns[1]].number
    ]
    rest = [task for task in shared.TASKS.values() if task not in better]
    chapter.say(
        "Section 4.7 sums the table up as a benefit to all tasks, appendix E.1 as one in most: "
        f"{len(better)} of {len(shared.TASKS)} gain" + (f", {' and '.join(rest).lower()} does not." if rest else ".")
    )
    without = quoted["Classification (Coarse)", of.columns[1]]
    table = {row: printed for (row, column), printed in lookup("SM-T4").items() if column == shared.AVERAGE}
    best = max(table.values(), key=lambda one: one.number)
    if without.number > best.number:
        chapter.note(
            f"The coarse average without these negatives, {chapter.number(without)}, is above every average of Table 4, where "
            f"{best.row} is best with {chapter.number(best)}."
        )


def choices(chapter: Chapter, rows: Sequence[Result]) -> None:
    """Show what the paper leaves open, duplicates and rates by layer, as changes against Vanilla; only as far as recorded."""
    if not rows:
        return
    body = []
    for line, what in OPEN.items():
        found = [shared.change(rows, table, line, VANILLA, f"recorded {CHOICES}") for table in shared.TASKS]
        changes = studies.record(chapter, [one for one in found if one])
        if len(changes) < len(found):
            continue
        body.append([what, *(told(chapter, one) for one in changes)])
        signs = [studies.sign(one) for one in changes]
        chapter.say(
            f"{what[0].upper()}{what[1:]}: settled ahead of Vanilla in {signs.count(1)}, behind in {signs.count(-1)} of the "
            f"{len(signs)} groups of tasks."
        )
    if body:
        chapter.show(
            report.table(
                ["Vanilla with", *shared.TASKS.values()], body,
                "Recorded: what two choices change in the averages, in points against Vanilla as it is by default, with "
                "95 % intervals over trainings of equal seed", [["", *["recorded"] * len(shared.TASKS)]] * len(body),
            )
        )  # fmt: skip


# ---- settings --------------------------------------------------------------------------------------------------------


def settings(chapter: Chapter) -> None:
    """Show appendix C's settings (SM-C8) beside those of the live training, and the steps that follow from them."""
    said = {column: printed for (_, column), printed in lookup("SM-C8").items()}
    given = studies.live_budget(chapter)
    ours = config(VANILLA, 0, given)
    steps = ours.steps
    sizes = [printed for (_, column), printed in lookup("SM-TA1").items() if "Pairs" in column]
    total, batch = sum(one.number for one in sizes), said["GPUs"].number * said["batch size per GPU"].number
    up = said["warm-up, % of the steps"]
    needed = [said["epochs"], said["GPUs"], said["batch size per GPU"], *sizes]
    made = chapter.record([
        arithmetic("SM-C8", "pairs in a step", batch, 2, needed[1:3]),
        arithmetic("SM-C8", "steps", said["epochs"].number * total / batch, len(needed), needed),
        arithmetic("SM-C8", "steps of warm-up", up.number / 100 * said["epochs"].number * total / batch, 7, [*needed, up]),
        arithmetic("SM-C8", "steps of an epoch", total / batch, len(needed), needed[1:]),
    ])  # fmt: skip
    mine = {"peak learning rate": ours.learning_rate, "weight decay": ours.weight_decay, "beta1": ours.beta1, "beta2": ours.beta2,
            "warm-up, % of the steps": 100 * ours.warmup_share}  # fmt: skip
    lines: dict[str, tuple[Printed | Result, float]] = {
        "pairs in a step": (made[0], ours.batch), "steps": (made[1], steps),
        **{name: (said[name], value) for name, value in mine.items()},
    }  # fmt: skip
    own = chapter.record([_setting(name, value, ours) for name, (_, value) in lines.items()])
    body = [[name, number(chapter, quoted), number(chapter, one, _places(one.value))]
            for (name, (quoted, _)), one in zip(lines.items(), own, strict=True)]  # fmt: skip
    chapter.show(
        report.table(
            ["", "published", "live"], body,
            "Settings: of appendix C, steps and pairs in a step computed from them and Table A1; and of the training made here",
            [["", "published", "live"]] * len(body),
        )
    )  # fmt: skip
    chapter.say(
        f"{number(chapter, said['epochs'])} epochs over the pairs of Table A1 are {number(chapter, made[1])} steps, and a "
        f"warm-up of {number(chapter, up)} % is {number(chapter, made[2])} of them, one epoch ({number(chapter, made[3])} "
        f"steps). The {number(chapter, said['variants trained on from SciMult-Vanilla'])} variants go on from Vanilla in a "
        "second stage; how many epochs either stage has is not said."
    )


def _places(value: float) -> int:
    return len(f"{value:.10g}".partition(".")[2])


def _setting(name: str, value: float, of: TrainConfig) -> Result:
    return Result(
        "scimult/settings", "all", name, "paper", float(value), of.steps, encoder=VANILLA, source="settings",
        data_hash=stable_hash(asdict(of))[:16], provenance=provenance(), note="of the live training; n: its steps",
    )  # fmt: skip


def peaks(decay: float, rate: float) -> list[float]:
    """Return the peak rates of a trunk of twelve blocks as its optimiser has them: embeddings, block 0, ..., block 11."""
    trunk = Trunk(SMALL)
    plain = conditioning("plain", trunk)
    model = Conditioned(trunk, plain)
    given = from_params(TrainConfig, CONTRASTIVE | {"layer_decay": decay, "learning_rate": rate, "steps": 100})
    groups = make_optimizer(model, plain.trained(trunk), nn.ModuleDict(), given)
    rate_of = {id(p): group["peak"] for group in groups.param_groups for p in group["params"]}
    return [rate_of[id(trunk.words.weight)], *(rate_of[id(layer.query.weight)] for layer in trunk.layers)]  # type: ignore[union-attr]


def rates(chapter: Chapter) -> None:
    """Draw the learning rate over the steps, and by layer as SciMult's code has it; say both ends."""
    said = {column: printed for (_, column), printed in lookup("SM-C8").items()}
    peak, steps = said["peak learning rate"], 10_000
    schedule = from_params(TrainConfig, CONTRASTIVE | {"steps": steps})
    shown = np.unique(np.linspace(0, steps - 1, 201).astype(int))
    share = [schedule.share(int(step), steps) for step in shown]
    layers = peaks(CODE_DECAY, peak.number)
    names = ["embeddings", *(f"block {i}" for i in range(len(layers) - 1))]
    figure, (left, right) = report.subplots(1, 2, figsize=(report.WIDTH, 3.0))
    left.plot(100 * shown / steps, share, color=report.RECORDED, linewidth=1.6)
    left.set_xlabel("steps, %")
    left.set_ylabel("share of the peak")
    right.barh(range(len(layers)), layers, color=report.PUBLISHED, height=0.65)
    right.set_yticks(range(len(layers)), names, fontsize=8)
    right.axvline(peak.number, color=report.FLOOR, linewidth=1)
    right.set_xlabel("peak rate")
    right.grid(axis="y", visible=False)
    points = [
        ("share of the peak", f"{100 * s / steps:g} % of the steps", v) for s, v in zip(shown, share, strict=True)
    ]
    points += [("peak rate", name, v) for name, v in zip(names, layers, strict=True)]
    frame = pd.DataFrame(points, columns=["what", "at", "value"])
    chapter.figure(
        "rates", figure, frame,
        f"The learning rate. Left: up over the first {schedule.warmup_share:.0%} of the steps (appendix C), then down to 0 "
        f"in a line (its code). Right: peak rates by layer with the code’s factor of {CODE_DECAY} a layer, read from the "
        f"optimiser; the thin line is the printed peak, {peak.value}.",
        f"Left a line that rises at once and falls slowly to 0; right {len(layers)} bars that grow with the height of the layer.",
    )  # fmt: skip
    made = chapter.record([row(f"peak rate, 0.00001, {name}, factor {CODE_DECAY} a layer", 1e5 * value, len(layers), VANILLA,
                               "of the printed peak, read from the optimiser", [CODE_DECAY, peak.value])
                           for name, value in ((names[0], layers[0]), (names[-1], layers[-1]))])  # fmt: skip
    chapter.say(
        f"The paper’s peak rate of {chapter.number(peak)} is high for a BERT. The published settings shrink it from layer "
        f"to layer by {CODE_DECAY}, which the paper does not mention: it is then {chapter.number(made[0], 1)} × 10⁻⁵ at "
        f"the embeddings and {chapter.number(made[1], 1)} × 10⁻⁵ at the top. Whether the published models were trained so "
        "is not known; the same settings clip gradients at 2, which ours do too."
    )


# ---- hard negatives --------------------------------------------------------------------------------------------------

FOLDERS = {"Computer_Science": ("Computer_Science",), "Biology_MeSH + Medicine_MeSH": ("Biology_MeSH", "Medicine_MeSH")}
"""Folders of MAPLE that the two fine sources are made of."""


def negatives(chapter: Chapter) -> None:
    """Show where the hard negatives of papers and labels come from, on the embedded literature's MAPLE folders."""
    papers, seed = chapter.parameters["papers"], chapter.parameters["seed"]
    root = ensure(embedded_root(papers, seed), "maple", papers, seed)
    words = {"reference": "cited", "author": "of a shared author", "venue": "of the venue", "": "none found"}
    body, resolved = [], list[Result]()
    for name, folders in FOLDERS.items():
        found = Report()
        hashed = stable_hash(
            [row["question"] for row in pairs([root / "maple" / one for one in folders], seed=seed, report=found)]
        )
        asked, named = sum(found.hard.values()), max(found.references, 1)
        counts = {"papers": found.papers, "pairs": found.pairs, "over the cap": found.dropped}
        shares = {f"hard negatives {words[one]}, %": 100 * found.hard[one] / asked for one in words}
        shares["references among these papers, %"] = 100 * found.resolved / named
        made = chapter.record(
            [_of_maple(name, metric, value, found.papers, hashed) for metric, value in {**counts, **shares}.items()]
        )
        resolved.append(made[-1])
        body.append([name, *(number(chapter, one) for one in made[:3]), *(chapter.number(one, 1) for one in made[3:])])
    chapter.show(
        report.table(
            ["MAPLE", "papers", "pairs", "over the cap", *words.values(), "references among them"], body,
            "Live: papers up to 2015 and their pairs with labels; papers, percent, whose hard negative is a label of a "
            "paper it cites, of one of its authors, of its venue; references, percent, that are papers of these folders",
            [["", *["live"] * 8]] * len(body),
        )
    )  # fmt: skip
    least = min(resolved, key=lambda one: one.value)
    chapter.say(
        "The paper names three relations and not how one is chosen. Here they are tried in a drawn order, and the first "
        "that leads to a label the paper lacks gives it: a share says how often a relation was there and led on. "
        f"References lead outside a field, and so outside its folder: of {least.task.rpartition('/')[2]}’s, "
        f"{chapter.number(least, 1)} % are papers at hand."
    )
    chapter.say(
        "Section 3.4 speaks of one hard negative for each positive pair, appendix A.2 of "
        f"{chapter.number(lookup('SM-C7')['Citation Prediction Triplets', 'negatives that are hard, %'])} % hard ones "
        "among those of citations: for most citation pairs the third paper is no harder than one drawn by chance."
    )


def _of_maple(name: str, metric: str, value: float, n: int, hashed: str) -> Result:
    return Result(
        f"maple/{name}",
        "train",
        metric,
        "paper",
        float(value),
        n,
        source="embedded",
        data_hash=hashed[:16],
        provenance=provenance(),
    )
