"""`Ports`: the frontiers of an operator's inputs and of its output, and the promises that leave it.

An operator takes what has come in by `advance`, lets go what that completes, and sends on what `promises` gives: what
follows for the output, was not promised before, and is of use to somebody.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import pyarrow as pa

from oop.operators.core.context import Context
from oop.operators.core.parts import FRONTIERS, Part
from oop.punctuation import Frontier, Punctuation
from oop.punctuation.crossing import Crossing
from oop.punctuation.group_promises import Advance, Promise, one_by_one


class Ports:
    """Made from how promises cross the operator, and what its consumers ask for."""

    def __init__(self, crossing: Crossing, context: Context) -> None:
        self.inputs = context.inputs
        crossing = crossing.running()
        self.crossing = crossing if context.interests is None else crossing.asked(context.interests)
        self.frontiers = [Frontier() for _ in context.inputs]
        self.out = Frontier()

    def advance(self, advance: Advance, port: int) -> Advance:
        """Take promises in; those of them that are new.

        What ranges become together with them is new as well: whoever looks only at what is new would otherwise keep
        rows that are promised away.
        """
        frontier = self.frontiers[port]
        if len(advance) == 1:  # the common case
            new = frontier.take(advance[0])
            if new is None:
                return ()
            if not frontier.lifted:
                return (new,)
            return [new, *frontier.take_lifted()]
        found = [new for promise in advance if (new := frontier.take(promise)) is not None]
        return [*found, *frontier.take_lifted()] if frontier.lifted else found

    def advance_singly(self, advance: Advance, port: int) -> list[Punctuation]:
        """Like `advance`, with promises about many groups as one for each group."""
        return list(one_by_one(self.advance(list(one_by_one(advance)), port)))

    def translated(self) -> Frontier:
        """What the output may promise by all that the inputs have promised."""
        return self.crossing.translate(self.frontiers)

    def promises(self, new: Advance) -> list[Promise]:
        """What can be promised now that these have come in, and was not before."""
        if len(new) == 1:  # the common case
            return self._following(new[0])
        return [promise for one in new for promise in self._following(one)]

    def _following(self, promise: Promise) -> list[Promise]:
        added = self.crossing.added(promise, self.frontiers)
        if added is None and not isinstance(promise, Punctuation):
            # What follows for many groups together is not known; perhaps it is for each of them.
            if self.crossing.added(next(iter(promise)), self.frontiers) is None:
                return self.whole()
            return [found for one in promise for found in self._following(one)]
        return self.whole() if added is None else self.leaving(added)

    def whole(self) -> list[Promise]:
        """All that follows from what the inputs have promised, and was not promised before."""
        return list(self.out.advance_to(self.translated()))

    def leaving(self, promises: Iterable[Promise]) -> list[Promise]:
        """Those of these promises that are new, taken in as promised."""
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
