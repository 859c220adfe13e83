"""The laws of merging, for user-defined aggregates."""

from __future__ import annotations

import inspect
import math
import random
from collections.abc import Sequence
from typing import Any

from oop.operators.functions.user_defined import UserDefinition

_ROWS = 40
_TRIALS = 60


def check_aggregate(
    mine: UserDefinition,
    *columns: Sequence[Any],
    tolerance: float = 1e-9,
    window: tuple[Any, Any] = (0, 1),
    seed: int = 0,
) -> None:
    """Check the laws that panes, threads and Spark rely on. The AssertionError names the law that failed.

    The laws: rows may come in any order; merge is associative and commutative, and init is its zero; partial results of
    some rows each, down to single rows, merge to the result of all rows.

    ``columns`` are the values to try the aggregate on, one sequence for each argument of incr behind the state. Without
    columns, small whole numbers are chosen at random. The results of ``final`` are compared, floats within the
    tolerance. ``window`` is passed to final, if it takes a window.

    >>> import oop
    >>> check_aggregate(oop.aggregate(0, lambda s, v: s + v, lambda a, b: a + b), [3, 1, 2])
    >>> check_aggregate(oop.aggregate(0, lambda s, v: s + v, lambda a, b: a - b), [3, 1, 2])
    Traceback (most recent call last):
        ...
    AssertionError: law broken: merge is commutative: -3 is not 3, of the rows (1,), (1,) and (2,), (3,)
    """
    rng = random.Random(seed)
    rows = list(zip(*columns, strict=True)) if columns else _random_rows(rng, mine)
    if not rows:
        raise ValueError("there are no values to try it on")
    laws = _Laws(mine, tolerance, window)
    for _ in range(_TRIALS):
        some = rng.sample(rows, rng.randint(1, min(len(rows), 8)))
        whole = laws.of(some)
        laws.same("rows may come in any order", whole, laws.of(rng.sample(some, len(some))), some)
        if mine.merge is None:
            continue
        a, b, c = ([rng.choice(rows) for _ in range(rng.randint(1, 3))] for _ in range(3))
        x, y, z, merge = laws.of(a), laws.of(b), laws.of(c), mine.merge
        laws.same("merge is commutative", merge(x, y), merge(y, x), a, b)
        laws.same("merge is associative", merge(merge(x, y), z), merge(x, merge(y, z)), a, b, c)
        laws.same("init is the zero of merge", merge(mine.init, x), x, a)
        laws.same("merged results of single rows are that of all", laws.merged([[row] for row in some]), whole, some)
        cut = rng.randint(1, len(some))
        laws.same("merged results of parts are that of all", laws.merged([some[:cut], some[cut:]]), whole, some)


class _Laws:
    def __init__(self, mine: UserDefinition, tolerance: float, window: tuple[Any, Any]) -> None:
        self.mine, self.tolerance = mine, tolerance
        self.window = window if mine.takes_window else ()

    def of(self, rows: Sequence[tuple[Any, ...]]) -> Any:
        state = self.mine.init
        for row in rows:
            state = self.mine.incr(state, *row)
        return state

    def merged(self, parts: Sequence[Sequence[tuple[Any, ...]]]) -> Any:
        assert self.mine.merge is not None
        states = [self.of(part) for part in parts if part]
        state = states[0]
        for other in states[1:]:
            state = self.mine.merge(state, other)
        return state

    def same(self, law: str, found: Any, wanted: Any, *rows: Sequence[tuple[Any, ...]]) -> None:
        one, other = (
            state if self.mine.final is None else self.mine.final(state, *self.window) for state in (found, wanted)
        )
        if not self._near(one, other):
            shown = " and ".join(", ".join(map(str, some)) for some in rows)
            raise AssertionError(f"law broken: {law}: {one} is not {other}, of the rows {shown}")

    def _near(self, one: Any, other: Any) -> bool:
        if isinstance(one, tuple):
            return len(one) == len(other) and all(map(self._near, one, other))
        if isinstance(one, float) or isinstance(other, float):
            both_nan = math.isnan(one) and math.isnan(other)
            return both_nan or math.isclose(one, other, rel_tol=self.tolerance, abs_tol=self.tolerance)
        return bool(one == other)


def _random_rows(rng: random.Random, mine: UserDefinition) -> list[tuple[Any, ...]]:
    taken = inspect.signature(getattr(mine.incr, "py_func", mine.incr)).parameters
    return [tuple(rng.randint(-50, 50) for _ in range(len(taken) - 1)) for _ in range(_ROWS)]
