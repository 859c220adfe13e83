"""Group keys to dense ids, in C: an open-addressing table over arrays that this class owns.

Keys that fit a word (two int32, say) stand in the table itself. For other keys the table has a hash, and keys are
compared where they are kept. They are kept in columns by id, so results need no further copy, or by row, if the table
is only to know which keys there are.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

import numpy as np

from oop.kernels.checks import Array, Ints, KernelError, check_ids
from oop.kernels.native.columns import WIDTHS, check_bytes, make_columns
from oop.kernels.native.key_records import MOST_COLUMNS, WORD, KeyRecords
from oop.kernels.native.library import (
    INT64S,
    NULL,
    OK,
    check_code,
    contiguous,
    ffi,
    from_buffer,
    lib,
    point,
    point_bytes,
)
from oop.kernels.pages import huge_array
from oop.kernels.scratch import EXPECT_FROM, lasting_array, new_array
from oop.kernels.signatures.groups import GroupTableBase
from oop.kernels.views.columns import DTYPES, Column

SMALLEST = 32  # places of a new table
# The most groups for each place. Sparser tables find a key sooner, but cost memory and misses of the cache.
LOAD_NUMERATOR, LOAD_DENOMINATOR = 5, 8
RECORD_LOAD_NUMERATOR, RECORD_LOAD_DENOMINATOR = 3, 4  # of a table by rows, where eight places are a line of the cache
MOST_PLACES = 2**32
MOST_GROUPS = MOST_PLACES * LOAD_NUMERATOR // LOAD_DENOMINATOR
SMALL = 65_536  # groups up to which a table grows to four times its size
LITTLE = 4_096  # groups from which the columns of a table that grows little do so

_ENTRY = ffi.sizeof("oop_entry")
# Secrets of this process: keys that meet in one place here need not do so in another process.
SEED, FACTOR = (int.from_bytes(os.urandom(8), "little") | 1 for _ in range(2))


class GroupTable(GroupTableBase):
    finds_outside = True

    def run_init(self) -> None:
        kinds = self.kinds
        widths = [WIDTHS[kind] for kind in kinds]
        packed = all(widths) and sum(widths) <= 8
        by_rows = self.by_rows and all(widths) and not packed and len(kinds) <= MOST_COLUMNS
        self._records = KeyRecords(widths) if by_rows else None
        self._place = WORD if by_rows else _ENTRY  # bytes of one
        self._columns = [_KeyColumn(kind) for kind in kinds]
        self._expected = 0
        self._kept = ffi.new("oop_kept[]", max(len(kinds), 1))
        self._table = ffi.new("oop_table *")
        table = self._table
        table.seed, table.factor = SEED, FACTOR
        table.columns = len(kinds)
        table.packed = packed
        table.kept = self._kept
        for kept, width in zip(self._kept, widths, strict=False):
            kept.width = width
        self._point_entries(np.zeros(SMALLEST * self._place, np.uint8))
        self._make_room(self._groups_in(SMALLEST))

    def __len__(self) -> int:
        return int(self._table.count)

    @property
    def nbytes(self) -> int:
        return self._bytes

    def reserve(self, groups: int) -> None:
        self._expected = groups
        begin = groups // EXPECT_FROM  # skip the small steps before it may jump to the expected size
        if begin > self.room and not len(self):
            self._grow(begin, begin)

    def clear(self) -> None:
        self._table.count = 0
        self._entries.fill(0)
        for kept in self._columns:
            if kept.valid is not None:
                kept.valid.fill(True)

    def run_map(self, columns: Sequence[Column], length: int, rows: Ints | None) -> Ints:
        rows = None if rows is None else contiguous(rows)
        n = length if rows is None else len(rows)
        ids = new_array(n, np.int64)
        if not columns:
            self._table.count = max(self._table.count, min(n, 1))
            ids[:] = 0
            return ids
        given, held = make_columns(columns)
        for c, column in enumerate(columns):
            if column.valid is not None:
                self.hold_nulls(c)
        done, full, at = ffi.new("int64_t *"), ffi.new("int32_t *"), 0
        out = from_buffer(INT64S, ids)
        chosen = NULL if rows is None else from_buffer(INT64S, rows)
        while True:
            if rows is None and at:  # go on behind the rows that are done, in columns that begin there
                given, held = make_columns([_from_row(column, at) for column in columns])
            rest = chosen + at if rows is not None else chosen
            code = lib.oop_map_keys(self._table, given, rest, n - at, length, out + at, done, full)
            if code == OK:
                del held
                return ids
            at += done[0]
            if code == lib.OOP_FULL:
                self.make_more_room()
            elif code == lib.OOP_FULL_BYTES:
                row = at if rows is None else int(rows[at])
                offsets = columns[full[0]].offsets
                assert offsets is not None
                self.make_more_bytes(full[0], int(offsets[row + 1] - offsets[row]))
            elif code == lib.OOP_ROW_OUTSIDE:
                assert rows is not None
                check_ids(rows, length, name="rows")
            else:
                check_bytes(code)
                check_code(code)

    def columns(self) -> list[Column]:
        records = self._records
        if records is None:
            return [kept.column(len(self)) for kept in self._columns]
        count = len(self)
        return [
            Column(kept.kind, records.column(c, DTYPES[kept.kind], count), None, kept.valid_of(count))
            for c, kept in enumerate(self._columns)
        ]

    @property
    def table(self) -> Any:
        """The struct of C, which stays at its place."""
        return self._table

    @property
    def room(self) -> int:
        """How many groups it can have before it must grow."""
        return int(self._table.most)

    def hold_nulls(self, column: int) -> None:
        """Make room for nulls in a key column."""
        kept = self._columns[column]
        if kept.valid is None:
            kept.valid = np.ones(kept.room, np.bool_)
            self._point_kept()

    def make_more_bytes(self, column: int, needed: int) -> None:
        """Make room for a key of so many bytes."""
        self._columns[column].make_bytes(needed, len(self))
        self._point_kept()

    def make_more_room(self) -> None:
        """Grow, because there is no room for one more group."""
        groups = len(self) + 1
        wanted = len(self) * (2 if len(self) > SMALL else 4)
        if EXPECT_FROM * groups > self._expected:
            wanted = max(wanted, self._expected)
        if groups > MOST_GROUPS:
            raise KernelError(f"a table holds at most {MOST_GROUPS} groups")
        self._grow(groups, wanted)

    def _grow(self, groups: int, wanted: int) -> None:
        """Make room for at least so many groups, and for as many as wanted if the table of places must grow."""
        size = int(self._table.size)
        if groups > self._groups_in(size):
            while self._groups_in(size) < wanted and size < MOST_PLACES:
                size *= 2
            # C clears it, also where it is fresh from the system: a page that is read before it is written faults
            # twice, and the second fault interrupts every core.
            entries = huge_array(size * self._place)
            check_code(lib.oop_rehash(self._table, ffi.from_buffer("oop_entry[]", entries), size))
            self._point_entries(entries)
        if self.grows_little:
            wanted = min(wanted, max(groups + groups // 4, LITTLE))
        self._make_room(min(wanted, self._groups_in(size)))

    def _point_entries(self, entries: Array) -> None:
        self._entries = entries
        self._table.entries = ffi.from_buffer("oop_entry[]", entries)
        self._table.size = len(entries) // self._place

    def _make_room(self, room: int) -> None:
        try:
            if self._records is not None:
                self._records.make_room(room, len(self))
            for kept in self._columns:
                kept.make_room(room, len(self), self._records is None)
            self._table.most = min(room, self._groups_in(int(self._table.size)), MOST_GROUPS)
        finally:  # also if memory ran out: the old arrays of the columns that have grown are gone
            self._point_kept()

    def _point_kept(self) -> None:
        records = self._records
        if records is not None:
            self._table.records, self._table.record_words = point(records.data), records.words
        for number, (c, kept) in enumerate(zip(self._kept, self._columns, strict=False)):
            c.data = point_bytes(kept.data) if records is None else point_bytes(records.data) + records.places[number]
            c.offsets = point(kept.offsets)
            c.valid = point(kept.valid)
            c.bytes = kept.data.nbytes
        # counted here, where arrays change, because it is asked for with every train
        self._bytes = int(self._entries.nbytes) + sum(kept.nbytes for kept in self._columns)
        if records is not None:
            self._bytes += records.nbytes

    def _groups_in(self, size: int) -> int:
        """How many groups so many places may have."""
        if self._records is not None:
            return size * RECORD_LOAD_NUMERATOR // RECORD_LOAD_DENOMINATOR
        return size * LOAD_NUMERATOR // LOAD_DENOMINATOR


class _KeyColumn:
    """One key column by id, with room to grow."""

    def __init__(self, kind: str) -> None:
        self.kind = kind
        self.room = 0
        self.data: Array = np.zeros(0, DTYPES[kind])
        self.offsets: Ints | None = np.zeros(1, np.int64) if kind == "bytes" else None
        self.valid: Array | None = None

    @property
    def nbytes(self) -> int:
        return sum(array.nbytes for array in (self.data, self.offsets, self.valid) if array is not None)

    def make_room(self, room: int, held: int, values: bool) -> None:
        """Make room for so many groups, of which `held` are there; without ``values`` only to tell which are null."""
        if room <= self.room:
            return
        if not values:
            pass
        elif self.offsets is None:
            self.data = _widen(self.data, room, held)
        else:
            self.offsets = _widen(self.offsets, room + 1, held + 1)
        if self.valid is not None:
            self.valid = _widen(self.valid, room, held)
            self.valid[held:] = True
        self.room = room

    def make_bytes(self, more: int, held: int) -> None:
        """Make room for so many more bytes."""
        assert self.offsets is not None
        used = int(self.offsets[held])
        self.data = _widen(self.data, max(2 * len(self.data), used + more, 1024), used)

    def valid_of(self, count: int) -> Array | None:
        return None if self.valid is None or self.valid[:count].all() else self.valid[:count]

    def column(self, count: int) -> Column:
        valid = self.valid_of(count)
        if self.offsets is None:
            return Column(self.kind, self.data[:count], None, valid)
        offsets = self.offsets[: count + 1]
        return Column(self.kind, self.data[: offsets[-1]], offsets, valid)


def _from_row(column: Column, row: int) -> Column:
    valid = None if column.valid is None else column.valid[row:]
    if column.offsets is not None:
        return Column(column.kind, column.data, column.offsets[row:], valid)
    return Column(column.kind, column.data[row:], None, valid)


def _widen(array: Array, length: int, used: int) -> Array:
    wider = lasting_array(length, array.dtype)
    wider[:used] = array[:used]
    return wider
