"""Update and merge of the aggregates, in C; see `oop.kernels.reference_aggregates` for what each does."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from oop.errors import OopError
from oop.kernels.checks import Array, Bools, Floats, Ints, KernelError, check_array, check_ids, check_out, check_valid
from oop.kernels.native_library import check_code, contiguous, lib, point
from oop.kernels.reference_aggregates import (
    HIGH_LIMIT,
    STEP_ROWS,
    check_extreme,
    check_float_outputs,
    check_partial_counts,
    check_partial_states,
    check_partial_sums,
    check_state,
    check_summary_values,
    check_sums_fit,
    check_wide,
)

_SUFFIX = {"int64": "int", "uint64": "uint", "float64": "float"}


def add_count(ids: Ints, valid: Bools | None, counts: Ints) -> None:
    """Count the valid rows of each group."""
    check_array("counts", counts, np.int64)
    check_array("ids", ids, np.int64)
    check_out(len(counts), counts=counts)
    check_valid(valid, len(ids))
    _run(lib.oop_add_count, ids, len(counts), (ids, valid), (counts,))


def merge_count(ids: Ints, counts_in: Ints, counts: Ints) -> None:
    """Add counts to counts."""
    check_array("counts", counts, np.int64)
    check_out(len(counts), counts=counts)
    check_ids(ids, len(counts))
    check_array("counts_in", counts_in, np.int64, len(ids))
    _run(lib.oop_merge_count, ids, len(counts), (ids, counts_in), (counts,))


def add_sum_int(ids: Ints, values: Array, valid: Bools | None, hi: Ints, lo: Ints, counts: Ints) -> None:
    """Add int64 or uint64 values exactly."""
    check_wide(hi, lo, counts)
    if values.dtype not in (np.int64, np.uint64):
        raise KernelError(f"an integer sum is of int64 or uint64 values, not {values.dtype}")
    _check_rows(ids, values, valid)
    add = lib.oop_add_sum_int if values.dtype == np.int64 else lib.oop_add_sum_uint
    for start in range(0, len(ids), STEP_ROWS):
        some = slice(start, start + STEP_ROWS)
        rows = ids[some], values[some], None if valid is None else valid[some]
        _run(add, rows[0], len(counts), rows, (hi, lo, counts))


def merge_sum_int(ids: Ints, hi_in: Ints, lo_in: Ints, counts_in: Ints, hi: Ints, lo: Ints, counts: Ints) -> None:
    """Add exact sums to exact sums."""
    check_wide(hi, lo, counts)
    check_array("hi_in", hi_in, np.int64, len(ids))
    check_array("lo_in", lo_in, np.int64, len(ids))
    check_ids(ids, len(counts))
    check_partial_counts(counts_in, len(ids))
    most = check_partial_sums(hi_in, lo_in, counts_in)
    step = min(STEP_ROWS, max(1, HIGH_LIMIT // most))
    keep = np.flatnonzero(counts_in) if step < len(ids) else None
    parts = [ids, hi_in, lo_in, counts_in] if keep is None else [a[keep] for a in (ids, hi_in, lo_in, counts_in)]
    for start in range(0, len(parts[0]), step):
        some = [part[start : start + step] for part in parts]
        _run(lib.oop_merge_sum_int, some[0], len(counts), some, (hi, lo, counts))


def sum_int_result(hi: Ints, lo: Ints, type: pa.DataType | np.dtype[Any] | str) -> Array:
    """Exact sums as int64 or uint64; an error if one does not fit."""
    name = check_sums_fit(hi, lo, type)
    out = np.empty(len(hi), np.uint64)
    check_code(lib.oop_join_words(point(contiguous(hi)), point(contiguous(lo)), len(hi), point(out)))
    return out if name == "uint64" else out.view(np.int64)


def add_sum_float(ids: Ints, values: Floats, valid: Bools | None, sums: Floats, counts: Ints) -> None:
    """Add float64 values; the order of the rows may show in the last digits."""
    check_float_outputs(counts, sums=sums)
    check_array("values", values, np.float64)
    _check_rows(ids, values, valid)
    _run(lib.oop_add_sum_float, ids, len(counts), (ids, values, valid), (sums, counts))


def merge_sum_float(ids: Ints, sums_in: Floats, counts_in: Ints, sums: Floats, counts: Ints) -> None:
    """Add float sums to float sums."""
    check_float_outputs(counts, sums=sums)
    check_array("sums_in", sums_in, np.float64, len(ids))
    check_ids(ids, len(counts))
    check_partial_counts(counts_in, len(ids))
    _run(lib.oop_merge_sum_float, ids, len(counts), (ids, sums_in, counts_in), (sums, counts))


def take_min(ids: Ints, values: Array, valid: Bools | None, out: Array, counts: Ints) -> None:
    """Keep the least value; NaN is greater than every number."""
    _take("min", ids, values, valid, out, counts)


def take_max(ids: Ints, values: Array, valid: Bools | None, out: Array, counts: Ints) -> None:
    """Keep the greatest value; NaN is greater than every number."""
    _take("max", ids, values, valid, out, counts)


def merge_min(ids: Ints, values_in: Array, counts_in: Ints, out: Array, counts: Ints) -> None:
    """The least of least values."""
    _merge("min", ids, values_in, counts_in, out, counts)


def merge_max(ids: Ints, values_in: Array, counts_in: Ints, out: Array, counts: Ints) -> None:
    """The greatest of greatest values."""
    _merge("max", ids, values_in, counts_in, out, counts)


def add_moments(ids: Ints, values: Array, valid: Bools | None, counts: Ints, means: Floats, m2: Floats) -> None:
    """Keep count, mean and the sum of squared distances from the mean."""
    check_float_outputs(counts, means=means, m2=m2)
    if values.dtype not in (np.int64, np.uint64, np.float64):
        raise KernelError(f"moments are of int64, uint64 or float64 values, not {values.dtype}")
    _check_rows(ids, values, valid)
    _run_moments(ids, None, values.astype(np.float64, copy=False), None, valid, counts, means, m2)


def merge_moments(
    ids: Ints, counts_in: Ints, means_in: Floats, m2_in: Floats, counts: Ints, means: Floats, m2: Floats
) -> None:
    """Moments of the union of the rows behind two sets of moments."""
    check_float_outputs(counts, means=means, m2=m2)
    check_array("means_in", means_in, np.float64, len(ids))
    check_array("m2_in", m2_in, np.float64, len(ids))
    check_ids(ids, len(counts))
    check_partial_counts(counts_in, len(ids))
    _run_moments(ids, counts_in, means_in, m2_in, None, counts, means, m2)


def add_summary(ids: Ints, values: Ints, valid: Bools | None, state: Ints) -> None:
    """Keep count, exact sum, least and greatest of int64 values in one row a group."""
    check_state(state)
    check_summary_values(values)
    _check_rows(ids, values, valid)
    for start in range(0, len(ids), STEP_ROWS):
        some = slice(start, start + STEP_ROWS)
        rows = ids[some], values[some], None if valid is None else valid[some]
        _run(lib.oop_add_summary, rows[0], len(state), rows, (state,))


def merge_summary(ids: Ints, state_in: Ints, state: Ints) -> None:
    """Summaries of the union of the rows behind two sets of summaries."""
    check_state(state)
    check_partial_states(state_in, len(ids))
    check_ids(ids, len(state))
    counts_in = state_in[:, 0]
    check_partial_counts(counts_in, len(ids))
    most = check_partial_sums(state_in[:, 1], state_in[:, 2], counts_in)
    step = min(STEP_ROWS, max(1, HIGH_LIMIT // most))
    if step < len(ids):
        keep = np.flatnonzero(counts_in)
        ids, state_in = ids[keep], state_in[keep]
    for start in range(0, len(ids), step):
        some = ids[start : start + step], state_in[start : start + step]
        _run(lib.oop_merge_summary, some[0], len(state), some, (state,))


def _take(which: str, ids: Ints, values: Array, valid: Bools | None, out: Array, counts: Ints) -> None:
    check_extreme(values, out, counts)
    _check_rows(ids, values, valid)
    take = getattr(lib, f"oop_take_{which}_{_SUFFIX[values.dtype.name]}")
    _run(take, ids, len(counts), (ids, values, valid, None), (out, counts))


def _merge(which: str, ids: Ints, values_in: Array, counts_in: Ints, out: Array, counts: Ints) -> None:
    check_extreme(values_in, out, counts, len(ids))
    check_ids(ids, len(counts))
    check_partial_counts(counts_in, len(ids))
    take = getattr(lib, f"oop_take_{which}_{_SUFFIX[values_in.dtype.name]}")
    _run(take, ids, len(counts), (ids, values_in, None, counts_in), (out, counts))


def _check_rows(ids: Ints, values: Array, valid: Bools | None) -> None:
    check_array("values", values, values.dtype)
    check_array("ids", ids, np.int64, len(values))
    check_valid(valid, len(ids))


def _run(kernel: Any, ids: Ints, size: int, rows: Any, outs: Any) -> None:
    """Call it; where an id is outside, the check that finds it again says which."""
    held = [None if a is None else contiguous(a) for a in rows]
    code = kernel(*map(point, held), len(ids), size, *(_point_out(out) for out in outs))
    if code == lib.OOP_ID_OUTSIDE:
        check_ids(ids, size)
    if code == lib.OOP_SUM_OUTSIDE:
        raise OopError("an integer sum is beyond 93 bits", hint="cast the column to float64 before the sum")
    check_code(code)


def _point_out(out: Array) -> Any:
    if not out.flags.c_contiguous:
        raise KernelError("output arrays must be contiguous")
    return point(out)


def _run_moments(
    ids: Ints,
    counts_in: Ints | None,
    means_in: Floats,
    m2_in: Floats | None,
    valid: Bools | None,
    counts: Ints,
    means: Floats,
    m2: Floats,
) -> None:
    size = len(counts)
    scratch = np.zeros(4 * size)
    touched = np.empty(len(ids), np.int64)
    parts = [None if a is None else contiguous(a) for a in (ids, counts_in, means_in, m2_in, valid)]
    arrays = [point(scratch), point(touched), _point_out(counts), _point_out(means), _point_out(m2)]
    code = lib.oop_merge_moments(*map(point, parts), len(ids), size, *arrays)
    if code == lib.OOP_ID_OUTSIDE:
        check_ids(ids, size)
    check_code(code)
