"""Merges sorted runs."""

from __future__ import annotations

from oop.kernels.checks import INT64, Array, Ints, KernelError, check_array, check_times
from oop.kernels.signatures.stem import Stem


class RunKernels(Stem):
    def merge_runs(self, values: Array, starts: Ints) -> Ints:
        """The merged order of sorted runs that lie one after the other; of equal values the earlier run's comes first.

        Run i is ``values[starts[i]:starts[i + 1]]``. NaN is greater than every number.

        >>> import numpy as np
        >>> from oop.kernels.dispatch import kernels
        >>> kernels("reference").merge_runs(np.array([1, 4, 6, 2, 4]), np.array([0, 3, 5]))
        array([0, 3, 1, 4, 2])
        """
        values = check_times(values)
        check_array("starts", starts, INT64)
        if len(starts) < 2 or starts[0] != 0 or starts[-1] != len(values) or (starts[1:] < starts[:-1]).any():
            raise KernelError(f"the starts of runs must ascend from 0 to the number of rows, {len(values)}")
        order: Ints | None = self.run.merge_runs(values, starts)
        if order is None:
            raise KernelError("a run does not ascend")
        return order
