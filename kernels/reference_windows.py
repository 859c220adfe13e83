"""Window ids, and the slots below a bound, in NumPy.

Window w covers [offset + w*slide, offset + w*slide + range). The time t is in the windows first..last (`wids`
in A.2.2 of the OOP paper): floor((t - offset - range) / slide) + 1 to floor((t - offset) / slide).
"""

from __future__ import annotations

import math

import numpy as np

from oop.errors import TimeError
from oop.kernels.checks import (
    Array,
    Floats,
    Ints,
    Number,
    check_times,
    check_window,
    float_time_limit,
    int_time_limits,
    time_error,
)
from oop.kernels.reference_late import mark_late


def wid_ranges(times: Array, range: Number, slide: Number, offset: Number) -> tuple[Ints, Ints]:
    """The first and last window of every time; first > last for a time in the gap between two windows.

    >>> wid_ranges(np.array([0, 11, -1]), 10, 3, 0)
    (array([-3,  1, -3]), array([ 0,  3, -1]))
    >>> wid_ranges(np.array([1.7, 3.0]), 3.5, 2.5, 1.5)
    (array([-1,  0]), array([0, 0]))
    """
    times = check_times(times)
    floats = times.dtype == np.float64
    check_window(range, slide, offset, floats)
    if floats:
        return _float_wid_ranges(times, float(range), float(slide), float(offset))
    range, slide, offset = int(range), int(slide), int(offset)
    low, high = int_time_limits(range, slide, offset)
    if len(times) and (times.min() < low or times.max() > high):
        bad = np.argmax((times < low) | (times > high))
        raise time_error(int(times[bad]), range, slide, offset)
    shifted = times - offset
    last = shifted // slide
    if range % slide == 0:
        return last - (range // slide - 1), last
    return (shifted - range) // slide + 1, last


def wid_bound(bound: Number, range: Number, slide: Number, offset: Number) -> int:
    """The least window that is still open when no time below `bound` can come any more.

    >>> wid_bound(20, 10, 3, 0), wid_bound(21, 10, 3, 0), wid_bound(22, 10, 3, 0)
    (4, 4, 5)
    """
    floats = any(isinstance(value, (float, np.floating)) for value in (bound, range, slide, offset))
    check_window(range, slide, offset, floats)
    if not floats:
        return (int(bound) - int(offset) - int(range)) // int(slide) + 1
    if not math.isfinite(bound):
        raise TimeError(f"bound {bound} has no window", hint="the end of a stream is a promise of its own")
    bound, range, slide, offset = float(bound), float(range), float(slide), float(offset)

    def is_open(wid: int) -> bool:
        try:
            return offset + float(wid) * slide + range > bound
        except OverflowError:
            return wid > 0

    # The quotient is off by rounding, and by a lot where float64 cannot tell windows apart: gallop from it.
    quotient = (bound - offset - range) / slide
    guess = math.floor(quotient) + 1 if math.isfinite(quotient) else (2**1024 if quotient > 0 else -(2**1024))
    step = 1
    if is_open(guess):
        while is_open(guess - step):
            step *= 2
        closed, still_open = guess - step, guess
    else:
        while not is_open(guess + step):
            step *= 2
        closed, still_open = guess, guess + step
    while still_open - closed > 1:
        middle = (closed + still_open) // 2
        if is_open(middle):
            still_open = middle
        else:
            closed = middle
    return still_open


def select_below(slots: Array, bound: Number) -> Ints:
    """The positions of the slots below a bound.

    >>> select_below(np.array([5, 1, 3]), 4)
    array([1, 2])
    """
    return np.flatnonzero(mark_late(slots, bound))


def select_not_below(slots: Array, bound: Number) -> Ints:
    """The positions that `select_below` leaves.

    >>> select_not_below(np.array([5, 1, 3]), 4)
    array([0])
    """
    return np.flatnonzero(~mark_late(slots, bound))


def _float_wid_ranges(times: Floats, range: float, slide: float, offset: float) -> tuple[Ints, Ints]:
    limit = float_time_limit(range, slide, offset)
    # Written so that NaN fails it.
    wrong = ~(np.abs(times) < limit)
    if wrong.any():
        raise time_error(float(times[np.argmax(wrong)]), range, slide, offset)
    first = np.floor((times - offset - range) / slide).astype(np.int64) + 1
    last = np.floor((times - offset) / slide).astype(np.int64)

    def starts(wids: Ints) -> Floats:
        return offset + wids.astype(np.float64) * slide

    # Each quotient was rounded: move until start <= t < end holds literally, as a reader would check it.
    while (move := starts(last) > times).any():
        last[move] -= 1
    while (move := starts(last + 1) <= times).any():
        last[move] += 1
    while (move := starts(first) + range <= times).any():
        first[move] += 1
    while (move := starts(first - 1) + range > times).any():
        first[move] -= 1
    return first, last
