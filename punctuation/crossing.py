"""`Crossing`: how promises cross an operator, as one value (OOP paper, section 3.2).

A spec gives one crossing for its input schemas. Everything that the plan and the engines ask about promises follows
from it: `translate` takes whole frontiers across, `added` says what one new promise (or the promises about many groups
that travel together) adds to the output, and `interests` takes what helps the consumers back to the inputs.

>>> per_minute = Carried({"ts": [("minute", lambda bound: bound // 60)]}, {"link": ["link"]})
>>> per_minute.translate([Frontier.of(Punctuation({"ts": 130}))])
Frontier(minute < 2)
>>> per_minute.added(Punctuation({"ts": 190}, {"link": "A"}), [Frontier()])
[Punctuation(minute < 3, link = 'A')]
>>> [list(i.uses) for i in per_minute.interests([Interest("minute")])[0]]
[['ts']]
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import reduce

from oop.punctuation.corners import Corners
from oop.punctuation.frontier import Frontier
from oop.punctuation.group_promises import GroupPromises, Promise
from oop.punctuation.interest import Interest, asked_of
from oop.punctuation.patterns import Bound, Equal, Range, Value, group_value
from oop.punctuation.promise import Punctuation
from oop.punctuation.translate import Image, carry, carry_groups, carry_least, carry_promise, restrict

Images = Mapping[str, Sequence[Image]]
OutputNames = Mapping[str, Sequence[str]]


class Crossing:
    """The base of all crossings. By default the whole frontier decides what a new promise adds."""

    def translate(self, frontiers: Sequence[Frontier]) -> Frontier:
        """What the output promises when the inputs promise this much."""
        raise NotImplementedError

    def added(self, promise: Promise, frontiers: Sequence[Frontier], port: int = 0) -> Sequence[Promise] | None:
        """What one new promise adds to the output, where that follows without a look at all the others; else None.

        With many groups this is a look-up instead of a scan. The promise came in at ``port``, and ``frontiers`` have
        already taken it in.
        """
        return None

    def images(self, attribute: str) -> Sequence[Image] | None:
        """Where a bound about all rows on this attribute goes: the linear case of `added`. None: other promises decide
        too."""
        return None

    def interests(self, wanted: Sequence[Interest]) -> list[list[Interest]]:
        """For each port the promises that help, when ``wanted`` are those that help the consumers."""
        raise NotImplementedError

    def asked(self, interests: Iterable[Interest]) -> Crossing:
        """This crossing without the promises that none of the consumers' interests uses."""
        return self

    def helped_by(self, interest: Interest) -> Crossing:
        """This crossing for an operator that such promises help as well."""
        raise NotImplementedError

    def running(self) -> Crossing:
        """This crossing while the plan runs. Before, a plan may expect more promises (see `Counted`)."""
        return self


class Same(Crossing):
    """Promises pass as they are, from every port. ``also`` are promises that help the operator itself.

    >>> Same().translate([Frontier.of(Punctuation({"ts": 5}))])
    Frontier(ts < 5)
    """

    def __init__(self, ports: int = 1, also: Sequence[Interest] = ()) -> None:
        self.ports = ports
        self.also = list(also)

    def translate(self, frontiers: Sequence[Frontier]) -> Frontier:
        return frontiers[0].copy()

    def added(self, promise: Promise, frontiers: Sequence[Frontier], port: int = 0) -> Sequence[Promise] | None:
        return (promise,)

    def images(self, attribute: str) -> Sequence[Image] | None:
        return ((attribute, None),)

    def interests(self, wanted: Sequence[Interest]) -> list[list[Interest]]:
        return [[*self.also, *(i for i in wanted if i not in self.also)] for _ in range(self.ports)]


class Carried(Crossing):
    """Bounds cross to the ``attributes`` of the output, groups to its ``columns`` (see `translate.carry`).

    ``least`` has, for each output column that is the least of several, the images once for each of these.
    An operator that ``holds`` rows until a promise releases them is helped by every bound on these attributes, by these
    groups; one that passes rows is helped by what helps its consumers. ``also`` are further promises that help it.
    """

    def __init__(
        self,
        attributes: Images,
        columns: OutputNames,
        *,
        holds: bool = False,
        also: Sequence[Interest] = (),
        least: Mapping[str, Sequence[Images]] | None = None,
    ) -> None:
        self.attributes, self.columns = attributes, columns
        self.holds, self.also = holds, list(also)
        self.least = least or {}

    def translate(self, frontiers: Sequence[Frontier]) -> Frontier:
        out = carry(frontiers[0], self.attributes, self.columns)
        for choices in self.least.values():
            for promise in carry_least(frontiers[0], choices, self.columns).promises():
                out.advance(promise)
        return out

    def added(self, promise: Promise, frontiers: Sequence[Frontier], port: int = 0) -> Sequence[Promise] | None:
        if self.least:
            return None
        if isinstance(promise, GroupPromises):
            return carry_groups(promise, self.attributes, self.columns, among=frontiers[0])
        return carry_promise(promise, self.attributes, self.columns, among=frontiers[0])

    def images(self, attribute: str) -> Sequence[Image] | None:
        return None if self.least else self.attributes.get(attribute, ())

    def interests(self, wanted: Sequence[Interest]) -> list[list[Interest]]:
        if self.holds:
            return [[Interest(self.attributes.keys(), by=self.columns.keys()), *self.also]]
        helpful = [i.before(self.attributes, self.columns) for i in wanted]
        for name, choices in self.least.items():
            helpful += [i.before(c, self.columns) for i in wanted if name in i.uses for c in choices]
        return [[*helpful, *self.also]]

    def helped_by(self, interest: Interest) -> Crossing:
        return Carried(self.attributes, self.columns, holds=self.holds, also=[*self.also, interest], least=self.least)

    def asked(self, interests: Iterable[Interest]) -> Crossing:
        used = frozenset[str]().union(*(i.uses for i in interests))
        attributes = {
            attribute: kept
            for attribute, images in self.attributes.items()
            if (kept := [image for image in images if image[0] in used])
        }
        least = {name: choices for name, choices in self.least.items() if name in used}
        return Carried(attributes, self.columns, holds=self.holds, also=self.also, least=least)


class Restricted(Crossing):
    """A filter passes only rows with the values that it has ``fixed`` for columns, and ``within`` ranges of others.

    >>> only_a = Restricted({"link": "A"})
    >>> only_a.added(Punctuation({"ts": 9}, {"link": "A"}), [Frontier()])
    [Punctuation(ts < 9)]
    """

    def __init__(self, fixed: Mapping[str, Value], within: Mapping[str, Range] | None = None) -> None:
        self.fixed = {column: group_value(value) for column, value in fixed.items()}
        self.within = within or {}

    def translate(self, frontiers: Sequence[Frontier]) -> Frontier:
        return restrict(frontiers[0], self.fixed, self.within)

    def added(self, promise: Promise, frontiers: Sequence[Frontier], port: int = 0) -> Sequence[Promise] | None:
        if isinstance(promise, GroupPromises):
            return self._added_groups(promise)
        if not promise.where:
            return (promise,)
        fixed = {c: v for c, v in self.fixed.items() if c in promise.where}
        if self.within.keys() & (promise.where.keys() - fixed.keys()):
            return None
        if not all(promise.where[c].matches(v) for c, v in fixed.items()):
            return ()
        # The rows that pass have the fixed values, so the promise is one about the other columns.
        return [
            Punctuation(promise.below, {c: p for c, p in promise.where.items() if c not in fixed}) if fixed else promise
        ]

    def _added_groups(self, promises: GroupPromises) -> Sequence[Promise] | None:
        if self.fixed.keys().isdisjoint(promises.columns):
            return (promises,)
        if len(promises.columns) > 1:
            return None
        bound = promises.bounds.get(self.fixed[promises.columns[0]])
        return () if bound is None else [Punctuation({promises.attribute: bound})]

    def images(self, attribute: str) -> Sequence[Image] | None:
        return ((attribute, None),)

    def interests(self, wanted: Sequence[Interest]) -> list[list[Interest]]:
        return [[i.also_by(self.fixed).also_ranges(self.within) for i in wanted]]


class Met(Crossing):
    """A union of several ports promises what all of them do (OOP paper, figure A-1).

    >>> Met(2).translate([Frontier.of(Punctuation({"ts": 5})), Frontier.of(Punctuation({"ts": 3}))])
    Frontier(ts < 3)
    """

    def __init__(self, ports: int) -> None:
        self.ports = ports

    def translate(self, frontiers: Sequence[Frontier]) -> Frontier:
        return Frontier.meet(frontiers)

    def added(self, promise: Promise, frontiers: Sequence[Frontier], port: int = 0) -> Sequence[Promise] | None:
        """A promise about a group moves the meet of that group alone, unless promises about other columns divide it.

        A promise about all rows moves the meet of every group.
        """
        if isinstance(promise, GroupPromises):
            return self._added_groups(promise, frontiers)
        if promise.linear is not None:
            attribute, _ = promise.linear
            alike = [f.rising[attribute] for f in frontiers if f.rising is not None and f.rising.keys() == {attribute}]
            if len(alike) == len(frontiers):  # the linear case: every port has promised a bound, and nothing else
                return (Punctuation._rise(attribute, min(alike)),)
        groups = {c: p.value for c, p in promise.where.items() if isinstance(p, Equal)}
        named = {c for f in frontiers for c in (*((column,) for column in f.by), *f.across.single)}
        if (
            any(f.across.mixed or f.ranges for f in frontiers)
            or len(groups) < len(promise.where)
            or named - {tuple(sorted(groups))}
        ):
            return None
        corners = reduce(Corners.meet, (f.at(groups) for f in frontiers))
        return [Punctuation(corner, promise.where) for corner in corners]

    def _added_groups(self, promises: GroupPromises, frontiers: Sequence[Frontier]) -> Sequence[Promise] | None:
        """Each group moves to the least over the ports, as long as nothing else is said of groups."""
        columns, attribute = promises.columns, promises.attribute
        least: dict[Value, Bound] = dict(promises.bounds)
        for frontier in frontiers:
            if frontier.ended:
                continue
            bounds = frontier.bounds_by(columns, attribute)
            if bounds is None:
                return None
            everyone = frontier.all.linear.get(attribute)
            least = {g: min(b, here) for g, b in least.items() if (here := bounds.get(g, everyone)) is not None}
        return [GroupPromises(columns, attribute, least)] if least else ()

    def interests(self, wanted: Sequence[Interest]) -> list[list[Interest]]:
        return [list(wanted) for _ in range(self.ports)]


class Counted(Crossing):
    """Promises cross as by ``of``, and the operator makes some of its own from the rows that it sees.

    A crossing knows no rows, so the bounds of the latter are not known: ``expected`` are promises with the bound −∞,
    which say that there will be bounds.
    """

    def __init__(self, of: Crossing, expected: Sequence[Punctuation]) -> None:
        self.of = of
        self.expected = list(expected)

    def translate(self, frontiers: Sequence[Frontier]) -> Frontier:
        out = self.of.translate(frontiers)
        for promise in self.expected:
            out.advance(promise)
        return out

    def added(self, promise: Promise, frontiers: Sequence[Frontier], port: int = 0) -> Sequence[Promise] | None:
        return self.of.added(promise, frontiers, port)

    def images(self, attribute: str) -> Sequence[Image] | None:
        return self.of.images(attribute)

    def interests(self, wanted: Sequence[Interest]) -> list[list[Interest]]:
        return self.of.interests(wanted)

    def running(self) -> Crossing:
        return self.of


class OnlyAsked(Crossing):
    """Only promises that these interests use pass. How many of them have left depends on which helped on the way."""

    def __init__(self, interests: Sequence[Interest]) -> None:
        self.only = list(interests)

    def translate(self, frontiers: Sequence[Frontier]) -> Frontier:
        return asked_of(frontiers[0], self.only)

    def interests(self, wanted: Sequence[Interest]) -> list[list[Interest]]:
        return [list(self.only)]
