"""Count, mean and the sum of squared distances from the mean, in C."""

from __future__ import annotations

import numpy as np

from oop.kernels.checks import Array, Bools, Floats, Ints, check_ids
from oop.kernels.native.aggregates import point_out
from oop.kernels.native.library import check_code, contiguous, lib, point


def add_moments(ids: Ints, values: Floats, valid: Bools | None, counts: Ints, means: Floats, m2: Floats) -> None:
    _merge((ids, None, values, None, valid), ids, counts, means, m2)


def merge_moments(
    ids: Ints, counts_in: Ints, means_in: Floats, m2_in: Floats, counts: Ints, means: Floats, m2: Floats
) -> None:
    _merge((ids, counts_in, means_in, m2_in, None), ids, counts, means, m2)


def _merge(rows: tuple[Array | None, ...], ids: Ints, counts: Ints, means: Floats, m2: Floats) -> None:
    """``rows`` are ids, counts, means, spreads and validity. Without counts and spreads the means are plain values."""
    size = len(counts)
    scratch, touched = np.zeros(4 * size), np.empty(len(ids), np.int64)
    held = [None if a is None else contiguous(a) for a in rows]
    arrays = [point(scratch), point(touched), point_out(counts), point_out(means), point_out(m2)]
    code = lib.oop_merge_moments(*map(point, held), len(ids), size, *arrays)
    if code == lib.OOP_ID_OUTSIDE:
        check_ids(ids, size)
    check_code(code)
