"""Cases of the kernel that merges sorted runs into one."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

import numpy as np

from tests.kernels.cases.inputs import Case, disorder, new_rng


def cases() -> Iterator[Case]:
    rng = new_rng()
    for label, values in disorder().items():
        for runs in (1, 2, 3, 8, 100, 500):
            starts = np.sort(rng.integers(0, len(values) + 1, runs + 1))
            starts[0], starts[-1] = 0, len(values)
            sorted_runs = values.copy()
            for begin, end in pairwise(starts.tolist()):
                sorted_runs[begin:end] = np.sort(sorted_runs[begin:end])
            yield Case("merge_runs", f"{label}-{runs}", lambda v=sorted_runs, s=starts: (v, s))
    none, nan = np.zeros(0, np.int64), np.array([1.0, np.nan, 2.0])
    yield Case("merge_runs", "nothing", lambda: (none, np.zeros(4, np.int64)))
    yield Case("merge_runs", "strided", lambda: (np.arange(20)[::2], np.array([0, 9, 3, 9, 10, 9])[::2]))
    yield Case("merge_runs", "wrong-falls", lambda: (np.array([1, 2, 1]), np.array([0, 1, 3])))
    yield Case("merge_runs", "wrong-falls_nan", lambda: (nan, np.array([0, 3])))
    yield Case("merge_runs", "wrong-no_runs", lambda: (none, none))
    yield Case("merge_runs", "wrong-start", lambda: (np.arange(3), np.array([1, 3])))
    yield Case("merge_runs", "wrong-end", lambda: (np.arange(3), np.array([0, 2])))
    yield Case("merge_runs", "wrong-back", lambda: (np.arange(3), np.array([0, 2, 1, 3])))
    yield Case("merge_runs", "wrong-beyond", lambda: (np.arange(3), np.array([0, 7, 3])))
    yield Case("merge_runs", "wrong-dtype", lambda: (np.arange(3, dtype=np.int32), np.array([0, 3])))
