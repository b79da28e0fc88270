"""A small model that learns in a minute: what starts every training on the embedded literature (SciRepEval sections 4 and 5.1).

    vocabulary    word pieces of the training papers' own
    u_t           row t, made 1 long, of U S, the singular value decomposition of
                  PPMI(a, b) = max(0, log p(a, b) / (p(a) p(b)^0.75)), a and b in one document
    token t       w u_t + sqrt(1 - w^2) q,     w = min(1, idf(t) / its 95th percentile)
    layers        value and output of each attention start as the identity, plus BERT's small random weights
    training      citation triplets: softmax over all papers of the batch, by inner product

A BERT that starts from random weights learns nothing in a few hundred steps. This one starts as a weighted mean of token
vectors: attention is even at first, and with the identity in its way each layer adds the mean of all tokens to [CLS].

The layer norm after the embeddings makes all token vectors equally long, so a word of every paper would be as loud as one
that tells papers apart. Therefore every vector is completed to length 1 along one direction q that all share, of which
distances between documents see next to nothing: the word's weight outlasts the norm.

Only papers and queries of the training split are seen. The seed of the data decides those, `seed` all that is drawn here.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
import torch
from numpy.typing import NDArray

from scirep_core.data.readers.scirepeval import PaperTriple, RankedQuery, TrainExample, training
from scirep_core.encoders.conditioning.base import Conditioned, conditioning
from scirep_core.encoders.models.model_store import finished, save_model, working
from scirep_core.encoders.trunk.bert import Layer, Shape, Trunk
from scirep_core.encoders.trunk.tokens import SPECIAL, Tokens, of_words
from scirep_core.kit.errors import ConfigError
from scirep_core.kit.records import Paper
from scirep_core.training.config import TrainConfig
from scirep_core.training.data import PLAIN, Documents, Reading, Shelf, TrainTask, build, stream
from scirep_core.training.loop import Status, train

Floats = NDArray[np.float32]
Negatives = Literal["specter", "specter2"]
SETS = ("scirepeval/fos", "scirepeval/cite_prediction", "scirepeval/search")
"""Training sets whose texts make vocabulary and vectors: nearly all papers of the split, and queries."""
CITES, FIELDS_OF = "scirepeval/cite_prediction", "scirepeval/fos"
LONGEST = 512
MOST_TEXTS = 20_000
"""Texts that vocabulary and vectors are made of: all pairs of tokens in a document are counted, some 10,000."""
SMOOTHING = 0.75
"""Power of the context's frequency, without which rare words get the largest PMI (Levy et al. 2015)."""
TEMPERATURE = 0.05
"""Of a cosine; the last layer norm makes a vector about sqrt(width) long."""
LOUDEST = 95
"""Percentile of idf from which a token has its full weight."""
QUIET = 0.1
"""Of BERT's random positions: beside token vectors of length 1 they would drown the words."""
NO_DROPOUT: dict[str, Any] = {"hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0}
"""A model this small does not learn by heart in a minute."""
TRIES = 200
"""Papers drawn for a query's easy negatives: of a field with one paper in thirty, four are then found."""
SAME_FIELD, OTHER_FIELD, HARD = 4, 2, 4
"""Negatives of a query in SPECTER2 Base (SciRepEval 5.1): easy ones of its own field and of others, hard ones."""


def config(steps: int, width: int, seed: int = 0) -> TrainConfig:
    """Return the settings of the base's own training: softmax over the batch, by inner products of about `width`."""
    return TrainConfig(
        steps=steps, batch=32, accumulation=1, learning_rate=1e-3, schedule="linear", warmup=max(1, steps // 10), final=0.05,
        clip=1.0, triplet_loss="contrastive", temperature=TEMPERATURE * width, seed=seed,
    )  # fmt: skip


def small_base(
    root: Path,
    *,
    width: int = 64,
    layers: int = 2,
    heads: int = 4,
    seed: int = 0,
    steps: int = 250,
    folder: Path,
    max_length: int = 128,
    vocabulary: int = 8000,
    negatives: Negatives = "specter",
    progress: Callable[[Status], None] | None = None,
) -> Path:
    """Make a small base of one literature's training collections and save it; returns `folder`, a model in hub layout.

    Args:
        root: folder that holds `scirepeval/`; `datasets.locate` gives that of the embedded literature.
        width, layers, heads: of the trunk; its feed-forward part is four times as wide.
        seed: of weights, triplets and batches.
        steps: of training; 0 leaves the weighted mean of token vectors.
        max_length: tokens kept of a document.
        vocabulary: word pieces, at most.
        negatives: specter: the training set's own triplets; specter2: up to ten a query, by field.

    Raises ConfigError for a size that makes no model, DataError for training sets that are malformed or not there.
    """
    if width < 8 or width % heads or layers < 1:
        raise ConfigError(
            f"width {width}, {layers} layers, {heads} heads: the width is at least 8, the heads divide it, layers at least 1"
        )
    tokens = wordpieces(training_texts(root), vocabulary)
    trunk = warm_trunk(token_vectors(training_texts(root), tokens, width, seed), layers, heads, seed)
    model = Conditioned(trunk, conditioning("plain", trunk))
    made: dict[str, Any] = {"base": "embedded", "seed": seed, "steps": steps, "data": root.name}
    if steps:
        task, settings = citation_task(root, tokens, negatives, max_length, seed), config(steps, width, seed)
        trained = train(model, [task], settings, working(folder), progress=progress)
        made |= {"train": settings.to_json(), "losses": trained.losses, "triplets": len(task), "negatives": negatives}
    save_model(model, tokens, folder, PLAIN, max_length, made)
    finished(folder)
    return folder


def training_texts(root: Path) -> Iterator[str]:
    """Yield the texts that the base knows words from, each once: papers of the training split, then bare queries."""
    seen: set[str] = set()
    for name in SETS:
        for row in training(name, root):
            papers = (
                row.candidates if isinstance(row, RankedQuery) else [part for part in row if isinstance(part, Paper)]
            )
            made = [PLAIN.of_paper(paper) for paper in papers]
            made += [row.query.title] if isinstance(row, RankedQuery) else []
            for text in made:
                if text not in seen:
                    seen.add(text)
                    yield text
                    if len(seen) == MOST_TEXTS:
                        return


# --- words ------------------------------------------------------------------------------------------------------------


def wordpieces(texts: Iterable[str], size: int) -> Tokens:
    """Return a tokenizer of at most `size` word pieces, BERT's in all else. Raises ConfigError for too few."""
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, trainers

    special = list(SPECIAL.values())
    learner = Tokenizer(models.WordPiece(unk_token=SPECIAL["unk_token"]))
    learner.normalizer = normalizers.BertNormalizer()
    learner.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    plain = [learner.normalizer.normalize_str(text.replace(SPECIAL["sep_token"], " ")) for text in texts]
    letters = sorted({letter for text in plain for letter in text if not letter.isspace()})
    # the library numbers inner letters as it meets them, in no fixed order, and breaks ties by number: so all are given
    given = ["[PAD]", *sorted(set(special) - {"[PAD]"}), *(f"##{letter}" for letter in letters)]
    if size < 2 * len(given):
        raise ConfigError(f"a vocabulary of {size} word pieces for {len(letters)} letters: give some thousands")
    trainer = trainers.WordPieceTrainer(
        vocab_size=size, min_frequency=2, special_tokens=given, initial_alphabet=letters, show_progress=False
    )
    learner.train_from_iterator(plain, trainer)
    return of_words(dict(sorted(learner.get_vocab().items(), key=lambda item: item[1])))


def token_vectors(texts: Iterable[str], tokens: Tokens, width: int, seed: int) -> Floats:
    """Return (vocabulary, width) float32, rows of length 1, by the formula at the top; q is the last coordinate."""
    shelf = Shelf(tokens, LONGEST)
    for text in texts:
        shelf.number(text)
    counts = presence(shelf.documents(), tokens)
    frequency = np.asarray(counts.sum(0))[0]
    idf = np.log(np.maximum(counts.shape[0] / (1 + frequency), 1))
    weight = np.minimum(idf / max(np.percentile(idf[frequency > 0], LOUDEST), 1e-9), 1)
    meaning = ppmi_vectors(counts, width - 1, seed)
    length = np.linalg.norm(meaning, axis=1)
    weight[length < 1e-9] = 0  # special tokens, and words that go with none
    own = meaning / np.maximum(length, 1e-9)[:, None] * weight[:, None]
    return np.concatenate([own, np.sqrt(1 - weight**2)[:, None]], 1).astype(np.float32)


def presence(documents: Documents, tokens: Tokens) -> Any:
    """Return (docs, vocabulary) sparse float32: 1 where a token that is not special occurs in a document."""
    from scipy import sparse

    rows = np.repeat(np.arange(documents.docs), documents.lengths)
    special = [tokens.tokenizer.token_to_id(name) for name in tokens.special.values()]
    mask = ~np.isin(documents.ids, special)
    ones = np.ones(mask.sum(), np.float32)
    found = sparse.csr_matrix((ones, (rows[mask], documents.ids[mask])), (documents.docs, tokens.size))
    found.data[:] = 1  # a token twice was added up
    return found


def ppmi_vectors(counts: Any, width: int, seed: int) -> NDArray[np.float64]:
    """Return (vocabulary, width): U S of the PPMI of tokens that share documents; tokens that share none have zeros.

    Args:
        counts: (docs, vocabulary) sparse, 1 where a token occurs.
    """
    from scipy import sparse
    from sklearn.utils.extmath import randomized_svd

    together = (counts.T @ counts).tocoo()
    apart = together.row != together.col
    a, b, n = together.row[apart], together.col[apart], together.data[apart]
    size = counts.shape[1]
    if len(n) == 0 or size <= width:
        raise ConfigError(f"{size} word pieces make no vectors of {width + 1} numbers. Take more papers")
    total = np.bincount(a, n, size)
    context = total**SMOOTHING / (total**SMOOTHING).sum()
    information = np.log(n / (total[a] * context[b]))
    above = information > 0
    table = sparse.csr_matrix((information[above], (a[above], b[above])), (size, size))
    left, singular, _ = randomized_svd(table, width, n_iter=4, random_state=seed)
    found: NDArray[np.float64] = left * singular
    return found


def warm_trunk(vectors: Floats, layers: int, heads: int, seed: int) -> Trunk:
    """Return a trunk whose [CLS] is, at first, about the mean of a document's token vectors (vocabulary, width)."""
    vocabulary, width = vectors.shape
    torch.manual_seed(seed)
    trunk = Trunk(Shape(vocabulary, width, layers, heads, 4 * width, LONGEST, **NO_DROPOUT))
    with torch.no_grad():
        trunk.words.weight.copy_(torch.from_numpy(vectors))
        trunk.places.weight.mul_(QUIET)
        trunk.types.weight.zero_()
        for layer in trunk.layers:
            assert isinstance(layer, Layer)
            for part in (layer.value, layer.dense):
                part.weight.add_(torch.eye(width))
    return trunk


# --- citations --------------------------------------------------------------------------------------------------------


def citation_task(root: Path, tokens: Tokens, negatives: Negatives, max_length: int, seed: int) -> TrainTask:
    """Return the citation triplets of a literature as one task."""
    given = stream(CITES, root)
    if negatives == "specter2":
        given = replace(given, rows=lambda: iter(specter2_triples(root, seed)))
    return build([given], tokens, Reading(PLAIN, max_length, seed=seed))[0]


def specter2_triples(root: Path, seed: int) -> list[PaperTriple]:
    """Return SPECTER2 Base's triplets, made of SPECTER's; a paper without a field is drawn as of another field."""
    papers, cites = dict[str, Paper](), dict[str, list[str]]()
    for row in training(CITES, root):
        assert isinstance(row, PaperTriple)
        papers |= {paper.paper_id: paper for paper in row}
        cited = cites.setdefault(row.query.paper_id, [])
        if row.positive.paper_id not in cited:
            cited.append(row.positive.paper_id)
    fields = {row.paper.paper_id: frozenset(row.target) for row in training(FIELDS_OF, root)
              if isinstance(row, TrainExample) and isinstance(row.target, tuple)}  # fmt: skip
    threes = triplets_by_field(cites, fields, sorted(papers), seed)
    return [PaperTriple(*(papers[key] for key in three)) for three in threes]


def triplets_by_field(
    cites: Mapping[str, Sequence[str]], fields: Mapping[str, frozenset[str]], pool: Sequence[str], seed: int
) -> Iterator[tuple[str, str, str]]:
    """Yield (query, cited, not cited): of each query up to 10, positives in turn (SciRepEval 5.1).

    Args:
        cites: query -> what it cites.
        fields: paper -> its fields of study; two papers are of one field where they share one.
        pool: papers that negatives are drawn from.
        seed: with the query it decides the drawing.
    """
    for query, cited in cites.items():
        drawn = random.Random(f"{seed}\n{query}")
        known = {query, *cited}
        beyond = sorted({key for one in cited for key in cites.get(one, ())} - known)
        hard = drawn.sample(beyond, min(HARD, len(beyond)))
        same, other = list[str](), list[str]()
        for key in (drawn.choice(pool) for _ in range(TRIES)):
            if key in known or key in hard or key in same or key in other:
                continue
            near = bool(fields.get(query, frozenset()) & fields.get(key, frozenset()))
            (same if near else other).append(key)
        negatives = [*hard, *same[:SAME_FIELD], *other[:OTHER_FIELD]]
        yield from ((query, cited[i % len(cited)], negative) for i, negative in enumerate(negatives))
