"""Relevance to a facet, and how people rate it (CSFCube section 4, table 2).

The truth is a graded relevance from the latents of ONE facet, in [0, 3]. It is the oracle; rounded it is what a
flawless annotator would write: 3 near identical, 2 similar, 1 related, 0 unrelated. Main and second methods of two papers are
compared and the best match counts, likewise findings (two second ones are not compared).

Two of three annotators rate each query-facet pair. An annotator adds a bias and noise and sometimes lapses. Where both
agree, their rating stands; else an adjudicator decides near the truth, mostly for one of the two. (In the real
collection no agreed rating was overruled, and in 2-3 % the final rating is neither annotator's.) A rating is missing
now and then, written -1, as there.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from scirep_core.data.literature.latents import NONE, Ints, Latents, Random, chance

# hundredths of a grade. Background: (alone, with the same obstacle)
BACKGROUND = {"problem": (200, 270), "topic": (90, 160), "area": (75, 110), "elsewhere": (0, 30)}
# method: (alone, in a kindred mode, in the same mode)
METHOD = {"method": (155, 220, 270), "family": (80, 95, 160), "elsewhere": (0, 10, 20)}
# result: (alone, and added for the same polarity, the same condition, both)
RESULT = {"aspect": (100, 90, 40, 30), "group": (40, 40, 25, 0), "elsewhere": (0, 0, 0, 40)}
# groups of modes: little supervision, throughput, shared knowledge; study designs
KINDRED = np.array([0, 0, 1, 1, 2, 3, 3, 4, 5, 6, 7, 5, 6, 7])
SECOND_METHOD, SECOND_FINDING = 50, 95  # per cent: what a match with a second method, a second finding is worth


class Ratings(NamedTuple):
    """How people err. Noise and bias are in grades; the rest are probabilities."""

    noise: float = 0.5
    lapse: float = 0.12
    bias: tuple[float, float, float] = (-0.06, 0.02, 0.08)
    adjudicator_noise: float = 0.18
    overrule: float = 0.7
    missing: float = 0.003


def relevance(latents: Latents, facet: str, query: int, candidates: Ints) -> Ints:
    """Return the true relevance of candidate papers to one facet of the query, in hundredths of a grade (0-300)."""
    return {"background": _background, "method": _method, "result": _result}[facet](latents, query, candidates)


def _background(latents: Latents, q: int, c: Ints) -> Ints:
    same = (latents.obstacle[c] == latents.obstacle[q]).astype(np.int64)
    score: Ints = np.array(BACKGROUND["elsewhere"])[same]
    for level in ("area", "topic", "problem"):
        values = getattr(latents, level)
        score = np.where(values[c] == values[q], np.array(BACKGROUND[level])[same], score)
    return score


def _method(latents: Latents, q: int, c: Ints) -> Ints:
    mode = latents.mode
    same = (KINDRED[mode[c]] == KINDRED[mode[q]]).astype(np.int64) + (mode[c] == mode[q])
    main, second = (latents.method, latents.family), (latents.second_method, latents.second_family)
    best: Ints = np.array(METHOD["elsewhere"])[same]
    for mine, theirs, share in ((main, main, 100), (main, second, SECOND_METHOD), (second, main, SECOND_METHOD)):
        if mine[0][q] != NONE:  # a candidate without a second method holds NONE there, which equals no method
            score = np.where(theirs[1][c] == mine[1][q], np.array(METHOD["family"])[same], 0)
            score = np.where(theirs[0][c] == mine[0][q], np.array(METHOD["method"])[same], score)
            best = np.maximum(best, score * share // 100)
    return best


def _result(latents: Latents, q: int, c: Ints) -> Ints:
    best = np.zeros(len(c), dtype=np.int64)
    for mine, theirs, share in (("", "", 100), ("", "second_", SECOND_FINDING), ("second_", "", SECOND_FINDING)):
        if getattr(latents, f"{mine}aspect")[q] != NONE:
            aspect, group, polarity, condition = (
                getattr(latents, theirs + name)[c] == getattr(latents, mine + name)[q]
                for name in ("aspect", "group", "polarity", "condition")
            )
            rows = np.array([RESULT[near] for near in ("elsewhere", "group", "aspect")])
            alone, if_polarity, if_condition, if_both = rows[group.astype(np.int64) + aspect].T
            score = alone + if_polarity * polarity + if_condition * condition + if_both * (polarity & condition)
            best = np.maximum(best, score * share // 100)
    return best


def grade(hundredths: Ints) -> Ints:
    """Return the rating 0-3 nearest to a relevance in hundredths (halves up)."""
    return np.clip((hundredths + 50) // 100, 0, 3)


def _noise(rng: Random, size: int, grades: float) -> Ints:
    """Return bell-shaped integers of standard deviation `grades`, in hundredths: a sum of 12 uniform numbers."""
    bell: Ints = rng.integers(0, 1001, size=(size, 12)).sum(axis=1) - 6000  # standard deviation 1001
    return bell * round(100 * grades) // 1001


def rate(truth: Ints, rng: Random, people: Ratings) -> dict[str, list[int]]:
    """Return the rating lists of one query-facet pair under the names of the published files.

    truth: hundredths, one per candidate. Two of the three annotators are drawn for the pair.
    """
    size = len(truth)
    pair = sorted(rng.permutation(3)[:2].tolist())
    raw = []
    for annotator in pair:
        rating = grade(truth + _noise(rng, size, people.noise) + round(100 * people.bias[annotator]))
        rating = np.where(chance(rng, people.lapse, size), grade(truth)[rng.permutation(size)], rating)
        raw.append(np.where(chance(rng, people.missing, size), -1, rating))
    low, high = np.minimum(*raw), np.maximum(*raw)
    view = grade(truth + _noise(rng, size, people.adjudicator_noise))
    sides = np.where(np.abs(view - low) < np.abs(high - view), low, high)  # the nearer of the two
    final = np.maximum(np.where(low == high, low, np.where(chance(rng, people.overrule, size), view, sides)), 0)
    return {
        "relevance_adju": final.tolist(),
        **{f"relevance_ann{a + 1}": r.tolist() for a, r in zip(pair, raw, strict=True)},
        "relevance_max": high.tolist(),
        "relevance_min": low.tolist(),
    }
