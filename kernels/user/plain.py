"""Users' aggregates in plain Python: the executable specification of `oop.kernels.user.compiled`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from oop.errors import OopError, SchemaMismatch
from oop.kernels.checks import INT64_MIN, Array, Bools, Ints
from oop.kernels.results import Result, part_names
from oop.kernels.user.checked import UserLoops
from oop.kernels.user.folds import KINDS, Fold, check_parts, failed

_SAMPLES: dict[str, tuple[Any, ...]] = {"int": (1, 2), "float": (1.5, 2.5), "bool": (True, False)}


class PlainLoops(UserLoops):
    """Types are found by trying the functions on a few values, where Numba would infer them."""

    def __init__(self, fold: Fold) -> None:
        super().__init__(fold)
        states = self._try_states()
        final = self.functions.final
        if final is None:
            self.result = _result("init", [self.functions.init])
            return
        edges = () if fold.edges is None else (KINDS[fold.edges](0).item(), KINDS[fold.edges](1).item())
        found = []
        for state in states:
            try:
                found.append(call("final", final, state, *edges))
            except OopError:  # the state of no rows may have no result
                if state is not self.functions.init:
                    raise
        self.result = _result("final", found)

    def _try_states(self) -> list[Any]:
        functions = self.functions
        states = [functions.init]
        for turn in (0, 1):
            given = [_SAMPLES[kind][turn] for kind in self.fold.values]
            made = call("incr", functions.incr, states[-1], *given)
            check_parts("incr", functions, _result("incr", [made]))
            states.append(self._as_state(made))
        if functions.merge is not None:
            check_parts("merge", functions, _result("merge", [call("merge", functions.merge, *states[1:])]))
        return states

    def _add(
        self, ids: Ints, values: Sequence[Array], valid: Bools | None, counts: Ints, state: Sequence[Array]
    ) -> None:
        rows = zip(ids.tolist(), *(value.tolist() for value in values), strict=True)
        for i, (group, *given) in enumerate(rows):
            if valid is None or valid[i]:
                _store(state, group, call("incr", self.functions.incr, self._read(state, group), *given))
                counts[group] += 1

    def _merge(
        self, ids: Ints, counts_in: Ints, state_in: Sequence[Array], counts: Ints, state: Sequence[Array]
    ) -> None:
        assert self.functions.merge is not None
        for i, group in enumerate(ids.tolist()):
            if not counts_in[i]:
                continue
            made = self._read(state_in, i)
            if counts[group]:
                made = call("merge", self.functions.merge, self._read(state, group), made)
            _store(state, group, made)
            counts[group] += counts_in[i]

    def _finish(self, counts: Ints, state: Sequence[Array], edges: tuple[Array, Array] | None) -> list[Array]:
        assert self.functions.final is not None
        out = [np.zeros(len(counts), KINDS[kind]) for kind in self.result.kinds]
        for group in np.flatnonzero(counts).tolist():
            window = () if edges is None else (edge[group].item() for edge in edges)
            _store(out, group, call("final", self.functions.final, self._read(state, group), *window))
        return out

    def _read(self, state: Sequence[Array], group: int) -> Any:
        parts = [part[group].item() for part in state]
        return self._as_state(parts) if self.functions.is_tuple else parts[0]

    def _as_state(self, made: Any) -> Any:
        """The state as the next call takes it, with the kinds and the type of init."""
        if not self.functions.is_tuple:
            return _TYPES[self.functions.states[0]](made)
        parts = [_TYPES[kind](part) for kind, part in zip(self.functions.states, made, strict=True)]
        return type(self.functions.init)(*parts) if hasattr(self.functions.init, "_fields") else tuple(parts)


def _store(columns: Sequence[Array], group: int, made: Any) -> None:
    for column, part in zip(columns, _parts(made), strict=True):
        column[group] = _wrapped(part) if column.dtype == np.int64 else part


_TYPES: dict[str, Callable[[Any], Any]] = {"int": int, "float": float, "bool": bool}


def call(role: str, function: Callable[..., Any], *given: Any) -> Any:
    """What the user's function returns; if it raises an error, ours names its role."""
    try:
        return getattr(function, "py_func", function)(*given)
    except Exception as error:
        raise failed(role, error) from error


def _parts(made: Any) -> Iterator[Any]:
    yield from made if isinstance(made, tuple) else (made,)


def _wrapped(whole: Any) -> int:
    """The number wrapped to 64 bits, in which compiled code computes."""
    return (int(whole) - INT64_MIN) % 2**64 + INT64_MIN


def _result(role: str, found: Sequence[Any]) -> Result:
    """The type of a function's results, from several of them: a part that is a float in one of them is a float."""
    order = ("bool", "int", "float")
    kinds = [[_kind(role, part) for part in _parts(made)] for made in found]
    most = tuple(max(column, key=order.index) for column in zip(*kinds, strict=True))
    return Result(most, part_names(found[-1], len(most)) if isinstance(found[-1], tuple) else None)


def _kind(role: str, value: Any) -> str:
    for kind, types in (("bool", bool | np.bool_), ("int", int | np.integer), ("float", float | np.floating)):
        if isinstance(value, types):
            return kind
    raise SchemaMismatch(
        f"{role} gives {value!r}, a {type(value).__name__}", hint="give a number, a bool, or a tuple of these"
    )
