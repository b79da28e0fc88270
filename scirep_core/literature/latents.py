"""What a paper of the embedded literature IS, before any word is written.

Each paper draws, SEPARATELY, what its three facets are about (CSFCube section 3):
  background   problem (a leaf of field > topic > problem) and obstacle (why the problem is hard)
  method       main method (in a family), the mode it is used in, sometimes a second method of another family
  result       main finding = aspect x polarity x condition, sometimes a second finding
plus a year, a paper type, fame, authors, a venue. Methods and findings are shared by all fields, but each topic has its
fashions: with probability `method_topicality` the method, with `result_topicality` the finding, comes from a short list
that belongs to the topic (finding: also to the method's family, or the paper type). This is what lets topical systems
score above chance on the method and result facets, as they do on real papers, and no more than that.

All arrays are integers and every draw is an integer draw from PCG64: no logarithm, no floating-point sum, hence the
same numbers on every machine. Each purpose has its own stream (`stream`), so that adding a purpose moves no other.
Cost is linear in the number of papers.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from scirep_core.errors import ConfigError, nearest
from scirep_core.literature.lexicon import Lexicon, lexicon

Ints = npt.NDArray[np.int64]

PURPOSES = {
    "science": 0,
    "papers": 1,
    "ids": 2,
    "people": 3,
    "names": 4,
    "fame": 5,
    "citations": 6,
    "text": 7,
    "queries": 8,
    "pools": 9,
    "ratings": 10,
    "splits": 11,
}
KINDS = ("data-driven approach", "resources/evaluation", "theoretical")  # the paper types of CSFCube's query list
KIND_SHARES = (66, 24, 10)  # per cent, after the 33, 12 and 5 of the 50 real queries
NONE = -1


@dataclass(frozen=True)
class Dials:
    """The strengths a user may turn; probabilities are in [0, 1].

    `drift`: how far the year decides which form of a concept is written (0: not at all, 1: entirely).
    `synonymy`: share of each concept's forms in use (1: all, 0: one form per concept).
    `filler`: probability that a sentence carries a generic opener or tail.
    """

    first_year: int = 1995
    last_year: int = 2019
    drift: float = 0.3
    synonymy: float = 1.0
    filler: float = 0.15
    method_topicality: float = 0.6
    result_topicality: float = 0.9
    second_method: float = 0.6
    second_finding: float = 0.55

    def __post_init__(self) -> None:
        """Refuse values outside their range."""
        for field in fields(self):
            value = getattr(self, field.name)
            if isinstance(field.default, float):
                if not isinstance(value, int | float) or not 0.0 <= value <= 1.0:
                    raise ConfigError(f"dial {field.name!r} must be a number in [0, 1], found {value!r}")
            elif not isinstance(value, int) or isinstance(value, bool):
                raise ConfigError(f"dial {field.name!r} must be a year, found {value!r}")
        if not 1900 <= self.first_year < self.last_year <= 2100:
            raise ConfigError(
                f"dials first_year and last_year must satisfy 1900 <= first_year < last_year <= 2100, "
                f"found {self.first_year} and {self.last_year}"
            )

    @classmethod
    def from_params(cls, params: dict[str, Any]) -> Dials:
        """Build from a mapping; an unknown name raises ConfigError with the nearest valid one."""
        known = [f.name for f in fields(cls)]
        for name in params:
            if name not in known:
                raise ConfigError(f"unknown dial {name!r}: {nearest(name, known)}")
        return replace(cls(), **params)


@dataclass(frozen=True)
class Latents:
    """Integer arrays of shape (papers,), in order of time; `NONE` (-1) stands for no second method or finding."""

    year: Ints
    kind: Ints
    field: Ints
    topic: Ints
    problem: Ints
    obstacle: Ints
    method: Ints
    family: Ints
    mode: Ints
    second_method: Ints
    second_family: Ints
    aspect: Ints
    group: Ints
    polarity: Ints
    condition: Ints
    second_aspect: Ints
    second_group: Ints
    second_polarity: Ints
    second_condition: Ints
    fame: Ints
    paper_number: Ints
    venue: Ints

    def __len__(self) -> int:
        """Return the number of papers."""
        return len(self.year)


def stream(seed: int, purpose: str) -> np.random.Generator:
    """Return the random generator of one purpose; streams of different purposes are independent."""
    return np.random.Generator(np.random.PCG64(np.random.SeedSequence(entropy=seed, spawn_key=(PURPOSES[purpose],))))


def weighted(rng: np.random.Generator, weights: Ints, size: int) -> Ints:
    """Draw `size` indices with integer `weights` (exact: integers only)."""
    edges = np.cumsum(weights)
    return np.searchsorted(edges, rng.integers(0, int(edges[-1]), size=size), side="right").astype(np.int64)


def chance(rng: np.random.Generator, probability: float, size: int) -> npt.NDArray[np.bool_]:
    """Return a mask that is true with `probability`, to one part in a million."""
    return rng.integers(0, 1_000_000, size=size) < round(probability * 1_000_000)


def _fashions(rng: np.random.Generator, rows: int, options: int, length: int) -> Ints:
    """Return (rows, length): for each row, `length` different options it prefers."""
    return np.stack([rng.permutation(options)[:length] for _ in range(rows)]).astype(np.int64)


def _pick(rng: np.random.Generator, lists: Ints, row: Ints) -> Ints:
    """Return one entry of lists[row] for each paper."""
    return lists[row, rng.integers(0, lists.shape[1], size=len(row))]


def draw_latents(papers: int, seed: int, dials: Dials) -> Latents:
    """Draw the latents of `papers` papers, sorted by year. Linear in `papers`."""
    words = lexicon()
    science, rng = stream(seed, "science"), stream(seed, "papers")
    topic_of_problem = np.array([p.topic for p in words.problems])
    field_of_topic = np.array([t.field for t in words.topics])
    family_of = np.array([m.family for m in words.methods])
    group_of = np.array([a.group for a in words.aspects])
    families = int(family_of.max()) + 1

    span = dials.last_year - dials.first_year + 1
    year = np.sort(weighted(rng, np.arange(span, 4 * span, 3), papers)) + dials.first_year  # the field grows fourfold
    kind = weighted(rng, np.array(KIND_SHARES), papers)
    problem = weighted(rng, science.integers(3, 6, size=len(words.problems)), papers)
    topic = topic_of_problem[problem]
    obstacle = np.where(
        chance(rng, 0.6, papers),
        _pick(rng, _fashions(science, len(words.topics), len(words.obstacles), 3), topic),
        rng.integers(0, len(words.obstacles), size=papers),
    )

    members = np.stack([np.flatnonzero(family_of == f) for f in range(families)])
    fashion = members[_fashions(science, len(words.topics), families, 2)].reshape(len(words.topics), -1)
    method = np.where(
        chance(rng, dials.method_topicality, papers),
        _pick(rng, fashion, topic),
        rng.integers(0, len(words.methods), size=papers),
    )
    method = _already_invented(words, method, year)
    second = _already_invented(words, rng.integers(0, len(words.methods), size=papers), year)
    has_second = chance(rng, dials.second_method, papers) & (family_of[second] != family_of[method])
    second = np.where(has_second, second, NONE)
    mode = rng.integers(0, len(words.modes), size=papers)

    by_field = _fashions(science, len(words.fields), len(words.aspects), 5)
    by_topic = np.take_along_axis(by_field[field_of_topic], _fashions(science, len(words.topics), 5, 2), axis=1)
    by_family = _fashions(science, families, len(words.aspects), 3)
    by_kind = np.stack([_group_members(group_of, g) for g in (0, 6, 7)])  # accuracy, measurement, theory
    aspects = [
        _aspect(rng, dials, (by_topic, topic), (by_family, family_of[method]), (by_kind, kind), len(group_of))
        for _ in "12"
    ]
    has_finding = chance(rng, dials.second_finding, papers) & (aspects[1] != aspects[0])
    polarity = [weighted(rng, np.array([66, 16, 18]), papers) for _ in "12"]
    usual = _fashions(science, len(words.topics), len(words.conditions), 3)
    condition = [
        np.where(
            chance(rng, dials.result_topicality, papers),
            _pick(rng, usual, topic),
            rng.integers(0, len(words.conditions), size=papers),
        )
        for _ in "12"
    ]

    fame = stream(seed, "fame")
    field = field_of_topic[topic]
    venues = np.array([len(v) for v in words.venues])
    return Latents(
        year=year,
        kind=kind,
        field=field,
        topic=topic,
        problem=problem,
        obstacle=obstacle,
        method=method,
        family=family_of[method],
        mode=mode,
        second_method=second,
        second_family=np.where(second == NONE, NONE, family_of[second]),
        aspect=aspects[0],
        group=group_of[aspects[0]],
        polarity=polarity[0],
        condition=condition[0],
        second_aspect=np.where(has_finding, aspects[1], NONE),
        second_group=np.where(has_finding, group_of[aspects[1]], NONE),
        second_polarity=np.where(has_finding, polarity[1], NONE),
        second_condition=np.where(has_finding, condition[1], NONE),
        fame=_fame(fame, papers),
        paper_number=_numbers(seed, papers),
        venue=fame.integers(0, venues[field]),
    )


def _already_invented(words: Lexicon, method: Ints, year: Ints) -> Ints:
    """Replace a method that did not exist yet by the oldest of its family."""
    since = np.array([m.since for m in words.methods])
    family = np.array([m.family for m in words.methods])
    oldest = np.array([min(np.flatnonzero(family == f), key=lambda m: (since[m], m)) for f in family])
    return np.where(since[method] > year, oldest[method], method)


def _group_members(group_of: Ints, group: int) -> Ints:
    return np.flatnonzero(group_of == group)


def _aspect(
    rng: np.random.Generator,
    dials: Dials,
    by_topic: tuple[Ints, Ints],
    by_family: tuple[Ints, Ints],
    by_kind: tuple[Ints, Ints],
    options: int,
) -> Ints:
    """Draw what a finding is about: from the topic's, the family's or the paper type's list, else from all."""
    papers = len(by_topic[1])
    source = weighted(rng, np.array([72, 14, 14]), papers)
    listed = np.choose(source, [_pick(rng, *by_topic), _pick(rng, *by_family), _pick(rng, *by_kind)])
    return np.where(chance(rng, dials.result_topicality, papers), listed, rng.integers(0, options, size=papers))


def _fame(rng: np.random.Generator, papers: int) -> Ints:
    """Return heavy-tailed integers: 2^20 over a uniform number, so that doubling fame halves the papers."""
    return (1 << 20) // rng.integers(1, 1 << 16, size=papers)


def _numbers(seed: int, papers: int) -> Ints:
    """Return different, scattered paper numbers of 4 to 9 digits that do not betray the order of time."""
    prime, multiplier = 299_999_977, 185_410_169  # multiplication modulo a prime is a permutation of 1..prime-1
    start = int(stream(seed, "ids").integers(1, 1 << 24))
    return (np.arange(start, start + papers, dtype=np.int64) * multiplier) % prime
