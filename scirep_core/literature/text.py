"""Titles and abstracts: the latents of a paper put into sentences.

An abstract is planned first (which kinds of sentence, in which order), then each kind gets a template, then slots are
filled with forms of the paper's concepts, a fresh form at each mention. Every sentence carries the label of its kind.
What a reader can find in EVERY abstract: problem and obstacle in the background sentences, method and mode in the
method sentences, aspect, polarity and condition in the result sentences, and the second method and finding where the
paper has them. Ratings depend on exactly these, so a perfect reader could reach the oracle.

No two papers of a collection share a skeleton (the sequence of template numbers): a repeated one is drawn again, and if
the plan is so short that it keeps repeating, a sentence is added.

Random numbers come in one row of 16-bit integers per paper, so text i depends on the latents and the seed only.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Iterator, Sequence
from typing import TypeVar

import numpy as np

from scirep_core.literature.latents import NONE, Dials, Latents, stream
from scirep_core.literature.lexicon import Draw, Fill, Lexicon, Problem, Template, Tree, lexicon, spell
from scirep_core.records import Paper

T = TypeVar("T")
Plan = tuple[tuple[str, Template], ...]  # (group, template) of each sentence

ROW = 320  # random numbers per paper; a longer abstract goes through its row again
BLOCK = 4096  # papers whose random numbers are drawn at once
LONGEST = 10  # sentences
TRIES = 8
LABEL = {
    "background_full": "background_label",
    "background_problem": "background_label",
    "background_obstacle": "background_label",
    "background_context": "background_label",
    "objective": "objective_label",
    "objective_resource": "objective_label",
    "objective_theory": "objective_label",
    "method_full": "method_label",
    "method_main": "method_label",
    "method_step": "method_label",
    "method_second": "method_label",
    "method_generic": "method_label",
    "result_main": "result_label",
    "result_second": "result_label",
    "result_generic": "result_label",
    "other": "other_label",
}
OF_KIND = ("", "_resource", "_theory")  # template groups of the three paper types
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
NUMBERS = ("two", "three", "four", "five", "six", "seven", "eight")
PER_MILLE = 65.536  # one thousandth of the range of a draw


def write_papers(latents: Latents, seed: int, dials: Dials) -> tuple[tuple[Paper, ...], tuple[tuple[int, ...], ...]]:
    """Return the papers in order of time, and their skeletons: template numbers, the title's last."""
    words, seen = lexicon(), set[tuple[int, ...]]()
    papers, skeletons = [], []
    for i, row in enumerate(_rows(len(latents), seed)):
        draw = functools.partial(next, itertools.cycle(row))
        plan = _distinct(_plan(latents, i, draw), words, draw, seen)
        title = _any(words.templates["title" + _kind(latents, i, draw)], draw)
        fill = _fill(words, latents, i, draw, dials)
        sentences = tuple(_sentence(words, template, draw, fill, dials) for _, template in plan)
        papers.append(
            Paper(
                paper_id=str(latents.paper_number[i]),
                title=_capital(spell(title.tree, draw, fill)),
                abstract=" ".join(sentences),
                year=int(latents.year[i]),
                sentences=sentences,
                labels=tuple(LABEL[group] for group, _ in plan),
            )
        )
        skeletons.append((*(template.number for _, template in plan), title.number))
    return tuple(papers), tuple(skeletons)


def _rows(papers: int, seed: int) -> Iterator[list[int]]:
    rng = stream(seed, "text")
    for start in range(0, papers, BLOCK):
        yield from rng.integers(0, 1 << 16, size=(min(BLOCK, papers - start), ROW), dtype=np.uint16).tolist()


def _any(options: Sequence[T], draw: Draw) -> T:
    return options[draw() % len(options)]


def _happens(per_mille: int, draw: Draw) -> bool:
    return draw() < per_mille * PER_MILLE


def _kind(latents: Latents, i: int, draw: Draw) -> str:
    """Return the suffix of the template group of the paper's type; a special type shows it two times in three."""
    suffix = OF_KIND[latents.kind[i]]
    return suffix if _happens(667, draw) else ""


def _plan(latents: Latents, i: int, draw: Draw) -> list[str]:
    """Return the template groups of an abstract of 4 to 10 sentences, in order."""
    background = list(_any(BACKGROUNDS, draw))
    objective = ["objective" + _kind(latents, i, draw)] if _happens(850, draw) else []
    second = latents.second_method[i] != NONE
    method = list(_any(METHODS[2:] if second else METHODS[:2], draw)) + ["method_second"] * bool(second)
    result = ["result_main"] + ["result_second"] * bool(latents.second_aspect[i] != NONE)
    if "method_generic" not in method and _happens(250, draw):
        method.insert(1 + draw() % len(method), "method_generic")
    if _happens(250, draw):
        result.append("result_generic")
    if not objective and len(background) + len(method) + len(result) < 4:
        objective = ["objective"]
    front = objective + background if _happens(120, draw) else background + objective
    end = ["other"] if _happens(60, draw) else []
    return [*front, *method, *result, *end][:LONGEST]


def _distinct(plan: list[str], words: Lexicon, draw: Draw, seen: set[tuple[int, ...]]) -> Plan:
    """Choose a template for each sentence so that the sequence has not been seen before, and remember it."""
    for attempt in itertools.count(1):
        chosen = tuple((group, _any(words.templates[group], draw)) for group in plan)
        skeleton = tuple(template.number for _, template in chosen)
        if skeleton not in seen:
            break
        if attempt % TRIES == 0:  # the plan is too short for a collection of this size
            plan = ["background_context", *plan]
    seen.add(skeleton)
    return chosen


def _sentence(words: Lexicon, template: Template, draw: Draw, fill: Fill, dials: Dials) -> str:
    text = spell(template.tree, draw, fill)
    if draw() < dials.filler * 65_536:
        if template.opens and draw() % 2:
            text = f"{spell(_any(words.templates['opener'], draw).tree, draw, fill)}, {text}"
        elif text.endswith("."):
            text = f"{text[:-1]}{spell(_any(words.templates['tail'], draw).tree, draw, fill)}."
    return _capital(text)


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def _fill(words: Lexicon, latents: Latents, i: int, draw: Draw, dials: Dials) -> Fill:
    """Return the slot writers of paper i."""
    span = dials.last_year - dials.first_year
    now = 65_535 * (int(latents.year[i]) - dials.first_year) // span
    drift = round(dials.drift * 1000)

    def form(forms: Sequence[T]) -> T:
        """Choose a form: anywhere in the list, pulled by drift towards the paper's place in time."""
        usable = max(1, math.ceil(dials.synonymy * len(forms)))
        near = min(max(now + (draw() - 32_768) // 2, 0), 65_535)
        return forms[((1000 - drift) * draw() + drift * near) // 1000 * usable >> 16]

    def words_of(forms: Sequence[Tree]) -> str:
        return spell(form(forms), draw, {})

    problem = words.problems[latents.problem[i]]
    topic = words.topics[latents.topic[i]]
    obstacle = words.obstacles[latents.obstacle[i]]
    method = words.methods[latents.method[i]]
    second = words.methods[latents.second_method[i]]  # never asked for where there is none

    def task(side: int, problem: Problem = problem) -> str:
        place = f" {words_of(problem.where)}" if _happens(600, draw) else ""
        return f"{spell(form(problem.acts)[side], draw, {})} {words_of(problem.what)}{place}"

    def result(part: int, prefix: str = "") -> str:
        aspect = words.aspects[getattr(latents, f"{prefix}aspect")[i]]
        verbs, gains = words.polarity[getattr(latents, f"{prefix}polarity")[i]][aspect.rising_is_good]
        condition = words_of(words.conditions[getattr(latents, f"{prefix}condition")[i]])
        if part == 0:
            return f"{words_of(aspect.np)} {spell(_any(verbs, draw), draw, {})} {condition}"
        return f"{spell(_any(gains, draw), draw, {})} {words_of(aspect.np)} {condition}"

    return {
        "doing": lambda: task(0),
        "task": lambda: task(1),
        "topic": lambda: words_of(topic.context),
        "field": lambda: words_of(words.fields[topic.field]),
        "data": lambda: words_of(topic.data),
        "obstacle": lambda: words_of(obstacle[0]),
        "obstacle_clause": lambda: words_of(obstacle[1]),
        "method": lambda: words_of(method.np),
        "step": lambda: words_of(method.step),
        "mode": lambda: words_of(words.modes[latents.mode[i]]),
        "second": lambda: words_of(second.np),
        "second_step": lambda: words_of(second.step),
        "finding": lambda: result(0),
        "gain": lambda: result(1),
        "finding2": lambda: result(0, "second_"),
        "gain2": lambda: result(1, "second_"),
        "aspect": lambda: words_of(words.aspects[latents.aspect[i]].np),
        "condition": lambda: words_of(words.conditions[latents.condition[i]]),
        "other_doing": lambda: task(0, _any(words.problems, draw)),  # mentioned, but not what the paper is about
        "other_method": lambda: words_of(_any(words.methods, draw).np),
        "num": lambda: _any(NUMBERS, draw),
    }
