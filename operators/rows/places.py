"""Rows in numbered places, which are reused: a row's place is its index in the arrays of the columns.

Columns of a fixed width are arrays. All others (text, lists, …) are together in a log of batches, and each place has
the number of its line there. When most of the log belongs to rows that are gone, it is compacted.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from oop.kernels import dispatch, views
from oop.kernels.scratch import longer_array
from oop.operators.rows.layout import as_type, own_copy, plain_schema, plain_type
from oop.operators.rows.pieces import take_short

_GONE = 4_096  # a log may always have this many lines of rows that are gone


class Places:
    """Gives out numbers for rows and reuses those given back, so that arrays by place are no longer than the greatest
    number of rows at one time.

    >>> places = Places()
    >>> places.take(3).tolist(), places.give(np.array([1])), places.take(2).tolist(), places.room
    ([0, 1, 2], None, [1, 3], 4)
    """

    def __init__(self) -> None:
        self.room = 0
        self.nbytes = 0  # a plain number, because another thread may read it
        self._free: list[np.ndarray] = []

    def take(self, count: int) -> np.ndarray:
        found: list[np.ndarray] = []
        while count and self._free:
            last = self._free.pop()
            if len(last) > count:
                self._free.append(last[count:])
                last = last[:count]
            found.append(last)
            self.nbytes -= last.nbytes
            count -= len(last)
        if count or not found:
            found.append(np.arange(self.room, self.room + count))
            self.room += count
        return found[0] if len(found) == 1 else np.concatenate(found)

    def give(self, places: np.ndarray) -> None:
        if len(places):
            self._free.append(places)
            self.nbytes += places.nbytes


class PlacedRows:
    """The columns of a schema, by place."""

    def __init__(self, schema: pa.Schema) -> None:
        self.schema = schema
        self.fixed = {f.name: _Fixed(f.type) for f in schema if views.fixed_dtype(f.type) is not None}
        others = [f for f in schema if f.name not in self.fixed]
        self.log = _Log(plain_schema(pa.schema(others))) if others else None
        self._room = 0

    @property
    def nbytes(self) -> int:
        return sum(c.nbytes for c in self.fixed.values()) + (self.log.nbytes if self.log is not None else 0)

    def put(self, places: np.ndarray, columns: Sequence[pa.Array], rows: np.ndarray | None) -> None:
        """Put rows into places: all rows of these columns, or only the chosen ``rows``."""
        if not len(self.schema):
            return
        self._make_room(int(places.max(initial=-1)) + 1)
        logged = []
        for field, column in zip(self.schema, columns, strict=True):
            if field.name in self.fixed:
                self.fixed[field.name].put(places, column, rows)
            else:
                column = own_copy(column) if rows is None else column.take(pa.array(rows))
                logged.append(as_type(column, plain_type(field.type)))
        if self.log is not None:
            self.log.put(places, logged)

    def take(self, names: Sequence[str], places: np.ndarray) -> dict[str, pa.Array]:
        """These columns of the rows in these places."""
        found = {n: self.fixed[n].take(places) for n in names if n in self.fixed}
        rest = [n for n in names if n not in self.fixed]
        if rest:
            assert self.log is not None
            taken = self.log.take(rest, places)
            for name, column in zip(rest, taken, strict=True):
                found[name] = as_type(column, self.schema.field(name).type)
        return found

    def is_mostly_gone(self, count: int) -> bool:
        """Does most of the log belong to rows that are gone, if ``count`` rows are held?"""
        return self.log is not None and self.log.lines > 2 * count + _GONE

    def rewrite(self, held: np.ndarray) -> None:
        """Compact the log to the rows in these places."""
        assert self.log is not None
        self.log.rewrite(held)

    def _make_room(self, room: int) -> None:
        if room <= self._room:
            return
        self._room = max(room, self._room + self._room // 4)
        for column in self.fixed.values():
            column.make_room(self._room)
        if self.log is not None:
            self.log.make_room(self._room)


class _Fixed:
    """A column whose values have a fixed width."""

    def __init__(self, type_: pa.DataType) -> None:
        self.type = type_
        self.data = np.empty(0, views.fixed_dtype(type_))
        self.valid: np.ndarray | None = None  # by place; None until there was a null

    @property
    def nbytes(self) -> int:
        return self.data.nbytes + (0 if self.valid is None else self.valid.nbytes)

    def make_room(self, room: int) -> None:
        self.data = longer_array(self.data, room)
        if self.valid is not None:
            self.valid = longer_array(self.valid, room)

    def put(self, places: np.ndarray, column: pa.Array, rows: np.ndarray | None) -> None:
        data, valid = views.fixed_column(column)
        kernels = dispatch.kernels()
        self.data[places] = data if rows is None else kernels.take_fixed(data, rows)
        if valid is not None and self.valid is None:
            self.valid = np.ones(len(self.data), np.bool_)
        if self.valid is not None:
            self.valid[places] = True if valid is None else valid if rows is None else valid[rows]

    def take(self, places: np.ndarray) -> pa.Array:
        data = dispatch.kernels().take_fixed(self.data, places)
        mask = None if self.valid is None else self.valid[places]
        bits = None if mask is None or mask.all() else pa.py_buffer(np.packbits(mask, bitorder="little"))
        return pa.Array.from_buffers(self.type, len(places), [bits, pa.py_buffer(data)])


class _Log:
    """Columns of any type, in the order in which rows came. A row is found by the number of its line."""

    def __init__(self, schema: pa.Schema) -> None:
        self.schema = schema
        self.batches: list[pa.RecordBatch] = []
        self.lines = 0
        self.line = np.empty(0, np.int64)  # by place
        self._size = 0  # bytes of the batches

    @property
    def nbytes(self) -> int:
        return self.line.nbytes + self._size

    def make_room(self, room: int) -> None:
        self.line = longer_array(self.line, room)

    def put(self, places: np.ndarray, columns: Sequence[pa.Array]) -> None:
        self.line[places] = np.arange(self.lines, self.lines + len(places))
        self.lines += len(places)
        batch = pa.RecordBatch.from_arrays(list(columns), schema=self.schema)
        earlier = take_short(self.batches, batch.num_rows)
        if earlier:
            self._size -= sum(piece.nbytes for piece in earlier)
            batch = pa.concat_batches([*earlier, batch])
        self.batches.append(batch)
        self._size += batch.nbytes

    def take(self, names: Sequence[str], places: np.ndarray) -> list[pa.Array]:
        """These columns of the rows in these places. They are taken batch by batch, because Arrow would first
        concatenate all batches, however few rows are taken."""
        lines, starts = self.line[places], np.cumsum([0, *(b.num_rows for b in self.batches)])
        of = np.searchsorted(starts, lines, "right") - 1
        order = np.argsort(of, kind="stable")
        bounds = np.searchsorted(of[order], np.arange(len(self.batches) + 1))
        parts = []
        for number in np.unique(of).tolist():
            here = lines[order[bounds[number] : bounds[number + 1]]] - starts[number]
            parts.append(self.batches[number].select(list(names)).take(pa.array(here)))
        if not parts:
            return [pa.nulls(0, self.schema.field(n).type) for n in names]
        if len(parts) == 1:
            return list(parts[0].columns)
        back = np.empty(len(order), np.int64)
        back[order] = np.arange(len(order))
        return list(pa.concat_batches(parts).take(pa.array(back)).columns)

    def rewrite(self, held: np.ndarray) -> None:
        """Keep only the lines of the rows in these places."""
        columns = self.take(self.schema.names, held)
        self.batches, self.lines, self._size = [], 0, 0
        self.put(held, columns)


def with_places(array: np.ndarray, room: int) -> np.ndarray:
    """The array by place, extended with zeros if it is shorter than ``room``."""
    if room <= len(array):
        return array
    longer = np.zeros(max(room, len(array) + len(array) // 4), array.dtype)
    longer[: len(array)] = array
    return longer
