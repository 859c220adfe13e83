"""Join: the order-agnostic OOP-Join (OOP paper, section 5.3 and figure 4), with equality on keys and outer kinds.

This file has the spec, and `join/fields.py` its fields; `join/operator.py` has the running operator,
`join/promises.py` how promises cross it.
"""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from oop.operators.core.context import Context
from oop.operators.core.operator import Operator
from oop.operators.join.band import LEFT, RIGHT
from oop.operators.join.fields import JoinFields
from oop.operators.join.keys import same_shard
from oop.operators.join.operator import JoinOperator
from oop.operators.join.promises import JoinCrossing
from oop.punctuation import Frontier
from oop.punctuation.crossing import Crossing

KINDS = ("inner", "left", "right", "full", "semi", "anti")


class Join(JoinFields):
    """The spec of a join; `fields.py` says what it is given."""

    name = "Join"

    def shard_columns(self, inputs: Sequence[pa.Schema]) -> list[tuple[str, ...]] | None:
        meet = all(same_shard(inputs[LEFT].field(a).type, inputs[RIGHT].field(b).type) for a, b in self.on)
        return [self.keys(LEFT), self.keys(RIGHT)] if self.on and meet else None

    def crossing(self, inputs: Sequence[pa.Schema]) -> Crossing:
        return JoinCrossing(self.names(inputs), self.band)

    def blocking(self, frontiers: Sequence[Frontier], inputs: Sequence[pa.Schema]) -> str | None:
        """Each side must promise about its time, at least for groups of a linked key (see `linked`)."""
        if self.unbounded:
            return None
        for side in (LEFT, RIGHT):
            frontier, time = frontiers[side], self.times[side]
            keys = {pair[side] for pair in self.linked(inputs)}
            named = [c for k, g in frontier.by.items() if k in keys for c in g.groups.values()]
            several = [p for p in frontier.several if p.where.keys() <= keys and p.below.keys() <= {time}]
            if not several and all(c.bound(time) is None for c in (frontier.at({}), *named)):
                return time
        return None

    def start(self, context: Context) -> Operator:
        return JoinOperator(self, context)

    def describe(self) -> str:
        kind = "" if self.how == "inner" else f" {self.how}"
        condition = "" if self.where is None else f" where {self.where!r}"
        return f"{self.name}{kind} {self.text}{condition}"

    def promise_note(self) -> str:
        if self.unbounded:
            return "holds every row until the other side ends: its state grows"
        return "each side's promise frees the other's rows"
