"""Short queries: a title, or a phrase of two words, asked among whole texts (textual neighbours, section 5, appendix D.1).

self_retrieval   does a title find its own paper, as vectors are and normalised (Tables 3 and 9)
separation       do titles lie apart from whole texts, and is it their length (Figures 2 and 8)
phrases          what a plural s or a lost letter changes (Table 6 and the introduction)

All three start from the same `Texts`: one encoder's vectors of a collection.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from scirep_core.data.task import Collection, Task
from scirep_core.encoders import Encoder
from scirep_core.encoders.vectors.embed import Progress, embed
from scirep_core.evaluators import neighbours
from scirep_core.evaluators.rows import Asked, Floats, sample, share_row
from scirep_core.kit.formats import Format
from scirep_core.results import Result

FORMAT: Format = "PRX"


class Texts(NamedTuple):
    """The vectors of one system on a collection: (papers, dim) of titles, and of title + abstract.

    Floor and ceiling have no encoder, and read no other text.
    """

    task: Task
    seed: int
    name: str
    fingerprint: str
    titles: NDArray[np.floating]
    whole: NDArray[np.floating]
    encoder: Encoder | None = None
    tell: Progress | None = None

    @property
    def ids(self) -> Sequence[str]:
        """All papers, in the order of the vectors."""
        return cast(Collection, self.task.payload).paper_ids

    @property
    def chosen(self) -> NDArray[np.int64]:
        """The papers that ask: those `evaluators.neighbours` draws under protocol `paper`."""
        return sample(len(self.whole), neighbours.QUERIES, self.seed)

    @property
    def asked(self) -> Asked:
        """What the rows of this collection have in common."""
        return Asked(self.task, similarity="cosine", seed=self.seed)

    def row(self, metric: str, value: float, n: int, split: str, **more: Any) -> Result:
        """Return a row of this collection and system; see `Asked.row`."""
        return self.asked.row(metric, value, n, split, encoder=self.name, fingerprint=self.fingerprint, **more)

    def share(self, metric: str, values: Floats, split: str, **more: Any) -> Result:
        """Return a row of the mean of (n,) values in [0, 1]; see `share_row`."""
        return share_row(self.asked, metric, values, split, encoder=self.name, fingerprint=self.fingerprint, **more)

    def short(self, texts: Sequence[str]) -> NDArray[np.floating]:
        """Return (n, dim) vectors of other short texts, read as queries."""
        assert self.encoder is not None
        read = [self.encoder.recipe.of_query(text) for text in texts]
        return embed(self.encoder, read, FORMAT, self.tell)
