"""Coverage has no hole: every exhibit has a state and a place, and no chapter claims what it does not hold.

The inventory is checked against the list of exhibits where that is at hand (beside the folder SCIREP_DATA_MIRROR names), and
against a count of ids always; the chapters' own metadata against the inventory, both ways; the states against what is committed
(results/, published/) and, where the book is built, against what its pages show.
"""

from __future__ import annotations

import csv
import json
import os
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import chromium
import pytest

from scirep_core import book
from scirep_core.bench.studies.tables import STUDIES
from scirep_core.book import coverage
from scirep_core.book.coverage import Exhibit, Shown
from scirep_core.kit.errors import DataError
from scirep_core.results import ROOT, published

IDS = {"V1-T": 9, "V1-F": 2, "V1-C": 11, "V2-T": 11, "V2-F": 2, "V2-C": 14, "CS-T": 4, "CS-F": 3, "CS-C": 12, "TN-T": 9,
       "TN-F": 13, "TN-C": 13, "SM-T": 9, "SM-TA": 8, "SM-F": 1, "SM-C": 9}  # fmt: skip
"""How many tables, figures and claims of each paper there are; ids count from 1."""
ROWS = coverage.exhibits()
MIRROR = os.environ.get("SCIREP_DATA_MIRROR")


# ---- the inventory --------------------------------------------------------------------------------------------------


def test_the_inventory_holds_exactly_the_known_ids():
    known = [f"{kind}{number}" for kind, count in IDS.items() for number in range(1, count + 1)]
    assert len(known) == 130
    assert {row.id for row in ROWS} == set(known) and len(ROWS) == len(known)


def test_the_inventory_holds_exactly_the_list_of_exhibits():
    path = Path(MIRROR).parent / "EXHIBITS.md" if MIRROR else None
    if path is None or not path.is_file():
        pytest.skip("no EXHIBITS.md beside SCIREP_DATA_MIRROR: the count of ids stands in for it")
    listed = set()
    for line in path.read_text(encoding="utf-8").splitlines():
        if found := re.match(r"\| ((?:V1|V2|CS|TN|SM)-[TFC]A?)(\d+)(?:\.\.(\d+))? \|", line):
            kind, first, last = found.groups()
            listed |= {f"{kind}{number}" for number in range(int(first), int(last or first) + 1)}
    assert listed == {row.id for row in ROWS}


def test_ids_stand_by_their_paper():
    slugs = {"V1": "scirepeval-v1", "V2": "scirepeval-v2", "CS": "csfcube", "TN": "neighbours", "SM": "scimult"}
    assert {row.id for row in ROWS if slugs[row.id[:2]] != row.paper} == set()
    assert [row.paper for row in ROWS] == sorted((row.paper for row in ROWS), key=list(coverage.PAPERS).index)


def test_what_cannot_be_computed_at_all_is_only_quoted():
    out_of_reach = {row.id for row in ROWS if row.offline == "none"}
    assert out_of_reach - {row.id for row in ROWS if row.state == "quoted"} == {"TN-T6"}  # an analogue is computed


PLANTED: dict[str, Callable[[dict[str, str]], object]] = {
    "unknown value 'scirepeval-v3'": lambda row: row.update(paper="scirepeval-v3"),
    "unknown value 'reproduced'": lambda row: row.update(state="reproduced"),
    "unknown value 'aritmetic'. did you mean 'arithmetic'": lambda row: row.update(also="aritmetic"),
    "unknown value 'SAMPLEx'": lambda row: row.update(offline="SAMPLEx"),
    "unknown value ''": lambda row: row.update(state=""),
    "states of V1-T1 are embedded sample": lambda row: row.update(state="embedded", also="sample"),
    "states of V1-T1 are sample sample": lambda row: row.update(also="sample"),
    "V1-T1 has no chapter": lambda row: row.update(chapter=""),
    "V1-T1 is quoted": lambda row: row.update(state="quoted", also="", note=""),
    "the note says why": lambda row: row.update(state="embedded", also="quoted"),
    "V1-T1 rests on 'V2-T99'": lambda row: row.update(rests="V2-T2 V2-T99"),
    "V1-T2 appears 2 times": lambda row: row.update(id="V1-T2"),
}


@pytest.mark.parametrize("says", PLANTED)
def test_a_row_that_breaks_the_vocabulary_is_refused(says: str, tmp_path: Path):
    with coverage.EXHIBITS.open(encoding="utf-8", newline="") as stream:
        rows = list(csv.DictReader(stream))
    PLANTED[says](rows[0])
    path = tmp_path / "exhibits.csv"
    with path.open("w", encoding="utf-8", newline="") as stream:
        writer = csv.DictWriter(stream, Exhibit._fields)
        writer.writeheader()
        writer.writerows(rows)
    with pytest.raises(DataError) as error:
        coverage.exhibits(path)
    assert says in str(error.value) and "exhibits.csv" in str(error.value)


def test_another_header_or_a_short_row_is_refused(tmp_path: Path):
    path = tmp_path / "exhibits.csv"
    text = coverage.EXHIBITS.read_text(encoding="utf-8")
    path.write_text(text.replace("also,rests", "rests", 1), encoding="utf-8")
    with pytest.raises(DataError, match="no column 'also'"):
        coverage.exhibits(path)
    path.write_text(text + "V9-T1,scimult\n", encoding="utf-8")
    with pytest.raises(DataError, match=r"exhibits\.csv:132: the row does not have the header"):
        coverage.exhibits(path)


# ---- chapters and inventory, both ways -------------------------------------------------------------------------------


@dataclass
class Notebook:
    """What a chapter's source says of itself, and what is committed for it."""

    exhibits: Sequence[str]
    needs: Sequence[str] = ()
    recorded: Mapping[str, int] = field(default_factory=Counter)


@cache
def notebooks() -> dict[str, Notebook]:
    found = {}
    for path in sorted((ROOT / "notebooks").glob("[!.]*/*.ipynb")):
        page = f"{path.parent.name}/{path.stem}"
        notebook = json.loads(path.read_text(encoding="utf-8"))
        about = notebook["metadata"]["scirep"]
        found[page] = Notebook(about["exhibits"], about["needs"], coverage.recorded_rows(page, notebook))
    return found


def disagreements(rows: Sequence[Exhibit], chapters: Mapping[str, Notebook]) -> Iterator[str]:
    """Yield where the inventory and the chapters' metadata do not say the same."""
    for row in rows:
        yield from (f"{row.id}: no notebook {page}" for page in row.pages if page not in chapters)
    for page, chapter in chapters.items():
        given = {row.id for row in rows if page in row.pages}
        yield from (
            f"{page} claims {exhibit}, which the inventory does not give it"
            for exhibit in set(chapter.exhibits) - given
        )
        yield from (
            f"{page} does not claim {exhibit}, which the inventory gives it"
            for exhibit in given - set(chapter.exhibits)
        )
        yield from (f"{page} claims {e} {n} times" for e, n in Counter(chapter.exhibits).items() if n > 1)


def test_chapters_claim_exactly_the_exhibits_that_the_inventory_gives_them():
    assert list(disagreements(ROWS, notebooks())) == []


def some(identity: str, **change: Any) -> list[Exhibit]:
    """Return the inventory with one row changed."""
    return [row._replace(**change) if row.id == identity else row for row in ROWS]


def claiming(page: str, *exhibits: str) -> dict[str, Notebook]:
    """Return the chapters, one of them with other exhibits."""
    return {**notebooks(), page: Notebook(exhibits)}


@pytest.mark.parametrize(
    ("rows", "chapters", "says"),
    [
        (some("CS-T2", chapter="csfcube/agrement"), None, "CS-T2: no notebook csfcube/agrement"),
        (some("CS-T2", chapter="csfcube/baselines"), None, "csfcube/agreement claims CS-T2"),
        (some("CS-T2", chapter="csfcube/baselines"), None, "csfcube/baselines does not claim CS-T2"),
        (ROWS, claiming("csfcube/errors", "CS-C12", "CS-T1"), "csfcube/errors claims CS-T1"),
        (ROWS, claiming("csfcube/errors"), "csfcube/errors does not claim CS-C12"),
        (ROWS, claiming("csfcube/errors", "CS-C12", "CS-C12"), "csfcube/errors claims CS-C12 2 times"),
    ],
)
def test_a_claim_on_one_side_alone_is_found(rows: list[Exhibit], chapters: dict[str, Notebook] | None, says: str):
    assert any(says in fault for fault in disagreements(rows, chapters or notebooks()))


# ---- states and what is committed ------------------------------------------------------------------------------------

TABLES = {path.stem for path in published.FOLDER.glob("*/*.csv")}


def unsupported(rows: Sequence[Exhibit], chapters: Mapping[str, Notebook]) -> Iterator[str]:
    """Yield the states for which nothing is committed: recorded rows, data a build runs on, printed numbers."""
    for row in rows:
        here = [chapters[page] for page in row.pages if page in chapters]
        rows_of = Counter[str]()
        for chapter in here:
            rows_of.update(chapter.recorded)
        if {"exact", "sample"} & set(row.states) and not rows_of["real"]:
            yield f"{row.id}: {row.states[0]}, but no row of real data is recorded for {row.chapter}"
        if "exact" in row.states and not row.numberless and row.id not in TABLES and "-F" not in row.id:
            yield f"{row.id}: exact, but there is no printed number to agree with"
        if "open" in row.states and not rows_of["open"]:
            yield f"{row.id}: open, but no row of the open literature is recorded for {row.chapter}"
        if (
            "embedded" in row.states
            and not rows_of["embedded"]
            and not any("embedded" in chapter.needs for chapter in here)
        ):
            yield f"{row.id}: embedded, but {row.chapter} neither recorded such rows nor runs on it"
        if "arithmetic" in row.states and not row.numberless and not TABLES & set(row.carried_by):
            yield f"{row.id}: arithmetic, but no printed number of {', '.join(row.carried_by)} is kept"


def test_every_state_rests_on_something_committed():
    assert list(unsupported(ROWS, notebooks())) == []


@pytest.mark.parametrize(
    ("rows", "says"),
    [
        (some("V2-C1", state="sample"), "V2-C1: sample, but no row of real data is recorded"),
        (some("CS-C9", state="open"), "CS-C9: open, but no row of the open literature is recorded"),
        (some("V2-T5", state="exact"), "V2-T5: exact, but no row of real data is recorded"),
        (some("CS-C9", state="exact"), "CS-C9: exact, but there is no printed number"),
        (some("CS-C7", rests=""), "CS-C7: arithmetic, but no printed number of CS-C7"),
        (some("SM-C1", chapter="beyond/slips", state="embedded"), "SM-C1: embedded, but beyond/slips neither"),
    ],
)
def test_a_state_without_support_is_found(rows: list[Exhibit], says: str):
    assert any(says in fault for fault in unsupported(rows, notebooks()))


def test_what_a_recorded_study_answers_is_not_left_at_arithmetic():
    """A study that was recorded and that no exhibit mentions: the inventory would say less than the book holds."""
    from scirep_core.bench.studies.study import results_file

    stale = []
    for name, study in STUDIES.items():
        path = results_file(name)
        if path.is_file():
            state = "sample" if "real" in path.relative_to(ROOT).parts else "embedded"
            by = {row.id: row for row in ROWS}
            stale += [
                f"{path.name} is recorded, and {i} is not {state}" for i in study.exhibits if state not in by[i].states
            ]
    assert stale == []


# ---- the page -------------------------------------------------------------------------------------------------------

AGREEMENT = Shown(
    "Do <readers> agree?",
    {"CS-T2": ["o-published-csfcube-CS-T2-a", "o-b"], "CS-C3": ["o-c"]},
    {"real": 50},
    {"embedded": 1250},
)


def table_rows(page: str) -> dict[str, str]:
    return {found[1].upper(): found[0] for found in re.finditer(r'<tr data-paper=.*?id="([^"]+)".*?</tr>', page)}


def test_the_page_links_chapters_that_exist_and_counts_their_numbers():
    page = coverage.page(ROWS, {"csfcube/agreement": AGREEMENT})
    rows = table_rows(page)
    assert list(rows) == [row.id for row in ROWS]
    assert '<a href="csfcube/agreement.html">Do &lt;readers&gt; agree?</a>' in rows["CS-T2"]
    assert '<a href="csfcube/agreement.html#o-published-csfcube-CS-T2-a">2 printed numbers</a>' in rows["CS-T2"]
    assert "50 real recorded, 1,250 embedded live" in rows["CS-T2"]
    assert '<a href="csfcube/agreement.html#o-c">1 printed number</a>' in rows["CS-C3"]
    assert "csfcube/collection" not in page
    assert 'data-state="exact embedded"' in rows["CS-T2"]
    assert coverage.page(ROWS, {"csfcube/agreement": AGREEMENT}) == page


def test_numbers_that_carry_an_exhibit_are_counted_as_those_of_another():
    shown = Shown("Baselines", {"CS-T4": ["o-x", "o-y", "o-z"]}, {}, {})
    row = table_rows(coverage.page(ROWS, {"csfcube/baselines": shown}))
    assert '<a href="csfcube/baselines.html#o-x">3 printed numbers</a> of <a href="#cs-t4">CS-T4</a>' in row["CS-T3"]
    assert "no printed number linked" in row["CS-C9"] and "a figure: no number to quote" in row["CS-F3"]


def test_counts_add_up_in_table_picture_and_sentence():
    page = coverage.page(ROWS, {})
    tally = Counter(row.state for row in ROWS)
    for slug, name in coverage.PAPERS.items():
        counts = [sum(row.paper == slug and row.state == state for row in ROWS) for state in coverage.STATES]
        cells = "".join(f"<td>{count}</td>" for count in [*counts, sum(counts)])
        assert f'<th scope="row">{name}</th>{cells}</tr>' in page
    drawn = re.findall(r'text-anchor="middle">(\d+)</text>', page)
    assert sum(map(int, drawn)) == len(ROWS) == tally.total()
    said = coverage.summary(ROWS)
    assert all(f"{tally[state]} " in said for state in coverage.STATES) and f"list {len(ROWS)} tables" in said


def test_the_page_has_no_hole_in_its_html():
    page = coverage.page(ROWS, {"csfcube/agreement": AGREEMENT})
    for block in page.split("\n\n"):
        assert not block.startswith("<") or "\n\n" not in block  # a blank line would end the block of HTML
    assert page.count("<table") == page.count("</table>") == 1 + len(coverage.PAPERS)
    assert page.count("<tr") == page.count("</tr>")


def test_chapters_are_read_for_origins_and_rows(tmp_path: Path):
    origin = '<tr><th scope="row" id="o-1"><code>published:csfcube:CS-T2:method:pre/alpha</code></th><td>0.26</td></tr>'
    live = '<tr><th scope="row" id="o-2"><code>live:csfcube/agreement:csfcube/all::x:test:paper</code></th></tr>'
    output = {"output_type": "display_data", "data": {"text/html": [origin, live]}, "metadata": {}}
    needs = [
        "results/real/csfcube/agreement.jsonl",
        "results/embedded/study/main.jsonl.gz",
        "results/gone/study/x.jsonl.gz",
    ]
    notebook = {"cells": [{"cell_type": "code", "outputs": [output]}, {"cell_type": "markdown"}],
                "metadata": {"scirep": {"needs": needs}}}  # fmt: skip
    folder = tmp_path / "csfcube" / "agreement.data"
    folder.mkdir(parents=True)
    rows = [{"source": "embedded"}, {"source": "print"}, {"source": "embedded", "parameters": {"source": "real"}}, {}]
    rows = [{"id": str(at)} | row for at, row in enumerate(rows)]
    (folder / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in [*rows, rows[1]]))  # one row twice
    found = coverage.shown("csfcube/agreement", "T", notebook, tmp_path)
    assert found.numbers == {"CS-T2": ["o-1"]}
    assert found.live == {"embedded": 2, "arithmetic": 1, "other": 1}
    assert found.recorded["real"] == 55 and found.recorded["embedded"] > 100


# ---- the built book -------------------------------------------------------------------------------------------------


def held(site: Path) -> dict[str, Shown]:
    """Return what the chapters of a built book hold, read from its pages and the rows beside them."""
    found = {}
    for page, chapter in notebooks().items():
        path = site / f"{page}.html"
        if path.is_file():
            output = {"data": {"text/html": path.read_text(encoding="utf-8")}}
            notebook = {"cells": [{"outputs": [output]}], "metadata": {"scirep": {"needs": chapter.needs}}}
            found[page] = coverage.shown(page, page, notebook, site)
    return found


def unshown(rows: Sequence[Exhibit], chapters: Mapping[str, Shown], sums: Mapping[str, set[str]]) -> Iterator[str]:
    """Yield the states for which a chapter of the book shows nothing. `sums`: by page, exhibits whose print it computes with."""
    for row in rows:
        here = {page: chapters[page] for page in row.pages if page in chapters}
        if not here:
            continue
        numbers = {exhibit for chapter in here.values() for exhibit in chapter.numbers}
        computed = {exhibit for page in here for exhibit in sums.get(page, ())}
        if "embedded" in row.states and not any(
            c.live.get("embedded") or c.recorded.get("embedded") for c in here.values()
        ):
            yield f"{row.id}: embedded, but no such row in {row.chapter}"
        if "arithmetic" in row.states and not row.numberless and not (numbers | computed) & set(row.carried_by):
            yield f"{row.id}: arithmetic, but no printed number of {', '.join(row.carried_by)} in {row.chapter}"
        if row.state == "quoted" and row.id in TABLES - {"SM-T1", "TN-T8"} and row.id not in numbers:
            yield f"{row.id}: quoted only, and its numbers are not shown in {row.chapter}"


def sums(site: Path) -> dict[str, set[str]]:
    """Return, by page, the exhibits on whose printed numbers its rows are arithmetic."""
    found: dict[str, set[str]] = {}
    for path in site.glob("*/*.data/rows.jsonl"):
        tasks = (json.loads(line)["task"] for line in path.read_text(encoding="utf-8").splitlines())
        page = path.parent.relative_to(site).as_posix().removesuffix(".data")
        found[page] = {task.removeprefix("print/") for task in tasks if task.startswith("print/")}
    return found


@pytest.mark.site
def test_the_book_shows_what_its_states_promise(built_book: Path):
    chapters = held(built_book)
    assert chapters, "no chapter in this book"
    assert list(unshown(ROWS, chapters, sums(built_book))) == []


def test_a_promise_that_no_page_keeps_is_found():
    empty = {page: Shown(page, {}, {}, {}) for page in notebooks()}
    faults = list(unshown(ROWS, empty, {}))
    for row in ROWS:
        if "embedded" in row.states or ("arithmetic" in row.states and not row.numberless):
            assert any(fault.startswith(f"{row.id}:") for fault in faults), row.id
    assert any(fault.startswith("CS-C2: quoted only") for fault in faults)
    assert list(unshown(ROWS, {}, {})) == []


# ---- search and filters ---------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def standing(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Return the address of the page's HTML with its script and style, as a file; headings stand in sections as in the book."""
    static = book.ROOT / "book" / "_static"
    parts = coverage.page(ROWS, {"csfcube/agreement": AGREEMENT}).partition("<div id=")
    body = parts[0] + "".join(f"<section><div id={part}</section>" for part in parts[2].split("<div id="))
    scripts = (
        f"<style>{(static / 'book.css').read_text()}</style><script>{(static / 'coverage.js').read_text()}</script>"
    )
    path = tmp_path_factory.mktemp("coverage") / "coverage.html"
    path.write_text(
        f'<!DOCTYPE html><html lang="en"><head><meta charset="utf-8">{scripts}</head><body>{body}</body></html>'
    )
    return path.as_uri()


SEEN = """() => [...document.querySelectorAll('.scirep-coverage tbody tr')]
  .filter((row) => row.checkVisibility()).map((row) => row.cells[0].id)"""


@pytest.mark.site
def test_rows_are_searched_and_filtered_without_a_network(standing: str):
    quoted = [row.id.lower() for row in ROWS if row.state == "quoted"]
    with chromium.browser() as started, chromium.tab(started, standing) as tab:
        page = tab.page
        assert tab.open("") == []
        seen = lambda: page.evaluate(SEEN)  # noqa: E731
        assert len(seen()) == len(ROWS) and page.inner_text("form output") == f"{len(ROWS)} of {len(ROWS)} exhibits"
        page.get_by_label("Search").fill("cohen MEDIANS")
        assert seen() == ["cs-t2"] and page.inner_text("form output") == f"1 of {len(ROWS)} exhibits"
        assert [h.is_visible() for h in page.locator("section > table").all()].count(True) == 1
        page.get_by_role("button", name="Show all").press("Enter")
        assert len(seen()) == len(ROWS)
        page.get_by_label("State").select_option("quoted")
        assert seen() == quoted
        page.get_by_label("Paper").select_option("scimult")
        assert seen() == [name for name in quoted if name.startswith("sm")]
        page.get_by_role("button", name="Show all").click()
        page.get_by_label("State").select_option("arithmetic")
        assert seen() == [row.id.lower() for row in ROWS if "arithmetic" in row.states]
        page.get_by_label("only as the strongest").check()
        assert seen() == [row.id.lower() for row in ROWS if row.state == "arithmetic"]
        page.evaluate("location.hash = 'cs-t2'")  # a link to an exhibit that is filtered away shows it
        page.wait_for_function("document.getElementById('cs-t2').checkVisibility()")
        page.get_by_label("Search").fill("x")
        page.get_by_label("Search").press("Enter")
        page.wait_for_timeout(200)  # nothing is sent: the page stays
        assert page.url == f"{standing}#filter?words=x" and page.get_by_label("Search").input_value() == "x"
        assert tab.problems == []


@pytest.mark.site
def test_a_link_keeps_what_is_filtered(standing: str):
    with chromium.browser() as started, chromium.tab(started, standing) as tab:
        page = tab.page
        tab.open("")
        page.get_by_label("Paper").select_option("scimult")
        page.get_by_label("State").select_option("quoted")
        page.get_by_label("Search").fill("Table & 1")
        page.get_by_label("only as the strongest").check()
        address, said, seen = page.url, page.inner_text("form output"), page.evaluate(SEEN)
        page.get_by_role("button", name="Show all").click()
        assert "#" not in page.url
        page.evaluate("(hash) => { location.hash = hash; }", address.partition("#")[2])
        page.wait_for_function("(said) => document.querySelector('form output').value === said", arg=said)
        assert page.evaluate(SEEN) == seen and page.get_by_label("Search").input_value() == "Table & 1"
    with chromium.browser() as started, chromium.tab(started, standing) as tab:
        tab.page.goto(f"{standing}#filter?paper=scimult&state=nonsense")
        assert set(tab.page.evaluate(SEEN)) == {row.id.lower() for row in ROWS if row.paper == "scimult"}


@pytest.mark.site
def test_without_scripts_every_row_is_there_and_no_dead_form(standing: str):
    with chromium.browser() as started, chromium.tab(started, standing, java_script_enabled=False) as tab:
        tab.page.goto(standing)
        assert tab.page.locator(".scirep-coverage tbody tr:visible").count() == len(ROWS)
        assert not tab.page.locator("form.scirep-filter").is_visible()


@pytest.mark.site
def test_rows_fit_a_phone(standing: str):
    with chromium.browser() as started, chromium.tab(started, standing, viewport={"width": 390, "height": 844}) as tab:
        tab.open("")
        wide = "() => [...document.querySelectorAll('.scirep-coverage *')].filter((e) => e.getBoundingClientRect().right > 391)"
        assert tab.page.evaluate(f"({wide})().length") == 0
