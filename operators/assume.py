"""Assume: rows out of order are set aside, and what that allows is promised (papers/000, section 5.2.2).

What every order-sensitive operator of Aurora does before its own work: "an operator that assumes an order
specification, O, over its input stream discards all tuples in its input stream, S, that are out of order wrt O in S".
Nothing is sorted and nothing is held: a row is judged by the rows of its group before it, in the order of their
arrival. It is to the middle of a plan what an input's guard is to a source; rows that are set aside are in `Run.late`,
each with the promise that it broke. What the input has promised holds of what is left.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from oop.errors import SchemaMismatch, UnknownColumn
from oop.kernels import dispatch, views
from oop.operators.base import Element, Operator, Part, Ports, Spec, load_common, read_text, text_part
from oop.operators.group_values import check_type
from oop.operators.held_rows import laid_out
from oop.operators.ledger import WITHOUT_TIME, Entry, Ledger
from oop.operators.marks import keep_late
from oop.operators.order import TUP, Order
from oop.operators.order_progress import ByNumber, ByPolicy, BySlack, OrderProgress
from oop.operators.times import check_time_type
from oop.punctuation import Frontier, Gate, Interest, Punctuation
from oop.punctuation.patterns import Bound, Value
from oop.punctuation.policies import SlackRows
from oop.punctuation.translate import carry, carry_promise, identity

_GATE = "gate"


@dataclass(frozen=True, eq=False)
class Assume(Spec):
    """``groups`` are all that there are, or ``idle`` says when a silent one no longer counts: then all groups together
    are promised about, too (DESIGN section 3)."""

    order: Order
    groups: tuple[Value, ...] | None = None
    idle: Bound | None = None
    name = "Assume"
    sets_aside = True

    @property
    def counts(self) -> tuple[str, ...]:  # type: ignore[override]
        return (self.order.on,)

    @property
    def tells_rest(self) -> bool:
        return not self.order.group_by or self.groups is not None or self.idle is not None

    def shard_columns(self, inputs: Sequence[pa.Schema]) -> list[tuple[str, ...]] | None:
        return None if self.tells_rest else [self.order.group_by]

    def schema(self, inputs: Sequence[pa.Schema]) -> pa.Schema:
        (schema,) = inputs
        on = () if self.order.on == TUP else (self.order.on,)
        for name in (*on, *self.order.group_by):
            if name not in schema.names:
                raise UnknownColumn.of(name, schema.names)
        for name in on:
            check_time_type(name, schema.field(name).type)
        for name in self.order.group_by:
            check_type(schema.field(name).type)
        if (self.groups is not None or self.idle is not None) and (len(self.order.group_by) != 1 or not on):
            raise SchemaMismatch(
                f"groups= and idle= are about the groups of one column, not about an {self.order}",
                hint="order by one column, on an attribute of the rows",
            )
        return pa.schema([*_without_number(schema), pa.field(TUP, pa.int64())]) if not on else schema

    def passing(self, frontier: Frontier, schema: pa.Schema) -> Frontier:
        """What the input has promised; not about numbers that are counted anew."""
        if self.order.on != TUP or TUP not in schema.names:
            return frontier.copy()
        return carry(frontier, *identity(_without_number(schema).names))

    def translate(self, frontiers: Sequence[Frontier], inputs: Sequence[pa.Schema]) -> Frontier:
        """How far it has come is known only where rows are: here it says that there will be bounds."""
        out = self.passing(frontiers[0], inputs[0])
        if self.tells_rest:
            out.advance(Punctuation({self.order.on: -math.inf}))
        if self.order.group_by:
            out.advance(Punctuation({self.order.on: -math.inf}, dict.fromkeys(self.order.group_by)))
        return out

    def translate_promise(
        self, punct: Punctuation, frontiers: Sequence[Frontier], inputs: Sequence[pa.Schema]
    ) -> Iterable[Punctuation] | None:
        if self.order.on != TUP or TUP not in inputs[0].names:
            return [punct]
        return carry_promise(punct, *identity(_without_number(inputs[0]).names))

    def interests(self, wanted: Sequence[Interest], inputs: Sequence[pa.Schema]) -> list[list[Interest]]:
        images = identity([name for name in inputs[0].names if name != TUP or self.order.on != TUP])
        return [[i.before(*images) for i in wanted]]

    def start(self, inputs: Sequence[pa.Schema]) -> Operator:
        return AssumeOperator(self, inputs)

    def describe(self) -> str:
        groups = "" if self.groups is None else f", of {', '.join(map(repr, self.groups))}"
        idle = "" if self.idle is None else f", idle after {self.idle}"
        return f"Assume {self.order}{groups}{idle}"

    def promise_note(self) -> str:
        bound = "the number of rows" if self.order.on == TUP else f"the greatest but {self.order.slack} so far"
        by = " of each group" if self.order.group_by else ""
        return f"promises {self.order.on} < {bound}{by}"


class AssumeOperator:
    """``ledger`` has what was set aside, as the operator was given it."""

    def __init__(self, spec: Assume, inputs: Sequence[pa.Schema]) -> None:
        self.spec, self.order = spec, spec.order
        self.ports = Ports(spec, inputs, lambda frontiers: spec.passing(frontiers[0], inputs[0]))
        self.input, self.output = inputs[0].remove_metadata(), spec.schema(inputs).remove_metadata()
        self.ledger = Ledger(self.input)
        self.kernels = dispatch.kernels()
        self.seen = _start(spec, self.input)
        self.gate = Gate()

    def ask(self, interests: Iterable[Interest]) -> None:
        """Make only the promises that help these consumers (papers/004, A.1.1): few rows end a window."""
        self.gate = Gate(interests)

    @property
    def buffered_rows(self) -> int:
        return 0

    @property
    def state_bytes(self) -> int:
        return (0 if self.ports.frontiers[0].ended else self.seen.nbytes) + self.ledger.nbytes

    def process_batch(self, batch: pa.RecordBatch, port: int = 0) -> Iterator[Element]:
        rows = self._as_declared(batch)
        if self.order.on == TUP:
            rows = _numbered(rows, self.seen.observe(rows), self.output)
        else:
            rows = self._in_order(self._with_value(rows))
        if rows.num_rows:
            yield keep_late(rows, batch)
        yield from filter(self.ports.out.advance, self.gate.through(self.seen.promises()))

    def _as_declared(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """From another thread text comes as dictionaries."""
        if batch.schema.types == self.input.types and batch.schema.names == self.input.names:
            return batch.replace_schema_metadata(None)
        return laid_out(batch, self.input)

    def _with_value(self, rows: pa.RecordBatch) -> pa.RecordBatch:
        """A row whose value is null, NaN or infinite has no place in the order."""
        column = rows.column(self.order.on)
        if not column.null_count and not pa.types.is_floating(column.type):
            return rows
        known = views.booleans(column.is_valid())
        if pa.types.is_floating(column.type):
            known = known & np.isfinite(views.times(column.fill_null(0.0)))
        if known.all():
            return rows
        self.ledger.add(Entry(rows.filter(pa.array(~known)), None, None, WITHOUT_TIME))
        return rows.filter(pa.array(known))

    def _in_order(self, rows: pa.RecordBatch) -> pa.RecordBatch:
        if not rows.num_rows:
            return rows
        bounds = self.seen.observe(rows)
        late = self.kernels.mark_late(views.times(rows.column(self.order.on)), bounds)
        if not late.any():
            return rows
        self.ledger.add(self._entry(rows.filter(pa.array(late)), bounds[late]))
        return rows.filter(pa.array(~late))

    def _entry(self, rows: pa.RecordBatch, bounds: np.ndarray) -> Entry:
        """With the promise that each row broke: one about its group."""
        entry = Entry(rows, self.order.on, bounds)
        if not self.order.group_by:
            return entry
        groups = rows.select(list(self.order.group_by)).to_pylist()
        broke = [str(Punctuation({self.order.on: b}, g)) for b, g in zip(bounds.tolist(), groups, strict=True)]
        said = pa.array(broke, pa.string()), pa.array(entry.late_by(), from_pandas=True)
        return Entry(rows, self.order.on, bounds, None, said)

    def process_punctuation(self, punct: Punctuation, port: int = 0) -> Iterator[Element]:
        if self.ports.advance(punct, port):
            yield from self.ports.promises(punct)
            if self.ports.frontiers[0].ended:
                self.seen = _start(self.spec, self.input)  # no row follows that would have to be judged

    def save(self) -> Iterator[Part]:
        yield self.ports.save()
        yield text_part(_GATE, [self.gate.passed.to_json(), self.gate.held.to_json()])
        yield from self.seen.save()
        yield from self.ledger.save()

    def load(self, parts: Iterable[Part]) -> None:
        found = dict(parts)
        load_common(found, self.ports)
        gate = found.get(_GATE)
        if gate is not None:
            said: Any = read_text(gate)
            self.gate.restore(*map(Frontier.from_json, said))
        self.ledger.load(found.items())
        self.seen.load(found)


def _start(spec: Assume, schema: pa.Schema) -> OrderProgress:
    order = spec.order
    if order.on == TUP:
        return ByNumber(order, schema)
    if order.group_by and spec.tells_rest:
        return ByPolicy(SlackRows(None, order.group_by[0], spec.groups, spec.idle, order.slack), order.on)
    return BySlack(order, schema)


def _without_number(schema: pa.Schema) -> pa.Schema:
    return pa.schema([field for field in schema if field.name != TUP])


def _numbered(rows: pa.RecordBatch, numbers: np.ndarray, schema: pa.Schema) -> pa.RecordBatch:
    columns = [rows.column(field.name) for field in schema if field.name != TUP]
    return pa.RecordBatch.from_arrays([*columns, pa.array(numbers)], schema=schema)
