"""Chapter `scirepeval/multi_format`, Figure 1 redrawn: where each way of telling an encoder the task acts (v2 and v1, section 4.1).

The papers draw two ways, control codes and adapters. Here are all ten of the library on one picture of a trunk: two blocks of
attention and feed-forward part, tokens below, the vector that is read above. What the table below the figure says of each is
asked of the conditionings themselves, made on a small trunk.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import matplotlib as mpl
import pandas as pd

from scirep_core.encoders.conditioning.base import CONDITIONINGS, Conditioned, conditioning
from scirep_core.encoders.conditioning.fusion import fuse
from scirep_core.encoders.trunk.bert import Shape, Trunk
from scirep_core.exhibits.scirepeval_multi_format import listed
from scirep_core.kit.formats import FORMATS
from scirep_core.page import report
from scirep_core.page.chapter import Chapter

TITLES = {
    "plain": "MTL CLS", "control_codes": "MTL CTRL", "bottleneck": "Adapters", "fusion": "Fusion", "pals": "PALs",
    "mha_experts": "MHA experts", "ffn_experts": "FFN experts", "prefix": "Prefix", "instruction": "Instruction",
    "one_pass": "one pass",
}  # fmt: skip
OWN = {
    "plain": "nothing",
    "control_codes": "a token after [CLS], which is read",
    "bottleneck": "an adapter after each feed-forward part",
    "fusion": "attention over all formats’ adapters",
    "pals": "a small attention beside each block",
    "mha_experts": "the attention of every other block",
    "ffn_experts": "the feed-forward part of every other block",
    "prefix": "a sentence seen by every layer, read by a trained copy of the trunk",
    "instruction": "a sentence seen by every layer, read by the trunk itself",
    "one_pass": "a token beside the document, which does not see it",
}
FROM = {
    "mha_experts": "SciMult",
    "ffn_experts": "SciMult",
    "prefix": "SciMult",
    "instruction": "SciMult",
    "one_pass": "ours",
}


class Facts(NamedTuple):
    """What a conditioning is, asked of itself.

    Attributes:
        trunk_moves: whether training moves the trunk.
        added: tokens it puts into a document.
        vectors: of a paper, one a format or one for all.
        passes: over a document to have the vectors of all four formats.
    """

    trunk_moves: bool
    added: int
    vectors: int
    passes: int


def facts(kind: str) -> Facts:
    """Return what a conditioning does, from one made on a small trunk."""
    trunk = Trunk(Shape(40, 24, 2, 6, 48, 16))  # words, width, layers, heads, inner width, places
    if kind == "fusion":
        made = fuse(Conditioned(trunk, conditioning("bottleneck", trunk))).conditioning
    else:
        instructions = {"instructions": {name: [1, 5 + i, 2] for i, name in enumerate(FORMATS)}}
        made = conditioning(kind, trunk, FORMATS, **(instructions if kind in ("prefix", "instruction") else {}))
    moved, own = {id(p) for p in made.trained(trunk)}, {id(p) for p in trunk.parameters()}
    several = kind != "plain"
    passes = 1 if made.shared_pass or not several else len(FORMATS)
    return Facts(bool(moved & own), made.added(), len(FORMATS) if several else 1, passes)


# ---- the drawing -----------------------------------------------------------------------------------------------------

TOKENS = (1.2, 2.9, 4.6, 6.3, 8.0)
"""Left edges of the tokens of a document, in a panel 10 wide."""
FORMAT_TOKENS = (0.9, 1.75, 2.6, 3.45)
"""Left edges of the formats' tokens, where they stand beside the document."""
BLOCKS = (2.6, 7.7)
"""Lower edges of the two blocks, in a panel 14 high."""


@report.styled
def figure1(chapter: Chapter) -> None:
    """Draw Figure 1 (V2-F1, V1-F1) for all ten conditionings, with what each is in the table below it."""
    known = {kind: facts(kind) for kind in CONDITIONINGS}
    figure, grid = report.subplots(2, 5, figsize=(report.WIDTH, 4.8))
    for axes, kind in zip(grid.flat, CONDITIONINGS, strict=True):
        _panel(axes, kind, known[kind])
    handles = [
        mpl.patches.Patch(facecolor=report.LIVE, label="a format’s own"),
        mpl.patches.Patch(facecolor="none", edgecolor=report.INK, label="trunk, trained"),
        mpl.patches.Patch(facecolor="none", edgecolor=report.MUTED, linestyle=(0, (3, 2)), label="trunk, frozen"),
        mpl.lines.Line2D([], [], marker="o", linestyle="none", color=report.INK, label="vector of the paper"),
    ]
    figure.legend(handles=handles, loc="outside lower center", ncols=4, fontsize=9)
    frame = pd.DataFrame([
        {"way": TITLES[kind], "from": FROM.get(kind, "SciRepEval"), "a format's own": OWN[kind],
         "trunk": "trained" if one.trunk_moves else "frozen", "vectors a paper": one.vectors,
         "passes for all formats": one.passes, "tokens added": one.added}
        for kind, one in known.items()
    ])  # fmt: skip
    frozen = [TITLES[kind] for kind, one in known.items() if not one.trunk_moves]
    once = [TITLES[kind] for kind, one in known.items() if one.passes == 1]
    chapter.figure(
        "figure-1", figure, frame,
        "Figure 1, drawn anew for all ten ways of telling an encoder the task: two blocks, attention (att) below the "
        f"feed-forward part (ff), tokens of one paper at the bottom. In colour what each format has for itself. {listed(frozen)} "
        f"leave the trunk as it is; {listed(once)} read a paper once, the others once a format.",
        "Ten small diagrams of an encoder of two blocks. "
        + " ".join(f"{TITLES[kind]}: a format's own is {OWN[kind]}." for kind in CONDITIONINGS),
    )  # fmt: skip


def _panel(axes: Any, kind: str, known: Facts) -> None:
    axes.set_xlim(-1.9, 11.6)
    axes.set_ylim(0, 14)
    axes.axis("off")
    axes.set_title(TITLES[kind], fontsize=10, loc="center")
    edge = {"edgecolor": report.INK, "linewidth": 1.1} if known.trunk_moves else {
        "edgecolor": report.MUTED, "linewidth": 1.1, "linestyle": (0, (3, 2))}  # fmt: skip
    beside = kind == "one_pass"
    for i, left in enumerate(TOKENS[2 * beside :]):
        _box(axes, left, 0.8, 1.1, 1.1, own=kind == "control_codes" and i == 1)
    for left in FORMAT_TOKENS if beside else ():
        _box(axes, left, 0.8, 0.6, 1.1, own=True)
    for block, low in enumerate(BLOCKS):
        expert = block == 1  # counted from 0: the second, the fourth ...
        _box(axes, 0.9, low, 8.5, 1.5, "att", kind == "mha_experts" and expert, **edge)
        _box(axes, 0.9, low + 1.9, 8.5, 1.5, "ff", kind == "ffn_experts" and expert, **edge)
        _extra(axes, kind, low)
    places = [left + 0.3 for left in FORMAT_TOKENS] if beside else [TOKENS[kind == "control_codes"] + 0.55]
    for x in places:
        axes.plot([x, x], [11.2 + 1.1 * (kind in ("bottleneck", "fusion")), 13.0], color=report.MUTED, linewidth=1)
        axes.plot([x], [13.2], "o", color=report.INK, markersize=4 if beside else 5.5)
    if beside:  # the document goes to the formats' tokens, nothing goes back
        for low in BLOCKS:
            axes.annotate("", (2.2, low - 0.4), (7.6, low - 0.4),
                          arrowprops={"arrowstyle": "->", "color": report.LIVE, "lw": 1.3})  # fmt: skip


def _extra(axes: Any, kind: str, low: float) -> None:
    """Draw what a conditioning puts into a block."""
    if kind == "bottleneck":
        _box(axes, 3.4, low + 3.75, 3.4, 0.6, own=True)
    elif kind == "fusion":
        for left in (1.3, 3.3, 5.3, 7.3):
            _box(axes, left, low + 3.65, 1.4, 0.42, edgecolor=report.MUTED, linewidth=0.9, linestyle=(0, (3, 2)))
        _box(axes, 1.3, low + 4.2, 7.4, 0.36, own=True)
    elif kind == "pals":
        _box(axes, 9.9, low + 0.4, 1.5, 2.6, own=True)
        for y in (low - 0.25, low + 3.65):
            axes.plot(
                [9.2, 10.65, 10.65], [y, y, low + 0.4 if y < low else low + 3.0], color=report.LIVE, linewidth=1.1
            )
    elif kind in ("prefix", "instruction"):
        _box(axes, -1.6, low, 1.7, 1.5, own=True)
        axes.annotate("", (1.0, low + 0.75), (0.1, low + 0.75),
                      arrowprops={"arrowstyle": "->", "color": report.LIVE, "lw": 1.2})  # fmt: skip
        if low == BLOCKS[0]:
            _box(axes, -1.6, 0.8, 0.75, 1.1, own=True)
            _box(axes, -0.7, 0.8, 0.75, 1.1, own=True)


def _box(
    axes: Any, x: float, y: float, width: float, height: float, text: str = "", own: bool = False, **edge: Any
) -> None:
    drawn = {"facecolor": report.LIVE, "edgecolor": report.LIVE} if own else {
        "facecolor": "none", "edgecolor": report.MUTED, "linewidth": 1.0} | edge  # fmt: skip
    if own and text:  # the text must be legible on the page too, light or dark, so its colour cannot be the page's
        axes.add_patch(mpl.patches.Rectangle((x, y), width, height, facecolor="none", edgecolor=report.LIVE))
        drawn = {"facecolor": report.LIVE, "edgecolor": "none", "alpha": 0.4}
    axes.add_patch(mpl.patches.Rectangle((x, y), width, height, **drawn))
    if text:
        colour = report.INK if own else report.MUTED
        axes.text(x + width / 2, y + height / 2 - 0.05, text, ha="center", va="center", fontsize=8, color=colour)
