"""BSort: an approximate sort with a buffer of n rows, the same as n passes of a bubble sort (Aurora paper, section
5.2.2.1).

When a row comes to a full buffer, the row with the least value leaves, of equal ones the first that came. The paper's
buffer of n + 1 rows includes the row that has just come (figure 8). So every row goes out, and none is set aside. Rows
are released by count, never by promises. Held rows lower the bounds that pass. The end, of all rows or of a group,
releases the rest in order.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence

import numpy as np
import pyarrow as pa

from oop.frozen import frozen
from oop.operators.aurora.bsort_rows import BSortRows
from oop.operators.core.context import Context
from oop.operators.core.coverage import matching
from oop.operators.core.least_held import Least, least_by_group
from oop.operators.core.marks import is_late, keep_late
from oop.operators.core.operator import Element, Held, Operator
from oop.operators.core.parts import Part
from oop.operators.core.spec import Spec
from oop.operators.core.times import check_time_type, show_time
from oop.operators.rows.layout import check_takeable, laid_out
from oop.punctuation import END, Punctuation
from oop.punctuation.crossing import Carried, Crossing
from oop.punctuation.group_promises import Advance

_HELD = "held"


@frozen(eq=False)
class BSort(Spec):
    """Sorts by ``on``, and holds ``slack`` rows of each group of ``keys``."""

    on: str
    slack: int
    keys: tuple[str, ...] = ()
    name = "BSort"
    needs_order = True

    @property
    def held_back(self) -> tuple[str, ...]:  # type: ignore[override]
        return (self.on,)

    def schema(self, inputs: Sequence[pa.Schema]) -> pa.Schema:
        check_time_type(self.on, inputs[0].field(self.on).type)
        for field in inputs[0]:
            check_takeable(field)
        return inputs[0]

    def shard_columns(self, inputs: Sequence[pa.Schema]) -> list[tuple[str, ...]] | None:
        return [self.keys] if self.keys else None

    def crossing(self, inputs: Sequence[pa.Schema]) -> Crossing:
        """The end of a group releases its rows. Every bound is of interest: how far it will be lowered is not known
        beforehand, so the steps of the consumers cannot be carried back."""
        return Carried({self.on: [(self.on, None)]}, {k: [k] for k in self.keys}, holds=True)

    @property
    def reads(self) -> frozenset[str]:  # type: ignore[override]
        return frozenset({self.on, *self.keys})

    def start(self, context: Context) -> Operator:
        return BSortOperator(self, context)

    def describe(self) -> str:
        by = f" by {', '.join(self.keys)}" if self.keys else ""
        return f"BSort on {self.on}, slack {self.slack}{by}"

    def promise_note(self) -> str:
        held = f"{self.slack} row{'' if self.slack == 1 else 's'}{' of each group' if self.keys else ''}"
        return f"holds {held}; a promise goes no further than the least of them"


class BSortOperator(Operator):
    """Admitted late rows pass at once, still marked late, because the rows that they belong between have left."""

    shows_open = True

    def __init__(self, spec: BSort, context: Context) -> None:
        super().__init__(spec, context)
        self.spec = spec
        (needed,) = spec.needs(context.wanted, context.inputs)
        self.rows = BSortRows(context.held(needed).remove_metadata(), spec.on, spec.keys, spec.slack)
        self._lowered = False  # was a bound lowered, so that rows which leave may raise it?
        self._changed = self._saved = False

    @property
    def buffered_rows(self) -> int:
        return len(self.rows)

    @property
    def state_bytes(self) -> int:
        return self.rows.nbytes if len(self.rows) else 0

    def process_batch(self, batch: pa.RecordBatch, port: int = 0) -> Iterator[Element]:
        if is_late(batch) or not self.spec.slack:
            yield self._as_declared(batch)
            return
        self._changed = True
        leaving = self.rows.add(batch)
        yield from leaving
        if leaving and self._lowered:
            yield from self._promises()

    def _as_declared(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """The batch in its declared types: text that comes from another thread is in dictionaries."""
        return keep_late(laid_out(batch, self.rows.schema), batch)

    def process_punctuation(self, advance: Advance, port: int = 0) -> Iterator[Element]:
        new = self.ports.advance_singly(advance, port)
        if not new:
            return
        ended = [p for p in self.ports.translated().promises() if not p.below]
        if ended and any(not p.below for p in new):
            yield from self._let_go(ended)
        yield from self._promises()

    def _let_go(self, ended: Sequence[Punctuation]) -> Iterator[pa.RecordBatch]:
        """Put out, in order, the rows of groups that have ended."""
        places = self.rows.held()
        if not all(p.is_end for p in ended):
            keys = pa.RecordBatch.from_pydict(self.rows.key_arrays(places, self.spec.keys))
            places = places[np.logical_or.reduce([matching(p, keys) for p in ended])]
        if len(places):
            self._changed = True
            yield from self.rows.take(places)

    def _promises(self) -> Iterator[Punctuation]:
        """The new promises. Each goes no further than the least value held in the groups that it is about."""
        on, ports = self.spec.on, self.ports
        images = list(ports.translated().promises())
        least = self._least({c for image in images for c in image.where})
        self._lowered = False
        for image in images:
            first = least(image.where)
            if first is not None and first < image.below.get(on, -math.inf):
                image, self._lowered = Punctuation({**image.below, on: first}, image.where), True
            if ports.out.advance(image):
                yield image

    def _least(self, columns: set[str]) -> Least:
        """The least value among the held rows that a pattern matches."""
        rows, names = self.rows, sorted(columns)
        places = rows.held()
        if not names or not len(places):
            one = rows.least(places)
            return lambda where: one
        places = places[rows.have_value(places)]
        return least_by_group(rows.key_arrays(places, names), rows.times(places))

    def open_results(self) -> Iterator[pa.RecordBatch]:
        """The rows that are held and may be below a bound."""
        places = self.rows.held()
        if len(places):
            yield self.rows.batch(places[self.rows.have_value(places)])

    def oldest(self) -> Held | None:
        """The held row with the least value. More rows of its group release it, or the end."""
        if not len(self.rows):
            return None
        least = self.rows.least(self.rows.held())
        shown = "no value" if least is None else show_time(least, self.rows.type)
        held = f"{self.spec.slack}{' of its group' if self.spec.keys else ''}"
        return Held(f"the row with {self.spec.on} = {shown}, until more than {held} are held", 0, END)

    def save(self) -> Iterator[Part]:
        yield self.ports.save()
        if self._changed:
            here = len(self.rows) > 0
            if here or self._saved:
                yield _HELD, self.rows.batch(self.rows.held()) if here else None
            self._changed, self._saved = False, here

    def load(self, parts: Iterable[Part]) -> None:
        held = self.load_common(parts).get(_HELD)
        self._saved, self._changed, self._lowered = held is not None, False, True
        if held is not None:
            self.rows.load(held)
