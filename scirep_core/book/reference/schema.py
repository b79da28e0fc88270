"""The data as tables: task folders, result rows, metrics, tasks, collections, from the records and registries themselves.

What a field is called, which type it has and what holds without it are read from the code; what it means is said here,
and a field without a meaning, or a meaning without a field, is an error of the build.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import MISSING, Field, fields
from typing import Any, NamedTuple

from scirep_core.bench.suites import SUITES
from scirep_core.book.reference.prose import cell, code, escape, fence, table
from scirep_core.data import task_json
from scirep_core.data.inventory import TASKS
from scirep_core.data.manifests import Manifest, list_manifests, load_manifest
from scirep_core.data.readers.samples import SAMPLES
from scirep_core.data.task import TASK_TYPES
from scirep_core.kit.errors import DataError, nearest
from scirep_core.kit.records import grouped
from scirep_core.page.names import PAPERS
from scirep_core.results import Result
from scirep_core.results.metrics import ACCEPTED, METRICS

RESULT: dict[str, tuple[str, str]] = {
    "task": ("", "name of the task, with its facet: `csfcube/method`"),
    "split": ("", "`test`, `dev`; `64-shot`; `test/GROUP`; `task-I`, `task-II`; a code of a textual neighbour"),
    "metric": ("", "name as in the papers, with its cut-off: `ndcg%20`, `recall@50`"),
    "protocol": ("", "`paper` or `sound`"),
    "value": ("0 to 100, unrounded", "the number; `median_rank` is a rank"),
    "n": ("count", "queries or rows behind the value"),
    "encoder": ("", "name of the system; of published rows the row of the table"),
    "low": ("as value", "lower end of the 95 % interval"),
    "high": ("as value", "upper end of it"),
    "kind": ("", "`published`, `recorded` or `live`"),
    "chapter": ("", "chapter that recorded it: `csfcube/baselines`"),
    "fingerprint": ("hash", "what decides the vectors: weights, tokenizer, text recipe, pooling, length, number type"),
    "source": ("", "`embedded`, `real`, `folder`; `print` for arithmetic on printed numbers"),
    "data_hash": ("hash", "content of the files the task was read from"),
    "similarity": ("", "`l2`, `cosine` or `dot`"),
    "ties": ("", "who comes first where two candidates score the same"),
    "pool": ("", "what was ranked, and how much of it"),
    "coverage": ("0 to 1", "share of the judged rows that had vectors"),
    "seed": ("", "of draws: intervals, few-shot samples, random vectors"),
    "seconds": ("s", "how long the measurement took"),
    "parameters": ("", "of the chapter, the command or the training"),
    "provenance": ("", "code version, versions of libraries, device"),
    "note": ("", "what a reader must know: oddities of the protocol, ties, a warning"),
    "against": (
        "",
        "the other side of a difference, or of its p: a system, code, setting or reading; nothing of a score",
    ),
    "by_query": ("0 to 100", "value of each query, of tasks with up to 100"),
    "replicates": ("0 to 100", "bootstrap values; kept apart, never in the JSON row"),
}
"""Field of a result row -> unit, meaning."""

TASK_JSON: dict[str, str] = {
    "name": "what rows are called after; `mine/birds`",
    "version": "raise it when the data change",
    "type": "one of the types below",
    "metrics": "base names; none: those of the type",
    "similarity": "`l2`, `cosine` or `dot`; none: that of the type",
    "multi_label": "labels are rows of 0 and 1",
    "few_shot": "settings besides all examples: `{sample_size, iterations}`",
    "keep_self": "of retrieval: a query's own paper stays in its pool",
    "text_query": "queries are texts, not papers",
    "source": "of folders we wrote: `embedded`",
    "seed": "of folders we wrote: seed of the literature",
    "papers": "of folders we wrote: size of the literature",
    "format": "CLF, RGN, PRX or QRY; none: that of the type",
    "label_names": "of multi-hot labels, in order",
    "related": "`in-train`, `related` or `unrelated`: does it share latents with training tasks?",
    "notes": "anything a reader should know",
    "fields": "what a text consists of, of title, abstract, venue, year",
}
"""Key of task.json -> meaning."""


class Column(NamedTuple):
    """One key of a line: its type, whether it may be missing, what it holds."""

    name: str
    type: str
    meaning: str
    optional: bool = False


_PAPER = Column("paper_id", "text or whole number", "id, once in a file")
_TEXTS = (
    _PAPER, Column("title", "text", "title; may be empty"), Column("abstract", "text or null", "abstract", True),
    Column("year", "whole number or null", "of publication", True), Column("venue", "text or null", "journal or conference", True),
    Column("sentences", "list of texts", "the abstract's sentences", True),
    Column("sentence_labels", "list of texts", "a label for each sentence", True),
)  # fmt: skip
_QREL = (
    Column("query_id", "text or whole number", "a paper, or a query of queries.jsonl"),
    Column("cand_id", "text or whole number", "a judged paper"),
    Column("score", "whole number from 0", "grade; 0 is not relevant"),
)
_GROUPED = (*_QREL, Column("group", "text", "a row for each group, and their mean, come along", True))
_REVIEWED = (_QREL[0], Column("cand_id", "text or whole number", "a reviewer"), _QREL[2])
_LABELLED = (_PAPER, Column("label", "class from 0, or 0s and 1s", "list of 0 and 1 where multi_label"))
_TARGET = (_PAPER, Column("label", "number", "target"))
_TRIPLE = (
    Column("query", "id", "a paper; a query of queries.jsonl"), Column("positive", "id", "what belongs to it"),
    Column("negative", "id", "what does not", True),
)  # fmt: skip
_QUERY = (Column("query_id", "text or whole number", "id, once"), Column("query", "text", "the bare query"))

FILES: dict[str, dict[str, tuple[Column, ...]]] = {
    "classification": {"train.jsonl": _LABELLED, "test.jsonl": _LABELLED, "validation.jsonl?": _LABELLED},
    "regression": {"train.jsonl": _TARGET, "test.jsonl": _TARGET, "validation.jsonl?": _TARGET},
    "proximity": {"qrels.jsonl": _GROUPED},
    "adhoc_search": {"qrels.jsonl": _GROUPED, "queries.jsonl?": _QUERY},
    "retrieval": {
        "queries.jsonl": (_QUERY[0], Column("relevant", "object", "paper id -> grade from 0, of papers of the pool"),
                          Column("query", "text", "needed where text_query", True)),
        "pool.jsonl": (_PAPER,),
    },
    "label_ranking": {
        "papers.jsonl": (_PAPER, Column("labels", "list of ids", "its labels; title and abstract may stand beside them")),
        "labels.jsonl": (Column("label_id", "text or whole number", "id, once"), Column("name", "text", "name"),
                         Column("definition", "text", "what it means", True)),
        "matched.jsonl?": (_PAPER, Column("candidates", "list of ids", "labels whose name occurs in the paper")),
    },
    "reviewer_matching": {
        "qrels_hard.jsonl": _REVIEWED, "qrels_soft.jsonl": _REVIEWED,
        "reviewers.jsonl": (Column("r_id", "text or whole number", "a reviewer"), Column("papers", "list of ids", "theirs")),
    },
    "author_disambiguation": {
        "signatures.jsonl": (
            Column("signature_id", "text or whole number", "an author mention"),
            Column("paper_id", "text or whole number", "where it stands"),
            Column("block", "text or whole number", "of equal names"),
            Column("cluster", "text or whole number", "the person; empty: nobody knows"),
            *(Column(name, "text", meaning, True) for name, meaning in (
                ("name", "as printed"), ("affiliation", "as printed"), ("first", "first name"), ("middle", "middle names"),
                ("last", "last name"), ("email", "address"))),
            Column("position", "whole number", "in the byline, from 0", True)),
        "bylines.jsonl?": (
            _PAPER, Column("authors", "list of texts", "all, in order", True), Column("journal", "text", "journal", True),
            Column("references", "list of ids", "papers it cites", True)),
    },
    "alternative_self": {"papers.jsonl": _TEXTS},
    "triplets": {"train.jsonl": _TRIPLE, "validation.jsonl?": _TRIPLE, "test.jsonl?": _TRIPLE},
}  # fmt: skip
"""Type of task -> file (a `?` where it may be missing) -> its keys. `papers.jsonl` goes with every type."""

MEASURES: dict[str, str] = {
    "f1": "F1 of the positive class",
    "f1_macro": "mean over classes or labels of each one's F1",
    "f1_micro": "F1 of all decisions together",
    "accuracy": "share of right decisions; of triplets: the positive lies nearer than the negative",
    "kendall_tau": "Kendall's tau-b between predicted and true values",
    "pearson": "Pearson's correlation between them",
    "hard_p@k": "precision of the first k reviewers, of whom expertise 3 is right",
    "soft_p@k": "the same where 2 is right as well",
    "mean_of_four": "mean of hard and soft P@5 and P@10",
    "pairs_ordered": "pairs of a reviewer's submissions in the right order, weighted by the difference of their grades",
    "b3_f1": "B-cubed F1 of the clusters; `_metadata` and `_vectors` rows show each kind of feature alone",
    "b3_p": "B-cubed precision",
    "b3_r": "B-cubed recall",
    "median_rank": "median rank of a paper's other text: a rank, not a percentage",
    "t100": "share of queries that find their paper among the first 100",
}
"""Metrics that do not rank judged candidates -> what they are; the others say it in METRICS."""
HELD = {
    "scirepeval": "the benchmark of the publication; its averages come along",
    "scirepeval-v1": "the 25-task submission; its averages come along",
    "scidocs": "the tasks of SciDocs",
    "mdcr": "citation recommendation within fields",
    "scimult": "what SciMult evaluates without further training",
    "samples": "the small real samples",
    "embedded-all": "every task of SciRepEval there are embedded data for",
    "open": "real papers of nine public sources; its averages come along",
    "open-scimult": "what SciMult asks, of the same papers: labels by their texts, citations, searches, reviewers",
}
"""Suite -> what it holds."""
SUFFIX = "_name_match"
"""Of label ranking: only labels whose name occurs in the paper compete."""


def _complete(meanings: Mapping[str, object], names: list[str], of: str) -> None:
    for name in names:
        if name not in meanings:
            raise DataError(__file__, None, f"{of} {name!r} has no meaning", "Say in a line what it holds")
    for name in meanings:
        if name not in names:
            raise DataError(__file__, None, f"there is no {of} {name!r}", nearest(name, names))


def result_row() -> str:
    """Return the table of a result row's fields."""
    held = fields(Result)
    _complete(RESULT, [one.name for one in held], "field of a result row")
    rows = ([code(one.name), code(one.type), code(_default(one, repr)), *map(cell, RESULT[one.name])] for one in held)
    return table(["field", "type", "default", "unit", "meaning"], rows)


def task_file() -> str:
    """Return the table of the keys of task.json."""
    held = fields(task_json.TaskConfig)
    _complete(TASK_JSON, [one.name for one in held], "key of task.json")
    defaults = {one.name: code(_default(one, json.dumps)) or "required" for one in held}
    rows = ([code(one.name), code(one.type), defaults[one.name], cell(TASK_JSON[one.name])] for one in held)
    return table(["key", "type", "default", "meaning"], rows)


def _default(one: Field[Any], text: Callable[[Any], str]) -> str:
    if one.default_factory is not MISSING:
        return text(one.default_factory())
    return "" if one.default is MISSING else text(one.default)


def task_types() -> str:
    """Return the table of types: what holds where task.json does not say."""
    rows = (
        [f'<a href="#type-{kind.replace("_", "-")}"><code>{kind}</code></a>', task_json.TYPES[kind].format,
         task_json.TYPES[kind].similarity, ", ".join(map(code, task_json.TYPES[kind].metrics))]
        for kind in TASK_TYPES
    )  # fmt: skip
    return table(["type", "format", "similarity", "metrics"], rows)


def task_files() -> str:
    """Return the files of every type, key by key."""
    _complete(FILES, list(TASK_TYPES), "type of task")
    parts = []
    for kind, files in FILES.items():
        rows = []
        for name, columns in files.items():
            file = f"{code(name.removesuffix('?'))}{' (may be missing)' * name.endswith('?')}"
            for i, column in enumerate(columns):
                needed = "" if column.optional else "yes"
                rows.append(["" if i else file, code(column.name), column.type, needed, cell(column.meaning)])
        parts += [f"### Type {kind}", table(["file", "key", "type", "needed", "meaning"], rows)]
    texts = ([code(c.name), c.type, "" if c.optional else "yes", cell(c.meaning)] for c in _TEXTS)
    parts += ["### Texts, of every type", table(["`papers.jsonl`", "type", "needed", "meaning"], texts)]
    return "\n\n".join(parts)


def metrics() -> str:
    """Return the table of metrics, and which of them each type of task can be asked for."""
    rows = [
        [code(f"{name}{'@k' * metric.at}") + (f", {code(name + '%p')}" if metric.percent else ""), cell(metric.text)]
        for name, metric in METRICS.items()
    ]
    known = {name for names in ACCEPTED.values() for name in names}
    ranked = {name for one in METRICS for name in (one, f"{one}@k")}
    _complete(MEASURES, sorted(n for n in known if n.removesuffix(SUFFIX) not in ranked), "metric")
    rows += [[code(name), cell(meaning)] for name, meaning in MEASURES.items()]
    asked = ([code(kind), ", ".join(map(code, names))] for kind, names in ACCEPTED.items())
    return "\n\n".join(
        (table(["metric", "what it computes"], rows), table(["type of task", "can be asked for"], asked))
    )


def tasks() -> str:
    """Return the tables of all tasks, one a paper."""
    papers = grouped(TASKS, lambda name: TASKS[name].paper)
    header = ["task", "in the paper", "format", "type", "metrics", "printed counts", "collection", "exhibits"]
    return "\n\n".join(f"### {PAPERS[paper]}\n\n{table(header, map(_task, names))}" for paper, names in papers.items())


def _task(name: str) -> list[str]:
    spec = TASKS[name]
    counts = ", ".join(f"{value:,} {key.replace('_', ' ')}" for key, value in spec.expect.items())
    shots = ", ".join(f"{shot.sample_size}-shot" for shot in spec.few_shot)
    exhibits = ", ".join(f'<a href="../coverage.html#{row.lower()}">{row}</a>' for row in spec.rows)
    kind = spec.type.replace("_", " ") + (", multi-label" if spec.multi_label else "") + (f", {shots}" if shots else "")
    measured = ", ".join(map(code, spec.metrics))
    source = f'<a href="collections.html#data-{spec.manifest}">{spec.manifest}</a>'
    return [code(name), cell(spec.title), spec.format, kind, measured, counts, source, exhibits]


def samples() -> str:
    """Return the table of small real samples."""
    rows = (
        [code(name), cell(one.about), code(one.like),
         f'<a href="collections.html#data-{one.manifest}">{one.manifest}</a>']
        for name, one in SAMPLES.items()
    )  # fmt: skip
    return table(["task", "what it is", "like", "collection"], rows)


def suites() -> str:
    """Return the table of suites."""
    _complete(HELD, list(SUITES), "suite")
    rows = ([code(name), str(len(held)), cell(HELD[name]), ", ".join(map(code, held))] for name, held in SUITES.items())
    return table(["suite", "tasks", "what it holds", "which"], rows)


# ---- data and licences ----------------------------------------------------------------------------------------------


SEEN = {
    "full": "every file read by this project's readers",
    "sample": "read in part",
    "no": "never seen here: checked at first sight, and from then on",
}


def _size(manifest: Manifest) -> str:
    if not manifest.bytes:
        return "unknown"
    return f"{manifest.bytes:,}" + (f" and {manifest.unseen} files of unknown size" if manifest.unseen else "")


def collections() -> str:
    """Return the table of all collections, and a section for each with its source and what needs it."""
    found = [load_manifest(name) for name in list_manifests()]
    links = {one.name: f'<a href="#data-{one.name}">{one.name}</a>' for one in found}
    rows = (
        [links[one.name], cell(one.title), _licence(one), str(len(one.files)), _size(one), one.verified]
        for one in found
    )
    legend = "\n".join(f"- `{state}`: {meaning}." for state, meaning in SEEN.items())
    header = ["collection", "what it is", "licence", "files", "bytes", "verified"]
    return "\n\n".join([table(header, rows), legend, *(_section(one) for one in found)])


def _licence(manifest: Manifest) -> str:
    name = "its own terms" if manifest.licence.spdx == "NOASSERTION" else manifest.licence.spdx
    return f"[{escape(name)}]({manifest.licence.url})"


def _section(manifest: Manifest) -> str:
    at = manifest.commit or manifest.revision
    kind = "commit" if manifest.commit else "revision"
    counts = ", ".join(f"{value:,} {name.replace('_', ' ')}" for name, value in manifest.counts.items())
    needed = ", ".join(map(code, manifest.needed_for)) or "no task by itself: chapters and tests read it"
    facts = {
        "Paper": escape(manifest.paper),
        "Source": f"<{manifest.repository}>" + (f", {kind} {code(at)}" if at else ""),
        "Licence": f"{_licence(manifest)}. {escape(manifest.licence.notice)}",
        "Needed by": needed,
        "Counts": f"{escape(counts)} ({escape(manifest.counts_source)})" if counts else "",
        "Files": f"{len(manifest.files)}" + (f", {_size(manifest)} bytes" if manifest.bytes else ", sizes unknown"),
        "By hand": escape(manifest.gated),
    }
    lines = "\n".join(f"- **{name}**: {text}" for name, text in facts.items() if text)
    return "\n\n".join([
        f'<div id="data-{manifest.name}"></div>', f"## {manifest.name}", escape(manifest.title), lines,
        fence(f"scirep data get {manifest.name}", "bash"),
    ])  # fmt: skip
