"""Window ids, and the slots below a bound, in NumPy.

Window w covers [offset + w*slide, offset + w*slide + range). The time t is in the windows first..last (`wids`
in A.2.2 of the OOP paper): floor((t - offset - range) / slide) + 1 to floor((t - offset) / slide).
A tumbling window (range = slide) of float times ends where the next one starts, whatever rounding makes of the sum,
so that every time is in exactly one.
"""

from __future__ import annotations

import numpy as np

from oop.kernels.checks import (
    Array,
    Floats,
    Ints,
    KernelError,
    Number,
    check_array,
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


def order_slots(slots: Ints, shift: int) -> tuple[Ints, Ints | None, Ints]:
    """Slices of 2**shift slots: the distinct ones ascending, and the rows of each together and in order.

    Slice `numbers[i]` has the rows `order[starts[i]:starts[i + 1]]`; where there is only one slice, order is None.

    >>> numbers, order, starts = order_slots(np.array([5, 9, 4, 5]), 1)
    >>> numbers.tolist(), order.tolist(), starts.tolist()
    ([2, 4], [0, 2, 3, 1], [0, 3, 4])
    """
    check_array("slots", slots, np.int64)
    if not 0 <= shift < 64:
        raise KernelError(f"shift must be from 0 to 63, not {shift}")
    sliced = slots >> shift
    if not len(slots) or (sliced == sliced[0]).all():
        return sliced[:1].copy(), None, np.array([0, len(slots)] if len(slots) else [0])
    order = np.argsort(sliced, kind="stable")
    numbers, firsts = np.unique(sliced[order], return_index=True)
    return numbers, order, np.append(firsts, len(slots))


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
    if range == slide:
        return last.copy(), last
    while (move := starts(first) + range <= times).any():
        first[move] += 1
    while (move := starts(first - 1) + range > times).any():
        first[move] -= 1
    return first, last
