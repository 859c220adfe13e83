"""min and max, of any type that has an order. NaN is greater than every number, as in most SQL engines."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa

from oop.frozen import frozen
from oop.kernels import dictionaries, views
from oop.kernels.signatures.results import ResultKind
from oop.kernels.steps import Update, UpdateKind
from oop.kernels.views import Column
from oop.operators.core.writing import Filled, ProgramWriter
from oop.operators.expressions.expr import Expr
from oop.operators.functions.accumulators import Accumulator, Ids, Prepared, is_object, objects, write_by_kind
from oop.operators.functions.function import ColumnFunction, Function, as_column, is_scalar
from oop.operators.functions.summary import COUNT, GREATEST, LEAST


class Minima(Accumulator):
    """The least value of each group, by a kernel where there is one for its type, else as Python objects."""

    fields = (("values", None), ("counts", np.int64))
    which = "min"
    word = LEAST
    written: ClassVar[Mapping[str, UpdateKind]] = {
        "int": UpdateKind.MIN_INT,
        "uint": UpdateKind.MIN_UINT,
        "float": UpdateKind.MIN_FLOAT,
    }

    @property
    def summary_words(self) -> Mapping[str, int] | None:
        return {"counts": COUNT, "values": self.word} if views.kind_of(self.source) == "int" else None

    @property
    def result_words(self) -> tuple[ResultKind, tuple[str, ...]] | None:
        dtype = views.fixed_dtype(self.type)
        narrow_floats = dtype is not None and dtype.kind == "f" and dtype.itemsize < 8
        return None if dtype is None or narrow_floats else (ResultKind.COUNTED, ("values", "counts"))

    @property
    def kept(self) -> tuple[object, ...]:
        return *super().kept, self.which

    def prepare(self, values: pa.Array | None) -> Prepared:
        return objects(values) if is_object(self.source) else views.column(values)

    def update(self, ids: Ids, values: Any) -> None:
        if isinstance(values, Column):
            take = getattr(self.kernels, f"take_{self.which}")
            take(ids, values.data, values.valid, self.values, self.counts)
        else:
            take = getattr(self.kernels, f"take_{self.which}_object")
            take(ids, values, self.values, self.counts)

    def write(self, writer: ProgramWriter, values: Sequence[Filled], array: int) -> Update:
        return write_by_kind(self.written, writer, values[0], array)

    def merge(self, ids: Ids, other: Accumulator) -> None:
        suffix = "_object" if is_object(self.source) else ""
        merge = getattr(self.kernels, f"merge_{self.which}{suffix}")
        merge(ids, other.values, other.counts, self.values, self.counts)

    def result(self) -> pa.Array:
        if is_object(self.source):
            pairs = zip(self.values, self.counts, strict=True)
            return pa.array([v if n else None for v, n in pairs], self.type)
        valid = self.counts > 0
        column = Column(views.kind_of(self.source), self.values, valid=None if valid.all() else valid)
        return dictionaries.to_arrow_type(column, self.type)


class Maxima(Minima):
    """The greatest value of each group."""

    which = "max"
    word = GREATEST
    written: ClassVar[Mapping[str, UpdateKind]] = {
        "int": UpdateKind.MAX_INT,
        "uint": UpdateKind.MAX_UINT,
        "float": UpdateKind.MAX_FLOAT,
    }


@frozen()
class Min(ColumnFunction):
    """The least value."""

    name = "min"
    extremes: ClassVar[type[Minima]] = Minima

    def accumulator(self, source: pa.DataType) -> Accumulator | None:
        return self.extremes(source, source) if is_scalar(source) else None

    def combined(self, results: Expr) -> Function:
        return type(self)(results)


class Max(Min):
    name = "max"
    extremes = Maxima


def min(of: str | Expr) -> Function:
    """The least value, of any type that has an order.

    >>> import oop
    >>> s = oop.source(pa.table({"ts": [1, 2, 3], "len": [40, 90, 60]}), time="ts", punctuate=oop.ordered())
    >>> s.window(oop.tumbling(10)).agg(least=oop.min("len")).run().to_table()["least"].to_pylist()
    [40]
    """
    return Min(as_column(of))


def max(of: str | Expr) -> Function:
    """The greatest value, of any type that has an order.

    >>> import oop
    >>> s = oop.source(pa.table({"ts": [1, 2, 3], "link": ["b", "c", "a"]}), time="ts", punctuate=oop.ordered())
    >>> s.window(oop.tumbling(10)).agg(most=oop.max("link")).run().to_table()["most"].to_pylist()
    ['c']
    """
    return Max(as_column(of))
