"""Aggregates that users wrote: (init, incr, merge, final), as loops over dense group ids.

What is kept of groups are columns: how many rows each has taken, then a column for each component of the state. So a
result that is a component needs no copy. The loops are those of `reference_user`, in plain Python, or of `jit_user`,
compiled by Numba around the user's functions; native kernels use the latter, since C knows no Python.
"""

from __future__ import annotations

import functools
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from oop.errors import SchemaMismatch
from oop.kernels import dispatch
from oop.kernels.checks import Array, Bools, Ints, KernelError, check_array, check_ids, check_valid
from oop.kernels.once import once
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

    @once
    def code(self) -> str:
        """The same in every process for the same functions (see `fingerprint`)."""
        return fingerprint(self.init, type(self.init), self.incr, self.merge, self.final)

    @once
    def states(self) -> tuple[str, ...]:
        """The kinds of the state's components."""
        return tuple(type(part).__name__ for part in self.parts)

    @property
    def is_tuple(self) -> bool:
        return isinstance(self.init, tuple)

    @property
    def parts(self) -> tuple[Any, ...]:
        """The components of init."""
        return self.init if isinstance(self.init, tuple) else (self.init,)

    def columns(self, size: int) -> list[Array]:
        """The state of so many groups that have taken nothing."""
        return [np.full(size, part, KINDS[kind]) for part, kind in zip(self.parts, self.states, strict=True)]


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
    """``result`` is what `finish` gives, one array for each part. ``counts`` and ``state`` are what is kept."""

    result: Result

    def __init__(self, fold: Fold) -> None:
        self.fold = fold
        self.functions = fold.functions

    def add(
        self, ids: Ints, values: Sequence[Array], valid: Bools | None, counts: Ints, state: Sequence[Array]
    ) -> None:
        """Row i goes into group ids[i], if it is valid."""
        self._check(counts, state)
        check_ids(ids, len(counts))
        for kind, value in zip(self.fold.values, values, strict=True):
            check_array("values", value, KINDS[kind], len(ids))
        self._add(ids, values, check_valid(valid, len(ids)), counts, state)

    def merge(
        self, ids: Ints, counts_in: Ints, state_in: Sequence[Array], counts: Ints, state: Sequence[Array]
    ) -> None:
        """Group i of what comes goes into group ids[i]. One that has taken nothing becomes what comes: this needs no
        `merge`, so groups that only change their place never do."""
        self._check(counts, state)
        check_ids(ids, len(counts))
        self._check(counts_in, state_in, len(ids))
        if self.functions.merge is not None:
            self._merge(ids, counts_in, state_in, counts, state)
            return
        taken = np.flatnonzero(counts_in)
        places = ids[taken]
        if counts[places].any() or len(np.unique(places)) < len(places):
            raise KernelError("an aggregate without merge= was asked to merge")
        for ours, theirs in zip((counts, *state), (counts_in, *state_in), strict=True):
            ours[places] = theirs[taken]

    def finish(self, counts: Ints, state: Sequence[Array], edges: tuple[Array, Array] | None = None) -> list[Array]:
        """The results of all groups, whatever they are for those that have taken nothing; without `final` the state."""
        self._check(counts, state)
        if self.fold.edges is not None:
            if edges is None:
                raise KernelError("final= takes the window's start and end, and there is no window")
            for edge in edges:
                check_array("edges", edge, KINDS[self.fold.edges], len(counts))
        if self.functions.final is None:
            return list(state)
        return self._finish(counts, state, edges if self.fold.edges is not None else None)

    def _check(self, counts: Ints, state: Sequence[Array], size: int | None = None) -> None:
        check_array("counts", counts, np.int64, size)
        for kind, part in zip(self.functions.states, state, strict=True):
            check_array("state", part, KINDS[kind], len(counts))

    @abstractmethod
    def _add(
        self, ids: Ints, values: Sequence[Array], valid: Bools | None, counts: Ints, state: Sequence[Array]
    ) -> None: ...

    @abstractmethod
    def _merge(
        self, ids: Ints, counts_in: Ints, state_in: Sequence[Array], counts: Ints, state: Sequence[Array]
    ) -> None: ...

    @abstractmethod
    def _finish(self, counts: Ints, state: Sequence[Array], edges: tuple[Array, Array] | None) -> list[Array]: ...


def user_loops(fold: Fold, name: str | None = None) -> UserLoops:
    """The loops of a fold on one implementation of the kernels; compiled at once, so that errors come early.

    >>> total = Functions(0, lambda state, value: state + value)
    >>> counts, state = np.zeros(2, np.int64), total.columns(2)
    >>> loops = user_loops(Fold(total, ("int",)), "reference")
    >>> loops.add(np.array([0, 1, 0]), [np.array([5, 6, 7])], None, counts, state)
    >>> counts, state
    (array([2, 1]), [array([12,  6])])
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
