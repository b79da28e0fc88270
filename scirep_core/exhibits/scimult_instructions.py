"""Chapter `scimult/link_prediction`: SciMult's Tables A6 and A7, another instruction at inference, and the same of our own (E.3).

    trained     the sentence about citations, which the model read in training whenever it was to predict links
    other       the paper's four others: co-views, co-reads, co-citations, relatedness
    controls    ours: Table 1's sentence for search, read in training too but for another task; and one about tea, with as
                many words as the trained one, which says nothing of papers
    moved       mean cosine of a text's vectors under the trained sentence and under another; beside it the mean cosine of
                two different texts, without which the first cannot be judged

The model is this build's SciMult Instruction, one training. Weights stay as they are and are not copied: `instructed.py` has
the link task told by another sentence. Differences are paired over queries; they know nothing of other trainings.
"""

from __future__ import annotations

import html
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from scirep_core.bench import scoring
from scirep_core.data.task import Task
from scirep_core.encoders import load_encoder
from scirep_core.encoders.conditioning.prefix import LINK, SEARCH, instructed
from scirep_core.encoders.trunk_encoder import TrunkEncoder
from scirep_core.evaluators import inputs
from scirep_core.exhibits import counting, scimult_systems, studies
from scirep_core.exhibits import scimult_print as pr
from scirep_core.exhibits.scimult_shared import TABLES
from scirep_core.exhibits.scirepeval_baselines import mean_row
from scirep_core.exhibits.scirepeval_compared import difference
from scirep_core.kit.store import stable_hash
from scirep_core.page import report
from scirep_core.page.chapter import Chapter, progress
from scirep_core.results import Result, provenance
from scirep_core.results.differences import difference_of
from scirep_core.results.published import lookup
from scirep_core.training.models import obtain

BY_LINK, BY_TASK = "SM-TA6", "SM-TA7"
MODEL, TRAINED, SEARCHES, TEA = "SciMult Instruction", "Cite", "Search", "Tea"
SENTENCES = {
    "Co-view": "Find a pair of scientific papers that are co-viewed frequently.",
    "Co-read": "Find a pair of scientific papers that are co-read frequently.",
    TRAINED: LINK,
    "Co-cite": "Find a pair of scientific papers that are co-cited frequently.",
    "Related": "Find a pair of scientific papers that one paper is related to the other.",
    SEARCHES: SEARCH,
    TEA: "Boil the water and leave the tea to steep for four minutes.",
}
"""What a sentence is called -> the sentence: appendix E.3's five, then the two controls."""
CONTROLS = (SEARCHES, TEA)
OTHERS = tuple(name for name in SENTENCES if name not in (TRAINED, *CONTROLS))
LINKS = {
    "scimult/coview": "Co-view",
    "scimult/coread": "Co-read",
    "scimult/cite_rerank": "Cite",
    "scimult/cocite_rerank": "Co-cite",
}
"""Rows of Table A6, by task."""
AVERAGED = {"SM-T5": "Link Prediction (Retrieval)", "SM-T7": "Link Prediction (Reranking)"}
"""Tables whose averages Table A7 has, and its rows."""
ALL = "scimult/instructions"
COSINE, APART, PIECES = (
    "cosine with the trained sentence’s vector, mean",
    "cosine of two different texts, mean",
    "word pieces",
)
GAP = f"other sentence, {TRAINED}"
Floats = NDArray[np.float64]
Cells = Mapping[tuple[str, str, str], Result]
"""(task, the model told a sentence, metric) -> row."""


# ---- print -----------------------------------------------------------------------------------------------------------


def printed(chapter: Chapter) -> None:
    """Show Tables A6 and A7, and say which instruction serves which kind of link."""
    pr.show(chapter, BY_LINK, "Table A6: MAP of SciMult-Instruction with four instructions")
    names, cells = pr.columns(BY_LINK), lookup(BY_LINK)
    lines = pr.systems(BY_LINK)
    best = {line: max((cells[line, name].number, name) for name in names)[1] for line in lines}
    own = [line for line in lines if best[line].split()[0] == line.split()[0]]
    told = ", ".join(f"{line.removesuffix(' Prediction')}: {best[line].removesuffix(' Instruction')}" for line in lines)
    weak, strong = names[:2], names[2:]
    pairs = [(line, a, b) for line in lines for a in weak for b in strong]
    fits = [p for p in pairs if cells[p[0], p[1]].number < cells[p[0], p[2]].number]
    chapter.say(
        f"The best instruction by kind of link: {told}. It is the one for its own kind in {len(own)} of {len(lines)}.",
        "Section E.3 has Co-view and Co-read behind Cite and Co-cite in most cases: in "
        f"{len(fits)} of {len(pairs)} comparisons of two cells of a line.",
    )
    pr.show(chapter, BY_TASK, "Table A7: averages of SciMult-Instruction with three instructions")
    spreads = []
    for line in pr.systems(BY_TASK):
        found = [p for (row, _), p in lookup(BY_TASK).items() if row == line]
        wide = max(p.number for p in found) - min(p.number for p in found)
        spreads.append(f"{pr.worked(chapter, BY_TASK, f'spread, {line}', wide, found)} points ({html.escape(line)})")
    chapter.say(
        f"The three differ by {pr.named(spreads, str)}: on a par, says E.3. No deviation is printed to judge that by, and no "
        "sentence that ought to do badly."
    )


# ---- measuring -------------------------------------------------------------------------------------------------------


def measure(chapter: Chapter) -> list[Result]:
    """Return the rows of this build's model told each sentence, recorded; [] where nothing is trained (`data`)."""
    if chapter.parameters["data"] != "embedded":
        return []
    found = counting.gather(chapter, list(_wanted())).tasks
    encoder = load_encoder(obtain(MODEL, 0, studies.live_budget(chapter), "embedded untrained")[0].encoder)
    assert isinstance(encoder, TrunkEncoder)
    return chapter.record(scimult_systems.bare(told(encoder, list(found.values()), chapter.parameters["seed"])))


def _wanted() -> dict[str, list[str]]:
    """Return task -> metrics of Tables 5 and 7."""
    found: dict[str, list[str]] = {}
    for table in AVERAGED:
        for task, metric in TABLES[table]:
            found.setdefault(task, []).append(metric)
    return found


def told(encoder: TrunkEncoder, tasks: Sequence[Task], seed: int = 0) -> Iterator[Result]:
    """Yield MAP, averages, their differences from the trained sentence, and how far vectors move, for every sentence.

    Args:
        encoder: of kind instruction, trained with the sentence about citations.
        tasks: of Tables 5 and 7; an average is there where all its columns are.
    """
    wanted, scored = _wanted(), dict[str, dict[tuple[str, str], Result]]()
    units = dict[str, Floats]()
    encoders = {
        name: encoder if name == TRAINED else instructed(encoder, "link", SENTENCES[name]) for name in SENTENCES
    }
    for name, one in encoders.items():
        inputs.prepare(tasks, one, progress=progress(f"{MODEL}, {name}"))
        vectors = {task.name: inputs.vectors_of(task, one) for task in tasks}
        rows = [
            row for task in tasks
            for row in scoring.evaluate(task, vectors[task.name], metrics=wanted[task.name], similarity="dot", split="test",
                                        name=label(name), seed=seed)
        ]  # fmt: skip
        scored[name] = {(row.task, row.metric): row for row in [*rows, *_averages(rows)]}
        # a paper has one vector, whichever task it is of
        every = {key: vector for task in tasks for key, vector in vectors[task.name].items()}
        table = np.stack([every[key] for key in sorted(every)]).astype(np.float64)
        units[name] = table / np.linalg.norm(table, axis=1, keepdims=True)
    yield from _moved(encoders, tasks, units, seed)
    shown = [(task, "map") for task in LINKS] + [(f"scimult/{table}", "average") for table in AVERAGED]
    for name, found in scored.items():
        for key in (key for key in shown if key in found):
            yield found[key]
            if name != TRAINED:
                yield from difference(found[key], scored[TRAINED][key], f"{key[1]}, {GAP}", label(name), TRAINED)


def label(name: str) -> str:
    """Return what rows call the model told a sentence.

    >>> label("Co-view")
    'SciMult Instruction, Co-view'
    """
    return f"{MODEL}, {name}"


def _averages(rows: Sequence[Result]) -> Iterator[Result]:
    """Yield the plain means over the columns of Tables 5 and 7, bootstrap values averaged draw by draw."""
    found = {(row.task, row.metric): row for row in rows}
    for table in AVERAGED:
        cells = [found[key] for key in TABLES[table] if key in found]
        if len(cells) == len(TABLES[table]):
            mean = mean_row(
                cells, f"scimult/{table}", "test", "average", f"plain mean of the {len(cells)} columns of {table}"
            )
            yield replace(mean, n=len(cells), pool="", data_hash=stable_hash([row.data_hash for row in cells])[:16])


def _moved(
    encoders: Mapping[str, TrunkEncoder], tasks: Sequence[Task], units: Mapping[str, Floats], seed: int
) -> Iterator[Result]:
    """Yield how long each sentence is, its vectors' mean cosine with the trained ones, and that of two different texts."""
    own, pieces = units[TRAINED], encoders[TRAINED].loaded[1]
    many = len(own)
    stamp = Result(
        ALL, "all", "", "paper", 0.0, many, source=tasks[0].source, seed=seed, provenance=provenance(),
        data_hash=stable_hash([task.data_hash for task in tasks])[:16],
    )  # fmt: skip
    for name, one in encoders.items():
        row = replace(stamp, encoder=label(name), fingerprint=one.fingerprint)
        yield replace(row, metric=PIECES, value=float(len(pieces.ids([SENTENCES[name]], special=False)[0])), n=1)
        if name != TRAINED:
            yield replace(row, metric=COSINE, value=float((units[name] * own).sum(1).mean()))
            continue
        # the sum over all pairs is the square of the sum of all; of these pairs `many` are a text with itself, at 1 each
        yield replace(row, metric=APART, value=(float(np.square(own.sum(0)).sum()) - many) / (many * (many - 1)))


# ---- showing ---------------------------------------------------------------------------------------------------------


def show(chapter: Chapter, rows: Sequence[Result]) -> None:
    """Show what the sentences are, and Tables A6 and A7 with ours beside; say what moves and what does not."""
    cells = scimult_systems.by_cell(rows)
    if not cells:
        chapter.note(
            "Nothing is trained in this run. With <code>-p data embedded</code> our own model is told seven sentences."
        )
        return
    _sentences(chapter, cells)
    tasks = [key for key in LINKS if (key, label(TRAINED), "map") in cells]
    _beside(chapter, cells, [(key, "map") for key in tasks], {key: (BY_LINK, f"{LINKS[key]} Prediction") for key in tasks},
            "Table A6 and ours: MAP of candidates in order, live with the difference from the trained sentence")  # fmt: skip
    _say_links(chapter, cells, tasks)
    tables = {f"scimult/{table}": (BY_TASK, line) for table, line in AVERAGED.items()}
    kept = [(key, "average") for key in tables if (key, label(TRAINED), "average") in cells]
    _beside(chapter, cells, kept, tables,
            "Table A7 and ours: averages of Tables 5 and 7, live with the difference from the trained sentence")  # fmt: skip
    _say_averages(chapter, cells, [key for key, _ in kept])


def _sentences(chapter: Chapter, cells: Cells) -> None:
    body, classes = [], []
    for name, sentence in SENTENCES.items():
        moved = cells.get((ALL, label(name), COSINE))
        what = "trained with" if name == TRAINED else "control" if name in CONTROLS else ""
        body.append([f"{name} <small>{what}</small>", html.escape(sentence), chapter.number(cells[ALL, label(name), PIECES], 0),
                     chapter.number(moved, 4) if moved else ""])  # fmt: skip
        classes.append(["", "", "live", "live"])
    n = cells[ALL, label(TRAINED), APART].n
    chapter.show(
        report.table(["", "instruction", PIECES, "cosine"], body,
                     f"Seven sentences for one task, and the mean cosine of a text’s vector with its own under the trained one "
                     f"({n:,} texts)", classes)
    )  # fmt: skip
    apart = cells[ALL, label(TRAINED), APART]
    found = {name: cells[ALL, label(name), COSINE] for name in SENTENCES if name != TRAINED}
    low, high = _ends(found[name] for name in OTHERS)
    far = min(found, key=lambda name: found[name].value)
    chapter.say(
        f"Live: under another of the paper’s sentences a text’s vector keeps a mean cosine of {chapter.number(low, 4)} to "
        f"{chapter.number(high, 4)} with its own; two different texts have {chapter.number(apart, 4)}. "
        f"Vectors move most under {_called(far)}, to {chapter.number(found[far], 4)}"
        + (
            ": further than two texts are apart. Where all move alike, query and candidates, their order can stay what it was."
            if found[far].value < apart.value
            else "."
        ),
    )


def _beside(
    chapter: Chapter,
    cells: Cells,
    columns: Sequence[tuple[str, str]],
    quoted: Mapping[str, tuple[str, str]],
    caption: str,
) -> None:
    """Show a line for every sentence and two cells for every column: published, and live with the paired difference."""
    body = []
    for name in SENTENCES:
        shown = [name]
        for task, metric in columns:
            exhibit, line = quoted[task]
            p = lookup(exhibit).get((line, f"{name} Instruction"))
            row, gap = (
                cells[task, label(name), metric],
                cells.get((task, label(name), difference_of(f"{metric}, {GAP}"))),
            )
            small = f"<br><small>{scimult_systems.points(chapter, gap, 2)}</small>" if gap else ""
            shown += [chapter.number(p) if p else "", f"{chapter.number(row)}{small}"]
        body.append(shown)
    heads = ["published", "live"] * len(columns)
    groups = [html.escape(quoted[task][1]) for task, _ in columns]
    chapter.show(report.table(["", *heads], body, caption, [["", *heads]] * len(body), groups))


def _say_links(chapter: Chapter, cells: Cells, tasks: Sequence[str]) -> None:
    gaps = [row for (task, _, metric), row in cells.items() if task in tasks and metric == difference_of(f"map, {GAP}")]
    up, down = (sum(scimult_systems.sign(row) == way for row in gaps) for way in (1, -1))
    paper = [name for name in SENTENCES if f"{name} Instruction" in pr.columns(BY_LINK)]
    best = {task: max(paper, key=lambda name, t=task: cells[t, label(name), "map"].value) for task in tasks}  # type: ignore[misc]
    own = sum(best[task] == LINKS[task] for task in tasks)
    chapter.say(
        f"Live: of {len(gaps)} differences in MAP from the trained sentence {up} are settled above 0 and {down} below. Of as many "
        f"intervals of 95 % about {0.05 * len(gaps):.1f} leave out 0 by chance alone.",
        f"Of Table A6’s four sentences the best by kind of link: {', '.join(f'{LINKS[t]}: {best[t]}' for t in tasks)}. It is the "
        f"one for its own kind in {own} of {len(tasks)}.",
    )


def _say_averages(chapter: Chapter, cells: Cells, tasks: Sequence[str]) -> None:
    for task in tasks:
        gaps = {
            name: cells[task, label(name), difference_of(f"average, {GAP}")] for name in SENTENCES if name != TRAINED
        }
        low, high = _ends(gaps[name] for name in OTHERS)
        settled = [name for name in OTHERS if scimult_systems.sign(gaps[name])]
        chapter.say(
            f"Live, {AVERAGED[task.removeprefix('scimult/')]}: the paper’s other sentences change the average by "
            f"{chapter.number(low, sign=True)} to {chapter.number(high, sign=True)} points, "
            + (f"settled for {pr.named(settled, str)}" if settled else "none of them settled")
            + f"; {', '.join(f'{_called(name)} by {scimult_systems.points(chapter, gaps[name], 2)}' for name in CONTROLS)}."
        )
    if tasks:
        chapter.say(_verdict([cells[task, label(TEA), difference_of(f"average, {GAP}")] for task in tasks]))


def _verdict(gaps: Sequence[Result]) -> str:
    """Return what the sentence about tea shows, by the settled signs of its differences on the averages."""
    sides = [scimult_systems.sign(gap) for gap in gaps]
    if not any(sides):
        most = max(abs(end) for gap in gaps for end in (gap.low, gap.high) if end is not None)
        return (
            f"The sentence about tea is not told from the trained one on either average; {most:.2f} points is the most that the "
            "intervals allow. As far as they reach, what the instruction says does not matter to the scores of this model, and "
            "being on a par, as in Table A7, is then what one sees of any sentence. The paper has no such control, so its table "
            "cannot tell a model that understands instructions from one that does not."
        )
    if all(side < 0 for side in sides):
        return (
            "The sentence about tea is behind the trained one on both averages: this model heeds what the instruction says, at "
            "least so far that a strange one harms. Of the paper’s sentences that is not to be seen without such a control."
        )
    return (
        "The sentence about tea is told from the trained one, and is not behind it on both averages: the instruction matters to "
        "this model, but not by what it says."
    )


def _called(name: str) -> str:
    return {SEARCHES: "the sentence for search", TEA: "the sentence about tea"}.get(name, f"“{name}”")


def _ends(rows: Iterable[Result]) -> tuple[Result, Result]:
    found = sorted(rows, key=lambda row: row.value)
    return found[0], found[-1]
