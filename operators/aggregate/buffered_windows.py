"""Rows that wait for the windows they are in, in any order: the buffered implementation of windows (OOP paper,
sections 4.1 and 5.5), for streams out of order.

A row waits until no window that it is in can go out any more. Windows that are complete are aggregated from their rows
(`window_tables.py`): what is held are rows, not partial aggregates.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import pyarrow as pa

from oop.operators.aggregate.window_tables import WindowTables, wids
from oop.operators.core.coverage import INT64_MAX
from oop.operators.core.ordering import order_by_numbers
from oop.operators.core.parts import Part
from oop.operators.groups.shape import Shape
from oop.operators.groups.table import Table
from oop.operators.rows.ordered_rows import OrderedRows
from oop.operators.rows.waiting_rows import WaitingRows
from oop.operators.windows.bucket import WID_END, WID_START

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
        """Put rows in order among those that have begun, which all stand before them unless some of them are late."""
        if not found:
            return
        rows = pa.concat_batches(found)
        held = self.begun.held()
        if held is not None and rows.num_rows and wids(rows, WID_START).min() <= wids(held, WID_START)[-1]:
            rows = pa.concat_batches([held, rows])
            self.begun.clear()
        # as time grows neither the first nor the last window falls
        order = order_by_numbers(wids(rows, WID_START), wids(rows, self.end))
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
