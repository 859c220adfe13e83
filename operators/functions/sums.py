"""sum and mean. A mean keeps what a sum keeps, so that both of one column share an accumulator.

An integer sum never wraps: it is kept exactly, in two words, and raises if its result does not fit. Floats are in
`float_sums`. Decimals keep their scale, and their mean is divided as a fraction, so no decimal context of the caller
matters.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa

from oop.errors import OopError
from oop.kernels.signatures.results import ResultKind
from oop.kernels.steps import Update, UpdateKind
from oop.operators.core.writing import Filled, ProgramWriter
from oop.operators.expressions.expr import Expr
from oop.operators.functions.accumulators import Accumulator, Ids, Prepared, nullable, objects, write_by_kind
from oop.operators.functions.float_sums import MeanFloat, SumFloat
from oop.operators.functions.function import ColumnFunction, Function, as_column
from oop.operators.functions.summary import COUNT, HI, LO


class SumInt(Accumulator):
    """It is exact in about 93 bits while it runs, so that the order of rows cannot make it overflow, and raises if the
    result does."""

    fields = (("hi", np.int64), ("lo", np.int64), ("counts", np.int64))

    @property
    def summary_words(self) -> Mapping[str, int] | None:
        return None if pa.types.is_unsigned_integer(self.source) else {"counts": COUNT, "hi": HI, "lo": LO}

    @property
    def result_words(self) -> tuple[ResultKind, tuple[str, ...]] | None:
        return None if self.type == pa.uint64() else (ResultKind.SUM, ("hi", "lo", "counts"))

    def update(self, ids: Ids, values: Any) -> None:
        self.kernels.add_sum_int(ids, values.data, values.valid, self.hi, self.lo, self.counts)

    def write(self, writer: ProgramWriter, values: Sequence[Filled], array: int) -> Update:
        kinds = {"int": UpdateKind.SUM_INT, "uint": UpdateKind.SUM_UINT}
        return write_by_kind(kinds, writer, values[0], array)

    def merge(self, ids: Ids, other: Accumulator) -> None:
        self.kernels.merge_sum_int(ids, other.hi, other.lo, other.counts, self.hi, self.lo, self.counts)

    def result(self) -> pa.Array:
        kind = pa.uint64() if self.type == pa.uint64() else pa.int64()
        sums = nullable(self.kernels.sum_int_result(self.hi, self.lo, kind), self.counts)
        return sums if sums.type == self.type else sums.view(self.type)


class MeanInt(SumInt):
    """It keeps what a sum keeps, and divides."""

    @property
    def result_words(self) -> tuple[ResultKind, tuple[str, ...]]:
        return ResultKind.MEAN, ("hi", "lo", "counts")

    def result(self) -> pa.Array:
        # small negative sums have hi = -1 and a great lo: put them together as integers, not as floats
        fits = np.abs(self.hi) < 2**30
        small = np.where(fits, (np.where(fits, self.hi, 0) << 32) + self.lo, 0)
        total = np.where(fits, small, self.hi * 2.0**32 + self.lo)
        return nullable(total / np.maximum(self.counts, 1), self.counts)


class SumObject(Accumulator):
    """Sums of decimals, as Python objects."""

    fields = (("sums", object), ("counts", np.int64))

    def prepare(self, values: pa.Array | None) -> Prepared:
        return objects(values)

    def update(self, ids: Ids, values: Any) -> None:
        self.kernels.add_sum_object(ids, values, self.sums, self.counts)

    def merge(self, ids: Ids, other: Accumulator) -> None:
        self.kernels.merge_sum_object(ids, other.sums, other.counts, self.sums, self.counts)

    def result(self) -> pa.Array:
        try:
            return pa.array([s if n else None for s, n in zip(self.sums, self.counts, strict=True)], self.type)
        except pa.ArrowInvalid as wrong:
            raise OopError(
                f"a sum of decimals does not fit {self.type}", hint="cast the column to float64, or sum in groups"
            ) from wrong

    @property
    def _object_type(self) -> pa.DataType:
        return pa.decimal256(76, self.source.scale)


class MeanObject(SumObject):
    """It keeps what a sum keeps, and divides."""

    def result(self) -> pa.Array:
        # in fractions: a division of decimals would be rounded as the caller's context says
        pairs = zip(self.sums, self.counts, strict=True)
        return pa.array([float(Fraction(s) / int(n)) if n else None for s, n in pairs], self.type)


class Sum(ColumnFunction):
    name = "sum"
    booleans_are_numbers = True

    def accumulator(self, source: pa.DataType) -> Accumulator | None:
        t = pa.types
        if t.is_boolean(source) or t.is_signed_integer(source) or t.is_null(source):
            return SumInt(pa.int64(), pa.int64())
        if t.is_unsigned_integer(source):
            return SumInt(source, pa.uint64())
        if t.is_duration(source):
            return SumInt(source, source)
        if t.is_floating(source):
            return SumFloat(source, pa.float64())
        if t.is_decimal(source):
            wide = pa.decimal256(76, source.scale) if t.is_decimal256(source) else pa.decimal128(38, source.scale)
            return SumObject(source, wide)
        return None

    def combined(self, results: Expr) -> Function:
        return Sum(results)


class Mean(ColumnFunction):
    name = "mean"
    booleans_are_numbers = True
    instead_of_combining = "take aggregates that have one and compute it from them: a mean is a sum and a count"

    def accumulator(self, source: pa.DataType) -> Accumulator | None:
        t = pa.types
        if t.is_boolean(source) or t.is_integer(source) or t.is_null(source):
            return MeanInt(source, pa.float64())
        if t.is_floating(source):
            return MeanFloat(source, pa.float64())
        if t.is_decimal(source):
            return MeanObject(source, pa.float64())
        return None


def sum(of: str | Expr) -> Function:
    """The sum. Integers give int64 (unsigned: uint64), exact or an error; decimals keep their scale.

    >>> import oop
    >>> str(oop.sum(oop.col("len") * 8))
    'sum(len * 8)'
    """
    return Sum(as_column(of))


def mean(of: str | Expr) -> Function:
    """The arithmetic mean, as float64.

    >>> import oop
    >>> s = oop.source(pa.table({"ts": [1, 2, 3], "len": [40, None, 90]}), time="ts", punctuate=oop.ordered())
    >>> s.window(oop.tumbling(10)).agg(mean=oop.mean("len")).run().to_table()["mean"].to_pylist()
    [65.0]
    """
    return Mean(as_column(of))
