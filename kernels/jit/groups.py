"""Group keys to dense ids, in Numba.

A row's key becomes words of 64 bits: narrow columns share one, and bytes are replaced by the code that their own
table gives them. One table then maps the words to ids.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from oop.kernels.checks import Array, Ints, Words
from oop.kernels.jit.compiler import NO_ROWS, as_input, as_mask
from oop.kernels.jit.tables import SECRETS, find_bytes, find_words, pack_bits, place_bytes, place_words
from oop.kernels.keys import offsets_error
from oop.kernels.scratch import EXPECT_FROM
from oop.kernels.signatures.groups import GroupTableBase
from oop.kernels.views.columns import DTYPES, Column, take_rows
from oop.kernels.words import WORD_BITS, lay_out

LEAST_SLOTS = 32
# The share of slots that may be in use; beyond it linear probing slows down.
LOAD = 0.6


class GroupTable(GroupTableBase):
    def run_init(self) -> None:
        kinds = self.kinds
        self._fields, self._width = lay_out(kinds)
        self._texts = {number: ByteTable() for number, kind in enumerate(kinds) if kind == "bytes"}
        self._groups = self._expected = 0
        self._secrets = SECRETS
        self._keys: Words = np.zeros((0, self._width), np.uint64)
        self._slots: Words = np.zeros(0, np.uint64)

    def __len__(self) -> int:
        return self._groups

    @property
    def nbytes(self) -> int:
        return self._keys.nbytes + self._slots.nbytes + sum(text.nbytes for text in self._texts.values())

    def reserve(self, groups: int) -> None:
        self._expected = groups

    def run_map(self, columns: Sequence[Column], length: int, rows: Ints | None) -> Ints:
        length = length if rows is None else len(rows)
        if not length:
            return np.zeros(0, np.int64)
        if not columns:
            self._groups = 1
            return np.zeros(length, np.int64)
        if not self._holds_nulls and any(c.kind != "bytes" and c.valid is not None for c in columns):
            self._admit_nulls()
        chosen = NO_ROWS if rows is None else as_input(rows)
        words = np.zeros((length, self._keys.shape[1]), np.uint64)
        for number, column in enumerate(columns):
            self._pack(number, column, chosen, words)
        return self._find(words)

    def columns(self) -> list[Column]:
        return [self._unpack(number, kind) for number, kind in enumerate(self.kinds)]

    @property
    def _holds_nulls(self) -> bool:
        return self._keys.shape[1] > self._width

    def _admit_nulls(self) -> None:
        """Add the words that have a bit for each column; most tables never need them."""
        more = -(-len(self.kinds) // WORD_BITS)
        self._keys = np.pad(self._keys, ((0, 0), (0, more)))
        self._resize(len(self._slots))

    def _null_bit(self, number: int) -> tuple[int, int]:
        return self._width + number // WORD_BITS, number % WORD_BITS

    def _pack(self, number: int, column: Column, rows: Ints, words: Words) -> None:
        place, shift = self._fields[number]
        if column.kind == "bytes":
            self._texts[number].map(column, rows, place, words)
            return
        bits = as_input(column.data).view(f"uint{8 * column.data.itemsize}")
        floats = column.kind == "float"
        pack_bits(bits, as_mask(column.valid), rows, floats, place, shift, *self._null_bit(number), words)

    def _unpack(self, number: int, kind: str) -> Column:
        place, shift = self._fields[number]
        keys = self._keys[: self._groups]
        if kind == "bytes":
            return self._texts[number].column(keys[:, place].astype(np.int64))
        dtype = np.dtype(DTYPES[kind])
        data = (keys[:, place] >> np.uint64(shift)).astype(f"uint{8 * dtype.itemsize}").view(dtype)
        valid = None
        if self._holds_nulls:
            null_place, null_shift = self._null_bit(number)
            valid = (keys[:, null_place] >> np.uint64(null_shift)) & np.uint64(1) == 0
        return Column(kind, data, None, None if valid is None or valid.all() else valid)

    def _find(self, words: Words) -> Ints:
        ids = np.empty(len(words), np.int64)
        row = 0
        while row < len(words):
            if self._groups == len(self._keys):
                self._grow()
            row, self._groups = find_words(words, row, self._keys, self._slots, self._groups, self._secrets, ids)
        return ids

    def _grow(self) -> None:
        groups = self._groups + 1
        # An expectation that the table is far from would cost memory for nothing.
        expected = self._expected if EXPECT_FROM * groups > self._expected else 0
        self._resize(count_slots(max(groups, expected)))

    def _resize(self, size: int) -> None:
        keys, slots = np.zeros((int(size * LOAD), self._keys.shape[1]), np.uint64), np.zeros(size, np.uint64)
        keys[: self._groups] = self._keys[: self._groups]
        place_words(keys, self._groups, slots, self._secrets)
        self._keys, self._slots = keys, slots


class ByteTable:
    """Gives every distinct bytes value a code from 1, in order of first appearance; null is 0."""

    def __init__(self) -> None:
        self._count = 1
        self._secrets = SECRETS
        self._arena: Array = np.zeros(0, np.uint8)
        self._ends: Ints = np.zeros(2, np.int64)
        self._slots: Words = np.zeros(0, np.uint64)

    @property
    def nbytes(self) -> int:
        return self._arena.nbytes + self._ends.nbytes + self._slots.nbytes

    def map(self, column: Column, rows: Ints, place: int, words: Words) -> None:
        """Put the code of each row into its words; nulls leave the 0 that is there."""
        assert column.offsets is not None
        data, offsets, valid = as_input(column.data), as_input(column.offsets), as_mask(column.valid)
        if not len(self._slots):
            self._resize(LEAST_SLOTS)
        row = 0
        while True:
            table = self._arena, self._ends, self._slots, self._count, self._secrets
            row, self._count = find_bytes(data, offsets, valid, rows, row, *table, place, words)
            if row == len(words):
                return
            if row < 0:
                raise offsets_error()
            if self._count + 1 == len(self._ends):
                self._resize(2 * len(self._slots))
            else:
                at = rows[row] if len(rows) else row
                self._extend(int(offsets[at + 1] - offsets[at]))

    def column(self, codes: Ints) -> Column:
        """The bytes of these codes."""
        held = Column("bytes", self._arena, self._ends[: self._count + 1])
        taken = take_rows(held, codes)
        valid = codes != 0
        return Column("bytes", taken.data, taken.offsets, None if valid.all() else valid)

    def _resize(self, size: int) -> None:
        ends, slots = np.zeros(int(size * LOAD) + 1, np.int64), np.zeros(size, np.uint64)
        ends[: self._count + 1] = self._ends[: self._count + 1]
        place_bytes(self._arena, ends, self._count, slots, self._secrets)
        self._ends, self._slots = ends, slots

    def _extend(self, more: int) -> None:
        arena = np.zeros(max(2 * len(self._arena), int(self._ends[self._count]) + more), np.uint8)
        arena[: len(self._arena)] = self._arena
        self._arena = arena


def count_slots(groups: int) -> int:
    """The number of slots for so many groups, a power of two.

    >>> count_slots(1), count_slots(20), count_slots(1000)
    (32, 64, 2048)
    """
    size = LEAST_SLOTS
    while int(size * LOAD) < groups:
        size *= 2
    return size
