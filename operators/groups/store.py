"""`Store`: groups and their partial aggregates, held in slices of time so that a promise frees them in bulk.

A *slot* is where a group stands in time: a pane of a window, or a progressing attribute's value. The store has one
`Table` (`table.py`) for each slice of slots, by its number. A slice spans one slot (then the slot need not be part of
the key) until batches turn out to spread thinly over many slots; then slices get wider by powers of two. Panes cost
less if each has a table of its own, so slices of panes become narrow again when they have filled up.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from oop.operators.core.keys import Key
from oop.operators.core.parts import Part
from oop.operators.core.slice_parts import SliceParts
from oop.operators.functions.accumulators import Accumulator, Prepared
from oop.operators.groups.shape import Shape
from oop.operators.groups.table import Table

SPREAD = 64  # slices that one batch may touch; and rows that a batch should bring to each further slice it touches
SPARE_BYTES = 65_536  # a spare table of keys is kept if it has at most so many bytes,
SPARE_EACH = 128  # or at most so many bytes a group
_ALL = np.zeros(0, np.int64)  # stands for where slices start, if all rows are of one slice
_WIDEST = 60  # then there are at most three slices: before 0, after it, and without a time


class Store:
    """Tables by slice number. With ``adaptive=False`` every slot keeps a slice of its own; if ``thin`` is given, also
    where slots have at least so many rows, on average."""

    def __init__(self, shape: Shape, *, adaptive: bool = True, thin: int | None = None) -> None:
        self.shape = shape
        self.adaptive = adaptive
        self.thin = thin
        self.shift = 0
        # since slices were last made wider: slices touched beyond the first of each batch (with ``thin``, as long as
        # slots have slices of their own, new slices), and rows
        self._further = 0
        self._rows = 0
        self._train = (0, 0)  # the slices that the train of a program has gone to so far, and its rows
        self.tables: dict[int, Table] = {}
        self.nbytes = 0
        self.held = 0  # groups in all slices
        self._expected = 0  # groups in the slice that was last removed
        self._newest = 0  # the number of the slice that was last made
        self._sizes: dict[int, tuple[int, int]] = {}
        self._parts = SliceParts()
        self._changed: set[int] = set()
        # slices, and slots, that rows went to since they were last asked for; None: they never were
        self._touched: set[int] | None = None
        self._touched_slots: set[int] | None = None
        self._grown: set[int] | None = None  # slices that groups came to; None: they were never asked for
        self._spare: Table | None = None  # what one slot left behind, for the next one
        self._spare_bytes = 0
        self.version = 0  # counts the times that groups came or went; in between no table and no array is replaced

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
        """Bring the totals up to date, which are asked for at every promise."""
        table = self.tables.get(number)
        before_rows, before_size = self._sizes.get(number, (0, 0))
        rows = 0 if table is None else table.groups
        if table is not None and rows == before_rows and not self.shape.varies:
            return  # no group came or went
        self.version += 1
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
        """Take rows in; the result is the slices that they went to."""
        return self._spread(Table.update, slots, keys, values)

    def merge(self, slots: np.ndarray, keys: Sequence[Key], partials: Sequence[Accumulator]) -> list[int]:
        """Take partials in, as `update` takes rows."""
        return self._spread(Table.merge, slots, keys, partials)

    def _spread(
        self, take_in: Callable[..., None], slots: np.ndarray, keys: Sequence[Key], of: Sequence[Any]
    ) -> list[int]:
        """Let tables take in ``of``, by one of their methods; the result is the slices that were touched."""
        if self._further > SPREAD and self._rows < self._further * self._enough:
            self.widen()  # rows have come thinly spread over slices
        if len(slots) == 1:  # live batches may be single rows, and a kernel costs more than a shift
            found, order, starts = [int(slots[0]) >> self.shift], None, _ALL
        else:
            order_slots = self.shape.kernels.order_slots
            numbers, order, starts = order_slots(slots, self.shift)
            while len(numbers) > SPREAD and self._is_thin(len(slots), len(numbers)):
                self.widen()
                numbers, order, starts = order_slots(slots, self.shift)
            found = numbers.tolist()
        self._rows += len(slots)
        if self._touched_slots is not None:
            self._touched_slots.update(np.unique(slots).tolist())
        alone = self.thin is not None and not self.shift
        self._further += sum(number not in self.tables for number in found) if alone else len(found) - 1
        for i, number in enumerate(found):
            rows = None if order is None else order[starts[i] : starts[i + 1]]
            take_in(self._table(number), slots, keys, of, rows)
            self._account(number)
        return found

    def begin_train(self) -> None:
        """A program is about to bring rows."""
        if self._further > SPREAD and self._rows < self._further * self._enough:
            self.widen()
        self._train = (0, 0)

    def table(self, number: int) -> Table:
        """The table of a slice, for a program that brings rows to it; it is made if there is none."""
        if self.thin is not None and not self.shift:
            self._further += number not in self.tables
        return self._table(number)

    def took(self, numbers: Sequence[int], rows: int) -> None:
        """Take note of the rows that a program has brought to these slices, which were made by `table`."""
        self._rows += rows
        if self.thin is None or self.shift:
            self._further += len(numbers) - 1
        for number in numbers:
            table = self.tables[number]
            self._changed.add(number)
            if self._touched is not None:
                self._touched.add(number)
            if len(table.keys.ids) > table.groups:
                table.settle()
                self._account(number)
        slices, rows = self._train[0] + len(numbers), self._train[1] + rows
        if slices > SPREAD and self._is_thin(rows, slices):
            self.widen()  # as for a batch that goes to as many slices
            slices //= 4
        self._train = slices, rows

    def _table(self, number: int) -> Table:
        self._changed.add(number)
        if self._touched is not None:
            self._touched.add(number)
        table = self.tables.get(number)
        if table is None:
            # neighbours are much alike: a table that is on its way to their size grows there in one go
            last = self.tables.get(self._newest)
            expected = max(self._expected, 0 if last is None else last.groups)
            table = self._spare
            if table is not None:
                self.drop_spare()
            if table is None or self.shift:
                table = Table(self.shape, self.shift > 0, number << self.shift, expected)
            else:
                table.begin_anew(number, expected)
            self.tables[number] = table
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
        """Should slices be wider, if so many rows of a batch come to so many of them?"""
        return self._is_adaptive and (self.thin is None or self.shift > 0 or rows < self.thin * slices)

    def widen(self) -> None:
        """Make slices of four times as many slots, and merge what is held into them."""
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
        times as many are asked for as keep slices from getting wider, or the store would go back and forth.
        """
        if self.thin is None or not self.shift or not self.tables:
            return False
        first, last = (self.tables[number].slots() for number in (min(self.tables), max(self.tables)))
        return len(self) > 4 * self.thin * (int(last.max()) - int(first.min()) + 1)

    def narrow(self) -> None:
        """Give each slot a slice of its own again."""
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
        return sorted([n for n in self.tables if n << self.shift < bound])  # a generator costs more

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

    def take_whole(self, number: int) -> None:
        """Remove a slice of one slot, whose groups have been copied. The next slot gets its table, unless that is large
        and has much room that its groups did not need, which would have to be cleared."""
        size = self._sizes[number][1]
        table = self._remove(number)
        held = table.keys.ids.nbytes
        if not table.slotted and (held <= SPARE_BYTES or held <= SPARE_EACH * table.groups):
            self.drop_spare()
            self._spare, self._spare_bytes = table, size
            self.nbytes += size

    def drop_spare(self) -> None:
        """Keep no table for the next slot."""
        self.nbytes -= self._spare_bytes
        self._spare, self._spare_bytes = None, 0

    def take_where(self, number: int, mask: np.ndarray) -> Table | None:
        """Remove and give the groups of one slice that the mask names."""
        if not mask.any():
            return None
        if mask.all():
            return self._remove(number)
        table = self.tables[number]
        self.replace(number, table.select(np.flatnonzero(~mask)))
        return table.leaving(np.flatnonzero(mask))

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
        groups = table.groups
        self._expected = groups + groups // 16  # a few groups more should not double the next table's room
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
        self._spare, self._spare_bytes = None, 0
        self.nbytes = self.held = 0
        self._sizes = {}
        for number, part in found:
            assert number is not None
            self._table(number).load_batch(part)
            self._account(number)
        self._changed = set()
