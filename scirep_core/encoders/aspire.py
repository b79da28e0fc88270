"""ASPIRE: papers compared sentence by sentence (Mysore, Cohan and Hope 2022; SciRepEval appendix C, Table 7).

A paper is read in one pass, title + separator + abstract; a sentence's vector is the mean of its tokens' last hidden
states. The title gives context and has no vector of its own, unless the abstract is empty: then it is the only sentence.
With D[i, j] the Euclidean distance of sentence i of one paper and j of the other,

    ts  text supervision   score = - min over i, j of D[i, j]                        the best pair of sentences
    ot  optimal transport  score = - sum over i, j of P[i, j] D[i, j]                all of them, softly aligned
        P minimises sum P D with row sums a and column sums b (the earth mover's distance, exact, by POT)
        a = softmax(- min_j D[i, j] / temperature), b = softmax(- min_i D[i, j] / temperature)

What the authors' repository fixes (allenai/aspire): input, token means, at most 500 word pieces, L2, the marginals.
Where we differ: it finds P by geomloss's Sinkhorn with blur 0.05, whose cost is within 0.05 ln(sentences) of the least, about
0.1 where distances are 10 to 30. What could not be verified: its training configurations, by which it ranks, set the
temperature to 5000, which makes a and b uniform; its public demo passes none, which means 1. SciRepEval says neither which it
ran, nor how it split abstracts into sentences. Temperature 5000 and `split` are our choice.

Any BERT-like encoder can stand in for the four published ones: `ts:minilm`, `ot:minilm`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from scirep_core.encoders import check_format, load_encoder, said_by
from scirep_core.encoders.hub import TOKENS_PER_BATCH, TransformersEncoder
from scirep_core.encoders.models.model_folder import clean
from scirep_core.encoders.settings import finished, token_batches
from scirep_core.kit.errors import ConfigError, DataError, nearest
from scirep_core.kit.formats import Format
from scirep_core.kit.records import Paper, grouped
from scirep_core.kit.store import stable_hash

Floats = NDArray[np.float64]
WORD_PIECES = 500
TEMPERATURE = 5000.0
SIMILARITY = {"ts": "best sentence pair (L2)", "ot": "optimal transport of sentences (L2)"}


class Aspire(NamedTuple):
    """One system: where the weights are, and how sentences are matched."""

    model: str
    match: str
    text: str


_HUB = "allenai/aspire-contextualsentence-{}-{}"
ASPIRE: dict[str, Aspire] = {
    "ts_aspire_cs": Aspire(_HUB.format("singlem", "compsci"), "ts", "TS ASPIRE CS: best sentence pair"),
    "ts_aspire_bio": Aspire(_HUB.format("singlem", "biomed"), "ts", "TS ASPIRE Bio: best sentence pair"),
    "ot_aspire_cs": Aspire(_HUB.format("multim", "compsci"), "ot", "OT ASPIRE CS: optimal transport"),
    "ot_aspire_bio": Aspire(_HUB.format("multim", "biomed"), "ot", "OT ASPIRE Bio: optimal transport"),
}
"""The published models. Hub pages of 2022 hold pickles (`pytorch_model.bin`): SCIREP_ALLOW_BIN=1 has them read weights-only."""


def resolve(name: str) -> Aspire:
    """Return a system by name: one of ASPIRE, or `ts:` or `ot:` and an encoder's name. Raises ConfigError naming the nearest."""
    if name in ASPIRE:
        return ASPIRE[name]
    match, colon, encoder = name.partition(":")
    if colon and match in SIMILARITY and encoder:
        return Aspire(encoder, match, f"{encoder}, {SIMILARITY[match]}")
    raise ConfigError(f"unknown sentence matcher {name!r}; {nearest(name, ASPIRE)}, or ts:ENCODER, ot:ENCODER")


# ------------------------------------------------------------------------------------------------------ sentences

_END = re.compile(r"[.!?]+[\"')\]\u201d\u2019]*\s+(?=[\"'(\[\u201c\u2018]*[A-Z0-9\u00c0-\u00de])")
_SHORT = re.compile(
    r"(?:^|[\s(])(?:e\.g|i\.e|cf|vs|al|etc|resp|approx|ca|no|nos|vol|pp|fig|figs|eq|eqs|sec|tab|ref|refs|dr|prof|mr|mrs|ms"
    r"|st|inc|ltd|[A-Z])\.$",
    re.IGNORECASE,
)


def split(text: str) -> tuple[str, ...]:
    """Return the sentences of an abstract.

    A sentence ends at `.`, `!` or `?`, closing quotes or brackets included, where white space and then a capital letter
    or a digit follow; not after an abbreviation (`e.g.`, `et al.`, `Fig.`, `vs.`, ...) or a single letter (`A. Ode`).

    >>> split("We tried it (cf. Fig. 2). It works! Or does it?")
    ('We tried it (cf. Fig. 2).', 'It works!', 'Or does it?')
    """
    found, start = [], 0
    for end in _END.finditer(text):
        if not _SHORT.search(text[start : end.start() + 1]):
            found.append(text[start : end.end()].strip())
            start = end.end()
    return tuple(sentence for sentence in (*found, text[start:].strip()) if sentence)


class Document(NamedTuple):
    """A paper or bare query as sentence matching reads it. `sentences` is empty where there is a title alone."""

    title: str
    sentences: tuple[str, ...] = ()

    @property
    def size(self) -> int:
        """Vectors it may have: one a sentence; one for a title alone."""
        return max(1, len(self.sentences))


def document(paper: Paper) -> Document:
    """Return a paper's title and sentences: its own where the data have them, else those `split` finds."""
    return Document(paper.title, paper.sentences or split(paper.abstract))


class SentenceEncoder:
    """Sentence vectors in context, by an ordinary transformers encoder; an Encoder whose texts are `key`s.

    A sentence that lies behind the last word piece the model reads has no vector: its row is all zeros. Vectors are scaled to
    length 1 where the encoder's own pipeline ends so.
    """

    formats: tuple[Format, ...] = ("PRX",)

    def __init__(self, base: TransformersEncoder) -> None:
        """Name the encoder; nothing is read yet."""
        self.base, self.name = base, f"{base.name} sentences"

    @property
    def fingerprint(self) -> str:
        """Hash of the encoder's own fingerprint and of how sentences are cut out of it."""
        return stable_hash(["sentences in context", 1, self.base.fingerprint, WORD_PIECES])[:16]

    dim = said_by("base", "dim", "Length of a vector.")
    recipe = said_by("base", "recipe", "The encoder's own; only its separator matters here.")

    def encode(self, texts: list[str], format: Format) -> NDArray[np.float32]:
        """Return (n, dim) vectors of the sentences that the `key`s name; each paper is read once."""
        import torch

        check_format(format)
        _ = self.base.fingerprint  # refuses wrong or pickled weights before anything is read from them
        wanted = grouped(range(len(texts)), lambda row: texts[row].rpartition("\n")[0])
        plans = [self._plan(Document(title, tuple(rest))) for title, *rest in map(json.loads, wanted)]
        rows = list(wanted.values())
        vectors = np.zeros((len(texts), self.dim), dtype=np.float32)
        with torch.inference_mode():
            for batch in token_batches([len(plan.ids) for plan in plans], TOKENS_PER_BATCH, padded=True):
                padded = self.base.tokenizer.pad({"input_ids": [plans[i].ids for i in batch]}, return_tensors="pt")
                hidden = self.base._loaded(**padded.to(self.base.device)).last_hidden_state.float().cpu()
                for states, i in zip(hidden, batch, strict=True):
                    for row in rows[i]:
                        if (place := int(texts[row].rpartition("\n")[2])) < len(plans[i].spans):
                            vectors[row] = states[slice(*plans[i].spans[place])].mean(0).numpy()
        return finished(self.name, vectors, texts, self.base.normalised)

    def _plan(self, document: Document) -> Plan:
        """Return what the model reads of a document and which tokens are whose."""
        tokenizer = self.base.tokenizer
        empty = tokenizer.build_inputs_with_special_tokens([])
        marker = tokenizer.unk_token_id or 0
        before = tokenizer.build_inputs_with_special_tokens([marker]).index(marker)
        room = min(WORD_PIECES, self.base.length - len(empty))
        separator = self.recipe.separator if document.title and document.sentences else ""
        title = self._ids(document.title + separator)[:room]
        pieces, spans = title, []
        for sentence in document.sentences:
            start, pieces = len(pieces), (pieces + self._ids(sentence))[:room]
            if len(pieces) == start:
                break
            spans.append((before + start, before + len(pieces)))
        if not spans:  # a title alone, or one so long that nothing of the abstract was read
            own = len(self._ids(document.title)[:room])
            spans = [(before, before + own)] if own else []
        return Plan(tokenizer.build_inputs_with_special_tokens(pieces), tuple(spans))

    def _ids(self, text: str) -> list[int]:
        found: list[int] = self.base.tokenizer(clean(text), add_special_tokens=False, verbose=False)["input_ids"]
        return found


class Plan(NamedTuple):
    """Token ids of one document, and where each sentence that is read begins and ends among them."""

    ids: list[int]
    spans: tuple[tuple[int, int], ...]


def key(document: Document, number: int) -> str:
    """Return the text by which the vector store knows one sentence in its document."""
    return f"{json.dumps([document.title, *document.sentences], ensure_ascii=True)}\n{number:05d}"


def sentence_encoder(name: str) -> SentenceEncoder:
    """Return the sentence encoder behind a system's name. Raises ConfigError for an encoder that has no tokens."""
    model = resolve(name).model
    base = load_encoder(model)
    if not isinstance(base, TransformersEncoder):
        raise ConfigError(f"{name}: {model} is not a single transformers model, so its sentences have no vectors")
    return SentenceEncoder(base)


# ------------------------------------------------------------------------------------------------------- matching


def distances(query: NDArray[np.floating], others: NDArray[np.floating]) -> Floats:
    """Return (query sentences, other sentences) Euclidean distances."""
    from scipy.spatial.distance import cdist

    return np.asarray(cdist(np.asarray(query, dtype=np.float64), np.asarray(others, dtype=np.float64)))


def marginals(costs: Floats, temperature: float = TEMPERATURE) -> tuple[Floats, Floats]:
    """Return the weights of rows and columns of a distance table: the nearer a sentence's best match, the heavier."""
    from scipy.special import softmax

    rows, columns = -costs.min(axis=1) / temperature, -costs.min(axis=0) / temperature
    return np.asarray(softmax(rows)), np.asarray(softmax(columns))


def transport(costs: Floats, a: Floats, b: Floats) -> Floats:
    """Return the plan (rows, columns) with row sums a and column sums b that carries a to b at least cost."""
    import ot

    return np.asarray(ot.emd(a, b, costs), dtype=np.float64)


@dataclass(frozen=True)
class SentenceMatcher:
    """Scores pairs of one task's papers by their sentences; what `evaluators.pairs` calls a PairScorer.

    Attributes:
        vectors: (sentences, dim) of every query and paper by id; `<id>/q` is a query's own where its id is a paper's too.
        match: `ts` or `ot`.
    """

    name: str
    fingerprint: str
    vectors: Mapping[str, NDArray[np.floating]] = field(repr=False)
    match: str = "ts"
    temperature: float = TEMPERATURE

    @property
    def similarity(self) -> str:
        """What the score is."""
        return SIMILARITY[self.match]

    def __contains__(self, key: object) -> bool:
        """Return whether a query or paper has a sentence."""
        return key in self.vectors

    def scores(self, query_id: str, cand_ids: Sequence[str]) -> Floats:
        """Return the (candidates,) scores of one query, higher is nearer. Raises DataError for an id without sentences."""
        missing = next((key for key in cand_ids if key not in self.vectors), None)
        if missing is not None:
            raise DataError(self.name, None, f"paper {missing} has no text")
        query = self.vectors.get(f"{query_id}/q", self.vectors.get(query_id))
        if query is None:
            raise DataError(self.name, None, f"query {query_id} has no text")
        theirs = [self.vectors[key] for key in cand_ids]
        ends = np.cumsum([len(sentences) for sentences in theirs])
        tables = np.split(distances(query, np.concatenate(theirs)), ends[:-1], axis=1)
        return np.array([-self.cost(table) for table in tables])

    def cost(self, table: Floats) -> float:
        """Return the distance of two papers from the distances of their sentences."""
        if self.match == "ts":
            return float(table.min())
        return float(np.sum(transport(table, *marginals(table, self.temperature)) * table))
