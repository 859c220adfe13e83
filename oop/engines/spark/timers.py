"""Ticks of the driver's clock, as cells for the input stage of a source that Spark reads."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import pyarrow as pa

from oop.clocks import Clock
from oop.engines.spark.cells import TICK, Cell
from oop.frozen import frozen
from oop.plan.graph import Node
from oop.punctuation.encoding import dumps
from oop.punctuation.patterns import Bound
from oop.punctuation.policies import Timer

LAST_SPLIT = 1 << 62  # a split that comes after those of all rows


@frozen()
class Timers:
    """The driver's clock for a source that Spark reads. Without ticks there would be no micro-batch while no rows come,
    and nothing would be promised in a lull (OOP paper, A.1.1)."""

    number: int
    key: int
    types: tuple[pa.DataType, ...]
    every: tuple[Bound, ...]
    clock: Clock

    @classmethod
    def of(cls, node: Node, number: int, key: int, clock: Clock) -> Timers | None:
        found = [(node.schema.field(a).type, p.every or 0) for a, p in node.source.policies if isinstance(p, Timer)]
        if not found:
            return None
        types, every = zip(*found, strict=True)
        return cls(number, key, types, every, clock)

    def offset(self, start: Mapping[str, Bound] | None) -> dict[str, Bound]:
        """The time now, in the unit of each timer's column. It stays the old time until the ``every`` of some timer has
        passed."""
        now = {str(type_): self.clock.now(type_) for type_ in self.types}
        if start and all(now[str(t)] - start[str(t)] < e for t, e in zip(self.types, self.every, strict=True)):
            return dict(start)
        return now

    def cells(self, now: Mapping[str, Bound]) -> Iterator[Cell]:
        body = dumps({"now": dict(now)}).encode()
        yield Cell(self.number, self.key, 0, self.number, LAST_SPLIT, 0, TICK, 0, body)
