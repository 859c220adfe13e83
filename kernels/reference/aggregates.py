"""Update and merge of counts, sums of reals, least and greatest values, in NumPy."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from oop.kernels.checks import Array, Bools, Floats, Ints


def add_count(ids: Ints, valid: Bools | None, counts: Ints) -> None:
    np.add.at(counts, ids if valid is None else ids[valid], 1)


def merge_count(ids: Ints, counts_in: Ints, counts: Ints) -> None:
    np.add.at(counts, ids, counts_in)


def add_sum_float(ids: Ints, values: Floats, valid: Bools | None, sums: Floats, counts: Ints) -> None:
    merge_sum_float(ids, values, as_counts(ids, valid), sums, counts)


def merge_sum_float(ids: Ints, sums_in: Floats, counts_in: Ints, sums: Floats, counts: Ints) -> None:
    held = np.flatnonzero(counts_in)
    with np.errstate(invalid="ignore", over="ignore"):
        np.add.at(sums, ids[held], sums_in[held])
    np.add.at(counts, ids, counts_in)


def take_min(ids: Ints, values: Array, valid: Bools | None, out: Array, counts: Ints) -> None:
    merge_min(ids, values, as_counts(ids, valid), out, counts)


def take_max(ids: Ints, values: Array, valid: Bools | None, out: Array, counts: Ints) -> None:
    merge_max(ids, values, as_counts(ids, valid), out, counts)


def merge_min(ids: Ints, values_in: Array, counts_in: Ints, out: Array, counts: Ints) -> None:
    _merge_extreme(_keep_least, ids, values_in, counts_in, out, counts)


def merge_max(ids: Ints, values_in: Array, counts_in: Ints, out: Array, counts: Ints) -> None:
    _merge_extreme(_keep_greatest, ids, values_in, counts_in, out, counts)


def as_counts(ids: Ints, valid: Bools | None) -> Ints:
    """The counts of rows as partials: each valid row counts one."""
    return np.ones(len(ids), np.int64) if valid is None else valid.astype(np.int64)


def _merge_extreme(
    keep: Callable[[Ints, Array, Array, Ints], None],
    ids: Ints,
    values_in: Array,
    counts_in: Ints,
    out: Array,
    counts: Ints,
) -> None:
    held = np.flatnonzero(counts_in)
    keep(ids[held], values_in[held], out, counts)
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
