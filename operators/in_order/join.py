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

from oop.operators.core.context import Context
from oop.operators.core.operator import Operator
from oop.operators.in_order.join_operator import InOrderJoinOperator
from oop.operators.join.band import LEFT, RIGHT
from oop.operators.join.join import Join
from oop.operators.join.promises import CarriedAndMet, Moved
from oop.punctuation.crossing import Carried, Crossing
from oop.punctuation.translate import Image


@dataclass(frozen=True, eq=False)
class InOrderJoin(Join):
    name = "InOrderJoin"

    @property
    def lead(self) -> int:
        return RIGHT if self.how == "right" else LEFT

    def shard_columns(self, inputs: Sequence[pa.Schema]) -> list[tuple[str, ...]] | None:
        return None  # what comes out is in order

    def crossing(self, inputs: Sequence[pa.Schema]) -> Crossing:
        """About the time that the output is in order of: rows that wait are not below what the other side allows. And
        about the other time, which is not further from it than the band reaches."""
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
        return InOrderJoinOperator(self, context)

    def promise_note(self) -> str:
        side = ("left", "right")[self.lead]
        return f"holds {side} rows until the other side has passed them, and the other's until these have left"
