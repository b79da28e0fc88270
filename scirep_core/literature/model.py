"""The collection as a whole: latents, texts, citations and authors of one generated literature.

    latents (latents.py) -> titles and abstracts (text.py, lexicon.py)
                         -> citations (citations.py), authors (people.py)

Cost is linear in the number of papers: about 6,000 papers a second on one core.
"""

from __future__ import annotations

from dataclasses import dataclass

from scirep_core.errors import ConfigError
from scirep_core.literature.citations import draw_citations
from scirep_core.literature.latents import Dials, Latents, draw_latents
from scirep_core.literature.people import draw_authors, names
from scirep_core.literature.text import write_papers
from scirep_core.records import Paper


@dataclass(frozen=True)
class Literature:
    """A generated collection; every sequence runs over the papers in order of time.

    `cites[i]` are positions of papers of strictly earlier years, `authors[i]` author numbers (names: `author_names`),
    `skeletons[i]` the template numbers of abstract i (all different) and, last, of its title.
    """

    seed: int
    dials: Dials
    latents: Latents
    papers: tuple[Paper, ...]
    skeletons: tuple[tuple[int, ...], ...]
    cites: tuple[tuple[int, ...], ...]
    authors: tuple[tuple[int, ...], ...]
    author_names: tuple[str, ...]


def generate(papers: int, seed: int = 0, dials: Dials | None = None) -> Literature:
    """Generate `papers` papers; the same arguments give the same bytes on any machine. Linear in `papers`.

    Raises ConfigError for a count below 1 or above 10 million, or a negative seed.
    """
    for name, value in (("papers", papers), ("seed", seed)):
        if not isinstance(value, int) or isinstance(value, bool):
            raise ConfigError(f"{name} must be a whole number, found {value!r}. Write it without quotes or decimals")
    if not 1 <= papers <= 10_000_000:
        raise ConfigError(
            f"papers must lie between 1 and 10000000, found {papers!r}. The default of 1200 is a good start"
        )
    if seed < 0:
        raise ConfigError(f"seed must not be negative, found {seed!r}. Use 0, 1, 2 ...")
    chosen = dials or Dials()
    latents = draw_latents(papers, seed, chosen)
    texts, skeletons = write_papers(latents, seed, chosen)
    authors, count = draw_authors(latents, seed)
    return Literature(
        seed=seed,
        dials=chosen,
        latents=latents,
        papers=texts,
        skeletons=skeletons,
        cites=draw_citations(latents, seed),
        authors=authors,
        author_names=names(count, seed),
    )
