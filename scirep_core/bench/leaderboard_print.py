"""Which printed numbers are a system's score on a task, and what that task is called here.

A table of the papers has systems as its lines or as its columns, and data sets, metrics and settings in the other names. `READ`
says of every such table how its (line, column) is read, and `LEFT_OUT` of every other exhibit why its numbers are no scores, so
that each printed number is either a row of the leaderboard or counted among what is not.

Where the task and the metric are ours, they have our names: `CS-Conference/R@20` of SciMult Table 3 is `recall@20_name_match`
of `scimult/cs_conference`. Where a table does not say which of a task's numbers it shows, or its average is of other units,
the name says so and nothing of ours meets it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

from scirep_core.bench.study_tables import TABLE_3
from scirep_core.data.inventory import NEIGHBOURS, TASKS
from scirep_core.results.published import Printed, everything


class Score(NamedTuple):
    """A printed score in our names: task, metric, split, and the system it is of."""

    task: str
    metric: str
    split: str
    system: str


Reading = Callable[[str, str], Score | None]
"""(line, column) of a table -> the score; None for a line that is no system's."""

NOT_SAID = "test or mean of settings, not said"
"""Split of a task with few-shot settings where the paper does not say which of its numbers it prints."""
_METRICS = {"MAP": "map", "nDCG": "ndcg", "MRR": "mrr", "Linear": "f1_macro", "BiEnc": "f1_macro"}
_PARTS = {"In-Train": "in-train", "Out-of-Train": "out-of-train", "SciDocs": "scidocs", "Average": "all"}
_FORMATS = {"SRCH": "QRY"}
_SETS = {spec.title: task for task, spec in NEIGHBOURS.items()}
_SCIMULT = {
    "CS-Conference": "cs_conference", "Chemistry-MeSH": "chemistry_mesh", "Geography": "geography", "Psychology": "psychology",
    "MAG Fields/BiEnc": "mag", "MeSH Diseases/BiEnc": "mesh", "Patient-to-Patient": "ppr",
    "Patient-to-Article Retrieval": "pmc_par", "Patient-to-Patient Retrieval": "pmc_ppr", "Co-view": "coview",
    "Co-read": "coread", "Recommendation": "recommendation", "SciRepEval-Search": "search",
    "TREC-COVID in SciRepEval": "trec_covid", "TREC-COVID in BEIR": "trec_covid_beir", "SciFact": "scifact",
    "NFCorpus": "nfcorpus",
}  # fmt: skip
_LINEAR = {"MAG Fields/Linear": "scirepeval/scidocs_mag", "MeSH Diseases/Linear": "scirepeval/scidocs_mesh"}
_GROUPS = {"Classification (Fine)": "SM-T3", "Classification (Coarse)": "SM-T4", "Link Prediction (Retrieval)": "SM-T5",
           "Link Prediction (Reranking)": "SM-T7", "Search": "SM-T8"}  # fmt: skip
"""Line of SciMult Tables A4, A5 and A7 -> the table whose average it is."""


def metric_of(printed: str) -> str:
    """Return our name of a printed metric.

    >>> metric_of("R@1K"), metric_of("nDCG@10"), metric_of("P@10")
    ('recall@1000', 'ndcg@10', 'p@10')
    """
    base, cut, k = printed.partition("@")
    name = {"R": "recall", "P": "p"}.get(base) or _METRICS[base]
    return name + cut + k.replace("1K", "1000")


def _csfcube(line: str, column: str) -> Score:
    facet, _, metric = column.partition("/")
    return Score(f"csfcube/{facet}", metric, "test", line)


def _averages(version: str) -> Reading:
    return lambda line, column: Score(f"scirepeval/average-{version}", "average", _PARTS[column], line)


def _aspects(exhibit: str) -> Reading:
    return lambda line, column: Score(f"average/{exhibit}", column, "test", line)


def _codes(model: str) -> Reading:
    """Read a table of one model's vectors under each code: a task a line, a code a column."""

    def read(line: str, column: str) -> Score:
        part, _, form = line.partition("/")
        code = {"Classification": "CLF", "Regression": "RGN", "Proximity": "PRX"}.get(form, "QRY")
        task = next(
            t for t in TABLE_3 if TASKS[t].format == code and (TASKS[t].relation == "in-train") == (part == "in-train")
        )
        spec = TASKS[task]
        metric = "mean_of_four" if "mean_of_four" in spec.metrics else spec.metrics[0]
        return Score(task, metric, NOT_SAID if spec.few_shot else "test", f"{model} as {column}")

    return read


def _affinity(version: str, model: str) -> Reading:
    """Read a table of models trained on some formats; v1's averages leave SciDocs out, so its mean of all is another one."""

    def read(line: str, column: str) -> Score | None:
        part, _, form = column.partition("/")
        if line.startswith("appendix") or form not in ("Avg", "CLF", "RGN", "PRX", "SRCH"):
            return None
        whole = "all" if version == "v2" else "all but SciDocs"
        own = {"All": whole}.get(part) or _PARTS[part]
        split = own if form == "Avg" else f"{own}/{_FORMATS.get(form, form)}"
        return Score(
            f"scirepeval/average-{version}", "average", split, f"{model} trained on {line.replace('SRCH', 'QRY')}"
        )

    return read


def _mdcr(line: str, column: str) -> Score:
    system, _, metric = column.rpartition("/")
    return Score("scirepeval/mdcr", metric_of(metric).lower(), "test" if line == "Avg" else f"test/{line}", system)


def _mdcr_means(line: str, column: str) -> Score:
    return Score("scirepeval/mdcr", metric_of(column), "test", line)


def _short(line: str, column: str) -> Score:
    way, system, metric = column.split("/")
    split = {"Task I": "task-I", "Task II": "task-II"}.get(way) or f"task-I, {way}"
    return Score(_SETS[line], {"MRR": "mrr, 0 to 1", "T100": "t100"}[metric], split, system)


def _overlap(line: str, column: str) -> Score:
    category, _, system = column.partition("/")
    return Score(_SETS[line], "aop@10", category, system)


def _overlap20(line: str, column: str) -> Score | None:
    return None if line == "Threshold" else Score("TN-T5, its collections together", "aop@20", column, line)


def _scimult(exhibit: str, suffix: str = "", system: str = "{}") -> Reading:
    """Read a table of SciMult: a system a line, data set and metric a column, the plain mean of its columns last."""

    def read(line: str, column: str) -> Score:
        name = system.format(line)
        if column == "Average":
            return Score(f"scimult/{exhibit}", "average", "test", name)
        data, _, metric = column.partition("/")
        if column in _LINEAR:
            return Score(_LINEAR[column], "f1_macro", "test", name)
        known = _SCIMULT.get(column) or _SCIMULT.get(data)
        if known is None:  # Cite and Co-cite are a retrieval in Table 5 and a reranking in Table 7
            known = {"Cite": "cite", "Co-cite": "cocite"}[data] + ("_rerank" if exhibit == "SM-T7" else "")
        return Score(f"scimult/{known}", metric_of(metric) + suffix, "test", name)

    return read


def _link_instructions(line: str, column: str) -> Score:
    link = {"Co-view": "coview", "Co-read": "coread", "Cite": "cite_rerank", "Co-cite": "cocite_rerank"}
    return Score(f"scimult/{link[line.removesuffix(' Prediction')]}", "map", "test", f"SciMult-Instruction, {column}")


def _group_means(system: str) -> Reading:
    return lambda line, column: Score(f"scimult/{_GROUPS[line]}", "average", "test", system.format(column))


READ: Mapping[str, Reading] = {
    "CS-T3": _csfcube, "CS-T4": _csfcube,
    "V2-T2": _averages("v2"), "V2-T8": _averages("v2"), "V1-T2": _averages("v1"), "V1-T3": _averages("v1"),
    "V1-C3": _averages("v1"), "V2-C3": _averages("v1"),  # appendix F of v2 repeats v1's numbers
    "V2-T3": _codes("SPECTER2 MTL CTRL"), "V1-T4": _codes("SciNCL + MTL CTRL"),
    "V2-T7": _aspects("V2-T7"), "V1-T7": _aspects("V1-T7"),
    "V2-T11": _affinity("v2", "SPECTER2 MTL CTRL"), "V1-T9": _affinity("v1", "SciNCL + MTL CTRL"),
    "V2-T5": _mdcr_means, "V2-T10": _mdcr, "SR-MDCR": _mdcr,
    "TN-T3": _short, "TN-T9": _short, "TN-T4": _overlap, "TN-T5": _overlap20,
    "SM-T3": _scimult("SM-T3", "_name_match"), "SM-TA3": _scimult("SM-TA3"), "SM-TA8": _scimult("SM-TA8", "_name_match"),
    "SM-T4": _scimult("SM-T4"), "SM-T5": _scimult("SM-T5"), "SM-T6": _scimult("SM-T6"), "SM-T7": _scimult("SM-T7"),
    "SM-T8": _scimult("SM-T8"), "SM-TA6": _link_instructions, "SM-TA4": _group_means("SciMult-{}"),
    "SM-TA5": _group_means("SciMult-{}"), "SM-TA7": _group_means("SciMult-Instruction, {}"),
}  # fmt: skip

COUNTS = "sizes and counts of collections"
AGREEMENT = "agreement of annotators"
TEXTS = "lists, texts, settings and costs"
GAPS = "differences, ratios and correlations of scores"
SAID = "bounds and statements in running text"
_WHY = {
    COUNTS: "CS-C1 CS-C4 CS-C5 CS-T1 TN-T2 SM-C2 SM-C7 SM-TA1 SM-TA2 SR-HUB V1-C7 V1-C10 "
    " V1-T1 V1-T8 V1-C5 V2-C6 V2-C7 V2-C8 V2-C9 V2-C10 V2-T1 V2-T9",
    AGREEMENT: "CS-C2 CS-C3 CS-T2",
    TEXTS: "CS-C12 TN-T1 TN-T7 TN-T8 SM-C8 SM-T1 SM-T2 V1-T5 V1-T6 V2-T4 V2-T6",
    GAPS: "SM-T9 V1-C1 V1-C2 V1-C4 V1-C6 V1-C8 V1-C9 V1-C11 V2-C1 V2-C2 V2-C4 V2-C11 V2-C12",
    SAID: "TN-C2 TN-C4 TN-C5 TN-C6 TN-C7 TN-C8 TN-C9 TN-C10 SM-C1 SM-C4 V2-C5 V2-C13 V2-C14",
}
LEFT_OUT: Mapping[str, str] = {exhibit: why for why, exhibits in _WHY.items() for exhibit in exhibits.split()}
"""Exhibit whose printed numbers are no system's score on a task -> what they are."""
UNREAD = "exhibits that nobody has read for the leaderboard yet"
REPEATED = "repeats of a score in another table"
NO_NUMBER = "ranges and lines that are no system’s in tables of scores"


def scores() -> tuple[list[tuple[Printed, Score]], dict[str, int]]:
    """Return every printed score with its name here, and how many printed numbers are none, by what they are.

    The same score of the same system printed a second time is left out; where two tables print two values, both stay.
    """
    found: list[tuple[Printed, Score]] = []
    seen: set[tuple[Score, float]] = set()
    left: dict[str, int] = {}
    for printed in everything():
        reason, score = LEFT_OUT.get(printed.exhibit, "" if printed.exhibit in READ else UNREAD), None
        if not reason:
            score = READ[printed.exhibit](printed.row, printed.column)
            reason = "" if score is not None and _is_number(printed) else NO_NUMBER
        if score is not None and not reason:
            reason = REPEATED if (score, printed.number) in seen else ""
            seen.add((score, printed.number))
        if score is None or reason:
            left[reason] = left.get(reason, 0) + 1
        else:
            found.append((printed, score))
    return found, left


def _is_number(printed: Printed) -> bool:
    try:
        printed.number  # noqa: B018
    except ValueError:
        return False
    return True
