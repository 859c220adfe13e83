"""OnTime: keeps rows that were dropped, and travel on only to be counted, from whoever does not count them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import pyarrow as pa

from oop.operators.core.base import Columns, Element, Operator, Passing, Spec
from oop.operators.core.marks import is_dropped


@dataclass(frozen=True)
class OnTime(Spec):
    name = "OnTime"
    passes = True

    def needs(self, wanted: Columns, inputs: Sequence[pa.Schema]) -> list[Columns]:
        return [wanted]

    def start(self, inputs: Sequence[pa.Schema]) -> Operator:
        return OnTimeOperator(self, inputs)

    def describe(self) -> str:
        return "OnTime without the rows that are only counted"

    def promise_note(self) -> str:
        return "promises pass"


class OnTimeOperator(Passing):
    def process_batch(self, batch: pa.RecordBatch, port: int = 0) -> Iterator[Element]:
        if not is_dropped(batch):
            yield batch
