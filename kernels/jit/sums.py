"""Exact sums of integers, in Numba."""

from __future__ import annotations

import numpy as np

from oop.kernels.checks import Array, Bools, Ints
from oop.kernels.jit.compiler import NO_MASK, NO_ROWS, as_input, as_mask, compile_loop
from oop.kernels.signatures.sums import HIGH_LIMIT, LOW_BITS, STEP_ROWS, beyond_error

LOW_MASK = np.uint64(LOW_BITS)
HALF = np.uint64(32)


def add_sum_int(ids: Ints, values: Array, valid: Bools | None, hi: Ints, lo: Ints, counts: Ints) -> None:
    # The bits of both types are one argument type, and so one compilation.
    signed, bits = values.dtype == np.int64, as_input(values).view(np.uint64)
    if _add_wide(signed, as_input(ids), bits, as_mask(valid), hi, lo, counts):
        raise beyond_error()


def merge_sum_int(
    ids: Ints, hi_in: Ints, lo_in: Ints, counts_in: Ints, hi: Ints, lo: Ints, counts: Ints, step: int
) -> None:
    parts = (as_input(array) for array in (ids, hi_in, lo_in, counts_in))
    if _merge_wide(step, *parts, hi, lo, counts):
        raise beyond_error()


def sum_int_result(hi: Ints, lo: Ints) -> Array:
    words = np.empty(len(hi), np.uint64)
    _join_halves(as_input(hi), as_input(lo), words)
    return words


@compile_loop
def _add_wide(signed: bool, ids: Ints, values: Array, valid: Bools, hi: Ints, lo: Ints, counts: Ints) -> bool:
    """Is a sum beyond its limit?"""
    begin, taken, far = 0, 0, False
    for i in range(len(ids)):
        if len(valid) and not valid[i]:
            continue
        group, value = ids[i], values[i]
        low = lo[group] + np.int64(value & LOW_MASK)
        high = np.int64(value) >> 32 if signed else np.int64(value >> HALF)
        high += hi[group] + (low >> 32)
        hi[group] = high
        lo[group] = low & LOW_BITS
        counts[group] += 1
        far |= high > HIGH_LIMIT or high < -HIGH_LIMIT
        taken += 1
        if taken == STEP_ROWS:
            if far and _find_beyond(ids, valid, NO_ROWS, begin, i + 1, hi):
                return True
            begin, taken, far = i + 1, 0, False
    return far and _find_beyond(ids, valid, NO_ROWS, begin, len(ids), hi)


@compile_loop
def _merge_wide(
    step: int, ids: Ints, hi_in: Ints, lo_in: Ints, counts_in: Ints, hi: Ints, lo: Ints, counts: Ints
) -> bool:
    """Is a sum beyond its limit?"""
    begin, taken, far = 0, 0, False
    for i in range(len(ids)):
        if not counts_in[i]:
            continue
        group = ids[i]
        low = lo[group] + lo_in[i]
        high = hi[group] + hi_in[i] + (low >> 32)
        hi[group] = high
        lo[group] = low & LOW_BITS
        counts[group] += counts_in[i]
        far |= high > HIGH_LIMIT or high < -HIGH_LIMIT
        taken += 1
        if taken == step:
            if far and _find_beyond(ids, NO_MASK, counts_in, begin, i + 1, hi):
                return True
            begin, taken, far = i + 1, 0, False
    return far and _find_beyond(ids, NO_MASK, counts_in, begin, len(ids), hi)


@compile_loop
def _find_beyond(ids: Ints, valid: Bools, counts_in: Ints, begin: int, end: int, hi: Ints) -> bool:
    """Is a sum that these rows changed still beyond its limit? Later rows may have brought it back."""
    for i in range(begin, end):
        if (len(valid) and not valid[i]) or (len(counts_in) and not counts_in[i]):
            continue
        if hi[ids[i]] > HIGH_LIMIT or hi[ids[i]] < -HIGH_LIMIT:
            return True
    return False


@compile_loop
def _join_halves(hi: Ints, lo: Ints, words: Array) -> None:
    for i in range(len(hi)):
        words[i] = (np.uint64(hi[i]) << HALF) | np.uint64(lo[i])
