"""What the task explorer shows of one task's data: examples drawn by a seed, and how its labels are spread.

`examples` returns plain dicts, one shape for each type of task, in which a text is a `Ref` (tasks.py replaces it by its
place in the widget's table of texts); `charts` returns bars and columns with their counts.

    labelled   split, paper, labels or value                    classification, regression (SciRepEval A.3, A.4)
    ranking    query, candidates [grade, word, paper], totals   proximity, search, retrieval, CSFCube's facets
    labels     paper, gold and matched labels                   label ranking (SciMult 4.2)
    reviewers  submission, reviewers [grade, word, id, papers]  reviewer matching (SciRepEval A.2)
    block      clusters of author mentions                      S2AND
    self       paper                                            textual neighbours, section 4
    triple     query, positive, negative                        training data

Of a ranking at most `CANDIDATES` are kept, drawn from its grades in turn, so that every grade is there; `totals` say how
many each has.
"""

from __future__ import annotations

import itertools
import random
import statistics
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

from scirep_core.data import task as schema
from scirep_core.data.inventory import TASKS, TaskSpec
from scirep_core.data.literature.emit.scirepeval import classification
from scirep_core.data.literature.lexicon import FIELDS, MAG, lexicon
from scirep_core.data.readers.csfcube import FacetCollection
from scirep_core.data.readers.samples import SAMPLES
from scirep_core.data.rows import classes
from scirep_core.data.task import Task
from scirep_core.kit.formats import FACET_OF_LABEL
from scirep_core.kit.records import grouped
from scirep_core.page.widgets.common import View, clip

CANDIDATES, MENTIONS, REVIEWERS, GOLD = 12, 14, 6, 12
"""At most so many candidates, author mentions, reviewers and gold labels in one example."""
PAPERS_EACH, UNJUDGED, SHORT = 3, 3, 220  # titles of a reviewer; other papers of a pool; characters of a definition
BARS, COLUMNS = 30, 14
MAIN, SIDE, TITLE = 0, 1, 2
"""How much of a text an example shows: all that is kept, what a candidate gets, the title alone."""


class Ref(NamedTuple):
    """A paper or bare query by its id, or a text itself; and how much of it is shown."""

    key: str
    role: int = MAIN


_RELEVANT = ("not relevant", "partially relevant", "relevant")
_LIKED = ("not liked", "liked")
GRADES: dict[str, tuple[str, ...]] = {
    "same_author": ("by a namesake", "by the same author"),
    "high_influence_cite": ("cited, not influential", "highly influential citation"),
    "search": ("not clicked", "clicked"),
    "relish": ("irrelevant", "partially relevant", "relevant"),
    "nfcorpus": ("not relevant", "indirectly relevant", "directly relevant"),
    "trec_covid": _RELEVANT,
    "trec-covid": _RELEVANT,
    "feeds_1": _LIKED,
    "feeds_m": _LIKED,
    "feeds_title": _LIKED,
    "scidocs_view": ("drawn at random", "viewed together"),
    "scidocs_read": ("drawn at random", "read together"),
    "scidocs_cite": ("drawn at random", "cited by the query"),
    "scidocs_cocite": ("drawn at random", "cited together"),
    "mdcr": ("not cited by the query", "cited by the query"),
    "links/cite": ("not linked", "linked by a citation"),
    "links/co-cite": ("not linked", "cited together"),
    "recommendation": ("", "1 of 5, lowest", "2 of 5", "3 of 5", "4 of 5", "5 of 5, highest"),
    "facets": ("unrelated", "related", "similar", "near identical"),
    "reviewer_matching": ("0 or 1: not relevant", "", "2: relevant if judged softly", "3: relevant"),
}
"""What grades from 0 mean, by configuration, reader or type; CSFCube's words are those of its section 4."""


def class_names(task: Task) -> tuple[str, ...]:
    """Return the names of a task's classes; the released label files hold numbers, () where nothing names them."""
    if isinstance(task.payload, schema.Labelled) and task.payload.label_names:
        return task.payload.label_names
    if task.name in ("scirepeval/fos", "scirepeval/biomimicry"):
        return FIELDS if task.name.endswith("fos") else ("not about biomimicry", "about biomimicry")
    if task.source != "embedded":
        return ()
    topics = [topic.name for topic in lexicon().topics if topic.field == FIELDS.index("Medicine")]
    invented: dict[str, Callable[[], tuple[str, ...]]] = {
        "scirepeval/mesh_descriptors": classification.descriptor_names,
        "scirepeval/drsm": lambda: classification.PURPOSES,
        "scirepeval/scidocs_mag": lambda: MAG,
        "scirepeval/scidocs_mesh": lambda: tuple(topics[: classification.DISEASES]),
    }
    return invented[task.name]() if task.name in invented else ()


def spec_of(name: str) -> TaskSpec | None:
    """Return a task's row of the inventory; of a real sample that of the task it is like, less what the paper prints."""
    if name in SAMPLES:
        like = TASKS[SAMPLES[name].like]
        title, manifest = f"{like.title} (sample)", SAMPLES[name].manifest
        return like._replace(paper="sample", title=title, manifest=manifest, rows=(), relation="", expect={})
    return TASKS.get(name)


def grade_word(task: Task | FacetCollection, grade: int | None) -> str:
    """Return what a grade means in a task; None is a paper of the pool that nobody judged."""
    if grade is None:
        return "in the pool, not judged"
    spec = None if isinstance(task, FacetCollection) else spec_of(task.name)
    kind = "facets" if isinstance(task, FacetCollection) else task.type
    words = GRADES.get(kind) or (GRADES.get(spec.config or spec.reader, ()) if spec else ())
    if 0 <= grade < len(words) and words[grade]:
        return words[grade]
    if grade > 1 and len(words) == 2:
        return words[1]  # a count, of clicks for instance
    return {0: "not relevant", 1: "relevant", 2: "highly relevant"}.get(grade, f"grade {grade}")


# ---- examples -------------------------------------------------------------------------------------------------------


def examples(task: Task | FacetCollection, wanted: int, seed: int) -> list[View]:
    """Return up to `wanted` examples of a task, the same ones for the same data and seed."""
    rng = random.Random(f"{seed}/{task.name}/{task.source}")
    if isinstance(task, FacetCollection):
        return _faceted(task, wanted, rng)
    return _EXAMPLES[type(task.payload)](task, task.payload, wanted, rng)


def _some(pool: Iterable[Any], wanted: int, rng: random.Random) -> list[Any]:
    items = list(pool)
    return rng.sample(items, min(wanted, len(items)))


def _labelled(task: Task, data: schema.Labelled, wanted: int, rng: random.Random) -> list[View]:
    rows, names = [(split, row) for split in data.splits for row in data.splits[split]], class_names(task)
    return [
        {"kind": "labelled", "split": split, "paper": Ref(row.paper_id)}
        | ({"value": row.label} if task.type == "regression" else {"labels": _names(names, row.label)})
        for split, row in _some(rows, wanted, rng)
    ]


def _names(names: Sequence[str], label: schema.Label) -> list[str]:
    return [names[k] if 0 <= k < len(names) else f"class {k}" for k in classes(label)]


def keep(grades: Sequence[int | None], most: int, rng: random.Random) -> list[int]:
    """Return at most `most` positions, drawn from the grades in turn (from the extreme ones, if there are too many).

    Best grade first, in the order given within a grade; what nobody judged (None) comes last.
    """
    places: dict[int, list[int]] = defaultdict(list)
    for position, grade in enumerate(grades):
        places[-1_000_000 if grade is None else grade].append(position)
    levels = sorted(places, reverse=True)
    if len(levels) > most:
        levels = levels[: most - most // 2] + levels[len(levels) - most // 2 :]
    drawn = [rng.sample(places[level], len(places[level])) for level in levels]
    turns = (found[turn] for turn in range(len(grades)) for found in drawn if turn < len(found))
    positions = list(itertools.islice(turns, most))
    order = {position: -level for level, found in places.items() for position in found}
    return sorted(positions, key=lambda position: (order[position], position))


def _ranking(
    task: Task | FacetCollection, query: View, ids: Sequence[str], grades: Sequence[int | None], rng: random.Random
) -> View:
    positions = keep(grades, CANDIDATES, rng)
    totals = Counter(grades)
    levels = sorted(totals, key=lambda grade: (grade is None, -(grade or 0)))
    return {
        "kind": "ranking",
        **query,
        "candidates": [[grades[i], grade_word(task, grades[i]), Ref(ids[i], SIDE)] for i in positions],
        "totals": [[grade, grade_word(task, grade), totals[grade]] for grade in levels],
    }


def _faceted(task: FacetCollection, wanted: int, rng: random.Random) -> list[View]:
    found = []
    for query in _some(task.queries, wanted, rng):
        labels = task.papers[query.paper_id].labels
        lit = [text for text, label in zip(task.papers[query.paper_id].sentences, labels, strict=True)
               if FACET_OF_LABEL.get(label) == query.facet]  # fmt: skip
        query_view = {"query": Ref(query.paper_id), "facet": query.facet, "lit": [text[:SHORT] for text in lit[:GOLD]]}
        grades = [int(rating) for rating in task.ratings(query)]
        found.append(_ranking(task, query_view, task.candidates(query), grades, rng))
    return found


def _judged(task: Task, data: schema.Judged, wanted: int, rng: random.Random) -> list[View]:
    lists: dict[tuple[str, str], dict[str, int]] = defaultdict(dict)
    for row in data.rows:
        lists[row.query_id, row.group].setdefault(row.cand_id, row.score)
    found = []
    for query_id, group in _some(lists, wanted, rng):
        judged = lists[query_id, group]
        query_view = {"query": Ref(query_id)} | ({"group": group} if group else {})
        found.append(_ranking(task, query_view, list(judged), list(judged.values()), rng))
    return found


def _pooled(task: Task, data: schema.Pooled, wanted: int, rng: random.Random) -> list[View]:
    found = []
    for query_id in _some(data.relevant, wanted, rng):
        judged = data.relevant[query_id]
        drawn = _some(data.pool, CANDIDATES, rng)
        others = [key for key in drawn if key not in judged and (key != query_id or not data.keep_self)][:UNJUDGED]
        positions = keep(list(judged.values()), CANDIDATES - len(others), rng)
        ids = [*(list(judged)[i] for i in positions), *others]
        view = _ranking(task, {"query": Ref(query_id)}, ids, [judged.get(key) for key in ids], rng)
        totals = Counter(judged.values())
        view["totals"] = [[grade, grade_word(task, grade), totals[grade]] for grade in sorted(totals, reverse=True)]
        view["totals"].append([None, grade_word(task, None), len(data.pool) - sum(key in judged for key in data.pool)])
        found.append(view)
    return found


def _label_space(task: Task, data: schema.LabelSpace, wanted: int, rng: random.Random) -> list[View]:
    def entry(label_id: str) -> list[str]:
        label = data.labels[label_id]
        return [label.label_id, label.name, clip(label.definition, SHORT)]

    return [
        {
            "kind": "labels",
            "paper": Ref(key),
            "gold": [entry(label) for label in data.gold[key][:GOLD]],
            "of": len(data.gold[key]),
            "matched": [data.labels[label].name for label in data.matched.get(key, ())[:GOLD]],
            "matches": len(data.matched[key]) if key in data.matched else None,
        }
        for key in _some(data.gold, wanted, rng)
    ]


def _expertise(data: schema.Reviewers) -> dict[str, dict[str, int]]:
    """Return {submission: {reviewer: 3, 2 or 0}}: relevant under the hard reading, under the soft one only, neither."""
    judged: dict[str, dict[str, int]] = defaultdict(dict)
    for rows, grade in ((data.soft, 2), (data.hard, 3)):
        for row in rows:
            before = judged[row.query_id].get(row.cand_id, 0)
            judged[row.query_id][row.cand_id] = grade if row.score > 0 else before
    return judged


def _reviewers(task: Task, data: schema.Reviewers, wanted: int, rng: random.Random) -> list[View]:
    judged, found = _expertise(data), []
    for submission in _some(judged, wanted, rng):
        ids, grades = list(judged[submission]), list(judged[submission].values())
        positions = keep(grades, REVIEWERS, rng)
        rows = []
        for i in positions:
            papers = data.reviewers.get(ids[i], ())
            titles = [Ref(key, TITLE) for key in papers[:PAPERS_EACH]]
            rows.append([grades[i], grade_word(task, grades[i]), ids[i], titles, len(papers)])
        found.append({"kind": "reviewers", "paper": Ref(submission), "reviewers": rows, "of": len(ids)})
    return found


def _blocks(task: Task, data: schema.Signatures, wanted: int, rng: random.Random) -> list[View]:
    blocks: dict[str, dict[str, list[schema.Signature]]] = defaultdict(lambda: defaultdict(list))
    for row in data.rows:
        blocks[row.block][row.cluster].append(row)
    names = [name for name, clusters in blocks.items() if len(clusters) > 1]  # a name that several people share
    found = []
    for name in _some(names or blocks, wanted, rng):
        clusters = sorted(blocks[name].values(), key=lambda rows: -len(rows))
        left = MENTIONS
        shown = []
        for place, rows in enumerate(clusters):
            share = max(1, left // (len(clusters) - place)) if left > 0 else 0
            if share:
                mentions = [[row.name, clip(row.affiliation, 80), Ref(row.paper_id, TITLE)] for row in rows[:share]]
                shown.append([mentions, len(rows)])
                left -= len(mentions)
        size = sum(len(rows) for rows in clusters)
        found.append({"kind": "block", "block": name, "clusters": shown, "people": len(clusters), "of": size})
    return found


def _triples(task: Task, data: schema.Triples, wanted: int, rng: random.Random) -> list[View]:
    reservoir: list[tuple[str, schema.Triple]] = []
    seen = 0
    for split in data.splits:
        for row in data.rows(split):  # reservoir sampling: one pass, however many rows
            seen += 1
            if len(reservoir) < wanted:
                reservoir.append((split, row))
            elif (place := rng.randrange(seen)) < wanted:
                reservoir[place] = (split, row)
    return [
        {"kind": "triple", "split": split, "query": Ref(row.query), "positive": Ref(row.positive),
         "negative": Ref(row.negative) if row.negative else None}
        for split, row in reservoir
    ]  # fmt: skip


_EXAMPLES: dict[type, Callable[..., list[View]]] = {
    schema.Labelled: _labelled, schema.Judged: _judged, schema.Pooled: _pooled, schema.LabelSpace: _label_space,
    schema.Reviewers: _reviewers, schema.Signatures: _blocks, schema.Triples: _triples,
    schema.Collection: lambda task, data, *how: [{"kind": "self", "paper": Ref(key)} for key in _some(data.paper_ids, *how)],
}  # fmt: skip


# ---- how labels and grades are spread -------------------------------------------------------------------------------


def charts(task: Task | FacetCollection) -> list[View]:
    """Return what is counted of a task: bars {title, parts, rows [name, counts], more} or columns {title, columns, note}."""
    if isinstance(task, FacetCollection):
        grades = {query: [int(r) for r in task.ratings(query)] for query in task.queries}
        return _grade_charts(task, list(grades.values()), "candidates")
    data = task.payload
    if isinstance(data, schema.Labelled):
        if task.type == "regression":
            values = [row.label for rows in data.splits.values() for row in rows if not isinstance(row.label, tuple)]
            return [_columns("Papers by value", values)]
        return [_class_bars(task, data)]
    if isinstance(data, schema.Judged):
        lists = grouped(data.rows, lambda row: (row.query_id, row.group)).values()
        return _grade_charts(task, [[row.score for row in rows] for rows in lists], "candidates")
    if isinstance(data, schema.Pooled):
        return _grade_charts(task, [list(judged.values()) for judged in data.relevant.values()], "judged papers")
    if isinstance(data, schema.LabelSpace):
        uses = Counter(label for labels in data.gold.values() for label in labels)
        rows = [[data.labels[label].name, [n]] for label, n in uses.most_common()]
        return [_bars("Papers per label", rows, 10, "labels"),
                _columns("Gold labels per paper", [len(labels) for labels in data.gold.values()])]  # fmt: skip
    if isinstance(data, schema.Reviewers):
        judged = [list(found.values()) for found in _expertise(data).values()]
        return _grade_charts(task, judged, "reviewers")
    if isinstance(data, schema.Signatures):
        people = Counter(row.cluster for row in data.rows)
        return [_columns("Mentions per person", list(people.values())),
                _columns("Mentions per block of equal names", list(Counter(row.block for row in data.rows).values()))]  # fmt: skip
    if isinstance(data, schema.Collection):
        years = [paper.year for paper in task.texts() if paper.year]
        if years:
            return [_columns("Papers by year", years)]
        return [_columns("Papers by words in their title", [len(p.title.split()) for p in task.texts()])]
    asked = Counter(row.query for split in data.splits for row in data.rows(split))
    return [_columns("Training pairs per query", list(asked.values()))]


def _class_bars(task: Task, data: schema.Labelled) -> View:
    splits, names = list(data.splits), class_names(task)
    uses: dict[str, list[int]] = {}
    for place, split in enumerate(splits):
        for row in data.splits[split]:
            for name in _names(names, row.label):
                uses.setdefault(name, [0] * len(splits))[place] += 1
    rows = [[name, counts] for name, counts in sorted(uses.items(), key=lambda item: (-sum(item[1]), item[0]))]
    title = "Papers per label, a paper may have several" if data.multi_label else "Papers per label"
    return _bars(title, rows, BARS, "labels", splits)


def _grade_charts(task: Task | FacetCollection, lists: Sequence[Sequence[int | None]], what: str) -> list[View]:
    totals = Counter(grade for grades in lists for grade in grades)
    words = {grade: grade_word(task, grade) for grade in sorted(totals, key=lambda grade: -(grade or 0))}
    rows = [[word if word[0].isdigit() else f"{grade} {word}", [totals[grade]]] for grade, word in words.items()]
    return [_bars("Judgements by grade", rows, COLUMNS, "grades") | {"top": max((g for g in totals if g is not None), default=0)},
            _columns(f"{what.capitalize()} per query", [len(grades) for grades in lists])]  # fmt: skip


def _bars(title: str, rows: list[Any], most: int, what: str, parts: Sequence[str] = ()) -> View:
    rest, shown = rows[most:], [[clip(name, 60), n] for name, n in rows[:most]]
    given = sum(sum(counts) for _, counts in rest)
    more = f"and {len(rest):,} more {what}, given {given:,} times in all" if rest else ""
    return {"title": title, "parts": list(parts), "rows": shown, "more": more}


def _columns(title: str, values: Sequence[float]) -> View:
    """Return counts of values in at most `COLUMNS` columns, one for each value where these are few whole numbers."""
    if not values:
        return {"title": title, "columns": [], "note": "none"}
    low, high, whole = min(values), max(values), all(float(value).is_integer() for value in values)
    if whole:
        width = -(-(int(high) - int(low) + 1) // COLUMNS)
        counts = Counter((int(value) - int(low)) // width for value in values)
        edges = [int(low) + k * width for k in range(max(counts) + 1)]
        columns = [[str(a) if width == 1 else f"{a}–{a + width - 1}", counts[k]] for k, a in enumerate(edges)]
    else:
        step = (high - low) / COLUMNS or 1.0
        counts = Counter(min(int((value - low) / step), COLUMNS - 1) for value in values)
        columns = [[f"{low + k * step:.3g} to {low + (k + 1) * step:.3g}", counts[k]] for k in range(COLUMNS)]
    middle = statistics.median(values)
    first, last = ("earliest", "latest") if "year" in title.lower() else ("smallest", "largest")
    note = f"{len(values):,} in all; {first} {_short(low)}, median {_short(middle)}, {last} {_short(high)}"
    return {"title": title, "columns": columns, "note": note}


def _short(value: float) -> str:
    return f"{int(value)}" if float(value).is_integer() else f"{value:.3g}"
