"""The fields of `Resample`, and what its running operator asks of them."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from oop.frozen import frozen
from oop.operators.core.spec import UsedColumns
from oop.operators.core.times import check_time_type
from oop.operators.groups.aggregating import AggregatingSpec
from oop.operators.groups.shape import Shape
from oop.operators.groups.store_operator import NamedAggregates, unique_schema
from oop.operators.join.band import LEFT, RIGHT, Band
from oop.operators.passing.qos import ENTERED, LEFT_ENTERED
from oop.operators.rows.layout import check_takeable


@frozen(eq=False)
class ResampleFields(AggregatingSpec):
    """``times`` are A of the left and B of the right, ``keys`` are the group columns of the right. ``size`` is in the
    unit of the times, ``text`` is the size as the user wrote it. ``stays`` says for `explain` what can never be
    freed."""

    keys: tuple[str, ...]
    aggregates: NamedAggregates
    times: tuple[str, str]
    size: int | float
    text: str
    stays: str = ""

    @property
    def band(self) -> Band:
        return Band(-self.size, self.size)

    @property
    def left(self) -> str:
        return self.times[LEFT]

    def seen_as(self, right: pa.Schema) -> str:
        """The name of the left row's value among the columns that aggregates read."""
        return f"{self.left}_left" if self.left in right.names else self.left

    def pair_schema(self, inputs: Sequence[pa.Schema]) -> pa.Schema:
        """The columns that aggregates read: a right row, the value of the left row that it is near to, and the time
        when that row entered, if it is known."""
        left, right = inputs
        entered = [left.field(ENTERED).with_name(LEFT_ENTERED)] if ENTERED in left.names else []
        return unique_schema([*right, pa.field(self.seen_as(right), left.field(self.left).type), *entered])

    def schema(self, inputs: Sequence[pa.Schema]) -> pa.Schema:
        left, right = inputs
        for name, schema in zip(self.times, inputs, strict=True):
            check_time_type(name, schema.field(name).type)
        for field in right:
            check_takeable(field)
        keys = [right.field(k).remove_metadata() for k in self.keys]
        shape = Shape(self.pair_schema(inputs), (), self.aggregates)
        return unique_schema([*keys, left.field(self.left).remove_metadata(), *shape.fields()])

    def needs(self, wanted: UsedColumns, inputs: Sequence[pa.Schema]) -> list[UsedColumns]:
        used = frozenset(self.keys).union(*(a.columns() for _, a in self.aggregates))
        entered = {ENTERED} if LEFT_ENTERED in used else set()
        return [
            frozenset({self.left} | entered),
            used - {self.seen_as(inputs[RIGHT]), LEFT_ENTERED} | {self.times[RIGHT]},
        ]
