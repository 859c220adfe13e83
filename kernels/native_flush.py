"""The low-level half of two-level aggregation, in C: a table of a fixed size, over arrays that this class owns."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from oop.kernels.checks import INT64_MIN, Array, Ints, KernelError
from oop.kernels.native_groups import make_columns
from oop.kernels.native_library import check_code, contiguous, ffi, lib, point
from oop.kernels.reference_flush import Discipline, check_flush, check_free, check_restore, check_table
from oop.kernels.reference_groups import Words
from oop.kernels.scratch import huge_array, new_array, recycle
from oop.kernels.views import Column
from oop.kernels.words import check_pack, count_words, lay_out

_SLOT = ffi.sizeof("oop_slot")


def pack_words(columns: Sequence[Column], nulls: bool, length: int | None = None) -> Words:
    """The words of each row's key; see `oop.kernels.reference_flush.pack_words`."""
    length = check_pack(columns, nulls, length)
    kinds = [column.kind for column in columns]
    width = count_words(kinds, nulls)
    words = new_array(length * width, np.uint64)
    words[:] = 0
    given, held = make_columns(columns)
    fields = lay_out(kinds)[0]
    places, shifts = (ffi.new("int32_t[]", [field[i] for field in fields] or [0]) for i in (0, 1))
    check_code(lib.oop_pack_words(given, places, shifts, len(columns), length, width, point(words)))
    del held
    return words.reshape(length, width)


class FlushTable:
    """One aggregate in each slot; see `oop.kernels.reference_flush.FlushTable`."""

    def __init__(self, size: int, width: int, room: int, discipline: Discipline = Discipline()) -> None:  # noqa: B008
        self._slots = self._words = self._wids = self._unused = np.zeros(0, np.uint8)
        check_table(size, width, room)
        self.size, self.width, self.room, self.discipline = size, width, room, discipline
        places = size + room
        self._slots = huge_array(size * _SLOT)
        self._slots.fill(0xFF)  # a place of -1: empty
        self._words, self._wids, self._unused = (huge_array(8 * n) for n in (places * width, places, places))
        self._words.fill(0)
        self._wids.fill(0)
        self._unused.view(np.int64)[:] = np.arange(places)[::-1]
        self._table = ffi.new("oop_flush *")
        table = self._table
        table.slots = ffi.from_buffer("oop_slot[]", self._slots)
        table.words = ffi.from_buffer("uint64_t[]", self._words)
        table.wids = ffi.from_buffer("int64_t[]", self._wids)
        table.unused = ffi.from_buffer("int64_t[]", self._unused)
        table.size, table.width, table.places, table.free = size, width, places, places
        table.bound = table.current = INT64_MIN
        table.every, table.in_order, table.next_slot = discipline.every, discipline.in_order, discipline.next_slot
        self._gone = ffi.new("int64_t *")
        self.installed: Ints = np.zeros(0, np.int64)

    def __del__(self) -> None:
        for array in (self._slots, self._words, self._wids, self._unused):
            recycle(array)

    def __len__(self) -> int:
        return int(self._table.places - self._table.free)

    @property
    def nbytes(self) -> int:
        """Bytes that slots and keys hold."""
        return sum(array.nbytes for array in (self._slots, self._words, self._wids, self._unused))

    @property
    def state(self) -> tuple[int, ...]:
        """Where the hand is; see the reference."""
        table = self._table
        return table.bound, table.current, table.hand, table.to_visit, table.since, table.collided

    @state.setter
    def state(self, state: Sequence[int]) -> None:
        table = self._table
        table.bound, table.current, table.hand, table.to_visit, table.since, table.collided = state

    @property
    def collided(self) -> int:
        return int(self._table.collided)

    def words(self, places: Ints) -> Words:
        """The keys of some places."""
        found: Words = self._words.view(np.uint64).reshape(-1, self.width)[places]
        return found

    def wids(self, places: Ints) -> Ints:
        """The windows of some places."""
        found: Ints = self._wids.view(np.int64)[places]
        return found

    def advance(self, bound: int) -> None:
        """Windows below the bound are complete."""
        if bound > self._table.bound:
            self._table.bound = bound
            if not self.discipline.in_order:
                self._table.to_visit = self.size

    def push(self, slots: Array, words: Words, wids: Ints) -> tuple[Ints, Ints]:
        """Rows in this order: the place of each, and the places that leave."""
        check_flush(self, slots, words, wids)
        slots, words, wids = contiguous(slots), contiguous(words), contiguous(wids)
        ids = new_array(len(slots), np.int64)
        out, free = self._out(), self._table.free
        code = lib.oop_push_flush(
            self._table, point(slots), ffi.from_buffer("uint64_t[]", words), point(wids), len(slots), point(ids),
            point(out), self._gone,
        )  # fmt: skip
        if code == lib.OOP_FULL:
            raise KernelError("there are no free places: those that have left were not given back")
        if code == lib.OOP_NOT_SORTED:
            raise KernelError("windows go back, in a table that is in order")
        check_code(code)
        self.installed = self._unused.view(np.int64)[self._table.free : free][::-1].copy()  # what was taken off the end
        return ids, out[: self._gone[0]]

    def flush(self, below: int | None) -> Ints:
        """All aggregates of windows below the bound leave."""
        out = self._out()
        check_code(lib.oop_flush_below(self._table, below or 0, below is None, point(out), self._gone))
        return out[: self._gone[0]]

    def _out(self) -> Ints:
        return new_array(self.size + self.room, np.int64)

    def free(self, places: Ints) -> None:
        """Places that have left may be used again."""
        check_free(self, places)
        places = contiguous(places)
        check_code(lib.oop_free_places(self._table, point(places), len(places)))

    def held(self) -> tuple[Array, Ints]:
        """The slots that are taken, in order, and the places in them."""
        places = self._slots.view(np.int64).reshape(-1, 3)[:, 2]
        taken = np.flatnonzero(places >= 0)
        return taken.astype(np.int32), places[taken]

    def restore(self, slots: Array, words: Words, wids: Ints) -> Ints:
        """Into an empty table: aggregates in these slots; the place of each."""
        check_restore(self, slots, words, wids)
        slots, words, wids = contiguous(slots), contiguous(words), contiguous(wids)
        ids = new_array(len(slots), np.int64)
        keys = ffi.from_buffer("uint64_t[]", words)
        check_code(lib.oop_restore_slots(self._table, point(slots), keys, point(wids), len(slots), point(ids)))
        return ids
