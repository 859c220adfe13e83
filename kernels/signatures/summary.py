"""Count, exact sum, least and greatest of integers together, in one row of words for each group."""

from __future__ import annotations

import numpy as np

from oop.kernels.checks import INT64, Array, Bools, Ints, KernelError, check_array, check_valid
from oop.kernels.signatures.aggregates import check_partials
from oop.kernels.signatures.stem import Stem
from oop.kernels.signatures.sums import check_partial_sums

# Count, hi, lo, least and greatest.
SUMMARY_WORDS = 5


class SummaryKernels(Stem):
    def add_summary(self, ids: Ints, values: Ints, valid: Bools | None, state: Ints) -> None:
        """Keep count, exact sum (hi, lo), least and greatest of int64 values, side by side in one row for each group.

        hi and lo are as in `add_sum_int`, and zero where the count is. So a row costs one access to memory, not eight.

        >>> from oop.kernels.dispatch import kernels
        >>> state = np.zeros((2, 5), np.int64)
        >>> kernels("reference").add_summary(np.array([0, 0, 1]), np.array([4, 9, -1]), None, state); state.tolist()
        [[2, 0, 13, 4, 9], [1, -1, 4294967295, -1, -1]]
        """
        check_state(state, SUMMARY_WORDS)
        if values.dtype != np.int64:
            raise KernelError(f"a summary is of int64 values, not {values.dtype}")
        check_array("values", values, INT64)
        self._check_ids(ids, len(state), len(values))
        check_valid(valid, len(ids))
        self.run.add_summary(ids, values, valid, state)

    def merge_summary(self, ids: Ints, state_in: Ints, state: Ints) -> None:
        """Summaries of the union of the rows behind two sets of summaries. Bodies get a step as in `merge_sum_int`."""
        check_state(state, SUMMARY_WORDS)
        check_partial_states(state_in, len(ids), SUMMARY_WORDS)
        counts_in = state_in[:, 0]
        check_partials(ids, counts_in, len(state))
        self.run.merge_summary(ids, state_in, state, check_partial_sums(state_in[:, 1], state_in[:, 2], counts_in))


def check_state(state: Ints, words: int) -> None:
    """Check that the state has one row of words for each group, which loops can change in place."""
    fits = isinstance(state, np.ndarray) and state.dtype == np.int64 and state.ndim == 2
    if not fits or state.shape[1] != words or not (state.flags.c_contiguous and state.flags.writeable):
        raise KernelError(f"state must be a contiguous, writable int64 array of groups by {words}")


def check_partial_states(state_in: Array, length: int, words: int) -> None:
    """Check that the partials have one row of words each."""
    fits = isinstance(state_in, np.ndarray) and state_in.dtype == np.int64
    if not fits or state_in.shape != (length, words):
        raise KernelError(f"state_in must be an int64 array of {length} partials by {words}")
