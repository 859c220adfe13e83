"""Results of groups in NumPy: for the reference, and for Numba's kernels, which have nothing faster."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import numpy as np
import pyarrow as pa

from oop.kernels.checks import Array, Bools
from oop.kernels.signatures.groups import GroupTableBase
from oop.kernels.signatures.results import (
    GroupResultsBase,
    GroupWords,
    ResultColumn,
    ResultKind,
    array_error,
    groups_error,
    key_error,
)


class InterpretedResults(GroupResultsBase):
    name: ClassVar[str]

    def run_init(self) -> None:
        """It keeps nothing."""

    @property
    def nbytes(self) -> int:
        return 0

    def give(
        self,
        table: GroupTableBase,
        arrays: Sequence[Array],
        constants: Sequence[int | float],
        first: int = 0,
        stop: int | None = None,
    ) -> pa.RecordBatch | None:
        groups, given = len(table), iter(constants)
        if any(len(array) < groups for array in arrays) or len(arrays) < self.arrays:
            raise array_error()
        stop = groups if stop is None else stop
        if not 0 <= first <= stop <= groups:
            raise groups_error()
        found, part = [], slice(first, stop)
        for type_, column in zip(self.schema.types, self.columns, strict=True):
            if column.kind is ResultKind.KEY:
                found.append(_key(table, column.key, type_, part))
                continue
            if column.kind is ResultKind.CONSTANT:
                constant = np.array([next(given)]).repeat(stop - first)
                found.append(_as_type(constant, type_, None))
                continue
            words = [_words(arrays, place, part) for place in column.words]
            made = _computed(column, words, type_)
            if made is None:
                return None
            found.append(made)
        return pa.RecordBatch.from_arrays(found, schema=self.schema)

    def forget(self) -> None:
        """It keeps nothing."""


def _key(table: GroupTableBase, key: int, type_: pa.DataType, part: slice) -> pa.Array:
    if not 0 <= key < len(table.kinds) or table.columns()[key].data.itemsize * 8 != type_.bit_width:
        raise key_error()
    column = table.columns()[key]
    return _as_type(column.data[part].copy(), type_, None if column.valid is None else column.valid[part])


def _words(arrays: Sequence[Array], place: GroupWords, part: slice) -> Array:
    return arrays[place.array].reshape(-1, place.width)[part, place.word]


def _computed(column: ResultColumn, words: list[Array], type_: pa.DataType) -> pa.Array | None:
    if column.kind is ResultKind.VALUES:
        return _as_type(words[0].copy(), type_, None)
    valid = words[-1] != 0
    if column.kind is ResultKind.COUNTED:
        bits = words[0].astype(f"int{type_.bit_width}") if words[0].dtype.kind != "f" else words[0].copy()
        return _as_type(bits, type_, valid)
    hi, lo, counts = words
    if column.kind is ResultKind.SUM:
        if ((hi < -(2**31)) | (hi >= 2**31)).any():
            return None
        return _as_type((hi << 32) + lo, type_, valid)
    # small negative sums have hi = -1 and a great lo: put them together as integers, not as floats
    fits = (hi > -(2**30)) & (hi < 2**30)
    total = np.where(fits, (np.where(fits, hi, 0) << 32) + lo, hi * 2.0**32 + lo)
    return _as_type(total / np.maximum(counts, 1), type_, valid)


def _as_type(values: Array, type_: pa.DataType, valid: Bools | None) -> pa.Array:
    """These bits as a column, with what is valid of them."""
    bits = None if valid is None or valid.all() else pa.py_buffer(np.packbits(valid, bitorder="little"))
    return pa.Array.from_buffers(type_, len(values), [bits, pa.py_buffer(np.ascontiguousarray(values))])
