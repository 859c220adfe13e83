"""The buffered sliding aggregate of in-order systems (OOP paper, sections 4.1 and 5.5).

Rows come in order, and wait until the last of their windows is complete. When the first row behind a window, or a
promise, completes it, the window is aggregated as a whole from its rows, which are adjacent. So a row is looked at once
for each of its windows, where panes would look at it once, and the operator holds rows instead of partial aggregates.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import numpy as np
import pyarrow as pa

from oop.frozen import frozen
from oop.kernels import views
from oop.operators.aggregate.aggregate import Aggregate
from oop.operators.aggregate.operator import AggregateOperator
from oop.operators.aggregate.window_tables import WindowTables
from oop.operators.core.batches import resized
from oop.operators.core.context import Context
from oop.operators.core.coverage import INT64_MIN, as_int64
from oop.operators.core.operator import Element, Held, Keeping, Kept, Operator
from oop.operators.core.partials import Partials
from oop.operators.core.parts import Part, read_text, text_part
from oop.operators.core.spec import UsedColumns
from oop.operators.groups.store_operator import describe_groups
from oop.operators.groups.table import Table
from oop.operators.groups.table_pieces import TablePiece
from oop.operators.rows.ordered_rows import OrderedRows, load_reached, save_reached
from oop.operators.windows.bucket import WID_END, WID_START
from oop.punctuation.group_promises import Advance

_ROWS, _WINDOWS = "rows", "windows"


@frozen(eq=False)
class BufferedAggregate(Aggregate):
    name = "BufferedAggregate"
    needs_order = True
    note = "holds the rows of windows that are open; a row behind a window, or a promise, completes it"

    def shard_columns(self, inputs: Sequence[pa.Schema]) -> list[tuple[str, ...]] | None:
        return None  # what comes out is in order

    def needs(self, wanted: UsedColumns, inputs: Sequence[pa.Schema]) -> list[UsedColumns]:
        (columns,) = super().needs(wanted, inputs)
        assert columns is not None
        return [columns | {WID_START, WID_END}]

    def start(self, context: Context) -> Operator:
        return BufferedAggregateOperator(self, context)

    def partials(self, inputs: Sequence[pa.Schema]) -> Partials | None:
        return None

    def describe(self) -> str:
        return describe_groups(self.name, self.aggregates, self.keys)


class BufferedAggregateOperator(Keeping, AggregateOperator):
    """``first_open`` is the least window that has not gone out."""

    def __init__(self, spec: BufferedAggregate, context: Context) -> None:
        super().__init__(spec, context)
        (schema,), (needed,) = context.inputs, spec.needs(None, context.inputs)
        assert needed is not None
        self.names = [name for name in schema.names if name in needed]
        self.rows = OrderedRows(pa.schema([schema.field(name) for name in self.names]), WID_END)
        self.tables = WindowTables(self.store.shape, WID_END)
        self.reached = INT64_MIN  # the first window of the row that came last
        self.first_open = INT64_MIN

    def kept(self) -> Iterable[Kept]:
        return (self.rows,)

    def process_batch(self, batch: pa.RecordBatch, port: int = 0) -> Iterator[Element]:
        if batch.num_rows:
            self.rows.add(batch.select(self.names))
            self.reached = int(views.column(batch.column(WID_START)).data[-1])
            yield from self._close()

    def process_punctuation(self, advance: Advance, port: int = 0) -> Iterator[Element]:
        new = self.ports.advance(advance, port)
        if new:
            yield from self._close()
            yield from self.ports.promises(new)

    def _close(self) -> Iterator[pa.RecordBatch]:
        """Put out the windows below the first one that may still get a row."""
        bound = max(self.reached, as_int64(self.ports.frontiers[0].bound(WID_START)))
        if bound > self.first_open:
            rows = self.rows.held()
            if rows is not None:
                yield from self._batches(self.tables.close(rows, self.first_open, bound))
            self.rows.take_until(bound, closed=False)  # rows whose last window is below the bound
            self.first_open = bound

    def _batches(self, tables: Iterable[Table]) -> Iterator[pa.RecordBatch]:
        return resized(map(self._batch, tables), self.batch_rows)  # `_batch` puts a table of several windows in order

    def _batch(self, table: Table | TablePiece) -> pa.RecordBatch:
        batch = super()._batch(table)
        if not table.slotted:
            return batch
        return batch.take(pa.array(np.argsort(views.times(batch.column(0)), kind="stable")))

    def oldest(self) -> Held | None:
        rows = self.rows.held()
        return None if rows is None else self.held_window(max(self.first_open, rows.column(WID_START)[0].as_py()))

    def save(self) -> Iterator[Part]:
        yield self.ports.save()
        yield save_reached([self.rows.last])
        yield text_part(_WINDOWS, [self.first_open, self.reached])
        yield from self.rows.save(_ROWS)

    def load(self, parts: Iterable[Part]) -> None:
        found = self.load_common(parts)
        self.rows.load(found, _ROWS)
        (self.rows.last,) = load_reached(found, 1)
        said = found.get(_WINDOWS)
        windows = [INT64_MIN, INT64_MIN] if said is None else read_text(said)
        assert isinstance(windows, list)
        self.first_open, self.reached = windows
