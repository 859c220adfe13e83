"""Cases of the kernels that compute window ids, and of those that order rows by slice of time."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from tests.kernels.cases.inputs import LARGE, LEAST, MOST, Case, new_rng, some_times

WINDOWS: list[tuple[Any, Any, Any]] = [
    (10, 10, 0),
    (10, 3, 0),
    (3, 10, 1),
    (60, 20, -7),
    (1, 1, 0),
    (7, 2, 10**9),
]


FLOAT_WINDOWS: list[tuple[Any, Any, Any]] = [
    (10.0, 3.0, 0.0),
    (3.5, 2.5, 1.5),
    (0.3, 0.1, 0.05),
    (0.1, 0.7, -3.3),
]


def cases() -> Iterator[Case]:
    for label, times in some_times().items():
        for window in FLOAT_WINDOWS if times.dtype == np.float64 else WINDOWS:
            name = f"{label}-{'_'.join(map(str, window))}"
            yield Case("wid_ranges", name, lambda times=times, window=window: (times, *window))
    odd: dict[str, tuple[Any, ...]] = {
        "too_low": (np.array([0, LEAST + 12, LEAST]), 10, 3, 0),
        "too_high": (np.array([MOST - 13, MOST - 12]), 10, 3, 0),
        "just_inside": (np.array([LEAST + 18, MOST - 18]), 10, 3, -5),
        "huge_window": (np.array([0]), 2**62, 2**62, 1),
        "widest": (np.array([0, 1, -1]), 2**61, 2**61, -(2**61)),
        "nan": (np.array([0.0, np.nan]), 1.0, 1.0, 0.0),
        "infinite": (np.array([np.inf]), 1.0, 1.0, 0.0),
        "too_far": (np.array([1e300]), 1.0, 1.0, 0.0),
        "too_fine": (np.array([1.0]), 1.0, 1e-300, 0.0),
        "zero_slide": (np.array([1]), 1, 0, 0),
        "float_slide": (np.array([1]), 1, 0.5, 0),
        "wrong_dtype": (np.array([1], np.int32), 1, 1, 0),
        "two_dimensions": (np.zeros((2, 2)), 1, 1, 0),
        "int_window_float_times": (np.array([11.5]), 10, 3, 0),
    }
    for label, args in odd.items():
        yield Case("wid_ranges", label, lambda args=args: args)
    for label, bound in (
        ("int", 3),
        ("beyond", 2**70),
        ("below", -(2**70)),
        ("half", 2.5),
        ("nan", float("nan")),
    ):
        for kernel in ("select_below", "select_not_below"):
            yield Case(kernel, label, lambda bound=bound: (np.array([5, 1, 3, 2, LEAST, MOST]), bound))

    slots = new_rng().integers(-3, 4, 500)
    spread = {
        "empty": (slots[:0], 0),
        "one": (slots[:1], 0),
        "equal": (np.full(50, -9), 2),
        "few": (slots, 0),
        "shifted": (slots * 5, 2),
        "one_slice": (np.arange(8, 16), 3),
        "distinct": (new_rng().permutation(LARGE) - 77, 0),
        "far_apart": (np.array([LEAST, 0, MOST, 0, LEAST]), 0),
        "widest": (np.array([LEAST, 0, MOST, -1]), 63),
        "strided": (np.arange(60)[::3], 1),
        "wrong_dtype": (slots.astype(np.int32), 0),
        "wrong_shift": (slots, 64),
    }
    for label, args in spread.items():
        yield Case("order_slots", label, lambda args=args: args)
