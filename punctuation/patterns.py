"""The patterns a promise is made of: ``<``, a range, ``=``, a list, and ``not in`` (OOP paper, section 3.2).

A pattern speaks of one attribute. A null or a NaN never matches ``<`` or a range; a group may be null or NaN, and both
equal themselves, so that rows of such a group can be promised about like any other.

>>> Below(5).matches(4), Below(5).matches(5), Below(5).matches(None)
(True, False, False)
>>> Equal("A").matches("A"), NotIn({"A", "B"}).matches("C"), In({"A", "B"}).matches("C")
(True, True, False)
>>> Range(10, 20).matches(10), Range(10, 20).matches(20), Range(10).matches(20), Range(10).matches(None)
(True, False, True, False)
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

Bound = int | float
Value = Any  # a group's value: whatever a column can hold, hashable
Group = tuple[Value, ...]
"""A group: its value in each of some columns, in the order of these columns."""

NAN = float("nan")  # the one NaN: dicts and sets find it by identity


def is_below(value: Value, bound: Bound) -> bool:
    """Is a group's value known to be below the bound? Python's dates and datetimes are not: which numbers they are
    depends on the type of their column.

    >>> from datetime import date
    >>> is_below(4, 5), is_below(None, 5), is_below(date(1970, 1, 2), 5)
    (True, False, False)
    """
    if value is None:
        return False
    try:
        return bool(value < bound)
    except TypeError:
        return False


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

    def may_match(self, value: Value) -> bool:
        """Could the value be below the bound? For Python's dates and datetimes the answer is yes, because they cannot
        be compared with bounds, which are numbers."""
        if value is None or isinstance(value, str | bytes | bool):
            return False
        try:
            return bool(value < self.bound)
        except TypeError:
            return True

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
        return Equal, (self.value,)  # through the constructor, so that NaN is the one NaN on the other side too

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


@dataclass(frozen=True, slots=True)
class In:
    """``attribute in values``: a list of groups, null and NaN among them if they are listed."""

    values: frozenset[Value]

    def __init__(self, values: Iterable[Value]) -> None:
        object.__setattr__(self, "values", frozenset(map(group_value, values)))
        if not self.values:
            raise ValueError("a list of groups has at least one: a promise about none says nothing")

    def matches(self, value: Value) -> bool:
        return group_value(value) in self.values

    def __reduce__(self) -> tuple[Any, ...]:
        return In, (tuple(self.values),)

    def __str__(self) -> str:
        return f"in {{{', '.join(sorted(map(repr, self.values)))}}}"


@dataclass(frozen=True, slots=True)
class Range:
    """``low <= attribute < high``; without ``high``, ``attribute >= low``. A range is closed below and open above, as
    windows are, so that ranges and ``<`` tile: what is not below 10 is in the range from 10 on."""

    low: Bound
    high: Bound | None = None

    def __post_init__(self) -> None:
        Below(self.low)  # refuses what is no bound
        if self.high is not None:
            Below(self.high)
            try:
                some = self.low < self.high
            except TypeError:
                raise ValueError(f"the bounds of a range are of one kind: {self.low!r} and {self.high!r}") from None
            if not some:
                raise ValueError(f"no value is at least {self.low!r} and below {self.high!r}")
        if isinstance(self.low, str | bytes):
            raise ValueError(f"a range is of numbers or times, and {self.low!r} is neither")

    def matches(self, value: Value) -> bool:
        return self._contains(value, unknown=False)

    def may_match(self, value: Value) -> bool:
        """Could the value be in the range? Python's dates and datetimes cannot be compared with bounds, which are
        numbers: for them the answer is yes."""
        return self._contains(value, unknown=True)

    def _contains(self, value: Value, unknown: bool) -> bool:
        if value is None or isinstance(value, str | bytes | bool):
            return False
        try:
            return bool(self.low <= value) and (self.high is None or bool(value < self.high))
        except TypeError:
            return unknown

    def __str__(self) -> str:
        return f">= {self.low}" if self.high is None else f"in [{self.low}, {self.high})"


SingleGroups = Equal | NotIn  # what a frontier keeps of groups: it takes a list apart
GroupPattern = Equal | NotIn | In | Range
Pattern = Below | Equal | NotIn | In | Range


def listed(values: Iterable[Value]) -> Equal | In:
    """The pattern of a list of groups; for a single group it is ``=``.

    >>> str(listed(["A", "B"])), str(listed(["A"]))
    ("in {'A', 'B'}", "= 'A'")
    """
    pattern = In(values)
    return Equal(next(iter(pattern.values))) if len(pattern.values) == 1 else pattern


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
    >>> contains(NotIn({9}), Below(9)), contains(Range(5), Range(7, 9)), contains(Below(9), In({5, 9}))
    (True, True, False)

    Where a value is a date or datetime of Python, and a bound a number, that is not known, and the answer is no.
    """
    if isinstance(inner, Equal):
        return _holds(outer, inner.value)
    if isinstance(inner, In):
        return all(_holds(outer, value) for value in inner.values)
    if isinstance(outer, NotIn):
        if isinstance(inner, NotIn):
            return outer.values <= inner.values
        if isinstance(inner, Below | Range):
            return not any(map(inner.may_match, outer.values))
        return not any(map(inner.matches, outer.values))
    if isinstance(inner, NotIn) or isinstance(outer, Equal | In):
        return False
    low, high = _span(inner)
    least, most = _span(outer)
    return (least is None or (low is not None and least <= low)) and (
        most is None or (high is not None and high <= most)
    )


def _holds(pattern: Pattern, value: Value) -> bool:
    """Is a group's value known to match?"""
    return is_below(value, pattern.bound) if isinstance(pattern, Below) else pattern.matches(value)


def _span(pattern: Below | Range) -> tuple[Bound | None, Bound | None]:
    """From where the pattern's values go, and up to where; None means that there is no end."""
    if isinstance(pattern, Below):
        return None, pattern.bound
    return pattern.low, pattern.high


def intersect(a: Pattern, b: Pattern) -> Pattern | None:
    """The pattern of the values that match both; None where no value does or no one pattern says so.

    Losing what cannot be said (``< 9`` without 5) is sound: it only makes a promise weaker.

    >>> intersect(Below(5), Below(3)), intersect(Equal("A"), NotIn({"B"})), intersect(Equal(1), Equal(2))
    (Below(bound=3), Equal(value='A'), None)
    >>> intersect(Below(5), Range(3, 9)), intersect(Range(3), Range(5, 9)), intersect(Below(5), Range(5))
    (Range(low=3, high=5), Range(low=5, high=9), None)
    """
    if isinstance(a, Equal):
        return a if _holds(b, a.value) else None
    if isinstance(b, Equal | In) and not isinstance(a, In):
        return intersect(b, a)
    if isinstance(a, In):
        both = [value for value in a.values if _holds(b, value)]
        return listed(both) if both else None
    if isinstance(a, NotIn) and isinstance(b, NotIn):
        return NotIn(a.values | b.values)
    if isinstance(a, NotIn):
        return b if contains(a, b) else None
    if isinstance(b, NotIn):
        return a if contains(b, a) else None
    assert isinstance(a, Below | Range) and isinstance(b, Below | Range)
    (low, high), (least, most) = _span(a), _span(b)
    low = least if low is None else low if least is None else max(low, least)
    high = most if high is None else high if most is None else min(high, most)
    if low is None:
        assert high is not None
        return Below(high)
    return Range(low, high) if high is None or low < high else None
