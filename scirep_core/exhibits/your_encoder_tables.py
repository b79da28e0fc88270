"""Chapter `scirepeval/your_encoder`, second part: scores side by side, differences, the final number, the real samples.

Nothing is computed here but counts of rows: scores and differences were recorded by your_encoder.py, and every sentence
about a comparison is read off the sign and the interval of a recorded difference.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from scirep_core.bench.suites import SUITES, averages
from scirep_core.data.readers.samples import SAMPLES
from scirep_core.exhibits import sign
from scirep_core.exhibits.your_encoder import (  # fmt: skip
    CHAPTER,
    REFERENCES,
    Bench,
    P,
    Place,
    by_place,
    gap_of,
    is_score,
    main_rows,
    named,
    title,
    varies,
)
from scirep_core.kit.errors import ConfigError
from scirep_core.page import report
from scirep_core.page.chapter import Chapter
from scirep_core.page.widgets import Gap, Run, ScoreExplorer, score_data
from scirep_core.results import Result, recorded
from scirep_core.results.comparison import average_difference
from scirep_core.results.differences import difference_of, versus

CHAIN = (("minilm", "tfidf"), ("tfidf", "random"))
"""What one expects of every task: MiniLM ahead of TF-IDF, TF-IDF ahead of random vectors."""
UNITS = {"CLF": "classification", "RGN": "regression", "PRX": "proximity", "QRY": "search"}


def settled(gap: Result) -> int:
    """Return 1 if a difference lies above 0 with its whole interval, -1 if below, 0 if it is not settled.

    Without an interval, or with one without width (one block drawn again and again), nothing is settled.
    """
    return sign(gap) if varies(gap) else 0


# ---- scores and differences ------------------------------------------------------------------------------------------


def scores(chapter: Chapter, rows: Sequence[Result]) -> None:
    """Show every system's main score on every task, with interval, one line a task and protocol."""
    kept = by_place(main_rows(rows))
    systems = list(dict.fromkeys(row.encoder for found in kept.values() for row in found))
    body, classes = [], []
    for (task, _, metric, protocol), found in sorted(kept.items(), key=lambda one: _order(one[0], list(kept))):
        by_system = {row.encoder: row for row in found}
        n = next(iter(by_system.values())).n
        cells = [f"{html.escape(title(task))}<br><small>{html.escape(metric)}, n = {n:,}, {protocol}</small>"]
        cells += [_score(chapter, by_system.get(system)) for system in systems]
        body.append(cells)
        classes.append(["", *["live"] * len(systems)])
    header = ["Task", *(html.escape(named(system)) for system in systems)]
    caption = f"{_where(rows)}: score (0 to 100) and 95 % interval of every system, none where draws do not vary; "
    caption += "random is the floor" + ", the oracle the ceiling" * ("oracle" in systems)
    chapter.show(report.table(header, body, caption, classes))
    tasks = {task for task, *_ in kept}
    known, protocols = len(tasks & set(SUITES["scirepeval"])), dict.fromkeys(place[3] for place in kept)
    which = f"{known} of the benchmark’s {len(SUITES['scirepeval'])}" if known else "none of the benchmark’s own"
    chapter.say(
        f"Scored here: {_many(len(systems), 'system')} on {_many(len(tasks), 'task')} ({which}), "
        f"protocol {' and '.join(protocols)}."
    )


def _order(place: Place, places: list[Place]) -> tuple[int, str]:
    tasks = list(dict.fromkeys(task for task, *_ in places))
    return tasks.index(place[0]), place[3]


def _where(rows: Sequence[Result]) -> str:
    source = rows[0].source
    return {"embedded": "Embedded literature", "real": "Real data"}.get(source, "Data of one’s own")


def _score(chapter: Chapter, row: Result | None) -> str:
    if row is None:
        return ""
    part = "" if row.coverage is None or row.coverage >= 1 else f"<br><small>{100 * row.coverage:.1f} % covered</small>"
    return f"{chapter.number(row, 1)} {_interval(row)}{part}"


def _interval(row: Result) -> str:
    return report.interval(row.low, row.high) if varies(row) else ""


def differences(chapter: Chapter, rows: Sequence[Result], against: Sequence[str] = ("tfidf", "minilm")) -> None:
    """Show each system's paired difference to TF-IDF and to MiniLM, and say how many are settled and which way."""
    places = by_place(main_rows(rows))
    systems = [name for name in _systems(rows) if name not in ("random", "oracle")]
    pairs = [(one, other) for other in against for one in systems if systems.index(one) > systems.index(other)]
    body, classes = [], []
    for place in sorted(places, key=lambda one: _order(one, list(places))):
        gaps = [gap_of(rows, place, *pair) for pair in pairs]
        if any(gaps):
            name = f"{html.escape(title(place[0]))}<br><small>{html.escape(place[2])}, {place[3]}</small>"
            body.append([name, *(_gap(chapter, gap) for gap in gaps)])
            classes.append(["", *["live"] * len(pairs)])
    if not body:
        chapter.say("No two systems could be compared here.")
        return
    header = ["Task", *(f"{html.escape(named(a))} − {html.escape(named(b))}" for a, b in pairs)]
    caption = "Paired differences in points with 95 % interval and two-sided p, bootstrap values shared by both systems"
    chapter.show(report.table(header, body, caption, classes))
    for pair in pairs:
        found = [gap[0] for place in places if (gap := gap_of(rows, place, *pair))]
        if found:
            chapter.say(count_settled(named(pair[0]), named(pair[1]), found))


def _systems(rows: Sequence[Result]) -> list[str]:
    return list(dict.fromkeys(row.encoder for row in rows if is_score(row)))


def _gap(chapter: Chapter, gap: tuple[Result, Result | None] | None) -> str:
    if gap is None:
        return ""
    points, p = gap
    shown = f"{chapter.number(points, 1, sign=True)} {_interval(points)}"
    return shown + (f"<br><small>p = {chapter.number(p, 3)}</small>" if p else "<br><small>no interval</small>")


def count_settled(first: str, second: str, gaps: Sequence[Result]) -> str:
    """Return a sentence: of how many differences the interval lies above 0, below 0, or holds it.

    A difference that is the same under both protocols, as rankings without ties are, is one comparison and counts once.
    """
    once = {(gap.task, gap.split, gap.metric, gap.value, gap.low, gap.high): settled(gap) for gap in gaps}
    ways, twice = [*once.values()], len(gaps) - len(once)
    same = f" ({twice} the same under both protocols and counted once)" if twice else ""
    return (
        f"{html.escape(first)} against {html.escape(second)}, {_many(len(ways), 'comparison')}{same}: ahead with the whole "
        f"interval on {ways.count(1)}, behind on {ways.count(-1)}, not settled on {ways.count(0)}."
    )


# ---- the final number ------------------------------------------------------------------------------------------------


def final_number(chapter: Chapter, rows: Sequence[Result], bench: Bench, version: str = "v2") -> None:
    """Show the benchmark's average of every system, or what a number would lack to be one.

    `rows` are those of `measure`, with their bootstrap values: an average has an interval from them.
    """
    if not any(row.task in SUITES["scirepeval"] for row in rows):
        chapter.say("None of these tasks belongs to the benchmark’s average: a sample has none.")
        return
    systems, protocol = [name for name in _systems(rows) if name in bench.systems], "paper"
    made: dict[str, list[Result]] = {}
    refused = ""
    for name in systems:
        own = [row for row in rows if (row.encoder, row.protocol) == (name, protocol)]
        try:
            made[name] = averages(own, version)
        except ConfigError as error:
            refused = refused or str(error)
            try:
                made[name] = averages(own, version, partial=True)
            except ConfigError as why:
                chapter.say(f"{html.escape(named(name))}: {html.escape(str(why))}.")
    if refused:
        chapter.note(f"The average is refused on these tasks alone: “{html.escape(refused)}”")
    made = {name: chapter.record(found) for name, found in made.items()}
    splits = list(dict.fromkeys(row.split for found in made.values() for row in found))
    splits = [split for split in splits if "/" not in split]
    cells = {(name, row.split): row for name, found in made.items() for row in found}
    body = [
        [html.escape(named(name)), *(_average(chapter, cells.get((name, split))) for split in splits)] for name in made
    ]
    some = "Partial average, comparable with no published one" if refused else "Average as the paper defines it"
    caption = (
        f"{some} ({version}, protocol {protocol}): mean over units, with 95 % interval; units that were there of all"
    )
    chapter.show(report.table(["System", *splits], body, caption, [["", *["live"] * len(splits)]] * len(body)))
    _average_differences(chapter, made)


def _average(chapter: Chapter, row: Result | None) -> str:
    if row is None:
        return ""
    return f"{chapter.number(row, 1)} {_interval(row)}<br><small>{_singular(row.pool)}</small>"


def _many(n: int, what: str) -> str:
    return f"{n} {what}{'s' * (n != 1)}"


def _singular(text: str) -> str:
    return html.escape(re.sub(r"(?<![\w.,])1 (other )?(task|unit|block|mention)s\b", r"1 \1\2", text))


def _average_differences(chapter: Chapter, made: Mapping[str, Sequence[Result]]) -> None:
    """Show what the averages over all units differ by, each system against TF-IDF and MiniLM; recorded like scores."""
    whole = {name: row for name, found in made.items() for row in found if row.split == "all"}
    names, said = [name for name in whole if name not in ("random", "oracle")], []
    for other in ("tfidf", "minilm"):
        for one in names[names.index(other) + 1 :] if other in names else ():
            if set(whole[one].by_query) != set(whole[other].by_query):
                continue  # means over different units are not compared
            gap = average_difference([whole[one]], [whole[other]])
            shared = replace(
                whole[one], encoder=versus(one, other), against=other, by_query={}, fingerprint="", replicates=None
            )
            points, p = chapter.record([
                replace(shared, metric=difference_of("average"), value=gap.value, low=gap.low, high=gap.high),
                replace(shared, metric=difference_of("average", P), value=gap.p, low=None, high=None),
            ])  # fmt: skip
            said.append(f"{html.escape(named(one))} − {html.escape(named(other))}: {_gap(chapter, (points, p))}")
    if said:
        items = "".join(f"<li>{line.replace('<br>', ' ')}</li>" for line in said)
        chapter.show(f"<p>Paired differences of these averages, over all units:</p><ul>{items}</ul>")


# ---- the real samples ------------------------------------------------------------------------------------------------


def kept() -> list[Result]:
    """Return our committed run on the real samples, without the vectors that show what goes wrong (`letters`)."""
    return [row for row in recorded(CHAPTER) if not row.encoder.startswith("letters")]


def samples(chapter: Chapter, rows: Sequence[Result]) -> None:
    """Show, for every real sample, floor, TF-IDF and MiniLM, the two differences, and whether they are as expected."""
    places = by_place(main_rows(rows))
    for protocol in dict.fromkeys(place[3] for place in places):
        body, classes = [], []
        for place, found in places.items():
            if place[3] != protocol:
                continue
            by_system = {row.encoder: row for row in found}
            if not set(REFERENCES) <= set(by_system):
                continue
            gaps = [gap_of(rows, place, *pair) for pair in CHAIN]
            line = [f"{html.escape(title(place[0]))}<br><small>{html.escape(place[2])}, n = {found[0].n:,}</small>"]
            line += [_score(chapter, by_system[name]) for name in REFERENCES]
            line += [_gap(chapter, gap) for gap in gaps]
            line.append(_as_expected([gap and gap[0] for gap in gaps]))
            body.append(line)
            classes.append(["", *["recorded"] * 5, "text"])
        header = [
            "Sample",
            *(named(name) for name in REFERENCES),
            *(f"{named(a)} − {named(b)}" for a, b in CHAIN),
            "in order",
        ]
        caption = (
            f"Recorded on the real samples, protocol {protocol}: scores, and paired differences with 95 % interval"
        )
        chapter.show(report.table(header, body, caption, classes))


def _as_expected(gaps: Sequence[Result | None]) -> str:
    if not all(gaps):
        return "no paired difference"
    ways = [settled(gap) for gap in gaps if gap]
    if all(way == 1 for way in ways):
        return "yes"
    if any(way == -1 for way in ways):
        return "<strong>no</strong>: " + _which(ways, -1)
    return "not settled: " + _which(ways, 0)


def _which(ways: Sequence[int], way: int) -> str:
    return ", ".join(f"{named(a)} / {named(b)}" for (a, b), one in zip(CHAIN, ways, strict=True) if one == way)


def in_order(chapter: Chapter, rows: Sequence[Result]) -> None:
    """Say on which samples MiniLM beats TF-IDF beats random with both intervals above 0, where not, and what is missing."""
    found = verdicts(rows)
    tasks = list(dict.fromkeys(task for ways in found.values() for task in ways))
    for protocol, ways in found.items():
        whole = [task for task in ways if ways[task] == (1, 1)]
        missing = [task for task in tasks if task not in ways]
        chapter.say(
            f"Protocol {protocol}: MiniLM beats TF-IDF and TF-IDF beats random, both with the whole interval, on "
            f"{len(whole)} of {_many(len(ways), 'sample')}{': ' if whole else ''}{_listed(whole)}."
            + (f" Not recorded under it: {_listed(missing)}." if missing else "")
        )
    alike = _alike(rows)
    if alike:
        chapter.say(f"Both counts hold the same numbers of {_listed(alike)}: one comparison each, not two.")
    for place, (a, b) in enumerate(CHAIN):
        behind, open_ = (_where_not(found, tasks, place, way) for way in (-1, 0))
        chapter.say(*_not_ahead(named(a), named(b), behind, open_))
    _without_spread(chapter, rows)


def _alike(rows: Sequence[Result]) -> list[str]:
    """Return tasks whose differences are the same under several protocols: rankings, where no ties and no probe are met."""
    seen: dict[str, list[list[tuple[float, float | None, float | None]]]] = {}
    for place in by_place(main_rows(rows)):
        gaps = [gap[0] for pair in CHAIN if (gap := gap_of(rows, place, *pair))]
        if len(gaps) == len(CHAIN):
            seen.setdefault(place[0], []).append([(gap.value, gap.low, gap.high) for gap in gaps])
    return [task for task, found in seen.items() if len(found) > 1 and all(one == found[0] for one in found)]


def _where_not(
    found: Mapping[str, Mapping[str, tuple[int, ...]]], tasks: Sequence[str], place: int, way: int
) -> list[str]:
    """Return titles of the tasks whose difference went this way, once each, with the protocol where only one says so."""
    said = []
    for task in tasks:
        have = [protocol for protocol, ways in found.items() if task in ways]
        so = [protocol for protocol in have if found[protocol][task][place] == way]
        if so:
            only = "" if len(so) == len(found) else f" (under {so[0]}" + " alone)" * (so != have) + ")" * (so == have)
            said.append(html.escape(title(task)) + only)
    return said


def _not_ahead(first: str, second: str, behind: Sequence[str], open_: Sequence[str]) -> Iterator[str]:
    if behind:
        yield f"{second} beats {first} on {', '.join(behind)}."
    if open_:
        yield f"{first} and {second} are not settled on {', '.join(open_)}."


def _without_spread(chapter: Chapter, rows: Sequence[Result]) -> None:
    """Say which samples were scored on so little that draws do not vary: no interval, no p."""
    flat: dict[str, Result] = {}
    for row in main_rows(rows):
        gap = gap_of(rows, (row.task, row.split, row.metric, row.protocol), *CHAIN[1])
        if gap and not varies(gap[0]):
            flat.setdefault(row.task, row)
    for task, row in flat.items():
        about = f"the sample is {SAMPLES[task].about}, " if task in SAMPLES else ""
        chapter.say(
            f"{html.escape(title(task))}: {about}n = {row.n:,} of them are scored ({_singular(row.note)}). Draws that never "
            "vary have no spread, so there is neither an interval nor a p, and nothing is settled."
        )


class Why(NamedTuple):
    """A hypothesis of ours: on which task, for which pairs of `CHAIN`, for which outcomes it is one, and what it says."""

    task: str
    pairs: tuple[int, ...]
    ways: tuple[int, ...]
    text: str


HYPOTHESES = (
    Why("scirepeval/pub_year", (0,), (-1, 0), "a year shows in words that come and go; TF-IDF sees each of them, while a sentence "
        "encoder was trained to give texts with one meaning one vector, whatever words they use"),
    Why("scirepeval/cite_count", (0,), (-1, 0), "citations follow topics in fashion, which have names of their own"),
    Why("scirepeval/peer_review_score", (0, 1), (0,), "a review score depends on experiments and reviewers, of which an abstract "
        "says little to any reader"),
    Why("scirepeval/same_author", (0, 1), (0,), "with {n} queries only large differences can be settled"),
    Why("scirepeval/drsm", (0, 1), (0,), "some classes have fewer than ten papers, and macro F1 counts each class alike: a few "
        "papers decide"),
)  # fmt: skip


def reasons(chapter: Chapter, rows: Sequence[Result]) -> None:
    """Give a hypothesis for each sample and pair out of order, and name those without one; nothing where all are in order."""
    size = {row.task: row.n for row in main_rows(rows)}
    flat = {row.task for row in rows if not is_score(row) and not row.metric.startswith("p of") and not varies(row)}
    given: dict[str, list[str]] = {}
    bare: dict[str, None] = {}
    found = verdicts(rows)
    for protocol, ways in found.items():
        for task, way in ways.items():
            for place, (a, b) in enumerate(CHAIN):
                if way[place] == 1 or task in flat:  # without an interval nothing is to be explained
                    continue
                like = SAMPLES[task].like if task in SAMPLES else task
                texts = [w.text for w in HYPOTHESES if w.task == like and place in w.pairs and way[place] in w.ways]
                only = all(other.get(task, (1, 1))[place] == 1 for name, other in found.items() if name != protocol)
                pair = f"{named(a)} / {named(b)}" + f", protocol {protocol}" * (only and len(found) > 1)
                for text in texts:
                    key = f"{html.escape(title(task))}: {text.format(n=size[task])}"
                    given.setdefault(key, []).append(pair)
                if not texts:
                    bare[f"{html.escape(title(task))} ({pair})"] = None
    if not given and not bare:
        return
    chapter.say("<strong>Why, where the order is not as expected?</strong> We have hypotheses and tested none of them.")
    if given:
        items = "".join(f"<li>{text} ({', '.join(dict.fromkeys(pairs))}).</li>" for text, pairs in given.items())
        chapter.show(f"<ul>{items}</ul>")
    if bare:
        chapter.say(f"No hypothesis of ours: {', '.join(bare)}.")


def _listed(tasks: Sequence[str]) -> str:
    return ", ".join(html.escape(title(task)) for task in tasks)


def verdicts(rows: Sequence[Result]) -> dict[str, dict[str, tuple[int, ...]]]:
    """Return protocol -> task -> for each pair of `CHAIN` whether it is ahead, behind or not settled (1, -1, 0)."""
    found: dict[str, dict[str, tuple[int, ...]]] = {}
    for place in by_place(main_rows(rows)):
        gaps = [gap_of(rows, place, *pair) for pair in CHAIN]
        if all(gaps):
            found.setdefault(place[3], {})[place[0]] = tuple(settled(gap[0]) for gap in gaps if gap)
    return found


# ---- something to explore --------------------------------------------------------------------------------------------


def explorer(rows: Sequence[Result], own: str = "") -> ScoreExplorer:
    """Return the score explorer of our recorded run on the real samples and of this run; `own` is shown first."""
    runs = [
        _run("live", f"This run: {_where(rows).lower()}", "Scores of this run." + INVENTED * (rows[0].source == "embedded"), rows),
        _run("recorded", "Real samples, recorded", "Our run on small real samples, comparable with no published number.", kept()),
    ]  # fmt: skip
    view = score_data(runs, {name: named(name) for run in runs for name in _systems(run.scores)})
    systems = [name for name, _ in view["systems"]]
    first = own if own in systems else "minilm"
    second = "minilm" if first not in REFERENCES else "tfidf"
    return ScoreExplorer(view, first=first, second=second)


INVENTED = " The papers are invented: they show how a comparison is made, and stand for no published number."


def _run(key: str, label: str, about: str, rows: Sequence[Result]) -> Run:
    scored = [row if varies(row) else replace(row, low=None, high=None) for row in main_rows(rows)]
    systems, gaps = _systems(scored), []
    for place in by_place(scored):
        for first in systems:
            for second in systems:
                if gap := gap_of(rows, place, first, second):
                    gaps.append(Gap(first, second, _score_of(gap[0], place)))
    return Run(key, label, about, scored, gaps)


def _score_of(gap: Result, place: Place) -> Result:
    """Return a difference under the metric of its scores, by which the explorer finds them."""
    return replace(gap, metric=place[2])
