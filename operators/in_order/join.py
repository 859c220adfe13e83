"""The in-order join: both inputs in order of time, and so is its output (OOP paper, section 5.3 and
figure 6: what it has to hold for that).

One side leads, the one whose time the output goes by: the left, of a right join the right. Its rows wait until the
other side has passed all that they could meet; then they meet what that side holds, and leave with all their matches,
in their order. The other side's rows are held until no row of the leading side, waiting or to come, can meet them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pyarrow as pa

from oop.operators.core.base import Operator
from oop.operators.in_order.join_operator import InOrderJoinOperator
from oop.operators.join.band import LEFT, RIGHT
from oop.operators.join.join import Join
from oop.operators.join.promises import Moved
from oop.punctuation import Frontier, Interest
from oop.punctuation.translate import Image, carry


@dataclass(frozen=True, eq=False)
class InOrderJoin(Join):
    name = "InOrderJoin"

    @property
    def lead(self) -> int:
        return RIGHT if self.how == "right" else LEFT

    def shard_columns(self, inputs: Sequence[pa.Schema]) -> list[tuple[str, ...]] | None:
        return None  # what comes out is in order

    def translate(self, frontiers: Sequence[Frontier], inputs: Sequence[pa.Schema]) -> Frontier:
        """About the time that the output is in order of: rows that wait are not below what the other side allows. And
        about the other time, which is not further from it than the band reaches."""
        lead, time = self.lead, self.times[self.lead]
        out = self.names(inputs).outputs[lead][time]
        own = carry(frontiers[lead], {time: [(out, None)]}, {})
        moved = carry(frontiers[1 - lead], {self.times[1 - lead]: [(out, Moved(self.band, lead))]}, {})
        images: list[Image] = [(out, None)]
        theirs = self.names(inputs).outputs[1 - lead].get(self.times[1 - lead])
        if theirs is not None:
            images.append((theirs, Moved(self.band, 1 - lead)))
        return carry(Frontier.meet([own, moved]), {out: images}, {})

    def interests(self, wanted: Sequence[Interest], inputs: Sequence[pa.Schema]) -> list[list[Interest]]:
        return [[Interest(time, by=())] for time in self.times]

    def start(self, inputs: Sequence[pa.Schema]) -> Operator:
        return InOrderJoinOperator(self, inputs)

    def promise_note(self) -> str:
        side = ("left", "right")[self.lead]
        return f"holds {side} rows until the other side has passed them, and the other's until these have left"
