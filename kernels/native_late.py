"""The bounds that rows imply for the rows after them, and which rows are late, in C."""

from __future__ import annotations

import numpy as np

from oop.kernels import reference_late
from oop.kernels.checks import (
    INT64_MAX,
    INT64_MIN,
    Array,
    Bools,
    Ints,
    KernelError,
    Number,
    check_array,
    check_greatest,
    check_ids,
    check_out,
    check_slack,
    check_times,
    strict_bound,
)
from oop.kernels.native_library import check_code, contiguous, ffi, lib, point

_INT64 = np.dtype(np.int64)
_TIMES, _FLAGS, _HIGHEST = ffi.typeof("int64_t[]"), ffi.typeof("int[2]"), ffi.typeof("int64_t *")


def prefix_bounds(times: Array, greatest: Number | None, slack: Number) -> tuple[Array, Number | None]:
    """The bound before each row; see `oop.kernels.reference_late.prefix_bounds`."""
    times = check_times(times)
    floats = times.dtype == np.float64
    slack = check_slack(slack, floats)
    greatest = check_greatest(greatest, floats)
    if not floats and slack > INT64_MAX:
        # Only the upper half of the times can reach down so far: leave the rare case to the specification.
        return reference_late.prefix_bounds(times, greatest, slack)
    bounds = np.empty_like(times)
    seen = ffi.new("int *", greatest is not None)
    highest = ffi.new("double *" if floats else "int64_t *", 0 if greatest is None else greatest)
    run = lib.oop_prefix_bounds_float if floats else lib.oop_prefix_bounds_int
    check_code(run(point(times), len(times), slack, highest, seen, point(bounds)))
    return bounds, highest[0] if seen[0] else None


def scan_times(times: Array, greatest: Number | None, slack: Number) -> tuple[bool, Number | None]:
    """Is any row below its bound? See `oop.kernels.reference_late.scan_times`."""
    if (  # whole numbers are known to be right at a glance: every batch comes by here
        times.__class__ is np.ndarray
        and times.dtype == _INT64
        and times.ndim == 1
        and times.flags.c_contiguous
        and slack.__class__ is int
        and 0 <= slack <= INT64_MAX
        and (greatest is None or (greatest.__class__ is int and INT64_MIN <= greatest <= INT64_MAX))
    ):
        flags = ffi.new(_FLAGS, [greatest is not None, 0])
        reached = ffi.new(_HIGHEST, greatest or 0)
        code = lib.oop_scan_times_int(ffi.from_buffer(_TIMES, times), len(times), slack, reached, flags, flags + 1)
        if code != lib.OOP_OK:
            check_code(code)
        return bool(flags[1]), reached[0] if flags[0] else None
    times = check_times(times)
    floats = times.dtype == np.float64
    slack = check_slack(slack, floats)
    greatest = check_greatest(greatest, floats)
    if not floats and slack > INT64_MAX:
        return reference_late.scan_times(times, greatest, slack)
    flags = ffi.new("int[2]", [greatest is not None, 0])
    highest = ffi.new("double *" if floats else "int64_t *", 0 if greatest is None else greatest)
    run = lib.oop_scan_times_float if floats else lib.oop_scan_times_int
    check_code(run(point(times), len(times), slack, highest, flags, flags + 1))
    return bool(flags[1]), highest[0] if flags[0] else None


def prefix_bounds_rows(times: Array, greatest: Array, n: int) -> tuple[Array, Array]:
    """The (n+1)-th greatest before each row; see `oop.kernels.reference_late.prefix_bounds_rows`."""
    times = check_times(times)
    check_array("greatest", greatest, times.dtype)
    if n < 0 or len(greatest) > n + 1:
        raise KernelError(f"slack by rows must keep from 0 to n + 1 = {n + 1} times, not {len(greatest)}")
    # More than are there cannot be kept.
    heap = np.empty(min(n + 1, len(greatest) + len(times)), times.dtype)
    heap[: len(greatest)] = np.sort(greatest)
    held = ffi.new("int64_t *", len(greatest))
    bounds = np.empty_like(times)
    run = lib.oop_prefix_bounds_rows_float if times.dtype == np.float64 else lib.oop_prefix_bounds_rows_int
    check_code(run(point(times), len(times), n, point(heap), held, point(bounds)))
    return bounds, heap[: held[0]]


def prefix_bounds_by(times: Array, codes: Ints, greatest: Array, seen: Bools, slack: Number) -> Array:
    """`prefix_bounds` for each group apart; see `oop.kernels.reference_late.prefix_bounds_by`."""
    times = check_times(times)
    floats = times.dtype == np.float64
    slack = check_slack(slack, floats)
    check_array("greatest", greatest, times.dtype)
    check_array("seen", seen, np.bool_)
    check_out(len(greatest), greatest=greatest, seen=seen)
    check_ids(codes, len(greatest), len(times), "codes")
    if not floats and slack > INT64_MAX:
        return reference_late.prefix_bounds_by(times, codes, greatest, seen, slack)
    bounds = np.empty_like(times)
    run = lib.oop_prefix_bounds_by_float if floats else lib.oop_prefix_bounds_by_int
    arrays = point(greatest), point(seen), point(bounds)
    check_code(run(point(times), point(contiguous(codes)), len(times), len(greatest), slack, *arrays))
    return bounds


def mark_late(times: Array, bounds: Array | Number) -> Bools:
    """Which times are below their bound; see `oop.kernels.reference_late.mark_late`."""
    times = check_times(times)
    floats = times.dtype == np.float64
    late = np.empty(len(times), np.bool_)
    if isinstance(bounds, np.ndarray) and bounds.ndim:
        check_array("bounds", bounds, times.dtype, len(times))
        run = lib.oop_mark_late_float if floats else lib.oop_mark_late_int
        check_code(run(point(times), point(contiguous(bounds)), len(times), point(late)))
        return late
    bound = bounds.item() if isinstance(bounds, (np.ndarray, np.generic)) else bounds
    bound, closed = strict_bound(bound, floats)
    run = lib.oop_mark_late_all_float if floats else lib.oop_mark_late_all_int
    check_code(run(point(times), len(times), bound, closed, point(late)))
    return late
