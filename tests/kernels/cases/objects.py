"""Cases of values that only arrays of Python objects can hold."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tests.kernels.cases.inputs import Case


def cases() -> Iterator[Case]:
    ids = np.array([0, 1, 1, 0, 2])
    values = np.array(["b", None, "a", "c", None], object)
    numbers = np.array([10**40, None, 2, -5, None], object)
    for kernel in ("take_min_object", "take_max_object"):
        yield Case(kernel, "text", lambda: (ids, values, np.full(3, None), np.zeros(3, np.int64)))
    yield Case("add_sum_object", "int", lambda: (ids, numbers, np.full(3, None), np.zeros(3, np.int64)))
    counts_in = np.array([1, 0, 2, 3, 0])
    for kernel in ("merge_min_object", "merge_max_object"):
        yield Case(kernel, "text", lambda: (ids, values, counts_in, np.full(3, "b", object), np.ones(3, np.int64)))
    yield Case(
        "merge_sum_object",
        "int",
        lambda: (ids, numbers, counts_in, np.full(3, 1, object), np.ones(3, np.int64)),
    )
