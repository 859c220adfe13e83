"""The groups of an order: dense ids for their rows, and their values as promises name them (Aurora paper, section
5.2.2).

>>> groups = OrderGroups(pa.schema({"Sid": pa.string()}), ["Sid"])
>>> groups.ids(pa.record_batch({"Sid": ["IBM", "INT", "IBM"]})).tolist()
[0, 1, 0]
>>> groups.where(1)
{'Sid': 'INT'}
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from oop.kernels import views
from oop.operators.core.group_values import of_column
from oop.operators.core.keys import KeyTable, read_key
from oop.operators.core.numbered_bounds import NumberedGroups
from oop.punctuation.patterns import Value


class OrderGroups:
    """An order without group columns has one group. ``values`` are the groups in the form that `GroupPromises` uses."""

    def __init__(self, schema: pa.Schema, columns: Sequence[str]) -> None:
        self.columns = tuple(columns)
        self.named = tuple(sorted(columns))
        self._named = [self.columns.index(name) for name in self.named]
        self.types = [views.value_type(schema.field(name).type) for name in columns]
        self.forget()

    def forget(self) -> None:
        self.table = KeyTable([views.key_kind(type_) for type_ in self.types])
        self.values: list[Value] = []
        self.numbered = NumberedGroups(self.values)

    def __len__(self) -> int:
        return len(self.values)

    @property
    def nbytes(self) -> int:
        return self.table.nbytes if self.values else 0

    def ids(self, batch: pa.RecordBatch) -> np.ndarray:
        """The id of each row's group. New groups get the next ids."""
        return self._map([batch.column(name) for name in self.columns], batch.num_rows)

    def _map(self, columns: Sequence[pa.Array], rows: int) -> np.ndarray:
        ids = self.table.map([read_key(column) for column in columns], rows)
        new = np.arange(len(self.values), len(self.table)) if rows else np.zeros(0, np.int64)
        if len(new):
            keys = [views.to_arrow(k, t) for k, t in zip(self.table.take(new), self.types, strict=True)]
            named = [of_column(keys[i]) for i in self._named]
            self.values += named[0] if len(named) == 1 else zip(*named, strict=True) if named else [()]
        return ids

    def where(self, group: int) -> dict[str, Value]:
        """The group as a promise names it."""
        values = self.values[group]
        return {self.columns[0]: values} if len(self.columns) == 1 else dict(zip(self.named, values, strict=True))

    def arrays(self) -> list[pa.Array]:
        """The keys of the groups by id, to be saved."""
        return self.table.arrays(self.types)

    def load(self, arrays: Sequence[pa.Array], rows: int) -> None:
        self.forget()
        self._map(arrays, rows)
