"""One small task of every type, by hand: for the tests of folders, evaluators and the command line."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path

import numpy as np

from scirep_core.data.rows import Example, FewShot, LabelText, Qrel, Signature, Triple
from scirep_core.data.task import Collection, Judged, Labelled, LabelSpace, Pooled, Reviewers, Signatures, Task, Triples
from scirep_core.kit.records import Paper
from scirep_core.results import Result

IDS = tuple(f"p{i}" for i in range(12))


def texts() -> Iterator[Paper]:
    for i, key in enumerate(IDS):
        yield Paper(key, f"On stacks, part {i}", f"We push and pop. \u2028 Number {i}.", 2000 + i, venue="Stack Days")


def triples(split: str) -> Iterator[Triple]:
    yield from {"train": [Triple("p0", "p1", "p5"), Triple("p5", "p0", "p6"), Triple("p2", "p3")]}[split]


def task(type_: str, payload, metrics, **more) -> Task:
    return Task(
        f"small/{type_}", type_, more.pop("format", "PRX"), tuple(metrics), payload, "folder", "", texts=texts, **more
    )


def all_tasks() -> dict[str, Task]:
    """Return {name: task}, every type at least once."""
    binary = [Example(key, int(i >= 6)) for i, key in enumerate(IDS)]
    hot = [Example(key, (int(i < 6), int(i % 2), int(i >= 4))) for i, key in enumerate(IDS)]
    real = [Example(key, float(i)) for i, key in enumerate(IDS)]
    qrels = (Qrel("p0", "p1", 2), Qrel("p0", "p2", 0), Qrel("p0", "p3", 1), Qrel("p4", "p5", 0), Qrel("p4", "p6", 1))
    groups = tuple(row._replace(group="biology" if row.query_id == "p0" else "physics") for row in qrels)
    labels = {f"L{i}": LabelText(f"L{i}", f"topic {i}", "what it is" if i else "") for i in range(4)}
    return {
        "classification": task("classification", Labelled({"train": tuple(binary), "test": tuple(binary[3:9])},
                               few_shot=(FewShot(4, 2),)), ["f1", "f1_macro", "accuracy"], format="CLF", version=3),
        "multi_label": task("classification", Labelled({"train": tuple(hot), "validation": tuple(hot[:3]), "test": tuple(hot)},
                            multi_label=True, label_names=("a", "b", "c")), ["f1_macro"], format="CLF"),
        "regression": task("regression", Labelled({"train": tuple(real), "test": tuple(real[2:])}), ["kendall_tau", "pearson"],
                           format="RGN"),
        "proximity": task("proximity", Judged(qrels), ["map", "ndcg", "mrr"]),
        "groups": task("proximity", Judged(groups), ["map", "recall@5"], related="related", notes="by hand"),
        "adhoc_search": task("adhoc_search", Judged((Qrel("q1", "p1", 1), Qrel("q1", "p2", 0)), text_query=True),
                             ["ndcg@10"], format="QRY", queries={"q1": "how to pop"}),
        "retrieval": task("retrieval", Pooled({"p0": {"p2": 1, "p1": 2}, "p3": {"p4": 1}}, IDS), ["recall@2", "mrr", "ndcg@10"],
                          similarity="dot"),
        "search": task("retrieval", Pooled({"q1": {"p1": 1}, "q2": {"p0": 0, "p2": 1}}, IDS, False, True), ["ndcg@10"],
                       format="QRY", queries={"q1": "how to pop", "q2": "how to push"}, similarity="cosine"),
        "label_ranking": task("label_ranking", LabelSpace({"p0": ("L1",), "p1": ("L2", "L0"), "p2": ()}, labels,
                              {"p0": ("L1", "L3"), "p1": ()}), ["recall@1", "recall@2"], format="CLF", similarity="dot"),
        "reviewer_matching": task("reviewer_matching", Reviewers(
            (Qrel("p0", "r1", 1), Qrel("p0", "r2", 0), Qrel("p1", "r1", 0), Qrel("p1", "r2", 1)),
            (Qrel("p0", "r1", 1), Qrel("p0", "r2", 1), Qrel("p1", "r1", 0), Qrel("p1", "r2", 1)),
            {"r1": ("p2", "p3"), "r2": ("p4", "p5", "p6", "p7")}), ["hard_p@5", "soft_p@5", "mean_of_four"], similarity="cosine"),
        "author_disambiguation": task("author_disambiguation", Signatures(tuple(
            Signature(f"s{i}", key, f"a/block {i % 3}", f"c{i % 6}", "A. Ode", "Univ") for i, key in enumerate(IDS))),
            ["b3_f1", "b3_p"], similarity="cosine"),
        "alternative_self": task("alternative_self", Collection(IDS), ["mrr", "median_rank", "t100"], similarity="cosine"),
        "triplets": task("triplets", Triples(triples), ["accuracy"], format="CLF"),
    }  # fmt: skip


def vectors(seed: int = 0, dim: int = 5) -> dict[str, np.ndarray]:
    """Return a vector for every id any of the tasks uses."""
    names = [*IDS, "q1", "q2", "L0", "L1", "L2", "L3", *(f"{key}/{text}" for key in IDS for text in ("t", "ta"))]
    return dict(zip(names, np.random.default_rng(seed).standard_normal((len(names), dim)), strict=True))


class Scorer:
    """What scores pairs as vectors do, by a function of query and candidate; it has no vectors. Of no ids given it knows all."""

    name, fingerprint, similarity = "scorer", "f", "a function"

    def __init__(self, of: Callable[[str, str], float], *ids: str) -> None:
        self.of, self.ids = of, ids

    def __contains__(self, key: object) -> bool:
        return not self.ids or key in self.ids

    def scores(self, query_id: str, cand_ids: Sequence[str]) -> np.ndarray:
        return np.array([self.of(query_id, cand) for cand in cand_ids], dtype=np.float64)


def values(rows: Iterable[Result]) -> dict[tuple[str, str], float]:
    """Return {(split, metric): value}."""
    return {(row.split, row.metric): row.value for row in rows}


def save(path: Path, table: dict[str, np.ndarray]) -> Path:
    """Write vectors as a file of a user's own; returns it."""
    np.savez(path, ids=list(table), vectors=np.stack(list(table.values())))
    return path
