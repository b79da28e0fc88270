"""Chapter `neighbours/short_queries`, clusters: do titles lie apart from title + abstract, and is it length? (Figures 2, 8).

A t-SNE drawing shows two clouds where there are any, but its distances mean little, so four numbers need no drawing:

    line      % of texts that a linear discriminant, trained on other papers, sorts into T and T+A      50: chance
    nearest   % of titles among a title's ten nearest in X u T, its own two texts left out              50: mixed
    cosines   mean over pairs of different papers within T, within T+A, between them; and of a paper's own two texts
    pieces    % of pieces of an abstract, its first words, as many as its title has, that the discriminant takes for titles

The paper explains the clusters by input length. If length alone decided, short pieces of abstracts would be sorted with
titles (100); if only style does, they would stay with T+A (0). And the similarity of a title to its own T+A should fall
with the length of the abstract: Spearman's correlation, whose interval is Fieller's, 1.03 / sqrt(n - 3) on atanh.
"""

from __future__ import annotations

import html
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from scirep_core.evaluators.neighbourhoods import half_width, similarities
from scirep_core.evaluators.rows import spread_of, unit
from scirep_core.evaluators.search import Pool
from scirep_core.exhibits.counting import kinds, of_how_many
from scirep_core.exhibits.neighbours_short_queries import (
    CHAPTER,
    Texts,
    about,
    bullets,
    calls,
    cell,
    cells_of,
    on,
    set_of,
    slug,
    starts,
    systems_of,
)
from scirep_core.exhibits.neighbours_views import settled
from scirep_core.page import report
from scirep_core.page.chapter import Chapter, progress
from scirep_core.results import Result

DRAWN = 200
"""Papers of a t-SNE drawing, two points each: more would hide one another, and take long."""
FOLDS, NEAREST = 5, 10
LINE, TITLES, WHOLES = "T against T+A, %", "titles among a title's 10 nearest, %", "T+A among a T+A's 10 nearest, %"
PIECES = "pieces of abstracts taken for titles, %"
COSINES = ("cosine within T", "cosine within T+A", "cosine between T and T+A", "cosine of T and own T+A")
LENGTHS = ("words of the abstract", "words of the title", "share of the title in the words")
SPEARMAN = "spearman of own cosine with "
Floats = NDArray[np.float64]


def measure(found: Sequence[Texts]) -> list[Result]:
    """Return how apart titles and whole texts are, for every encoder, and how far length explains it."""
    rows: list[Result] = []
    tell = progress("titles against whole texts", "encoders measured")
    for done, texts in enumerate(found, 1):
        rows += [*_line(texts, _pieces(texts)), *_nearest(texts), *_cosines(texts), *_lengths(texts)]
        tell(done, len(found))
    return rows


# ---- a line between them ---------------------------------------------------------------------------------------------


def _pieces(texts: Texts) -> tuple[NDArray[np.int64], NDArray[np.floating]]:
    """Return which of the papers that ask have an abstract, as places among them, and the vectors of its first words."""
    subject, kept, short = texts.subject, [], []
    for at, paper in enumerate(texts.chosen):
        one = subject.task.papers[subject.ids[paper]]
        if piece := piece_of(one.title, one.abstract):
            kept.append(at)
            short.append(piece)
    return np.array(kept, dtype=np.int64), texts.short(short)


def piece_of(title: str, abstract: str) -> str:
    """Return the first words of an abstract, as many as its title has; "" where it has no more than that.

    >>> piece_of("On swarms", "We count bees by hand.")
    'We count'
    """
    words, size = abstract.split(), len(title.split())
    return " ".join(words[:size]) if len(words) > size else ""


def _line(texts: Texts, pieces: tuple[NDArray[np.int64], NDArray[np.floating]]) -> Iterator[Result]:
    """Yield the share a linear discriminant gets right, papers of a fold unseen, and what it takes pieces for."""
    from sklearn.discriminant_analysis import LinearDiscriminantAnalysis  # a second to import

    titles, wholes = unit(texts.titles[texts.chosen]), unit(texts.whole[texts.chosen])
    places, short = pieces[0], unit(pieces[1])
    n = len(titles)
    folds = np.random.default_rng(texts.subject.seed).permutation(n) % min(FOLDS, n)
    right, as_titles = np.zeros(n), np.zeros(len(places))
    for fold in range(min(FOLDS, n)):
        seen, unseen = folds != fold, folds == fold
        model = LinearDiscriminantAnalysis(solver="lsqr", shrinkage="auto")
        model.fit(np.concatenate([titles[seen], wholes[seen]]), np.repeat([1, 0], seen.sum()))
        right[unseen] = (model.predict(titles[unseen]) + 1 - model.predict(wholes[unseen])) / 2
        own = folds[places] == fold
        if own.any():
            as_titles[own] = model.predict(short[own])
    asked = texts.subject.asked()
    note = f"linear discriminant, shrinkage, {min(FOLDS, n)} folds of papers"
    yield texts.row(LINE, 100 * float(right.mean()), n, "line", **spread_of(asked, right), note=note)
    if len(places):
        value = 100 * float(as_titles.mean())
        yield texts.row(
            PIECES, value, len(places), "line", **spread_of(asked, as_titles), note=f"{note}; titles and T+A trained"
        )


# ---- neighbours and cosines ------------------------------------------------------------------------------------------


def _nearest(texts: Texts) -> Iterator[Result]:
    """Yield of titles, and of whole texts, how many of their ten nearest other texts are of the same kind."""
    n, chosen = len(texts.whole), texts.chosen
    pool = np.concatenate([texts.titles, texts.whole])
    k = min(NEAREST, 2 * n - 2)
    for metric, own, start in ((TITLES, texts.titles, 0), (WHOLES, texts.whole, n)):
        found = Pool(pool).nearest(
            own[chosen], k + 2
        )  # its own two texts are among them, or beyond and then not missed
        share = np.array([_of_kind(row[row % n != at][:k], start, n) for row, at in zip(found, chosen, strict=True)])
        spread = spread_of(texts.subject.asked(), share)
        yield texts.row(metric, 100 * float(share.mean()), len(chosen), "mixing", **spread, pool=f"{2 * n - 2} texts")


def _of_kind(row: NDArray[np.int64], start: int, n: int) -> float:
    return float(np.mean((row >= start) & (row < start + n)))


def _cosines(texts: Texts) -> Iterator[Result]:
    """Yield mean cosines of different papers within and between the two kinds, and of a paper's own two texts."""
    titles, wholes = unit(texts.titles), unit(texts.whole)
    n = len(titles)
    if n < 3:
        return
    for metric, vectors in zip(COSINES, (titles, wholes), strict=False):
        found = similarities(vectors)
        yield _with_half(texts, metric, found.mean, half_width(found.means), n)
    own = np.einsum("ij,ij->i", titles, wholes)
    across = [(a @ b.sum(axis=0) - own) / (n - 1) for a, b in ((titles, wholes), (wholes, titles))]
    half = float(1.96 * np.sqrt(sum(means.var(ddof=1) for means in across) / n))
    yield _with_half(texts, COSINES[2], float(across[0].mean()), half, n)
    yield _with_half(texts, COSINES[3], float(own.mean()), float(1.96 * own.std(ddof=1) / np.sqrt(n)), n)


def _with_half(texts: Texts, metric: str, value: float, half: float, n: int) -> Result:
    return texts.row(metric, value, n, "cosines", low=value - half, high=value + half, pool=f"{n} papers")


# ---- length ----------------------------------------------------------------------------------------------------------


def _lengths(texts: Texts) -> Iterator[Result]:
    """Yield Spearman's correlations of the cosine of a title and its own whole text with lengths, over all papers."""
    from scipy.stats import spearmanr  # most of a second to import

    papers = [texts.subject.task.papers[key] for key in texts.subject.ids]
    title, abstract = (np.array([len(getattr(p, field).split()) for p in papers]) for field in ("title", "abstract"))
    share = title / np.maximum(title + abstract, 1)
    own = np.einsum("ij,ij->i", unit(texts.titles), unit(texts.whole))
    n = len(own)
    for name, lengths in zip(LENGTHS, (abstract, title, share), strict=True):
        if n < 5 or np.ptp(lengths) == 0 or np.ptp(own) == 0:
            continue
        rho = float(spearmanr(own, lengths).statistic)
        middle, half = np.arctanh(np.clip(rho, -0.999999, 0.999999)), 1.96 * 1.03 / np.sqrt(n - 3)
        low, high = (float(np.tanh(middle + sign * half)) for sign in (-1, 1))
        yield texts.row(f"{SPEARMAN}{name}", rho, n, "length", low=low, high=high)


# ---- showing ---------------------------------------------------------------------------------------------------------


@report.styled
def draw(chapter: Chapter, found: Sequence[Texts]) -> None:
    """Draw t-SNE of titles and whole texts, one panel an encoder, one figure a collection (TN-F2, TN-F8)."""
    for name in dict.fromkeys(texts.subject.task.name for texts in found):
        own = [texts for texts in found if texts.subject.task.name == name]
        figure, axes = report.subplots(
            1, len(own), figsize=(report.WIDTH, 0.5 + report.WIDTH / max(len(own), 2)), squeeze=False
        )
        frame = []
        for ax, texts in zip(axes[0], own, strict=True):
            chosen = _drawn(texts)
            points = tsne(np.concatenate([texts.titles[chosen], texts.whole[chosen]]), texts.subject.seed)
            halves = points[: len(chosen)], points[len(chosen) :]
            ax.plot(*halves[0].T, "o", markersize=3.2, markerfacecolor="none", markeredgecolor=report.INK,
                    markeredgewidth=0.7, label="title")  # fmt: skip
            ax.plot(*halves[1].T, "o", markersize=3.2, color=report.LIVE, markeredgewidth=0, label="title + abstract")
            ax.set_title(calls(texts.name))
            ax.set_xticks([])
            ax.set_yticks([])
            ax.grid(visible=False)
            for text, half in zip(("T", "T+A"), halves, strict=True):
                ids = (texts.subject.ids[at] for at in chosen)
                frame += [{"encoder": texts.name, "paper": key, "text": text, "x": round(float(x), 1), "y": round(float(y), 1)}
                          for key, (x, y) in zip(ids, half, strict=True)]  # fmt: skip
        axes[0][0].legend(fontsize=8, loc="lower left", bbox_to_anchor=(0, 1.12), ncols=2, handletextpad=0.1)
        papers = len(_drawn(own[0]))
        chapter.figure(
            f"tsne-{slug(name)}", figure, pd.DataFrame(frame),
            f"{html.escape(set_of(name))}, live, {own[0].subject.task.source} data: t-SNE of {papers} papers by cosine, a hollow "
            f"point for the title and a filled one for title + abstract (perplexity {_perplexity(2 * papers):.0f}, started from "
            "principal components). Distances between clouds mean nothing; whether two clouds mix does.",
            f"Scatter plots of titles and title + abstract for {', '.join(calls(t.name) for t in own)}; how far they mix is in the "
            "table of numbers.",
        )  # fmt: skip


def _drawn(texts: Texts) -> NDArray[np.int64]:
    n = len(texts.whole)
    return np.sort(np.random.default_rng(texts.subject.seed).choice(n, min(n, DRAWN), replace=False))


def tsne(vectors: NDArray[np.floating], seed: int) -> Floats:
    """Return (n, 2) coordinates of (n, dim) vectors, the same for the same seed."""
    from sklearn.manifold import TSNE

    model: Any = TSNE(metric="cosine", init="pca", perplexity=_perplexity(len(vectors)), random_state=seed)
    return np.asarray(model.fit_transform(unit(vectors).astype(np.float32)), dtype=np.float64)


def _perplexity(points: int) -> float:
    return max(1.0, min(30.0, (points - 1) / 3))


def separability(chapter: Chapter, rows: Sequence[Result]) -> None:
    """Show how apart the two kinds of text are, without a drawing (TN-C3), and say where they do not overlap."""
    header = ["Encoder", "line", "T near T", "T+A near<br>T+A", "within T", "within<br>T+A", "between", "own pair"]
    for kind, of in kinds(CHAPTER, rows):
        found, body = cells_of(of), []
        for task in dict.fromkeys(r.task for r in of if r.split == "line"):
            for name in systems_of(of, task):
                shares = [
                    found.get((task, name, m, s)) for m, s in ((LINE, "line"), (TITLES, "mixing"), (WHOLES, "mixing"))
                ]
                cosines = [found.get((task, name, m, "cosines")) for m in COSINES]
                label = f"{calls(name)}<br><small>{html.escape(set_of(task))}</small>"
                body.append([label, *(cell(chapter, r, 1) for r in shares), *(cell(chapter, r, 2) for r in cosines)])
        if body:
            n = of_how_many([r for r in of if r.metric == LINE], "papers sorted and asked, all compared")
            caption = (
                f"Titles (T) against title + abstract (T+A), {about(of)}: % that a line sorts right (50 is chance); % of the ten "
                "nearest other texts that are of the same kind (50 is mixed, 100 apart); mean cosines of different papers, and "
                f"of a paper’s own two texts; {n}"
            )
            chapter.show(report.table(header, body, caption, [["", *[kind] * 7]] * len(body)))
            _say_apart(chapter, found)


def _say_apart(chapter: Chapter, found: dict[tuple[str, str, str, str], Result]) -> None:
    apart, mixed, between, lined, wholes = [], [], [], [], []
    for (task, name, metric, _), row in found.items():
        if metric != TITLES:
            continue
        line, whole = found[task, name, LINE, "line"], found[task, name, WHOLES, "mixing"]
        if whole.low is not None and whole.low > 90 and row.value < 75:
            wholes.append(f"{calls(name)}{on(found, task)} ({cell(chapter, whole, 1)} %)")
        if line.low is not None and line.low > 90 and row.value < 75:
            lined.append(calls(name) + on(found, task))
        told = f"{calls(name)}{on(found, task)} ({cell(chapter, row, 1)} %)"
        if row.low is not None and row.low > 90:
            apart.append(told)
        elif row.high is not None and row.high < 55:
            mixed.append(told)
        else:
            between.append(told)
    chapter.say(
        f"Of a title’s ten nearest other texts more than nine are titles, as the drawing of SciBERT in print suggests, with "
        f"{', '.join(apart)}. A drawing of these need not show it: it puts a paper’s two texts side by side, which this number "
        "leaves out."
        if apart
        else "With no encoder here do titles keep to themselves as print suggests of SciBERT.",
        f"Titles prefer titles, but not only them, with {', '.join(between)}." if between else "",
        f"Titles do not prefer titles with {', '.join(mixed)}." if mixed else "",
        f"Whole texts keep to whole texts with {', '.join(wholes)}: titles lie scattered around them."
        if wholes
        else "",
        f"With {', '.join(lined)} a line tells the kinds apart although the neighbours mix: in many dimensions one consistent "
        "direction is enough for a line, and a cosine hardly sees it."
        if lined
        else "",
    )


def length_table(chapter: Chapter, rows: Sequence[Result]) -> None:
    """Show how far input length explains the clusters (TN-C3): pieces of abstracts, and correlations with lengths."""
    header = [
        "Encoder",
        "pieces taken<br>for titles, %",
        *(f"with {name.replace(' of ', '<br>of ', 1)}" for name in LENGTHS),
    ]
    for kind, of in kinds(CHAPTER, rows):
        found, body = cells_of(of), []
        for task in dict.fromkeys(r.task for r in of if r.split == "length"):
            for name in systems_of(of, task):
                pieces = found.get((task, name, PIECES, "line"))
                own = [found.get((task, name, f"{SPEARMAN}{what}", "length")) for what in LENGTHS]
                label = f"{calls(name)}<br><small>{html.escape(set_of(task))}</small>"
                body.append([label, cell(chapter, pieces, 1), *(cell(chapter, r, 2) for r in own)])
        if body:
            caption = (
                f"Is it length? {about(of).capitalize()}: % of abstracts’ first words, as many as the title has, that the line "
                "takes for titles; Spearman’s correlation of the cosine of a title and its own whole text with lengths in words, "
                f"{of_how_many([r for r in of if r.split == 'length'], 'papers')}; 95 % intervals"
            )
            chapter.show(report.table(header, body, caption, [["", *[kind] * 4]] * len(body)))
            _say_length(chapter, found)


def _say_length(chapter: Chapter, found: dict[tuple[str, str, str, str], Result]) -> None:
    items = []
    for (task, name, metric, _), row in found.items():
        if metric != PIECES or row.low is None or row.high is None:
            continue
        which = (
            "length decides more than style: short pieces of abstracts count as titles"
            if row.low > 50
            else "style decides more than length: short pieces of abstracts do not count as titles"
            if row.high < 50
            else "length and style weigh about the same"
        )
        share = found.get((task, name, f"{SPEARMAN}{LENGTHS[2]}", "length"))
        near = {1: "the nearer the larger its share of the words", -1: "the farther the larger its share of the words",
                0: "no nearer or farther for its share of the words"}  # fmt: skip
        tail = f"; a title is {near[settled(share)]} ({cell(chapter, share, 2)})" if share else ""
        items.append(f"{starts(name)}{on(found, task)}: {which} ({cell(chapter, row, 1)} %){tail}")
    bullets(chapter, "What follows", items)
