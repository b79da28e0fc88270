"""Every task of the five papers, one row each: what is asked, how it is scored, where its files are, how many it has.

    SciRepEval v2 Table 1 (24 tasks, cite_prediction trains only), v1 Table 1 (three Feeds tasks more), MDCR (v2 Table 5);
    CSFCube (read by csfcube.py); textual neighbours Table 2 (seven collections);
    SciMult Tables A1 and A2.

`expect` quotes the counts as printed, under names a reader counts again: train, test (rows), queries, pairs (judged
query-candidate pairs), papers, labels, clusters, signatures; the releases differ from the print here and there. `relation`
was declared before any encoder was trained: `in-train`, or for held-out tasks `related` (on the embedded literature it
shares latents with a training task of its format) or `unrelated`.

`MORE` is for collections of no paper here: a task folder that comes through a manifest, read by `folder.py`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, NamedTuple

from scirep_core.data.task import FewShot, TaskType
from scirep_core.data.task_json import TYPES
from scirep_core.kit.formats import Format

Reader = Literal["scirepeval", "s2and", "mdcr", "scimult", "beir", "recommendation", "neighbours", "csfcube", "open"]


class TaskSpec(NamedTuple):
    """One row of the inventory.

    Attributes:
        paper: scirepeval, csfcube, neighbours or scimult.
        title: name as the paper's table prints it.
        rows: exhibits that list the task.
        reader: module of readers/ that reads the files; `config` is its configuration there.
        manifest: collection the real files come in.
        relation: in-train, related, unrelated (SciRepEval); train-only; "" where the paper makes no such difference.
    """

    paper: str
    title: str
    format: Format
    type: TaskType | Literal["facets"]
    metrics: tuple[str, ...]
    reader: Reader
    config: str
    manifest: str
    rows: tuple[str, ...]
    relation: str = ""
    expect: Mapping[str, int] = {}
    few_shot: tuple[FewShot, ...] = ()
    multi_label: bool = False
    text_query: bool = False
    version: int = 1


def _row(title: str, type: TaskType, metrics: str, config: str, relation: str, expect: Mapping[str, int],
         rows: str = "V2-T1,V1-T1", **more: object) -> TaskSpec:  # fmt: skip
    return TaskSpec("scirepeval", title, TYPES[type].format, type, tuple(metrics.split()), "scirepeval", config, "scirepeval",
                    tuple(rows.split(",")), relation, expect, text_query=type == "adhoc_search", **more)  # type: ignore[arg-type]  # fmt: skip


def _shots(*settings: tuple[int, int]) -> tuple[FewShot, ...]:
    return tuple(FewShot(*setting) for setting in settings)


SCIREPEVAL: dict[str, TaskSpec] = {f"scirepeval/{spec.config.lower() or spec.reader}": spec for spec in (
    _row("MeSH Descriptors", "classification", "f1_macro", "mesh_descriptors", "in-train",
         {"train": 2_328_179, "test": 258_687, "labels": 30}),
    _row("Fields of study (FoS)", "classification", "f1_macro", "fos", "in-train",
         {"train": 676_524, "test": 471, "labels": 23}, multi_label=True, few_shot=_shots((10, 50), (5, 100))),
    _row("Citation count", "regression", "kendall_tau", "cite_count", "in-train", {"train": 202_774, "test": 30_058}),
    _row("Year of Publication", "regression", "kendall_tau", "pub_year", "in-train",
         {"train": 218_864, "test": 30_000}),
    _row("Same Author Detection", "proximity", "map", "same_author", "in-train",
         {"train_queries": 76_489, "train_pairs": 673_170, "queries": 13_585, "pairs": 123_430}),
    _row("Highly Influential Citations", "proximity", "map", "high_influence_cite", "in-train",
         {"train_queries": 65_982, "train_pairs": 2_004_688, "queries": 1_199, "pairs": 58_255}),
    _row("Citation Prediction Triplets", "triplets", "accuracy", "cite_prediction", "in-train", {"train": 819_836}),
    _row("Search", "adhoc_search", "ndcg", "search", "in-train",
         {"train_queries": 528_497, "train_pairs": 5_284_970, "queries": 2_585, "pairs": 25_850}),
    _row("Biomimicry", "classification", "f1", "biomimicry", "unrelated",
         {"papers": 10_991}, few_shot=_shots((64, 50), (16, 100))),
    _row("DRSM", "classification", "f1_macro", "drsm", "unrelated",
         {"train": 7_520, "test": 955, "labels": 6}, few_shot=_shots((64, 50), (24, 100))),
    _row("SciDocs MAG", "classification", "f1_macro", "scidocs_mag", "related", {"papers": 23_540, "labels": 19}),
    _row("SciDocs MeSH Diseases", "classification", "f1_macro", "scidocs_mesh", "related",
         {"papers": 25_003, "labels": 11}),
    _row("Peer Review Score", "regression", "kendall_tau", "peer_review_score", "related", {"papers": 10_210}),
    _row("h-Index of Authors", "regression", "kendall_tau", "hIndex", "unrelated", {"papers": 8_438}),
    _row("Tweet Mentions", "regression", "kendall_tau", "tweet_mentions", "unrelated", {"papers": 25_655}),
    TaskSpec("scirepeval", "S2AND", "PRX", "author_disambiguation", ("b3_f1",), "s2and", "", "s2and", ("V2-T1",
             "V1-T1"), "related", {"clusters": 68_968, "signatures": 10_942}),
    _row("Paper-Reviewer Matching", "reviewer_matching", "soft_p@5 soft_p@10 hard_p@5 hard_p@10 mean_of_four",
         "paper_reviewer_matching", "related", {"queries": 107, "pairs": 1_729}),
    _row("RELISH", "proximity", "ndcg", "relish", "related", {"queries": 3_190, "pairs": 191_245}, "V2-T1"),
    _row("SciDocs Co-view", "proximity", "map ndcg", "scidocs_view", "related", {"queries": 1_000, "pairs": 29_978}),
    _row("SciDocs Co-read", "proximity", "map ndcg", "scidocs_read", "related", {"queries": 1_000, "pairs": 29_977}),
    _row("SciDocs Cite", "proximity", "map ndcg", "scidocs_cite", "related", {"queries": 1_000, "pairs": 29_928}),
    _row("SciDocs Co-cite", "proximity", "map ndcg", "scidocs_cocite", "related", {"queries": 1_000, "pairs": 29_949}),
    _row("NFCorpus", "adhoc_search", "ndcg", "nfcorpus", "related", {"queries": 323, "pairs": 44_634}, "V2-T1"),
    _row("TREC-CoVID", "adhoc_search", "ndcg", "trec_covid", "related", {"queries": 50, "pairs": 69_318}),
    _row("Feeds-1", "proximity", "map", "feeds_1", "unrelated", {"queries": 423, "pairs": 4_223}, "V1-T1"),
    _row("Feeds-M", "proximity", "map", "feeds_m", "unrelated", {"queries": 9_025, "pairs": 87_528}, "V1-T1"),
    _row("Feeds Title", "adhoc_search", "map", "feeds_title", "unrelated", {"queries": 424, "pairs": 4_233}, "V1-T1"),
    TaskSpec("scirepeval", "MDCR", "PRX", "proximity", ("map", "recall@5"), "mdcr", "", "mdcr", ("V2-T5", "V2-T10"),
             "related", {"groups": 19}),
)}  # fmt: skip

CSFCUBE: dict[str, TaskSpec] = {
    name: TaskSpec("csfcube", title, "PRX", "facets", ("ndcg%20", "r_precision", "p@20", "r@20", "map"), "csfcube",
                   facet, "csfcube", ("CS-T1",), "", expect)
    for name, title, facet, expect in (
        ("csfcube", "CSFCube", "", {"queries": 50, "pairs": 6_244}),
        ("csfcube/background", "Background", "background", {"queries": 16, "pairs": 1_877}),
        ("csfcube/method", "Method", "method", {"queries": 17, "pairs": 2_174}),
        ("csfcube/result", "Result", "result", {"queries": 17, "pairs": 2_193}),
        ("csfcube/all", "All facets", "all", {"queries": 50, "pairs": 6_244}),
    )
}  # fmt: skip

NEIGHBOURS: dict[str, TaskSpec] = {
    f"neighbours/{config}": TaskSpec(
        "neighbours", title, "PRX", "alternative_self", ("mrr", "median_rank", "t100"), "neighbours", config,
        manifest, ("TN-T2",), "", {"papers": papers})
    for config, title, manifest, papers in (
        ("acl_anth", "ACL-ANTH", "acl_anthology", 35_482),
        ("iclr", "ICLR", "iclr", 5_032),
        ("arxiv_cs_sy", "Arxiv-CS-SY", "arxiv", 10_000),
        ("arxiv_math_at", "Arxiv-MATH", "arxiv", 10_000),
        ("arxiv_hep_th", "Arxiv-HEP", "arxiv", 10_000),
        ("arxiv_qbio_nc", "Arxiv-QBIO", "arxiv", 6_903),
        ("arxiv_econ", "Arxiv-ECON", "arxiv", 4_542),
    )
}  # fmt: skip


def _scimult(title: str, type: TaskType, metrics: str, config: str, expect: Mapping[str, int], rows: str,
             format: Format = "PRX", reader: Reader = "scimult", manifest: str = "scimult",
             **more: object) -> TaskSpec:  # fmt: skip
    return TaskSpec("scimult", title, format, type, tuple(metrics.split()), reader, config, manifest,
                    tuple(rows.split(",")), "", expect, **more)  # type: ignore[arg-type]  # fmt: skip


_RECALLS = "recall@20 recall@50 recall@100"
SCIMULT: dict[str, TaskSpec] = {
    **{f"scimult/{config}": _scimult(title, "label_ranking", _RECALLS, f"fine/{folder}",
                                     {"papers": papers, "labels": labels}, "SM-TA2,SM-T3,SM-TA3", "CLF")
       for config, title, folder, papers, labels in (
        ("cs_conference", "MAPLE (CS-Conference)", "CS-Conference", 261_781, 15_808),
        ("chemistry_mesh", "MAPLE (Chemistry-MeSH)", "Chemistry-MeSH", 762_129, 30_194),
        ("geography", "MAPLE (Geography)", "Geography", 73_883, 3_285),
        ("psychology", "MAPLE (Psychology)", "Psychology", 372_954, 7_641))},
    "scimult/mag": _scimult("SciDocs (MAG Fields)", "label_ranking", "f1_macro f1_micro", "coarse/MAG",
                            {"papers": 25_001, "labels": 19}, "SM-TA2,SM-T4", "CLF"),
    "scimult/mesh": _scimult("SciDocs (MeSH Diseases)", "label_ranking", "f1_macro f1_micro", "coarse/MeSH",
                             {"papers": 23_473, "labels": 11}, "SM-TA2,SM-T4", "CLF"),
    "scimult/cite": _scimult("SciDocs (Cite)", "retrieval", _RECALLS, "links/cite",
                             {"queries": 92_214, "papers": 142_009}, "SM-TA2,SM-T5"),
    "scimult/cocite": _scimult("SciDocs (Co-cite)", "retrieval", _RECALLS, "links/co-cite",
                               {"queries": 54_543, "papers": 142_009}, "SM-TA2,SM-T5"),
    "scimult/ppr": _scimult("PMC-Patients (PPR, zero-shot)", "retrieval", _RECALLS, "links/ppr",
                            {"queries": 100_327, "papers": 155_151}, "SM-TA2,SM-T5"),
    "scimult/pmc_par": _scimult("PMC-Patients (PAR, supervised)", "retrieval", "mrr p@10 ndcg@10 recall@1000",
                                "pmc/PAR", {"queries": 5_959, "papers": 1_413_087}, "SM-TA2,SM-T6"),
    "scimult/pmc_ppr": _scimult("PMC-Patients (PPR, supervised)", "retrieval", "mrr p@10 ndcg@10 recall@1000",
                                "pmc/PPR", {"queries": 2_812, "papers": 155_151}, "SM-TA2,SM-T6"),
    **{f"scimult/{relation}": TaskSpec("scimult", title, "PRX", "proximity", ("map", "ndcg"), "scirepeval",
                                       config, "scirepeval", ("SM-TA2", "SM-T7"), "", expect)
       for relation, title, config, expect in (
        ("coview", "SciDocs (Co-view)", "scidocs_view", {"queries": 1_000, "pairs": 29_978}),
        ("coread", "SciDocs (Co-read)", "scidocs_read", {"queries": 1_000, "pairs": 29_977}),
        ("cite_rerank", "SciDocs (Cite)", "scidocs_cite", {"queries": 1_000, "pairs": 29_928}),
        ("cocite_rerank", "SciDocs (Co-cite)", "scidocs_cocite", {"queries": 1_000, "pairs": 29_949}))},
    "scimult/recommendation": _scimult("Recommendation", "proximity", "ndcg@5 ndcg@10 ndcg", "",
                                       {"queries": 137}, "SM-TA2,SM-T7", "PRX", "recommendation", "recommendation"),
    "scimult/search": _scimult("SciRepEval-Search", "adhoc_search", "ndcg@10", "search", {"queries": 2_637},
                               "SM-TA2,SM-T8", "QRY", "scirepeval", "scirepeval", text_query=True),
    "scimult/trec_covid": _scimult("TREC-COVID in SciRepEval", "adhoc_search", "ndcg@10", "trec_covid",
                                   {"queries": 50}, "SM-TA2,SM-T8", "QRY", "scirepeval", "scirepeval", text_query=True),
    **{f"scimult/{config}": _scimult(title, "retrieval", "ndcg@10", folder, expect, "SM-TA2,SM-T8", "QRY", "beir",
                                     "beir", text_query=True)
       for config, title, folder, expect in (
        ("trec_covid_beir", "TREC-COVID in BEIR", "trec-covid", {"queries": 50, "papers": 171_332}),
        ("scifact", "SciFact", "scifact", {"queries": 1_109, "papers": 5_183}),
        ("nfcorpus", "NFCorpus", "nfcorpus", {"queries": 3_237, "papers": 3_633}))},
    **{f"scimult/pretrain_{config}": _scimult(title, "triplets", "accuracy", f"pretraining/{config}",
                                              {"queries": queries, "train": pairs}, "SM-TA1", format)  # type: ignore[arg-type]
       for config, title, format, queries, pairs in (
        ("cs_journal", "MAPLE (CS-Journal)", "CLF", 358_447, 1_242_885),
        ("biomedicine_mesh", "MAPLE (Biology-MeSH + Medicine-MeSH)", "CLF", 1_345_128, 1_976_858),
        ("coarse", "MAPLE (Coarse)", "CLF", 900_000, 900_000),
        ("citation", "Citation Prediction Triplets", "PRX", 165_340, 819_836),
        ("search", "SciRepEval-Search", "QRY", 528_497, 620_033))},
}  # fmt: skip

TASKS: dict[str, TaskSpec] = {**SCIREPEVAL, **CSFCUBE, **NEIGHBOURS, **SCIMULT}
TRAINING: tuple[str, ...] = (
    "scirepeval/fos", "scirepeval/mesh_descriptors", "scirepeval/cite_count", "scirepeval/pub_year",
    "scirepeval/cite_prediction", "scirepeval/high_influence_cite", "scirepeval/same_author", "scirepeval/search",
)  # fmt: skip
"""The eight training sets of SciRepEval, in the order of its tasks_config.json's formats."""
ELSEWHERE = {
    "scirepeval/cite_pred": "scirepeval/cite_count", "scirepeval/year_pred": "scirepeval/pub_year",
    "scirepeval/mesh": "scirepeval/mesh_descriptors", "scirepeval/cite_context": "scirepeval/high_influence_cite",
    "scirepeval/specter": "scirepeval/cite_prediction",
}  # fmt: skip
"""What its tasks_config.json calls training tasks -> our name, that of its data. (Its s2and is same_author; ours is S2AND.)"""


class Further(NamedTuple):
    """A row of `MORE`: the collection, the task folder in it ("" is the whole), counts as `validate.counts` names them."""

    manifest: str
    folder: str
    expect: Mapping[str, int]


MORE: dict[str, Further] = {
    # one of your own: CONTRIBUTING.md
}
"""Tasks of other collections, real data alone: `scirep score` knows them by name, and no table of a paper has them."""
