"""Ranking labels for a paper: fine- and coarse-grained classification as SciMult does it (4.2, Tables 3, 4, A3).

A paper's labels are found among all label texts (name and definition) by similarity, inner product unless the task
says otherwise. Fine: recall@k = gold labels among the first k / gold labels, mean over papers. `recall@k_name_match`
(Table 3): a stable partition, labels whose name occurs in the paper first, the others after, each in order of
similarity; the plain row (Table A3) shows the model alone. Coarse (bi-encoder): the first label is the prediction,
F1 over all papers, train, validation and test merged. Ties go by label order; papers without gold are left out.

Which names occur is part of the published files; the code that found them is not. `matcher` is a rule of ours: whole words
in lower case, what is neither letter nor digit being a space.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

import numpy as np

from scirep_core.data.task import LabelSpace, LabelText, Task
from scirep_core.evaluators.labels.scores import label_rows
from scirep_core.evaluators.pairs import evaluator, pool_of
from scirep_core.evaluators.rows import Asked, Floats, counted, mean_row, sentence, summary
from scirep_core.evaluators.search import Searched, ranks_of
from scirep_core.kit.errors import ConfigError, DataError
from scirep_core.kit.records import grouped
from scirep_core.results import Result
from scirep_core.results.metrics import from_ranks

BEST = ("f1_macro", "f1_micro", "accuracy")
"""Metrics of the best label alone."""
MATCH = "_name_match"
ALONE = "name matching alone"
"""The system that ranks by the rule and nothing else."""


@evaluator(LabelSpace)
def evaluate(asked: Asked, data: LabelSpace) -> list[Result]:
    """Return one row per metric, ranking metrics also with `_name_match` where the task says which names occur.

    Raises DataError for a missing vector, or F1 asked of papers with several labels; ConfigError for `_name_match`
    without matches.
    """
    names = _derived(asked.metrics, bool(data.matched))
    asked = asked._replace(metrics=names)
    gold = {paper: ids for paper, ids in data.gold.items() if ids}
    if not gold:
        raise DataError(asked.task.name, None, "no paper has a label", "Look at its gold labels")
    vector_ids = asked.vector_ids([*data.labels, *gold])
    labels, papers = [key for key in data.labels if key in vector_ids], [key for key in gold if key in vector_ids]
    if not labels or not papers:
        raise DataError("vectors", None, f"no {'paper' if labels else 'label'} of {asked.task.name} has a vector")
    best = [name for name in names if name in BEST]
    several = next((paper for paper in papers if len(gold[paper]) > 1), None)
    if best and several is not None:
        raise DataError(asked.task.name, None, f"paper {several} has {len(gold[several])} labels",
                        f"{best[0]} takes one label a paper; ask for recall@k")  # fmt: skip
    place = {key: i for i, key in enumerate(labels)}
    pool, queries = pool_of(asked, labels, papers)
    values: dict[str, dict[str, float]] = {name: {} for name in names if name not in BEST}
    if values:
        lists = [[place.get(key, -1) for key in gold[paper]] for paper in papers]
        plain, _ = ranks_of(pool, queries, lists)
        for i, paper in enumerate(papers):
            known = [place[key] for key in data.matched.get(paper, ()) if key in place]
            moved = name_match(pool, queries[i], lists[i], plain[i], known) if data.matched else plain[i]
            ones = np.ones(len(lists[i]), dtype=np.int64)
            for name, found in values.items():
                ranks = moved if name.endswith(MATCH) else plain[i]
                found[paper] = from_ranks(name.removesuffix(MATCH), ranks, ones)
    n_matched = np.mean([len(data.matched.get(paper, ())) for paper in papers])
    shared: dict[str, Any] = {
        "ties": "label order",
        "coverage": len(papers) * len(labels) / (len(gold) * len(data.labels)),
        "pool": f"{len(labels)} of {len(data.labels)} labels, {len(papers)} of {len(gold)} papers",
        "note": counted(len(data.gold) - len(gold), "papers without a label left out"),
    }
    rows = []
    number = {key: i for i, key in enumerate(data.labels)}
    truth = np.array([number[gold[paper][0]] for paper in papers])
    guess = np.array([number[labels[i]] for i in pool.nearest(queries, 1)[:, 0]]) if best else truth
    for name in names:
        if name in BEST:
            rows += label_rows(asked, [name], truth, guess, **shared)
            continue
        note = f"on average {n_matched:.1f} labels match by name" if name.endswith(MATCH) else ""
        rows.append(mean_row(asked, name, values[name], **(shared | {"note": sentence(str(shared["note"]), note)})))
    return rows


def _derived(metrics: Sequence[str], matched: bool) -> tuple[str, ...]:
    unable = [name for name in metrics if name.endswith(MATCH) and not matched]
    if unable:
        raise ConfigError(f"metric {unable[0]!r} needs matched.jsonl, which the task has not")
    pairs = [
        (name, name + MATCH) if matched and name not in BEST and MATCH not in name else (name,) for name in metrics
    ]
    return tuple(dict.fromkeys(name for pair in pairs for name in pair))


def name_match(pool: Searched, paper: Any, gold: Sequence[int], ranks: Floats, matched: Sequence[int]) -> Floats:
    """Return the ranks of gold labels when the labels that match come first, each part in order of similarity.

        of a matched label     1 + the matched labels before it
        of another             its rank among all + the matched labels after it

    Args:
        paper: as the pool takes a query.
        gold: places of its labels, -1 for one without a vector.
        ranks: their ranks among all labels, inf for one without a vector.
        matched: places of the labels whose name occurs in it.
    """
    at, first = np.array(gold, dtype=np.int64), np.unique(np.array(matched, dtype=np.int64))
    own, others = pool.scores(paper, np.maximum(at, 0))[:, None], pool.scores(paper, first)
    before = ((others > own) | ((others == own) & (first < at[:, None]))).sum(axis=1)
    return np.asarray(np.where(np.isin(at, first), 1 + before, ranks + len(first) - before))


def matching_alone(task: Task, metrics: Sequence[str], seed: int = 0) -> list[Result]:
    """Return the expected recall of the rule with both parts in random order, a row a cut-off.

    Of a paper with m matches among L labels a gold label that matches is found with min(1, k / m), another with
    max(0, k - m) / (L - m): exact, nothing is drawn.
    """
    space = task.payload
    assert isinstance(space, LabelSpace)
    many, values = len(space.labels), dict[str, dict[str, float]]()
    for paper, gold in space.gold.items():
        matches = set(space.matched.get(paper, ()))
        m, hits = len(matches), len(matches & set(gold))
        for metric in metrics if gold else ():
            k = int(metric.partition("@")[2])
            first = min(1.0, k / m) if m else 0.0
            rest = min(1.0, max(0, k - m) / (many - m)) if many > m else 0.0
            values.setdefault(metric, {})[paper] = (hits * first + (len(gold) - hits) * rest) / len(gold)
    asked = Asked(task, seed=seed)
    return [
        mean_row(asked, f"{metric}{MATCH}", of, encoder=ALONE, note="expected over random orders", ties="random")
        for metric, of in values.items()
    ]


# ---- names that occur ------------------------------------------------------------------------------------------------

AGAIN = 2_000
"""Papers of a task that `counts` matches by our rule."""


def matcher(labels: Mapping[str, LabelText]) -> Callable[..., tuple[str, ...]]:
    """Return a function from texts to the labels whose name one of them holds as whole words, in the order of the labels.

    An accented letter is the same in one code or in two (NFC).
    """
    by_name = grouped(labels, lambda key: _words(labels[key].name))
    by_name.pop("", None)
    sizes = sorted({name.count(" ") + 1 for name in by_name})
    order = {key: i for i, key in enumerate(labels)}

    def match(*texts: str) -> tuple[str, ...]:
        each = [_words(text).split() for text in texts]
        runs = {" ".join(words[i : i + n]) for words in each for n in sizes for i in range(len(words) - n + 1)}
        return tuple(sorted((key for run in runs & by_name.keys() for key in by_name[run]), key=order.__getitem__))

    return match


def _words(text: str) -> str:
    return " ".join(re.findall(r"[^\W_]+", unicodedata.normalize("NFC", text).lower()))


def counts(task: Task) -> Iterator[tuple[str, float, int]]:
    """Yield, of a label-ranking task, labels and matches per paper, how well they fit, and how our rule agrees with its lists.

    Percentages are over labels (micro): `gold labels that match` is what name matching alone could recall. Nothing of others.
    """
    space = task.payload
    if not isinstance(space, LabelSpace):
        return
    yield from summary([len(gold) for gold in space.gold.values()], "labels per paper")
    match = matcher(space.labels)
    ours = {p.paper_id: match(p.title, p.abstract) for p in islice(task.texts(), AGAIN) if p.paper_id in space.gold}
    for kind, matched in (("listed", space.matched), ("by rule", ours)):
        if not matched:
            continue
        hits = sum(len({*space.gold[paper]} & {*names}) for paper, names in matched.items())
        found, wanted = sum(map(len, matched.values())), sum(len({*space.gold[paper]}) for paper in matched)
        yield from summary([len(names) for names in matched.values()], f"matching labels per paper ({kind})")
        if wanted:
            yield f"gold labels that match ({kind}), %", 100 * hits / wanted, wanted
        without = sum(not names for names in matched.values())
        yield f"papers without a match ({kind}), %", 100 * without / len(matched), len(matched)
        if found:
            yield f"matching labels that are gold ({kind}), %", 100 * hits / found, found
    listed = {paper: {*space.matched[paper]} for paper in ours if paper in space.matched}
    if total := sum(map(len, listed.values())):
        both = sum(len(names & {*ours[paper]}) for paper, names in listed.items())
        yield "listed matches that the rule finds, %", 100 * both / total, total
