"""The bounds that rows imply for the rows after them, and which rows are late.

Row i is late if it is below the bound implied by the rows before it, however they were cut into batches.
"""

from __future__ import annotations

import numpy as np

from oop.kernels.checks import (
    BOOL,
    FLOAT64,
    INT64,
    INT64_MAX,
    INT64_MIN,
    Array,
    Bools,
    Ints,
    KernelError,
    Real,
    check_array,
    check_greatest,
    check_ids,
    check_out,
    check_slack,
    check_times,
    strict_bound,
)
from oop.kernels.signatures.stem import Stem, shared


class LateKernels(Stem):
    def prefix_bounds(self, times: Array, greatest: Real | None, slack: Real) -> tuple[Array, Real | None]:
        """`bounds[i]` = the greatest of `greatest` and `times[:i]`, minus slack; and the new greatest.

        With nothing seen the bound is the least value of the type. A NaN time implies nothing.

        >>> from oop.kernels.dispatch import kernels
        >>> bounds, greatest = kernels("reference").prefix_bounds(np.array([5, 9, 7, 12]), None, 2)
        >>> bounds.tolist() == [INT64_MIN, 3, 7, 7], greatest
        (True, 12)
        """
        times = check_times(times)
        floats = times.dtype == FLOAT64
        return self.run.prefix_bounds(times, check_greatest(greatest, floats), check_slack(slack, floats))

    def scan_times(self, times: Array, greatest: Real | None, slack: Real) -> tuple[bool, Real | None]:
        """Whether any row is below its `prefix_bounds`, and the new greatest. In most batches none is, so no array of
        bounds is made.

        >>> from oop.kernels.dispatch import kernels
        >>> scan_times = kernels("reference").scan_times
        >>> scan_times(np.array([5, 9, 7, 12]), None, 2), scan_times(np.array([5, 9, 6]), None, 2)
        ((False, 12), (True, 9))
        """
        if (  # every batch takes this path, and whole numbers that fit need no further check
            times.__class__ is np.ndarray
            and times.dtype == INT64
            and times.ndim == 1
            and times.flags.c_contiguous
            and slack.__class__ is int
            and 0 <= slack <= INT64_MAX
            and (greatest is None or (greatest.__class__ is int and INT64_MIN <= greatest <= INT64_MAX))
        ):
            return self.run.scan_times(times, greatest, slack)
        times = check_times(times)
        floats = times.dtype == FLOAT64
        return self.run.scan_times(times, check_greatest(greatest, floats), check_slack(slack, floats))

    def prefix_bounds_rows(self, times: Array, greatest: Array, n: int) -> tuple[Array, Array]:
        """`bounds[i]` = the (n+1)-th greatest of `greatest` and `times[:i]`; and the new n+1 greatest, ascending.

        Aurora's slack (Aurora paper, section 5.2.2): a row is late if more than n greater ones came before it.

        >>> from oop.kernels.dispatch import kernels
        >>> none = np.array([], np.int64)
        >>> bounds, greatest = kernels("reference").prefix_bounds_rows(np.array([1, 4, 2, 5]), none, 1)
        >>> bounds[2:].tolist(), greatest.tolist()
        ([1, 2], [4, 5])
        """
        times = check_times(times)
        check_array("greatest", greatest, times.dtype)
        if n < 0 or len(greatest) > n + 1:
            raise KernelError(f"slack by rows must keep from 0 to n + 1 = {n + 1} times, not {len(greatest)}")
        return self.run.prefix_bounds_rows(times, greatest, n)

    def prefix_bounds_by(self, times: Array, codes: Ints, greatest: Array, seen: Bools, slack: Real) -> Array:
        """`prefix_bounds` for each group apart: row i sees only earlier rows of group `codes[i]`.

        `greatest` and `seen` have an entry for each group, and are updated in place.

        >>> from oop.kernels.dispatch import kernels
        >>> greatest, seen = np.zeros(2, np.int64), np.zeros(2, bool)
        >>> times, codes = np.array([5, 9, 7]), np.array([0, 1, 0])
        >>> bounds = kernels("reference").prefix_bounds_by(times, codes, greatest, seen, 1)
        >>> int(bounds[2]), greatest.tolist(), seen.tolist()
        (4, [7, 9], [True, True])
        """
        times = check_times(times)
        slack = check_slack(slack, times.dtype == FLOAT64)
        check_array("greatest", greatest, times.dtype)
        check_array("seen", seen, BOOL)
        check_out(len(greatest), greatest=greatest, seen=seen)
        check_ids(codes, len(greatest), len(times), "codes")
        return self.run.prefix_bounds_by(times, codes, greatest, seen, slack)

    def find_late(self, times: Array, bounds: Array | Real) -> Bools:
        """Which times are below their bound: one for all, or one for each row. NaN is never late.

        >>> from oop.kernels.dispatch import kernels
        >>> kernels("reference").find_late(np.array([1, 5, 3]), 4)
        array([ True, False,  True])
        """
        times = check_times(times)
        if isinstance(bounds, np.ndarray) and bounds.ndim:
            check_array("bounds", bounds, times.dtype, len(times))
            return self.run.find_late(times, bounds, False)
        bound = bounds.item() if isinstance(bounds, (np.ndarray, np.generic)) else bounds
        return self.run.find_late(times, *strict_bound(bound, times.dtype == FLOAT64))

    @shared
    def select_below(self, slots: Array, bound: Real) -> Ints:
        """The positions of the slots below a bound.

        >>> from oop.kernels.dispatch import kernels
        >>> kernels("reference").select_below(np.array([5, 1, 3]), 4)
        array([1, 2])
        """
        return np.flatnonzero(self.find_late(slots, bound))

    @shared
    def select_not_below(self, slots: Array, bound: Real) -> Ints:
        """The positions that `select_below` leaves.

        >>> from oop.kernels.dispatch import kernels
        >>> kernels("reference").select_not_below(np.array([5, 1, 3]), 4)
        array([0])
        """
        return np.flatnonzero(~self.find_late(slots, bound))


def least_of(times: Array) -> Real:
    """The bound that promises nothing: the least value of the times' type."""
    return -np.inf if times.dtype == FLOAT64 else INT64_MIN
