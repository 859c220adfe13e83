"""Aggregate that gives each window its rows in the order of their arrival, as Aurora's user-defined functions see them
(papers/000, footnote 6: "incr is called to update that state whenever a tuple arrives"), and puts out the windows of a
group in their order, as one behind a sort would (the identity of section 5.2.2.2): a box behind it may go by arrival.

The first matters to functions that cannot be merged, in windows that overlap; all others are as they are. The second
to rows that come out of order, where one slice has the groups of several windows.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from oop.operators.aggregate import Aggregate, AggregateOperator
from oop.operators.base import Operator
from oop.operators.groups import Table
from oop.operators.keys import read_key

_REPEATED = 262_144  # rows, each as often as it has windows, at a time


@dataclass(frozen=True, eq=False)
class ArrivalAggregate(Aggregate):
    def start(self, inputs: Sequence[pa.Schema]) -> Operator:
        return ArrivalAggregateOperator(self, inputs)


class ArrivalAggregateOperator(AggregateOperator):
    def _batches(self, tables: Iterable[Table]) -> Iterator[pa.RecordBatch]:
        return super()._batches(map(_ascending, tables))

    def take_in_each(self, first: np.ndarray, last: np.ndarray, batch: pa.RecordBatch) -> None:
        if (np.diff(first) >= 0).all():
            self._take_ascending(first, last, batch)
            return
        step = max(1, _REPEATED // (int((last - first).max()) + 1))
        for start in range(0, batch.num_rows, step):
            begin, end = first[start : start + step], last[start : start + step]
            counts = end - begin + 1
            rows = np.repeat(np.arange(len(begin)), counts)
            places = np.arange(len(rows)) - np.repeat(np.cumsum(counts) - counts, counts)
            self.take_in(begin[rows] + places, batch.slice(start, step).take(pa.array(rows)))

    def _take_ascending(self, first: np.ndarray, last: np.ndarray, batch: pa.RecordBatch) -> None:
        """Rows whose windows never go back: into the last of them first, so that of a window's rows those that have it
        as their last, which came before the others, are taken before."""
        keys, values = [read_key(batch.column(k)) for k in self.keys], self.store.shape.prepare(batch)
        for place in range(int((last - first).max()), -1, -1):
            here = first + place <= last
            if here.all():
                self.store.update(first + place, keys, values)
            else:
                self.take_in((first + place)[here], batch.filter(pa.array(here)))


def _ascending(table: Table) -> Table:
    """The groups of a slice by window; those of one window stay as they came."""
    if not table.slotted:  # one window
        return table
    slots = table.slots()
    return table if (slots[:-1] <= slots[1:]).all() else table.select(np.argsort(slots, kind="stable"))
