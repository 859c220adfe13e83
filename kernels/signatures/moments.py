"""Count, mean and the sum of squared distances from the mean (Welford, Chan)."""

from __future__ import annotations

import numpy as np

from oop.kernels.checks import FLOAT64, Array, Bools, Floats, Ints, KernelError, check_array, check_valid
from oop.kernels.signatures.aggregates import check_float_outputs, check_partials
from oop.kernels.signatures.stem import Stem


class MomentKernels(Stem):
    def add_moments(
        self, ids: Ints, values: Array, valid: Bools | None, counts: Ints, means: Floats, m2: Floats
    ) -> None:
        """Keep count, mean and spread of int64, uint64 or float64 values.

        >>> from oop.kernels.dispatch import kernels
        >>> counts, means, m2 = np.zeros(1, np.int64), np.zeros(1), np.zeros(1)
        >>> kernels("reference").add_moments(np.array([0, 0]), np.array([1.0, 3.0]), None, counts, means, m2)
        >>> means, m2
        (array([2.]), array([2.]))
        """
        check_float_outputs(counts, means=means, m2=m2)
        if values.dtype not in (np.int64, np.uint64, np.float64):
            raise KernelError(f"moments are of int64, uint64 or float64 values, not {values.dtype}")
        check_array("values", values, values.dtype)
        self._check_ids(ids, len(counts), len(values))
        check_valid(valid, len(ids))
        self.run.add_moments(ids, values.astype(np.float64, copy=False), valid, counts, means, m2)

    def merge_moments(
        self, ids: Ints, counts_in: Ints, means_in: Floats, m2_in: Floats, counts: Ints, means: Floats, m2: Floats
    ) -> None:
        """Moments of the union of the rows behind two sets of moments."""
        check_float_outputs(counts, means=means, m2=m2)
        check_array("means_in", means_in, FLOAT64, len(ids))
        check_array("m2_in", m2_in, FLOAT64, len(ids))
        check_partials(ids, counts_in, len(counts))
        self.run.merge_moments(ids, counts_in, means_in, m2_in, counts, means, m2)
