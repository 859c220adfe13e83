"""Rows that groups hold, for functions whose state has no fixed size: lists, distinct values, quantiles.

`RowsByGroup` are never changed in place, so that copies of an accumulator may share them. `HoldsRows` is what
accumulators that hold rows have in common. Rows are appended in chunks, and when the chunks have grown as large as what
was settled before, all are settled together; so each row is looked at a few times, however many batches there are.
Groups that are cleared, such as sessions that went out, leave their rows behind, and these are taken out when they are
many.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from oop.kernels import dispatch, views
from oop.operators.core.stretches import numbers_in
from oop.operators.functions.accumulators import Accumulator

_GONE = -1  # in place of a group: it was cleared
_FEW = 4096  # so many rows may always wait to be settled


@dataclass(frozen=True, eq=False, slots=True)
class RowsByGroup:
    """Row i belongs to group ``ids[i]``.

    >>> rows = RowsByGroup(np.array([1, 0, 1]), (pa.array(["a", "b", "c"]),))
    >>> rows.by_group().lists(3)[0].to_pylist()
    [['b'], ['a', 'c'], []]
    """

    ids: np.ndarray
    columns: tuple[pa.Array, ...]

    def __len__(self) -> int:
        return len(self.ids)

    @property
    def nbytes(self) -> int:
        return int(self.ids.nbytes) + sum(c.nbytes for c in self.columns)

    def take(self, rows: np.ndarray) -> RowsByGroup:
        """The rows with these numbers, in memory of their own."""
        places = pa.array(rows)
        return RowsByGroup(self.ids[rows], tuple(c.take(places) for c in self.columns))

    def to(self, ids: np.ndarray) -> RowsByGroup:
        """The rows of group i as rows of group ids[i]."""
        return RowsByGroup(ids[self.ids], self.columns)

    def of_groups(self, indices: np.ndarray) -> RowsByGroup:
        """The rows of group indices[i] as rows of group i; a group may be asked for several times, or not at all."""
        rows, ids = find_groups(self.ids, indices)
        taken = self.take(rows)
        return RowsByGroup(ids, taken.columns)

    def by_group(self) -> RowsByGroup:
        """The same rows in the order of their groups; those of one group stay in the order they have."""
        order = order_groups(self.ids)
        return self if order is None else self.take(order)

    def there(self) -> RowsByGroup:
        """The rows without those whose group was cleared."""
        there = self.ids != _GONE
        return self if there.all() else self.take(np.flatnonzero(there))

    def lists(self, groups: int, *, null: bool = False) -> list[pa.Array]:
        """For each column a list for each group; the rows must be in the order of their groups. With ``null`` a group
        without rows has a null instead of an empty list."""
        offsets = np.searchsorted(self.ids, np.arange(groups + 1)).astype(np.int32)
        mask = pa.array(offsets[1:] == offsets[:-1]) if null else None
        return [pa.ListArray.from_arrays(pa.array(offsets), c, mask=mask) for c in self.columns]

    def one_each(self, groups: int) -> pa.Array:
        """For each group the first column's value; null for one without a row. No group has more than one."""
        places = np.zeros(groups, np.int64)
        there = np.zeros(groups, np.bool_)
        places[self.ids], there[self.ids] = np.arange(len(self)), True
        return self.columns[0].take(pa.array(places, mask=~there))

    @staticmethod
    def of_lists(lists: Sequence[pa.Array]) -> RowsByGroup:
        """The rows of lists that `lists` made without ``null``."""
        lengths = views.column(lists[0].value_lengths()).data
        ids = np.repeat(np.arange(len(lengths)), lengths)
        return RowsByGroup(ids, tuple(column.flatten() for column in lists))

    @staticmethod
    def of_each(parts: Iterable[tuple[RowsByGroup, int]]) -> RowsByGroup:
        """The rows of several, each given with its number of groups; its groups are numbered after those before it.

        >>> rows = RowsByGroup(np.array([1, 0]), (pa.array(["a", "b"]),))
        >>> RowsByGroup.of_each([(rows, 2), (rows, 2)]).ids.tolist()
        [1, 0, 3, 2]
        """
        moved, start = [], 0
        for rows, groups in parts:
            moved.append(RowsByGroup(rows.ids + start, rows.columns))
            start += groups
        return RowsByGroup.concat(moved)

    @staticmethod
    def concat(parts: Sequence[RowsByGroup]) -> RowsByGroup:
        """All of these rows, one part after the other."""
        if len(parts) == 1:
            return parts[0]
        columns = zip(*(p.columns for p in parts), strict=True)
        return RowsByGroup(np.concatenate([p.ids for p in parts]), tuple(pa.concat_arrays(c) for c in columns))


def order_groups(ids: np.ndarray) -> np.ndarray | None:
    """The order of rows by group, in which rows of one group keep their order; None if they are in it already.

    >>> order_groups(np.array([2, 0, 2])).tolist()
    [1, 0, 2]
    """
    if (ids[1:] >= ids[:-1]).all():
        return None
    return dispatch.kernels().order_slots(ids, 0)[1]


def find_groups(ids: np.ndarray, indices: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The numbers of the rows whose group is asked for, and for each the place in ``indices`` that asks for it.

    >>> [found.tolist() for found in find_groups(np.array([5, 7, 5]), np.array([5, 5, 6]))]
    [[0, 0, 2, 2], [0, 1, 0, 1]]
    """
    order = np.argsort(indices, kind="stable")
    asked = indices[order]
    first, last = np.searchsorted(asked, ids, "left"), np.searchsorted(asked, ids, "right")
    times = last - first
    rows = np.repeat(np.arange(len(ids)), times)
    return rows, order[numbers_in(first, times)]


class HoldsRows(Accumulator):
    """An accumulator that holds rows. ``types`` are the types of their columns, and a subclass says by `settle` which
    of them the result may need."""

    fields = ()
    varies = True
    types: tuple[pa.DataType, ...]

    def __init__(self, source: pa.DataType, result: pa.DataType, types: Sequence[pa.DataType]) -> None:
        super().__init__(source, result)
        self.types = tuple(types)
        self._clear()

    def _clear(self) -> None:
        self._settled: RowsByGroup | None = None
        self._gone: np.ndarray | None = None  # which of the settled rows are of groups that were cleared since
        self._gones = 0
        self._waiting: list[RowsByGroup] = []
        self._waits = self._bytes = 0  # rows that wait, and the bytes of them

    @abstractmethod
    def settle(self, rows: RowsByGroup) -> RowsByGroup:
        """The rows that the result may need, in the order of their groups; they are given in any order."""

    @property
    def saved_columns(self) -> int:
        return len(self.types)

    def add(self, rows: RowsByGroup) -> None:
        """It holds these rows too; they must not share memory with a batch."""
        if len(rows):
            self._wait(rows)
            if self._waits > max(_FEW, 0 if self._settled is None else len(self._settled)):
                self.rows()

    def _wait(self, rows: RowsByGroup) -> None:
        self._waiting.append(rows)
        self._waits += len(rows)
        self._bytes += rows.nbytes

    def rows(self) -> RowsByGroup:
        """All rows, settled."""
        self._sweep()
        held = [] if self._settled is None else [self._settled]
        if self._waiting:
            found = self.settle(RowsByGroup.concat([*held, *self._waiting]).there())
            self._clear()
            self._settled = found
        elif not held:
            return RowsByGroup(np.zeros(0, np.int64), tuple(pa.array([], t) for t in self.types))
        assert self._settled is not None
        return self._settled

    def _sweep(self) -> None:
        """Let go of the rows of groups that were cleared."""
        if self._settled is not None and self._gone is not None:
            self._settled = self._settled.take(np.flatnonzero(~self._gone))
            self._gone, self._gones = None, 0

    def gather(self, indices: np.ndarray) -> RowsByGroup:
        """The rows of group indices[i] as rows of group i, in any order; no group is asked for twice. It costs what
        these groups have, and a look at the rows that wait."""
        found = []
        if self._settled is not None:
            rows = self._rows_settled(indices)
            found.append(self._settled.take(rows if self._gone is None else rows[~self._gone[rows]]))
        if self._waiting:
            asked = np.zeros(self.size + 1, np.bool_)  # the last is for rows that are gone
            asked[indices] = True
            found += [rows.take(np.flatnonzero(asked[rows.ids])) for rows in self._waiting]
        if not found:
            return self.rows()
        numbers = np.zeros(self.size, np.int64)
        numbers[indices] = np.arange(len(indices))
        return RowsByGroup.concat(found).to(numbers)

    def _rows_settled(self, groups: np.ndarray) -> np.ndarray:
        """The numbers of the settled rows of some groups; rows of a group stand together."""
        assert self._settled is not None
        starts, ends = (np.searchsorted(self._settled.ids, groups, side) for side in ("left", "right"))
        return numbers_in(starts, ends - starts)

    def unsettle(self) -> None:
        """Have all rows settled again when they are next asked for, because other rows count now."""
        self._sweep()
        if self._settled is not None:
            rows, self._settled = self._settled, None
            self._wait(rows)

    def merge(self, ids: np.ndarray, other: Accumulator) -> None:
        assert isinstance(other, HoldsRows)
        self.add(other.rows().to(ids))

    def empty(self) -> HoldsRows:
        out = super().empty()
        assert isinstance(out, HoldsRows)
        out.types = self.types
        out._clear()
        return out

    def _with(self, rows: RowsByGroup, size: int) -> HoldsRows:
        out = self.empty()
        out.size, out._settled = size, rows
        return out

    def over(self, other: Accumulator) -> Accumulator:
        assert isinstance(other, HoldsRows)
        return self._with(other.rows(), other.size)

    def copy(self) -> Accumulator:
        return self._with(self.rows(), self.size)

    def take(self, indices: np.ndarray) -> Accumulator:
        return self._with(self.rows().of_groups(indices).by_group(), len(indices))

    def take_results(self, indices: np.ndarray) -> Accumulator:
        return self._with(self.settle(self.gather(indices)), len(indices))

    def piece(self, start: int, stop: int) -> Accumulator:
        rows = self.rows()  # settled once for all groups; the rows of some stand together then
        first, last = np.searchsorted(rows.ids, [start, stop]).tolist()
        columns = tuple(c.slice(first, last - first) for c in rows.columns)
        return self._with(RowsByGroup(rows.ids[first:last] - start, columns), stop - start)

    def clear(self, ids: np.ndarray) -> None:
        if self._waiting:
            stays = np.ones(self.size + 1, np.bool_)  # the last is for rows that are gone already
            stays[ids] = False
            for i, chunk in enumerate(self._waiting):
                here = stays[chunk.ids]
                if not here.all():
                    self._waiting[i] = RowsByGroup(np.where(here, chunk.ids, _GONE), chunk.columns)
        if self._settled is None:
            return
        rows = self._rows_settled(ids)
        if self._gone is None:
            self._gone = np.zeros(len(self._settled), np.bool_)
        self._gones += int(len(rows) - self._gone[rows].sum())
        self._gone[rows] = True
        if 2 * self._gones > len(self._settled):
            self._sweep()

    @classmethod
    def concat(cls, pieces: Sequence[Accumulator]) -> Accumulator:
        held = [piece for piece in pieces if isinstance(piece, HoldsRows)]
        return held[0]._with(RowsByGroup.of_each((p.rows(), p.size) for p in held), sum(p.size for p in held))

    @property
    def nbytes(self) -> int:
        settled, gone = self._settled, self._gone  # read once, because another thread may be at work
        return self._bytes + (0 if gone is None else gone.nbytes) + (0 if settled is None else settled.nbytes)

    def to_arrow(self) -> list[pa.Array]:
        return self.rows().lists(self.size)

    def load_arrow(self, columns: Sequence[pa.Array]) -> None:
        self._clear()
        self.size, self._settled = len(columns[0]), RowsByGroup.of_lists(columns)


def held_type(type_: pa.DataType) -> pa.DataType:
    """The type in which values are held: Arrow cannot take rows of string views, nor order small decimals.

    >>> held_type(pa.string_view()), held_type(pa.int8())
    (DataType(string), DataType(int8))
    """
    if pa.types.is_string_view(type_):
        return pa.string()
    if pa.types.is_decimal(type_) and type_.bit_width < 128:
        return pa.decimal128(type_.precision, type_.scale)
    return type_


def as_held(array: pa.Array) -> pa.Array:
    """The values in the type of `held_type`."""
    type_ = held_type(array.type)
    return array if array.type == type_ else array.cast(type_)
