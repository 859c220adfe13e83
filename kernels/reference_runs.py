"""Sorted runs into one, in NumPy."""

from __future__ import annotations

import numpy as np

from oop.kernels.checks import Array, Ints, KernelError, check_array, check_times


def merge_runs(values: Array, starts: Ints) -> Ints:
    """The rows of sorted runs that lie one after the other, merged: of equal values that of the earlier run first.

    Run i is ``values[starts[i]:starts[i + 1]]``. NaN is greater than every number.

    >>> merge_runs(np.array([1, 4, 6, 2, 4]), np.array([0, 3, 5]))
    array([0, 3, 1, 4, 2])
    """
    values = check_runs(values, starts)
    falls = (values[1:] < values[:-1]) | ((values[:-1] != values[:-1]) & (values[1:] == values[1:]))
    begins = np.zeros(len(values) + 1, np.bool_)
    begins[starts] = True
    if (falls & ~begins[1:-1]).any():
        raise not_sorted()
    return np.argsort(values, kind="stable")


def check_runs(values: Array, starts: Ints) -> Array:
    """What `merge_runs` is given fits together; the values, contiguous."""
    values = check_times(values)
    check_array("starts", starts, np.int64)
    if len(starts) < 2 or starts[0] != 0 or starts[-1] != len(values) or (starts[1:] < starts[:-1]).any():
        raise KernelError(f"the starts of runs must ascend from 0 to the number of rows, {len(values)}")
    return values


def not_sorted() -> KernelError:
    return KernelError("a run does not ascend")
