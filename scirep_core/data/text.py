"""What an encoder reads: the text of a paper or of a bare query (SciRepEval 4.1; v2 Table 6).

    paper = prefix + title + separator + abstract [+ separator + venue + separator + year, for Search]
    query = prefix + query

Fields that are empty are left out together with their separator. Which fields a task gives belongs to the task
(`Task.fields`), separator and prefixes belong to the encoder (`Recipe`). In ad-hoc search a model with prefixes reads a
paper as something to be found ("passage: "), everywhere else as something of its own ("query: "): E5's own advice.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from scirep_core.kit.records import Paper

FIELDS = ("title", "abstract")


class Recipe(NamedTuple):
    """How an encoder wants its text.

    Attributes:
        separator: between fields, spaces included; " [SEP] " for BERT models.
        query: before a bare query.
        found: before a paper that is to be found by a bare query.
        paper: before a paper in every other format.
    """

    separator: str = " [SEP] "
    query: str = ""
    found: str = ""
    paper: str = ""

    def of_paper(
        self, paper: Paper, fields: Sequence[str] = FIELDS, to_find: bool = False, float_years: bool = False
    ) -> str:
        """Return the text of a paper.

        Args:
            fields: of title, abstract, venue, year, in this order; empty ones are left out, and a year of 0.
            to_find: the paper is a candidate of ad-hoc search.
            float_years: a year is written 2019.0, as the published evaluation does.

        >>> Recipe().of_paper(Paper("1", "On swarms", "We count.", 2019, venue="V"), ("title", "venue", "year"))
        'On swarms [SEP] V [SEP] 2019'
        """
        return (self.found if to_find else self.paper) + self.separator.join(
            text for text in (_field(paper, name, float_years) for name in fields) if text
        )

    def of_query(self, text: str) -> str:
        """Return the text of a bare query."""
        return self.query + text

    @property
    def reads(self) -> dict[str, str]:
        """What is read of a paper and of a query, and of a paper to be found where it differs: prompts and separator, to look at.

        >>> Recipe(". ", query="query: ").reads
        {'paper': 'TITLE. ABSTRACT', 'query': 'query: QUERY'}
        """
        paper, found = (f"{prompt}TITLE{self.separator}ABSTRACT" for prompt in (self.paper, self.found))
        return {"paper": paper, "query": f"{self.query}QUERY"} | ({"to be found": found} if found != paper else {})


def _field(paper: Paper, name: str, float_years: bool) -> str:
    if name != "year":
        return str(getattr(paper, name))
    if not paper.year:
        return ""
    return f"{float(paper.year)}" if float_years else str(paper.year)
