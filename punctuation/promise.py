"""`Punctuation`: a promise that no later row of a stream matches all of its patterns (paper 004, section 3.2).

An attribute that it does not name is a wildcard. The promise with no pattern at all matches every row: `END`.

>>> p = Punctuation(below={"ts": 5}, where={"link": "A"})
>>> p
Punctuation(ts < 5, link = 'A')
>>> p.matches({"ts": 4, "link": "A"}), p.matches({"ts": 4, "link": "B"})
(True, False)
>>> Punctuation(below={"ts": 9}).covers(p), END.covers(p), p.covers(END)
(True, True, False)
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from typing import Any

from oop.punctuation.encoding import dumps, loads
from oop.punctuation.patterns import (
    Below,
    Bound,
    Equal,
    GroupPattern,
    NotIn,
    Pattern,
    Value,
    contains,
    intersect,
)

_set = object.__setattr__


class Punctuation:
    """``below`` gives strict upper bounds, ``where`` names groups: a value, or `not_in(...)` for the rest.

    >>> Punctuation(below={"ts": 5}), Punctuation(below={"ts": 5}, where={"link": "A"})
    (Punctuation(ts < 5), Punctuation(ts < 5, link = 'A'))
    """

    __slots__ = ("below", "where")

    below: Mapping[str, Bound]
    where: Mapping[str, GroupPattern]

    def __init__(self, below: Mapping[str, Bound] | None = None, where: Mapping[str, Value] | None = None) -> None:
        bounds = dict(below or {})
        for bound in bounds.values():
            if bound is None or bound != bound or isinstance(bound, bool):
                Below(bound)  # refuses it
        groups: dict[str, GroupPattern] = {}
        for column, value in (where or {}).items():
            pattern = value if isinstance(value, (Equal, NotIn)) else Equal(value)
            if not isinstance(pattern, NotIn) or pattern.values:  # else it says nothing: a wildcard
                groups[column] = pattern
        both = bounds.keys() & groups.keys()
        if both:
            raise ValueError(f"one pattern for each attribute: {sorted(both)} stand in below and in where")
        _set(self, "below", bounds)
        _set(self, "where", groups)

    @classmethod
    def _made(cls, below: Mapping[str, Bound], where: Mapping[str, GroupPattern]) -> Punctuation:
        """From parts of a promise that was made before, and so has been looked at; they are not changed any more."""
        made = cls.__new__(cls)
        _set(made, "below", below)
        _set(made, "where", where)
        return made

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError("a promise cannot be changed")

    @property
    def is_end(self) -> bool:
        """Does it end the stream? Only the promise without patterns does.

        >>> END.is_end, Punctuation({"ts": 5}).is_end
        (True, False)
        """
        return not self.below and not self.where

    def pattern(self, attribute: str) -> Pattern | None:
        """What it says of the attribute; None is a wildcard.

        >>> promise = Punctuation({"ts": 5})
        >>> str(promise.pattern("ts")), promise.pattern("link")
        ('< 5', None)
        """
        if attribute in self.below:
            return Below(self.below[attribute])
        return self.where.get(attribute)

    def patterns(self) -> dict[str, Pattern]:
        """What it says of each attribute that it names.

        >>> {name: str(pattern) for name, pattern in Punctuation({"ts": 5}, {"link": "A"}).patterns().items()}
        {'ts': '< 5', 'link': "= 'A'"}
        """
        return {**{a: Below(b) for a, b in self.below.items()}, **self.where}

    def matches(self, row: Mapping[str, Value]) -> bool:
        """Would this row, coming later, break the promise?

        >>> Punctuation({"ts": 5}).matches({"ts": 4}), Punctuation({"ts": 5}).matches({"ts": 5})
        (True, False)
        """
        return all(p.matches(row.get(a)) for a, p in self.patterns().items())

    def covers(self, other: Punctuation) -> bool:
        """Does this promise imply the other?

        >>> Punctuation({"ts": 5}).covers(Punctuation({"ts": 4})), Punctuation({"ts": 5}).covers(Punctuation({"ts": 6}))
        (True, False)
        """
        theirs = other.patterns()
        return all(a in theirs and contains(p, theirs[a]) for a, p in self.patterns().items())

    def intersect(self, other: Punctuation) -> Punctuation | None:
        """What both promise, where one promise can say it; None where that is nothing.

        >>> Punctuation(below={"ts": 5}).intersect(Punctuation(below={"ts": 3}, where={"k": 1}))
        Punctuation(ts < 3, k = 1)
        """
        merged: dict[str, Pattern] = self.patterns()
        for attribute, theirs in other.patterns().items():
            ours = merged.get(attribute)
            both = theirs if ours is None else intersect(ours, theirs)
            if both is None:
                return None
            merged[attribute] = both
        return from_patterns(merged)

    def to_json(self) -> str:
        """The promise as Arrow IPC metadata carries it (key ``oop.punctuation``).

        >>> Punctuation(below={"ts": 5}, where={"link": "A"}).to_json()
        '{"below": {"ts": 5}, "where": {"link": "A"}}'
        >>> END.to_json()
        '{"end": true}'
        """
        if self.is_end:
            return '{"end": true}'
        parts: dict[str, Any] = {
            "below": dict(self.below),
            "where": {k: p.value for k, p in self.where.items() if isinstance(p, Equal)},
            "not_in": {k: sorted(p.values, key=repr) for k, p in self.where.items() if isinstance(p, NotIn)},
        }
        return dumps({k: v for k, v in parts.items() if v})

    @staticmethod
    def from_json(text: str | bytes) -> Punctuation:
        """Read what `to_json` wrote; anything else is a ValueError.

        >>> Punctuation.from_json('{"below": {"ts": 5}, "not_in": {"link": ["A"]}}')
        Punctuation(ts < 5, link not in {'A'})
        """
        said = loads(text)
        if said == {"end": True}:
            return END
        if not isinstance(said, dict) or not said or said.keys() - {"below", "where", "not_in"}:
            raise ValueError(f"not a promise: {text!r}")
        if not all(isinstance(part, dict) for part in said.values()):
            raise ValueError(f"not a promise: {text!r}")
        below = said.get("below", {})
        if not all(isinstance(b, int | float) and not isinstance(b, bool) for b in below.values()):
            raise ValueError(f"bounds are numbers in the column's unit: {text!r}")
        if any(isinstance(b, int) and b.bit_length() > 1000 for b in below.values()):  # no float is as great
            raise ValueError("a bound is greater than any time")
        where, rest = said.get("where", {}), said.get("not_in", {})
        if where.keys() & rest.keys() or not all(isinstance(values, list) for values in rest.values()):
            raise ValueError(f"not a promise: {text!r}")
        if any(isinstance(v, list | dict) for v in itertools.chain(where.values(), *rest.values())):
            raise ValueError(f"a group is a single value: {text!r}")
        promise = Punctuation(below, {**where, **{k: NotIn(v) for k, v in rest.items()}})
        if promise.is_end:  # {"below": {}} is more likely a mistake than an end
            raise ValueError(f"a promise without a pattern; the end is written {END.to_json()}")
        return promise

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Punctuation):
            return NotImplemented
        return self.below == other.below and self.where == other.where

    def __hash__(self) -> int:
        return hash((frozenset(self.below.items()), frozenset(self.where.items())))

    def __str__(self) -> str:
        if self.is_end:
            return "END"
        return ", ".join(f"{a} {p}" for a, p in self.patterns().items())

    def __repr__(self) -> str:
        return "END" if self.is_end else f"Punctuation({self})"

    def __reduce__(self) -> tuple[Any, ...]:
        return Punctuation, (dict(self.below), dict(self.where))


END = Punctuation()


def from_patterns(patterns: Mapping[str, Pattern]) -> Punctuation:
    """A promise from one pattern for each attribute."""
    below = {a: p.bound for a, p in patterns.items() if isinstance(p, Below)}
    return Punctuation(below, {a: p for a, p in patterns.items() if not isinstance(p, Below)})
