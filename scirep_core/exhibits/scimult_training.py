"""Chapter `scimult/training`: data, settings, hard negatives, two ablations (SciMult 3.4, appendices A.1, A.2, C, E.1, E.2).

Tables A4 and A5 hold averages of the five main tables, with and without label hard negatives, with and without a first stage.
Ours are the same averages of the study `scimult-choices`; differences are over trainings of equal seed.
"""

from __future__ import annotations

import html
from collections.abc import Sequence
from dataclasses import asdict
from typing import NamedTuple

import numpy as np
import pandas as pd
from torch import nn

from scirep_core.data.readers.maple_pairs import Report, pairs
from scirep_core.data.sources import embedded_root, ensure
from scirep_core.encoders.conditioning.base import Conditioned, conditioning
from scirep_core.encoders.trunk.bert import Trunk
from scirep_core.exhibits import scimult_shared as shared
from scirep_core.exhibits import studies
from scirep_core.exhibits.counting import number
from scirep_core.exhibits.scimult_interference import facts, told, ways
from scirep_core.exhibits.scimult_tasks import CANDIDATES, PAIRS
from scirep_core.exhibits.scimult_training_figure import SMALL, row
from scirep_core.exhibits.scimult_training_loss import FIELDS, ON, PER_FIELD, VANILLA
from scirep_core.kit.store import stable_hash
from scirep_core.page import report
from scirep_core.page import study as study_
from scirep_core.page.chapter import Chapter
from scirep_core.results import Result, arithmetic, provenance
from scirep_core.results.published import Printed, lookup, table
from scirep_core.training.config import TrainConfig, from_params
from scirep_core.training.models import base
from scirep_core.training.optimisation import make_optimizer
from scirep_core.training.sets import examples
from scirep_core.training.variants import CONTRASTIVE, Budget, config, variant

MHA = "SciMult MHAExpert"
CHOICES = "scimult-choices"
WITHOUT, COLD = "SciMult Vanilla without label negatives", "SciMult MHAExpert from the start"
TRAINED = (VANILLA, MHA, WITHOUT, COLD)
"""What this chapter trains."""
CODE_DECAY, CODE_RATE = 0.8, 2e-5
"""Of the rate, a layer, and the peak rate, in the settings that come with the published code (yuzhimanhua/SciMult, 109c96e)."""
OPEN = {"SciMult Vanilla, duplicates as negatives": "duplicates as negatives, as in the published code",
        "SciMult Vanilla, lower layers slower": f"rates that shrink by {CODE_DECAY} a layer, as in its settings"}  # fmt: skip
"""Variants of what the paper leaves open -> what they do."""


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
    for exhibit, task in shared.TASKS.items():
        both = [quoted[task, column] for column in of.columns]
        gap = both[0].number - both[1].number
        made = chapter.record([arithmetic(of.exhibit, f"{task}: with minus without", gap, 2, both)])[0]
        gaps.setdefault("published", {})[task] = made
        line = [task, *map(chapter.number, both), chapter.number(made, 2, sign=True)]
        for kind, rows in there.items():
            found = shared.values(rows, exhibit)
            ours = [found.get((one, shared.AVERAGE)) for one in (of.whole, of.less)]
            change = shared.change(rows, exhibit, of.whole, of.less, kind)
            line += [chapter.number(one, 1) if one else "" for one in ours]
            if change:
                gaps.setdefault(kind, {})[task] = study_.record(chapter, [change])[0]
            line.append(told(chapter, gaps.get(kind, {}).get(task)))
        body.append(line)
    names = ["published", *there]
    chapter.show(
        report.table(
            ["", *(["with", "without", "change"] * len(names))], body,
            f"{of.name}: averages of each group of tasks with and without {of.what}; change is with minus without, ours "
            f"with its 95 % interval over trainings where there are several. {facts(there)}",
            [["", *(name for name in names for _ in range(3))]] * len(body), names,
        )
    )  # fmt: skip
    for kind, changes in gaps.items():
        named = f"{of.name}, in print" if kind == "published" else kind.capitalize()
        chapter.say(f"{named}: {ways(chapter, changes, 'a gain', 'a loss')}.")
    _same_average(chapter, of)


def _same_average(chapter: Chapter, of: Ablation) -> None:
    """Say where an ablation prints another average of a model than its main table does."""
    quoted = lookup(of.exhibit)
    for exhibit, task in shared.TASKS.items():
        here, there = quoted[task, of.columns[0]], shared.printed(exhibit)[of.whole, shared.AVERAGE]
        if here.value != there.value:
            cells = [shared.printed(exhibit)[of.whole, column] for column in shared.TABLES[exhibit].values()]
            mean = chapter.record([arithmetic(exhibit, f"mean of the cells of {shared.CALLED[of.whole]}",
                                              sum(one.number for one in cells) / len(cells), len(cells), cells)])[0]  # fmt: skip
            chapter.note(
                f"{of.name} prints {chapter.number(here)} for {shared.CALLED[of.whole]} in {task.lower()}, Table "
                f"{exhibit.removeprefix('SM-T')} prints {chapter.number(there)} for the same model; its cells give "
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
    best = max((one for one in table("SM-T4") if one.column == shared.AVERAGE), key=lambda one: one.number)
    if without.number > best.number:
        chapter.note(
            f"The coarse average without these negatives, {chapter.number(without)}, is above every average of Table 4, where "
            f"{best.row} is best with {chapter.number(best)}."
        )


def choices(chapter: Chapter, rows: Sequence[Result]) -> None:
    """Show what the paper leaves open, duplicates and rates by layer, as changes against Vanilla, as far as it is recorded."""
    body = []
    for line, what in OPEN.items():
        found = {task.lower(): row for table, task in shared.TASKS.items()
                 if (row := shared.change(rows, table, line, VANILLA, f"recorded {CHOICES}"))}  # fmt: skip
        if len(found) < len(shared.TASKS):
            continue
        changes = dict(zip(found, study_.record(chapter, list(found.values())), strict=True))
        body.append([what, *(told(chapter, one) for one in changes.values())])
        chapter.say(f"{what[0].upper()}{what[1:]}: {ways(chapter, changes, 'ahead of Vanilla', 'behind')}.")
    if not body:
        chapter.note("These trainings are of the recorded study alone, and none of them is recorded yet.")
        return
    chapter.show(
        report.table(
            ["Vanilla with", *shared.TASKS.values()], body,
            "Recorded: what two choices change in the averages, in points against Vanilla as it is by default, with "
            f"95 % intervals over trainings of equal seed where there are several. {studies.facts(rows)}",
            [["", *["recorded"] * len(shared.TASKS)]] * len(body),
        )
    )  # fmt: skip


SCORES = tuple(f"SM-T{name}" for name in ("3", "4", "5", "6", "7", "8", "9", "A3", "A4", "A5", "A6", "A7", "A8"))
"""Tables of scores, and of what follows from them."""


def spreads(chapter: Chapter) -> None:
    """Say how many printed scores have a deviation, beside the sentences that call differences significant."""
    printed = [one for exhibit in SCORES for one in table(exhibit)]
    chapter.say(
        f"Of the {len(printed):,} numbers of Tables 3 to 9 and A3 to A8 {sum(bool(one.std) for one in printed) or 'none'} has a "
        "deviation, and no table tells seeds or the number of trainings. Section 4.3 speaks of “significant advantages over "
        "all baselines”, section 4.5 of variants that “significantly outperform all baselines in almost all cases”; "
        "neither comes with a test. A change in Tables A4 and A5 has nothing to be held against."
    )


# ---- data ------------------------------------------------------------------------------------------------------------


def pairs_in_print(chapter: Chapter) -> None:
    """Show the sources of Table A1 as shares; say what Table 2 leaves out, and that a test label is not among the coarse ones."""
    printed = {row: one for (row, column), one in lookup("SM-TA1").items() if column == PAIRS}
    every, total = list(printed.values()), sum(one.number for one in printed.values())
    shares = chapter.record([arithmetic("SM-TA1", f"share of all pairs, {row}, %", 100 * one.number / total, len(every), every)
                             for row, one in printed.items()])  # fmt: skip
    body = [[html.escape(row), number(chapter, one), chapter.number(share, 1)]
            for (row, one), share in zip(printed.items(), shares, strict=True)]  # fmt: skip
    chapter.show(
        report.table(
            ["Source", "pairs", "share, %"], body, "Training pairs by source (Table A1), and their share of all pairs",
            [["", "published", "published"]] * len(body),
        )
    )  # fmt: skip
    coarse, fields = (
        dict(zip(printed, shares, strict=True))["MAPLE (Coarse)"],
        lookup("SM-TA2")["SciDocs (MAG Fields)", CANDIDATES],
    )
    chapter.say(
        f"Neither Table 2 nor section 4.1 names MAPLE (Coarse) among the training data, {chapter.number(coarse, 1)} % of the "
        f"pairs: {FIELDS} fields, all but computer science, with {PER_FIELD:,} papers each (appendix A.1). Table A2 tests on "
        f"{number(chapter, fields)} fields of MAG and Table 2 calls that test in-domain, yet at least "
        f"{int(fields.number) - FIELDS} of these fields was never a label of the coarse pairs."
    )


# ---- settings --------------------------------------------------------------------------------------------------------


def settings(chapter: Chapter) -> None:
    """Show appendix C's settings (SM-C8) beside those of the live training, and the steps that follow from them."""
    said = {column: printed for (_, column), printed in lookup("SM-C8").items()}
    given = study_.live_budget(chapter.parameters)
    ours, steps = config(VANILLA, 0, given), steps_of(given)
    sizes = [printed for (_, column), printed in lookup("SM-TA1").items() if column == PAIRS]
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
        "steps of warm-up": (made[2], round(ours.warmup_share * steps)),
        **{name: (said[name], value) for name, value in mine.items()},
    }  # fmt: skip
    own = chapter.record([_setting(name, value, ours, steps) for name, (_, value) in lines.items()])
    body = [[name, number(chapter, quoted), number(chapter, one, _places(one.value))]
            for (name, (quoted, _)), one in zip(lines.items(), own, strict=True)]  # fmt: skip
    chapter.show(
        report.table(
            ["", "published", "live"], body,
            "Settings: of appendix C, steps and pairs in a step computed from them and Table A1; and of each stage of the "
            "trainings made here",
            [["", "published", "live"]] * len(body),
        )
    )  # fmt: skip
    chapter.say(
        f"The live encoder has {given.layers} blocks of width {given.width}, every other of them with experts where a variant has "
        f"some, and starts from word vectors of the embedded literature (base “{ON}”)."
    )
    chapter.say(
        f"{number(chapter, said['epochs'])} epochs over the pairs of Table A1 are {number(chapter, made[1])} steps, and a "
        f"warm-up of {number(chapter, up)} % is {number(chapter, made[2])} of them, one epoch ({number(chapter, made[3])} "
        f"steps). The {number(chapter, said['variants trained on from SciMult-Vanilla'])} variants go on from Vanilla in a "
        "second stage; how many epochs either stage has is not said."
    )


def steps_of(given: Budget) -> int:
    """Return the steps of a live stage; where the chapter's are 0 the pairs decide, which are then read."""
    ours, sizes = config(VANILLA, 0, given), dict[str, int]()
    if not ours.steps:
        sizes = {task.name: len(task) for task in examples(base(ON, given), given, variant(VANILLA))[1]}
    return ours.total(sizes)


def _places(value: float) -> int:
    return len(f"{value:.10g}".partition(".")[2])


def _setting(name: str, value: float, of: TrainConfig, steps: int) -> Result:
    return Result(
        "scimult/settings", "all", name, "paper", float(value), steps, encoder=VANILLA, source="settings",
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


@report.styled
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
        f"The learning rate. Left: up over the first {100 * schedule.warmup_share:g} % of the steps (appendix C), then down to 0 "
        f"in a line (its code). Right: peak rates by layer with the code’s factor of {CODE_DECAY} a layer, read from our "
        f"optimiser; the thin line is the printed peak, {peak.value}.",
        f"Left a line that rises at once and falls slowly to 0; right {len(layers)} bars that grow with the height of the layer.",
    )  # fmt: skip
    made = chapter.record([row(f"peak rate, 0.00001, {name}, factor {CODE_DECAY} a layer", 1e5 * value, len(layers), VANILLA,
                               "of the printed peak, read from the optimiser", [CODE_DECAY, peak.value])
                           for name, value in ((names[0], layers[0]), (names[-1], layers[-1]))])  # fmt: skip
    ratio = chapter.record([arithmetic("SM-C8", f"peak rate over {CODE_RATE}", peak.number / CODE_RATE, 1, [peak])])[0]
    chapter.say(
        f"The paper’s peak rate of {chapter.number(peak)} is {chapter.number(ratio, 0)} times the {1e5 * CODE_RATE:.0f} × 10⁻⁵ "
        "in the settings that come with its code, which therefore are not the paper’s. These settings also shrink the rate "
        f"from layer to layer by {CODE_DECAY}, which the paper does not mention: its peak is then {chapter.number(made[0], 1)} "
        f"× 10⁻⁵ at the embeddings and {chapter.number(made[1], 1)} × 10⁻⁵ at the top. Whether the published models were "
        f"trained so is not known. The same settings clip gradients at {CONTRASTIVE['clip']:g}, which ours do too."
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
        asked, named = sum(found.hard.values()), found.references
        counted = {metric: (float(value), found.papers) for metric, value in
                   {"papers": found.papers, "pairs": found.pairs, "over the cap": found.dropped}.items()}  # fmt: skip
        counted |= {f"hard negatives {words[one]}, %": (100 * found.hard[one] / asked, asked) for one in words}
        counted["references among these papers, %"] = 100 * found.resolved / max(named, 1), named
        made = chapter.record([_of_maple(name, metric, *value, hashed) for metric, value in counted.items()])
        resolved.append(made[-1])
        body.append([name, *(number(chapter, one) for one in made[:3]), *(chapter.number(one, 1) for one in made[3:])])
    chapter.show(
        report.table(
            ["MAPLE", "papers", "pairs", "over the cap", *words.values(), "references among them"], body,
            "Live: papers up to 2015, their pairs with labels, and pairs left out because their label has enough; then, in "
            "percent of the papers that keep a pair, by which relation the paper was found whose label is the hard negative; "
            "last, in percent of all references, those to papers of the same folders",
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
    hard = lookup("SM-C7")["Citation Prediction Triplets", "negatives that are hard, %"]
    rest = chapter.record(
        [arithmetic("SM-C7", "negatives of citations that are not hard, %", 100 - hard.number, 1, [hard])]
    )[0]
    chapter.say(
        "Section 3.4 samples one hard negative for each positive pair. Of the citation triplets appendix A.2 says that the "
        f"third paper is a hard negative with a probability of about {chapter.number(hard)} %, so that about "
        f"{chapter.number(rest, 0)} % of these pairs come with one that is not."
    )


def _of_maple(name: str, metric: str, value: float, n: int, hashed: str) -> Result:
    return Result(
        f"maple/{name}", "train", metric, "paper", float(value), n, source="embedded", data_hash=hashed[:16],
        provenance=provenance(),
    )  # fmt: skip
