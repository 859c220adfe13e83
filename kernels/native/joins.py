"""The rows that one side of a join holds, in C: chains of rows by key, over arrays that this class owns."""

from __future__ import annotations

import os

import numpy as np

from oop.kernels.checks import FLOAT64, Array, Ints, Words
from oop.kernels.native.library import check_code, contiguous, ffi, lib, point
from oop.kernels.pages import HUGE_PAGE
from oop.kernels.scratch import lasting_array, longer_array, new_array, roomy_array
from oop.kernels.signatures.joins import JoinTableBase, Reach, empty, place_taken, whole_reach

SMALLEST = 32  # places of a new table
_NARROW, _WIDE = ffi.sizeof("oop_narrow_row"), ffi.sizeof("oop_wide_row")
IN_PLACE = HUGE_PAGE // _NARROW  # rows of a table that has room to grow in place
# Secrets of this process: keys that meet in one chain here need not do so in another process.
_SEED, _FACTOR = (int.from_bytes(os.urandom(8), "little") | 1 for _ in range(2))


class JoinTable(JoinTableBase):
    def run_init(self) -> None:
        self._memory: Array = np.empty(0, np.uint8)
        self._wide = self._memory
        self._heads: Array = np.zeros(1, np.uint32)
        self._count = 0
        self._came = 0  # rows since the base of narrow rows was moved
        self._table = ffi.new("oop_join_table *")
        self._table.seed, self._table.factor = _SEED, _FACTOR
        self._table.narrow = self.dtype != FLOAT64
        self._point_heads(self._heads)

    def __len__(self) -> int:
        return self._count

    @property
    def nbytes(self) -> int:
        room = self._table.room
        return self._heads.nbytes + ((room + 1) * self._row if room else 0)

    @property
    def _row(self) -> int:
        """The bytes of a row."""
        return _NARROW if self._table.narrow else _WIDE

    def run_insert(self, places: Ints, words: Words, times: Array) -> None:
        last = int(places.max())
        if last >= self._table.room:
            self._grow(last + 1)
        places, words, done, at = contiguous(places), contiguous(words), ffi.new("int64_t *"), 0
        while True:
            rows = point(places[at:]), point(words[at:]), ffi.from_buffer(times[at:]), len(places) - at
            code = lib.oop_join_insert(self._table, *rows, done)
            self._count += done[0]
            self._came += done[0]
            at += done[0]
            if code == lib.OOP_ROW_OUTSIDE:
                self.run_remove(places[:at])
                raise place_taken()
            if code != lib.OOP_TOO_WIDE:
                return check_code(code)
            self._fit(words[at:], times[at:])

    def _fit(self, words: Words, times: Array) -> None:
        """Let rows fit that are too wide for narrow rows as they are. All rows become wide if these would not fit
        anyway, or if the base is moved so often that it costs more than it saves."""
        table, often = self._table, 4 * self._came < self._table.room and self._count > 0
        if not often and int(words.max()) >> 32 == 0:
            code = lib.oop_join_rebase(table, point(times), len(times))
            if code != lib.OOP_TOO_WIDE:
                self._came = 0
                return check_code(code)
        self._wide = roomy_array(self._memory, (table.room + 1) * _WIDE, 0)  # held, whenever an interrupt comes
        check_code(lib.oop_join_widen(table, ffi.from_buffer(self._wide)))
        self._memory = self._wide

    def run_remove(self, places: Ints) -> None:
        places, done = contiguous(places), ffi.new("int64_t *")
        code = lib.oop_join_remove(self._table, point(places), len(places), done)
        self._count -= done[0]
        if code == lib.OOP_ROW_OUTSIDE:
            raise empty()
        check_code(code)

    def run_read(self, places: Ints) -> tuple[Words, Array]:
        places, length = contiguous(places), len(places)
        words, times = new_array(length, np.uint64), new_array(length, self.dtype)
        code = lib.oop_join_read(self._table, point(places), length, point(words), ffi.from_buffer(times))
        if code == lib.OOP_ROW_OUTSIDE:
            raise empty()
        check_code(code)
        return words, times

    def run_probe(self, words: Words, times: Array, reach: Reach, start: int, most: int) -> tuple[Ints, Ints, int]:
        words = contiguous(words)
        if self.dtype == FLOAT64:
            run, limits = lib.oop_join_probe_float, ffi.new("oop_float_reach *", tuple(reach))
        else:
            run, limits = lib.oop_join_probe, ffi.new("oop_reach *", whole_reach(reach))
        found, done = ffi.new("int64_t *"), ffi.new("int64_t *", start)
        end, room = len(words), min(most, 2 * (len(words) - start) + lib.OOP_ROUND_PAIRS)
        mine, theirs = new_array(room, np.int64), new_array(room, np.int64)
        while True:
            pairs = point(mine), point(theirs), room, found, done
            code = run(self._table, point(words), point(times), end, limits, *pairs)
            if code != lib.OOP_FULL:
                check_code(code)
                break
            if room >= most:
                if done[0] > start:
                    break
                end = start + 1  # the first row alone has more pairs
            room = min(4 * room, most) if room < most else 4 * room
            mine, theirs = (longer_array(array, room, found[0]) for array in (mine, theirs))
        return mine[: found[0]], theirs[: found[0]], int(done[0])

    def _grow(self, places: int) -> None:
        table, before = self._table, self._table.room
        # Small tables grow by a quarter at least, so that small batches do not move all rows each time. Large ones
        # mostly grow in place.
        room = max(places, SMALLEST, before + before // (4 if before < IN_PLACE else 16))
        row = self._row
        nbytes, used = (room + 1) * row, (before + 1) * row if before else 0  # row 0 belongs to no place
        if nbytes > len(self._memory):
            self._memory = roomy_array(self._memory, nbytes, used)
            table.rows = ffi.from_buffer(self._memory)
        table.room = room
        check_code(lib.oop_join_clear(table, before))
        size = 1 << (room - 1).bit_length()
        if size > len(self._heads):
            old, heads = self._heads, lasting_array(size, np.uint32)
            heads.fill(0)
            self._point_heads(heads)
            check_code(lib.oop_join_relink(table, ffi.from_buffer("uint32_t[]", old), len(old)))

    def _point_heads(self, heads: Array) -> None:
        self._heads = heads
        self._table.heads, self._table.size = ffi.from_buffer("uint32_t[]", heads), len(heads)
