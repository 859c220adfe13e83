"""Cases of the value at the least or the greatest value of another column."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from tests.kernels.cases.inputs import LEAST, MOST, Case, new_rng, some_values


def _firsts(groups: int, held: bool = False) -> Any:
    """States that hold nothing; with ``held``, in turn nothing, a null and a value."""
    state = np.zeros((groups, 3), np.int64)
    if held:
        state[:, 0] = np.arange(groups) % 3
        state[:, 1] = np.where(state[:, 0] > 0, np.arange(groups) % 7, 0)
        state[:, 2] = np.where(state[:, 0] > 1, 5, 0)
    return state


def cases() -> Iterator[Case]:
    rng = new_rng()
    for label, (ids, values, valid, groups) in some_values().items():
        if values.dtype != np.int64:
            continue
        by = np.resize(rng.integers(-3, 4, 500), len(ids))
        known = None if valid is None else np.resize(rng.random(500) < 0.8, len(ids))
        masks = {label: (None, valid), f"{label}-known": (known, None), f"{label}-both": (known, valid)}
        for which in ("first", "last"):
            for name, (there, some) in masks.items():
                rows = (ids, by, there, values, some)
                for held in (False, True):
                    yield Case(
                        f"take_{which}",
                        f"{name}{'-held' if held else ''}",
                        lambda a=rows, g=groups, h=held: (*a, _firsts(g, h)),
                    )
            parts = _firsts(len(ids), True)
            yield Case(f"merge_{which}", label, lambda a=(ids, parts), g=groups: (*a, _firsts(g, True)))
    one, strided = np.zeros(1, np.int64), np.arange(12)[::3]
    extremes = np.array([LEAST, MOST, LEAST, MOST])
    frozen = _firsts(1)
    frozen.flags.writeable = False
    bad = _firsts(1)
    bad[0, 0] = 3
    for which in ("first", "last"):
        yield Case(
            f"take_{which}", "strided", lambda: (strided, strided, strided % 2 == 0, strided, None, _firsts(10, True))
        )
        yield Case(f"take_{which}", "limits", lambda: (strided // 5, extremes, None, extremes[::-1], None, _firsts(2)))
        yield Case(f"merge_{which}", "strided", lambda: (strided, _firsts(8, True)[::2], _firsts(10, True)))
        for label, state in (
            ("frozen", frozen),
            ("flat", np.zeros(3, np.int64)),
            ("wide", np.zeros((1, 5), np.int64)),
            ("state_float", np.zeros((1, 3))),
        ):
            yield Case(f"take_{which}", label, lambda s=state: (one, one, None, one, None, s))
            yield Case(f"merge_{which}", label, lambda s=state: (one, _firsts(1, True), s))
        yield Case(f"take_{which}", "by_float", lambda: (one, one * 0.5, None, one, None, _firsts(1)))
        yield Case(f"take_{which}", "values_uint", lambda: (one, one, None, one.astype(np.uint64), None, _firsts(1)))
        yield Case(f"take_{which}", "short_known", lambda: (one, one, np.ones(2, np.bool_), one, None, _firsts(1)))
        for label, parts in (("no_kind", bad), ("negative_kind", -bad), ("short_partials", _firsts(0))):
            yield Case(f"merge_{which}", label, lambda p=parts: (one, p, _firsts(1)))
