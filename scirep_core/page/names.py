"""What a page calls systems, metrics and verdicts: one name in words each, in every figure, table and sentence.

A system without a name here goes by its own: the code name that a command takes. What it is scored on is said beside it, as
in "BM25, titles alone".
"""

from __future__ import annotations

import re

from scirep_core.evaluators.facets.facet_systems import SYSTEMS

NAMES = {name: system.label for name, system in SYSTEMS.items()} | {
    "tfidf": "TF-IDF",
    "bm25": "BM25",
    "bm25_abstract": "BM25, abstract",
    "lsa": "LSA of words",
    "characters": "LSA of characters",
    "minilm": "MiniLM",
    "minilm@cls": "MiniLM, [CLS]",
    "Base": "MiniLM",
    "scibert": "SciBERT",
    "specter": "SPECTER",
    "scincl": "SciNCL",
    "specter2_base": "SPECTER2 Base",
    "specter2": "SPECTER2 Adapters",
    "oagbert": "OAG-BERT",
    "mean:minilm": "MiniLM, one vector of the facet’s sentences",
    "ts:minilm": "MiniLM, best pair in context",
    "ot:minilm": "MiniLM, optimal transport",
    "random": "floor: random vectors",
    "oracle": "ceiling: oracle",
}
"""Code name -> words."""
PAPERS = {"scirepeval": "SciRepEval", "csfcube": "CSFCube", "neighbours": "Textual neighbours", "scimult": "SciMult"}
"""Paper of a task -> words."""
MEASURES = {
    "f1": "F1",
    "f1_macro": "macro F1",
    "f1_micro": "micro F1",
    "b3_f1": "B³ F1",
    "map": "MAP",
    "mrr": "MRR",
    "ndcg": "nDCG",
    "p": "P",
    "r": "R",
    "recall": "Recall",
    "r_precision": "R-Precision",
    "r_precision_published": "R-Precision as published",
    "kendall_tau": "Kendall’s τ",
    "pearson": "Pearson’s r",
}
"""Metric without its cut-off -> words."""
VERDICTS = {1: "Holds", -1: "Does not hold", 0: "Open"}
ANSWER = "answer.json"
HEADS = {"paper": "The paper says", "real": "We find on real papers", "untested": "Not tested here"}
"""File of a chapter's answer, and the heads of its lines unless they have their own."""


def named(system: str) -> str:
    """Return a system in words; what a run's name adds after a comma stays, but for the seed.

    >>> named("minilm"), named("bm25, titles alone"), named("lsa, seed 3")
    ('MiniLM', 'BM25, titles alone', 'LSA of words')
    """
    model, _, rest = system.partition(", ")
    rest = "" if rest.startswith("seed ") else rest
    return NAMES.get(system) or ", ".join(part for part in (NAMES.get(model, model), rest) if part)


def metric_in_words(metric: str) -> str:
    """Return a metric in words, with its cut-off; one without words goes by its own name.

    >>> metric_in_words("ndcg%20"), metric_in_words("f1"), metric_in_words("difference of p@5")
    ('nDCG%20', 'F1', 'difference of p@5')
    """
    base = re.sub(r"[@%]\d+$", "", metric)
    return metric.replace(base, MEASURES[base]) if base in MEASURES else metric
