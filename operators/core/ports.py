"""`Ports`: the frontiers of an operator's inputs and of its output, and the promises that leave it.

An operator takes the promises that have come in by `advance`, lets go what they complete, and sends on what `promises`
gives: promises that follow for the output, were not made before, and help a consumer.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

import pyarrow as pa

from oop.operators.core.context import Context
from oop.operators.core.parts import FRONTIERS, Part
from oop.punctuation import Frontier, Punctuation
from oop.punctuation.crossing import Crossing
from oop.punctuation.group_promises import Advance, Promise, one_by_one

_INFINITE = (math.inf, -math.inf)


class Ports:
    """It is made from how promises cross the operator, and from what its consumers ask for.

    In the linear case a bound about all rows, where nothing else is promised, rises on its port (`Frontier.rise`, here
    without a call), and its images, which the crossing gives beforehand, rise on the output. Any other promise takes
    the general way."""

    def __init__(self, crossing: Crossing, context: Context) -> None:
        self.inputs = context.inputs
        crossing = crossing.running()
        self.crossing = crossing if context.interests is None else crossing.asked(context.interests)
        self.frontiers = [Frontier() for _ in context.inputs]
        self.out = Frontier()
        named = {name for schema in context.inputs for name in schema.names}
        self._images = {n: images for n in named if (images := self.crossing.images(n)) is not None}

    def advance(self, advance: Advance, port: int) -> Advance:
        """Take promises in; the result is those of them that are new.

        What ranges become together with them is new as well: an operator that looks only at new promises would
        otherwise keep rows that are promised away.
        """
        frontier = self.frontiers[port]
        rising = frontier.rising
        if rising is not None and len(advance) == 1 and (linear := advance[0].linear) is not None:
            attribute, bound = linear
            old = rising.get(attribute)
            if old is not None and bound <= old:
                return ()
            rising[attribute] = bound
            return advance
        found = [new for promise in advance if (new := frontier.take(promise)) is not None]
        return [*found, *frontier.take_lifted()] if frontier.lifted else found

    def advance_singly(self, advance: Advance, port: int) -> list[Punctuation]:
        """Like `advance`, with promises about many groups as one for each group."""
        return list(one_by_one(self.advance(list(one_by_one(advance)), port)))

    def translated(self) -> Frontier:
        """What the output may promise by all that the inputs have promised."""
        return self.crossing.translate(self.frontiers)

    def promises(self, new: Advance, port: int = 0) -> list[Promise]:
        """What can be promised now that these have come in at a port, and was not before."""
        rising, linear = self.out.rising, new[0].linear if len(new) == 1 else None
        images = None if linear is None else self._images.get(linear[0])
        if rising is None or linear is None or images is None:
            return self._following(new, port)
        attribute, bound = linear
        found: list[Promise] = []
        for name, function in images:
            moved = bound if function is None or bound in _INFINITE else function(bound)
            if moved is None or ((old := rising.get(name)) is not None and moved <= old):
                continue
            rising[name] = moved
            found.append(new[0] if name == attribute and moved is bound else Punctuation._rise(name, moved))
        return found

    def _following(self, new: Iterable[Promise], port: int) -> list[Promise]:
        found: list[Promise] = []
        for promise in new:
            added = self.crossing.added(promise, self.frontiers, port)
            if added is not None:
                found += self.leaving(added)
            elif isinstance(promise, Punctuation):
                return [*found, *self.whole()]  # which tells what follows from the others too
            else:  # what follows for many groups together is not known; perhaps it is for each of them
                found += self._following(promise, port)
        return found

    def whole(self) -> list[Promise]:
        """All that follows from what the inputs have promised, and was not promised before."""
        return list(self.out.advance_to(self.translated()))

    def leaving(self, promises: Iterable[Promise]) -> list[Promise]:
        """Those of these promises that are new; they are taken into the frontier of the output."""
        return [new for promise in promises if (new := self.out.take(promise)) is not None]

    def save(self) -> Part:
        """The frontiers as one part; it is small, so it is always saved."""
        rows = [(i, p.to_json()) for i, f in enumerate([*self.frontiers, self.out]) for p in f.promises()]
        columns = [pa.array([i for i, _ in rows], pa.int32()), pa.array([t for _, t in rows], pa.string())]
        return FRONTIERS, pa.record_batch(columns, names=["port", "promise"])

    def load(self, part: pa.RecordBatch) -> None:
        self.frontiers = [Frontier() for _ in self.inputs]
        self.out = Frontier()
        every: Sequence[Frontier] = [*self.frontiers, self.out]
        for row in part.to_pylist():
            every[row["port"]].advance(Punctuation.from_json(row["promise"]))
