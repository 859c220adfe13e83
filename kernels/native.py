"""The kernels in C, through cffi: the only file that imports the compiled module.

Sizes and types are checked here; the C loops run without the GIL and report failure by a return code.
What is not here yet is the kernel of `oop.kernels.reference`.
"""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np

from oop.kernels.checks import (
    INT64_MAX,
    Array,
    Bools,
    Ints,
    KernelError,
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

_module = importlib.import_module("oop.kernels._native")
ffi: Any = _module.ffi
lib: Any = _module.lib


def wid_ranges(times: Array, range: Number, slide: Number, offset: Number) -> tuple[Ints, Ints]:
    """The first and last window of every time; see `oop.kernels.reference_windows.wid_ranges`."""
    times = check_times(times)
    floats = times.dtype == np.float64
    check_window(range, slide, offset, floats)
    first, last = np.empty(len(times), np.int64), np.empty(len(times), np.int64)
    bad = ffi.new("int64_t *")
    outs = _point(first), _point(last), bad
    if floats:
        limit = float_time_limit(float(range), float(slide), float(offset))
        code = lib.oop_wid_ranges_float(_point(times), len(times), range, slide, offset, limit, *outs)
    else:
        range, slide, offset = int(range), int(slide), int(offset)
        low, high = int_time_limits(range, slide, offset)
        code = lib.oop_wid_ranges_int(_point(times), len(times), range, slide, offset, low, high, *outs)
    if code == lib.OOP_TIME_OUTSIDE:
        raise time_error(times[bad[0]].item(), range, slide, offset)
    _check_code(code)
    return first, last


def prefix_bounds(times: Array, greatest: Number | None, slack: Number) -> tuple[Array, Number | None]:
    """The bound before each row; see `oop.kernels.reference_late.prefix_bounds`."""
    times = check_times(times)
    floats = times.dtype == np.float64
    slack = check_slack(slack, floats)
    greatest = check_greatest(greatest, floats)
    bounds = np.empty_like(times)
    if not floats and slack > INT64_MAX:
        # Only the upper half of the times can reach down so far: leave the rare case to the specification.
        from oop.kernels import reference

        return reference.prefix_bounds(times, greatest, slack)
    seen = ffi.new("int *", greatest is not None)
    highest = ffi.new("double *" if floats else "int64_t *", 0 if greatest is None else greatest)
    run = lib.oop_prefix_bounds_float if floats else lib.oop_prefix_bounds_int
    _check_code(run(_point(times), len(times), slack, highest, seen, _point(bounds)))
    return bounds, highest[0] if seen[0] else None


def mark_late(times: Array, bounds: Array | Number) -> Bools:
    """Which times are below their bound; see `oop.kernels.reference_late.mark_late`."""
    times = check_times(times)
    floats = times.dtype == np.float64
    late = np.empty(len(times), np.bool_)
    out = _point(late.view(np.uint8))
    if isinstance(bounds, np.ndarray) and bounds.ndim:
        check_array("bounds", bounds, times.dtype, len(times))
        run = lib.oop_mark_late_float if floats else lib.oop_mark_late_int
        _check_code(run(_point(times), _point(np.ascontiguousarray(bounds)), len(times), out))
        return late
    bound = bounds.item() if isinstance(bounds, (np.ndarray, np.generic)) else bounds
    bound, closed = strict_bound(bound, floats)
    run = lib.oop_mark_late_all_float if floats else lib.oop_mark_late_all_int
    _check_code(run(_point(times), len(times), bound, closed, out))
    return late


_C_TYPES = {"int64": "int64_t[]", "float64": "double[]", "uint8": "uint8_t[]"}


def _point(array: Array) -> Any:
    """A pointer that C may use while the call lasts: the caller holds the contiguous array."""
    return ffi.from_buffer(_C_TYPES[array.dtype.name], array)


def _check_code(code: int) -> None:
    if code != lib.OOP_OK:
        raise KernelError(f"a native kernel failed with code {code}")
