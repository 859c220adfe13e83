"""Exact sums of integers, in Numba."""

from __future__ import annotations

import numpy as np

from oop.kernels.checks import Array, Bools, Ints
from oop.kernels.jit.compiler import NO_MASK, NO_ROWS, as_input, as_mask, compile_loop
from oop.kernels.signatures.sums import HIGH_LIMIT, LOW_BITS, STEP_ROWS, beyond_error, in_steps

LOW_MASK = np.uint64(LOW_BITS)
HALF = np.uint64(32)


def add_sum_int(ids: Ints, values: Array, valid: Bools | None, hi: Ints, lo: Ints, counts: Ints) -> None:
    # The bits of both types have one type of argument, and so need one compilation.
    signed, bits = values.dtype == np.int64, values.view(np.uint64)
    for some, added, present in in_steps(STEP_ROWS, (ids, bits, valid)):
        if _add_wide(signed, as_input(some), as_input(added), as_mask(present), hi, lo, counts):
            raise beyond_error()


def merge_sum_int(
    ids: Ints, hi_in: Ints, lo_in: Ints, counts_in: Ints, hi: Ints, lo: Ints, counts: Ints, step: int
) -> None:
    for some in in_steps(step, (ids, hi_in, lo_in, counts_in), counts_in):
        if _merge_wide(*map(as_input, some), hi, lo, counts):
            raise beyond_error()


def sum_int_result(hi: Ints, lo: Ints) -> Array:
    words = np.empty(len(hi), np.uint64)
    _join_halves(as_input(hi), as_input(lo), words)
    return words


@compile_loop
def _add_wide(signed: bool, ids: Ints, values: Array, valid: Bools, hi: Ints, lo: Ints, counts: Ints) -> bool:
    """Add values; is a sum beyond its limit now?"""
    far = False
    for i in range(len(ids)):
        if len(valid) and not valid[i]:
            continue
        group, value = ids[i], values[i]
        high = np.int64(value) >> 32 if signed else np.int64(value >> HALF)
        far |= _add_halves(group, high, np.int64(value & LOW_MASK), hi, lo)
        counts[group] += 1
    return far and _find_beyond(ids, valid, NO_ROWS, hi)


@compile_loop
def _merge_wide(ids: Ints, hi_in: Ints, lo_in: Ints, counts_in: Ints, hi: Ints, lo: Ints, counts: Ints) -> bool:
    """Add partials; is a sum beyond its limit now?"""
    far = False
    for i in range(len(ids)):
        if not counts_in[i]:
            continue
        group = ids[i]
        far |= _add_halves(group, hi_in[i], lo_in[i], hi, lo)
        counts[group] += counts_in[i]
    return far and _find_beyond(ids, NO_MASK, counts_in, hi)


@compile_loop
def _add_halves(group: int, high: int, low: int, hi: Ints, lo: Ints) -> bool:
    """Add a number to a group; is the group's sum beyond its limit now?"""
    low += lo[group]
    high += hi[group] + (low >> 32)
    hi[group] = high
    lo[group] = low & LOW_BITS
    return high > HIGH_LIMIT or high < -HIGH_LIMIT


@compile_loop
def _find_beyond(ids: Ints, valid: Bools, counts_in: Ints, hi: Ints) -> bool:
    """Is a sum that these rows changed still beyond its limit? Later rows may have brought it back."""
    for i in range(len(ids)):
        if (len(valid) and not valid[i]) or (len(counts_in) and not counts_in[i]):
            continue
        if hi[ids[i]] > HIGH_LIMIT or hi[ids[i]] < -HIGH_LIMIT:
            return True
    return False


@compile_loop
def _join_halves(hi: Ints, lo: Ints, words: Array) -> None:
    for i in range(len(hi)):
        words[i] = (np.uint64(hi[i]) << HALF) | np.uint64(lo[i])
