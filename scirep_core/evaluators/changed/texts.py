"""What the 32 changes do to texts, and whether the five categories hold (textual neighbours, sections 3 and 4, appendix B).

Measured on the altered papers of a collection, by code:

    applies        papers that have such a neighbour; of the others, why not
    words_kept     mean % of the words of title and abstract that are still there, in any case and order
    changed        % of neighbours that are another text at all; reworded, another sequence of words, upper and lower case apart
    same_input     % of neighbours of which an encoder reads exactly what it reads of the original

and where the public code does something else than the text says (`variants`): how much longer a text becomes, how much of it
is broken, which words become which. The paper's own rules (section 3) then say from `words_kept` what category a code has.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from scirep_core.data.perturbations import LITERAL, PERTURBATIONS, VARIANTS, category_by_rule, perturb
from scirep_core.data.perturbations.altered import Altered, Made
from scirep_core.data.perturbations.changes import Parsed, Text
from scirep_core.encoders import Encoder
from scirep_core.encoders.models.model_folder import clean
from scirep_core.encoders.vectors.embed import embed
from scirep_core.evaluators.changed.tools import drawn
from scirep_core.evaluators.rows import Asked, Floats, spread_of
from scirep_core.kit.formats import Format
from scirep_core.kit.records import Paper
from scirep_core.results import Result, provenance

FORMAT: Format = "PRX"
LOSSLESS = tuple(code for code, known in PERTURBATIONS.items() if known.category == "LL-HS")
"""Case and white space: what an uncased encoder may not see at all."""
SPACES, RANDOM, LETTERS, ADDED, PHRASES, ANTONYMS = (
    "T_A_WS", "T_ADelRand", "T_A_DelNNChar", "TRepNNA_A", "T_ADelNNPH", "T_ARepADJ",
)  # fmt: skip
LINES = (90.0, 70.0)
"""% of the words that highly and partially similar neighbours keep, by section 3."""
OFTEN = 15
"""Replacements listed."""
LEFT_OUT, REPLACED = "left out: ", "replaced"
_WORD = re.compile(r"\w+")


# ---- what each code does ---------------------------------------------------------------------------------------------


def measure(asked: Asked, made: Made, chosen: Sequence[str]) -> list[Result]:
    """Return, by code: how often it applies and why not, words kept, texts changed; and what `variants` looks at.

    Args:
        chosen: the papers that were altered.
    """
    rows = [row for code, altered in made.by_code.items() for row in _of_code(asked, len(chosen), code, altered)]
    return rows + variants(asked, made, drawn(chosen, asked.seed))


def _of_code(asked: Asked, papers: int, code: str, altered: Altered) -> list[Result]:
    rows = [_count(asked, "applies", code, len(altered.ids), papers)]
    reasons: Counter[str] = Counter()
    for reason, count in altered.reasons.items():
        reasons[why(reason)] += count
    rows += [_count(asked, LEFT_OUT + reason, code, count, papers) for reason, count in reasons.most_common()]
    if not altered.ids:
        return rows
    before = [Text(asked.task.papers[key].title, asked.task.papers[key].abstract) for key in altered.ids]
    shares = {
        "words_kept": altered.shares,
        "changed": [new != old for new, old in zip(altered.texts, before, strict=True)],
        "reworded": [_words(new) != _words(old) for new, old in zip(altered.texts, before, strict=True)],
    }
    return rows + [_mean(asked, metric, code, np.array(values, float)) for metric, values in shares.items()]


def why(reason: str) -> str:
    """Return a reason without the number of sentences that one abstract happens to have."""
    return re.sub(r"the abstract has \d+ sentences?, 3 are needed", "fewer than 3 sentences", reason)


def _words(text: Text) -> list[str]:
    return [word for field in text for word in _WORD.findall(field)]


def _count(asked: Asked, metric: str, split: str, count: float, n: int, note: str = "") -> Result:
    return asked.row(metric, float(count), n, split, similarity="", note=note)


def _mean(asked: Asked, metric: str, split: str, values: Floats, note: str = "", scale: float = 100) -> Result:
    spread = spread_of(asked, values, "perturbations")
    given = {key: value * scale / 100 for key, value in spread.items()}
    return asked.row(metric, scale * float(values.mean()), len(values), split, similarity="", note=note, **given)


# ---- where code and paper differ -------------------------------------------------------------------------------------


def variants(asked: Asked, made: Made, keys: Sequence[str]) -> list[Result]:
    """Return what the two readings of a code do to the texts of papers, and what is odd about four other codes."""
    rows = list[Result]()
    papers = [asked.task.papers[key] for key in keys]
    if not papers:
        return rows
    parsed = {paper.paper_id: (Parsed(paper.title, made.tools), Parsed(paper.abstract, made.tools)) for paper in papers}
    for code in LITERAL:
        for variant in VARIANTS:
            texts = literal(papers, parsed, code, asked.seed, variant)
            if texts:
                rows += _readings(asked, f"{code} {variant}", texts)
    changed = {code: dict(zip(found.ids, found.texts, strict=True)) for code, found in made.by_code.items()}
    rows += _letters(asked, parsed, changed[LETTERS])
    rows += _added(asked, parsed, changed[ADDED])
    rows += _phrases(asked, parsed)
    return rows + _replaced(asked, parsed, changed[ANTONYMS])


Known = Mapping[str, tuple[Parsed, Parsed]]


def literal(papers: Sequence[Paper], parsed: Known, code: str, seed: int, variant: str) -> dict[Paper, Text]:
    """Return the neighbours of papers by one reading of a code; papers it does not apply to are left out."""
    found = {}
    for paper in papers:
        one = perturb(paper.paper_id, *parsed[paper.paper_id], code, seed, None, variant)
        if one.applies:
            found[paper] = Text(one.title or "", one.abstract or "")
    return found


def _readings(asked: Asked, split: str, texts: Mapping[Paper, Text]) -> list[Result]:
    """Return the words of the new text for each of the original, texts with all words in place, words that are no original's."""
    lengths, intact, broken = [], [], []
    for paper, text in texts.items():
        old, new = _words(Text(paper.title, paper.abstract)), _words(text)
        lengths.append(len(new) / len(old) if old else 1.0)
        intact.append(old == new)
        known = set(old)
        broken.append(sum(word not in known for word in new) / len(new) if new else 0.0)
    return [
        _mean(asked, "length", split, np.array(lengths), "words of the neighbour for each of the original", 1),
        _mean(asked, "intact", split, np.array(intact, float), "neighbours with every word in its place"),
        _mean(asked, "broken", split, np.array(broken), "words of the neighbour that the original does not have"),
    ]


def _letters(asked: Asked, parsed: Known, texts: Mapping[str, Text]) -> list[Result]:
    lost: Counter[int] = Counter()
    for key in parsed.keys() & texts.keys():
        for field, new in zip(parsed[key], texts[key], strict=True):
            lost.update(len(a) - len(b) for a, b in zip(field.tokens, new.split(" "), strict=False) if a != b)
    total = lost.total()
    whats = {n: f"words that lose {n} of their letters" for n in sorted(lost)}
    return [_count(asked, what, LETTERS, 100 * lost[n] / total, total) for n, what in whats.items()]


def _added(asked: Asked, parsed: Known, texts: Mapping[str, Text]) -> list[Result]:
    both = [(title.text, texts[key].title) for key, (title, _) in parsed.items() if key in texts]
    nouns = [len(new.split()) - len(old.split()) for old, new in both]
    return [_mean(asked, "nouns added", ADDED, np.array(nouns, float), "", 1)] if nouns else []


def _phrases(asked: Asked, parsed: Known) -> list[Result]:
    """Return the share of noun phrases that stand in their abstract as they are looked for, in lower case."""
    abstracts = [abstract for _, abstract in parsed.values() if abstract.phrases]
    shares = [np.mean([phrase in one.text for phrase in one.phrases]) for one in abstracts]
    return [_mean(asked, "phrases found", PHRASES, np.array(shares, float), "mean over abstracts")] if shares else []


def _replaced(asked: Asked, parsed: Known, texts: Mapping[str, Text]) -> list[Result]:
    """Return the most frequent replacements, and the shares of words replaced and of replacements with an underscore."""
    pairs: Counter[tuple[str, str]] = Counter()
    words = 0
    for key in parsed.keys() & texts.keys():
        tokens = parsed[key][1].tokens
        words += len(tokens)
        pairs.update((a.lower(), b) for a, b in zip(tokens, texts[key].abstract.split(" "), strict=False) if a != b)
    total = pairs.total()
    if not total:
        return []
    rows = [_count(asked, REPLACED, f"{a} → {b}", n, total, "adjectives replaced") for (a, b), n in _most(pairs)]
    several = sum(n for (_, b), n in pairs.items() if "_" in b)
    return [
        *rows,
        _count(asked, "words replaced", ANTONYMS, 100 * total / words, words, "of the abstracts' tokens"),
        _count(asked, "opposites with an underscore", ANTONYMS, 100 * several / total, total, "of the replacements"),
        _count(asked, "different replacements", ANTONYMS, len(pairs), total),
    ]


def _most(pairs: Counter[tuple[str, str]]) -> list[tuple[tuple[str, str], int]]:
    return sorted(pairs.items(), key=lambda item: (-item[1], item[0]))[:OFTEN]


# ---- what an encoder sees of it --------------------------------------------------------------------------------------


def seen(asked: Asked, made: Made, encoder: Encoder, originals: Mapping[str, NDArray[np.floating]]) -> list[Result]:
    """Return by code of LOSSLESS how many neighbours an encoder reads as their original.

    Inputs are compared as token ids after cutting; of an encoder without a tokenizer, vectors are, to six digits.

    Args:
        originals: (dim,) vectors of title + abstract by paper.
    """
    rows = list[Result]()
    for code in LOSSLESS:
        altered = made.by_code[code]
        if not altered.ids:
            continue
        papers = [Paper(key, *text) for key, text in zip(altered.ids, altered.texts, strict=True)]
        ids = inputs(encoder, papers)
        if ids is not None:
            own = inputs(encoder, [asked.task.papers[key] for key in altered.ids])
            same, how = [a == b for a, b in zip(ids, own or [], strict=True)], "token ids"
        else:
            before = np.stack([originals[key] for key in altered.ids])
            after = embed(encoder, [encoder.recipe.of_paper(paper) for paper in papers], FORMAT)
            same, how = np.all(np.abs(after - before) < 1e-6, axis=1).tolist(), "vectors, to six digits"
        rows.append(_mean(asked, "same_input", code, np.array(same, float), f"by {how}"))
    return rows


def inputs(encoder: Encoder, papers: Sequence[Paper]) -> list[list[int]] | None:
    """Return the token ids an encoder reads of papers, cut as it cuts them; None of an encoder without a tokenizer."""
    tokenizer, length = getattr(encoder, "tokenizer", None), getattr(encoder, "length", None)
    if tokenizer is None or length is None:
        return None
    texts = [clean(encoder.recipe.of_paper(paper)) for paper in papers]
    found: list[list[int]] = tokenizer(texts, truncation=True, max_length=length, verbose=False)["input_ids"]
    return found


def facts(encoder: Encoder) -> list[Result]:
    """Return what Table 8 prints of models, read off an encoder with a tokenizer: vocabulary, whether case is kept."""
    tokenizer = getattr(encoder, "tokenizer", None)
    if tokenizer is None:
        return []
    cased = tokenizer("NLP")["input_ids"] != tokenizer("nlp")["input_ids"]
    counts = {
        "vocabulary": len(tokenizer),
        "case kept": float(cased),
        "tokens read": float(getattr(encoder, "length", 0)),
    }
    return [
        Result(task="model", split=_kind(tokenizer), metric=metric, protocol="paper", value=float(value), n=1, encoder=encoder.name,
               fingerprint=encoder.fingerprint, source="checkpoint", data_hash=encoder.fingerprint, provenance=provenance())
        for metric, value in counts.items()
    ]  # fmt: skip


def _kind(tokenizer: Any) -> str:
    backend = getattr(tokenizer, "backend_tokenizer", None)
    return type(backend.model).__name__ if backend is not None else type(tokenizer).__name__


# ---- the paper's rules -----------------------------------------------------------------------------------------------


class Judged(NamedTuple):
    """One code: the printed category, the one by rule (None: no rule fits), whether the interval crosses a line."""

    code: str
    printed: str
    by_rule: str | None
    settled: bool

    @property
    def agrees(self) -> bool:
        """Whether the rule gives the printed category."""
        return self.by_rule == self.printed


def judge(code: str, row: Result, printed: str) -> Judged:
    """Return a code's category by section 3's rules, from its mean share of words kept."""
    values = [row.value, *(bound for bound in (row.low, row.high) if bound is not None)]
    found = [category_by_rule(code, value / 100) for value in values]
    return Judged(code, printed, found[0], len(set(found)) == 1)
