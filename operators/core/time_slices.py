"""Rows by slices of time, so that a promise frees them in bulk and looks only into the slice at its bound.

A slice is a list of the places of rows. A slice begins about a quarter as long as a given span, such as that of a band,
and slices get longer when rows spread thinly over many of them.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator

import numpy as np

from oop.kernels import dispatch

SPREAD = 64  # slices that one batch may touch
MOST = 1_024  # slices in all
WIDEST = 60
_FAR = 2.0**61
_LEAST_UNIT = 1e-300  # for floats, where a quarter of the least span would be 0


class Slicing:
    """Which slice a time is in: slice ``n`` has the times from ``start(n)`` up to ``start(n + 1)``. ``span`` is about
    four slices long at the beginning."""

    def __init__(self, span: int | float, whole: bool) -> None:
        self.whole = whole
        self.unit = 1.0 if whole or not 0 < span < math.inf else max(span / 4, _LEAST_UNIT)
        self.shift = WIDEST if math.isinf(span) else max((int(span) // 4).bit_length() - 1, 0) if whole else 0

    def start(self, number: int) -> int | float:
        """No row of a slice is before this."""
        first = number << self.shift
        return first if self.whole else first * self.unit

    def slots(self, times: np.ndarray) -> np.ndarray:
        """Times as the whole numbers that are cut into slices."""
        if self.whole:
            return times
        with np.errstate(over="ignore"):  # a time that overflows is clipped like any other far one
            return np.floor(np.clip(times / self.unit, -_FAR, _FAR)).astype(np.int64)

    def reached(self, numbers: Iterable[int], bound: int | float) -> Iterator[tuple[int, bool]]:
        """The slices with rows that may be below a bound, in order, and whether all of their rows are."""
        if bound == -math.inf:
            return
        last = None if math.isinf(bound) else self._slot(bound) >> self.shift
        for number in sorted(numbers):
            if last is not None and number > last:
                return
            yield number, last is None or number < last

    def _slot(self, bound: int | float) -> int:
        if self.whole:
            return math.ceil(bound)
        return int(self.slots(np.array([bound], np.float64))[0])


class TimeSlices(Slicing):
    """The places of rows by slices of time; ``span`` is in the unit of the times."""

    def __init__(self, span: int | float, whole: bool) -> None:
        super().__init__(span, whole)
        self._pieces: dict[int, list[np.ndarray]] = {}
        self._narrow: set[int] = set()  # numbers of shorter slices, to be reported as gone
        self._changed: set[int] = set()
        self._known: set[int] = set()  # reported or loaded numbers: only these are reported as gone
        self.nbytes = 0  # kept as a number: another thread may ask

    def numbers(self) -> list[int]:
        return sorted(self._pieces)

    def add(self, places: np.ndarray, times: np.ndarray) -> list[int]:
        """Add rows by their places and times; the result is the numbers of their slices."""
        slots = self.slots(times)
        order_slots = dispatch.kernels().order_slots
        numbers, order, starts = order_slots(slots, self.shift)
        while self.shift < WIDEST and (len(numbers) > SPREAD or len(self._pieces) > MOST):
            self._widen()
            numbers, order, starts = order_slots(slots, self.shift)
        if order is not None:
            places = dispatch.kernels().take_fixed(places, order)
        # a copy, because arrays of kernels are for as long as a batch is worked on
        ordered = places.astype(np.uint32)
        self.nbytes += ordered.nbytes
        found: list[int] = numbers.tolist()
        for number, start, end in zip(found, starts[:-1].tolist(), starts[1:].tolist(), strict=True):
            self._pieces.setdefault(number, []).append(ordered[start:end])
            self._changed.add(number)
        return found

    def _widen(self) -> None:
        self.shift += 2
        self._narrow |= self._known
        self._known = set()
        wide: dict[int, list[np.ndarray]] = {}
        for number, pieces in self._pieces.items():
            wide.setdefault(number >> 2, []).extend(pieces)
        self._pieces = wide
        self._changed = set(wide)

    def places(self, number: int) -> np.ndarray:
        pieces = self._pieces[number]
        if len(pieces) > 1:
            pieces[:] = [np.concatenate(pieces)]
        return pieces[0].astype(np.int64)

    def below(self, bound: int | float) -> Iterator[tuple[int, bool]]:
        """The slices with rows that may be below a bound, and whether all of their rows are."""
        return self.reached(self._pieces, bound)

    def replace(self, number: int, places: np.ndarray) -> None:
        """Replace a slice by what is left of it."""
        self.nbytes -= sum(piece.nbytes for piece in self._pieces.pop(number))
        if len(places) or number in self._known:
            self._changed.add(number)
        else:  # a run that is never saved must not remember every slice that it ever had
            self._changed.discard(number)
        if len(places):
            self._pieces[number] = [places.astype(np.uint32)]
            self.nbytes += 4 * len(places)

    def touch(self, times: np.ndarray) -> None:
        """Note that other state of rows with these times has changed."""
        self._changed.update(np.unique(self.slots(times) >> self.shift).tolist())

    def take_changes(self) -> list[int]:
        """Slices that changed since they were last asked for; also numbers that are no longer in use."""
        changed = sorted(self._changed | self._narrow)
        self._known |= self._changed & self._pieces.keys()
        self._known -= self._changed - self._pieces.keys()
        self._changed, self._narrow = set(), set()
        return changed

    def are_known(self, numbers: Iterable[int]) -> None:
        """Note that these slices were loaded: if they go, that is reported."""
        self._known.update(numbers)

    def follow(self, before: TimeSlices) -> None:
        """Take the place of slices that hold nothing any more: this one reports that they are gone."""
        self._narrow = before._narrow | before._known

    def __contains__(self, number: int) -> bool:
        return number in self._pieces

    def numbers_of(self, times: np.ndarray) -> np.ndarray:
        """The slices that rows of these times stand in."""
        return self.slots(times) >> self.shift
