"""OnTime: stops dropped rows, which travel on only to be counted, in front of consumers that do not count them."""

from __future__ import annotations

from collections.abc import Iterable

import pyarrow as pa

from oop.frozen import frozen
from oop.operators.core.context import Context
from oop.operators.core.marks import is_dropped
from oop.operators.core.operator import Element, Operator, Passing
from oop.operators.core.spec import PassingSpec


@frozen()
class OnTime(PassingSpec):
    """Leaves out the rows that came only to be counted."""

    name = "OnTime"
    line = "OnTime without the rows that are only counted"

    def start(self, context: Context) -> Operator:
        return OnTimeOperator(self, context)


class OnTimeOperator(Passing):
    def process_batch(self, batch: pa.RecordBatch, port: int = 0) -> Iterable[Element]:
        return () if is_dropped(batch) else (batch,)
