"""What a type of textual neighbour does to a collection's vectors, as rows: by code and by category (sections 6.1-6.3).

    nn1_ret, nn10_ret            % of altered texts that have their original among the 1 or 10 nearest of X
    same_vector                  % of altered texts whose vector is their original's, to rounding
    aop@10, aop@20               % of the 10 or 20 nearest that an altered text and its original share, among f(X) u X
    inter_mean, _sd, _min, _max  cosines of all pairs of altered texts, inter_skew their skewness; above_mean, % of pairs above
                                 the mean

A category's value is the mean over its codes; the paper does not say whether it is that or the share over all queries
together, so `nn1_ret_pooled` and its like give the other. Intervals draw papers, the same for every code, so that a
category's takes into account that its codes alter the same papers; those of cosines come from the documents' own means
(a mean over pairs moves, to first order, twice as much as the mean of the documents drawn).
The split of a row is the code or the category.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from scirep_core.data.perturbations import CATEGORIES, perturbation
from scirep_core.evaluators import neighbourhoods
from scirep_core.evaluators.rows import Asked, Floats, counted, replicates_of_sums, sample, sentence, unit
from scirep_core.evaluators.search import Pool
from scirep_core.results import Result

QUERIES = 2000
"""Papers that overlap is measured on (section 6.3)."""
RETRIEVED = (1, 10)
OVERLAPS = (10, 20)
SAME = 1e-5
"""Distance by cosine up to which vectors count as one: encoders on other processors round differently."""


class Cloud(NamedTuple):
    """Altered texts of one code: (m, dim) vectors, and which of the collection's papers (m,) each comes from."""

    vectors: NDArray[np.floating]
    own: NDArray[np.int64]


Clouds = Mapping[str, Cloud]
Tell = Callable[[int, int], None]


def _told(clouds: Clouds, tell: Tell | None, least: int = 1) -> Iterator[tuple[str, Cloud]]:
    """Yield the codes that have texts, `least` or more, and say how many are done."""
    for done, (code, cloud) in enumerate(clouds.items(), 1):
        if len(cloud.own) >= least:
            yield code, cloud
        if tell:
            tell(done, len(clouds))


def retrieval(asked: Asked, pool: NDArray[np.floating], clouds: Clouds, tell: Tell | None = None) -> list[Result]:
    """Return NN1_Ret and NN10_Ret by code and category, and the median rank by code.

    Args:
        pool: (papers, dim) title + abstract of ALL papers of the collection.
    """
    values: dict[str, dict[str, Floats]] = {f"nn{k}_ret": {} for k in RETRIEVED}
    rows = []
    originals, among = Pool(pool), f"title + abstract of {len(pool)} papers"
    for code, cloud in _told(clouds, tell):
        ranks, _ = originals.ranks(cloud.vectors, cloud.own)
        for k in RETRIEVED:
            values[f"nn{k}_ret"][code] = (ranks <= k).astype(np.float64)
        rows.append(asked.row("median_rank", float(np.median(ranks)), len(ranks), code, pool=among))
    return [row for name, found in values.items() for row in _rows(asked, name, found, clouds, len(pool), among)] + rows


def same_vector(asked: Asked, pool: NDArray[np.floating], clouds: Clouds) -> list[Result]:
    """Return by code the share of altered texts whose vector is that of the original: a change that is not seen."""
    rows = []
    for code, cloud in _told(clouds, None):
        apart = 1 - np.einsum("ij,ij->i", unit(cloud.vectors), unit(pool[cloud.own]))
        rows.append(asked.row("same_vector", 100 * float((apart < SAME).mean()), len(cloud.own), code))
    return rows


class Readings(NamedTuple):
    """Rows of overlap in both readings: each query among its own nearest, or left out."""

    with_self: list[Result]
    without_self: list[Result]


def overlap(
    asked: Asked, pool: NDArray[np.floating], clouds: Clouds, queries: int = QUERIES, tell: Tell | None = None
) -> Readings:
    """Return AOP-10 and AOP-20 by code and category, over at most `queries` papers of each code, drawn."""
    values: list[dict[str, dict[str, Floats]]] = [{f"aop@{k}": {} for k in OVERLAPS} for _ in Readings._fields]
    sampled = {}
    for code, cloud in _told(clouds, tell):
        chosen = sample(len(cloud.own), queries, asked.seed)
        sampled[code] = Cloud(cloud.vectors[chosen], cloud.own[chosen])
        for k, found in neighbourhoods.overlaps(cloud.vectors, pool, cloud.own, chosen, OVERLAPS).items():
            for reading, shares in zip(values, found, strict=True):
                reading[f"aop@{k}"][code] = shares
    among = f"f(X) and X, {len(pool)} papers"
    pools = (among, f"{among}, each query's own vector left out")
    return Readings(*(
        [row for name, found in reading.items() for row in _rows(asked, name, found, sampled, len(pool), pool_)]
        for reading, pool_ in zip(values, pools, strict=True)
    ))  # fmt: skip


COSINES: dict[str, tuple[str, str, int, Callable[[Sequence[float]], float]]] = {
    "inter_mean": ("mean", "means", 1, np.mean), "inter_sd": ("sd", "", 1, np.mean), "inter_min": ("least", "", 1, min),
    "inter_max": ("most", "", 1, max), "inter_skew": ("skewness", "", 1, np.mean), "above_mean": ("above", "aboves", 100, np.mean),
}  # fmt: skip
"""Metric -> of `Similarities` its value, what it is a mean of by document, the factor of both, how codes make a category's."""


def similarity(asked: Asked, clouds: Clouds, tell: Tell | None = None) -> list[Result]:
    """Return mean, sd, minimum and maximum of the cosines within each code's texts, and the share above the mean.

    By category: mean over codes of mean, sd and share, the lowest minimum, the highest maximum. Codes of one text have none.
    """
    found = {code: neighbourhoods.similarities(cloud.vectors) for code, cloud in _told(clouds, tell, 2)}
    rows = []
    spread = {
        metric: _over_pairs(asked, {code: scale * getattr(one, each) for code, one in found.items()}, clouds)
        for metric, (_, each, scale, _) in COSINES.items()
        if each and found
    }
    for code, one in found.items():
        n = len(one.means)
        for metric, (of, each, scale, _) in COSINES.items():
            value, more = scale * getattr(one, of), dict[str, Any]()
            if each:
                half = scale * neighbourhoods.half_width(getattr(one, each))
                more = {"low": value - half, "high": value + half, "replicates": spread[metric][code]}
            rows.append(asked.row(metric, value, n, code, pool=f"{n * (n - 1) // 2} pairs", **more))
    for category, codes in _categories(found).items():
        n = sum(len(found[code].means) for code in codes)
        for metric, (of, each, scale, join) in COSINES.items():
            together = np.mean([spread[metric][code] for code in codes], axis=0) if each else None
            joined = float(join([scale * getattr(found[code], of) for code in codes]))
            rows.append(asked.row(metric, joined, n, category, replicates=together, note=_over(codes)))
    return rows


def _over_pairs(asked: Asked, values: Mapping[str, Floats], clouds: Clouds) -> dict[str, Floats]:
    """Return by code (resamples,) values of a mean over pairs, to first order, from each document's mean over its pairs."""
    papers = 1 + max(int(clouds[code].own.max()) for code in values)
    sums, counts = _sums(values, clouds, papers)
    found = {}
    top, below = (replicates_of_sums(asked, table, "neighbours") for table in (sums, counts))
    for at, (code, own) in enumerate(values.items()):
        mean = float(own.mean())
        means = np.divide(top[:, at], below[:, at], out=np.full(len(top), mean), where=below[:, at] > 0)
        found[code] = mean + 2 * (means - mean)
    return found


# ---- rows ------------------------------------------------------------------------------------------------------------


def _rows(
    asked: Asked, metric: str, values: Mapping[str, Floats], clouds: Clouds, papers: int, pool: str
) -> list[Result]:
    codes = list(values)
    if not codes:
        return []
    sums, counts = _sums(values, clouds, papers)
    top, below = (replicates_of_sums(asked, table, "neighbours") for table in (sums, counts))
    spread = 100 * np.divide(top, below, out=np.full_like(top, np.nan), where=below > 0)
    by_code = {code: 100 * float(np.mean(values[code])) for code in codes}
    rows = []
    for at, code in enumerate(codes):
        few = counted(int(np.isnan(spread[:, at]).sum()), "of 1000 draws had no such paper")
        draw = np.where(np.isnan(spread[:, at]), by_code[code], spread[:, at])
        rows.append(asked.row(metric, by_code[code], len(values[code]), code, replicates=draw, pool=pool, note=few))
    for category, own in _categories(by_code).items():
        columns = [codes.index(code) for code in own]
        n = int(counts[:, columns].sum())
        replicates = np.nanmean(spread[:, columns], axis=1)
        rows.append(asked.row(metric, float(np.mean([by_code[code] for code in own])), n, category,
                              replicates=replicates, pool=pool, note=_over(own)))  # fmt: skip
        together = 100 * top[:, columns].sum(axis=1) / np.maximum(below[:, columns].sum(axis=1), 1)
        value = 100 * float(sums[:, columns].sum() / n)
        rows.append(asked.row(f"{metric}_pooled", value, n, category, replicates=together, pool=pool,
                              note=sentence(_over(own), "all queries together")))  # fmt: skip
    return rows


def _sums(values: Mapping[str, Floats], clouds: Clouds, papers: int) -> tuple[Floats, Floats]:
    """Return (papers used, codes) sums of values and numbers of altered texts; papers without one decide nothing."""
    sums, counts = np.zeros((papers, len(values))), np.zeros((papers, len(values)))
    for at, code in enumerate(values):
        np.add.at(sums[:, at], clouds[code].own, values[code])
        np.add.at(counts[:, at], clouds[code].own, 1)
    used = counts.any(axis=1)
    return sums[used], counts[used]


def _categories(codes: Mapping[str, object]) -> dict[str, list[str]]:
    found = {name: [code for code in codes if perturbation(code).category == name] for name in CATEGORIES}
    return {name: own for name, own in found.items() if own}


def _over(codes: Sequence[str]) -> str:
    return f"over {len(codes)} codes" if len(codes) != 1 else f"{codes[0]} alone"
