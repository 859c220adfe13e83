"""Which rows are in the order that is assumed, and what can be promised for it (papers/000, section 5.2.2).

Three ways to the same: each group by its greatest rows (`order_by_slack.py`), or by its number of rows where the order
is on `Tup#` (`order_by_number.py`); and with a promise about all groups together, as sources make it
(`order_by_policy.py`). The first two share `ByGroup`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping

import numpy as np
import pyarrow as pa

from oop.operators.base import Part
from oop.operators.order import Order
from oop.operators.order_groups import OrderGroups
from oop.punctuation import Punctuation
from oop.punctuation.patterns import Bound

GROUPS = "groups"  # the part that all three save


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


class ByGroup(OrderProgress):
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
            yield GROUPS, pa.record_batch([*self.groups.arrays(), self._kept()], names=names)
            self._unsaved = False

    def load(self, parts: Mapping[str, pa.RecordBatch | None]) -> None:
        part = parts.get(GROUPS)
        self.touched, self.given, self._unsaved = set(), {}, False
        if part is None:
            self.groups.forget()
            self._restore(pa.nulls(0))
        else:
            self.groups.load(part.columns[:-1], part.num_rows)
            self._restore(part.columns[-1])
