"""The fields of `Session`, and what its running operator asks of them."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from oop.frozen import frozen
from oop.operators.aggregate.fields import WINDOW_END, WINDOW_START
from oop.operators.core.times import check_time_type
from oop.operators.functions.function import Function
from oop.operators.groups.aggregating import AggregatingSpec
from oop.operators.groups.shape import Shape
from oop.operators.groups.store_operator import unique_schema
from oop.punctuation.patterns import Bound


@frozen(eq=False)
class SessionFields(AggregatingSpec):
    """``gap`` is in units of ``on``, ``time`` is the type of the edges, ``text`` the gap as the user wrote it.
    ``admits`` says that late rows may come, so that the ends of sessions that went out must be remembered."""

    keys: tuple[str, ...]
    aggregates: tuple[tuple[str, Function], ...]
    gap: Bound
    on: str
    time: pa.DataType
    text: str
    admits: bool = False

    def schema(self, inputs: Sequence[pa.Schema]) -> pa.Schema:
        check_time_type(self.on, inputs[0].field(self.on).type)
        fields = [pa.field(WINDOW_START, self.time), pa.field(WINDOW_END, self.time)]
        return unique_schema(fields + Shape(inputs[0], self.keys, self.aggregates).fields())
