"""Whole tables over seeds, as data: which variants, on which bases, scored on which tasks (bench/study.py trains and scores them).

main          v2 Table 2, lower half: every way of training, beside floor, TF-IDF, the base and a control of the ensemble
bases         v2 Table 8, v1 Table 3: the same on other bases
cross         v2 Table 3, v1 Table 4: each format's vectors on tasks of each format
partitions    v2 section 7: codes for random groups of tasks in place of formats
affinity      v2 Table 11, v1 Table 9: trained on one or two formats
objective     v2 appendix F: without citation triplets, on a base that has not seen them
batching      v1 appendix B, v2 section 5: how batches are mixed, how losses weigh, how codes begin
ensembles     v2 section 6, note 7: mean and concatenation, beside two trainings of one kind
efficiency    v2 Table 4, v1 Table 5: parameters a format, time to train and to encode (bench/speed/efficiency.py)
samples       the same on a few hundred real papers, with MiniLM as base
scimult       SciMult Tables 3 to 5, 7 to 9: five ways of training, in two stages, contrastive
scimult-choices   SciMult Tables A4, A5 and what the paper leaves open: negatives, warm start, masking, one task alone
widths        ours: does one vector for all tasks fall behind because it is narrow?
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from scirep_core.bench.speed.efficiency import TABLE_4
from scirep_core.kit.errors import ConfigError, nearest
from scirep_core.kit.formats import FORMATS
from scirep_core.training.variants import ALONE, PARTITIONS, SUBSETS, Budget, variant

OWN = "own"
"""The code of a task's own format; else one format's vectors are used for every task."""


@dataclass(frozen=True)
class Study:
    """What a table holds.

    Attributes:
        tasks: a suite, or tasks by name; the benchmark's average needs the suite.
        budget: what it takes unless another is asked for.
        codes: whether each format's vectors are scored on every task too, where there are several.
        references: systems without training, beside the variants.
        widths: of the embedded base; none: the budget's.
        names_base: whether rows say their base, as where there are several.
        similarity: of trained models' vectors, unless each task's own: SciMult compares by inner product everywhere.
        split: the one setting of each task that is scored, `test` say: without few-shot settings, which take longer than all
            others together, and of a suite without the tasks whose units of the average need them; all of them unless named.
    """

    exhibits: tuple[str, ...]
    text: str
    variants: tuple[str, ...]
    bases: tuple[str, ...] = ("embedded",)
    tasks: str | tuple[str, ...] = "scirepeval"
    codes: bool = False
    references: tuple[str, ...] = ()
    budget: str = "small"
    widths: tuple[int, ...] = ()
    names_base: bool = False
    split: str | None = None
    similarity: str | None = None


TABLE_3 = tuple(
    f"scirepeval/{name}"
    for name in ("fos", "cite_count", "same_author", "search",
                 "drsm", "peer_review_score", "paper_reviewer_matching", "trec_covid")
)  # fmt: skip
"""One in-train and one out-of-train task a format (v2 section 7, footnote 8)."""
TABLE_2 = ("Base", "MTL CLS", "MTL CTRL", "Adapters", "PALs", "Fusion", "Adapters + MTL CTRL")
OURS = ("one pass", "MTL CLS dense", "one pass dense", "mean of two MTL CLS")

FIVE = ("Vanilla", "MHAExpert", "FFNExpert", "Prefix", "Instruction")

STUDIES: dict[str, Study] = {
    "main": Study(
        ("V2-T2", "V1-T2"), "one vector or one a format", (*TABLE_2, *OURS), references=("random", "tfidf", "oracle")
    ),
    "bases": Study(
        ("V2-T8", "V1-T3"), "the same on other bases", ("Base", "MTL CLS", "MTL CTRL", "Adapters", "Adapters + MTL CTRL"),
        ("embedded untrained", "embedded specter", "embedded"), names_base=True,
    ),
    "cross": Study(
        ("V2-T3", "V1-T4"), "each format's vectors on each format's tasks", ("MTL CTRL", "Adapters", "one pass dense"),
        tasks=TABLE_3, codes=True,
    ),
    "partitions": Study(
        ("V2-C1", "V1-C2"), "codes for random groups of tasks", ("MTL CTRL", *PARTITIONS), tasks=TABLE_3, codes=True
    ),
    "affinity": Study(("V2-T11", "V1-T9", "V2-C14"), "trained on one or two formats", (*SUBSETS, "MTL CTRL")),
    "objective": Study(
        ("V2-C3", "V1-C3"), "without citation triplets", ("Base", "MTL CTRL", "MTL CTRL without citations"),
        ("embedded untrained",),
    ),
    "batching": Study(
        ("V1-C11",), "how batches are mixed, how losses weigh, how codes begin",
        ("MTL CTRL", "MTL CTRL, proportional batches", "MTL CTRL, one task after another", "MTL CTRL, codes as [CLS]",
         "MTL CTRL, codes as [CLS] with noise", "MTL CTRL, losses balanced"),
    ),
    "ensembles": Study(
        ("V2-C12", "V1-C9"), "mean, concatenation, and what two trainings of one kind give",
        ("MTL CLS", "MTL CTRL", "Adapters", "Adapters + MTL CTRL", "Adapters ++ MTL CTRL", "mean of two MTL CLS",
         "mean of two MTL CTRL"),
    ),
    "samples": Study(
        ("V2-T8",), "real papers, a few hundred, on a base with real weights",
        ("Base", "MTL CLS", "MTL CTRL", "Adapters", "one pass dense"), ("minilm",), tasks="samples", budget="samples",
    ),
    "scimult": Study(
        ("SM-T3", "SM-T4", "SM-T5", "SM-T7", "SM-T8", "SM-T9"), "SciMult's five, and Vanilla trained as long as two stages",
        ("Base", *(f"SciMult {name}" for name in FIVE), "SciMult Vanilla, as long"),
        ("embedded untrained",), tasks="scimult", references=("random", "tfidf", "oracle"), similarity="dot",
    ),
    "scimult-choices": Study(
        ("SM-TA4", "SM-TA5"), "hard negatives, warm start, duplicates, and each task alone",
        ("SciMult Vanilla", *(f"SciMult Vanilla{choice}" for choice in (
            " without label negatives", ", duplicates as negatives", ", lower layers slower",
            *(f" on {what} alone" for what in ALONE))), "SciMult MHAExpert", "SciMult MHAExpert from the start"),
        ("embedded untrained",), tasks="scimult", similarity="dot",
    ),
    "efficiency": Study(("V2-T4", "V1-T5"), "parameters and time, measured side by side", TABLE_4),
    "widths": Study(
        (), "one vector and several, by width", ("Base", "MTL CLS", "MTL CTRL", "MTL CLS dense", "one pass dense"),
        widths=(32, 64, 128, 256),
    ),
}  # fmt: skip


def study(name: str) -> Study:
    """Return a study by name. Raises ConfigError naming the nearest."""
    if name not in STUDIES:
        raise ConfigError(f"unknown study {name!r}; {nearest(name, STUDIES)}")
    return STUDIES[name]


class Cell(NamedTuple):
    """One system of a study: a variant on a base, trained with a seed, its vectors of one code or each task's own."""

    variant: str
    base: str
    width: int
    seed: int
    code: str = OWN

    def label(self, of: Study) -> str:
        """Return its name in rows: what tells it from the study's other cells, the seed last."""
        on = f" on {self.base}" if of.names_base or len(of.bases) > 1 else ""
        wide = f", width {self.width}" if of.widths else ""
        code = f" as {self.code}" if self.code != OWN else ""
        return f"{self.variant}{on}{code}{wide}, seed {self.seed}"


def cells(of: Study, seed: int, given: Budget) -> list[Cell]:
    """Return a study's cells of one seed; a base that is not trained is there with seed 0 alone."""
    found = []
    for on in of.bases:
        for width in of.widths or (given.width,):
            for name in of.variants:
                known = variant(name)
                if seed and not (known.kind or known.members):
                    continue
                codes = [] if known.codes else [OWN]  # a code for a random group is no format's own
                codes += list(FORMATS) if of.codes and known.many else []
                found += [Cell(name, on, width, seed, code) for code in codes]
    return found
