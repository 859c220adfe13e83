"""Numbers and times as int64 words of the same order: one kernel then serves integers, floats and times.

>>> words = to_words(Column("float", np.array([-1.5, 0.0, np.nan, np.inf])))
>>> np.argsort(words).tolist(), from_words(words, "float").tolist()
([0, 1, 3, 2], [-1.5, 0.0, nan, inf])
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from oop.kernels import views
from oop.kernels.views import Column
from oop.operators.core.compute import compute

_SIGN = np.uint64(1 << 63)
_REST = np.int64(2**63 - 1)


def has_words(type_: pa.DataType) -> bool:
    """Is it a number of at most 64 bits, or a time?"""
    return not pa.types.is_decimal(type_) and views.kind_of(type_) != "bytes"


def to_words(column: Column, *, zeros_equal: bool = False) -> np.ndarray:
    """The words of a column. NaN is greater than every number; −0.0 is just below 0.0, or equal to it with
    ``zeros_equal``."""
    if column.kind == "uint":
        return (column.data ^ _SIGN).view(np.int64)
    if column.kind == "float":
        data = np.where(np.isnan(column.data), np.nan, column.data)  # one NaN, whose sign is plus
        return _flip((data + 0.0 if zeros_equal else data).view(np.int64))
    return column.data


def from_words(words: np.ndarray, kind: str) -> np.ndarray:
    """The numbers that `to_words` was given, by the kind of their column."""
    if kind == "uint":
        return words.view(np.uint64) ^ _SIGN
    return _flip(words).view(np.float64) if kind == "float" else words


def _flip(bits: np.ndarray) -> np.ndarray:
    """Floats are stored as sign and magnitude: of negative ones the greater magnitude is the lesser number."""
    out: np.ndarray = bits ^ ((bits >> 63) & _REST)
    return out


def ranks(array: pa.Array, *, zeros_equal: bool = False) -> tuple[np.ndarray, np.ndarray | None]:
    """Numbers in the order of an array's values, whatever their type, and which values are valid (None: all).

    Numbers of text, bytes and decimals can be compared only within one array.

    >>> ranks(pa.array(["b", None, "a"]))[0][[0, 2]].tolist()
    [2, 1]
    """
    if has_words(array.type):
        column = views.column(array)
        return to_words(column, zeros_equal=zeros_equal), column.valid
    valid = views.booleans(array.is_valid()) if array.null_count else None
    return views.column(compute.rank(array, tiebreaker="dense")).data.astype(np.int64), valid
