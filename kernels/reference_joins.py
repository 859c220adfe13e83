"""The rows that one side of a join holds, found by key and time, in NumPy."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from oop.kernels.checks import INT64_MAX, INT64_MIN, Array, Bools, Ints, KernelError, Number, check_array, check_times
from oop.kernels.reference_groups import Words

MOST_PLACES = 2**32 - 2  # rows are linked by numbers of 32 bits


class Reach(NamedTuple):
    """Which rows a probing row of time t meets: those of time s with ``low <= s - t <= high``. An end may be open, or
    infinite."""

    low: Number
    high: Number
    low_open: bool = False
    high_open: bool = False


class JoinTable:
    """Rows in numbered places, found by a word that stands for their key, and by their time.

    Who owns the table chooses the places, so that what else it keeps of a row can stand in arrays by place.

    >>> table = JoinTable(np.int64)
    >>> table.insert(np.array([0, 1, 2]), np.array([7, 8, 7], np.uint64), np.array([9, 10, 12]))
    >>> table.probe(np.array([7], np.uint64), np.array([10]), Reach(-1, 1))
    (array([0]), array([0]), 1)
    """

    def __init__(self, dtype: Any) -> None:
        self.dtype = check_dtype(dtype)
        self._rows = 0
        self._age = 0
        self._words: Words = np.zeros(0, np.uint64)
        self._times: Array = np.zeros(0, dtype)
        self._ages: Ints = np.zeros(0, np.int64)  # when the row came; 0 where there is none

    def __len__(self) -> int:
        return self._rows

    @property
    def nbytes(self) -> int:
        """Bytes that the rows hold here."""
        return self._words.nbytes + self._times.nbytes + self._ages.nbytes

    def insert(self, places: Ints, words: Words, times: Array) -> None:
        """Rows into places that have none."""
        times = check_rows(self.dtype, places, words, times)
        check_places(places)
        if len(places) and (more := int(places.max()) + 1 - len(self._ages)) > 0:
            self._words, self._times = np.pad(self._words, (0, more)), np.pad(self._times, (0, more))
            self._ages = np.pad(self._ages, (0, more))
        if (self._ages[places] > 0).any() or len(np.unique(places)) < len(places):
            raise taken()
        self._words[places], self._times[places] = words, times
        self._ages[places] = self._age + 1 + np.arange(len(places))
        self._age += len(places)
        self._rows += len(places)

    def remove(self, places: Ints) -> None:
        """Rows out of their places."""
        self._check_there(places)
        if len(np.unique(places)) < len(places):
            raise empty()
        self._ages[places] = 0
        self._rows -= len(places)

    def read(self, places: Ints) -> tuple[Words, Array]:
        """The words and the times of rows."""
        self._check_there(places)
        return self._words[places], self._times[places]

    def probe(
        self, words: Words, times: Array, reach: Reach, start: int = 0, most: int = 2**62
    ) -> tuple[Ints, Ints, int]:
        """Pairs of a probing row and the place of a row with the same word, within reach; and how far it came.

        Probing rows are taken in order from ``start`` on, for as long as there are no more than ``most`` pairs, but at
        least one of them. Of the rows that it meets the one that came last is first.
        """
        times = check_probe(self.dtype, words, times, reach, start, most)
        there = np.flatnonzero(self._ages)
        order = there[np.lexsort((-self._ages[there], self._words[there]))]
        ordered = self._words[order]
        first = np.searchsorted(ordered, words[start:], "left")
        counts = np.searchsorted(ordered, words[start:], "right") - first
        mine = np.repeat(np.arange(len(words) - start), counts)
        within = np.arange(len(mine)) - np.repeat(np.cumsum(counts) - counts, counts)
        theirs = order[first[mine] + within]
        met = _meets(times[start:][mine], self._times[theirs], reach)
        mine, theirs = mine[met], theirs[met]
        ends = np.cumsum(np.bincount(mine, minlength=len(words) - start))
        done = max(int(np.searchsorted(ends, most, "right")), min(1, len(ends)))
        pairs = int(ends[done - 1]) if done else 0
        return mine[:pairs] + start, theirs[:pairs], start + done

    def _check_there(self, places: Ints) -> None:
        check_places(places)
        if len(places) and (int(places.max()) >= len(self._ages) or not self._ages[places].all()):
            raise empty()


def _meets(times: Array, held: Array, reach: Reach) -> Bools:
    met = np.ones(len(times), np.bool_)
    if held.dtype == np.float64:
        with np.errstate(invalid="ignore", over="ignore"):
            apart = held - times
        met &= apart > reach.low if reach.low_open else apart >= reach.low
        return met & (apart < reach.high if reach.high_open else apart <= reach.high)
    low, high = whole_reach(reach)
    # The difference of two 64-bit numbers may need 65: it is split into a high and a low half.
    high_half = (held >> 32) - (times >> 32)
    low_half = (held & 0xFFFFFFFF) - (times & 0xFFFFFFFF)
    high_half, low_half = high_half + (low_half >> 32), low_half & 0xFFFFFFFF

    def at_least(bound: int) -> Bools:
        top, bottom = bound >> 32, bound & 0xFFFFFFFF
        return (high_half > top) | ((high_half == top) & (low_half >= bottom))

    if low > INT64_MIN:
        met &= at_least(low)
    if high < INT64_MAX:
        met &= ~at_least(high + 1)
    return met


def whole_reach(reach: Reach) -> tuple[int, int]:
    """A reach over whole times with both ends closed; the least and greatest int64 stand for infinite ends."""
    low = INT64_MIN if math.isinf(reach.low) else int(reach.low) + reach.low_open
    high = INT64_MAX if math.isinf(reach.high) else int(reach.high) - reach.high_open
    return low, high


def taken() -> KernelError:
    return KernelError("a row can only go where there is none")


def empty() -> KernelError:
    return KernelError("there is no row in one of these places, or it is named twice")


def check_dtype(dtype: Any) -> np.dtype[Any]:
    if np.dtype(dtype) not in (np.int64, np.float64):
        raise KernelError(f"times are int64 or float64, not {np.dtype(dtype)}")
    return np.dtype(dtype)


def check_places(places: Ints) -> None:
    check_array("places", places, np.int64)
    if len(places) and not 0 <= int(places.min()) <= int(places.max()) < MOST_PLACES:
        raise KernelError(f"places are from 0 to {MOST_PLACES - 1}")


def check_rows(dtype: Any, places: Ints, words: Words, times: Array) -> Array:
    """The rows to insert fit together; their times, contiguous."""
    times = check_times(times)
    check_array("times", times, dtype)
    check_array("words", words, np.uint64, len(times))
    check_array("places", places, np.int64, len(times))
    return times


def check_probe(dtype: Any, words: Words, times: Array, reach: Reach, start: int, most: int) -> Array:
    """What `JoinTable.probe` is given fits together; the times, contiguous."""
    times = check_times(times)
    check_array("times", times, dtype)
    check_array("words", words, np.uint64, len(times))
    if not 0 <= start <= len(words) or most < 1:
        raise KernelError(f"there are rows from 0 to {len(words)}, and at least one pair; not {start} and {most}")
    for name, value in (("low", reach.low), ("high", reach.high)):
        infinite = isinstance(value, float) and math.isinf(value)
        if value != value or (dtype == np.int64 and not infinite and not isinstance(value, int)):
            raise KernelError(f"{name} must be a number in the unit of the times, not {value!r}")
        if dtype == np.int64 and not infinite and not INT64_MIN < value < INT64_MAX:
            raise KernelError(f"{name} must fit a 64-bit signed integer, not {value!r}")
    if reach.low == math.inf or reach.high == -math.inf:
        raise KernelError("low must be below infinity, and high above minus infinity")
    return times
