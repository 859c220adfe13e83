"""When two rows of a join are close enough in time, and what a promise on one side then says about the other.

A row has a *point* on the axis on which rows meet: its time itself for a band, its window for a window join. ``L`` and
``R`` are the bounds promised for the left and the right time.
"""

from __future__ import annotations

import math

import numpy as np

from oop.frozen import frozen
from oop.kernels.signatures.joins import Reach
from oop.operators.windows.windows import Windows
from oop.punctuation.patterns import Bound
from oop.punctuation.search import least_float

LEFT, RIGHT = 0, 1


@frozen()
class Band:
    """``lo <= r.ts - l.ts <= hi``; an end may be open, or infinite.

    >>> band = Band(-2, 3, lo_open=True, hi_open=True)
    >>> band.promise(LEFT, 14), band.promise(RIGHT, 12)
    (11, 10)
    >>> band.least_held(LEFT, 14), band.least_held(RIGHT, 12)
    (12, 11)
    """

    lo: Bound
    hi: Bound
    lo_open: bool = False
    hi_open: bool = False

    @property
    def span(self) -> Bound:
        return self.hi - self.lo

    @property
    def is_equality(self) -> bool:
        """Does each point meet exactly one point of the other side?"""
        return self.lo == self.hi and (isinstance(self.lo, int) or self.lo == 0)

    @property
    def keeps_time(self) -> bool:
        """Is the point of a row its time?"""
        return True

    def points(self, times: np.ndarray) -> np.ndarray:
        return times

    def reach(self, side: int) -> Reach:
        """The points, relative to an arriving row of the other side, at which rows held on ``side`` meet that row."""
        if side == RIGHT:
            return Reach(self.lo, self.hi, self.lo_open, self.hi_open)
        return Reach(-self.hi, -self.lo, self.hi_open, self.lo_open)

    def promise(self, side: int, bound: Bound) -> Bound | None:
        """The bound on the times of ``side`` in later pairs that follows from the other side's bound.

        For the left side it is ``R - hi``, for the right side ``L + lo``."""
        return self._least(side, bound, False)

    def least_held(self, side: int, bound: Bound | None) -> Bound:
        """The least point on ``side`` that may still meet a row of the other side, which has promised ``bound``."""
        least = None if bound is None else self._least(side, bound, self.hi_open if side == LEFT else self.lo_open)
        return -math.inf if least is None else least

    def _least(self, side: int, bound: Bound, strict: bool) -> Bound | None:
        apart = self.hi if side == LEFT else self.lo
        if math.isinf(bound):
            return bound
        if math.isinf(apart):
            return None
        if isinstance(bound, int) and isinstance(apart, int):
            return (bound - apart if side == LEFT else bound + apart) + strict
        # A pair of floats is judged by its rounded difference, so search for the least time that passes that test.
        if side == LEFT:
            return least_float(lambda t: bound - t < apart if strict else bound - t <= apart)
        return least_float(lambda t: t - bound > apart if strict else t - bound >= apart)


@frozen()
class SameWindow:
    """Both rows are in the same tumbling window (Q6): equality on a function of the time."""

    grid: Windows
    span = 0
    is_equality = True
    keeps_time = False

    def points(self, times: np.ndarray) -> np.ndarray:
        return self.grid.wids(times)[0]

    def reach(self, side: int) -> Reach:
        return Reach(0, 0)

    def promise(self, side: int, bound: Bound) -> Bound | None:
        """``start(wid(R))``: a window that may still get a row of the other side begins there at the earliest."""
        if math.isinf(bound):
            return bound
        wid = self.grid.wid_bound(bound)
        return None if wid is None else self.grid.start(wid)

    def least_held(self, side: int, bound: Bound | None) -> Bound:
        if bound is None or math.isinf(bound):
            return -math.inf if bound is None else bound
        wid = self.grid.wid_bound(bound)
        return -math.inf if wid is None else wid
