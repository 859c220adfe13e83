"""Which rows are in the order that is assumed, and what can be promised for it (papers/000, section 5.2.2).

A row is out of order by n if more than n rows of its group before it are greater: if it is below the (n+1)-th greatest
so far. So that is what can be promised of the group once rows out of order are set aside. All rows count, also those
that are set aside: they are below what decides, and do not move it.

Three ways to the same: by group, for orders on `Tup#`, and with a promise about all groups together, as the policies of
sources make it (`oop.punctuation.progress_groups`).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import pyarrow as pa

from oop.kernels import dispatch, views
from oop.kernels.reference_late import least_of
from oop.operators.base import Part, read_text, text_part
from oop.operators.group_values import of_column
from oop.operators.order import Order
from oop.operators.order_groups import OrderGroups
from oop.operators.partition_rows import places_of
from oop.punctuation import Policy, Punctuation
from oop.punctuation.patterns import Bound
from oop.punctuation.progress_groups import Grouped

_GROUPS = "groups"


class OrderProgress(ABC):
    """What was seen so far. ``observe`` is given rows that all have a value, in the order of their arrival."""

    @abstractmethod
    def observe(self, batch: pa.RecordBatch) -> np.ndarray:
        """For each row what the rows before it imply: the bound that it must not be below."""

    @abstractmethod
    def promises(self) -> Iterator[Punctuation]:
        """What can be promised now, of groups about which it was not already."""

    @property
    @abstractmethod
    def nbytes(self) -> int: ...

    @abstractmethod
    def save(self) -> Iterator[Part]: ...

    @abstractmethod
    def load(self, parts: Mapping[str, pa.RecordBatch | None]) -> None: ...


class _ByGroup(OrderProgress):
    """Each group by itself; ``touched`` are those that rows came for since promises were last asked for."""

    def __init__(self, order: Order, schema: pa.Schema) -> None:
        self.order = order
        self.groups = OrderGroups(schema, order.group_by)
        self.touched: set[int] = set()
        self.given: dict[int, Bound] = {}
        self._unsaved = False

    def _enter(self, batch: pa.RecordBatch) -> np.ndarray:
        ids = self.groups.ids(batch)
        self._unsaved |= len(ids) > 0
        return ids

    @abstractmethod
    def bound(self, group: int) -> Bound | None:
        """What no later row of the group is below."""

    def promises(self) -> Iterator[Punctuation]:
        for group in sorted(self.touched):
            bound = self.bound(group)
            if bound is not None and bound != self.given.get(group):
                self.given[group] = bound
                yield Punctuation({self.order.on: bound}, self.groups.where(group))
        self.touched = set()

    @abstractmethod
    def _kept(self) -> pa.Array:
        """What is kept of each group."""

    @abstractmethod
    def _restore(self, kept: pa.Array) -> None: ...

    def save(self) -> Iterator[Part]:
        if self._unsaved:
            names = [*map(str, range(len(self.groups.columns))), "kept"]
            yield _GROUPS, pa.record_batch([*self.groups.arrays(), self._kept()], names=names)
            self._unsaved = False

    def load(self, parts: Mapping[str, pa.RecordBatch | None]) -> None:
        part = parts.get(_GROUPS)
        self.touched, self.given, self._unsaved = set(), {}, False
        if part is None:
            self.groups.forget()
            self._restore(pa.nulls(0))
        else:
            self.groups.load(part.columns[:-1], part.num_rows)
            self._restore(part.columns[-1])


class BySlack(_ByGroup):
    """By the n + 1 greatest values of each group so far.

    >>> rows = pa.record_batch({"Time": [1, 4, 2, 5, 3]})
    >>> seen = BySlack(Order("Time", slack=1), rows.schema)
    >>> seen.observe(rows)[2:].tolist(), list(seen.promises())
    ([1, 2, 4], [Punctuation(Time < 4)])
    """

    def __init__(self, order: Order, schema: pa.Schema) -> None:
        super().__init__(order, schema)
        floating = pa.types.is_floating(schema.field(order.on).type)
        self.type = pa.float64() if floating else pa.int64()
        self.dtype = np.dtype(np.float64 if floating else np.int64)
        self._begin()

    def _begin(self) -> None:
        self.rows = dispatch.kernels().RowBounds(self.order.slack, self.dtype)
        self._bounds = np.zeros(0, self.dtype)

    @property
    def nbytes(self) -> int:
        return self.groups.nbytes + self.rows.nbytes

    def observe(self, batch: pa.RecordBatch) -> np.ndarray:
        ids = self._enter(batch)
        self.touched.update(np.unique(ids).tolist())
        bounds: np.ndarray = self.rows.push(ids, views.times(batch.column(self.order.on)))
        return bounds

    def promises(self) -> Iterator[Punctuation]:
        if self.touched:
            self._bounds = self.rows.bounds()
        return super().promises()

    def bound(self, group: int) -> Bound | None:
        found: Bound = self._bounds[group].item()
        return None if found == least_of(self._bounds) else found

    def _kept(self) -> pa.Array:
        ids, values = self.rows.held()
        ends = np.cumsum(np.bincount(ids, minlength=len(self.groups)))
        offsets = pa.array(np.concatenate([[0], ends]), pa.int64())
        return pa.LargeListArray.from_arrays(offsets, pa.array(values, self.type))

    def _restore(self, kept: pa.Array) -> None:
        self._begin()
        if len(kept):
            sizes = np.diff(kept.offsets.to_numpy())
            self.rows.push(np.repeat(np.arange(len(kept)), sizes), views.times(kept.flatten()))


class ByNumber(_ByGroup):
    """An order on `Tup#`: row i of a group has the number i, and after n rows the next have n and more. So what a
    row must not be below is its own number."""

    def __init__(self, order: Order, schema: pa.Schema) -> None:
        super().__init__(order, schema)
        self.counts = np.zeros(0, np.int64)

    @property
    def nbytes(self) -> int:
        return self.groups.nbytes + self.counts.nbytes

    def observe(self, batch: pa.RecordBatch) -> np.ndarray:
        ids = self._enter(batch)
        new = np.zeros(len(self.groups) - len(self.counts), np.int64)
        before = np.concatenate([self.counts, new])
        rows = np.bincount(ids, minlength=len(before))
        self.counts = before + rows
        self.touched.update(np.flatnonzero(rows).tolist())
        return before[ids] + places_of(ids)

    def bound(self, group: int) -> Bound | None:
        return int(self.counts[group])

    def _kept(self) -> pa.Array:
        return pa.array(self.counts)

    def _restore(self, kept: pa.Array) -> None:
        self.counts = np.array(kept.to_pylist(), np.int64)


class ByPolicy(OrderProgress):
    """Groups that are known, or that retire, so that something can be promised about all rows: row by row, as a source
    does it (DESIGN section 3)."""

    def __init__(self, policy: Policy, on: str) -> None:
        self.progress = Grouped(policy, on)

    @property
    def nbytes(self) -> int:
        return 64 * len(self.progress.trackers)

    def observe(self, batch: pa.RecordBatch) -> np.ndarray:
        times = views.times(batch.column(self.progress.attribute))
        found = self.progress.observe(times.tolist(), of_column(batch.column(self.progress.by)))
        least = -np.inf if times.dtype == np.float64 else np.iinfo(np.int64).min
        return np.array([least if bound is None else bound for bound in found], times.dtype)

    def promises(self) -> Iterator[Punctuation]:
        return self.progress.promises()

    def save(self) -> Iterator[Part]:
        yield text_part(_GROUPS, self.progress.state())

    def load(self, parts: Mapping[str, pa.RecordBatch | None]) -> None:
        part = parts.get(_GROUPS)
        if part is not None:
            said: Any = read_text(part)
            self.progress.restore(said)
