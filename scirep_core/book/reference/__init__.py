"""The book's reference: pages made from the code, so that they cannot drift from it.

Hand-written pages in `book/reference/` hold the prose; a line `% reference: NAME` in them is replaced by what NAME of `PARTS`
makes. The library's own pages are Sphinx autodoc's: a room a page, a module a section. They hold what a reader calls (`ROOMS`):
the stable names, what pages name by {py:obj}, what chapters import; the modules between them are read in the source. Any page
names what stands there by `{py:obj}`, and one that is not there fails the build. Nothing here depends on the run, the machine
or the clock.

    usage.py      commands, variables, files, parameters         schema.py     folders, rows, metrics, tasks, collections
    prose.py      Markdown, and docstrings for autodoc           cite.py       how to cite a page
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from scirep_core.book.reference import schema, usage
from scirep_core.book.reference.prose import escape
from scirep_core.kit.errors import DataError, nearest
from scirep_core.kit.store import sha256_file
from scirep_core.results import PACKAGE, ROOT


class Room(NamedTuple):
    """One page: its title, what is in it, and its modules in reading order."""

    title: str
    text: str
    modules: tuple[str, ...]


ROOMS: dict[str, Room] = {
    "api-data": Room(
        "Data",
        "From a manifest to a task: records and their errors, files fetched and checked, the readers of collections.",
        ("data", "data.task", "data.folder", "data.readers.beir", "data.readers.csfcube",
         "data.readers.maple", "data.readers.recommendation", "data.readers.s2and", "data.readers.samples", "data.tables",
         "data.readers.scirepeval", "data.open.corpora", "data.open.pairs", "data.open.tasks",
         "data.validate", "data.inventory", "data.manifests", "data.sources", "kit.records", "kit.formats", "kit.errors",
         "kit.store"),
    ),
    "api-literature": Room(
        "The embedded literature",
        "The simulated science that stands in where no real data are: its latents, its texts, and the tasks it emits.",
        ("data.literature", "data.literature.latents", "data.literature.lexicon"),
    ),
    "api-texts": Room(
        "Texts and perturbations",
        "How a paper becomes the text an encoder reads, and the 32 textual neighbours.",
        ("data.text", "data.perturbations", "data.perturbations.altered", "data.perturbations.changes",
         "data.perturbations.linguistics"),
    ),
    "api-encoders": Room(
        "Encoders",
        "Texts in, vectors out: one packed BERT trunk, a file for each conditioning, and the store that keeps vectors.",
        ("encoders", "encoders.sentence_model", "encoders.vectors.embed", "encoders.trunk.bert", "encoders.trunk.packing",
         "encoders.trunk.shapes", "encoders.trunk.number_types", "encoders.settings",
         "encoders.lexical", "encoders.latent", "encoders.ensemble", "encoders.aspire",
         "encoders.conditioning", "encoders.conditioning.base",
         "encoders.conditioning.bottleneck", "encoders.conditioning.fusion", "encoders.conditioning.pals",
         "encoders.conditioning.prefix", "encoders.conditioning.parts", "encoders.conditioning.experts",
         "encoders.conditioning.one_pass"),
    ),
    "api-training": Room(
        "Training",
        "Losses, mixed batches, one visible loop, and the trained model of each variant.",
        ("training.losses", "training.batching", "training.config", "training.loop", "training.variants", "training.models",
         "training.base", "training.data.pairs", "training.data.real", "training.objective", "training.sets"),
    ),
    "api-evaluation": Room(
        "Evaluation",
        "One evaluator for each type of task, the benchmark that runs them all, the leaderboard.",
        ("bench.scoring", "bench.suites", "bench.systems", "bench.leaderboard", "bench.pairs", "bench.given", "bench.agreement",
         "bench.in_batch", "bench.label_spaces", "bench.stand_ins", "bench.score_cache", "bench.studies.study",
         "bench.studies.outcome", "bench.studies.tables", "bench.studies.codes",
         "bench.speed.efficiency", "bench.speed.race", "evaluators",
         "evaluators.inputs", "evaluators.rows", "evaluators.ranking", "evaluators.pairs",
         "evaluators.retrieval", "evaluators.reviewers", "evaluators.search",
         "evaluators.labels", "evaluators.labels.scores", "evaluators.probes",
         "evaluators.probes.paper_probes",
          "evaluators.facets",
         "evaluators.facets.facet_systems", "evaluators.facets.facet_collection", "evaluators.facets.facet_failures",
         "evaluators.authors.author_blocks", "evaluators.authors.author_features", "evaluators.authors.author_model",
         "evaluators.perturbed", "evaluators.neighbourhoods", "evaluators.changed.collection", "evaluators.changed.example",
         "evaluators.changed.texts", "evaluators.changed.tools", "evaluators.short", "evaluators.short.phrases",
         "evaluators.short.self_retrieval", "evaluators.short.separation", "evaluators.user_study"),
    ),
    "api-results": Room(
        "Results and chapters",
        "Rows with their origin, metrics and intervals, the papers' printed tables, and what a chapter calls to show them.",
        ("results", "results.metrics", "results.statistics", "results.comparison", "results.differences", "results.published",
         "results.slips",
         "page.chapter", "page.parameters", "page.rows", "page.blocks", "page.say", "page.claims", "page.names",
         "page.report", "page.slips", "page.own_paper", "page.study", "page.counting", "page.papers.neighbours",
         "page.papers.neighbours_explorer",
         "page.papers.formats_explorer", "page.papers.literature", "page.papers.scimult", "page.widgets.own_encoder",
          "page.widgets.facets", "page.widgets.formats", "page.widgets.leaderboard",
         "page.widgets.own_paper", "page.widgets.perturbations", "page.widgets.scores", "book.lab"),
    ),
}  # fmt: skip


PAGES = (
    "reference/python", "reference/command-line", "reference/data-schema", "reference/tasks", "reference/collections",
    "reference/configuration", "reference/parameters",
)  # fmt: skip
"""The hand-written pages, in the order of the table of contents; the library's rooms and the glossary follow."""
PARTS: dict[str, Callable[[], str]] = {
    "commands": usage.listing, "result-row": schema.result_row, "task-file": schema.task_file,
    "task-types": schema.task_types, "task-files": schema.task_files, "metrics": schema.metrics, "tasks": schema.tasks,
    "samples": schema.samples, "suites": schema.suites, "collections": schema.collections, "variables": usage.variables,
    "training": usage.training, "parameters": lambda: usage.parameters(ROOT / "notebooks"),
}  # fmt: skip
"""Name in a hand-written page -> what stands in its place."""
_PART = re.compile(r"^% reference: ([\w-]+)$", re.MULTILINE)


def page(room: Room) -> str:
    """Return the Markdown page of one room."""
    sections = (f"## {name}\n\n```{{eval-rst}}\n.. automodule:: scirep_core.{name}\n```" for name in room.modules)
    return "\n\n".join([f"# {room.title}", escape(room.text), *sections]) + "\n"


def sources() -> dict[str, str]:
    """Return {path inside the package: SHA-256} of the files that are described: with them the pages change."""
    stems = (PACKAGE.joinpath(*name.split(".")) for room in ROOMS.values() for name in room.modules)
    files = (stem / "__init__.py" if stem.is_dir() else stem.with_suffix(".py") for stem in stems)
    return {path.relative_to(PACKAGE).as_posix(): sha256_file(path) for path in files}


def contents() -> dict[str, Any]:
    """Return the part of the table of contents; the library's rooms stand under its stable names."""
    python, *others = ({"file": page} for page in (*PAGES, "glossary"))
    rooms = [{"file": f"reference/{slug}"} for slug in ROOMS]
    return {"caption": "Reference", "chapters": [{**python, "sections": rooms}, *others]}


def write(workdir: Path) -> None:
    """Fill the hand-written pages of an assembled source folder, and write the library's.

    Raises DataError for a part that is not there.
    """
    for slug, room in ROOMS.items():
        (workdir / "reference" / f"{slug}.md").write_text(page(room), encoding="utf-8")
    for path in (workdir / f"{page}.md" for page in PAGES):

        def part(match: re.Match[str], path: Path = path) -> str:
            if match[1] not in PARTS:
                raise DataError(path, None, f"unknown part {match[1]!r}", nearest(match[1], PARTS))
            return PARTS[match[1]]()

        path.write_text(_PART.sub(part, path.read_text(encoding="utf-8")), encoding="utf-8")
