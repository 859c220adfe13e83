"""Update and merge of counts, sums of reals, least and greatest values.

`ids` says the group of each row; the output arrays, one entry a group, are changed in place. An entry whose
count is 0 holds nothing yet, whatever its other arrays say. Merges take partial results in the place of values; their
ids may repeat. `valid` is None when no value is null. All of this also holds for the aggregates in stems of their own.
"""

from __future__ import annotations

import numpy as np

from oop.kernels.checks import (
    FLOAT64,
    INT64,
    Array,
    Bools,
    Floats,
    Ints,
    KernelError,
    check_array,
    check_counts,
    check_ids,
    check_valid,
    check_writable,
)
from oop.kernels.signatures.stem import Stem


class AggregateKernels(Stem):
    def add_count(self, ids: Ints, valid: Bools | None, counts: Ints) -> None:
        """Count the valid rows of each group.

        >>> from oop.kernels.dispatch import kernels
        >>> counts = np.zeros(2, np.int64)
        >>> kernels("reference").add_count(np.array([0, 1, 1]), None, counts); counts
        array([1, 2])
        """
        check_counts(counts)
        self._check_ids(ids, len(counts))
        if valid is not None:
            check_valid(valid, len(ids))
        self.run.add_count(ids, valid, counts)

    def merge_count(self, ids: Ints, counts_in: Ints, counts: Ints) -> None:
        """Add counts to counts."""
        check_counts(counts)
        check_ids(ids, len(counts))
        check_array("counts_in", counts_in, INT64, len(ids))
        self.run.merge_count(ids, counts_in, counts)

    def add_sum_float(self, ids: Ints, values: Floats, valid: Bools | None, sums: Floats, counts: Ints) -> None:
        """Add float64 values; the order of the rows may show in the last digits.

        >>> from oop.kernels.dispatch import kernels
        >>> sums, counts = np.zeros(1), np.zeros(1, np.int64)
        >>> kernels("reference").add_sum_float(np.array([0, 0]), np.array([0.5, 1.0]), None, sums, counts); sums
        array([1.5])
        """
        check_float_outputs(counts, sums=sums)
        check_array("values", values, FLOAT64)
        self._check_ids(ids, len(counts), len(values))
        check_valid(valid, len(ids))
        self.run.add_sum_float(ids, values, valid, sums, counts)

    def merge_sum_float(self, ids: Ints, sums_in: Floats, counts_in: Ints, sums: Floats, counts: Ints) -> None:
        """Add float sums to float sums."""
        check_float_outputs(counts, sums=sums)
        check_array("sums_in", sums_in, FLOAT64, len(ids))
        check_partials(ids, counts_in, len(counts))
        self.run.merge_sum_float(ids, sums_in, counts_in, sums, counts)

    def take_min(self, ids: Ints, values: Array, valid: Bools | None, out: Array, counts: Ints) -> None:
        """Keep the least int64, uint64 or float64 value; NaN is greater than every number.

        >>> from oop.kernels.dispatch import kernels
        >>> out, counts = np.zeros(1), np.zeros(1, np.int64)
        >>> kernels("reference").take_min(np.array([0, 0]), np.array([np.nan, 3.0]), None, out, counts); out
        array([3.])
        """
        self._check_extremes(ids, values, valid, out, counts)
        self.run.take_min(ids, values, valid, out, counts)

    def take_max(self, ids: Ints, values: Array, valid: Bools | None, out: Array, counts: Ints) -> None:
        """Keep the greatest value; NaN is greater than every number.

        >>> from oop.kernels.dispatch import kernels
        >>> out, counts = np.zeros(1, np.int64), np.zeros(1, np.int64)
        >>> kernels("reference").take_max(np.array([0, 0]), np.array([-7, -9]), None, out, counts); out
        array([-7])
        """
        self._check_extremes(ids, values, valid, out, counts)
        self.run.take_max(ids, values, valid, out, counts)

    def merge_min(self, ids: Ints, values_in: Array, counts_in: Ints, out: Array, counts: Ints) -> None:
        """The least of least values."""
        _check_extreme(values_in, out, counts, len(ids))
        check_partials(ids, counts_in, len(counts))
        self.run.merge_min(ids, values_in, counts_in, out, counts)

    def merge_max(self, ids: Ints, values_in: Array, counts_in: Ints, out: Array, counts: Ints) -> None:
        """The greatest of greatest values."""
        _check_extreme(values_in, out, counts, len(ids))
        check_partials(ids, counts_in, len(counts))
        self.run.merge_max(ids, values_in, counts_in, out, counts)

    def _check_extremes(self, ids: Ints, values: Array, valid: Bools | None, out: Array, counts: Ints) -> None:
        _check_extreme(values, out, counts)
        self._check_ids(ids, len(counts), len(values))
        check_valid(valid, len(ids))


def _check_extreme(values: Array, out: Array, counts: Ints, length: int | None = None) -> None:
    if values.dtype not in (np.int64, np.uint64, np.float64):
        raise KernelError(f"min and max are of int64, uint64 or float64 values, not {values.dtype}")
    check_array("counts", counts, INT64)
    check_array("values", values, values.dtype, length)
    check_array("out", out, values.dtype, len(counts))
    check_writable(out=out, counts=counts)


def check_float_outputs(counts: Ints, **outs: Floats) -> None:
    """Check that the float arrays of an aggregate have an entry for each count."""
    check_array("counts", counts, INT64)
    for name, out in outs.items():
        check_array(name, out, FLOAT64, len(counts))
    check_writable(counts=counts, **outs)


def check_partials(ids: Ints, counts_in: Ints, size: int) -> None:
    """Check that the partial results of a merge fit to their groups."""
    check_ids(ids, size)
    check_array("counts_in", counts_in, INT64, len(ids))
    if (counts_in < 0).any():
        raise KernelError("counts_in must not be negative")
