"""Cases of the kernels that compute bounds and find late rows."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from tests.kernels.cases.inputs import LEAST, MOST, Case, new_rng, some_times


def cases() -> Iterator[Case]:
    odd = {
        "float_nan": np.array([np.nan, 3.0, np.nan, 1.0, np.inf, 2.0]),
        "float_all_nan": np.full(3, np.nan),
        "float_infinite": np.array([-np.inf, 1.0]),
        "limits": np.array([LEAST, MOST, LEAST + 1, 0]),
    }
    for label, times in (some_times() | odd).items():
        floats = times.dtype == np.float64
        for greatest in (None, 7.5 if floats else 7, -2.0 if floats else LEAST):
            for slack in (0.0, 0.25) if floats else (0, 5, MOST, 2**63 + 9, 2**65):
                name = f"{label}-{greatest}-{slack}"
                args = (times, greatest, slack)
                yield Case("prefix_bounds", name, lambda args=args: args)
                yield Case("scan_times", name, lambda args=args: args)
        for n in (0, 3, 2000):
            held = np.sort(times[: min(n + 1, 2)][~np.isnan(times[: min(n + 1, 2)])])
            args_rows = (times, held, n)
            yield Case("prefix_bounds_rows", f"{label}-{n}", lambda args=args_rows: args)
        codes = new_rng().integers(0, 4, len(times))

        def by(times: Any = times, codes: Any = codes, slack: Any = 1.5 if floats else 3) -> tuple[Any, ...]:
            seen = np.array([True, False, True, False, False])
            return times, codes, np.array([3, 9, -4, 7, 0]).astype(times.dtype), seen, slack

        yield Case("prefix_bounds_by", label, by)
        yield Case("find_late", f"{label}-rows", lambda times=times: (times, np.roll(times, 1)))
        for bound in (0, 7, 2.5, float("nan"), float("inf"), -float("inf"), 2**70, -(2**70), np.int64(3)):
            yield Case("find_late", f"{label}-{bound!r}", lambda times=times, bound=bound: (times, bound))
    yield Case("prefix_bounds_rows", "too_many_held", lambda: (np.array([1]), np.arange(3), 1))
    yield Case("prefix_bounds", "negative_slack", lambda: (np.array([1]), None, -1))
    yield Case("prefix_bounds", "float_slack", lambda: (np.array([1]), None, 0.5))
    yield Case(
        "prefix_bounds_by",
        "code_too_large",
        lambda: (np.array([1]), np.array([2]), np.zeros(2, np.int64), np.zeros(2, bool), 0),
    )
    yield Case("find_late", "short_bounds", lambda: (np.array([1, 2]), np.array([1])))
    yield Case("find_late", "other_type", lambda: (np.array([1, 2]), np.array([1.0, 2.0])))
