"""The buffers of `BSort`: n rows for each group, of which the least leaves when one more comes (Aurora paper, section
5.2.2.1).

Rows are in numbered places (`operators/rows/places.py`), so that a row costs the same however many are held. The kernel
(`kernels.SortBuffers`) decides which row leaves, by one word for each row (`operators/core/words.py`) and the order of
arrival.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from oop.kernels import dispatch, views
from oop.operators.core.batches import BATCH_ROWS
from oop.operators.core.coverage import INT64_MAX
from oop.operators.core.keys import KeyTable, read_key
from oop.operators.core.words import from_words, to_words
from oop.operators.rows.places import PlacedRows, Places, with_places

_GONE = 65_536  # the kernel may always have numbers of this many rows that have left


class BSortRows:
    """The rows of a schema that wait by the attribute ``on``, those of each group of ``keys`` apart.

    Null is greater than every value, and NaN than every number.

    >>> buffers = BSortRows(pa.schema([("A", pa.int64())]), "A", (), 2)
    >>> [out.column(0).to_pylist() for out in buffers.add(pa.record_batch({"A": [1, 3, 1, 2]}))]
    [[1, 1]]
    >>> len(buffers), buffers.least(buffers.held())
    (2, 2)
    """

    def __init__(self, schema: pa.Schema, on: str, keys: Sequence[str], slack: int) -> None:
        self.schema, self.on, self.keys, self.slack = schema, on, tuple(keys), slack
        self.type = schema.field(on).type
        self._types = [schema.field(k).type for k in keys]
        self._start()

    def _start(self) -> None:
        self.places = Places()
        self.rows = PlacedRows(self.schema)
        self.groups = KeyTable([views.key_kind(t) for t in self._types])
        self.buffers = dispatch.kernels().SortBuffers(self.slack, np.int64)
        self._words = np.zeros(0, np.int64)  # by place
        self._came = np.zeros(0, np.int64)  # places in the order of arrival, also of rows that have left since
        self._count = 0

    def __len__(self) -> int:
        return self._count

    @property
    def nbytes(self) -> int:
        arrays = self._words.nbytes + self._came.nbytes
        return self.rows.nbytes + self.places.nbytes + self.groups.nbytes + self.buffers.nbytes + arrays

    def add(self, batch: pa.RecordBatch) -> list[pa.RecordBatch]:
        """Hold rows, one after the other; give the rows that leave, in the order in which they leave."""
        count = batch.num_rows
        if not count:
            return []
        places = self.places.take(count)
        self.rows.put(places, [batch.column(n) for n in self.schema.names], None)
        self._words = with_places(self._words, self.places.room)
        self._words[places] = words = _words_of(batch.column(self.on))
        self._count += count
        first = self.buffers.places  # the kernel's places are numbers of arrival, and `_came` maps them to ours
        self._came = with_places(self._came, first + count)
        self._came[first : first + count] = places
        ids = self.groups.map([read_key(batch.column(k)) for k in self.keys], count) if self.keys else None
        leaving = self.buffers.push(ids, words)
        return self._remove(self._came[leaving]) if len(leaving) else []

    def take(self, places: np.ndarray) -> list[pa.RecordBatch]:
        """Remove and give all rows of some groups, in order. The other rows are put into new buffers."""
        order = np.lexsort((np.arange(len(places)), self._words[places]))
        held = self.held()
        staying = held[~np.isin(held, places)]
        self.buffers = dispatch.kernels().SortBuffers(self.slack, np.int64)
        self.buffers.push(self._ids(staying), self._words[staying])
        self._came = staying
        return self._remove(places[order])

    def held(self) -> np.ndarray:
        """The places of all rows, in the order in which they came."""
        self._came = self._came[self.buffers.compact()]
        return self._came

    def _ids(self, places: np.ndarray) -> np.ndarray | None:
        if not self.keys:
            return None
        keys = self.rows.take(self.keys, places)
        return self.groups.map([read_key(keys[k]) for k in self.keys], len(places))

    def batch(self, places: np.ndarray) -> pa.RecordBatch:
        """The rows in some places."""
        found = self.rows.take(self.schema.names, places)
        return pa.RecordBatch.from_arrays([found[n] for n in self.schema.names], schema=self.schema)

    def key_arrays(self, places: np.ndarray, names: Sequence[str]) -> dict[str, pa.Array]:
        """The groups of the rows in some places."""
        return self.rows.take(names, places)

    def times(self, places: np.ndarray) -> np.ndarray:
        """The values that rows are sorted by, in which a null is the greatest value."""
        kind = views.kind_of(self.type)
        values = from_words(self._words[places], kind)
        return values.astype(np.int64) if kind == "uint" else values

    def have_value(self, places: np.ndarray) -> np.ndarray:
        """Which rows may be below a bound: those with null or NaN never are."""
        column = self.rows.take([self.on], places)[self.on]
        there = views.booleans(column.is_valid())
        if pa.types.is_floating(self.type):
            there &= ~np.isnan(self.times(places))
        return there

    def least(self, places: np.ndarray) -> int | float | None:
        """The least value in some places; None if there is none."""
        places = places[self.have_value(places)]
        return self.times(places).min().item() if len(places) else None

    def _remove(self, places: np.ndarray) -> list[pa.RecordBatch]:
        starts = range(0, len(places), BATCH_ROWS)
        out = [self.batch(places[start : start + BATCH_ROWS]) for start in starts]
        self.places.give(places)
        self._count -= len(places)
        if not self._count:
            self._start()  # gives back the memory of the peak
        elif self.buffers.places > 2 * self._count + _GONE or self.rows.is_mostly_gone(self._count):
            held = self.held()
            if self.rows.is_mostly_gone(self._count):
                self.rows.rewrite(held)
        return out

    def load(self, rows: pa.RecordBatch) -> None:
        """Hold rows in the order that `held` gave. They are so few that none is pushed out."""
        self._start()
        self.add(rows)


def _words_of(column: pa.Array) -> np.ndarray:
    view = views.column(column)
    words = to_words(view, zeros_equal=True)
    return words if view.valid is None else np.where(view.valid, words, INT64_MAX)
