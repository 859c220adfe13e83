"""`Promised`: the promises of a stream, kept by kind so that each is cheap to ask for, and what they imply together.

It is the half of a `Frontier` that answers questions; `frontier.py` has the half that takes promises in.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import reduce

from oop.punctuation.corners import Corner, Corners
from oop.punctuation.group_bounds import GroupBounds
from oop.punctuation.group_corners import GroupCorners
from oop.punctuation.grouping import Grouping
from oop.punctuation.patterns import Below, Bound, Equal, GroupPattern, NotIn, Value, group_value
from oop.punctuation.promise import Punctuation
from oop.punctuation.ranges import cuts_on, given, named_in, point_of, says, values_told_apart
from oop.punctuation.several_columns import OTHER, Combination, SeveralColumns


class Promised:
    """There are four kinds of promises: about ``all`` rows (linear and joint corners), about groups of one column
    (``by`` it), about groups ``across`` several columns, and about ``ranges`` of an attribute.

    Most streams promise bounds about all rows and nothing else until they end. As long as that is so, ``rising`` has
    these bounds by attribute, and a further bound costs a look-up, a comparison and a store; otherwise it is None. It
    is the dictionary of ``all`` itself, so every other change of the promises sets it anew (`_find_rising`)."""

    __slots__ = ("across", "all", "by", "end_is_new", "lifted", "ranges", "rising")

    def __init__(
        self, all: Corners | None = None, by: dict[str, Grouping] | None = None, across: SeveralColumns | None = None
    ) -> None:
        self.all = Corners() if all is None else all
        self.by: dict[str, Grouping] = {} if by is None else by
        self.across = SeveralColumns() if across is None else across
        self.ranges: list[Punctuation] = []
        self.lifted: list[Punctuation] = []  # what ranges have become with other promises, until `take_lifted`
        self.end_is_new = False  # have promises about groups ended the stream, without the end itself?
        self.rising: dict[str, Bound] | None
        self._find_rising()

    def _find_rising(self) -> None:
        everyone, across = self.all, self.across
        groups = self.by or across.single or across.mixed or self.ranges or self.lifted
        self.rising = None if groups or everyone.ended or everyone.stairs or everyone.wide else everyone.linear

    @property
    def ended(self) -> bool:
        """Has the end been promised?

        >>> from oop.punctuation import Frontier
        >>> Frontier.of(Punctuation()).ended
        True
        """
        return self.all.ended

    @property
    def is_empty(self) -> bool:
        """Has nothing been promised yet?

        >>> from oop.punctuation import Frontier
        >>> Frontier().is_empty, Frontier.of(Punctuation({"ts": 5}, {"link": "A"})).is_empty
        (True, False)
        """
        return not (self.all or self.by or self.has_several)

    @property
    def is_linear(self) -> bool:
        """Is there no joint and no group-wise promise, and no range? Most streams need no others.

        >>> from oop.punctuation import Frontier
        >>> Frontier.of(Punctuation({"ts": 5})).is_linear, Frontier.of(Punctuation({"ts": 5, "end": 9})).is_linear
        (True, False)
        """
        return self.rising is not None or not (self.by or self.all.joint or self.has_several)

    @property
    def has_several(self) -> bool:
        """Is there a promise over several group columns, or about a range?

        >>> from oop.punctuation import Frontier
        >>> Frontier.of(Punctuation({"ts": 5}, {"link": "A", "k": 1})).has_several
        True
        """
        return bool(self.across.mixed or self.across.single or self.ranges)

    @property
    def names_rest(self) -> bool:
        """Is something promised about the groups that no promise names?

        >>> from oop.punctuation import Frontier, not_in
        >>> said = Punctuation({"ts": 9}, {"link": "A"}), Punctuation({"ts": 7}, {"link": not_in("A")})
        >>> Frontier.of(said[0]).names_rest, Frontier.of(*said).names_rest
        (False, True)
        """
        return bool(self.across.mixed) or any(grouping.rest for grouping in self.by.values())

    def leaves_open(self, columns: Iterable[str]) -> bool:
        """Is something promised about groups of these columns, and nothing about those that no promise names? Then
        nothing follows for all groups.

        >>> from oop.punctuation import Frontier, not_in
        >>> said = Punctuation({"ts": 9}, {"link": "A"}), Punctuation({"ts": 9}, {"link": not_in("A")})
        >>> Frontier.of(said[0]).leaves_open(["link"]), Frontier.of(*said).leaves_open(["link"])
        (True, False)
        """
        named = tuple(sorted(columns))
        there = named[0] in self.by if len(named) == 1 else named in self.across.single
        return there and not self.names_rest

    @property
    def several(self) -> list[Punctuation]:
        """The promises over several group columns or about ranges.

        >>> from oop.punctuation import Frontier
        >>> Frontier.of(Punctuation({"ts": 5}, {"link": "A", "k": 1})).several
        [Punctuation(ts < 5, k = 1, link = 'A')]
        """
        return [*self.across.promises(), *self.ranges]

    def group_columns(self) -> list[str]:
        """The columns by which it has promises about groups.

        >>> from oop.punctuation import Frontier
        >>> Frontier.of(Punctuation({"ts": 5}, {"link": "A"})).group_columns()
        ['link']
        """
        if self.rising is not None:
            return []
        return sorted({*self.by, *self.across.columns(), *itertools.chain(*(r.where for r in self.ranges))})

    def flat(self) -> tuple[tuple[str, ...], GroupBounds] | None:
        """The columns and the bounds of groups, if nothing else is promised about groups; else None.

        >>> from oop.punctuation import Frontier
        >>> columns, bounds = Frontier.of(Punctuation({"ts": 9}, {"link": "A"})).flat()
        >>> columns, bounds.linear
        (('link',), {'ts': {'A': 9}})
        """
        if len(self.by) + len(self.across.single) != 1 or self.across.mixed or self.ranges:
            return None
        for columns, bounds in self.across.single.items():
            return (columns, bounds) if bounds.is_flat else None
        ((column, grouping),) = self.by.items()
        return ((column,), grouping.flat) if grouping.is_flat else None

    def bounds_by(self, columns: tuple[str, ...], attribute: str) -> Mapping[Value, Bound] | None:
        """The bounds on an attribute for groups of these columns, beside the one for all rows; None: more is promised.

        >>> from oop.punctuation import Frontier
        >>> Frontier.of(Punctuation({"ts": 9}, {"link": "A"})).bounds_by(("link",), "ts")
        {'A': 9}
        """
        bounds = None if self.ranges else self._flat(columns, attribute)
        return None if bounds is None else bounds.linear.get(attribute, {})

    def _flat(self, columns: tuple[str, ...], attribute: str) -> GroupBounds | None:
        """Where bounds on the attribute for groups of these columns are kept, if no other promise, ranges apart, says
        more of them than those about all rows; None: the promises must be looked at one by one."""
        everyone = self.all
        if everyone.ended or everyone.joint or self.across.mixed or attribute in columns:
            return None
        if any(c in everyone.linear for c in columns):
            return None
        if len(columns) > 1:
            if self.by or self.across.single.keys() - {columns}:
                return None
            found = self.across.single.get(columns)
            if found is None:
                return GroupCorners()
            return found if found.is_flat else None
        if self.across.single or self.by.keys() - {columns[0]}:
            return None
        grouping = self.by.get(columns[0])
        if grouping is None:
            return GroupBounds()
        return grouping.flat if grouping.is_flat else None

    def kinds(self) -> set[tuple[str, ...]] | None:
        """The columns by which groups are told apart, several columns in alphabetical order; None: there are other
        promises than about all rows and single groups.

        >>> from oop.punctuation import Frontier
        >>> Frontier.of(Punctuation({"ts": 5}), Punctuation({"ts": 9}, {"link": "A", "k": 1})).kinds()
        {('k', 'link')}
        """
        if self.names_rest or self.ranges:
            return None
        return {*((column,) for column in self.by), *self.across.single}

    def said_of(self, where: Mapping[str, Value]) -> Corners:
        """What is promised about just this group, beside what is promised about all rows.

        >>> from oop.punctuation import Frontier
        >>> Frontier.of(Punctuation({"ts": 5}), Punctuation({"ts": 9}, {"link": "A"})).said_of({"link": "A"})
        Corners({'ts': 9})
        """
        columns = tuple(sorted(where))
        if len(columns) == 1:
            return self.by[columns[0]].at(where[columns[0]]) if columns[0] in self.by else Corners()
        group = tuple(where[c] for c in columns)
        return self.across.single[columns].corners(group) if columns in self.across.single else Corners()

    def covers(self, promise: Punctuation) -> bool:
        """Is the promise implied? It is decided for each combination of named (or other) groups that it speaks of.

        >>> from oop.punctuation import Frontier
        >>> f = Frontier.of(Punctuation({"ts": 5}))
        >>> f.covers(Punctuation({"ts": 4}, {"link": "A"})), f.covers(Punctuation({"ts": 6}))
        (True, False)
        """
        if self.all.covers(promise.below, point_of(promise)):
            return True
        if promise.has_list:
            return all(map(self.covers, promise.each()))
        if self._covers_group(promise):
            return True
        single = all(isinstance(p, Equal) for p in promise.where.values())
        if single and not self.ranges and not self.names_rest:
            return False  # in other columns rows may be of groups that no promise names, about which nothing follows
        columns = {*promise.where, *self.group_columns()}
        names = sorted(columns)
        known = not self.ranges and all(isinstance(p, Equal | NotIn) for p in promise.where.values())
        if known and not self._covers_combination(promise.below, {c: _other(promise.where.get(c)) for c in names}):
            return False  # it fails for groups that no promise names: for most new promises this decides
        if any(kept.covers(promise) for kept in self.ranges):
            return True  # combinations may not show this: whether a date that some promise names is in a range
        values = [self._told_apart(column, promise) for column in names]
        return all(
            self._covers_combination(promise.below, dict(zip(names, c, strict=True)))
            for c in itertools.product(*values)
        )

    def _told_apart(self, column: str, promise: Punctuation) -> list[Value]:
        """The values of a group column that the promise speaks of, where promises may differ."""
        pattern = promise.where.get(column)
        if isinstance(pattern, Equal):
            return [pattern.value]
        cuts = cuts_on(column, promise, self.all, self.by, self.across, self.ranges)
        return values_told_apart(column, promise, self.named(column), cuts)

    def _covers_group(self, promise: Punctuation) -> bool:
        """Is it implied by what is promised about the groups that it names alone? Then combinations do not matter."""
        point = {c: p.value for c, p in promise.where.items() if isinstance(p, Equal)}
        if any(self.by[c].at(v).covers(promise.below, point) for c, v in point.items() if c in self.by):
            return True
        return any(corners.covers(promise.below, point) for corners in self.across.of_groups(point))

    def named(self, column: str) -> set[Value]:
        """The groups of a column that some promise names.

        >>> from oop.punctuation import Frontier
        >>> Frontier.of(Punctuation({"ts": 5}, {"link": "A"})).named("link")
        {'A'}
        """
        found = self.across.named(column) | (self.by[column].named() if column in self.by else set())
        return found.union(*(named_in(r, column) for r in self.ranges))

    def _covers_combination(self, corner: Corner, combination: Combination) -> bool:
        point = {c: v for c, v in combination.items() if v is not OTHER}
        both = corner.keys() & point.keys()  # a time that some promise also names with ``=`` or ``not in``
        if both:
            if not all(Below(corner[c]).may_match(point[c]) for c in both):
                return True  # the combination has no row below the corner
            corner = {c: b for c, b in corner.items() if c not in both}
        if self.all.covers(corner, point):
            return True
        if any(g.at(combination.get(column, OTHER)).covers(corner, point) for column, g in self.by.items()):
            return True
        if any(corners.covers(corner, point) for corners in self.across.at(combination)):
            return True
        return any(corners.covers(corner, point) for corners in says(self.ranges, combination))

    def covers_row(self, row: Mapping[str, Value]) -> bool:
        """Does the row match a promise that was made, so that it is late?

        >>> from oop.punctuation import Frontier
        >>> f = Frontier.of(Punctuation({"ts": 5}))
        >>> f.covers_row({"ts": 4}), f.covers_row({"ts": 5})
        (True, False)
        """
        return any(p.matches(row) for p in self.promises())

    def bound(self, attribute: str, where: Mapping[str, Value] | None = None) -> Bound | None:
        """The bound on an attribute for rows of these groups; for all rows when no group is given.

        None: nothing is promised; infinity: the end.

        >>> from oop.punctuation import Frontier
        >>> f = Frontier.of(Punctuation({"ts": 5}), Punctuation({"ts": 9}, {"link": "A"}))
        >>> f.bound("ts"), f.bound("ts", {"link": "A"}), f.bound("end")
        (5, 9, None)
        """
        if self.rising is not None and not where:
            return self.rising.get(attribute)
        if not self.by and not self.has_several:
            everyone = self.all
            if not where or not (everyone.joint or any(c in everyone.linear for c in where)):
                return everyone.bound(attribute)
        return self.at(where or {}).bound(attribute)

    def bounds(self, attribute: str, column: str, values: Sequence[Value]) -> list[Bound | None]:
        """The bound for each of these groups, so that a kernel can compare a whole batch.

        >>> from oop.punctuation import Frontier
        >>> f = Frontier.of(Punctuation({"ts": 5}), Punctuation({"ts": 9}, {"link": "A"}))
        >>> f.bounds("ts", "link", ["A", "B"])
        [9, 5]
        """
        return [self.bound(attribute, {column: v}) for v in values]

    def at(self, where: Mapping[str, Value]) -> Corners:
        """What holds for the rows with these values in the group columns; a column not given may have any value.

        >>> from oop.punctuation import Frontier
        >>> f = Frontier.of(Punctuation({"ts": 5}), Punctuation({"ts": 9}, {"link": "A"}))
        >>> f.at({"link": "A"}).bound("ts")
        9
        """
        where = {c: group_value(v) for c, v in where.items()}
        if not self.ranges and not (self.has_several and self.names_rest):
            return given(self._at(where), where)
        # a range of a free column says nothing about all values of the column, so it need not be told apart
        free = sorted(self.across.columns().union(*(r.where for r in self.ranges)) - where.keys())
        combinations = itertools.product(*([OTHER, *self.named(c)] for c in free))
        found = reduce(Corners.meet, (self._at({**where, **dict(zip(free, c, strict=True))}) for c in combinations))
        return given(found, where)

    def _at(self, combination: Combination) -> Corners:
        out = self.all.copy()
        for column, grouping in self.by.items():
            out = out.join(grouping.at(combination[column]) if column in combination else grouping.least())
        return reduce(Corners.join, itertools.chain(self.across.at(combination), says(self.ranges, combination)), out)

    def _times(self) -> Iterator[str]:
        """The attributes with bounds."""
        for corners in (self.all, *(c for g in self.by.values() for _, c in g.items())):
            yield from corners.attributes()

    def promises(self) -> Iterator[Punctuation]:
        """The strongest promises; advancing an empty frontier by them gives this one again.

        >>> from oop.punctuation import Frontier
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
                        known = grouping and column not in corner  # else the constructor has to look at it
                        yield Punctuation._made(dict(corner), where) if known else Punctuation(corner, where)
        yield from self.several

    def to_json(self) -> list[str]:
        """Its promises as text; `from_json` reads them.

        >>> from oop.punctuation import Frontier
        >>> Frontier.from_json(Frontier.of(Punctuation(below={"ts": 5})).to_json())
        Frontier(ts < 5)
        """
        return [promise.to_json() for promise in self.promises()]

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Promised):
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


def _other(pattern: GroupPattern | None) -> Value:
    """A group of a column that a promise speaks of, and no other promise, if there is such a group."""
    return pattern.value if isinstance(pattern, Equal) else OTHER
