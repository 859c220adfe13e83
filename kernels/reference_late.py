"""The bounds that rows imply for the rows after them, and which rows are late, in NumPy.

Row i is late if it is below the bound implied by the rows before it, however they were cut into batches.
"""

from __future__ import annotations

import heapq
from typing import Any

import numpy as np

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


def prefix_bounds(times: Array, greatest: Number | None, slack: Number) -> tuple[Array, Number | None]:
    """`bounds[i]` = the greatest of `greatest` and `times[:i]`, minus slack; and the new greatest.

    With nothing seen the bound is the least value of the type. A NaN time implies nothing.

    >>> prefix_bounds(np.array([5, 9, 7, 12]), None, 2)[0].tolist() == [INT64_MIN, 3, 7, 7]
    True
    """
    times = check_times(times)
    floats = times.dtype == np.float64
    slack = check_slack(slack, floats)
    greatest = check_greatest(greatest, floats)
    least = least_of(times)
    known = _without_nan(times)
    highest = np.empty(len(times) + 1, times.dtype)
    highest[0] = least if greatest is None else greatest
    highest[1:] = known
    np.maximum.accumulate(highest, out=highest)
    seen_any = greatest is not None or (bool(len(times)) and not (floats and bool(np.isnan(times).all())))
    return _subtract_slack(highest[:-1], slack), highest[-1].item() if seen_any else None


def scan_times(times: Array, greatest: Number | None, slack: Number) -> tuple[bool, Number | None]:
    """Is any row below its `prefix_bounds`? And the new greatest. Most batches have none: then no array is needed.

    >>> scan_times(np.array([5, 9, 7, 12]), None, 2), scan_times(np.array([5, 9, 6]), None, 2)
    ((False, 12), (True, 9))
    """
    bounds, greatest = prefix_bounds(times, greatest, slack)
    return bool((times < bounds).any()), greatest


def prefix_bounds_rows(times: Array, greatest: Array, n: int) -> tuple[Array, Array]:
    """`bounds[i]` = the (n+1)-th greatest of `greatest` and `times[:i]`; and the new n+1 greatest, ascending.

    Aurora's slack (section 5.2.2 of its paper): a row is late if more than n greater ones came before it.

    >>> bounds, greatest = prefix_bounds_rows(np.array([1, 4, 2, 5]), np.array([], np.int64), 1)
    >>> bounds[2:].tolist(), greatest.tolist()
    ([1, 2], [4, 5])
    """
    times = check_times(times)
    check_array("greatest", greatest, times.dtype)
    if n < 0 or len(greatest) > n + 1:
        raise KernelError(f"slack by rows must keep from 0 to n + 1 = {n + 1} times, not {len(greatest)}")
    heap: list[Any] = sorted(greatest.tolist())
    bounds = np.full(len(times), least_of(times), times.dtype)
    for row, time in enumerate(times.tolist()):
        full = len(heap) > n
        if full:
            bounds[row] = heap[0]
        if time != time:
            continue
        if not full:
            heapq.heappush(heap, time)
        elif time > heap[0]:
            heapq.heapreplace(heap, time)
    return bounds, np.array(sorted(heap), times.dtype)


def prefix_bounds_by(times: Array, codes: Ints, greatest: Array, seen: Bools, slack: Number) -> Array:
    """`prefix_bounds` for each group apart: row i sees only earlier rows of group `codes[i]`.

    `greatest` and `seen`, by group, are brought up to date.

    >>> greatest, seen = np.zeros(2, np.int64), np.zeros(2, bool)
    >>> bounds = prefix_bounds_by(np.array([5, 9, 7]), np.array([0, 1, 0]), greatest, seen, 1)
    >>> int(bounds[2]), greatest.tolist(), seen.tolist()
    (4, [7, 9], [True, True])
    """
    times = check_times(times)
    slack = check_slack(slack, times.dtype == np.float64)
    check_array("greatest", greatest, times.dtype)
    check_array("seen", seen, np.bool_)
    check_out(len(greatest), greatest=greatest, seen=seen)
    check_ids(codes, len(greatest), len(times), "codes")
    least = least_of(times)
    if not len(times):
        return times.copy()
    known = _without_nan(times)
    order = np.argsort(codes, kind="stable")
    values, ranks = np.unique(known[order], return_inverse=True)
    groups = codes[order]
    starts = np.concatenate([[True], groups[1:] != groups[:-1]])
    # One running maximum serves all groups: a later group's keys exceed every key of an earlier one.
    lift = (np.cumsum(starts) - 1) * len(values)
    highest = values[np.maximum.accumulate(ranks + lift) - lift]
    before = np.concatenate([[least], highest[:-1]]).astype(times.dtype)
    before[starts] = least
    base = np.where(seen[groups], greatest[groups], least)
    bounds = np.empty_like(times)
    bounds[order] = _subtract_slack(np.maximum(before, base), slack)
    ends = np.concatenate([starts[1:], [True]])
    new = groups[ends]
    greatest[new] = np.maximum(highest, base)[ends]
    seen[codes if times.dtype == np.int64 else codes[~np.isnan(times)]] = True
    return bounds


def mark_late(times: Array, bounds: Array | Number) -> Bools:
    """Which times are below their bound: one for all, or one for each row. NaN is never late.

    >>> mark_late(np.array([1, 5, 3]), 4)
    array([ True, False,  True])
    """
    times = check_times(times)
    if isinstance(bounds, np.ndarray) and bounds.ndim:
        check_array("bounds", bounds, times.dtype, len(times))
        return times < bounds
    bound, closed = strict_bound(_as_number(bounds), times.dtype == np.float64)
    return times <= bound if closed else times < bound


def least_of(times: Array) -> Number:
    """The bound that promises nothing: the least value of the times' type."""
    return -np.inf if times.dtype == np.float64 else INT64_MIN


def _as_number(bound: Any) -> Number:
    return bound.item() if isinstance(bound, (np.ndarray, np.generic)) else bound


def _without_nan(times: Array) -> Array:
    return np.where(np.isnan(times), -np.inf, times) if times.dtype == np.float64 else times


def _subtract_slack(highest: Array, slack: Number) -> Array:
    """`highest - slack`, stopping at the least value of the type."""
    if highest.dtype == np.float64:
        return highest - slack
    left = min(int(slack), 2 * INT64_MAX + 1)
    while left:
        step = min(left, INT64_MAX)
        highest = np.maximum(highest, INT64_MIN + step) - step
        left -= step
    return highest.copy() if not slack else highest
