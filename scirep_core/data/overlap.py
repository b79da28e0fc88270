"""Leak check: which evaluation papers a training set has shown (SciMult 4.5 quotes 40.5 % for SciDocs).

    seen        a paper whose id stands in a training row, or whose title does; titles are compared by their letters and
                digits alone, without case, accents, punctuation and white space
    both seen   a judged pair whose query and candidate were both shown, whether or not together
    trained on  a judged pair that is itself a training pair, in either direction; `as positive` where the pair is judged
                relevant and was a positive one

Equal ids under different titles are of different collections: they are counted on their own (`other_title`) and are not
seen. Titles of fewer than `LEAST` letters and digits (Editorial, Introduction) say nothing: such papers go by id alone.
Training rows are streamed, only the evaluation side is held, so millions of rows need no more memory than a few.
"""

from __future__ import annotations

import functools
import os
import unicodedata
from collections import defaultdict
from collections.abc import Callable, Collection, Container, Iterable, Iterator, Mapping, Sequence, Set
from pathlib import Path
from types import NoneType
from typing import Any, NamedTuple

from scirep_core.data import hub, load_task, sources
from scirep_core.data import task as schema
from scirep_core.data.inventory import TASKS, TRAINING
from scirep_core.data.readers import scirepeval
from scirep_core.data.readers.csfcube import FacetCollection
from scirep_core.data.readers.scimult import SEP
from scirep_core.data.rows import Line
from scirep_core.data.sources import PAPERS
from scirep_core.data.task import Task
from scirep_core.kit.errors import ConfigError, DataError
from scirep_core.kit.records import Paper

LEAST = 16
"""Letters and digits a title must have to be told by."""
EVERY = 10_000
"""Training rows between two lines of progress."""
IDS = ("paper_id", "doc_id", "corpus_id")
_MAY: dict[str, hub.Kind] = {
    "query": (dict, str, int, NoneType), "pos|positive": (dict, str, int, NoneType),
    "neg|negative": (dict, str, int, NoneType), "candidates": (list, NoneType), "title": (str, NoneType),
    **dict.fromkeys(IDS, (str, int, NoneType)),
}  # fmt: skip


class Text(NamedTuple):
    """A paper, or a bare query: its id and its title, either may be empty."""

    id: str
    title: str = ""


class Unit(NamedTuple):
    """A training row: what is asked (None of a labelled paper), and what it is compared with; is it a positive?"""

    query: Text | None
    others: tuple[tuple[Text, bool], ...]


class Sought(NamedTuple):
    """The evaluation side of one task.

    Attributes:
        titles: of each paper that is scored, "" where unknown.
        queries: papers among them that are queries.
        bare: text of each query that is no paper.
        pairs: (query, candidate, relevant) as judged.
    """

    name: str
    titles: Mapping[str, str]
    queries: frozenset[str] = frozenset()
    bare: Mapping[str, str] = {}
    pairs: tuple[tuple[str, str, bool], ...] = ()


class Share(NamedTuple):
    """How many of how many, and the first of them."""

    seen: int
    of: int
    first: tuple[str, ...] = ()

    @property
    def percent(self) -> float:
        """Share in percent; 0 of nothing is 0."""
        return 100 * self.seen / self.of if self.of else 0.0


class Overlap(NamedTuple):
    """What a training set has shown of one task."""

    train: str
    task: str
    rows: int
    papers: Share
    by_id: Share
    by_title: Share
    queries: Share
    asked: Share
    """Queries that are queries of the training set too."""
    both_seen: Share
    trained_on: Share
    as_positive: Share
    """Of the relevant pairs: those that are positive training pairs."""
    other_title: Share
    short_titles: int
    """Papers whose title is missing or too short to be told by."""

    def to_json(self) -> dict[str, Any]:
        """Return the counts as a JSON object."""
        return {
            name: {"seen": value.seen, "of": value.of, "percent": value.percent, "first": list(value.first)}
            if isinstance(value, Share)
            else value
            for name, value in self._asdict().items()
        }


@functools.lru_cache(maxsize=4_096)
def title_key(title: str) -> str:
    """Return the letters and digits of a title, folded; "" where they are fewer than `LEAST`.

    >>> title_key("Pre-training: a  Naïve View") == title_key("PRETRAINING A NAIVE VIEW")
    True
    """
    key = letters(title)
    return key if len(key) >= LEAST else ""


def letters(text: str) -> str:
    """Return the letters and digits of a text, folded."""
    return "".join(c for c in unicodedata.normalize("NFKD", text).casefold() if c.isalnum())


# ---- the evaluation side ---------------------------------------------------------------------------------------------


def sought(task: Task | FacetCollection) -> Sought:
    """Return what is scored in a task: the papers of its test split, or its queries and judged candidates."""
    if isinstance(task, FacetCollection):
        rated = [(q.paper_id, j.candidate, j.rating > 0) for q, judged in task.judgements.items() for j in judged]
        titles = {key: task.papers[key].title for pair in rated for key in pair[:2]}
        return Sought(task.name, titles, frozenset(q for q, _, _ in rated), pairs=_once(rated))
    data = task.payload
    if isinstance(data, schema.Triples):
        raise ConfigError(f"{task.name} is training data: give it first, and after it what is evaluated")
    pairs = [*data.pairs()] if isinstance(data, schema.Judged | schema.Pooled) else []
    queries = {query for query, _, _ in pairs}
    if isinstance(data, schema.Reviewers):  # a pair is a paper and a person: no training pair can be that
        queries = {row.query_id for row in data.hard}
    bare = {key: text for key, text in task.queries.items() if key in queries}
    wanted = dict.fromkeys(key for key in data.ids().tested if key not in bare)
    titles = {paper.paper_id: paper.title for paper in task.texts() if paper.paper_id in wanted}
    return Sought(
        task.name, {key: titles.get(key, "") for key in wanted}, frozenset(queries) - bare.keys(), bare, _once(pairs)
    )


def _once(pairs: Iterable[tuple[str, str, bool]]) -> tuple[tuple[str, str, bool], ...]:
    found: dict[tuple[str, str], bool] = {}
    for query, cand, relevant in pairs:
        found[query, cand] = found.get((query, cand), False) or relevant
    return tuple((query, cand, relevant) for (query, cand), relevant in found.items())


def sought_in(path: Path) -> Sought:
    """Return the papers of a file of one's own (.jsonl, .jsonl.gz, .parquet): {paper_id, title}, or triplets."""
    titles = {
        text.id or text.title: text.title
        for unit in units_in(path)
        for text in (*([unit.query] if unit.query else ()), *(other for other, _ in unit.others))
    }
    return Sought(path.name, titles)


# ---- the training side -----------------------------------------------------------------------------------------------


def training_units(name: str, source: str = "embedded", papers: int = PAPERS, seed: int = 0) -> Iterator[Unit]:
    """Stream the rows of a training set: one of SciRepEval's eight, a task of type triplets, or a file.

    A file (.jsonl, .jsonl.gz, .parquet) holds {query, pos, neg}, {query, candidates} or {paper_id, title}; papers are
    objects with doc_id (or paper_id, corpus_id) and title, or bare ids. Raises ConfigError for other tasks, DataError
    for malformed rows.
    """
    if name in TRAINING:
        return (_unit(row) for row in scirepeval.training(name, sources.root_of(name, source, papers, seed)))
    if name not in TASKS and Path(name).expanduser().is_file():
        return units_in(Path(name).expanduser())
    task = load_task(name, source, papers, seed)
    if not isinstance(task, Task) or not isinstance(task.payload, schema.Triples):
        remedy = f"Give a file, a task of type triplets, or one of {', '.join(TRAINING)}"
        raise ConfigError(f"{name} is no training data. {remedy}")
    return _Triples(task, task.payload)


def _unit(row: scirepeval.TrainRow) -> Unit:
    if isinstance(row, scirepeval.TrainExample):
        return Unit(None, ((_text(row.paper), False),))
    if isinstance(row, scirepeval.PaperTriple):
        return Unit(_text(row.query), ((_text(row.positive), True), (_text(row.negative), False)))
    candidates = zip(row.candidates, row.scores, strict=True)
    return Unit(_text(row.query), tuple((_text(paper), score > 0) for paper, score in candidates))


def _text(paper: Paper) -> Text:
    return Text(paper.paper_id, paper.title)


class _Triples:
    """Rows of a task whose triples are ids; titles come from a pass of their own, once it is known which matter."""

    def __init__(self, task: Task, data: schema.Triples) -> None:
        self.texts, self.rows, self.titles = task.texts, data.rows(data.splits[0]), dict[str, str]()

    def keep(self, keys: Set[str]) -> None:
        """Remember the titles that evaluation has too. SciMult's files give title and abstract as one text."""
        found = ((paper.paper_id, paper.title.partition(SEP)[0]) for paper in self.texts())
        self.titles = {key: title for key, title in found if {title_key(title), _plain(title)} & keys}

    def __iter__(self) -> Iterator[Unit]:
        return self

    def __next__(self) -> Unit:
        query, positive, negative = (Text(key, self.titles.get(key, "")) for key in next(self.rows))
        return Unit(query, ((positive, True), *(((negative, False),) if negative.id else ())))


def units_in(path: Path) -> Iterator[Unit]:
    """Stream the rows of a file. Raises DataError with file and row for a row of none of the three forms."""
    for row in hub.rows((path,), {}, _MAY):
        if row["pos"] is not None and row["query"] is not None:
            parts = [_of(row[name], row, name) for name in ("query", "pos")]
            others = [(parts[1], True)]
            if row["neg"] is not None:
                others.append((_of(row["neg"], row, "neg"), False))
            yield Unit(parts[0], tuple(others))
        elif row["candidates"] is not None and row["query"] is not None:
            query = row["query"]
            asked = Text("", query) if isinstance(query, str) else _of(query, row, "query")
            found = [(_of(c, row, "candidates"), _positive(c)) for c in row["candidates"]]
            yield Unit(asked, tuple(found))
        elif any(row[key] is not None for key in IDS) or row["title"]:
            yield Unit(None, ((_of(row, row, "the row"), False),))
        else:
            raise row.wrong("neither {query, pos, neg} nor {query, candidates} nor {paper_id, title}")


def _plain(query: str) -> str:
    """Return what bare queries are compared by: they may be as short as a word."""
    return query.casefold().strip()


def _positive(candidate: Any) -> bool:
    return isinstance(candidate, dict) and isinstance(candidate.get("score"), int | float) and candidate["score"] > 0


def _of(value: Any, row: Line, where: str) -> Text:
    if isinstance(value, str | int):
        return Text(str(value))
    key = next((value[name] for name in IDS if isinstance(value, dict) and value.get(name) is not None), None)
    title = value.get("title") if isinstance(value, dict) else None
    if key is None and not title:
        raise row.wrong(f"{where} has neither {', '.join(IDS)} nor a title", "Name each paper")
    return Text("" if key is None else str(key), title if isinstance(title, str) else "")


# ---- the comparison --------------------------------------------------------------------------------------------------


class _Seen:
    """The evaluation side of one task, by id and by title, and what training rows have shown of it so far."""

    def __init__(self, task: Sought) -> None:
        self.task = task
        self.keys = {key: title_key(title) for key, title in task.titles.items()}
        self.titles, self.bare = defaultdict[str, list[str]](list), defaultdict[str, list[str]](list)
        for key, title in self.keys.items():
            self.titles[title].append(key)
        for key, text in task.bare.items():  # it may be short: it is compared as it is
            self.bare[_plain(text)].append(key)
        for table in (self.titles, self.bare):
            table.pop("", None)
        self.relevant = {(query, cand): relevant for query, cand, relevant in task.pairs}
        self.by_id, self.by_title, self.asked, self.other = set[str](), set[str](), set[str](), set[str]()
        self.trained: dict[tuple[str, str], bool] = {}

    def match(self, text: Text) -> set[str]:
        """Return the ids of what a training text is, and mark them as seen."""
        key = title_key(text.title)
        named = {*self.titles.get(key, ()), *self.bare.get(key, ())} if key else set[str]()
        if text.title and len(text.title) < 200:
            named.update(self.bare.get(_plain(text.title), ()))
        self.by_title |= named
        own = self.keys.get(text.id) if text.id else None
        if own is None:
            return named
        if key and own and key != own:
            self.other.add(text.id)
            return named
        self.by_id.add(text.id)
        return {*named, text.id}

    def see(self, unit: Unit) -> None:
        """Mark what one training row shows."""
        queries = self.match(unit.query) if unit.query else set()
        self.asked |= queries
        for text, positive in unit.others:
            for cand in self.match(text):
                for query in queries:
                    for pair in ((query, cand), (cand, query)):
                        if pair in self.relevant:
                            self.trained[pair] = self.trained.get(pair, False) or positive

    def report(self, train: str, rows: int, examples: int) -> Overlap:
        """Return what was seen, the first `examples` of each by name."""
        task, seen = self.task, self.by_id | self.by_title

        def share(keys: Collection[Any], marked: Container[Any]) -> Share:
            found = [key for key in keys if key in marked]
            named = (key if isinstance(key, str) else " ".join(key) for key in found[:examples])
            return Share(len(found), len(keys), tuple(named))

        asked, both = [*sorted(task.queries), *task.bare], {pair for pair in self.relevant if seen.issuperset(pair)}
        relevant = [pair for pair, relevant in self.relevant.items() if relevant]
        positive = {pair for pair, positive in self.trained.items() if positive}
        return Overlap(
            train, task.name, rows, share(task.titles, seen), share(task.titles, self.by_id),
            share(task.titles, self.by_title), share(asked, seen), share(asked, self.asked), share(self.relevant, both),
            share(self.relevant, self.trained), share(relevant, positive), share(task.titles, self.other),
            sum(not key for key in self.keys.values()),
        )  # fmt: skip


def overlap(
    train: str,
    units: Iterable[Unit],
    evaluation: Sequence[Sought],
    examples: int = 5,
    progress: Callable[[str], None] | None = None,
) -> list[Overlap]:
    """Return what the rows of a training set show of each task; the rows are read once, in constant memory.

    Args:
        train: name of the training set, for the report.
        examples: how many of the first seen to name.
    """
    tasks = [_Seen(task) for task in evaluation]
    if isinstance(units, _Triples):
        units.keep({title for one in tasks for title in (*one.titles, *one.bare)})
    rows = 0
    for rows, unit in enumerate(units, start=1):
        for one in tasks:
            one.see(unit)
        if progress and not rows % (EVERY * 10):
            progress(f"{train}: {rows:,} rows read")
    if not rows:
        raise DataError(train, None, "no training row")
    return [one.report(train, rows, examples) for one in tasks]


def check(
    train: str | os.PathLike[str],
    evaluation: Sequence[str],
    source: str = "embedded",
    papers: int = PAPERS,
    seed: int = 0,
    examples: int = 5,
    progress: Callable[[str], None] | None = None,
) -> list[Overlap]:
    """Return what a training set has shown of tasks, by name: what `scirep data overlap` does.

    Args:
        train: see `training_units`.
        evaluation: names of tasks, task folders, or files with papers.
        source, papers, seed: where named tasks come from.
    """
    name, wanted = os.fspath(train), []
    for each in evaluation:
        path = Path(each).expanduser()
        in_file = each not in TASKS and path.is_file()
        wanted.append(sought_in(path) if in_file else sought(load_task(each, source, papers, seed)))
    return overlap(name, training_units(name, source, papers, seed), wanted, examples, progress)
