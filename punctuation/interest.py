"""What helps a consumer: a producer makes only the promises that change something for someone (OOP paper, A.1.1).

An interest is what a consumer makes of a promise: to which attributes its bounds go, by which steps, and by which
columns promises about groups are told apart. A promise helps if this image of it is new. A bound is never rounded; it
is held back as long as its image stays the same.

>>> per_minute = Interest("ts", lambda bound: bound // 60)
>>> per_minute.images(Punctuation({"ts": 130}))
[Punctuation(ts < 2)]
>>> per_minute.images(Punctuation({"ts": 130, "ts_right": 70}))  # nothing follows for ts alone
[]
>>> Interest(["ts", "ts_right"]).images(Punctuation({"ts": 130, "ts_right": 70}))
[Punctuation(ts < 130, ts_right < 70)]
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from oop.frozen import frozen
from oop.punctuation.frontier import Frontier
from oop.punctuation.group_promises import GroupPromises, Promise, expanded
from oop.punctuation.patterns import Bound, Range, Value
from oop.punctuation.promise import Punctuation
from oop.punctuation.ranges import is_ranged
from oop.punctuation.translate import CarriesRanges, Image, carry, carry_groups, carry_promise, roll_up

BoundStep = Callable[[Bound], Bound | None]
_INFINITE = (math.inf, -math.inf)


@dataclass(frozen=True, init=False)
class Interest:
    """``uses`` says where an attribute's bounds go; bounds on several attributes together (joint promises) help if all
    of them are used. ``by`` are the columns whose groups are told apart (None: all). ``ranges`` are columns of which
    only ranges of values are told apart.

    With plain names every new bound of these attributes helps; with a ``step``, a bound helps if its step is new.
    """

    uses: Mapping[str, Sequence[Image]]
    by: frozenset[str] | None
    ranges: frozenset[str] = field(default=frozenset(), repr=False)

    def __init__(
        self,
        attributes: str | Iterable[str] | Mapping[str, Sequence[Image]],
        step: BoundStep | None = None,
        by: Iterable[str] | None = None,
        ranges: Iterable[str] = (),
    ) -> None:
        if isinstance(attributes, str):
            attributes = {attributes: [(attributes, step)]}
        elif not isinstance(attributes, Mapping):
            attributes = {a: [(a, None)] for a in attributes}
        object.__setattr__(self, "uses", attributes)
        object.__setattr__(self, "by", None if by is None else frozenset(by))
        object.__setattr__(self, "ranges", frozenset(ranges))

    def keeps(self, promise: Punctuation) -> bool:
        """Are the promise's groups told apart?"""
        by, ranges = self.by, self.ranges
        if by is None or by.issuperset(promise.where):
            return True
        return all(c in by or (c in ranges and isinstance(p, Range)) for c, p in promise.where.items())

    def tells_apart(self, columns: Iterable[str]) -> bool:
        """Are groups of these columns told apart?"""
        return self.by is None or self.by.issuperset(columns)

    def rolls_up(self, promise: Punctuation) -> bool:
        """Does it help only together with promises about the other groups? With a range it never does, because ranges
        do not cover all groups."""
        return not self.keeps(promise) and promise.below.keys() <= self.uses.keys() and not is_ranged(promise)

    def images(self, promise: Punctuation) -> list[Punctuation]:
        """What the consumer makes of a promise."""
        return (carry_promise(promise, self.uses, _same(promise.where)) or []) if self.keeps(promise) else []

    def images_of(self, promises: GroupPromises) -> list[GroupPromises]:
        """What the consumer makes of promises about many groups."""
        if not self.tells_apart(promises.columns):
            return []
        return carry_groups(promises, self.uses, _same(promises.columns)) or []

    def image(self, frontier: Frontier) -> Frontier:
        """What the consumer makes of all promises so far."""
        return carry(frontier, self.uses, _same(self._columns(frontier)))

    def part(self, frontier: Frontier) -> Frontier:
        """The promises that the consumer uses, rolled up, but not taken through its steps."""
        others = frontier.without_ranges() if frontier.ranges else frontier
        part = carry(others, {a: [(a, None)] for a in self.uses}, _same(self._columns(frontier)))
        for promise in frontier.ranges:
            if self.images(promise):
                part.advance(promise)
        return part

    def before(self, attributes: Mapping[str, Sequence[Image]], columns: Mapping[str, Sequence[str]]) -> Interest:
        """This interest in front of a map, which is given as for `carry`.

        >>> Interest("minute", by=["port"]).before({"ts": [("minute", None)]}, {"link": ["port"]})
        Interest(uses={'ts': [('minute', None)]}, by=frozenset({'link'}))
        """
        uses = {
            a: [(name, _then(first, second)) for to, first in images for name, second in self.uses.get(to, ())]
            for a, images in attributes.items()
        }
        by = [c for c, names in columns.items() if self.by is None or self.by.intersection(names)]
        ranges = {c for c, names in columns.items() if self.ranges.intersection(names)}
        for a, images in attributes.items():
            if any(
                isinstance(f, CarriesRanges) and (self.by is None or to in self.by | self.ranges) for to, f in images
            ):
                ranges.add(a)
        return Interest({a: images for a, images in uses.items() if images}, by=by, ranges=ranges)

    def also_by(self, columns: Iterable[str]) -> Interest:
        """This interest, with the groups of these columns told apart too."""
        return Interest(self.uses, by=None if self.by is None else self.by.union(columns), ranges=self.ranges)

    def also_ranges(self, columns: Iterable[str]) -> Interest:
        """This interest, with ranges of these columns told apart too."""
        return Interest(self.uses, by=self.by, ranges=self.ranges.union(columns))

    def _columns(self, frontier: Frontier) -> Iterable[str]:
        return {c for p in frontier.promises() for c in p.where} if self.by is None else self.by

    def __str__(self) -> str:
        return ", ".join(self.uses) + (f" by {', '.join(sorted(self.by))}" if self.by else "")


THE_END = Interest((), by=())
"""What helps every consumer."""


def asked_of(frontier: Frontier, interests: Iterable[Interest]) -> Frontier:
    """Those of the promises that someone uses.

    >>> f = Frontier.of(Punctuation({"ts": 5}), Punctuation({"len": 9}), Punctuation({"ts": 9}, {"link": "A"}))
    >>> asked_of(f, [Interest("ts", by=())])
    Frontier(ts < 5)
    """
    return Frontier.of(*(p for i in (*interests, THE_END) for p in i.part(frontier).promises()))


class Gate:
    """Decides which promises leave a producer. If no interests are given, every new promise leaves.

    >>> gate = Gate([Interest("ts", lambda bound: bound // 60, by=())])
    >>> [gate.passes(Punctuation({"ts": t})) for t in (10, 50, 70, 80, 130)]
    [True, False, True, False, True]

    What was promised about groups that nobody tells apart leaves as far as it holds for all of them:

    >>> from oop.punctuation import not_in
    >>> groups = [Punctuation({"ts": 900}, {"link": w}) for w in ("A", not_in("A"))]
    >>> list(gate.through(groups[:1])), list(gate.through(groups[1:]))
    ([], [Punctuation(ts < 900)])
    """

    def __init__(self, interests: Iterable[Interest] | None = None) -> None:
        self.interests = None if interests is None else (*interests, THE_END)
        self.passed = Frontier()
        self.held = Frontier()  # promises that wait to be rolled up
        self.offered = 0  # how many promises came, whether they helped or not
        self._known = [Frontier() for _ in self.interests or ()]  # what each consumer made of what has passed
        self._uses = self._find_uses()

    def _find_uses(self) -> dict[str, list[tuple[Frontier, str, BoundStep | None]]]:
        """By attribute, where its bounds go: to which of ``_known``, as which attribute there, and by which step."""
        found: dict[str, list[tuple[Frontier, str, BoundStep | None]]] = {}
        for interest, known in zip(self.interests or (), self._known, strict=True):
            for attribute, images in interest.uses.items():
                found.setdefault(attribute, []).extend((known, name, step) for name, step in images)
        return found

    def passes(self, promise: Punctuation) -> bool:
        """Let a promise about all rows through if it is new and helps."""
        if promise.linear is not None:
            return self.rises(*promise.linear)
        return bool(list(self.through([promise])))

    def rises(self, attribute: str, bound: Bound) -> bool:
        """The linear case of `passes`: a bound about all rows. One comes with every batch, and often helps nobody.

        >>> gate = Gate([Interest("ts", lambda bound: bound // 60, by=())])
        >>> gate.rises("ts", 10), gate.rises("ts", 50), gate.passed
        (True, False, Frontier(ts < 10))
        """
        if self.interests is None or self.held.rising is None:  # what is held matters too
            return bool(list(self.through([Punctuation._rise(attribute, bound)])))
        self.offered += 1
        return self._rises(attribute, bound)

    def _rises(self, attribute: str, bound: Bound) -> bool:
        new = False
        for known, name, step in self._uses.get(attribute, ()):
            moved = bound if step is None or bound in _INFINITE else step(bound)  # a step need not take infinity
            if moved is not None and known.rise(name, moved):
                new = True
        return new and self.passed.rise(attribute, bound)

    def through(self, promises: Iterable[Promise]) -> Iterator[Promise]:
        """The promises that leave when these have come."""
        rising = False
        for promise in expanded(promises):
            self.offered += 1
            if isinstance(promise, GroupPromises):
                rising |= self._holds(promise)
                new = self._take_groups(promise)
                if new is not None:
                    yield new
                continue
            if self.interests is None:
                if self.passed.advance(promise):
                    yield promise
                continue
            if promise.where and any(i.rolls_up(promise) for i in self.interests):
                rising |= self.held.advance(promise)
            elif not promise.where and not self.held.is_linear:
                self.held.advance(promise)  # so that promises that it implies are held no longer
            if self._take(promise):
                yield promise
        if rising and not self.held.names_rest:  # then only promises about all rows hold for every group of a column
            yield from filter(self._take, (Punctuation(corner) for corner in self.held.all))
        elif rising and self.interests is not None:
            for columns in dict.fromkeys(i.by for i in self.interests if i.by is not None):
                yield from filter(self._take, roll_up(self.held, columns).promises())

    def helps(self, promise: Punctuation) -> bool:
        """Would the promise, by itself, change something for someone? If a bound would, so would every greater one."""
        if self.interests is None:
            return True
        if promise.linear is not None:
            attribute, bound = promise.linear
            for known, name, step in self._uses.get(attribute, ()):
                moved = bound if step is None or bound in _INFINITE else step(bound)
                if moved is not None and ((old := known.bound(name)) is None or moved > old):
                    return True
            return False
        each = zip(self.interests, self._known, strict=True)
        return any(not known.covers(image) for i, known in each for image in i.images(promise))

    def _take(self, promise: Punctuation) -> bool:
        if promise.linear is not None:
            return self._rises(*promise.linear)
        assert self.interests is not None
        new = False
        for interest, known in zip(self.interests, self._known, strict=True):
            for image in interest.images(promise):
                new |= known.advance(image)
        return new and self.passed.advance(promise)

    def _holds(self, promises: GroupPromises) -> bool:
        """Keep promises that help only together with those about the other groups; did anything change?"""
        attribute, columns = promises.attribute, promises.columns
        if not any(attribute in i.uses and not i.tells_apart(columns) for i in self.interests or ()):
            return False
        return self.held.advance_groups(promises) is not None

    def _take_groups(self, promises: GroupPromises) -> GroupPromises | None:
        """Take promises about many groups in; return those that are new and help someone."""
        if self.interests is None:
            return self.passed.advance_groups(promises)
        helped: list[Collection[Value]] = []
        for interest, known in zip(self.interests, self._known, strict=True):
            for image in interest.images_of(promises):
                new = known.advance_groups(image)
                if new is not None:
                    helped.append(new.bounds)
        if not helped:
            return None
        if max(map(len, helped)) < len(promises):
            promises = promises.about(helped[0] if len(helped) == 1 else set().union(*helped))
        return self.passed.advance_groups(promises)

    def restore(self, passed: Frontier, held: Frontier) -> None:
        """Go on from where another gate with the same interests stopped."""
        self.passed, self.held = passed, held
        self._known = [i.image(passed) for i in self.interests or ()]
        self._uses = self._find_uses()


def _same(columns: Iterable[str]) -> dict[str, tuple[str]]:
    return {c: (c,) for c in columns}


def _then(first: BoundStep | None, second: BoundStep | None) -> BoundStep | None:
    if first is None or second is None:
        return first or second
    carries = isinstance(first, CarriesRanges) and isinstance(second, CarriesRanges)
    return _ThenInRanges(first, second) if carries else _Then(first, second)


@frozen()
class _Then:
    """One step after the other; equal to another that takes the same ones."""

    first: BoundStep
    second: BoundStep

    def __call__(self, bound: Bound) -> Bound | None:
        moved = self.first(bound)
        return moved if moved is None or math.isinf(moved) else self.second(moved)


class _ThenInRanges(_Then):
    """One step after the other, where both let ranges pass."""

    first: CarriesRanges
    second: CarriesRanges

    def low_end(self, low: Bound) -> Bound | None:
        moved = self.first.low_end(low)
        return None if moved is None else self.second.low_end(moved)
