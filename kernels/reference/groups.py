"""Group keys to dense ids, in NumPy and a dictionary."""

from __future__ import annotations

import itertools
import sys
from collections.abc import Sequence
from typing import Any

import numpy as np

from oop.kernels.checks import Array, Ints
from oop.kernels.keys import check_offsets, normalize_column
from oop.kernels.signatures.groups import GroupTableBase
from oop.kernels.views.columns import Column, change_width, concat_columns, take_rows, wide_kind

# Codes of two columns are combined as code * cardinality + code; beyond this int64 would overflow.
CODE_LIMIT = 2**62


class GroupTable(GroupTableBase):
    def run_init(self) -> None:
        self._ids: dict[Any, int] = {}
        self._parts: list[list[Column]] = [[] for _ in self.kinds]
        self._key_bytes = 0

    def __len__(self) -> int:
        return len(self._ids)

    @property
    def nbytes(self) -> int:
        arrays = sum(part.nbytes for parts in self._parts for part in parts)
        return arrays + self._key_bytes + sys.getsizeof(self._ids)

    def reserve(self, groups: int) -> None:
        """Ignore the hint: a dictionary has no use for it."""

    def run_map(self, columns: Sequence[Column], length: int, rows: Ints | None) -> Ints:
        check_offsets(columns)
        if rows is not None:
            columns, length = [take_rows(column, rows) for column in columns], len(rows)
        if not length:
            return np.zeros(0, np.int64)
        if not columns:
            self._ids.setdefault((), 0)
            return np.zeros(length, np.int64)
        columns = [normalize_column(column) for column in columns]
        _, firsts, codes = np.unique(_combine_codes(columns), return_index=True, return_inverse=True)
        order = np.argsort(firsts)
        rows = firsts[order]
        ids_in_order = self._map_distinct([take_rows(column, rows) for column in columns])
        ids = np.empty(len(rows), np.int64)
        ids[order] = ids_in_order
        return ids[codes]

    def columns(self) -> list[Column]:
        for kind, parts in zip(self.kinds, self._parts, strict=True):
            parts[:] = [concat_columns(wide_kind(kind), parts)]
        return [change_width(parts[0], kind) for kind, parts in zip(self.kinds, self._parts, strict=True)]

    def _map_distinct(self, columns: list[Column]) -> Ints:
        """Ids of keys that are distinct and in order of appearance."""
        keys = list_keys(columns)
        known = self._ids
        before = len(known)
        ids = np.fromiter(map(known.get, keys, itertools.repeat(-1)), np.int64, len(keys))
        new = np.flatnonzero(ids < 0)
        if len(new):
            ids[new] = np.arange(before, before + len(new))
            new_keys = [keys[row] for row in new.tolist()]
            known.update(zip(new_keys, itertools.count(before)))
            for parts, column in zip(self._parts, columns, strict=True):
                parts.append(take_rows(column, new))
            self._key_bytes += sum(map(_size_key, new_keys))
        return ids


def _size_key(key: Any) -> int:
    return sys.getsizeof(key) + (sum(map(sys.getsizeof, key)) if isinstance(key, tuple) else 0)


def list_keys(columns: Sequence[Column]) -> list[Any]:
    """One Python value for each row; values are equal exactly if the keys are.

    Several numbers are packed into one bytes object, with a word that says which are null: a million tuples
    of numbers would take twice the memory, and the garbage collector would visit each.
    """
    if len(columns) == 1:
        return list_values(columns[0])
    numbers = [column for column in columns if column.kind != "bytes"]
    texts = [list_values(column) for column in columns if column.kind == "bytes"]
    if not numbers:
        return list(zip(*texts, strict=True))
    words = np.zeros((len(numbers[0]), len(numbers) + -(-len(numbers) // 64)), np.uint64)
    for place, column in enumerate(numbers):
        words[:, place] = column.data.view(np.uint64)
        if column.valid is not None:
            words[~column.valid, place] = 0
            words[:, len(numbers) + place // 64] |= (~column.valid).astype(np.uint64) << np.uint64(place % 64)
    packed = words.view(f"V{words.shape[1] * 8}").reshape(-1).tolist()
    return list(zip(packed, *texts, strict=True)) if texts else packed


def list_values(column: Column) -> list[Any]:
    """Python values that are equal exactly if the keys are; None for null.

    >>> list_values(Column("bytes", np.frombuffer(b"abc", np.uint8), np.array([0, 1, 3])))
    [b'a', b'bc']
    """
    if column.offsets is not None:
        data = column.data.tobytes()
        ends = column.offsets.tolist()
        values: list[Any] = [data[start:end] for start, end in itertools.pairwise(ends)]
    else:
        # NaN is not equal to itself, but its bits are.
        bits = column.data.view(np.int64) if column.kind == "float" else column.data
        values = bits.tolist()
    if column.valid is not None:
        for row in np.flatnonzero(~column.valid).tolist():
            values[row] = None
    return values


def _combine_codes(columns: Sequence[Column]) -> Ints:
    """One int64 for each row; two are equal exactly if all columns are."""
    total, cardinality = _encode_column(columns[0])
    for column in columns[1:]:
        codes, count = _encode_column(column)
        if cardinality * count > CODE_LIMIT:
            total, cardinality = _compress_codes(total)
        if cardinality * count > CODE_LIMIT:
            codes, count = _compress_codes(codes)
        total, cardinality = total * count + codes, cardinality * count
    return total


def _encode_column(column: Column) -> tuple[Ints, int]:
    """Codes from 0 on, and how many there are; 0 is null if there is one. Integers need a sort only if they are very
    far apart."""
    if column.kind == "bytes":
        codes, count = _encode_bytes(column)
    else:
        bits = column.data.view(np.int64) if column.kind == "float" else column.data
        if column.valid is not None:
            bits = np.where(column.valid, bits, bits[np.argmax(column.valid)])
        least = bits.min()
        count = int(bits.max()) - int(least) + 1
        if count < CODE_LIMIT:
            codes = (bits - least).view(np.int64)
        else:
            codes, count = _compress_codes(bits)
    if column.valid is None:
        return codes, count
    return np.where(column.valid, codes + 1, 0), count + 1


def _compress_codes(codes: Array) -> tuple[Ints, int]:
    values, dense = np.unique(codes, return_inverse=True)
    return dense.astype(np.int64, copy=False), len(values)


def _encode_bytes(column: Column) -> tuple[Ints, int]:
    """Codes from a dictionary: Python's hash is seeded for each process, unlike Arrow's."""
    numbers: dict[bytes | None, int] = {}
    codes = [numbers.setdefault(value, len(numbers)) for value in list_values(column)]
    return np.array(codes, np.int64), max(len(numbers), 1)
