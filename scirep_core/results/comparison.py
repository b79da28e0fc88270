"""Comparing systems: over training seeds, over test rows, over tasks (SciRepEval 6, appendix G; v1 appendix F).

seeds    one-way ANOVA, then Tukey's test of all pairs (v1 Table 2, v2 Table 2): with k groups of n_i values, N in all,
             F = [sum n_i (mean_i - mean)^2 / (k - 1)] / s^2,     s^2 = sum (x_ij - mean_i)^2 / (N - k)
             q_ij = |mean_i - mean_j| / sqrt(s^2 / 2 (1 / n_i + 1 / n_j)) against the studentised range of k and N - k
         the papers underline what is not significantly different from the best: `Tukey.tied_with_best`
rows     paired bootstrap: two encoders' rows of one task resample the same test rows draw by draw (Result.replicates), so
         the difference of their bootstrap values needs no assumption; of averages likewise
tasks    Pearson correlation of two tasks over systems, tasks ordered by average linkage on 1 - r for the heat map
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import scipy
from numpy.typing import NDArray

from scirep_core.kit.errors import ConfigError, nearest
from scirep_core.kit.formats import SIMILARITIES
from scirep_core.results import Result
from scirep_core.results.differences import difference_of, versus

if TYPE_CHECKING:
    import pandas

Floats = NDArray[np.float64]
NODES, WEIGHTS = np.polynomial.legendre.leggauss(96)


# -------------------------------------------------------------------------------------------------------------- seeds


class Pair(NamedTuple):
    """Tukey's comparison of two groups: mean of `first` minus mean of `second`, its family-wise interval, q and q's df."""

    first: str
    second: str
    difference: float
    low: float
    high: float
    q: float
    groups: int
    df: int

    @property
    def p(self) -> float:
        """Return the adjusted p."""
        return studentised_range(self.q, self.groups, self.df)


class Tukey(NamedTuple):
    """One-way ANOVA and Tukey's test.

    Attributes:
        f, p: of the ANOVA; degrees of freedom `df` = (groups - 1, values - groups).
        means, sizes: mean and number of values of each group, in the given order.
        variance: s^2, within groups.
        alpha: family-wise level of the intervals and of `tied_with_best`.
    """

    f: float
    p: float
    df: tuple[int, int]
    means: dict[str, float]
    sizes: dict[str, int]
    variance: float
    alpha: float

    def pair(self, first: str, second: str) -> Pair:
        """Return the comparison of two groups. Raises ConfigError for an unknown group, or one with itself."""
        for name in (first, second):
            if name not in self.means:
                raise ConfigError(f"no group {name!r}; {nearest(name, self.means)}")
        if first == second:
            raise ConfigError(f"{first!r} is compared with itself")
        groups, df = len(self.means), self.df[1]
        gap = self.means[first] - self.means[second]
        error = math.sqrt(self.variance / 2 * (1 / self.sizes[first] + 1 / self.sizes[second]))
        half = error * _critical(self.alpha, groups, df)
        return Pair(first, second, gap, gap - half, gap + half, abs(gap) / error, groups, df)

    @property
    def pairs(self) -> tuple[Pair, ...]:
        """Return every two groups once."""
        return tuple(self.pair(*names) for names in itertools.combinations(self.means, 2))

    @property
    def best(self) -> str:
        """Return the group of the highest mean."""
        return max(self.means, key=lambda name: self.means[name])

    @property
    def tied_with_best(self) -> set[str]:
        """Return the other groups that do not differ significantly from the best: what the papers underline."""
        return {name for name in self.means if name != self.best and self.pair(self.best, name).low < 0}


@functools.lru_cache
def _critical(alpha: float, groups: int, df: int) -> float:
    return float(scipy.stats.studentized_range.ppf(1 - alpha, groups, df))


def studentised_range(q: float, groups: int, df: int) -> float:
    """Return the chance that the range of `groups` standard normals, over an independent s of `df`, exceeds q.

    Gauss and Legendre's quadrature of both integrals, the outer one over the logarithm of s: scipy's adaptive one, its equal to
    eight decimals, takes forty times as long, and a page asks for thousands. With two values a group, df is 2 or more.
    """
    low, high = np.log(scipy.special.chdtri(df, (1 - 1e-15, 1e-15))) / 2
    log_chi, of_chi = (high - low) / 2 * NODES + (high + low) / 2, (high - low) / 2 * WEIGHTS
    density = np.exp((1 - df / 2) * math.log(2) - math.lgamma(df / 2) + df * log_chi - np.exp(2 * log_chi) / 2)
    z, of_z = 9 * NODES, 9 * WEIGHTS * np.exp(-((9 * NODES) ** 2) / 2) / math.sqrt(2 * math.pi)
    above = scipy.special.ndtr(z - (q / math.sqrt(df) * np.exp(log_chi))[:, None])
    within = groups * (scipy.special.ndtr(z) - above) ** (groups - 1) @ of_z
    return float(np.clip((of_chi * density) @ (1 - within), 0, 1))


def anova_tukey(groups: Mapping[str, Sequence[float]], alpha: float = 0.05) -> Tukey:
    """Return one-way ANOVA and Tukey's HSD (unequal sizes after Kramer) of values by group.

    Args:
        groups: name -> one value a seed, two or more.
        alpha: family-wise level of the intervals and of `tied_with_best`.

    Raises ConfigError for fewer than two groups, a group of fewer than two values, a value that is no finite number, or
    values that vary within no group.
    """
    if len(groups) < 2:
        raise ConfigError(f"a comparison needs two groups or more, not {len(groups)}")
    values = {name: np.asarray(list(group), dtype=np.float64) for name, group in groups.items()}
    for name, group in values.items():
        if len(group) < 2:
            raise ConfigError(f"group {name!r} has {len(group)} value; ANOVA needs two seeds or more of each")
        if not np.isfinite(group).all():
            raise ConfigError(f"group {name!r} holds {group[~np.isfinite(group)][0]}, not a finite number")
    anova, sizes = scipy.stats.f_oneway(*values.values()), {name: len(group) for name, group in values.items()}
    df = (len(values) - 1, sum(sizes.values()) - len(values))
    within = sum(float(np.var(group)) * len(group) for group in values.values()) / df[1]
    if within == 0:
        raise ConfigError("no group varies over its seeds: there is no spread to test differences against")
    means = {name: float(group.mean()) for name, group in values.items()}
    return Tukey(float(anova.statistic), float(anova.pvalue), df, means, sizes, within, alpha)


def values_of(mean: float, sd: float, n: int = 5) -> Floats:
    """Return n values of exactly this mean and standard deviation (divisor n - 1).

    ANOVA and Tukey's test see a group's size, mean and standard deviation alone, so that the tests of a table that prints
    these (v1 and v2 Table 2: five seeds) can be computed again without the runs.

    >>> [round(float(v), 3) for v in values_of(70.0, 1.0, 2)]
    [69.293, 70.707]
    """
    if n < 2 or not sd >= 0:
        raise ConfigError(f"n = {n} and sd = {sd}: need two values or more, and a standard deviation of 0 or more")
    spread = np.linspace(-1, 1, n)
    return np.asarray(mean + sd * spread / spread.std(ddof=1))


# --------------------------------------------------------------------------------------------------------------- rows


class Difference(NamedTuple):
    """First minus second: points on the 0-100 scale, 95 % bootstrap interval, two-sided p.

    p is twice the smaller share of draws on one side of 0, the observed value counted on both:
    2 min(1 + #{d <= 0}, 1 + #{d >= 0}) / (1 + draws), at most 1.
    """

    value: float
    low: float
    high: float
    p: float
    n: int


PAIRED = ("task", "split", "metric", "protocol", "n", "seed", "data_hash", "source")
"""What two rows must share for their draws to be of the same test rows."""


def paired_bootstrap(first: Result, second: Result) -> Difference:
    """Return the difference of two systems' rows of one task, split and metric.

    Rows of the same vectors (equal encoder and fingerprint) may differ in similarity and back end: this is a comparison of
    those. Rows scored with papers missing are paired where they are known to be of the same queries: the same vectors, or
    equal keys of `by_query`.

    Raises ConfigError where the rows are not of the same question on the same data, or have no bootstrap values.
    """
    same = (first.encoder, first.fingerprint) == (second.encoder, second.fingerprint)
    shared: list[tuple[Any, ...]] = [(name, getattr(first, name), getattr(second, name)) for name in PAIRED]
    if not same:
        shared.append(("intercept", *(row.parameters.get("intercept", True) for row in (first, second))))
    if not same and {first.similarity, second.similarity} <= set(SIMILARITIES):
        shared.append(("similarity", first.similarity, second.similarity))  # a scorer of pairs (BM25) has its own
    unlike = [f"{name} is {a} and {b}" for name, a, b in shared if a != b]
    alike = first.metric != "average" and first.by_query and set(first.by_query) == set(second.by_query)
    if not (same and first.fingerprint) and (_incomplete(first) or _incomplete(second)) and not alike:
        covered = f"coverage {_covered(first)} and {_covered(second)}"
        unlike.append(
            f"papers were dropped ({covered}), so their draws may be of other queries. Score both with all vectors"
        )
    if unlike:
        raise ConfigError(f"{first.encoder} and {second.encoder} cannot be paired on {first.task}: {unlike[0]}")
    for row in (first, second):
        if row.replicates is None:
            raise ConfigError(
                f"{row.encoder}, {row.task}, {row.split}, {row.metric}: no bootstrap values. Score it again"
            )
    assert first.replicates is not None and second.replicates is not None
    sizes = len(first.replicates), len(second.replicates)
    if sizes[0] != sizes[1]:
        raise ConfigError(f"{first.task}: {sizes[0]} and {sizes[1]} bootstrap values cannot be paired")
    drawn = first.replicates.astype(np.float64) - second.replicates.astype(np.float64)
    low, high = np.quantile(drawn, [0.025, 0.975])
    least = min(np.count_nonzero(drawn <= 0), np.count_nonzero(drawn >= 0))
    p = float(min(1.0, 2 * (1 + least) / (1 + len(drawn))))
    return Difference(first.value - second.value, float(low), float(high), p, first.n)


def paired(first: Iterable[Result], second: Iterable[Result]) -> list[Result]:
    """Return first minus second as rows, for every score of one task, split and metric that both systems have.

    Such a row says what it is against; its interval is of bootstrap values that both sides share, its note has p. Rows
    without bootstrap values are passed over. Raises ConfigError as `paired_bootstrap` does.
    """
    others = {(row.task, row.split, row.metric): row for row in second}
    made = []
    for row in first:
        other = others.get((row.task, row.split, row.metric))
        if other is None or row.replicates is None or other.replicates is None:
            continue
        gap = paired_bootstrap(row, other)
        made.append(replace(
            row, metric=f"{row.metric}, {difference_of(row.encoder)} and {other.encoder}", value=gap.value, low=gap.low,
            high=gap.high, note=f"p = {gap.p:.3g}", replicates=None, similarity="", against=other.encoder,
            encoder=versus(row.encoder, other.encoder), by_query={},
        ))  # fmt: skip
    return made


def _incomplete(row: Result) -> bool:
    """Return whether papers were dropped; an average's own coverage counts units too, which are compared elsewhere."""
    covered = row.parameters.get("lowest_coverage", 1.0) if row.metric == "average" else row.coverage
    return covered is not None and covered < 1


def _covered(row: Result) -> str:
    return "unknown" if row.coverage is None else f"{row.coverage:.3f}"


def average_difference(first: Sequence[Result], second: Sequence[Result], split: str = "all") -> Difference:
    """Return the difference of two systems' averages (rows of `suites.averages`), by default over all units.

    Raises ConfigError where an average is not there, or the two are over different units or data.
    """
    pair = [_average(rows, split) for rows in (first, second)]
    units = [set(row.by_query) for row in pair]
    if units[0] != units[1]:
        only = ", ".join(sorted(units[0] ^ units[1])[:5])
        raise ConfigError(f"averages of {pair[0].encoder} and {pair[1].encoder} are over different units: {only}")
    return paired_bootstrap(*pair)


def _average(rows: Sequence[Result], split: str) -> Result:
    found = [row for row in rows if row.metric == "average" and row.split == split]
    if len(found) != 1:
        splits = [row.split for row in rows if row.metric == "average"]
        raise ConfigError(f"{len(found)} averages of split {split!r}; {nearest(split, splits)}")
    return found[0]


# -------------------------------------------------------------------------------------------------------------- tasks


def correlations(table: pandas.DataFrame) -> pandas.DataFrame:
    """Return the Pearson correlations between tasks over systems.

    Args:
        table: one row a system, one column a task, values on any scale.

    Raises ConfigError for fewer than three systems, a missing value, or a task on which all systems score the same.
    """
    if len(table) < 3:
        raise ConfigError(f"correlations need three systems or more, not {len(table)}")
    for task in table.columns:
        values = table[task].to_numpy(dtype=np.float64)
        if not np.isfinite(values).all():
            system = table.index[int(np.flatnonzero(~np.isfinite(values))[0])]
            raise ConfigError(f"{system} has no value on {task}. Leave the system or the task out")
        if math.isclose(float(np.ptp(values)), 0, abs_tol=1e-12):
            raise ConfigError(f"all {len(table)} systems score {values[0]:g} on {task}: no correlation. Leave it out")
    return table.astype("float64").corr(method="pearson")


def cluster_order(correlation: pandas.DataFrame) -> list[int]:
    """Return positions of tasks (of `correlations`) such that similar ones are neighbours: average linkage on 1 - r."""
    from scipy.cluster.hierarchy import leaves_list, linkage
    from scipy.spatial.distance import squareform

    matrix = correlation.to_numpy(dtype=np.float64)
    if len(matrix) < 3:
        return list(range(len(matrix)))
    distances = np.clip(1 - (matrix + matrix.T) / 2, 0, 2)
    np.fill_diagonal(distances, 0)
    tree = linkage(squareform(distances, checks=False), method="average", optimal_ordering=True)
    return [int(i) for i in leaves_list(tree)]
