"""An Aggregate that gives each window its rows in order of arrival, for Aurora's user-defined functions.

Aurora paper, footnote 6: "incr is called to update that state whenever a tuple arrives". The windows of a group go out
in their order, as those of an Aggregate behind a sort would (the identity of section 5.2.2.2), because a box behind it
may depend on arrival.

If rows come out of order, a function is given them in the order in which a preceding sort would release them
(`rows_in_turn.py`). This matters only to functions that cannot be merged. Others do not depend on order, and take rows
as they come.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import field

import numpy as np
import pyarrow as pa

from oop.frozen import frozen
from oop.operators.aggregate.aggregate import Aggregate
from oop.operators.aggregate.operator import AggregateOperator, reached_wid, wids_of
from oop.operators.aurora.rows_in_turn import RowsInTurn
from oop.operators.core.context import Context
from oop.operators.core.keys import read_key
from oop.operators.core.marks import is_late
from oop.operators.core.oldest import oldest_of
from oop.operators.core.operator import Element, Held, Operator
from oop.operators.core.parts import Part
from oop.operators.core.spec import UsedColumns
from oop.operators.groups.store_operator import NamedAggregates
from oop.operators.groups.table import Table
from oop.operators.windows.bucket import WID_END, WID_START
from oop.punctuation import Interest
from oop.punctuation.crossing import Crossing
from oop.punctuation.group_promises import Promise

_REPEATED = 262_144  # rows that are made at a time when each row is repeated for its windows


@frozen(eq=False)
class ArrivalAggregate(Aggregate):
    """``sorts`` says that rows may come out of order of ``on``, and that a function depends on their order."""

    sorts: bool = field(default=False, kw_only=True)
    needs_order = True

    def crossing(self, inputs: Sequence[pa.Schema]) -> Crossing:
        crossing = super().crossing(inputs)
        return crossing.helped_by(Interest(self.on, by=self.keys)) if self.sorts else crossing

    def needs(self, wanted: UsedColumns, inputs: Sequence[pa.Schema]) -> list[UsedColumns]:
        (own,) = super().needs(wanted, inputs)
        assert own is not None
        return [own | {self.on} if self.sorts else own]

    def describe(self) -> str:
        return f"{super().describe()}{f', rows in order of {self.on}' if self.sorts else ''}"

    def start(self, context: Context) -> Operator:
        return ArrivalAggregateOperator(self, context)


class ArrivalAggregateOperator(AggregateOperator):
    def __init__(
        self, spec: ArrivalAggregate, context: Context, aggregates: NamedAggregates | None = None, panes: bool = True
    ) -> None:
        super().__init__(spec, context, aggregates, panes)
        used = frozenset().union(*(a.columns() for _, a in aggregates or spec.aggregates))
        used |= {WID_START} if spec.grid.tumbles else {WID_START, WID_END}
        self.waiting = RowsInTurn(context.inputs[0], spec.on, spec.keys, used) if spec.sorts else None

    @property
    def buffered_rows(self) -> int:
        return len(self.store) + (0 if self.waiting is None else len(self.waiting))

    @property
    def state_bytes(self) -> int:
        return super().state_bytes + (0 if self.waiting is None else self.waiting.nbytes)

    def process_batch(self, batch: pa.RecordBatch, port: int = 0) -> Iterator[Element]:
        if self.waiting is None or is_late(batch):  # a late row has missed its turn, so it does not wait
            yield from super().process_batch(batch, port)
        elif batch.num_rows:
            self.wait(self.waiting, batch)

    def wait(self, waiting: RowsInTurn, batch: pa.RecordBatch) -> None:
        waiting.add(batch)

    def advanced(self, new: Sequence[Promise]) -> None:
        if self.waiting is not None and self.waiting.are_due(max(map(reached_wid, new))):
            self.take_in_turn(self.waiting.take_covered(self.ports.frontiers[0]))

    def take_in_turn(self, rows: pa.RecordBatch) -> None:
        if rows.num_rows:
            first = wids_of(rows, WID_START)
            self.take_in_windows(first, wids_of(rows, WID_END) if self.grid.overlaps else first, rows)

    def oldest(self) -> Held | None:
        found = None if self.waiting is None else self.waiting.oldest(self.ports.frontiers[0])
        return oldest_of([super().oldest(), None if found is None else self.held_window(*found)])

    def save(self) -> Iterator[Part]:
        yield from super().save()
        if self.waiting is not None:
            yield from self.waiting.save()

    def load(self, parts: Iterable[Part]) -> None:
        found = dict(parts)
        super().load(found.items())
        if self.waiting is not None:
            self.waiting.load(found)

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
        """Take rows whose windows never go back, each into its last window first. For the rows of a window that have it
        as their last came before the others, and must be taken before them."""
        keys, values = [read_key(batch.column(k)) for k in self.keys], self.store.shape.prepare(batch)
        for place in range(int((last - first).max()), -1, -1):
            here = first + place <= last
            if here.all():
                self.store.update(first + place, keys, values)
            else:
                self.take_in((first + place)[here], batch.filter(pa.array(here)))


def _ascending(table: Table) -> Table:
    """The groups of a slice in order of their windows. Those of one window keep their order."""
    if not table.slotted:  # one window
        return table
    slots = table.slots()
    return table if (slots[:-1] <= slots[1:]).all() else table.select(np.argsort(slots, kind="stable"))
