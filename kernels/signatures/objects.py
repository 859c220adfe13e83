"""Aggregates of values that no array kernel holds: decimals, strings, binary. One body serves all implementations.

Values are an object array with None for null. Outputs are object arrays; an entry whose count is 0 holds nothing yet.
"""

from __future__ import annotations

import decimal
from collections.abc import Callable
from typing import Any

import numpy as np

from oop.errors import OopError
from oop.kernels.checks import INT64, Array, Ints, check_array, check_ids, check_writable
from oop.kernels.signatures.stem import Stem, shared

# Enough digits for the sum of 2**63 decimals of 76 digits; the default context would round to 28.
EXACT = decimal.Context(prec=200, Emax=decimal.MAX_EMAX, Emin=decimal.MIN_EMIN, traps=[decimal.Inexact])

Choice = Callable[[Any, Any], Any]


class ObjectKernels(Stem):
    @shared
    def add_sum_object(self, ids: Ints, values: Array, sums: Array, counts: Ints) -> None:
        """Add Python ints or Decimals exactly.

        >>> from oop.kernels.dispatch import kernels
        >>> sums, counts = np.array([None], object), np.zeros(1, np.int64)
        >>> values = np.array([decimal.Decimal("0.1"), None], object)
        >>> kernels("reference").add_sum_object(np.array([0, 0]), values, sums, counts)
        >>> sums[0], int(counts[0])
        (Decimal('0.1'), 1)
        """
        _fold_values(ids, values, None, sums, counts, _add)

    @shared
    def merge_sum_object(self, ids: Ints, sums_in: Array, counts_in: Ints, sums: Array, counts: Ints) -> None:
        """Add exact sums to exact sums."""
        _fold_values(ids, sums_in, counts_in, sums, counts, _add)

    @shared
    def take_min_object(self, ids: Ints, values: Array, out: Array, counts: Ints) -> None:
        """Keep the least value.

        >>> from oop.kernels.dispatch import kernels
        >>> out, counts = np.array([None], object), np.zeros(1, np.int64)
        >>> kernels("reference").take_min_object(np.array([0, 0]), np.array(["b", "a"], object), out, counts); out[0]
        'a'
        """
        _fold_values(ids, values, None, out, counts, min)

    @shared
    def merge_min_object(self, ids: Ints, values_in: Array, counts_in: Ints, out: Array, counts: Ints) -> None:
        """The least of least values."""
        _fold_values(ids, values_in, counts_in, out, counts, min)

    @shared
    def take_max_object(self, ids: Ints, values: Array, out: Array, counts: Ints) -> None:
        """Keep the greatest value."""
        _fold_values(ids, values, None, out, counts, max)

    @shared
    def merge_max_object(self, ids: Ints, values_in: Array, counts_in: Ints, out: Array, counts: Ints) -> None:
        """The greatest of greatest values."""
        _fold_values(ids, values_in, counts_in, out, counts, max)


def _add(left: Any, right: Any) -> Any:
    if isinstance(left, decimal.Decimal) or isinstance(right, decimal.Decimal):
        try:
            return EXACT.add(left, right)
        except decimal.Inexact:
            raise OopError("a decimal sum needs more than 200 digits") from None
    return left + right


def _fold_values(ids: Ints, values: Array, counts_in: Ints | None, out: Array, counts: Ints, choose: Choice) -> None:
    check_array("counts", counts, INT64)
    check_array("out", out, np.object_, len(counts))
    check_writable(out=out, counts=counts)
    check_array("values", values, np.object_)
    check_ids(ids, len(counts), len(values))
    if counts_in is None:
        added = [0 if value is None else 1 for value in values]
    else:
        check_array("counts_in", counts_in, INT64, len(ids))
        added = counts_in.tolist()
    for group, value, more in zip(ids.tolist(), values, added, strict=True):
        if more:
            out[group] = choose(out[group], value) if counts[group] else value
            counts[group] += more
