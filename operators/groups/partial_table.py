"""Partial aggregates in a table of a fixed size (OOP paper, section 6): a group drives out the one in its slot.

`kernels.FlushTable` decides which group has which slot. Here are the values, in accumulators by *place*, and the coded
texts of keys. Partials leave in batches such as `Table.to_batch` makes, which an aggregate merges.

A *slot* is here one of the table, which users know as ``slots=``. The stretch of time that a partial belongs to is
called its *pane*: it is a window, or a pane where windows slide (`Partials.slots`; the kernel calls it a wid).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import pyarrow as pa

from oop.kernels import dictionaries, views
from oop.kernels.signatures.flush import Discipline
from oop.kernels.views import Column
from oop.kernels.words import count_words, unpack_words
from oop.operators.core.keys import CODE, TEXT, Key, KeyTable, read_key
from oop.operators.core.marks import mark_partial
from oop.operators.core.partials import Partials
from oop.operators.functions.accumulators import Accumulator
from oop.operators.groups.shape import NOTHING

ROOM = 65_536  # places beyond the slots: the most rows taken in together, and partials that wait to leave
_LEAST_ROOM, _ROOM_FOR_A_SLOT = 1_024, 4  # a small table has fewer: nearly all of its state would be room
ENOUGH = 8_192  # partials that leave together, unless a promise waits for them: a batch costs more than a row
_LEAVES = -1
_SWEPT = 4  # slots that are examined for each row, in search of partials that will be due
_MANY_TEXTS = 4  # known texts for each place; with more, all are forgotten

PartialCounts = dict[int, int]
"""The number of partials of each pane; panes without partials are absent."""


class PartialTable:
    """``held``: for each pane, how many partials sit in the table. ``leaving``: for each pane, how many were pushed out
    of it and have not left yet. With ``by_time`` a group has another slot in each pane."""

    def __init__(self, partials: Partials, size: int, discipline: Discipline, by_time: bool = False) -> None:
        self.partials, self.shape, self.size = partials, partials.shape, size
        self.by_time = by_time
        self.room = min(ROOM, max(_LEAST_ROOM, _ROOM_FOR_A_SLOT * size))
        self.discipline = discipline
        self.kernels = self.shape.kernels
        self.kinds = [CODE if kind == TEXT else kind for kind in self.shape.kinds]
        self.nulls = False
        self.made = 0  # partials so far
        self.held: PartialCounts = {}
        self.leaving: PartialCounts = {}
        self._loaded: list[pa.RecordBatch] = []  # partials that were about to leave when they were saved
        self._start()

    def _start(self) -> None:
        width = count_words(self.kinds, self.nulls)
        self.table = self.kernels.FlushTable(self.size, width, self.room, self.discipline)
        self.texts = {i: KeyTable([TEXT]) for i, kind in enumerate(self.shape.kinds) if kind == TEXT}
        self.accumulators = self.shape.accumulators()
        for accumulator in self.accumulators:
            accumulator.grow(self.size + self.room)
        self._gone: list[np.ndarray] = []  # places that are in no slot any more, and have not been read
        self._due, self._swept = 0, self.size  # panes below it are due next; slots examined so far

    def __len__(self) -> int:
        return len(self.table) + sum(batch.num_rows for batch in self._loaded)

    @property
    def nbytes(self) -> int:
        texts = sum(text.nbytes for text in self.texts.values())
        loaded = sum(batch.nbytes for batch in self._loaded)
        return self.table.nbytes + texts + loaded + sum(a.nbytes for a in self.accumulators)

    @property
    def panes(self) -> set[int]:
        """The panes that something is held of, in the table or on its way out."""
        return self.held.keys() | self.leaving.keys()

    def take_in(self, batch: pa.RecordBatch, most: int = ROOM) -> Iterator[pa.RecordBatch]:
        """Take rows into their slots; the result is the partials that leave for them, at most ``most`` in a batch."""
        for start in range(0, batch.num_rows, self.room):
            yield from self._take_in(batch.slice(start, self.room), most)

    def _take_in(self, rows: pa.RecordBatch, most: int) -> Iterator[pa.RecordBatch]:
        keys = [read_key(rows.column(k)) for k in self.shape.keys]
        nulls = _have_nulls(keys)
        if (nulls and not self.nulls) or self._has_many_texts:
            yield from self.flush(None, most)
            self.nulls |= nulls
            self._start()
        if rows.num_rows > self.size + self.room - len(self.table):
            yield from self._leave(most)
        columns = [self._coded(i, key) for i, key in enumerate(keys)]
        words = self.kernels.pack_words(columns, self.nulls, rows.num_rows)
        panes = self.partials.slots(rows)
        ids, out = self.table.push(self._hashed(columns, panes), words, panes)
        for accumulator, values in zip(self.accumulators, self.shape.prepare(rows), strict=True):
            if values is not NOTHING:
                accumulator.update(ids, values)
        self.made += len(self.table.installed)
        _add(self.held, _count(self.table.wids(self.table.installed)))
        self._push_out(out)
        self._sweep(_SWEPT * max(rows.num_rows - len(out), rows.num_rows // 16))  # less while much leaves anyway
        yield from self.settle(most)

    def _push_out(self, places: np.ndarray) -> None:
        """The partials in these places are in no slot any more, and wait to leave."""
        if not len(places):  # rows may come one by one, and nothing leave for long
            return
        self._gone.append(places)
        counts = _count(self.table.wids(places))
        _add(self.held, counts, -1)
        _add(self.leaving, counts)

    def settle(self, most: int = ROOM) -> Iterator[pa.RecordBatch]:
        """Partials that were pushed out leave when there are enough of them, and when a promise would go further
        without them: if one of them is old, and older than all that is in slots."""
        if not self.leaving:
            return
        old, *_ = self.table.state
        if min(self.leaving) < min([old, *self.held]) or sum(self.leaving.values()) >= ENOUGH:
            yield from self._leave(most)

    def _coded(self, number: int, key: Key) -> Column:
        """A key column, with text coded."""
        if number not in self.texts:
            assert isinstance(key, Column)
            return key
        return Column(CODE, self.texts[number].map([key], len(key)).astype(np.int32))

    @property
    def _has_many_texts(self) -> bool:
        return any(len(text) > _MANY_TEXTS * (self.size + self.room) for text in self.texts.values())

    def _hashed(self, columns: list[Column], panes: np.ndarray) -> np.ndarray:
        """The slot of each row. By its key alone, a group's next pane takes the place of the last one. With
        ``by_time`` it is by key and pane: no pane waits for that, and panes of a group do not drive each other out."""
        if self.by_time:
            columns = [*columns, Column("int", panes)]
        if not columns:
            return np.zeros(len(panes), np.int32)
        return self.kernels.hash_partition(columns, self.size, len(panes))

    def advance(self, bound: int) -> None:
        """Partials of panes below the bound become old."""
        self.table.advance(bound)

    def due(self, below: int) -> None:
        """Partials of panes below the bound will have to leave soon. They are searched for as rows come, so
        that few are left when they have to."""
        self._due, self._swept = below, 0

    def _sweep(self, slots: int) -> None:
        if self._swept < self.size:
            last = min(self._swept + slots, self.size)
            if any(pane < self._due for pane in self.held):
                self._push_out(self.table.flush(self._due, self._swept, last))
            self._swept = last

    def flush(self, below: int | None, most: int = ROOM) -> Iterator[pa.RecordBatch]:
        """The partials of panes below the bound leave; None: all of them."""
        if any(below is None or pane < below for pane in self.held):
            self._push_out(self.table.flush(below))
        if any(below is None or pane < below for pane in self.leaving):
            yield from self._leave(most)

    def _leave(self, most: int) -> Iterator[pa.RecordBatch]:
        """All partials that have been pushed out leave, in that order."""
        while self._loaded:
            yield mark_partial(self._loaded.pop(0))
        places = np.concatenate([np.zeros(0, np.int64), *self._gone])
        self._gone = []
        for start in range(0, len(places), most):
            gone = places[start : start + most]
            batch = self._batch(gone)
            for accumulator in self.accumulators:
                accumulator.clear(gone)
            self.table.free(gone)
            yield mark_partial(batch)
        self.leaving = {}

    def _batch(self, places: np.ndarray) -> pa.RecordBatch:
        columns = unpack_words(self.table.words(places), self.kinds, self.nulls)
        keys = [
            dictionaries.to_arrow_type(self._text(i, column) if i in self.texts else column, type_)
            for i, (column, type_) in enumerate(zip(columns, self.shape.key_types, strict=True))
        ]
        partials: list[Accumulator] = [accumulator.take(places) for accumulator in self.accumulators]
        return self.shape.to_batch(self.table.wids(places), keys, partials, self.partials.slot_name)

    def _text(self, number: int, codes: Column) -> Column:
        return self.texts[number].take(codes.data.astype(np.int64))[0]

    def save(self) -> tuple[pa.RecordBatch, tuple[int, ...]]:
        """The partials, with the slot of each in a last column (-1: about to leave), and the `FlushTable`'s state."""
        slots, places = self.table.held()
        gone = np.concatenate([np.zeros(0, np.int64), *self._gone])
        batches = [*self._loaded, self._batch(np.concatenate([gone, places]))]
        leaving = len(gone) + sum(batch.num_rows for batch in self._loaded)
        numbers = np.concatenate([np.full(leaving, _LEAVES, np.int32), slots])
        return pa.concat_batches(batches).append_column("slot", pa.array(numbers)), self.table.state

    def load(self, batch: pa.RecordBatch, state: tuple[int, ...]) -> None:
        """Load what `save` gave into an empty table."""
        numbers = views.column(batch.column(batch.num_columns - 1)).data
        batch = batch.select(range(batch.num_columns - 1))
        leaving = int((numbers == _LEAVES).sum())
        self._loaded = [batch.slice(0, leaving)] if leaving else []
        panes = views.column(batch.column(0)).data
        self.leaving, self.held = _count(panes[:leaving]), _count(panes[leaving:])
        batch = batch.slice(leaving)
        panes, keys = self.shape.read_groups(batch)
        self.nulls = _have_nulls(keys)
        self._start()
        columns = [self._coded(i, key) for i, key in enumerate(keys)]
        words = self.kernels.pack_words(columns, self.nulls, batch.num_rows)
        places = self.table.restore(numbers[leaving:].astype(np.int32), words, np.ascontiguousarray(panes))
        self.table.state = state
        for ours, theirs in zip(self.accumulators, self.shape.read_partials(batch), strict=True):
            ours.merge(places, theirs)


def _count(panes: np.ndarray) -> PartialCounts:
    if not len(panes):
        return {}
    least, most = int(panes.min()), int(panes.max())
    if most - least < len(panes):  # nearly always: without a sort
        counts = np.bincount(panes - least)
        return {least + i: int(counts[i]) for i in np.flatnonzero(counts).tolist()}
    found, counts = np.unique(panes, return_counts=True)
    return dict(zip(found.tolist(), counts.tolist(), strict=True))


def _add(into: PartialCounts, counts: PartialCounts, sign: int = 1) -> None:
    for pane, count in counts.items():
        left = into.get(pane, 0) + sign * count
        if left:
            into[pane] = left
        else:
            del into[pane]


def _have_nulls(keys: Sequence[Key]) -> bool:
    """Is there a null, so that words need a bit for it? A null text has a code."""
    return any(isinstance(key, Column) and key.kind != TEXT and key.valid is not None for key in keys)
