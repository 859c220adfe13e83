"""WSort: a sort that waits for a timeout only, and loses rows that come too late (Aurora* and Medusa paper, section
2.2, footnote).

"WSort buffers all incoming tuples and emits tuples in its buffer in ascending order of its sort attributes, with at
least one tuple emitted per timeout period." Here a period ends when it has passed since rows last left, or since the
oldest row came. Then all rows that have waited for a whole period leave, together with all rows that sort before one of
them, so that no buffered row gets lost. So no row waits for more than two periods, and a row waits for less than one
only if it sorts before a row that is due. A row is set aside if a row that sorts after it has left. Promises about the
first sort attribute release rows sooner, because no row can come before them.

The clock comes as promises on the virtual arrival attribute (`arrival.py`). The arrival time of a row is the last tick.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence

import pyarrow as pa

from oop.frozen import frozen
from oop.operators.aurora.stamped_rows import StampedRows
from oop.operators.core.arrival import without_ticks
from oop.operators.core.context import Context
from oop.operators.core.marks import is_late
from oop.operators.core.operator import Element, Held, Operator
from oop.operators.core.ordering import check_order
from oop.operators.core.parts import Part, read_text, text_part
from oop.operators.core.row_text import show_row
from oop.operators.core.spec import Spec
from oop.operators.core.times import is_time_type
from oop.operators.rows.layout import check_takeable, laid_out
from oop.operators.source.entries import Entry
from oop.operators.source.ledger import Ledger
from oop.punctuation import END, Punctuation
from oop.punctuation.crossing import Carried, Counted, Crossing
from oop.punctuation.group_promises import Advance

_LAST, _CLOCK = "last", "clock"


@frozen(eq=False)
class WSort(Spec):
    """Sorts by ``columns``. ``timeout`` is in the clock's unit, ``text`` is the timeout as the user wrote it."""

    columns: tuple[str, ...]
    timeout: int
    text: str
    name = "WSort"
    needs_order = True
    note = "emits in order, at least a row each {self.text}; sets aside what comes behind"
    clocked = True

    @property
    def first(self) -> str:
        return self.columns[0]

    @property
    def counts(self) -> tuple[str, ...]:  # type: ignore[override]
        return (self.first,)

    def schema(self, inputs: Sequence[pa.Schema]) -> pa.Schema:
        for field in inputs[0]:
            check_takeable(field)
        for name in self.columns:
            check_order(inputs[0].field(name), "sorting needs")
        return inputs[0]

    def crossing(self, inputs: Sequence[pa.Schema]) -> Crossing:
        """The order is one of all rows, so promises about all rows cross. How far the clock has released rows is known
        only to the running operator."""
        passing = Carried({self.first: [(self.first, None)]}, {}, holds=True)
        timed = is_time_type(inputs[0].field(self.first).type)
        return Counted(passing, [Punctuation({self.first: -math.inf})] if timed else [])

    def start(self, context: Context) -> Operator:
        return WSortOperator(self, context)

    def describe(self) -> str:
        return f"WSort by {', '.join(self.columns)}, timeout {self.text}"


class WSortOperator(Operator):
    """``ledger`` has the rows that came too late; ``late_unused`` counts late rows that sources had admitted."""

    def __init__(self, spec: WSort, context: Context) -> None:
        super().__init__(spec, context)
        self.spec = spec
        self.schema = context.inputs[0].remove_metadata()
        self.timed = is_time_type(self.schema.field(spec.first).type)
        self.rows = StampedRows(self.schema, spec.columns)
        self.ledger = Ledger(self.schema)
        self.last: pa.RecordBatch | None = None  # the sort attributes of the row that left last
        self.left_at = -math.inf  # when rows last left because they had waited

    @property
    def buffered_rows(self) -> int:
        return len(self.rows)

    @property
    def state_bytes(self) -> int:
        return self.rows.nbytes + self.ledger.nbytes

    def process_batch(self, batch: pa.RecordBatch, port: int = 0) -> Iterator[Element]:
        if is_late(batch):
            self.late_unused += batch.num_rows
        else:
            self.rows.add(self._in_time(batch))
        yield from ()

    def _in_time(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """The rows of the batch without those that sort before a row that has left; these go to the ledger (Aurora* and
        Medusa paper, footnote of section 2.2)."""
        if self.last is None or not batch.num_rows:
            return batch
        lost = self.rows.sort_before(batch, self.last)
        if lost.any():
            text = f"a row after {show_row(self.last, 0)} has left"
            rows = batch.filter(pa.array(lost)).replace_schema_metadata(None)
            self.ledger.add(Entry(rows, None, None, text))
            batch = batch.filter(pa.array(~lost))
        return batch

    def process_punctuation(self, advance: Advance, port: int = 0) -> Iterator[Element]:
        others, now = without_ticks(advance, None)
        if now is not None:
            yield from self._tick(now)
        new = self.ports.advance(others, port)
        if new:
            frontier = self.ports.frontiers[0]
            if frontier.ended:
                yield from self._leave(self.rows.take_all())
            elif self.timed and (bound := frontier.bound(self.spec.first)) is not None:
                yield from self._leave(self.rows.take_below(bound))
            yield from self.ports.promises(new)

    def _tick(self, now: int) -> Iterator[Element]:
        """Take a tick of the clock. If a period is over, the rows that have waited for a whole one leave."""
        self.rows.see(now)
        oldest = self.rows.oldest()
        if oldest is None or now - max(oldest, self.left_at) < self.spec.timeout:
            return
        self.left_at = now
        yield from self._leave(self.rows.take_stamped(now - self.spec.timeout))
        promise = Punctuation({self.spec.first: self._reached()}) if self.timed else None
        if promise is not None and self.ports.out.advance(promise):
            yield promise

    def _leave(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            self.last = batch.slice(batch.num_rows - 1).select(list(dict.fromkeys(self.spec.columns)))
            yield batch

    def _reached(self) -> int | float:
        """The bound that can be promised: the value of the row that left last, or infinity if that was NaN or null."""
        assert self.last is not None
        return self.rows.value(self.last.column(0))

    def oldest(self) -> Held | None:
        """The rows as a whole, because the clock releases them, or the end."""
        return Held(f"the rows of the last {self.spec.text}", 0, END) if len(self.rows) else None

    def save(self) -> Iterator[Part]:
        yield from self.save_common()
        yield text_part(_CLOCK, {"left_at": self.left_at, "now": self.rows.now})
        if self.last is not None:
            yield _LAST, self.last
        yield from self.rows.save()
        yield from self.ledger.save()

    def load(self, parts: Iterable[Part]) -> None:
        found = self.load_common(parts)
        self.ledger.load(found.items())
        self.rows.load(found)
        last, clock = found.get(_LAST), found.get(_CLOCK)
        own = None if last is None else pa.schema([self.schema.field(name) for name in last.schema.names])
        self.last = None if last is None else laid_out(last, own)
        if clock is not None:
            said = read_text(clock)
            assert isinstance(said, Mapping)
            self.left_at, self.rows.now = said["left_at"], said["now"]
