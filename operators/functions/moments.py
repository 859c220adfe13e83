"""var: the variance, by counts, means and squared deviations (Chan), which merge without cancellation.

Whole numbers are taken as their distance from one of the group's own, which is exact in integers: as floats, numbers
near 10**18 that differ by less than a hundred are the same. The variance of a group then has about the digits that it
would have if its numbers were small, and merging in another order changes it by a few units in the 15th.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa

from oop.frozen import frozen
from oop.kernels import views
from oop.kernels.steps import Op, Step, Update, UpdateKind
from oop.operators.core.writing import Filled, ProgramWriter
from oop.operators.expressions.expr import Expr, col
from oop.operators.functions.accumulators import Accumulator, Ids, Prepared, floats
from oop.operators.functions.function import ColumnFunction, Function, as_column

_FAR = 2**50  # floats hold whole numbers up to here, and have digits to spare


class Moments(Accumulator):
    """The moments of floats, and of decimals as floats."""

    fields: ClassVar[tuple[tuple[str, Any], ...]] = (("counts", np.int64), ("means", np.float64), ("m2", np.float64))
    ddof = 1

    def prepare(self, values: pa.Array | None) -> Prepared:
        return floats(values)

    def update(self, ids: Ids, values: Any) -> None:
        self.kernels.add_moments(ids, values.data, values.valid, self.counts, self.means, self.m2)

    def write(self, writer: ProgramWriter, values: Sequence[Filled], array: int) -> Update:
        value = writer.as_float(values[0])
        return Update(UpdateKind.MOMENTS, value.register, -1, array)

    def merge(self, ids: Ids, other: Accumulator) -> None:
        self.kernels.merge_moments(ids, other.counts, other.means, other.m2, self.counts, self.means, self.m2)

    def result(self) -> pa.Array:
        divisor = self.counts - self.ddof
        return pa.array(self.m2 / np.maximum(divisor, 1), mask=divisor <= 0)


class PopulationMoments(Moments):
    """Like `Moments`, for the variance of a population."""

    ddof = 0


class WholeMoments(Moments):
    """The moments of whole numbers. ``means`` are distances from ``base``, which is a number of the group, or 0 if the
    group began with numbers that floats hold."""

    fields = (*Moments.fields, ("base", None))

    def prepare(self, values: pa.Array | None) -> Prepared:
        return views.column(values)

    def update(self, ids: Ids, values: Any) -> None:
        data, valid = values.data, values.valid
        if len(data) and (data.max() > _FAR or data.min() < -_FAR):
            self._begin(ids, data, np.ones(len(ids), np.bool_) if valid is None else valid)
        bases = self.kernels.take_fixed(self.base, ids)
        distances = _apart(data, bases) if bases.any() else data
        self.kernels.add_moments(ids, distances, valid, self.counts, self.means, self.m2)

    def write_checks(self, writer: ProgramWriter, values: Sequence[Filled]) -> None:
        writer.add(Step(Op.LIMIT, 0, writer.as_float(values[0]).register, numbers=(float(_FAR),)))

    def write(self, writer: ProgramWriter, values: Sequence[Filled], array: int) -> Update:
        return Update(UpdateKind.WHOLE_MOMENTS, values[0].register, -1, array)

    def merge(self, ids: Ids, other: Accumulator) -> None:
        self._begin(ids, other.base, other.counts > 0)
        means = other.means + _apart(other.base, self.base[ids])
        self.kernels.merge_moments(ids, other.counts, means, other.m2, self.counts, self.means, self.m2)

    def _begin(self, ids: Ids, values: np.ndarray, there: np.ndarray) -> None:
        """Give groups that have nothing yet a base: one of these values."""
        new = np.flatnonzero(there & (self.counts[ids] == 0))
        self.base[ids[new]] = values[new]


class WholePopulationMoments(WholeMoments):
    """Like `WholeMoments`, for the variance of a population."""

    ddof = 0


def _apart(values: np.ndarray, bases: np.ndarray) -> np.ndarray:
    """How far whole numbers are from others, as floats: the difference is exact, however large, and then rounded.

    >>> _apart(np.array([2**62 + 1, -(2**63)]), np.array([2**62, 2**63 - 1])).tolist() == [1.0, -(2.0**64)]
    True
    """
    above = values >= bases
    one, other = values.view(np.uint64), bases.view(np.uint64)
    distance = np.where(above, one - other, other - one).astype(np.float64)  # the distance fits 64 bits without a sign
    return np.where(above, distance, -distance)


@frozen()
class Var(ColumnFunction):
    """``ddof`` is 1 for the variance of a sample, 0 for that of a population."""

    ddof: int = 1

    name = "var"
    booleans_are_numbers = True

    def accumulator(self, source: pa.DataType) -> Accumulator | None:
        t = pa.types
        if t.is_integer(source):
            return (WholeMoments if self.ddof else WholePopulationMoments)(source, pa.float64())
        if t.is_boolean(source) or t.is_floating(source) or t.is_decimal(source) or t.is_null(source):
            return (Moments if self.ddof else PopulationMoments)(source, pa.float64())
        return None

    def arguments(self) -> str:
        return f"{super().arguments()}, ddof={self.ddof}"

    @classmethod
    def examples(cls) -> tuple[Function, ...]:
        return cls(col("x")), cls(col("x"), ddof=0)


def var(of: str | Expr, *, ddof: int = 1) -> Function:
    """The variance, as float64: of a sample (``ddof=1``, null for one row) or of the population (``ddof=0``).

    >>> import oop
    >>> s = oop.source(pa.table({"ts": [1, 2], "len": [40, 60]}), time="ts", punctuate=oop.ordered())
    >>> both = s.window(oop.tumbling(10)).agg(sample=oop.var("len"), all=oop.var("len", ddof=0))
    >>> both.run().to_table().select(["sample", "all"]).to_pylist()
    [{'sample': 200.0, 'all': 100.0}]
    """
    if ddof not in (0, 1):
        raise ValueError(f"ddof is 0 or 1, not {ddof!r}")
    return Var(as_column(of), ddof)
