"""The bounds that rows imply for the rows after them, and which rows are late, in Numba.

The loops serve both types of times: `floor` is the least time from which slack can be subtracted, `least` the
bound that a lesser time implies; both are minus infinity for floats, where no subtraction overflows.
"""

from __future__ import annotations

import numpy as np

from oop.kernels.checks import INT64_MAX, INT64_MIN, Array, Bools, Ints, Real
from oop.kernels.jit.compiler import as_input, compile_loop
from oop.kernels.signatures.late import least_of


def prefix_bounds(times: Array, greatest: Real | None, slack: Real) -> tuple[Array, Real | None]:
    bounds, least = np.empty(len(times), times.dtype), least_of(times)
    highest = least if greatest is None else greatest
    limits = *_split_slack(slack, times.dtype == np.float64), least
    highest, seen = _fill_bounds(as_input(times), greatest is not None, highest, *limits, bounds)
    return bounds, highest if seen else None


def scan_times(times: Array, greatest: Real | None, slack: Real) -> tuple[bool, Real | None]:
    least = least_of(times)
    highest = least if greatest is None else greatest
    limits = *_split_slack(slack, times.dtype == np.float64), least
    late, highest, seen = _scan(as_input(times), greatest is not None, highest, *limits)
    return late, highest if seen else None


def prefix_bounds_rows(times: Array, greatest: Array, n: int) -> tuple[Array, Array]:
    # However large n is, no more times can be held than there are.
    n = min(int(n), len(greatest) + len(times))
    heap = np.empty(n + 1, times.dtype)
    heap[: len(greatest)] = np.sort(greatest)
    bounds = np.empty(len(times), times.dtype)
    size = _fill_bounds_rows(as_input(times), n, heap, len(greatest), least_of(times), bounds)
    return bounds, np.sort(heap[:size])


def prefix_bounds_by(times: Array, codes: Ints, greatest: Array, seen: Bools, slack: Real) -> Array:
    bounds = np.empty(len(times), times.dtype)
    limits = *_split_slack(slack, times.dtype == np.float64), least_of(times)
    _fill_bounds_by(as_input(times), as_input(codes), greatest, seen, *limits, bounds)
    return bounds


def find_late(times: Array, bounds: Array | Real, closed: bool) -> Bools:
    late = np.empty(len(times), np.bool_)
    if isinstance(bounds, np.ndarray):
        _compare_rows(as_input(times), as_input(bounds), late)
    else:
        _compare_all(as_input(times), bounds, closed, late)
    return late


def _split_slack(slack: Real, floats: bool) -> tuple[Real, Real]:
    """Slack and `floor`; slack beyond int64 wraps, and from the floor on the difference wraps back."""
    if floats:
        return slack, -np.inf
    slack = min(int(slack), 2 * INT64_MAX + 1)
    return (slack if slack <= INT64_MAX else slack - 2**64), INT64_MIN + slack


@compile_loop
def _fill_bounds(
    times: Array, seen: bool, highest: Real, slack: Real, floor: Real, least: Real, bounds: Array
) -> tuple[Real, bool]:
    for i in range(len(times)):
        bounds[i] = least if highest < floor else highest - slack
        if times[i] > highest:
            highest = times[i]
        seen = seen or times[i] == times[i]
    return highest, seen


@compile_loop
def _scan(times: Array, seen: bool, highest: Real, slack: Real, floor: Real, least: Real) -> tuple[bool, Real, bool]:
    late = False
    for i in range(len(times)):
        late |= times[i] < (least if highest < floor else highest - slack)
        if times[i] > highest:
            highest = times[i]
        seen = seen or times[i] == times[i]
    return late, highest, seen


@compile_loop
def _fill_bounds_rows(times: Array, n: int, heap: Array, size: int, least: Real, bounds: Array) -> int:
    for i in range(len(times)):
        t = times[i]
        full = size > n
        bounds[i] = heap[0] if full else least
        if t != t or (full and t <= heap[0]):
            continue
        if full:
            at = 0
            while 2 * at + 1 < size:
                child = 2 * at + 1
                if child + 1 < size and heap[child + 1] < heap[child]:
                    child += 1
                if heap[child] >= t:
                    break
                heap[at] = heap[child]
                at = child
        else:
            at = size
            size += 1
            while at > 0 and heap[(at - 1) >> 1] > t:
                heap[at] = heap[(at - 1) >> 1]
                at = (at - 1) >> 1
        heap[at] = t
    return size


@compile_loop
def _fill_bounds_by(
    times: Array,
    codes: Ints,
    greatest: Array,
    seen: Bools,
    slack: Real,
    floor: Real,
    least: Real,
    bounds: Array,
) -> None:
    for i in range(len(times)):
        group = codes[i]
        highest = greatest[group] if seen[group] else least
        bounds[i] = least if highest < floor else highest - slack
        greatest[group] = times[i] if times[i] > highest else highest
        seen[group] = seen[group] or times[i] == times[i]


@compile_loop
def _compare_rows(times: Array, bounds: Array, late: Bools) -> None:
    for i in range(len(times)):
        late[i] = times[i] < bounds[i]


@compile_loop
def _compare_all(times: Array, bound: Real, closed: bool, late: Bools) -> None:
    for i in range(len(times)):
        late[i] = times[i] < bound or (closed and times[i] == bound)
