"""Sums and means of floats. Very large values are summed apart, scaled down by a power of two, which rounds nothing: a
sum overflows only if its result does, whatever the order of rows, and a mean never."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from oop.kernels.steps import Op, Step, Update, UpdateKind
from oop.operators.core.writing import Filled, ProgramWriter
from oop.operators.functions.accumulators import Accumulator, Ids, nullable

_LARGE = 2.0**960  # the sum of values below this is finite for as many rows as there can be
_SCALE = 2.0**64


class SumFloat(Accumulator):
    """``large`` is the sum of the values beyond a limit, divided by 2**64; ``sums`` that of all others."""

    fields = (("sums", np.float64), ("large", np.float64), ("counts", np.int64))

    def update(self, ids: Ids, values: Any) -> None:
        data, valid = values.data, values.valid
        if not len(data) or (data.max() <= _LARGE and data.min() >= -_LARGE):  # false with NaN
            self.kernels.add_sum_float(ids, data, valid, self.sums, self.counts)
            return
        large = np.abs(data) > _LARGE
        if valid is not None:
            large &= valid
        rows = np.flatnonzero(large)
        self.kernels.add_sum_float(ids, np.where(large, 0.0, data), valid, self.sums, self.counts)
        self._add_large(ids[rows], data[rows] / _SCALE)

    def write_checks(self, writer: ProgramWriter, values: Sequence[Filled]) -> None:
        writer.add(Step(Op.LIMIT, 0, values[0].register, numbers=(_LARGE,)))

    def write(self, writer: ProgramWriter, values: Sequence[Filled], array: int) -> Update:
        return Update(UpdateKind.SUM_FLOAT, values[0].register, -1, array)

    def merge(self, ids: Ids, other: Accumulator) -> None:
        self.kernels.merge_sum_float(ids, other.sums, other.counts, self.sums, self.counts)
        if other.large.any():
            self._add_large(ids, other.large)

    def _add_large(self, ids: Ids, scaled: np.ndarray) -> None:
        with np.errstate(invalid="ignore"):  # infinities of both signs may meet
            np.add.at(self.large, ids, scaled)

    def result(self) -> pa.Array:
        if not self.large.any():
            return nullable(self.sums, self.counts)
        return nullable(self._divided(1), self.counts)

    def _divided(self, counts: np.ndarray | int) -> np.ndarray:
        """Both sums together, divided before they are scaled up. A small sum alone is not scaled, which would round
        it."""
        with np.errstate(over="ignore", invalid="ignore"):
            both = (self.sums / _SCALE + self.large) / counts * _SCALE
            found: np.ndarray = np.where(self.large == 0, self.sums / counts, both)
        return found


class MeanFloat(SumFloat):
    """It keeps what a sum keeps, and divides."""

    def result(self) -> pa.Array:
        counts = np.maximum(self.counts, 1)
        return nullable(self._divided(counts) if self.large.any() else self.sums / counts, self.counts)
