"""`Corners`: an antichain of joint bounds, the strongest that hold for one set of rows (paper 004, section 7).

A corner is a mapping attribute → bound: no later row is below *all* of them. A bound on one time alone is the corner
(a, ∞), the empty corner is the end. Corners with one attribute (linear promises, the common kind) are kept apart
in a dict, so that they cost a look-up and a comparison.

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

from oop.punctuation.patterns import Bound, Value

Corner = Mapping[str, Bound]


def _within(inner: Corner, outer: Corner, point: Mapping[str, Value]) -> bool:
    """Is every row below ``inner``, with the values of ``point``, also below ``outer``?"""
    for attribute, bound in outer.items():
        if attribute in inner:
            if inner[attribute] > bound:
                return False
        else:
            value = point.get(attribute)
            if value is None or not value < bound:
                return False
    return True


_NO_POINT: Mapping[str, Value] = {}


class Corners:
    """Mutable; `add` answers "did anything change?"."""

    __slots__ = ("ended", "joint", "linear")

    def __init__(self) -> None:
        self.ended = False
        self.linear: dict[str, Bound] = {}
        self.joint: list[dict[str, Bound]] = []

    def add(self, corner: Corner) -> bool:
        if len(corner) == 1 and not self.joint and not self.ended:  # the path of linear promises
            ((attribute, bound),) = corner.items()
            old = self.linear.get(attribute)
            if old is not None and bound <= old:
                return False
            self.linear[attribute] = bound
            return True
        if self.covers(corner):
            return False
        if not corner:
            self.ended, self.linear, self.joint = True, {}, []
            return True
        self.linear = {a: b for a, b in self.linear.items() if not _within({a: b}, corner, _NO_POINT)}
        self.joint = [j for j in self.joint if not _within(j, corner, _NO_POINT)]
        if len(corner) == 1:
            self.linear.update(corner)
        else:
            self.joint.append(dict(corner))
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
            elif point:
                value = point.get(attribute)
                if value is not None and value < bound:
                    return True
        return any(_within(corner, j, point) for j in self.joint)

    def bound(self, attribute: str) -> Bound | None:
        """The bound on one attribute alone: None without a promise, infinity after the end."""
        return math.inf if self.ended else self.linear.get(attribute)

    def meet(self, other: Corners) -> Corners:
        """What holds on both: the maxima of all pairwise componentwise minima."""
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
        """What holds when either does."""
        out = self.copy()
        for corner in other:
            out.add(corner)
        return out

    def copy(self) -> Corners:
        out = Corners()
        out.ended, out.linear, out.joint = self.ended, dict(self.linear), list(self.joint)
        return out

    def __iter__(self) -> Iterator[Corner]:
        if self.ended:
            yield {}
        for attribute, bound in self.linear.items():
            yield {attribute: bound}
        yield from self.joint

    def __bool__(self) -> bool:
        return self.ended or bool(self.linear) or bool(self.joint)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Corners):
            return NotImplemented
        return all(other.covers(c) for c in self) and all(self.covers(c) for c in other)

    def __hash__(self) -> int:
        raise TypeError("corners change and cannot be hashed")

    def __repr__(self) -> str:
        return f"Corners({', '.join(str(dict(c)) for c in self)})"
