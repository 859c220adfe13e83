"""Exact sums of integers, in C."""

from __future__ import annotations

import numpy as np

from oop.kernels.checks import INT64, Array, Bools, Ints
from oop.kernels.native.aggregates import run_by_group
from oop.kernels.native.library import check_code, contiguous, lib, point
from oop.kernels.signatures.sums import STEP_ROWS, in_steps


def add_sum_int(ids: Ints, values: Array, valid: Bools | None, hi: Ints, lo: Ints, counts: Ints) -> None:
    add = lib.oop_add_sum_int if values.dtype == INT64 else lib.oop_add_sum_uint
    for some in in_steps(STEP_ROWS, (ids, values, valid)):
        run_by_group(add, len(counts), some, (hi, lo, counts))


def merge_sum_int(
    ids: Ints, hi_in: Ints, lo_in: Ints, counts_in: Ints, hi: Ints, lo: Ints, counts: Ints, step: int
) -> None:
    for some in in_steps(step, (ids, hi_in, lo_in, counts_in), counts_in):
        run_by_group(lib.oop_merge_sum_int, len(counts), some, (hi, lo, counts))


def sum_int_result(hi: Ints, lo: Ints) -> Array:
    out = np.empty(len(hi), np.uint64)
    check_code(lib.oop_join_words(point(contiguous(hi)), point(contiguous(lo)), len(hi), point(out)))
    return out
