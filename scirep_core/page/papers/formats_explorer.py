"""The format explorer of chapter `scirepeval/specialisation`: real vectors under each code, looked at (v2 section 4, Figure 1).

Figure 1 draws what each format's space should be good for: in the classification space a line parts the classes, though
nearest papers are not always of one class; in the proximity space the nearest papers belong together. Here papers are
encoded under every format of a trained model, and

    neighbours    the ten nearest by Euclidean distance, as SciRepEval ranks
    shared        of ten, how many two formats have in common; rank-biased overlap, which weighs the first ones more
    facts         what neighbours have in common with their paper: field, a citation, years, citations
    reading       the field by the nearest paper, and by a linear classifier (ridge, five folds): Figure 1's two ways

are counted over all papers. A format's fact stands beside the mean of the other formats, with a paired bootstrap interval
over papers. Papers are a sample of the embedded literature, those of the training sets included; and under QRY they are
read as papers, though in ad-hoc search only the typed queries are.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from scirep_core.data.literature.lexicon import lexicon
from scirep_core.data.sources import PAPERS, embedded_root, literature
from scirep_core.encoders import Encoder, load_encoder
from scirep_core.encoders.vectors.embed import embed
from scirep_core.kit.errors import ConfigError
from scirep_core.kit.formats import FORMATS
from scirep_core.kit.records import Paper
from scirep_core.page import report
from scirep_core.page.blocks import fold
from scirep_core.page.chapter import Chapter, progress
from scirep_core.page.widgets import formats as widget
from scirep_core.page.widgets.formats import FACTS, Floats, FormatExplorer, Ints, Model, PaperView, Space, facts, shared
from scirep_core.results import Result, provenance
from scirep_core.results.statistics import bootstrap_folds

SHOWN, NEAR = 500, 10
"""Papers on a map, and neighbours of each."""
DEPTH = 0.9
"""Persistence of rank-biased overlap: the first ten ranks then carry 86 % of an endless list's weight."""
NEARER = {"field": 1, "linked": 1, "years": -1, "citations": -1}
"""Whether more of a fact is nearer (1) or less of it (-1)."""
UNITS = {"field": "of ten neighbours", "linked": "of ten neighbours", "years": "years",
         "citations": "log10(1 + citations)"}  # fmt: skip
CHANCE = "ten papers at random"
LABELS = FACTS | {"citations": "citations apart, in powers of ten"}
READING = ("field by the nearest paper", "field by a linear classifier")
TRAINED_FOR = {**widget.ASKED, **dict.fromkeys(READING, "CLF")}
LESS = " less the other formats' mean"


class Collection(NamedTuple):
    """Papers as they are shown, the texts an encoder reads are made of them; links: places of papers cited or citing."""

    views: tuple[PaperView, ...]
    links: tuple[tuple[int, ...], ...]
    about: str
    source: str
    data_hash: str


class Looked(NamedTuple):
    """A collection under every format of some encoders."""

    papers: Collection
    models: tuple[Model, ...]
    reading: Mapping[tuple[str, str], tuple[Floats, Floats]]
    """(model, format) -> per paper whether its field is that of its nearest paper, and what a linear classifier says."""
    fingerprints: Mapping[str, str]
    seed: int


# ------------------------------------------------------------------------------------------------------------- papers


def sample(papers: int, data_seed: int = 0, shown: int = SHOWN, seed: int = 0, also: int = 0) -> Collection:
    """Return papers of the embedded literature, drawn by a seed, in order of time; citations count the whole literature.

    Args:
        also: a paper, by its place in time, that is among them whatever is drawn; 0 for none. The first of all never is.
    """
    found, fields = literature(papers, data_seed), lexicon().fields
    if not 0 <= also < len(found):
        raise ConfigError(f"paper {also}: the literature has papers 0 to {len(found) - 1}")
    drawn = np.random.default_rng(seed).permutation(np.arange(1, len(found)))
    numbers = np.sort([*([also] if also else []), *drawn[drawn != also]][:shown]).astype(np.int64)
    place = {int(i): at for at, i in enumerate(numbers)}
    cited = found.cited_by.counts()
    views, links = [], []
    for i in map(int, numbers):
        paper, latent = found.paper(i), found.latents
        name = fields[int(latent.field[i])].name
        views.append(PaperView(paper.paper_id, i, paper.title, paper.abstract, paper.year or 0, name, int(cited[i])))
        linked = {int(j) for j in (*found.cites.of(i), *found.cited_by.of(i))}
        links.append(tuple(sorted(place[j] for j in linked if j in place)))
    about = f"{len(numbers):,} of the {papers:,} papers of the embedded literature, drawn at random: invented, no paper is real"
    return Collection(tuple(views), tuple(links), about, "embedded", embedded_root(papers, data_seed).name)


# ------------------------------------------------------------------------------------------------------------ looking


def look(
    chapter: Chapter, encoders: Mapping[str, str | Path | Encoder], paper: int = 0, shown: int = SHOWN, data_seed: int = 0,
    seed: int = 0,
) -> Looked:  # fmt: skip
    """Encode papers under every format of one or more encoders, and find neighbours and maps.

    Args:
        encoders: what each is called -> name, folder or encoder.
        paper: one that must be shown; 0 for none.

    Raises ConfigError for an encoder with fewer than two formats.
    """
    found = sample(int(chapter.parameters.get("papers", PAPERS)), data_seed, shown, seed, paper)
    models, reading, fingerprints = [], {}, {}
    for name, given in encoders.items():
        encoder = load_encoder(str(given)) if isinstance(given, str | Path) else given
        vectors = encode(encoder, found, progress(f"papers under each format of {name}"))
        models.append(Model(name, f"{len(vectors)} vectors of {encoder.dim} numbers a paper", spaces(vectors, seed)))
        fingerprints[name] = encoder.fingerprint
        for space in models[-1].spaces:
            reading[name, space.format] = read_field(found, vectors[space.format], space.near, seed)
    return Looked(found, tuple(models), reading, fingerprints, seed)


def encode(encoder: Encoder, papers: Collection, tell: Any = None) -> dict[str, NDArray[np.float32]]:
    """Return format -> (papers, dim) vectors, through the vector store. Raises ConfigError without two formats."""
    if len(encoder.formats) < 2 or not getattr(encoder, "by_format", True):
        raise ConfigError(f"{encoder.name} has one vector for all formats; the explorer compares two or more")
    texts = [encoder.recipe.of_paper(Paper(p.paper_id, p.title, p.text)) for p in papers.views]
    return {format: embed(encoder, texts, format, tell) for format in FORMATS if format in encoder.formats}


def spaces(vectors: Mapping[str, NDArray[np.float32]], seed: int) -> tuple[Space, ...]:
    """Return neighbours and map of each format; maps after the first are turned and mirrored to resemble it."""
    made: list[Space] = []
    for format, given in vectors.items():
        near = neighbours(given, NEAR)
        places = project(given, seed)
        if made:
            places = turned(places, made[0].places)
        share = shared(near, neighbours(places, NEAR)).mean() / NEAR
        made.append(Space(format, near, places, float(share)))
    return tuple(made)


def neighbours(vectors: NDArray[Any], k: int) -> Ints:
    """Return (n, k) places of the nearest rows by Euclidean distance, nearest first; equal distances by place."""
    x = np.asarray(vectors, dtype=np.float64)
    x = x - x.mean(axis=0)
    square = np.sum(x * x, axis=1)
    distance = square[:, None] + square[None, :] - 2 * x @ x.T
    np.fill_diagonal(distance, np.inf)
    return np.argsort(distance, axis=1, kind="stable")[:, :k].astype(np.int64)


def project(vectors: NDArray[Any], seed: int) -> Floats:
    """Return (n, 2) a map that keeps near papers near: t-SNE from the first two principal components, by a seed."""
    from sklearn.manifold import TSNE

    n = len(vectors)
    made = TSNE(2, perplexity=min(20.0, (n - 1) / 3), init="pca", max_iter=400, angle=0.8, random_state=seed, n_jobs=1)
    return np.asarray(made.fit_transform(np.asarray(vectors, dtype=np.float64)), dtype=np.float64)


def turned(places: Floats, like: Floats) -> Floats:
    """Return a map turned and mirrored so that papers lie as near as can be to where they lie on another (Procrustes)."""
    centred, target = places - places.mean(axis=0), like - like.mean(axis=0)
    u, _, v = np.linalg.svd(centred.T @ target)
    found: Floats = centred @ u @ v
    return found


def overlap(first: Ints, second: Ints, p: float = DEPTH) -> Floats:
    """Return (papers,) rank-biased overlap of two (papers, k) lists, extrapolated beyond k as though A(k) held on.

        RBO = A(k) p^k + (1 - p) / p * sum over d = 1..k of A(d) p^d,   A(d) = shared in the first d / d

    1 for equal lists, 0 for lists without a common member.
    """
    k = first.shape[1]
    agreement = np.array([shared(first[:, :d], second[:, :d]) / d for d in range(1, k + 1)])
    weights = (1 - p) / p * p ** np.arange(1, k + 1)
    found: Floats = agreement[-1] * p**k + weights @ agreement
    return found


def read_field(papers: Collection, vectors: NDArray[Any], near: Ints, seed: int) -> tuple[Floats, Floats]:
    """Return per paper, 1 or 0: its nearest paper has its field; a linear classifier fitted on other papers says its field."""
    from sklearn.linear_model import RidgeClassifierCV
    from sklearn.model_selection import KFold, cross_val_predict
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    field = np.unique([paper.field for paper in papers.views], return_inverse=True)[1]
    model = make_pipeline(StandardScaler(), RidgeClassifierCV(np.logspace(-1, 4, 6)))
    folds = KFold(min(5, len(field)), shuffle=True, random_state=seed)
    predictions = cross_val_predict(model, vectors, field, cv=folds)
    return (field[near[:, 0]] == field).astype(float), (predictions == field).astype(float)


# ------------------------------------------------------------------------------------------------------------ numbers


def measure(chapter: Chapter, looked: Looked, resamples: int = 1000) -> list[Result]:
    """Record what is counted over all papers: facts, the format whose training asks for them against the others, shared
    neighbours, and how well the field can be read; 95 % bootstrap intervals over papers."""
    papers, rows = looked.papers, []

    def row(model: str, format: str, metric: str, values: Floats, unit: str, note: str = "") -> Result:
        low, high = bootstrap_folds(values[None, :], [np.arange(len(values))], resamples, looked.seed)
        return Result(
            task=f"neighbours/{format}", split="shown", metric=metric, protocol="sound", value=float(values.mean()),
            n=len(values), encoder=model, low=float(low[0]), high=float(high[0]), source=papers.source,
            fingerprint=looked.fingerprints.get(model, ""), data_hash=papers.data_hash, similarity="l2", seed=looked.seed,
            pool=papers.about, provenance=provenance(), note="; ".join(part for part in (unit, note) if part),
        )  # fmt: skip

    for name, mean in widget.by_chance(papers.views, papers.links, NEAR).items():
        rows.append(row(CHANCE, "all", name, np.full(len(papers.views), mean), UNITS[name], "exact expectation"))
    for model in looked.models:
        found = {space.format: facts(papers.views, papers.links, space.near) for space in model.spaces}
        for format, each in found.items():
            for name, values in zip(READING, looked.reading[model.key, format], strict=True):
                each[name] = 100 * values
            rows += [
                row(model.key, format, name, values, UNITS.get(name, "% of papers")) for name, values in each.items()
            ]
        for name, format in TRAINED_FOR.items():
            if format in found and name in found[format]:
                others = np.mean([each[name] for other, each in found.items() if other != format], axis=0)
                note = f"paired over papers; {'above' if NEARER.get(name, 1) > 0 else 'below'} 0 is ahead"
                rows.append(row(model.key, format, f"{name}{LESS}", found[format][name] - others,
                                UNITS.get(name, "% of papers"), note))  # fmt: skip
        for one, two in combinations(model.spaces, 2):
            pair = f"{one.format}+{two.format}"
            rows.append(row(model.key, pair, "shared", shared(one.near, two.near).astype(float), "of ten neighbours"))
            rows.append(row(model.key, pair, "overlap", overlap(one.near, two.near), f"rank-biased, p = {DEPTH}"))
    return chapter.record(rows)


# ------------------------------------------------------------------------------------------------------------ showing


def explorer(chapter: Chapter, looked: Looked, paper: int = 0) -> FormatExplorer:
    """Return the format explorer over what was looked at.

    Args:
        paper: the one it opens with, by its place in time; 0 for the one in the middle, by how far formats agree on it.
    """
    parameters = {key: str(value) for key, value in chapter.parameters.items() if key != "paper" and str(value)}
    papers = looked.papers
    given = parameters | {"paper": "{paper}"}
    view = widget.format_data(papers.views, looked.models, papers.links, papers.about, chapter.notebook, given)
    numbers = {one.number: one.paper_id for one in papers.views}
    if paper and paper not in numbers:
        remedy = f"give it to look(..., paper={paper}) too"
        raise ConfigError(f"paper {paper} is not among the {len(numbers)} shown: {remedy}")
    return FormatExplorer(view, paper=numbers[paper] if paper else "")


def overview(chapter: Chapter, looked: Looked, rows: Sequence[Result]) -> None:
    """Show, folded, for every model, what neighbours have in common with their paper under each format, and what formats share."""
    at = {(r.encoder, r.task.partition("/")[2], r.metric): r for r in rows}
    n = len(looked.papers.views)
    for model in looked.models:
        formats = [space.format for space in model.spaces]
        names = [name for name in FACTS if (model.key, formats[0], name) in at]
        keys = [*((model.key, format) for format in formats), (CHANCE, "all")]
        body = [[LABELS[name], *(_fact(chapter, at[*key, name], name) for key in keys)] for name in names]
        body += [[f"{name}, %", *(chapter.number(at[model.key, f, name], 1) for f in formats), ""] for name in READING]
        heads = ["Of a paper's ten nearest", *(f"{f}, {widget.NAMES[f][0].lower()}" for f in formats), CHANCE]
        about = f"{model.key}, this build: means over {n} invented papers, some of them trained on; {model.about}"
        cells = []
        for one, two in combinations(formats, 2):
            both, alike = (at[model.key, f"{one}+{two}", metric] for metric in ("shared", "overlap"))
            cells.append([f"{one} and {two}", chapter.number(both, 1), chapter.number(alike, 2)])
        agree = f"{model.key}, live: how far two formats agree; two lists drawn at random would share {NEAR * NEAR / (n - 1):.1f}"
        parts = [
            _live(heads, body, about),
            _live(["Formats", "neighbours shared, of ten", "rank-biased overlap"], cells, agree),
        ]
        summary = f"What neighbours share under each format, in numbers: {model.key}, invented papers"
        chapter.show(fold(summary, "".join([*parts, *judged(chapter, model, at)])))


def _live(heads: Sequence[str], body: Sequence[Sequence[str]], caption: str) -> str:
    return report.table(heads, body, caption, [["", *["live"] * (len(heads) - 1)]] * len(body))


def _fact(chapter: Chapter, row: Result, name: str) -> str:
    """Return a fact as a linked number; citations, kept as log10, as the factor they are."""
    text = chapter.number(row, 2 if name in ("linked", "citations") else 1)
    return f"{text} <small>({widget.shown(name, row.value)})</small>" if name == "citations" else text


def judged(chapter: Chapter, model: Model, at: Mapping[tuple[str, str, str], Result]) -> list[str]:
    """Return as HTML what a format was trained for: its value less the other formats' mean, whether that is settled, and how
    often it is ahead, in a sentence."""
    body, verdicts = [], []
    for name, format in TRAINED_FOR.items():
        row = at.get((model.key, format, f"{name}{LESS}"))
        if row is None or row.low is None or row.high is None:
            continue
        ahead = (row.value > 0) == (NEARER.get(name, 1) > 0)
        verdicts.append("not settled" if row.low <= 0 <= row.high else "ahead" if ahead else "behind")
        places = 3 if name == "citations" else 2
        difference = f"{chapter.number(row, places, sign=True)} {report.interval(row.low, row.high, places)}"
        body.append([LABELS.get(name, f"{name}, %"), format, difference, f"<strong>{verdicts[-1]}</strong>"])
    counts = [f"{verdicts.count(how)} {how}" for how in ("ahead", "behind", "not settled")]
    return [
        report.table(
            ["What a format was trained for", "format", "minus the mean of the other formats", "verdict"], body,
            f"{model.key}, live: paired over the same papers, 95 % bootstrap intervals over papers; one training",
            [["", "live", "live", ""]] * len(body),
        ),
        f"<p>Of {len(body)} properties that a format is trained for, under that format against others: {', '.join(counts)}.</p>",
    ]  # fmt: skip
