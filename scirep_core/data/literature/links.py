"""Links from papers to other things (references, authors), as two arrays: compact, and sliced without a loop."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from scirep_core.data.literature.latents import Ints


class Links(NamedTuple):
    """The items of row i are `items[starts[i]:starts[i + 1]]`; `values`, where given, run in parallel with `items`."""

    starts: Ints
    items: Ints
    values: Ints | None = None

    def of(self, row: int) -> Ints:
        """Return the items of one row."""
        return self.items[self.starts[row] : self.starts[row + 1]]

    def values_of(self, row: int) -> Ints:
        """Return the values of one row. Raises ValueError where there are none."""
        if self.values is None:
            raise ValueError("these links carry no values")
        return self.values[self.starts[row] : self.starts[row + 1]]

    def counts(self) -> Ints:
        """Return how many items each row has."""
        return np.diff(self.starts)

    def reverse(self, rows: int) -> Links:
        """Return the links backwards (cited -> citing), rows ascending; `rows` is how many targets there are."""
        source = np.repeat(np.arange(len(self.starts) - 1), self.counts())
        order = np.argsort(self.items, kind="stable")
        values = None if self.values is None else self.values[order]
        return Links(np.searchsorted(self.items[order], np.arange(rows + 1)), source[order], values)


def grouped(values: Ints) -> Links:
    """Return for each value 0, 1, 2 ... the positions at which it stands, ascending."""
    return Links(np.arange(len(values) + 1), values).reverse(int(values.max(initial=-1)) + 1)


def from_lists(rows: list[Ints]) -> Links:
    """Return links from the items of each row."""
    starts = np.concatenate([[0], np.cumsum([len(row) for row in rows])]).astype(np.int64)
    return Links(starts, np.concatenate([np.zeros(0, dtype=np.int64), *rows]))


def from_rows(table: Ints) -> Links:
    """Return links from a (rows, width) table in which -1 stands for no item; order within a row is kept."""
    present = table >= 0
    starts = np.concatenate([[0], np.cumsum(present.sum(axis=1))])
    return Links(starts, table[present])
