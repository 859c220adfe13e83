"""The running Assume (Aurora paper, section 5.2.2): `progress.py` says which rows are in order, and the others go to
the ledger."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
import pyarrow as pa

from oop.kernels import dispatch, views
from oop.operators.assume.by_number import ByNumber
from oop.operators.assume.by_policy import ByPolicy
from oop.operators.assume.by_slack import BySlack
from oop.operators.assume.fields import AssumeFields
from oop.operators.assume.order import TUP
from oop.operators.assume.progress import OrderProgress
from oop.operators.core.context import Context
from oop.operators.core.marks import keep_late
from oop.operators.core.operator import Element, Operator
from oop.operators.core.parts import Part, read_text, text_part
from oop.operators.rows.layout import laid_out
from oop.operators.source.entries import WITHOUT_TIME, Entry
from oop.operators.source.ledger import Ledger
from oop.punctuation import Frontier, Gate, Punctuation
from oop.punctuation.group_promises import Advance
from oop.punctuation.policies import slack

_GATE = "gate"


class AssumeOperator(Operator):
    """``ledger`` has the rows that were set aside, with all columns of the input.

    The operator makes only promises that help its consumers (OOP paper, A.1.1), because few rows end a window.
    """

    def __init__(self, spec: AssumeFields, context: Context) -> None:
        super().__init__(spec, context)
        self.spec, self.order = spec, spec.order
        self.input, self.output = context.inputs[0].remove_metadata(), spec.schema(context.inputs).remove_metadata()
        self.ledger = Ledger(self.input)
        self.kernels = dispatch.kernels()
        self.seen = _start(spec, self.input)
        self.gate = Gate(context.interests)

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
        yield from self.ports.leaving(self.gate.through(self.seen.promises()))

    def _as_declared(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """The batch in its declared types: text that comes from another thread is in dictionaries."""
        if batch.schema.types == self.input.types and batch.schema.names == self.input.names:
            return batch.replace_schema_metadata(None)
        return laid_out(batch, self.input)

    def _with_value(self, rows: pa.RecordBatch) -> pa.RecordBatch:
        """The rows that have a place in the order. Those whose value is null, NaN or infinite go to the ledger."""
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
        late = self.kernels.find_late(views.times(rows.column(self.order.on)), bounds)
        if not late.any():
            return rows
        self.ledger.add(self._entry(rows.filter(pa.array(late)), bounds[late]))
        return rows.filter(pa.array(~late))

    def _entry(self, rows: pa.RecordBatch, bounds: np.ndarray) -> Entry:
        """The ledger entry of late rows, with the promise about its group that each row broke."""
        entry = Entry(rows, self.order.on, bounds)
        if not self.order.group_by:
            return entry
        groups = rows.select(list(self.order.group_by)).to_pylist()
        broke = [str(Punctuation({self.order.on: b}, g)) for b, g in zip(bounds.tolist(), groups, strict=True)]
        said = pa.array(broke, pa.string()), pa.array(entry.late_by(), from_pandas=True)
        return Entry(rows, self.order.on, bounds, None, said)

    def released(self, new: Advance, port: int) -> Iterable[Element]:
        if self.ports.frontiers[0].ended:
            self.seen = _start(self.spec, self.input)  # frees the state, since no further row has to be judged
        return self.ports.promises(new)

    def save(self) -> Iterator[Part]:
        yield self.ports.save()
        yield text_part(_GATE, [self.gate.passed.to_json(), self.gate.held.to_json()])
        yield from self.seen.save()
        yield from self.ledger.save()

    def load(self, parts: Iterable[Part]) -> None:
        found = self.load_common(parts)
        gate = found.get(_GATE)
        if gate is not None:
            said: Any = read_text(gate)
            self.gate.restore(*map(Frontier.from_json, said))
        self.ledger.load(found.items())
        self.seen.load(found)


def _start(spec: AssumeFields, schema: pa.Schema) -> OrderProgress:
    order = spec.order
    if spec.policy is not None:
        return ByPolicy(spec.policy, order.on)
    if order.on == TUP:
        return ByNumber(order, schema)
    if order.group_by and spec.tells_rest:
        return ByPolicy(
            slack(rows=order.slack, by=sorted(order.group_by), groups=spec.groups, idle=spec.idle), order.on
        )
    return BySlack(order, schema)


def _numbered(rows: pa.RecordBatch, numbers: np.ndarray, schema: pa.Schema) -> pa.RecordBatch:
    columns = [rows.column(field.name) for field in schema if field.name != TUP]
    return pa.RecordBatch.from_arrays([*columns, pa.array(numbers)], schema=schema)
