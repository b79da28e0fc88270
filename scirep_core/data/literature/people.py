"""Authors: topics, seniority, habits of style, affiliations, and names that several of them share.

An author has a home topic. A paper takes one to five authors of its topic, the early numbers of a topic more often than
the late ones (the square of a uniform number), so that output per author is skewed; one author in eight comes from
another topic of the field. Teams keep together: the second author is mostly the first one's usual partner.

Names are drawn with replacement from lists, half of them with a middle initial, and a share `ambiguity` of the authors takes
over the name of another author of a different topic: same byline, different person (S2AND, Same Author Detection).
Seniority grows with an author's rank in the topic; a paper's standing, the seniority of its most senior author, shows in
its text and decides h-indices.
"""

from __future__ import annotations

import string
from dataclasses import dataclass

import numpy as np

from scirep_core.data.literature.latents import LEVELS, Dials, Ints, Latents, Random, bell, chance, first_of, stream
from scirep_core.data.literature.lexicon import lexicon
from scirep_core.data.literature.links import Links, from_rows

PAPERS_PER_AUTHOR = 3
TEAM = 5
FINE = 1 << 15
TOWNS = ("Arden", "Belmora", "Calder", "Dunmere", "Eskdale", "Fenwick", "Glenholm", "Harrow Vale", "Ilmar", "Jorvik Bay",
         "Kestrel Point", "Lunden", "Marwick", "Norvale", "Oakhurst", "Penrhos")  # fmt: skip
HOUSES = ("University of {}", "{} Institute of Technology", "{} Research Centre", "{} College")


@dataclass(frozen=True)
class People:
    """Teams and authors.

    Attributes:
        teams: paper -> its authors in byline order.
        topic, seniority, affiliation: (authors,) integers; seniority in [0, 1000).
        given, middle, family: (authors,) positions in the name lists; middle 0 means none.
        standing: (papers,) seniority of each paper's most senior author.
    """

    teams: Links
    topic: Ints
    seniority: Ints
    affiliation: Ints
    given: Ints
    middle: Ints
    family: Ints
    standing: Ints

    def __len__(self) -> int:
        """Return the number of authors."""
        return len(self.topic)

    def parts(self, author: int) -> tuple[str, str, str]:
        """Return given name, middle initial (or ""), family name."""
        words, middle = lexicon(), int(self.middle[author])
        initial = string.ascii_uppercase[middle - 1] if middle else ""
        return words.given_names[self.given[author]], initial, words.family_names[self.family[author]]

    def name(self, author: int) -> str:
        """Return the full name as a byline prints it."""
        given, initial, family = self.parts(author)
        return f"{given} {initial}. {family}" if initial else f"{given} {family}"

    def block(self, author: int) -> str:
        """Return first initial and family name, lower case: the block disambiguation works in."""
        given, _, family = self.parts(author)
        return f"{given[0]} {family}".lower()

    def house(self, author: int) -> str:
        """Return the author's institution."""
        number = int(self.affiliation[author])
        return HOUSES[number % len(HOUSES)].format(TOWNS[number // len(HOUSES)])


def draw_people(latents: Latents, seed: int, dials: Dials) -> People:
    """Draw authors and teams. Linear in the number of papers."""
    rng = stream(seed, "people")
    topics, papers = len(lexicon().topics), len(latents)
    per_topic = np.maximum(TEAM, np.bincount(latents.topic, minlength=topics) // PAPERS_PER_AUTHOR)
    first = np.concatenate([[0], np.cumsum(per_topic)])
    count = int(first[-1])
    home = np.repeat(np.arange(topics), per_topic)
    rank = np.arange(count) - first[home]  # 0: the most productive of the topic
    seniority = np.clip(LEVELS - 1 - rank * LEVELS // per_topic[home] + bell(rng, (count,), 150), 0, LEVELS - 1)
    teams = _teams(rng, latents, per_topic, first)
    given = rng.integers(0, len(lexicon().given_names), size=count)
    middle = np.where(chance(rng, 0.5, count), rng.integers(1, 27, size=count), 0)
    names = np.stack([given, middle, rng.integers(0, len(lexicon().family_names), size=count)])
    shares = np.flatnonzero(chance(rng, dials.ambiguity, count))
    names[:, shares] = names[:, rng.integers(0, count, size=len(shares))]
    standing = np.maximum.reduceat(seniority[teams.items], teams.starts[:-1]) if papers else np.zeros(0, np.int64)
    affiliation = rng.integers(0, len(TOWNS) * len(HOUSES), size=count)
    return People(teams, home, seniority, affiliation, names[0], names[1], names[2], standing)


def _teams(rng: Random, latents: Latents, per_topic: Ints, first: Ints) -> Links:
    papers = len(latents)
    topics = np.repeat(latents.topic[:, None], TEAM, axis=1)
    # one in eight comes from a topic of the same field
    field_of = np.array([t.field for t in lexicon().topics])
    start, size = first_of(field_of), np.bincount(field_of)
    field = latents.field[:, None]
    guest = rng.integers(0, 8, size=(papers, TEAM)) == 0
    guest[:, 0] = False  # the first author is at home
    topics = np.where(guest, start[field] + rng.integers(0, size[field], size=(papers, TEAM)), topics)
    u = rng.integers(0, FINE, size=(papers, TEAM))
    within = (per_topic[topics] * ((u * u) // FINE)) // FINE
    author = first[topics] + within
    partner = first[latents.topic] + (within[:, 0] * 7 + 3) % per_topic[latents.topic]
    author[:, 1] = np.where(rng.integers(0, 10, size=papers) < 6, partner, author[:, 1])
    sizes = rng.integers(1, TEAM + 1, size=papers)
    for k in range(1, TEAM):  # a name drawn twice for one paper stands once
        twice = (author[:, :k] == author[:, k : k + 1]).any(axis=1)
        author[:, k] = np.where(twice | (k >= sizes), -1, author[:, k])
    return from_rows(author)
