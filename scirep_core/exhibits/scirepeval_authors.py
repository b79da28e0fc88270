"""Chapter `scirepeval/author_disambiguation`: what a paper's vector adds where names, co-authors and years are known."""

from __future__ import annotations

import html
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from scirep_core.bench.scoring import evaluate, named_vectors
from scirep_core.bench.systems import load_system
from scirep_core.data.task import Signature, Signatures, Task
from scirep_core.evaluators import authors
from scirep_core.evaluators.authors import author_blocks, author_model
from scirep_core.evaluators.authors.author_features import FEATURES
from scirep_core.exhibits import sign
from scirep_core.exhibits.counting import names_in
from scirep_core.kit.errors import ConfigError
from scirep_core.page import report
from scirep_core.page.chapter import Chapter, progress
from scirep_core.results import Result, provenance, recorded
from scirep_core.results.comparison import paired_bootstrap
from scirep_core.results.published import Printed, lookup

CHAPTER = "scirepeval/author_disambiguation"
NAME = "scirepeval/s2and"
ENDS = ("random", "oracle")
GAIN = "b3_f1 - b3_f1_metadata"
ALONE = "b3_f1_vectors - b3_f1_metadata"
LABELS = {"random": "floor: random vectors", "oracle": "ceiling: oracle"}
COLUMNS = {"b3_f1": "metadata and vectors", "b3_f1_metadata": "metadata alone", "b3_f1_vectors": "vectors alone"}
SHUFFLES = 5
"""Shuffles of a feature whose mean effect is its importance."""
Vectors = dict[str, Any]


def task_of(chapter: Chapter) -> Task:
    """Return S2AND from the chapter's source. Raises ConfigError where it has too few blocks for the pipeline."""
    task = chapter.task(NAME)
    assert isinstance(task, Task)
    assert isinstance(task.payload, Signatures)
    sets = author_blocks.by_collection(dict.fromkeys(row.block for row in task.payload.rows if row.cluster))
    most = max((len(blocks) for blocks in sets.values()), default=0)
    if most < author_blocks.ENOUGH:
        reason = f"no collection of S2AND has {author_blocks.ENOUGH} blocks here (the largest has {most})"
        raise ConfigError(f"{reason}: nothing to learn from. With data embedded, give more papers: 1000")
    return task


def vectors_of(task: Task, encoders: str, protocol: str, seed: int) -> dict[str, Vectors]:
    """Return id -> vector of every system named, of random and, where the truth is known, of the oracle."""
    found: dict[str, Vectors] = {}
    for name in names_in(encoders):
        vectors = load_system(name).on(task, protocol, progress(name))
        if not isinstance(vectors, dict):
            raise ConfigError(f"{name} ranks pairs and has no vectors: it cannot tell authors apart. Leave it out")
        found[name] = vectors
    ends = ENDS if task.oracle is not None else ENDS[:1]
    return {"random": named_vectors(task, "random", seed)} | found | {
        name: named_vectors(task, name, seed) for name in ends[1:]}  # fmt: skip


def measure(chapter: Chapter, task: Task, vectors: dict[str, Vectors], protocol: str, seed: int) -> list[Result]:
    """Return rows of every system: the pipeline, metadata alone, vectors alone, and what the two differ by from metadata."""
    rows: list[Result] = []
    for name, table in vectors.items():
        found = evaluate(task, table, protocol, name=name, metrics=("b3_f1",), seed=seed)  # type: ignore[arg-type]
        rows += [replace(row, by_query={}) for row in found]
        by = {(row.split, row.metric): row for row in found}
        for split in dict.fromkeys(row.split for row in found):
            if (split, "b3_f1_metadata") in by:
                plain = by[split, "b3_f1_metadata"]
                rows.append(_gap(GAIN, by[split, "b3_f1"], plain))
                rows.append(_gap(ALONE, by[split, "b3_f1_vectors"], plain))
    return chapter.record(rows)


def _gap(name: str, first: Result, plain: Result) -> Result:
    """Return the row of a difference between two rows of one encoder, paired draw by draw."""
    found = paired_bootstrap(first, replace(plain, metric=first.metric))
    note = "paired bootstrap over blocks"
    return replace(
        first,
        metric=name,
        against=plain.metric,
        value=found.value,
        low=found.low,
        high=found.high,
        by_query={},
        note=note,
        replicates=None,
    )


def by_key(rows: Sequence[Result], split: str = "test") -> dict[tuple[str, str], Result]:
    """Return rows of a split by encoder and metric."""
    return {(row.encoder, row.metric): row for row in rows if row.split == split}


def kept_of(protocol: str) -> dict[tuple[str, str], Result]:
    """Return rows of our recorded run under a protocol, by encoder and metric."""
    return by_key([row for row in recorded(CHAPTER, "embedded") if row.protocol == protocol])


def results(chapter: Chapter, rows: Sequence[Result], protocol: str) -> None:
    """Show B-cubed F1 of metadata alone once, of each system with and without them, and what its vectors add."""
    runs = {word: run for word, run in (("recorded", kept_of(protocol)), ("live", by_key(rows))) if run}
    found = list(dict.fromkeys(encoder for run in runs.values() for encoder, _ in run))
    names = [name for name in found if name not in ENDS]
    # metadata know of no encoder: any encoder's row of them is the same number
    body = [["<strong>floor: metadata alone</strong>", *_cells(chapter, runs, found[0], "b3_f1_metadata"),
             *[""] * (len(runs) * 2)]]  # fmt: skip
    for name in (*(end for end in ENDS[:1] if end in found), *names, *(end for end in ENDS[1:] if end in found)):
        line = [f"<strong>{LABELS.get(name, html.escape(name))}</strong>"]
        for metric in ("b3_f1", "b3_f1_vectors", GAIN):
            line += _cells(chapter, runs, name, metric)
        body.append(line)
    caption = f"B-cubed F1 (0 to 100), protocol {protocol}, mean of the collections; 95 % intervals over blocks; "
    caption += "; ".join(f"{word}: {_extent(run)}" for word, run in runs.items())
    groups = ["with metadata", COLUMNS["b3_f1_vectors"], "what vectors add to metadata"]
    chapter.show(report.table(["vectors", *([*runs] * len(groups))], body, caption + ".", groups=groups))
    if "recorded" not in runs:
        chapter.note("No run of ours is recorded for this protocol.")


def _cells(chapter: Chapter, runs: Mapping[str, Mapping[tuple[str, str], Result]], name: str, metric: str) -> list[str]:
    cells = []
    for run in runs.values():
        row = run.get((name, metric))
        decimals = 2 if metric == GAIN else 1  # an interval that ends at 0.01 does not end at 0
        cells.append(
            f"{chapter.number(row, decimals, metric == GAIN)} {report.interval(row.low, row.high, decimals)}"
            if row
            else ""
        )
    return cells


def _extent(run: Mapping[tuple[str, str], Result]) -> str:
    """Return how much was scored: what the rows say, and of which literature."""
    row = next(iter(run.values()))
    papers = row.parameters.get("papers") if row.source == "embedded" else None
    return (row.pool or f"{row.n:,} mentions") + (f", literature of {papers:,} papers" if papers else "")


ADDS = {1: "add to metadata", -1: "take from metadata", 0: "make no clear difference to metadata"}
LIES = {1: "above metadata alone", -1: "below metadata alone", 0: "not told apart from metadata alone"}


def verdict(chapter: Chapter, rows: Sequence[Result], protocol: str) -> None:
    """Say of each run and encoder what its vectors do to metadata, and where they lie alone, from paired intervals."""
    for word, run in (("Recorded", kept_of(protocol)), ("Live", by_key(rows))):
        said = []
        for (name, metric), row in run.items():
            if metric != GAIN:
                continue
            alone = run.get((name, ALONE))
            said.append(
                f"vectors of {html.escape(name)} {ADDS[sign(row)]} ({_points(chapter, row)})"
                + (f"; alone they lie {LIES[sign(alone)]} ({_points(chapter, alone)})" if alone else "")
            )
        if said:
            chapter.say(f"{word}, {_extent(run)}: {'. '.join(one[0].upper() + one[1:] for one in said)}.")
        if said and not any(metric == ALONE for _, metric in run):
            chapter.note(f"{word}: paired differences of vectors alone to metadata alone are not among the rows.")


def _points(chapter: Chapter, row: Result) -> str:
    return f"{chapter.number(row, 2, True)}, {row.low:+.2f} to {row.high:+.2f}"


def tells(chapter: Chapter, rows: Sequence[Result], protocol: str) -> None:
    """Say for which encoders the task is more than a test of metadata, and what follows for its correlations."""
    for word, run in (("in the recorded run", kept_of(protocol)), ("in this run", by_key(rows))):
        gains = {name: sign(row) for (name, metric), row in run.items() if metric == GAIN and name not in ENDS}
        if not gains:
            continue
        blind = [html.escape(name) for name, one in gains.items() if not one]
        seen = [html.escape(name) for name, one in gains.items() if one]
        where = f"Protocol {protocol}, {word}: it holds for "
        if not seen:
            chapter.say(f"{where}every encoder ({', '.join(blind)}).")
        elif blind:
            chapter.say(f"{where}{', '.join(blind)}, not for {', '.join(seen)}.")
        else:
            chapter.say(f"{where}no encoder ({', '.join(seen)}).")


@report.styled
def collections(chapter: Chapter, rows: Sequence[Result]) -> None:
    """Draw B-cubed F1 of each collection: metadata alone, and with each system's vectors."""
    splits = [s for s in dict.fromkeys(row.split for row in rows) if s != "test"]
    found = {split: by_key(rows, split) for split in splits}
    encoders = list(dict.fromkeys(row.encoder for row in rows))
    data = pd.DataFrame([
        {"collection": split.partition("/")[2], "vectors": encoder, "metric": metric, "value": row.value, "low": row.low,
         "high": row.high, "n": row.n}
        for split in splits for (encoder, metric), row in found[split].items() if metric in COLUMNS
    ])  # fmt: skip
    if data.empty:
        return
    figure, axes = report.subplots(figsize=(report.WIDTH, 0.62 * len(splits) + 1.0))
    lines = [("metadata alone", encoders[0], "b3_f1_metadata")] + [
        (f"with {e}", e, "b3_f1") for e in encoders if e not in ENDS
    ]
    for k, (label, encoder, metric) in enumerate(lines):
        at = np.arange(len(splits)) + 0.22 * (k - (len(lines) - 1) / 2)
        cells = [found[split][encoder, metric] for split in splits]
        colour = report.FLOOR if k == 0 else report.SERIES[(k - 1) % len(report.SERIES)]
        axes.hlines(at, [c.low for c in cells], [c.high for c in cells], color=colour, linewidth=1.2)
        axes.plot([c.value for c in cells], at, "so^v"[k % 4], color=colour, label=label)
    axes.set_yticks(range(len(splits)), [split.partition("/")[2] for split in splits])
    axes.invert_yaxis()
    axes.set_xlabel("B-cubed F1")
    axes.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=3)
    sizes_ = [next(iter(found[split].values())).n for split in splits]
    caption = (
        f"Live: B-cubed F1 (0 to 100) of each collection, metadata alone and with vectors; 95 % intervals over blocks; "
        f"{_extent(by_key(rows))}; {min(sizes_):,} to {max(sizes_):,} mentions a collection."
    )
    alt = "One row per collection with a mark for metadata alone and one for each encoder; the numbers are in the data."
    chapter.figure("collections", figure, data, caption, alt)


def importance(chapter: Chapter, task: Task, vectors: dict[str, Vectors], protocol: str, seed: int) -> list[Result]:
    """Show every feature and what shuffling it costs on validation pairs, in area under the ROC curve, for each encoder."""
    from sklearn.metrics import roc_auc_score

    rows: list[Result] = []
    names = [name for name in vectors if name not in ENDS]
    for name in names:
        mentions, split = _mentions(task, vectors[name], protocol, seed)
        model = author_model.fit(*author_model.training(mentions, split.train, seed), seed)
        pairs, same = author_model.training(mentions, split.validation, seed, most=10_000)
        base, rng = roc_auc_score(same, 1 - model.distances(pairs)), np.random.default_rng(seed)
        for k, feature in enumerate(FEATURES):
            costs = []
            for _ in range(SHUFFLES if model.used[k] else 0):
                mixed = pairs.copy()
                mixed[:, k] = rng.permutation(mixed[:, k])
                costs.append(base - roc_auc_score(same, 1 - model.distances(mixed)))
            value = 100 * float(np.mean(costs)) if costs else 0.0
            rows.append(Result(NAME, "validation pairs", f"importance of {feature.name}", protocol, value, len(pairs), name,
                               source=task.source, data_hash=task.data_hash, seed=seed, provenance=provenance(),
                               note=f"loss of area under the ROC curve, mean of {SHUFFLES} shuffles"))  # fmt: skip
    rows = chapter.record(rows)
    by = {(row.encoder, row.metric): row for row in rows}
    signs = {1: "rises", -1: "falls", 0: "free"}
    order = sorted(FEATURES, key=lambda f: -max((by[n, f"importance of {f.name}"].value for n in names), default=0))
    body = [[f.name, f.group, html.escape(f.what), signs[f.direction],
             *(chapter.number(by[n, f"importance of {f.name}"], 2) for n in names)] for f in order]  # fmt: skip
    header = ["feature", "group", "what it is", "same person", *names]
    caption = (f"The {len(FEATURES)} features of a pair, by what shuffling each costs (area under the ROC curve, points; "
               f"{rows[0].n if rows else 0:,} validation pairs of one split). Same person: whether the model may only let the "
               "probability that both mentions are one person rise, or fall, as the feature grows, or either (free).")  # fmt: skip
    chapter.show(report.table(header, body, caption, [["", "text", "text", "text", *([""] * len(names))]] * len(body)))
    return rows


def _mentions(
    task: Task, vectors: Vectors, protocol: str, seed: int
) -> tuple[author_model.Mentions, author_blocks.Split]:
    data = task.payload
    assert isinstance(data, Signatures)
    known = [row for row in data.rows if row.cluster]
    plain = authors.mentions_of(task, known)
    table = np.stack([np.asarray(vectors[row.paper_id], dtype=np.float64) for row in known])
    return replace(plain, vectors=table, likeness={}), author_blocks.splits(plain.blocks, protocol, seed)[0]


def example(chapter: Chapter, task: Task, vectors: dict[str, Vectors], protocol: str, seed: int) -> None:
    """Show the test block where the last encoder's vectors change most: who is who, and the groups without and with them."""
    encoder, data = [name for name in vectors if name not in ENDS][-1], task.payload
    assert isinstance(data, Signatures)
    known = [row for row in data.rows if row.cluster]
    mentions, split = _mentions(task, vectors[encoder], protocol, seed)
    cuts = []
    for version in (replace(mentions, vectors=None), mentions):
        embedding = version.vectors is not None
        model = author_model.fit(*author_model.training(version, split.train, seed), seed, embedding)
        threshold = author_blocks.tune(author_model.trees(version, model, split.validation), author_model.CANDIDATES)
        cuts.append({block.name: block.cut(threshold) for block in author_model.trees(version, model, split.test)})
    name = max(split.test, key=lambda b: (_apart(cuts[0][b], cuts[1][b]), len(set(mentions.gold[mentions.blocks[b]]))))
    rows = [known[k] for k in mentions.blocks[name]]
    people = {person: k + 1 for k, person in enumerate(dict.fromkeys(row.cluster for row in rows))}
    body = [[html.escape(row.name), *_of_paper(task, row), f"{people[row.cluster]}", f"{plain}", f"{both}"]
            for row, plain, both in zip(rows, *(cut[name] for cut in cuts), strict=True)]  # fmt: skip
    header = ["mention", "affiliation", "year", "title", "person", "metadata", f"with {html.escape(encoder)}"]
    caption = f"Block {html.escape(name)} of the first split: the true persons, and the groups found. Numbers name groups only."
    chapter.show(report.table(header, body, caption, [["", "text", "", "text", "", "", ""]] * len(body)))
    gold = [people[row.cluster] for row in rows]
    wrong = [_apart(gold, cut[name]) for cut in cuts]
    chapter.say(
        f"Of its {len(rows) * (len(rows) - 1) // 2} pairs, {wrong[0]} are judged wrongly by metadata alone and {wrong[1]} with "
        f"vectors of {html.escape(encoder)}; the block is chosen because the two disagree most on it."
    )


def _of_paper(task: Task, row: Signature) -> list[str]:
    paper = task.papers.get(row.paper_id)
    return [
        html.escape(row.affiliation),
        str(paper.year or "") if paper else "",
        html.escape(paper.title if paper else ""),
    ]


def _apart(first: Sequence[int], second: Sequence[int]) -> int:
    """Return on how many pairs two groupings disagree."""
    i, j = np.triu_indices(len(first), 1)
    a, b = np.asarray(first), np.asarray(second)
    return int(np.count_nonzero((a[i] == a[j]) != (b[i] == b[j])))


def in_print(chapter: Chapter) -> None:
    """Say what the papers print about S2AND, once where they print the same, and what of it cannot be."""
    found: dict[tuple[str, str], list[str]] = {}
    for exhibit in ("V1-T1", "V2-T1"):
        printed = lookup(exhibit)
        found.setdefault((printed["S2AND", "clusters"].value, printed["S2AND", "signatures"].value), []).append(exhibit)
    for exhibits in found.values():
        printed = lookup(exhibits[0])
        clusters, pairs = printed["S2AND", "clusters"], printed["S2AND", "signatures"]
        fault = (
            " A cluster holds one pair at least, so the two are most likely swapped."
            if clusters.number > pairs.number
            else ""
        )
        chapter.say(
            f"{' and '.join(exhibits)} {'print' if len(exhibits) > 1 else 'prints'} {_thousands(chapter, clusters)} clusters of "
            f"{_thousands(chapter, pairs)} author-paper pairs.{fault}"
        )


def _thousands(chapter: Chapter, printed: Printed) -> str:
    return chapter.number(printed).replace(f">{printed.value}<", f">{printed.number:,.0f}<")


def sizes(chapter: Chapter, task: Task) -> None:
    """Show how many mentions, blocks, persons and pairs each collection has here."""
    data = task.payload
    assert isinstance(data, Signatures)
    body = []
    for name, blocks in author_blocks.by_collection(dict.fromkeys(row.block for row in data.rows)).items():
        rows = [row for row in data.rows if author_blocks.collection_of(row.block) == name]
        counts = [*Counter(row.block for row in rows).values()]
        pairs = sum(n * (n - 1) // 2 for n in counts)
        body.append([html.escape(name or "all"), f"{len(rows):,}", f"{len(blocks):,}", f"{len({r.cluster for r in rows} - {''}):,}",
                     f"{max(counts):,}", f"{pairs:,}"])  # fmt: skip
    header = ["collection", "mentions", "blocks", "persons", "largest block", "pairs"]
    chapter.show(report.table(header, body, f"S2AND, {task.source} data."))
