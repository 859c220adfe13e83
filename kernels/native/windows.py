"""Window ids, and rows by slice of time, in C."""

from __future__ import annotations

import numpy as np

from oop.kernels.checks import FLOAT64, INT64, Array, Ints, Real
from oop.kernels.native.library import FLOAT64S, INT64S, OK, check_code, contiguous, ffi, from_buffer, lib, point
from oop.kernels.scratch import new_array

# Slices that are less far apart than this are counted in an array; others are sorted.
COUNTED_SPAN = 65_536


def wid_ranges(times: Array, range: Real, slide: Real, offset: Real, low: Real, high: Real) -> tuple[Ints, Ints, int]:
    last = new_array(len(times), INT64)
    first = last if range == slide else new_array(len(times), INT64)  # in tumbling windows a row is in just one
    bad = ffi.new("int64_t *")
    outs = from_buffer(INT64S, first), from_buffer(INT64S, last), bad
    if times.dtype == FLOAT64:
        code = lib.oop_wid_ranges_float(from_buffer(FLOAT64S, times), len(times), range, slide, offset, high, *outs)
    else:
        code = lib.oop_wid_ranges_int(from_buffer(INT64S, times), len(times), range, slide, offset, low, high, *outs)
    if code == OK:
        return first, last, -1
    if code != lib.OOP_TIME_OUTSIDE:
        check_code(code)
    return first, last, bad[0]


def order_slots(slots: Ints, shift: int) -> tuple[Ints, Ints | None, Ints]:
    n = len(slots)
    if not n:
        return np.zeros(0, np.int64), None, np.zeros(1, np.int64)
    slots = contiguous(slots)
    limits = ffi.new("int64_t[2]")
    code = lib.oop_slice_limits(from_buffer(INT64S, slots), n, shift, limits, limits + 1)
    if code != OK:
        check_code(code)
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
    if len(found) <= span:  # some slices in between have no rows
        starts = np.append(starts[found], n)
    return found + least, order[:n], starts
