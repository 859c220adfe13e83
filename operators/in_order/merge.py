"""Ordered merge: the in-order union (OOP paper, section 2 and figure 1: what in-order systems do in its place).

Each input is in order of a time. A row leaves when no input can bring an earlier one, which is when every input has
reached its time, by a row or by a promise (a heartbeat). So during skew and lulls the rows of an input that is ahead
wait for the others. Promises about other attributes cross as far as these rows allow (`in_order/beside.py`).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from oop.frozen import frozen
from oop.kernels import dispatch, views
from oop.operators.core.batches import cut
from oop.operators.core.context import Context
from oop.operators.core.operator import Element, Held, Kept, Operator
from oop.operators.core.parts import Part
from oop.operators.core.writing import ProgramWriter, Unwritten
from oop.operators.in_order.buffering import Buffering, BufferingOperator
from oop.operators.passing.union import Union
from oop.operators.rows.ordered_rows import OrderedRows, load_reached, save_reached, without_place
from oop.operators.rows.releasing import held_row
from oop.punctuation.group_promises import Advance


@frozen()
class OrderedMerge(Buffering, Union):
    """``on`` is the time that all inputs are in order of, ``beside`` the other attributes that promises cross about."""

    on: str = ""
    beside: tuple[str, ...] = ()
    name = "OrderedMerge"
    needs_order = True
    line = "OrderedMerge of {self.ports} on {self.on}"
    note = "holds the rows of inputs that are ahead of the slowest"
    passes = False

    def write(self, writer: ProgramWriter, inputs: Sequence[pa.Schema]) -> None:
        raise Unwritten("rows wait to be merged")

    def start(self, context: Context) -> Operator:
        return OrderedMergeOperator(self, context)


class OrderedMergeOperator(BufferingOperator):
    def __init__(self, spec: OrderedMerge, context: Context) -> None:
        super().__init__(spec, context)
        (needed, *_), schema = spec.needs(context.wanted, context.inputs), spec.schema(context.inputs)
        self.output = schema if needed is None else pa.schema([f for f in schema if f.name in needed])
        self.rows = [OrderedRows(self.output, spec.on) for _ in context.inputs]

    def kept(self) -> Iterable[Kept]:
        return self.rows

    def process_batch(self, batch: pa.RecordBatch, port: int = 0) -> Iterator[Element]:
        batch = batch.select(self.output.names)
        apart = without_place(batch.column(self.spec.on))
        if apart is not None:  # a row without a time has no place in the order: nothing can come before it
            yield batch.filter(apart)
            batch = batch.filter(pc.invert(apart))
        self.rows[port].add(batch)
        yield from self._release()
        if self.spec.beside and self.beside.lowered:
            yield from self.beside.promises(list(self.open_results()))

    def released(self, new: Advance, port: int) -> Iterator[Element]:
        yield from self._release()
        yield from self.beside.promises(list(self.open_results())) if self.spec.beside else self.ports.whole()

    def _reached(self, port: int) -> float:
        """The time below which no row comes on a port any more."""
        bound = self.ports.frontiers[port].bound(self.spec.on)
        return max(self.rows[port].last, -math.inf if bound is None else bound)

    def _release(self) -> Iterator[pa.RecordBatch]:
        limit = min(map(self._reached, range(len(self.rows))))
        taken = [(rows, rows.take_until(limit)) for rows in self.rows]
        runs = [(rows, found) for rows, found in taken if found is not None]
        if len(runs) == 1:
            rows, found = runs[0]
            yield from cut(rows.released(found), self.batch_rows)
        elif runs:
            whole = pa.concat_batches([found for _, found in runs])
            starts = np.cumsum([0, *(found.num_rows for _, found in runs)])
            order = dispatch.kernels().merge_runs(views.times(whole.column(self.spec.on)), starts)
            for start in range(0, len(order), self.batch_rows):
                yield self.rows[0].released(whole.take(pa.array(order[start : start + self.batch_rows])))

    def open_results(self) -> Iterator[pa.RecordBatch]:
        for rows in self.rows:
            yield from rows.batches()

    def oldest(self) -> Held | None:
        """The row that will leave next, and the slowest input."""
        firsts = [first for first in (rows.first() for rows in self.rows) if first is not None]
        if not firsts:
            return None
        slowest = min(range(len(self.rows)), key=self._reached)
        found = held_row(min(firsts), len(self.rows), self.spec.on, self.output)
        return None if found is None else replace(found, port=slowest)

    def save(self) -> Iterator[Part]:
        yield self.ports.save()
        yield save_reached(rows.last for rows in self.rows)
        for port, rows in enumerate(self.rows):
            yield from rows.save(f"rows/{port}")

    def load(self, parts: Iterable[Part]) -> None:
        found = self.load_common(parts)
        reached = load_reached(found, len(self.rows))
        for port, rows in enumerate(self.rows):
            rows.load(found, f"rows/{port}")
            rows.last = reached[port]
