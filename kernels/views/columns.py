"""Columns as kernels see them: plain arrays of numbers or bytes, and which rows are null. Nothing here knows Arrow.

>>> take_rows(Column("int", np.array([5, 6, 7])), np.array([2, 0])).data
array([7, 5])
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from oop.kernels.checks import Array, Bools, Ints, KernelError

# Values are widened to 64 bits; keys keep their own width, so that several fit into a word.
WIDE: dict[str, Any] = {"int": np.int64, "uint": np.uint64, "float": np.float64, "bytes": np.uint8}
NARROW: dict[str, Any] = {
    f"{sign}{bits}": np.dtype(f"{sign}{bits}") for sign in ("int", "uint") for bits in (8, 16, 32)
}
DTYPES: dict[str, Any] = {**WIDE, **NARROW}


@dataclass(frozen=True, eq=False, slots=True)
class Column:
    """One column: `data` by row for numbers; for bytes, row i is `data[offsets[i]:offsets[i + 1]]`.

    `valid` is None when no row is null; what `data` holds under a null means nothing.

    >>> len(Column("int", np.array([1, 2, 3])))
    3
    """

    kind: str
    data: Array
    offsets: Ints | None = None
    valid: Bools | None = None

    def __post_init__(self) -> None:
        if self.kind not in DTYPES:
            raise KernelError(f"no kind of column {self.kind!r}; there are {', '.join(DTYPES)}")
        if self.data.ndim != 1 or self.data.dtype != DTYPES[self.kind]:
            raise KernelError(f"the data of a column of kind {self.kind} must be {np.dtype(DTYPES[self.kind])}")
        if (self.kind == "bytes") != (self.offsets is not None):
            raise KernelError("a column has offsets if and only if its kind is bytes")
        if self.offsets is not None:
            offsets = self.offsets
            if offsets.ndim != 1 or offsets.dtype != np.int64 or not len(offsets):
                raise KernelError("offsets must be int64, one more than there are rows")
            if offsets[0] < 0 or offsets[-1] > len(self.data):
                raise KernelError("offsets point outside the data")
        if self.valid is not None and (self.valid.dtype != np.bool_ or self.valid.shape != (len(self),)):
            raise KernelError(f"valid must be a bool array of {len(self)} rows")

    def __len__(self) -> int:
        return len(self.data) if self.offsets is None else len(self.offsets) - 1

    @property
    def nbytes(self) -> int:
        """Bytes that the arrays of this column hold."""
        return sum(part.nbytes for part in (self.data, self.offsets, self.valid) if part is not None)


def wide_kind(kind: str) -> str:
    """The kind of the same values in 64 bits.

    >>> wide_kind("uint16"), wide_kind("int"), wide_kind("bytes")
    ('uint', 'int', 'bytes')
    """
    return kind.rstrip("0123456789")


def change_width(view: Column, kind: str) -> Column:
    """The same integers in another width that holds them."""
    if view.kind == kind:
        return view
    return Column(kind, view.data.astype(DTYPES[kind]), None, view.valid)


def slice_rows(view: Column, start: int, stop: int) -> Column:
    """The rows from `start` up to `stop`; the result shares memory.

    >>> texts = Column("bytes", np.frombuffer(b"abcd", np.uint8), np.array([0, 1, 3, 4]))
    >>> slice_rows(texts, 1, 3).offsets.tolist()
    [0, 2, 3]
    """
    if start == 0 and stop == len(view):
        return view
    valid = None if view.valid is None else view.valid[start:stop]
    if valid is not None and valid.all():
        valid = None
    if view.offsets is None:
        return Column(view.kind, view.data[start:stop], None, valid)
    offsets = view.offsets[start : stop + 1]
    return Column(view.kind, view.data[offsets[0] : offsets[-1]], offsets - offsets[0], valid)


def take_rows(view: Column, rows: Ints) -> Column:
    """The rows with these numbers, in that order; nulls come out as zeros or empty bytes.

    >>> texts = Column("bytes", np.frombuffer(b"abc", np.uint8), np.array([0, 1, 3]))
    >>> take_rows(texts, np.array([1, 1, 0])).data.tobytes()
    b'bcbca'
    """
    valid = None if view.valid is None else view.valid[rows]
    if valid is not None and valid.all():
        valid = None
    if view.offsets is None:
        data = view.data[rows]
        if valid is not None:
            data[~valid] = 0
        return Column(view.kind, data, None, valid)
    starts = view.offsets[rows]
    lengths = view.offsets[rows + 1] - starts
    if valid is not None:
        lengths[~valid] = 0
    offsets = np.zeros(len(rows) + 1, np.int64)
    np.cumsum(lengths, out=offsets[1:])
    source = np.repeat(starts - offsets[:-1], lengths) + np.arange(offsets[-1])
    return Column(view.kind, view.data[source], offsets, valid)


def concat_columns(kind: str, views: Sequence[Column]) -> Column:
    """The rows of several columns of one kind as one.

    >>> concat_columns("int", [Column("int", np.array([1])), Column("int", np.array([2]))]).data
    array([1, 2])
    """
    if len(views) == 1:
        return views[0]
    length = sum(len(view) for view in views)
    valid = None
    if any(view.valid is not None for view in views):
        parts = [np.ones(len(view), np.bool_) if view.valid is None else view.valid for view in views]
        valid = np.concatenate(parts)
    if kind != "bytes":
        empty = np.zeros(0, DTYPES[kind])
        return Column(kind, np.concatenate([empty, *(view.data for view in views)]), None, valid)
    offsets = np.zeros(length + 1, np.int64)
    datas, row, end = [np.zeros(0, np.uint8)], 0, 0
    for view in views:
        assert view.offsets is not None
        first, last = int(view.offsets[0]), int(view.offsets[-1])
        datas.append(view.data[first:last])
        offsets[row + 1 : row + len(view) + 1] = view.offsets[1:] + (end - first)
        row, end = row + len(view), end + last - first
    return Column(kind, np.concatenate(datas), offsets, valid)
