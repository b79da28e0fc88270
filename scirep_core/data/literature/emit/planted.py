"""What is planted in every embedded task, as data: the chapter on the literature prints it, a test holds the tasks to it.

`decided_by` names the latents that decide who is right, `exact` says that nobody errs, so that the oracle reaches 100 on the
task's main metric (S2AND: nearly, on the `metric` named), `errs` says what keeps it below. Where chance has a say, the oracle
is the best order we know to make of the latents with one vector a paper: a strong reference, no proven bound.

What was fixed when: which latents decide a task, and whether a held-out task is `related` to a training task of its format
(data/inventory.py), before any encoder was trained. How OFTEN abstracts show quality, tone, standing and era
(plans.RATES), the sizes of small tasks and how readers wander were set with scores of TF-IDF and MiniLM in sight, on the
literature of seed 0; the chapter `beyond/literature` therefore runs on another seed.
"""

from __future__ import annotations

from typing import NamedTuple


class Planted(NamedTuple):
    """What decides a task, whether the oracle reaches 100, what keeps it below where it does not, and on which metric.

    Of S2AND nobody errs, but both its metrics depend on what was learnt from other blocks: in the pipeline how far to trust
    a vector beside names and years, of vectors alone a threshold. At the sizes tried the oracle is at 100 or within a point of it.
    """

    decided_by: str
    exact: bool
    errs: str = ""
    metric: str = ""


def _exact(decided_by: str, metric: str = "") -> Planted:
    return Planted(decided_by, True, "", metric)


def _noisy(decided_by: str, errs: str) -> Planted:
    return Planted(decided_by, False, errs)


_LABELS = "area, topic, problem; methods and findings with their families and groups"
_CITED = "problem, topic, area, field, method; fame"
_LUCK = "which of the suitable papers is cited is chance"
PLANTED: dict[str, Planted] = {
    "scirepeval/mesh_descriptors": _exact("area of a life science and whether the main finding is an improvement"),
    "scirepeval/fos": _noisy("field and second field", "silver training labels come from the venue and are partly wrong"),
    "scirepeval/cite_count": _noisy("quality, year, field", "luck; who happens to cite"),
    "scirepeval/pub_year": _exact("year: forms of concepts, methods in use, era sentences"),
    "scirepeval/same_author": _exact("authorship, betrayed by style and topic"),
    "scirepeval/high_influence_cite": _noisy("problem, family of methods, group of findings", "mentions by chance"),
    "scirepeval/cite_prediction": _noisy(_CITED, _LUCK),
    "scirepeval/search": _noisy("problem, topic; method, author or venue where named", "position, chance clicks"),
    "scirepeval/biomimicry": _exact("whether a design copies an organism"),
    "scirepeval/drsm": _exact("what a paper on a disease is for"),
    "scirepeval/scidocs_mag": _exact("field, on problems unseen in training"),
    "scirepeval/scidocs_mesh": _exact("disease topic, on problems unseen in training"),
    "scirepeval/peer_review_score": _noisy("quality", "reviewers err"),
    "scirepeval/hindex": _noisy("seniority of the team", "luck of each author"),
    "scirepeval/tweet_mentions": _noisy("hype", "who happens by"),
    "scirepeval/s2and": _exact("authorship, as in same_author", "b3_f1_vectors"),
    "scirepeval/paper_reviewer_matching": _noisy("topic, family, area and field of a reviewer's papers",
                                                 "judges doubt; few submissions have ten experts"),
    "scirepeval/relish": _noisy("topic, family of methods, area", "the middle of three raters who err"),
    "scirepeval/scidocs_view": _noisy("problem, topic; obstacle, mode", "sessions wander"),
    "scirepeval/scidocs_read": _noisy("problem, topic; condition, quality", "sessions wander"),
    "scirepeval/scidocs_cite": _noisy(_CITED, _LUCK),
    "scirepeval/scidocs_cocite": _noisy(_CITED, _LUCK),
    "scirepeval/nfcorpus": _exact("problem and topic, asked in a layman's words"),
    "scirepeval/trec_covid": _noisy("problem and family of methods within a topic", "one assessor errs"),
    "scirepeval/feeds_1": _noisy("mode, condition, polarity", "readers' moods"),
    "scirepeval/feeds_m": _noisy("mode, condition, polarity, and what three papers share", "readers' moods"),
    "scirepeval/feeds_title": _noisy("mode, condition, polarity, asked by a title", "readers' moods"),
    "scirepeval/mdcr": _noisy("problem, family, group of findings, topic", _LUCK),
    **{f"neighbours/{name}": _exact("identity: a paper is asked for by its own title") for name in (
        "acl_anth", "iclr", "arxiv_cs_sy", "arxiv_math_at", "arxiv_hep_th", "arxiv_qbio_nc", "arxiv_econ")},
    **{f"scimult/{name}": _exact(_LABELS) for name in ("cs_conference", "chemistry_mesh", "geography", "psychology")},
    "scimult/mag": _exact("field"),
    "scimult/mesh": _exact("disease topic"),
    "scimult/cite": _noisy(_CITED, _LUCK),
    "scimult/cocite": _noisy("the same, twice removed", _LUCK),
    "scimult/ppr": _exact("problem a patient suffers from"),
    "scimult/pmc_par": _exact("problem and topic a patient suffers from"),
    "scimult/pmc_ppr": _exact("problem and topic a patient suffers from"),
    "scimult/coview": _noisy("as scirepeval/scidocs_view", "sessions wander"),
    "scimult/coread": _noisy("as scirepeval/scidocs_read", "sessions wander"),
    "scimult/cite_rerank": _noisy("as scirepeval/scidocs_cite", _LUCK),
    "scimult/cocite_rerank": _noisy("as scirepeval/scidocs_cocite", _LUCK),
    "scimult/recommendation": _noisy("topic, problem, family, group of findings", "readers err by a point"),
    "scimult/search": _noisy("as scirepeval/search", "position, chance clicks"),
    "scimult/trec_covid": _noisy("as scirepeval/trec_covid", "one assessor errs"),
    "scimult/trec_covid_beir": _exact("problem, topic"),
    "scimult/scifact": _exact("method, aspect, condition and, where named, problem"),
    "scimult/nfcorpus": _exact("problem, topic, two questions in three in lay words"),
    "scimult/pretrain_cs_journal": _exact(_LABELS),
    "scimult/pretrain_biomedicine_mesh": _exact(_LABELS),
    "scimult/pretrain_coarse": _exact("field"),
    "scimult/pretrain_citation": _noisy(_CITED, _LUCK),
    "scimult/pretrain_search": _noisy("problem", "chance clicks"),
}  # fmt: skip
"""Embedded task -> what is planted. CSFCube's is in ratings.py: its truth is graded by facet, its ratings are noisy."""
