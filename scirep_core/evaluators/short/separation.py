"""Do titles lie apart from title + abstract, and is it length? (textual neighbours, section 5, Figures 2 and 8.)

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

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scirep_core.evaluators.neighbourhoods import half_width, similarities
from scirep_core.evaluators.rows import Floats, unit
from scirep_core.evaluators.search import Pool
from scirep_core.evaluators.short import Texts
from scirep_core.results import Result
from scirep_core.results.statistics import fisher

FOLDS, NEAREST = 5, 10
LINE, TITLES, WHOLES = "T against T+A, %", "titles among a title's 10 nearest, %", "T+A among a T+A's 10 nearest, %"
PIECES = "pieces of abstracts taken for titles, %"
COSINES = ("cosine within T", "cosine within T+A", "cosine between T and T+A", "cosine of T and own T+A")
LENGTHS = ("words of the abstract", "words of the title", "share of the title in the words")
SPEARMAN = "spearman of own cosine with "


def measure(texts: Texts) -> list[Result]:
    """Return how apart titles and whole texts are, and how far length explains it."""
    return [*_line(texts, _pieces(texts)), *_nearest(texts), *_cosines(texts), *_lengths(texts)]


# ---- a line between them ---------------------------------------------------------------------------------------------


def _pieces(texts: Texts) -> tuple[NDArray[np.int64], NDArray[np.floating]]:
    """Return which of the papers that ask have an abstract, as places among them, and the vectors of its first words."""
    places, short = [], []
    for at, paper in enumerate(texts.chosen):
        one = texts.task.papers[texts.ids[paper]]
        if piece := piece_of(one.title, one.abstract):
            places.append(at)
            short.append(piece)
    return np.array(places, dtype=np.int64), texts.short(short)


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
    folds = np.random.default_rng(texts.seed).permutation(n) % min(FOLDS, n)
    right, as_titles = np.zeros(n), np.zeros(len(places))
    for fold in range(min(FOLDS, n)):
        seen, unseen = folds != fold, folds == fold
        model = LinearDiscriminantAnalysis(solver="lsqr", shrinkage="auto")
        model.fit(np.concatenate([titles[seen], wholes[seen]]), np.repeat([1, 0], seen.sum()))
        right[unseen] = (model.predict(titles[unseen]) + 1 - model.predict(wholes[unseen])) / 2
        own = folds[places] == fold
        if own.any():
            as_titles[own] = model.predict(short[own])
    note = f"linear discriminant, shrinkage, {min(FOLDS, n)} folds of papers"
    yield texts.share(LINE, right, "line", note=note)
    if len(places):
        yield texts.share(PIECES, as_titles, "line", note=f"{note}; titles and T+A trained")


# ---- neighbours and cosines ------------------------------------------------------------------------------------------


def _nearest(texts: Texts) -> Iterator[Result]:
    """Yield of titles, and of whole texts, how many of their ten nearest other texts are of the same kind."""
    n, chosen = len(texts.whole), texts.chosen
    pool = np.concatenate([texts.titles, texts.whole])
    k = min(NEAREST, 2 * n - 2)
    for metric, own, start in ((TITLES, texts.titles, 0), (WHOLES, texts.whole, n)):
        # its own two texts are among them, or beyond and then not missed
        found = Pool(pool).nearest(own[chosen], k + 2)
        share = np.array([_of_kind(row[row % n != at][:k], start, n) for row, at in zip(found, chosen, strict=True)])
        yield texts.share(metric, share, "mixing", pool=f"{2 * n - 2} texts")


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

    papers = [texts.task.papers[key] for key in texts.ids]
    title, abstract = (np.array([len(getattr(p, field).split()) for p in papers]) for field in ("title", "abstract"))
    share = title / np.maximum(title + abstract, 1)
    own = np.einsum("ij,ij->i", unit(texts.titles), unit(texts.whole))
    n = len(own)
    for name, lengths in zip(LENGTHS, (abstract, title, share), strict=True):
        if n < 5 or np.ptp(lengths) == 0 or np.ptp(own) == 0:
            continue
        rho = float(spearmanr(own, lengths).statistic)
        low, high = fisher(rho, n, 1.96 * 1.03)  # a rank correlation varies a little more than Pearson's
        yield texts.row(f"{SPEARMAN}{name}", rho, n, "length", low=low, high=high)


# ---- a drawing -------------------------------------------------------------------------------------------------------


def tsne(vectors: NDArray[np.floating], seed: int) -> Floats:
    """Return (n, 2) coordinates of (n, dim) vectors by cosine, the same for the same seed (Figures 2 and 8)."""
    from sklearn.manifold import TSNE

    model: Any = TSNE(metric="cosine", init="pca", perplexity=perplexity(len(vectors)), random_state=seed)
    return np.asarray(model.fit_transform(unit(vectors).astype(np.float32)), dtype=np.float64)


def perplexity(points: int) -> float:
    """Return scikit-learn's default of 30, less where there are few points."""
    return max(1.0, min(30.0, (points - 1) / 3))
