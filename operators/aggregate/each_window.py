"""EachWindow: a promise for each window that closes, behind its rows and before those of the next.

"The aggregate operator produces a punctuation for each window after it outputs all groups in the window" (OOP paper,
section 5.2). Our operators close all windows that a promise covers in one go, and promise once. A user who wants to be
told window by window puts this operator behind them.

Rows wait until a promise completes them, which behind an aggregate is at once. Other promises cross as far as no
waiting row matches them, so they grow window by window, too.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa

from oop.errors import UnknownColumn
from oop.frozen import frozen
from oop.kernels import views
from oop.kernels.dictionaries import concat_batches
from oop.operators.core.context import Context
from oop.operators.core.coverage import is_promised, matching
from oop.operators.core.lowering import Lowered
from oop.operators.core.marks import is_late
from oop.operators.core.operator import Element, Held, Keeping, Kept, Operator
from oop.operators.core.parts import Part, read_text, text_part
from oop.operators.core.spec import Spec
from oop.operators.core.times import check_time_type, is_time_type, show_time
from oop.operators.rows.layout import laid_out
from oop.punctuation import Frontier, Interest, Punctuation
from oop.punctuation.crossing import Crossing, Same
from oop.punctuation.group_promises import Advance
from oop.punctuation.patterns import Bound, Range
from oop.punctuation.search import above

_HELD, _PENDING = "held", "pending"


@frozen()
class EachWindow(Spec):
    """``on`` tells windows apart, and is promised about; ``times`` are all columns that may be promised about."""

    on: str
    times: tuple[str, ...]
    name = "EachWindow"
    line = "EachWindow by {self.on}"
    note = "a promise for each window that closes"
    unblocked_by = "put .each_window() behind .window(…).agg(…)"

    @property
    def held_back(self) -> tuple[str, ...]:  # type: ignore[override]
        return self.times

    def schema(self, inputs: Sequence[pa.Schema]) -> pa.Schema:
        return inputs[0]

    def crossing(self, inputs: Sequence[pa.Schema]) -> Crossing:
        return Same(also=[Interest(self.on)])

    def blocking(self, frontiers: Sequence[Frontier], inputs: Sequence[pa.Schema]) -> str | None:
        return None if is_promised(frontiers[0], self.on, inputs[0].names) else self.on

    def start(self, context: Context) -> Operator:
        return EachWindowOperator(self, context)


class EachWindowOperator(Keeping):
    """``held`` are the rows that are not promised complete; ``pending`` are the input's promises that some of them
    still match. They are a part of the input's frontier, and take no more room than it."""

    shows_open = True

    def __init__(self, spec: EachWindow, context: Context) -> None:
        super().__init__(spec, context)
        self.on = spec.on
        self.schema = context.inputs[0].remove_metadata()
        self.held: list[pa.RecordBatch] = []
        self.pending = Frontier()
        self._saved = False  # is there a part of rows?

    def kept(self) -> Iterable[Kept]:
        return self.held

    def process_batch(self, batch: pa.RecordBatch, port: int = 0) -> Iterator[Element]:
        if is_late(batch):
            yield batch
            return
        rows = laid_out(batch, self.schema)
        known = _numbers(rows.column(self.on))[0]
        if not known.all():  # in no window, as after an outer join
            yield rows.filter(pa.array(~known))
            rows = rows.filter(pa.array(known))
        if rows.num_rows:
            self.held.append(rows)

    def process_punctuation(self, advance: Advance, port: int = 0) -> Iterator[Element]:
        for new in self.ports.advance_singly(advance, port):
            if new.below.keys() <= {self.on}:  # or the end, of all or of a group
                complete = matching(new, self._rows())
                if complete.any():
                    yield from self._close(new, complete)
                    waiting, self.pending = list(self.pending.promises()), Frontier()
                    yield from self._as_far_as_held(waiting)  # they go further only when rows have left
                if self.ports.out.advance(new):
                    yield new
            else:
                yield from self._as_far_as_held([new])

    def _rows(self) -> pa.RecordBatch:
        if len(self.held) > 1:
            self.held = [concat_batches(self.held)]
        return self.held[0] if self.held else pa.RecordBatch.from_pylist([], schema=self.schema)

    def _close(self, punct: Punctuation, complete: np.ndarray) -> Iterator[Element]:
        """The rows that are complete now, window by window, with what is promised after each."""
        rows = self._rows()
        kept, closed = rows.filter(pa.array(~complete)), rows.filter(pa.array(complete))
        values = _numbers(closed.column(self.on))[1]
        order = np.argsort(values, kind="stable")
        closed, values = closed.take(pa.array(order)), values[order]
        begins = [0, *(np.flatnonzero(np.diff(values)) + 1).tolist(), len(values)]
        others = [Lowered(promise, closed, kept) for promise in self.pending.promises()]
        for start, end in pairwise(begins):
            self.held = [batch for batch in (kept, closed.slice(end)) if batch.num_rows]
            yield closed.slice(start, end - start)
            if end < len(values):
                said = [other.after(end) for other in others]
                said.append(self._up_to(punct, values[start].item(), values[end].item()))
                yield from filter(self.ports.out.advance, said)

    def _up_to(self, punct: Punctuation, window: Bound, following: Bound) -> Punctuation:
        """What a promise says once this window has left, and before the following one does."""
        pattern = punct.where.get(self.on)
        if pattern is None:
            return Punctuation({self.on: following}, punct.where)
        # of a range, its beginning up to the next window; of single windows, this one
        covered = Range(pattern.low, following) if isinstance(pattern, Range) else Range(window, above(window))
        return Punctuation({}, {**punct.where, self.on: covered})

    def _as_far_as_held(self, promises: Iterable[Punctuation]) -> Iterator[Element]:
        """Promises as far as no held row matches them; a promise that one matches also waits."""
        rows = self._rows()
        for promise in promises:
            low = Lowered(promise, rows.slice(0, 0), rows).after(0)
            if low != promise:
                self.pending.advance(promise)
            if self.ports.out.advance(low):
                yield low

    def open_results(self) -> Iterator[pa.RecordBatch]:
        """The rows that wait, which no promise of the output covers."""
        yield from self.held

    def oldest(self) -> Held | None:
        rows = self._rows()
        if not rows.num_rows:
            return None
        least = _numbers(rows.column(self.on))[1].min().item()
        what = f"the rows with {self.on} = {show_time(least, rows.schema.field(self.on).type)}"
        return Held(what, 0, Punctuation({self.on: above(least)}))

    def save(self) -> Iterator[Part]:
        yield self.ports.save()
        yield text_part(_PENDING, [promise.to_json() for promise in self.pending.promises()])
        if self.held or self._saved:
            yield _HELD, self._rows() if self.held else None
        self._saved = bool(self.held)

    def load(self, parts: Iterable[Part]) -> None:
        found = self.load_common(parts)
        held, pending = found.get(_HELD), found.get(_PENDING)
        self.held, self._saved = [] if held is None else [held], held is not None
        said: Any = [] if pending is None else read_text(pending)
        self.pending = Frontier.from_json(said)


def _numbers(column: pa.Array) -> tuple[np.ndarray, np.ndarray]:
    """Which values are there (no null, no NaN), and all values as numbers, with 0 for those that are not."""
    known = views.booleans(column.is_valid())
    values = np.zeros(len(column), np.float64 if pa.types.is_floating(column.type) else np.int64)
    values[known] = views.times(column.drop_null())
    if values.dtype == np.float64:
        known = known & ~np.isnan(values)
    return known, values


def each_window(on: str, schema: pa.Schema) -> EachWindow:
    """The `EachWindow` that a user asks for."""
    if on not in schema.names:
        raise UnknownColumn.of(on, schema.names)
    check_time_type(on, schema.field(on).type)
    return EachWindow(on, tuple(field.name for field in schema if is_time_type(field.type)))
