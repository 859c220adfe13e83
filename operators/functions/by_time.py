"""first and last: the value at the least or the greatest of something else, usually the time.

Numbers and times are kept by kernels, in three words for each group; values of other types are kept by `ranked`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa

from oop.frozen import frozen
from oop.kernels import dictionaries, views
from oop.kernels.signatures.first import FIRST_WORDS, HELD, VALUE, VALUE_HELD
from oop.kernels.steps import Update, UpdateKind
from oop.kernels.views import Column
from oop.operators.core.words import from_words, has_words, to_words
from oop.operators.core.writing import INT, Filled, ProgramWriter, Unwritten
from oop.operators.expressions.expr import Expr, col
from oop.operators.functions.accumulators import Accumulator, Prepared
from oop.operators.functions.function import Function, Ordered, as_column, as_order
from oop.operators.functions.ranked import first_of
from oop.operators.functions.words_by_group import HoldsWords


class Firsts(HoldsWords):
    """The words of a group say what it holds (nothing, a null, a value), at which ``by``, and the value."""

    words = FIRST_WORDS
    which = "first"
    written = UpdateKind.FIRST

    @property
    def kept(self) -> tuple[object, ...]:
        return *super().kept, self.which

    def prepare(self, values: Any) -> Prepared:
        of, by = map(views.column, values)
        # both zeros of a time are one moment; a value keeps the zero that it has
        return Column("int", to_words(of), None, of.valid), Column(
            "int", to_words(by, zeros_equal=True), None, by.valid
        )

    def update(self, ids: np.ndarray, values: Any) -> None:
        of, by = values
        take = getattr(self.kernels, f"take_{self.which}")
        take(ids, by.data, by.valid, of.data, of.valid, self.state)

    def write(self, writer: ProgramWriter, values: Sequence[Filled], array: int) -> Update:
        of, by = map(writer.as_number, values)
        signless = any(pa.types.is_unsigned_integer(value.type) for value in (of, by))
        if not of.kind == by.kind == INT or signless:  # others are not their own words
            raise Unwritten(f"it has no steps for {of.type} by {by.type}")
        return Update(self.written, of.register, by.register, array)

    def merge(self, ids: np.ndarray, other: Accumulator) -> None:
        getattr(self.kernels, f"merge_{self.which}")(ids, other.state, self.state)

    def result(self) -> pa.Array:
        kind = views.kind_of(self.source)
        valid = self.state[:, HELD] == VALUE_HELD
        data = from_words(np.ascontiguousarray(self.state[:, VALUE]), kind)
        return dictionaries.to_arrow_type(Column(kind, data, valid=None if valid.all() else valid), self.type)


class Lasts(Firsts):
    """Like `Firsts`, at the other end of the order."""

    which = "last"
    written = UpdateKind.LAST


@frozen()
class First(Ordered):
    """The value of the row whose `by` is least."""

    name = "first"
    by_time = True
    words: ClassVar[type[Firsts]] = Firsts
    most: ClassVar[bool] = False
    """Is it the value at the greatest ``by``, and not at the least?"""

    def accumulator_by(self, source: pa.DataType, by: pa.DataType) -> Accumulator:
        if has_words(source) and has_words(by):
            return self.words(source, source)
        return first_of(source, by, most=self.most)

    @classmethod
    def examples(cls) -> tuple[Function, ...]:
        return tuple(cls(col("x"), by=col(by)) for by in ("t", "f", "s"))


class Last(First):
    name = "last"
    words = Lasts
    most = True


def first(of: str | Expr, by: str | Expr | None = None) -> Function:
    """The value at the least ``by``: by default the attribute of the window, else the stream's time.

    A null is a value here, as for SQL's FIRST: if it came first, that is the answer. Of several values with the same
    ``by`` it is the least, and null only if there is no other. Rows whose ``by`` is null are left out.

    >>> import oop, pyarrow as pa
    >>> s = oop.source(pa.table({"ts": [3, 1, 2], "v": [7, 9, 8]}), time="ts", punctuate=oop.slack(5))
    >>> s.window(oop.tumbling(10)).agg(first=oop.first("v"), last=oop.last("v")).run().to_table().to_pylist()
    [{'window_start': 0, 'window_end': 10, 'first': 9, 'last': 7}]
    """
    return First(as_column(of), by=as_order(by))


def last(of: str | Expr, by: str | Expr | None = None) -> Function:
    """The value at the greatest ``by``; of several with the same the greatest, and null only if there is no other.

    >>> str(last("price", by="quoted_at"))
    'last(price by quoted_at)'
    """
    return Last(as_column(of), by=as_order(by))
