"""`Frontier`: what a stream has promised so far, the set of its strongest promises (OOP paper, section 3.2).

`advance` answers "does this promise add anything?"; a promise that does not is dropped, so bounds never retreat.

>>> from oop.punctuation import END, not_in
>>> f = Frontier()
>>> f.advance(Punctuation(below={"ts": 5})), f.advance(Punctuation(below={"ts": 4}))
(True, False)
>>> f.bound("ts"), f.covers_row({"ts": 4}), f.covers_row({"ts": 5})
(5, True, False)

Group-wise promises (OOP paper, A.1.1): a group has its own bound, else the rest's.

>>> f.advance(Punctuation(below={"ts": 9}, where={"link": "A"}))
True
>>> f.bounds("ts", "link", ["A", "B"])
[9, 5]
>>> f.advance(Punctuation(below={"ts": 7}, where={"link": not_in("A")})), f.advance(Punctuation(below={"ts": 7}))
(True, False)

The last promise was implied by the whole frontier, though by no single promise in it. Over the ports of an operator
the frontiers meet:

>>> g = Frontier.of(Punctuation(below={"ts": 8}))
>>> Frontier.meet([f, g])
Frontier(ts < 7; link = 'A': ts < 8)
>>> f.advance(END), f.ended
(True, True)
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import reduce
from typing import Any

from oop.punctuation.group_corners import GroupCorners
from oop.punctuation.group_promises import GroupPromises, Promise
from oop.punctuation.grouping import Grouping
from oop.punctuation.meeting import intersections
from oop.punctuation.patterns import Bound, Equal, NotIn, Range, Value
from oop.punctuation.promise import Punctuation
from oop.punctuation.promised import Promised
from oop.punctuation.ranges import is_ranged, merge_ranges, noted, reaches, swallows, without


class Frontier(Promised):
    """Everything that a stream has promised so far. `Promised` answers questions; the methods here take promises in.

    >>> f = Frontier()
    >>> f.advance(Punctuation({"ts": 5})), f.advance(Punctuation({"ts": 9}, {"link": "A"}))
    (True, True)
    >>> f
    Frontier(ts < 5; link = 'A': ts < 9)
    """

    __slots__ = ()

    @classmethod
    def of(cls, *promises: Punctuation) -> Frontier:
        """A stream that has promised these.

        >>> Frontier.of(Punctuation({"ts": 5}), Punctuation({"end": 7}))
        Frontier(ts < 5; end < 7)
        """
        frontier = cls()
        for promise in promises:
            frontier.advance(promise)
        return frontier

    def advance_groups(self, promises: GroupPromises) -> GroupPromises | None:
        """Take in promises about many groups. Return those that were not implied before; None if all were.

        >>> f = Frontier.of(Punctuation({"ts": 5}))
        >>> f.advance_groups(GroupPromises(("link",), "ts", {"A": 9, "B": 4}))
        GroupPromises(ts < 9, link = 'A')
        """
        self.rising = None
        new = self._take_groups(promises)
        self._find_rising()
        return promises.only(new) if new else None

    def _take_groups(self, promises: GroupPromises) -> Mapping[Value, Bound]:
        columns, attribute = promises.columns, promises.attribute
        bounds = self._flat(columns, attribute)
        new: Mapping[Value, Bound]
        if bounds is None:
            single = zip(promises.bounds.items(), promises, strict=True)
            new = {group: bound for (group, bound), p in single if self.advance(p)}
        else:
            if self.ranges:
                single = zip(promises.bounds.items(), promises, strict=True)
                promises = promises.only({group: bound for (group, bound), p in single if not self.covers(p)})
            new = bounds.advance(attribute, promises.bounds, self.all.linear.get(attribute))
            if new and isinstance(bounds, GroupCorners):
                self.across.single[columns] = bounds
            elif new and columns[0] not in self.by:
                self.by[columns[0]] = Grouping()
                self.by[columns[0]].flat = bounds
            if new and self.ranges:
                for promise in promises.only(new):
                    self._settle(promise)
        return new

    def rise(self, attribute: str, bound: Bound) -> bool:
        """Take in that no later row has an attribute below a bound; True if that was not implied before.

        >>> f = Frontier()
        >>> f.rise("ts", 5), f.rise("ts", 4), f
        (True, False, Frontier(ts < 5))
        """
        rising = self.rising
        if rising is None:
            return self.advance(Punctuation._rise(attribute, bound))
        old = rising.get(attribute)
        if old is not None and bound <= old:
            return False
        rising[attribute] = bound
        return True

    def advance(self, promise: Punctuation) -> bool:
        """Take a promise in; True if it was not implied before, or if it is the first end.

        >>> f = Frontier()
        >>> f.advance(Punctuation({"ts": 5})), f.advance(Punctuation({"ts": 4}))
        (True, False)
        """
        if promise.linear is not None and self.rising is not None:
            return self.rise(*promise.linear)
        self.rising = None
        new = self._take_one(promise)
        self._find_rising()
        return new

    def _take_one(self, promise: Punctuation) -> bool:
        """`advance` for every kind of promise."""
        if not promise.where and self.is_linear:
            if not self.all.add(promise.below):
                if not (self.end_is_new and promise.is_end):
                    return False
                self.end_is_new = False
        elif (one := GroupPromises.of(promise)) is not None and self._flat(one.columns, one.attribute) is not None:
            return self.advance_groups(one) is not None
        elif promise.has_list:
            many = GroupPromises.listed(promise)
            if many:
                return self.advance_groups(many) is not None
            new = [self.advance(p) for p in promise.each()]  # all are taken in, not only up to the first that is new
            return any(new)
        elif not promise.is_end and self.covers(promise):  # an explicit end is new even if no row could come any more
            return False
        else:
            self._keep(promise)
        return True

    def _keep(self, promise: Punctuation) -> None:
        """Take in a promise that is new, and drop the promises that it implies."""
        if is_ranged(promise):
            self._keep_range(promise)
            return
        if len(promise.where) > 1:
            self.across.add(promise)
        else:
            for column, pattern in promise.where.items():
                assert isinstance(pattern, Equal | NotIn)  # lists and ranges have been taken care of
                self.by.setdefault(column, Grouping()).add(pattern, promise.below)
            if not promise.where:
                self.all.add(promise.below)
                self._drop_covered()
            self._fold()
        if self.ranges:
            self._settle(promise)

    def _keep_range(self, promise: Punctuation) -> None:
        """Take in a promise with a range, which grows by those that it touches."""
        grown = promise
        while touched := next(((r, both) for r in self.ranges if (both := merge_ranges(grown, r)) is not None), None):
            other, grown = touched
            self.ranges.remove(other)
        if grown != promise:
            self.lifted = noted(self.lifted, grown)
        self.ranges = [r for r in self.ranges if not swallows(grown, r)]
        self.ranges.append(grown)
        self._lift(grown)

    def _lift(self, promise: Punctuation) -> None:
        """If everything below a range is promised too, so is everything below its end. The range stays beside that
        bound: operators that take it for a group make more of it than of a bound."""
        for column, pattern in promise.where.items():
            if isinstance(pattern, Range) and pattern.high is not None:
                lifted = without(promise, column, pattern.high)
                if not self.without_ranges().covers(lifted) and self.covers(lifted):
                    self.lifted = noted(self.lifted, lifted)
                    self._keep(lifted)

    def _settle(self, promise: Punctuation) -> None:
        """Drop the ranges that a new promise implies, and make bounds of those that it reaches."""
        self.ranges = [r for r in self.ranges if not swallows(promise, r)]
        for other in [r for r in self.ranges if reaches(promise, r)]:
            self._lift(other)

    def take_lifted(self) -> list[Punctuation]:
        """What ranges have become, by merging with each other and with bounds, since this was last asked.

        >>> f = Frontier.of(Punctuation({"k": 10}), Punctuation(above={"k": 10}, below={"k": 20}))
        >>> f.take_lifted(), f.take_lifted(), f
        ([Punctuation(k < 20)], [], Frontier(k < 20; k in [10, 20): END))
        """
        found, self.lifted = self.lifted, []
        self._find_rising()
        return found

    def take(self, promise: Promise) -> Promise | None:
        """Take in a promise of either kind; return what is new of it, or None.

        >>> Frontier().take(Punctuation({"ts": 5}))
        Punctuation(ts < 5)
        """
        if promise.linear is not None and self.rising is not None:
            return promise if self.rise(*promise.linear) else None
        if isinstance(promise, GroupPromises):
            return self.advance_groups(promise)
        return promise if self.advance(promise) else None

    def _drop_covered(self) -> None:
        """Forget promises that those about all rows imply."""
        for grouping in self.by.values():
            grouping.drop_covered(self.all)
        self.across.drop_covered(self.all)

    def _fold(self) -> None:
        """Keep the form canonical: a grouping that names no group becomes a promise about all rows, and promises that
        those about all rows imply are forgotten."""
        before = self.ended
        while folded := [c for c, g in self.by.items() if not g or self.ended]:
            for column in folded:
                for corner in self.by.pop(column).rest:
                    self.all.add(corner)
            self._drop_covered()
        self.end_is_new |= self.ended and not before
        if self.across.mixed or (self.across.single and (self.by or self._names_groups())):
            self.across.drop(Frontier(self.all, self.by).covers)

    def _names_groups(self) -> bool:
        """Is something promised about all rows below a bound on a group column, or jointly?"""
        return bool(self.all.joint) or any(c in self.all.linear for columns in self.across.single for c in columns)

    def advance_to(self, other: Frontier) -> Iterator[Punctuation]:
        """Take in all that the other frontier promises, and yield what is new.

        >>> f = Frontier.of(Punctuation({"ts": 5}))
        >>> list(f.advance_to(Frontier.of(Punctuation({"ts": 4}), Punctuation({"end": 7}))))
        [Punctuation(end < 7)]
        """
        for promise in other.promises():
            if self.advance(promise):
                yield promise

    @staticmethod
    def meet(frontiers: Iterable[Frontier]) -> Frontier:
        """What all of these frontiers promise.

        >>> Frontier.meet([Frontier.of(Punctuation({"ts": 5})), Frontier.of(Punctuation({"ts": 3}))])
        Frontier(ts < 3)
        """
        frontiers = list(frontiers)
        if not frontiers:
            raise ValueError("a meet needs at least one frontier")
        return reduce(_meet, frontiers[1:], frontiers[0].copy())

    def copy(self) -> Frontier:
        """A frontier with the same promises, which goes on by itself.

        >>> f = Frontier.of(Punctuation({"ts": 5}))
        >>> f.copy().advance(Punctuation({"ts": 7})), f
        (True, Frontier(ts < 5))
        """
        out = Frontier(self.all.copy(), {c: g.copy() for c, g in self.by.items()}, self.across.copy())
        out.ranges, out.end_is_new = list(self.ranges), self.end_is_new
        out._find_rising()
        return out

    def without_ranges(self) -> Frontier:
        """The promises without ranges, in a frontier that is only to be read: it shares memory with this one.

        >>> Frontier.of(Punctuation({"ts": 5}), Punctuation(above={"k": 10})).without_ranges()
        Frontier(ts < 5)
        """
        return Frontier(self.all, self.by, self.across)

    def rolled_up(self) -> Frontier:
        """This frontier, where what holds for every group of a column and the rest is promised about all rows.

        >>> from oop.punctuation import not_in
        >>> groups = Punctuation({"ts": 9}, {"link": "A"}), Punctuation({"ts": 7}, {"link": not_in("A")})
        >>> Frontier.of(*groups).rolled_up()
        Frontier(ts < 7; link = 'A': ts < 9)
        """
        out = self.copy()
        if out.by:
            out.all = self.at({})
            for grouping in out.by.values():
                grouping.drop_covered(out.all)
            out._fold()
            out._find_rising()
        return out

    @classmethod
    def from_json(cls, said: Iterable[str]) -> Frontier:
        """Read what `to_json` gave.

        >>> Frontier.from_json(['{"below": {"ts": 5}}'])
        Frontier(ts < 5)
        """
        return cls.of(*map(Punctuation.from_json, said))

    def __reduce__(self) -> tuple[Any, ...]:
        return Frontier.of, tuple(self.promises())


def _meet(a: Frontier, b: Frontier) -> Frontier:
    columns = a.by.keys() | b.by.keys()
    if not a.has_several and not b.has_several and len(columns) <= 1 and not columns & {*a._times(), *b._times()}:
        # group by group; the rest of a side stands in for groups that it does not name
        out = Frontier(a.all.meet(b.all))
        for column in columns:
            ours, theirs = (f.by.get(column, Grouping()).over(f.all) for f in (a, b))
            out.by[column] = ours.meet(theirs)
            for corner in out.by[column].least():
                out.all.add(corner)
            out.by[column].drop_covered(out.all)
        out._fold()
        out._find_rising()
        return out
    out = Frontier()
    for both in intersections(a.promises(), b.promises()):
        out.advance(both)
    return out
