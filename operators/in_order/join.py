"""The in-order join: both inputs are in order of time, and so is the output (OOP paper, section 5.3; figure 6 shows
what it has to hold for that).

The leading side is the one whose time orders the output: the left side, or in a right join the right side. Its rows
wait until the other side has passed all rows that they could meet. Then they meet the rows that side holds, and leave
with all their matches, in their order. The other side's rows are held until no row of the leading side, waiting or to
come, can meet them.
"""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from oop.frozen import frozen
from oop.operators.core.context import Context
from oop.operators.core.operator import Operator
from oop.operators.in_order.join_operator import InOrderJoinOperator
from oop.operators.join.band import LEFT, RIGHT
from oop.operators.join.join import Join
from oop.operators.join.promises import CarriedAndMet, Moved
from oop.punctuation.crossing import Carried, Crossing
from oop.punctuation.translate import Image


@frozen(eq=False)
class InOrderJoin(Join):
    name = "InOrderJoin"
    needs_order = True

    @property
    def lead(self) -> int:
        return RIGHT if self.how == "right" else LEFT

    def shard_columns(self, inputs: Sequence[pa.Schema]) -> list[tuple[str, ...]] | None:
        return None  # what comes out is in order

    def crossing(self, inputs: Sequence[pa.Schema]) -> Crossing:
        """Promises cross about the time that orders the output, because no waiting row is below the meet of both sides'
        bounds. From that follows a promise about the other time, which is within the band of it."""
        lead, outputs = self.lead, self.names(inputs).outputs
        out = outputs[lead][self.times[lead]]
        ports = [
            Carried({time: [(out, None if side == lead else Moved(self.band, lead))]}, {}, holds=True)
            for side, time in enumerate(self.times)
        ]
        images: list[Image] = [(out, None)]
        theirs = outputs[1 - lead].get(self.times[1 - lead])
        if theirs is not None:
            images.append((theirs, Moved(self.band, 1 - lead)))
        return CarriedAndMet(ports, then=Carried({out: images}, {}))

    def start(self, context: Context) -> Operator:
        return InOrderJoinOperator(self, context, self.lead)

    def promise_note(self) -> str:
        side = ("left", "right")[self.lead]
        return f"holds {side} rows until the other side has passed them, and the other's until these have left"
