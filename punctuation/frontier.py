"""`Frontier`: what a stream has promised so far, the set of its strongest promises (DESIGN section 3).

`advance` answers "does this promise add anything?"; what does not is swallowed, so bounds never retreat.

>>> from oop.punctuation import END, not_in
>>> f = Frontier()
>>> f.advance(Punctuation(below={"ts": 5})), f.advance(Punctuation(below={"ts": 4}))
(True, False)
>>> f.bound("ts"), f.covers_row({"ts": 4}), f.covers_row({"ts": 5})
(5, True, False)

Group-wise promises (paper, A.1.1): a group has its own bound, else the rest's.

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

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import reduce
from typing import Any

from oop.punctuation.corners import Corner, Corners
from oop.punctuation.group_promises import GroupBounds, GroupPromises, Promise, where
from oop.punctuation.grouping import Grouping
from oop.punctuation.patterns import Below, Bound, Equal, NotIn, Value, group_value
from oop.punctuation.promise import Punctuation

OTHER = object()  # stands for every value of a group column that no promise names


class Frontier:
    """Four kinds of promises, each where it is cheap to ask for: ``all`` rows (linear and joint corners), groups of
    one column (`Grouping`), bounds of groups of several columns (``cells``, by the columns in alphabetical order), and
    the rare other conjunctions over several group columns (``mixed``, a plain list).

    >>> f = Frontier()
    >>> f.advance(Punctuation({"ts": 5})), f.advance(Punctuation({"ts": 9}, {"link": "A"}))
    (True, True)
    >>> f
    Frontier(ts < 5; link = 'A': ts < 9)
    """

    __slots__ = ("all", "by", "cells", "mixed")

    def __init__(self) -> None:
        self.all = Corners()
        self.by: dict[str, Grouping] = {}
        self.cells: dict[tuple[str, ...], GroupBounds] = {}
        self.mixed: list[Punctuation] = []

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

    @property
    def ended(self) -> bool:
        """Has the end been promised?

        >>> Frontier.of(Punctuation()).ended
        True
        """
        return self.all.ended

    @property
    def is_linear(self) -> bool:
        """No joint and no group-wise promise: the kind most streams need.

        >>> Frontier.of(Punctuation({"ts": 5})).is_linear, Frontier.of(Punctuation({"ts": 5, "end": 9})).is_linear
        (True, False)
        """
        return not self.by and not self.has_several and not self.all.joint

    @property
    def has_several(self) -> bool:
        """Is there a promise over several group columns?

        >>> Frontier.of(Punctuation({"ts": 5}, {"link": "A", "k": 1})).has_several
        True
        """
        return bool(self.mixed) or bool(self.cells)

    @property
    def several(self) -> list[Punctuation]:
        """The promises over several group columns, to be read.

        >>> Frontier.of(Punctuation({"ts": 5}, {"link": "A", "k": 1})).several
        [Punctuation(ts < 5, k = 1, link = 'A')]
        """
        found = list(self.mixed)
        for columns, bounds in self.cells.items():
            for group in bounds.groups():
                patterns = where(columns, group)
                found += (Punctuation._made(dict(corner), patterns) for corner in bounds.corners(group))
        return found

    def group_columns(self) -> list[str]:
        """The columns by which it has promises about groups.

        >>> Frontier.of(Punctuation({"ts": 5}, {"link": "A"})).group_columns()
        ['link']
        """
        several = itertools.chain(*self.cells, *(p.where for p in self.mixed))
        return sorted({*self.by, *several})

    def flat(self) -> tuple[tuple[str, ...], GroupBounds] | None:
        """The columns and the bounds of groups, where these are all that is said of groups, and alike.

        >>> columns, bounds = Frontier.of(Punctuation({"ts": 9}, {"link": "A"})).flat()
        >>> columns, bounds.linear
        (('link',), {'ts': {'A': 9}})
        """
        if len(self.by) + len(self.cells) != 1 or self.mixed:
            return None
        for columns, bounds in self.cells.items():
            return columns, bounds
        ((column, grouping),) = self.by.items()
        return ((column,), grouping.flat) if grouping.is_flat else None

    def bounds_by(self, columns: tuple[str, ...], attribute: str) -> Mapping[Value, Bound] | None:
        """The bounds on an attribute for groups of these columns, beside the one for all rows; None: more is said.

        >>> Frontier.of(Punctuation({"ts": 9}, {"link": "A"})).bounds_by(("link",), "ts")
        {'A': 9}
        """
        bounds = self._flat(columns, attribute)
        return None if bounds is None else bounds.linear.get(attribute, {})

    def _flat(self, columns: tuple[str, ...], attribute: str) -> GroupBounds | None:
        """Where bounds on the attribute for groups of these columns are kept, if no other promise says more of them
        than those about all rows; None: the promises must be looked at one by one."""
        everyone = self.all
        if everyone.ended or everyone.joint or self.mixed or attribute in columns:
            return None
        if any(c in everyone.linear for c in columns):
            return None
        if len(columns) > 1:
            if self.by or self.cells.keys() - {columns}:
                return None
            return self.cells.get(columns) or GroupBounds()
        if self.cells or self.by.keys() - {columns[0]}:
            return None
        grouping = self.by.get(columns[0])
        if grouping is None:
            return GroupBounds()
        return grouping.flat if grouping.is_flat else None

    def advance_groups(self, promises: GroupPromises) -> GroupPromises | None:
        """Take promises about many groups in; those that it did not imply before, None if it did all.

        >>> f = Frontier.of(Punctuation({"ts": 5}))
        >>> f.advance_groups(GroupPromises(("link",), "ts", {"A": 9, "B": 4}))
        GroupPromises(ts < 9, link = 'A')
        """
        columns, attribute = promises.columns, promises.attribute
        bounds = self._flat(columns, attribute)
        if bounds is None:
            single = zip(promises.bounds.items(), promises, strict=True)
            new: Mapping[Value, Bound] = {group: bound for (group, bound), p in single if self.advance(p)}
        else:
            new = bounds.advance(attribute, promises.bounds, self.all.linear.get(attribute))
            if new and len(columns) > 1:
                self.cells[columns] = bounds
            elif new and columns[0] not in self.by:
                self.by[columns[0]] = Grouping()
                self.by[columns[0]].flat = bounds
        return promises.only(new) if new else None

    def advance(self, promise: Punctuation) -> bool:
        """Take a promise in; True if the frontier did not imply it before.

        >>> f = Frontier()
        >>> f.advance(Punctuation({"ts": 5})), f.advance(Punctuation({"ts": 4}))
        (True, False)
        """
        if not promise.where and self.is_linear:
            if not self.all.add(promise.below):
                return False
        elif (one := GroupPromises.of(promise)) is not None and self._flat(one.columns, one.attribute) is not None:
            return self.advance_groups(one) is not None
        elif not promise.is_end and self.covers(promise):  # the end is more than that no row is left: it is known
            return False
        elif not promise.where:
            self.all.add(promise.below)
            self._drop_covered()
        elif len(promise.where) == 1:
            ((column, pattern),) = promise.where.items()
            self.by.setdefault(column, Grouping()).add(pattern, promise.below)
        else:
            self.mixed = [p for p in self.several if not promise.covers(p)]
            self.cells = {}
            self.mixed.append(promise)
            return True
        self._fold()
        return True

    def take(self, promise: Promise) -> Promise | None:
        """Take in whichever kind; what is new of it.

        >>> Frontier().take(Punctuation({"ts": 5}))
        Punctuation(ts < 5)
        """
        if isinstance(promise, GroupPromises):
            return self.advance_groups(promise)
        return promise if self.advance(promise) else None

    def _drop_covered(self) -> None:
        """Forget what promises about all rows imply."""
        for grouping in self.by.values():
            grouping.drop_covered(self.all)
        for bounds in self.cells.values():
            bounds.drop_covered(self.all)
        self.cells = {columns: bounds for columns, bounds in self.cells.items() if bounds}

    def _fold(self) -> None:
        """Keep the form canonical: a grouping that names no group is a promise for all rows, and nothing is kept
        that those imply."""
        while folded := [c for c, g in self.by.items() if not g or self.ended]:
            for column in folded:
                for corner in self.by.pop(column).rest:
                    self.all.add(corner)
            self._drop_covered()
        if self.mixed or (self.cells and (self.by or self._names_groups())):
            simple = Frontier()
            simple.all, simple.by = self.all, self.by
            self.mixed, self.cells = [p for p in self.several if not simple.covers(p)], {}

    def _names_groups(self) -> bool:
        """Is something promised about all rows below a bound on a group column, or jointly?"""
        return bool(self.all.joint) or any(c in self.all.linear for columns in self.cells for c in columns)

    def covers(self, promise: Punctuation) -> bool:
        """Is the promise implied? Decided cell by cell: each combination of named (or other) groups it speaks of.

        >>> f = Frontier.of(Punctuation({"ts": 5}))
        >>> f.covers(Punctuation({"ts": 4}, {"link": "A"})), f.covers(Punctuation({"ts": 6}))
        (True, False)
        """
        if self.all.covers(promise.below, _point(promise)):
            return True
        if not promise.where and not self.mixed and not any(g.rest for g in self.by.values()):
            return False  # of a group that nobody names nothing else is said
        columns = {*promise.where, *self.group_columns()}
        names = sorted(columns)
        cells = [self._cells(column, promise) for column in names]
        return all(
            self._covers_cell(promise.below, dict(zip(names, cell, strict=True))) for cell in itertools.product(*cells)
        )

    def _cells(self, column: str, promise: Punctuation) -> list[Value]:
        """The values of a group column that must be told apart, among those the promise speaks of."""
        pattern = promise.where.get(column)
        if isinstance(pattern, Equal):
            return [pattern.value]
        named = self.named(column)
        if isinstance(pattern, NotIn):
            named -= pattern.values
        return [OTHER, *named]

    def named(self, column: str) -> set[Value]:
        """The groups of a column that some promise names.

        >>> Frontier.of(Punctuation({"ts": 5}, {"link": "A"})).named("link")
        {'A'}
        """
        named: set[Value] = self.by[column].named() if column in self.by else set()
        for columns, bounds in self.cells.items():
            if column in columns:
                place = columns.index(column)
                named |= {group[place] for group in bounds.groups()}
        for p in self.mixed:
            theirs = p.where.get(column)
            if theirs is not None:
                named |= {theirs.value} if isinstance(theirs, Equal) else theirs.values
        return named

    def _covers_cell(self, corner: Corner, cell: Mapping[str, Value]) -> bool:
        point = {c: v for c, v in cell.items() if v is not OTHER}
        both = corner.keys() & point.keys()  # a time that some promise also names with ``=`` or ``not in``
        if both:
            if not all(Below(corner[c]).matches(point[c]) for c in both):
                return True  # the cell has no row below the corner
            corner = {c: b for c, b in corner.items() if c not in both}
        if self.all.covers(corner, point):
            return True
        if any(g.at(cell.get(column, OTHER)).covers(corner, point) for column, g in self.by.items()):
            return True
        if any(c.covers(corner, point) for c in self._cells_at(cell)):
            return True
        return any(_cell_matches(p, cell) and _as_corners(p).covers(corner, point) for p in self.mixed)

    def _cells_at(self, cell: Mapping[str, Value]) -> Iterator[Corners]:
        """What is said of a cell by groups of several columns."""
        for columns, bounds in self.cells.items():
            if all(c in cell for c in columns):
                yield bounds.corners(tuple(cell[c] for c in columns))

    def covers_row(self, row: Mapping[str, Value]) -> bool:
        """Does the row match a promise already made, that is: is it late?

        >>> f = Frontier.of(Punctuation({"ts": 5}))
        >>> f.covers_row({"ts": 4}), f.covers_row({"ts": 5})
        (True, False)
        """
        return any(p.matches(row) for p in self.promises())

    def bound(self, attribute: str, where: Mapping[str, Value] | None = None) -> Bound | None:
        """The bound on an attribute for rows of these groups; for all rows when no group is given.

        None: nothing is promised; infinity: the end.

        >>> f = Frontier.of(Punctuation({"ts": 5}), Punctuation({"ts": 9}, {"link": "A"}))
        >>> f.bound("ts"), f.bound("ts", {"link": "A"}), f.bound("end")
        (5, 9, None)
        """
        if not self.by and not self.has_several:
            return self.all.bound(attribute)
        return self.at(where or {}).bound(attribute)

    def bounds(self, attribute: str, column: str, values: Sequence[Value]) -> list[Bound | None]:
        """The bound for each of these groups, so that a kernel can compare a whole batch.

        >>> f = Frontier.of(Punctuation({"ts": 5}), Punctuation({"ts": 9}, {"link": "A"}))
        >>> f.bounds("ts", "link", ["A", "B"])
        [9, 5]
        """
        return [self.bound(attribute, {column: v}) for v in values]

    def at(self, where: Mapping[str, Value]) -> Corners:
        """What holds for the rows with these values in the group columns; a column not given may have any value.

        >>> f = Frontier.of(Punctuation({"ts": 5}), Punctuation({"ts": 9}, {"link": "A"}))
        >>> f.at({"link": "A"}).bound("ts")
        9
        """
        where = {c: group_value(v) for c, v in where.items()}
        if not self.mixed:
            return self._at(where)
        free = sorted({c for p in self.mixed for c in p.where} - where.keys())
        cells = itertools.product(*([OTHER, *self.named(c)] for c in free))
        return reduce(Corners.meet, (self._at({**where, **dict(zip(free, c, strict=True))}) for c in cells))

    def _at(self, cell: Mapping[str, Value]) -> Corners:
        out = self.all.copy()
        for column, grouping in self.by.items():
            out = out.join(grouping.at(cell[column]) if column in cell else grouping.least())
        for corners in self._cells_at(cell):
            out = out.join(corners)
        for promise in self.mixed:
            if _cell_matches(promise, cell):
                out.add(promise.below)
        return out

    def _times(self) -> Iterator[str]:
        """The attributes with bounds."""
        for corners in (self.all, *(c for g in self.by.values() for _, c in g.items())):
            for corner in corners:
                yield from corner

    def promises(self) -> Iterator[Punctuation]:
        """The strongest promises; advancing an empty frontier by them gives this one again.

        >>> list(Frontier.of(Punctuation({"ts": 3}), Punctuation({"ts": 5})).promises())
        [Punctuation(ts < 5)]
        """
        for corner in self.all:
            yield Punctuation._made(dict(corner), {})
        for column, grouping in self.by.items():
            for pattern, corners in grouping.items():
                where = {column: pattern}
                for corner in corners:
                    if not self.all.covers(corner):
                        known = grouping and column not in corner  # else it may be no promise as it stands
                        yield Punctuation._made(dict(corner), where) if known else Punctuation(corner, where)
        yield from self.several

    def advance_to(self, other: Frontier) -> Iterator[Punctuation]:
        """Advance to what the other promises, yielding just what is new.

        >>> f = Frontier.of(Punctuation({"ts": 5}))
        >>> list(f.advance_to(Frontier.of(Punctuation({"ts": 4}), Punctuation({"end": 7}))))
        [Punctuation(end < 7)]
        """
        for promise in other.promises():
            if self.advance(promise):
                yield promise

    @staticmethod
    def meet(frontiers: Iterable[Frontier]) -> Frontier:
        """What holds on all ports together.

        >>> Frontier.meet([Frontier.of(Punctuation({"ts": 5})), Frontier.of(Punctuation({"ts": 3}))])
        Frontier(ts < 3)
        """
        frontiers = list(frontiers)
        if not frontiers:
            raise ValueError("a meet needs at least one frontier")
        return reduce(_meet, frontiers[1:], frontiers[0].copy())

    def copy(self) -> Frontier:
        """Another with the same promises, which goes on by itself.

        >>> f = Frontier.of(Punctuation({"ts": 5}))
        >>> f.copy().advance(Punctuation({"ts": 7})), f
        (True, Frontier(ts < 5))
        """
        out = Frontier()
        out.all = self.all.copy()
        out.by = {c: g.copy() for c, g in self.by.items()}
        out.cells = {c: b.copy() for c, b in self.cells.items()}
        out.mixed = list(self.mixed)
        return out

    def rolled_up(self) -> Frontier:
        """The same, with what holds for every group of a column and the rest said of all rows.

        >>> groups = Punctuation({"ts": 9}, {"link": "A"}), Punctuation({"ts": 7}, {"link": NotIn({"A"})})
        >>> Frontier.of(*groups).rolled_up()
        Frontier(ts < 7; link = 'A': ts < 9)
        """
        out = self.copy()
        if out.by:
            out.all = self.at({})
            for grouping in out.by.values():
                grouping.drop_covered(out.all)
            out._fold()
        return out

    def to_json(self) -> list[str]:
        """Its promises as text; `from_json` reads them.

        >>> Frontier.from_json(Frontier.of(Punctuation(below={"ts": 5})).to_json())
        Frontier(ts < 5)
        """
        return [promise.to_json() for promise in self.promises()]

    @classmethod
    def from_json(cls, said: Iterable[str]) -> Frontier:
        """Read what `to_json` gave.

        >>> Frontier.from_json(['{"below": {"ts": 5}}'])
        Frontier(ts < 5)
        """
        return cls.of(*map(Punctuation.from_json, said))

    def __reduce__(self) -> tuple[Any, ...]:
        return Frontier.of, tuple(self.promises())

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Frontier):
            return NotImplemented
        return all(map(other.covers, self.promises())) and all(map(self.covers, other.promises()))

    def __hash__(self) -> int:
        raise TypeError("a frontier changes and cannot be hashed")

    def __repr__(self) -> str:
        said = []
        for promise in self.promises():
            groups = ", ".join(f"{c} {p}" for c, p in promise.where.items())
            bounds = ", ".join(f"{a} < {b}" for a, b in promise.below.items()) or "END"
            said.append(f"{groups}: {bounds}" if groups else bounds)
        return f"Frontier({'; '.join(said)})"


def _meet(a: Frontier, b: Frontier) -> Frontier:
    out = Frontier()
    columns = a.by.keys() | b.by.keys()
    if not a.has_several and not b.has_several and len(columns) <= 1 and not columns & {*a._times(), *b._times()}:
        # pointwise, where each side's rest stands in
        out.all = a.all.meet(b.all)
        for column in columns:
            ours, theirs = (f.by.get(column, Grouping()).over(f.all) for f in (a, b))
            out.by[column] = ours.meet(theirs)
            for corner in out.by[column].least():
                out.all.add(corner)
            out.by[column].drop_covered(out.all)
        out._fold()
        return out
    for p in a.promises():
        for q in b.promises():
            both = p.intersect(q)
            if both is not None:
                out.advance(both)
    return out


def _point(promise: Punctuation) -> dict[str, Value]:
    return {c: p.value for c, p in promise.where.items() if isinstance(p, Equal)}


def _cell_matches(promise: Punctuation, cell: Mapping[str, Value]) -> bool:
    """Does every row of the cell match the promise's group patterns?"""
    return all(isinstance(p, NotIn) if cell[c] is OTHER else p.matches(cell[c]) for c, p in promise.where.items())


def _as_corners(promise: Punctuation) -> Corners:
    corners = Corners()
    corners.add(promise.below)
    return corners
