"""Chapter `beyond/slips`: every misprint, wrong sum, overdrawn sentence and unstated choice of the five papers that we can prove.

The register is data (one tuple a paper, `beyond_slips_*.py`). Each item has a check that computes it again at each build, from the
printed tables, from recorded rows of real data, or by running a published rule on an example. The page shows what the checks find;
one that finds nothing any more is shown as such and not counted. What needs the published code or data themselves stands apart.
"""

from __future__ import annotations

import html
import re
from collections.abc import Mapping, Sequence
from string import Formatter

from scirep_core.exhibits import (
    beyond_slips_csfcube,
    beyond_slips_neighbours,
    beyond_slips_perturbations,
    beyond_slips_scimult,
    beyond_slips_scirepeval,
    beyond_slips_scirepeval_code,
    beyond_slips_scirepeval_v1,
)
from scirep_core.exhibits.beyond_slips_base import KINDS, PAPERS, SEED, Evidence, Right, Slip
from scirep_core.exhibits.beyond_slips_right import KNOWN, RIGHT
from scirep_core.exhibits.counting import grouped
from scirep_core.page import report
from scirep_core.page.chapter import Chapter
from scirep_core.page.rows import Number
from scirep_core.results.published import Printed

CHAPTER = "beyond/slips"
PARTS = (
    beyond_slips_csfcube,
    beyond_slips_scirepeval_v1,
    beyond_slips_scirepeval,
    beyond_slips_scirepeval_code,
    beyond_slips_neighbours,
    beyond_slips_perturbations,
    beyond_slips_scimult,
)
SLIPS: tuple[Slip, ...] = tuple(slip for part in PARTS for slip in part.SLIPS)
"""The register."""
HEADS = {"csfcube": "CSFCube", "scirepeval-v1": "SciRepEval<br>v1", "scirepeval-v2": "SciRepEval<br>v2",
         "neighbours": "Textual<br>neighbours", "scimult": "SciMult"}  # fmt: skip
"""The papers at the head of a column, narrow enough for six of them beside one another."""
Found = Mapping[str, Evidence]
"""Evidence by the id of an item, its computed numbers recorded."""


class _Shown:
    """A number in a template: `{name}` as it stands, `{name:2}` with two decimals, `{name:+1}` signed, `{name:y}` a year."""

    def __init__(self, chapter: Chapter, number: Number) -> None:
        self.chapter, self.number = chapter, number

    def __format__(self, spec: str) -> str:
        if isinstance(self.number, Printed):
            return self.chapter.number(self.number) if spec == "y" else grouped(self.chapter.number(self.number))
        if spec == "y":
            return self.chapter.number(self.number, 0)
        return grouped(self.chapter.number(self.number, int(spec.lstrip("+") or 0), sign=spec.startswith("+")))


def fields(template: str) -> list[str]:
    """Return the names of the numbers that a template shows.

    >>> fields("printed {cell}, computed {wanted:1}")
    ['cell', 'wanted']
    """
    return [name for _, name, _, _ in Formatter().parse(template) if name]


def filled(chapter: Chapter, template: str, found: Evidence) -> str:
    """Return a template with its numbers as links to their origins."""
    numbers: dict[str, Number] = {**found.printed, **found.made}
    return template.format(**{name: _Shown(chapter, numbers[name]) for name in fields(template)})


def check(chapter: Chapter, items: Sequence[Slip | Right]) -> Found:
    """Run every check with the chapter's seed; record what it computed, and return the evidence."""
    SEED.set(chapter.parameters["seed"])
    found = {}
    for item in items:
        evidence = item.check()
        mine = {name: row for name, row in evidence.made.items() if row.kind != "recorded"}
        made = dict(zip(mine, chapter.record(mine.values()), strict=True))
        found[item.id] = evidence._replace(made={**evidence.made, **made})
    return found


def proven(found: Found, paper: str = "", kind: str = "") -> list[Slip]:
    """Return the items whose check found them, of a paper and a kind, or of all."""
    return [s for s in SLIPS if found[s.id].holds and paper in ("", s.paper) and kind in ("", s.kind)]


def broken(text: str) -> str:
    """Return a short text as HTML in lines, for a column beside others of a table.

    >>> broken("claim against its table"), broken("Abstract, Table 2")
    ('claim<br>against its table', 'Abstract,<br>Table 2')
    """
    return re.sub(r" (?=against |that )|(?<=,) (?!and )", "<br>", html.escape(text))


def summary(chapter: Chapter, found: Found) -> None:
    """Show how many items there are of each kind and paper, and say which checks no longer hold."""
    body = []
    for kind in KINDS:
        counts = [len(proven(found, paper, kind)) for paper in PAPERS]
        body.append([broken(kind), *(str(n) if n else "" for n in counts), f"<strong>{sum(counts)}</strong>"])
    total = [str(len(proven(found, paper))) for paper in PAPERS]
    body.append(["all", *total, f"<strong>{len(proven(found))}</strong>"])
    caption = "Items whose check holds in this build, by kind and paper"
    chapter.show(report.table(["Kind", *(HEADS[paper] for paper in PAPERS), "all"], body, caption))
    gone = [f"<code>{s.id}</code>" for s in SLIPS if not found[s.id].holds]
    chapter.say(
        f"{len(proven(found))} of {len(SLIPS)} checks find what the register says. Of the proven items, "
        f"{sum(s.matters.startswith('No') for s in proven(found))} change nothing that a paper concludes."
    )
    if gone:
        chapter.note(
            f"These checks find nothing in this build, and their items are not shown as slips: {', '.join(gone)}."
        )


def slips(chapter: Chapter, found: Found, paper: str) -> None:
    """Show a paper's items, grouped by kind: where, what is printed, what the check finds, whether it matters."""
    body, classes = [], []
    for kind in KINDS:
        for slip in proven(found, paper, kind):
            says, shows, matters = (filled(chapter, t, found[slip.id]) for t in (slip.says, slip.shows, slip.matters))
            where = f'<span id="slip-{slip.id}">{broken(slip.where)}</span><br><small>{broken(kind)}</small>'
            body.append([where, says, shows, matters])
            classes.append(["", *["text narrow"] * 3])
    header = [
        "Where",
        *(f'<span class="text">{name}</span>' for name in ("printed", "the check finds", "does it matter?")),
    ]
    chapter.show(report.table(header, body, f"{html.escape(PAPERS[paper])}: {len(body)} items", classes))


def right(chapter: Chapter, found: Found) -> None:
    """Show what was checked in the same way and found right."""
    good = [one for one in RIGHT if found[one.id].holds]
    body = [
        [html.escape(PAPERS[one.paper]), html.escape(one.where), filled(chapter, one.shows, found[one.id])]
        for one in good
    ]
    chapter.show(
        report.table(
            ["Paper", "where", "what the check finds"], body, "Checked, and right", [["", "text", "text"]] * len(body)
        )
    )
    bad = [f"<code>{one.id}</code>" for one in RIGHT if not found[one.id].holds]
    if bad:
        chapter.note(f"Not right in this build: {', '.join(bad)}.")


def known(chapter: Chapter) -> None:
    """Show what is known from a paper's own repository and cannot be computed in this build."""
    body = [
        [html.escape(PAPERS[one.paper]), html.escape(one.where), html.escape(one.says), html.escape(one.source)]
        for one in KNOWN
    ]
    chapter.show(
        report.table(
            ["Paper", "where", "what", "known from"],
            body,
            "Known, and not computed here",
            [["", *["text narrow"] * 3]] * len(body),
        )
    )
