"""What two author mentions have in common: the features of S2AND's pairwise model (Subramanian et al. 2021; SciRepEval A.2).

Published are 39 numbers for a pair of mentions of one block. Here are 30 of them, under their names and with their
directions; `FEATURES` says what each is. An overlap is |a & b| / |a | b| of two sets, a missing value where either is
empty: the published one counts words and n-grams with repetition. Names are lower case without accents, apostrophes
and titles; what follows the first word of a given name counts as middle name. How frequent a name is comes from a
file of counts made from all of Semantic Scholar; here the bylines of the task's own papers are counted.

Not here: four overlaps of what the cited papers' records say (authors, titles, venues, blocks), three of detected languages
(the published cosine is missing where a language is another than English), two more distances of first names. Labels
are not among the inputs: `table` never looks at `Signature.cluster`.

Everything about one mention is made once (`table`); pairs are array look-ups, products of sparse 0-1 matrices and one
edit distance per two different first names.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from scirep_core.data.task import Byline, Signature
from scirep_core.evaluators.rows import Floats
from scirep_core.kit.records import Paper

Ints = NDArray[np.int64]
Singles = NDArray[np.float32]


class Feature(NamedTuple):
    """One number of a pair; `direction` 1 or -1 where the model may only let the probability rise or fall with it."""

    name: str
    group: str
    direction: int
    what: str


FEATURES = (
    Feature("first_names_equal", "name", 1, "1 if first names are equal, 0 if not"),
    Feature("middle_initials_overlap", "name", 1, "overlap of the middle names' initials"),
    Feature("middle_names_equal", "name", 1, "1 if middle names are equal, or one is the other's initials"),
    Feature("middle_one_missing", "name", 0, "1 if exactly one mention has a middle name"),
    Feature("single_char_first", "name", 0, "1 if either first name is an initial"),
    Feature("single_char_middle", "name", 0, "1 if either middle name is an initial"),
    Feature("levenshtein", "name", 0, "edits between first names, as a share of the longer"),
    Feature("prefix", "name", 0, "share of the shorter first name that does not begin the longer"),
    Feature("first_name_count_min", "name count", 0, "bylines with the rarer first name"),
    Feature("last_first_name_count_min", "name count", -1, "bylines with the rarer full name"),
    Feature("last_name_count_min", "name count", -1, "bylines with the rarer family name"),
    Feature("last_first_initial_count_min", "name count", -1, "bylines with the rarer initial and family name"),
    Feature("first_name_count_max", "name count", 0, "bylines with the commoner first name"),
    Feature("last_first_name_count_max", "name count", -1, "bylines with the commoner full name"),
    Feature("affiliation_overlap", "affiliation", 0, "overlap of the words of both affiliations"),
    Feature("email_prefix_equal", "e-mail", 1, "1 if e-mails are equal before the @"),
    Feature("email_suffix_equal", "e-mail", 1, "1 if e-mails are equal after the @"),
    Feature("coauthor_overlap", "co-authors", 1, "overlap of co-authors as initial and family name"),
    Feature("coauthor_similarity", "co-authors", 0, "overlap of the co-authors' three-letter strings"),
    Feature("coauthor_match", "co-authors", 1, "overlap of co-authors by full name"),
    Feature("venue_overlap", "venue", 0, "overlap of the venues' words"),
    Feature("journal_overlap", "venue", 0, "overlap of the journals' words"),
    Feature("year_diff", "year", -1, "years between the papers, at most 50"),
    Feature("title_overlap_words", "title", 1, "overlap of the titles' words"),
    Feature("title_overlap_chars", "title", 1, "overlap of the titles' three-letter strings"),
    Feature("references_self_citation", "references", 1, "1 if one paper cites the other"),
    Feature("references_overlap", "references", 1, "overlap of the papers cited"),
    Feature("position_diff", "other", 0, "places between the mentions in their bylines, at most 50"),
    Feature("abstract_count", "other", 0, "papers of the two with an abstract"),
    Feature(
        "specter_cosine_sim", "embedding", 0, "cosine of the papers' vectors; the published name, whatever encoder"
    ),
)
"""All features of a pair, the embedding last. Directions are the published monotone constraints."""
NAMELESS = np.array([not feature.group.startswith("name") for feature in FEATURES])
"""The features of the second, nameless model: whatever is not of the names."""
TITLES = frozenset({"dr", "prof", "professor", "mr", "mrs", "ms", "miss", "sir", "phd"})
EVERYWHERE = frozenset({
    "the", "of", "and", "for", "in", "on", "a", "an", "to", "with", "de", "der", "university", "college", "institute",
    "department", "school", "laboratory", "national", "research", "academy", "proceedings", "journal", "conference",
    "transactions", "international", "society", "letters", "association",
})  # fmt: skip
"""Words that say nothing of an affiliation, a venue or a title."""
LONGEST = 24
"""Letters of a first name that are compared."""


class Person(NamedTuple):
    """A name in parts, normalised; "" where unknown."""

    first: str
    middle: str
    last: str


def letters(text: str) -> str:
    """Return text in lower case, without accents and apostrophes, other signs as blanks."""
    plain = unicodedata.normalize("NFKD", text.lower()).replace("'", "").replace("\u2019", "")
    return " ".join(re.sub(r"[^a-z]+", " ", "".join(c for c in plain if not unicodedata.combining(c))).split())


def person(first: str, middle: str, last: str, whole: str = "") -> Person:
    """Return a name's parts; from the whole name where no part is given."""
    if not first and not last:
        *given, last = letters(whole).split() or [""]
        first = " ".join(given)
    given = [word for word in letters(first).split() if word not in TITLES]
    return Person(given[0] if given else "", " ".join([*given[1:], *letters(middle).split()]), letters(last))


@dataclass(frozen=True)
class Table:
    """What is known of every mention, ready to be compared; arrays run over mentions, -1 and NaN are unknown."""

    codes: Mapping[str, Ints]
    sets: Mapping[str, Any]
    numbers: Mapping[str, Floats]
    spelled: NDArray[np.uint32]
    """(first names, LONGEST) letters of each first name, 0 beyond its end; `codes["first"]` points here."""
    memo: dict[Any, Any] = field(default_factory=dict, compare=False)
    """Features of blocks and fitted models that do not depend on vectors: shared by all encoders of a task."""


def table(rows: Sequence[Signature], papers: Mapping[str, Paper], bylines: Mapping[str, Byline]) -> Table:
    """Return all that is known of mentions, from their rows, their papers' texts and bylines. Clusters are not read."""
    people = [person(row.first, row.middle, row.last, row.name) for row in rows]
    texts = [papers.get(row.paper_id, Paper(row.paper_id, "", "")) for row in rows]
    lines = [bylines.get(row.paper_id, Byline(row.paper_id)) for row in rows]
    mails = [row.email.rpartition("@") if "@" in row.email else ("", "", "") for row in rows]
    team = [_coauthors(line, row, one) for line, row, one in zip(lines, rows, people, strict=True)]
    firsts, first = _codes(one.first for one in people)
    spelled = np.zeros((len(firsts) + 1, LONGEST), dtype=np.uint32)
    for i, name in enumerate(firsts):
        spelled[i, : len(name[:LONGEST])] = [ord(c) for c in name[:LONGEST]]
    own = [{row.paper_id} for row in rows]
    cited = [set(line.references) for line in lines]
    known = sorted(set().union(*cited, *own))
    sets = {
        "middle": _matrix([{word[0] for word in one.middle.split()} for one in people]),
        "affiliation": _matrix([_words(row.affiliation) for row in rows]),
        "coauthor blocks": _matrix([{f"{one.first[:1]} {one.last}" for one in others} for others in team]),
        "coauthor strings": _matrix([_strings(" ".join(map(" ".join, others))) for others in team]),
        "coauthors": _matrix([{" ".join(one) for one in others if len(one.first) > 1} for others in team]),
        "venue": _matrix([_words(text.venue) for text in texts]),
        "journal": _matrix([_words(line.journal) for line in lines]),
        "title words": _matrix([_words(text.title) for text in texts]),
        "title strings": _matrix([_strings(letters(text.title)) for text in texts]),
        "references": _matrix(cited, known),
        "paper": _matrix(own, known),
    }
    numbers = {
        "year": np.array([text.year or np.nan for text in texts], dtype=np.float64),
        "position": np.array([row.position if row.position >= 0 else np.nan for row in rows], dtype=np.float64),
        "abstract": np.array([float(bool(text.abstract)) if row.paper_id in papers else np.nan
                              for row, text in zip(rows, texts, strict=True)]),
        "cites": np.array([float(bool(these)) for these in cited]),
    } | _counts(people, bylines)  # fmt: skip
    codes = {
        "first": first,
        "middle": _codes(one.middle for one in people)[1],
        "middle initials": _codes("".join(word[0] for word in one.middle.split()) for one in people)[1],
        "single first": np.array([_single(one.first) for one in people]),
        "single middle": np.array([_single(one.middle.replace(" ", "")) for one in people]),
        "e-mail prefix": _codes(mail[0].strip(".").lower() for mail in mails)[1],
        "e-mail suffix": _codes(mail[2].strip(".").lower() for mail in mails)[1],
    }
    return Table(codes, sets, numbers, spelled)


def _single(name: str) -> int:
    return int(len(name) == 1) if name else -1


def _coauthors(line: Byline, row: Signature, one: Person) -> list[Person]:
    """Return the others of a byline: all but the mention's place, or, where this is unknown, but its own name."""
    people = [person("", "", "", name) for name in line.authors]
    own = f"{one.first[:1]} {one.last}"
    if row.position >= 0:
        return [p for k, p in enumerate(people) if k != row.position]
    return [p for p in people if f"{p.first[:1]} {p.last}" != own]


def _codes(values: Iterable[str]) -> tuple[Any, Ints]:
    """Return the different values that are not empty, as they come, and of each value its place among them or -1."""
    import pandas

    codes, found = pandas.factorize(np.array([value or None for value in values], dtype=object))
    return found, codes


def _matrix(sets: Sequence[Iterable[str]], elements: Sequence[str] | None = None) -> Any:
    """Return the sparse 0-1 matrix (mentions, elements) of sets; `elements` gives matrices the same columns."""
    from sklearn.preprocessing import MultiLabelBinarizer

    return MultiLabelBinarizer(classes=elements, sparse_output=True).fit_transform(sets).astype(np.float32)


def _words(text: str) -> set[str]:
    return {word for word in letters(text).split() if word not in EVERYWHERE}


def _strings(text: str) -> set[str]:
    return {text[i : i + 3] for i in range(len(text) - 2)}


def _counts(people: Sequence[Person], bylines: Mapping[str, Byline]) -> dict[str, Floats]:
    """Return how many byline entries share a mention's names; without bylines, how many mentions do."""
    everyone = [person("", "", "", name) for line in bylines.values() for name in line.authors] or people
    keys: dict[str, Callable[[Person], str]] = {
        "first count": lambda one: one.first if len(one.first) > 1 else "",
        "full count": lambda one: f"{one.first} {one.last}" if len(one.first) > 1 and one.last else "",
        "last count": lambda one: one.last,
        "initial count": lambda one: f"{one.first[:1]} {one.last}" if one.first and one.last else "",
    }
    found = {}
    for name, key in keys.items():
        seen = Counter(map(key, everyone))
        found[name] = np.array([seen[key(one)] or 1 if key(one) else np.nan for one in people], dtype=np.float64)
    return found


def pairs_of(sizes: Sequence[int]) -> tuple[Ints, Ints]:
    """Return (first, second) of all pairs within blocks laid end to end, block by block, in condensed order."""
    starts = np.cumsum([0, *sizes])
    upper = [np.triu_indices(n, 1) for n in sizes]
    parts = [[part + start for part in one] for one, start in zip(upper, starts, strict=False)]
    first, second = (np.concatenate([part[side] for part in parts] or [np.zeros(0, np.int64)]) for side in (0, 1))
    return first, second


def metadata(known: Table, blocks: Sequence[Ints]) -> Singles:
    """Return (pairs, features but the embedding) of all pairs within each block, NaN where a value is missing.

    `blocks` holds the places of mentions. Give blocks of together a thousand mentions or so at a time: memory and time
    grow with the square of their sum.
    """
    i, j = pairs_of([len(block) for block in blocks])
    at = np.concatenate([*blocks, np.zeros(0, dtype=np.int64)])
    code, number = {k: v[at] for k, v in known.codes.items()}, {k: v[at] for k, v in known.numbers.items()}
    sets = {k: v[at] for k, v in known.sets.items()}
    overlap = {name: _overlap(matrix, i, j) for name, matrix in sets.items() if name != "paper"}
    citing = (
        (sets["references"] @ sets["paper"].T).toarray() if known.sets["references"].nnz else np.zeros((len(at),) * 2)
    )
    edits, start = _spelling(known.spelled, code["first"][i], code["first"][j])
    initials = np.maximum(_equal(code["middle"], i, j), np.where(
        (code["single middle"] == 1)[i] | (code["single middle"] == 1)[j], _equal(code["middle initials"], i, j), 0))  # fmt: skip

    def either(name: str) -> Floats:
        a, b = code[name][i], code[name][j]
        return np.array(np.where((a < 0) & (b < 0), np.nan, (a == 1) | (b == 1)))

    def of(which: np.ufunc, *names: str) -> list[Floats]:
        return [which(number[name][i], number[name][j]) for name in names]

    def apart(name: str) -> Floats:
        return np.asarray(np.minimum(np.abs(number[name][i] - number[name][j]), 50))

    has_middle = code["middle"] >= 0
    columns = [
        _equal(code["first"], i, j), overlap["middle"], initials, (has_middle[i] != has_middle[j]).astype(np.float64),
        either("single first"), either("single middle"), edits, start,
        *of(np.minimum, "first count", "full count", "last count", "initial count"), *of(np.maximum, "first count", "full count"),
        overlap["affiliation"], _equal(code["e-mail prefix"], i, j), _equal(code["e-mail suffix"], i, j),
        overlap["coauthor blocks"], overlap["coauthor strings"], overlap["coauthors"],
        overlap["venue"], overlap["journal"], apart("year"), overlap["title words"], overlap["title strings"],
        np.where((number["cites"][i] + number["cites"][j]) > 0, (citing[i, j] + citing[j, i]) > 0, np.nan),
        overlap["references"], apart("position"), number["abstract"][i] + number["abstract"][j],
    ]  # fmt: skip
    return np.stack(columns, axis=1).astype(np.float32)


def likeness(vectors: Floats, blocks: Sequence[Ints], similarity: str = "cosine") -> Singles:
    """Return (pairs,) similarities of rows of (mentions, dim); NaN where either is a zero or a missing (NaN) vector."""
    i, j = pairs_of([len(block) for block in blocks])
    rows = vectors[np.concatenate([*blocks, np.zeros(0, dtype=np.int64)])]
    norms = np.linalg.norm(rows, axis=1, keepdims=True)
    rows = np.where(norms > 0, rows, np.nan)
    if similarity == "cosine":
        rows = rows / norms
    products = rows @ rows.T
    if similarity == "l2":
        squares = np.diag(products)
        products = -np.sqrt(np.maximum(squares[:, None] + squares - 2 * products, 0))
    return np.asarray(products[i, j], dtype=np.float32)


def _equal(codes: Ints, i: Ints, j: Ints) -> Floats:
    return np.array(np.where((codes[i] < 0) | (codes[j] < 0), np.nan, codes[i] == codes[j]))


def _overlap(matrix: Any, i: Ints, j: Ints) -> Floats:
    if not matrix.nnz:
        return np.full(len(i), np.nan)
    sizes = np.asarray(matrix.sum(axis=1)).ravel()
    common = (matrix @ matrix.T).toarray()[i, j]
    union = sizes[i] + sizes[j] - common
    known = (sizes[i] > 0) & (sizes[j] > 0)
    return np.asarray(np.divide(common, union, out=np.full(len(i), np.nan), where=known))


def _spelling(spelled: NDArray[np.uint32], first: Ints, second: Ints) -> tuple[Floats, Floats]:
    """Return (edit distance / longer, 1 - common beginning / shorter) of first names; NaN where either is unknown."""
    if not len(first):
        return np.zeros(0), np.zeros(0)
    pairs, back = np.unique(np.stack([first, second], axis=1), axis=0, return_inverse=True)
    a, b = spelled[pairs[:, 0]], spelled[pairs[:, 1]]
    long_a, long_b = (a > 0).sum(axis=1), (b > 0).sum(axis=1)
    same = (a == b) & (a > 0)
    beginning = np.minimum.accumulate(same, axis=1).sum(axis=1)
    steps = np.arange(LONGEST + 1)
    line = np.tile(steps, (len(pairs), 1))
    edits = np.zeros(len(pairs), dtype=np.int64)
    for k in range(int(long_a.max()) + 1):
        at_end = long_a == k
        edits[at_end] = line[at_end, long_b[at_end]]
        if k == LONGEST:
            break
        down = np.minimum(line[:, 1:] + 1, line[:, :-1] + (a[:, k : k + 1] != b))
        whole = np.concatenate([np.full((len(pairs), 1), k + 1), down], axis=1)
        line = np.minimum.accumulate(whole - steps, axis=1) + steps  # the best of coming from the left
    known = (long_a > 0) & (long_b > 0)
    result = [np.divide(x, n, out=np.full(len(pairs), np.nan), where=known)
              for x, n in ((edits, np.maximum(long_a, long_b)), (np.minimum(long_a, long_b) - beginning,
                                                               np.minimum(long_a, long_b)))]  # fmt: skip
    back = back.ravel()
    return result[0][back], result[1][back]
