"""Cases of the kernels that keep open sessions by key."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from oop.kernels.dispatch import Kernels
from oop.kernels.signatures.sessions import OPEN, session_dtype
from tests.kernels.cases.inputs import LARGE, LEAST, MOST, Case, new_rng


def run_extend(kernels: Kernels, kernel: str, *args: Any) -> Any:
    """Run one call, or `_run_batches` if the first argument is a list of batches."""
    return _run_batches(kernels, *args) if isinstance(args[0], list) else (kernels.extend_sessions(*args), args)


def _run_batches(kernels: Kernels, batches: list[tuple[Any, ...]], gap: Any, dtype: Any, keys: int) -> Any:
    """Run batches of keys and times. Each batch has a bound, and the open sessions that end below it are dropped after
    it."""
    room = 2 + sum(len(times) for _, times, _ in batches)
    heads, sessions = np.zeros(keys, np.uint32), np.zeros(room, session_dtype(dtype))
    free = np.arange(room - 1, 0, -1).astype(np.uint32)
    found: list[Any] = []
    for ids, times, bound in batches:
        extended = kernels.extend_sessions(ids, times, gap, heads, sessions, free)
        found.append(tuple(extended[:5]))  # the number of sessions looked at in vain may differ
        gone = np.flatnonzero((sessions["state"] & OPEN > 0) & (sessions["end"] < bound))
        kernels.drop_sessions(gone, heads, sessions)
        sessions["state"][extended.absorbed] = 0
        again = np.concatenate((gone, extended.absorbed)).astype(np.uint32)
        free = np.concatenate((free[: len(free) - len(extended.made)], again))
        open_ = sessions[sessions["state"] > 0]
        found.append([open_[name] for name in sessions.dtype.names or ()])
    return found, heads


def cases() -> Iterator[Case]:
    rng = new_rng()

    def many(rows: int, keys: int, spread: int, floats: bool, parts: int = 4) -> list[tuple[Any, ...]]:
        batches = []
        for part in range(parts):
            times = part * spread // 2 + rng.integers(0, spread, rows)
            batches.append((rng.integers(0, keys, rows), times * 0.25 if floats else times, part * spread // 8))
        return batches

    for floats in (False, True):
        dtype, gap = (np.float64, 0.75) if floats else (np.int64, 3)
        name = "float" if floats else "int"

        def script(label: str, batches: list[tuple[Any, ...]], keys: int = 3, gap: Any = gap, d: Any = dtype) -> Case:
            return Case("extend_sessions", label, lambda: (batches, gap, d, keys))

        def rows(keys: list[int], times: list[float], bound: float = -9.0, d: Any = dtype) -> tuple[Any, ...]:
            return np.array(keys, np.int64), np.array(times, d), bound

        yield script(f"{name}-empty", [rows([], [])])
        yield script(f"{name}-one", [rows([1], [-5])])
        yield script(f"{name}-equal_to_the_gap", [rows([0] * 3, [1, 1 + gap, 1 - gap])])
        yield script(f"{name}-beyond_the_gap", [rows([0] * 3, [1, 9, -7])])
        yield script(f"{name}-bridged", [rows([0, 0, 1, 0], [0, 2 * gap, gap, gap])])
        yield script(f"{name}-bridged_by_turns", [rows([0] * 7, [0, 2 * gap, 4 * gap, 6 * gap, gap, 5 * gap, 3 * gap])])
        yield script(
            f"{name}-falling", [rows([0] * 9, [40, 30, 30, 22, 21, 12, 12, 3, 2]), rows([0] * 3, [35, 25, 11])]
        )
        yield script(f"{name}-few_keys", many(300, 5, 600, floats), 5)
        yield script(f"{name}-one_key", many(300, 1, 3_000, floats), 1)
        yield script(f"{name}-many_keys", many(500, 200, 40, floats), 200)
        yield script(f"{name}-large", many(LARGE // 25, 400, 300, floats), 400)
        yield script(f"{name}-no_gap", [rows([0] * 4, [5, 5, 6, 4])], gap=dtype(0).item())
    yield Case(
        "extend_sessions", "limits", lambda: ([(np.zeros(2, np.int64), np.array([LEAST, MOST - 3]), 0)], 3, np.int64, 1)
    )

    def plain(**changed: Any) -> tuple[Any, ...]:
        given: dict[str, Any] = {
            "keys": np.array([0, 1]),
            "times": np.array([5, 6]),
            "gap": 2,
            "heads": np.zeros(2, np.uint32),
            "sessions": np.zeros(4, session_dtype(np.int64)),
            "free": np.array([3, 2, 1], np.uint32),
        }
        return tuple({**given, **changed}.values())

    frozen = np.zeros(4, session_dtype(np.int64))
    frozen.flags.writeable = False
    wrong: dict[str, dict[str, Any]] = {
        "key_outside": {"keys": np.array([0, 2])},
        "key_negative": {"keys": np.array([0, -1])},
        "keys_short": {"keys": np.array([0])},
        "keys_int32": {"keys": np.array([0, 1], np.int32)},
        "times_int32": {"times": np.array([5, 6], np.int32)},
        "times_float": {"times": np.array([5.0, 6.0])},
        "too_late": {"times": np.array([5, MOST - 1])},
        "gap_negative": {"gap": -1},
        "gap_float": {"gap": 2.0},
        "gap_bool": {"gap": True},
        "gap_infinite": {"gap": math.inf},
        "heads_int64": {"heads": np.zeros(2, np.int64)},
        "heads_strided": {"heads": np.zeros(4, np.uint32)[::2]},
        "sessions_float": {"sessions": np.zeros(4, session_dtype(np.float64))},
        "sessions_frozen": {"sessions": frozen},
        "free_few": {"free": np.array([1], np.uint32)},
        "free_nobody": {"free": np.array([2, 0], np.uint32)},
        "free_outside": {"free": np.array([4, 1], np.uint32)},
        "free_int64": {"free": np.array([2, 1])},
    }
    for label, changed in wrong.items():
        yield Case("extend_sessions", f"wrong-{label}", lambda changed=changed: plain(**changed))
    for value in (math.nan, math.inf, -math.inf, 1.7e308):
        given = {"times": np.array([5.0, value]), "gap": 1e308, "sessions": np.zeros(4, session_dtype(np.float64))}
        yield Case("extend_sessions", f"wrong-time_{value}", lambda given=given: plain(**given))

    def open_two() -> tuple[Any, Any]:
        heads, sessions = np.array([2, 1], np.uint32), np.zeros(4, session_dtype(np.int64))
        sessions[1:3] = [(5, 7, 0, 0, 1, OPEN), (6, 8, 0, 0, 0, OPEN)]
        return heads, sessions

    slots = {
        "none": [],
        "both": [2, 1],
        "twice": [1, 1],
        "not_open": [1, 3],
        "nobody": [0],
        "outside": [4],
        "below": [-1],
    }
    for label, given in slots.items():
        yield Case("drop_sessions", label, lambda given=given: (np.array(given, np.int64), *open_two()))
    for last in (6, 7, 8, LEAST, MOST, 7.0, True, None):
        yield Case("sessions_until", str(last), lambda last=last: (open_two()[1], last))
    for label, found in {"none": np.zeros(1, session_dtype(np.int64)), "strided": open_two()[1][::2]}.items():
        yield Case("sessions_until", label, lambda found=found: (found, 5))
    for last in (0.5, math.inf, -math.inf, 3):

        def floats(last: Any = last) -> tuple[Any, Any]:
            found = np.zeros(6, session_dtype(np.float64))
            found[1:5] = [
                (0.0, 0.5, 0, 0, 0, OPEN),
                (-1.0, 4.0, 0, 0, 0, 3),
                (-9.0, 0.25, 0, 0, 0, 4),
                (2, 4, 0, 0, 0, 1),
            ]
            return found, last

        yield Case("sessions_until", f"float-{last}", floats)
    yield Case("drop_sessions", "int32", lambda: (np.array([1], np.int32), *open_two()))


RUNNERS = {"extend_sessions": run_extend}
