"""Users' aggregates: what Numba compiled does what plain Python does."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from functools import partial
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np
import pytest

from oop.errors import OopError
from oop.kernels.checks import KernelError
from oop.kernels.user.fingerprints import fingerprint
from oop.kernels.user.folds import KINDS, Fold, Functions
from oop.kernels.user.loops import user_loops
from tests.kernels.processes import run_python

LEAST, MOST = -(2**63), 2**63 - 1


class Pair(NamedTuple):
    n: int
    total: float


FOLDS: dict[str, Fold] = {
    "sum": Fold(Functions(0, lambda s, v: s + v, lambda a, b: a + b), ("int",)),
    "sum of functions in C": Fold(Functions(0.0, operator.add, operator.add, float), ("float",)),
    "greatest": Fold(Functions(-math.inf, max, max), ("int",)),
    "range": Fold(
        Functions(
            (MOST, LEAST),
            lambda s, v: (min(s[0], v), max(s[1], v)),
            lambda a, b: (min(a[0], b[0]), max(a[1], b[1])),
            lambda s: s[1] - s[0],
        ),
        ("int",),
    ),
    "named": Fold(
        Functions(
            Pair(0, 0.0), lambda s, v: Pair(s.n + 1, s.total + v), lambda a, b: Pair(a.n + b.n, a.total + b.total)
        ),
        ("int",),
    ),
    "whole numbers into a float": Fold(Functions((0.0, 0), lambda s, v: (v, s[1] + 1), final=lambda s: s[0]), ("int",)),
    "any": Fold(Functions(False, lambda s, v: s or v, lambda a, b: a | b, lambda s: not s), ("bool",)),
    "rows": Fold(Functions(7, lambda s: s + 1), ()),
    "three kinds": Fold(
        Functions(
            (0, 0.5, True),
            lambda s, v, x, b: (s[0] + v, s[1] + x * v, s[2] and b),
            lambda a, b: (a[0] + b[0], a[1] + b[1], a[2] and b[2]),
            lambda s: (s[2], s[1], s[0], s[0] > 3),
        ),
        ("int", "float", "bool"),
    ),
    "windows": Fold(Functions(0, lambda s, v: s + v, None, lambda s, a, b: s / (b - a)), ("int",), "int"),
    "float windows": Fold(Functions(0, lambda s, v: s + v, None, lambda s, a, b: (a, b)), ("int",), "float"),
}


def values_of(kind: str, rng: np.random.Generator, count: int) -> np.ndarray:
    if kind == "int":
        return rng.choice([LEAST, -3, 0, 1, 2, 2**40, MOST], count)
    if kind == "float":
        return rng.choice([-1.5, 0.0, 2.25, math.nan, math.inf, 1e300], count)
    return rng.random(count) < 0.5


def run(name: str, fold: Fold, count: int) -> list[Any]:
    """Rows into groups, some of them not valid; those into others; and what comes out of both."""
    rng = np.random.default_rng(3)
    loops, functions = user_loops(fold, name), fold.functions
    edges = None
    if fold.edges is not None:
        edges = np.arange(9, dtype=KINDS[fold.edges]), np.arange(9, dtype=KINDS[fold.edges]) + 4
    (counts, state), (others, other) = ((np.zeros(9, np.int64), functions.columns(9)) for _ in range(2))
    for valid in (None, rng.random(count) < 0.7):
        values = [values_of(kind, rng, count) for kind in fold.values]
        loops.add(rng.integers(0, 8, count), values, valid, counts, state)
    loops.merge(np.arange(9)[::-1].copy(), counts, state, others, other)
    if functions.merge is not None:
        loops.merge(rng.integers(0, 9, 9), counts, state, others, other)
    results = loops.finish(counts, state, edges), loops.finish(others, other, edges)
    return [loops.result, counts, *state, others, *other, *results[0], *results[1]]


@pytest.mark.parametrize("count", [0, 1, 300])
@pytest.mark.parametrize("fold", FOLDS.values(), ids=FOLDS)
def test_compiled_equals_plain(fold: Fold, count: int) -> None:
    for found, wanted in zip(run("jit", fold, count), run("reference", fold, count), strict=True):
        if isinstance(wanted, np.ndarray):
            assert found.dtype == wanted.dtype
            np.testing.assert_array_equal(found, wanted)
        else:
            assert found == wanted


@pytest.mark.parametrize("name", ["reference", "jit"])
def test_without_merge_groups_may_move_but_not_meet(name: str) -> None:
    fold = FOLDS["rows"]
    loops, counts, state = user_loops(fold, name), np.zeros(3, np.int64), fold.functions.columns(3)
    loops.add(np.array([0, 0, 1]), [], None, counts, state)
    places, moved = np.zeros(3, np.int64), fold.functions.columns(3)
    loops.merge(np.array([2, 0, 0]), counts, state, places, moved)  # the last has taken nothing
    assert (places.tolist(), moved[0].tolist()) == ([1, 0, 2], [8, 7, 9])
    for ids in ([2, 1, 1], [1, 1, 1]):
        with pytest.raises(KernelError, match="without merge= was asked to merge"):
            loops.merge(np.array(ids), counts, state, places, moved)


@pytest.mark.parametrize("name", ["reference", "jit"])
def test_sizes_are_checked(name: str) -> None:
    loops = user_loops(FOLDS["sum"], name)
    counts, state = np.zeros(2, np.int64), [np.zeros(2, np.int64)]
    with pytest.raises(KernelError, match="ids must be from 0 to 1"):
        loops.add(np.array([2]), [np.array([1])], None, counts, state)
    with pytest.raises(KernelError, match="values has 2 rows, not 1"):
        loops.add(np.array([0]), [np.array([1, 2])], None, counts, state)
    with pytest.raises(KernelError, match="state has 3 rows, not 2"):
        loops.add(np.array([0]), [np.array([1])], None, counts, [np.zeros(3, np.int64)])
    with pytest.raises(KernelError, match="state must be a one-dimensional int64"):
        loops.finish(counts, [np.zeros(2)])
    with pytest.raises(KernelError, match="counts has 2 rows, not 1"):
        loops.merge(np.array([0]), counts, state, counts, state)
    with pytest.raises(KernelError, match="there is no window"):
        user_loops(FOLDS["windows"], name).finish(counts, state)


@pytest.mark.parametrize("name", ["reference", "jit"])
@pytest.mark.parametrize("role", ["incr", "merge", "final"])
def test_an_error_of_the_users_says_where(name: str, role: str) -> None:
    functions = Functions(
        0,
        (lambda s, v: s // (v - 9)) if role == "incr" else (lambda s, v: s + v),
        (lambda a, b: a // (b - 9)) if role == "merge" else None,
        (lambda s: s // (s - 9)) if role == "final" else None,
    )
    loops, counts, state = user_loops(Fold(functions, ("int",)), name), np.zeros(1, np.int64), functions.columns(1)
    with pytest.raises(OopError, match=f"{role} of a user-defined aggregate failed: ZeroDivisionError"):
        loops.add(np.array([0]), [np.array([9])], None, counts, state)
        if role == "merge":
            loops.merge(np.array([0]), np.array([1]), [np.array([9])], counts, state)
        loops.finish(counts, state)


def test_equal_functions_are_compiled_once() -> None:
    def made(step: int) -> Fold:
        return Fold(Functions(0, lambda s, v: s + v * step), ("int",))

    assert user_loops(made(2), "jit") is user_loops(made(2), "jit")
    assert user_loops(made(2), "jit") is not user_loops(made(3), "jit")


STEP = 5


def with_a_global(state: int, value: int) -> int:
    return state + STEP * value


def calling(state: int, value: int) -> int:
    return with_a_global(state, value) if state else calling(1, value)


def test_a_fingerprint_is_of_all_that_code_refers_to(monkeypatch: pytest.MonkeyPatch) -> None:
    def nested(step: int) -> Callable[..., Any]:
        return lambda s, v: (lambda x: x + step)(v) in {1, 2, "a", "b"}

    before = fingerprint(with_a_global), fingerprint(calling)
    assert fingerprint(nested(1)) == fingerprint(nested(1)) != fingerprint(nested(2))
    assert fingerprint(np.array([1.0])) != fingerprint(np.array([2.0]))
    assert fingerprint(1) != fingerprint(1.0) != fingerprint(True)
    assert fingerprint(max) != fingerprint(min) and fingerprint(np) != fingerprint(math)
    assert fingerprint(object()) == fingerprint(object())
    monkeypatch.setitem(globals(), "STEP", 6)
    assert fingerprint(with_a_global) != before[0] and fingerprint(calling) != before[1]


def test_a_fingerprint_is_the_same_in_every_process() -> None:
    code = "from tests.kernels.test_user_loops import FOLDS; print(*(f.functions.code for f in FOLDS.values()))"
    done = run_python("-c", code, env={"PYTHONHASHSEED": "7"})
    assert done.stdout.split() == [fold.functions.code for fold in FOLDS.values()], done.stderr


def test_without_numba_it_says_so() -> None:
    code = "import sys; sys.modules['numba'] = None\n"
    code += "from oop.kernels.user.folds import *\nfrom oop.kernels.user.loops import *\n"
    code += "try: user_loops(Fold(Functions(0, lambda s: s + 1), ()), 'native')\nexcept KernelError as e: print(e)"
    said = run_python("-c", code).stdout
    assert "compiled by Numba, which cannot be imported" in said and "pip install numba" in said


SETTINGS = ModuleType("settings")
SETTINGS.width = 2


def test_functions_are_told_apart_by_all_that_they_read():
    def step(state, value, *, width):
        return state + width * value

    def keyword(width):
        def incr(state, value, *, by=width):
            return state + by * value

        return incr

    def reads(state, value):
        return state + SETTINGS.width * value

    assert fingerprint(partial(step, width=2)) != fingerprint(partial(step, width=3))
    assert fingerprint(keyword(2)) != fingerprint(keyword(3))
    before = fingerprint(reads)
    SETTINGS.width = 3
    assert fingerprint(reads) != before
