"""The words of the embedded literature: concepts, their surface forms, sentence templates.

The JSON files beside this one hold everything that is language; the code holds none:
    fields/<field>.json     the 23 fields of study: areas > topics > problems, venues, habits of method and finding
    lexicon_methods.json    families of methods, modes, obstacles, acts: shared by all fields
    lexicon_findings.json   groups of aspects, polarity, conditions: shared by all fields
    lexicon_phrases.json    sentences that betray quality, tone, seniority and era; patients, queries, reviews
    templates.json          sentence templates by kind of sentence

A string in them may contain choices `[a|b|c]` (nested choices allowed) and slots `{name}`; `parse` turns it into a tree,
`spell` writes one of its spellings, `count` says how many there are. A concept is a list of such strings, ordered from
old to new usage (the order carries vocabulary drift), so few words give many forms: "[noisy|corrupted] input" is two
forms of one concept. Every choice has a number, so that an author can have a habit at it.
"""

from __future__ import annotations

import functools
import itertools
import math
import re
import zlib
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from scirep_core.kit.records import read_json

T = TypeVar("T")
Tree = tuple["str | Slot | Choice", ...]
Draw = Callable[[], int]  # the next random number in 0..65535
Fill = Mapping[str, Callable[[], str]]  # slot name -> text

FIELDS = (
    "Agricultural and Food sciences", "Art", "Biology", "Business", "Chemistry", "Computer science", "Economics",
    "Education", "Engineering", "Environmental science", "Geography", "Geology", "History", "Law", "Linguistics",
    "Materials science", "Mathematics", "Medicine", "Philosophy", "Physics", "Political science", "Psychology",
    "Sociology",
)  # fmt: skip
"""The 23 fields of study, in the order of SciRepEval's label file."""
MAG = tuple(f for f in FIELDS if f not in ("Agricultural and Food sciences", "Education", "Law", "Linguistics"))
"""The 19 fields of the Microsoft Academic Graph (SciDocs, MAPLE, MDCR), in their alphabetical order."""


class Slot(NamedTuple):
    """A hole in a template, filled by the paper's latents."""

    name: str


class Choice(NamedTuple):
    """Alternatives of which one is written; `number`, a checksum of the text, tells choices apart."""

    options: tuple[Tree, ...]
    number: int = 0


class Template(NamedTuple):
    """A sentence: its number among all templates, its tree, and whether an opener ("Moreover, ") may precede it."""

    number: int
    tree: Tree
    opens: bool


class Field(NamedTuple):
    """A field of study; `families` and `groups` are the methods and findings usual in it."""

    name: str
    context: tuple[Tree, ...]
    venues: tuple[str, ...]
    families: tuple[int, ...]
    groups: tuple[int, ...]


class Area(NamedTuple):
    """The first level of a field's tree."""

    name: str
    definition: str
    context: tuple[Tree, ...]
    field: int


class Topic(NamedTuple):
    """The second level: names of the topic (`context`), of what one studies in it (`data`); medicine: patients' signs."""

    name: str
    definition: str
    context: tuple[Tree, ...]
    data: tuple[Tree, ...]
    patient: tuple[Tree, ...]
    area: int
    field: int


class Problem(NamedTuple):
    """The third level; `acts` are (gerund, noun with preposition) pairs, `what` and `where` their object and place; `lay` names."""

    name: str
    definition: str
    acts: tuple[tuple[Tree, Tree], ...]
    what: tuple[Tree, ...]
    where: tuple[Tree, ...]
    query: tuple[Tree, ...]
    lay: tuple[Tree, ...]
    topic: int


class Concept(NamedTuple):
    """The name and definition of a group of concepts (family of methods, group of aspects)."""

    name: str
    definition: str


class Method(NamedTuple):
    """A method: noun phrases, clauses that say how it works, and the first year in which it may be used."""

    name: str
    definition: str
    np: tuple[Tree, ...]
    step: tuple[Tree, ...]
    family: int
    since: int


class Aspect(NamedTuple):
    """What a finding is about; `rising_is_good` decides which verbs mean that it got better."""

    name: str
    definition: str
    np: tuple[Tree, ...]
    group: int
    rising_is_good: bool


class Lexicon(NamedTuple):
    """All words, parsed. `polarity[p][r]` = (verbs, gains) for better/same/worse and rising_is_good 0/1."""

    fields: tuple[Field, ...]
    areas: tuple[Area, ...]
    topics: tuple[Topic, ...]
    problems: tuple[Problem, ...]
    obstacles: tuple[tuple[tuple[Tree, ...], tuple[Tree, ...]], ...]  # (noun phrases, clauses)
    usual: dict[str, tuple[tuple[int, ...], tuple[int, ...]]]  # obstacles, modes, conditions: of computing, of the rest
    families: tuple[Concept, ...]
    methods: tuple[Method, ...]
    modes: tuple[tuple[Tree, ...], ...]
    groups: tuple[Concept, ...]
    aspects: tuple[Aspect, ...]
    polarity: tuple[tuple[tuple[tuple[Tree, ...], tuple[Tree, ...]], ...], ...]
    conditions: tuple[tuple[Tree, ...], ...]
    templates: dict[str, tuple[Template, ...]]
    phrases: dict[str, Any]  # lexicon_phrases.json with every string parsed
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
            options, closing, start = [], "|", at
            while closing == "|":
                option, at = _sequence(tokens, at + 1, inside=True)
                if at == len(tokens):
                    raise ValueError("bracket is never closed")
                options.append(option)
                closing = tokens[at]
            parts.append(Choice(tuple(options), zlib.crc32("".join(tokens[start : at + 1]).encode())))
        elif token in "]|":
            raise ValueError(f"stray {token!r}")
        else:
            parts.append(Slot(token[1:-1]) if token.startswith("{") else token)
        at += 1
    return tuple(parts), at


def spell(tree: Tree, draw: Draw, fill: Fill, habit: int = -1, strength: int = 0) -> str:
    """Write one spelling of `tree`: slots by `fill`, choices by `draw` or, where `draw` < `strength`, by habit.

    Args:
        habit: a number that stands for the writer (-1: none): the same writer tends to the same alternative.
        strength: how often, of 65,536, habit decides.
    """
    out = []
    for part in tree:
        if isinstance(part, str):
            out.append(part)
        elif isinstance(part, Choice):
            drawn = draw()
            if habit >= 0 and drawn < strength:
                drawn = ((habit + 1) * 2_654_435_761 + part.number * 40_503) >> 9
            out.append(spell(part.options[drawn % len(part.options)], draw, fill, habit, strength))
        else:
            out.append(fill[part.name]())
    return "".join(out)


def count(tree: Tree) -> int:
    """Return how many spellings a tree without slots has."""
    return math.prod(sum(count(o) for o in p.options) if isinstance(p, Choice) else 1 for p in tree)


def _trees(strings: Iterable[str]) -> tuple[Tree, ...]:
    return tuple(parse(s) for s in strings)


def _made(kind: type[T], row: dict[str, Any], **more: Any) -> T:
    """Make a record of a row of a word file: lists become trees, empty where the row has none; `more` is taken as it is."""
    read = {name: row.get(name, ()) for name in kind.__annotations__ if name not in more}
    return kind(**{name: value if isinstance(value, str) else _trees(value) for name, value in read.items()}, **more)


@functools.cache
def lexicon() -> Lexicon:
    """Read and parse the word files (once per process)."""
    folder = Path(__file__).parent
    words, findings, names = (read_json(folder / f"lexicon_{name}.json") for name in ("methods", "findings", "names"))
    families = {row["name"]: number for number, row in enumerate(words["families"])}
    groups = {row["name"]: number for number, row in enumerate(findings["aspects"])}
    acts = {name: tuple((parse(g), parse(n)) for g, n in pairs) for name, pairs in words["acts"].items()}
    habits = {"obstacles": words["obstacles"], "modes": words["modes"], "conditions": findings["conditions"]}
    rows = [read_json(folder / "fields" / f"{name.lower().replace(' ', '_')}.json") for name in FIELDS]
    return Lexicon(
        **_background(rows, acts, families, groups),
        obstacles=tuple((_trees(o["np"]), _trees(o["clause"])) for o in words["obstacles"]),
        usual={name: (_meant_for("computing", rows), _meant_for("other", rows)) for name, rows in habits.items()},
        families=tuple(_made(Concept, row) for row in words["families"]),
        methods=tuple(
            _made(Method, m, np=_named(m), family=family, since=m.get("since", 0))
            for family, row in enumerate(words["families"])
            for m in row["methods"]
        ),
        modes=tuple(_trees(m["adverb"]) for m in words["modes"]),
        groups=tuple(_made(Concept, row) for row in findings["aspects"]),
        aspects=tuple(
            _made(Aspect, a, group=group, rising_is_good=a["good"] == "up")
            for group, row in enumerate(findings["aspects"])
            for a in row["members"]
        ),
        polarity=tuple(
            tuple((_trees(row[way]["verb"]), _trees(row[way]["gain"])) for way in ("down", "up"))
            for row in (findings["polarity"][outcome] for outcome in ("better", "same", "worse"))
        ),
        conditions=tuple(_trees(c["adverb"]) for c in findings["conditions"]),
        templates=_templates(read_json(folder / "templates.json")),
        phrases=_phrases(read_json(folder / "lexicon_phrases.json")),
        given_names=tuple(names["given_names"]),
        family_names=tuple(names["family_names"]),
    )


def _meant_for(whom: str, rows: list[dict[str, Any]]) -> tuple[int, ...]:
    return tuple(k for k, row in enumerate(rows) if row["for"] in (whom, "all"))


def _named(concept: dict[str, Any]) -> tuple[Tree, ...]:
    """Return the forms of a method, its name among them: label names must occur in texts (SciMult 4.2)."""
    forms = list(concept["np"])
    if concept["name"] not in forms:
        forms.insert(len(forms) // 2, concept["name"])
    return _trees(forms)


def _background(
    rows: list[dict[str, Any]], acts: dict[str, Any], families: dict[str, int], groups: dict[str, int]
) -> dict[str, Any]:
    fields, areas, topics, problems = list[Field](), list[Area](), list[Topic](), list[Problem]()
    for row in rows:
        for area in row["areas"]:
            for topic in area["topics"]:
                problems += [_made(Problem, p, acts=acts[p["act"]], topic=len(topics)) for p in topic["problems"]]
                topics.append(_made(Topic, topic, area=len(areas), field=len(fields)))
            areas.append(_made(Area, area, field=len(fields)))
        methods, findings = tuple(families[n] for n in row["families"]), tuple(groups[n] for n in row["findings"])
        fields.append(_made(Field, row, venues=tuple(row["venues"]), families=methods, groups=findings))
    return {"fields": tuple(fields), "areas": tuple(areas), "topics": tuple(topics), "problems": tuple(problems)}


def _phrases(value: Any) -> Any:
    if isinstance(value, str):
        return parse(value)
    if isinstance(value, list):
        return tuple(_phrases(v) for v in value)
    return {key: v if key in ("name", "definition", "place") else _phrases(v) for key, v in value.items()}


def _templates(groups: dict[str, list[str]]) -> dict[str, tuple[Template, ...]]:
    numbers = itertools.count()
    return {
        name: tuple(Template(next(numbers), parse(s), OPENS.match(s) is not None) for s in strings)
        for name, strings in groups.items()
    }
