"""Counts, float sums, and least and greatest values, in Numba.

One loop serves an update and its merge: `counts_in` is empty for an update, where every valid row counts one.
"""

from __future__ import annotations

import numpy as np

from oop.kernels.checks import (
    Array,
    Bools,
    Floats,
    Ints,
    check_array,
    check_ids,
    check_out,
    check_valid,
)
from oop.kernels.jit_compiler import NO_MASK, NO_ROWS, as_input, as_mask, compile_loop
from oop.kernels.reference_aggregates import check_extreme, check_float_outputs, check_partial_counts


def add_count(ids: Ints, valid: Bools | None, counts: Ints) -> None:
    """Count the valid rows of each group; see `oop.kernels.reference_aggregates.add_count`."""
    check_array("counts", counts, np.int64)
    check_out(len(counts), counts=counts)
    check_ids(ids, len(counts))
    check_valid(valid, len(ids))
    _add_counts(as_input(ids), as_mask(valid), NO_ROWS, counts)


def merge_count(ids: Ints, counts_in: Ints, counts: Ints) -> None:
    """Add counts to counts; see `oop.kernels.reference_aggregates.merge_count`."""
    check_array("counts", counts, np.int64)
    check_out(len(counts), counts=counts)
    check_ids(ids, len(counts))
    check_array("counts_in", counts_in, np.int64, len(ids))
    _add_counts(as_input(ids), NO_MASK, as_input(counts_in), counts)


def add_sum_float(ids: Ints, values: Floats, valid: Bools | None, sums: Floats, counts: Ints) -> None:
    """Add float64 values; see `oop.kernels.reference_aggregates.add_sum_float`."""
    check_float_outputs(counts, sums=sums)
    check_array("values", values, np.float64)
    check_rows(ids, values, valid, counts)
    _add_floats(as_input(ids), as_input(values), as_mask(valid), NO_ROWS, sums, counts)


def merge_sum_float(ids: Ints, sums_in: Floats, counts_in: Ints, sums: Floats, counts: Ints) -> None:
    """Add float sums to float sums; see `oop.kernels.reference_aggregates.merge_sum_float`."""
    check_float_outputs(counts, sums=sums)
    check_array("sums_in", sums_in, np.float64, len(ids))
    check_partials(ids, counts_in, counts)
    _add_floats(as_input(ids), as_input(sums_in), NO_MASK, as_input(counts_in), sums, counts)


def take_min(ids: Ints, values: Array, valid: Bools | None, out: Array, counts: Ints) -> None:
    """Keep the least value; see `oop.kernels.reference_aggregates.take_min`."""
    _take_extreme(False, ids, values, valid, out, counts)


def take_max(ids: Ints, values: Array, valid: Bools | None, out: Array, counts: Ints) -> None:
    """Keep the greatest value; see `oop.kernels.reference_aggregates.take_max`."""
    _take_extreme(True, ids, values, valid, out, counts)


def merge_min(ids: Ints, values_in: Array, counts_in: Ints, out: Array, counts: Ints) -> None:
    """The least of least values; see `oop.kernels.reference_aggregates.merge_min`."""
    _merge_extreme(False, ids, values_in, counts_in, out, counts)


def merge_max(ids: Ints, values_in: Array, counts_in: Ints, out: Array, counts: Ints) -> None:
    """The greatest of greatest values; see `oop.kernels.reference_aggregates.merge_max`."""
    _merge_extreme(True, ids, values_in, counts_in, out, counts)


def check_rows(ids: Ints, values: Array, valid: Bools | None, counts: Ints) -> None:
    """The rows of an update fit together and to their groups."""
    check_array("values", values, values.dtype)
    check_ids(ids, len(counts), len(values))
    check_valid(valid, len(ids))


def check_partials(ids: Ints, counts_in: Ints, counts: Ints) -> None:
    """The partial results of a merge fit to their groups."""
    check_ids(ids, len(counts))
    check_partial_counts(counts_in, len(ids))


def _take_extreme(most: bool, ids: Ints, values: Array, valid: Bools | None, out: Array, counts: Ints) -> None:
    check_extreme(values, out, counts)
    check_rows(ids, values, valid, counts)
    _keep_extreme(most, as_input(ids), as_input(values), as_mask(valid), NO_ROWS, out, counts)


def _merge_extreme(most: bool, ids: Ints, values_in: Array, counts_in: Ints, out: Array, counts: Ints) -> None:
    check_extreme(values_in, out, counts, len(ids))
    check_partials(ids, counts_in, counts)
    _keep_extreme(most, as_input(ids), as_input(values_in), NO_MASK, as_input(counts_in), out, counts)


@compile_loop
def _add_counts(ids: Ints, valid: Bools, counts_in: Ints, counts: Ints) -> None:
    if len(counts_in):
        for i in range(len(ids)):
            counts[ids[i]] += counts_in[i]
    else:
        for i in range(len(ids)):
            # Not a branch: which rows are null is hard to foresee.
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
