"""What the chapters about collections share: which tasks are at hand, what is in them, counts in thousands.

    SciRepEval Table 1, SciMult Tables A1 and A2, textual neighbours Table 2: counts, token lengths, labels, scores.

A count is a Result row like any other number: task, what was counted (`metric`), data hash. Counts are named as the
papers' columns are: train, test, queries, pairs, papers, labels, clusters, signatures.
"""

from __future__ import annotations

import html
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from scirep_core.bench.suites import SPECS
from scirep_core.data import TASKS, load_task
from scirep_core.data.readers.samples import SAMPLES
from scirep_core.data.rows import classes
from scirep_core.data.sources import away
from scirep_core.data.task import Judged, Labelled, Reviewers, Task
from scirep_core.data.validate import printed_counts
from scirep_core.kit.errors import CacheError, ConfigError, DataError
from scirep_core.page import report
from scirep_core.page.chapter import Chapter
from scirep_core.page.rows import Number
from scirep_core.page.widgets.tasks import TaskExplorer, task_data
from scirep_core.results import Result, row_of

SAMPLE = "sample/"
READ, EVERY = 2_000, 4
"""Lengths are taken of every fourth of the first two thousand texts of a task: the same ones on every machine."""
LIMIT = 512
"""Tokens kept of a text by all encoders of the five papers."""
TRAINING_SIZES = ("train", "train queries", "train pairs")
Count = tuple[str, float, int]
"""What was counted, the count, of how many."""


@dataclass(frozen=True)
class Gathered:
    """The tasks of a chapter that could be read, and why each of the others is not here."""

    tasks: Mapping[str, Task]
    absent: Mapping[str, str]


# ---- loading ---------------------------------------------------------------------------------------------------------


def gather(chapter: Chapter, wanted: Sequence[str]) -> Gathered:
    """Load tasks from the source the chapter's parameters name.

    Args:
        wanted: names of the inventory.

    With `real`, the samples of these tasks (`sample/...`) are read too, and of the collections only tasks whose parts lie in
    SCIREP_HOME or the mirror: nothing large is fetched behind the reader's back. With a folder, collections it does not
    hold are left out. What is there and malformed raises DataError.
    """
    data, papers, seed = (chapter.parameters[key] for key in ("data", "papers", "seed"))
    tasks: dict[str, Task] = {}
    absent: dict[str, str] = {}
    for name in [*wanted, *(samples(wanted) if data == "real" else ())]:
        # what is small is fetched: samples, the open literature
        if why := away(name) if data == "real" and name in TASKS else "":
            absent[name] = why
            continue
        try:
            found: object = load_task(name, data, papers, seed)
        except (DataError, ConfigError, CacheError) as error:
            if data == "embedded" or (isinstance(error, DataError) and Path(error.path).exists()):
                raise  # what is there must be right
            absent[name] = str(error)
            continue
        if isinstance(found, Task):
            tasks[name] = found
    return Gathered(tasks, absent)


def names_in(text: str) -> list[str]:
    """Return the names that a comma-separated parameter lists, each once.

    >>> names_in("tfidf, minilm,,tfidf")
    ['tfidf', 'minilm']
    """
    return list(dict.fromkeys(name for part in text.split(",") if (name := part.strip())))


def samples(wanted: Sequence[str]) -> list[str]:
    """Return the real samples that are like some tasks."""
    return [name for name, sample in SAMPLES.items() if sample.like in wanted]


def say_absent(chapter: Chapter, gathered: Gathered) -> None:
    """Say which tasks are not at hand, in one folded list; nothing where all are."""
    if not gathered.absent:
        return
    reasons: dict[str, list[str]] = {}
    for name, why in gathered.absent.items():
        reasons.setdefault(why, []).append(f"<code>{html.escape(name)}</code>")
    items = "".join(f"<li>{', '.join(names)}: {html.escape(why)}</li>" for why, names in reasons.items())
    chapter.show(
        f'<details class="scirep-note"><summary>{len(gathered.absent)} tasks are not at hand; {len(gathered.tasks)} '
        f"are</summary><ul>{items}</ul></details>"
    )


# ---- counting --------------------------------------------------------------------------------------------------------


def row(task: Task, metric: str, value: float, n: int, note: str = "") -> Result:
    """Return one count as a Result row."""
    return row_of(task, task=task.name, split="all")(metric=metric, value=float(value), n=n, note=note)


def counts(task: Task) -> Iterator[Count]:
    """Yield what is in a task, in the reading of its paper: (name, count, of how many)."""
    return ((name, n, n) for name, n in printed_counts(task).items())


def label_shares(task: Task) -> Iterator[Count]:
    """Yield, of a classification task, how often each label occurs (percent of papers; several may hold of one)."""
    if not isinstance(task.payload, Labelled) or task.type != "classification":
        return
    examples = [example for split in task.payload.splits.values() for example in split]
    tally = Counter(label for example in examples for label in classes(example.label))
    for label, count in sorted(tally.items()):
        yield f"papers with label {label}, %", 100 * count / len(examples), len(examples)


def score_shares(task: Task) -> Iterator[Count]:
    """Yield, of a ranking task, how the judged pairs spread over the scores (percent), and candidates per query."""
    if isinstance(task.payload, Judged):
        rows = task.payload.rows
    elif isinstance(task.payload, Reviewers):
        rows = task.payload.soft
    else:
        return
    for score, count in sorted(Counter(qrel.score for qrel in rows).items()):
        yield f"pairs with score {score}, %", 100 * count / len(rows), len(rows)
    queries = len({qrel.query_id for qrel in rows})
    yield "candidates per query", len(rows) / queries, queries


# ---- lengths ---------------------------------------------------------------------------------------------------------


@cache
def tokenizer() -> Any:
    """Return MiniLM's WordPiece tokenizer (the bundled one), without cutting or padding."""
    from tokenizers import Tokenizer

    from scirep_core.encoders import ENCODERS, MINILM
    from scirep_core.encoders.hub import TransformersEncoder

    spec = ENCODERS["minilm"]
    folder = TransformersEncoder("minilm", MINILM, spec.pooling, spec.recipe).folder
    made = Tokenizer.from_file(str(folder / "tokenizer.json"))
    made.no_truncation()
    made.no_padding()
    return made


def token_counts(texts: Sequence[str]) -> list[int]:
    """Return the tokens of each text, [CLS] and [SEP] included."""
    return [len(encoded.ids) for encoded in tokenizer().encode_batch(list(texts))]


def lengths(task: Task, limits: Sequence[int] = (LIMIT,), whole: bool = False) -> Iterator[Count]:
    """Yield quartiles of the tokens of title [SEP] abstract, and the shares over limits; nothing where a task has no texts.

    Args:
        whole: counts all texts; otherwise some of the first, which is no random sample.
    """
    papers = list(task.texts()) if whole else list(islice(task.texts(), 0, READ, EVERY))
    if not papers:
        return
    tokens = np.array(token_counts([f"{p.title} [SEP] {p.abstract}" for p in papers]))
    for quartile, value in zip((1, 2, 3), np.percentile(tokens, (25, 50, 75)), strict=True):
        yield f"tokens, quartile {quartile}", float(value), len(papers)
    for limit in limits:
        yield f"texts over {limit} tokens, %", 100 * float((tokens > limit).mean()), len(papers)


# ---- showing ---------------------------------------------------------------------------------------------------------


def number(chapter: Chapter, shown: Number | None, decimals: int = 0) -> str:
    """Return a number as `chapter.number` does, with thousands set apart; "" for none."""
    return "" if shown is None else report.thousands(chapter.number(shown, decimals))


def of_how_many(rows: Sequence[Result], what: str) -> str:
    """Return `n = 40 texts a task`, or the range where the tasks differ."""
    least, most = min(r.n for r in rows), max(r.n for r in rows)
    return f"n = {least:,}{'' if least == most else f' to {most:,}'} {what}"


def draw_ranges(axes: Any, rows: Sequence[Result], name: str, colour: str) -> list[str]:
    """Draw median and middle half of `name` for each task that has them; return the tasks, top to bottom."""
    found = {(r.task, r.metric): r for r in rows}
    tasks = [task for task, metric in found if metric == f"{name}, quartile 2"]
    for y, task in enumerate(reversed(tasks)):
        low, middle, high = (found[task, f"{name}, quartile {q}"].value for q in (1, 2, 3))
        axes.plot([low, high], [y, y], color=colour, linewidth=3, alpha=0.45, solid_capstyle="butt")
        axes.plot([middle], [y], marker="o", color=colour, linestyle="none", markersize=5)
    axes.set_yticks(range(len(tasks)), [title(task) for task in reversed(tasks)])
    axes.grid(axis="y", visible=False)
    axes.set_ylim(-0.7, len(tasks) - 0.3)
    return tasks


def title(name: str) -> str:
    """Return the printed name of a task; of a sample the task's it is like, marked."""
    if name in SPECS:
        return SPECS[name].title
    return f"{TASKS[SAMPLES[name].like].title} (sample)" if name in SAMPLES else name.removeprefix(SAMPLE)


def explorer(chapter: Chapter, gathered: Gathered, rows: Sequence[Result] = ()) -> TaskExplorer:
    """Return the task explorer over the tasks at hand; the others are listed with their printed sizes.

    Args:
        rows: what the chapter counted; the sizes of its training sets are read off them.
    """
    training: dict[str, dict[str, int]] = {}
    for one in rows:
        if one.metric in TRAINING_SIZES:
            training.setdefault(one.task, {})[one.metric.replace(" ", "_")] = int(one.value)
    view = task_data(gathered.tasks.values(), 4, chapter.parameters["seed"],
                     also=[name for name in gathered.absent if name in TASKS], training=training)  # fmt: skip
    return TaskExplorer(view)
