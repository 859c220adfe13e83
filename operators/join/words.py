"""Words of 64 bits that stand for the keys of a join: two words are equal exactly if the keys are.

A key that fits into a word is its own word. Other keys get a number in a table that both sides share. When most keys of
the table belong to no row any more, the operator clears it and has the words computed again.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from oop.kernels import dispatch, views
from oop.kernels.signatures.joins import Reach
from oop.kernels.views import Column
from oop.operators.core.keys import KeyTable, read_key

_SLACK = 4_096  # the table may always have this many keys without a row
_STRETCHES = 4  # a band is cut into at least this many stretches where rows are found by time


class KeyWords:
    """``types`` are the types in which both sides' keys are compared.

    >>> words = KeyWords([pa.int32(), pa.int16()])
    >>> found = words.of([pa.array([7], pa.int32()), pa.array([1], pa.int16())], 1)
    >>> [words.column(place, found).data.tolist() for place in (0, 1)]
    [[7], [1]]
    """

    def __init__(self, types: Sequence[pa.DataType]) -> None:
        self.kinds = [views.key_kind(t) for t in types]
        widths = [0 if k == "bytes" else np.dtype(views.DTYPES[k]).itemsize for k in self.kinds]
        self._shifts = [8 * sum(widths[:i]) for i in range(len(widths))]
        self.is_packed = all(widths) and sum(widths) <= 8
        self.clear()

    @property
    def nbytes(self) -> int:
        return 0 if self._table is None or not len(self._table) else self._table.nbytes

    def is_crowded(self, rows: int) -> bool:
        """Has the table many more keys than there are rows?"""
        return self._table is not None and len(self._table) > 2 * rows + _SLACK

    def clear(self) -> None:
        self._table = None if self.is_packed else KeyTable(self.kinds, grows_little=True)

    def of(self, keys: Sequence[pa.Array], length: int) -> np.ndarray:
        """The word of each row. The keys have no nulls."""
        if self._table is not None:
            return self._table.map([read_key(k) for k in keys], length).view(np.uint64)
        words = np.zeros(length, np.uint64)
        for key, shift in zip(keys, self._shifts, strict=True):
            bits = _bits(views.key_column(key))
            if len(self.kinds) == 1 and bits.dtype == np.uint64:
                return bits
            words |= bits.astype(np.uint64) << np.uint64(shift)
        return words

    def gives(self, place: int) -> bool:
        """Can a key column be had back from the words? Words have 0.0 for -0.0, and text is taken faster from where
        rows are."""
        return self.kinds[place] not in ("float", "bytes")

    def column(self, place: int, words: np.ndarray) -> Column:
        """A key column that words give back."""
        kind = self.kinds[place]
        if self._table is not None:
            kept = self._table.codes.columns()[place]
            return Column(kind, dispatch.kernels().take_fixed(kept.data, words.view(np.int64)))
        dtype, shift = np.dtype(views.DTYPES[kind]), np.uint64(self._shifts[place])
        return Column(kind, (words >> shift).astype(f"u{dtype.itemsize}").view(dtype))


class ByKey:
    """Rows are found by their key alone; the table looks at their times."""

    by_key_alone = True
    verifies = False  # must the keys of what was found still be compared?

    def stored(self, words: np.ndarray, points: np.ndarray) -> np.ndarray:
        """The word under which a row is kept."""
        return words

    def key(self, words: np.ndarray, points: np.ndarray) -> np.ndarray:
        """The word of the key of a row that is kept."""
        return words

    def probing(self, words: np.ndarray, points: np.ndarray, reach: Reach) -> Iterator[tuple[Any, np.ndarray]]:
        """The words under which to look, with the rows that look there (None: all)."""
        yield None, words


class ByKeyAndPoint(ByKey):
    """A row meets only rows at one point, so the point is mixed into the word. Among rows whose points fit, equal words
    still mean equal keys."""

    by_key_alone = False

    def stored(self, words: np.ndarray, points: np.ndarray) -> np.ndarray:
        return words ^ _mix(points)

    key = stored  # XOR with the same value undoes itself

    def probing(self, words: np.ndarray, points: np.ndarray, reach: Reach) -> Iterator[tuple[Any, np.ndarray]]:
        with np.errstate(over="ignore"):  # a sum that wraps around is harmless: the table finds that points do not fit
            wanted = words ^ _mix(points + points.dtype.type(reach.low))
        yield None, wanted


class ByStretch(ByKey):
    """Rows are found by the stretch of time that they are in, and by their key, if there is one. A probe looks into the
    few stretches that its band reaches. This serves joins without keys, and keys with so many held rows that most are
    out of reach."""

    by_key_alone = False

    def __init__(self, span: int | float, keyed: bool) -> None:
        self.verifies = keyed  # keys of different stretches may have the same word
        self.whole = isinstance(span, int)
        self.shift = max((int(span) // _STRETCHES).bit_length() - 1, 0)
        self.length = max(span / _STRETCHES, 1e-300) if span else 1.0  # a quarter of the smallest float would be 0

    def stored(self, words: np.ndarray, points: np.ndarray) -> np.ndarray:
        return words ^ _mix(self._stretch(points))

    key = stored

    def probing(self, words: np.ndarray, points: np.ndarray, reach: Reach) -> Iterator[tuple[Any, np.ndarray]]:
        first, last = (self._stretch(end) for end in _ends(points, reach))
        for step in range(int((last - first).max(initial=-1)) + 1):
            rows = np.flatnonzero(first + step <= last)
            yield rows, words[rows] ^ _mix(first[rows] + step)

    def _stretch(self, points: np.ndarray) -> np.ndarray:
        if self.whole:
            return points >> self.shift
        with np.errstate(invalid="ignore", over="ignore"):
            return np.floor(np.clip(points / self.length, -(2.0**62), 2.0**62)).astype(np.int64)


def way_of(band: Any, keyed: bool) -> ByKey:
    """How rows are found: by key and point if only one point fits, else by key, or by time if there is no key."""
    if band.is_equality:
        return ByKeyAndPoint()
    return ByKey() if keyed or math.isinf(band.span) else ByStretch(band.span, False)


def _ends(points: np.ndarray, reach: Reach) -> tuple[np.ndarray, np.ndarray]:
    """The first and the last point that each row reaches, clipped to what the type can hold."""
    if points.dtype == np.float64:
        ends = points + reach.low, points + reach.high
        # Both a pair's difference and these ends are rounded, so widen them by the gaps between floats here.
        gaps = (np.spacing(np.abs(end)) + np.spacing(abs(by)) for end, by in zip(ends, reach[:2], strict=True))
        return ends[0] - next(gaps), ends[1] + next(gaps)
    limits = np.iinfo(np.int64)
    low, high = (
        np.clip(points, limits.min - min(by, 0), limits.max - max(by, 0)) + by for by in (reach.low, reach.high)
    )
    return low, high


def _mix(points: np.ndarray) -> np.ndarray:
    """Points as scattered words, so that neighbouring points of neighbouring keys do not coincide after an XOR."""
    if points.dtype == np.float64:
        points = points + 0.0  # -0.0 is 0.0
    return points.view(np.uint64) * np.uint64(0x9E3779B97F4A7C15)


def _bits(column: Column) -> np.ndarray:
    data = column.data
    if column.kind == "float":  # equal keys must have equal bits, so there is one NaN and no -0.0
        data = np.where(np.isnan(data), np.nan, data) + 0.0
    return np.ascontiguousarray(data).view(f"u{data.itemsize}")
