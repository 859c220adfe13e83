"""Window ids and slices of slots, in C."""

from __future__ import annotations

import numpy as np

from oop.kernels.checks import (
    Array,
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
from oop.kernels.native_late import mark_late
from oop.kernels.native_library import check_code, contiguous, ffi, lib, point
from oop.kernels.scratch import new_array

# Slices this far apart are counted in an array; beyond it they are sorted.
COUNTED_SPAN = 65_536


def wid_ranges(times: Array, range: Number, slide: Number, offset: Number) -> tuple[Ints, Ints]:
    """The first and last window of every time; see `oop.kernels.reference_windows.wid_ranges`."""
    times = check_times(times)
    floats = times.dtype == np.float64
    check_window(range, slide, offset, floats)
    last = new_array(len(times), np.int64)
    first = last if range == slide else new_array(len(times), np.int64)  # a row of a tumbling window has just one
    bad = ffi.new("int64_t *")
    outs = point(first), point(last), bad
    if floats:
        limit = float_time_limit(float(range), float(slide), float(offset))
        code = lib.oop_wid_ranges_float(point(times), len(times), range, slide, offset, limit, *outs)
    else:
        range, slide, offset = int(range), int(slide), int(offset)
        low, high = int_time_limits(range, slide, offset)
        code = lib.oop_wid_ranges_int(point(times), len(times), range, slide, offset, low, high, *outs)
    if code == lib.OOP_TIME_OUTSIDE:
        raise time_error(times[bad[0]].item(), range, slide, offset)
    check_code(code)
    return first, last


def select_below(slots: Array, bound: Number) -> Ints:
    """The positions of the slots below a bound; see `oop.kernels.reference_windows.select_below`."""
    return np.flatnonzero(mark_late(slots, bound))


def select_not_below(slots: Array, bound: Number) -> Ints:
    """The positions that `select_below` leaves; see `oop.kernels.reference_windows.select_not_below`."""
    return np.flatnonzero(~mark_late(slots, bound))


def order_slots(slots: Ints, shift: int) -> tuple[Ints, Ints | None, Ints]:
    """The distinct slices, and the rows of each together; see `oop.kernels.reference_windows.order_slots`."""
    check_array("slots", slots, np.int64)
    if not 0 <= shift < 64:
        raise KernelError(f"shift must be from 0 to 63, not {shift}")
    n = len(slots)
    if not n:
        return np.zeros(0, np.int64), None, np.zeros(1, np.int64)
    slots = contiguous(slots)
    limits = ffi.new("int64_t[2]")
    check_code(lib.oop_slice_limits(point(slots), n, shift, limits, limits + 1))
    least, span = limits[0], limits[1] - limits[0]
    if not span:
        return np.array([least]), None, np.array([0, n])
    order = new_array(n + 1, np.int64)  # the last place takes what C writes beyond the end
    if span >= COUNTED_SPAN:
        check_code(lib.oop_sort_slices(point(slots), n, shift, point(order), point(np.empty(n, np.int64))))
        numbers, firsts = np.unique(slots[order[:n]] >> shift, return_index=True)
        return numbers, order[:n], np.append(firsts, n)
    starts = np.empty(span + 2, np.int64)
    check_code(lib.oop_order_slices(point(slots), n, shift, least, span, point(order), point(starts)))
    found = np.flatnonzero(starts[1:] > starts[:-1])
    if len(found) <= span:  # some in between have no rows
        starts = np.append(starts[found], n)
    return found + least, order[:n], starts
