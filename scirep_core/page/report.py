"""Tables and figures in one visual language: published hollow grey, recorded solid dark, live in the accent colour.

Figures are matplotlib, saved as SVG whose colours are CSS variables of the page, so that one file is right in light
and dark mode, prints, and still shows on its own (every variable has a fallback). Text stays text: it can be searched,
selected and read aloud. Nothing here computes a result; it only lays out rows that exist.
"""

from __future__ import annotations

import html
import io
import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# drawn colour -> (CSS variable, colour where no page defines it); the drawn ones only need to be unique
INK, MUTED, GRID, PAPER = "#010203", "#040506", "#070809", "#0a0b0c"
PUBLISHED, RECORDED, LIVE, FLOOR = "#0d0e0f", "#101112", "#131415", "#161718"
SERIES = ("#191a1b", "#1c1d1e", "#1f2021", "#222324", "#252627", "#28292a")
VARIABLES: dict[str, tuple[str, str]] = {
    INK: ("--scirep-ink", "#1f2328"),
    MUTED: ("--scirep-muted", "#59636e"),
    GRID: ("--scirep-grid", "#d1d9e0"),
    PAPER: ("--scirep-paper", "#ffffff"),
    PUBLISHED: ("--scirep-published", "#6e7781"),
    RECORDED: ("--scirep-recorded", "#1f2328"),
    LIVE: ("--scirep-live", "#0969da"),
    FLOOR: ("--scirep-floor", "#8c959f"),
    **{
        colour: (f"--scirep-c{i}", fallback)
        for i, (colour, fallback) in enumerate(
            zip(SERIES, ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#b58900", "#56b4e9"), strict=True), start=1
        )
    },
}
STYLE: Any = {
    "svg.fonttype": "none",
    "svg.hashsalt": "scirep",
    "figure.facecolor": "none",
    "axes.facecolor": "none",
    "savefig.facecolor": "none",
    "text.color": INK,
    "axes.labelcolor": INK,
    "axes.edgecolor": MUTED,
    "xtick.color": MUTED,
    "ytick.color": MUTED,
    "xtick.labelcolor": INK,
    "ytick.labelcolor": INK,
    "grid.color": GRID,
    "axes.grid": True,
    "axes.axisbelow": True,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "font.size": 10,
    "axes.titlesize": 11,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "legend.frameon": False,
    "lines.markersize": 6,
    "figure.constrained_layout.use": True,
}


WIDTH = 7.2
"""Width of a full figure in inches: the text column, so that nothing is scaled and 10 points stay 10 points."""


styled = mpl.rc_context(STYLE)
"""Decorator of a function that draws: inside it, and nowhere else in the process, everything is drawn in the book's style."""


def subplots(*args: Any, **kwargs: Any) -> tuple[Figure, Any]:
    """Return matplotlib's subplots. Raises RuntimeError outside a `styled` function: what is drawn next would look otherwise."""
    if mpl.rcParams["text.color"] != INK:
        raise RuntimeError("report.subplots: decorate the function that draws with @report.styled")
    return plt.subplots(*args, **kwargs)


def svg(figure: Figure, name: str, alt: str) -> str:
    """Return a figure as inline SVG with a title for screen readers, ids that no other figure shares, no dates."""
    buffer = io.StringIO()
    with mpl.rc_context(STYLE):
        figure.savefig(buffer, format="svg", metadata={"Date": None, "Creator": None})
    plt.close(figure)
    text = buffer.getvalue()
    text = text[text.index("<svg") :]
    for drawn, (variable, fallback) in VARIABLES.items():
        text = text.replace(drawn, f"var({variable}, {fallback})")
    text = re.sub(r"font-family: [^;\"]+", "font-family: var(--pst-font-family-base, sans-serif)", text)
    # two figures on one page must not share ids, or the second would borrow the first one's clip paths
    text = re.sub(r'\bid="([^"]+)"', rf'id="{name}-\1"', text)
    text = re.sub(r'(href="#|url\(#)', rf"\1{name}-", text)
    # the drawing's metadata block says nothing a reader needs
    text = re.sub(r"<metadata>.*?</metadata>", "", text, flags=re.DOTALL)
    label = f'role="img" aria-labelledby="{name}-alt"'
    return text.replace("<svg ", f"<svg {label} ", 1).replace(
        ">", f'><title id="{name}-alt">{html.escape(alt)}</title>', 1
    )


def table(
    header: Sequence[str],
    rows: Sequence[Sequence[str]],
    caption: str,
    classes: Sequence[Sequence[str]] | None = None,
    groups: Sequence[str] = (),
) -> str:
    """Return an HTML table; cells are HTML, the first column holds row headers, `classes` one class per cell.

    `groups` names the columns after the first in groups of equal width, in a header row of their own.
    """
    kinds = classes[0] if classes else [""] * len(header)
    left = ["text" in kind.split() for kind in kinds]  # a head stands over its texts
    head = "".join(f'<th scope="col"{" class=text" * of}>{cell}</th>' for cell, of in zip(header, left, strict=True))
    if groups:
        span = (len(header) - 1) // len(groups)
        over = "".join(f'<th scope="colgroup" colspan="{span}" class="group">{name}</th>' for name in groups)
        head = f"<td></td>{over}</tr><tr>{head}"
    body = []
    for i, row in enumerate(rows):
        cells = [f'<th scope="row">{row[0]}</th>']
        for j, cell in enumerate(row[1:], start=1):
            name = classes[i][j] if classes else ""
            cells.append(f'<td class="{name}">{cell}</td>' if name else f"<td>{cell}</td>")
        body.append(f"<tr>{''.join(cells)}</tr>")
    return (
        f'<div class="scirep-scroll"><table class="scirep-table"><caption>{caption}</caption>'
        f"<thead><tr>{head}</tr></thead><tbody>{''.join(body)}</tbody></table></div>"
    )


def thousands(cell: str, years: bool = False) -> str:
    """Return a cell with thousands set apart in the numbers it shows; addresses and titles stay as they are.

    Args:
        cell: HTML.
        years: whether 1900 to 2099 may be years, which stay as they are.
    """
    rest = r"(?!(?:19|20)\d\d<)" if years else ""
    return re.sub(rf">{rest}(\d{{4,}})(?=[<.])", lambda match: f">{int(match[1]):,}", cell)


def minus(page: str) -> str:
    """Return HTML in which the sign of a negative number is a minus, not a hyphen; code and attributes stay as they are.

    >>> minus('<a title="-1">-4.7</a> (-8.2 to -1.1) <code>x[-1]</code> 2018-19').encode("ascii", "xmlcharrefreplace")
    b'<a title="-1">&#8722;4.7</a> (&#8722;8.2 to &#8722;1.1) <code>x[-1]</code> 2018-19'
    """
    kept = r"(?s:<(code|pre|script|style)\b.*?</\1>|<[^>]*>)"
    return re.sub(rf"{kept}|(?<![\w.-])-(?=\d)", lambda match: "\u2212" if match[0] == "-" else match[0], page)


def interval(low: float | None, high: float | None, decimals: int = 1) -> str:
    """Return a small grey `low to high`, empty where there is no interval."""
    if low is None or high is None:
        return ""
    places = decimals if max(abs(low), abs(high)) > 2 else 2  # coefficients need two
    return f'<span class="ci">{low:.{places}f} to {high:.{places}f}</span>'


MARKS: dict[str, dict[str, Any]] = {
    "published": {"marker": "o", "markerfacecolor": PAPER, "markeredgecolor": PUBLISHED, "markeredgewidth": 1.6},
    "recorded": {"marker": "o", "color": RECORDED},
    "counted": {"marker": "|", "color": MUTED, "markersize": 11, "markeredgewidth": 2.2},
    "live": {"marker": "D", "color": LIVE, "markersize": 5.5},
    "invented": {"marker": "D", "markerfacecolor": PAPER, "markeredgecolor": LIVE, "markersize": 5.5},
}


def colour_of(mark: Mapping[str, Any]) -> str:
    """Return the colour of a mark's interval: its own, of a hollow one its edge."""
    return str(mark.get("color", mark.get("markeredgecolor")))


def dots(
    axes: Axes, marks: pd.DataFrame, ticks: Sequence[str] = (), looks: Mapping[Any, Mapping[str, Any]] | None = None
) -> None:
    """Draw a dot plot: a line of `marks` is a mark with its interval, marks of several series stand one below the other.

    Args:
        marks: `line`, in the order from the top (or `row`, its number), and `value`; `low` and `high` where there are
            intervals; `series`, where there are several; `look`, where that is not the series.
        ticks: names of the rows, unless they are the lines.
        looks: look -> how matplotlib draws it, its label in the legend among it; otherwise shapes and colours in turn.
    """
    names = list(dict.fromkeys(marks["line"]))
    rows = marks["row"] if "row" in marks else marks["line"].map(names.index)
    series = marks["series"] if "series" in marks else marks["value"] * 0
    kinds = marks.get("look", series)
    order = list(dict.fromkeys(series))
    shift = np.array([(order.index(one) + 0.5) / len(order) - 0.5 for one in series]) / 2
    y = rows + shift * (series.groupby(rows).transform("nunique") > 1)  # a mark alone in its row stands on its tick
    for number, kind in enumerate(dict.fromkeys(kinds)):
        of = np.array([one == kind for one in kinds])
        marker, colour = "osDPXh"[number % 6], SERIES[number % len(SERIES)]
        look = (looks or {}).get(kind) or {"marker": marker, "color": colour, "label": kind}
        if "low" in marks:
            low, high = (marks[end][of].astype(float) for end in ("low", "high"))
            axes.hlines(y[of], low, high, color=colour_of(look), linewidth=1.2)
        axes.plot(marks["value"][of], y[of], linestyle="none", clip_on=False, **look)
    axes.set_yticks(range(len(ticks or names)), ticks or names)
    axes.set_ylim(len(ticks or names) - 0.4, -0.6)
    axes.grid(axis="y", visible=False)


def heat(
    axes: Axes,
    values: NDArray[np.float64],
    rows: Sequence[str],
    columns: Sequence[str],
    signed: bool = False,
    decimals: int = 0,
    shown: NDArray[np.float64] | None = None,
    **more: Any,
) -> None:
    """Draw a matrix as seaborn's heat map, each cell with its number: legible without colour. NaN is left empty.

    Opacity grows with the value, of a `signed` matrix with its distance from 0: blue above, vermilion below.

    Args:
        decimals: of the numbers.
        shown: other numbers for the cells, where colours are differences.
    """
    import seaborn as sns

    top = float(np.nanmax(np.abs(values))) or 1.0
    ends = (SERIES[1], SERIES[0]) if signed else (LIVE,)
    sns.heatmap(
        values, vmin=-top if signed else 0, vmax=top, cmap=_ramp(ends), annot=True if shown is None else shown,
        fmt=f".{decimals}f", square=True, cbar=False,
        linewidths=1.5, linecolor=PAPER, xticklabels=list(columns), yticklabels=list(rows), ax=axes,
        annot_kws={"color": INK, "fontsize": 9} | more,
    )  # fmt: skip
    axes.tick_params(length=0, rotation=0)
    axes.grid(visible=False)


def _ramp(ends: Sequence[str]) -> mpl.colors.ListedColormap:
    strengths = np.linspace(0.03, 0.6, 64)
    last = [mpl.colors.to_rgba(ends[-1], alpha) for alpha in strengths]
    first = [mpl.colors.to_rgba(ends[0], alpha) for alpha in strengths[::-1]] if len(ends) > 1 else []
    return mpl.colors.ListedColormap(first + last)
