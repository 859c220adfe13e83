"""What a join promises: on the left time, on the right time, and on both (OOP paper, section 7).

A later pair has a new row on one side. If it is the left row, its time is at least L, and the right time at least L +
lo; if it is the right row, its time is at least R, and the left time at least R - hi. So no later pair is below
``min(L, R - hi)`` on the left, below ``min(R, L + lo)`` on the right, or below L and R at once: three meets of
frontiers. Promises by group meet where the group column is a key, which has one value in both rows.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from oop.frozen import frozen
from oop.operators.join.band import LEFT, RIGHT, Band, SameWindow
from oop.punctuation import Equal, Frontier, Interest, Punctuation
from oop.punctuation.crossing import Carried, Crossing
from oop.punctuation.group_promises import GroupPromises, Promise
from oop.punctuation.patterns import Bound
from oop.punctuation.translate import Image, carry

Near = Band | SameWindow


@frozen()
class Moved:
    """A function from the other side's bound to a bound on the times of ``side``. It is a class, not a lambda, so that
    two of them with the same fields are equal."""

    band: Near
    side: int

    def __call__(self, bound: Bound) -> Bound | None:
        return self.band.promise(self.side, bound)


@frozen()
class Names:
    """The output's names for the columns of each side (a semi or anti join has none for the right). ``linked`` are key
    columns, left and right, whose values are the same in every pair. ``pads`` says which sides' rows also go out
    alone."""

    times: tuple[str, str]
    outputs: tuple[Mapping[str, str], Mapping[str, str]]
    linked: tuple[tuple[str, str], ...]
    pads: tuple[bool, bool]

    def output_time(self, side: int) -> str:
        return self.outputs[side][self.times[side]]


class JoinCrossing(Crossing):
    """How promises cross a join.

    >>> names = Names(("a", "b"), ({"a": "a"}, {"b": "b"}), (), (False, False))
    >>> both = [Frontier.of(Punctuation({"a": 5})), Frontier.of(Punctuation({"b": 6}))]
    >>> JoinCrossing(names, Band(-2, 2)).added(Punctuation({"b": 6}), both, RIGHT)
    [Punctuation(a < 5, b < 6), Punctuation(a < 4), Punctuation(b < 3)]
    """

    def __init__(self, names: Names, band: Near) -> None:
        self.names, self.band = names, band

    def translate(self, frontiers: Sequence[Frontier]) -> Frontier:
        left, right = frontiers
        return join_promises((left, right), self.names, self.band)

    def added(self, promise: Promise, frontiers: Sequence[Frontier], port: int = 0) -> Sequence[Promise] | None:
        """Bounds about all rows are met at once; a promise about a group changes what is promised about it alone."""
        left, right = frontiers
        if left.is_linear and right.is_linear:
            return linear_promises((left, right), self.names, self.band) if all(self.names.outputs) else None
        if isinstance(promise, GroupPromises):
            return None
        return promises_of_group(promise, port, (left, right), self.names, self.band)

    def interests(self, wanted: Sequence[Interest]) -> list[list[Interest]]:
        """Bounds on a side's time free rows of the other side, also by group if the group column is a key. Other
        promises are of interest only if they help the consumers."""
        found = []
        for side in (LEFT, RIGHT):
            freeing = Interest(self.names.times[side], by=[pair[side] for pair in self.names.linked])
            images = _image_of_side(self.names, self.band, side)
            found.append([freeing, *(i.before(*images) for i in wanted)])
        return found


class CarriedAndMet(Crossing):
    """The promises of each port are carried to the output's columns, and their meet is promised. ``then``, if given,
    carries the meet further.

    >>> both = CarriedAndMet([Carried({"a": [("t", None)]}, {}), Carried({"b": [("t", lambda bound: bound - 2)]}, {})])
    >>> both.translate([Frontier.of(Punctuation({"a": 5})), Frontier.of(Punctuation({"b": 6}))])
    Frontier(t < 4)
    """

    def __init__(self, ports: Sequence[Carried], then: Carried | None = None) -> None:
        self.ports, self.then = ports, then

    def translate(self, frontiers: Sequence[Frontier]) -> Frontier:
        met = Frontier.meet([c.translate([f]) for c, f in zip(self.ports, frontiers, strict=True)])
        return met if self.then is None else self.then.translate([met])

    def interests(self, wanted: Sequence[Interest]) -> list[list[Interest]]:
        """The interests of each port; those of the operator itself come first."""
        if self.then is not None:
            (wanted,) = self.then.interests(wanted)
        return [[*c.also, *(i for i in c.interests(wanted)[0] if i not in c.also)] for c in self.ports]


def join_promises(frontiers: tuple[Frontier, Frontier], names: Names, band: Near) -> Frontier:
    """What the output promises if these are the frontiers of the two sides."""
    found = [_individual(frontiers, names, band, side) for side in (LEFT, RIGHT) if names.outputs[side]]
    if all(names.outputs):
        found.append(_joint(frontiers, names))
    return Frontier.of(*(promise for frontier in found for promise in frontier.promises()))


def promises_of_group(
    promise: Punctuation, port: int, frontiers: tuple[Frontier, Frontier], names: Names, band: Near
) -> list[Punctuation] | None:
    """What a promise about a single group adds to the output; None if only the whole frontiers tell that.

    Both rows of a pair are in one group. So if both sides promise by the same columns, and about named groups only,
    then a promise about one group changes what is promised about that group alone: what follows from both sides'
    promises about all rows and about it.
    """
    columns = {pair[port]: pair for pair in names.linked}
    groups = {c: p.value for c, p in promise.where.items() if isinstance(p, Equal)}
    if not groups or len(groups) < len(promise.where) or not groups.keys() <= columns.keys():
        return None
    here = []
    for side, frontier in enumerate(frontiers):
        kinds, where = frontier.kinds(), {columns[c][side]: value for c, value in groups.items()}
        if kinds is None or kinds - {tuple(sorted(where))}:
            return None
        said = (Punctuation(corner, where) for corner in frontier.at(where))
        here.append(Frontier.of(*map(Punctuation, frontier.all), *said))
    return list(join_promises((here[LEFT], here[RIGHT]), names, band).promises())


def linear_promises(frontiers: tuple[Frontier, Frontier], names: Names, band: Near) -> list[Punctuation] | None:
    """Like `join_promises`, but faster, for the common frontiers that only bound each side's time; None for others."""
    bounds = []
    for side, frontier in enumerate(frontiers):
        known = frontier.is_linear and not frontier.ended and frontier.all.linear.keys() <= {names.times[side]}
        if not known:
            return None
        bounds.append(frontier.all.linear.get(names.times[side]))
    left, right = bounds
    if left is None or right is None:
        return []
    found = [Punctuation({names.output_time(LEFT): left, names.output_time(RIGHT): right})]
    for side, own, other in ((LEFT, left, right), (RIGHT, right, left)):
        moved = band.promise(side, other)
        if moved is not None:
            found.append(Punctuation({names.output_time(side): min(own, moved)}))
    return found


def _individual(frontiers: tuple[Frontier, Frontier], names: Names, band: Near, side: int) -> Frontier:
    """The meet of a side's own promises with what the other side's promises say about its time.

    A row that goes out alone has nulls in the other side's columns, so promises about groups of those columns do not
    hold for it.
    """
    other = 1 - side
    alone = names.pads[side]
    own = carry(frontiers[side], *_images(names, side, side))
    images: dict[str, list[Image]] = {names.times[other]: [(names.output_time(side), Moved(band, side))]}
    columns = _columns(names, other, side, keys_only=alone)
    met = Frontier.meet([own, carry(frontiers[other], images, columns)])
    if names.pads[other]:
        met = _not_of_nulls(met, names, side)
    return met if alone else _under_both_names(met, names, side)


def _joint(frontiers: tuple[Frontier, Frontier], names: Names) -> Frontier:
    left = carry(frontiers[LEFT], *_images(names, LEFT, LEFT))
    right = carry(frontiers[RIGHT], *_images(names, RIGHT, LEFT))
    met = Frontier.meet([left, right])
    if not any(names.pads):
        return _under_both_names(met, names, LEFT)
    for side in (LEFT, RIGHT):
        met = _not_of_nulls(met, names, side)
    return met


def _not_of_nulls(frontier: Frontier, names: Names, side: int) -> Frontier:
    """The frontier restricted to rows that have a time on this side. A row whose columns of this side are all null is a
    row of the other side that went out alone, and this side's promises do not say when that happens."""
    own, time, out = set(names.outputs[side].values()), names.output_time(side), Frontier()
    for promise in frontier.promises():
        pattern = promise.where.get(time)
        if pattern is not None and pattern.matches(None):
            continue  # null is among these times, and no single pattern describes the times without it
        if pattern is None and not promise.is_end and not promise.below.keys() & own:
            promise = Punctuation({time: math.inf, **promise.below}, promise.where)
        out.advance(promise)
    return out


def _image_of_side(names: Names, band: Near, side: int) -> tuple[dict[str, list[Image]], dict[str, list[str]]]:
    """Where a side's promises go, in the form that `carry` takes. Its time bounds the times of both sides."""
    other = 1 - side
    attributes: dict[str, list[Image]] = {a: [(b, None)] for a, b in names.outputs[side].items()}
    columns = {c: [o] for c, o in names.outputs[side].items()}
    if names.outputs[other]:
        attributes.setdefault(names.times[side], []).append((names.output_time(other), Moved(band, other)))
        for pair in names.linked:
            columns.setdefault(pair[side], []).append(names.outputs[other][pair[other]])
    return attributes, columns


def _images(names: Names, side: int, named_as: int) -> tuple[dict[str, list[Image]], dict[str, list[str]]]:
    """All attributes of a side under the output's names, and its group columns, where keys have the names that they
    have on the side ``named_as``."""
    attributes: dict[str, list[Image]] = {a: [(b, None)] for a, b in names.outputs[side].items()}
    return attributes, _columns(names, side, named_as, keys_only=False)


def _columns(names: Names, side: int, named_as: int, keys_only: bool) -> dict[str, list[str]]:
    own = {} if keys_only else {c: [o] for c, o in names.outputs[side].items()}
    return {**own, **{pair[side]: [names.outputs[named_as][pair[named_as]]] for pair in names.linked}}


def _under_both_names(frontier: Frontier, names: Names, side: int) -> Frontier:
    """Repeat what is promised about one side's key columns for the other side's, which have the same values."""
    if (not frontier.by and not frontier.has_several) or not all(names.outputs):
        return frontier
    outputs = [o for side in (LEFT, RIGHT) for o in names.outputs[side].values()]
    columns = {o: [o] for o in outputs}
    for pair in names.linked:
        one, other = (names.outputs[s][pair[s]] for s in (side, 1 - side))
        columns[one] = [one, other]
    return carry(frontier, {o: [(o, None)] for o in outputs}, columns)
