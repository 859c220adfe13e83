"""Rows that wait for the windows they are in, in any order: the buffered implementation of windows (paper 004, sections
4.1 and 5.5), for streams out of order.

A row waits until no window that it is in can go out any more. Windows that are complete are aggregated from their rows,
many small ones in one go; a row is looked at once for each of its windows, where panes look at it once. What is held
are rows, not partial aggregates, so an aggregate need not merge.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import pyarrow as pa

from oop.kernels import dispatch, views
from oop.operators.base import Part
from oop.operators.bucket import WID_END, WID_START
from oop.operators.coverage import INT64_MAX
from oop.operators.groups import Shape, Table
from oop.operators.keys import read_key
from oop.operators.ordered_rows import OrderedRows
from oop.operators.waiting import WaitingRows

# Rows, each as often as it is in a window, that are aggregated together; larger windows alone (`hybrid_costs.py` has it
# as `_ALONE`).
_AT_ONCE = 16_384
_BEGUN, _WAITING = "begun", "waiting/"


class BufferedWindows:
    """Rows with a first and a last window, of which only the columns ``names`` are held; where windows do not overlap
    the first is the last.

    Rows of windows that cannot be complete yet are in slices by their first window. When the first window of a row goes
    out it moves to those that have ``begun``: they stand in the order of their windows, so that the rows of each are
    side by side.
    """

    def __init__(self, shape: Shape, names: Sequence[str], overlaps: bool) -> None:
        self.shape = shape
        self.names = list(names)
        self.end = WID_END if overlaps else WID_START
        schema = pa.schema([shape.schema.field(name) for name in names])
        self.tables = WindowTables(shape, self.end)
        self.waiting = WaitingRows(schema, WID_START)
        self.begun = OrderedRows(schema, self.end)

    def __len__(self) -> int:
        return len(self.waiting) + len(self.begun)

    @property
    def nbytes(self) -> int:
        return self.waiting.nbytes + self.begun.nbytes

    def add(self, batch: pa.RecordBatch) -> None:
        self.waiting.add(batch.select(self.names))

    def close(self, least: int, bound: int) -> Iterator[Table]:
        """The windows from the least up to a bound, which no row on time can reach any more."""
        self._begin(list(self.waiting.take_below(bound)))
        rows = self.begun.held()
        if rows is not None:
            yield from self.tables.close(rows, least, bound)
            self.begun.take_until(bound, closed=False)

    def _begin(self, found: list[pa.RecordBatch]) -> None:
        """Put rows in order. All that have begun stand before them, unless late rows are among them."""
        if not found:
            return
        rows = pa.concat_batches(found)
        held = self.begun.held()
        if held is not None and rows.num_rows and wids(rows, WID_START).min() <= wids(held, WID_START)[-1]:
            rows = pa.concat_batches([held, rows])
            self.begun.clear()
        order = _order(wids(rows, WID_START), wids(rows, self.end))
        self.begun.add(rows if order is None else rows.take(pa.array(order)))

    def take_all(self) -> Iterator[pa.RecordBatch]:
        """Remove and give all rows, in their own types."""
        begun = self.begun.take_until(INT64_MAX)
        for rows in [*([] if begun is None else [begun]), *self.waiting.take_all()]:
            yield from self.waiting.released(rows)
        self.begun.clear()

    def clear(self) -> None:
        """Forget all rows."""
        for _ in self.waiting.take_all():
            continue
        self.begun.clear()

    def least(self) -> int | None:
        """The first window of any row."""
        held = self.begun.held()
        found = [] if held is None else [int(wids(held, WID_START)[0])]
        waits = self.waiting.least()
        return min([*found, *([] if waits is None else [int(waits)])], default=None)

    def save(self, prefix: str) -> Iterator[Part]:
        yield from self.waiting.save(prefix + _WAITING)
        yield from self.begun.save(prefix + _BEGUN)

    def load(self, parts: Mapping[str, pa.RecordBatch | None], prefix: str) -> None:
        self.waiting.load(parts, prefix + _WAITING)
        self.begun.load(parts, prefix + _BEGUN)


def wids(batch: pa.RecordBatch, name: str) -> np.ndarray:
    return views.column(batch.column(name)).data


def _order(first: np.ndarray, last: np.ndarray) -> np.ndarray | None:
    """The order of rows by their windows; None if they stand in it. In time both the first and the last never fall."""
    order: np.ndarray | None = None
    for of in (first, last):
        of = of if order is None else of[order]
        if (of[1:] < of[:-1]).any():
            found = dispatch.kernels().order_slots(of, 0)[1]
            assert found is not None
            order = found if order is None else order[found]
    return order


class WindowTables:
    """Aggregates windows from rows that stand in the order of their windows; ``end`` names the column of the last."""

    def __init__(self, shape: Shape, end: str) -> None:
        self.shape, self.end = shape, end
        self._share = 0.0  # groups for each row of the last table: its neighbours are much alike

    def close(self, rows: pa.RecordBatch, least: int, bound: int) -> Iterator[Table]:
        """The windows from the least up to a bound, as many together as are small."""
        first, last = wids(rows, WID_START), wids(rows, self.end)
        found = _between(first, last, least, bound)
        # rows are in order, so those of a window stand side by side
        starts, ends = np.searchsorted(last, found), np.searchsorted(first, found, "right")
        sizes = ends - starts
        pieces = np.concatenate([[0], np.flatnonzero(np.diff(np.cumsum(sizes) // _AT_ONCE)) + 1, [len(found)]])
        for begin, until in zip(pieces[:-1].tolist(), pieces[1:].tolist(), strict=True):
            if sizes[begin:until].any():
                yield self._table(rows, found[begin:until], starts[begin:until], sizes[begin:until])

    def _table(self, rows: pa.RecordBatch, found: np.ndarray, starts: np.ndarray, sizes: np.ndarray) -> Table:
        count = int(sizes.sum())
        if len(found) == 1:
            taken, slotted = rows.slice(int(starts[0]), count), False
        else:
            before = np.cumsum(sizes) - sizes
            places = np.arange(count) + np.repeat(starts - before, sizes)
            taken, slotted = rows.take(pa.array(places)), True
        table = Table(self.shape, slotted, int(found[0]), int(self._share * count))
        keys = [read_key(taken.column(k)) for k in self.shape.keys]
        table.update(np.repeat(found, sizes), keys, self.shape.prepare(taken), None)
        self._share = len(table) / count
        return table


def _between(first: np.ndarray, last: np.ndarray, least: int, bound: int) -> np.ndarray:
    """The windows from the least up to a bound that may have rows: there may be gaps that are very long."""
    low, high = max(least, int(first[0])), min(bound - 1, int(last[-1]))
    if high - low <= len(first):
        return np.arange(low, high + 1)
    begins, ends = np.maximum(first, least), np.minimum(last, bound - 1)
    # rows are in order: each adds the windows behind those of the rows before it
    reached = np.concatenate([[begins[0] - 1], np.maximum.accumulate(ends)[:-1]])
    begins = np.maximum(begins, reached + 1)
    counts = np.maximum(ends - begins + 1, 0)
    before = np.cumsum(counts) - counts
    found: np.ndarray = np.arange(int(counts.sum())) - np.repeat(before, counts) + np.repeat(begins, counts)
    return found
