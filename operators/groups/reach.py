"""How far promises reach for each group (OOP paper, A.1.1), as arrays: a window's groups are compared in one pass.

A frontier has the bounds of groups in dictionaries. An operator that holds groups in tables would have to look up each
group, for each window, at every promise. Here groups have dense ids, and their bounds stand in an array, which promises
about many groups bring up to date. A table keeps the ids of its groups, so that only those that are new to it are
looked up. Where promises move few groups, only slices that hold one of them are examined (`slices.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

import numpy as np
import pyarrow as pa

from oop.kernels import views
from oop.operators.core.coverage import INT64_MIN, as_int64, int_bounds
from oop.operators.core.growing import with_room
from oop.operators.core.keys import KeyTable, read_key
from oop.operators.core.numbered_bounds import NumberedBounds, NumberedGroups
from oop.operators.groups.slices import GroupSlices
from oop.operators.groups.store import Store
from oop.operators.groups.table import Table
from oop.punctuation import Frontier, GroupPromises, Punctuation
from oop.punctuation.group_promises import Promise
from oop.punctuation.patterns import Bound, Value

TableBounds = Callable[[Table], np.ndarray]
"""The bound on a whole-number attribute for each group of a table."""
SlotsOfBound = Callable[[int], tuple[int, int]]
"""For the bound of a group ``(done, end)``: slots below ``done`` are emptied of the group, and slots from ``end``
on are untouched."""
_FEW = 4  # with more slices for each group that promises move, only slices with such groups are examined
_SPARE = 64  # groups that are neither promised about nor held: so many are kept, or as many as the others


class GroupReach:
    """Follows what a frontier says of an attribute for the groups of some of these key columns."""

    def __init__(self, attribute: str, keys: Sequence[str], types: Sequence[pa.DataType]) -> None:
        self.attribute = attribute
        self.keys = list(keys)
        self.types = dict(zip(keys, map(views.value_type, types), strict=True))
        self.forget()

    def forget(self) -> None:
        """Forget all bounds: they are no longer what the frontier says."""
        self.columns: tuple[str, ...] | None = None
        self.table, self.places = KeyTable([]), list[int]()
        self.bounds = np.zeros(0, np.int64)
        self._before: np.ndarray | None = None  # the bounds at the last `before`, once it has been asked
        self._risen: list[np.ndarray] = []  # the groups whose bounds have changed since then
        # the groups that the last promises moved, and how far; None: that is not known, or all of them
        self._moved: list[tuple[np.ndarray, np.ndarray]] | None = None
        self._slices: GroupSlices | None = None  # kept once the slices of few groups are asked for
        # the ids of groups by the numbers that promises know them by, -1 for those that are not here
        self._numbered: tuple[NumberedGroups, np.ndarray] | None = None

    @property
    def nbytes(self) -> int:
        if self.columns is None:
            return 0
        before = 0 if self._before is None else self._before.nbytes
        slices = 0 if self._slices is None else self._slices.nbytes
        numbered = 0 if self._numbered is None else self._numbered[1].nbytes
        return self.table.nbytes + self.bounds.nbytes + before + slices + numbered

    def follow(self, new: Iterable[Promise]) -> None:
        """Take in promises that the frontier has taken in."""
        about_all = False
        self._moved = []
        for promise in new:
            if isinstance(promise, Punctuation):
                if not promise.where:
                    about_all = True
                    continue
                groups = GroupPromises.of(promise)
            else:
                groups = promise
            if groups is not None and groups.columns == self.columns:
                if groups.attribute == self.attribute:
                    self._raise(groups.bounds)
            else:
                self.forget()
        if about_all:
            self._moved = None

    def slices(self, store: Store, due: SlotsOfBound) -> list[int] | None:
        """The slices in which the last promises may have changed something, if they moved few groups; None: any
        slice. It is asked after each `follow`, before groups leave the store."""
        if self._slices is not None:
            self._slices.follow(store)
        if self._moved is None or _FEW * sum(len(ids) for ids, _ in self._moved) > len(store.tables):
            return None
        if self._slices is None:
            self._slices = GroupSlices(self.table, self.places)
            self._slices.follow(store)
        found: set[int] = set()
        for ids, bounds in self._moved:
            for group, bound in zip(ids.tolist(), bounds.tolist(), strict=True):
                done, end = due(bound)
                found.update(self._slices.take(group, done >> store.shift, ((end - 1) >> store.shift) + 1))
        return sorted(number for number in found if number in store.tables)

    def now(self, frontier: Frontier, held: int) -> TableBounds:
        """The bounds that the frontier has now; ``held`` is how many groups tables have, which are asked about."""
        if not self._knows(frontier, held):
            return self._one_by_one(frontier)
        return self._reach(self.bounds, frontier)

    def before(self, frontier: Frontier, held: int) -> TableBounds:
        """The bounds that the frontier has now, which stay the same when it moves on."""
        if not self._knows(frontier, held):
            return self._one_by_one(frontier.copy())
        if self._before is None:
            self._before = self.bounds.copy()
        for ids in self._risen:
            self._before[ids] = self.bounds[ids]
        self._risen = []
        return self._reach(self._before, frontier)

    def _knows(self, frontier: Frontier, held: int) -> bool:
        """Are bounds all that the frontier says of groups? If so, they are here, with few groups that are of no use."""
        flat = frontier.flat()
        if flat is None or not self.types.keys() >= set(flat[0]):
            self.forget()
            return False
        bounds = flat[1].linear.get(self.attribute, {})
        if self.columns != flat[0] or len(self.table) > 2 * (len(bounds) + held) + _SPARE:
            self.forget()
            self.columns = flat[0]
            self.table = KeyTable([views.key_kind(self.types[c]) for c in self.columns])
            self.places = [self.keys.index(c) for c in self.columns]
            self._raise(bounds)
        return True

    def _one_by_one(self, frontier: Frontier) -> TableBounds:
        return lambda table: np.broadcast_to(int_bounds(frontier, self.attribute, table.key_arrays()), len(table))

    def _reach(self, bounds: np.ndarray, frontier: Frontier) -> TableBounds:
        table, places, least = self.table, self.places, as_int64(frontier.all.bound(self.attribute))
        return lambda groups: np.maximum(_bounds_of(bounds, groups.numbers_in(table, places)), least)

    def _raise(self, bounds: Mapping[Value, Bound]) -> None:
        """Take in bounds of groups. Bounds never retreat, so each replaces what was known."""
        assert self.columns is not None
        if not bounds:
            return
        if isinstance(bounds, NumberedBounds):
            ids, moved = self._ids_of_numbers(bounds.groups, bounds.numbers), _as_int64(bounds.bounds)
        else:
            ids, moved = self._ids(list(bounds)), _as_int64(list(bounds.values()))
        self.bounds = with_room(self.bounds, len(self.table), INT64_MIN)
        if self._before is not None:
            self._before = with_room(self._before, len(self.table), INT64_MIN)
            self._risen.append(ids)
        self.bounds[ids] = moved
        if self._moved is not None:
            self._moved.append((ids, moved))

    def _ids(self, groups: list[Value]) -> np.ndarray:
        assert self.columns is not None
        values = [groups] if len(self.columns) == 1 else [list(each) for each in zip(*groups, strict=True)]
        arrays = [pa.array(each, self.types[c]) for c, each in zip(self.columns, values, strict=True)]
        return self.table.map([read_key(array) for array in arrays], len(groups))

    def _ids_of_numbers(self, groups: NumberedGroups, numbers: np.ndarray) -> np.ndarray:
        """The ids of groups that promises know by number; only groups that are new are looked up."""
        if self._numbered is None or self._numbered[0] is not groups:
            self._numbered = groups, np.zeros(0, np.int64)
        known = with_room(self._numbered[1], len(groups), -1)
        self._numbered = groups, known
        new = numbers[known[numbers] < 0]
        if len(new):
            known[new] = self._ids([groups.values[number] for number in new.tolist()])
        return known[numbers]


def _bounds_of(bounds: np.ndarray, ids: np.ndarray) -> np.ndarray:
    """The bounds of these groups; the least number for a group that no promise has named."""
    known = ids < len(bounds)
    if known.all():
        return bounds[ids]
    found = np.full(len(ids), INT64_MIN)
    found[known] = bounds[ids[known]]
    return found


def _as_int64(bounds: list[Bound] | np.ndarray) -> np.ndarray:
    found = np.asarray(bounds)
    return found if found.dtype == np.int64 else np.array([as_int64(b) for b in bounds], np.int64)
