"""Column expressions: ``col("len") > 40`` is a value to evaluate, type, show and ask about order.

>>> batch = pa.record_batch({"len": [40, 41, None], "link": ["A", "B", "A"]})
>>> both = (col("len") > 40) & (col("link") == "B")
>>> both
(len > 40) & (link == 'B')
>>> both.evaluate(batch).to_pylist()
[False, True, False]

Nulls follow SQL: an operation on a null is null, and ``&``, ``|``, ``~`` are Kleene's.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from decimal import Decimal
from functools import lru_cache
from typing import Any, NoReturn

import numpy as np
import pyarrow as pa

from oop.errors import OopError, SchemaMismatch, UnknownColumn
from oop.operators.functions import FUNCTIONS, broadcast, keeps_order, natural, ordered, physical

# Symbol and precedence, as Python's grammar has them: what is shown can be read back.
_INFIX = {
    "equal": ("==", 1), "not_equal": ("!=", 1), "less": ("<", 1), "less_equal": ("<=", 1),
    "greater": (">", 1), "greater_equal": (">=", 1), "or": ("|", 2), "and": ("&", 3),
    "add": ("+", 4), "subtract": ("-", 4),
    "multiply": ("*", 5), "divide": ("/", 5), "floor_divide": ("//", 5), "mod": ("%", 5),
}  # fmt: skip
_PREFIX = {"negate": ("-", 6), "invert": ("~", 6)}
_ATOM = 7


def _call(function: str, *args: object, options: tuple[object, ...] = ()) -> Expr:
    return Call(function, tuple(map(as_expr, args)), options)


def _unary(function: str) -> Callable[[Expr], Expr]:
    return lambda self: _call(function, self)


def _binary(function: str) -> Callable[[Expr, object], Expr]:
    return lambda self, other: _call(function, self, other)


def _reflected(function: str) -> Callable[[Expr, object], Expr]:
    return lambda self, other: _call(function, other, self)


class Expr:
    """A function of the columns of a row. ``==`` builds an expression; :meth:`same` compares two of them."""

    __array_ufunc__ = None  # numpy scalars on the left leave the operator to us
    __hash__ = object.__hash__

    def evaluate(self, batch: pa.RecordBatch) -> pa.Array:
        """The expression's value for every row.

        >>> (col("x") // 2).evaluate(pa.record_batch({"x": [-3, 3]})).to_pylist()
        [-2, 1]
        """
        try:
            result = self._value(batch)
        except UnknownColumn:
            raise
        except OopError as error:
            text = repr(self)
            if text in error.what:
                raise
            raise type(error)(f"{error.what}, in {text}", hint=error.hint) from error
        if isinstance(result, pa.ChunkedArray):
            result = result.combine_chunks()
        return broadcast(result, batch.num_rows)

    def type(self, schema: pa.Schema) -> pa.DataType:
        """The type of the expression's values; an error if the columns do not fit it.

        >>> (col("x") / 2).type(pa.schema({"x": pa.int32()}))
        DataType(double)
        """
        try:
            return self.evaluate(schema.empty_table()).type
        except (UnknownColumn, SchemaMismatch):
            raise
        except OopError as error:
            raise SchemaMismatch(error.what, hint=error.hint) from error

    def columns(self) -> frozenset[str]:
        """The columns that the expression reads.

        >>> sorted((col("a") + col("b") * 2).columns())
        ['a', 'b']
        """
        return frozenset()

    def rename(self, mapping: Mapping[str, str]) -> Expr:
        """The same expression of columns that have other names.

        >>> (col("a") + col("b")).rename({"a": "x"})
        x + b
        """
        return self

    def same(self, other: object) -> bool:
        """Whether the two are written the same.

        >>> (col("a") + 1).same(col("a") + 1), (col("a") + 1).same(col("a") + 1.0)
        (True, False)
        """
        return _same(self, other)

    def fixed(self) -> dict[str, object]:
        """The columns that have one known value in every row that passes this filter.

        >>> ((col("link") == "A") & (col("len") > 40)).fixed()
        {'link': 'A'}
        """
        return {}

    def increasing_in(self, schema: pa.Schema) -> str | None:
        """The one column of which the expression is provably a non-decreasing function.

        >>> schema = pa.schema({"ts": pa.int64()})
        >>> (col("ts") // 60 + 1).increasing_in(schema), (-col("ts")).increasing_in(schema)
        ('ts', None)
        """
        return None

    def bound_of(self, bound: int | float, schema: pa.Schema) -> int | float | None:
        """What no later value is below, given that no later row has the column below ``bound``.

        Both are physical: units since the epoch of a timestamp, days of a date. None if nothing is known.

        >>> (col("ts") // 60).bound_of(121, pa.schema({"ts": pa.int64()}))
        2
        """
        name = _increasing_in(self, schema)
        if name is None:
            return None
        kind = schema.field(name).type
        base = physical(kind)
        try:
            # Between two integers the first value that can still come is the next one.
            row = pa.array([float(bound) if pa.types.is_floating(base) else math.ceil(bound)], base)
            if not math.isfinite(row[0].as_py()):
                return None
            result = self.evaluate(pa.record_batch([row.view(kind)], [name]))
        except (OopError, pa.ArrowException, OverflowError, ValueError):
            return None
        value: int | float | None = result.view(physical(result.type))[0].as_py()
        known = value is not None and math.isfinite(value) and not pa.types.is_duration(result.type)
        return value if known else None

    def _value(self, batch: pa.RecordBatch) -> Any:
        raise NotImplementedError

    def _text(self) -> tuple[str, int]:
        raise NotImplementedError

    def __repr__(self) -> str:
        return self._text()[0]

    def __bool__(self) -> NoReturn:
        raise TypeError(
            f"{self!r} has a value for each row, not one truth: "
            "use & | ~ instead of and, or, not; between() instead of a < x < b"
        )

    __add__, __radd__ = _binary("add"), _reflected("add")
    __sub__, __rsub__ = _binary("subtract"), _reflected("subtract")
    __mul__, __rmul__ = _binary("multiply"), _reflected("multiply")
    __truediv__, __rtruediv__ = _binary("divide"), _reflected("divide")
    __floordiv__, __rfloordiv__ = _binary("floor_divide"), _reflected("floor_divide")
    __mod__, __rmod__ = _binary("mod"), _reflected("mod")
    __and__, __rand__ = _binary("and"), _reflected("and")
    __or__, __ror__ = _binary("or"), _reflected("or")
    __lt__, __le__, __gt__, __ge__ = map(_binary, ("less", "less_equal", "greater", "greater_equal"))
    __neg__, __invert__, __abs__ = _unary("negate"), _unary("invert"), _unary("abs")

    def __eq__(self, other: object) -> Expr:  # type: ignore[override]
        return _call("equal", self, other)

    def __ne__(self, other: object) -> Expr:  # type: ignore[override]
        return _call("not_equal", self, other)

    abs, floor, ceil = _unary("abs"), _unary("floor"), _unary("ceil")
    is_null, is_not_null, is_nan = _unary("is_null"), _unary("is_not_null"), _unary("is_nan")
    lower, upper = _unary("lower"), _unary("upper")
    length = _unary("length")  # characters of a string, bytes of a binary
    # Of a timestamp with zone these are in local time.
    year, month, day = _unary("year"), _unary("month"), _unary("day")
    hour, minute, second = _unary("hour"), _unary("minute"), _unary("second")
    fill_null = _binary("fill_null")

    def round(self, ndigits: int = 0) -> Expr:
        """To the nearest, halves to even, as Python's."""
        return _call("round", self, options=(ndigits,))

    def cast(self, kind: pa.DataType | str) -> Expr:
        """To another type. What does not fit is an error, never wrapped; times round down to a coarser unit.

        >>> col("x").cast("int64")
        cast(x, int64)
        """
        return _call("cast", self, options=(_kind(kind),))

    def between(self, low: object, high: object) -> Expr:
        """Both ends included."""
        return (self >= low) & (self <= high)

    def isin(self, values: Iterable[object]) -> Expr:
        """Whether the value is one of these. A null gives null, and None among the values equals nothing."""
        return _call("isin", self, options=(tuple(values),))

    def starts_with(self, pattern: str) -> Expr:
        return _call("starts_with", self, options=(pattern,))

    def ends_with(self, pattern: str) -> Expr:
        return _call("ends_with", self, options=(pattern,))

    def contains(self, pattern: str) -> Expr:
        return _call("contains", self, options=(pattern,))


@dataclass(frozen=True, eq=False, repr=False)
class Col(Expr):
    """A column, by name."""

    name: str

    def columns(self) -> frozenset[str]:
        return frozenset((self.name,))

    def rename(self, mapping: Mapping[str, str]) -> Expr:
        return Col(mapping.get(self.name, self.name))

    def increasing_in(self, schema: pa.Schema) -> str | None:
        return self.name if ordered(self.type(schema)) else None

    def _value(self, batch: pa.RecordBatch) -> Any:
        found = batch.schema.get_all_field_indices(self.name)
        if not found:
            raise UnknownColumn.of(self.name, batch.schema.names)
        if len(found) > 1:
            raise SchemaMismatch(f"{len(found)} columns have the name {self.name!r}", hint="rename one")
        column = batch.column(found[0])
        return column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column

    def _text(self) -> tuple[str, int]:
        return self.name, _ATOM


@dataclass(frozen=True, eq=False, repr=False)
class Lit(Expr):
    """A constant."""

    value: object

    def _value(self, batch: pa.RecordBatch) -> Any:
        return natural(self.value)

    def _text(self) -> tuple[str, int]:
        if isinstance(self.value, (date, timedelta, Decimal)):  # a datetime is a date
            return str(self.value), _ATOM
        return repr(self.value), _ATOM


@dataclass(frozen=True, eq=False, repr=False)
class Call(Expr):
    """A function of expressions; ``options`` are what it takes besides them."""

    function: str
    args: tuple[Expr, ...]
    options: tuple[object, ...] = ()

    def columns(self) -> frozenset[str]:
        return frozenset().union(*(arg.columns() for arg in self.args))

    def rename(self, mapping: Mapping[str, str]) -> Expr:
        return Call(self.function, tuple(arg.rename(mapping) for arg in self.args), self.options)

    def fixed(self) -> dict[str, object]:
        if self.function == "and":
            return {**self.args[1].fixed(), **self.args[0].fixed()}
        if self.function == "isin" and isinstance(self.options[0], tuple) and len(self.options[0]) == 1:
            return _call("equal", self.args[0], self.options[0][0]).fixed()
        if self.function == "equal":
            for column, constant in (self.args, self.args[::-1]):
                if isinstance(column, Col) and isinstance(constant, Lit) and _exact(constant.value):
                    return {column.name: constant.value}
        return {}

    def increasing_in(self, schema: pa.Schema) -> str | None:
        first, *rest = self.args
        inner = self._carrier(first, rest, schema)
        if inner is None or not ordered(self.type(schema)):
            return None
        return inner.increasing_in(schema) if isinstance(inner, Expr) else inner

    def _carrier(self, first: Expr, rest: list[Expr], schema: pa.Schema) -> Expr | str | None:
        """The argument in which the function increases (or the column, where several share it)."""
        if self.function in ("add", "multiply", "subtract", "divide", "floor_divide"):
            second = rest[0]
            if not first.columns() and self.function in ("add", "multiply"):
                first, second = second, first
            if second.columns():
                return None
            constant = _constant(second)
            scales = self.function in ("multiply", "divide", "floor_divide")
            positive = isinstance(constant, (int, float)) and 0 < constant < math.inf
            return first if positive or (not scales and constant is not None) else None
        if self.function in ("floor", "ceil") or (self.function == "round" and self.options == (0,)):
            return first  # to other digits pyarrow's round leaves some values unrounded, past a neighbour
        if self.function == "cast":
            return first if keeps_order(first.type(schema), self.options[0]) else None
        if self.function in ("greatest", "least"):
            names = {arg.increasing_in(schema) for arg in self.args if arg.columns()}
            return names.pop() if len(names) == 1 else None
        return None

    def _value(self, batch: pa.RecordBatch) -> Any:
        values = [arg._value(batch) for arg in self.args]
        try:
            return FUNCTIONS[self.function](*values, *self.options)
        except NotImplementedError as error:
            kinds = " and ".join(str(value.type) for value in values)
            what = f"{self!r}: no {self._symbol()} for {kinds}"
            raise SchemaMismatch(what, hint="cast them to types that go together") from error
        except TypeError as error:
            raise SchemaMismatch(f"{self!r}: {error}") from error
        except (pa.ArrowException, ArithmeticError) as error:
            reason = str(error)
            if reason == "divide by zero":
                reason = "division by zero"
            raise OopError(f"{self!r}: {reason}") from error

    def _symbol(self) -> str:
        return {**_INFIX, **_PREFIX}.get(self.function, (self.function, 0))[0]

    def _text(self) -> tuple[str, int]:
        if self.function in _INFIX:
            symbol, level = _INFIX[self.function]
            # Comparisons do not chain; the others group from the left.
            left = _shown(self.args[0], level + (level == 1))
            return f"{left} {symbol} {_shown(self.args[1], level + 1)}", level
        if self.function in _PREFIX:
            symbol, level = _PREFIX[self.function]
            return symbol + _shown(self.args[0], level + 1), level
        options = [str(o) if isinstance(o, pa.DataType) else repr(o) for o in self.options]
        return f"{self.function}({', '.join([*map(repr, self.args), *options])})", _ATOM


def _shown(expr: Expr, least: int) -> str:
    text, level = expr._text()
    return text if level >= least else f"({text})"


@lru_cache(maxsize=256)
def _increasing_in(expr: Expr, schema: pa.Schema) -> str | None:
    """Asked for every promise of a stream; the answer is the same each time."""
    return expr.increasing_in(schema)


def _constant(expr: Expr) -> object:
    return expr._value(pa.record_batch([], [])).as_py()


def _exact(value: object) -> bool:
    """Whether a column equal to this literal holds just this value, as Python compares values."""
    if isinstance(value, Decimal):
        return value.is_finite() and Decimal(float(value)) == value
    if isinstance(value, float):
        return abs(value) < 2**53  # beyond, integers round to it; NaN fails too
    return isinstance(value, (bool, int, str, bytes, date, datetime, timedelta))


def _same(a: object, b: object) -> bool:
    if type(a) is not type(b):
        return False
    if isinstance(a, tuple) and isinstance(b, tuple):
        return len(a) == len(b) and all(map(_same, a, b))
    if isinstance(a, Expr):
        return _same(tuple(vars(a).values()), tuple(vars(b).values()))
    return bool(a == b) or (a != a and b != b)


def _kind(kind: pa.DataType | str) -> pa.DataType:
    if isinstance(kind, pa.DataType):
        return kind
    zoned = re.fullmatch(r"timestamp\[(s|ms|us|ns), *tz=(.+)\]", kind)
    try:
        return pa.timestamp(*zoned.groups()) if zoned else pa.type_for_alias(kind)
    except ValueError as error:
        raise SchemaMismatch(f"no type {kind!r}", hint="for example 'int64' or 'timestamp[us]'") from error


def as_expr(value: object) -> Expr:
    """A value as an expression; a string is a literal here, not a column's name.

    >>> as_expr("A"), as_expr(col("A"))
    ('A', A)
    """
    return value if isinstance(value, Expr) else lit(value)


def col(name: str) -> Col:
    """The column of that name.

    >>> 1 + col("len") * 2
    1 + len * 2
    """
    if not isinstance(name, str):
        raise TypeError(f"a column's name is a string, not {name!r}")
    return Col(name)


def lit(value: object) -> Lit:
    """A constant: a number, string, bytes, bool, date, datetime, timedelta, Decimal or None.

    >>> lit(2) ** 2
    Traceback (most recent call last):
        ...
    TypeError: unsupported operand type(s) for ** or pow(): 'Lit' and 'int'
    """
    if isinstance(value, np.generic) and not isinstance(value, (np.datetime64, np.timedelta64)):
        value = value.item()
    if isinstance(value, (list, tuple, set, dict, pa.Array)):
        raise TypeError(f"{value!r} is no constant of one row; did you mean isin()?")
    try:
        natural(value)
    except (pa.ArrowException, TypeError, ValueError, OverflowError) as error:
        raise TypeError(f"{value!r} is no constant that Arrow can hold: {error}") from error
    return Lit(value)


def greatest(first: object, *others: object) -> Expr:
    """The greatest of the values of a row; null (or NaN) if one of them is.

    >>> greatest(col("ts"), col("ts_right"), 0)
    greatest(ts, ts_right, 0)
    """
    return _call("greatest", first, *others)


def least(first: object, *others: object) -> Expr:
    """The least of the values of a row; null (or NaN) if one of them is.

    >>> least(col("a"), 3).evaluate(pa.record_batch({"a": [1, 5, None]})).to_pylist()
    [1, 3, None]
    """
    return _call("least", first, *others)


def if_else(condition: object, then: object, otherwise: object) -> Expr:
    """One value or the other; null where the condition is null.

    >>> if_else(col("a") > 2, "big", "small").evaluate(pa.record_batch({"a": [1, 5]})).to_pylist()
    ['small', 'big']
    """
    return _call("if_else", condition, then, otherwise)
