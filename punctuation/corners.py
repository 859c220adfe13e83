"""`Corners`: an antichain of joint bounds, the strongest that hold for one set of rows (OOP paper, section 7).

A corner is a mapping attribute → bound: no later row is below *all* of them. A bound on one time alone is the corner
(a, ∞), the empty corner is the end. Corners with one attribute (linear promises, the common kind) are kept apart
in a dict, so that they cost a look-up and a comparison; those with two in order (`Staircase`), so that they cost a
search.

>>> c = Corners()
>>> c.add({"ts": 5}), c.add({"ts": 3}), c.add({"ts": 9, "ts_right": 2}), c.add({"ts": 4, "ts_right": 2})
(True, False, True, False)
>>> list(c)
[{'ts': 5}, {'ts': 9, 'ts_right': 2}]
>>> c.add({"ts": 9}), list(c)
(True, [{'ts': 9}])
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping

from oop.punctuation.patterns import Bound, Value, is_below
from oop.punctuation.staircase import At, Staircase

Corner = Mapping[str, Bound]


def _within(inner: Corner, outer: Corner, point: Mapping[str, Value]) -> bool:
    """Is every row below ``inner``, with the values of ``point``, also below ``outer``?"""
    for attribute, bound in outer.items():
        if attribute in inner:
            if inner[attribute] > bound:
                return False
        elif not is_below(point.get(attribute), bound):
            return False
    return True


def _below_stairs(inner: Corner, steps: Staircase, point: Mapping[str, Value]) -> bool:
    """Is every row below ``inner``, with the values of ``point``, also below one of the steps?"""
    first, second = _at(inner, steps.first, point), _at(inner, steps.second, point)
    return first is not None and second is not None and steps.covers(first, second)


def _at(inner: Corner, attribute: str, point: Mapping[str, Value]) -> At | None:
    """How far rows reach on an attribute: up to a bound, or to a single value; None if that is not known."""
    if attribute in inner:
        return inner[attribute], False
    value = point.get(attribute)
    return (value, True) if is_below(value, math.inf) else None  # a date is not known to be below any bound


_NO_POINT: Mapping[str, Value] = {}


class Corners:
    """Mutable; `add` answers "did anything change?"."""

    __slots__ = ("ended", "linear", "stairs", "wide")

    def __init__(self) -> None:
        self.ended = False
        self.linear: dict[str, Bound] = {}
        self.stairs: dict[tuple[str, str], Staircase] = {}  # none is empty; the attributes in alphabetical order
        self.wide: list[dict[str, Bound]] = []  # on three attributes and more

    @property
    def joint(self) -> bool:
        """Is there a corner with several attributes?"""
        return bool(self.stairs) or bool(self.wide)

    def attributes(self) -> set[str]:
        """The attributes that have bounds, found without a look at every step of a staircase.

        >>> corners = Corners()
        >>> corners.add({"ts": 9, "ts_right": 2}), sorted(corners.attributes())
        (True, ['ts', 'ts_right'])
        """
        return set(self.linear).union(*self.stairs, *self.wide)

    def add(self, corner: Corner) -> bool:
        if len(corner) == 1 and not (self.stairs or self.wide or self.ended):  # the short way for linear promises
            ((attribute, bound),) = corner.items()
            old = self.linear.get(attribute)
            if old is not None and bound <= old:
                return False
            self.linear[attribute] = bound
            return True
        if self.covers(corner):
            return False
        if not corner:
            self.ended, self.linear, self.stairs, self.wide = True, {}, {}, []
            return True
        self.linear = {a: b for a, b in self.linear.items() if not _within({a: b}, corner, _NO_POINT)}
        self.wide = [j for j in self.wide if not _within(j, corner, _NO_POINT)]
        if len(corner) == 1:
            self.linear.update(corner)
            ((attribute, bound),) = corner.items()
            for steps in self.stairs.values():
                steps.drop(attribute, bound)
            self.stairs = {pair: steps for pair, steps in self.stairs.items() if steps}
        elif len(corner) == 2:
            first, second = sorted(corner)
            steps = self.stairs.setdefault((first, second), Staircase(first, second))
            steps.add(corner[first], corner[second])
        else:
            self.wide.append(dict(corner))
        return True

    def covers(self, corner: Corner, point: Mapping[str, Value] = _NO_POINT) -> bool:
        """Is the corner implied, for rows that have the values of ``point``?

        A box that is open below lies in a union of such boxes only if it lies in one of them, so one corner decides.
        """
        if self.ended:
            return True
        for attribute, bound in self.linear.items():
            below = corner.get(attribute)
            if below is not None:
                if below <= bound:
                    return True
            elif point and is_below(point.get(attribute), bound):
                return True
        if not self.joint:  # so it is mostly, and this is asked very often
            return False
        if any(_below_stairs(corner, steps, point) for steps in self.stairs.values()):
            return True
        return any(_within(corner, j, point) for j in self.wide)

    def remove(self, corner: Corner) -> None:
        """Forget one of the corners."""
        if not corner:
            self.ended = False
        elif len(corner) == 1:
            self.linear.pop(next(iter(corner)))
        elif len(corner) == 2:
            first, second = sorted(corner)
            self.stairs[first, second].remove(corner[first])
            if not self.stairs[first, second]:
                del self.stairs[first, second]
        else:
            self.wide.remove(dict(corner))

    def bound(self, attribute: str) -> Bound | None:
        """The bound on one attribute alone: None without a promise, infinity after the end."""
        return math.inf if self.ended else self.linear.get(attribute)

    def meet(self, other: Corners) -> Corners:
        """What both promise: the maxima of all pairwise componentwise minima."""
        if self.ended:
            return other.copy()
        if other.ended:
            return self.copy()
        out = Corners()
        for a in self:
            for b in other:
                out.add({k: min(a.get(k, math.inf), b.get(k, math.inf)) for k in {**a, **b}})
        return out

    def join(self, other: Corners) -> Corners:
        """All that either of them promises: this holds for rows that both speak of."""
        out = self.copy()
        for corner in other:
            out.add(corner)
        return out

    def copy(self) -> Corners:
        out = Corners()
        out.ended, out.linear, out.wide = self.ended, dict(self.linear), list(self.wide)
        out.stairs = {pair: steps.copy() for pair, steps in self.stairs.items()}
        return out

    def __iter__(self) -> Iterator[Corner]:
        if self.ended:
            yield {}
        for attribute, bound in self.linear.items():
            yield {attribute: bound}
        for steps in self.stairs.values():
            yield from steps
        yield from self.wide

    def __bool__(self) -> bool:
        return self.ended or bool(self.linear) or self.joint

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Corners):
            return NotImplemented
        return all(other.covers(c) for c in self) and all(self.covers(c) for c in other)

    def __hash__(self) -> int:
        raise TypeError("corners change and cannot be hashed")

    def __repr__(self) -> str:
        return f"Corners({', '.join(str(dict(c)) for c in self)})"
