"""Sentences over numbers: a template in the notebook's cell, words by the sign of an interval, nothing where a number is missing.

    chapter.say("On {{ name }} it finds {{ row|n(1) }} %, {{ gap|way('above', 'below') }} BM25.", name=..., row=..., gap=...)

    {{ row|n }}, {{ row|n(1) }}       a number that links to its origin, with so many decimals
    {{ row|n(1, sign=True) }}         the same with its sign, for differences
    {{ row|ci }}, {{ row|ci(1) }}     with its 95 % interval; `unit="%"` stands between the two: 13.0 % (95 % interval 11.2 to 14.9)
    {{ gap|way("above", "below") }}   "above" where the interval lies above 0, "below", else "no significant difference from";
                                      a third word replaces the last, `bound=` replaces 0
    {{ names|listed }}                "a, b and c"; {{ names|listed("none") }} for what an empty list is called
    {{ right|of(total) }}             "all 8", "6 of 8", "none of the 8"
    {{ name|code }}                   as code

A sentence that uses a number which is None, or asks it for a part, is left out whole, and a paragraph of no sentence is not
shown. What is put in is escaped; the template itself is the author's HTML.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import jinja2
from markupsafe import Markup, escape

from scirep_core.page.report import thousands
from scirep_core.page.rows import Number, way
from scirep_core.results import Result

LEVEL = "no significant difference from"
Link = Callable[[Number, int | None, bool], str]
"""(number, decimals, with its sign) -> the number as HTML that links to its origin."""


class _Missing(Exception):
    """A sentence needs a number that is not there."""


class _Engine(jinja2.Environment):
    def getattr(self, obj: Any, attribute: str) -> Any:
        return super().getattr(_there(obj), attribute)

    def getitem(self, obj: Any, argument: Any) -> Any:
        return super().getitem(_there(obj), argument)


def _there(value: Any) -> Any:
    if isinstance(value, jinja2.Undefined):
        str(value)  # a name that was not given is a slip of the author's, not a number that is missing
    if value is None:
        raise _Missing
    return value


def interval(row: Result, decimals: int) -> str:
    """Return "(95 % interval 57.3 to 63.3)", "" where a row has none; a bound that would be rounded to 0 has a digit more."""
    if row.low is None or row.high is None:
        return ""
    low, high = (f"{end:.{decimals + (round(end, decimals) == 0 != end)}f}" for end in (row.low, row.high))
    return f"(95 % interval {low} to {high})"


def listed(names: Iterable[Any], nothing: str = "none") -> Markup:
    """Return names, escaped, as "a, b and c".

    >>> str(listed(["a", "b", "c<"])), str(listed([], "no field"))
    ('a, b and c&lt;', 'no field')
    """
    *first, last = [escape(name) for name in names] or [escape(nothing)]
    return Markup(" and ").join([*([Markup(", ").join(first)] if first else []), last])


def share(part: int, whole: int) -> str:
    """Return how many of a whole, in words where it is all or none.

    >>> share(8, 8), share(6, 8), share(0, 8)
    ('all 8', '6 of 8', 'none of the 8')
    """
    every = "both" if whole == 2 else f"all {whole}"
    return {whole: every, 0: f"none of the {whole}"}.get(part, f"{part} of {whole}") if whole else "none"


def sentences(link: Link, templates: Iterable[str], values: dict[str, Any]) -> list[str]:
    """Return the sentences of which every number is there. Raises jinja2.UndefinedError for a name that was not given."""

    def number(row: Number | None, decimals: int | None = None, sign: bool = False) -> Markup:
        return Markup(thousands(link(_there(row), decimals, sign), years=True))

    def with_interval(row: Result | None, decimals: int = 1, sign: bool = False, unit: str = "") -> Markup:
        parts = (number(row, decimals, sign), escape(unit), interval(_there(row), decimals))
        return Markup(" ".join(part for part in parts if part))

    def word(row: Result | None, up: str, down: str, level: str = LEVEL, bound: float = 0.0) -> str:
        return {1: up, -1: down, 0: level}[way(_there(row), bound)]

    engine = _Engine(autoescape=True, undefined=jinja2.StrictUndefined)
    engine.filters |= {"n": number, "ci": with_interval, "way": word, "listed": listed, "of": share}
    engine.filters["code"] = lambda name: Markup("<code>{}</code>").format(name)
    found = []
    for template in templates:
        try:
            words = " ".join(engine.from_string(template).render(values).split())
            found.append(words.replace(" %", "\N{NO-BREAK SPACE}%"))  # a line does not break there
        except _Missing:
            continue
    return [sentence for sentence in found if sentence]
