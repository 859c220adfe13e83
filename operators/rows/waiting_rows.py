"""Rows that wait for a promise, in slices of time. Slices below the bound leave whole; only the one at it is searched.

Rows are held as record batches, cut into slices by an attribute of whole numbers or floats (a time, a sequence number).
Rows without a value there wait in a slice of their own, because no ``<`` ever matches them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping

import numpy as np
import pyarrow as pa

from oop.kernels import dispatch, views
from oop.operators.core import time_slices
from oop.operators.core.batches import BATCH_ROWS
from oop.operators.core.compute import compute as pc
from oop.operators.core.coverage import covered
from oop.operators.core.parts import Part
from oop.operators.core.slice_parts import SliceParts, check_saved_columns
from oop.operators.core.time_slices import MOST, WIDEST, Slicing
from oop.operators.core.times import is_whole
from oop.operators.rows.layout import held_as, laid_out, plain_schema, take_column
from oop.operators.rows.pieces import take_short
from oop.punctuation import Frontier
from oop.punctuation.patterns import Bound

_FINE = 2.0**-18  # the first length of slices of float times
Mask = Callable[[pa.RecordBatch], np.ndarray]


class WaitingRows:
    """Rows of a schema that wait by the attribute ``on``.

    >>> rows = WaitingRows(pa.schema([("ts", pa.int64()), ("k", pa.string())]), "ts")
    >>> rows.add(pa.record_batch({"ts": [7, 3, None, 5], "k": ["a", "b", "c", "d"]}))
    >>> [batch.to_pylist() for batch in rows.take_below(6)]
    [[{'ts': 3, 'k': 'b'}], [{'ts': 5, 'k': 'd'}]]
    >>> len(rows), rows.least()
    (2, 7)
    """

    def __init__(self, schema: pa.Schema, on: str) -> None:
        self.schema, self.on = schema, on
        self.whole = is_whole(schema.field(on).type)
        self._plain = plain_schema(schema)
        self._parts = SliceParts()
        self._start()

    def _start(self) -> None:
        self.slicing = Slicing(0 if self.whole else _FINE, self.whole)
        self._slices: dict[int, list[pa.RecordBatch]] = {}
        self._valueless: list[pa.RecordBatch] = []
        self._changed: set[int | None] = set()  # None: the rows without a value
        self._rows = 0
        self.nbytes = 0  # a plain number, because another thread may read it

    def __len__(self) -> int:
        return self._rows

    def add(self, batch: pa.RecordBatch) -> None:
        """Hold rows. Rows of one time stay in the order in which they came."""
        batch = held_as(batch, self._plain)
        column = batch.column(self.on)
        there = column.is_valid() if self.whole else pc.fill_null(pc.invert(pc.is_nan(column)), False)
        known = views.booleans(there)
        if not known.all():
            self._append(None, _taken(batch, np.flatnonzero(~known)))
            batch = _taken(batch, np.flatnonzero(known))
        if not batch.num_rows:
            return
        slots = self.slicing.slots(self.times(batch))
        order_slots = dispatch.kernels().order_slots
        numbers, order, starts = order_slots(slots, self.slicing.shift)
        while self.slicing.shift < WIDEST and (len(numbers) > time_slices.SPREAD or len(self._slices) > MOST):
            self._widen()
            numbers, order, starts = order_slots(slots, self.slicing.shift)
        if order is None:
            self._append(int(numbers[0]), batch)
            return
        batch = _taken(batch, order)
        for number, start, end in zip(numbers.tolist(), starts[:-1].tolist(), starts[1:].tolist(), strict=True):
            self._append(number, batch.slice(start, end - start), view=True)

    def times(self, batch: pa.RecordBatch) -> np.ndarray:
        """The attribute of rows that have it."""
        return views.times(batch.column(self.on))

    def _append(self, number: int | None, batch: pa.RecordBatch, view: bool = False) -> None:
        """Append rows to a slice. A ``view`` of a larger batch is copied, so that it does not keep alive rows of that
        batch that have left."""
        pieces = self._valueless if number is None else self._slices.setdefault(number, [])
        self._changed.add(number)
        self._rows += batch.num_rows
        earlier = take_short(pieces, batch.num_rows)
        self.nbytes -= sum(map(_size, earlier))
        batch = pa.concat_batches([*earlier, batch]) if view or earlier else batch
        pieces.append(batch)
        self.nbytes += _size(batch)

    def _widen(self) -> None:
        """Make slices four times as long. Rows of one time were in one slice, so they stay in their order."""
        self.slicing.shift += 2
        self._changed |= self._slices.keys()
        wide: dict[int, list[pa.RecordBatch]] = {}
        for number in sorted(self._slices):
            wide.setdefault(number >> 2, []).extend(self._slices[number])
        self._slices = wide
        self._changed |= wide.keys()

    def take_below(self, bound: Bound) -> Iterator[pa.RecordBatch]:
        """Remove and give the rows below a bound: one batch for each slice, in order of time. Within a batch rows are
        in the order in which they came."""
        for number, all_below in list(self.slicing.reached(self._slices, bound)):
            rows = self._joined(number)
            gone = None if all_below else self.times(rows) < bound
            yield from self._remove(number, rows, gone)

    def take_covered(self, frontier: Frontier) -> Iterator[pa.RecordBatch]:
        """Remove and give the rows that match a promise, in the order of `take_below`, rows without a value last."""
        linear = frontier.all.linear
        if frontier.ended:
            yield from self.take_all()
        elif frontier.is_linear and linear.keys() <= {self.on}:
            yield from self.take_below(linear.get(self.on, -math.inf))
        else:
            highest = max((p.below.get(self.on, math.inf) for p in frontier.promises()), default=-math.inf)
            yield from self.take_where(highest, lambda rows: covered(frontier, rows))

    def take_where(self, highest: Bound, mask: Mask) -> Iterator[pa.RecordBatch]:
        """Remove and give the rows that ``mask`` chooses. Only slices that begin below ``highest``, and rows without a
        value, are looked at."""
        for number, _ in list(self.slicing.reached(self._slices, highest)):
            rows = self._joined(number)
            yield from self._remove(number, rows, mask(rows))
        if self._valueless:
            rows = self._joined(None)
            yield from self._remove(None, rows, mask(rows))

    def take_all(self) -> Iterator[pa.RecordBatch]:
        """Remove and give all rows, those without a value last."""
        for number in sorted(self._slices):
            yield from self._remove(number, self._joined(number), None)
        if self._valueless:
            yield from self._remove(None, self._joined(None), None)

    def _joined(self, number: int | None) -> pa.RecordBatch:
        """All rows of a slice as one batch."""
        pieces = self._valueless if number is None else self._slices[number]
        if len(pieces) > 1:
            self.nbytes -= sum(map(_size, pieces))
            pieces[:] = [pa.concat_batches(pieces)]
            self.nbytes += _size(pieces[0])
        return pieces[0]

    def _remove(self, number: int | None, rows: pa.RecordBatch, gone: np.ndarray | None) -> Iterator[pa.RecordBatch]:
        """Remove and give the rows of a slice for which ``gone`` is true (None: all)."""
        if gone is not None and not gone.any():
            return
        whole = gone is None or bool(gone.all())
        left = None if whole or gone is None else _taken(rows, np.flatnonzero(~gone))
        leaving = rows if whole or gone is None else _taken(rows, np.flatnonzero(gone))
        if left is None:
            self._parts.note_gone(self._changed, number)
        else:
            self._changed.add(number)
        self._rows -= leaving.num_rows
        self.nbytes += (0 if left is None else _size(left)) - _size(rows)
        if number is None:
            self._valueless = [] if left is None else [left]
        elif left is None:
            del self._slices[number]
        else:
            self._slices[number] = [left]
        yield leaving

    def least(self) -> Bound | None:
        """The least value that is held; None if there is none."""
        if not self._slices:
            return None
        value: Bound = self.times(self._joined(min(self._slices))).min().item()
        return value

    def released(
        self, rows: pa.RecordBatch, order: np.ndarray | None = None, most: int = BATCH_ROWS
    ) -> Iterator[pa.RecordBatch]:
        """Rows that were taken, in their own types again, in batches of at most ``most`` rows, and in ``order`` if one
        is given."""
        for start in range(0, rows.num_rows, most):
            piece = rows.slice(start, most) if order is None else _taken(rows, order[start : start + most])
            yield laid_out(piece, self.schema)

    def save(self, prefix: str = "") -> Iterator[Part]:
        """The slices that changed since the last time."""
        yield from self._parts.save(self.slicing.shift, self._changed, self._part, prefix)
        self._changed = set()

    def _part(self, number: int | None) -> pa.RecordBatch | None:
        there = bool(self._valueless) if number is None else number in self._slices
        return self._joined(number) if there else None

    def load(self, parts: Mapping[str, pa.RecordBatch | None] | Iterable[Part], prefix: str = "") -> None:
        shift, found = self._parts.load(dict(parts), prefix)
        self._start()
        self.slicing.shift = shift or 0
        for number, part in found:
            check_saved_columns(part, self.schema.names, "waiting rows were")
            self._append(number, held_as(part, self._plain))
        self._changed = set()


def _size(batch: pa.RecordBatch) -> int:
    """The bytes that a batch keeps alive, which may be more than its rows need."""
    return int(batch.get_total_buffer_size())


def _taken(batch: pa.RecordBatch, rows: np.ndarray) -> pa.RecordBatch:
    """A copy of some rows of a batch."""
    columns = [take_column(c, rows, c.type) for c in batch.columns]
    return pa.RecordBatch.from_arrays(columns, schema=batch.schema)
