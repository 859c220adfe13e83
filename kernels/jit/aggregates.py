"""Update and merge of counts, sums of reals, least and greatest values, in Numba.

One loop serves an update and its merge: `counts_in` is empty for an update, where every valid row counts one.
"""

from __future__ import annotations

from oop.kernels.checks import Array, Bools, Floats, Ints
from oop.kernels.jit.compiler import NO_MASK, NO_ROWS, as_input, as_mask, compile_loop


def add_count(ids: Ints, valid: Bools | None, counts: Ints) -> None:
    _add_counts(as_input(ids), as_mask(valid), NO_ROWS, counts)


def merge_count(ids: Ints, counts_in: Ints, counts: Ints) -> None:
    _add_counts(as_input(ids), NO_MASK, as_input(counts_in), counts)


def add_sum_float(ids: Ints, values: Floats, valid: Bools | None, sums: Floats, counts: Ints) -> None:
    _add_floats(as_input(ids), as_input(values), as_mask(valid), NO_ROWS, sums, counts)


def merge_sum_float(ids: Ints, sums_in: Floats, counts_in: Ints, sums: Floats, counts: Ints) -> None:
    _add_floats(as_input(ids), as_input(sums_in), NO_MASK, as_input(counts_in), sums, counts)


def take_min(ids: Ints, values: Array, valid: Bools | None, out: Array, counts: Ints) -> None:
    _keep_extreme(False, as_input(ids), as_input(values), as_mask(valid), NO_ROWS, out, counts)


def take_max(ids: Ints, values: Array, valid: Bools | None, out: Array, counts: Ints) -> None:
    _keep_extreme(True, as_input(ids), as_input(values), as_mask(valid), NO_ROWS, out, counts)


def merge_min(ids: Ints, values_in: Array, counts_in: Ints, out: Array, counts: Ints) -> None:
    _keep_extreme(False, as_input(ids), as_input(values_in), NO_MASK, as_input(counts_in), out, counts)


def merge_max(ids: Ints, values_in: Array, counts_in: Ints, out: Array, counts: Ints) -> None:
    _keep_extreme(True, as_input(ids), as_input(values_in), NO_MASK, as_input(counts_in), out, counts)


@compile_loop
def _add_counts(ids: Ints, valid: Bools, counts_in: Ints, counts: Ints) -> None:
    if len(counts_in):
        for i in range(len(ids)):
            counts[ids[i]] += counts_in[i]
    else:
        for i in range(len(ids)):
            # Not a branch, because which rows are null is hard to predict.
            counts[ids[i]] += valid[i] if len(valid) else 1


@compile_loop
def _add_floats(ids: Ints, values: Floats, valid: Bools, counts_in: Ints, sums: Floats, counts: Ints) -> None:
    for i in range(len(ids)):
        if len(valid) and not valid[i]:
            continue
        more = counts_in[i] if len(counts_in) else 1
        if more:
            sums[ids[i]] += values[i]
            counts[ids[i]] += more


@compile_loop
def _keep_extreme(
    most: bool, ids: Ints, values: Array, valid: Bools, counts_in: Ints, out: Array, counts: Ints
) -> None:
    for i in range(len(ids)):
        if len(valid) and not valid[i]:
            continue
        more = counts_in[i] if len(counts_in) else 1
        if not more:
            continue
        group, value = ids[i], values[i]
        held = out[group]
        # NaN is greater than every number, and the only value that is not equal to itself.
        better = (value > held or value != value) if most else (value < held or held != held)
        if better or counts[group] == 0:
            out[group] = value
        counts[group] += more
