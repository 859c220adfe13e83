"""Cases of the summary: count, exact sum, least and greatest value together."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from tests.kernels.cases.inputs import LEAST, MOST, Case, some_values


def _summaries(groups: int, held: bool = False, count: int = 1, hi: int = 3, lo: int = 5) -> Any:
    """Summaries that hold only rubbish; with ``held``, every other group holds values."""
    state = np.zeros((groups, 5), np.int64)
    state[:, 3:] = 77, -77
    if held:
        state[::2] = count, hi, lo, -3, 500
    return state


def cases() -> Iterator[Case]:
    for label, (ids, values, valid, groups) in some_values().items():
        if values.dtype != np.int64:
            continue
        for held in (False, True):
            name = f"{label}-held" if held else label
            rows = (ids, values, valid)
            yield Case("add_summary", name, lambda a=rows, g=groups, h=held: (*a, _summaries(g, h)))
            partial = np.arange(len(ids)) % 3
            some = np.resize(values, len(ids))
            words = (partial, some >> 40, partial * 10**9, some, np.maximum(some, 9))
            parts = (ids, np.column_stack(words).astype(np.int64))
            yield Case("merge_summary", name, lambda a=parts, g=groups, h=held: (*a, _summaries(g, h)))
    one, two = np.zeros(1, np.int64), np.zeros(2, np.int64)
    for dtype in (np.int32, np.uint64, np.float64):
        yield Case("add_summary", np.dtype(dtype).name, lambda d=dtype: (two, two.astype(d), None, _summaries(1)))
    yield Case("add_summary", "two_dimensions", lambda: (one, np.zeros((1, 1), np.int64), None, _summaries(1)))
    strided = np.arange(12)[::3]
    yield Case("add_summary", "strided", lambda: (strided, strided * 7, strided % 2 == 0, _summaries(10)))
    yield Case("merge_summary", "strided", lambda: (strided, _summaries(8, True)[::2], _summaries(10)))
    yield Case("merge_summary", "columns", lambda: (strided, np.asfortranarray(_summaries(4, True)), _summaries(10)))
    frozen = _summaries(1)
    frozen.flags.writeable = False
    yield Case("merge_summary", "frozen_partials", lambda: (one, frozen, _summaries(1)))
    wrong = {
        "frozen": frozen,
        "flat": np.zeros(5, np.int64),
        "narrow": np.zeros((1, 4), np.int64),
        "wide": np.zeros((1, 6), np.int64),
        "deep": np.zeros((1, 5, 1), np.int64),
        "by_columns": np.asfortranarray(_summaries(2)),
        "strided_state": _summaries(4)[::2],
        "state_int32": np.zeros((1, 5), np.int32),
        "state_float": np.zeros((1, 5)),
        "list": [[0] * 5],
    }
    for label, state in wrong.items():
        yield Case("add_summary", label, lambda state=state: (one, one, None, state))
        yield Case("merge_summary", label, lambda state=state: (one, _summaries(1, True), state))
    for label in ("flat", "narrow", "wide", "deep", "state_int32", "state_float", "list"):
        yield Case("merge_summary", f"{label}-partials", lambda state=wrong[label]: (one, state, _summaries(1)))
    yield Case("merge_summary", "short_partials", lambda: (two, _summaries(1, True), _summaries(1)))

    # A sum at the limit, one beyond it, and one that goes beyond it and comes back.
    full = {"count": 1, "hi": 2**61, "lo": 2**32 - 1}
    for label, values in (("limit", [0]), ("beyond", [1]), ("back", [1, -1]), ("below", [MOST, -MOST, LEAST])):
        some = (np.zeros(len(values), np.int64), np.array(values), None)
        yield Case("add_summary", label, lambda a=some: (*a, _summaries(1, True, **full)))
        lows = some[1]
        parts = (some[0], np.column_stack((lows * 0 + 1, lows >> 32, lows & (2**32 - 1), lows, lows)))
        yield Case("merge_summary", label, lambda a=parts: (*a, _summaries(1, True, **full)))
    far = np.zeros(9, np.int64)
    for label, hi in (("far_up", 2**60), ("far_down", -(2**60))):
        yield Case(
            "merge_summary", label, lambda hi=hi: (far, np.tile(_summaries(1, True, hi=hi), (9, 1)), _summaries(1))
        )
    spread = np.tile(_summaries(1, True, hi=2**60), (9, 1))
    spread[::2, :2] = 0, LEAST
    yield Case("merge_summary", "far_spread", lambda: (np.arange(9), spread, _summaries(9)))
    for label, count, hi, lo in (
        ("negative_count", -1, 0, 0),
        ("least_hi", 1, LEAST, 0),
        ("great_hi", 1, 2**61 + 1, 0),
        ("great_lo", 1, 0, 2**32),
        ("low_lo", 1, 0, -1),
        ("empty_rubbish", 0, LEAST, -1),
    ):
        part = _summaries(1, True, count, hi, lo)
        yield Case("merge_summary", label, lambda part=part: (one, part, _summaries(1)))
