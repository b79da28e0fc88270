"""What hand-written pages borrow: a chapter's panel in its brief form, and one number taken apart."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from scirep_core.book import frontpage
from scirep_core.book.explain import find
from scirep_core.book.frontpage import CHAPTER, PANEL, STATE, VIEW, anatomy, report_card, verdicts, with_panel
from scirep_core.page.names import ANSWER, HEADS
from scirep_core.results import Result, anchor, recorded
from scirep_core.results.published import lookup

PAGE = "# A title\n\nBefore.\n\n% scirep: panel beyond/own\n\n## After\n"
OURS = next(r for r in recorded(CHAPTER) if r.id.endswith("csfcube/all:fabs_bm25:ndcg%20:test:paper"))


@pytest.fixture
def notebook() -> dict[str, Any]:
    """A published chapter with two cells, of which the second shows a panel."""
    view = {"output_type": "display_data", "data": {VIEW: {"model_id": "1"}, "text/plain": "Panel()"}, "metadata": {}}
    cells = [{"cell_type": "markdown", "source": "# Own"}, {"cell_type": "code", "source": "panel", "outputs": [view]}]
    state = {"1": {"model_name": "AnyModel", "state": {"data": "x", "layout": "IPY_MODEL_2"}}, "2": {"state": {}}}
    meta = {"kernelspec": {"name": "python3"}, "widgets": {STATE: {"state": state, "version_major": 2}}, "scirep": {}}
    return {"cells": cells, "metadata": meta, "nbformat": 4, "nbformat_minor": 5}


def test_a_page_borrows_a_chapters_panel_in_its_brief_form(notebook):
    before = json.dumps(notebook)
    page = with_panel(PAGE, {"beyond/own": notebook})
    assert page is not None and json.dumps(notebook) == before
    panel = "# The notebook of beyond/own makes this panel"  # the page's source is downloaded too, and runs
    assert [cell["source"] for cell in page["cells"]] == ["# A title\n\nBefore.\n", panel, "## After\n"]
    (output,) = page["cells"][1]["outputs"]
    state = page["metadata"]["widgets"][STATE]["state"]
    assert state[output["data"][VIEW]["model_id"]]["state"] == {"data": "x", "layout": "IPY_MODEL_2", "brief": True}
    assert set(state) == {"1", "2"} and "scirep" not in page["metadata"]


def test_a_page_without_that_chapter_stays_a_page_without_the_line(notebook):
    assert with_panel(PAGE, {}) is None and with_panel("# None asked\n", {"beyond/own": notebook}) is None
    notebook["cells"].pop()
    assert with_panel(PAGE, {"beyond/own": notebook}) is None
    assert "scirep" not in PANEL.sub("", PAGE) and "## After" in PANEL.sub("", PAGE)


def chapter_run(folder: Path, shown: str = "") -> Path:
    """An executed CSFCube chapter with live rows of the system, its floor and its ceiling, and what its page shows."""
    live = replace(OURS, kind="live", value=33.25, low=30.0, high=37.0, source="embedded")
    rows: list[Result] = [live, replace(live, encoder="random", value=12.5, low=None, high=None),
                          replace(live, encoder="oracle", value=91.0), replace(live, protocol="sound", value=1.0)]  # fmt: skip
    path = folder / f"{CHAPTER}.data" / "rows.jsonl"
    path.parent.mkdir(parents=True)
    path.write_text("".join(json.dumps(r.to_json()) + "\n" for r in rows), encoding="utf-8")
    (folder / f"{CHAPTER}.ipynb").write_text(json.dumps({"cells": [shown]}), encoding="utf-8")
    return folder


def test_the_number_taken_apart_is_the_published_the_recorded_and_the_live_one(tmp_path):
    made = anatomy(chapter_run(tmp_path))
    text = re.sub(r"<[^>]+>", " ", made)
    printed = lookup("CS-T4")["fabs_bm25", "all/ndcg%20"].value
    parts = (rf"{part}\s+{re.escape(word)}" for part, word in zip(frontpage.PARTS, OURS.id.split(":"), strict=True))
    for line in (
        rf"published\s+{printed}",
        rf"recorded\s+{OURS.value:.2f}\s+40\.9 to 51\.3",
        r"live\s+33\.25\s+30\.0 to 37\.0\s+50\s+the embedded literature\s+12\.5\s+91\.0",
        *parts,
    ):
        assert re.search(rf"{line}\s", text), line
    assert find(OURS.id)[0].text().splitlines()[1] in text  # what scirep explain prints
    assert not re.search(r"\n\s*\n", made), "an empty line would end it in Markdown"
    (title,) = re.findall(r"<title[^>]*>([^<]*)", made)
    assert "live 33.2 on simulated data, floor 12.5, ceiling 91.0" in title


def test_numbers_link_to_their_origin_only_where_the_chapter_shows_it(tmp_path):
    without = anatomy(tmp_path)  # the chapter: no live line
    assert 'scope="row">recorded' in without and 'scope="row">live' not in without and "<a " not in without
    made = anatomy(chapter_run(tmp_path, f'<th id="{anchor(OURS.id)}">'))
    assert re.findall(r'<a [^>]*href="([^"]+)"', made) == [f"{CHAPTER}.html#{anchor(OURS.id)}"]


def answered(executed: Path, page: str, lines: dict[str, Any]) -> None:
    """Write the answer that a chapter opens with."""
    path = executed / f"{page}.data" / ANSWER
    path.parent.mkdir(parents=True)
    path.write_text(json.dumps(lines), encoding="utf-8")


def test_the_report_card_has_the_first_claim_of_each_chapter_that_judges_one(tmp_path):
    def line(verdict: int | None, head: str = HEADS["paper"]) -> dict[str, Any]:
        said = 'Adapters lead by <a href="#n">4.7</a> points &lt;all&gt;. More.'
        return {"head": head, "text": said, "verdict": verdict, "claim": "a > b"}

    answers = {
        "a/one": {"paper": line(1), "real": line(-1, "We find on real papers")},
        "a/two": {"paper": {**line(-1), "claim": ""}},  # what real papers say is not known
        "b/three": {"paper": line(1, "What runs here"), "real": line(0)},  # quotes no paper
        "b/four": {"paper": line(None), "real": line(None)},  # judges nothing
    }
    for page, lines in answers.items():
        answered(tmp_path, page, lines)
    listed = [*((f"Part <{page[0]}>", page, f"{page}?") for page in answers), ("C", "c/five", "not run")]
    made = report_card(tmp_path, listed)
    text = " ".join(re.sub(r"<[^>]+>", " ", made).split())
    assert text.startswith(
        "Judged by their own numbers, 1 of the papers’ 2 claims holds and 1 does not hold. On real papers, 1 of our own 1 claim "
    )
    assert re.findall(r'class="scirep-mark way(-?\d)" title="([^"]*)"[^>]* href="([^"]*)"', made) == [
        ("1", "a/one? Holds: a &gt; b", "a/one.html"), ("-1", "a/two? Does not hold", "a/two.html"),
        ("-1", "a/one? Does not hold: a &gt; b", "a/one.html"),
    ]  # fmt: skip
    assert "do not hold by their own numbers: Part &lt;a&gt; 1" in text
    assert "Which vectors" not in made
    answered(
        tmp_path,
        frontpage.BOARD,
        {"real": {**line(-1), "text": "<b>A leads in <a>4.5</a> of 11.</b> B in 2. C in 1. More."}},
    )
    assert "task by task. A leads in 4.5 of 11. B in 2. C in 1. The papers" in report_card(
        tmp_path, [("A", "a/one", "a?")]
    )
    assert "a/one? ✓ Holds: a &gt; b ✗ Does not hold: a &gt; b a/two? ✗ Does not hold not judged" in text
    assert made.count("Part &lt;a&gt;") == 2 and "Part &lt;b&gt;" not in made
    assert report_card(tmp_path, []) == ""
    answered(tmp_path, "d/six", {"paper": line(None), "real": line(1)})  # not the paper's own numbers
    assert "<p>On real papers, 1 of our own 1 claim holds." in report_card(tmp_path, [("D", "d/six", "d?")])
    by = [re.sub("<[^>]+>", "", verdicts(tmp_path, page)) for page in ("a/one", "b/three", "b/four")]
    assert by[0] == "✓ Holds: a &gt; b by the paper’s own numbers; ✗ Does not hold: a &gt; b on real papers"
    assert by[1:] == ["✓ Holds: a &gt; b; ? Open: a &gt; b", ""]  # heads of their own say by what


def test_the_report_card_opens_with_one_question_a_paper(tmp_path):
    for page in (frontpage.LEADS[0], "csfcube/other"):
        lines = {role: {"head": HEADS[role], "verdict": 1, "claim": f"{role} of {page}"} for role in ("paper", "real")}
        answered(tmp_path, page, lines)
    made = report_card(tmp_path, [("A", frontpage.LEADS[0], "a?"), ("B", "csfcube/other", "b?")])
    before, _, folded = made.partition("<details")
    table = before.partition("The main claim of each paper, and ours")[2]
    table = table.partition("In the next table")[0]  # the tally of marks follows
    assert "A<br><a href" in table
    assert f"<b>Holds:</b> real of {frontpage.LEADS[0]}" in table and "csfcube/other" not in table
    assert all(f"<b>Holds:</b> paper of {page}" in folded for page in (frontpage.LEADS[0], "csfcube/other"))
    assert before.startswith(
        "<p><strong>Judged by their own numbers, 2 of the papers’ 2 claims hold.</strong> On real papers, 2 of our own 2 claims "
        "hold. "
        f"The main claim of A holds: paper of {frontpage.LEADS[0]}. "
        f"Ours, on real papers, holds: real of {frontpage.LEADS[0]}.</p>"
    )
