"""Aggregates that users wrote: (init, incr, merge, final), as loops over dense group ids.

A group's state is a row of 8-byte words: how many rows it has taken, then the components of the state, side by side so
that a group is one place in memory. A float is in its word as its bits, a bool as 0 or 1. The loops are those of
`reference_user`, in plain Python, or of `jit_user`, compiled by Numba around the user's functions; native kernels use
the latter, since C knows no Python.
"""

from __future__ import annotations

import functools
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from oop.errors import SchemaMismatch
from oop.kernels import dispatch
from oop.kernels.checks import Array, Bools, Ints, KernelError, check_array, check_ids, check_valid
from oop.kernels.user_code import fingerprint

KINDS: dict[str, Any] = {"int": np.int64, "float": np.float64, "bool": np.bool_}
"""What numbers users' functions are given and give."""


@dataclass(frozen=True, eq=False)
class Functions:
    """What a user wrote; ``init`` is a number, a bool, or a tuple of these."""

    init: Any
    incr: Callable[..., Any]
    merge: Callable[..., Any] | None = None
    final: Callable[..., Any] | None = None

    @cached_property
    def code(self) -> str:
        """The same in every process for the same functions (see `fingerprint`)."""
        return fingerprint(self.init, type(self.init), self.incr, self.merge, self.final)

    @cached_property
    def states(self) -> tuple[str, ...]:
        """The kinds of the state's components."""
        return tuple(type(part).__name__ for part in self._parts)

    @cached_property
    def zero(self) -> Ints:
        """The row of a group that has taken nothing."""
        words = np.zeros(1 + len(self.states), np.int64)
        for word, part in enumerate(self._parts, 1):
            words.view(np.float64 if isinstance(part, float) else np.int64)[word] = part
        return words

    @property
    def is_tuple(self) -> bool:
        return isinstance(self.init, tuple)

    @property
    def _parts(self) -> tuple[Any, ...]:
        return self.init if isinstance(self.init, tuple) else (self.init,)


@dataclass(frozen=True, eq=False)
class Fold:
    """A user's functions over values of certain kinds. ``edges`` is the kind of the window's start and end, if
    ``final`` takes them. Folds of equal code are equal: they are compiled once in a process."""

    functions: Functions
    values: tuple[str, ...]
    edges: str | None = None

    @property
    def key(self) -> tuple[object, ...]:
        return self.functions.code, self.values, self.edges

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Fold) and self.key == other.key

    def __hash__(self) -> int:
        return hash(self.key)


@dataclass(frozen=True)
class Result:
    """What a function gives: the kinds of its parts; ``names`` are None for one value that is no tuple."""

    kinds: tuple[str, ...]
    names: tuple[str, ...] | None = None


class UserLoops(ABC):
    """``result`` is what `finish` gives, one array for each part."""

    result: Result

    def __init__(self, fold: Fold) -> None:
        self.fold = fold
        self.functions = fold.functions

    def add(self, ids: Ints, values: Sequence[Array], valid: Bools | None, state: Ints) -> None:
        """Row i goes into group ids[i], if it is valid."""
        self._check(ids, state)
        for kind, value in zip(self.fold.values, values, strict=True):
            check_array("values", value, KINDS[kind], len(ids))
        self._add(ids, values, check_valid(valid, len(ids)), state)

    def merge(self, ids: Ints, state_in: Ints, state: Ints) -> None:
        """Group i of ``state_in`` goes into group ids[i]. One that has taken nothing becomes what comes: this needs no
        `merge`, so groups that only change their place never do."""
        self._check(ids, state)
        if state_in.shape != (len(ids), state.shape[1]) or state_in.dtype != np.int64:
            raise KernelError(f"partial states must be int64 in {len(ids)} rows of {state.shape[1]} words")
        if self.functions.merge is not None:
            self._merge(ids, state_in, state)
            return
        taken = np.flatnonzero(state_in[:, 0])
        places = ids[taken]
        if state[places, 0].any() or len(np.unique(places)) < len(places):
            raise KernelError("an aggregate without merge= was asked to merge")
        state[places] = state_in[taken]

    def finish(self, state: Ints, edges: tuple[Array, Array] | None = None) -> list[Array]:
        """The results of all groups; of those that have taken nothing it has zeros."""
        self._check(np.zeros(0, np.int64), state)
        if self.fold.edges is not None:
            if edges is None:
                raise KernelError("final= takes the window's start and end, and there is no window")
            for edge in edges:
                check_array("edges", edge, KINDS[self.fold.edges], len(state))
        if self.functions.final is None:
            return [_part(state, word, kind) for word, kind in enumerate(self.functions.states, 1)]
        return self._finish(state, edges if self.fold.edges is not None else None)

    def _check(self, ids: Ints, state: Ints) -> None:
        words = len(self.functions.zero)
        if state.dtype != np.int64 or state.ndim != 2 or state.shape[1] != words or not state.flags.c_contiguous:
            raise KernelError(f"state must be contiguous int64 in rows of {words} words")
        check_ids(ids, len(state))

    @abstractmethod
    def _add(self, ids: Ints, values: Sequence[Array], valid: Bools | None, state: Ints) -> None: ...

    @abstractmethod
    def _merge(self, ids: Ints, state_in: Ints, state: Ints) -> None: ...

    @abstractmethod
    def _finish(self, state: Ints, edges: tuple[Array, Array] | None) -> list[Array]: ...


def _part(state: Ints, word: int, kind: str) -> Array:
    return state.view(np.float64 if kind == "float" else np.int64)[:, word].astype(KINDS[kind])


def user_loops(fold: Fold, name: str | None = None) -> UserLoops:
    """The loops of a fold on one implementation of the kernels; compiled at once, so that errors come early.

    >>> total = Functions(0, lambda state, value: state + value)
    >>> state = np.array([total.zero, total.zero])
    >>> user_loops(Fold(total, ("int",)), "reference").add(np.array([0, 1, 0]), [np.array([5, 6, 7])], None, state)
    >>> state.tolist()
    [[2, 12], [1, 6]]
    """
    return _load(fold, name or dispatch.kernels().name)


@functools.lru_cache(maxsize=256)
def _load(fold: Fold, name: str) -> UserLoops:
    if name == "reference":
        from oop.kernels.reference_user import PlainLoops

        return PlainLoops(fold)
    try:
        from oop.kernels.jit_user import CompiledLoops
    except ImportError as error:
        raise KernelError(
            f"user-defined aggregates are compiled by Numba, which cannot be imported: {error}",
            hint="pip install numba",
        ) from error
    return CompiledLoops(fold)


def check_parts(role: str, functions: Functions, given: Result) -> None:
    """A function that makes a state gives one of the kinds that init has; a whole number may become a float."""
    if (given.names is not None) != functions.is_tuple or len(given.kinds) != len(functions.states):
        raise SchemaMismatch(
            f"{role} gives {say(given)}, and the state is {say_state(functions)}",
            hint=f"give what init is: {functions.init!r}",
        )
    order = ("bool", "int", "float")
    for kind, wanted in zip(given.kinds, functions.states, strict=True):
        if order.index(kind) > order.index(wanted):
            better = "0.0" if kind == "float" else "0"
            raise SchemaMismatch(
                f"{role} gives {say(given)}, and the state is {say_state(functions)}",
                hint=f"the types in init decide: write {better} there, or convert in {role}",
            )


def say(given: Result) -> str:
    """As a user would write the type."""
    return given.kinds[0] if given.names is None else f"({', '.join(given.kinds)})"


def say_state(functions: Functions) -> str:
    return say(Result(functions.states, () if functions.is_tuple else None))


def part_names(made: Any, count: int) -> tuple[str, ...]:
    """Of a tuple's parts: those of a namedtuple, else f0, f1, … as in NumPy."""
    return tuple(getattr(made, "_fields", None) or (f"f{i}" for i in range(count)))
