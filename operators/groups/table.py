"""`Table`: the groups of one slice of time. Keys become dense ids, and accumulators hold partial aggregates by id.

A table takes rows in, or partial aggregates, and merges other tables. A *slot* is where a group stands in time. If the
slice spans several slots, the table is ``slotted``: the slot is then one more key column.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import copy
from typing import cast

import numpy as np
import pyarrow as pa

from oop.kernels import views
from oop.kernels.signatures.groups import GroupTableBase
from oop.kernels.views import Column
from oop.operators.core.keys import Key, KeyTable
from oop.operators.core.taken_keys import TakenKeys
from oop.operators.functions.accumulators import Accumulator, Prepared, take
from oop.operators.groups.shape import NOTHING, Edges, Shape


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
        self.groups = 0
        """How many there are. Every batch asks, so it is an attribute."""
        self._numbers: tuple[KeyTable, np.ndarray] | None = None  # see `numbers_in`

    def __len__(self) -> int:
        return self.groups

    @property
    def nbytes(self) -> int:
        found = self.keys.nbytes + (0 if self._numbers is None else self._numbers[1].nbytes)
        for accumulator in self.accumulators:
            found += accumulator.nbytes
        return found

    @property
    def codes(self) -> GroupTableBase:
        """The table of its keys, where a program puts them; text stands there by its codes."""
        return self.keys.ids

    @property
    def texts(self) -> Mapping[int, GroupTableBase]:
        """The tables of keys that are text, by their places."""
        return self.keys.texts

    def arrays(self) -> list[np.ndarray]:
        """The arrays of all accumulators, for a program to update, with all their room."""
        return [array for accumulator in self.accumulators for array in accumulator.whole_arrays()]

    def make_room(self, groups: int) -> None:
        for accumulator in self.accumulators:
            accumulator.make_room(groups)

    def settle(self) -> None:
        """Take note of the groups that a program has added."""
        self.groups = len(self.keys.ids)
        for accumulator in self.accumulators:
            accumulator.grow(self.groups, self.expected)

    def begin_anew(self, slot: int, expected: int) -> None:
        """Forget the groups, and serve another slot with the room that there is. No key may be text."""
        self.slot, self.expected, self.groups, self._numbers = slot, expected, 0, None
        ids = self.keys.ids
        ids.clear()
        ids.reserve(expected)
        for accumulator in self.accumulators:
            accumulator.reset()

    def numbers_in(self, others: KeyTable, places: Sequence[int]) -> np.ndarray:
        """The numbers that the groups have in another table, which has some of the key columns. They are kept, so
        that only groups that have come since are looked up."""
        known = self._numbers[1] if self._numbers is not None and self._numbers[0] is others else np.zeros(0, np.int64)
        if len(known) < len(self):
            new = np.arange(len(known), len(self))
            columns = self.keys.take(new) if len(known) else self.keys.columns()
            known = np.concatenate([known, others.map([columns[i] for i in places], len(new))])
            self._numbers = others, known
        return known

    def numbered_in(self, others: KeyTable) -> int:
        """How many of the groups, from the first on, `numbers_in` has looked up in this other table."""
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
        """Merge other tables' partials into this one, all in one call, because a call costs more than a group."""
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
        ids = self.keys.map(columns, len(slots), rows)
        if len(self.keys.ids) > self.groups:  # what `settle` does, without a call for each batch
            self.groups = len(self.keys.ids)
            for accumulator in self.accumulators:
                accumulator.grow(self.groups, self.expected)
        return ids

    def slots(self) -> np.ndarray:
        if self.slotted:
            return self.keys.codes.columns()[-1].data
        return np.full(len(self), self.slot, np.int64)

    def key_columns(self) -> list[Column]:
        return self.keys.columns()[: len(self.shape.keys)]

    def key_arrays(self, start: int = 0, stop: int | None = None) -> dict[str, pa.Array]:
        """The keys of all groups, or of those from ``start`` up to ``stop``."""
        return dict(zip(self.shape.keys, self.keys.arrays(self.shape.key_types, start, stop), strict=False))

    def select(self, indices: np.ndarray) -> Table:
        """Some of the groups, as a table of their own."""
        out = Table(self.shape, self.slotted, self.slot, len(indices))
        out._map(self.slots()[indices], [views.take_rows(c, indices) for c in self.key_columns()])
        out.accumulators = [a.take(indices) for a in self.accumulators]
        if self._numbers is not None and len(self._numbers[1]) == len(self):
            out._numbers = self._numbers[0], self._numbers[1][indices]
        return out

    def leaving(self, indices: np.ndarray) -> Table:
        """Some of the groups, which leave: no row and no partial can be added to the table that has them."""
        out = copy(self)
        out._numbers = None
        out.keys = cast(KeyTable, TakenKeys(self.keys.take(indices)))  # all that is asked of such a table's keys
        out.groups, out.accumulators = len(indices), [a.take(indices) for a in self.accumulators]
        return out

    def copy(self) -> Table:
        """The same groups with aggregates of their own; what is kept of a key stays as it is, and is shared."""
        out = Table(self.shape, self.slotted, self.slot)
        out.keys, out.accumulators = self.keys, [a.copy() for a in self.accumulators]
        out.groups = self.groups
        return out

    def results(self, edges: Edges | None = None) -> list[pa.Array]:
        return [*self.key_arrays().values(), *self.shape.results(self.accumulators, edges)]

    def to_batch(self) -> pa.RecordBatch:
        """Everything it holds, as a part to save."""
        return self.shape.to_batch(self.slots(), list(self.key_arrays().values()), self.accumulators)

    def load_batch(self, batch: pa.RecordBatch) -> None:
        """Load groups into an empty table; each gets the place that it had."""
        self._map(*self.shape.read_groups(batch))
        self.accumulators = self.shape.read_partials(batch)
