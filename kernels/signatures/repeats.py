"""Which rows are not repeats of an earlier one."""

from __future__ import annotations

import numpy as np

from oop.kernels.checks import (
    FLOAT64,
    INT64,
    Array,
    Bools,
    Ints,
    KernelError,
    Real,
    check_array,
    check_slack,
    check_times,
)
from oop.kernels.signatures.stem import Stem


class RepeatKernels(Stem):
    def select_new(self, ids: Ints, known: int) -> Ints:
        """The rows that are the first of a new id. Ids are given in order of first appearance, and those below
        ``known`` were given before.

        >>> from oop.kernels.dispatch import kernels
        >>> kernels("reference").select_new(np.array([0, 2, 1, 2, 3, 3]), 2)
        array([1, 4])
        """
        check_array("ids", ids, INT64)
        if isinstance(known, bool) or not isinstance(known, (int, np.integer)) or not 0 <= known < 2**62:
            raise KernelError(f"known must be a number of ids, not {known!r}")
        return self.run.select_new(ids, int(known))

    def begin_spans(self, ids: Ints, times: Array, span: Real) -> Bools:
        """Which rows begin a span, of rows by id and then by time: a row at most ``span`` after the row that began the
        last span of its id is in that span.

        >>> from oop.kernels.dispatch import kernels
        >>> kernels("reference").begin_spans(np.array([0, 0, 0, 0, 1]), np.array([1, 3, 4, 5, 5]), 2).tolist()
        [True, False, True, False, True]
        """
        times = check_times(times)
        check_array("ids", ids, INT64, len(times))
        span = check_slack(span, times.dtype == FLOAT64)
        if span >= 2**63 and times.dtype == INT64:
            raise KernelError(f"span must fit a 64-bit signed integer, not {span}")
        return self.run.begin_spans(ids, times, span)
