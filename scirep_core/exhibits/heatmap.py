"""A matrix of correlations as a picture: squares grow with |r|, colour says the sign, numbers say the rest.

Blue and vermilion are told apart with every kind of colour vision, size without any; both are CSS variables of the page
(report.py), so that the matrix is right in light and dark.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from scirep_core import report

POSITIVE, NEGATIVE = report.SERIES[0], report.SERIES[1]
LEAST = 0.1
"""Smallest side of a square, so that r near 0 still has a mark."""


def draw(values: NDArray[np.float64], names: list[str]) -> Any:
    """Return a figure of a symmetric matrix with values in [-1, 1], NaN left empty.

    Args:
        names: of rows and columns, in order.

    Numbers are hundredths and stand below the diagonal; a task with itself has no mark.
    """
    import matplotlib.patches as patches

    count = len(names)
    side = min(report.WIDTH, 2.2 + 0.27 * count)
    figure, axes = report.subplots(figsize=(side, side))
    for i, j in np.ndindex(values.shape):
        r = float(values[i, j])
        if r != r or i == j:
            continue
        edge = max(LEAST, 0.94 * abs(r) ** 0.5)
        axes.add_patch(patches.Rectangle(
            (j - edge / 2, i - edge / 2), edge, edge, facecolor=POSITIVE if r >= 0 else NEGATIVE, alpha=0.38, linewidth=0
        ))  # fmt: skip
        if i > j:  # the other half has the same numbers
            axes.text(j, i, f"{100 * r:.0f}", ha="center", va="center", fontsize=6.0)
    axes.set_xlim(-0.5, count - 0.5)
    axes.set_ylim(count - 0.5, -0.5)
    axes.set_xticks(range(count), names, rotation=60, ha="right", rotation_mode="anchor", fontsize=7)
    axes.set_yticks(range(count), names, fontsize=7)
    axes.set_aspect("equal")
    axes.grid(visible=False)
    axes.tick_params(length=0)
    for edge_of in axes.spines.values():
        edge_of.set_visible(False)
    for colour, text in ((POSITIVE, "r > 0"), (NEGATIVE, "r < 0")):
        axes.plot([], [], "s", color=colour, alpha=0.6, label=text)
    figure.legend(*axes.get_legend_handles_labels(), loc="outside upper left", ncols=2)
    return figure
