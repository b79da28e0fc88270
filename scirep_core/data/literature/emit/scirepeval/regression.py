"""Regression tasks of SciRepEval (section 3, appendix A.4), written from the latents.

    task               target
    cite_count         ln(1 + citations), 4 decimals
    pub_year           year scaled to 0..1, 4 decimals
    peer_review_score  mean of 3 to 5 reviewers' ratings 1..10
    hIndex             highest h-index of the team
    tweet_mentions     mentions + retweets

The oracle of a paper is (expected target, 1): the target as a function of the latents, without chance. Kendall's tau of a
linear model on it is the ceiling, 100 for pub_year alone. Texts show the latents in part: in words of their own (plans.RATES)
quality in 15 % of the abstracts, tone in 20 %, standing in 12 %, era in 8 %; quality and tone also by what is usual in the area,
the year by the area's time and by which forms and methods are in use.

Citations are those inside the literature plus those from outside: quality and habit of the field, times years since
publication, times luck. Tweets are counted for papers of the last two fifths of the years, as there were none before.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from scirep_core.data.literature.emit.files import Column
from scirep_core.data.literature.emit.split import Target, divide, flat, venue, write_targets
from scirep_core.data.literature.latents import LEVELS, NONE, WEIGHTS, Ints, bell, stream
from scirep_core.data.literature.lexicon import FIELDS
from scirep_core.data.literature.model import Literature
from scirep_core.data.literature.people import TEAM

Reals = npt.NDArray[np.float64]
PERCENT = 35  # of the papers, in each task
COUNTED_IN = 1  # years after the last one: when citations are counted
OUTSIDE = 18_000  # divides the product of merit, luck, age and habit
REVIEWERS = (3, 5)
ACCEPTED = 60  # tenths of a rating


class Reviews(NamedTuple):
    """(papers, 5) ratings and confidences, NONE where there is no such reviewer; (papers,) sums and numbers of ratings."""

    rating: Ints
    confidence: Ints
    total: Ints
    number: Ints

    def mean(self) -> Reals:
        """Return the mean rating of each paper, rounded to 4 decimals."""
        return _rounded(self.total / self.number)


def write(root: Path, literature: Literature) -> None:
    """Write texts, labels and oracle of the five tasks."""
    write_targets(root, literature, _targets(literature))


def _targets(literature: Literature) -> Iterator[Target]:
    latents, standing, everybody = literature.latents, literature.people.standing, np.zeros(len(literature), np.int64)
    counts, years, tweeted = citations(literature), scaled_years(literature), np.add(*tweets(literature))
    pull = _rounded(np.log(np.multiply(*_pull(literature))))  # of what citations are proportional to without luck
    span = literature.dials.last_year - literature.dials.first_year + 1
    recent = np.where((latents.year - literature.dials.first_year) * 5 >= span * 3, 0, NONE)
    reviewed, highest = reviews(literature), h_indices(literature)
    review = _review_columns(literature, reviewed, highest)
    for config, published, label, expected, columns, among in (
        ("cite_count", 30_012, log_citations(counts), pull, cites_columns(literature, counts), everybody),
        ("pub_year", 30_000, years, years, year_columns(literature), everybody),
        ("peer_review_score", 10_210, reviewed.mean(), latents.quality / LEVELS, review, everybody),
        ("hIndex", 8_438, highest, (standing / LEVELS) ** 2, review, everybody),
        ("tweet_mentions", 25_655, tweeted, (latents.hype / LEVELS) ** 2, _tweet_columns(literature), recent),
    ):  # fmt: skip
        parts = divide(literature, config, among, published, PERCENT)
        oracle = expected[np.concatenate(parts)]
        oracle = np.stack([oracle, np.ones(len(oracle))], axis=1)
        yield Target(config, parts, label.astype(np.float64), oracle, columns, "float64")


def citations(literature: Literature) -> Ints:
    """Return (papers,) how often each paper is cited: within the literature, and from outside it."""
    merit, chances = _pull(literature)
    luck = np.sqrt(literature.latents.fame // merit * 256).astype(np.int64)  # its root: half as wide, in logarithms
    outside: Ints = merit * luck * chances // OUTSIDE
    return literature.cited_by.counts() + outside


def log_citations(counts: Ints) -> Reals:
    """Return ln(1 + citations)."""
    return _rounded(np.log1p(counts.astype(np.float64)))


def _pull(literature: Literature) -> tuple[Ints, Ints]:
    """Return merit, and age times the habit of the field: large fields cite more."""
    latents = literature.latents
    habit = np.array([WEIGHTS.get(name, 3) for name in FIELDS])[latents.field]
    merit = 100 + latents.quality * latents.quality // 1500  # as in latents.fame, which is merit times luck
    return merit, (literature.dials.last_year + COUNTED_IN - latents.year) * habit


def scaled_years(literature: Literature) -> Reals:
    """Return the year of each paper on a scale from 0 (first) to 1 (last), rounded to 4 decimals."""
    dials = literature.dials
    return _rounded((literature.latents.year - dials.first_year) / (dials.last_year - dials.first_year))


def cites_columns(literature: Literature, counts: Ints) -> dict[str, Column]:
    """Return the columns of the configuration cite_count."""
    return flat(literature) | {
        "venue": venue(literature),
        "n_citations": ("int32", counts.item),
        "log_citations": ("float32", log_citations(counts).item),
    }


def year_columns(literature: Literature) -> dict[str, Column]:
    """Return the columns of the configuration pub_year; `norm_year` is centred, from -1 to 1."""
    years, authors = scaled_years(literature), literature.people.teams.counts()
    return flat(literature) | {
        "year": ("int32", literature.latents.year.item),
        "venue": venue(literature),
        "norm_year": ("float32", (2 * years - 1).item),
        "scaled_year": ("float32", years.item),
        "n_authors": ("int32", authors.item),
        "norm_authors": ("float32", (authors / TEAM).item),
    }


def reviews(literature: Literature) -> Reviews:
    """Return what three to five reviewers think: quality on a scale of 1 to 10, missed by up to a few points."""
    rng, papers = stream(literature.seed, "reviews"), len(literature)
    number = rng.integers(REVIEWERS[0], REVIEWERS[1] + 1, size=papers)
    shape = (papers, REVIEWERS[1])
    error = bell(rng, shape, round(literature.dials.noise * 60))  # tenths of a point
    rating = np.clip((10 + 90 * literature.latents.quality[:, None] // LEVELS + error + 5) // 10, 1, 10)
    confidence = np.clip(3 + bell(rng, shape, 10) // 10, 1, 5)
    absent = np.arange(REVIEWERS[1]) >= number[:, None]
    total = np.where(absent, 0, rating).sum(axis=1)
    return Reviews(np.where(absent, NONE, rating), np.where(absent, NONE, confidence), total, number)


def author_indices(literature: Literature) -> Ints:
    """Return (authors,) the h-index of each author: 1 to about 60, by seniority and some luck."""
    seniority = literature.people.seniority
    luck = bell(stream(literature.seed, "h-index"), seniority.shape, round(literature.dials.noise * 50))
    return 1 + seniority * seniority * (100 + np.clip(luck, -80, 80)) // 2_500_000


def h_indices(literature: Literature) -> Ints:
    """Return (papers,) the highest h-index of each paper's authors."""
    teams = literature.people.teams
    return np.maximum.reduceat(author_indices(literature)[teams.items], teams.starts[:-1])


def _review_columns(literature: Literature, reviewed: Reviews, highest: Ints) -> dict[str, Column]:
    people, accepted = literature.people, 10 * reviewed.total >= ACCEPTED * reviewed.number
    return flat(literature) | {
        "rating": (["int32"], lambda i: reviewed.rating[i, : reviewed.number[i]].tolist()),
        "confidence": (["int32"], lambda i: reviewed.confidence[i, : reviewed.number[i]].tolist()),
        "authors": (["string"], lambda i: [people.name(a) for a in people.teams.of(i).tolist()]),
        "decision": ("string", np.where(accepted, "Accept", "Reject").item),
        "mean_rating": ("float64", reviewed.mean().item),
        "hIndex": ("int32", highest.item),
    }


def tweets(literature: Literature) -> tuple[Ints, Ints]:
    """Return (papers,) mentions and retweets: the louder a paper, the more of both, spread by chance."""
    rng = stream(literature.seed, "tweets")
    spread = round(literature.dials.noise * 150)
    loud = 20 + literature.latents.hype**2 // 4_000  # 20 to 269
    some, more = (loud * (100 + np.clip(bell(rng, loud.shape, spread), -90, 200)) for _ in range(2))
    return some // 1_000, more // 1_500


def _tweet_columns(literature: Literature) -> dict[str, Column]:
    mentions, retweets = tweets(literature)
    return flat(literature) | {
        "index": ("int32", lambda i: i),
        "retweets": ("int32", retweets.item),
        "count": ("int32", (mentions + retweets).item),
        "mentions": ("int32", mentions.item),
    }


def _rounded(values: Reals) -> Reals:
    """Return values to 4 decimals: the same on every machine, whatever its logarithm does in the last place."""
    return np.asarray(np.round(values, 4), dtype=np.float64)
