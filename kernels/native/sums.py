"""Exact sums of integers, in C."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from oop.kernels.checks import INT64, Array, Bools, Ints
from oop.kernels.native.aggregates import run_by_group
from oop.kernels.native.library import check_code, contiguous, lib, point
from oop.kernels.signatures.sums import STEP_ROWS


def add_sum_int(ids: Ints, values: Array, valid: Bools | None, hi: Ints, lo: Ints, counts: Ints) -> None:
    add = lib.oop_add_sum_int if values.dtype == INT64 else lib.oop_add_sum_uint
    run_in_steps(add, STEP_ROWS, (ids, values, valid), len(counts), (hi, lo, counts))


def merge_sum_int(
    ids: Ints, hi_in: Ints, lo_in: Ints, counts_in: Ints, hi: Ints, lo: Ints, counts: Ints, step: int
) -> None:
    parts: Sequence[Array] = (ids, hi_in, lo_in, counts_in)
    if step < len(ids):
        held = np.flatnonzero(counts_in)
        parts = [part[held] for part in parts]
    run_in_steps(lib.oop_merge_sum_int, step, parts, len(counts), (hi, lo, counts))


def sum_int_result(hi: Ints, lo: Ints) -> Array:
    out = np.empty(len(hi), np.uint64)
    check_code(lib.oop_join_words(point(contiguous(hi)), point(contiguous(lo)), len(hi), point(out)))
    return out


def run_in_steps(kernel: Any, step: int, rows: Sequence[Array | None], size: int, outs: Sequence[Array]) -> None:
    """`run_by_group` for so many rows at a time, after which sums have no carry left."""
    assert rows[0] is not None
    if len(rows[0]) <= step:
        run_by_group(kernel, size, rows, outs)
        return
    for start in range(0, len(rows[0]), step):
        some = [None if part is None else part[start : start + step] for part in rows]
        run_by_group(kernel, size, some, outs)
