"""`TakenKeys`: the keys of groups that leave a table. They are read and put out, never looked up.

>>> from oop.operators.core.keys import KeyTable
>>> table = KeyTable(["int"])
>>> ids = table.map([views.column(pa.array([7, 8, 9]))], 3)
>>> TakenKeys(table.take(np.array([0, 2]))).arrays([pa.int64()])[0].to_pylist()
[7, 9]
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from oop.kernels import dictionaries, views
from oop.kernels.views import Column


class TakenKeys:
    """It answers as a `KeyTable` whose keys are these, in their order."""

    def __init__(self, columns: list[Column]) -> None:
        self._columns = columns

    @property
    def codes(self) -> TakenKeys:
        """The table of keys that are numbers, as in `KeyTable`."""
        return self

    @property
    def nbytes(self) -> int:
        arrays = (array for c in self._columns for array in (c.data, c.offsets, c.valid))
        return sum(array.nbytes for array in arrays if array is not None)

    def columns(self) -> list[Column]:
        return self._columns

    def take(self, ids: np.ndarray) -> list[Column]:
        return [views.take_rows(column, ids) for column in self._columns]

    def arrays(self, types: Sequence[pa.DataType], start: int = 0, stop: int | None = None) -> list[pa.Array]:
        columns = self._columns
        if start or stop is not None:
            columns = [views.slice_rows(c, start, len(c) if stop is None else stop) for c in columns]
        return [dictionaries.to_arrow_type(column, type_) for column, type_ in zip(columns, types, strict=False)]
