"""Merges sorted runs, in NumPy."""

from __future__ import annotations

import numpy as np

from oop.kernels.checks import Array, Ints


def merge_runs(values: Array, starts: Ints) -> Ints | None:
    falls = (values[1:] < values[:-1]) | ((values[:-1] != values[:-1]) & (values[1:] == values[1:]))
    begins = np.zeros(len(values) + 1, np.bool_)
    begins[starts] = True
    if (falls & ~begins[1:-1]).any():
        return None
    return np.argsort(values, kind="stable")
