"""What a frontier asks about ranges of an attribute (OOP paper, section 3.2).

A range tells rows apart as a group does, but its values cannot be listed. So numbers that no promise names are cut at
all bounds that matter. Between two neighbouring bounds they are one *atom*: a promise holds for all of it or for none.

>>> [str(atom) for atom in atoms_in(Range(10, 20), {5, 15})]
['[10, 15)', '[15, 20)']
>>> merge_ranges(Punctuation(where={"k": Range(10, 20)}), Punctuation(where={"k": Range(20, 30)}))
Punctuation(k in [10, 30))
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence

from oop.punctuation.corners import Corners
from oop.punctuation.grouping import Grouping
from oop.punctuation.patterns import Bound, Equal, NotIn, Range, Value
from oop.punctuation.promise import Punctuation
from oop.punctuation.several_columns import OTHER, Combination, SeveralColumns


class Atom:
    """The numbers from ``low`` up to ``high`` (None: all that are greater) that no promise names."""

    __slots__ = ("high", "low")

    def __init__(self, low: Bound, high: Bound | None) -> None:
        self.low, self.high = low, high

    def __lt__(self, bound: Bound) -> bool:
        """Are all of them below the bound? With this an atom can stand where a value does."""
        return self.high is not None and self.high <= bound

    def within(self, pattern: Range) -> bool:
        return self.low >= pattern.low and (pattern.high is None or self < pattern.high)

    def __str__(self) -> str:
        return f"[{self.low}, {'∞' if self.high is None else self.high})"


def atoms_in(pattern: Range | None, cuts: Iterable[Bound]) -> list[Atom]:
    """The numbers of a range, or all there are, cut at these bounds."""
    low, high = (-math.inf, None) if pattern is None else (pattern.low, pattern.high)
    inside = sorted({c for c in cuts if low < c and (high is None or c < high)} | ({low} - {-math.inf}))
    starts = inside if pattern is not None and low > -math.inf else [-math.inf, *inside]
    return [Atom(a, b) for a, b in zip(starts, [*starts[1:], high], strict=True)]


def values_told_apart(
    column: str, promise: Punctuation, named: Iterable[Value], cuts: Iterable[Bound] | None
) -> list[Value]:
    """The values of a group column that must be told apart, among those that a promise with no single value for it
    speaks of. ``named`` are the
    values that some promise names. If there are ranges of the column, ``cuts`` are all bounds on it (see `cuts_on`),
    and the numbers between any two of them are one `Atom`; without ranges ``cuts`` is None."""
    pattern = promise.where.get(column)
    if isinstance(pattern, NotIn):
        named = set(named) - pattern.values
    if cuts is None:
        return [OTHER, *named]
    if isinstance(pattern, Range):
        return [*atoms_in(pattern, cuts), *filter(pattern.may_match, named)]
    numbers = atoms_in(None, cuts)
    return [*numbers, *named] if column in promise.below else [OTHER, *numbers, *named]


def cuts_on(
    column: str,
    promise: Punctuation,
    everyone: Corners,
    by: Mapping[str, Grouping],
    across: SeveralColumns,
    ranges: Sequence[Punctuation],
) -> set[Bound] | None:
    """All bounds on a column that matter, in the promises that a `Promised` keeps and in the given one; None if none
    of them has a range of the column. Of many groups only those that the given promise speaks of are looked at."""
    if not any(isinstance(p.where.get(column), Range) for p in (promise, *ranges)):
        return None
    point = point_of(promise)
    found = [everyone]
    cuts: set[Bound] = set()
    for name, grouping in by.items():
        if name in point:
            found.append(grouping.at(point[name]))
        elif grouping.flat:
            cuts.update(grouping.flat.linear.get(column, {}).values())
        else:
            found += (corners for _, corners in grouping.items())
    for columns, bounds in across.single.items():
        if all(c in point for c in columns):
            found.append(bounds.corners(tuple(point[c] for c in columns)))
        else:
            cuts.update(bounds.bounds_on(column))
    cuts.update(corner[column] for corners in found for corner in corners if column in corner)
    return cuts.union(*(_span(p, column) for p in (*across.mixed, *ranges, promise)))


def is_ranged(promise: Punctuation) -> bool:
    """Does it have a range?"""
    return any(isinstance(p, Range) for p in promise.where.values())


def point_of(promise: Punctuation) -> dict[str, Value]:
    """What is known of the values of the promise's rows: the groups, and for ranges where they lie."""
    return {
        c: p.value if isinstance(p, Equal) else Atom(p.low, p.high)
        for c, p in promise.where.items()
        if isinstance(p, Equal | Range)
    }


def _span(promise: Punctuation, column: str) -> list[Bound]:
    """The bounds that a promise has on a column."""
    pattern = promise.where.get(column)
    ends = [pattern.low, pattern.high] if isinstance(pattern, Range) else [promise.below.get(column)]
    return [end for end in ends if end is not None]


def named_in(promise: Punctuation, column: str) -> set[Value]:
    """The groups of a column that a promise names."""
    pattern = promise.where.get(column)
    if isinstance(pattern, Equal):
        return {pattern.value}
    return set(pattern.values) if isinstance(pattern, NotIn) else set()


def says(ranges: Iterable[Punctuation], combination: Combination) -> Iterator[Corners]:
    """What promises with ranges say of a combination."""
    for promise in ranges:
        if all(_holds(p, combination.get(c, OTHER)) for c, p in promise.where.items()):
            corners = Corners()
            corners.add(promise.below)
            yield corners


def _holds(pattern: object, value: Value) -> bool:
    """Does the pattern hold for every row of a combination?"""
    if value is OTHER:
        return isinstance(pattern, NotIn)
    if isinstance(value, Atom):
        return value.within(pattern) if isinstance(pattern, Range) else isinstance(pattern, NotIn)
    assert isinstance(pattern, Equal | NotIn | Range)
    return pattern.matches(value)


def given(corners: Corners, where: Mapping[str, Value]) -> Corners:
    """What corners say of rows with these values: a bound that a value is below is one condition less.

    >>> corners = Corners()
    >>> corners.add({"k": 20, "ts": 5}), given(corners, {"k": 15}), given(corners, {"k": 20})
    (True, Corners({'ts': 5}), Corners())
    """
    if not where or corners.attributes().isdisjoint(where):
        return corners
    out = Corners()
    for corner in corners:
        known = {a: where[a] for a in corner if a in where}
        try:
            below = all(v is not None and v < corner[a] for a, v in known.items())
        except TypeError:  # a date or time of Python, which cannot be compared with bounds
            out.add(corner)
            continue
        if below:
            out.add({a: b for a, b in corner.items() if a not in known})
    return out


def merge_ranges(a: Punctuation, b: Punctuation) -> Punctuation | None:
    """Both promises as one, if they differ only in the range of one attribute and their ranges touch; else None."""
    if a.below != b.below or a.where.keys() != b.where.keys():
        return None
    differing = [c for c, p in a.where.items() if p != b.where[c]]
    if len(differing) != 1:
        return None
    one, other = a.where[differing[0]], b.where[differing[0]]
    if not isinstance(one, Range) or not isinstance(other, Range):
        return None
    if (one.high is not None and one.high < other.low) or (other.high is not None and other.high < one.low):
        return None
    high = None if one.high is None or other.high is None else max(one.high, other.high)
    return Punctuation(a.below, {**a.where, differing[0]: Range(min(one.low, other.low), high)})


def without(promise: Punctuation, column: str, bound: Bound) -> Punctuation:
    """The promise with an upper bound in the place of its range of a column."""
    where = {c: p for c, p in promise.where.items() if c != column}
    return Punctuation({**promise.below, column: bound}, where)


def swallows(promise: Punctuation, other: Punctuation) -> bool:
    """May ``other``, which has a range, be forgotten beside ``promise``? It must be implied, and not by a bound on the
    range's column: operators that take a range for groups make less of a bound."""
    return promise.covers(other) and not any(isinstance(other.where.get(c), Range) for c in promise.below)


def reaches(promise: Punctuation, other: Punctuation) -> bool:
    """Does it have a bound that reaches the beginning of a range of the other?"""
    bounds = promise.below
    return any(isinstance(p, Range) and c in bounds and bounds[c] >= p.low for c, p in other.where.items())


def noted(lifted: Iterable[Punctuation], promise: Punctuation) -> list[Punctuation]:
    """What ranges have become, with one more promise in the place of those that it implies. So the list does not grow
    beyond what is kept, even if it is never taken."""
    return [*(p for p in lifted if not promise.covers(p)), promise]
