"""What a user's function returns, as its loops and its compiler speak of it."""

from __future__ import annotations

from typing import Any

from oop.frozen import frozen


@frozen()
class Result:
    """What a function returns: the kinds of its parts. ``names`` is None for a single value that is no tuple."""

    kinds: tuple[str, ...]
    names: tuple[str, ...] | None = None


def part_names(made: Any, count: int) -> tuple[str, ...]:
    """The names of a tuple's parts: those of a namedtuple, else f0, f1, … as in NumPy."""
    return tuple(getattr(made, "_fields", None) or (f"f{i}" for i in range(count)))
