"""What the hand-written pages borrow from chapters: a panel and a report card for the first page, one number taken apart.

    % scirep: panel beyond/own_paper     in a page of `book/`: the chapter's explorer, in its brief form
    % scirep: report                     what each chapter's paper says, and what became of it
    % scirep: anatomy                    one score as published, recorded and live, and what its name and its row say

Both are made of the executed chapters when the book is assembled. In a book without that chapter the panel is left out, and
the number has no live line.
"""

from __future__ import annotations

import html
import json
import re
from collections import Counter
from collections.abc import Callable, Container, Iterable, Mapping
from pathlib import Path
from typing import Any

from scirep_core.book.explain import Origin
from scirep_core.page.names import ANSWER, HEADS, VERDICTS
from scirep_core.results import ROOT, Result, anchor, read_results, recorded
from scirep_core.results.published import Printed, everything

PANEL = re.compile(r"^% scirep: panel (\S+)$", re.MULTILINE)
VIEW, STATE = "application/vnd.jupyter.widget-view+json", "application/vnd.jupyter.widget-state+json"
CHAPTER, TASK, SYSTEM, METRIC = "csfcube/baselines", "csfcube/all", "fabs_bm25", "ndcg%20"
"""The number that is taken apart: CSFCube's BM25 over all facets, which its authors and we computed on the same files."""
PARTS = {
    "kind": "published, recorded or live",
    "chapter": "the notebook that computed it; of a published number the paper",
    "task": "what was asked; <code>csfcube/all</code> pools the three facets",
    "encoder": "who answered; here BM25 over abstracts",
    "metric": "how the answer was scored; here NDCG over the top 20 % of each pool",
    "split": "on which part of the data",
    "protocol": "by whose rules: <code>paper</code> or <code>sound</code>",
}


# ---- a chapter's panel on a hand-written page ------------------------------------------------------------------------


def with_panel(text: str, notebooks: Mapping[str, dict[str, Any]]) -> dict[str, Any] | None:
    """Return a page that asks for a panel as a notebook that holds it, or None where it asks for none that is there.

    Args:
        text: the page's Markdown; its first line that names a panel counts.
        notebooks: page -> published notebook of the chapters in this build.
    """
    asked = PANEL.search(text)
    if not asked or asked[1] not in notebooks:
        return None
    chapter = notebooks[asked[1]]
    outputs = [output for cell in chapter["cells"] for output in cell.get("outputs", ())]
    view = next((output for output in outputs if VIEW in output.get("data", {})), None)
    if view is None:
        return None
    held, shown = chapter["metadata"]["widgets"][STATE], view["data"][VIEW]["model_id"]
    model = held["state"][shown]
    brief = {**held["state"], shown: {**model, "state": {**model["state"], "brief": True}}}
    panel = {"cell_type": "code", "execution_count": None, "id": "panel",
             "source": f"# The notebook of {asked[1]} makes this panel",
             "metadata": {"tags": ["remove-input"]}, "outputs": [view]}  # fmt: skip
    cells = [_prose("before", text[: asked.start()]), panel, _prose("after", text[asked.end() :])]
    meta = {"kernelspec": chapter["metadata"]["kernelspec"], "widgets": {STATE: {**held, "state": brief}}}
    return {**chapter, "cells": cells, "metadata": meta}


def _prose(name: str, text: str) -> dict[str, Any]:
    return {"cell_type": "markdown", "id": name, "metadata": {}, "source": text.strip() + "\n"}


# ---- the papers' claims and our verdicts -------------------------------------------------------------------------------


LEADS = ("scirepeval/multi_format", "csfcube/baselines", "neighbours/short_queries", "scimult/interference")
"""Chapters of each paper's main claim, whatever became of it: the first one stands in words before the marks."""
MARKS = {1: "✓", -1: "✗", 0: "?"}
COUNTED = {1: ("holds", "hold"), -1: ("does not hold", "do not hold"), 0: ("is open", "are open")}
"""Verdict -> of one claim, of several; marks stand in this order."""


ROLES = {"paper": "by the paper’s own numbers", "real": "on real papers"}
"""Lines of an answer that judge a claim, and by what."""
WHOSE = ("paper’s claim<br><small>by its own numbers</small>", "our claim<br><small>on real papers</small>")
BOARD = "beyond/leaderboard"


def _answer(executed: Path, page: str) -> dict[str, Any]:
    path = executed / f"{page}.data" / ANSWER
    found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}
    return found


def _claims(executed: Path, page: str) -> tuple[dict[str, str], dict[str, tuple[int, str]]]:
    """Return what lines of a chapter’s answer judge by, unless a head says it, and verdict and claim of those that judge."""
    lines = _answer(executed, page)
    judging = {role: lines[role] for role in ROLES if role in lines and lines[role]["verdict"] is not None}
    found = {role: (line["verdict"], line["claim"]) for role, line in judging.items()}
    return {role: by for role, by in ROLES.items() if lines.get(role, {}).get("head") == HEADS[role]}, found


def _which_vectors(executed: Path) -> str:
    """Return which systems lead on real papers: three sentences of the leaderboard's answer; nothing in a book without it."""
    if not (answer := _answer(executed, BOARD).get("real")):
        return ""
    said = " ".join(re.split(r"(?<=\.) (?=[A-Z])", re.sub(r"<[^>]*>", "", answer["text"]))[:3])
    board = f'<a href="{BOARD}.html">leaderboard</a>'
    return (
        f"<p><strong>Which vectors should one use?</strong> Our {board} ranks the systems that run here task by task. {said} "
        "The papers’ own models were not compared.</p>"
    )


def _worded(verdict: int, claim: str) -> str:
    shown = f'<span class="scirep-mark way{verdict}" aria-hidden="true">{MARKS[verdict]}</span>'
    return f"{shown} <b>{VERDICTS[verdict]}{':' * bool(claim)}</b> {html.escape(claim)}".rstrip()


def verdicts(executed: Path, page: str) -> str:
    """Return the claims of a chapter's answer with their verdicts as one line; nothing of a chapter that judges none."""
    judged_by, found = _claims(executed, page)
    return "; ".join(f"{_worded(*one)} {judged_by.get(role, '')}".rstrip() for role, one in found.items())


def report_card(executed: Path, chapters: Iterable[tuple[str, str, str]]) -> str:
    """Return the papers' first claims with the verdicts of the answers that chapters open with: a mark each, and in words.

    Args:
        chapters: part, page and title of each. One that quotes no paper, or judges nothing, is left out.
    """
    # they draw, by libraries that the commands do without
    from scirep_core.page.blocks import fold
    from scirep_core.page.report import table

    judged: dict[tuple[str, str, str], dict[str, tuple[int, str]]] = {}
    for part, page, title in chapters:
        judged_by, found = _claims(executed, page)
        if found and "paper" in judged_by:
            judged[part, page, title] = found
    if not judged:
        return ""

    def marks(part: str, role: str) -> str:
        found = [
            (*of[role], page, title) for (where, page, title), of in judged.items() if where == part and role in of
        ]
        links = []
        for verdict, claim, page, title in sorted(found, key=lambda one: [*COUNTED].index(one[0])):
            words = html.escape(f"{title} {VERDICTS[verdict]}{f': {claim}' * bool(claim)}")
            look = f'class="scirep-mark way{verdict}" title="{words}" aria-label="{words}"'
            links.append(f'<a {look} href="{page}.html">{MARKS[verdict]}</a>')
        return "".join(links)

    def report(title: str, pages: Container[str], first: str = "chapter") -> str:
        body = []
        for (part, page, name), found in judged.items():
            if page in pages:
                paper = f"{html.escape(part.partition(':')[0])}<br>" * (first != "chapter")
                link = f'{paper}<a href="{page}.html">{html.escape(name)}</a>'
                body.append([link, *(_worded(*found[role]) if role in found else "not judged" for role in ROLES)])
        rows = table([first, *WHOSE], body, title, [["", "text", "text"]] * len(body))
        return f'<div class="scirep-report">{rows}</div>' if body else ""

    lines = [
        [html.escape(part), *(marks(part, role) for role in ROLES)]
        for part in dict.fromkeys(part for part, *_ in judged)
    ]
    counts = {role: Counter(found[role][0] for found in judged.values() if role in found) for role in ROLES}
    own, real = (_counted(counts[role], whose) for role, whose in (("paper", "of the papers’"), ("real", "of our own")))
    first = f"<strong>Judged by their own numbers, {own}.</strong> " * bool(own)
    return (
        f"<p>{first}{f'On real papers, {real}.' * bool(real)}"
        + _main_claim(judged)
        + "</p>"
        + _which_vectors(executed)
        + "<p>A chapter judges two claims, and they <em>differ</em>: one of the paper, recomputed from its printed tables, "
        "released files or the algebra of its measures; and one of ours on the same question, tested on real papers, mostly with "
        "MiniLM, a small general sentence encoder. Ours may even be the opposite of the paper’s.</p>"
        + report("The main claim of each paper, and ours", LEADS, "paper (chapter)")
        + "<p>In the next table each mark is a claim and leads to its chapter: ✓ it holds, ✗ it does not, ? it is "
        "open (inconclusive, confounded or not run).</p>"
        + f'<div class="scirep-report">{table(["", *WHOSE], lines, _failing(judged), [["", "text", "text"]] * len(lines))}</div>'
        + fold("The claims of all chapters", report("Claims and verdicts", {page for _, page, _ in judged}))
    )


def _counted(found: Counter[int], whose: str) -> str:
    """Return how many claims hold, do not hold and are open as a clause; nothing of none."""
    from scirep_core.page.say import listed

    counts = [(str(found[way]), words[found[way] > 1]) for way, words in COUNTED.items() if found[way]]
    counts[:1] = [(f"{n} {whose} {found.total()} claim{'s' * (found.total() > 1)}", words) for n, words in counts[:1]]
    return str(listed(map(" ".join, counts), nothing=""))


Judged = Mapping[tuple[str, str, str], Mapping[str, tuple[int, str]]]
"""(part, page, title) of a chapter -> role -> verdict and claim."""


def _main_claim(judged: Judged) -> str:
    """Return what became of the first paper's main claim, and of ours beside it, as sentences."""
    ours = {1: "Ours, on real papers, holds: {}.", -1: "Ours, on real papers, does not hold: {}.",
            0: "Whether ours holds on real papers is open: {}."}  # fmt: skip
    for (part, page, _), found in judged.items():
        if page == LEADS[0] and "paper" in found:
            verdict, claim = found["paper"]
            said = (
                f" The main claim of {html.escape(part.partition(':')[0])} {COUNTED[verdict][0]}: {html.escape(claim)}."
            )
            return said + (
                f" {ours[found['real'][0]].format(html.escape(found['real'][1]))}" if "real" in found else ""
            )
    return ""


def _failing(judged: Judged) -> str:
    """Return by paper how many of its claims do not hold by its own numbers, as a heading."""
    fail = dict[str, int]()
    for (part, _, _), found in judged.items():
        if "paper" in found:
            name = html.escape(part.partition(":")[0])
            fail[name] = fail.get(name, 0) + (found["paper"][0] == -1)
    some = ", ".join(f"{name} {n}" for name, n in fail.items() if n)
    return f"Claims of the papers that do not hold by their own numbers: {some or 'none'}"


# ---- one number taken apart ------------------------------------------------------------------------------------------


def anatomy(executed: Path) -> str:
    """Return the example as HTML: drawn, as a table, its name part by part, and what `scirep explain` says of it."""
    from scirep_core.page.report import table

    printed = next(p for p in everything() if (p.paper, p.exhibit, p.row, p.column) ==
                   ("csfcube", "CS-T4", SYSTEM, f"{TASK.partition('/')[2]}/{METRIC}"))  # fmt: skip
    ours = next(row for row in recorded(CHAPTER) if _is(row, SYSTEM))
    rows = executed / f"{CHAPTER}.data" / "rows.jsonl"
    found = read_results(rows) if rows.is_file() else []
    page = executed / f"{CHAPTER}.ipynb"
    source = page.read_text(encoding="utf-8") if page.is_file() else ""
    systems = (SYSTEM, "random", "oracle")
    live, floor, ceiling = (next((row for row in found if _is(row, name)), None) for name in systems)

    def link(number: Printed | Result, text: str) -> str:
        place = anchor(number.id)
        shown = f'\\"{place}\\"' in source
        return f'<a class="scirep-number" href="{CHAPTER}.html#{place}">{text}</a>' if shown else text

    lines = [["published", link(printed, printed.value), "not printed", "50", "the published test collection", "", ""]]
    lines += [_line("recorded", ours, link, "the same files, by checksum", None, None)]
    if live:
        lines += [_line("live", live, link, "the embedded literature", floor, ceiling)]
    head = ("kind", "value", "95 % interval", "queries", "data", "floor", "ceiling")
    words = zip(PARTS.items(), ours.id.split(":"), strict=True)
    parts = [[part, f"<code>{html.escape(word)}</code>", says] for (part, says), word in words]
    name = f"The recorded number's name, <code>{html.escape(ours.id)}</code>"
    where = ROOT / "results" / "real" / f"{CHAPTER}.jsonl"
    explanation = html.escape(Origin(ours, where).text())
    return "\n".join((
        f'<figure class="scirep-figure">{_drawn(float(printed.value), ours, live, floor, ceiling)}',
        "<figcaption>NDCG%20 of BM25 on CSFCube, all facets, 50 queries, protocol <code>paper</code>; bars are 95 % intervals."
        "</figcaption></figure>",
        table(head, lines, "The same number three times"),
        table(("part", "here", "says"), parts, name, [["", "text", "text"]] * len(parts)),
        '<details class="scirep-made"><summary>What <code>scirep explain</code> prints for it</summary>'
        f'<div class="scirep-scroll"><pre>{explanation}</pre></div></details>',
    ))  # fmt: skip


def _is(row: Result, system: str) -> bool:
    return (row.task, row.encoder, row.metric, row.split, row.protocol) == (TASK, system, METRIC, "test", "paper")


def _line(
    kind: str, row: Result, link: Callable[[Result, str], str], data: str, floor: Result | None, ceiling: Result | None
) -> list[str]:
    bounds = "" if row.low is None or row.high is None else f"{row.low:.1f} to {row.high:.1f}"
    ends = ("" if end is None else f"{end.value:.1f}" for end in (floor, ceiling))
    return [kind, link(row, f"{row.value:.2f}"), bounds, str(row.n), data, *ends]


def _drawn(printed: float, ours: Result, live: Result | None, floor: Result | None, ceiling: Result | None) -> str:
    """Return the three marks with their intervals as a drawing, floor and ceiling beside the live one."""
    import pandas as pd

    from scirep_core.page import report

    marks = {"published": (printed, None, None), "recorded": (ours.value, ours.low, ours.high)}
    alt = f"Published {printed:.1f} and recorded {ours.value:.1f} on the same data"
    both = ((floor, "floor", "--"), (ceiling, "ceiling", "-"))
    ends = [(end, name, style) for end, name, style in both if live and end]
    if live:
        marks["live"] = live.value, live.low, live.high
        told = [f"live {live.value:.1f} on simulated data", *(f"{name} {end.value:.1f}" for end, name, _ in ends)]
        alt = ", ".join([alt, *told])

    @report.styled
    def draw() -> str:
        figure, axes = report.subplots(figsize=(report.WIDTH, 1.5))
        frame = pd.DataFrame(marks, ["value", "low", "high"]).T.rename_axis("line").reset_index()
        report.dots(axes, frame.assign(look=frame["line"]), looks=report.MARKS)
        for end, name, style in ends:
            axes.vlines(end.value, 1.6, 2.4, color=report.FLOOR, linestyle=style, linewidth=1)
            axes.text(end.value + 1, 1.75, name, va="top")
        axes.set_xlim(0, 100)
        return " ".join(report.svg(figure, "anatomy", alt).split())  # in Markdown an empty line would end it

    return draw()
