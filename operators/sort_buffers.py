"""The buffers of `BSort`: for each group up to n rows, of which the least leaves when one more comes (papers/000, 5.2.2.1).

Rows stand in numbered places (`held_rows.py`), so that a row costs the same however many are held. What decides is one
word for each row (`words.py`) and the order of arrival.
"""

from __future__ import annotations

from collections.abc import Sequence
from heapq import heappush, heappushpop

import numpy as np
import pyarrow as pa

from oop.kernels import views
from oop.operators.coverage import INT64_MAX
from oop.operators.held_rows import HeldRows, Places, with_room
from oop.operators.keys import KeyTable, read_key
from oop.operators.words import from_words, to_words

_WHOLE_BATCH = 65_536


class Heaps:
    """The least of each group, by word and then by arrival.

    >>> heaps = Heaps(2)
    >>> heaps.push(np.zeros(4, int), np.array([3, 1, 1, 2]), np.arange(4), 0).tolist()
    [1, 2]
    """

    def __init__(self, slack: int) -> None:
        self.slack = slack
        self.groups: dict[int, list[tuple[int, int, int]]] = {}

    def push(self, groups: np.ndarray, words: np.ndarray, places: np.ndarray, first: int) -> np.ndarray:
        """Rows one after the other, the first of which is the ``first`` to arrive: the places of those that leave."""
        leaving, slack = [], self.slack
        numbers = range(first, first + len(words))
        for group, *row in zip(groups.tolist(), words.tolist(), numbers, places.tolist(), strict=True):
            heap = self.groups.setdefault(group, [])
            if len(heap) < slack:
                heappush(heap, tuple(row))
            else:
                leaving.append(heappushpop(heap, tuple(row))[-1])
        return np.array(leaving, np.int64)

    def clear(self, groups: np.ndarray) -> None:
        """These groups are empty again."""
        for group in groups.tolist():
            self.groups.pop(group, None)


class SortBuffers:
    """The rows of a schema that wait by the attribute ``on``, those of each group of ``keys`` apart.

    Null is greater than every value, and NaN than every number.

    >>> buffers = SortBuffers(pa.schema([("A", pa.int64())]), "A", (), 2)
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
        self.rows = HeldRows(self.schema)
        self.groups = KeyTable([views.key_kind(t) for t in self._types])
        self.heaps = Heaps(self.slack)
        self._here = np.zeros(0, np.bool_)  # by place: is it taken; and of which row
        self._group, self._word, self._number = (np.zeros(0, np.int64) for _ in range(3))
        self._arrived = 0
        self._count = 0

    def __len__(self) -> int:
        return self._count

    @property
    def nbytes(self) -> int:
        arrays = self._here, self._group, self._word, self._number
        return self.rows.nbytes + self.places.nbytes + self.groups.nbytes + sum(a.nbytes for a in arrays)

    def add(self, batch: pa.RecordBatch) -> list[pa.RecordBatch]:
        """Hold rows, one after the other; the rows that leave, in their order."""
        count = batch.num_rows
        if not count:
            return []
        places = self.places.take(count)
        self.rows.put(places, [batch.column(n) for n in self.schema.names], None)
        self._here, self._group, self._word, self._number = (
            with_room(a, self.places.room) for a in (self._here, self._group, self._word, self._number)
        )
        groups = self.groups.map([read_key(batch.column(k)) for k in self.keys], count)
        words = self._words(batch.column(self.on))
        self._here[places], self._group[places], self._word[places] = True, groups, words
        self._number[places] = np.arange(self._arrived, self._arrived + count)
        self._count += count
        leaving = self.heaps.push(groups, words, places, self._arrived)
        self._arrived += count
        return self._remove(leaving)

    def take(self, places: np.ndarray) -> list[pa.RecordBatch]:
        """Remove and give all rows of some groups, in order."""
        self.heaps.clear(np.unique(self._group[places]))
        return self._remove(places[np.lexsort((self._number[places], self._word[places]))])

    def held(self) -> np.ndarray:
        """The places of all rows, in the order in which they came."""
        places = np.flatnonzero(self._here)
        return places[np.argsort(self._number[places])]

    def batch(self, places: np.ndarray) -> pa.RecordBatch:
        """The rows in some places."""
        found = self.rows.take(self.schema.names, places)
        return pa.RecordBatch.from_arrays([found[n] for n in self.schema.names], schema=self.schema)

    def key_arrays(self, places: np.ndarray, names: Sequence[str]) -> dict[str, pa.Array]:
        """The groups of the rows in some places."""
        return self.rows.take(names, places)

    def times(self, places: np.ndarray) -> np.ndarray:
        """What they are sorted by; a null stands with the greatest."""
        kind = views.kind_of(self.type)
        values = from_words(self._word[places], kind)
        return values.astype(np.int64) if kind == "uint" else values

    def have_value(self, places: np.ndarray) -> np.ndarray:
        """Which of them may be below a bound: null and NaN never are."""
        column = self.rows.take([self.on], places)[self.on]
        there = views.booleans(column.is_valid())
        if pa.types.is_floating(self.type):
            there &= ~np.isnan(self.times(places))
        return there

    def least(self, places: np.ndarray) -> int | float | None:
        """The least value in some places; None if there is none."""
        places = places[self.have_value(places)]
        return self.times(places).min().item() if len(places) else None

    def _words(self, column: pa.Array) -> np.ndarray:
        view = views.column(column)
        words = to_words(view, zeros_equal=True)
        return words if view.valid is None else np.where(view.valid, words, INT64_MAX)

    def _remove(self, places: np.ndarray) -> list[pa.RecordBatch]:
        starts = range(0, len(places), _WHOLE_BATCH)
        out = [self.batch(places[start : start + _WHOLE_BATCH]) for start in starts]
        self._here[places] = False
        self.places.give(places)
        self._count -= len(places)
        if not self._count:
            self._start()  # of what was held at the peak nothing stays
        elif self.rows.is_mostly_gone(self._count):
            self.rows.rewrite(self.held())
        return out

    def load(self, rows: pa.RecordBatch) -> None:
        """Rows as `held` gave them."""
        self._start()
        self.add(rows)
