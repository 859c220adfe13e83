"""Emit: an aggregate that also shows early results, before promises complete them.

Early results are the open results of the aggregate, shown after every batch that changed them, or in steps of stream
time; the column ``emit`` says "partial". Each result is put out once more when it is complete ("final"): the final rows
are the answer that there would be without `Emit`. An early result never breaks a promise, because no promise covers an
open result.

They may also be shown after every n-th row. This follows arrival alone, whatever the batches. It is Aurora's parameter
that says "when tuples get emitted" (Aurora* and Medusa paper, section 2.2, second footnote).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import pyarrow as pa

from oop.frozen import frozen
from oop.kernels import views
from oop.operators.aggregate.row_steps import RowSteps
from oop.operators.aggregate.shown import Shown
from oop.operators.core.context import Context
from oop.operators.core.marks import is_partial, keep_late
from oop.operators.core.operator import Around, Element, Operator
from oop.operators.core.partials import Partials
from oop.operators.core.parts import Part, read_text, text_part
from oop.operators.core.spec import Spec, UsedColumns
from oop.operators.groups.store_operator import unique_schema
from oop.punctuation import Frontier
from oop.punctuation.crossing import Crossing
from oop.punctuation.group_promises import Advance
from oop.punctuation.patterns import Bound

EMIT, EARLY, FINAL = "emit", "partial", "final"
ON_CLOSE, ON_CHANGE = "on_close", "on_change"
_SHOWN, _STEP = "shown", "step"


@frozen(eq=False)
class Emit(Spec):
    """``of`` is the aggregate. ``every`` is a step of stream time, in units of the attribute that it aggregates on;
    ``rows`` is a number of rows after which results are shown; otherwise ``when`` is on_close or on_change."""

    of: Spec
    when: str
    every: Bound | None = None
    text: str = ""
    rows: int | None = None
    name = "Emit"

    @property
    def is_early(self) -> bool:
        return self.when != ON_CLOSE

    @property
    def clocked(self) -> bool:  # type: ignore[override]
        return self.of.clocked

    @property
    def held_back(self) -> tuple[str, ...]:  # type: ignore[override]
        return self.of.held_back

    @property
    def unblocked_by(self) -> str:  # type: ignore[override]
        return self.of.unblocked_by

    def with_inner(self, change: Callable[[Any], Any]) -> Spec:
        return replace(self, of=change(self.of))

    def with_late(self, mode: str) -> Spec:
        return replace(self, of=self.of.with_late(mode))

    def schema(self, inputs: Sequence[pa.Schema]) -> pa.Schema:
        return unique_schema([*self.of.schema(inputs), pa.field(EMIT, pa.string())])

    def crossing(self, inputs: Sequence[pa.Schema]) -> Crossing:
        return self.of.crossing(inputs)

    def shard_columns(self, inputs: Sequence[pa.Schema]) -> list[tuple[str, ...]] | None:
        # rows are counted in the order of their arrival, so one worker counts them
        return None if self.rows is not None else self.of.shard_columns(inputs)

    def needs(self, wanted: UsedColumns, inputs: Sequence[pa.Schema]) -> list[UsedColumns]:
        asked = self.of.needs(None, inputs)
        on = self.of.early()[0] if self.every is not None else None
        return asked if on is None else [None if names is None else names | {on} for names in asked]

    def partials(self, inputs: Sequence[pa.Schema]) -> Partials | None:
        # steps go by the times of rows, or their number, which partial aggregates no longer have
        return None if self.every is not None or self.rows is not None else self.of.partials(inputs)

    def blocking(self, frontiers: Sequence[Frontier], inputs: Sequence[pa.Schema]) -> str | None:
        # an operator that shows early results need not wait for a promise
        return None if self.is_early else self.of.blocking(frontiers, inputs)

    def start(self, context: Context) -> Operator:
        return EmitOperator(self, context)

    def describe(self) -> str:
        return f"{self.of.describe()} emitted {self.text}"

    def promise_note(self) -> str:
        return self.of.promise_note()


class EmitOperator(Around):
    def __init__(self, spec: Emit, context: Context) -> None:
        # `interests=None`: `Shown.forget` needs every promise, asked for or not.
        super().__init__(spec.of.start(replace(context, interests=None)))
        self.spec = spec
        self.output = spec.schema(context.inputs)
        self.on, identity = spec.of.early()
        self.shown = Shown(spec.of.schema(context.inputs), identity)
        self.step: int | None = None
        self.count = RowSteps(spec.rows, self.of) if spec.rows is not None else None

    @property
    def state_bytes(self) -> int:
        return self.of.state_bytes + self.shown.nbytes

    def process_batch(self, batch: pa.RecordBatch, port: int = 0) -> Iterator[Element]:
        if self.count is not None:
            for piece, due in self.count.pieces(batch):
                yield from self._final(self.of.process_batch(piece, port))
                if due:
                    yield from self._early()
            return
        yield from self._final(self.of.process_batch(batch, port))
        if self.spec.is_early and self._is_due(batch):
            yield from self._early()

    def _early(self) -> Iterator[Element]:
        for results in self.of.open_results():
            news = self.shown.news(results)
            if news.num_rows:
                yield self._said(news, EARLY)

    def _is_due(self, batch: pa.RecordBatch) -> bool:
        """After every batch, or when rows have reached a new step of time."""
        if self.spec.every is None:
            return True
        assert not is_partial(batch)
        times = batch.column(self.on).drop_null()
        if not len(times):
            return False
        moments = views.times(times)
        step = int(moments.max() // self.spec.every)
        before = int(moments.min() // self.spec.every) if self.step is None else self.step
        self.step = max(step, before)
        return self.step > before

    def process_punctuation(self, advance: Advance, port: int = 0) -> Iterator[Element]:
        yield from self._final(self.of.process_punctuation(advance, port))
        self.shown.forget(self.ports.out)

    def _final(self, elements: Iterable[Element]) -> Iterator[Element]:
        for element in elements:
            if isinstance(element, pa.RecordBatch):
                self.shown.close(element)
                yield self._said(element, FINAL)
            else:
                yield element

    def _said(self, batch: pa.RecordBatch, what: str) -> pa.RecordBatch:
        column = pa.repeat(pa.scalar(what), batch.num_rows)
        return keep_late(pa.RecordBatch.from_arrays([*batch.columns, column], schema=self.output), batch)

    def save(self) -> Iterator[Part]:
        yield from self.of.save()
        yield text_part(_STEP, self.step if self.count is None else self.count.state())
        if self.shown.changed:
            yield _SHOWN, self.shown.rows()
            self.shown.changed = False

    def load(self, parts: Iterable[Part]) -> None:
        found = dict(parts)
        step, shown = found.pop(_STEP, None), found.pop(_SHOWN, None)
        self.of.load(found.items())
        if step is not None:
            said = read_text(step)
            if self.count is not None:
                self.count.restore(said)
            else:
                assert said is None or isinstance(said, int)
                self.step = said
        if shown is not None:
            self.shown.load(shown)
