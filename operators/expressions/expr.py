"""Column expressions: ``col("len") > 40`` is a value to evaluate, type, show and ask about order.

>>> batch = pa.record_batch({"len": [40, 41, None], "link": ["A", "B", "A"]})
>>> both = (col("len") > 40) & (col("link") == "B")
>>> both
(len > 40) & (link == 'B')
>>> both.evaluate(batch).to_pylist()
[False, True, False]

Nulls follow SQL: an operation on a null is null, and ``&``, ``|``, ``~`` are Kleene's.

This module has the nodes of expressions. `fluent` says how they are written and shown, `functions` what they compute,
`monotone` which of them increase.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date, timedelta
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa

from oop.errors import OopError, SchemaMismatch, UnknownColumn
from oop.frozen import frozen
from oop.operators.expressions.alignment import broadcast, is_exact, natural
from oop.operators.expressions.fluent import ATOM, Fluent, call_text, symbol
from oop.operators.expressions.functions import FUNCTIONS
from oop.operators.expressions.limits import TURNED, Limits, both_limits, limits_of
from oop.operators.expressions.monotone import Facts, bound_through
from oop.operators.expressions.traversal import fold, inside_out


class Expr(Fluent["Expr"]):
    """A function of the columns of a row. ``==`` builds an expression; :meth:`same` compares two of them.

    >>> (col("len") * 8 > 400) & (col("link") == "A")
    (len * 8 > 400) & (link == 'A')
    """

    args: tuple[Expr, ...] = ()

    def evaluate(self, batch: pa.RecordBatch) -> pa.Array:
        """The expression's value for every row.

        >>> (col("x") // 2).evaluate(pa.record_batch({"x": [-3, 3]})).to_pylist()
        [-2, 1]
        """
        try:
            result = fold(self, lambda part, values: part._value(batch, values))
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
        return frozenset(part.name for part in inside_out(self) if isinstance(part, Col))

    def rename(self, mapping: Mapping[str, str]) -> Expr:
        """The same expression of columns that have other names.

        >>> (col("a") + col("b")).rename({"a": "x"})
        x + b
        """
        return fold(self, lambda part, args: part._renamed(mapping, args))

    def same(self, other: object) -> bool:
        """Whether the two are written the same.

        >>> (col("a") + 1).same(col("a") + 1), (col("a") + 1).same(col("a") + 1.0)
        (True, False)
        """
        pairs: list[tuple[object, object]] = [(self, other)]
        seen: set[tuple[int, int]] = set()
        while pairs:
            a, b = pairs.pop()
            if type(a) is not type(b):
                return False
            if isinstance(a, Expr) and isinstance(b, Expr):
                if (id(a), id(b)) not in seen:
                    seen.add((id(a), id(b)))
                    pairs.append((tuple(vars(a).values()), tuple(vars(b).values())))
            elif isinstance(a, tuple) and isinstance(b, tuple):
                if len(a) != len(b):
                    return False
                pairs += zip(a, b, strict=True)
            elif not (a == b or (a != a and b != b)):
                return False
        return True

    def fixed(self) -> dict[str, object]:
        """The columns that have one known value in every row that passes this filter.

        >>> ((col("link") == "A") & (col("len") > 40)).fixed()
        {'link': 'A'}
        """
        found: dict[str, object] = {}
        waiting: list[Expr] = [self]
        while waiting:  # from the last term to the first, which decides
            part = waiting.pop()
            if isinstance(part, Call) and part.function == "and":
                waiting += part.args
            else:
                found.update(part._fixed())
        return found

    def limits(self) -> Limits:
        """The range that each column of numbers is in, in every row that passes this filter.

        >>> ((col("k") >= 10) & (col("k") < 20) & (col("link") == "A")).limits()
        {'k': (10, 20)}
        """
        found: Limits = {}
        waiting: list[Expr] = [self]
        while waiting:
            part = waiting.pop()
            if isinstance(part, Call) and part.function == "and":
                waiting += part.args
            else:
                found = both_limits(found, part._limits())
        return found

    def _limits(self) -> Limits:
        """The limits that one comparison sets."""
        return {}

    def increasing_in(self, schema: pa.Schema) -> str | None:
        """The one column of which the expression is provably a non-decreasing function.

        >>> schema = pa.schema({"ts": pa.int64()})
        >>> (col("ts") // 60 + 1).increasing_in(schema), (-col("ts")).increasing_in(schema)
        ('ts', None)
        """
        return Facts(schema).column(self)

    def bound_of(self, bound: int | float, schema: pa.Schema) -> int | float | None:
        """A bound on the later values of the expression, if no later row has the column below ``bound``.

        Both are physical: units since the epoch of a timestamp, days of a date. None if nothing is known.

        >>> (col("ts") // 60).bound_of(121, pa.schema({"ts": pa.int64()}))
        2
        """
        return bound_through(self, bound, schema)

    @staticmethod
    def _call(function: str, *args: object, options: tuple[object, ...] = ()) -> Expr:
        return Call(function, tuple(map(as_expr, args)), options)

    def _value(self, batch: pa.RecordBatch, args: Sequence[Any]) -> Any:
        raise NotImplementedError

    def _renamed(self, mapping: Mapping[str, str], args: Sequence[Expr]) -> Expr:
        return self

    def _fixed(self) -> dict[str, object]:
        return {}

    def _text(self, args: Sequence[tuple[str, int]]) -> tuple[str, int]:
        """The text of this node and its precedence, given those of its arguments."""
        raise NotImplementedError

    def __repr__(self) -> str:
        return fold(self, lambda part, args: part._text(args))[0]


@frozen(eq=False, repr=False)
class Col(Expr):
    """A column, by name."""

    name: str

    def _renamed(self, mapping: Mapping[str, str], args: Sequence[Expr]) -> Expr:
        return Col(mapping.get(self.name, self.name))

    def _value(self, batch: pa.RecordBatch, args: Sequence[Any]) -> Any:
        found = batch.schema.get_all_field_indices(self.name)
        if not found:
            raise UnknownColumn.of(self.name, batch.schema.names)
        if len(found) > 1:
            raise SchemaMismatch(f"{len(found)} columns have the name {self.name!r}", hint="rename one")
        column = batch.column(found[0])
        return column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column

    def _text(self, args: Sequence[tuple[str, int]]) -> tuple[str, int]:
        return self.name, ATOM


@frozen(eq=False, repr=False)
class Lit(Expr):
    """A constant."""

    value: object

    def _value(self, batch: pa.RecordBatch, args: Sequence[Any]) -> Any:
        return natural(self.value)

    def _text(self, args: Sequence[tuple[str, int]]) -> tuple[str, int]:
        if isinstance(self.value, (date, timedelta, Decimal)):  # a datetime is a date
            return str(self.value), ATOM
        return repr(self.value), ATOM


@frozen(eq=False, repr=False)
class Call(Expr):
    """A function of expressions; ``options`` are what it takes besides them."""

    function: str
    args: tuple[Expr, ...]
    options: tuple[object, ...] = ()

    def _renamed(self, mapping: Mapping[str, str], args: Sequence[Expr]) -> Expr:
        return Call(self.function, tuple(args), self.options)

    def _fixed(self) -> dict[str, object]:
        if self.function == "isin" and isinstance(self.options[0], tuple) and len(self.options[0]) == 1:
            return self._call("equal", self.args[0], self.options[0][0])._fixed()
        if self.function == "is_null" and isinstance(self.args[0], Col):
            return {self.args[0].name: None}
        if self.function == "equal":
            for column, constant in (self.args, self.args[::-1]):
                if isinstance(column, Col) and isinstance(constant, Lit) and is_exact(constant.value):
                    return {column.name: constant.value}
        return {}

    def _limits(self) -> Limits:
        if self.function in TURNED:
            left, right = self.args
            if isinstance(left, Col) and isinstance(right, Lit):
                return limits_of(left.name, self.function, right.value)
            if isinstance(right, Col) and isinstance(left, Lit):
                return limits_of(right.name, TURNED[self.function], left.value)
        return {}

    def _value(self, batch: pa.RecordBatch, args: Sequence[Any]) -> Any:
        try:
            return FUNCTIONS[self.function](*args, *self.options)
        except NotImplementedError as error:
            kinds = " and ".join(str(value.type) for value in args)
            what = f"{self!r}: no {symbol(self.function)} for {kinds}"
            raise SchemaMismatch(what, hint="cast them to types that go together") from error
        except TypeError as error:
            raise SchemaMismatch(f"{self!r}: {error}") from error
        except (pa.ArrowException, ArithmeticError) as error:
            reason = str(error)
            if reason == "divide by zero":
                reason = "division by zero"
            raise OopError(f"{self!r}: {reason}") from error

    def _text(self, args: Sequence[tuple[str, int]]) -> tuple[str, int]:
        return call_text(self.function, self.options, args)

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle part by part, because pickling a deeply nested expression would recurse."""
        parts = list(inside_out(self))
        places = {id(part): i for i, part in enumerate(parts)}
        flat = [(p.function, [places[id(a)] for a in p.args], p.options) if isinstance(p, Call) else p for p in parts]
        return _rebuilt, (flat,)


def _rebuilt(flat: Sequence[Any]) -> Expr:
    parts: list[Expr] = []
    for part in flat:
        if isinstance(part, Expr):
            parts.append(part)
        else:
            function, places, options = part
            parts.append(Call(function, tuple(parts[i] for i in places), options))
    return parts[-1]


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
    if isinstance(value, (list, tuple, set, dict, pa.Array, pa.ChunkedArray, np.ndarray)):
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
    return Expr._call("greatest", first, *others)


def least(first: object, *others: object) -> Expr:
    """The least of the values of a row; null (or NaN) if one of them is.

    >>> least(col("a"), 3).evaluate(pa.record_batch({"a": [1, 5, None]})).to_pylist()
    [1, 3, None]
    """
    return Expr._call("least", first, *others)


def if_else(condition: object, then: object, otherwise: object) -> Expr:
    """One value or the other; null where the condition is null.

    >>> if_else(col("a") > 2, "big", "small").evaluate(pa.record_batch({"a": [1, 5]})).to_pylist()
    ['small', 'big']
    """
    return Expr._call("if_else", condition, then, otherwise)
