"""Exact sums of integers, in NumPy."""

from __future__ import annotations

import numpy as np

from oop.kernels.checks import Array, Bools, Ints
from oop.kernels.reference.aggregates import as_counts
from oop.kernels.signatures.sums import HIGH_LIMIT, LOW_BITS, STEP_ROWS, beyond_error


def add_sum_int(ids: Ints, values: Array, valid: Bools | None, hi: Ints, lo: Ints, counts: Ints) -> None:
    half, low = values.dtype.type(32), values.dtype.type(LOW_BITS)
    parts = (values >> half).view(np.int64), (values & low).view(np.int64), as_counts(ids, valid)
    merge_sum_int(ids, *parts, hi, lo, counts, STEP_ROWS)


def merge_sum_int(
    ids: Ints, hi_in: Ints, lo_in: Ints, counts_in: Ints, hi: Ints, lo: Ints, counts: Ints, step: int
) -> None:
    held = np.flatnonzero(counts_in)
    for start in range(0, len(held), step):
        some = held[start : start + step]
        np.add.at(hi, ids[some], hi_in[some])
        np.add.at(lo, ids[some], lo_in[some])
        _carry_over(ids[some], hi, lo)
    np.add.at(counts, ids, counts_in)


def sum_int_result(hi: Ints, lo: Ints) -> Array:
    return (hi.view(np.uint64) << np.uint64(32)) | lo.view(np.uint64)


def _carry_over(ids: Ints, hi: Ints, lo: Ints) -> None:
    """Bring lo back under 2**32. Ids may repeat, because all of one group write the same values."""
    low = lo[ids]
    high = hi[ids] + (low >> 32)
    hi[ids] = high
    lo[ids] = low & LOW_BITS
    if len(ids) and (high.max() > HIGH_LIMIT or high.min() < -HIGH_LIMIT):
        raise beyond_error()
