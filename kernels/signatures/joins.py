"""The rows that one side of a join holds, found by key and time."""

from __future__ import annotations

import math
from abc import abstractmethod
from typing import Any, NamedTuple

import numpy as np

from oop.kernels.checks import (
    INT64,
    INT64_MAX,
    INT64_MIN,
    UINT64,
    Array,
    Ints,
    KernelError,
    Real,
    Words,
    check_array,
    check_times,
)
from oop.kernels.signatures.stem import KernelWithState, Stem

MOST_PLACES = 2**32 - 2  # rows are linked by numbers of 32 bits


class Reach(NamedTuple):
    """The rows that a probing row of time t meets: those of time s with ``low <= s - t <= high``. An end may be open or
    infinite."""

    low: Real
    high: Real
    low_open: bool = False
    high_open: bool = False


class JoinTableBase(KernelWithState):
    """Rows in numbered places, found by a word that stands for their key, and by their time.

    The owner of the table chooses the places, so that it can keep more about each row in arrays by place.

    >>> from oop.kernels.dispatch import kernels
    >>> table = kernels("reference").JoinTable(np.int64)
    >>> table.insert(np.array([0, 1, 2]), np.array([7, 8, 7], np.uint64), np.array([9, 10, 12]))
    >>> table.probe(np.array([7], np.uint64), np.array([10]), Reach(-1, 1))
    (array([0]), array([0]), 1)
    """

    def __init__(self, dtype: Any) -> None:
        self.dtype = np.dtype(dtype)
        if self.dtype not in (np.int64, np.float64):
            raise KernelError(f"times are int64 or float64, not {self.dtype}")
        self.run_init()

    @abstractmethod
    def __len__(self) -> int:
        """How many rows there are."""

    def insert(self, places: Ints, words: Words, times: Array) -> None:
        """Insert rows into places that have none."""
        times = self._check_times(words, times)
        check_array("places", places, INT64, len(times))
        if len(places):
            _check_places(places)
            self.run_insert(places, words, times)

    @abstractmethod
    def run_insert(self, places: Ints, words: Words, times: Array) -> None: ...

    def remove(self, places: Ints) -> None:
        """Remove the rows in these places."""
        _check_places(places)
        self.run_remove(places)

    @abstractmethod
    def run_remove(self, places: Ints) -> None: ...

    def read(self, places: Ints) -> tuple[Words, Array]:
        """The words and the times of the rows in these places."""
        _check_places(places)
        return self.run_read(places)

    @abstractmethod
    def run_read(self, places: Ints) -> tuple[Words, Array]: ...

    def probe(
        self, words: Words, times: Array, reach: Reach, start: int = 0, most: int = 2**62
    ) -> tuple[Ints, Ints, int]:
        """Pairs of a probing row and the place of a row with the same word, within reach; and the first row not taken.

        Probing rows are taken in order from ``start`` on, as long as there are no more than ``most`` pairs, but at
        least one row is taken. Of the rows that it meets, the one that came last is first.
        """
        times = self._check_times(words, times)
        if not 0 <= start <= len(words) or most < 1:
            raise KernelError(f"there are rows from 0 to {len(words)}, and at least one pair; not {start} and {most}")
        self._check_reach(reach)
        return self.run_probe(words, times, reach, start, most)

    @abstractmethod
    def run_probe(self, words: Words, times: Array, reach: Reach, start: int, most: int) -> tuple[Ints, Ints, int]: ...

    def _check_times(self, words: Words, times: Array) -> Array:
        """Check that words and times fit together; return the times, contiguous."""
        times = check_times(times)
        check_array("times", times, self.dtype)
        check_array("words", words, UINT64, len(times))
        return times

    def _check_reach(self, reach: Reach) -> None:
        whole = self.dtype == INT64
        for name, value in (("low", reach.low), ("high", reach.high)):
            infinite = isinstance(value, float) and math.isinf(value)
            if value != value or (whole and not infinite and not isinstance(value, int)):
                raise KernelError(f"{name} must be a number in the unit of the times, not {value!r}")
            if whole and not infinite and not INT64_MIN < value < INT64_MAX:
                raise KernelError(f"{name} must fit a 64-bit signed integer, not {value!r}")
        if reach.low == math.inf or reach.high == -math.inf:
            raise KernelError("low must be below infinity, and high above minus infinity")


class JoinKernels(Stem):
    JoinTable: type[JoinTableBase]


def whole_reach(reach: Reach) -> tuple[int, int]:
    """A reach over whole times with both ends closed; the least and greatest int64 stand for infinite ends."""
    low = INT64_MIN if math.isinf(reach.low) else int(reach.low) + reach.low_open
    high = INT64_MAX if math.isinf(reach.high) else int(reach.high) - reach.high_open
    return low, high


def place_taken() -> KernelError:
    """The error for a row that is put where another is."""
    return KernelError("a row can only go where there is none")


def empty() -> KernelError:
    """The error for a row that is looked for where there is none."""
    return KernelError("there is no row in one of these places, or it is named twice")


def _check_places(places: Ints) -> None:
    check_array("places", places, INT64)
    if len(places) and places.view(np.uint64).max() >= MOST_PLACES:  # negative ones are greater still
        raise KernelError(f"places are from 0 to {MOST_PLACES - 1}")
