"""Aggregate with a timeout (Aurora paper, section 5.2.2.2): no window waits longer than that for its rows.

"Each window's computation is timestamped with the local time when the computation begins. A window's computation then
times out if a result tuple for that window has not been emitted by the time that the local time exceeds the window's
initial time + t. As a result of a timeout, a result tuple for that window gets emitted early and all tuples that arrive
afterwards and that would have contributed to the computation had it not timed out are ignored."

The clock comes as promises on the virtual arrival attribute (`operators/core/arrival.py`). A window begins at the last
tick, or if there was none yet, at the first one. A window that went out early is kept, marked, until its end is
promised, so that rows that come for it can be recognised and counted. Each window of each group has its own time, so
there are no panes. Windows that time out at the same tick go out in the order in which they began, those that began
together by window.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

import numpy as np
import pyarrow as pa

from oop.frozen import frozen
from oop.kernels import views
from oop.kernels.dictionaries import concat_batches
from oop.operators.aurora.arrival_aggregate import ArrivalAggregate, ArrivalAggregateOperator
from oop.operators.aurora.rows_in_turn import RowsInTurn, in_each_window
from oop.operators.aurora.timed import Timed
from oop.operators.core.arrival import ARRIVAL, without_ticks
from oop.operators.core.context import Context
from oop.operators.core.coverage import INT64_MAX, INT64_MIN
from oop.operators.core.keys import KeyTable, read_key
from oop.operators.core.marks import keep_late
from oop.operators.core.operator import Element, Operator
from oop.operators.core.partials import Partials
from oop.operators.core.parts import Part
from oop.operators.core.spec import Spec
from oop.operators.core.times import from_physical
from oop.operators.expressions.expr import col
from oop.operators.functions.extremes import Min, Minima
from oop.operators.groups.table import Table
from oop.operators.groups.table_pieces import TablePiece
from oop.operators.windows.bucket import WID_START
from oop.punctuation.group_promises import Advance

_OUT, _UNKNOWN = INT64_MIN, INT64_MAX
"""Special values for the time when a window began: it went out early; it began before the first tick."""


@frozen(eq=False)
class TimedAggregate(Timed, ArrivalAggregate):
    """``timeout`` is in the clock's unit."""

    timeout: int = 0
    name = "TimedAggregate"

    def start(self, context: Context) -> Operator:
        return TimedAggregateOperator(self, context)

    def early(self) -> tuple[str | None, tuple[str, ...]]:
        return Spec.early(self)

    def partials(self, inputs: Sequence[pa.Schema]) -> Partials | None:
        return None


class TimedAggregateOperator(ArrivalAggregateOperator):
    """Beside the aggregates it keeps, for each window, the least arrival of its rows and their number.

    ``late_unused`` also counts ignored rows, once for each window that they came too late for, when the end of that
    window is promised.
    """

    shows_open = False

    def __init__(self, spec: TimedAggregate, context: Context) -> None:
        wide = replace(context, inputs=(context.inputs[0].append(pa.field(ARRIVAL, pa.int64())),))
        super().__init__(spec, wide, (*spec.aggregates, (ARRIVAL, Min(col(ARRIVAL)))), panes=False)
        self.timeout = spec.timeout
        self.now = _UNKNOWN
        self.due = INT64_MIN  # no window times out before this time

    def process_batch(self, batch: pa.RecordBatch, port: int = 0) -> Iterator[Element]:
        arrived = pa.array(np.full(batch.num_rows, self.now))
        self.due = min(self.due, INT64_MIN if self.now == _UNKNOWN else self.now + self.timeout)
        return super().process_batch(keep_late(batch.append_column(ARRIVAL, arrived), batch), port)

    def process_punctuation(self, advance: Advance, port: int = 0) -> Iterator[Element]:
        others, self.now = without_ticks(advance, self.now)
        yield from super().process_punctuation(others, port)
        if self.now != _UNKNOWN and self.now > self.due:
            yield from self._time_out()

    def wait(self, waiting: RowsInTurn, batch: pa.RecordBatch) -> None:
        waiting.add(in_each_window(batch))

    def _take_timed_out(self, waiting: RowsInTurn) -> None:
        """Give windows that time out their waiting rows, in order, for these rows have arrived. Windows that went out
        early are given theirs too, so that these are counted."""
        rows, limit = waiting.rows(), self.now - self.timeout
        came = views.column(rows.column(ARRIVAL)).data.copy()
        came[came == _UNKNOWN] = self.now
        waiting.with_column(ARRIVAL, came)
        windows = KeyTable([*self.store.shape.kinds, "int"])
        keys = [read_key(rows.column(k)) for k in self.keys]
        ids = windows.map([*keys, read_key(rows.column(WID_START))], rows.num_rows)
        began = np.full(len(windows), INT64_MAX)
        np.minimum.at(began, ids, came)
        for table in self.store.tables.values():
            slots = views.column(pa.array(table.slots()))
            known = windows.map([*table.key_columns(), slots], len(table))
            here = known < len(began)
            began[known[here]] = np.minimum(began[known[here]], _began(table).values[here])
        self.take_in_turn(waiting.take(began[ids] < limit))
        left = views.column(waiting.rows().column(ARRIVAL)).data
        self.due = int(left.min(initial=INT64_MAX - self.timeout)) + self.timeout

    def _time_out(self) -> Iterator[Element]:
        self.due = INT64_MAX
        if self.waiting is not None and len(self.waiting):
            self._take_timed_out(self.waiting)
        early: list[tuple[pa.RecordBatch, np.ndarray, np.ndarray]] = []  # windows, when they began, their numbers
        for number, table in list(self.store.tables.items()):
            began = _began(table)
            began.values[began.values == _UNKNOWN] = self.now
            open_ = began.values != _OUT
            late = np.flatnonzero(open_ & (began.values < self.now - self.timeout))
            if len(late):
                since = began.values[late]
                began.values[late], began.counts[late] = _OUT, 1
                early.append((self._leaving(table.select(late), early=True), since, table.slots()[late]))
            waiting = began.values[began.values != _OUT]
            self.due = min(self.due, int(waiting.min(initial=INT64_MAX - self.timeout)) + self.timeout)
            self.store.replace(number, table)
        if early:
            yield from self._in_turn(*zip(*early, strict=True))

    def _in_turn(
        self, windows: Sequence[pa.RecordBatch], began: Sequence[np.ndarray], wids: Sequence[np.ndarray]
    ) -> Iterator[pa.RecordBatch]:
        order = pa.array(np.lexsort((np.concatenate(wids), np.concatenate(began))))
        rows = concat_batches(windows)
        for at in range(0, len(order), self.batch_rows):
            yield rows.take(order.slice(at, self.batch_rows))

    def _batches(self, tables: Iterable[Table]) -> Iterator[pa.RecordBatch]:
        return (batch for batch in super()._batches(tables) if batch.num_rows)

    def _batch(self, table: Table | TablePiece) -> pa.RecordBatch:
        """The windows of the table, without those that went out early."""
        began = _began(table)
        out = began.values == _OUT
        if out.any():
            self.late_unused += int((began.counts[out] - 1).sum())
            table = table.select(np.flatnonzero(~out))
        return self._leaving(table, early=False)

    def _leaving(self, table: Table | TablePiece, early: bool) -> pa.RecordBatch:
        edges = self.edges.of(table)
        times = [from_physical(edge, self.time) for edge in edges]
        shown_early = pa.array(np.full(len(table), early))
        return pa.RecordBatch.from_arrays([*times, *table.results(edges)[:-1], shown_early], schema=self.output)

    def load(self, parts: Iterable[Part]) -> None:
        super().load(parts)
        self.due = INT64_MIN


def _began(table: Table | TablePiece) -> Minima:
    found = table.accumulators[-1]
    assert isinstance(found, Minima)
    return found
