"""Cases of the kernels that find the rows which are no repeats, and the rows that begin a span."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from tests.kernels.cases.inputs import LARGE, LEAST, MOST, Case, new_rng


def cases() -> Iterator[Case]:
    ids = np.array([0, 1, 0, 3, 2, 3, 4, 5, 5])
    given: dict[str, tuple[Any, ...]] = {
        "none_known": (ids, 0),
        "some_known": (ids, 3),
        "all_known": (ids, 6),
        "empty": (ids[:0], 2),
        "strided": (ids[::2], 1),
        "random": (np.minimum(new_rng().integers(0, 900, LARGE), np.arange(LARGE)), 100),
        "wrong_dtype": (ids.astype(np.int32), 0),
        "negative": (ids, -1),
    }
    for label, args in given.items():
        yield Case("select_new", label, lambda args=args: args)
    numbers = np.sort(new_rng().integers(0, 40, 900))
    times = np.concatenate([np.sort(new_rng().integers(-500, 500, int(n))) for n in np.bincount(numbers)])
    spans: dict[str, tuple[Any, ...]] = {
        "ints": (numbers, times, 9),
        "points": (numbers, times, 0),
        "floats": (numbers, times * 0.1, 0.3),
        "limits": (np.zeros(4, np.int64), np.array([LEAST, -1, 0, MOST]), MOST),
        "infinite": (np.zeros(3, np.int64), np.array([-np.inf, 0.0, np.inf]), 5.0),
        "one": (np.zeros(1, np.int64), np.array([LEAST]), 3),
        "empty": (numbers[:0], times[:0], 3),
        "strided": (numbers[::3], times[::3], 7),
        "negative_span": (numbers, times, -1),
        "wide_span": (numbers, times, 2**63),
        "float_span": (numbers, times, 0.5),
        "lengths": (numbers[:-1], times, 1),
    }
    for label, args in spans.items():
        yield Case("begin_spans", label, lambda args=args: args)
