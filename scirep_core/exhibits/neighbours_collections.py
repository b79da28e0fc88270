"""Chapter `neighbours/collections`: Table 2 of the textual-neighbours paper, and what its tasks depend on.

A paper is asked for by its own title (section 4), so what matters beyond the count: is there an abstract, how many
sentences has it (seven of the 32 neighbours move or drop sentences; thirds need three), and does another paper have
the same text (then the two tie, and a title cannot tell them apart).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence

import pandas as pd

from scirep_core.data.task import Task
from scirep_core.exhibits import counting
from scirep_core.exhibits.counting import Gathered, by_count, number, row, title
from scirep_core.exhibits.neighbours_shared import COLLECTIONS
from scirep_core.page import report
from scirep_core.page.chapter import Chapter
from scirep_core.results import Result, arithmetic, recorded
from scirep_core.results.published import lookup

CHAPTER = "neighbours/collections"
WANTED = COLLECTIONS
THIRDS = 3
"""Sentences an abstract needs for the neighbours that drop a third of it."""
_END = re.compile(r"(?<=[.!?])\s+(?=[A-Z0-9\"'(])")
SAME_TEXT, SAME_TITLE = "papers with another's title and abstract", "papers with another's title"
FACTS = (
    ("papers", "papers", 0), ("without an abstract", "no abstract", 0), (SAME_TEXT, "same text", 0),
    (SAME_TITLE, "same title", 0), ("sentences, mean", "sentences", 1),
    (f"abstracts under {THIRDS} sentences, %", f"under {THIRDS}, %", 1),
    ("words, quartile 2", "words", 0), ("tokens, quartile 2", "tokens", 0),
)  # fmt: skip
"""Count, heading, decimals."""


def sentences(text: str) -> int:
    """Return the number of sentences: a full stop, question or exclamation mark, space, then a capital or a digit.

    A rule without data files; on English abstracts it splits 93 % of them as the Punkt tokenizer does.
    """
    return len(_END.split(text.strip())) if text.strip() else 0


def measure(gathered: Gathered) -> list[Result]:
    """Return sizes, sentences, lengths and duplicates of every collection at hand."""
    return [row(task, *count) for task in gathered.tasks.values() for count in (*facts(task), *counting.lengths(task))]


def facts(task: Task) -> Iterator[counting.Count]:
    """Yield what the chapter says of one collection; the texts are read once, streamed."""
    texts: Counter[int] = Counter()
    titles: Counter[int] = Counter()
    lengths, words, total = [], [], 0
    for paper in task.texts():
        total += 1
        texts[hash((paper.title, paper.abstract))] += 1
        titles[hash(paper.title.casefold())] += 1
        if paper.abstract.strip():
            lengths.append(sentences(paper.abstract))
            words.append(len(paper.abstract.split()))
    yield "papers", total, total
    yield "without an abstract", total - len(lengths), total
    yield SAME_TEXT, sum(n for n in texts.values() if n > 1), total
    yield SAME_TITLE, sum(n for n in titles.values() if n > 1), total
    yield from counting.summary(lengths, "sentences")
    yield from counting.summary(words, "words")
    if lengths:
        yield (
            f"abstracts under {THIRDS} sentences, %",
            100 * sum(n < THIRDS for n in lengths) / len(lengths),
            len(lengths),
        )


def table2(chapter: Chapter, rows: Sequence[Result]) -> None:
    """Show Table 2 (TN-T2): printed, of the real samples at hand, live; and its sum."""
    printed, live, kept = lookup("TN-T2"), by_count(rows), by_count(recorded(CHAPTER))
    cells, shares = [], []
    for name in WANTED:
        shown = title(name)
        quoted = printed[shown, "#Papers"]
        sample = counting.sample_of(name), "papers"
        stored = live.get(sample) or kept.get(sample)
        if stored:
            shares.append(f"{shown} {number(chapter, stored)} of {number(chapter, quoted)}")
        about = f"{printed[shown, 'Domain'].value}: {printed[shown, 'SubDomain'].value}".replace("&", "&amp;")
        cells.append([f"{shown}<br><small>{about}</small>",
                      number(chapter, quoted), number(chapter, stored), number(chapter, live.get((name, "papers")))])  # fmt: skip
    counts = [p for (_, column), p in printed.items() if column == "#Papers"]
    total = chapter.record(
        [arithmetic("TN-T2", "papers of the seven sets", sum(p.number for p in counts), len(counts), counts)]
    )[0]
    chapter.show(
        report.table(
            ["Data set", "published", "real sample", "live"], cells,
            "Table 2: the seven collections, papers",
            [["", "published", "recorded", "live"]] * len(cells),
        )
    )  # fmt: skip
    chapter.say(
        f"The printed counts add up to {number(chapter, total)} papers in {len(counts)} sets.",
        f"At hand of the real collections: {'; '.join(shares)}." if shares else
        "No real collection was at hand when this chapter was recorded.",
    )  # fmt: skip


def show_facts(chapter: Chapter, rows: Sequence[Result]) -> None:
    """Show sentences, lengths and duplicates by collection, recorded and live, and what follows for the tasks."""
    cells, classes = [], []
    for kind, of in counting.kinds(CHAPTER, rows):
        found = by_count(of)
        for task in dict.fromkeys(t for t, metric in found if metric == "papers"):
            values = [number(chapter, found.get((task, metric)), places) for metric, _, places in FACTS]
            cells.append([f"{title(task)} <small>{kind}</small>", *values])
            classes.append(["", *[kind] * len(FACTS)])
    if not cells:
        chapter.note("No collection is at hand: nothing to count.")
        return
    header = ["Collection", *(heading for _, heading, _ in FACTS)]
    caption = (
        "By collection: papers; those without an abstract; those that share title and abstract, or the title, with another; "
        f"sentences per abstract (mean); abstracts under {THIRDS} sentences; words per abstract, tokens of both texts (medians)"
    )
    chapter.show(report.table(header, cells, caption, classes))
    found = by_count(rows)
    twice = {task: r for (task, metric), r in found.items() if metric == SAME_TEXT and r.value}
    if twice:
        worst = max(twice.values(), key=lambda r: r.value / r.n)
        chapter.say(
            f"{len(twice)} of the collections at hand hold papers whose whole text another paper has, {title(worst.task)} most: "
            f"{number(chapter, worst)} of {worst.n:,}. A title cannot tell such a pair apart: the two tie, and a rank that counts "
            "strictly nearer papers lets both be first."
        )
    elif rows:
        chapter.say(
            "No paper of the collections at hand has the same title and abstract as another: a first place needs no tie."
        )
    short = [r for (_, metric), r in found.items() if metric.startswith("abstracts under")]
    if short and (most := max(short, key=lambda r: r.value)).value:
        chapter.say(
            f"Up to {number(chapter, most, 1)} % of a collection’s abstracts ({title(most.task)}) are too short to lose a third of "
            "their sentences; the three neighbours that do this leave such papers out, so that their queries are fewer."
        )


@report.styled
def draw(chapter: Chapter, rows: Sequence[Result]) -> None:
    """Draw sentences and words per abstract: median and middle half, by collection."""
    for kind, of in counting.kinds(CHAPTER, rows):
        tasks = {r.task for r in of if r.metric == "sentences, quartile 2"}
        if not tasks:
            continue
        figure, axes = report.subplots(1, 2, figsize=(report.WIDTH, 1.1 + 0.3 * len(tasks)), sharey=True)
        for ax, name in zip(axes, ("sentences", "words"), strict=True):
            counting.draw_ranges(ax, of, name, counting.colour_of(kind))
            ax.set_xlabel(f"{name} per abstract")
            ax.set_xlim(left=0)
        shown = [r for r in of if r.metric.startswith(("sentences, q", "words, q"))]
        middle = [r.value for r in shown if r.metric == "sentences, quartile 2"]
        chapter.figure(
            f"abstracts-{kind}", figure,
            pd.DataFrame([{"collection": r.task, "what": r.metric, "value": r.value, "n": r.n} for r in shown]),
            caption=f"{kind.capitalize()}, {of[0].source} data: sentences (left) and words (right) per abstract, median (dot) and "
            f"middle half (bar); {counting.of_how_many(shown, 'abstracts')}.",
            alt=f"Ranges of sentences and words per abstract for {len(tasks)} collections; median sentences {min(middle):.0f} to "
            f"{max(middle):.0f}.",
        )  # fmt: skip
