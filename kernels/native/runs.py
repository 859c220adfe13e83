"""Merges sorted runs, in C."""

from __future__ import annotations

import numpy as np

from oop.kernels.checks import FLOAT64, Array, Ints
from oop.kernels.native.library import check_code, contiguous, ffi, lib, point
from oop.kernels.scratch import new_array


def merge_runs(values: Array, starts: Ints) -> Ints | None:
    starts = contiguous(starts)
    n, runs = len(values), len(starts) - 1
    leaves = 1 << (runs - 1).bit_length()
    keys, numbers, ends = np.empty(2 * leaves, np.uint64), np.empty(2 * leaves, np.uint64), np.empty(runs, np.int64)
    tree = ffi.new("oop_losers *", [leaves, point(keys), point(numbers)])
    order = new_array(n, np.int64)
    run = lib.oop_merge_runs_float if values.dtype == FLOAT64 else lib.oop_merge_runs_int
    code = run(point(values), n, point(starts), runs, tree[0], point(ends), point(order))
    if code == lib.OOP_NOT_SORTED:
        return None
    check_code(code)
    return order
