"""Whole tables over seeds, as data: which variants, on which bases, scored on which tasks (study.py trains and scores them).

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

from dataclasses import dataclass, replace
from typing import NamedTuple

from scirep_core.bench.speed.efficiency import TABLE_4
from scirep_core.kit.errors import ConfigError, check_name, look_up
from scirep_core.kit.formats import FORMATS
from scirep_core.training.variants import ALONE, DATA_SOURCES, PARTITIONS, SUBSETS, Budget, variant

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
OPEN_TABLE_3 = (
    "open/arxiv_categories", "open/citations", "open/same_author", "open/search",
    "open/drsm", "open/review_score", "open/reviewer_match", "open/scifact",
)  # fmt: skip
"""The same of the open literature."""
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


HELPS, UNTRAINED, USELESS = "helps", "not trained enough to judge", "does not help"
"""What a trained line is said to do against its base, see `outcome.judgement`."""
MEANT: dict[str, tuple[str, ...]] = {
    "main": (
        "A line helps where the interval of its in-train average minus the base's lies above 0. Where it does not, and the "
        "dev loss was still falling at the last look of any of its trainings, it is not trained enough to judge; else it does "
        "not help.",
        "Every training encodes as many documents, fewer where its dev loss stops falling. Fusion goes on from adapters that had "
        "as many before it, and joined vectors come from two trainings: `documents` of a row is the total, and where such a line "
        "lies above one of a single training, more documents may be the reason.",
        "Several vectors beat one where MTL CTRL, Adapters or PALs lie above MTL CLS by Tukey's test, out of train above all; "
        "no significant difference with all of them judged means that the print's 1.5 to 2 points are not there at this size.",
        "The ensemble gains by its members' difference only where it lies above the mean of two MTL CLS, which has its cost.",
        "One pass is as good as four where it lies no more than a point below MTL CTRL, by interval. It reads a token of its own a "
        "format where the base takes the mean of all; what giving that up costs is in its line too.",
        "Dense labels help where a dense line lies above its own line without them, both having encoded as many documents.",
        "The base cut to the tokens that are trained on against itself at 256, minilm, says what the cut costs: below half a "
        "point it does not count.",
    ),
    "cross": (
        "A format's own vectors are the right ones where the diagonal is the highest of its column, by interval over seeds; where "
        "the columns are flat the codes were not learned, and nothing about specialisation follows.",
    ),
    "objective": (
        "The citation objective matters where MTL CTRL without citations lies below MTL CTRL on the tasks of proximity; a base "
        "that was trained on citations before answers for part of it.",
    ),
    "affinity": (
        "Formats help each other where MTL CTRL lies above what was trained on a format alone, on that format's tasks, both "
        "having encoded as many documents: a format alone then sees its own rows more often, which is against the claim.",
    ),
    "scimult": (
        "Tasks interfere where an expert, or a prefix, lies above Vanilla trained as long, on as many documents as its two stages "
        "together; where only Vanilla trained as long does, it is the steps.",
    ),
    "partitions": (
        "Formats are the right groups where MTL CTRL lies above the mean of the five random groupings over the eight tasks, by "
        "the interval over trainings and groupings, each task encoded with the code of its own group; with one training of each, "
        "MTL CTRL above all five of them is what chance gives one time in six.",
    ),
    "batching": (
        "A way of mixing, weighing or starting helps where its average over all tasks lies above MTL CTRL's by the interval over "
        "seeds; of one training each, differences within the spread of MTL CTRL's own trainings in `main` say nothing.",
    ),
    "scimult-choices": (
        "Label negatives matter where Vanilla without them lies below Vanilla on the tables of classification; the warm start "
        "where MHAExpert from the start lies below MHAExpert, which has encoded twice as many documents; and other tasks disturb "
        "one where Vanilla on it alone lies above Vanilla on its own tables. Of one training each nothing is tested.",
    ),
}  # fmt: skip
"""Study -> what its results on the open literature are taken to mean: written before any of them was looked at."""


def study(name: str) -> Study:
    """Return a study by name. Raises ConfigError naming the nearest."""
    return look_up("study", name, STUDIES)


ON_SOURCE: dict[str, dict[str | tuple[str, ...], str | tuple[str, ...]]] = {
    "open": {"scirepeval": "open", TABLE_3: OPEN_TABLE_3, "scimult": "open-scimult"}
}
"""Source with tasks of its own -> what stands there for a study's tasks."""


def on_source(of: Study, source: str, bases: tuple[str, ...] = ()) -> Study:
    """Return a study as it is made of another source: its base, tasks, budget and untrained systems.

    Args:
        source: of `DATA_SOURCES`; the samples have a study of their own.
        bases: by name, folder or hub name, instead of the source's own.

    Raises ConfigError for another source, a study that has no tasks there, widths of the embedded base.
    """
    check_name("source", source, DATA_SOURCES)
    if source in ("samples", "embedded"):  # as the study has it
        return replace(of, bases=bases or of.bases)
    if of.widths:
        raise ConfigError("widths are those of the embedded base: source = embedded")
    own, plain = (DATA_SOURCES[source].base,), DATA_SOURCES[source].plain
    tasks = ON_SOURCE[source].get(of.tasks) if source in ON_SOURCE else of.tasks
    if tasks is None:
        raise ConfigError(f"of {DATA_SOURCES[source].text} nothing stands for the tasks of this study, {of.tasks}")
    references = ("random", "tfidf", *(own if plain else ())) if of.references else ()
    named = bool(bases) and bases != own
    return replace(of, bases=bases or own, tasks=tasks, budget=source, references=references, names_base=named)


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
