"""Results of groups, in C, which gives them by Arrow's C data interface."""

from __future__ import annotations

from collections.abc import Sequence
from struct import pack, unpack
from typing import Any

import numpy as np
import pyarrow as pa

from oop.kernels.checks import Array
from oop.kernels.native.groups import GroupTable
from oop.kernels.native.library import OK, check_code, ffi, from_buffer, lib, point
from oop.kernels.scratch import lasting_array
from oop.kernels.signatures.groups import GroupTableBase
from oop.kernels.signatures.results import GroupResultsBase, ResultKind, array_error, groups_error, key_error

_WORDS = ffi.typeof("int64_t[]")
_FEW = 16_384  # groups; columns of more than 128 kB are memory from the operating system, if C allocates them


class GroupResults(GroupResultsBase):
    def run_init(self) -> None:
        self._columns = ffi.new("oop_result[]", max(len(self.columns), 1))
        for made, column, type_ in zip(self._columns, self.columns, self.schema.types, strict=False):
            made.kind, made.width, made.key = int(column.kind), type_.bit_width // 8, column.key
        pairs = list(zip(self._columns, self.columns, strict=False))
        self._constant = [made for made, column in pairs if column.kind is ResultKind.CONSTANT]
        # the fields of words that are of each array, and the first word and the width there
        self._fields = [
            [
                (field, words.word, words.width)
                for made, column in pairs
                for field, words in zip(_fields(made, len(column.words)), column.words, strict=True)
                if words.array == number
            ]
            for number in range(self.arrays)
        ]
        self._pointed: list[Array] = []
        self._held: list[Any] = []
        self._room = 0
        self._out = ffi.new("struct ArrowArray *")
        self._address = int(ffi.cast("uintptr_t", self._out))

    @property
    def nbytes(self) -> int:
        return len(self.columns) * int(ffi.sizeof("oop_result"))

    def give(
        self,
        table: GroupTableBase,
        arrays: Sequence[Array],
        constants: Sequence[int | float],
        first: int = 0,
        stop: int | None = None,
    ) -> pa.RecordBatch | None:
        assert isinstance(table, GroupTable)
        pointed = self._pointed
        if len(pointed) != len(arrays):
            self._point(arrays)
        else:
            for array, known in zip(arrays, pointed, strict=True):
                if array is not known:
                    self._point(arrays)
                    break
        for made, value in zip(self._constant, constants, strict=True):
            made.constant = value if isinstance(value, int) else unpack("q", pack("d", value))[0]
        groups = len(table)
        if self.arrays and groups > self._room:
            raise array_error()
        stop = groups if stop is None else stop
        if not 0 <= first <= stop <= groups:
            raise groups_error()
        if stop - first > _FEW:
            return self._fill(table, first, stop - first)
        code = lib.oop_give_results(table.table, self._columns, len(self.columns), first, stop - first, self._out)
        if code != OK and not _is_done(code):
            return None
        return pa.RecordBatch._import_from_c(self._address, self.schema)

    def _fill(self, table: GroupTable, first: int, rows: int) -> pa.RecordBatch | None:
        """The results in memory of our own, which is used again."""
        count, types, bits = len(self.columns), self.schema.types, -(-rows // 8)
        values = [lasting_array(rows * type_.bit_width // 8, np.uint8) for type_ in types]
        valid = [lasting_array(bits, np.uint8) for _ in types]
        nulls = ffi.new("int64_t[]", count)
        to = ffi.new("void *[]", list(map(point, values))), ffi.new("uint8_t *[]", list(map(point, valid)))
        if not _is_done(lib.oop_fill_results(table.table, self._columns, count, first, rows, *to, nulls)):
            return None
        found = [
            pa.Array.from_buffers(type_, rows, [pa.py_buffer(there) if n else None, pa.py_buffer(held)], n)
            for type_, held, there, n in zip(types, values, valid, nulls, strict=True)
        ]
        return pa.RecordBatch.from_arrays(found, schema=self.schema)

    def forget(self) -> None:
        self._pointed, self._held = [], []

    def _point(self, arrays: Sequence[Array]) -> None:
        """Let the columns point to these arrays, which live as long as they do."""
        if len(arrays) < self.arrays:
            raise array_error()
        self._pointed, self._held = [], []
        room = []
        for array, fields in zip(arrays, self._fields, strict=False):
            data = from_buffer(_WORDS, array)
            self._held.append(data)
            for field, word, width in fields:
                field.data, field.stride = data + word, width
                room.append(array.size // width)
        self._room = min(room, default=0)
        self._pointed = list(arrays)


def _is_done(code: int) -> bool:
    """False if a sum does not fit; what else went wrong is an error."""
    if code == lib.OOP_SUM_OUTSIDE:
        return False
    if code == lib.OOP_FULL:
        raise MemoryError
    if code == lib.OOP_ROW_OUTSIDE:
        raise key_error()
    check_code(code)
    return True


def _fields(made: Any, count: int) -> list[Any]:
    """The fields of a column for so many words; counts are the last of several."""
    a, b, c = made.a, made.b, made.c
    return {0: [], 1: [a], 2: [a, c], 3: [a, b, c]}[count]
