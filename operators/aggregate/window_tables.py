"""Windows, aggregated from rows that stand in the order of their windows (the buffered implementation of the OOP paper,
sections 4.1 and 5.5).

The rows of a window are side by side, and are looked at once for each of their windows, where panes look at them once;
so an aggregate need not merge. Many small windows are aggregated in one go. The rows of the in-order
`BufferedAggregate` come in that order; `BufferedWindows` brings them into it.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow as pa

from oop.kernels import views
from oop.operators.core.keys import read_key
from oop.operators.core.stretches import numbers_in
from oop.operators.groups.shape import Shape
from oop.operators.groups.table import Table
from oop.operators.windows.bucket import WID_START

AT_ONCE = 16_384
"""Rows, each counted for each of its windows, that are aggregated together; a larger window is aggregated alone."""


class WindowTables:
    """Aggregates windows from rows that stand in the order of their windows; ``end`` names the column of the last."""

    def __init__(self, shape: Shape, end: str) -> None:
        self.shape, self.end = shape, end
        self._share = 0.0  # groups for each row of the last table, since neighbours are much alike

    def close(self, rows: pa.RecordBatch, least: int, bound: int) -> Iterator[Table]:
        """The windows from the least up to a bound; small ones share tables."""
        first, last = wids(rows, WID_START), wids(rows, self.end)
        found = _between(first, last, least, bound)
        # rows are in order, so those of a window stand side by side
        starts, ends = np.searchsorted(last, found), np.searchsorted(first, found, "right")
        sizes = ends - starts
        pieces = np.concatenate([[0], np.flatnonzero(np.diff(np.cumsum(sizes) // AT_ONCE)) + 1, [len(found)]])
        for begin, until in zip(pieces[:-1].tolist(), pieces[1:].tolist(), strict=True):
            if sizes[begin:until].any():
                yield self._table(rows, found[begin:until], starts[begin:until], sizes[begin:until])

    def _table(self, rows: pa.RecordBatch, found: np.ndarray, starts: np.ndarray, sizes: np.ndarray) -> Table:
        count = int(sizes.sum())
        if len(found) == 1:
            taken, slotted = rows.slice(int(starts[0]), count), False
        else:
            taken, slotted = rows.take(pa.array(numbers_in(starts, sizes))), True
        table = Table(self.shape, slotted, int(found[0]), int(self._share * count))
        keys = [read_key(taken.column(k)) for k in self.shape.keys]
        table.update(np.repeat(found, sizes), keys, self.shape.prepare(taken), None)
        self._share = len(table) / count
        return table


def _between(first: np.ndarray, last: np.ndarray, least: int, bound: int) -> np.ndarray:
    """The windows from the least up to a bound that may have rows; gaps, which may be very long, are left out."""
    low, high = max(least, int(first[0])), min(bound - 1, int(last[-1]))
    if high - low <= len(first):
        return np.arange(low, high + 1)
    begins, ends = np.maximum(first, least), np.minimum(last, bound - 1)
    # rows are in order: each adds the windows behind those of the rows before it
    reached = np.concatenate([[begins[0] - 1], np.maximum.accumulate(ends)[:-1]])
    begins = np.maximum(begins, reached + 1)
    return numbers_in(begins, np.maximum(ends - begins + 1, 0))


def wids(batch: pa.RecordBatch, name: str) -> np.ndarray:
    return views.column(batch.column(name)).data
