"""The register of slips on a page: an entry as a card with its printed table, all entries as a table that can be searched."""

from __future__ import annotations

import html
from collections.abc import Callable, Collection, Mapping, Sequence
from string import Formatter

from scirep_core.evaluators.facets.facet_systems import SYSTEMS
from scirep_core.page import report, slip_codes, slip_rules
from scirep_core.page.chapter import Chapter
from scirep_core.page.rows import Number
from scirep_core.page.say import listed
from scirep_core.results.published import Printed
from scirep_core.results.slips import KINDS, PAPERS, Evidence, Slip, cells, number

ROWS = {system.printed: system.label for system in SYSTEMS.values() if system.kind == "lexical"}
"""Printed systems that have a code name -> words."""
RULES = slip_rules.RULES | slip_codes.RULES
Evidences = Mapping[str, Evidence]
Columns = Mapping[str, str | Mapping[str, Number]]
"""Head of a column -> the cells it shows (`exhibit | rows | columns`), or numbers by the name of their row."""
Circled = Callable[[Mapping[str, float]], Collection[str]]
"""From a row's numbers by the head of their column to the heads of those that are circled."""


class _Shown:
    """A number in a template: `{name}` as it stands, `{name:2}` with two decimals, `{name:+1}` signed, `{name:y}` a year."""

    def __init__(self, chapter: Chapter, number: Number) -> None:
        self.chapter, self.number = chapter, number

    def __format__(self, spec: str) -> str:
        if spec == "y":
            return self.chapter.number(self.number, 0)
        decimals = None if isinstance(self.number, Printed) else int(spec.lstrip("+") or 0)
        return report.thousands(self.chapter.number(self.number, decimals, spec.startswith("+")))


def fields(template: str) -> list[str]:
    """Return the names of the numbers that a template shows.

    >>> fields("printed {cell}, computed {wanted:1}")
    ['cell', 'wanted']
    """
    return [name for _, name, _, _ in Formatter().parse(template) if name]


def filled(chapter: Chapter, template: str, evidence: Evidence) -> str:
    """Return a template with its numbers as links to their origins."""
    numbers: dict[str, Number] = {**evidence.printed, **evidence.made}
    return template.format(**{name: _Shown(chapter, numbers[name]) for name in fields(template)})


def check(chapter: Chapter, entries: Sequence[Slip], seed: int) -> dict[str, Evidence]:
    """Run the check of every entry, record what it computed, and return the evidence by id."""
    evidence = {}
    for entry in entries:
        one = entry.check(RULES, seed)
        mine = {name: row for name, row in one.made.items() if row.kind != "recorded"}
        made = chapter.record(mine)
        evidence[entry.id] = one._replace(made={**one.made, **made})
    return evidence


def card(
    chapter: Chapter, slip: Slip, evidence: Evidences, title: str, columns: Columns, circled: Circled, along: str = "row"
) -> None:  # fmt: skip
    """Show an entry as a card, nothing where its check does not find it.

    Args:
        title: a template over the entry's numbers, what is to be seen in the table.
        along: "row" or "column": what of a printed cell names its row of the card's table; of a column without its metric.
    """
    mine = evidence[slip.id]
    if not mine.holds:
        return
    there: dict[str, Mapping[str, Number]] = {}
    for head, of in columns.items():
        quoted = cells(of) if isinstance(of, str) else ()
        by_name = {(p.row if along == "row" else p.column.partition("/")[0]): p for p in quoted}
        there[head] = by_name if isinstance(of, str) else of
    body, classes = [], []
    printed = [one for of in there.values() for one in of.values() if isinstance(one, Printed)]
    decimals = max((len(one.value.partition(".")[2]) for one in printed), default=0)  # ours stand beside them
    for name in dict.fromkeys(name for of in there.values() for name in of):
        numbers = {head: of[name] for head, of in there.items() if name in of}
        odd = circled({head: number(one) for head, one in numbers.items()})
        shown = [report.thousands(chapter.number(numbers[h], decimals)) if h in numbers else "" for h in there]
        body.append([html.escape(ROWS.get(name, name)), *shown])
        kinds = ["published" if isinstance(numbers.get(h), Printed) else "" for h in there]
        classes.append(["", *(f"{kind} circled" if h in odd else kind for h, kind in zip(there, kinds, strict=True))])
    heads = ["", *(html.escape(head).replace("\n", "<br>") for head in there)]
    texts = {f"Printed ({slip.where}).": slip.says, "Computed.": slip.shows, "Does it matter?": slip.matters}
    said = {head: filled(chapter, text, mine) for head, text in texts.items()}
    body_text = "".join(f"<p><strong>{head}</strong> {text}</p>" for head, text in said.items())
    tables = dict.fromkeys(one.exhibit.rpartition("-T")[2] for one in printed)
    place = f"Table{'s' * (len(tables) > 1)} {listed(tables)}" if tables else slip.where
    caption = f"{PAPERS[slip.paper]}, {place}"
    chapter.show(
        f'<div class="scirep-note scirep-slip" id="slip-{slip.id}"><p class="scirep-title">{filled(chapter, title, mine)}</p>'
        f"{report.table(heads, body, html.escape(caption), classes)}<div>{body_text}</div></div>"
    )


def searchable(chapter: Chapter, slips: Sequence[Slip], evidence: Evidences) -> str:
    """Return entries as a table with a search box and filters by paper and kind (`book/_static/coverage.js`)."""
    papers = "".join(f'<option value="{key}">{html.escape(name)}</option>' for key, name in PAPERS.items())
    kinds = "".join(f'<option value="{i}">{kind}</option>' for i, kind in enumerate(KINDS))
    body = []
    for slip in slips:
        texts = [filled(chapter, text, evidence[slip.id]) for text in (slip.says, slip.shows, slip.matters)]
        where = f"{html.escape(PAPERS[slip.paper])}<br>{html.escape(slip.where)}<br><small>{slip.kind}</small>"
        body.append(
            f'<tr data-paper="{slip.paper}" data-kind="{KINDS.index(slip.kind)}"><th scope="row" id="slip-{slip.id}">{where}</th>'
            f"{''.join(f'<td>{text}</td>' for text in texts)}</tr>"
        )
    heads = "".join(f'<th scope="col">{head}</th>' for head in ("where", "printed", "computed", "does it matter?"))
    return (
        '<form class="scirep-filter" role="search" aria-label="Slips" hidden>'
        '<label>Search <input type="search" name="words" placeholder="rounding, Table 2, SPECTER" autocomplete="off"></label>'
        f'<label>Paper <select name="paper"><option value="">all</option>{papers}</select></label>'
        f'<label>Kind <select name="kind"><option value="">any</option>{kinds}</select></label>'
        '<button type="reset">Show all</button> <output aria-live="polite"></output></form>'
        f'<section><table class="scirep-coverage"><caption>{len(body)} slips</caption><thead><tr>{heads}</tr></thead>'
        f"<tbody>{''.join(body)}</tbody></table></section>"
    )
