"""The words of the embedded literature: concepts, their surface forms, sentence templates.

Three JSON files beside this one hold everything that is language; the code holds none. A string in them may contain
choices `[a|b|c]` (nested choices allowed) and slots `{name}`; `parse` turns it into a tree, `spell` writes one of its
spellings, `count` says how many there are. A concept is a list of such strings, ordered from old to new usage (the
order carries vocabulary drift), so few words give many forms: "[noisy|corrupted] input" is two forms of one concept.

The tree of background concepts is field > topic > problem; a problem is an act ("detecting"), an object ("sarcasm",
"ironic remarks") and a place ("in forum posts"), each with several spellings. Methods come in families and results in
groups of aspects; neither belongs to a field.
"""

from __future__ import annotations

import functools
import itertools
import math
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from scirep_core.records import read_json

Tree = tuple["str | Slot | Choice", ...]
Draw = Callable[[], int]  # the next random number in 0..65535
Fill = Mapping[str, Callable[[], str]]  # slot name -> text


class Slot(NamedTuple):
    """A hole in a template, filled by the paper's latents."""

    name: str


class Choice(NamedTuple):
    """Alternatives of which one is written."""

    options: tuple[Tree, ...]


class Template(NamedTuple):
    """A sentence: its number among all templates, its tree, and whether an opener ("Moreover, ") may precede it."""

    number: int
    tree: Tree
    opens: bool


class Problem(NamedTuple):
    """A leaf of the background tree; `acts` are (gerund, noun with preposition) pairs."""

    acts: tuple[tuple[Tree, Tree], ...]
    what: tuple[Tree, ...]
    where: tuple[Tree, ...]
    topic: int


class Topic(NamedTuple):
    """An inner node of the background tree: names of the area (`context`) and of what one studies in it (`data`)."""

    context: tuple[Tree, ...]
    data: tuple[Tree, ...]
    field: int


class Method(NamedTuple):
    """A method: noun phrases, clauses that say how it works, and the first year in which it may be used."""

    np: tuple[Tree, ...]
    step: tuple[Tree, ...]
    family: int
    since: int


class Aspect(NamedTuple):
    """What a finding is about; `rising_is_good` decides which verbs mean that it got better."""

    np: tuple[Tree, ...]
    group: int
    rising_is_good: bool


class Lexicon(NamedTuple):
    """All words, parsed. `polarity[p][r]` = (verbs, gains) for better/same/worse and rising_is_good 0/1."""

    fields: tuple[tuple[Tree, ...], ...]
    venues: tuple[tuple[str, ...], ...]
    topics: tuple[Topic, ...]
    problems: tuple[Problem, ...]
    obstacles: tuple[tuple[tuple[Tree, ...], tuple[Tree, ...]], ...]  # (noun phrases, clauses)
    methods: tuple[Method, ...]
    modes: tuple[tuple[Tree, ...], ...]
    aspects: tuple[Aspect, ...]
    polarity: tuple[tuple[tuple[tuple[Tree, ...], tuple[Tree, ...]], ...], ...]
    conditions: tuple[tuple[Tree, ...], ...]
    templates: dict[str, tuple[Template, ...]]
    given_names: tuple[str, ...]
    family_names: tuple[str, ...]


TOKEN = re.compile(r"[\[\]|]|\{\w+\}|[^\[\]|{}]+")
OPENS = re.compile(r"\[?(we|our|the|a|an|this|these|\{\w+\})\b|\{")


def parse(text: str) -> Tree:
    """Parse `[a|b]` and `{slot}` into a tree. Raises ValueError on unbalanced brackets.

    >>> spell(parse("[noisy|dirty] {thing}"), lambda: 65535, {"thing": lambda: "input"})
    'dirty input'
    """
    tokens = TOKEN.findall(text)
    if "".join(tokens) != text:
        raise ValueError(f"stray brace in {text!r}")
    tree, rest = _sequence(tokens, 0, inside=False)
    if rest != len(tokens):
        raise ValueError(f"unbalanced bracket in {text!r}")
    return tree


def _sequence(tokens: list[str], at: int, inside: bool) -> tuple[Tree, int]:
    parts: list[str | Slot | Choice] = []
    while at < len(tokens) and not (inside and tokens[at] in "|]"):
        token = tokens[at]
        if token == "[":
            options, closing = [], "|"
            while closing == "|":
                option, at = _sequence(tokens, at + 1, inside=True)
                if at == len(tokens):
                    raise ValueError("bracket is never closed")
                options.append(option)
                closing = tokens[at]
            parts.append(Choice(tuple(options)))
        elif token in "]|":
            raise ValueError(f"stray {token!r}")
        else:
            parts.append(Slot(token[1:-1]) if token.startswith("{") else token)
        at += 1
    return tuple(parts), at


def spell(tree: Tree, draw: Draw, fill: Fill) -> str:
    """Write one spelling of `tree`: choices by `draw`, slots by `fill`."""
    out = []
    for part in tree:
        if isinstance(part, str):
            out.append(part)
        elif isinstance(part, Choice):
            out.append(spell(part.options[draw() % len(part.options)], draw, fill))
        else:
            out.append(fill[part.name]())
    return "".join(out)


def count(tree: Tree) -> int:
    """Return how many spellings a tree without slots has."""
    return math.prod(sum(count(o) for o in p.options) if isinstance(p, Choice) else 1 for p in tree)


def _trees(strings: list[str]) -> tuple[Tree, ...]:
    return tuple(parse(s) for s in strings)


@functools.cache
def lexicon() -> Lexicon:
    """Read and parse the three word files (once per process)."""
    folder = Path(__file__).parent
    areas = read_json(folder / "lexicon_fields.json")
    words = read_json(folder / "lexicon_concepts.json")
    return Lexicon(
        **_background(areas),
        obstacles=tuple((_trees(o["np"]), _trees(o["clause"])) for o in words["obstacles"]),
        methods=tuple(
            Method(_trees(m["np"]), _trees(m["step"]), family, m.get("since", 0))
            for family, row in enumerate(words["families"])
            for m in row["methods"]
        ),
        modes=tuple(_trees(m["adverb"]) for m in words["modes"]),
        aspects=tuple(
            Aspect(_trees(a["np"]), group, a["good"] == "up")
            for group, row in enumerate(words["aspects"])
            for a in row["members"]
        ),
        polarity=tuple(
            tuple(
                (_trees(words["polarity"][p][d]["verb"]), _trees(words["polarity"][p][d]["gain"])) for d in DIRECTIONS
            )
            for p in POLARITIES
        ),
        conditions=tuple(_trees(c["adverb"]) for c in words["conditions"]),
        templates=_templates(read_json(folder / "templates.json")),
        given_names=tuple(words["given_names"]),
        family_names=tuple(words["family_names"]),
    )


def _background(areas: dict[str, Any]) -> dict[str, Any]:
    acts = {name: tuple((parse(g), parse(n)) for g, n in pairs) for name, pairs in areas["acts"].items()}
    topics: list[Topic] = []
    problems: list[Problem] = []
    for field, row in enumerate(areas["fields"]):
        for topic in row["topics"]:
            problems += [
                Problem(acts[p["act"]], _trees(p["what"]), _trees(p["where"]), len(topics)) for p in topic["problems"]
            ]
            topics.append(Topic(_trees(topic["context"]), _trees(topic["data"]), field))
    return {
        "fields": tuple(_trees(row["context"]) for row in areas["fields"]),
        "venues": tuple(tuple(row["venues"]) for row in areas["fields"]),
        "topics": tuple(topics),
        "problems": tuple(problems),
    }


def _templates(groups: dict[str, list[str]]) -> dict[str, tuple[Template, ...]]:
    numbers = itertools.count()
    return {
        name: tuple(Template(next(numbers), parse(s), OPENS.match(s) is not None) for s in strings)
        for name, strings in groups.items()
    }


DIRECTIONS = ("down", "up")
POLARITIES = ("better", "same", "worse")
