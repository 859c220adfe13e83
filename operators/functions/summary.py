"""Several aggregates of one integer column in one place: count, sum, least and greatest side by side for each group.

Kept apart, each of them would look up its own arrays for every row, which with many groups is one cache miss for each.
An accumulator whose arrays a summary holds says so itself, by its `summary_words`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from oop.kernels.steps import Update, UpdateKind
from oop.operators.core.writing import Filled, ProgramWriter
from oop.operators.functions.accumulators import Accumulator, write_by_kind
from oop.operators.functions.words_by_group import HoldsWords

COUNT, HI, LO, LEAST, GREATEST = range(5)
"""The words of a group. The sum is in two of them, as whole sums are kept (`sums.SumInt`)."""


def can_share(prototype: Accumulator) -> bool:
    """Does a summary hold all that this aggregate keeps?"""
    return prototype.summary_words is not None


class Summary(HoldsWords):
    """The aggregates that share it read their words."""

    words = 5

    def __init__(self) -> None:
        super().__init__(pa.int64(), pa.int64())

    def update(self, ids: np.ndarray, values: Any) -> None:
        self.kernels.add_summary(ids, values.data, values.valid, self.state)

    def write(self, writer: ProgramWriter, values: Sequence[Filled], array: int) -> Update:
        return write_by_kind({"int": UpdateKind.SUMMARY}, writer, values[0], array)

    def merge(self, ids: np.ndarray, other: Accumulator) -> None:
        self.kernels.merge_summary(ids, other.state, self.state)

    def result(self) -> pa.Array:
        raise TypeError("a summary has no result of its own")

    def read_as(self, prototype: Accumulator) -> dict[str, np.ndarray]:
        """The arrays that an aggregate would have kept by itself."""
        words = prototype.summary_words
        assert words is not None
        return {name: np.ascontiguousarray(self.state[:, words[name]]) for name, _ in prototype.fields}
