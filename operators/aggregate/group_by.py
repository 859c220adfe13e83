"""Group-by on progressing attributes, without a window (OOP paper, section 5.2 and section 7's Q3).

A group stays until it matches a promise of any kind: linear, joint or group-wise. A group with a null in an attribute
closes only by a promise that does not name it. The output promises what the input does about the key columns.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import numpy as np
import pyarrow as pa

from oop.frozen import frozen
from oop.kernels.dictionaries import concat_batches
from oop.kernels.steps import ProgramCode
from oop.operators.core.context import Context
from oop.operators.core.coverage import INT64_MAX, as_int64, covered, group_columns
from oop.operators.core.marks import is_late, is_partial
from oop.operators.core.oldest import times_at, value_at
from oop.operators.core.operator import Element, Held, Operator
from oop.operators.core.partials import Partials
from oop.operators.core.row_text import show_row
from oop.operators.core.spec import UsedColumns
from oop.operators.core.times import FAR, slots_of
from oop.operators.core.writing import INT, Filled, ProgramWriter
from oop.operators.functions.function import Function
from oop.operators.groups.aggregating import AggregatingSpec
from oop.operators.groups.shape import Shape
from oop.operators.groups.store_operator import StoreOperator, can_merge, describe_groups, unique_schema
from oop.operators.groups.table import Table
from oop.operators.groups.table_pieces import in_pieces
from oop.punctuation import END, Frontier, Punctuation
from oop.punctuation.crossing import Carried, Crossing
from oop.punctuation.group_promises import Advance, one_by_one
from oop.punctuation.search import above
from oop.punctuation.translate import carry_unchanged


@frozen(eq=False)
class GroupBy(AggregatingSpec):
    """``on`` are the keys that the input may promise about; the first decides the slices."""

    keys: tuple[str, ...]
    aggregates: tuple[tuple[str, Function], ...]
    on: tuple[str, ...]
    flush: bool | None = None
    """False: its rows are not to be preaggregated on their way to another worker."""
    name = "GroupBy"
    note = "emits a group when a promise covers it"

    @property
    def forbids_partials(self) -> bool:
        return self.flush is False

    def shard_columns(self, inputs: Sequence[pa.Schema]) -> list[tuple[str, ...]] | None:
        return [self.keys] if self.keys else None

    def schema(self, inputs: Sequence[pa.Schema]) -> pa.Schema:
        return unique_schema(Shape(inputs[0], self.keys, self.aggregates).fields())

    def crossing(self, inputs: Sequence[pa.Schema]) -> Crossing:
        # joint promises about several keys help too (section 7)
        return Carried(*carry_unchanged(self.keys), holds=True)

    def needs(self, wanted: UsedColumns, inputs: Sequence[pa.Schema]) -> list[UsedColumns]:
        return [frozenset(self.keys).union(*(a.columns() for _, a in self.aggregates))]

    def early(self) -> tuple[str | None, tuple[str, ...]]:
        return self.on[0] if self.on else None, self.keys

    def blocking(self, frontiers: Sequence[Frontier], inputs: Sequence[pa.Schema]) -> str | None:
        kept = self.crossing(inputs).translate(frontiers)
        return None if any(True for _ in kept.promises()) else ", ".join(self.keys)

    def write(self, writer: ProgramWriter, inputs: Sequence[pa.Schema]) -> ProgramCode:
        slot = Filled(writer.slot(self.on[0]) if self.on else writer.constant(0, INT), INT, pa.int64())
        keys, updates = Shape(inputs[0], self.keys, self.aggregates).write(writer)
        return writer.code(keys, slot.register, updates)

    def start(self, context: Context) -> Operator:
        return GroupByOperator(self, context)

    def partials(self, inputs: Sequence[pa.Schema]) -> Partials | None:
        if not can_merge(self.aggregates):
            return None
        return Partials(Shape(inputs[0], self.keys, self.aggregates), self.slots)

    def slots(self, batch: pa.RecordBatch) -> np.ndarray:
        """The slot of each row, by the first key that is promised about."""
        return slots_of(batch.column(self.on[0])) if self.on else np.zeros(batch.num_rows, np.int64)

    def describe(self) -> str:
        return describe_groups("GroupBy", self.aggregates, self.keys)


class GroupByOperator(StoreOperator):
    shows_open = True

    def __init__(self, spec: GroupBy, context: Context) -> None:
        super().__init__(spec, context, spec.keys, spec.aggregates)
        self.spec = spec
        self.slot_on = spec.on[0] if spec.on else None
        self.crossing = spec.crossing(context.inputs)  # any promise may cover groups, not only those asked for

    def process_batch(self, batch: pa.RecordBatch, port: int = 0) -> Iterator[Element]:
        if is_partial(batch):
            self.take_partials(batch)
            return
        if is_late(batch):  # taken for groups that are not covered
            batch = self.keep_usable(batch, ~covered(self._own(), batch.select(list(self.keys))))
        if batch.num_rows:
            self.take_in(self.spec.slots(batch), batch)
        yield from ()

    def _own(self) -> Frontier:
        """What the input promises about the keys: a group is covered when one of these promises covers it."""
        return self.crossing.translate(self.ports.frontiers)

    def process_punctuation(self, advance: Advance, port: int = 0) -> Iterator[Element]:
        new = self.ports.advance_singly(advance, port)
        if not new:
            return
        # Newly covered groups match what the promises add. Where a group column is dropped, all promises together
        # decide.
        added = [self.crossing.added(p, self.ports.frontiers) for p in new]
        own = (
            self._own()
            if None in added
            else Frontier.of(*(p for images in added if images for p in one_by_one(images)))
        )
        yield from self._batches(self._taken(own))
        yield from self.ports.promises(new)

    def open_results(self) -> Iterator[pa.RecordBatch]:
        return self._batches(self.store.tables[number].copy() for number in self.store.touched())

    def _batches(self, tables: Iterable[Table]) -> Iterator[pa.RecordBatch]:
        for pieces in in_pieces(tables, self.batch_rows):
            yield concat_batches([pa.RecordBatch.from_arrays(piece.results(), schema=self.output) for piece in pieces])

    def oldest(self) -> Held | None:
        """The group with the least time among those of the first slot that is held."""
        store = self.store
        if not len(store):
            return None
        table = store.tables[min(store.tables)]
        slots = table.slots()
        rows = np.flatnonzero(slots == slots.min())
        keys = table.key_arrays()
        if not keys:
            return Held("the one group of all rows", 0, END)
        times = {a: times_at(keys[a].take(pa.array(rows))) for a in self.spec.on}
        first = min(range(len(rows)), key=lambda i: [(t[i] is None, t[i] or 0) for t in times.values()])
        below = {a: above(at) for a, t in times.items() if (at := t[first]) is not None}
        by = [c for c in group_columns(self.ports.frontiers[0]) if c in keys and c not in below]
        group = {c: value_at(keys[c], int(rows[first])) for c in by}
        what = f"group {show_row(pa.RecordBatch.from_pydict(keys), int(rows[first]))}"
        return Held(what, 0, Punctuation(below, group))

    def _taken(self, own: Frontier) -> Iterator[Table]:
        """Remove and give the groups that promises cover, slice by slice."""
        for number, whole in self._candidates(own):
            table = self.store.tables[number]
            if whole:
                mask = np.ones(len(table), np.bool_)
            else:
                batch = pa.RecordBatch.from_pydict(table.key_arrays()) if self.keys else _rows(len(table))
                mask = covered(own, batch)
            taken = self.store.take_where(number, mask)
            if taken is not None:
                yield taken

    def _candidates(self, own: Frontier) -> list[tuple[int, bool]]:
        """The slices that promises may reach, each with whether all its groups are covered for certain, so that none
        need be examined. A linear promise reaches the slices below it; any other kind may reach every slice."""
        if own.is_linear and not own.ended and self.slot_on is not None and set(own.all.linear) == {self.slot_on}:
            bound, shift = own.all.linear[self.slot_on], self.store.shift
            # values beyond FAR stand in one slot on each side, and groups without a value in another
            numbers = self.store.numbers_below(min(max(as_int64(bound), -FAR + 1), INT64_MAX - 1))
            return [(number, (number + 1) << shift <= min(bound, FAR)) for number in numbers]
        return [(number, own.ended) for number in self.store.tables]


def _rows(count: int) -> pa.RecordBatch:
    return pa.record_batch([pa.nulls(count)], names=["_"])
