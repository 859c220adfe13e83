"""What users' aggregates are made of: their functions, the kinds of numbers these take and return, and their state.

The state of all groups is kept in columns: how many rows each group has taken, then a column for each component of the
state. So a result that is a component needs no copy.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from oop.errors import OopError, SchemaMismatch
from oop.frozen import frozen
from oop.kernels.checks import Array
from oop.kernels.once import once
from oop.kernels.results import Result
from oop.kernels.user.fingerprints import fingerprint

KINDS: dict[str, Any] = {"int": np.int64, "float": np.float64, "bool": np.bool_}
"""The kinds of numbers that users' functions take and return."""


@frozen(eq=False)
class Functions:
    """What a user wrote; ``init`` is a number, a bool, or a tuple of these."""

    init: Any
    incr: Callable[..., Any]
    merge: Callable[..., Any] | None = None
    final: Callable[..., Any] | None = None

    @once
    def code(self) -> str:
        """A hash of the functions that is the same in every process (see `fingerprint`)."""
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


@frozen(eq=False)
class Fold:
    """A user's functions over values of certain kinds. ``edges`` is the kind of the window's start and end, if
    ``final`` takes them. Folds with equal code are equal, and are compiled once in a process."""

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


def check_parts(role: str, functions: Functions, given: Result) -> None:
    """Check that a function returns a state of the kinds that init has; a whole number may become a float."""
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
    """The type as a user would write it."""
    return given.kinds[0] if given.names is None else f"({', '.join(given.kinds)})"


def say_state(functions: Functions) -> str:
    return say(Result(functions.states, () if functions.is_tuple else None))


def failed(role: str, error: BaseException) -> OopError:
    """The error for a user's function that raised an error."""
    return OopError(f"{role} of a user-defined aggregate failed: {type(error).__name__}: {error}")
