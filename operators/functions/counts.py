"""count: how many rows a group has, or in how many of them a column is not null."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from oop.kernels import views
from oop.kernels.signatures.results import ResultKind
from oop.kernels.steps import Update, UpdateKind
from oop.operators.core.writing import Filled, ProgramWriter
from oop.operators.expressions.expr import Expr, col
from oop.operators.functions.accumulators import Accumulator, Ids, Prepared
from oop.operators.functions.function import ColumnFunction, Function, as_column
from oop.operators.functions.sums import Sum


class Counts(Accumulator):
    """It prepares which values of a batch are valid; None says that all are."""

    fields = (("counts", np.int64),)

    @property
    def result_words(self) -> tuple[ResultKind, tuple[str, ...]]:
        return ResultKind.VALUES, ("counts",)

    def prepare(self, values: pa.Array | None) -> Prepared:
        if values is None or not values.null_count:
            return None
        return views.booleans(values.is_valid())

    def update(self, ids: Ids, values: Any) -> None:
        self.kernels.add_count(ids, values, self.counts)

    def write(self, writer: ProgramWriter, values: Sequence[Filled], array: int) -> Update:
        return Update(UpdateKind.COUNT, values[0].register if values else -1, -1, array)

    def merge(self, ids: Ids, other: Accumulator) -> None:
        self.kernels.merge_count(ids, other.counts, self.counts)

    def result(self) -> pa.Array:
        return pa.array(self.counts)


class Count(ColumnFunction):
    name = "count"

    def accumulator(self, source: pa.DataType) -> Accumulator:
        return Counts(source, pa.int64())

    def combined(self, results: Expr) -> Function:
        return Sum(results)

    @classmethod
    def examples(cls) -> tuple[Function, ...]:
        return cls(), cls(col("x"))


def count(of: str | Expr | None = None) -> Count:
    """How many rows; with a column, in how many it is not null.

    >>> str(count()), str(count("len"))
    ('count()', 'count(len)')
    """
    return Count(None if of is None else as_column(of))
