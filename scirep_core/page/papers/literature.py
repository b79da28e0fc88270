"""Chapter `beyond/literature`: what is planted in the embedded literature, and whether it has the sign of real papers."""

from __future__ import annotations

import html
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import fields, replace
from typing import NamedTuple

from scirep_core.bench.scoring import evaluate
from scirep_core.bench.systems import load_system
from scirep_core.data import TASKS, load_task, locate
from scirep_core.data.literature import Literature
from scirep_core.data.literature.emit.planted import PLANTED
from scirep_core.data.literature.latents import NONE, Dials
from scirep_core.data.literature.lexicon import count
from scirep_core.data.readers.csfcube import FacetCollection
from scirep_core.data.readers.samples import SAMPLES
from scirep_core.data.sources import literature
from scirep_core.data.task import Labelled, Task
from scirep_core.encoders import load_encoder
from scirep_core.evaluators import facets, inputs
from scirep_core.evaluators.facets.facet_systems import rank_all
from scirep_core.page import report
from scirep_core.page.chapter import Chapter, progress
from scirep_core.page.rows import INVENTED, REAL, papers_of, way
from scirep_core.page.study import average, gaps
from scirep_core.results import Result

CHAPTER = "beyond/literature"
SYSTEMS = ("random", "tfidf", "minilm", "oracle")
QUICK = ("scirepeval/biomimicry", "scirepeval/tweet_mentions", "scirepeval/relish", "scirepeval/search")
"""A task of each format, of few papers."""
DRAWS = 5
"""Random draws whose mean is the floor, of rankings and regressions; of classification, whose fits take long, one."""
FACETED = ("fabs_tfidf", "fabs_bm25", "minilm_sentences", "minilm_facet", "minilm_abstract")
FACET_PAIRS = (("minilm_abstract", "fabs_bm25"), ("minilm_sentences", "minilm_abstract"), ("minilm_facet", "minilm_sentences"),
               ("minilm_sentences", "fabs_tfidf"), ("fabs_bm25", "fabs_tfidf"))  # fmt: skip
"""Systems and differences that CSFCube's chapter has recorded of real papers."""
FROM = ("background_label", "method_label", "result_label", "other_label")
"""Label of a sentence -> the latents it is written from: the first four of `_latents_of`."""


# ---- real and invented -----------------------------------------------------------------------------------------------


class Comparison(NamedTuple):
    """A difference of two systems, or of two ways of training, on one question: of real papers and of invented ones."""

    question: str
    real: Result
    invented: Result

    @property
    def side(self) -> int:
        """1 where both intervals lie on one side of 0, -1 where they lie on opposite sides, 0 where one of them holds 0."""
        return way(self.real) * way(self.invented)


def comparisons(rows: Iterable[Result]) -> list[Comparison]:
    """Return the differences of two systems that rows have of real and of invented papers, on the full setting of one task.

    A real sample asks the question of the task that it is like. A difference whose interval has no width was drawn from too few
    papers, and is left out.
    """
    found: dict[tuple[str, ...], dict[str, Result]] = {}
    for row in rows:
        wide = row.low is not None and row.low != row.high
        if row.of_systems and row.split == "test" and wide and papers_of(row) in (REAL, INVENTED):
            like = SAMPLES[row.task].like if row.task in SAMPLES else row.task
            found.setdefault((row.protocol, like, row.metric, row.encoder), {}).setdefault(papers_of(row), row)
    by_protocol = sorted(found.items(), key=lambda one: one[0][0])  # where there are two, the papers' own
    both = {key[1:]: Comparison(key[1], of[REAL], of[INVENTED]) for key, of in reversed(by_protocol) if len(of) == 2}
    return list(reversed(both.values()))


def trained(real: Sequence[Result], invented: Sequence[Result], against: str) -> list[Comparison]:
    """Return the differences of lines of one study from a line, on tasks it trains on, on others and on all, of both papers."""
    sides = [{(row.encoder, row.split): row for row in gaps(of, average, against)} for of in (real, invented)]
    return [
        Comparison(split, sides[0][line, split], sides[1][line, split])
        for line, split in sides[0]
        if (line, split) in sides[1] and split in ("in-train", "out-of-train", "all")
    ]


# ---- floor and ceiling -----------------------------------------------------------------------------------------------


def benchmark() -> list[str]:
    """Return the SciRepEval tasks that are scored here, in the order of the inventory (training triplets are not)."""
    return [name for name, spec in TASKS.items() if spec.paper == "scirepeval" and spec.type != "triplets"]


def faceted(chapter: Chapter, papers: int, seed: int) -> list[Result]:
    """Record and return differences of systems on the facets of invented papers (CSFCube section 5), NDCG%20."""
    collection = load_task("csfcube", "embedded", papers, seed)
    assert isinstance(collection, FacetCollection)
    ranked = rank_all(collection, ",".join(FACETED), locate("csfcube", "embedded", papers, seed), seed, progress)
    systems = [one.system for one in ranked.values()]
    return chapter.record(facets.differences(collection, systems, FACET_PAIRS, metric="ndcg%20", seed=seed))


def measure(chapter: Chapter, papers: int, seed: int, names: Sequence[str] = ()) -> list[Result]:
    """Score random vectors, TF-IDF, MiniLM and the oracle on each task; protocol `paper`, full setting (no few-shot)."""
    rows: list[Result] = []
    encoder, tell = load_encoder("minilm"), progress("floor and ceiling", "tasks scored")
    chosen = list(names) or benchmark()
    tasks = [task for name in chosen if isinstance(task := load_task(name, "embedded", papers, seed), Task)]
    inputs.prepare(tasks, encoder, "paper", progress("minilm"))  # tasks share papers: each text is encoded once
    for done, task in enumerate(tasks):
        if isinstance(task.payload, Labelled):
            task = replace(task, payload=replace(task.payload, few_shot=()))
        for system in SYSTEMS:
            given = load_system(system).on(task)
            draws = DRAWS if system == "random" and task.format != "CLF" else 1
            runs = [evaluate(task, given, "paper", name=system, split="test", seed=seed + k) for k in range(draws)]
            # the whole alone: a part of a small S2AND (`test/zbmath`) has no block to score in some draws
            rows += map(_mean, zip(*([row for row in run if row.split == "test"] for run in runs), strict=True))
        tell(done + 1, len(chosen))
    return chapter.record(replace(row, by_query={}) for row in rows)


def _mean(rows: Sequence[Result]) -> Result:
    """Return one row with the mean value of several random draws: a floor is an expectation, not one throw."""
    if len(rows) == 1:
        return rows[0]
    value = sum(row.value for row in rows) / len(rows)
    return replace(rows[0], value=value, low=None, high=None, by_query={}, note=f"mean of {len(rows)} random draws")


# ---- what is planted ----------------------------------------------------------------------------------------------------


def tree(papers: int, seed: int) -> Iterator[str]:
    """Yield tables of the planted world: concepts and their forms; people, citations and abstracts."""
    found = literature(papers, seed)
    words = found.writer.words
    forms = {"fields of study": (words.fields, "context"), "topics": (words.topics, "context"),
             "problems": (words.problems, "what"), "methods": (words.methods, "np"),
             "aspects of findings": (words.aspects, "np")}  # fmt: skip
    body = []
    for name, (concepts, attribute) in forms.items():
        each = [sum(count(tree) for tree in getattr(c, attribute)) for c in concepts]
        body.append([name, f"{len(concepts)}", f"{min(each)} to {max(each)}", f"{sum(each) / len(each):.1f}"])
    yield report.table(["concepts", "number", "forms of one", "mean"], body, "What the papers are about.")
    people, cites = found.people, found.cites
    names = [people.name(a) for a in range(len(people))]
    lines = [
        ["papers", f"{len(found):,}"],
        ["authors", f"{len(people):,}"],
        ["authors who share their name", f"{100 * (1 - len(set(names)) / len(names)):.1f} %"],
        ["references per paper", f"{cites.counts().mean():.1f}"],
        ["papers with a second field", f"{100 * (found.latents.second_field != NONE).mean():.1f} %"],
        ["words per abstract", f"{sum(len(p.abstract.split()) for p in found.papers) / len(found):.0f}"],
        ["different abstract skeletons", f"{len({found.writer.skeleton(i) for i in range(len(found))}):,}"],
    ]
    yield report.table(["of this literature", ""], lines, f"The literature of {papers:,} papers, seed {seed}.")


def example(papers: int, seed: int, number: int) -> Iterator[str]:
    """Yield one invented paper: sentences beside the latents they were written from, its text, and a table of all latents."""
    found = literature(papers, seed)
    i = min(number, len(found) - 1)
    paper = found.paper(i)
    title = f"<strong>{html.escape(paper.title)}</strong> ({html.escape(paper.venue)}, {paper.year})"
    lines = _latents_of(found, i)
    said = {label: [s for s, own in zip(paper.sentences, paper.labels, strict=True) if own == label] for label in FROM}
    body = [[name, value, html.escape(" ".join(said[label][: None if label == "other_label" else 1]))]
            for label, (name, value) in zip(FROM, lines, strict=False) if said[label]]  # fmt: skip
    heads = ["latent variable", "value", "sentence written from it"]
    yield report.table(heads, body, f"An invented paper: {title}", [["", "text", "text"]] * len(body))
    marked = " ".join(f'<span class="facet-{label.removesuffix("_label")}">{html.escape(s)}</span>'
                      for s, label in zip(paper.sentences, paper.labels, strict=True))  # fmt: skip
    yield f"<p>{title}</p><p>{marked}</p>"
    yield report.table(["latent", "value"], lines, "What it was written from.", [["", "text"]] * len(lines))


def _latents_of(found: Literature, i: int) -> list[list[str]]:
    words, latents = found.writer.words, found.latents
    lines = [
        ["field > area > topic > problem", " > ".join(html.escape(x) for x in (
            words.fields[latents.field[i]].name, words.areas[latents.area[i]].name, words.topics[latents.topic[i]].name,
            words.problems[latents.problem[i]].name))],
        ["method (family)", html.escape(f"{words.methods[latents.method[i]].name} ({words.families[latents.family[i]].name})")],
        ["finding", html.escape(f"{words.aspects[latents.aspect[i]].name}, {('better', 'same', 'worse')[latents.polarity[i]]}")],
        ["quality, hype, standing",
         f"quality {latents.quality[i]}, hype {latents.hype[i]}, standing {found.people.standing[i]} (of 999)"],
        ["authors", html.escape(", ".join(found.people.name(a) for a in found.people.teams.of(i).tolist()))],
        ["cites / cited by", f"{len(found.cites.of(i))} / {len(found.cited_by.of(i))}"],
    ]  # fmt: skip
    second = int(latents.second_field[i])
    return lines if second == NONE else [*lines, ["second field", html.escape(words.fields[second].name)]]


def planted() -> str:
    """Return a table of every embedded task: which latents decide it, whether people err in it, and its declared relation."""
    body = [[name, PLANTED[name].decided_by, _errs(name),
             spec.relation or "-"] for name, spec in TASKS.items() if name in PLANTED]  # fmt: skip
    header, classes = ["task", "decided by", "do people err?", "relation"], [["", "text", "text", ""]] * len(body)
    return report.table(header, body, "What is planted, task by task.", classes)


def _errs(name: str) -> str:
    """Return what keeps the oracle below 100, or that nothing does, and on which metric if that is not the main one."""
    one = PLANTED[name]
    nearly = f", or nearly, on {one.metric}: its threshold is tuned on other blocks" if one.metric else ""
    return one.errs or f"no: the oracle reaches 100{nearly}"


def dials() -> str:
    """Return a table of the dials with their defaults."""
    defaults = Dials()
    body = [[field.name, html.escape(str(getattr(defaults, field.name)) or "all")] for field in fields(Dials)]
    return report.table(["dial", "default"], body, "The dials; <code>Dials</code> says what each does.")
