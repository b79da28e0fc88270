"""Links from papers to other things (references, authors), as two arrays: compact, and sliced without a loop."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from scirep_core.data.literature.latents import Ints


class Links(NamedTuple):
    """The items of row i are `items[starts[i]:starts[i + 1]]`; `values` run in parallel with `items`, 1 where nothing counts."""

    starts: Ints
    items: Ints
    values: Ints

    def of(self, row: int) -> Ints:
        """Return the items of one row."""
        return self.items[self.starts[row] : self.starts[row + 1]]

    def values_of(self, row: int) -> Ints:
        """Return the values of one row."""
        return self.values[self.starts[row] : self.starts[row + 1]]

    def counts(self) -> Ints:
        """Return how many items each row has."""
        return np.diff(self.starts)

    def reverse(self, rows: int) -> Links:
        """Return the links backwards (cited -> citing), rows ascending; `rows` is how many targets there are."""
        source = np.repeat(np.arange(len(self.starts) - 1), self.counts())
        order = np.argsort(self.items, kind="stable")
        return Links(np.searchsorted(self.items[order], np.arange(rows + 1)), source[order], self.values[order])


def grouped(values: Ints) -> Links:
    """Return for each value 0, 1, 2 ... the positions at which it stands, ascending."""
    return from_rows(values[:, None]).reverse(int(values.max(initial=-1)) + 1)


def from_lists(rows: list[Ints]) -> Links:
    """Return links from the items of each row."""
    return _links(
        np.array([len(row) for row in rows], dtype=np.int64), np.concatenate([np.zeros(0, dtype=np.int64), *rows])
    )


def from_rows(table: Ints) -> Links:
    """Return links from a (rows, width) table in which -1 stands for no item; order within a row is kept."""
    present = table >= 0
    return _links(present.sum(axis=1), table[present])


def _links(counts: Ints, items: Ints) -> Links:
    return Links(np.concatenate([[0], np.cumsum(counts)]), items, np.ones_like(items))
