"""The patterns a promise is made of: ``<``, ``=`` and ``not in`` (DESIGN section 3).

A pattern speaks of one attribute. A null or a NaN never matches ``<``; a group may be null or NaN, and both equal
themselves, so that rows of such a group can be promised about like any other.

>>> Below(5).matches(4), Below(5).matches(5), Below(5).matches(None)
(True, False, False)
>>> Equal("A").matches("A"), NotIn({"A", "B"}).matches("C")
(True, True)
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

Bound = int | float
Value = Any  # a group's value: whatever a column can hold, hashable

NAN = float("nan")  # the one NaN: dicts and sets find it by identity


def group_value(value: Value) -> Value:
    """The value as a group: every NaN becomes the same object, so that NaN equals NaN."""
    if isinstance(value, float) and math.isnan(value):
        return NAN
    return value


@dataclass(frozen=True, slots=True)
class Below:
    """``attribute < bound``."""

    bound: Bound

    def __post_init__(self) -> None:
        if isinstance(self.bound, bool) or self.bound is None or self.bound != self.bound:
            raise ValueError(f"a bound is a number, not {self.bound!r}")

    def matches(self, value: Value) -> bool:
        return value is not None and value < self.bound

    def __str__(self) -> str:
        return f"< {self.bound}"


@dataclass(frozen=True, slots=True)
class Equal:
    """``attribute = value``; the value may be null."""

    value: Value

    def __post_init__(self) -> None:
        object.__setattr__(self, "value", group_value(self.value))

    def matches(self, value: Value) -> bool:
        value = group_value(value)
        return value is self.value or bool(value == self.value)

    def __reduce__(self) -> tuple[Any, ...]:
        return Equal, (self.value,)  # through the constructor: NaN is the one NaN on the other side too

    def __str__(self) -> str:
        return f"= {self.value!r}"


@dataclass(frozen=True, slots=True)
class NotIn:
    """``attribute not in values``: the rest, when some groups are named."""

    values: frozenset[Value]

    def __init__(self, values: Iterable[Value]) -> None:
        object.__setattr__(self, "values", frozenset(map(group_value, values)))

    def matches(self, value: Value) -> bool:
        return group_value(value) not in self.values

    def __reduce__(self) -> tuple[Any, ...]:
        return NotIn, (tuple(self.values),)

    def __str__(self) -> str:
        return f"not in {{{', '.join(sorted(map(repr, self.values)))}}}"


GroupPattern = Equal | NotIn
Pattern = Below | Equal | NotIn


def not_in(*values: Value) -> NotIn:
    """The groups other than these: ``Punctuation(below={"ts": 5}, where={"link": not_in("A")})``.

    >>> not_in("A", "B").matches("A")
    False
    """
    return NotIn(values)


def contains(outer: Pattern, inner: Pattern) -> bool:
    """Does every value that matches ``inner`` match ``outer``?

    >>> contains(Below(9), Below(5)), contains(Below(9), Equal(5)), contains(NotIn({1}), Below(9))
    (True, True, False)
    >>> contains(NotIn({9}), Below(9))
    True
    """
    if isinstance(inner, Equal):
        return outer.matches(inner.value)
    if isinstance(outer, Below):
        return isinstance(inner, Below) and inner.bound <= outer.bound
    if isinstance(outer, NotIn):
        if isinstance(inner, Below):
            return not any(map(inner.matches, outer.values))
        return outer.values <= inner.values
    return False


def intersect(a: Pattern, b: Pattern) -> Pattern | None:
    """The pattern of the values that match both; None where no value does or no one pattern says so.

    Losing what cannot be said (``< 9`` without 5) is sound: it only makes a promise weaker.

    >>> intersect(Below(5), Below(3)), intersect(Equal("A"), NotIn({"B"})), intersect(Equal(1), Equal(2))
    (Below(bound=3), Equal(value='A'), None)
    """
    if isinstance(a, Below) and isinstance(b, Below):
        return a if a.bound <= b.bound else b
    if isinstance(a, NotIn) and isinstance(b, NotIn):
        return NotIn(a.values | b.values)
    if isinstance(a, Equal):
        return a if b.matches(a.value) else None
    if isinstance(b, Equal):
        return b if a.matches(b.value) else None
    if isinstance(a, Below):
        return a if contains(b, a) else None
    return b if contains(a, b) else None
