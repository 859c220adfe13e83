"""Several aggregates of one integer column in one place: count, sum, least and greatest side by side for each group.

Apart, each of them would look up its own arrays for every row, and with many groups that is a miss of the cache each.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from oop.kernels import views
from oop.operators.functions.accumulators import Accumulator, Max, MeanInt, Min, SumInt

WORDS = 5
COUNT, HI, LO, LEAST, GREATEST = range(WORDS)


def can_share(prototype: Accumulator) -> bool:
    """Does a summary hold all that this aggregate keeps?"""
    if isinstance(prototype, Min):
        return views.kind_of(prototype.source) == "int"
    return type(prototype) in (SumInt, MeanInt) and not pa.types.is_unsigned_integer(prototype.source)


class Summary(Accumulator):
    """``state`` has a row of words for each group; the aggregates that share it read their columns."""

    fields = (("state", np.int64),)

    def __init__(self) -> None:
        super().__init__(pa.int64(), pa.int64())
        self._arrays = {"state": np.zeros((0, WORDS), np.int64)}

    @property
    def saved_columns(self) -> int:
        return WORDS

    def update(self, ids: np.ndarray, values: Any) -> None:
        self.kernels.add_summary(ids, values.data, values.valid, self.state)

    def merge(self, ids: np.ndarray, other: Accumulator) -> None:
        self.kernels.merge_summary(ids, other.state, self.state)

    def result(self) -> pa.Array:
        raise TypeError("a summary has no result of its own")

    def read_as(self, prototype: Accumulator) -> dict[str, np.ndarray]:
        """The arrays that an aggregate would have kept by itself."""
        words = {"counts": COUNT, "hi": HI, "lo": LO, "values": GREATEST if isinstance(prototype, Max) else LEAST}
        return {name: np.ascontiguousarray(self.state[:, words[name]]) for name, _ in prototype.fields}

    def to_arrow(self) -> list[pa.Array]:
        return [pa.array(np.ascontiguousarray(self.state[:, word])) for word in range(WORDS)]

    def load_arrow(self, columns: Sequence[pa.Array]) -> None:
        self.size = len(columns[0])
        words = [views.column(column).data for column in columns]
        self._arrays["state"] = np.ascontiguousarray(np.stack(words, axis=1))
