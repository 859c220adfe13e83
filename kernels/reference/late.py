"""The bounds that rows imply for the rows after them, and which rows are late, in NumPy."""

from __future__ import annotations

import heapq
from typing import Any

import numpy as np

from oop.kernels.checks import INT64_MAX, INT64_MIN, Array, Bools, Ints, Real
from oop.kernels.signatures.late import least_of


def prefix_bounds(times: Array, greatest: Real | None, slack: Real) -> tuple[Array, Real | None]:
    floats = times.dtype == np.float64
    least = least_of(times)
    known = _without_nan(times)
    highest = np.empty(len(times) + 1, times.dtype)
    highest[0] = least if greatest is None else greatest
    highest[1:] = known
    np.maximum.accumulate(highest, out=highest)
    seen_any = greatest is not None or (bool(len(times)) and not (floats and bool(np.isnan(times).all())))
    return _subtract_slack(highest[:-1], slack), highest[-1].item() if seen_any else None


def scan_times(times: Array, greatest: Real | None, slack: Real) -> tuple[bool, Real | None]:
    bounds, greatest = prefix_bounds(times, greatest, slack)
    return bool((times < bounds).any()), greatest


def prefix_bounds_rows(times: Array, greatest: Array, n: int) -> tuple[Array, Array]:
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


def prefix_bounds_by(times: Array, codes: Ints, greatest: Array, seen: Bools, slack: Real) -> Array:
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


def find_late(times: Array, bounds: Array | Real, closed: bool) -> Bools:
    return times <= bounds if closed else times < bounds


def _without_nan(times: Array) -> Array:
    return np.where(np.isnan(times), -np.inf, times) if times.dtype == np.float64 else times


def _subtract_slack(highest: Array, slack: Real) -> Array:
    """`highest - slack`, stopping at the least value of the type."""
    if highest.dtype == np.float64:
        return highest - slack
    left = min(int(slack), 2 * INT64_MAX + 1)
    while left:
        step = min(left, INT64_MAX)
        highest = np.maximum(highest, INT64_MIN + step) - step
        left -= step
    return highest.copy() if not slack else highest
