"""Which kinds of sentence an abstract has, in which order, and which template each gets: no two abstracts alike.

The core of an abstract (background, objective, method, result) follows one of a few thousand plans. Within a plan every
paper gets a different combination of templates: its rank among the papers of the plan, scattered over all combinations
by a multiplication (a bijection, as the multiplier shares no factor with their number). Where a plan has more papers
than combinations, the surplus gets one more background sentence. So the skeleton of paper i is known without writing
the papers before it, and a million papers need two integers each. Around the core stand sentences that betray other
latents (`around`).
"""

from __future__ import annotations

import functools
import math
from typing import NamedTuple

import numpy as np

from scirep_core.data.literature.latents import LEVELS, NONE, Dials, Ints, Latents, stream
from scirep_core.data.literature.lexicon import lexicon

BACKGROUNDS = (
    ("background_full",),
    ("background_problem", "background_obstacle"),
    ("background_problem", "background_context", "background_obstacle"),
    ("background_context", "background_full"),
    ("background_problem", "background_full"),
    ("background_context", "background_problem", "background_obstacle"),
)
METHODS = (  # the first two where there is no second method, the last two where there is one
    ("method_main", "method_generic"),
    ("method_main", "method_step"),
    ("method_main",),
    ("method_full",),
)
OF_KIND = ("", "_resource", "_theory")  # template groups of the three paper types
RADICES = (len(BACKGROUNDS), 2, 3, 2, 4, 2, 2, 2, 2)  # the parts of a plan's number; see `core`
EXTRA = math.prod(RADICES)  # added once for each additional sentence
STEP = 1_000_003  # a prime above every number of templates
RATES = {"evidence": 15, "tone": 20, "standing": 12, "era": 8, "other": 6}
"""Per cent of the abstracts that say it. Words that told quality or year in every abstract would be read by any bag of words."""
assert 8 * len(RATES) < 63, "the bits of a plan no longer fit into one integer"


class Plans(NamedTuple):
    """(papers,) each: the plan's number, the paper's rank among those of the plan, and bits for the other sentences."""

    code: Ints
    rank: Ints
    bits: Ints


class Core(NamedTuple):
    """A plan: its template groups in order, how many templates each has, and the suffix of its paper type."""

    groups: tuple[str, ...]
    sizes: tuple[int, ...]
    suffix: str


def draw_plans(latents: Latents, seed: int) -> Plans:
    """Draw the plan of every paper. Linear in the number of papers (but for one sort)."""
    rng, papers = stream(seed, "plans"), len(latents)

    def happens(per_mille: int) -> Ints:
        return (rng.integers(0, 1000, size=papers) < per_mille).astype(np.int64)

    parts = (
        rng.integers(0, len(BACKGROUNDS), size=papers),
        happens(850),  # objective
        latents.kind * happens(667),  # a special paper type shows itself two times in three
        rng.integers(0, 2, size=papers),  # method pattern
        happens(250) * rng.integers(1, 4, size=papers),  # generic method sentence: none, or after which one
        happens(250),  # generic result sentence
        happens(120),  # objective first
        (latents.second_method != NONE).astype(np.int64),
        (latents.second_aspect != NONE).astype(np.int64),
    )
    code = np.ravel_multi_index(parts, RADICES).astype(np.int64)
    rank = _ranks(code)
    while True:
        codes = np.unique(code)
        capacity = np.array([math.prod(core(int(c)).sizes) for c in codes])
        over = rank >= capacity[np.searchsorted(codes, code)]
        if not over.any():
            break
        code = np.where(over, code + EXTRA, code)
        rank = _ranks(code)
    return Plans(code, rank, rng.integers(0, 1 << 8 * len(RATES), size=papers))


def _ranks(code: Ints) -> Ints:
    """Return each element's position among the equal ones."""
    order = np.argsort(code, kind="stable")
    ordered, rank = code[order], np.empty_like(code)
    rank[order] = np.arange(len(code)) - np.searchsorted(ordered, ordered)
    return rank


@functools.cache
def core(code: int) -> Core:
    """Return the plan of a number."""
    extra, rest = divmod(code, EXTRA)
    parts = map(int, np.unravel_index(rest, RADICES))
    background, has_objective, kind, pattern, generic, closing, flip, has_second, has_finding = parts
    suffix = OF_KIND[kind]
    front = ["background_context"] * extra + list(BACKGROUNDS[background])
    method = list(METHODS[2 + pattern if has_second else pattern]) + ["method_second"] * has_second
    if generic and "method_generic" not in method:
        method.insert(min(generic, len(method)), "method_generic")
    result = ["result_main"] + ["result_second"] * has_finding + ["result_generic"] * closing
    objective = ["objective" + suffix] * has_objective
    if not objective and len(front) + len(method) + len(result) < 4:
        objective = ["objective"]
    groups = tuple([*objective, *front] if flip else [*front, *objective]) + tuple(method + result)
    templates = lexicon().templates
    return Core(groups, tuple(len(templates[g]) for g in groups), suffix)


def choose(code: int, rank: int, seed: int) -> tuple[int, ...]:
    """Return the template (position in its group) of each core sentence: different for every rank of a plan."""
    sizes = core(code).sizes
    number = (rank * STEP + seed * 7_919 + code) % math.prod(sizes)
    chosen = []
    for size in sizes:
        number, template = divmod(number, size)
        chosen.append(template)
    return tuple(chosen)


def around(latents: Latents, standing: Ints, i: int, bits: int, dials: Dials) -> dict[str, str]:
    """Return what else is said: {place: group of lexicon_phrases or templates}, places before, middle and end."""
    remarks = {name: (bits >> (8 * k) & 255) * 100 < rate * 256 for k, (name, rate) in enumerate(RATES.items())}
    levels = {"evidence": latents.quality, "tone": latents.hype, "standing": standing}
    groups = {name: f"{name}_{level[i] * 4 // LEVELS}" for name, level in levels.items() if remarks[name]}
    if remarks["era"]:
        span = dials.last_year - dials.first_year + 1
        groups["era"] = f"era_{(int(latents.year[i]) - dials.first_year) * 5 // span}"
    if latents.second_field[i] != NONE:
        groups["cross"] = "background_cross"
    if latents.purpose[i] != NONE:
        groups["purpose"] = f"purpose_{latents.purpose[i]}"
    if latents.biomimetic[i] != NONE:
        groups["biomimicry"] = f"biomimicry_{('no', 'yes')[latents.biomimetic[i]]}"
    if remarks["other"]:
        groups["other"] = "other"
    return groups
