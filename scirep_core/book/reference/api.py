"""The library's pages: a room a page, a module a section, whose names Sphinx autodoc describes when the site is built.

What is here is what a reader calls: the stable names, what pages name by {py:obj}, what chapters import; the modules
between them are read in the source.
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from scirep_core.book.reference.prose import escape
from scirep_core.kit.store import sha256_file

PACKAGE = Path(__file__).resolve().parents[2]


class Room(NamedTuple):
    """One page: its title, what is in it, and its modules in reading order."""

    title: str
    text: str
    modules: tuple[str, ...]


ROOMS: dict[str, Room] = {
    "api-data": Room(
        "Data",
        "From a manifest to a task: records and their errors, files fetched and checked, the readers of collections.",
        ("data", "data.task", "data.payloads", "data.folder", "data.readers.beir", "data.readers.csfcube",
         "data.readers.maple_pairs", "data.readers.recommendation", "data.readers.samples",
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
         "bench.speed.costs", "bench.speed.efficiency", "bench.speed.race", "evaluators",
         "evaluators.inputs", "evaluators.rows", "evaluators.ranking", "evaluators.pairs",
         "evaluators.retrieval", "evaluators.reviewers", "evaluators.search",
         "evaluators.labels", "evaluators.labels.scores", "evaluators.probes", "evaluators.probes.few_shot",
         "evaluators.probes.paper_probes", "evaluators.reference",
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


def page(room: Room) -> str:
    """Return the Markdown page of one room."""
    sections = (f"## {name}\n\n```{{eval-rst}}\n.. automodule:: scirep_core.{name}\n```" for name in room.modules)
    return "\n\n".join([f"# {room.title}", escape(room.text), *sections]) + "\n"


def sources() -> dict[str, str]:
    """Return {path inside the package: SHA-256} of the files that are described: with them the pages change."""
    stems = (PACKAGE.joinpath(*name.split(".")) for room in ROOMS.values() for name in room.modules)
    files = (stem / "__init__.py" if stem.is_dir() else stem.with_suffix(".py") for stem in stems)
    return {path.relative_to(PACKAGE).as_posix(): sha256_file(path) for path in files}
