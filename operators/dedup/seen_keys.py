"""Distinct keys in slices of one key column, so that a promise frees them in bulk.

Slices are like those of `operators/groups`: each has one value, until a batch spreads over many; then they get wider.
The value is part of the key, so a table need not store it twice.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from oop.kernels import dispatch, views
from oop.kernels.dictionaries import to_arrow_type
from oop.operators.core import time_slices
from oop.operators.core.coverage import covered
from oop.operators.core.keys import KeyTable, read_key
from oop.operators.core.parts import Part
from oop.operators.core.slice_parts import SliceParts
from oop.operators.core.time_slices import MOST, WIDEST
from oop.operators.core.times import FAR, NULL_SLOT, slots_of
from oop.operators.rows.places import PlacedRows
from oop.punctuation import Frontier

_FEW = 16  # keys that a slice should have, where there are many slices
_MANY = 4_096  # so many keys may always be moved
_LOOKS = 8  # moving a key costs as much as checking so many
_GONE = 0.75  # a slice is rebuilt when more than this share of its keys is forgotten


@dataclass(eq=False)
class KeySlice:
    """Keys by id, and under the same id a row of each key, if rows are kept."""

    keys: KeyTable
    rows: PlacedRows | None
    counted: int = 0
    """Keys, and below bytes, that are in the totals."""
    size: int = 0
    gone: np.ndarray | None = None
    """Which of the first ids have left. Their keys stay in the table until most of them have left, or the width of
    slices changes: no row with such a key comes any more, and it costs much to make a table of those that stay."""
    forgotten: int = 0
    """How many have left."""

    def __len__(self) -> int:
        return len(self.keys) - self.forgotten

    @property
    def nbytes(self) -> int:
        beside = 0 if self.rows is None else self.rows.nbytes
        return self.keys.nbytes + beside + (0 if self.gone is None else self.gone.nbytes)

    def held(self) -> np.ndarray | None:
        """The ids of the keys that have not left; None: all."""
        if self.gone is None:
            return None
        held = np.ones(len(self.keys), np.bool_)
        held[: len(self.gone)] = ~self.gone
        return np.flatnonzero(held)


class SeenKeys:
    """``keys`` are columns of the schema, and ``on`` the one whose values are cut into slices (None: no slices).

    >>> seen = SeenKeys(pa.schema([("ts", pa.int64()), ("k", pa.string())]), ("ts", "k"), "ts")
    >>> seen.add(pa.record_batch({"ts": [1, 1, 2, 1], "k": ["a", "b", "a", "a"]})).tolist()
    [0, 1, 2]
    >>> seen.add(pa.record_batch({"ts": [2, 3], "k": ["a", "a"]})).tolist(), len(seen)
    ([1], 4)
    """

    def __init__(self, schema: pa.Schema, keys: Sequence[str], on: str | None) -> None:
        self.schema, self.names, self.on = schema, list(keys), on
        self.types = [schema.field(k).type for k in keys]
        self._kinds = [views.key_kind(t) for t in self.types]
        self._kernels = dispatch.kernels()
        self._parts = SliceParts()
        self._start()

    def _start(self) -> None:
        self._slices: dict[int, KeySlice] = {}
        self._changed: set[int] = set()
        self.shift = 0
        self._touched: set[int] = set()  # slices that a program brought rows of one train to
        self._held = 0
        self._most = max(time_slices.SPREAD // 16, 1)  # slices that a batch may touch: few, with a table for each
        self._added = self._moved = 0  # keys since slices changed their width; keys that were moved to a smaller table
        self._newest = 0  # the number of the slice that was last made
        self._expected = 0  # keys in the slice that was last removed whole
        self.version = 0  # counts the times that keys came or went; in between no slice is replaced
        self.nbytes = 0  # a plain number, because another thread may read it

    def __len__(self) -> int:
        return self._held

    def add(self, batch: pa.RecordBatch) -> np.ndarray:
        """Take rows in; give the numbers of the rows that are the first of a new key."""
        keys = [read_key(batch.column(k)) for k in self.names]
        found: list[np.ndarray] = []
        for number, rows in self._spread(batch):
            slice_ = self._slice(number)
            before = len(slice_.keys)
            ids = slice_.keys.map(keys, batch.num_rows, rows)
            if self._take(slice_, batch, rows, ids, before):
                self._changed.add(number)
            self._account(number)
            if len(slice_.keys) > before:
                new = self._kernels.select_new(ids, before)
                found.append(new if rows is None else rows[new])
        if len(found) == 1:
            return found[0]
        first = np.zeros(batch.num_rows, np.bool_)
        for new in found:
            first[new] = True
        return np.flatnonzero(first)

    def _take(
        self, into: KeySlice, batch: pa.RecordBatch, rows: np.ndarray | None, ids: np.ndarray, before: int
    ) -> bool:
        """Take in what else is kept of rows with these ids, of which those from ``before`` on are new; tell whether
        that changed anything."""
        return False

    def _spread(self, batch: pa.RecordBatch) -> Iterator[tuple[int, np.ndarray | None]]:
        """The slices that rows belong to, each with its rows."""
        if not batch.num_rows:
            return
        slots = np.zeros(batch.num_rows, np.int64) if self.on is None else slots_of(batch.column(self.on))
        numbers, order, starts = self._kernels.order_slots(slots, self.shift)
        while self._is_thin(len(numbers)):
            self.widen(2)
            numbers, order, starts = self._kernels.order_slots(slots, self.shift)
        for i, number in enumerate(numbers.tolist()):
            yield number, None if order is None else order[starts[i] : starts[i + 1]]

    def _is_thin(self, touched: int, more: int = 0) -> bool:
        """Should slices be wider, if so many of them are touched together? They will be ``2 ** more`` times as wide."""
        slices = len(self._slices) >> more
        sparse = slices > time_slices.SPREAD and self._held < _FEW * slices
        return (touched > self._most or slices > MOST or sparse) and self.shift + more < WIDEST

    def begin_train(self) -> None:
        """A program is about to bring rows."""
        self._touched.clear()

    def took(self, numbers: Sequence[int]) -> None:
        """Take note of the keys that a program has brought to these slices, which were made by `table`."""
        for number in numbers:
            self._account(number)
        touched = self._touched
        touched.update(numbers)
        more = 0
        while self._is_thin(len(touched), more):
            more += 2
            touched = {number >> 2 for number in touched}
        if more:
            self.widen(more)
            self._touched = touched

    def table(self, number: int) -> KeyTable:
        """The keys of a slice, for a program that brings some; it is made if there is none."""
        return self._slice(number).keys

    def _slice(self, number: int) -> KeySlice:
        found = self._slices.get(number)
        if found is None:
            found = self._slices[number] = self._new()
            # Neighbouring slices are about as large, so a table that begins to grow gets their size at once.
            last = self._slices.get(self._newest)
            found.keys.reserve(max(self._expected, 0 if last is None else len(last)))
            self._newest = number
            self._account(number)
        return found

    def _new(self) -> KeySlice:
        return KeySlice(KeyTable(self._kinds, by_rows=True), None)

    def _account(self, number: int) -> None:
        """Bring the totals up to date for a slice."""
        slice_ = self._slices[number]
        more, size = len(slice_) - slice_.counted, slice_.nbytes
        self.nbytes += size - slice_.size
        slice_.size = size
        if more:
            self._held += more
            self._added += more
            slice_.counted += more
            self._changed.add(number)
            self.version += 1

    def widen(self, more: int) -> None:
        """Make slices of ``2 ** more`` times as many values."""
        narrow = self._with_shift(self.shift + more)
        expected = Counter[int]()
        for number, slice_ in narrow.items():
            expected[number >> more] += len(slice_)
        for number in sorted(narrow):
            self._slice(number >> more).keys.reserve(expected[number >> more])
            self._merge(number >> more, narrow[number])

    def _narrow(self) -> None:
        """Make slices of a quarter of the values, of which a batch may touch four times as many."""
        self._most *= 4
        wide = self._with_shift(self.shift - 2)
        for number in sorted(wide):
            self.add(self.batch(wide[number]))

    def _with_shift(self, shift: int) -> dict[int, KeySlice]:
        """Begin with slices of another width; the result is those that there were."""
        before, self._slices, self._held, self.nbytes = self._slices, {}, 0, 0
        self.shift = shift
        self._changed |= before.keys()
        self._touched.clear()
        self._expected = self._added = self._moved = 0
        self.version += 1
        return before

    def _merge(self, number: int, other: KeySlice, ids: np.ndarray | None = None) -> None:
        """Add to a slice what another one holds, or what it has under these ids. They have no key in common."""
        into = self._slice(number)
        ids = other.held() if ids is None else ids
        keys = other.keys.columns() if ids is None else other.keys.take(ids)
        own = into.keys.map(keys, len(other) if ids is None else len(ids))
        if into.rows is not None:
            into.rows.put(own, self.batch(other, ids).columns, None)
        self._account(number)

    def batch(self, slice_: KeySlice, ids: np.ndarray | None = None) -> pa.RecordBatch:
        """The keys of a slice, or the rows if rows are kept; those of some ids, or all that are held."""
        ids = slice_.held() if ids is None else ids
        if slice_.rows is None:
            keys = self._named(slice_)
            return keys if ids is None else keys.take(pa.array(ids))
        columns = slice_.rows.take(self.schema.names, np.arange(len(slice_)) if ids is None else ids)
        return pa.RecordBatch.from_arrays([columns[n] for n in self.schema.names], schema=self.schema)

    def take_covered(self, frontier: Frontier, most: int) -> Iterator[pa.RecordBatch]:
        """Remove and give the keys or rows that match a promise, slices in order, at most ``most`` at a time."""
        for slice_, gone in self._taken(frontier):
            for start in range(0, len(gone), most):
                yield self.batch(slice_, gone[start : start + most])

    def drop_covered(self, frontier: Frontier) -> None:
        """Remove the keys that match a promise, without giving them."""
        for _ in self._taken(frontier):
            pass

    def _taken(self, frontier: Frontier) -> Iterator[tuple[KeySlice, np.ndarray]]:
        """Each slice that promises reach, with the ids in it that leave. They are removed before they are given."""
        by_slices = self._is_by_slices(frontier)
        for number, whole in list(self._reached(frontier)):
            slice_ = self._slices[number]
            if whole:
                held = slice_.held()
                self._remove(number)
                yield slice_, np.arange(len(slice_)) if held is None else held
                continue
            gone = covered(frontier, self._asked(slice_, frontier))
            leave = self._leaving(slice_, gone)
            if not len(leave):
                continue
            if gone.all():
                self._remove(number)
            elif by_slices and slice_.rows is None and gone.sum() <= _GONE * len(gone):
                self._forget(number, gone, len(leave))
            else:
                self._remove(number)
                self._merge(number, slice_, np.flatnonzero(~gone))
                self._changed.add(number)
                moved = len(self._slices[number])
                self._moved, self._added = self._moved + moved, self._added - moved
            yield slice_, leave
        # where promises are frequent, it costs more to move keys on and on than to look into many slices
        if self._moved > max(self._added, _MANY) and self.shift >= 2 and self._most < time_slices.SPREAD:
            self._narrow()

    def _leaving(self, slice_: KeySlice, gone: np.ndarray) -> np.ndarray:
        """The ids that leave, if ``gone`` says which are covered. Those that left before are set in ``gone`` too."""
        if slice_.gone is None:
            return np.flatnonzero(gone)
        before = len(slice_.gone)
        new = gone.copy()
        new[:before] &= ~slice_.gone
        gone[:before] |= slice_.gone
        return np.flatnonzero(new)

    def _forget(self, number: int, gone: np.ndarray, new: int) -> None:
        """Let keys leave that a promise covers, which stay in the table of their slice. ``new`` are so many of them."""
        slice_ = self._slices[number]
        self._moved += len(gone) // _LOOKS
        slice_.gone, slice_.forgotten = gone, slice_.forgotten + new
        slice_.counted -= new
        self._held -= new
        self.nbytes += slice_.nbytes - slice_.size
        slice_.size = slice_.nbytes
        self._changed.add(number)
        self.version += 1

    def _named(self, slice_: KeySlice) -> pa.RecordBatch:
        """The keys of a slice."""
        return pa.RecordBatch.from_arrays(slice_.keys.arrays(self.types), names=self.names)

    def _asked(self, slice_: KeySlice, frontier: Frontier) -> pa.RecordBatch:
        """Of the keys of a slice, the columns that promises are about."""
        if self.on is None or not self._is_by_slices(frontier):
            return self._named(slice_)
        place = self.names.index(self.on)
        return pa.record_batch({self.on: to_arrow_type(slice_.keys.codes.columns()[place], self.types[place])})

    def _is_by_slices(self, frontier: Frontier) -> bool:
        """Is all that is promised a bound on the key that decides the slices?"""
        return not frontier.ended and frontier.is_linear and set(frontier.all.linear) == {self.on}

    def _remove(self, number: int) -> None:
        slice_ = self._slices.pop(number)
        self._held -= slice_.counted
        self.nbytes -= slice_.size
        self.version += 1
        self._parts.note_gone(self._changed, number)
        self._expected = len(slice_)

    def _reached(self, frontier: Frontier) -> Iterator[tuple[int, bool]]:
        """The slices that promises may reach, and whether all their keys are certainly covered."""
        if not self._is_by_slices(frontier):
            yield from ((number, frontier.ended) for number in sorted(self._slices))
            return
        (bound,) = (
            frontier.all.linear.values()
        )  # not rounded: a slot of float times reaches up to the next whole number
        for number in sorted(self._slices):
            # All values very far from 0 share one slot, and so do rows without a value.
            if number << self.shift < max(bound, -FAR + 1):
                yield number, (number + 1) << self.shift <= min(bound, FAR)

    def least(self) -> pa.RecordBatch | None:
        """The keys or rows of the first slice; None if no slice has values."""
        number = min(self._slices, default=None)
        if number is None or number << self.shift >= NULL_SLOT:
            return None
        return self.batch(self._slices[number])

    def save(self, prefix: str = "") -> Iterator[Part]:
        """The slices that changed since the last time."""
        yield from self._parts.save(self.shift, self._changed, self._part, prefix)
        self._changed = set()

    def _part(self, number: int) -> pa.RecordBatch | None:
        return self.batch(self._slices[number]) if number in self._slices else None

    def load(self, parts: Mapping[str, pa.RecordBatch | None] | Iterable[Part], prefix: str = "") -> None:
        shift, found = self._parts.load(dict(parts), prefix)
        self._start()
        self.shift = shift or 0
        for number, part in found:
            assert number is not None
            slice_ = self._slice(number)
            ids = slice_.keys.map([read_key(part.column(k)) for k in self.names], part.num_rows)
            if slice_.rows is not None:
                slice_.rows.put(ids, part.columns, None)
            self._account(number)
        self._changed = set()
