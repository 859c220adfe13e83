"""The greatest rows of each group, as many as the slack says, in C: heaps over arrays that these classes own."""

from __future__ import annotations

import numpy as np

from oop.kernels.checks import FLOAT64, Array, Ints
from oop.kernels.native.library import NULL, check_code, contiguous, ffi, lib, point
from oop.kernels.scratch import longer_array, new_array
from oop.kernels.signatures.buffers import BuffersBase, RowBoundsBase, SortBuffersBase

SMALLEST = 32  # groups and rows for which there is memory at first
FEW = 16  # rows of a group that are not worth a sort
CHUNK = 4096  # rows that are sorted together, or more for wide groups: as many as the nearest cache holds
_ROW = ffi.sizeof("oop_waiting")
_GROUP = ffi.sizeof("oop_buffer")


class _Buffers(BuffersBase):
    """Holds the greatest rows of each group, up to `slack` or (`more`) some more."""

    def _begin(self, more: int, nan: int) -> None:
        self._memory: Array = np.empty(0, np.uint8)
        self._groups: Array = np.zeros(0, np.uint8)
        self._kind = nan if self.dtype == FLOAT64 else lib.OOP_INTS
        self._table = ffi.new("oop_buffers *", {"most": self.slack + more})
        self._coming = ffi.new("oop_coming *")
        self._grow_rows(SMALLEST)
        self._grow_groups(1)

    @property
    def nbytes(self) -> int:
        return self._memory.nbytes + self._groups.nbytes

    def _push(self, ids: Ints | None, values: Array, left: Array | None, bounds: Array | None) -> int:
        """Push rows into their buffers; return how many left."""
        n = len(values)
        if not n:
            return 0
        ids = None if ids is None else contiguous(ids)
        touched = new_array(1 if ids is None else n, np.int64)
        while (code := lib.oop_reserve_rows(self._table, point(ids), n, point(touched), self._coming)) != lib.OOP_OK:
            if code != lib.OOP_FULL:
                check_code(code)
            self._grow_rows(max(int(self._coming.room), 2 * self._table.room))
        keys = new_array(n, np.uint64)
        where = NULL if left is None else point(left), 0, NULL if bounds is None else ffi.from_buffer(bounds)
        rows = ffi.new("oop_arriving *", [point(ids), ffi.from_buffer(values), n, self._kind, point(keys), *where])
        coming = self._coming
        if n < FEW * coming.groups or 8 * n < coming.held:
            check_code(lib.oop_push_rows(self._table, rows))
            return int(rows.gone)
        widest = int(coming.widest)
        chunk = min(int(coming.longest), max(CHUNK, 4 * widest))
        parted = None if ids is None else new_array(n, np.int64)
        words, spare, part = (new_array(chunk + 1, np.uint64) for _ in range(3))
        ranks = new_array(chunk + 1, np.uint32)
        merged = new_array(2 * (chunk + widest), np.uint64)
        present = new_array((chunk + widest) // 64 + 2, np.uint64)
        scratch = [point(words), point(spare), point(part), ffi.from_buffer("uint32_t[]", ranks)]
        scratch += [ffi.from_buffer("oop_waiting[]", merged.view(np.uint8)), point(present)]
        groups = point(parted), point(touched), coming.groups
        check_code(lib.oop_sort_rows(self._table, rows, ffi.new("oop_sorting *", [chunk, widest, *groups, *scratch])))
        return int(rows.gone)

    def _reach_groups(self, ids: Ints | None) -> None:
        if ids is not None and len(ids) and (size := int(ids.max()) + 1) > self._table.size:
            self._grow_groups(size)

    def _grow_groups(self, size: int) -> None:
        table, before = self._table, self._table.size * _GROUP
        if size * _GROUP > len(self._groups):
            self._groups = longer_array(self._groups, max(SMALLEST, 2 * size) * _GROUP, before)
            table.buffers = ffi.from_buffer("oop_buffer[]", self._groups)
        self._groups[before : size * _GROUP] = 0
        table.size = size

    def _grow_rows(self, room: int) -> None:
        self._memory = longer_array(self._memory, room * _ROW, self._table.used * _ROW)
        self._table.rows, self._table.room = ffi.from_buffer("oop_waiting[]", self._memory), room


class SortBuffers(_Buffers, SortBuffersBase):
    def run_init(self) -> None:
        self._begin(0, lib.OOP_FLOATS_NAN_LAST)
        self._rows = 0

    def __len__(self) -> int:
        return self._rows

    @property
    def places(self) -> int:
        return int(self._table.places)

    def run_push(self, ids: Ints | None, values: Array) -> Ints:
        self._reach_groups(ids)
        left = new_array(len(values), np.int64)
        gone = self._push(ids, values, left, None)
        self._rows += len(values) - gone
        return left[:gone]

    def drain(self) -> Ints:
        left, count = new_array(self._rows, np.int64), ffi.new("int64_t *")
        check_code(lib.oop_list_rows(self._table, NULL, point(left), NULL, self._kind, count))
        self._groups[:] = 0
        self._table.used = self._table.places = self._rows = 0
        return left

    def compact(self) -> Ints:
        words = -(-self.places // 64)
        present, before, kept = (new_array(size, np.int64) for size in (words, words, self._rows))
        bits, count = point(present.view(np.uint64)), ffi.new("int64_t *")
        check_code(lib.oop_compact_rows(self._table, bits, point(before), point(kept), count))
        return kept


class RowBounds(_Buffers, RowBoundsBase):
    def run_init(self) -> None:
        self._begin(1, lib.OOP_FLOATS_NAN_FIRST)
        self._table.size = 0  # only groups that had a row have a bound

    def run_push(self, ids: Ints | None, values: Array) -> Array:
        self._reach_groups(np.zeros(min(1, len(values)), np.int64) if ids is None else ids)
        bounds = new_array(len(values), self.dtype)
        self._push(ids, values, None, bounds)
        return bounds

    def run_groups(self) -> int:
        return int(self._table.size)

    def run_bounds(self, ids: Ints) -> Array:
        ids = contiguous(ids)
        bounds = np.empty(len(ids), self.dtype)
        check_code(lib.oop_take_bounds(self._table, point(ids), len(ids), self._kind, ffi.from_buffer(bounds)))
        return bounds

    def held(self) -> tuple[Ints, Array]:
        room, count = int(self._table.used), ffi.new("int64_t *")
        ids, values = np.empty(room, np.int64), np.empty(room, self.dtype)
        check_code(lib.oop_list_rows(self._table, point(ids), NULL, ffi.from_buffer(values), self._kind, count))
        return ids[: count[0]], values[: count[0]]
