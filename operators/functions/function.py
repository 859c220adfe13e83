"""`Function` is what every aggregate function says about itself; `ColumnFunction` and `Ordered` are two kinds of it.

A class is a function (`Sum`), and an instance is that function of columns, as a user writes it: ``oop.sum("len")``.
Operators, plans and engines ask the instance what they need to know, and never what it is called.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any, ClassVar, TypeAlias

import pyarrow as pa
from pyarrow.lib import Type_BOOL, Type_DICTIONARY

from oop.errors import OopError, SchemaMismatch
from oop.frozen import frozen
from oop.kernels import views
from oop.operators.expressions.expr import Expr, col
from oop.operators.expressions.program import Program
from oop.operators.functions.accumulators import Accumulator

_SCALAR = (
    pa.types.is_integer,
    pa.types.is_floating,
    pa.types.is_boolean,
    pa.types.is_temporal,
    pa.types.is_decimal,
    pa.types.is_string,
    pa.types.is_large_string,
    pa.types.is_string_view,
    pa.types.is_binary,
    pa.types.is_large_binary,
    pa.types.is_fixed_size_binary,
    pa.types.is_null,
)
Evaluate: TypeAlias = Callable[[pa.RecordBatch], Any]
"""Gives the values of a batch as an accumulator's `prepare` takes them."""


@frozen()
class Function(ABC):
    """An aggregate function of some columns.

    A subclass with a ``name`` of its own is a function that users can write; `registry.functions` finds it. A subclass
    without a name is what several functions have in common.
    """

    name: ClassVar[str] = ""
    keeps_account: ClassVar[bool] = False
    """Does it count what became of a window's rows, also of those that were late and dropped?"""
    instead_of_combining: ClassVar[str] = (
        "count, sum, min and max have one, and oop.aggregate(…) with merge and without final"
    )
    """The hint for users who want to combine its results where `combine` cannot."""

    @property
    @abstractmethod
    def exprs(self) -> tuple[Expr, ...]:
        """The expressions whose values it is given; none if it is over rows."""

    @abstractmethod
    def start(self, schema: pa.Schema) -> Accumulator:
        """The running accumulator for rows of this schema; SchemaMismatch where the function has no meaning."""

    @abstractmethod
    def evaluator(self) -> Evaluate | None:
        """Gives its accumulator the values of a batch; None if it needs none. It keeps what it finds out about
        columns, so that an operator asks for it once."""

    @abstractmethod
    def values_name(self, schema: pa.Schema) -> str:
        """What its evaluator gives, as a name: functions with the same name are given the same values."""

    @abstractmethod
    def __str__(self) -> str:
        """How users read it. A checkpoint knows its plan by this text, so it names every parameter."""

    @property
    def title(self) -> str:
        """The name of the function, without its columns."""
        return self.name

    @property
    def can_merge(self) -> bool:
        """Can two partial results become one? Panes, sessions and partial aggregates need it."""
        return True

    @property
    def rows_held(self) -> float:
        """How many rows of a group it holds at most; 0 says that its state has a fixed size."""
        return 0

    @property
    def sees_window(self) -> bool:
        """Does its result depend on where the window begins and ends?"""
        return False

    def in_window(self, time: pa.DataType | None) -> Function:
        """This function for windows on a time of this type; None: for groups without a window."""
        return self

    def by_default(self, time: str | None) -> Function:
        """This function, ordered by the time if it needs an order and was given none."""
        return self

    def evaluate(self, batch: pa.RecordBatch) -> Any:
        """What its evaluator gives of one batch."""
        evaluate = self.evaluator()
        return None if evaluate is None else evaluate(batch)

    def columns(self) -> frozenset[str]:
        return frozenset().union(*(e.columns() for e in self.exprs))

    def type(self, schema: pa.Schema) -> pa.DataType:
        """The type of its result over rows of this schema."""
        return self.start(schema).type

    def combined(self, results: Expr) -> Function | None:
        """The combination function over results of this one, or None if there is none; see `combine`."""
        return None

    def combine(self, column: str) -> Function:
        """The combination function ("Scalable Distributed Stream Processing", section 5.1): over a column of results
        for some rows and for others, it gives the result for all of them.

        A mean has none, since two means do not tell of how many rows they are: take its sum and its count. A mean, and
        every function that needs more than its results, raises OopError.

        >>> import oop
        >>> str(oop.count("len").combine("n")), str(oop.max("len").combine("most"))
        ('sum(n)', 'max(most)')
        """
        found = self.combined(col(column))
        if found is None:
            raise OopError(
                f"{self} has no combination function: its results for some rows and for others do not tell that of all",
                hint=self.instead_of_combining,
            )
        return found

    @classmethod
    def examples(cls) -> tuple[Function, ...]:
        """Instances that tests try the laws of merging on, one for each way in which the function can be written.

        They are of the column ``x``, which has every type in turn, and they may be ordered by ``t`` (whole numbers),
        ``f`` (floats, some of them NaN) and ``s`` (text).
        """
        return (cls(),)


@frozen()
class ColumnFunction(Function):
    """A function of one expression. ``of`` is None where the function is over rows."""

    of: Expr | None = None

    booleans_are_numbers: ClassVar[bool] = False
    """Are booleans taken as 0 and 1?"""

    @abstractmethod
    def accumulator(self, source: pa.DataType) -> Accumulator | None:
        """A new accumulator for values of this type; None if the function has no meaning for them."""

    @property
    def exprs(self) -> tuple[Expr, ...]:
        return () if self.of is None else (self.of,)

    def start(self, schema: pa.Schema) -> Accumulator:
        source = pa.int64() if self.of is None else views.value_type(self.of.type(schema))
        made = self.accumulator(source)
        if made is None:
            raise no_meaning(self, source)
        return made

    def values_name(self, schema: pa.Schema) -> str:
        as_number = self.of is not None and self.booleans_are_numbers and pa.types.is_boolean(self.of.type(schema))
        return f"{self.of!r}{' as a number' if as_number else ''}"

    def evaluator(self) -> Evaluate | None:
        if self.of is None:
            return None
        program, as_numbers = Program(self.of), self.booleans_are_numbers

        def evaluate(batch: pa.RecordBatch) -> pa.Array:
            values = program.evaluate(batch)
            id_ = values.type.id  # compared here, because pyarrow's predicates cost more
            if id_ == Type_DICTIONARY:
                values = values.dictionary_decode()
                id_ = values.type.id
            return values.cast(pa.int64()) if as_numbers and id_ == Type_BOOL else values

        return evaluate

    def __str__(self) -> str:
        return f"{self.title}({self.arguments()})"

    def arguments(self) -> str:
        """What stands between the parentheses of its text; a function with parameters adds them."""
        return "" if self.of is None else repr(self.of)

    @classmethod
    def examples(cls) -> tuple[Function, ...]:
        return (cls(col("x")),)


@frozen()
class Ordered(ColumnFunction):
    """A function of one expression in the order of another, ``by``."""

    by: Expr | None = None

    by_time: ClassVar[bool] = False
    """Is it ordered by the time where no ``by`` is given?"""

    @abstractmethod
    def accumulator_by(self, source: pa.DataType, by: pa.DataType) -> Accumulator:
        """A new accumulator for values of one type in the order of values of another."""

    def accumulator(self, source: pa.DataType) -> Accumulator | None:
        """The accumulator where no order is given; functions that need one refuse."""
        raise SchemaMismatch(
            f"{self} goes by time, and the stream has no one time", hint=f"say by what: oop.{self.name}(…, by=…)"
        )

    @property
    def exprs(self) -> tuple[Expr, ...]:
        return (*super().exprs, *(() if self.by is None else (self.by,)))

    def by_default(self, time: str | None) -> Function:
        if time is None or self.by is not None or not self.by_time:
            return self
        return replace(self, by=col(time))

    def start(self, schema: pa.Schema) -> Accumulator:
        if self.by is None or self.of is None:
            return super().start(schema)
        source, by = (views.value_type(e.type(schema)) for e in (self.of, self.by))
        for type_ in (source, by):
            if not is_scalar(type_):
                raise no_meaning(self, type_)
        return self.accumulator_by(source, by)

    def values_name(self, schema: pa.Schema) -> str:
        return super().values_name(schema) + self._by()

    def evaluator(self) -> Evaluate | None:
        """With ``by`` it gives the values, and beside them what they are ordered by."""
        values = super().evaluator()
        if self.by is None:
            return values
        by = Program(self.by)
        return lambda batch: (None if values is None else values(batch), decoded(by.evaluate(batch)))

    def arguments(self) -> str:
        return super().arguments() + self._by()

    def _by(self) -> str:
        return "" if self.by is None else f" by {self.by!r}"


def any_keeps_account(named: Iterable[tuple[str, Function]]) -> bool:
    """Does one of the functions, given with the names of their columns, count what became of rows?"""
    return any(function.keeps_account for _, function in named)


def no_meaning(function: Function, type_: pa.DataType) -> SchemaMismatch:
    """The error for a column whose type the function does not take."""
    return SchemaMismatch(f"{function} has no meaning for a column of type {type_}")


def is_scalar(type_: pa.DataType) -> bool:
    """Is it a type whose values have an order: a number, a time, text or bytes?"""
    return any(is_(type_) for is_ in _SCALAR)


def decoded(values: pa.Array) -> pa.Array:
    """The values of a dictionary column; those of any other column as they are."""
    return values.dictionary_decode() if pa.types.is_dictionary(values.type) else values


def as_column(of: str | Expr) -> Expr:
    """The expression that a user names: a column by its name, or the expression itself."""
    if not isinstance(of, str | Expr):
        raise TypeError(f"an aggregate is of a column or an expression such as oop.col('len') * 8, not of {of!r}")
    return col(of) if isinstance(of, str) else of


def as_order(by: str | Expr | None) -> Expr | None:
    """The expression that a user orders by, if there is one."""
    return None if by is None else as_column(by)


def at_least_one(name: str, value: int) -> int:
    """A user's whole number from 1 on; ValueError for anything else."""
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise ValueError(f"{name} is a whole number from 1 on, not {value!r}")
    return value
