"""Groups and their partial aggregates, held in slices of time so that a promise frees them in bulk.

A *slot* is where a group stands in time: a pane of a window, or a progressing attribute's value. A `Table` holds the
groups of one slice of slots; the `Store` is the slices by number. A slice spans one slot (then the slot need not be
part of the key) until batches turn out to spread thinly over many; then they get wider by powers of two. Of panes,
whose windows cost less if each has a table, they are narrow again when they have filled up.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from oop.kernels import dispatch, views
from oop.kernels.once import once
from oop.kernels.views import Column
from oop.operators.core.keys import Key, KeyTable, read_key
from oop.operators.core.marks import is_dropped
from oop.operators.core.parts import Part
from oop.operators.core.slice_parts import SliceParts
from oop.operators.functions.accumulators import Accumulator, Prepared, take
from oop.operators.functions.function import Evaluate, Function
from oop.operators.functions.summary import Summary, can_share

SPREAD = 64  # slices that one batch may touch; and rows that a batch should bring to each further slice it touches
NOTHING = np.zeros(0, bool)  # in place of prepared values: the rows are of no account for this aggregate
Edges = tuple[np.ndarray, np.ndarray]
_WIDEST = 60  # then there are at most three: before 0, after it, and without a time


@dataclass(frozen=True)
class Shape:
    """What all tables of an operator have in common: keys and aggregates over rows of one schema."""

    schema: pa.Schema
    keys: tuple[str, ...]
    aggregates: tuple[tuple[str, Function], ...]

    @once
    def key_types(self) -> list[pa.DataType]:
        return [self.schema.field(k).type for k in self.keys]

    @once
    def kernels(self) -> dispatch.Kernels:
        return dispatch.kernels()

    @once
    def kinds(self) -> list[str]:
        return [views.key_kind(t) for t in self.key_types]

    @once
    def _prototypes(self) -> list[Accumulator]:
        return [f.start(self.schema) for _, f in self.aggregates]

    @once
    def _shared(self) -> tuple[list[tuple[str, Function, Accumulator]], list[int]]:
        """What is kept, and for each aggregate which of it it reads: functions of one column share what they can."""
        named = [
            (f.values_name(self.schema), f, p) for (_, f), p in zip(self.aggregates, self._prototypes, strict=True)
        ]
        # worth it for two that would keep arrays of their own, not for sum and mean, which keep the same
        together = Counter(name for name, _ in {(n, p.kept) for n, _, p in named if can_share(p)})
        kept: list[tuple[str, Function, Accumulator]] = []
        found: dict[tuple[object, ...], int] = {}
        places = []
        for name, function, prototype in named:
            summed = can_share(prototype) and together[name] > 1
            key = (name, Summary) if summed else (name, *prototype.kept)
            if key not in found:
                found[key] = len(kept)
                kept.append((name, function, Summary() if summed else prototype))
            places.append(found[key])
        return kept, places

    @once
    def _kept(self) -> list[Accumulator]:
        return [accumulator for _, _, accumulator in self._shared[0]]

    @once
    def varies(self) -> bool:
        """Does the size of a table change while its groups stay the same?"""
        return any(accumulator.varies for accumulator in self._kept)

    def accumulators(self) -> list[Accumulator]:
        """New ones, empty; finding out their types again for each table would cost more than they do."""
        return [accumulator.empty() for accumulator in self._kept]

    @once
    def _evaluated(self) -> list[tuple[str, Evaluate | None, Accumulator]]:
        """What is kept, each with what evaluates the values that it is given, and a name for these values."""
        return [(name, function.evaluator(), accumulator) for name, function, accumulator in self._shared[0]]

    def prepare(self, batch: pa.RecordBatch) -> list[Prepared]:
        """For each accumulator the values of a batch, each expression evaluated once."""
        values: dict[str, Any] = {}
        prepared: list[Prepared] = []
        dropped = batch.schema.metadata is not None and is_dropped(batch)
        for name, evaluate, accumulator in self._evaluated:
            if dropped and not accumulator.keeps_account:
                prepared.append(NOTHING)
                continue
            if name not in values:
                values[name] = None if evaluate is None else evaluate(batch)
            prepared.append(accumulator.prepare(values[name]))
        return prepared

    def results(self, accumulators: Sequence[Accumulator], edges: Edges | None = None) -> list[pa.Array]:
        """The aggregates' columns; ``edges`` are the start and end of each group's window."""
        found = []
        for prototype, place, in_window in self._readers:
            reader = accumulators[place] if prototype is None else prototype.over(accumulators[place])
            found.append(reader.result_in(*edges) if in_window and edges is not None else reader.result())
        return found

    @once
    def _readers(self) -> list[tuple[Accumulator | None, int, bool]]:
        """For each aggregate what reads its result (None: what keeps it is its own), where it is kept, and whether it
        looks at the window."""
        kept, places = self._kept, self._shared[1]
        return [
            (None if kept[place] is reader else reader, place, type(reader).result_in is not Accumulator.result_in)
            for reader, place in zip(self._prototypes, places, strict=True)
        ]

    @once
    def _answering(self) -> list[int]:
        """The places of what can tell which groups have rows in the results."""
        return [i for i, kept in enumerate(self._kept) if type(kept).answers is not Accumulator.answers]

    def answers(self, accumulators: Sequence[Accumulator]) -> np.ndarray | None:
        """Which groups have rows in the results, and not only rows that were set aside? None: all of them."""
        for place in self._answering:
            found = accumulators[place].answers
            if found is not None:
                return None if found.all() else found
        return None

    def to_batch(
        self,
        slots: np.ndarray,
        keys: Sequence[pa.Array],
        accumulators: Sequence[Accumulator],
        slot_name: str | None = None,
    ) -> pa.RecordBatch:
        """Partial aggregates of groups as a batch: their slots, keys, and what each accumulator holds."""
        columns = [pa.array(slots), *keys]
        for accumulator in accumulators:
            columns += accumulator.to_arrow()
        # keys under their names, so that a batch can be parted by them
        names = [f"{'_' * (1 + max(map(len, self.keys), default=0))}{i}" for i in range(len(columns))]  # no key so long
        names[1 : 1 + len(keys)] = self.keys
        names[0] = slot_name or names[0]
        return pa.record_batch(columns, names=names)

    def read_groups(self, batch: pa.RecordBatch) -> tuple[np.ndarray, list[Key]]:
        """The slots and keys of a batch that `to_batch` made."""
        keys = batch.columns[1 : 1 + len(self.keys)]
        return views.column(batch.column(0)).data, [read_key(key) for key in keys]

    def read_partials(self, batch: pa.RecordBatch) -> list[Accumulator]:
        """What such a batch holds of each group, in its order."""
        at = 1 + len(self.keys)
        found = self.accumulators()
        for accumulator in found:
            width = accumulator.saved_columns
            accumulator.load_arrow(batch.columns[at : at + width])
            at += width
        return found

    def fields(self) -> list[pa.Field]:
        """Of the results: keys as they are, then the aggregates."""
        keys = [self.schema.field(k).remove_metadata() for k in self.keys]
        return keys + [pa.field(n, p.type) for (n, _), p in zip(self.aggregates, self._prototypes, strict=True)]


class Table:
    """The groups of one slice: keys to dense ids, and accumulators by id."""

    def __init__(self, shape: Shape, slotted: bool, slot: int, expected: int = 0) -> None:
        self.shape = shape
        self.slotted = slotted
        self.slot = slot
        self.expected = expected
        self.keys = KeyTable([*shape.kinds, "int"] if slotted else shape.kinds, shape.kernels)
        self.keys.reserve(expected)
        self.accumulators = shape.accumulators()
        self._numbers: tuple[KeyTable, np.ndarray] | None = None  # see `numbers_in`

    def __len__(self) -> int:
        return len(self.keys.ids)

    @property
    def nbytes(self) -> int:
        found = self.keys.nbytes + (0 if self._numbers is None else self._numbers[1].nbytes)
        for accumulator in self.accumulators:
            found += accumulator.nbytes
        return found

    def numbers_in(self, others: KeyTable, places: Sequence[int]) -> np.ndarray:
        """The numbers that the groups have in another table, which has some of the key columns. They are kept: what is
        asked for again is only what has come."""
        known = self._numbers[1] if self._numbers is not None and self._numbers[0] is others else np.zeros(0, np.int64)
        if len(known) < len(self):
            new = np.arange(len(known), len(self))
            columns = self.keys.take(new) if len(known) else self.keys.columns()
            known = np.concatenate([known, others.map([columns[i] for i in places], len(new))])
            self._numbers = others, known
        return known

    def numbered_in(self, others: KeyTable) -> int:
        """Of how many groups, the first that came, `numbers_in` has told the numbers in this other table."""
        return len(self._numbers[1]) if self._numbers is not None and self._numbers[0] is others else 0

    def update(
        self, slots: np.ndarray, keys: Sequence[Key], values: Sequence[Prepared], rows: np.ndarray | None = None
    ) -> None:
        """Take rows in: all of them, or those with these numbers."""
        ids = self._map(slots, keys, rows)
        for accumulator, value in zip(self.accumulators, values, strict=True):
            if value is not NOTHING:
                accumulator.update(ids, value if rows is None else take(self.shape.kernels, value, rows))

    def absorb(self, *others: Table) -> None:
        """Merge other tables' partials into this one: all in one go, for a call costs more than a group."""
        columns = [
            views.concat_columns(kind, [o.key_columns()[i] for o in others]) for i, kind in enumerate(self.shape.kinds)
        ]
        ids = self._map(np.concatenate([o.slots() for o in others]), columns)
        for i, ours in enumerate(self.accumulators):
            ours.merge(ids, type(ours).concat([o.accumulators[i] for o in others]))

    def merge(
        self, slots: np.ndarray, keys: Sequence[Key], partials: Sequence[Accumulator], rows: np.ndarray | None = None
    ) -> None:
        """Take partials in: all of them, or those with these numbers."""
        ids = self._map(slots, keys, rows)
        for ours, theirs in zip(self.accumulators, partials, strict=True):
            ours.merge(ids, theirs if rows is None else theirs.take(rows))

    def _map(self, slots: np.ndarray, keys: Sequence[Key], rows: np.ndarray | None = None) -> np.ndarray:
        columns = [*keys, Column("int", slots)] if self.slotted else keys
        known = self.keys.ids
        before = len(known)
        ids = self.keys.map(columns, len(slots), rows)
        now = len(known)
        if now > before:
            for accumulator in self.accumulators:
                accumulator.grow(now, self.expected)
        return ids

    def slots(self) -> np.ndarray:
        if self.slotted:
            return self.keys.codes.columns()[-1].data
        return np.full(len(self), self.slot, np.int64)

    def key_columns(self) -> list[Column]:
        return self.keys.columns()[: len(self.shape.keys)]

    def key_arrays(self, start: int = 0, stop: int | None = None) -> dict[str, pa.Array]:
        """The keys of all groups, or of some in a row."""
        return dict(zip(self.shape.keys, self.keys.arrays(self.shape.key_types, start, stop), strict=False))

    def select(self, indices: np.ndarray) -> Table:
        """Some of the groups, as a table of their own."""
        out = Table(self.shape, self.slotted, self.slot)
        out._map(self.slots()[indices], [views.take_rows(c, indices) for c in self.key_columns()])
        out.accumulators = [a.take(indices) for a in self.accumulators]
        if self._numbers is not None and len(self._numbers[1]) == len(self):
            out._numbers = self._numbers[0], self._numbers[1][indices]
        return out

    def copy(self) -> Table:
        """The same groups with aggregates of their own; what is kept of a key stays as it is, and is shared."""
        out = Table(self.shape, self.slotted, self.slot)
        out.keys, out.accumulators = self.keys, [a.copy() for a in self.accumulators]
        return out

    def results(self, edges: Edges | None = None) -> list[pa.Array]:
        return [*self.key_arrays().values(), *self.shape.results(self.accumulators, edges)]

    def to_batch(self) -> pa.RecordBatch:
        """Everything it holds, as a part to save."""
        return self.shape.to_batch(self.slots(), list(self.key_arrays().values()), self.accumulators)

    def load_batch(self, batch: pa.RecordBatch) -> None:
        """Into an empty table: each group gets the place that it had."""
        self._map(*self.shape.read_groups(batch))
        self.accumulators = self.shape.read_partials(batch)


class Store:
    """Tables by slice number. ``adaptive=False`` keeps every slot in a slice of its own; ``thin``: so does a store
    whose slots have at least as many rows, on average."""

    def __init__(self, shape: Shape, *, adaptive: bool = True, thin: int | None = None) -> None:
        self.shape = shape
        self.adaptive = adaptive
        self.thin = thin
        self.shift = 0
        # slices touched beyond one a batch (of slots with a slice of their own: new ones), and rows, since slices were
        # last made wider
        self._further = 0
        self._rows = 0
        self.tables: dict[int, Table] = {}
        self.nbytes = 0
        self.held = 0  # groups in all slices
        self._expected = 0  # groups in the slice that was last removed
        self._newest = 0  # the number of the slice that was last made
        self._sizes: dict[int, tuple[int, int]] = {}
        self._parts = SliceParts()
        self._changed: set[int] = set()
        # slices, and slots, that rows went to since it was last asked; None: nobody asks
        self._touched: set[int] | None = None
        self._touched_slots: set[int] | None = None
        self._grown: set[int] | None = None  # slices that groups came to; None: nobody asks

    def grown(self) -> list[int]:
        """The slices that groups came to since this was last asked; none when it is asked for the first time."""
        found, self._grown = self._grown, set()
        return sorted(found or ())

    def touched_slots(self) -> np.ndarray:
        """The slots that rows went to since this was last asked, where slices have several."""
        found, self._touched_slots = self._touched_slots, set()
        if found is not None:
            return np.array(sorted(found), np.int64)
        return np.unique(np.concatenate([np.zeros(0, np.int64), *(t.slots() for t in self.tables.values())]))

    def touched(self) -> list[int]:
        """The slices that rows went to since this was last asked."""
        found, self._touched = self._touched, set()
        return sorted(self.tables if found is None else found & self.tables.keys())

    def __len__(self) -> int:
        return self.held

    def _account(self, number: int) -> None:
        """Keep the totals: they are asked for at every promise."""
        table = self.tables.get(number)
        before_rows, before_size = self._sizes.get(number, (0, 0))
        rows = 0 if table is None else len(table.keys.ids)
        if table is not None and rows == before_rows and not self.shape.varies:
            return  # no group came or went
        self._sizes.pop(number, None)
        size = 0 if table is None else table.nbytes
        if self._grown is not None:
            if rows > before_rows:
                self._grown.add(number)
            elif not rows:
                self._grown.discard(number)
        self.held += rows - before_rows
        self.nbytes += size - before_size
        if table is not None:
            self._sizes[number] = (rows, size)

    def update(self, slots: np.ndarray, keys: Sequence[Key], values: Sequence[Prepared]) -> list[int]:
        """Take rows in; the slices that they went to."""
        return self._spread(Table.update, slots, keys, values)

    def merge(self, slots: np.ndarray, keys: Sequence[Key], partials: Sequence[Accumulator]) -> list[int]:
        """Take partials in, as `update` takes rows."""
        return self._spread(Table.merge, slots, keys, partials)

    def _spread(
        self, take_in: Callable[..., None], slots: np.ndarray, keys: Sequence[Key], of: Sequence[Any]
    ) -> list[int]:
        """``take_in`` is one of the table's methods, and ``of`` what it takes in."""
        if self._further > SPREAD and self._rows < self._further * self._enough:
            self._widen()
        order_slots = self.shape.kernels.order_slots
        numbers, order, starts = order_slots(slots, self.shift)
        while len(numbers) > SPREAD and self._is_adaptive and self._is_thin(len(slots), len(numbers)):
            self._widen()
            numbers, order, starts = order_slots(slots, self.shift)
        self._rows += len(slots)
        found: list[int] = numbers.tolist()
        if self._touched_slots is not None:
            self._touched_slots.update(np.unique(slots).tolist())
        alone = self.thin is not None and not self.shift
        self._further += sum(number not in self.tables for number in found) if alone else len(found) - 1
        for i, number in enumerate(found):
            rows = None if order is None else order[starts[i] : starts[i + 1]]
            take_in(self._table(number), slots, keys, of, rows)
            self._account(number)
        return found

    def _table(self, number: int) -> Table:
        self._changed.add(number)
        if self._touched is not None:
            self._touched.add(number)
        table = self.tables.get(number)
        if table is None:
            # neighbours are much alike: a table that is on its way to their size grows there in one go
            last = self.tables.get(self._newest)
            expected = max(self._expected, 0 if last is None else len(last.keys.ids))
            table = self.tables[number] = Table(self.shape, self.shift > 0, number << self.shift, expected)
            self._newest = number
        return table

    @property
    def _is_adaptive(self) -> bool:
        return self.adaptive and self.shift < _WIDEST

    @property
    def _enough(self) -> int:
        """Rows that should come for each further slice."""
        return SPREAD if self.thin is None or self.shift else self.thin

    def _is_thin(self, rows: int, slices: int) -> bool:
        return self.thin is None or self.shift > 0 or rows < self.thin * slices

    def _widen(self) -> None:
        """Slices of four times as many slots; what is held is merged into them."""
        if not self._is_adaptive:
            return
        self.shift += 2
        self._expected = 0
        narrow, self.tables = self.tables, {}
        for number in narrow:
            self._account(number)
        self._changed = self._parts.saved(self._changed | narrow.keys())  # all are saved anew
        for number, table in narrow.items():
            self._table(number >> 2).absorb(table)
            self._account(number >> 2)
        self._further = self._rows = 0

    @property
    def is_dense(self) -> bool:
        """Have slots come to share slices that hold enough for slices of their own?

        Groups are counted, not rows: where a few groups have all rows, one table for many slots costs as little. Four
        times as many as make it wider: or it would go back and forth.
        """
        if self.thin is None or not self.shift or not self.tables:
            return False
        first, last = (self.tables[number].slots() for number in (min(self.tables), max(self.tables)))
        return len(self) > 4 * self.thin * (int(last.max()) - int(first.min()) + 1)

    def narrow(self) -> None:
        """A slice for each slot again."""
        wide, self.tables, self.shift = self.tables, {}, 0
        self._expected = self._further = self._rows = 0
        for number in wide:
            self._account(number)
        self._changed = self._parts.saved(self._changed | wide.keys())  # all are saved anew
        for table in wide.values():
            slots, order, starts = self.shape.kernels.order_slots(table.slots(), 0)
            rows = np.arange(len(table)) if order is None else order
            for i, slot in enumerate(slots.tolist()):
                self._table(slot).absorb(table.select(rows[starts[i] : starts[i + 1]]))
                self._account(slot)

    def numbers_below(self, bound: int) -> list[int]:
        """The slices that begin below a slot."""
        return sorted([n for n in self.tables if n << self.shift < bound])  # a list: what it yields would be calls

    def take_below(self, bound: int) -> Iterator[Table]:
        """Remove and give the groups whose slot is below the bound: whole slices, and part of one at the boundary."""
        kernels = self.shape.kernels
        for number in self.numbers_below(bound):
            table = self.tables[number]
            if (number + 1) << self.shift <= bound:
                yield self._remove(number)
                continue
            slots = table.slots()
            gone = kernels.select_below(slots, bound)
            if len(gone):
                self.replace(number, table.select(kernels.select_not_below(slots, bound)))
                yield table.select(gone)

    def take_where(self, number: int, mask: np.ndarray) -> Table | None:
        """Remove and give the groups of one slice that the mask names."""
        if not mask.any():
            return None
        if mask.all():
            return self._remove(number)
        table = self.tables[number]
        self.replace(number, table.select(np.flatnonzero(~mask)))
        return table.select(np.flatnonzero(mask))

    def replace(self, number: int, table: Table) -> None:
        if len(table):
            self.tables[number] = table
            self._changed.add(number)
            self._account(number)
        else:
            self._remove(number)

    def _remove(self, number: int) -> Table:
        self._parts.note_gone(self._changed, number)
        if self._touched is not None:
            self._touched.discard(number)
        table = self.tables.pop(number)
        groups = len(table.keys.ids)
        self._expected = groups + groups // 16  # the next one may have a few more: that should not double it
        self._account(number)
        return table

    def drop_below(self, slot: int) -> None:
        """Remove the groups whose slot is below this one."""
        for number in self.numbers_below(slot):
            if (number + 1) << self.shift <= slot:
                self._remove(number)
                continue
            table = self.tables[number]
            stays = self.shape.kernels.select_not_below(table.slots(), slot)
            if len(stays) < len(table):
                self.replace(number, table.select(stays))

    def save(self) -> Iterator[Part]:
        """The slices that changed since the last save; all of them after slices got wider, or narrow again."""
        yield from self._parts.save(self.shift, self._changed, self._part)
        self._changed = set()

    def _part(self, number: int) -> pa.RecordBatch | None:
        return self.tables[number].to_batch() if number in self.tables else None

    def load(self, parts: Iterable[Part]) -> None:
        shift, found = self._parts.load(dict(parts))
        self.shift = shift or 0
        self.tables = {}
        self.nbytes = self.held = 0
        self._sizes = {}
        for number, part in found:
            assert number is not None
            self._table(number).load_batch(part)
            self._account(number)
        self._changed = set()
