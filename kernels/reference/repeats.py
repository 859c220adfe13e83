"""Which rows are not repeats of an earlier one, in NumPy."""

from __future__ import annotations

import numpy as np

from oop.kernels.checks import Array, Bools, Ints, Real


def select_new(ids: Ints, known: int) -> Ints:
    greatest = np.maximum.accumulate(np.append(known - 1, ids))
    return np.flatnonzero(ids > greatest[:-1])


def begin_spans(ids: Ints, times: Array, span: Real) -> Bools:
    begins = np.zeros(len(ids), np.bool_)
    numbers, moments = ids.tolist(), times.tolist()  # Python's whole numbers do not overflow
    start = 0
    for i, (number, moment) in enumerate(zip(numbers, moments, strict=True)):
        if not i or number != numbers[i - 1] or moment - start > span:
            begins[i] = True
            start = moment
    return begins
