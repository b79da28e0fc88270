"""What the chapters on textual neighbours share: collections, encoders side by side, altered texts and their vectors.

A chapter alters `queries` papers of each collection, drawn, and compares them with ALL papers of it; with 0 it alters all,
as the paper does. Encoders are named; two need no weights: `lsa` and `characters`, latent dimensions fitted to the
collection's own titles and abstracts (`encoders/latent.py`). All chapters of one build share texts and vectors through the
stores under SCIREP_HOME.

    difference   of two rows of one collection, seed and evaluator: their bootstrap values draw the same papers, so the
                 difference has an interval of its own
    all of n     where every one of n papers is found (or none), resampling says nothing; the bound is then the exact one,
                 0.025^(1/n), below which so clean a result has a chance of less than 2.5 %

A row's split is a code, a category, or `A - B`; its encoder a name, or `A - B`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import permutations
from typing import cast

import numpy as np
from numpy.typing import NDArray

from scirep_core.data import TASKS
from scirep_core.data.perturbations import CATEGORIES, PERTURBATIONS
from scirep_core.data.perturbations.altered import Made, alter
from scirep_core.data.readers.samples import SAMPLES
from scirep_core.data.task import Collection, Task
from scirep_core.encoders import SENTENCES, Encoder, load_encoder
from scirep_core.encoders.latent import TERMS, Latent
from scirep_core.encoders.vectors.embed import embed
from scirep_core.evaluators.neighbours import QUERIES
from scirep_core.evaluators.perturbed import Cloud
from scirep_core.evaluators.rows import Asked
from scirep_core.kit.errors import check_name
from scirep_core.kit.formats import Format
from scirep_core.kit.records import Paper
from scirep_core.page.chapter import Chapter, progress
from scirep_core.page.counting import Gathered, gather, names_in
from scirep_core.page.names import NAMES
from scirep_core.page.rows import Exhibit
from scirep_core.results import Result, provenance, recorded
from scirep_core.results.differences import difference_of, versus
from scirep_core.results.published import lookup

MODELS = ("SciBERT", "SPECTER", "OAG-BERT")
SETS = ("Arxiv-MATH", "Arxiv-HEP", "Arxiv-QBIO", "Arxiv-ECON", "Arxiv-CS-SY", "ICLR", "ACL-ANTH")
"""The printed data sets in the order of Tables 3 and 9."""
COLLECTIONS = tuple(name for name, spec in TASKS.items() if spec.paper == "neighbours")
FORMAT: Format = "PRX"
AT_ONCE = 8
"""Codes whose texts are written out and encoded together: of 10,000 papers 80,000 texts, 70 MB."""
MINILM = ("minilm", "acl_anth")
"""The language model and the collection of the recorded runs, as `system` has them."""
_MEANING = {"HS": "highly similar", "PS": "partially similar", "DS": "dissimilar"}
_FORM = {"LL": "lossless", "LO": "lossy"}
CALLED = {name: f"{_MEANING[name[3:]]}, {_FORM[name[:2]]}" for name in CATEGORIES}
"""Categories as the paper calls them."""
_LOST = ("case or spaces", "few words", "sentence order", "many words", "nouns or meaning")
WORDS = dict(zip(CATEGORIES, _LOST, strict=True))
WORDS |= {code: change.words for code, change in PERTURBATIONS.items()}
WORDS |= {"TDelNN": "title without nouns, no abstract", "T_A_DelNNChar": "nouns lose letters"}
"""Categories, by what a text has lost, and codes in words, those that a sentence quotes without punctuation."""
_SORTED = sorted(PERTURBATIONS, key=lambda code: CATEGORIES.index(PERTURBATIONS[code].category))
BY_CODE = {code: f"{WORDS[code]}\n{code}, {WORDS[PERTURBATIONS[code].category]}" for code in _SORTED}
"""Codes by category, in words with their name: the lines of a table of all changes."""


GLOSS = "MiniLM: a small general sentence encoder; LSA of words or characters: their counts in this collection, reduced by SVD."
"""What our encoders are, once a page."""
EXACT = "all alike: exact bound"
THIRDS = ("T_ADelQ1", "T_ADelQ2", "T_ADelQ3")
SPACE, AS_WRITTEN = "T_A_WS", ", literal"
"""White space, and what follows a code in a split where it is the public code's own reading."""
SHARES = ("nn1_ret", "nn10_ret", "aop@")
"""Metrics that are percentages of papers, or means of such."""


@dataclass(frozen=True)
class Subject:
    """One collection, and which of its papers are altered: by all 32 codes as a rule, or by some in another reading of them."""

    task: Task
    seed: int
    queries: int
    tools: str
    codes: tuple[str, ...] | None = None
    variant: str = "default"

    @cached_property
    def ids(self) -> list[str]:
        """All papers, in the collection's order."""
        return list(cast(Collection, self.task.payload).paper_ids)

    @cached_property
    def chosen(self) -> list[str]:
        """Papers that are altered: drawn, in the collection's order; all of them for 0."""
        if not self.queries or self.queries >= len(self.ids):
            return self.ids
        drawn = np.random.default_rng(self.seed).choice(len(self.ids), self.queries, replace=False)
        return [self.ids[at] for at in np.sort(drawn)]

    @cached_property
    def made(self) -> Made:
        """Their neighbours, by code."""
        task, tell = self.task, progress(f"{self.task.name}: neighbours", "papers")
        return alter(
            task, self.chosen, self.codes, seed=self.seed, variant=self.variant, tools=self.tools, progress=tell
        )

    def whole(self, encoder: Encoder) -> NDArray[np.float32]:
        """Return (papers, dim) vectors of title + abstract of all papers."""
        return self._vectors(encoder, [encoder.recipe.of_paper(self.task.papers[key]) for key in self.ids])

    def titles(self, encoder: Encoder) -> NDArray[np.float32]:
        """Return (papers, dim) vectors of all titles alone."""
        return self._vectors(encoder, [encoder.recipe.of_paper(self.task.papers[key], ("title",)) for key in self.ids])

    def clouds(self, encoder: Encoder) -> dict[str, Cloud]:
        """Return by code the vectors of the altered texts, and which paper of `ids` each comes from."""
        place = {key: at for at, key in enumerate(self.ids)}
        found: dict[str, Cloud] = {}
        every = list(self.made.by_code.values())
        for some in (every[first : first + AT_ONCE] for first in range(0, len(every), AT_ONCE)):
            papers = (Paper(key, *text) for one in some for key, text in zip(one.ids, one.texts, strict=True))
            vectors, start = self._vectors(encoder, [encoder.recipe.of_paper(paper) for paper in papers]), 0
            for one in some:
                end = start + len(one.ids)
                found[one.code] = Cloud(vectors[start:end], np.array([place[key] for key in one.ids], dtype=np.int64))
                start = end
        return found

    def asked(self) -> Asked:
        """Return what rows of this collection have in common."""
        return Asked(self.task, {}, "paper", "error", (), "cosine", self.seed)

    def _vectors(self, encoder: Encoder, texts: list[str]) -> NDArray[np.float32]:
        return embed(encoder, texts, FORMAT, progress(f"{self.task.name}: {encoder.name}"))


def subjects(chapter: Chapter) -> tuple[Gathered, list[Subject]]:
    """Return the collections a chapter's parameters name that are at hand; of real ones the sample where there is no more.

    Parameters: data, papers, seed, collections (comma-separated, `acl_anth`; empty is all), tools; queries where papers
    are altered.
    """
    given = chapter.parameters
    short = {name.partition("/")[2]: name for name in COLLECTIONS}
    names = names_in(given["collections"]) or list(short)
    for name in names:
        check_name("collection", name, short)
    gathered, queries = gather(chapter, [short[name] for name in names]), given.get("queries", 0)
    return gathered, [Subject(task, given["seed"], queries, given["tools"]) for task in gathered.tasks.values()]


def encoders(chapter: Chapter, subject: Subject) -> Iterator[Encoder]:
    """Yield the encoders that the parameter `encoders` names, latent ones fitted to the collection's titles and abstracts."""
    for name in names_in(chapter.parameters["encoders"]):
        if name in TERMS:
            corpus = [SENTENCES.of_paper(paper) for paper in subject.task.papers.values()]
            yield Latent(name, corpus, seed=subject.seed)
        else:
            yield load_encoder(name)


def named(encoder: str) -> str:
    """Return how an encoder is called on the page: `minilm:bfloat16` is MiniLM (bfloat16)."""
    name, _, kind = encoder.partition(":")
    return (f"{NAMES[name]} ({kind})" if kind else NAMES[name]) if name in NAMES else encoder


def printed_set(task: str) -> str:
    """Return the printed data set that a collection is, or is a sample of; a collection of one's own goes by its own name."""
    like = SAMPLES[task].like if task in SAMPLES else task
    return TASKS[like].title if like in TASKS else task


def printed_size(name: str) -> int:
    """Return how many papers a printed data set has (Table 2); 0 for a collection of one's own."""
    size = lookup("TN-T2").get((name, "#Papers"))
    return int(size.number) if size else 0


def noise_of_shares(shares: Sequence[float], name: str) -> float:
    """Return half of the 95 % interval of a difference between two shares in %, each of its own 1,000 papers of a set.

    1.96 sd sqrt(2 (1 - 1000 / N) / 1000), with N papers and sd = sqrt(p (1 - p)) of a query's share p.
    """
    p = float(np.mean(shares)) / 100
    return 196 * float(np.sqrt(2 * (1 - QUERIES / printed_size(name)) * p * (1 - p) / QUERIES))


def system(row: Result) -> tuple[str, str] | None:
    """Return a row's model and collection; a difference of two systems has none, and neither has a number of texts alone."""
    return (row.encoder.partition(":")[0], row.task.partition("/")[2]) if row.encoder and not row.of_systems else None


def systems(exhibit: Exhibit) -> dict[tuple[str, str], str]:
    """Return the systems of ours among an exhibit's columns as `system` has them, in words; the collection where there are two."""
    ours = list(dict.fromkeys(column for cells in exhibit.ours.values() for _, column in cells))
    several = len({collection for _, collection in ours}) > 1
    return {key: named(key[0]) + (f", {key[1]}" if several else "") for key in ours}


def between(row: Result) -> tuple[tuple[str, str] | None, ...] | None:
    """Return the two systems of a difference of systems, else None."""
    return tuple(system(replace(row, encoder=name, against="")) for name in row.systems) if row.of_systems else None


def signed(rows: Sequence[Result], encoder: Encoder) -> list[Result]:
    """Return rows with the encoder's name and fingerprint."""
    return [replace(row, encoder=encoder.name, fingerprint=encoder.fingerprint) for row in rows]


# ---- rows of every encoder ---------------------------------------------------------------------------------------------


def measure(
    chapter: Chapter, found: Sequence[Subject], of: Callable[[Subject, Encoder], Iterable[Result]], across: Sequence[str]
) -> list[Result]:  # fmt: skip
    """Record the rows of every encoder on every collection, and the differences of encoders by category.

    Args:
        of: rows of one encoder; they need not name it.
        across: metrics compared between encoders.
    """
    rows: list[Result] = []
    for subject in found:
        by_encoder = {}
        for encoder in encoders(chapter, subject):
            own = [edged(row, len(subject.chosen)) for row in of(subject, encoder)]
            by_encoder[encoder.name] = signed(own, encoder)
        rows += [row for own in by_encoder.values() for row in own]
        for first, second in permutations(by_encoder, 2):
            theirs = {(r.metric, r.split): r for r in by_encoder[second]}
            for row in by_encoder[first]:
                if row.metric in across and row.split in CATEGORIES and (row.metric, row.split) in theirs:
                    pair = versus(first, second)
                    rows += difference(row, theirs[row.metric, row.split], second, encoder=pair)
    return [replace(row, replicates=None) for row in chapter.record(rows)]


def difference(
    first: Result, second: Result, against: str, metric: str = "", split: str = "", encoder: str = ""
) -> list[Result]:
    """Return first minus second as a row with the interval of the paired draws; none where a side has no draws.

    `against` is what the second is called.

    Both must be of one collection, one seed and the same altered papers: `measure` sees to that.
    """
    if first.replicates is None or second.replicates is None or len(first.replicates) != len(second.replicates):
        return []
    drawn = first.replicates.astype(np.float64) - second.replicates.astype(np.float64)
    low, high = np.quantile(drawn, [0.025, 0.975])
    return [
        Result(
            first.task, split or first.split, difference_of(metric or first.metric), first.protocol, first.value - second.value,
            min(first.n, second.n), encoder=encoder, against=against, low=float(low), high=float(high), source=first.source,
            data_hash=first.data_hash, similarity=first.similarity, pool=first.pool, coverage=first.coverage, seed=first.seed,
            provenance=provenance(), note="paired: both sides draw the same papers",
        )
    ]  # fmt: skip


def differences(rows: Sequence[Result], metric: str, pairs: Iterable[tuple[str, str]]) -> list[Result]:
    """Return the differences between codes or categories of one encoder that are there, with split `A - B`."""
    of = {row.split: row for row in rows if row.metric == metric}
    there = [(a, b) for a, b in pairs if a in of and b in of]
    return [row for a, b in there for row in difference(of[a], of[b], b, split=versus(a, b))]


def edged(row: Result, papers: int) -> Result:
    """Return a share of 0 or 100 % with the exact bound instead of an interval without width."""
    alike = row.metric.startswith(SHARES) and row.value in (0.0, 100.0) and row.low == row.high
    if not alike:
        return row
    slack = 100 * (1 - 0.025 ** (1 / max(1, min(row.n, papers))))
    low, high = (100.0 - slack, 100.0) if row.value else (0.0, slack)
    return replace(row, low=low, high=high, note="; ".join(part for part in (row.note, EXACT) if part))


def neighbours_kept(change: str) -> Result | None:
    """Return how many of ten nearest papers MiniLM keeps under a change, % of the recorded run on real papers; None without one."""
    rows = recorded("neighbours/overlap", "real")
    return next((row for row in rows if (system(row), row.metric, row.split) == (MINILM, "aop@10", change)), None)
