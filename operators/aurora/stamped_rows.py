"""Rows that wait for the clock, each with the time at which it came, and leave in the order of some columns.

They are sorted when some leave, which is once a period, so a row is sorted about once.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import pyarrow as pa

from oop.kernels import views
from oop.operators.core.batches import BATCH_ROWS
from oop.operators.core.coverage import INT64_MAX, matching
from oop.operators.core.ordering import order_rows
from oop.operators.core.parts import Part
from oop.operators.rows.layout import as_type, held_as, plain_schema, take_column
from oop.operators.rows.pieces import append_beside, one_piece
from oop.punctuation import Punctuation
from oop.punctuation.patterns import Bound

_HELD, _STAMPS = "held", "stamps"
_UNKNOWN = INT64_MAX  # the stamp of rows that came before the first tick
StampedPiece = tuple[pa.RecordBatch, np.ndarray]
"""Rows, and when each came."""


class StampedRows:
    """``now`` is the last tick of the clock, with which the next rows are stamped.

    >>> rows = StampedRows(pa.schema([("ts", pa.int64())]), ["ts"])
    >>> rows.see(10)
    >>> rows.add(pa.record_batch({"ts": [5, 9]}))
    >>> rows.see(20)
    >>> rows.add(pa.record_batch({"ts": [7, 11]}))
    >>> [batch.column(0).to_pylist() for batch in rows.take_stamped(10)], len(rows)
    ([[5, 7, 9]], 1)
    """

    def __init__(self, schema: pa.Schema, columns: Sequence[str]) -> None:
        self.schema, self.columns = schema, tuple(columns)
        self._plain = plain_schema(schema)
        self.now: int | None = None
        self._saved = False
        self._clear()

    def _clear(self) -> None:
        self._pieces: list[StampedPiece] = []
        self._count = 0
        self._changed = True
        self.nbytes = 0  # a plain number, because another thread may read it

    def __len__(self) -> int:
        return self._count

    def see(self, now: int) -> None:
        """Take a tick of the clock."""
        if self.now is None:  # rows that came before the first tick are stamped with it
            for _, stamps in self._pieces:
                stamps[stamps == _UNKNOWN] = now
            self._changed = True
        self.now = now if self.now is None else max(now, self.now)

    def add(self, batch: pa.RecordBatch) -> None:
        if batch.num_rows:
            stamp = _UNKNOWN if self.now is None else self.now
            self._append(held_as(batch, self._plain), np.full(batch.num_rows, stamp, np.int64))

    def _append(self, batch: pa.RecordBatch, stamps: np.ndarray) -> None:
        self._changed = True
        self._count += batch.num_rows
        self.nbytes += batch.nbytes + stamps.nbytes
        append_beside(self._pieces, (batch, stamps))

    def oldest(self) -> int | None:
        """The stamp of the row that came first; None if there are no rows."""
        return int(self._pieces[0][1][0]) if self._pieces else None

    def take_all(self) -> Iterator[pa.RecordBatch]:
        """Remove and give all rows, in order."""
        rows, _ = self._joined()
        yield from self._take(self._order(rows), self._count)

    def take_stamped(self, until: int) -> Iterator[pa.RecordBatch]:
        """Remove and give, in order, the rows stamped up to ``until`` and all rows that sort before one of them."""
        rows, stamps = self._joined()
        order = self._order(rows)
        due = np.flatnonzero(stamps[order] <= until)
        yield from self._take(order, int(due[-1]) + 1 if len(due) else 0)

    def take_below(self, bound: Bound) -> Iterator[pa.RecordBatch]:
        """Remove and give the rows whose first column is below a bound, in order."""
        rows, _ = self._joined()
        below = int(matching(Punctuation({self.columns[0]: bound}), rows).sum())
        if below:
            yield from self._take(self._order(rows), below)

    def _joined(self) -> tuple[pa.RecordBatch, np.ndarray]:
        """All rows as one batch, in the order in which they came."""
        if len(self._pieces) > 1:
            self._pieces = [one_piece(self._pieces)]
        if not self._pieces:
            return _empty(self._plain), np.zeros(0, np.int64)
        return self._pieces[0]

    def _order(self, rows: pa.RecordBatch) -> np.ndarray:
        return order_rows([rows.column(name) for name in self.columns])

    def _take(self, order: np.ndarray, count: int) -> Iterator[pa.RecordBatch]:
        """Remove and give the first ``count`` rows of ``order``. The others stay in order of arrival."""
        if not count:
            return
        rows, stamps = self._joined()
        self._clear()
        staying = np.sort(order[count:])
        if len(staying):
            self._append(_taken(rows, staying, self._plain), stamps[staying])
        for start in range(0, count, BATCH_ROWS):
            yield _taken(rows, order[start : min(start + BATCH_ROWS, count)], self.schema)

    def sort_before(self, batch: pa.RecordBatch, last: pa.RecordBatch) -> np.ndarray:
        """Which rows of the batch sort before the row ``last``?"""
        types = {name: self._plain.field(name).type for name in self.columns}
        pairs = [[as_type(rows.column(n), t) for rows in (last, batch)] for n, t in types.items()]
        order = order_rows([pa.concat_arrays(pair) for pair in pairs])
        before = np.zeros(batch.num_rows, np.bool_)
        before[order[: int(np.flatnonzero(order == 0)[0])] - 1] = True
        return before

    def value(self, column: pa.Array) -> Bound:
        """The first value of a time column as a bound; infinity if it is null or NaN."""
        if column.null_count:
            return math.inf
        value: Bound = views.times(column)[0].item()
        return value if value == value else math.inf

    def save(self) -> Iterator[Part]:
        if not self._changed:
            return
        if self._count:
            rows, stamps = self._joined()
            yield _HELD, rows
            yield _STAMPS, pa.record_batch([pa.array(stamps)], names=["arrived"])
        elif self._saved:
            yield _HELD, None
            yield _STAMPS, None
        self._changed, self._saved = False, self._count > 0

    def load(self, parts: Mapping[str, pa.RecordBatch | None]) -> None:
        self._clear()
        held, stamps = parts.get(_HELD), parts.get(_STAMPS)
        if held is not None and stamps is not None:
            self._append(held_as(held, self._plain), views.column(stamps.column(0)).data.copy())
        self._changed, self._saved = False, held is not None


def _taken(batch: pa.RecordBatch, rows: np.ndarray, schema: pa.Schema) -> pa.RecordBatch:
    columns = [as_type(take_column(c, rows, c.type), f.type) for c, f in zip(batch.columns, schema, strict=True)]
    return pa.RecordBatch.from_arrays(columns, schema=schema)


def _empty(schema: pa.Schema) -> pa.RecordBatch:
    return pa.RecordBatch.from_arrays([pa.array([], f.type) for f in schema], schema=schema)
