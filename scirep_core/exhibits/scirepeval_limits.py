"""Chapter `scirepeval/tasks`: two things said of the data in passing (SciRepEval section 5, footnote 5, and limitations).

cap           of each of the eight training sets at most 600,000 instances train (400,000 were "relatively poor"). An instance
              is a labelled paper, a citation triplet, or one of up to 5 triplets made of a ranked query:
                  most(set) = papers or triplets | 5 x queries        under a cap: min(most, cap)
second hand   about 1,700 positives of SciDocs Cite are papers that a cited paper cites, and the query itself does not
"""

from __future__ import annotations

import html
from collections.abc import Iterable
from typing import NamedTuple

from scirep_core.data import TRAINING
from scirep_core.data.literature import Literature
from scirep_core.data.readers.scirepeval import RankedQuery, TrainRow, training
from scirep_core.data.sources import literature
from scirep_core.data.task import Judged
from scirep_core.exhibits.counting import Gathered, number, row, title
from scirep_core.exhibits.scirepeval_tasks import root_of
from scirep_core.page import report
from scirep_core.page.chapter import Chapter
from scirep_core.results import Result, arithmetic
from scirep_core.results.published import Printed, lookup
from scirep_core.training.batching import triplets_of

CITE = "scirepeval/scidocs_cite"
POSITIVES = 5
"""Cited papers among the candidates of a query of SciDocs Cite, as its makers drew them (Cohan et al. 2020)."""


# ---- the cap ---------------------------------------------------------------------------------------------------------


class TrainingSet(NamedTuple):
    """A training set of Table 1: its printed size, and the most instances it can give."""

    task: str
    size: Printed
    most: int


def training_sets(exhibit: str = "V1-T1") -> list[TrainingSet]:
    """Return the eight training sets with the most instances that they can give (train and dev together)."""
    printed, per = lookup(exhibit), int(lookup("V1-C7")["multi-format training", "instances of a query, up to"].number)
    found = []
    for name in TRAINING:
        plain, ranked = ((title(name), column) for column in ("train", "train queries"))
        size = printed[plain] if plain in printed else printed[ranked]
        found.append(TrainingSet(name, size, int(size.number) * (1 if plain in printed else per)))
    return found


def instances(rows: Iterable[TrainRow], seed: int = 0) -> tuple[int, int]:
    """Return how many units (papers, triplets, queries) there are, and how many training instances are made of them."""
    units = made = 0
    for unit in rows:
        units += 1
        made += len(triplets_of(unit, seed=seed)) if isinstance(unit, RankedQuery) else 1
    return units, made


def caps(chapter: Chapter, gathered: Gathered) -> None:
    """Show what the eight sets give under either cap, beside the printed totals, and what embedded ones give (V1-C7)."""
    said = {column: one for (_, column), one in lookup("V1-C7").items()}
    sets, limits = training_sets(), [said["cap on a task, thousands"], said["smaller cap, thousands"]]
    ours = _live(chapter, gathered)
    cells, totals = [], dict.fromkeys(("", *(limit.value for limit in limits)), 0)
    for one in sets:
        left = {"": one.most} | {limit.value: min(one.most, int(1000 * limit.number)) for limit in limits}
        made = [
            arithmetic("V1-C7", _metric(limit, title(one.task)), value, 1, [one.size]) for limit, value in left.items()
        ]
        for limit, value in left.items():
            totals[limit] += value
        live = ours.get(one.task)
        cells.append([html.escape(title(one.task)), number(chapter, one.size),
                      *(number(chapter, made_) for made_ in chapter.record(made)),
                      f"{number(chapter, live)} <small>of {live.n:,}</small>" if live else ""])  # fmt: skip
    whole = chapter.record(
        arithmetic("V1-C7", _metric(limit, "all eight"), value, 8, [one.size for one in sets])
        for limit, value in totals.items()
    )
    cells.append(["all eight", "", *(number(chapter, made_) for made_ in whole), ""])
    heads = ["at most", *(f"cap {chapter.number(limit)}K" for limit in limits)]
    caption = (
        f"The most training instances that Table 1 of the submission allows: a paper or a triplet is one, a query up to "
        f"{chapter.number(said['instances of a query, up to'])}. Live: instances made, of how many papers, triplets or queries"
    )
    classes = [["", "published", "", "", "", "live"]] * len(cells)
    chapter.show(report.table(["Training set", "train + dev", *heads, "live"], cells, caption, classes))
    _say_caps(chapter, said, sets, whole)


def _metric(limit: str, name: str) -> str:
    return f"instances of {name} at most" + (f", cap {limit}K" if limit else "")


def _live(chapter: Chapter, gathered: Gathered) -> dict[str, Result]:
    """Return the instances of the training sets at hand, as rows; nothing of the samples, which are no training sets."""
    if chapter.parameters["data"] == "real":
        return {}
    made = []
    for name in (n for n in TRAINING if n in gathered.tasks):
        units, count = instances(training(name, root_of(chapter, name)), chapter.parameters["seed"])
        made.append(row(gathered.tasks[name], "training instances", count, units, "up to 5 triplets a query"))
    return {one.task: one for one in chapter.record(made)}


def _say_caps(chapter: Chapter, said: dict[str, Printed], sets: list[TrainingSet], whole: list[Result]) -> None:
    """Say whether the printed totals fit under the cap, and what the smaller one could change at all."""
    train, dev = said["training instances, millions"], said["validation instances, thousands"]
    cap, smaller = said["cap on a task, thousands"], said["smaller cap, thousands"]
    _, large, small = whole
    both = 1e6 * train.number + 1e3 * dev.number
    fits, together = 1e6 * train.number <= large.value, both <= large.value
    cut = sum(one.most > 1000 * smaller.number for one in sets)
    spare = chapter.record(
        [
            arithmetic(
                "V1-C7", "instances the cap allows beyond those printed", large.value - 1e6 * train.number, 8, [train]
            )
        ]
    )[0]
    chapter.say(
        f"Section 5 prints {chapter.number(train)} million training instances and {chapter.number(dev)} thousand for validation. "
        f"Under the cap of {chapter.number(cap)}K there can be {number(chapter, large)} at most, so the first "
        f"{'fits' if fits else 'does not fit'}, with {number(chapter, spare)} to spare"
        + (
            ". The two together would not: the cap is of training alone, and validation has one of its own or none."
            if not together
            else "; the two together fit too."
        )
    )  # fmt: skip
    chapter.say(
        f"A footnote calls a cap of {chapter.number(smaller)}K “relatively poor”. It changes {cut} of the {len(sets)} sets and "
        f"leaves {number(chapter, small)} instances at most. No score is printed for it, and the trainings need the large data, "
        "so the sentence is quoted, not tried. The publication repeats all of this, though its search set is another."
    )


# ---- cited, or cited by the cited ------------------------------------------------------------------------------------


KINDS = ("cited", "cited, and second hand", "second hand alone", "neither")


def kind_of(of: Literature, query: int, candidate: int) -> str:
    """Return how a candidate is linked to a query paper: one of KINDS."""
    cited = set(of.cites.of(query).tolist())
    beyond = {int(paper) for one in cited for paper in of.cites.of(one)}
    if candidate in cited:
        return KINDS[1] if candidate in beyond else KINDS[0]
    return KINDS[2] if candidate in beyond else KINDS[3]


def second_hand(chapter: Chapter, gathered: Gathered) -> None:
    """Show how many positives of SciDocs Cite are said to be citations of citations, and count embedded ones (V2-C9)."""
    said = lookup("V2-C9")["SciDocs Cite", "positives that are citations of citations"]
    queries = lookup("V2-T1")["SciDocs Cite", "queries"]
    share = chapter.record([
        arithmetic("V2-C9", "citations of citations among the positives, %", 100 * said.number / (POSITIVES * queries.number),
                   int(POSITIVES * queries.number), [said, queries])
    ])[0]  # fmt: skip
    chapter.say(
        f"About {number(chapter, said)} positives of SciDocs Cite, the publication’s limitations say, are “in fact citations of "
        f"citations”. With {number(chapter, queries)} queries and {POSITIVES} positives each, that is "
        f"{chapter.number(share, 0)} percent of them. The count is quoted: the files hold pairs and grades, and not who cites "
        "whom, so nobody can repeat it from them."
    )
    task = gathered.tasks.get(CITE)
    if chapter.parameters["data"] != "embedded" or task is None or not isinstance(task.payload, Judged):
        return
    of = literature(chapter.parameters["papers"], chapter.parameters["seed"])
    place = {of.paper_id(i): i for i in range(len(of))}
    tally = {grade: dict.fromkeys(KINDS, 0) for grade in ("positive", "negative")}
    for pair in task.payload.rows:
        tally["positive" if pair.score else "negative"][kind_of(of, place[pair.query_id], place[pair.cand_id])] += 1
    made = {
        (grade, kind): row(task, f"{grade} pairs, {kind}, %", 100 * count / sum(counts.values()), sum(counts.values()))
        for grade, counts in tally.items()
        for kind, count in counts.items()
    }
    shown = dict(zip(made, chapter.record(made.values()), strict=True))
    cells = [
        [f"{grade}, {sum(counts.values()):,} pairs", *(chapter.number(shown[grade, kind], 1) for kind in KINDS)]
        for grade, counts in tally.items()
    ]
    chapter.show(
        report.table(
            ["Judged", *KINDS], cells,
            "Live: how candidates of the embedded SciDocs Cite are linked to their queries, percent of the pairs. "
            "Second hand: cited by a paper that the query cites",
            [["", *["live"] * len(KINDS)]] * len(cells),
        )
    )  # fmt: skip
    alone, hidden = shown["positive", KINDS[2]], shown["negative", KINDS[2]]
    clean = "No positive here is" if alone.value == 0 else "Not every positive here is cited by its query; some are"
    chapter.say(
        f"{clean} second hand alone ({chapter.number(alone, 1)} percent). Of the negatives, drawn at random, "
        f"{chapter.number(hidden, 1)} percent are: such a pair counts as wrong here, and in the real task now and then as right."
    )
