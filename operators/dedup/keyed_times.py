"""Keys with times, found by key and nearness in time: the rows that dedup has put out, or its open spans.

Each key has a number, under which a `JoinTable` stores its times. Keys are renumbered when most have no time left.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

import numpy as np
import pyarrow as pa

from oop.kernels import dispatch, views
from oop.kernels.signatures.joins import Reach
from oop.operators.core.coverage import covered
from oop.operators.core.keys import KeyTable, read_key
from oop.operators.core.parts import Part
from oop.operators.core.slice_parts import SliceParts
from oop.operators.core.time_slices import TimeSlices
from oop.operators.core.times import from_physical, is_whole
from oop.operators.rows.places import PlacedRows, Places
from oop.punctuation import Frontier

_SLACK = 4_096  # there may always be this many keys without a time
_TIME = "$time"  # the time's column in a saved part, distinct from the time column of kept rows


class KeyedTimes:
    """``keys`` and ``time`` are columns of the schema; with ``keeps_rows`` a row is kept beside each time. ``span`` is
    how far promises stay behind times, about."""

    def __init__(
        self, schema: pa.Schema, keys: Sequence[str], time: str, span: int | float, keeps_rows: bool = False
    ) -> None:
        self.schema, self.names, self.time, self.span = schema, list(keys), time, span
        self.keeps_rows = keeps_rows
        self.types = [schema.field(k).type for k in keys]
        self.time_type = schema.field(time).type
        self.whole = is_whole(self.time_type)
        self._parts = SliceParts()
        self._start()

    def _start(self) -> None:
        self._keys = KeyTable([views.key_kind(t) for t in self.types])
        self._table = dispatch.kernels().JoinTable(np.int64 if self.whole else np.float64)
        self._slices = TimeSlices(self.span, self.whole)
        self._places = Places()
        self._rows = PlacedRows(self.schema) if self.keeps_rows else None

    def __len__(self) -> int:
        return len(self._table)

    @property
    def nbytes(self) -> int:
        if not len(self):  # the arrays were replaced with empty ones
            return 0
        rows = 0 if self._rows is None else self._rows.nbytes
        return self._keys.nbytes + self._table.nbytes + self._slices.nbytes + self._places.nbytes + rows

    def numbers(self, batch: pa.RecordBatch) -> np.ndarray:
        """The number of each row's key. The numbers are valid until the next rows are inserted or taken."""
        return self._keys.map([read_key(batch.column(k)) for k in self.names], batch.num_rows)

    def near(self, numbers: np.ndarray, times: np.ndarray, reach: Reach) -> tuple[np.ndarray, np.ndarray]:
        """Pairs of a row and the place of a time of its key within reach."""
        mine, theirs, _ = self._table.probe(numbers.astype(np.uint64), times, reach)
        return mine, theirs

    def insert(self, numbers: np.ndarray, times: np.ndarray, rows: pa.RecordBatch | None = None) -> None:
        """Hold times of keys, each with a row if rows are kept."""
        places = self._places.take(len(times))
        self._table.insert(places, numbers.astype(np.uint64), times)
        if self._rows is not None:
            assert rows is not None
            self._rows.put(places, rows.columns, None)
        self._slices.add(places, times)
        if len(self._keys) > 2 * len(self) + _SLACK:
            self._renumber()

    def read(self, places: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The numbers and times in these places."""
        numbers, times = self._table.read(places)
        return numbers.astype(np.int64), times

    def first(self) -> pa.RecordBatch | None:
        """A key with the least time, as a row of the key columns and the time."""
        for number in self._slices.numbers()[:1]:
            places = self._slices.places(number)
            return self._named(places[[np.argmin(self.read(places)[1])]], self.time)
        return None

    def rows(self, places: np.ndarray) -> pa.RecordBatch:
        """The rows that are kept in these places."""
        assert self._rows is not None
        columns = self._rows.take(self.schema.names, places)
        return pa.RecordBatch.from_arrays([columns[n] for n in self.schema.names], schema=self.schema)

    def remove(self, places: np.ndarray) -> None:
        """Remove times before a promise covers them."""
        slots = self._slices.slots(self.read(places)[1]) >> self._slices.shift
        for number in np.unique(slots).tolist():
            self._leave(number, np.isin(self._slices.places(number), places))

    def take_covered(self, frontier: Frontier, most: int) -> Iterator[pa.RecordBatch]:
        """Remove the times that match a promise about keys and time. Give the rows that were kept with them, if rows
        are kept, at most ``most`` at a time."""
        linear = frontier.all.linear
        simple = not frontier.ended and frontier.is_linear and set(linear) == {self.time}
        for number in self._slices.numbers():
            places = self._slices.places(number)
            if simple:
                gone = self.read(places)[1] < linear[self.time]
            elif frontier.ended:
                gone = np.ones(len(places), np.bool_)
            else:
                gone = covered(frontier, self._named(places, self.time))
            if gone.any():
                yield from self._given(places[gone], most) if self.keeps_rows else ()
                self._leave(number, gone)
            if simple and self._slices.start(number) >= linear[self.time]:
                return

    def _given(self, places: np.ndarray, most: int) -> Iterator[pa.RecordBatch]:
        for start in range(0, len(places), most):
            yield self.rows(places[start : start + most])

    def _leave(self, number: int, gone: np.ndarray) -> None:
        places = self._slices.places(number)
        self._slices.replace(number, places[~gone])
        self._table.remove(places[gone])
        self._places.give(places[gone])
        if not len(self):  # arrays keep the size of the peak until nothing is held
            before = self._slices
            self._start()
            self._slices.follow(before)
        elif self._rows is not None and self._rows.is_mostly_gone(len(self)):
            self._rows.rewrite(self._held())

    def _held(self) -> np.ndarray:
        return np.concatenate([self._slices.places(n) for n in self._slices.numbers()])

    def _named(self, places: np.ndarray, time: str) -> pa.RecordBatch:
        """The keys and times in these places, as columns."""
        numbers, times = self.read(places)
        chosen = pa.array(numbers)
        keys = [k.take(chosen) for k in self._keys.arrays(self.types)]
        columns = dict(zip(self.names, keys, strict=True)) | {time: from_physical(times, self.time_type)}
        return pa.RecordBatch.from_pydict(columns)

    def _renumber(self) -> None:
        """Renumber the keys, without those that have no time."""
        held = self._held()
        named, times = self._named(held, _TIME), self.read(held)[1]
        self._keys = KeyTable(self._keys.kinds)
        self._table = dispatch.kernels().JoinTable(self._table.dtype)
        self._table.insert(held, self.numbers(named).astype(np.uint64), times)

    def save(self, prefix: str = "") -> Iterator[Part]:
        """The slices that changed since the last time."""
        return self._parts.save(self._slices.shift, self._slices.take_changes(), self._part, prefix)

    def _part(self, number: int) -> pa.RecordBatch | None:
        if number not in self._slices:
            return None
        places = self._slices.places(number)
        named = self._named(places, _TIME)
        if not self.keeps_rows:
            return named
        return self.rows(places).append_column(_TIME, named.column(_TIME))

    def load(self, parts: Mapping[str, pa.RecordBatch | None] | Iterable[Part], prefix: str = "") -> None:
        shift, found = self._parts.load(dict(parts), prefix)
        self._start()
        if shift is None:
            return
        self._slices.shift = shift
        self._slices.are_known(number for number, _ in found if number is not None)
        for _, part in found:
            rows = part.select(self.schema.names) if self.keeps_rows else None
            self.insert(self.numbers(part), views.times(part.column(_TIME)), rows)
        if self._slices.shift == shift:
            self._slices.take_changes()  # the slices are as they were saved, so none counts as changed
