"""`Punctuation`: a promise that no later row of a stream matches all of its patterns (OOP paper, section 3.2).

An attribute that it does not name is a wildcard. The promise with no pattern at all matches every row: `END`.

>>> p = Punctuation(below={"ts": 5}, where={"link": "A"})
>>> p
Punctuation(ts < 5, link = 'A')
>>> p.matches({"ts": 4, "link": "A"}), p.matches({"ts": 4, "link": "B"})
(True, False)
>>> Punctuation(below={"ts": 9}).covers(p), END.covers(p), p.covers(END)
(True, True, False)

Lists of groups, and ranges of an attribute (OOP paper, section 3.2):

>>> Punctuation(where={"link": ["A", "B"]}), Punctuation(above={"k": 10}, below={"k": 20, "ts": 5})
(Punctuation(link in {'A', 'B'}), Punctuation(ts < 5, k in [10, 20)))
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping
from typing import Any

from oop.punctuation.encoding import dumps, loads
from oop.punctuation.patterns import (
    Below,
    Bound,
    Equal,
    GroupPattern,
    In,
    NotIn,
    Pattern,
    Range,
    Value,
    contains,
    intersect,
    listed,
)

_set, _new = object.__setattr__, object.__new__
_NOWHERE: Mapping[str, GroupPattern] = {}  # of promises about all rows
_LISTED = 1_000_000  # groups that the lists of one promise may name, all combinations counted


class Punctuation:
    """``below`` gives strict upper bounds, ``where`` names groups: a value, a list of values, or `not_in(...)` for the
    rest. ``above`` gives lower bounds: values that are at least as great, and below the attribute's bound in ``below``
    if it has one there.

    >>> Punctuation(below={"ts": 5}), Punctuation(below={"ts": 5}, where={"link": "A"})
    (Punctuation(ts < 5), Punctuation(ts < 5, link = 'A'))
    >>> Punctuation(above={"k": 10}), Punctuation(below={"ts": 5}, where={"link": ["A", None]})
    (Punctuation(k >= 10), Punctuation(ts < 5, link in {'A', None}))

    An attribute with a lower bound is a `Range` among the patterns of ``where``: it tells rows apart as a group does,
    while ``below`` has the bounds that a stream passes as it goes on.

    Most promises are *linear*: one bound about all rows. ``linear`` is its attribute and the bound, or None for any
    other promise. Code that has a cheaper way for linear promises looks there.

    >>> Punctuation({"ts": 5}).linear, Punctuation({"ts": 5}, {"link": "A"}).linear
    (('ts', 5), None)
    """

    __slots__ = ("below", "linear", "where")

    below: Mapping[str, Bound]
    where: Mapping[str, GroupPattern]
    linear: tuple[str, Bound] | None

    def __init__(
        self,
        below: Mapping[str, Bound] | None = None,
        where: Mapping[str, Value] | None = None,
        above: Mapping[str, Bound] | None = None,
    ) -> None:
        bounds = dict(below or {})
        for bound in bounds.values():
            if bound is None or bound != bound or isinstance(bound, bool):
                Below(bound)  # refuses it
        groups: dict[str, GroupPattern] = {}
        for column, value in (where or {}).items():
            pattern = value if isinstance(value, (Equal, NotIn)) else _pattern(column, value)
            if not isinstance(pattern, NotIn) or pattern.values:  # an empty NotIn is a wildcard
                groups[column] = pattern
        if groups:
            both = groups.keys() & {*bounds, *(above or ())}
            if both:
                raise ValueError(f"one pattern for each attribute: {sorted(both)} stand in below or above and in where")
            if len(groups) > 1 and math.prod(len(p.values) for p in groups.values() if isinstance(p, In)) > _LISTED:
                raise ValueError(f"the lists of one promise name more than {_LISTED:,} groups: {sorted(groups)}")
        if above:
            for attribute, bound in above.items():
                try:
                    groups[attribute] = Range(bound, bounds.pop(attribute, None))
                except ValueError as error:
                    raise ValueError(f"{attribute}: {error}") from None
        _set(self, "below", bounds)
        _set(self, "where", groups)
        _set(self, "linear", next(iter(bounds.items())) if len(bounds) == 1 and not groups else None)

    @classmethod
    def _made(cls, below: Mapping[str, Bound], where: Mapping[str, GroupPattern]) -> Punctuation:
        """A promise from mappings that have been checked before, and are never changed again."""
        made = cls.__new__(cls)
        _set(made, "below", below)
        _set(made, "where", where)
        _set(made, "linear", next(iter(below.items())) if len(below) == 1 and not where else None)
        return made

    @classmethod
    def _rise(cls, attribute: str, bound: Bound) -> Punctuation:
        """A linear promise, from a bound that has been checked before."""
        made = _new(cls)
        _set(made, "below", {attribute: bound})
        _set(made, "where", _NOWHERE)
        _set(made, "linear", (attribute, bound))
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

    @property
    def above(self) -> Mapping[str, Bound]:
        """The lower bounds.

        >>> Punctuation(above={"k": 10}, below={"k": 20}).above
        {'k': 10}
        """
        return {a: p.low for a, p in self.where.items() if isinstance(p, Range)}

    @property
    def has_list(self) -> bool:
        """Does it name a list of groups?

        >>> Punctuation(where={"link": ["A", "B"]}).has_list, Punctuation(where={"link": "A"}).has_list
        (True, False)
        """
        return any(isinstance(p, In) for p in self.where.values())

    def each(self) -> Iterator[Punctuation]:
        """The promises about single groups for which this one is short.

        >>> list(Punctuation({"ts": 5}, {"k": 1, "link": ["A"]}).each())
        [Punctuation(ts < 5, k = 1, link = 'A')]
        >>> len(list(Punctuation({"ts": 5}, {"k": [1, 2], "link": ["A", "B"]}).each()))
        4
        """
        choices = ([Equal(v) for v in p.values] if isinstance(p, In) else [p] for p in self.where.values())
        for chosen in itertools.product(*choices):
            yield Punctuation._made(self.below, dict(zip(self.where, chosen, strict=True)))

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
        """What both promise; None if that is nothing, or if no single promise can say it.

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
        >>> Punctuation(above={"k": 10}, below={"k": 20}, where={"link": ["A", "B"]}).to_json()
        '{"below": {"k": 20}, "above": {"k": 10}, "in": {"link": ["A", "B"]}}'
        """
        if self.is_end:
            return '{"end": true}'
        ranges = {k: p.high for k, p in self.where.items() if isinstance(p, Range)}
        parts: dict[str, Any] = {
            "below": {**self.below, **{k: high for k, high in ranges.items() if high is not None}},
            "above": self.above,
            "where": {k: p.value for k, p in self.where.items() if isinstance(p, Equal)},
            "in": {k: sorted(p.values, key=repr) for k, p in self.where.items() if isinstance(p, In)},
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
        if not isinstance(said, dict) or not said or said.keys() - {"below", "above", "where", "in", "not_in"}:
            raise ValueError(f"not a promise: {text!r}")
        if not all(isinstance(part, dict) for part in said.values()):
            raise ValueError(f"not a promise: {text!r}")
        below, above = said.get("below", {}), said.get("above", {})
        if not all(isinstance(b, int | float) and not isinstance(b, bool) for b in (*below.values(), *above.values())):
            raise ValueError(f"bounds are numbers in the column's unit: {text!r}")
        if any(isinstance(b, int) and b.bit_length() > 1000 for b in (*below.values(), *above.values())):
            raise ValueError("a bound is further away than any time")  # and than any float
        where, some, rest = said.get("where", {}), said.get("in", {}), said.get("not_in", {})
        if len({*where, *some, *rest}) < len(where) + len(some) + len(rest):
            raise ValueError(f"not a promise: {text!r}")
        if not all(isinstance(values, list) for values in (*some.values(), *rest.values())):
            raise ValueError(f"not a promise: {text!r}")
        if any(isinstance(v, list | dict) for v in itertools.chain(where.values(), *some.values(), *rest.values())):
            raise ValueError(f"a group is a single value: {text!r}")
        lists = {**{k: In(v) for k, v in some.items()}, **{k: NotIn(v) for k, v in rest.items()}}
        promise = Punctuation(below, {**where, **lists}, above)
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


def _pattern(column: str, value: Value) -> GroupPattern:
    """What ``where`` says of a column: a pattern as it is, a list of groups, or one group."""
    if isinstance(value, Range):
        return value
    if isinstance(value, In):
        return listed(value.values)
    if isinstance(value, list | tuple | set | frozenset):
        try:
            return listed(value)
        except TypeError:
            raise ValueError(f"{column}: a group is a single value, and a list has groups, not {value!r}") from None
        except ValueError as error:
            raise ValueError(f"{column}: {error}") from None
    return Equal(value)
