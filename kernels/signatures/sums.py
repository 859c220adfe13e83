"""Exact sums of integers: a group's sum is hi * 2**32 + lo, with 0 <= lo < 2**32."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from oop.errors import OopError
from oop.kernels.checks import INT64, Array, Bools, Ints, KernelError, check_array, check_valid, check_writable
from oop.kernels.signatures.aggregates import check_partials
from oop.kernels.signatures.stem import Stem

LOW_BITS = 2**32 - 1
# A sum whose high half is beyond this is refused: one more call could wrap it.
HIGH_LIMIT = 2**61
# So few rows are added in one step that hi and lo cannot wrap before the carry.
STEP_ROWS = 2**28


class SumKernels(Stem):
    def add_sum_int(self, ids: Ints, values: Array, valid: Bools | None, hi: Ints, lo: Ints, counts: Ints) -> None:
        """Add int64 or uint64 values exactly.

        >>> from oop.kernels.dispatch import kernels
        >>> hi, lo, counts = np.zeros((3, 1), np.int64)
        >>> two = np.array([2**63 - 1, 2**63 - 1])
        >>> kernels("reference").add_sum_int(np.array([0, 0]), two, None, hi, lo, counts)
        >>> int(hi[0]) * 2**32 + int(lo[0]) == 2**64 - 2
        True
        """
        _check_wide(hi, lo, counts)
        if values.dtype not in (np.int64, np.uint64):
            raise KernelError(f"an integer sum is of int64 or uint64 values, not {values.dtype}")
        check_array("values", values, values.dtype)
        self._check_ids(ids, len(counts), len(values))
        check_valid(valid, len(ids))
        self.run.add_sum_int(ids, values, valid, hi, lo, counts)

    def merge_sum_int(
        self, ids: Ints, hi_in: Ints, lo_in: Ints, counts_in: Ints, hi: Ints, lo: Ints, counts: Ints
    ) -> None:
        """Add exact sums to exact sums. Bodies are given how many partials keep hi and lo from wrapping."""
        _check_wide(hi, lo, counts)
        check_array("hi_in", hi_in, INT64, len(ids))
        check_array("lo_in", lo_in, INT64, len(ids))
        check_partials(ids, counts_in, len(counts))
        step = check_partial_sums(hi_in, lo_in, counts_in)
        self.run.merge_sum_int(ids, hi_in, lo_in, counts_in, hi, lo, counts, step)

    def sum_int_result(self, hi: Ints, lo: Ints, type: pa.DataType | np.dtype[Any] | str) -> Array:
        """Exact sums as int64 or uint64. A sum that does not fit is an error: none ever wraps. Bodies return uint64.

        >>> from oop.kernels.dispatch import kernels
        >>> kernels("reference").sum_int_result(np.array([-1]), np.array([2**32 - 5]), pa.int64())
        array([-5])
        """
        check_array("hi", hi, INT64)
        check_array("lo", lo, INT64, len(hi))
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
        words = self.run.sum_int_result(hi, lo)
        return words if name == "uint64" else words.view(np.int64)


def check_partial_sums(hi_in: Ints, lo_in: Ints, counts_in: Ints) -> int:
    """Check that partials are exact sums as `add_sum_int` makes them; return how many can be added before a carry."""
    held = counts_in > 0
    high, low = hi_in[held], lo_in[held]
    # without abs, which is negative for the least integer
    if ((high > HIGH_LIMIT) | (high < -HIGH_LIMIT) | (low < 0) | (low > LOW_BITS)).any():
        raise KernelError("partial sums must have 0 <= lo < 2**32 and |hi| <= 2**61")
    return min(STEP_ROWS, max(1, HIGH_LIMIT // int(np.abs(high).max(initial=1))))


def in_steps(step: int, rows: Sequence[Any], counts_in: Ints | None = None) -> Iterable[Sequence[Any]]:
    """The arrays of rows, ids first, in steps of so many rows; after each step sums have no carry left. If there are
    several steps, partials that hold nothing are left out.

    >>> [some.tolist() for (some,) in in_steps(2, [np.arange(4)], counts_in=np.array([1, 0, 1, 1]))]
    [[0, 2], [3]]
    """
    if len(rows[0]) <= step:
        return (rows,)
    if counts_in is not None:
        held = np.flatnonzero(counts_in)
        rows = [part[held] for part in rows]
    starts = range(0, len(rows[0]), step)
    return ([None if part is None else part[start : start + step] for part in rows] for start in starts)


def beyond_error() -> OopError:
    """The error for a sum that one more call could wrap."""
    return OopError("an integer sum is beyond 93 bits", hint="cast the column to float64 before the sum")


def _check_wide(hi: Ints, lo: Ints, counts: Ints) -> None:
    check_array("counts", counts, INT64)
    check_array("hi", hi, INT64, len(counts))
    check_array("lo", lo, INT64, len(counts))
    check_writable(hi=hi, lo=lo, counts=counts)
