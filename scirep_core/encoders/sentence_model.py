"""An encoder as sentence-transformers' evaluators and mteb call a model (SciRepEval 4: the baselines are such models).

    model = SentenceModel("specter2")              an encoder, or the name of one
    InformationRetrievalEvaluator(...)(model)      sentence-transformers
    mteb.evaluate(model, tasks=...)                mteb

What those libraries do not know is the task format, which an encoder of ours is always told: texts without a side have the
format given here, queries (`encode_query`, `prompt_name="query"`, mteb's `prompt_type`) QRY, and the documents they are to
find PRX, each with the prefix that the encoder's recipe puts before it. A text is taken as it is; a title apart from its text is
joined by the recipe's separator.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import SimpleNamespace
from typing import Any

import numpy as np

from scirep_core.encoders import Encoder, check_format, load_encoder
from scirep_core.encoders.models.model_folder import PROMPTS
from scirep_core.kit.errors import ConfigError, check_name
from scirep_core.kit.formats import Format

SIMILARITIES = ("cosine", "dot", "euclidean")


class SentenceModel:
    """An encoder with the methods of a sentence-transformers model: encode, encode_query, encode_document, similarity."""

    mteb_model_meta = None
    model_card_data = SimpleNamespace(set_evaluation_metrics=lambda *given, **named: None)
    """sentence-transformers' evaluators write their numbers here; this model has no card to keep them."""

    def __init__(self, encoder: Encoder | str, format: Format = "PRX", similarity: str = "cosine") -> None:
        """Take an encoder, or the name of one; `format` is that of texts which are no side of a search.

        Raises ConfigError for an unknown name, format or similarity, and for a format that the encoder has not.
        """
        self.encoder: Encoder = load_encoder(encoder) if isinstance(encoder, str) else encoder
        check_format(format)
        if format not in self.encoder.formats:
            raise ConfigError(f"{self.encoder.name} has no {format}; it has {', '.join(self.encoder.formats)}")
        check_name("similarity", similarity, SIMILARITIES)
        self.name, self.format, self.similarity_fn_name = self.encoder.name, format, similarity

    def get_sentence_embedding_dimension(self) -> int:
        """Return the length of a vector."""
        return self.encoder.dim

    def encode(
        self,
        sentences: Any,
        *,
        prompt_name: str | None = None,
        prompt: str | None = None,
        prompt_type: Any = None,
        convert_to_numpy: bool = True,
        convert_to_tensor: bool = False,
        normalize_embeddings: bool = False,
        truncate_dim: int | None = None,
        output_value: str | None = "sentence_embedding",
        precision: str = "float32",
        **others: object,
    ) -> Any:
        """Return vectors: an array (n, dim), with `convert_to_tensor` a tensor, without either a list; one row for one text.

        Args:
            sentences: a text, texts, {title, text} of documents, or mteb's batches of `text`.
            prompt_name, prompt_type: the side of a search: query, or document (passage, corpus). Other names change nothing.
            prompt: put before every text instead of the recipe's own prefix.
            others: batch_size, show_progress_bar, task_name and whatever else does not change a vector.

        Raises ConfigError for token vectors, and for another precision than float32.
        """
        if output_value not in (None, "sentence_embedding") or precision != "float32":
            raise ConfigError(f"{self.name} gives one float32 vector a text, not {output_value!r} of {precision!r}")
        prefix, format = self._side(str(getattr(prompt_type, "value", prompt_type) or prompt_name or ""))
        texts = [self._text(one) for one in _each(sentences)]
        vectors = self.encoder.encode([(prefix if prompt is None else prompt) + text for text in texts], format)
        vectors = vectors[:, :truncate_dim]
        if normalize_embeddings:
            vectors = vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-12)
        found: Any = vectors
        if convert_to_tensor or not convert_to_numpy:
            import torch

            made = torch.from_numpy(np.ascontiguousarray(vectors))
            found = made if convert_to_tensor else list(made)
        return found[0] if isinstance(sentences, str) else found

    def encode_query(self, sentences: Any, *, prompt_name: str | None = None, **others: Any) -> Any:
        """Return vectors of bare queries, format QRY where the encoder has it."""
        return self.encode(sentences, prompt_name=prompt_name or "query", **others)

    def encode_document(self, sentences: Any, *, prompt_name: str | None = None, **others: Any) -> Any:
        """Return vectors of documents that queries are to find, format PRX where the encoder has it."""
        return self.encode(sentences, prompt_name=prompt_name or "document", **others)

    def similarity(self, first: Any, second: Any) -> Any:
        """Return the similarity of every vector of one set to every one of another, a tensor (n, m)."""
        a, b = self._rows(first), self._rows(second)
        return -(a[:, None] - b[None]).norm(dim=2) if self.similarity_fn_name == "euclidean" else a @ b.T

    def similarity_pairwise(self, first: Any, second: Any) -> Any:
        """Return the similarity of each vector to the one in the same row of another set, a tensor (n,)."""
        a, b = self._rows(first), self._rows(second)
        return -(a - b).norm(dim=1) if self.similarity_fn_name == "euclidean" else (a * b).sum(1)

    def _rows(self, vectors: Any) -> Any:
        """Return vectors as a tensor (n, dim), of length 1 where they are compared by angle."""
        import torch

        found = torch.as_tensor(vectors).float()
        found = found[None] if found.ndim == 1 else found
        return torch.nn.functional.normalize(found, dim=1) if self.similarity_fn_name == "cosine" else found

    def _side(self, name: str) -> tuple[str, Format]:
        """Return prefix and format of a side of a search; of a text that is none, those of a paper."""
        recipe, has = self.encoder.recipe, self.encoder.formats
        if name in PROMPTS["query"]:
            return recipe.query, "QRY" if "QRY" in has else self.format
        if name in PROMPTS["found"]:
            wanted: Format = "QRY" if getattr(self.encoder, "by_task", False) else "PRX"
            return recipe.found, wanted if wanted in has else self.format
        return recipe.paper, self.format

    def _text(self, one: str | Mapping[str, Any]) -> str:
        if isinstance(one, str):
            return one
        return self.encoder.recipe.separator.join(str(one[key]) for key in ("title", "text") if one.get(key))


def _each(sentences: Any) -> Iterable[str | Mapping[str, Any]]:
    """Yield texts, or documents, one by one: of one text, of many, of batches that hold a list of texts each."""
    if isinstance(sentences, str):
        yield sentences
        return
    for one in sentences:
        if isinstance(one, Mapping) and not isinstance(one.get("text", ""), str):
            yield from one["text"]
        else:
            yield one if isinstance(one, Mapping) else str(one)
