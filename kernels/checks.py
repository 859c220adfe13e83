"""The checks that declarations make before a body touches memory, the types of arrays, and the errors of kernels."""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from oop.errors import OopError, TimeError

INT64_MIN = -(2**63)
INT64_MAX = 2**63 - 1

# Dtypes are compared with these, because NumPy would build a dtype from np.float64 for each comparison.
INT64, UINT64 = np.dtype(np.int64), np.dtype(np.uint64)
FLOAT64, BOOL = np.dtype(np.float64), np.dtype(np.bool_)

# Beyond this many slides from zero, neighbouring window starts are no longer distinct float64 numbers.
FLOAT_WID_LIMIT = 2.0**50

Real = int | float
Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]
Words = NDArray[np.uint64]
Array = NDArray[Any]


class KernelError(OopError, ValueError):
    """A kernel was called with arrays that do not fit together, or does not exist."""


class ShardFull(KernelError):
    """A shard has more rows than its arrays have room for."""

    def __init__(self) -> None:
        super().__init__("a shard has more rows than its arrays have room for")


def check_times(times: Array) -> Array:
    """Check that times are a one-dimensional int64 or float64 array; return them contiguous."""
    if not isinstance(times, np.ndarray) or times.ndim != 1 or times.dtype not in (INT64, FLOAT64):
        shown = type(times).__name__
        if isinstance(times, np.ndarray):
            shown = f"{times.dtype} of {times.ndim} dimensions"
        raise KernelError(f"times must be a one-dimensional int64 or float64 array, not {shown}")
    return np.ascontiguousarray(times)


def check_array(name: str, array: Array, dtype: Any, length: int | None = None) -> None:
    """Check that `array` is one-dimensional, of this dtype and, if given, this length."""
    if not isinstance(array, np.ndarray) or array.ndim != 1 or array.dtype != dtype:
        raise KernelError(f"{name} must be a one-dimensional {np.dtype(dtype)} array")
    if length is not None and len(array) != length:
        raise KernelError(f"{name} has {len(array)} rows, not {length}")


def check_out(size: int, **outs: Array) -> None:
    """Check that every output array is one-dimensional, writable and holds `size` groups."""
    for name, out in outs.items():
        if not isinstance(out, np.ndarray) or out.ndim != 1 or len(out) != size:
            raise KernelError(f"{name} must be a one-dimensional array of {size} groups")
        if not out.flags.writeable:
            raise KernelError(f"{name} must be writable")


def check_writable(**outs: Array) -> None:
    """Check that every output array can be written."""
    for name, out in outs.items():
        if not out.flags.writeable:
            raise KernelError(f"{name} must be writable")


def check_ids(ids: Array, size: int, length: int | None = None, name: str = "ids") -> Ints:
    """Check that ids are int64, `length` of them if that is given, and all below `size`."""
    check_array(name, ids, INT64, length)
    # One unsigned pass finds both a negative id and one that is too large.
    if len(ids) and int(ids.view(np.uint64).max()) >= size:
        raise KernelError(f"{name} must be from 0 to {size - 1}; found {int(ids.min())} to {int(ids.max())}")
    return ids


def check_counts(counts: Ints) -> None:
    """Check that the counts of groups are a one-dimensional int64 array that can be written."""
    if not isinstance(counts, np.ndarray) or counts.ndim != 1 or counts.dtype != INT64:
        raise KernelError("counts must be a one-dimensional int64 array")
    if not counts.flags.writeable:
        raise KernelError("counts must be writable")


def check_valid(valid: Bools | None, length: int, name: str = "valid") -> Bools | None:
    """Check that a validity mask is a bool array of `length` rows, or None if all are valid."""
    if valid is not None:
        check_array(name, valid, BOOL, length)
    return valid


def check_window(range: Real, slide: Real, offset: Real, floats: bool) -> None:
    """Check that a window has a positive range and slide, and integers for integer times."""
    for name, value in (("range", range), ("slide", slide), ("offset", offset)):
        if isinstance(value, bool) or not isinstance(value, (int, float, np.integer, np.floating)):
            raise KernelError(f"window {name} must be a number, not {type(value).__name__}")
        if not floats and not isinstance(value, (int, np.integer)):
            raise KernelError(f"window {name} must be an integer for integer times, not {value!r}")
        if floats and not math.isfinite(value):
            raise KernelError(f"window {name} must be finite, not {value!r}")
    if range <= 0 or slide <= 0:
        raise KernelError(f"window range and slide must be positive, not {range} and {slide}")


@functools.lru_cache(maxsize=256, typed=True)
def whole_window_limits(range: int, slide: int, offset: int) -> tuple[int, int]:
    """`check_window` and `int_time_limits` in one, cached because every batch asks about the same window."""
    check_window(range, slide, offset, floats=False)
    return int_time_limits(range, slide, offset)


def int_time_limits(range: int, slide: int, offset: int) -> tuple[int, int]:
    """The least and greatest int64 time whose windows can be computed without overflow.

    >>> int_time_limits(10, 3, 0) == (INT64_MIN + 13, INT64_MAX - 13)
    True
    """
    margin = int(range) + int(slide) + abs(int(offset))
    low, high = INT64_MIN + margin, INT64_MAX - margin
    if low > high or margin > INT64_MAX:
        raise TimeError(
            f"windows of range {range}, slide {slide} and offset {offset} do not fit 64-bit times",
            hint="use a smaller range, slide and offset, or a coarser time unit",
        )
    return low, high


def float_time_limit(range: float, slide: float, offset: float) -> float:
    """The magnitude below which float64 tells the windows of a time apart."""
    limit = float(slide) * FLOAT_WID_LIMIT
    if max(float(range), abs(float(offset))) >= limit:
        raise TimeError(
            f"windows of range {range}, slide {slide} and offset {offset} are too fine for float64 times",
            hint="use a larger slide, or integer times",
        )
    return limit


def time_error(time: Real, range: Real, slide: Real, offset: Real) -> TimeError:
    """The error for a time that is outside the limits above, or not finite."""
    if isinstance(time, int):
        return TimeError(
            f"time {time} is too close to the limit of 64-bit integers for windows of range {range}, "
            f"slide {slide} and offset {offset}",
            hint="drop such rows, or use a coarser time unit",
        )
    if not math.isfinite(time):
        return TimeError(f"time {time} has no window", hint="drop rows whose time is NaN or infinite")
    return TimeError(
        f"time {time} is too far from zero for windows every {float(slide)} in float64",
        hint="use integer times, or a larger slide",
    )


def check_slack(slack: Real, floats: bool) -> Real:
    """Check that slack is a finite number that is not negative, and an integer for integer times."""
    if not floats and not isinstance(slack, (int, np.integer)):
        raise KernelError(f"slack must be an integer for integer times, not {slack!r}")
    if not (slack >= 0) or not math.isfinite(slack):
        raise KernelError(f"slack must be finite and not negative, not {slack!r}")
    return float(slack) if floats else int(slack)


def check_greatest(greatest: Real | None, floats: bool) -> Real | None:
    """Check the greatest time seen: None, or a number that its time column could hold. NaN becomes None."""
    if greatest is None:
        return None
    if floats:
        return None if math.isnan(greatest) else float(greatest)
    if not isinstance(greatest, (int, np.integer)) or not INT64_MIN <= greatest <= INT64_MAX:
        raise KernelError(f"greatest must be a 64-bit integer for integer times, not {greatest!r}")
    return int(greatest)


def strict_bound(bound: Real, floats: bool) -> tuple[Real, bool]:
    """`(b, closed)` such that `t < bound` is exactly `t < b` (or `t <= b` if closed) in the times' own type.

    Without this, NumPy and C would compare an integer with a float after rounding one of them.

    >>> strict_bound(2.5, floats=False), strict_bound(2**53 + 1, floats=True)
    ((3, False), (9007199254740992.0, True))
    """
    if isinstance(bound, float) and math.isnan(bound):
        return (-math.inf if floats else INT64_MIN), False
    if floats:
        try:
            near = float(bound)
        except OverflowError:
            # The bound is beyond every finite float, and only infinity is not below it.
            return (math.inf, False) if bound > 0 else (-math.inf, True)
        return near, near < bound
    if isinstance(bound, float) and math.isinf(bound):
        return (INT64_MAX, True) if bound > 0 else (INT64_MIN, False)
    least = math.ceil(bound)
    if least > INT64_MAX:
        return INT64_MAX, True
    return max(least, INT64_MIN), False
