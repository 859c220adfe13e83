"""How far promises reach for each group (paper 004, A.1.1), as arrays: a window's groups are compared in one pass.

A frontier has bounds of groups in dictionaries. Whoever holds groups in tables would have to look up each of them, for
each window, at every promise; here groups have dense ids and bounds stand in an array, which promises about many groups
bring up to date.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

import numpy as np
import pyarrow as pa

from oop.kernels import views
from oop.operators.coverage import INT64_MIN, as_int64, int_bounds
from oop.operators.groups import Table
from oop.operators.keys import KeyTable, read_key
from oop.punctuation import Frontier, GroupPromises, Punctuation
from oop.punctuation.group_promises import Promise
from oop.punctuation.patterns import Bound, Value

Reach = Callable[[Table], np.ndarray]
"""The bound on a whole-number attribute for each group of a table."""


class GroupReach:
    """Follows what a frontier says of an attribute for the groups of some of these key columns."""

    def __init__(self, attribute: str, keys: Sequence[str], types: Sequence[pa.DataType]) -> None:
        self.attribute = attribute
        self.keys = list(keys)
        self.types = dict(zip(keys, map(views.value_type, types), strict=True))
        self.forget()

    def forget(self) -> None:
        """What was known is no longer what the frontier says."""
        self.columns: tuple[str, ...] | None = None

    def follow(self, new: Iterable[Promise]) -> None:
        """The frontier has taken these promises in."""
        for promise in new:
            groups = GroupPromises.of(promise) if isinstance(promise, Punctuation) else promise
            if groups is not None and groups.columns == self.columns:
                if groups.attribute == self.attribute:
                    self._raise(groups.bounds)
            elif isinstance(promise, GroupPromises) or promise.where:
                self.forget()

    def now(self, frontier: Frontier, *, lasting: bool = False) -> Reach:
        """As far as the frontier reaches now; ``lasting``, also when it has gone on."""
        flat = frontier.flat()
        if flat is None or not self.types.keys() >= set(flat[0]):
            self.forget()
            picture = frontier.copy() if lasting else frontier
            return lambda table: np.broadcast_to(int_bounds(picture, self.attribute, table.key_arrays()), len(table))
        if self.columns != flat[0]:
            self.columns = flat[0]
            self.table = KeyTable([views.key_kind(self.types[c]) for c in self.columns])
            self.places = [self.keys.index(c) for c in self.columns]
            self.bounds = np.zeros(0, np.int64)
            self._raise(flat[1].linear.get(self.attribute, {}))
        table, places, bounds = self.table, self.places, self.bounds.copy() if lasting else self.bounds
        least = as_int64(frontier.all.bound(self.attribute))

        def reach(groups: Table) -> np.ndarray:
            columns = groups.key_columns()
            ids = table.map([columns[i] for i in places], len(groups))
            return np.maximum(_bounds_of(bounds, ids), least)

        return reach

    def _raise(self, bounds: Mapping[Value, Bound]) -> None:
        """Bounds never retreat: what comes is what is."""
        assert self.columns is not None
        if not bounds:
            return
        groups = list(bounds)
        values = [groups] if len(self.columns) == 1 else [list(each) for each in zip(*groups, strict=True)]
        arrays = [pa.array(each, self.types[c]) for c, each in zip(self.columns, values, strict=True)]
        ids = self.table.map([read_key(array) for array in arrays], len(groups))
        if len(self.table) > len(self.bounds):
            room = np.full(2 * len(self.table), INT64_MIN)
            room[: len(self.bounds)] = self.bounds
            self.bounds = room
        self.bounds[ids] = _as_int64(list(bounds.values()))


def _bounds_of(bounds: np.ndarray, ids: np.ndarray) -> np.ndarray:
    """The bounds of these groups; of one that no promise has named there is none."""
    known = ids < len(bounds)
    if known.all():
        return bounds[ids]
    found = np.full(len(ids), INT64_MIN)
    found[known] = bounds[ids[known]]
    return found


def _as_int64(bounds: list[Bound]) -> np.ndarray:
    found = np.array(bounds)
    return found if found.dtype == np.int64 else np.array([as_int64(b) for b in bounds], np.int64)
