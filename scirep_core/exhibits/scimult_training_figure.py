"""Chapter `scimult/training`, Figure 1 redrawn: which parts of the two expert models are shared (SciMult 3.2, 3.3, Figure 1).

The drawing, the counts and the test of the routing are taken from the modules that are trained, by walking them: nothing
here knows which part is whose. Counts are those of BERT-base; a model without weights is enough for them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, replace
from typing import Any, NamedTuple

import matplotlib as mpl
import numpy as np
import pandas as pd
import torch

from scirep_core.encoders.conditioning.base import Conditioned, Conditioning, conditioning
from scirep_core.encoders.conditioning.prefix import instructions
from scirep_core.encoders.trunk.bert import Shape, Trunk
from scirep_core.exhibits.counting import tokenizer
from scirep_core.kit.store import stable_hash
from scirep_core.page import report
from scirep_core.page.chapter import Chapter
from scirep_core.results import Result, provenance
from scirep_core.training.variants import BY_TASK

BERT = Shape(30_522, 768, 12, 12, 3072)
"""PubMedBERT's size."""
SMALL = replace(BERT, hidden_size=24, num_attention_heads=4, intermediate_size=48)
NAMES = {"plain": "Vanilla", "mha_experts": "MHAExpert", "ffn_experts": "FFNExpert", "prefix": "Prefix",
         "instruction": "Instruction"}  # fmt: skip
EXPERTS = ("mha_experts", "ffn_experts")
PARTS = {"attention": ("query", "key", "value", "dense"), "norm after attention": ("norm1",),
         "feed-forward": ("intermediate", "output"), "norm after feed-forward": ("norm2",)}  # fmt: skip
"""A block from bottom to top -> the modules of each part."""


class Walked(NamedTuple):
    """What a model is made of.

    Attributes:
        copies: (block, part) -> how many there are: 1 is shared by all tasks.
        held: parameters that some document, or its instruction, goes through.
        trained: those that training moves.
        seen: parameters that one task's documents, and its instruction, go through.
    """

    copies: dict[tuple[int, str], int]
    held: int
    trained: int
    seen: int


def walk(kind: str, shape: Shape = BERT) -> Walked:
    """Return what a variant's model is made of, by walking its modules; no weight is made."""
    with torch.device("meta"):
        trunk, made = _made(kind, shape)
    own = getattr(made, "experts", {})
    copies = {
        (i, part): len(own[str(i)][names[0]]) if str(i) in own and names[0] in own[str(i)] else 1
        for i in range(len(trunk.layers))
        for part, names in PARTS.items()
    }
    trunk_size, added = (sum(p.numel() for p in module.parameters()) for module in (trunk, made))
    trained = sum(p.numel() for p in made.trained(trunk))
    held = trained if kind in EXPERTS else trunk_size + added  # what experts stand in for is used by nobody
    return Walked(copies, held, trained, trunk_size if kind in EXPERTS else held)


def _made(kind: str, shape: Shape) -> tuple[Trunk, Conditioning]:
    trunk, options = Trunk(shape), dict[str, Any]()
    if kind in ("prefix", "instruction"):
        options = {"instructions": instructions(lambda text: tokenizer().encode(text).ids, BY_TASK)}
    return trunk, conditioning(kind, trunk, BY_TASK, **options)


def row(metric: str, value: float, n: int, encoder: str, note: str, of: Any) -> Result:
    """Return a number that was read off modules or settings."""
    return Result(
        "scimult/model", "all", metric, "paper", float(value), n, encoder=encoder, source="modules",
        data_hash=stable_hash(of)[:16], provenance=provenance(), note=note,
    )  # fmt: skip


# ---- the drawing -----------------------------------------------------------------------------------------------------


@report.styled
def figure1(chapter: Chapter) -> None:
    """Draw Figure 1 (SM-F1): twelve blocks of both expert models, what is shared and what each task has for itself."""
    walked = {kind: walk(kind) for kind in EXPERTS}
    figure, grid = report.subplots(2, 1, figsize=(report.WIDTH, 4.6))
    for axes, kind in zip(grid, EXPERTS, strict=True):
        _panel(axes, NAMES[kind], walked[kind].copies)
    handles = [mpl.patches.Patch(facecolor=report.SERIES[i], alpha=0.75, label=name) for i, name in enumerate(BY_TASK)]
    handles.append(mpl.patches.Patch(facecolor="none", edgecolor=report.INK, label="shared by all tasks"))
    figure.legend(handles=handles, loc="outside lower center", ncols=4)
    frame = pd.DataFrame([
        {"model": NAMES[kind], "block": block, "part": part, "copies": copies}
        for kind, one in walked.items() for (block, part), copies in one.copies.items()
    ])  # fmt: skip
    told = [
        f"{NAMES[kind]}: {', '.join(_own(one.copies))} in blocks {_blocks(one.copies)}" for kind, one in walked.items()
    ]
    chapter.figure(
        "figure-1", figure, frame,
        f"Figure 1, drawn anew from the modules: blocks 0 to {BERT.num_hidden_layers - 1} from left to right, within a "
        "block attention below, feed-forward part above, the norm after each as a thin bar. Of a part in three colours "
        f"every task has its own. {'; '.join(told)}.",
        f"Two rows of {BERT.num_hidden_layers} blocks. {'. '.join(told)}; all other parts are shared.",
    )  # fmt: skip


def _own(copies: Mapping[tuple[int, str], int]) -> list[str]:
    """Return the parts of which there is one a task."""
    return [part for part in PARTS if any(n > 1 for (_, name), n in copies.items() if name == part)]


def _blocks(copies: Mapping[tuple[int, str], int]) -> str:
    return ", ".join(map(str, sorted({block for (block, _), n in copies.items() if n > 1})))


def _panel(axes: Any, name: str, copies: Mapping[tuple[int, str], int]) -> None:
    heights = dict(zip(PARTS, (1.2, 0.3, 1.2, 0.3), strict=True))
    for (block, part), number in copies.items():
        names = list(PARTS)
        low = sum(heights[one] + 0.15 for one in names[: names.index(part)])
        for i in range(number):
            face = {"facecolor": "none", "edgecolor": report.INK} if number == 1 else {
                "facecolor": report.SERIES[i], "alpha": 0.75, "edgecolor": "none"}  # fmt: skip
            axes.add_patch(mpl.patches.Rectangle((block + 0.8 * i / number, low), 0.8 / number, heights[part], **face))
    blocks = 1 + max(block for block, _ in copies)
    axes.set_xlim(-0.2, blocks)
    axes.set_ylim(-0.2, 3.6)
    axes.set_title(name)
    axes.set_yticks([0.6, 2.25], ["attention", "feed-forward"])
    axes.set_xticks([i + 0.4 for i in range(blocks)], range(blocks))
    axes.tick_params(length=0)
    axes.grid(visible=False)
    for edge in axes.spines.values():
        edge.set_visible(False)


# ---- counts ----------------------------------------------------------------------------------------------------------


def counts(chapter: Chapter) -> None:
    """Show parameters of all five variants at BERT-base's size: held, trained in the second stage, and on a document's way."""
    walked = {kind: walk(kind) for kind in NAMES}
    base, body, made = walked["plain"], [], dict[str, Result]()
    for kind, one in walked.items():
        numbers = {
            "held": one.held,
            "added to Vanilla": one.held - base.held,
            "trained": one.trained,
            "used for one task": one.seen,
        }
        rows = [row(f"parameters {what}, millions", count / 1e6, BERT.num_hidden_layers, NAMES[kind],
                    "of BERT-base’s size, without the unused pooler", asdict(BERT)) for what, count in numbers.items()]  # fmt: skip
        recorded = chapter.record(rows)
        made[kind] = recorded[1]
        body.append([NAMES[kind], *(chapter.number(one, 1) for one in recorded)])
    chapter.show(
        report.table(
            ["Variant", "held", "added to Vanilla", "trained", "used for one task"], body,
            "Parameters in millions at BERT-base’s size, counted in the modules: held by the model, added to Vanilla, "
            "trained in the second stage (of Vanilla: in its only one), and used for one task, by its documents and its "
            "instruction",
            [["", *["live"] * 4]] * len(body),
        )
    )  # fmt: skip
    ratio = walked["ffn_experts"].held - base.held, walked["mha_experts"].held - base.held
    chapter.say(
        f"Experts add {chapter.number(made['mha_experts'], 1)} (MHAExpert) and {chapter.number(made['ffn_experts'], 1)} "
        f"million parameters (FFNExpert, {ratio[0] / ratio[1]:.1f} times as many): copies for {len(BY_TASK) - 1} further "
        "tasks, as the dense sub-layer that three copies stand in for serves nobody. A document goes through one of them, "
        "so a pass costs what Vanilla’s does; an instruction is encoded once a batch, but every document attends to its "
        f"tokens in every block. What Prefix adds is a copy of {BERT.num_hidden_layers - 1} of the {BERT.num_hidden_layers} "
        "blocks, as no document would see the last one’s output, and the vectors of its instructions’ tokens."
    )


# ---- the routing, tested ---------------------------------------------------------------------------------------------


def routing(chapter: Chapter) -> None:
    """Show, on a small model of twelve blocks, what changing one task's expert does to each task's vectors of one document."""
    body = []
    for kind in EXPERTS:
        start, moved = tried(kind)
        rows = [row("largest difference to the dense model at the start", max(start.values()), len(start), NAMES[kind],
                    "random weights, one document", asdict(SMALL))]  # fmt: skip
        rows += [row(f"largest change of {task} when search’s expert changes", value, SMALL.hidden_size, NAMES[kind],
                     "random weights, one document", asdict(SMALL)) for task, value in moved.items()]  # fmt: skip
        body.append([NAMES[kind], *(chapter.number(one, 3) for one in chapter.record(rows))])
        if any(start.values()) or any(value for task, value in moved.items() if task != BY_TASK[0]):
            chapter.note(
                f"{NAMES[kind]}: experts do not start as copies of the dense part, or a task’s vectors depend on another task’s."
            )
    chapter.show(
        report.table(
            ["Variant", "at the start", *BY_TASK], body,
            "Routing tried on one document and a small model with random weights: the largest difference in any coordinate of "
            "its vector, at the start from the dense model’s (over all tasks), then by task from before search’s experts alone "
            "were changed", [["", *["live"] * 4]] * len(body),
        )
    )  # fmt: skip


def tried(kind: str) -> tuple[dict[str, float], dict[str, float]]:
    """Return, by task, the largest difference of a coordinate: to the dense model at the start, and after search's expert moved."""
    with torch.random.fork_rng(devices=[]), torch.no_grad():
        torch.manual_seed(0)
        trunk, made = _made(kind, SMALL)
        model = Conditioned(trunk, made).eval()
        dense = Conditioned(trunk, conditioning("plain", trunk, BY_TASK)).eval()
        document = np.random.default_rng(0).integers(5, SMALL.vocab_size, 40).tolist()

        def vectors(of: Conditioned) -> dict[str, torch.Tensor]:
            return {task: of(of.pack([document], [task]))[0] for task in BY_TASK}  # type: ignore[list-item]

        before, plain = vectors(model), vectors(dense)
        for experts in made.experts.values():  # type: ignore[operator]
            for copies in experts.values():
                for parameter in copies[0].parameters():
                    parameter.add_(0.05 * torch.randn_like(parameter))
        after = vectors(model)
    start = {task: float((before[task] - plain[task]).abs().max()) for task in BY_TASK}
    return start, {task: float((after[task] - before[task]).abs().max()) for task in BY_TASK}
