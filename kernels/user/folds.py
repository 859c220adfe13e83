"""What users' aggregates are made of: their functions, the kinds of numbers these take and give, and what is kept.

What is kept of groups are columns: how many rows each has taken, then a column for each component of the state. So a
result that is a component needs no copy.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from oop.errors import OopError, SchemaMismatch
from oop.kernels.checks import Array
from oop.kernels.once import once
from oop.kernels.user.fingerprints import fingerprint

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


def failed(role: str, error: BaseException) -> OopError:
    """The error for a user's function that raised one."""
    return OopError(f"{role} of a user-defined aggregate failed: {type(error).__name__}: {error}")
