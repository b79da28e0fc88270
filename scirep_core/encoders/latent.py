"""Latent dimensions of words, or of characters: encoders that know no language, made from a corpus in seconds.

    TF-IDF rows of the corpus (sublinear, 8,000 terms of two texts or more) -> their first singular dimensions -> length 1

Words ignore order, case and white space by construction; characters, three to five within words, also recognise a word that
lost a letter. Source of the method: Deerwester et al. 1990, latent semantic analysis; scikit-learn does the work.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scirep_core.data.text import Recipe
from scirep_core.encoders import lexical
from scirep_core.kit.errors import ConfigError, check_name
from scirep_core.kit.formats import FORMATS, Format
from scirep_core.kit.store import stable_hash

MOST = 8_000
TERMS: dict[str, dict[str, Any]] = {
    "lsa": {"stop_words": "english"},
    "characters": {"analyzer": "char_wb", "ngram_range": (3, 5)},
}
"""Name -> what counts as a term."""


class Latent:
    """An encoder of latent dimensions, fitted to a corpus at the first text.

    Args:
        name: lsa or characters.
        corpus: the texts it is fitted to; ConfigError at the first text where no two of them share two terms.
        dims: at most; fewer where the corpus has fewer.
    """

    recipe = Recipe(" ")
    formats = FORMATS
    by_format = False

    def __init__(self, name: str, corpus: Sequence[str], dims: int = 256, seed: int = 0) -> None:
        check_name("latent encoder", name, TERMS)
        self.name, self.dims, self.seed = name, dims, seed
        self._corpus = sorted(set(corpus))
        self.fingerprint = stable_hash([name, TERMS[name], MOST, dims, seed, self._corpus])[:16]

    @cached_property
    def _model(self) -> tuple[Any, Any]:
        from sklearn.decomposition import TruncatedSVD
        from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

        terms = lexical.term_weights(min_df=2, max_features=MOST, **{"stop_words": None} | TERMS[self.name])
        try:
            rows: Any = terms.fit_transform(self._corpus)
        except ValueError:
            rows = np.empty((0, 0))
        if min(rows.shape) < 2:
            found = f"{rows.shape[1]} terms stand in two of {len(self._corpus)} different texts"
            raise ConfigError(f"{self.name}: {found}, which has no dimensions. Give more texts")
        model = TruncatedSVD(min(self.dims, min(rows.shape) - 1), random_state=self.seed)
        with threadpool_limits(1):  # the same dimensions on any number of cores: kept vectors and new ones meet
            return terms, model.fit(rows)

    @property
    def dim(self) -> int:
        """Length of a vector."""
        return len(self._model[1].components_)

    def encode(self, texts: list[str], format: Format) -> NDArray[np.float32]:
        """Return (n, dim) float32 vectors of length 1, the same for every format; 0 of a text without known terms."""
        terms, model = self._model
        found = np.asarray(model.transform(terms.transform(texts)), dtype=np.float32)
        lengths = np.linalg.norm(found, axis=1, keepdims=True)
        return np.asarray(np.divide(found, lengths, out=np.zeros_like(found), where=lengths > 0))
