"""The low-level half of two-level aggregation, in C (OOP paper, section 6): a table of a fixed size, over arrays
that this class owns."""

from __future__ import annotations

import numpy as np

from oop.kernels.checks import INT64_MAX, INT64_MIN, Array, Ints, Words
from oop.kernels.native.library import check_code, contiguous, ffi, lib, point
from oop.kernels.pages import huge_array
from oop.kernels.scratch import new_array
from oop.kernels.signatures.flush import FlushTableBase, lay_levels

_SLOT = ffi.sizeof("oop_slot")


class FlushTable(FlushTableBase):
    finds_outside = True

    def run_init(self) -> None:
        size, width, room, discipline = self.size, self.width, self.room, self.discipline
        places = size + room
        self._memory = [huge_array(n) for n in (size * _SLOT, 8 * places * width, 8 * places, 8 * places)]
        slots, words, wids, unused = self._memory
        slots.fill(0xFF)  # a place of -1: empty
        words.fill(0)
        wids.fill(0)
        self._unused = unused.view(np.int64)
        self._unused[:] = np.arange(places)[::-1]
        self._at = slots.view(np.int64).reshape(-1, 3)[:, 2]
        self._words, self._wids = words.view(np.uint64).reshape(-1, width), wids.view(np.int64)
        self._table = table = ffi.new("oop_flush *")
        table.slots = ffi.from_buffer("oop_slot[]", slots)
        table.words = ffi.from_buffer("uint64_t[]", words)
        table.wids = ffi.from_buffer("int64_t[]", wids)
        table.unused = ffi.from_buffer("int64_t[]", unused)
        table.size, table.width, table.places, table.free = size, width, places, places
        table.bound = table.current = INT64_MIN
        table.every, table.in_order, table.next_slot = discipline.every, discipline.in_order, discipline.next_slot
        if discipline.every and not discipline.in_order:
            self._note_windows()
        self._gone = ffi.new("int64_t *")

    def _note_windows(self) -> None:
        """Make the tree of `csrc/oldest.h`, which only slow-flush needs."""
        starts = lay_levels(self.size)
        least = huge_array(8 * int(starts[-1])).view(np.int64)
        least.fill(INT64_MAX)
        self._table.least, self._table.starts = point(least), point(starts)
        self._table.levels = len(starts) - 1
        self._memory += [least, starts]

    def __len__(self) -> int:
        return int(self._table.places - self._table.free)

    @property
    def nbytes(self) -> int:
        return sum(array.nbytes for array in self._memory)

    def run_state(self) -> tuple[int, ...]:
        table = self._table
        return table.bound, table.current, table.hand, table.to_visit, table.since, table.collided

    def run_set_state(self, state: tuple[int, ...]) -> None:
        table = self._table
        table.bound, table.current, table.hand, table.to_visit, table.since, table.collided = state

    def run_push(self, slots: Array, words: Words, wids: Ints) -> tuple[Ints, Ints]:
        slots, words, wids = contiguous(slots), contiguous(words), contiguous(wids)
        ids = new_array(len(slots), np.int64)
        out, free = new_array(self.size + self.room, np.int64), self._table.free
        given = point(slots), ffi.from_buffer("uint64_t[]", words), point(wids), len(slots)
        code = lib.oop_push_flush(self._table, *given, point(ids), point(out), self._gone)
        if code != lib.OOP_OK:
            self._check_rows(slots, wids)
        check_code(code)
        self.installed = self._unused[self._table.free : free][::-1].copy()  # the places taken off the end
        return ids, self._left(out)

    def run_flush(self, everything: bool, below: int, slots: range) -> Ints:
        out = new_array(len(slots), np.int64)
        of = slots.start, slots.stop, point(out), self._gone
        check_code(lib.oop_flush_below(self._table, below, everything, *of))
        return self._left(out)

    def _left(self, out: Ints) -> Ints:
        """The places that left, copied if they are few, because the room for all places would be held for a while."""
        left = out[: self._gone[0]]
        return left if 2 * len(left) > len(out) else left.copy()

    def run_free(self, places: Ints) -> None:
        places = contiguous(places)
        check_code(lib.oop_free_places(self._table, point(places), len(places)))

    def held(self) -> tuple[Array, Ints]:
        taken = np.flatnonzero(self._at >= 0)
        return taken.astype(np.int32), self._at[taken]

    def run_restore(self, slots: Array, words: Words, wids: Ints) -> Ints:
        slots, words, wids = contiguous(slots), contiguous(words), contiguous(wids)
        ids = new_array(len(slots), np.int64)
        keys = ffi.from_buffer("uint64_t[]", words)
        check_code(lib.oop_restore_slots(self._table, point(slots), keys, point(wids), len(slots), point(ids)))
        return ids
