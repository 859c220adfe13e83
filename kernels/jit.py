"""The kernels in Numba: the only file that imports numba, and it is imported only when it is chosen.

Loops are compiled at their first call, in each process; `OOP_JIT_CACHE=1` keeps them on disk.
What is not here yet is the kernel of `oop.kernels.reference`.
"""

from __future__ import annotations

import math
import os
from typing import Any

import numba
import numpy as np

from oop.kernels.checks import (
    INT64_MAX,
    INT64_MIN,
    Array,
    Bools,
    Floats,
    Ints,
    Number,
    check_array,
    check_greatest,
    check_slack,
    check_times,
    check_window,
    float_time_limit,
    int_time_limits,
    strict_bound,
    time_error,
)

# No fastmath: it would fuse or reorder what must be rounded as in the other implementations.
compile_loop: Any = numba.njit(nogil=True, cache=os.environ.get("OOP_JIT_CACHE") == "1")


def wid_ranges(times: Array, range: Number, slide: Number, offset: Number) -> tuple[Ints, Ints]:
    """The first and last window of every time; see `oop.kernels.reference_windows.wid_ranges`."""
    times = check_times(times)
    floats = times.dtype == np.float64
    check_window(range, slide, offset, floats)
    first, last = np.empty(len(times), np.int64), np.empty(len(times), np.int64)
    if floats:
        window = float(range), float(slide), float(offset)
        bad = _fill_wids_float(times, *window, float_time_limit(*window), first, last)
    else:
        range, slide, offset = int(range), int(slide), int(offset)
        low, high = int_time_limits(range, slide, offset)
        bad = _fill_wids_int(times, range, slide, offset, low, high, first, last)
    if bad >= 0:
        raise time_error(times[bad].item(), range, slide, offset)
    return first, last


def prefix_bounds(times: Array, greatest: Number | None, slack: Number) -> tuple[Array, Number | None]:
    """The bound before each row; see `oop.kernels.reference_late.prefix_bounds`."""
    times = check_times(times)
    floats = times.dtype == np.float64
    slack = check_slack(slack, floats)
    greatest = check_greatest(greatest, floats)
    bounds = np.empty_like(times)
    if floats:
        highest, seen = _fill_bounds_float(
            times, greatest is not None, 0.0 if greatest is None else greatest, slack, bounds
        )
    elif slack > INT64_MAX:
        # Only the upper half of the times can reach down so far: leave the rare case to the specification.
        from oop.kernels import reference

        return reference.prefix_bounds(times, greatest, slack)
    else:
        highest, seen = _fill_bounds_int(times, greatest is not None, greatest or 0, slack, bounds)
    return bounds, highest if seen else None


def mark_late(times: Array, bounds: Array | Number) -> Bools:
    """Which times are below their bound; see `oop.kernels.reference_late.mark_late`."""
    times = check_times(times)
    late = np.empty(len(times), np.bool_)
    if isinstance(bounds, np.ndarray) and bounds.ndim:
        check_array("bounds", bounds, times.dtype, len(times))
        _compare_rows(times, np.ascontiguousarray(bounds), late)
        return late
    bound = bounds.item() if isinstance(bounds, (np.ndarray, np.generic)) else bounds
    _compare_all(times, *strict_bound(bound, times.dtype == np.float64), late)
    return late


@compile_loop
def _fill_wids_int(
    times: Ints, span: int, slide: int, offset: int, low: int, high: int, first: Ints, last: Ints
) -> int:
    for i in range(len(times)):
        if times[i] < low or times[i] > high:
            return i
    for i in range(len(times)):
        shifted = times[i] - offset
        last[i] = shifted // slide
        first[i] = (shifted - span) // slide + 1
    return -1


@compile_loop
def _fill_wids_float(
    times: Floats, span: float, slide: float, offset: float, limit: float, first: Ints, last: Ints
) -> int:
    for i in range(len(times)):
        # Written so that NaN fails it.
        if not (abs(times[i]) < limit):
            return i
    for i in range(len(times)):
        t = times[i]
        a = np.int64(math.floor((t - offset - span) / slide)) + 1
        b = np.int64(math.floor((t - offset) / slide))
        # Each quotient was rounded: move until start <= t < end holds literally.
        while offset + b * slide > t:
            b -= 1
        while offset + (b + 1) * slide <= t:
            b += 1
        if span == slide:
            a = b  # a tumbling window ends where the next one starts
        else:
            while offset + a * slide + span <= t:
                a += 1
            while offset + (a - 1) * slide + span > t:
                a -= 1
        first[i] = a
        last[i] = b
    return -1


@compile_loop
def _fill_bounds_int(times: Ints, seen: bool, greatest: int, slack: int, bounds: Ints) -> tuple[int, bool]:
    highest = greatest if seen else INT64_MIN
    floor = INT64_MIN + slack
    for i in range(len(times)):
        bounds[i] = INT64_MIN if highest < floor else highest - slack
        highest = max(highest, times[i])
    return highest, seen or len(times) > 0


@compile_loop
def _fill_bounds_float(times: Floats, seen: bool, greatest: float, slack: float, bounds: Floats) -> tuple[float, bool]:
    highest = greatest if seen else -np.inf
    for i in range(len(times)):
        bounds[i] = highest - slack
        if times[i] > highest:
            highest = times[i]
        seen = seen or times[i] == times[i]
    return highest, seen


@compile_loop
def _compare_rows(times: Array, bounds: Array, late: Bools) -> None:
    for i in range(len(times)):
        late[i] = times[i] < bounds[i]


@compile_loop
def _compare_all(times: Array, bound: Number, closed: bool, late: Bools) -> None:
    for i in range(len(times)):
        late[i] = times[i] < bound or (closed and times[i] == bound)
