"""Stretches of consecutive whole numbers."""

from __future__ import annotations

import numpy as np


def numbers_in(starts: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """The numbers of stretches, one stretch after the other.

    >>> numbers_in(np.array([5, 9]), np.array([3, 2])).tolist()
    [5, 6, 7, 9, 10]
    """
    before = np.cumsum(counts) - counts
    found: np.ndarray = np.repeat(starts - before, counts) + np.arange(int(counts.sum()))
    return found
