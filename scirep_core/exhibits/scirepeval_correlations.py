"""Chapter `scirepeval/correlations`: do tasks agree on which systems are good? (SciRepEval v2 appendix G, v1 appendix F, Figure 2)

    r(a, b) = Pearson correlation of two tasks' scores over systems;  interval: tanh(atanh r -+ 1.96 / sqrt(n - 3)) (Fisher)

The papers' systems and scores behind Figure 2 are not printed. Ours are cheap and differ in kind: words, characters, latent
dimensions, a pretrained encoder read in several ways, ensembles. Each is scored on the full setting of every task (the
figure's DRSM-Complete). The floor is left out of the correlations: one very bad system makes any two tasks agree.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple, TypeVar

import numpy as np
import pandas as pd

from scirep_core.bench.given import Given
from scirep_core.bench.leaderboard import main_metric
from scirep_core.bench.pairs import difference
from scirep_core.bench.score_cache import Question
from scirep_core.bench.scoring import attempt
from scirep_core.bench.systems import load_system
from scirep_core.data.task import Task
from scirep_core.encoders import SENTENCES, lexical, load_encoder
from scirep_core.evaluators import inputs
from scirep_core.evaluators.inputs import Vectors
from scirep_core.exhibits.counting import Gathered, names_in, title
from scirep_core.kit.errors import ScirepError
from scirep_core.kit.store import stable_hash
from scirep_core.page.chapter import Chapter, progress
from scirep_core.results import Result, provenance, recorded
from scirep_core.results.published import lookup

CHAPTER = "scirepeval/correlations"
NEAREST = tuple(f"scirepeval/scidocs_{name}" for name in ("view", "read", "cite", "cocite"))
"""The four tasks of SciDocs that separate a few neighbours from random papers: those of the claim."""
APART = ("scirepeval/drsm", "scirepeval/biomimicry", "scirepeval/s2and")
"""Tasks that the papers find uncorrelated with most others (DRSM and S2AND in v1, all three in v2)."""
FEEDS = ("scirepeval/feeds_1", "scirepeval/feeds_m", "scirepeval/feeds_title")
GROUPS = {"four of SciDocs": NEAREST, "three of Feeds": FEEDS, "all tasks": ()}
LOWEST, MEDIAN, HIGHEST, ABOVE, SETTLED = (
    "lowest r",
    "median r",
    "highest r",
    "pairs with r above 0.99",
    "pairs settled",
)
CLAIM = 0.99
SMALL = 50
"""Test papers, queries or blocks below which a score is called noisy."""
OVER = "over systems"
"""Stands for the encoder in rows about several of them."""
MEAN, JOINED = "lsa_384 + minilm", "lsa_384 ++ minilm"
PEARSON = "pearson"


T = TypeVar("T")


class Shelf(NamedTuple):
    """What cheap systems are made of: the tasks, the protocol their texts are made under, and what was made already."""

    tasks: tuple[Task, ...]
    protocol: str
    seed: int
    made: dict[tuple[object, ...], Any]

    def once(self, key: tuple[object, ...], make: Callable[[], T]) -> T:
        """Return what is on the shelf under a key, made on first use."""
        if key not in self.made:
            self.made[key] = make()
        found: T = self.made[key]
        return found


class Variant(NamedTuple):
    """One system: what it is made of, what it is, whether a quick run has it, how its vectors of a task are made."""

    family: str
    about: str
    quick: bool
    make: Callable[[Shelf], Callable[[Task], Vectors]]


# ---- systems ---------------------------------------------------------------------------------------------------------


def _texts(shelf: Shelf, task: Task, fields: tuple[str, ...] = ("title", "abstract")) -> dict[str, str]:
    def read() -> dict[str, str]:
        kept = task if fields == ("title", "abstract") else replace(task, fields=fields)
        return {key: one.text for key, one in inputs.inputs(kept, SENTENCES, shelf.protocol).items()}

    return shelf.once((task.name, fields), read)


def _corpus(shelf: Shelf) -> list[str]:
    """Return every text of the tasks once, in a fixed order."""
    return shelf.once(("corpus",), lambda: sorted({t for task in shelf.tasks for t in _texts(shelf, task).values()}))


def _counts(shelf: Shelf, most: int, **more: Any) -> Callable[[Task], Vectors]:
    """Return TF-IDF of the tasks' own texts together, from the most frequent terms."""
    fields = more.pop("fields", ("title", "abstract"))
    model = lexical.term_weights(max_features=most, **{"min_df": 2, **more}).fit(_corpus(shelf))

    def on(task: Task) -> Vectors:
        texts = _texts(shelf, task, fields)
        rows: Any = model.transform(texts.values())
        return dict(zip(texts, rows.toarray(), strict=True))

    return on


def _lsa(shelf: Shelf, dims: int) -> Callable[[Task], Vectors]:
    """Return latent semantic analysis: TF-IDF of all texts, its first singular dimensions, rows of length 1."""
    from sklearn.decomposition import TruncatedSVD

    def fit() -> tuple[Any, Any]:
        words = lexical.term_weights(min_df=2, max_features=8_000, dtype=np.float64)
        rows: Any = words.fit_transform(_corpus(shelf))
        return words, TruncatedSVD(min(dims, min(rows.shape) - 1), random_state=shelf.seed).fit(rows)

    words, model = shelf.once(("lsa", dims), fit)

    def on(task: Task) -> Vectors:
        texts = _texts(shelf, task)
        made = np.asarray(model.transform(words.transform(texts.values())), dtype=np.float32)
        made /= np.maximum(np.linalg.norm(made, axis=1, keepdims=True), 1e-12)
        return dict(zip(texts, made, strict=True))

    return on


def _encoder(shelf: Shelf, name: str, title_only: bool = False, **more: Any) -> Callable[[Task], Vectors]:
    """Return an encoder by name, through the vector store."""
    encoder = load_encoder(name, **more)

    def seen(task: Task) -> Task:
        return replace(task, fields=("title",)) if title_only else task

    inputs.prepare([seen(task) for task in shelf.tasks], encoder, shelf.protocol, progress(name))
    return lambda task: inputs.vectors_of(seen(task), encoder, shelf.protocol)


def _both(shelf: Shelf, join: Callable[[Any, Any], Any]) -> Callable[[Task], Vectors]:
    words, minilm = _lsa(shelf, 384), _encoder(shelf, "minilm")

    def on(task: Task) -> Vectors:
        first, second = words(task), minilm(task)
        width = len(next(iter(second.values())))
        short = {key: np.pad(row, (0, max(0, width - len(row)))) for key, row in first.items()}
        return {key: np.asarray(join(short[key], second[key]), dtype=np.float32) for key in second}

    return on


COUNTS, LATENT = "TF-IDF", "latent dimensions"
SYSTEMS: dict[str, Variant] = {
    "tfidf_200": Variant(COUNTS, "TF-IDF, 200 words", True, lambda s: _counts(s, 200)),
    "tfidf_1000": Variant(COUNTS, "TF-IDF, 1,000 words", True, lambda s: _counts(s, 1_000)),
    "tfidf_8000": Variant(COUNTS, "TF-IDF, 8,000 words", True, lambda s: _counts(s, 8_000)),
    "tfidf_title": Variant(COUNTS, "TF-IDF of the title alone", True, lambda s: _counts(s, 8_000, fields=("title",))),
    "characters": Variant(COUNTS, "TF-IDF of 3 to 4 characters within words, 3,000 of them", True,
                          lambda s: _counts(s, 3_000, analyzer="char_wb", ngram_range=(3, 4), stop_words=None)),
    "lsa_16": Variant(LATENT, "16 latent dimensions", True, lambda s: _lsa(s, 16)),
    "lsa_64": Variant(LATENT, "64 latent dimensions", True, lambda s: _lsa(s, 64)),
    "lsa_384": Variant(LATENT, "384 latent dimensions", True, lambda s: _lsa(s, 384)),
    "minilm": Variant("MiniLM", "MiniLM as published: mean of tokens, 256 tokens", True, lambda s: _encoder(s, "minilm")),
    "minilm_title": Variant("MiniLM", "MiniLM, title alone", True, lambda s: _encoder(s, "minilm", title_only=True)),
    "minilm_64": Variant("MiniLM", "MiniLM, 64 tokens", False, lambda s: _encoder(s, "minilm", max_length=64)),
    "minilm_32": Variant("MiniLM", "MiniLM, 32 tokens", False, lambda s: _encoder(s, "minilm", max_length=32)),
    "minilm_cls": Variant("MiniLM", "MiniLM, first token", False, lambda s: _encoder(s, "minilm@cls")),
    MEAN: Variant("both", "mean of lsa_384 and MiniLM", True, lambda s: _both(s, lambda a, b: (a + b) / 2)),
    JOINED: Variant("both", "concatenation of the two", True, lambda s: _both(s, lambda a, b: np.concatenate([a, b]))),
}  # fmt: skip


# ---- scores ----------------------------------------------------------------------------------------------------------


def measure(chapter: Chapter, gathered: Gathered) -> list[Result]:
    """Return the main score of every system on every task, Pearson's r of regression tasks, mean against concatenation."""
    given = chapter.parameters
    tasks = tuple(gathered.tasks.values())
    shelf, rows = Shelf(tasks, given["protocol"], given["seed"], {}), list[Result]()
    own = [name for name in names_in(given["encoders"]) if name not in SYSTEMS]
    makers: dict[str, Callable[[Shelf], Any]] = {name: functools.partial(_named, name) for name in ("random", *own)}
    makers |= {name: functools.partial(_given, name) for name, v in SYSTEMS.items() if v.quick or not given["quick"]}
    tell = progress("scores", "systems scored")
    for done, make in enumerate(makers.values()):
        rows += _scores(make(shelf), tasks, given)
        tell(done + 1, len(makers))
    found = {(r.task, r.metric, r.encoder): r for r in rows}
    for task, metric, name in list(found):
        if name == JOINED and (task, metric, MEAN) in found:
            rows += difference(found[task, metric, JOINED], found[task, metric, MEAN])
    rows += summaries(rows)
    return [replace(row, by_query={}, replicates=None) for row in rows]


def _named(name: str, shelf: Shelf) -> Any:
    return load_system(name)


def _given(name: str, shelf: Shelf) -> Given:
    make = _remembering(SYSTEMS[name].make(shelf))
    return Given(name, lambda task, protocol: make(task))


def _remembering(make: Callable[[Task], Vectors]) -> Callable[[Task], Vectors]:
    """Return the maker with a memory of the last task: scoring asks for the vectors twice, to name and to use them."""
    last: list[tuple[str, Vectors]] = []

    def on(task: Task) -> Vectors:
        if not last or last[0][0] != task.name:
            last[:] = [(task.name, make(task))]
        return last[0][1]

    return on


def _scores(system: Any, tasks: Sequence[Task], given: Mapping[str, Any]) -> list[Result]:
    """Return the main metric of a system on every task. Raises ScirepError naming the task that failed."""
    rows = []
    for chosen, metrics in ((True, ("kendall_tau", PEARSON)), (False, None)):
        of = [task for task in tasks if (task.format == "RGN") is chosen and system.suits(task)]
        if of:
            question = Question(given["protocol"], seed=given["seed"], split="test", metrics=metrics)
            found = attempt(of, system, source=given["data"], papers=given["papers"], data_seed=given["seed"],
                            question=question)  # fmt: skip
            if found.failed:
                raise ScirepError("; ".join(f"{task}: {why}" for task, why in found.failed.items()))
            rows += [r for r in found.rows if r.metric in (main_metric(r.task) or r.metric, PEARSON)]
    return rows


def score_table(rows: Sequence[Result], floor: bool = False) -> pd.DataFrame:
    """Return main scores, one row a system and one column a task; systems that lack a task are left out."""
    main = [
        r for r in rows
        if r.split == "test" and r.metric == (main_metric(r.task) or r.metric) and r.metric != PEARSON
        and not r.metric.startswith("difference") and (floor or r.encoder != "random") and r.encoder != "oracle"
        and r.encoder != OVER
    ]  # fmt: skip
    table = pd.DataFrame([(r.encoder, r.task, r.value) for r in main], columns=["system", "task", "value"])
    wide = table.drop_duplicates(["system", "task"]).pivot(index="system", columns="task", values="value")
    order = [name for name in dict.fromkeys(r.task for r in main) if name in wide.columns]
    wide = wide[order].dropna(axis=0)
    return wide[[name for name in wide.columns if np.ptp(wide[name].to_numpy()) > 1e-9]]


def kept() -> list[Result]:
    """Return our committed run on 3,000 invented papers."""
    return recorded(CHAPTER, "embedded")


# ---- one correlation -------------------------------------------------------------------------------------------------


def fisher(r: float, n: int, level: float = 1.959964) -> tuple[float, float]:
    """Return the interval of a Pearson correlation over n systems; (-1, 1) for n of 3 or fewer.

    >>> [round(x, 2) for x in fisher(0.5, 28)]
    [0.16, 0.74]
    """
    if n <= 3:
        return -1.0, 1.0
    middle = math.atanh(min(max(r, -1 + 1e-12), 1 - 1e-12))
    half = level / math.sqrt(n - 3)
    return math.tanh(middle - half), math.tanh(middle + half)


def correlation(table: pd.DataFrame, first: str, second: str) -> Result:
    """Return the correlation of two tasks over the systems of a table, as a row with its interval."""
    r, n = float(np.corrcoef(table[first], table[second])[0, 1]), len(table)
    low, high = fisher(r, n)
    return row_over(
        table[[first, second]],
        first,
        f"pearson with {second}",
        r,
        f"Pearson over {n} systems, Fisher interval",
        (low, high),
    )


def row_over(
    table: pd.DataFrame, task: str, metric: str, value: float, note: str, bounds: tuple[float, float] | None = None,
    split: str = "test",
) -> Result:  # fmt: skip
    """Return a number over a table's systems (rows) as a result row; its data hash is of the whole table."""
    low, high = bounds or (None, None)
    hashed = stable_hash([list(table.index), list(table.columns), table.to_numpy().tolist()])
    return Result(task, split, metric, "paper", value, len(table), encoder=OVER, low=low, high=high, source="scores",
                  data_hash=hashed, provenance=provenance(), note=note)  # fmt: skip


def summaries(rows: Sequence[Result]) -> list[Result]:
    """Return, as rows, how alike the tasks of each group are (without and with the floor), and each task and the others."""
    made: list[Result] = []
    for split in ("test", "with the floor"):
        table = score_table(rows, floor=split != "test")
        if len(table) < 4 or len(table.columns) < 3:
            continue
        for name, members in GROUPS.items():
            inside = [task for task in members or table.columns if task in table.columns]
            if len(inside) > 1:
                made += _of_group(table[inside], f"group/{name}", split)
        made += _of_tasks(table) if split == "test" else []
    return made


def _of_group(table: pd.DataFrame, name: str, split: str) -> Iterator[Result]:
    pairs = [correlation(table, a, b) for a, b in pairs_of(list(table.columns))]
    values = [row.value for row in pairs]
    for metric, row in ((LOWEST, min(pairs, key=lambda r: r.value)), (HIGHEST, max(pairs, key=lambda r: r.value))):
        assert row.low is not None
        assert row.high is not None
        note = f"{row.task} and {row.metric.removeprefix('pearson with ')}"
        yield row_over(table, name, metric, row.value, note, (row.low, row.high), split)
    yield row_over(table, name, MEDIAN, float(np.median(values)), f"of {len(pairs)} pairs", None, split)
    yield row_over(table, name, ABOVE, sum(v > CLAIM for v in values), f"of {len(pairs)} pairs", None, split)


def _of_tasks(table: pd.DataFrame) -> Iterator[Result]:
    for task in table.columns:
        pairs = [correlation(table, task, other) for other in table.columns if other != task]
        settled = sum(row.low is not None and row.low > 0 for row in pairs)
        yield row_over(
            table, task, MEDIAN, float(np.median([row.value for row in pairs])), f"with the {len(pairs)} other tasks"
        )
        yield row_over(table, task, SETTLED, settled, f"of {len(pairs)}: interval above 0")


def printed_scores(metric: str = "MAP", least: float = 0.0) -> pd.DataFrame:
    """Return SciMult's Table 7 on the four SciDocs tasks: one row a model, of those that reach `least` MAP on Cite."""
    printed = lookup("SM-T7")
    columns = ("Co-view", "Co-read", "Cite", "Co-cite")
    models = [m for m in dict.fromkeys(row for row, _ in printed) if (m, "Cite/MAP") in printed]
    lines = {
        m: [printed[m, f"{column}/{metric}"].number for column in columns]
        for m in models
        if printed[m, "Cite/MAP"].number >= least
    }
    return pd.DataFrame(lines, index=list(NEAREST)).T


def pairs_of(names: Sequence[T]) -> Iterator[tuple[T, T]]:
    """Yield every two of several once."""
    return ((a, b) for i, a in enumerate(names) for b in names[i + 1 :])


def label(task: str) -> str:
    """Return how a task is called in the figure."""
    return (
        title(task)
        .replace("SciDocs ", "SD ")
        .replace(" (FoS)", "")
        .replace("Highly Influential Citations", "Influential Cit.")
    )
