"""Preaggregate: rows that are on their way to an aggregate in another worker, reduced to partial aggregates.

The low-level half of two-level aggregation (paper 004, section 6). It is the operator itself that takes the rows in, in
an instance that never hears a promise; what that holds is shipped, and merged where the groups live.
"""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa

from oop.operators.coverage import INT64_MAX
from oop.operators.holding import Holding
from oop.operators.marks import is_late, mark_partial

_SAMPLE = 65_536  # rows after which it is known whether groups repeat
_WORTH = 0.7  # partials for each row, above which rows go as they are: a partial is wider than most rows


class Preaggregate:
    """Whether it pays is seen from the first rows: where almost every row is a group of its own, rows pass."""

    def __init__(self, operator: Holding) -> None:
        self.operator = operator
        self.passed: list[pa.RecordBatch] = []
        self.rows = 0
        self.pays = True

    def take(self, batch: pa.RecordBatch) -> None:
        if not self.pays or is_late(batch):  # whether a late row still counts is known only where the groups live
            self.passed.append(batch)
            return
        for _ in self.operator.process_batch(batch):  # type: ignore[attr-defined]
            raise AssertionError("groups leave only by promises")
        self.rows += batch.num_rows
        self.pays = self.rows < _SAMPLE or self.operator.buffered_rows < _WORTH * self.rows

    def drain(self) -> Iterator[pa.RecordBatch]:
        """The partials, marked as such, and the rows that passed; it is empty then."""
        tables = [table.to_batch() for table in self.operator.store.take_below(INT64_MAX)]
        if tables:
            yield mark_partial(pa.concat_batches(tables))
        yield from self.passed
        self.passed, self.rows = [], 0
