"""Stretches of consecutive whole numbers, and the order of rows by several numbers."""

from __future__ import annotations

import numpy as np

from oop.kernels import dispatch


def numbers_in(starts: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """The numbers of stretches, one stretch after the other.

    >>> numbers_in(np.array([5, 9]), np.array([3, 2])).tolist()
    [5, 6, 7, 9, 10]
    """
    before = np.cumsum(counts) - counts
    found: np.ndarray = np.repeat(starts - before, counts) + np.arange(int(counts.sum()))
    return found


def order_by(*numbers: np.ndarray) -> np.ndarray | None:
    """The order of rows by the last of these, then by those before it; None if they are in that order already.

    >>> order_by(np.array([1, 2, 3]), np.array([1, 0, 1])).tolist()
    [1, 0, 2]
    """
    order: np.ndarray | None = None
    for each in numbers:
        each = each if order is None else each[order]
        if (each[1:] < each[:-1]).any():
            found = dispatch.kernels().order_slots(each, 0)[1]
            assert found is not None
            order = found if order is None else order[found]
    return order
