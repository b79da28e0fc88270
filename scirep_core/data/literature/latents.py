"""What a paper of the embedded literature IS, before any word is written.

Each paper draws, SEPARATELY, what its three facets are about (CSFCube section 3):
  background   problem (a leaf of field > area > topic > problem), obstacle (why the problem is hard), sometimes a second
               field in which the same question arises
  method       main method (in a family), the mode it is used in, sometimes a second method of another family
  result       main finding = aspect x polarity x condition, sometimes a second finding
plus a year, a paper type, a venue, quality (how solid), hype (how loud), fame (how much cited), and, for papers of
medicine, the purpose of the study (DRSM). Methods and findings are shared by all fields; a field has its usual ones, and
each topic its fashions among them: with probability `method_topicality` the method, with `result_topicality` the finding,
comes from a short list that belongs to the topic (finding: also to the method's family, or the paper type). This is what
lets topical systems score above chance on the method and result facets, as they do on real papers, and no more.

What a paper is about tells some of the rest, as on real papers. Each area has its time: with probability `timeliness` a
paper takes, of `CONSIDERED` problems, the one whose area's time is nearest to its year. And each area has its usual quality
and hype: a share `reputation` of its papers has those, give or take a tenth of the scale.

All arrays are integers and every draw is an integer draw from PCG64: no logarithm, no floating-point sum, hence the
same numbers on every machine. Each purpose has its own stream (`stream`), so that adding a purpose moves no other.
Cost is linear in the number of papers.
"""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from dataclasses import dataclass, fields

import numpy as np
import numpy.typing as npt

from scirep_core.data.literature.lexicon import FIELDS, lexicon
from scirep_core.kit.errors import ConfigError, nearest

Ints = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]
Random = np.random.Generator

KINDS = ("data-driven approach", "resources/evaluation", "theoretical")  # the paper types of CSFCube's query list
KIND_SHARES = (66, 24, 10)  # per cent, after the 33, 12 and 5 of the 50 real queries
WEIGHTS = {"Medicine": 15, "Computer science": 8, "Biology": 8, "Engineering": 5, "Chemistry": 5, "Physics": 5,
           "Psychology": 5, "Materials science": 4, "Mathematics": 4, "Economics": 4}  # every other field: 3  # fmt: skip
NONE = -1
LEVELS = 1000
"""Quality, hype and seniority are whole numbers in [0, LEVELS)."""
CONSIDERED = 4
"""Problems among which a paper chooses."""


@dataclass(frozen=True)
class Dials:
    """The strengths a user may turn; probabilities are in [0, 1].

    Attributes:
        fields: fields of study the papers come from; () means all 23.
        drift: how far the year decides which form of a concept is written (0: not at all, 1: entirely).
        synonymy: share of each concept's forms in use, from the first on (1: all, 0: one form per concept).
        filler: probability that a sentence carries a generic opener or tail.
        style: how often a first author's own habits decide between equivalent wordings.
        noise: how noisy people are: annotators, reviewers, readers, clickers (0: never wrong).
        interdisciplinary: share of papers with a second field.
        ambiguity: share of authors who have a namesake by construction, beyond those chance makes.
        timeliness: share of papers about what has its time in their year, as far as they choose.
        reputation: share of papers that are about as solid, and as loud, as is usual in their area.
    """

    first_year: int = 1995
    last_year: int = 2019
    fields: tuple[str, ...] = ()
    drift: float = 0.05
    synonymy: float = 0.5
    filler: float = 0.15
    style: float = 0.5
    noise: float = 0.3
    interdisciplinary: float = 0.25
    ambiguity: float = 0.2
    timeliness: float = 0.8
    reputation: float = 0.4
    method_topicality: float = 0.6
    result_topicality: float = 0.9
    second_method: float = 0.6
    second_finding: float = 0.55

    def __post_init__(self) -> None:
        """Refuse values outside their range."""
        for field in fields(self):
            value = getattr(self, field.name)
            if type(field.default) is float and (type(value) not in (int, float) or not 0 <= value <= 1):
                raise ConfigError(f"dial {field.name!r} must be a number in [0, 1], found {value!r}")
            if type(field.default) is int and type(value) is not int:
                raise ConfigError(f"dial {field.name!r} must be a year, found {value!r}")
        if not 1900 <= self.first_year < self.last_year <= 2100:
            raise ConfigError(
                f"dials first_year and last_year must satisfy 1900 <= first_year < last_year <= 2100, "
                f"found {self.first_year} and {self.last_year}"
            )
        for name in self.fields:
            if name not in FIELDS:
                raise ConfigError(f"dial 'fields': unknown field of study {name!r}; {nearest(name, FIELDS)}")


@dataclass(frozen=True)
class Latents:
    """Integer arrays of shape (papers,), in order of time; `NONE` (-1) stands for no second field, method or finding.

    `field`, `area`, `topic`, `problem`, `method` ... are positions in the lexicon's tuples; `venue` counts within the field;
    `quality` and `hype` run from 0 to 999; `purpose` is NONE outside medicine; `biomimetic` is 1 where a design copies
    an organism, 0 where organisms or designs are only spoken of, NONE elsewhere.
    """

    year: Ints
    kind: Ints
    field: Ints
    area: Ints
    topic: Ints
    problem: Ints
    obstacle: Ints
    second_field: Ints
    second_problem: Ints
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
    quality: Ints
    hype: Ints
    fame: Ints
    venue: Ints
    purpose: Ints
    biomimetic: Ints
    paper_number: Ints

    def __len__(self) -> int:
        """Return the number of papers."""
        return len(self.year)


def stream(seed: int, purpose: str, part: int = 0) -> Random:
    """Return the random generator of one purpose (and part of it); different purposes have independent streams."""
    key = (zlib.crc32(purpose.encode()), part)
    return np.random.Generator(np.random.PCG64(np.random.SeedSequence(entropy=seed, spawn_key=key)))


def weighted(rng: Random, weights: Sequence[int] | Ints, size: int | tuple[int, ...]) -> Ints:
    """Draw `size` indices with integer `weights` (exact: integers only)."""
    edges = np.cumsum(weights)
    return np.searchsorted(edges, rng.integers(0, int(edges[-1]), size=size), side="right").astype(np.int64)


def chance(rng: Random, probability: float, size: int | tuple[int, ...]) -> Mask:
    """Return a mask that is true with `probability`, to one part in a million."""
    return rng.integers(0, 1_000_000, size=size) < round(probability * 1_000_000)


def bell(rng: Random, shape: tuple[int, ...], spread: int) -> Ints:
    """Return bell-shaped integers around 0 with standard deviation `spread`: a sum of 12 uniform numbers."""
    centred: Ints = rng.integers(0, 1001, size=(12, *shape)).sum(axis=0) - 6000
    return centred * spread // 1001


def _fashions(rng: Random, usual: Sequence[Sequence[int]], length: int) -> Ints:
    """Return (rows, length): for each row, `length` of the options usual there, repeated where there are fewer."""
    return np.stack([np.resize(rng.permutation(np.array(row)), length) for row in usual]).astype(np.int64)


def _pick(rng: Random, lists: Ints, row: Ints) -> Ints:
    return lists[row, rng.integers(0, lists.shape[1], size=len(row))]


def draw_latents(papers: int, seed: int, dials: Dials) -> Latents:
    """Draw the latents of `papers` papers, sorted by year. Linear in `papers`."""
    science, rng = stream(seed, "science"), stream(seed, "papers")
    span = dials.last_year - dials.first_year + 1
    year = np.sort(weighted(rng, np.arange(span, 4 * span, 3), papers)) + dials.first_year  # science grows fourfold
    drawn = {"year": year, "kind": weighted(rng, KIND_SHARES, papers), "paper_number": _numbers(seed, papers)}
    for part in (_background, _methods, _findings):
        drawn |= part(science, rng, dials, drawn)
    return Latents(**drawn, **_standing(science, seed, dials, drawn))


def _background(science: Random, rng: Random, dials: Dials, drawn: dict[str, Ints]) -> dict[str, Ints]:
    words, papers = lexicon(), len(drawn["year"])
    topic_of, area_of = np.array([p.topic for p in words.problems]), np.array([t.area for t in words.topics])
    field_of = np.array([t.field for t in words.topics])
    wanted = [FIELDS.index(name) for name in dials.fields] or list(range(len(FIELDS)))
    share = np.array([WEIGHTS.get(name, 3) if k in wanted else 0 for k, name in enumerate(FIELDS)])
    per_field = np.bincount(field_of[topic_of], minlength=len(FIELDS))
    # problems of a field share its weight: a field with more topics has no more papers
    weight = science.integers(3, 6, size=len(topic_of)) * (share * 10_000 // per_field)[field_of[topic_of]]
    considered = weighted(rng, weight, (CONSIDERED, papers))
    # equally many papers lie between the times of areas, so that none is much smaller for its time
    time = drawn["year"][science.permutation(len(words.areas)) * papers // len(words.areas)]
    nearest = np.abs(time[area_of[topic_of[considered]]] - drawn["year"]).argmin(axis=0)
    problem = considered[np.where(chance(rng, dials.timeliness, papers), nearest, 0), np.arange(papers)]
    topic = topic_of[problem]
    field, usual = field_of[topic], _usual("obstacles")
    obstacle = np.where(
        chance(rng, 0.6, papers),
        _pick(rng, _fashions(science, [usual[t.field] for t in words.topics], 3), topic),
        _any_usual(rng, usual, field),
    )
    # a field has two or three neighbours; a second problem comes from one of them
    neighbours = _fashions(science, [tuple(k for k in wanted if k != f) or (f,) for f in range(len(FIELDS))], 3)
    second_field = _pick(rng, neighbours, field)
    second_problem = first_of(field_of[topic_of])[second_field] + rng.integers(0, per_field[second_field])
    has_second = chance(rng, dials.interdisciplinary, papers) & (second_field != field)
    return {
        "problem": problem,
        "topic": topic,
        "area": area_of[topic],
        "field": field,
        "obstacle": obstacle,
        "second_field": np.where(has_second, second_field, NONE),
        "second_problem": np.where(has_second, second_problem, NONE),
    }


def _usual(name: str) -> list[tuple[int, ...]]:
    """Return for each field the obstacles, modes or conditions one meets there: computing has its own."""
    computing, other = lexicon().usual[name]
    return [computing if field == "Computer science" else other for field in FIELDS]


def _any_usual(rng: Random, usual: list[tuple[int, ...]], row: Ints) -> Ints:
    sizes = np.array([len(options) for options in usual])
    table = np.array([np.resize(options, sizes.max()) for options in usual])
    return table[row, rng.integers(0, sizes[row])]


def first_of(groups: Ints) -> Ints:
    """Return the position at which each group of a sorted array begins."""
    return np.searchsorted(groups, np.arange(int(groups.max()) + 1))


def _methods(science: Random, rng: Random, dials: Dials, drawn: dict[str, Ints]) -> dict[str, Ints]:
    words, year, topic, papers = lexicon(), drawn["year"], drawn["topic"], len(drawn["year"])
    family_of = np.array([m.family for m in words.methods])
    members = np.stack([np.flatnonzero(family_of == f) for f in range(len(words.families))])
    usual = [words.fields[t.field].families for t in words.topics]
    fashion, anywhere = (members[_fashions(science, usual, length)].reshape(len(usual), -1)
                         for length in (2, max(map(len, usual))))  # fmt: skip

    def usual_method() -> Ints:
        """Return a method usual in the field, now and then one from anywhere."""
        any_method = rng.integers(0, len(words.methods), size=papers)
        return np.where(chance(rng, 0.9, papers), _pick(rng, anywhere, topic), any_method)

    method = np.where(chance(rng, dials.method_topicality, papers), _pick(rng, fashion, topic), usual_method())
    method = _already_invented(method, year)
    second = _already_invented(usual_method(), year)
    has_second = chance(rng, dials.second_method, papers) & (family_of[second] != family_of[method])
    second = np.where(has_second, second, NONE)
    return {
        "method": method,
        "family": family_of[method],
        "mode": _any_usual(rng, _usual("modes"), drawn["field"]),
        "second_method": second,
        "second_family": np.where(second == NONE, NONE, family_of[second]),
    }


def _already_invented(method: Ints, year: Ints) -> Ints:
    since, family = np.array([(m.since, m.family) for m in lexicon().methods]).T
    oldest = np.array([min(np.flatnonzero(family == f), key=lambda m: (since[m], m)) for f in family])
    return np.where(since[method] > year, oldest[method], method)


def _findings(science: Random, rng: Random, dials: Dials, drawn: dict[str, Ints]) -> dict[str, Ints]:
    words, topic, field, papers = lexicon(), drawn["topic"], drawn["field"], len(drawn["year"])
    group_of = np.array([a.group for a in words.aspects])
    reported = np.array([[k in (*row.groups, 0, 6) for k in range(len(words.groups))] for row in words.fields])
    of_field = [np.flatnonzero(row[group_of]).tolist() for row in reported]
    by_area = _fashions(science, [of_field[a.field] for a in words.areas], 5)
    area_of = np.array([t.area for t in words.topics])
    by_topic = np.take_along_axis(by_area[area_of], _fashions(science, [range(5)] * len(words.topics), 2), axis=1)
    by_family = _fashions(science, [range(len(words.aspects))] * len(words.families), 3)
    by_kind = np.stack([np.flatnonzero(group_of == g) for g in (0, 6, 7)])  # accuracy, measurement, theory
    lists = ((by_topic, topic), (by_family, drawn["family"]), (by_kind, drawn["kind"]))
    usual = _fashions(science, of_field, max(map(len, of_field)))
    usual_conditions = _usual("conditions")
    conditions = _fashions(science, [usual_conditions[t.field] for t in words.topics], 3)

    def aspect() -> Ints:
        """Draw what a finding is about: from the topic's, the family's or the paper type's list, else the field's."""
        source = weighted(rng, (72, 14, 14), papers)
        listed = np.choose(source, [_pick(rng, *row) for row in lists])
        plausible = reported[field, group_of[listed]]  # a metallurgist reports no unemployment
        from_list = chance(rng, dials.result_topicality, papers) & plausible
        return np.where(from_list, listed, _pick(rng, usual, field))

    def condition() -> Ints:
        any_condition = _any_usual(rng, usual_conditions, field)
        return np.where(chance(rng, dials.result_topicality, papers), _pick(rng, conditions, topic), any_condition)

    first, second = aspect(), aspect()
    has_second = chance(rng, dials.second_finding, papers) & (first != second)
    pairs = {
        "aspect": (first, second),
        "group": (group_of[first], group_of[second]),
        "polarity": tuple(weighted(rng, (66, 16, 18), papers) for _ in "12"),
        "condition": (condition(), condition()),
    }
    main = {name: pair[0] for name, pair in pairs.items()}
    return main | {f"second_{name}": np.where(has_second, pair[1], NONE) for name, pair in pairs.items()}


def _standing(science: Random, seed: int, dials: Dials, drawn: dict[str, Ints]) -> dict[str, Ints]:
    """Draw quality, hype, fame, venue, and the two special labels (DRSM purpose, biomimicry)."""
    words, rng, field, papers = lexicon(), stream(seed, "standing"), drawn["field"], len(drawn["field"])
    usual = science.integers(0, LEVELS, size=(2, len(words.areas)))[:, drawn["area"]]
    near = np.clip(usual + rng.integers(-LEVELS // 10, LEVELS // 10 + 1, size=usual.shape), 0, LEVELS - 1)
    quality, hype = np.where(chance(rng, dials.reputation, papers), near, rng.integers(0, LEVELS, size=usual.shape))
    luck = (1 << 16) // rng.integers(1 << 4, 1 << 16, size=papers)  # doubling it halves the papers
    venues = np.array([len(row.venues) for row in words.fields])
    medicine, copying = FIELDS.index("Medicine"), [c.name for c in words.families].index("nature-inspired design")
    about_nature = (drawn["family"] == copying) | (drawn["second_family"] == copying)
    return {
        "quality": quality,
        "hype": hype,
        # good papers are cited several times as often as weak ones, and luck spreads them further
        "fame": (100 + quality * quality // 1500) * luck,
        "venue": rng.integers(0, venues[field]),
        "purpose": np.where(field == medicine, weighted(rng, (26, 20, 18, 12, 14, 10), papers), NONE),
        "biomimetic": np.where(about_nature, (rng.integers(0, 100, size=papers) < 45).astype(np.int64), NONE),
    }


def _numbers(seed: int, papers: int) -> Ints:
    """Return different, scattered paper numbers of 4 to 9 digits that do not betray the order of time."""
    prime, multiplier = 299_999_977, 185_410_169  # multiplication modulo a prime is a permutation of 1..prime-1
    start = int(stream(seed, "ids").integers(1, 1 << 24))
    return (np.arange(start, start + papers, dtype=np.int64) * multiplier) % prime
