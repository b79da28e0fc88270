"""A matrix of correlations as a picture: colour says the sign, its strength |r|, and numbers say both without colour.

Blue and vermilion are told apart with every kind of colour vision; both are CSS variables of the page (page/report.py), so that
the matrix is right in light and dark.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from scirep_core.page import report

POSITIVE, NEGATIVE = report.SERIES[0], report.SERIES[1]


@report.styled
def draw(values: NDArray[np.float64], names: list[str]) -> Any:
    """Return a figure of a symmetric matrix with values in [-1, 1], NaN left empty: the half below the diagonal.

    Args:
        names: of rows and columns, in order.

    Numbers are hundredths; the other half has the same ones, and a task with itself has none.
    """
    side = min(report.WIDTH, 2.2 + 0.27 * len(names))
    figure, axes = report.subplots(figsize=(side, side))
    below = np.where(np.tri(len(names), k=-1, dtype=bool), 100 * values, np.nan)
    report.heat(axes, below[1:, :-1], names[1:], names[:-1], signed=True, fontsize=6.0)
    axes.set_xticks(axes.get_xticks(), names[:-1], rotation=60, ha="right", rotation_mode="anchor", fontsize=7)
    axes.tick_params(axis="y", labelsize=7)
    for colour, text in ((POSITIVE, "r > 0"), (NEGATIVE, "r < 0")):
        axes.plot([], [], "s", color=colour, alpha=0.6, label=text)
    figure.legend(*axes.get_legend_handles_labels(), loc="outside upper left", ncols=2)
    return figure
