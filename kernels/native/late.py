"""The bounds that rows imply for the rows after them, and which rows are late, in C.

Slack that does not fit int64 is left to the reference kernels.
"""

from __future__ import annotations

import numpy as np

from oop.kernels.checks import BOOL, FLOAT64, INT64_MAX, Array, Bools, Ints, Real
from oop.kernels.native.library import FLOAT64S, INT64S, OK, check_code, contiguous, ffi, from_buffer, lib, point
from oop.kernels.reference import late as reference


def prefix_bounds(times: Array, greatest: Real | None, slack: Real) -> tuple[Array, Real | None]:
    floats = times.dtype == FLOAT64
    if not floats and slack > INT64_MAX:
        return reference.prefix_bounds(times, greatest, slack)
    bounds = np.empty_like(times)
    seen = ffi.new("int *", greatest is not None)
    highest = ffi.new("double *" if floats else "int64_t *", 0 if greatest is None else greatest)
    run = lib.oop_prefix_bounds_float if floats else lib.oop_prefix_bounds_int
    check_code(run(point(times), len(times), slack, highest, seen, point(bounds)))
    return bounds, highest[0] if seen[0] else None


def scan_times(times: Array, greatest: Real | None, slack: Real) -> tuple[bool, Real | None]:
    floats = times.dtype == FLOAT64
    if not floats and slack > INT64_MAX:
        return reference.scan_times(times, greatest, slack)
    flags = ffi.new("int[2]", [greatest is not None, 0])
    highest = ffi.new("double *" if floats else "int64_t *", 0 if greatest is None else greatest)
    run = lib.oop_scan_times_float if floats else lib.oop_scan_times_int
    code = run(from_buffer(FLOAT64S if floats else INT64S, times), len(times), slack, highest, flags, flags + 1)
    if code != OK:
        check_code(code)
    return bool(flags[1]), highest[0] if flags[0] else None


def prefix_bounds_rows(times: Array, greatest: Array, n: int) -> tuple[Array, Array]:
    # No more times can be kept than there are.
    heap = np.empty(min(n + 1, len(greatest) + len(times)), times.dtype)
    heap[: len(greatest)] = np.sort(greatest)
    held = ffi.new("int64_t *", len(greatest))
    bounds = np.empty_like(times)
    run = lib.oop_prefix_bounds_rows_float if times.dtype == FLOAT64 else lib.oop_prefix_bounds_rows_int
    check_code(run(point(times), len(times), n, point(heap), held, point(bounds)))
    return bounds, heap[: held[0]]


def prefix_bounds_by(times: Array, codes: Ints, greatest: Array, seen: Bools, slack: Real) -> Array:
    floats = times.dtype == FLOAT64
    if not floats and slack > INT64_MAX:
        return reference.prefix_bounds_by(times, codes, greatest, seen, slack)
    bounds = np.empty_like(times)
    run = lib.oop_prefix_bounds_by_float if floats else lib.oop_prefix_bounds_by_int
    arrays = point(greatest), point(seen), point(bounds)
    check_code(run(point(times), point(contiguous(codes)), len(times), len(greatest), slack, *arrays))
    return bounds


def find_late(times: Array, bounds: Array | Real, closed: bool) -> Bools:
    floats = times.dtype == FLOAT64
    late = np.empty(len(times), BOOL)
    if isinstance(bounds, np.ndarray):
        run = lib.oop_find_late_float if floats else lib.oop_find_late_int
        check_code(run(point(times), point(contiguous(bounds)), len(times), point(late)))
    else:
        run = lib.oop_find_late_all_float if floats else lib.oop_find_late_all_int
        check_code(run(point(times), len(times), bounds, closed, point(late)))
    return late
