"""BM25 over a task's candidates equals rank_bm25; what it needs, and what it refuses."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from rank_bm25 import BM25Okapi
from small_tasks import all_tasks

from scirep_core.datasets.task import Judged, Qrel, Task
from scirep_core.encoders import SENTENCES, lexical
from scirep_core.errors import ConfigError, DataError
from scirep_core.evaluators import EVALUATORS, inputs, pairs
from scirep_core.evaluators.pairs import PairScorer


def ranking(rows, **more) -> Task:
    return Task("t", "proximity", "PRX", ("map",), Judged(tuple(Qrel(*row) for row in rows)), "folder", "h", **more)


def random_texts(seed: int) -> dict[str, str]:
    """Documents over 200 words; `common` stands in more than half of them, so that its idf is negative; one has no words."""
    rng = np.random.default_rng(seed)
    words = np.array([f"word{i}" for i in range(200)])
    texts = {f"c{i}": " ".join(rng.choice(words, size=rng.integers(3, 40))) for i in range(20)}
    texts |= {f"c{i}": texts[f"c{i}"] + " common common" for i in range(14)}
    return texts | {"c20": "of the and", "q": "common word1 word1 word1 word7 unseen", "r": "the of", "s": texts["c3"]}


@pytest.mark.parametrize("seed", range(5))
def test_scores_are_those_of_rank_bm25(seed):
    texts = random_texts(seed)
    cands = [f"c{i}" for i in range(21)]
    scorer = lexical.bm25_scorer(ranking([(q, c, 1) for q in ("q", "r", "s") for c in cands]), texts)
    okapi = BM25Okapi([lexical.tokens(texts[c]) for c in cands])
    assert min(okapi.idf.values()) > 0  # the negative one was raised
    for query in ("q", "r", "s"):
        theirs = okapi.get_scores(lexical.tokens(texts[query]))
        assert scorer.scores(query, cands) == pytest.approx(theirs, abs=1e-9)
        assert scorer.scores(query, cands[::-3]) == pytest.approx(theirs[::-3], abs=1e-9)
    assert scorer.scores("q", cands).max() > 0
    assert not scorer.scores("r", cands).any()


def test_the_index_holds_the_candidates_of_the_task_and_nothing_else():
    """A query's own text and papers nobody judges are not in it: idf and mean length stay as they are."""
    texts = {"a": "swarm count", "b": "swarm flight", "c": "sorting", "q": "swarm swarm swarm"}
    one = lexical.bm25_scorer(ranking([("q", "a", 1), ("q", "b", 0), ("q", "c", 0)]), texts)
    more = texts | {"unjudged": "swarm swarm swarm swarm"}
    assert np.array_equal(
        one.scores("q", "abc"), lexical.bm25_scorer(ranking([("q", x, 1) for x in "abc"]), more).scores("q", "abc")
    )
    other = lexical.bm25_scorer(ranking([("q", x, 1) for x in [*"abc", "unjudged"]]), more)
    assert not np.array_equal(one.scores("q", "abc"), other.scores("q", "abc"))
    assert one.fingerprint != other.fingerprint
    with pytest.raises(DataError, match="paper unjudged is no candidate"):
        one.scores("q", ["unjudged"])


def test_what_has_no_text_is_missing_and_a_task_without_texts_is_refused():
    scorer = lexical.bm25_scorer(ranking([("q", "a", 1), ("q", "gone", 0)]), {"a": "swarm", "q": "swarm"})
    assert "a" in scorer
    assert "gone" not in scorer
    with pytest.raises(DataError, match="ids of t have no vector: gone"):
        EVALUATORS["proximity"](ranking([("q", "a", 1), ("q", "gone", 0)]), scorer)
    with pytest.raises(DataError, match="no candidate has a text"):
        lexical.bm25_scorer(ranking([("q", "a", 1)]), {})
    with pytest.raises(DataError, match="ranks no judged candidates"):
        lexical.bm25_scorer(all_tasks()["regression"], {"p0": "x"})


def test_a_query_that_is_a_paper_too_is_read_by_its_own_text():
    texts = {"p": "sorting numbers", "p/q": "swarm", "a": "swarm flight", "b": "sorting", "c": "maps"}
    scorer = lexical.bm25_scorer(ranking([("p", x, 1) for x in "abc"]), texts)
    assert np.argmax(scorer.scores("p", "abc")) == 0


@pytest.mark.parametrize("name", ["proximity", "groups", "adhoc_search", "reviewer_matching", "triplets"])
def test_every_ranking_task_takes_bm25(name):
    task = all_tasks()[name]
    for protocol in ("paper", "sound"):
        texts = {key: one.text for key, one in inputs.inputs(task, SENTENCES, protocol).items()}
        scorer = lexical.bm25_scorer(task, texts)
        assert isinstance(scorer, PairScorer)
        rows = EVALUATORS[task.type](task, scorer, protocol)
        assert {row.similarity for row in rows} == {"BM25"}
        assert all(0 <= row.value <= 100 for row in rows)


def test_documents_of_a_task_and_what_happens_to_an_id_that_is_query_and_paper():
    task = replace(all_tasks()["adhoc_search"], queries={"q1": "how to pop", "p1": "a query named like a paper"})
    paper, sound = pairs.documents_of(task), pairs.documents_of(task, "sound")
    assert paper["q1"] == ("how to pop", ())
    assert paper["p2"] == ("On stacks, part 2", ("We push and pop.", "Number 2."))
    assert paper["p1"].title == "a query named like a paper"
    assert "p1/q" not in paper
    assert sound["p1/q"].title == "a query named like a paper"
    assert sound["p1"].title == "On stacks, part 1"


def test_an_unknown_similarity_is_refused():
    with pytest.raises(ConfigError, match="unknown similarity 'l3'"):
        pairs.ask(ranking([("q", "a", 1)]), {}, "paper", "error", ["map"], "l3", "l2", 0)
