"""Regression tasks of SciRepEval (section 3, appendix A.4), written from the latents.

    task               target                                   latents                          chance              group
    cite_count         ln(1 + citations), 4 decimals            quality, year, field             luck, who cites     in-train
    pub_year           year scaled to 0..1, 4 decimals          year                             none                in-train
    peer_review_score  mean of 3 to 5 reviewers' ratings 1..10  quality                          reviewers' errors   related
    hIndex             highest h-index of the team              seniority of the authors         each one's luck     unrelated
    tweet_mentions     mentions + retweets                      hype                             who happens by      unrelated

The oracle of a paper is (expected target, 1): the target as a function of the latents, without chance. Kendall's tau of a
linear model on it is the ceiling, 100 for pub_year alone. Texts show the latents in part: quality in 90 % of the abstracts,
tone in 80 %, standing in 75 %, era in 60 % (plans.RATES), and by the year also which forms and methods are in use.

Citations are those inside the literature plus those from outside: quality and habit of the field, times years since
publication, times luck. Tweets are counted for papers of the last two fifths of the years, as there were none before; so the year
is no latent of the task.
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
    reviewed, highest = reviews(literature), h_indices(literature)
    review = review_columns(literature, reviewed, highest)
    for config, published, label, expected, columns, among in (
        ("cite_count", 30_012, log_citations(counts), expected_citations(literature), cites_columns(literature, counts), everybody),
        ("pub_year", 30_000, years, years, year_columns(literature), everybody),
        ("peer_review_score", 10_210, reviewed.mean(), latents.quality / LEVELS, review, everybody),
        ("hIndex", 8_438, highest, (standing / LEVELS) ** 2, review, everybody),
        ("tweet_mentions", 25_655, tweeted, (latents.hype / LEVELS) ** 2, tweet_columns(literature), _recent(literature)),
    ):  # fmt: skip
        parts = divide(literature, config, among, published, PERCENT)
        oracle = expected[np.concatenate(parts)]
        oracle = np.stack([oracle, np.ones(len(oracle))], axis=1)
        yield Target(config, parts, label.astype(np.float64), oracle, columns, "float64")


# --- citations and years ----------------------------------------------------------------------------------------------


def citations(literature: Literature) -> Ints:
    """Return (papers,) how often each paper is cited: within the literature, and from outside it."""
    latents = literature.latents
    merit = _merit(literature)
    luck = np.sqrt(latents.fame // merit * 256).astype(np.int64)  # its root: half as wide, in logarithms
    outside = merit * luck * _age(literature) * _habit(literature) // OUTSIDE
    counted: Ints = literature.cited_by.counts() + outside
    return counted


def log_citations(counts: Ints) -> Reals:
    """Return ln(1 + citations)."""
    return _rounded(np.log1p(counts.astype(np.float64)))


def expected_citations(literature: Literature) -> Reals:
    """Return ln of what citations are proportional to when luck is left out."""
    return _rounded(np.log(_merit(literature) * _age(literature) * _habit(literature)))


def _merit(literature: Literature) -> Ints:
    quality = literature.latents.quality
    return 100 + quality * quality // 1500  # as in latents.fame, which is merit times luck


def _age(literature: Literature) -> Ints:
    return literature.dials.last_year + COUNTED_IN - literature.latents.year


def _habit(literature: Literature) -> Ints:
    """Return how much is cited in the paper's field: large fields cite more."""
    return np.array([WEIGHTS.get(name, 3) for name in FIELDS])[literature.latents.field]


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


# --- reviews and h-indices --------------------------------------------------------------------------------------------


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
    highest: Ints = np.maximum.reduceat(author_indices(literature)[teams.items], teams.starts[:-1])
    return highest


def review_columns(literature: Literature, reviewed: Reviews, highest: Ints) -> dict[str, Column]:
    """Return the columns of the configuration peer_review_score_hIndex. `highest`: h-index by position."""
    people, accepted = literature.people, 10 * reviewed.total >= ACCEPTED * reviewed.number
    return flat(literature) | {
        "rating": (["int32"], lambda i: reviewed.rating[i, : reviewed.number[i]].tolist()),
        "confidence": (["int32"], lambda i: reviewed.confidence[i, : reviewed.number[i]].tolist()),
        "authors": (["string"], lambda i: [people.name(a) for a in people.teams.of(i).tolist()]),
        "decision": ("string", np.where(accepted, "Accept", "Reject").item),
        "mean_rating": ("float64", reviewed.mean().item),
        "hIndex": ("int32", highest.item),
    }


# --- tweets -----------------------------------------------------------------------------------------------------------


def tweets(literature: Literature) -> tuple[Ints, Ints]:
    """Return (papers,) mentions and retweets: the louder a paper, the more of both, spread by chance."""
    rng = stream(literature.seed, "tweets")
    spread = round(literature.dials.noise * 150)
    loud = 20 + literature.latents.hype**2 // 4_000  # 20 to 269
    mentions = loud * (100 + np.clip(bell(rng, loud.shape, spread), -90, 200)) // 1_000
    retweets = loud * (100 + np.clip(bell(rng, loud.shape, spread), -90, 200)) // 1_500
    return mentions, retweets


def tweet_columns(literature: Literature) -> dict[str, Column]:
    """Return the columns of the configuration tweet_mentions."""
    mentions, retweets = tweets(literature)
    return flat(literature) | {
        "index": ("int32", lambda i: i),
        "retweets": ("int32", retweets.item),
        "count": ("int32", (mentions + retweets).item),
        "mentions": ("int32", mentions.item),
    }


def _recent(literature: Literature) -> Ints:
    """Return 0 for the papers of the last two fifths of the years, NONE for those before."""
    dials = literature.dials
    recent = (literature.latents.year - dials.first_year) * 5 >= (dials.last_year - dials.first_year + 1) * 3
    return np.where(recent, 0, NONE)


def _rounded(values: Reals) -> Reals:
    """Return values to 4 decimals: the same on every machine, whatever its logarithm does in the last place."""
    return np.asarray(np.round(values, 4), dtype=np.float64)
