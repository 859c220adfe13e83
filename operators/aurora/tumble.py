"""Tumble: disjoint windows that end where the values of the group-by attributes change (Aurora* and Medusa paper,
section 2.2).

Rows count in the order of their arrival. "The first emitted tuple, (A = 1, Result = 2.5), which averages the two tuples
with A = 1 would be emitted upon the arrival of tuple #3: the first tuple to arrive with a value of A not equal to 1."
A promise that no row with the values of the open window will come ends it as well, and so does the end of the stream.

With a timeout (the second footnote there) a window that has waited longer goes out early. Rows that would have
contributed to it later are ignored, and counted.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import numpy as np
import pyarrow as pa

from oop.frozen import frozen
from oop.operators.core.arrival import without_ticks
from oop.operators.core.context import Context
from oop.operators.core.coverage import covered
from oop.operators.core.keys import KeyTable, read_key
from oop.operators.core.marks import is_late
from oop.operators.core.operator import Element, Held, Operator
from oop.operators.core.parts import Part, read_text, text_part
from oop.operators.core.row_text import show_row
from oop.operators.core.spec import UsedColumns
from oop.operators.functions.function import Function
from oop.operators.groups.aggregating import AggregatingSpec
from oop.operators.groups.shape import Shape
from oop.operators.groups.store_operator import StoreOperator, describe_groups, unique_schema
from oop.operators.groups.table import Table
from oop.punctuation import END, Frontier
from oop.punctuation.crossing import Carried, Crossing
from oop.punctuation.group_promises import Advance
from oop.punctuation.translate import carry_unchanged

_RUN = "run"


@frozen(eq=False)
class Tumble(AggregatingSpec):
    """``keys`` are the group-by attributes; ``timeout`` is in the clock's unit."""

    keys: tuple[str, ...]
    aggregates: tuple[tuple[str, Function], ...]
    timeout: int | None = None
    name = "Tumble"
    needs_order = True
    note = "emits a window when a row with other values comes"

    @property
    def clocked(self) -> bool:  # type: ignore[override]
        return self.timeout is not None

    def schema(self, inputs: Sequence[pa.Schema]) -> pa.Schema:
        return unique_schema(Shape(inputs[0], self.keys, self.aggregates).fields())

    def crossing(self, inputs: Sequence[pa.Schema]) -> Crossing:
        return Carried(*carry_unchanged(self.keys), holds=True)

    def needs(self, wanted: UsedColumns, inputs: Sequence[pa.Schema]) -> list[UsedColumns]:
        return [frozenset(self.keys).union(*(a.columns() for _, a in self.aggregates))]

    def early(self) -> tuple[str | None, tuple[str, ...]]:
        return None, self.keys  # one window is open at a time

    def start(self, context: Context) -> Operator:
        return TumbleOperator(self, context)

    def describe(self) -> str:
        timeout = "" if self.timeout is None else f" timeout {self.timeout}us"
        return f"{describe_groups('Tumble', self.aggregates, self.keys)}{timeout}"


class TumbleOperator(StoreOperator):
    """Windows are numbered as they come; ``run`` is the number of the open one. If it ``timed_out``, it is kept only to
    recognise rows with its values. ``began`` is the last tick before the open window's first row, or if there was none,
    the first tick after it; None until then."""

    shows_open = True

    def __init__(self, spec: Tumble, context: Context) -> None:
        super().__init__(spec, context, spec.keys, spec.aggregates)
        self.spec = spec
        self.whole = spec.crossing(context.inputs)  # not only what consumers ask for ends a window
        self.run = 0
        self.now: int | None = None
        self.began: int | None = None
        self.timed_out = False

    @property
    def buffered_rows(self) -> int:
        return 0 if self.timed_out else len(self.store)

    def process_batch(self, batch: pa.RecordBatch, port: int = 0) -> Iterator[Element]:
        if is_late(batch):  # an admitted late row is used unless a promise covers its values
            batch = self.keep_usable(batch, ~covered(self._own(), batch.select(list(self.keys))))
        if not batch.num_rows:
            return
        runs = self.windows_of(batch)
        last = int(runs[-1])
        if self.timed_out:  # ignore rows that would have contributed to it
            ignored = runs == self.run
            self.late_unused += int(ignored.sum())
            batch, runs = batch.filter(pa.array(~ignored)), runs[~ignored]
        if batch.num_rows:
            self.take_in(runs, batch)
        if last > self.run or self.began is None:
            self.began = self.now
        if last > self.run:
            yield from self._leave(last)
            self.run = last

    def windows_of(self, batch: pa.RecordBatch) -> np.ndarray:
        """The number of each row's window, which grows when the values differ from those of the row before."""
        table = KeyTable(self.store.shape.kinds)
        before = -1
        for open_ in self.store.tables.values():  # one at most: that of the open window
            before = int(table.map(open_.key_columns(), len(open_))[-1])
        ids = table.map([read_key(batch.column(k)) for k in self.keys], batch.num_rows)
        changes = np.diff(ids, prepend=before) != 0
        changes[0] &= len(self.store) > 0  # the first window begins with the first row
        return self.run + np.cumsum(changes)

    def _leave(self, bound: int) -> Iterator[pa.RecordBatch]:
        """Put out the windows below ``bound``, in their order."""
        for table in self.store.take_below(bound):
            shown = table
            if self.timed_out:  # the first window has gone out already
                shown, self.timed_out = table.select(np.flatnonzero(table.slots() != self.run)), False
            if len(shown):
                yield pa.RecordBatch.from_arrays(shown.results(), schema=self.output)

    def process_punctuation(self, advance: Advance, port: int = 0) -> Iterator[Element]:
        others, now = without_ticks(advance, None)
        if now is not None:
            yield from self._time_out(now)
        new = self.ports.advance(others, port)
        if new:
            if len(self.store) and self._is_over():
                yield from self._leave(self.run + 1)
                self.run, self.began = self.run + 1, None
            yield from self.ports.promises(new)

    def _is_over(self) -> bool:
        """Is it promised that no row has the values of the open window?"""
        (table,) = self.store.tables.values()
        return bool(covered(self._own(), _keys(table)).all())

    def _own(self) -> Frontier:
        """What the input promises about the group-by attributes."""
        return self.whole.translate(self.ports.frontiers)

    def _time_out(self, now: int) -> Iterator[Element]:
        self.now = now
        if not len(self.store) or self.timed_out or self.spec.timeout is None:
            return
        self.began = now if self.began is None else self.began
        if now > self.began + self.spec.timeout:
            (table,) = self.store.tables.values()
            yield pa.RecordBatch.from_arrays(table.copy().results(), schema=self.output)
            self.timed_out = True

    def open_results(self) -> Iterator[pa.RecordBatch]:
        if self.buffered_rows:
            for table in self.store.tables.values():
                yield pa.RecordBatch.from_arrays(table.copy().results(), schema=self.output)

    def oldest(self) -> Held | None:
        if not self.buffered_rows:
            return None
        (table,) = self.store.tables.values()
        return Held(f"window of {show_row(_keys(table), 0)}", 0, END)

    def save(self) -> Iterator[Part]:
        yield from super().save()
        yield text_part(_RUN, [self.run, self.began, self.timed_out])

    def load(self, parts: Iterable[Part]) -> None:
        found = dict(parts)
        super().load(found.items())
        said = found.get(_RUN)
        if said is not None:
            self.run, self.began, self.timed_out = read_text(said)  # type: ignore[misc]


def _keys(table: Table) -> pa.RecordBatch:
    """The values of the group-by attributes. Without any, a batch of nulls with as many rows, which promises about all
    rows cover."""
    arrays = table.key_arrays()
    return pa.RecordBatch.from_pydict(arrays) if arrays else pa.record_batch([pa.nulls(len(table))], names=["_"])
