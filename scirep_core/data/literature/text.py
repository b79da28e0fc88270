"""Titles and abstracts: the latents of a paper put into sentences.

An abstract follows its plan (plans.py); each sentence's template is filled with forms of the paper's concepts, a fresh form
at each mention. Every sentence carries the label of its kind. What a reader can find in EVERY abstract: problem and
obstacle in the background sentences, method and mode in the method sentences, aspect, polarity and condition in the
result sentences, and the second field, method and finding where the paper has them. Ratings depend on exactly these, so
a perfect reader could reach the oracle. What a reader finds in FEW abstracts (plans.RATES): quality, tone, standing, era.

First authors have habits: with probability `style` an author takes his or her usual one of several equivalent wordings,
openers and tails. Of a concept the first forms are usual, the last ones rare; the year pulls towards older or newer ones.

Random numbers come in one row of 16-bit integers per paper, found by leaping ahead in one stream: text i depends on the
latents and the seed only, and any subset of a large literature can be written by itself, in any order.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Iterator, Sequence
from typing import Any, TypeVar

import numpy as np

from scirep_core.data.literature.latents import Dials, Ints, Latents, Random, stream
from scirep_core.data.literature.lexicon import Draw, Fill, Problem, Template, Tree, lexicon, spell
from scirep_core.data.literature.people import People
from scirep_core.data.literature.plans import Plans, around, choose, core
from scirep_core.kit.records import Paper

T = TypeVar("T")
ROW = 384  # random numbers per paper; a longer abstract goes through its row again
LEAP = ROW // 4  # steps of the 64-bit generator a row takes: four 16-bit numbers a step
NUMBERS = ("two", "three", "four", "five", "six", "seven", "eight")
PLACES = (
    ("cross", "purpose", "biomimicry", "tone"),
    ("evidence", "era"),
    ("standing", "other"),
)
"""Other sentences: those before the method, before the results, at the end."""
LABELS = {"background": "background_label", "objective": "objective_label", "method": "method_label",
          "result": "result_label", "purpose": "objective_label", "biomimicry": "objective_label"}  # fmt: skip


class Writer:
    """Writes the papers of one literature, in any order. Holds no text."""

    def __init__(self, latents: Latents, people: People, plans: Plans, seed: int, dials: Dials) -> None:
        self.latents, self.people, self.plans, self.seed, self.dials = latents, people, plans, seed, dials
        self.words = lexicon()
        self._templates = _all_templates()
        self._rng = stream(seed, "text")
        self._start = self._rng.bit_generator.state
        self._strength = round(dials.style * 65_536)

    def paper(self, i: int) -> Paper:
        """Write paper i: title, abstract, labelled sentences, year, venue."""
        return self._write(i)[0]

    def skeleton(self, i: int) -> tuple[int, ...]:
        """Return the template numbers of abstract i, in order."""
        return self._write(i)[1]

    def _write(self, i: int) -> tuple[Paper, tuple[int, ...]]:
        latents, draw = self.latents, functools.partial(next, itertools.cycle(self._row(i)))
        author, fill = int(self.people.teams.items[self.people.teams.starts[i]]), self.fill(i, draw)
        code, rank, bits = (int(values[i]) for values in self.plans)
        plan = core(code)
        body = [(g, self._templates[g][t]) for g, t in zip(plan.groups, choose(code, rank, self.seed), strict=True)]
        extra = around(latents, self.people.standing, i, bits, self.dials)
        body = _arranged(body, {place: (group, any_of(self._templates[group], draw)) for place, group in extra.items()})
        title = any_of(self._templates["title" + plan.suffix], draw)
        sentences = tuple(self._sentence(template, draw, fill, author) for _, template in body)
        paper = Paper(
            paper_id=str(latents.paper_number[i]),
            title=capital(spell(title.tree, draw, fill, author, self._strength)),
            abstract=" ".join(sentences),
            year=int(latents.year[i]),
            sentences=sentences,
            labels=tuple(LABELS.get(group.partition("_")[0], "other_label") for group, _ in body),
            venue=self.words.fields[latents.field[i]].venues[latents.venue[i]],
        )
        return paper, tuple(template.number for _, template in body)

    def _row(self, i: int) -> list[int]:
        bits: Any = self._rng.bit_generator
        bits.state = self._start
        bits.advance(LEAP * int(i))
        row: list[int] = self._rng.integers(0, 1 << 16, size=ROW, dtype=np.uint16).tolist()
        return row

    def _sentence(self, template: Template, draw: Draw, fill: Fill, author: int) -> str:
        text = spell(template.tree, draw, fill, author, self._strength)
        if draw() < self.dials.filler * 65_536:
            opener = template.opens and draw() % 2
            if opener or text.endswith("."):
                phrase = self._habit(author, "opener" if opener else "tail", draw)
                text = f"{phrase}, {text}" if opener else f"{text[:-1]}{phrase}."
        return capital(text)

    def _habit(self, author: int, place: str, draw: Draw) -> str:
        """Return an opener or a tail: one of the author's own, or any."""
        if draw() < self._strength:
            habits = _habits(place)
            k = (author * 2_654_435_761 + draw() % 3 * 40_503 >> 7) % len(habits)
            options = habits[k]
            phrase = spell(options[(author * 40_503 + k * 2_654_435_761 >> 5) % len(options)], draw, {})
            return phrase if place == "opener" or phrase.startswith((",", " ")) else f", {phrase}"
        return spell(any_of(self._templates[place], draw).tree, draw, {})

    def fill(self, i: int, draw: Draw) -> dict[str, Any]:
        """Return the slot writers of paper i: what `{doing}`, `{method}`, `{finding}` ... stand for in a template."""
        words, latents, dials = self.words, self.latents, self.dials
        span = dials.last_year - dials.first_year
        now = 65_535 * (int(latents.year[i]) - dials.first_year) // span
        drift = round(dials.drift * 1000)

        def form(forms: Sequence[T]) -> T:
            """Choose a form: early in the list rather than late, pulled by drift towards the paper's place in time."""
            usable = max(1, math.ceil(dials.synonymy * len(forms)))
            near = min(max(now + (draw() - 32_768) // 2, 0), 65_535)
            early = draw() * draw() >> 16
            return forms[((1000 - drift) * early + drift * near) // 1000 * usable >> 16]

        def words_of(forms: Sequence[Tree]) -> str:
            return spell(form(forms), draw, {})

        problem = words.problems[latents.problem[i]]
        topic = words.topics[latents.topic[i]]
        obstacle = words.obstacles[latents.obstacle[i]]
        method = words.methods[latents.method[i]]
        second = words.methods[latents.second_method[i]]  # never asked for where there is none

        def task(side: int, problem: Problem = problem) -> str:
            place = f" {words_of(problem.where)}" if draw() < 39_321 else ""
            return f"{spell(form(problem.acts)[side], draw, {})} {words_of(problem.what)}{place}"

        def result(part: int, prefix: str = "") -> str:
            about, polarity, when = (getattr(latents, prefix + name)[i] for name in ("aspect", "polarity", "condition"))
            aspect, condition = words.aspects[about], words_of(words.conditions[when])
            verbs, gains = words.polarity[polarity][aspect.rising_is_good]
            if part == 0:
                return f"{words_of(aspect.np)} {spell(any_of(verbs, draw), draw, {})} {condition}"
            return f"{spell(any_of(gains, draw), draw, {})} {words_of(aspect.np)} {condition}"

        return {
            "doing": lambda: task(0),
            "task": lambda: task(1),
            "problem": lambda: words_of(problem.what),
            "topic": lambda: words_of(topic.context),
            "field": lambda: words_of(words.fields[topic.field].context),
            "data": lambda: words_of(topic.data),
            "obstacle": lambda: words_of(obstacle[0]),
            "obstacle_clause": lambda: words_of(obstacle[1]),
            "method": lambda: words_of(method.np),
            "step": lambda: words_of(method.step),
            "mode": lambda: words_of(words.modes[latents.mode[i]]),
            "second": lambda: words_of(second.np),
            "second_step": lambda: words_of(second.step),
            "second_field": lambda: words_of(words.fields[latents.second_field[i]].context),
            "second_doing": lambda: task(0, words.problems[latents.second_problem[i]]),
            "finding": lambda: result(0),
            "gain": lambda: result(1),
            "finding2": lambda: result(0, "second_"),
            "gain2": lambda: result(1, "second_"),
            "aspect": lambda: words_of(words.aspects[latents.aspect[i]].np),
            "condition": lambda: words_of(words.conditions[latents.condition[i]]),
            # mentioned, but not what the paper is about: every other time from a neighbouring topic
            "other_doing": lambda: task(0, self._other_problem(int(latents.problem[i]), draw)),
            "other_method": lambda: words_of(any_of(words.methods, draw).np),
            "other_field": lambda: words_of(any_of(words.fields, draw).context),
            "num": lambda: any_of(NUMBERS, draw),
        }

    def _other_problem(self, own: int, draw: Draw) -> Problem:
        problems = self.words.problems
        if draw() % 2:
            return any_of(problems, draw)
        near = own + draw() % 24 - 12  # problems of a field stand side by side
        return problems[near if 0 <= near < len(problems) and near != own else own - 13]


def any_of(options: Sequence[T], draw: Draw) -> T:
    """Return one of the options."""
    return options[draw() % len(options)]


def any_of_many(options: Ints, draw: Draw) -> int:
    """Return one of the options, of which there may be more than 65,536."""
    return int(options[(draw() << 16 | draw()) % len(options)])


def capital(text: str) -> str:
    """Return the text with a capital first letter."""
    return text[:1].upper() + text[1:]


def draws(rng: Random) -> Draw:
    """Return a source of 16-bit numbers for `spell`, drawn from `rng` in blocks."""

    def numbers() -> Iterator[int]:
        while True:
            yield from rng.integers(0, 1 << 16, size=4096, dtype=np.uint16).tolist()

    return functools.partial(next, numbers())


def _arranged(body: list[tuple[str, Template]], extra: dict[str, tuple[str, Template]]) -> list[tuple[str, Template]]:
    core = {part: [place for place in body if place[0].startswith(part)] for part in ("method", "result")}
    first = [place for place in body if not place[0].startswith(tuple(core))]
    return [place for part, places in zip((first, *core.values()), PLACES, strict=True)
            for place in (*part, *(extra[name] for name in places if name in extra))]  # fmt: skip


@functools.cache
def _all_templates() -> dict[str, tuple[Template, ...]]:
    templates, phrases = lexicon().templates, lexicon().phrases
    numbers = itertools.count(1 + max(t.number for group in templates.values() for t in group))
    more = {f"{name}_{k}": level for name in ("evidence", "tone", "standing", "era")
            for k, level in enumerate(phrases[name])}  # fmt: skip
    more |= {f"purpose_{k}": row["sentences"] for k, row in enumerate(phrases["purpose"])}
    more |= {f"biomimicry_{side}": phrases["biomimicry"][side] for side in ("yes", "no")}
    return templates | {
        name: tuple(Template(next(numbers), tree, opens=False) for tree in trees) for name, trees in more.items()
    }


@functools.cache
def _habits(place: str) -> tuple[tuple[Tree, ...], ...]:
    return tuple(row["options"] for row in lexicon().phrases["style"] if row["place"] == place)
