"""What is planted in every embedded task, as data: the chapter on the literature prints it, a test holds the tasks to it.

Where chance has a say, the oracle is the best order we know to make of the latents with one vector a paper: a strong
reference, no proven bound.

What was fixed when: which latents decide a task, and whether a held-out task is `related` to a training task of its format
(data/inventory.py), before any encoder was trained. How OFTEN abstracts show quality, tone, standing and era
(plans.RATES), the dials `drift`, `synonymy`, `timeliness` and `reputation`, the words of queries, the sizes of small tasks and
how readers wander were set with scores of TF-IDF and MiniLM in sight, on the literature of seed 0 (3,000 papers), such that
their difference, a mean over the tasks of a format, is within 6 points of that on the open papers; the chapter
`beyond/literature` therefore runs on another seed.
"""

from __future__ import annotations

from typing import NamedTuple


class Planted(NamedTuple):
    """The latents that decide who is right, what keeps the oracle below 100 ("": nothing does) on the main metric, or on `metric`.

    Of S2AND nobody errs, but both its metrics depend on what was learnt from other blocks (authors.py).
    """

    decided_by: str
    errs: str = ""
    metric: str = ""


_LABELS = "area, topic, problem; methods and findings with their families and groups"
_CITED = "problem, topic, area, field, method; fame"
_LUCK = "which of the suitable papers is cited is chance"
PLANTED: dict[str, Planted] = {
    "scirepeval/mesh_descriptors": Planted("area of a life science and whether the main finding is an improvement"),
    "scirepeval/fos": Planted("field and second field", "silver training labels come from the venue and are partly wrong"),
    "scirepeval/cite_count": Planted("quality, year, field", "luck; who happens to cite"),
    "scirepeval/pub_year": Planted("year: areas that have their time, methods in use, forms of concepts, era sentences"),
    "scirepeval/same_author": Planted("authorship, betrayed by style and topic"),
    "scirepeval/high_influence_cite": Planted("problem, family of methods, group of findings", "mentions by chance"),
    "scirepeval/cite_prediction": Planted(_CITED, _LUCK),
    "scirepeval/search": Planted("problem, topic; method, author or venue where named", "position, chance clicks"),
    "scirepeval/biomimicry": Planted("whether a design copies an organism"),
    "scirepeval/drsm": Planted("what a paper on a disease is for"),
    "scirepeval/scidocs_mag": Planted("field, on problems unseen in training"),
    "scirepeval/scidocs_mesh": Planted("disease topic, on problems unseen in training"),
    "scirepeval/peer_review_score": Planted("quality", "reviewers err"),
    "scirepeval/hindex": Planted("seniority of the team", "luck of each author"),
    "scirepeval/tweet_mentions": Planted("hype", "who happens by"),
    "scirepeval/s2and": Planted("authorship, as in same_author", metric="b3_f1_vectors"),
    "scirepeval/paper_reviewer_matching": Planted("topic, family, area and field of a reviewer's papers",
                                                 "judges doubt; few submissions have ten experts"),
    "scirepeval/relish": Planted("topic, family of methods, area", "the middle of three raters who err"),
    "scirepeval/scidocs_view": Planted("problem, topic; obstacle, mode", "sessions wander"),
    "scirepeval/scidocs_read": Planted("problem, topic; condition, quality", "sessions wander"),
    "scirepeval/scidocs_cite": Planted(_CITED, _LUCK),
    "scirepeval/scidocs_cocite": Planted(_CITED, _LUCK),
    "scirepeval/nfcorpus": Planted("problem and topic, one question in four in a layman's words"),
    "scirepeval/trec_covid": Planted("problem and family of methods within a topic", "one assessor errs"),
    "scirepeval/feeds_1": Planted("mode, condition, polarity", "readers' moods"),
    "scirepeval/feeds_m": Planted("mode, condition, polarity, and what three papers share", "readers' moods"),
    "scirepeval/feeds_title": Planted("mode, condition, polarity, asked by a title", "readers' moods"),
    "scirepeval/mdcr": Planted("problem, family, group of findings, topic", _LUCK),
    **{f"neighbours/{name}": Planted("identity: a paper is asked for by its own title") for name in (
        "acl_anth", "iclr", "arxiv_cs_sy", "arxiv_math_at", "arxiv_hep_th", "arxiv_qbio_nc", "arxiv_econ")},
    **{f"scimult/{name}": Planted(_LABELS) for name in ("cs_conference", "chemistry_mesh", "geography", "psychology")},
    "scimult/mag": Planted("field"),
    "scimult/mesh": Planted("disease topic"),
    "scimult/cite": Planted(_CITED, _LUCK),
    "scimult/cocite": Planted("the same, twice removed", _LUCK),
    "scimult/ppr": Planted("problem a patient suffers from"),
    "scimult/pmc_par": Planted("problem and topic a patient suffers from"),
    "scimult/pmc_ppr": Planted("problem and topic a patient suffers from"),
    "scimult/coview": Planted("as scirepeval/scidocs_view", "sessions wander"),
    "scimult/coread": Planted("as scirepeval/scidocs_read", "sessions wander"),
    "scimult/cite_rerank": Planted("as scirepeval/scidocs_cite", _LUCK),
    "scimult/cocite_rerank": Planted("as scirepeval/scidocs_cocite", _LUCK),
    "scimult/recommendation": Planted("topic, problem, family, group of findings", "readers err by a point"),
    "scimult/search": Planted("as scirepeval/search", "position, chance clicks"),
    "scimult/trec_covid": Planted("as scirepeval/trec_covid", "one assessor errs"),
    "scimult/trec_covid_beir": Planted("problem, topic"),
    "scimult/scifact": Planted("method, aspect, condition and, where named, problem"),
    "scimult/nfcorpus": Planted("problem, topic, two questions in three in lay words"),
    "scimult/pretrain_cs_journal": Planted(_LABELS),
    "scimult/pretrain_biomedicine_mesh": Planted(_LABELS),
    "scimult/pretrain_coarse": Planted("field"),
    "scimult/pretrain_citation": Planted(_CITED, _LUCK),
    "scimult/pretrain_search": Planted("problem", "chance clicks"),
}  # fmt: skip
"""Embedded task -> what is planted. CSFCube's is in ratings.py: its truth is graded by facet, its ratings are noisy."""
