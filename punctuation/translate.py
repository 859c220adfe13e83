"""How a frontier on an operator's input becomes one on its output (docs/crossings.md lists all operators).

The frontier is translated, not a single promise: only the whole says what holds when a group column is dropped, or when
two ports come together. Dropping one conjunct of a promise is never sound, so a corner that is finite in an attribute
that does not survive is lost.
"""

from __future__ import annotations

import bisect
import builtins
import itertools
import math
from collections.abc import Callable, Container, Mapping, Sequence
from typing import Protocol, runtime_checkable

from oop.punctuation.corners import Corner
from oop.punctuation.frontier import Frontier
from oop.punctuation.group_promises import GroupPromises
from oop.punctuation.patterns import Bound, GroupPattern, NotIn, Range, Value, contains, group_value
from oop.punctuation.promise import Punctuation
from oop.punctuation.ranges import is_ranged
from oop.punctuation.several_columns import OTHER

Image = tuple[str, Callable[[Bound], Bound | None] | None]
"""An output attribute, and the increasing function that takes bounds there (None: the identity).

A row whose output is below the image of a bound must be below the bound; for ``greatest(a, b)`` it must hold for ``a``
and for ``b``. A range crosses a function that also says by ``low_end`` from which value on a row cannot come from below
the range: `CarriesRanges`."""


_ANY: Mapping[str, Range] = {}


@runtime_checkable
class CarriesRanges(Protocol):
    """An increasing function of one attribute that ranges cross."""

    def __call__(self, bound: Bound) -> Bound | None: ...

    def low_end(self, low: Bound) -> Bound | None:
        """A value such that whatever is at least that comes from an attribute that is at least ``low``."""


def restrict(frontier: Frontier, fixed: Mapping[str, Value], within: Mapping[str, Range] = _ANY) -> Frontier:
    """A filter that fixes a group (``link == 'A'``) turns that group's bound into a linear one. A filter that keeps an
    attribute ``within`` a range does the same with what is promised about that range.

    >>> f = Frontier.of(Punctuation({"ts": 5}), Punctuation({"ts": 9}, {"link": "A"}))
    >>> restrict(f, {"link": "A"})
    Frontier(ts < 9)
    >>> restrict(Frontier.of(Punctuation({"k": 20, "ts": 5}, above={"k": 10})), {}, {"k": Range(12, 15)})
    Frontier(ts < 5)
    """
    fixed = {c: group_value(v) for c, v in fixed.items()}
    everyone = frontier.all.copy()
    for column, grouping in frontier.by.items():
        if column in fixed:
            everyone = everyone.join(grouping.at(fixed[column]))
    out = Frontier(everyone)
    for column, grouping in frontier.by.items():
        if column not in fixed:
            for pattern, corners in grouping.items():
                for corner in corners:
                    out.advance(Punctuation(corner, {column: pattern}))
    for promise in frontier.several:
        here = {c: p for c, p in promise.where.items() if c in fixed}
        if all(p.matches(fixed[c]) for c, p in here.items()):
            left = {c: p for c, p in promise.where.items() if c not in here and not _all_within(p, within.get(c))}
            out.advance(Punctuation(promise.below, left))
    return out


def _all_within(pattern: GroupPattern, values: Range | None) -> bool:
    """Is the pattern a range, and are all values that a filter passes in it?"""
    return values is not None and isinstance(pattern, Range) and contains(pattern, values)


def roll_up(frontier: Frontier, columns: Container[str]) -> Frontier:
    """What the frontier promises about all rows and about groups of these columns alone, that is, rolled up to their
    level (OOP paper, A.1.1).

    What was promised by another column is kept as far as it holds for all of that column's groups and the rest.

    >>> f = Frontier.of(Punctuation({"ts": 9}, {"link": "A"}), Punctuation({"ts": 7}, {"link": NotIn({"A"})}))
    >>> roll_up(f, {"link"}) == f, roll_up(f, ())
    (True, Frontier(ts < 7))
    """
    if frontier.ranges:
        out = roll_up(frontier.without_ranges(), columns)
        for promise in frontier.ranges:
            if all(c in columns for c in promise.where):
                out.advance(promise)
        return out
    if not frontier.has_several and all(c in columns for c in frontier.by):
        return frontier.rolled_up()
    out = Frontier(frontier.at({}))
    mixed: set[str] = set()
    for promise in frontier.promises():
        kept = {c for c in promise.where if c in columns}
        if promise.where and len(kept) == len(promise.where):
            out.advance(promise)
        elif len(promise.where) > 1:
            mixed |= kept
    if not mixed or not frontier.names_rest:  # nothing holds for all groups of a column that is dropped
        return out
    # where some columns of a promise over several are dropped, each combination of the groups that stay is asked for
    named = {c: frontier.named(c) for c in sorted(mixed)}
    for groups in itertools.product(*([OTHER, *values] for values in named.values())):
        where = dict(zip(named, groups, strict=True))
        for corner in frontier.at(where):
            if not corner.keys() & where.keys():  # no single promise says both of a time that is also a group column
                out.advance(Punctuation(corner, {c: NotIn(named[c]) if v is OTHER else v for c, v in where.items()}))
    return out


def carry(
    frontier: Frontier, attributes: Mapping[str, Sequence[Image]], columns: Mapping[str, Sequence[str]]
) -> Frontier:
    """The frontier across a map: ``attributes`` say where bounds go, ``columns`` which group columns get which names.

    >>> f = Frontier.of(Punctuation({"ts": 5}), Punctuation({"ts": 9}, {"link": "A"}))
    >>> carry(f, {"ts": [("ts", None), ("minute", lambda v: v // 2)]}, {"link": ["port"]})
    Frontier(ts < 5; minute < 2; port = 'A': ts < 9; port = 'A': minute < 4)

    When the group column is dropped, the minimum over all groups and the rest is left:

    >>> carry(Frontier.of(Punctuation({"ts": 9}, {"link": "A"})), {"ts": [("ts", None)]}, {})
    Frontier()

    Several attributes may go to one, each by a function of its own: it is their greatest. It is below the images of all
    of a corner's bounds only if every attribute is below its bound.

    >>> both = {"ts": [("later", None)], "ts_right": [("later", None)]}
    >>> carry(Frontier.of(Punctuation({"ts": 5, "ts_right": 7}), Punctuation({"ts_right": 3})), both, {})
    Frontier(later < 5)
    """
    out = Frontier()
    ranges = frontier.ranges
    if ranges:
        frontier = frontier.without_ranges()
    for promise in (*roll_up(frontier, {c for c, names in columns.items() if names}).promises(), *ranges):
        for image in carry_promise(promise, attributes, columns) or ():
            out.advance(image)
    return out


def carry_least(
    frontier: Frontier, choices: Sequence[Mapping[str, Sequence[Image]]], columns: Mapping[str, Sequence[str]]
) -> Frontier:
    """The frontier across a map that makes the least of several attributes. Each of ``choices`` has the images as if
    one of these were always the least. As any of them may be, what holds for every choice is left, as in a union.

    >>> f = Frontier.of(Punctuation({"ts": 5}), Punctuation({"ts_right": 3}))
    >>> carry_least(f, [{"ts": [("earlier", None)]}, {"ts_right": [("earlier", None)]}], {})
    Frontier(earlier < 3)
    """
    return Frontier.meet(carry(frontier, attributes, columns) for attributes in choices)


def carry_promise(
    promise: Punctuation,
    attributes: Mapping[str, Sequence[Image]],
    columns: Mapping[str, Sequence[str]],
    among: Frontier | None = None,
) -> list[Punctuation] | None:
    """What one promise adds behind a map; None if its group column is dropped, because then all groups together decide.
    It adds nothing then if the promises ``among`` which it stands leave open what holds for the other groups.

    >>> carry_promise(Punctuation({"ts": 9}, {"link": "A"}), {"ts": [("t", None)]}, {"link": ["port"]})
    [Punctuation(t < 9, port = 'A')]
    """
    if is_ranged(promise):
        return _carry_ranged(promise, attributes, columns)
    if not all(columns.get(c) for c in promise.where):
        return [] if among is not None and among.leaves_open(promise.where) else None
    return [
        Punctuation(corner, dict(zip(chosen, promise.where.values(), strict=True)))
        for chosen in itertools.product(*(columns[c] for c in promise.where))
        for corner in _carry_corner(promise.below, attributes)
    ]


def _carry_ranged(
    promise: Punctuation, attributes: Mapping[str, Sequence[Image]], columns: Mapping[str, Sequence[str]]
) -> list[Punctuation]:
    """A range goes where its column goes as a group column, and where a function carries ranges. Otherwise it is lost:
    the images of two bounds say nothing about the rows between them (an open session began before both)."""
    choices = []
    for column, pattern in promise.where.items():
        images: dict[str, GroupPattern] = dict.fromkeys(columns.get(column, ()), pattern)
        if isinstance(pattern, Range):
            for name, function in attributes.get(column, ()):
                moved = _carry_range(pattern, function)
                if moved is not None:
                    images.setdefault(name, moved)
        choices.append(images.items())
    found = []
    for chosen in itertools.product(*choices):
        where = dict(chosen)
        for corner in _carry_corner(promise.below, attributes):
            if len(where) == len(chosen) and not where.keys() & corner.keys():  # else no single promise says both
                found.append(Punctuation(corner, where))
    return found


def _carry_range(pattern: Range, function: Callable[[Bound], Bound | None] | None) -> Range | None:
    low_end = getattr(function, "low_end", None)
    if function is None or low_end is None:
        return None
    low = pattern.low if math.isinf(pattern.low) else low_end(pattern.low)
    if low is None or pattern.high is None:
        return None if low is None else Range(low)
    high = pattern.high if math.isinf(pattern.high) else function(pattern.high)
    return Range(low, high) if high is not None and low < high else None


def carry_groups(
    promises: GroupPromises,
    attributes: Mapping[str, Sequence[Image]],
    columns: Mapping[str, Sequence[str]],
    among: Frontier | None = None,
) -> list[GroupPromises] | None:
    """What promises about many groups add behind a map, as `carry_promise` says it of one.

    >>> carry_groups(GroupPromises(("link",), "ts", {"A": 9}), {"ts": [("t", None)]}, {"link": ["port"]})
    [GroupPromises(t < 9, port = 'A')]
    """
    if not all(columns.get(c) for c in promises.columns):
        return [] if among is not None and among.leaves_open(promises.columns) else None
    images = [promises.moved(name, function) for name, function in attributes.get(promises.attribute, ())]
    chosen = list(itertools.product(*(columns[c] for c in promises.columns)))
    return [image.renamed(names) for names in chosen for image in images if image.bounds]


def _carry_corner(corner: Corner, attributes: Mapping[str, Sequence[Image]]) -> list[dict[str, Bound]]:
    """All images of a corner: every choice of one image for each of its attributes gives a promise that holds."""
    images: list[dict[str, Bound]] = []
    for chosen in itertools.product(*(attributes.get(a, ()) for a in corner)):
        image: dict[str, Bound] = {}
        for (name, function), bound in zip(chosen, corner.values(), strict=True):
            moved = bound if function is None or math.isinf(bound) else function(bound)
            if moved is None:
                break
            image[name] = min(moved, image.get(name, math.inf))
        else:
            images.append(image)
    return images


def carry_unchanged(names: Sequence[str]) -> tuple[dict[str, list[Image]], dict[str, list[str]]]:
    """The arguments of `carry` for columns that pass as they are."""
    return {n: [(n, None)] for n in names}, {n: [n] for n in names}


_FAR = 2**52  # kernels refuse float times in windows beyond this: floats do not tell such windows apart


def window_start(wid: int, slide: Bound, offset: Bound) -> Bound:
    """Where window ``wid`` begins: it covers ``[start, start + range)``."""
    return offset + wid * slide


def window_end(wid: int, range: Bound, slide: Bound, offset: Bound) -> Bound:
    """Where window ``wid`` ends. A tumbling window ends where the next one begins, even if a float sum is rounded
    otherwise, so that every time is in exactly one.

    >>> window_end(2, 0.1, 0.1, 0.0), window_start(3, 0.1, 0.0)
    (0.30000000000000004, 0.30000000000000004)
    """
    if range == slide:
        return window_start(wid + 1, slide, offset)
    return window_start(wid, slide, offset) + range


def wid_bound(bound: Bound, range: Bound, slide: Bound, offset: Bound) -> int:
    """The bound W on window ids under the promise ``t < bound``: the least wid that may still get a row.

    Figure A-2 applies ``wids`` to the punctuation; W is its wid-start. For float times W is corrected until the window
    W-1 literally ends at or before the bound, and W does not.

    >>> wid_bound(60, 60, 60, 0), wid_bound(59, 60, 60, 0), wid_bound(-1, 10, 5, 0), wid_bound(0.3, 0.1, 0.1, 0.0)
    (1, 0, -2, 2)

    0.3 gives 2 because in floats the window 2 ends at 0.30000000000000004. A bound that is further away than any window
    of floats gives the furthest one:

    >>> wid_bound(-1e300, 10.0, 10.0, 0.0) == -(2**52), wid_bound(1e300, 10.0, 10.0, 0.0) == 2**52
    (True, True)
    """
    if all(isinstance(number, int) for number in (bound, range, slide, offset)):
        return int((bound - offset - range) // slide) + 1

    def ended(wid: int) -> bool:
        return window_end(wid, range, slide, offset) <= bound

    # No row can be in a window beyond the limit, so a bound beyond it says as much as one at the limit.
    if not ended(-_FAR):
        return -_FAR
    if ended(_FAR - 1):
        return _FAR
    about = (bound - offset - range) / slide
    low = high = math.floor(min(max(about, -_FAR), _FAR)) + 1
    step = 1  # the steps double: far from 0 a float may stand for millions of windows
    while not ended(low - 1):
        low, step = low - step, 2 * step
    step = 1
    while ended(high):
        high, step = high + step, 2 * step
    return low + bisect.bisect_left(builtins.range(low, high), True, key=lambda wid: not ended(wid))
