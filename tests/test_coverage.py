"""Coverage has no hole: every exhibit has a state and a place, and no chapter claims what it does not hold.

The inventory is checked against a count of ids; the chapters' own metadata against the inventory, both ways; the states against
what is committed (results/, published/) and, where the book is built, against what its pages show.
"""

from __future__ import annotations

import csv
import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import chromium as installed
import pytest

from scirep_core import book
from scirep_core.bench.studies.study import results_file
from scirep_core.bench.studies.tables import STUDIES
from scirep_core.book import coverage
from scirep_core.book.coverage import Exhibit, Shown
from scirep_core.kit.errors import DataError
from scirep_core.results import ROOT, published

IDS = {"V1-T": 9, "V1-F": 2, "V1-C": 11, "V2-T": 11, "V2-F": 2, "V2-C": 14, "CS-T": 4, "CS-F": 3, "CS-C": 12, "TN-T": 9,
       "TN-F": 13, "TN-C": 13, "SM-T": 9, "SM-TA": 8, "SM-F": 1, "SM-C": 9}  # fmt: skip
"""How many tables, figures and claims of each paper there are; ids count from 1."""
ROWS = coverage.exhibits()


def test_the_inventory_holds_exactly_the_known_ids_by_their_paper():
    known = [f"{kind}{number}" for kind, count in IDS.items() for number in range(1, count + 1)]
    assert len(known) == 130
    assert sorted(row.id for row in ROWS) == sorted(known)
    slugs = {"V1": "scirepeval-v1", "V2": "scirepeval-v2", "CS": "csfcube", "TN": "neighbours", "SM": "scimult"}
    assert [row.paper for row in ROWS] == sorted((slugs[row.id[:2]] for row in ROWS), key=list(coverage.PAPERS).index)
    assert {row.id for row in ROWS if slugs[row.id[:2]] != row.paper} == set()
    # what cannot be computed at all is only quoted, but where an analogue is computed
    assert {row.id for row in ROWS if row.offline == "none" and row.state != "quoted"} == {"TN-T6"}


PLANTED: dict[str, dict[str, str]] = {
    "unknown value 'scirepeval-v3'": {"paper": "scirepeval-v3"},
    "unknown value 'reproduced'": {"state": "reproduced"},
    "unknown value 'aritmetic'. did you mean 'arithmetic'": {"also": "aritmetic"},
    "unknown value 'SAMPLEx'": {"offline": "SAMPLEx"},
    "unknown value ''": {"state": ""},
    "states of V1-T1 are embedded sample": {"state": "embedded", "also": "sample"},
    "states of V1-T1 are sample sample": {"also": "sample"},
    "V1-T1 has no chapter": {"chapter": ""},
    "V1-T1 is quoted": {"state": "quoted", "also": "", "note": ""},
    "the note says why": {"state": "embedded", "also": "quoted"},
    "V1-T1 rests on 'V2-T99'": {"rests": "V2-T2 V2-T99"},
    "V1-T2 appears 2 times": {"id": "V1-T2"},
}


@pytest.mark.parametrize("says", PLANTED)
def test_a_row_that_breaks_the_vocabulary_is_refused(says: str, tmp_path: Path):
    path = tmp_path / "exhibits.csv"
    with coverage.EXHIBITS.open(encoding="utf-8", newline="") as stream:
        rows = list(csv.DictReader(stream))
    with path.open("w", encoding="utf-8", newline="") as stream:
        writer = csv.DictWriter(stream, Exhibit._fields)
        writer.writeheader()
        writer.writerows([rows[0] | PLANTED[says], *rows[1:]])
    with pytest.raises(DataError, match=rf"exhibits\.csv.*{re.escape(says)}"):
        coverage.exhibits(path)


class Notebook(NamedTuple):
    """What a chapter's source says of itself, and what is committed for it."""

    exhibits: Sequence[str]
    needs: Sequence[str] = ()
    recorded: Mapping[str, int] = {}


@cache
def notebooks() -> dict[str, Notebook]:
    found = {}
    for path in sorted((ROOT / "notebooks").glob("[!.]*/*.ipynb")):
        page, notebook = f"{path.parent.name}/{path.stem}", json.loads(path.read_text(encoding="utf-8"))
        about = notebook["metadata"]["scirep"]
        found[page] = Notebook(about["exhibits"], about["needs"], coverage.recorded_rows(page, notebook))
    return found


def disagreements(rows: Sequence[Exhibit], chapters: Mapping[str, Notebook]) -> Iterator[str]:
    """Yield where the inventory and the chapters' metadata do not say the same."""
    for row in rows:
        yield from (f"{row.id}: no notebook {page}" for page in row.pages if page not in chapters)
    for page, chapter in chapters.items():
        claimed, given = set(chapter.exhibits), {row.id for row in rows if page in row.pages}
        yield from (f"{page} claims {one}, which the inventory does not give it" for one in claimed - given)
        yield from (f"{page} does not claim {one}, which the inventory gives it" for one in given - claimed)
        yield from (f"{page} claims {e} {n} times" for e, n in Counter(chapter.exhibits).items() if n > 1)


TABLES = {path.stem for path in published.FOLDER.glob("*/*.csv")}


def unsupported(rows: Sequence[Exhibit], chapters: Mapping[str, Notebook]) -> Iterator[str]:
    """Yield the states for which nothing is committed: recorded rows, data a build runs on, printed numbers."""
    for row in rows:
        here = [chapters[page] for page in row.pages if page in chapters]
        recorded = sum((Counter(chapter.recorded) for chapter in here), Counter[str]())
        runs = any("embedded" in chapter.needs for chapter in here)
        printed = row.id in TABLES or row.numberless or "-F" in row.id
        if {"exact", "sample"} & set(row.states) and not recorded["real"]:
            yield f"{row.id}: {row.states[0]}, but no row of real data is recorded for {row.chapter}"
        if "exact" in row.states and not printed:
            yield f"{row.id}: exact, but there is no printed number to agree with"
        if "open" in row.states and not recorded["open"]:
            yield f"{row.id}: open, but no row of the open literature is recorded for {row.chapter}"
        if "embedded" in row.states and not recorded["embedded"] and not runs:
            yield f"{row.id}: embedded, but {row.chapter} neither recorded such rows nor runs on it"
        if "arithmetic" in row.states and not row.numberless and not TABLES & set(row.carried_by):
            yield f"{row.id}: arithmetic, but no printed number of {', '.join(row.carried_by)} is kept"


def test_inventory_and_chapters_agree_and_every_state_rests_on_something_committed():
    assert list(disagreements(ROWS, notebooks())) == []
    assert list(unsupported(ROWS, notebooks())) == []


@pytest.mark.parametrize(
    ("identity", "change", "says"),
    [
        ("CS-T2", {"chapter": "csfcube/agrement"}, "CS-T2: no notebook csfcube/agrement"),
        ("CS-T2", {"chapter": "csfcube/baselines"}, "csfcube/agreement claims CS-T2"),
        ("CS-T2", {"chapter": "csfcube/baselines"}, "csfcube/baselines does not claim CS-T2"),
        ("csfcube/errors", ("CS-C12", "CS-T1"), "csfcube/errors claims CS-T1"),
        ("csfcube/errors", (), "csfcube/errors does not claim CS-C12"),
        ("csfcube/errors", ("CS-C12", "CS-C12"), "csfcube/errors claims CS-C12 2 times"),
        ("V2-C1", {"state": "sample"}, "V2-C1: sample, but no row of real data is recorded"),
        ("CS-C9", {"state": "open"}, "CS-C9: open, but no row of the open literature is recorded"),
        ("V2-T5", {"state": "exact"}, "V2-T5: exact, but no row of real data is recorded"),
        ("CS-C9", {"state": "exact"}, "CS-C9: exact, but there is no printed number"),
        ("CS-C7", {"rests": ""}, "CS-C7: arithmetic, but no printed number of CS-C7"),
        ("SM-C1", {"chapter": "beyond/slips", "state": "embedded"}, "SM-C1: embedded, but beyond/slips neither"),
    ],
)
def test_a_claim_on_one_side_alone_or_without_support_is_found(identity: str, change: Any, says: str):
    rows, chapters = ROWS, notebooks()
    if isinstance(change, dict):
        rows = [row._replace(**change) if row.id == identity else row for row in ROWS]
    else:
        chapters = {**chapters, identity: Notebook(change)}
    assert any(says in fault for fault in (*disagreements(rows, chapters), *unsupported(rows, chapters)))


def test_what_a_recorded_study_answers_is_not_left_at_arithmetic():
    """A study that was recorded and that no exhibit mentions: the inventory would say less than the book holds."""
    by, stale = {row.id: row for row in ROWS}, []
    for path, study in ((results_file(name), study) for name, study in STUDIES.items()):
        if path.is_file():
            state = "sample" if "real" in path.relative_to(ROOT).parts else "embedded"
            stale += [f"{path.name}: {i} is not {state}" for i in study.exhibits if state not in by[i].states]
    assert stale == []


NUMBERS = {"CS-T2": ["o-published-csfcube-CS-T2-a", "o-b"], "CS-C3": ["o-c"]}
AGREEMENT = Shown("Do <readers> agree?", NUMBERS, {"real": 50}, {"embedded": 1250})


def table_rows(chapters: Mapping[str, Shown]) -> dict[str, str]:
    page = coverage.page(ROWS, chapters)
    return {found[1].upper(): found[0] for found in re.finditer(r'<tr data-paper=.*?id="([^"]+)".*?</tr>', page)}


def test_the_page_links_chapters_that_exist_and_counts_their_numbers():
    rows = table_rows({"csfcube/agreement": AGREEMENT})
    assert list(rows) == [row.id for row in ROWS]
    assert '<a href="csfcube/agreement.html">Do &lt;readers&gt; agree?</a>' in rows["CS-T2"]
    assert '<a href="csfcube/agreement.html#o-published-csfcube-CS-T2-a">2 printed numbers</a>' in rows["CS-T2"]
    assert "50 real recorded, 1,250 embedded live" in rows["CS-T2"]
    assert '<a href="csfcube/agreement.html#o-c">1 printed number</a>' in rows["CS-C3"]
    assert "csfcube/collection" not in "".join(rows.values())
    assert 'data-state="exact embedded"' in rows["CS-T2"]
    # numbers that carry an exhibit are counted as those of another
    rows = table_rows({"csfcube/baselines": Shown("Baselines", {"CS-T4": ["o-x", "o-y", "o-z"]}, {}, {})})
    three = '<a href="csfcube/baselines.html#o-x">3 printed numbers</a> of <a href="#cs-t4">CS-T4</a>'
    assert three in rows["CS-T3"]
    assert "no printed number linked" in rows["CS-C9"] and "a figure: no number to quote" in rows["CS-F3"]


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
    assert all(f"{tally[state]} {coverage.SAID[state]}" in said for state in coverage.STATES if tally[state])
    assert f"the {len(ROWS)} tables" in said and coverage.SAID.keys() == coverage.STATES.keys()


def test_the_page_has_no_hole_in_its_html():
    page = coverage.page(ROWS, {"csfcube/agreement": AGREEMENT})
    assert page.count("<table") == page.count("</table>") == 1 + len(coverage.PAPERS)
    assert page.count("<tr") == page.count("</tr>")


def test_chapters_are_read_for_origins_and_rows(tmp_path: Path):
    origin = '<tr><th scope="row" id="o-1"><code>published:csfcube:CS-T2:method:pre/alpha</code></th><td>0.26</td></tr>'
    live = '<tr><th scope="row" id="o-2"><code>live:csfcube/agreement:csfcube/all::x:test:paper</code></th></tr>'
    output = {"output_type": "display_data", "data": {"text/html": [origin, live]}, "metadata": {}}
    needs = ["results/real/csfcube/agreement.jsonl"]
    needs += [f"results/{name}.jsonl.gz" for name in ("embedded/study/main", "gone/study/x")]
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
    assert found.recorded["real"] == 58 and found.recorded["embedded"] > 100


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
        ran = any(c.live.get("embedded") or c.recorded.get("embedded") for c in here.values())
        if "embedded" in row.states and not ran:
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


@pytest.fixture(scope="module")
def standing(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Return the address of the page's HTML with its script and style, as a file; headings stand in sections as in the book."""
    static = book.ROOT / "book" / "_static"
    parts = coverage.page(ROWS, {"csfcube/agreement": AGREEMENT}).partition("<div id=")
    body = parts[0] + "".join(f"<section><div id={part}</section>" for part in parts[2].split("<div id="))
    style, code = ((static / name).read_text() for name in ("book.css", "coverage.js"))
    head = f'<meta charset="utf-8"><style>{style}</style><script>{code}</script>'
    path = tmp_path_factory.mktemp("coverage") / "coverage.html"
    path.write_text(f'<!DOCTYPE html><html lang="en"><head>{head}</head><body>{body}</body></html>')
    return path.as_uri()


SEEN = """() => [...document.querySelectorAll('.scirep-coverage tbody tr')]
  .filter((row) => row.checkVisibility()).map((row) => row.cells[0].id)"""


@pytest.mark.site
def test_rows_are_searched_and_filtered_without_a_network(chromium: Any, standing: str):
    quoted = [row.id.lower() for row in ROWS if row.state == "quoted"]
    with installed.tab(chromium, standing) as tab:
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
def test_a_link_keeps_what_is_filtered(chromium: Any, standing: str):
    with installed.tab(chromium, standing) as tab:
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
    with installed.tab(chromium, standing) as tab:
        tab.page.goto(f"{standing}#filter?paper=scimult&state=nonsense")
        assert set(tab.page.evaluate(SEEN)) == {row.id.lower() for row in ROWS if row.paper == "scimult"}


@pytest.mark.site
def test_without_scripts_every_row_is_there_and_no_dead_form_and_rows_fit_a_phone(chromium: Any, standing: str):
    with installed.tab(chromium, standing, java_script_enabled=False) as tab:
        tab.page.goto(standing)
        assert tab.page.locator(".scirep-coverage tbody tr:visible").count() == len(ROWS)
        assert not tab.page.locator("form.scirep-filter").is_visible()
    with installed.tab(chromium, standing, viewport={"width": 390, "height": 844}) as tab:
        tab.open("")
        wide = "() => [...document.querySelectorAll('.scirep-coverage *')].filter((e) => e.getBoundingClientRect().right > 391)"
        assert tab.page.evaluate(f"({wide})().length") == 0
