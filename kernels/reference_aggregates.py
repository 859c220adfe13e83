"""Update and merge of the aggregates, in NumPy.

`ids` says the group of each row; the output arrays, one entry a group, are changed in place. An entry whose
count is 0 holds nothing yet, whatever its other arrays say. Merges take partial results for values; their
ids may repeat. `valid` is None when no value is null.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from oop.errors import OopError
from oop.kernels.checks import (
    Array,
    Bools,
    Floats,
    Ints,
    KernelError,
    check_array,
    check_ids,
    check_out,
    check_valid,
)

LOW_BITS = 2**32 - 1
# A sum whose high half is beyond this is refused: one more call could wrap it.
HIGH_LIMIT = 2**61
# As many rows a step as keep hi and lo from wrapping before the carry.
STEP_ROWS = 2**28
# Of a summary: count, hi, lo, least and greatest.
SUMMARY_WORDS = 5


def add_count(ids: Ints, valid: Bools | None, counts: Ints) -> None:
    """Count the valid rows of each group.

    >>> counts = np.zeros(2, np.int64)
    >>> add_count(np.array([0, 1, 1]), None, counts); counts
    array([1, 2])
    """
    check_array("counts", counts, np.int64)
    check_out(len(counts), counts=counts)
    check_ids(ids, len(counts))
    check_valid(valid, len(ids))
    np.add.at(counts, ids if valid is None else ids[valid], 1)


def merge_count(ids: Ints, counts_in: Ints, counts: Ints) -> None:
    """Add counts to counts."""
    check_array("counts", counts, np.int64)
    check_out(len(counts), counts=counts)
    check_ids(ids, len(counts))
    check_array("counts_in", counts_in, np.int64, len(ids))
    np.add.at(counts, ids, counts_in)


def add_sum_int(ids: Ints, values: Array, valid: Bools | None, hi: Ints, lo: Ints, counts: Ints) -> None:
    """Add int64 or uint64 values exactly: the sum is hi * 2**32 + lo, with 0 <= lo < 2**32.

    >>> hi, lo, counts = np.zeros((3, 1), np.int64)
    >>> add_sum_int(np.array([0, 0]), np.array([2**63 - 1, 2**63 - 1]), None, hi, lo, counts)
    >>> int(hi[0]) * 2**32 + int(lo[0]) == 2**64 - 2
    True
    """
    check_wide(hi, lo, counts)
    if values.dtype not in (np.int64, np.uint64):
        raise KernelError(f"an integer sum is of int64 or uint64 values, not {values.dtype}")
    check_array("values", values, values.dtype)
    ids, values = _select_rows(ids, values, valid, counts)
    half = values.dtype.type(32)
    for start in range(0, len(ids), STEP_ROWS):
        some, rows = ids[start : start + STEP_ROWS], values[start : start + STEP_ROWS]
        np.add.at(hi, some, (rows >> half).view(np.int64))
        np.add.at(lo, some, (rows & values.dtype.type(LOW_BITS)).view(np.int64))
        _carry_over(some, hi, lo)
    np.add.at(counts, ids, 1)


def merge_sum_int(ids: Ints, hi_in: Ints, lo_in: Ints, counts_in: Ints, hi: Ints, lo: Ints, counts: Ints) -> None:
    """Add exact sums to exact sums."""
    check_wide(hi, lo, counts)
    check_array("hi_in", hi_in, np.int64, len(ids))
    check_array("lo_in", lo_in, np.int64, len(ids))
    check_ids(ids, len(counts))
    keep = _merge_rows(ids, counts_in)
    most = check_partial_sums(hi_in, lo_in, counts_in)
    ids, hi_in, lo_in = ids[keep], hi_in[keep], lo_in[keep]
    step = min(STEP_ROWS, max(1, HIGH_LIMIT // most))
    for start in range(0, len(ids), step):
        some = ids[start : start + step]
        np.add.at(hi, some, hi_in[start : start + step])
        np.add.at(lo, some, lo_in[start : start + step])
        _carry_over(some, hi, lo)
    np.add.at(counts, ids, counts_in[keep])


def sum_int_result(hi: Ints, lo: Ints, type: pa.DataType | np.dtype[Any] | str) -> Array:
    """Exact sums as int64 or uint64; an error if one does not fit: it never wraps.

    >>> sum_int_result(np.array([-1]), np.array([2**32 - 5]), pa.int64())
    array([-5])
    """
    name = check_sums_fit(hi, lo, type)
    words = (hi.view(np.uint64) << np.uint64(32)) | lo.view(np.uint64)
    return words if name == "uint64" else words.view(np.int64)


def check_sums_fit(hi: Ints, lo: Ints, type: pa.DataType | np.dtype[Any] | str) -> str:
    """The type's name, int64 or uint64, if every sum fits it."""
    check_array("hi", hi, np.int64)
    check_array("lo", lo, np.int64, len(hi))
    name = str(type)
    if name not in ("int64", "uint64"):
        raise KernelError(f"an integer sum is int64 or uint64, not {name}")
    low, high = (-(2**31), 2**31) if name == "int64" else (0, 2**32)
    outside = (hi < low) | (hi >= high)
    if outside.any():
        row = int(np.argmax(outside))
        total = int(hi[row]) * 2**32 + int(lo[row])
        raise OopError(
            f"the column's sum does not fit {name}: {total}",
            hint="cast the column to float64 or decimal128 before the sum",
        )
    return name


def add_sum_float(ids: Ints, values: Floats, valid: Bools | None, sums: Floats, counts: Ints) -> None:
    """Add float64 values; the order of the rows may show in the last digits.

    >>> sums, counts = np.zeros(1), np.zeros(1, np.int64)
    >>> add_sum_float(np.array([0, 0]), np.array([0.5, 1.0]), None, sums, counts); sums
    array([1.5])
    """
    check_float_outputs(counts, sums=sums)
    check_array("values", values, np.float64)
    ids, values = _select_rows(ids, values, valid, counts)
    with np.errstate(invalid="ignore", over="ignore"):
        np.add.at(sums, ids, values)
    np.add.at(counts, ids, 1)


def merge_sum_float(ids: Ints, sums_in: Floats, counts_in: Ints, sums: Floats, counts: Ints) -> None:
    """Add float sums to float sums."""
    check_float_outputs(counts, sums=sums)
    check_array("sums_in", sums_in, np.float64, len(ids))
    check_ids(ids, len(counts))
    keep = _merge_rows(ids, counts_in)
    with np.errstate(invalid="ignore", over="ignore"):
        np.add.at(sums, ids[keep], sums_in[keep])
    np.add.at(counts, ids[keep], counts_in[keep])


def take_min(ids: Ints, values: Array, valid: Bools | None, out: Array, counts: Ints) -> None:
    """Keep the least int64, uint64 or float64 value; NaN is greater than every number.

    >>> out, counts = np.zeros(1), np.zeros(1, np.int64)
    >>> take_min(np.array([0, 0]), np.array([np.nan, 3.0]), None, out, counts); out
    array([3.])
    """
    check_extreme(values, out, counts)
    ids, values = _select_rows(ids, values, valid, counts)
    _keep_least(ids, values, out, counts)
    np.add.at(counts, ids, 1)


def take_max(ids: Ints, values: Array, valid: Bools | None, out: Array, counts: Ints) -> None:
    """Keep the greatest value; NaN is greater than every number.

    >>> out, counts = np.zeros(1, np.int64), np.zeros(1, np.int64)
    >>> take_max(np.array([0, 0]), np.array([-7, -9]), None, out, counts); out
    array([-7])
    """
    check_extreme(values, out, counts)
    ids, values = _select_rows(ids, values, valid, counts)
    _keep_greatest(ids, values, out, counts)
    np.add.at(counts, ids, 1)


def merge_min(ids: Ints, values_in: Array, counts_in: Ints, out: Array, counts: Ints) -> None:
    """The least of least values."""
    check_extreme(values_in, out, counts, len(ids))
    check_ids(ids, len(counts))
    keep = _merge_rows(ids, counts_in)
    _keep_least(ids[keep], values_in[keep], out, counts)
    np.add.at(counts, ids[keep], counts_in[keep])


def merge_max(ids: Ints, values_in: Array, counts_in: Ints, out: Array, counts: Ints) -> None:
    """The greatest of greatest values."""
    check_extreme(values_in, out, counts, len(ids))
    check_ids(ids, len(counts))
    keep = _merge_rows(ids, counts_in)
    _keep_greatest(ids[keep], values_in[keep], out, counts)
    np.add.at(counts, ids[keep], counts_in[keep])


def add_moments(ids: Ints, values: Array, valid: Bools | None, counts: Ints, means: Floats, m2: Floats) -> None:
    """Keep count, mean and the sum of squared distances from the mean (Welford, Chan).

    >>> counts, means, m2 = np.zeros(1, np.int64), np.zeros(1), np.zeros(1)
    >>> add_moments(np.array([0, 0]), np.array([1.0, 3.0]), None, counts, means, m2)
    >>> means, m2
    (array([2.]), array([2.]))
    """
    check_float_outputs(counts, means=means, m2=m2)
    if values.dtype not in (np.int64, np.uint64, np.float64):
        raise KernelError(f"moments are of int64, uint64 or float64 values, not {values.dtype}")
    check_array("values", values, values.dtype)
    ids, values = _select_rows(ids, values, valid, counts)
    ones = np.ones(len(ids), np.int64)
    _merge_moments(ids, ones, values.astype(np.float64), np.zeros(len(ids)), counts, means, m2)


def merge_moments(
    ids: Ints, counts_in: Ints, means_in: Floats, m2_in: Floats, counts: Ints, means: Floats, m2: Floats
) -> None:
    """Moments of the union of the rows behind two sets of moments."""
    check_float_outputs(counts, means=means, m2=m2)
    check_array("means_in", means_in, np.float64, len(ids))
    check_array("m2_in", m2_in, np.float64, len(ids))
    check_ids(ids, len(counts))
    keep = _merge_rows(ids, counts_in)
    _merge_moments(ids[keep], counts_in[keep], means_in[keep], m2_in[keep], counts, means, m2)


def add_summary(ids: Ints, values: Ints, valid: Bools | None, state: Ints) -> None:
    """Keep count, exact sum (hi, lo), least and greatest of int64 values, side by side in one row a group.

    hi and lo are as in `add_sum_int`, and zero where the count is. One access to memory a row instead of eight.

    >>> state = np.zeros((2, 5), np.int64)
    >>> add_summary(np.array([0, 0, 1]), np.array([4, 9, -1]), None, state); state.tolist()
    [[2, 0, 13, 4, 9], [1, -1, 4294967295, -1, -1]]
    """
    check_state(state)
    check_summary_values(values)
    counts, hi, lo, least, greatest = columns = state.T.copy()
    take_min(ids, values, valid, least, counts.copy())
    take_max(ids, values, valid, greatest, counts.copy())
    add_sum_int(ids, values, valid, hi, lo, counts)
    state[:] = columns.T


def merge_summary(ids: Ints, state_in: Ints, state: Ints) -> None:
    """Summaries of the union of the rows behind two sets of summaries."""
    check_state(state)
    check_partial_states(state_in, len(ids))
    counts_in, hi_in, lo_in, least_in, greatest_in = state_in.T.copy()
    counts, hi, lo, least, greatest = columns = state.T.copy()
    merge_min(ids, least_in, counts_in, least, counts.copy())
    merge_max(ids, greatest_in, counts_in, greatest, counts.copy())
    merge_sum_int(ids, hi_in, lo_in, counts_in, hi, lo, counts)
    state[:] = columns.T


def _merge_moments(
    ids: Ints, counts_in: Ints, means_in: Floats, m2_in: Floats, counts: Ints, means: Floats, m2: Floats
) -> None:
    """Chan's rule for any number of partials at once: what is there already is one more of them."""
    groups, rows = np.unique(ids, return_inverse=True)
    held = groups[counts[groups] > 0]
    rows = np.concatenate([rows, np.searchsorted(groups, held)])
    parts = np.concatenate([counts_in, counts[held]]).astype(np.float64)
    centres = np.concatenate([means_in, means[held]])
    size = len(groups)
    totals = np.bincount(rows, parts, size)
    with np.errstate(invalid="ignore", over="ignore"):
        # Weights before the sum, so that large values do not overflow; then the rounding is taken out.
        mean = np.bincount(rows, centres * (parts / totals[rows]), size)
        mean += np.bincount(rows, (centres - mean[rows]) * (parts / totals[rows]), size)
        spread = np.bincount(rows, parts * (centres - mean[rows]) ** 2, size)
        within = np.bincount(rows, np.concatenate([m2_in, m2[held]]), size)
    means[groups] = mean
    m2[groups] = spread + within
    np.add.at(counts, ids, counts_in)


def _keep_least(ids: Ints, values: Array, out: Array, counts: Ints) -> None:
    fresh = ids[counts[ids] == 0]
    if out.dtype == np.float64:
        out[fresh] = np.nan
        with np.errstate(invalid="ignore"):
            np.fmin.at(out, ids, values)
    else:
        out[fresh] = np.iinfo(out.dtype).max
        np.minimum.at(out, ids, values)


def _keep_greatest(ids: Ints, values: Array, out: Array, counts: Ints) -> None:
    fresh = ids[counts[ids] == 0]
    out[fresh] = -np.inf if out.dtype == np.float64 else np.iinfo(out.dtype).min
    with np.errstate(invalid="ignore"):
        np.maximum.at(out, ids, values)


def _carry_over(ids: Ints, hi: Ints, lo: Ints) -> None:
    """Bring lo back under 2**32. Ids may repeat: each then writes the same."""
    low = lo[ids]
    high = hi[ids] + (low >> 32)
    hi[ids] = high
    lo[ids] = low & LOW_BITS
    if len(ids) and (high.max() > HIGH_LIMIT or high.min() < -HIGH_LIMIT):
        raise OopError("an integer sum is beyond 93 bits", hint="cast the column to float64 before the sum")


def _select_rows(ids: Ints, values: Array, valid: Bools | None, counts: Ints) -> tuple[Ints, Array]:
    check_ids(ids, len(counts), len(values))
    check_valid(valid, len(ids))
    return (ids, values) if valid is None else (ids[valid], values[valid])


def _merge_rows(ids: Ints, counts_in: Ints) -> Ints:
    """The partials that hold something."""
    check_partial_counts(counts_in, len(ids))
    return np.flatnonzero(counts_in)


def check_partial_counts(counts_in: Ints, length: int) -> None:
    check_array("counts_in", counts_in, np.int64, length)
    if (counts_in < 0).any():
        raise KernelError("counts_in must not be negative")


def check_partial_sums(hi_in: Ints, lo_in: Ints, counts_in: Ints) -> int:
    """The greatest |hi| of the partials that hold something, which must be exact sums as `add_sum_int` makes them."""
    held = counts_in > 0
    high, low = hi_in[held], lo_in[held]
    # not by abs: that of the least integer is negative
    if ((high > HIGH_LIMIT) | (high < -HIGH_LIMIT) | (low < 0) | (low > LOW_BITS)).any():
        raise KernelError("partial sums must have 0 <= lo < 2**32 and |hi| <= 2**61")
    return int(np.abs(high).max(initial=1))


def check_state(state: Ints, words: int = SUMMARY_WORDS) -> None:
    """Summaries are one row of words a group, which the loops walk through in place."""
    fits = isinstance(state, np.ndarray) and state.dtype == np.int64 and state.ndim == 2
    if not fits or state.shape[1] != words or not (state.flags.c_contiguous and state.flags.writeable):
        raise KernelError(f"state must be a contiguous, writable int64 array of groups by {words}")


def check_partial_states(state_in: Ints, length: int, words: int = SUMMARY_WORDS) -> None:
    fits = isinstance(state_in, np.ndarray) and state_in.dtype == np.int64
    if not fits or state_in.shape != (length, words):
        raise KernelError(f"state_in must be an int64 array of {length} partials by {words}")


def check_summary_values(values: Array) -> None:
    if values.dtype != np.int64:
        raise KernelError(f"a summary is of int64 values, not {values.dtype}")


def check_wide(hi: Ints, lo: Ints, counts: Ints) -> None:
    check_array("counts", counts, np.int64)
    check_array("hi", hi, np.int64, len(counts))
    check_array("lo", lo, np.int64, len(counts))
    check_out(len(counts), hi=hi, lo=lo, counts=counts)


def check_float_outputs(counts: Ints, **outs: Floats) -> None:
    check_array("counts", counts, np.int64)
    for name, out in outs.items():
        check_array(name, out, np.float64, len(counts))
    check_out(len(counts), counts=counts, **outs)


def check_extreme(values: Array, out: Array, counts: Ints, length: int | None = None) -> None:
    if values.dtype not in (np.int64, np.uint64, np.float64):
        raise KernelError(f"min and max are of int64, uint64 or float64 values, not {values.dtype}")
    check_array("counts", counts, np.int64)
    check_array("values", values, values.dtype, length)
    check_array("out", out, values.dtype, len(counts))
    check_out(len(counts), out=out, counts=counts)
