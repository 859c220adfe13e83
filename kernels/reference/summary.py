"""Count, exact sum, least and greatest of integers together, in NumPy: each by its own kernel."""

from __future__ import annotations

import numpy as np

from oop.kernels.checks import Bools, Ints
from oop.kernels.reference.aggregates import as_counts, merge_max, merge_min
from oop.kernels.reference.sums import merge_sum_int
from oop.kernels.signatures.sums import LOW_BITS, STEP_ROWS


def add_summary(ids: Ints, values: Ints, valid: Bools | None, state: Ints) -> None:
    parts = [as_counts(ids, valid), values >> 32, values & LOW_BITS, values, values]
    merge_summary(ids, np.column_stack(parts), state, STEP_ROWS)


def merge_summary(ids: Ints, state_in: Ints, state: Ints, step: int) -> None:
    counts_in, hi_in, lo_in, least_in, greatest_in = state_in.T.copy()
    counts, hi, lo, least, greatest = columns = state.T.copy()
    merge_min(ids, least_in, counts_in, least, counts.copy())
    merge_max(ids, greatest_in, counts_in, greatest, counts.copy())
    merge_sum_int(ids, hi_in, lo_in, counts_in, hi, lo, counts, step)
    state[:] = columns.T
