"""What a notebook calls says what its rows say: other rows, other words; no rows, no words; strange names stay text.

One battery over the vocabulary of `scirep_core/page/`: it stands where each chapter had tests of its sentences.
"""

from __future__ import annotations

import json
import re
from dataclasses import replace

import jinja2
import pandas as pd
import pytest
from bs4 import BeautifulSoup
from hypothesis import given
from hypothesis import strategies as st

from scirep_core.page import report
from scirep_core.page.blocks import Line, meetings
from scirep_core.page.chapter import Chapter
from scirep_core.page.claims import Claim, above, below, decide, helps, level
from scirep_core.page.names import ANSWER
from scirep_core.page.rows import INVENTED, OWN, PRINTED, REAL, Exhibit, cells, papers_of, way, ways
from scirep_core.page.say import LEVEL, sentences
from scirep_core.results import PRINT, ROOT, Result, read_results
from scirep_core.results.differences import difference_of, versus
from scirep_core.results.published import lookup

HOSTILE = '<script>alert("x")</script>{{ 7 * 7 }}&'
DRAWN = {"title": "t", "axis": "a", "alt": "b"}


def row(metric="pre/spearman", value=0.4553, facet="background", source="real", **more):
    return Result(**{"task": f"csfcube/{facet}", "split": "all", "metric": metric, "protocol": "paper", "value": value, "n": 16,
                     "low": value - 0.1, "high": value + 0.1, "source": source, "data_hash": source} | more)  # fmt: skip


ROW, PRINT_ROW, FAKE = row(), lookup("CS-T2")["method", "pre/spearman"], row(value=0.2, source="embedded", n=7)


def said(*templates, **values):
    def link(number, decimals=None, sign=False):
        return f"<a>{number.value:{'+' if sign else ''}.{2 if decimals is None else decimals}f}</a>"

    return sentences(link, templates, values)


@pytest.fixture
def chapter(tmp_path):
    return Chapter("csfcube/agreement", {"data": "embedded"}, tmp_path, held=[])


@pytest.fixture
def parts(chapter):
    return chapter.held


@pytest.fixture
def drawn(monkeypatch):
    """Figures as they are drawn; nothing is written."""
    figures = []
    monkeypatch.setattr(Chapter, "drawn", lambda self, name, figure, *rest: figures.append(figure) or "")
    return figures


def text(html):
    return " ".join(re.sub(r"<[^>]+>", " ", html).split())


def tags(html):
    return [one.name for one in BeautifulSoup(html, "html.parser").find_all(True)]


# ---- sentences -------------------------------------------------------------------------------------------------------

bounds = st.floats(-100, 100, allow_nan=False)


@given(bounds, bounds, bounds)
def test_words_follow_the_interval_and_turn_with_it(first, second, bound):
    low, high = sorted((first, second))
    gap = replace(ROW, value=(low + high) / 2, low=low, high=high)
    turned = replace(gap, value=-gap.value, low=-high, high=-low)
    wide = replace(gap, low=min(low, bound) - 1, high=max(high, bound) + 1)
    filters = "gap|way('above', 'below', bound=b); turned|way('below', 'above', bound=-b); wide|way('', '', bound=b)"
    words = [f"{{{{ {one} }}}}" for one in filters.split("; ")]
    word = "above" if low > bound else "below" if high < bound else LEVEL
    assert said(*words, gap=gap, turned=turned, wide=wide, b=bound) == [word, word, LEVEL]
    assert way(turned, -bound) == -way(gap, bound)


def test_a_row_without_an_interval_shows_no_difference():
    assert way(None) == way(replace(ROW, low=None, high=None)) == way(replace(ROW, low=None)) == 0


def test_ways_are_those_of_holm():
    def gap(value, half=1.96):  # a standard error of 1
        return replace(ROW, value=value, low=value - half, high=value + half)

    for gaps, expected in (
        ([], []), ([2.1], [1]),
        ([2.1, -2.2, 0.5], [0, 0, 0]),  # p = 0.036 and 0.028, times 3
        ([2.2, -4.0, 2.3], [1, -1, 1]),  # p = 0.028 alone, 0.02 times 2, 0.0001 times 3
    ):  # fmt: skip
        assert ways([gap(value) for value in gaps]) == expected
    assert ways([gap(2.1), replace(ROW, low=None, high=None), gap(-4.0, 0.0)]) == [0, 0, 0]


@pytest.mark.parametrize("use", ["|n", "|n(1)", "|ci", "|ci(1)", "|way('a', 'b')", ".value", ".value > 0", "['p']"])
def test_a_sentence_goes_with_its_number_and_the_others_stay(use):
    shown = said("There is {{ a|n }}.", f"And {{{{ b{use} }}}}.", "{{ a|n(0) }} again.", a=ROW, b=None)
    assert shown == ["There is <a>0.46</a>.", "<a>0</a> again."]


@pytest.mark.parametrize("slip", ["forgotten|n", "forgotten|way('a', 'b')", "forgotten", "a.none|n"])
def test_a_name_that_was_not_given_is_the_authors_slip(slip):
    with pytest.raises(jinja2.UndefinedError):
        said(f"{{{{ {slip} }}}}", a={})


def test_what_is_put_in_is_escaped_and_no_template():
    (shown,) = said("<b>{{ name }}</b> {{ name|code }} {{ [name, name]|listed }} {{ []|listed(name) }}", name=HOSTILE)
    assert tags(shown) == ["b", "code"] and shown.count("{{ 7 * 7 }}") == 5 and "49" not in shown


def test_numbers_are_links_with_their_interval_and_names_a_list():
    values = {"a": ROW, "bare": replace(ROW, low=None), "three": "abc"}
    for template, shown in {
        "{{ a|n(1, sign=True) }}; {{ a|ci(2) }}": "<a>+0.5</a>; <a>0.46</a> (95 % interval 0.36 to 0.56)",
        "{{ bare|ci(2) }}": "<a>0.46</a>",
        "{{ a|ci(2, unit='%') }}": "<a>0.46</a> % (95 % interval 0.36 to 0.56)",
        "{{ three|listed }}; {{ ['a']|listed }}; {{ []|listed }}": "a, b and c; a; none",
    }.items():
        assert said(template, **values) == [shown.replace(" %", "\N{NO-BREAK SPACE}%")]


def test_a_chapter_says_nothing_where_nothing_is_there_and_html_where_no_value_is_given(chapter, parts):
    chapter.say("{{ a|n }}.", a=None)
    assert parts == []
    chapter.say("{{ a|n(1) }} is printed.", a=PRINT_ROW)
    chapter.say("<em>{{ as it is }}</em>")
    assert [text(part) for part in parts] == ["0.31 is printed.", "{{ as it is }}"]


# ---- exhibits --------------------------------------------------------------------------------------------------------


def exhibit(live=(), kept=(), printed=("CS-T2",)):
    return Exhibit.of(live, kept, printed, lambda one: one.task.partition("/")[2], "metric", ("row", "column"))


def test_real_and_invented_papers_never_share_a_column():
    shown = exhibit([FAKE], [ROW])
    assert list(shown.ours) == [REAL, INVENTED]
    assert (list(shown.open), list(shown.folded)) == ([PRINTED, REAL], [INVENTED])
    assert shown.real["background", "pre/spearman"].value == 0.4553 and exhibit([FAKE]).real == {}


def test_this_run_wins_over_the_recorded_one_of_the_same_data_and_stands_beside_one_of_other_data():
    kept = [row(value=0.1), row("post/spearman", 0.2)]
    same = exhibit([row(value=0.3)], kept)
    assert {key[1]: r.value for key, r in same.real.items()} == {"pre/spearman": 0.3, "post/spearman": 0.2}
    other = exhibit([row(value=0.3, data_hash="other")], kept)
    assert list(other.ours) == [REAL, f"{REAL}, recorded"] and len(other.real) == 1
    mine, key = exhibit([row(source="/home/me/papers", value=0.9)], kept), ("background", "pre/spearman")
    assert (mine.real[key].value, mine.ours[OWN][key].value) == (0.1, 0.9)


def test_every_recorded_source_is_known_and_a_folder_is_the_readers_own():
    sources = {one.source for path in ROOT.glob("results/**/*.jsonl*") for one in read_results(path)}
    assert "embedded" in sources and all(papers_of(row(source=name)) != OWN for name in sources - {PRINT})
    of = {name: papers_of(row(source=name)) for name in ("real", "open", "drawn", "/home/me", "papers")}
    assert list(of.values()) == [REAL, REAL, INVENTED, OWN, OWN]


def test_cells_are_chosen_by_fields_and_arithmetic_on_print_is_no_column_of_ours():
    rows = [ROW, row("post/spearman"), row(split="dev")]
    assert set(cells(rows, "split", "metric", split="all")) == {("all", "pre/spearman"), ("all", "post/spearman")}
    assert set(cells(rows, "split", "metric", metric=("pre/spearman",), split={"dev"})) == {("dev", "pre/spearman")}
    assert cells(rows, lambda r: None, "metric") == exhibit([row(source="print")], [row(source="print")], ()).ours == {}
    assert all(number.value for number in exhibit().printed.values())  # an empty printed cell is no number


# ---- tables, figures, the print --------------------------------------------------------------------------------------


def test_a_table_shows_print_beside_real_papers_and_folds_invented_ones(chapter, parts):
    chapter.table("T", exhibit([FAKE], [ROW]), ["background", "method"], ["pre/spearman"], first="Facet")
    open_, folded = parts
    assert "<details" not in open_ and folded.startswith('<details class="scirep-fold">') and INVENTED in text(folded)
    assert text(open_).count("0.45") == 1 and text(open_).count("0.46") == 1 and "0.31" in open_ and "0.20" in folded
    assert 'class="published"' in open_ and 'class="recorded"' in open_ and 'class="invented"' in folded
    assert "95 % interval 0.36 to 0.56" in open_  # where it is pointed at


def test_a_table_has_no_line_without_a_number_and_without_lines_it_is_not_there(chapter, parts):
    chapter.table("T", exhibit([ROW], printed=()), ["background", "method"], ["pre/spearman"])
    assert "method" not in parts[0] and len(parts) == 1
    chapter.table("T", exhibit(printed=()), ["background"], ["pre/spearman"])
    chapter.forest("f", exhibit(printed=()), ["background"], ["pre/spearman"], **DRAWN)
    assert len(parts) == 1


def test_the_best_of_each_column_and_kind_is_marked_or_what_is_said_to_be(chapter, parts):
    shown = exhibit([row(value=0.1), row(value=0.9, facet="result")])
    chapter.table("T", shown, columns=["pre/spearman"], best=True)
    ours = exhibit([row(value=0.1), row(value=0.9, facet="result")], printed=())
    chapter.table("T", ours, best=lambda line, number: line == "background" and number.value < 0.5)
    marked = [re.findall(r"<strong>.*?>([\d.]+)<", part) for part in parts]
    assert marked == [["0.45", "0.90"], ["0.1"]]


@pytest.mark.filterwarnings("error")  # a mark that is not there must not spoil the layout
def test_columns_of_which_only_one_kind_has_numbers_have_it_below_their_name(chapter, parts):
    line, columns = "background", ["SPECTER", "minilm", "nobody"]
    shown = Exhibit({(line, "SPECTER"): lookup("CS-T2")[line, "pre/spearman"]},
                    {REAL: {(line, "minilm"): ROW}, INVENTED: {(line, "minilm"): row(source="embedded")}})  # fmt: skip
    chapter.table("T", shown, columns=columns, labels={"minilm": "MiniLM"}, decimals=2)
    assert "SPECTER printed MiniLM ours, real papers background 0.45 0.46" in text(parts[0])
    assert "nobody" not in parts[0]
    assert 'class="published"' in parts[0] and 'class="recorded"' in parts[0]
    assert "SPECTER" not in parts[1] and f"T ({INVENTED}) MiniLM background 0.46" in text(parts[1])
    chapter.forest("f", shown, columns=columns, **DRAWN)
    assert ">SPECTER<" in parts[2] and "nobody" not in parts[2] and "SPECTER" not in parts[3]


def test_strange_names_are_text_in_tables_and_figures(chapter, parts):
    shown = exhibit([row(facet=HOSTILE), row(HOSTILE), row("$x^$")], printed=())
    for labels in ({}, dict.fromkeys(shown.axis(0) + shown.axis(1), HOSTILE)):
        chapter.table("T", shown, labels=labels, first="Facet")
        chapter.forest("f", shown, title=HOSTILE, axis="ρ", alt=HOSTILE, labels=labels)
        chapter.compare(shown, HOSTILE, labels)
    chapter.table("T", shown, summary=HOSTILE)
    assert len(parts) == 5 and "script" not in {name for part in parts for name in tags(part)}


def test_a_forest_opens_with_its_conclusion_carries_its_numbers_and_counts_what_is_drawn(chapter, parts, tmp_path):
    shown = exhibit([FAKE, row("post/spearman", n=9)], [ROW])
    title = {"title": "They agree"}
    chapter.forest("stages", shown, ["background", "method"], ["pre/spearman"], **DRAWN | title, zero=True)
    open_, folded = parts
    assert '<p class="scirep-title">They agree</p><svg' in open_ and "They agree" not in folded
    assert "<figcaption>Bars are 95 % intervals. n = 16." in open_
    assert "n = 7." in folded and folded.startswith("<details")
    twin = (tmp_path / "figures" / "stages.csv").read_text().splitlines()
    assert twin[0] == "line,column,kind,value,low,high,n" and len(twin) == 4
    assert "background,pre/spearman,real papers,0.4553,0.3553,0.5553,16" in twin
    assert (tmp_path / "figures" / "stages-invented.csv").is_file()


def test_sizes_stand_on_a_logarithmic_axis_and_thousands_are_set_apart(chapter, parts, drawn):
    shown = exhibit([], [row(value=12345.6)], printed=())
    chapter.table("T", shown, decimals=0)
    chapter.say("{{ size|n(1) }}", size=row(value=12345.6))
    chapter.say("{{ year|n(0) }}", year=row(value=1996.0))
    assert ">12,346</a>" in parts[0] and ">12,345.6</a>" in parts[1] and ">1996</a>" in parts[2]
    for log in (True, False):
        chapter.forest("f", shown, **DRAWN, log=log)
    assert [figure.axes[0].get_xscale() for figure in drawn] == ["log", "linear"]


def test_a_forest_is_as_high_as_its_fullest_panel_and_its_names_need(chapter, drawn):
    beside, apart = exhibit([], [ROW]), exhibit([], [row(metric="kendall")])
    for shown, labels in ((beside, {}), (apart, {}), (apart, {"background": "back\nground"})):
        chapter.forest("f", shown, ["background"], **DRAWN, labels=labels)
    heights = [figure.get_figheight() for figure in drawn]
    assert heights[0] == heights[2] > heights[1]


def test_series_have_colours_of_their_own_and_a_legend_names_what_is_drawn_alone(chapter, drawn):
    one = {("background", "a"): row(value=1.0)}
    shown = Exhibit(ours={"one": one, "other": one, "real papers": {("method", "a"): row(value=2.0)}})
    chapter.forest("f", shown, ["background"], **DRAWN)
    (legend,) = drawn[0].legends
    assert [label.get_text() for label in legend.get_texts()] == ["one", "other"]
    assert len({line.get_color() for line in drawn[0].axes[0].lines if line.get_label() in ("one", "other")}) == 2


def test_what_is_not_significant_is_drawn_open_and_the_legend_has_its_series_once(chapter, drawn):
    shown = Exhibit(ours={REAL: {("a", "x"): row(), ("b", "x"): row(value=0.9), ("a", "y"): row(), ("b", "y"): row()}})
    chapter.forest("f", shown, **DRAWN, together=True, hollow=[("b", "x"), ("a", "y"), ("b", "y")])
    faces = [line.get_markerfacecolor() for line in drawn[0].axes[0].lines if line.get_marker() in ("o", "s")]
    assert [face == report.PAPER for face in faces] == [False, True, True]
    assert [label.get_text() for label in drawn[0].legends[0].get_texts()] == ["x", "y"]


def test_what_is_folded_has_invented_papers_folded_once_more_without_what_is_said_of_real_ones(chapter, parts):
    for shown in (exhibit([FAKE], [ROW]), exhibit([FAKE], printed=())):
        chapter.table("T", shown, summary="All")
        chapter.forest("f", shown, **DRAWN, summary="Drawn", note="It is tested.", beside={"background": "p = 0.02"})
    heads = [re.findall(r'<details class="scirep-fold"><summary>(.*?)</summary>', part) for part in parts]
    assert heads == [["All", f"The same table on {INVENTED}"], ["Drawn", f"The same figure on {INVENTED}"],
                     [f"All; {INVENTED}"], [f"Drawn; {INVENTED}"]]  # fmt: skip
    assert all(part.startswith("<details") for part in parts)
    both, alone = parts[1], parts[3]
    real, _, invented = both.partition(f"The same figure on {INVENTED}")
    for words in ("It is tested.", "p = 0.02"):
        assert words in real and words not in invented and words in alone


def test_ours_meets_the_print_by_its_own_digits(chapter, parts):
    shown = exhibit([ROW, row(value=0.314, facet="method"), row(value=0.9, facet="result")])
    assert {m.line: (m.equal, m.cut) for m in meetings(shown)} == {
        "background": (False, True), "method": (True, False), "result": (False, False)}  # fmt: skip
    chapter.compare(shown, "Table 2", {"pre/spearman": "ρ before"})
    begins = "1 of 3 printed numbers of Table 2 follow to the last digit; background, ρ before is printed"
    assert text(parts[0]).startswith(begins) and text(parts[0]).count("truncated, not rounded") == 1
    chapter.compare(exhibit([row(source="embedded")]), "Table 2")
    assert len(parts) == 1  # invented papers are never held against the print


@report.styled
def test_marks_of_one_row_stand_apart_and_one_alone_on_its_tick():
    marks = pd.DataFrame([("a", "one", 1.0), ("a", "two", 2.0), ("b", "two", 3.0)], columns=["line", "series", "value"])
    _, axes = report.subplots()
    report.dots(axes, marks)
    places = {line.get_label(): dict(zip(*line.get_data(), strict=True)) for line in axes.lines}
    assert places == {"one": {1.0: -0.125}, "two": {2.0: 0.125, 3.0: 1.0}}
    assert [label.get_text() for label in axes.get_yticklabels()] == ["a", "b"] and axes.yaxis_inverted()


# ---- claims ----------------------------------------------------------------------------------------------------------

PAIRS = [("a", "b"), ("a", "c")]
BOUND, MARGIN = lookup("TN-C9")["SciBERT", "T_ARepADJ NN1_Ret about"].number, 5
DIFFERENCES = [(difference_of("m"), versus(*pair)) for pair in PAIRS]
TESTS = {
    "below": (below("m", ["a", "b"], but=["c"]), {("m", "a"): -1, ("m", "b"): -1, ("m", "c"): 1}, BOUND),
    "above": (above("m", ["a", "b"], but=["c"]), {("m", "a"): 1, ("m", "b"): 1, ("m", "c"): -1}, BOUND),
    "ordered": (above("m", PAIRS), dict.fromkeys(DIFFERENCES, 1), 0.0),
    "helps": (helps("m", ["a"]), {(difference_of("m"), "a"): 1}, 0.0),
}
"""Test; which way each row must lie for its statement to hold; of what."""


def of_claim(key, value, half=2.0, system="s", source="real", **more):
    wide = {"low": value - half, "high": value + half} | more
    return row(key[0], value, task="neighbours/x", split=key[1], encoder=system, source=source, **wide)


def held(live):
    return Exhibit.of(live, (), (), lambda one: (one.metric, one.split), "encoder", ("row", "column"))


def verdict(test, rows):
    found = decide([Claim("TN-C9", "SciBERT", "It is {{ bound|n }}.", test)], held(rows).real)
    return found.popitem()[1].way if found else None


@pytest.mark.parametrize("name", TESTS)
def test_a_statement_turns_with_any_of_its_intervals_and_is_open_where_one_is_wide(name):
    test, ways, bound = TESTS[name]
    right, wide = ({key: of_claim(key, bound + 10 * way, half) for key, way in ways.items()} for half in (2, 11))
    assert (verdict(test, right.values()), verdict(test, wide.values()), verdict(test, [])) == (1, 0, None)
    for key, way_ in ways.items():
        others = [one for other, one in right.items() if other != key]
        assert verdict(test, [*others, of_claim(key, bound - 10 * way_)]) == -1
        bare = replace(right[key], low=None, high=None)
        assert verdict(test, [*others, wide[key]]) == verdict(test, [*others, bare]) == 0
        assert verdict(test, others) == (0 if others else None)  # what was not measured decides nothing


def test_equality_is_refuted_by_an_interval_and_shown_only_within_a_margin():
    for value, expected in ((0, 0), (10, -1), (-10, -1)):
        assert verdict(level("m", PAIRS), [of_claim(DIFFERENCES[0], 0), of_claim(DIFFERENCES[1], value)]) == expected
    for value, half, expected in ((0, 2, 1), (0, 6, 0), (4, 2, 0), (10, 2, -1), (-10, 2, -1), (10, 6, 0)):
        assert verdict(level("m", ["a"], within=MARGIN), [of_claim(("m", "a"), BOUND + value, half)]) == expected


def test_what_is_said_to_be_idle_may_lose_but_not_gain():
    test = helps("m", ["a"], but=["b"])
    a, b = (difference_of("m"), "a"), (difference_of("m"), "b")
    for value, half, expected in ((0, 2, 1), (-10, 2, 1), (10, 2, -1), (10, 11, 1)):
        assert verdict(test, [of_claim(a, 10), of_claim(b, value, half)]) == expected
    assert verdict(test, [of_claim(a, 10)]) == verdict(test, [of_claim(a, 10), of_claim(b, 0, low=None)]) == 0


def test_a_bound_is_found_by_whom_and_a_word_and_its_absence_is_the_authors_slip():
    names = ("TN-C7:two", "TN-C7:four", "", "TN-C7:tow")
    two, four, none, slip = (Claim(name, "SPECTER", "", level("m", "a")) for name in names)
    assert (two.bound.value, four.bound.value, none.bound) == ("90", "95", None)
    with pytest.raises(StopIteration):
        slip.bound  # noqa: B018


def test_claims_are_lines_systems_columns_and_invented_papers_folded(chapter, parts):
    below_, above_ = (Claim("TN-C9", "SciBERT", "It is {{ bound|n }} %.", test("m", ["a"])) for test in (below, above))
    three = Claim("", "SPECTER", "All three.", above("m", ["a", "b", "c"]))
    real = (("a", 90, "s"), ("b", 70, "s"), ("c", 90, "s"), ("c", 90, "t"))
    rows = [of_claim(("m", split), value, system=name) for split, value, name in real]
    rows.append(of_claim(("m", "a"), 3, source="embedded"))
    found = chapter.claims("C", held(rows), [below_, above_, three], {"b": "bee"})
    ways = {(claim.says[:3], system): v.way for (claim, system), v in found.items() if claim is not below_}
    assert ways == {("It ", "s"): 1, ("All", "s"): 1, ("All", "t"): 0}
    open_, folded = map(text, parts)
    assert "The paper says about s t It is 80 %. SciBERT no 90.0 It is 80 %. SciBERT yes 90.0 All three." in open_
    assert open_.endswith("SPECTER yes 3 of 3 changes: 70.0 to 90.0 open 2 of 3 changes undecided")
    assert "<details" not in parts[0] and parts[1].startswith("<details") and "yes 3.0" in folded and "3.0" not in open_
    assert open_.count("yes") == 2 and parts[0].count("<td") == 3 * 3  # the empty cells of t


def test_the_one_part_in_the_way_is_named_in_words(chapter, parts):
    claim = Claim("TN-C9", "SciBERT", "All.", above("m", ["a", "b"]))
    for rows in ([of_claim(("m", "a"), 90), of_claim(("m", "b"), 70)], [of_claim(("m", "a"), 90)], []):
        chapter.claims("C", held(rows), [claim], {"b": "bee <i>"} if len(rows) == 2 else None)
    first, second = parts
    assert "s: does it hold? holds or fails on lowest to highest" in text(
        first
    )  # of one system, so in columns of their own
    assert re.search(r"no</strong></td><td[^>]*>bee &lt;i&gt;</td><td", first) and "open b" in text(second)


def test_strange_names_are_text_among_claims(chapter, parts):
    claim = Claim("", HOSTILE, "{{ 'All' }}.", above("m", [HOSTILE, "b"]))
    rows = [of_claim(("m", name), value, system=HOSTILE) for name, value in ((HOSTILE, -10), ("b", 10))]
    chapter.claims("C", held(rows), [claim, claim._replace(of="b")])  # of one name alone it would not be said
    assert "script" not in tags(parts[0]) and parts[0].count("&lt;script&gt;") == 4 and "49" not in parts[0]


@pytest.mark.parametrize(("verdict", "word"), [(1, "Holds"), (-1, "Does not hold"), (0, "Open")])
def test_the_answer_has_a_line_each_a_verdict_and_a_proof(chapter, parts, verdict, word):
    lines = [
        Line("So it is.", verdict, "fig-x", claim="<order>"),
        Line("We find {{ a|n }}, {{ name }}."),
        Line("The rest."),
    ]
    for a, roles in ((ROW, ["paper", "real", "untested"]), (None, ["paper", "untested"])):
        chapter.answer(*lines, a=a, name=HOSTILE)
        kept = json.loads((chapter.folder / ANSWER).read_text(encoding="utf-8"))
        assert list(kept) == roles and kept["paper"]["verdict"] == verdict
        assert tags(parts[-1]).count("dt") == len(roles) and "script" not in tags(parts[-1])
        assert ("We find" in parts[-1]) == ("real" in roles)
    assert f"<b>{word}:</b> &lt;order&gt;</span>" in parts[0] and 'href="#fig-x"' in parts[0]
