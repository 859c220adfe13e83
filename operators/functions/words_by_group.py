"""A row of words for each group: for aggregates that keep several numbers of a group side by side.

In arrays of their own each number would be looked up by itself, which with many groups is one cache miss for each.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import numpy as np
import pyarrow as pa

from oop.kernels import views
from oop.operators.functions.accumulators import Accumulator


class HoldsWords(Accumulator):
    """``state`` has a row of ``words`` whole numbers for each group; saved, each of them is a column."""

    fields = (("state", np.int64),)
    words: ClassVar[int]

    def __init__(self, source: pa.DataType, result: pa.DataType) -> None:
        super().__init__(source, result)
        self._arrays = {"state": np.zeros((0, self.words), np.int64)}

    @property
    def saved_columns(self) -> int:
        return self.words

    def to_arrow(self) -> list[pa.Array]:
        return [pa.array(np.ascontiguousarray(self.state[:, word])) for word in range(self.words)]

    def load_arrow(self, columns: Sequence[pa.Array]) -> None:
        self._forget_parts()
        self.size = len(columns[0])
        words = [views.column(column).data for column in columns]
        self._arrays["state"] = np.ascontiguousarray(np.stack(words, axis=1))
