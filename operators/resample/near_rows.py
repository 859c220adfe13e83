"""Which right rows are near a left value: ``|t.A - u.B| <= s`` of Resample, for many at once (Aurora paper, section
5.2.2.4)."""

from __future__ import annotations

import numpy as np

from oop.operators.core.coverage import INT64_MAX, INT64_MIN
from oop.operators.core.stretches import numbers_in

_MOST_PAIRS = 1_000_000  # pairs that are laid out at once
_SLOP = 2.0**-50  # a relative error above that of a rounded sum of two floats


def near_rows(
    lefts: np.ndarray, first: np.ndarray, last: np.ndarray, times: np.ndarray, size: int | float
) -> list[tuple[np.ndarray, np.ndarray]]:
    """All pairs of a left value (by its number in ``lefts``, ascending) and a right row with
    ``|left - right| <= size``. For each right row only lefts with a number from ``first`` up to ``last`` count. Pairs
    are in order of the left values, then of the right rows.

    >>> ends = np.zeros(3, int), np.full(3, 2)
    >>> [(a.tolist(), b.tolist()) for a, b in near_rows(np.array([10, 20]), *ends, np.array([12, 15, 40]), 5)]
    [([0, 0, 1], [0, 1, 1])]
    """
    low, high = _reach(times, size)
    begins = np.maximum(first, np.searchsorted(lefts, low, "left"))
    counts = np.maximum(np.minimum(last, np.searchsorted(lefts, high, "right")) - begins, 0)
    total = int(counts.sum())
    if not total:
        return []
    if total > _MOST_PAIRS and len(lefts) > 1:  # in two, so that the pairs of a left value stay together
        middle = len(lefts) // 2
        lower = near_rows(lefts[:middle], first, np.minimum(last, middle), times, size)
        upper = near_rows(lefts[middle:], np.maximum(first - middle, 0), last - middle, times, size)
        return lower + [(left + middle, row) for left, row in upper]
    rows = np.repeat(np.arange(len(times)), counts)
    numbers = numbers_in(begins, counts)
    if times.dtype == np.float64:  # the rounded difference decides
        near = np.abs(lefts[numbers] - times[rows]) <= size
        rows, numbers = rows[near], numbers[near]
    order = np.argsort(numbers, kind="stable")
    return [(numbers[order], rows[order])] if len(rows) else []


def _reach(times: np.ndarray, size: int | float) -> tuple[np.ndarray, np.ndarray]:
    """The least and greatest left value that a right row is near to; for floats somewhat wider."""
    if times.dtype == np.float64:
        wide = size + (np.abs(times) + size) * _SLOP
        return times - wide, times + wide
    low = np.where(times < INT64_MIN + size, INT64_MIN, times - size)
    return low, np.where(times > INT64_MAX - size, INT64_MAX, times + size)


def is_near_or_above(times: np.ndarray, least: np.ndarray, size: int | float) -> np.ndarray:
    """Which right rows may be near a left value that is at least ``least``?"""
    above = times >= least
    if times.dtype == np.float64:
        return above | (least - times <= size)
    # The difference of two int64 may be more than int64 holds, so it is taken as unsigned.
    return above | ((least - times).view(np.uint64) <= np.uint64(size))
