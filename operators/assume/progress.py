"""Which rows are in the assumed order, and what can be promised because of it (Aurora paper, section 5.2.2).

There are three implementations. `by_slack.py` judges each group by its greatest rows, `by_number.py` by its number of
rows, if the order is on `Tup#`. `by_policy.py` also promises about all groups together, as sources do. The first two
share `GroupedOrderProgress`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping

import numpy as np
import pyarrow as pa

from oop.kernels.signatures.late import least_of
from oop.operators.assume.groups import OrderGroups
from oop.operators.assume.order import Order
from oop.operators.core.growing import with_room
from oop.operators.core.numbered_bounds import numbered_bounds
from oop.operators.core.parts import Part
from oop.punctuation import GroupPromises, Punctuation
from oop.punctuation.group_promises import Promise

GROUPS = "groups"  # the part that all three save
_MANY = 64  # groups whose bounds travel as arrays: those of fewer cost less in a dictionary


class OrderProgress(ABC):
    """What was seen so far. ``observe`` is given rows in order of arrival, all of which have a value."""

    @abstractmethod
    def observe(self, batch: pa.RecordBatch) -> np.ndarray:
        """For each row the bound that the rows before it imply, which it must not be below."""

    @abstractmethod
    def promises(self) -> Iterator[Promise]:
        """The promises that can be made now and have not been made yet."""

    @property
    @abstractmethod
    def nbytes(self) -> int: ...

    @abstractmethod
    def save(self) -> Iterator[Part]: ...

    @abstractmethod
    def load(self, parts: Mapping[str, pa.RecordBatch | None]) -> None: ...


class GroupedOrderProgress(OrderProgress):
    """Judges each group by itself. ``touched`` are the groups of rows that came since promises were last asked for."""

    def __init__(self, order: Order, schema: pa.Schema) -> None:
        self.order = order
        self.groups = OrderGroups(schema, order.group_by)
        self.touched: list[np.ndarray] = []
        self.given = np.zeros(0, np.int64)
        self._unsaved = False

    def _enter(self, batch: pa.RecordBatch) -> np.ndarray:
        ids = self.groups.ids(batch)
        if len(ids):
            self._unsaved = True
            self.touched.append(ids)
        return ids

    @abstractmethod
    def bounds(self, ids: np.ndarray) -> np.ndarray:
        """The bound that no later row of each of these groups is below; the least number if there is none."""

    def promises(self) -> Iterator[Promise]:
        if not self.touched:
            return
        touched = _distinct(self.touched, len(self.groups))
        self.touched = []
        bounds = self.bounds(touched)
        self.given = with_room(self.given.astype(bounds.dtype, copy=False), len(self.groups), least_of(bounds))
        risen = bounds != self.given[touched]
        new, bounds = touched[risen], bounds[risen]
        self.given[new] = bounds
        on = self.order.on
        if self.groups.columns and len(new):
            said = numbered_bounds(self.groups.numbered, new, bounds)
            yield GroupPromises(self.groups.named, on, said if len(new) >= _MANY else dict(said))
        elif len(new):
            yield Punctuation({on: bounds[0].item()})

    @abstractmethod
    def _kept(self) -> pa.Array:
        """The state that is saved for each group."""

    @abstractmethod
    def _restore(self, kept: pa.Array) -> None: ...

    def save(self) -> Iterator[Part]:
        if self._unsaved:
            names = [*map(str, range(len(self.groups.columns))), "kept"]
            yield GROUPS, pa.record_batch([*self.groups.arrays(), self._kept()], names=names)
            self._unsaved = False

    def load(self, parts: Mapping[str, pa.RecordBatch | None]) -> None:
        part = parts.get(GROUPS)
        self.touched, self.given, self._unsaved = [], np.zeros(0, np.int64), False
        if part is None:
            self.groups.forget()
            self._restore(pa.nulls(0))
        else:
            self.groups.load(part.columns[:-1], part.num_rows)
            self._restore(part.columns[-1])


def _distinct(ids: list[np.ndarray], count: int) -> np.ndarray:
    """The ids that occur, in order."""
    if sum(map(len, ids)) < count // 16:  # few rows of many groups
        return np.unique(np.concatenate(ids))
    occurs = np.zeros(count, np.bool_)
    for some in ids:
        occurs[some] = True
    return np.flatnonzero(occurs)
