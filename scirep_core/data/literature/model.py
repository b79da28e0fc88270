"""The collection as a whole: latents, authors, citations and texts of one generated literature."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np

from scirep_core.data.literature.citations import draw_citations
from scirep_core.data.literature.latents import Dials, Ints, Latents, draw_latents
from scirep_core.data.literature.links import Links
from scirep_core.data.literature.people import People, draw_people
from scirep_core.data.literature.plans import draw_plans
from scirep_core.data.literature.text import Writer
from scirep_core.kit.errors import ConfigError
from scirep_core.kit.records import Paper

VERSION = 2
"""The version of all tasks of invented papers: it rises when the same arguments give other papers."""
KEPT = 120_000
"""Texts kept in memory, those asked for last, about 4 kB each: tasks share papers, and writing takes longer than storing."""


@dataclass(frozen=True)
class Literature:
    """A generated collection; everything runs over the papers in order of time.

    Attributes:
        cites: paper -> positions of papers of strictly earlier years; values: mentions in the text.
        people: authors and teams.
        writer: writes any paper.
    """

    seed: int
    dials: Dials
    latents: Latents
    people: People
    cites: Links
    writer: Writer

    def __len__(self) -> int:
        """Return the number of papers."""
        return len(self.latents)

    @cached_property
    def cited_by(self) -> Links:
        """The citations backwards: paper -> papers that cite it."""
        return self.cites.reverse(len(self))

    def cited_with(self, i: int, most: int) -> tuple[Ints, Ints]:
        """Return the papers cited together with paper i, ascending, and by how many of the first `most` that cite it."""
        together = [self.cites.of(k) for k in self.cited_by.of(i)[:most].tolist()]
        papers, counts = np.unique(np.concatenate([np.zeros(0, np.int64), *together]), return_counts=True)
        others = papers != i
        return papers[others], counts[others]

    @cached_property
    def paper(self) -> Callable[[int], Paper]:
        """Return paper i with its text: `literature.paper(i)`."""
        return lru_cache(KEPT)(self.writer.paper)

    def papers_at(self, positions: Iterable[int]) -> Iterator[Paper]:
        """Yield papers one by one."""
        return (self.paper(int(i)) for i in positions)

    @cached_property
    def papers(self) -> tuple[Paper, ...]:
        """All papers; for a large literature stream `papers_at(range(len(literature)))` instead."""
        return tuple(self.papers_at(range(len(self))))

    def paper_id(self, i: int) -> str:
        """Return the id of paper i without writing it."""
        return str(self.latents.paper_number[i])

    def ids(self, positions: Ints) -> list[str]:
        """Return the ids of papers."""
        return [str(number) for number in self.latents.paper_number[positions].tolist()]


def generate(papers: int, seed: int = 0, dials: Dials | None = None) -> Literature:
    """Generate `papers` papers; the same arguments give the same bytes on any machine. Linear in `papers`.

    Raises ConfigError for a count below 1 or above 10 million, or a negative seed.
    """
    if type(papers) is not int or not 1 <= papers <= 10_000_000:
        raise ConfigError(
            f"papers must be a whole number between 1 and 10000000, found {papers!r}. 1200 is a good start"
        )
    if type(seed) is not int or seed < 0:
        raise ConfigError(f"seed must be a whole number, 0 or more, found {seed!r}")
    chosen = dials or Dials()
    latents = draw_latents(papers, seed, chosen)
    people = draw_people(latents, seed, chosen)
    writer = Writer(latents, people, draw_plans(latents, seed), seed, chosen)
    return Literature(seed, chosen, latents, people, draw_citations(latents, seed, chosen), writer)
