"""Expressions that never decrease as a column grows: a bound on the column is then one on the expression."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from typing import Any, Protocol

import pyarrow as pa

from oop.errors import OopError
from oop.operators.expressions.kinds import is_ordered, keeps_order, physical_type
from oop.operators.expressions.traversal import Tree, inside_out


class Term(Tree, Protocol):
    """What is asked of an expression here; `Expr` is built on this module."""

    def __hash__(self) -> int: ...

    def evaluate(self, batch: pa.RecordBatch) -> pa.Array: ...

    def _value(self, batch: pa.RecordBatch, args: Sequence[Any]) -> Any: ...


class Facts:
    """What is known of expressions over columns of these types and of all their parts; each is examined once."""

    def __init__(self, schema: pa.Schema) -> None:
        self.schema = schema
        self._none = schema.empty_table()
        self._values: dict[int, Any] = {}  # values over no rows, where constants are scalars
        self._columns: dict[int, str | None] = {}
        self._known: list[Term] = []  # kept alive, because their ids are keys

    def type(self, expr: Term) -> pa.DataType:
        return self._value(expr).type

    def is_constant(self, expr: Term) -> bool:
        """Does it read no column?"""
        return isinstance(self._value(expr), pa.Scalar)

    def _value(self, expr: Term) -> Any:
        values = self._values
        for part in inside_out(expr, values):
            values[id(part)] = part._value(self._none, [values[id(a)] for a in part.args])
            self._known.append(part)
        return values[id(expr)]

    def column(self, expr: Term) -> str | None:
        """The column in which the expression provably never decreases."""
        for part in inside_out(expr, self._columns):
            self._columns[id(part)] = self._column(part)
            self._known.append(part)
        return self._columns[id(expr)]

    def _column(self, expr: Term) -> str | None:
        inner = carrier(expr, self)
        if inner is None or not is_ordered(self.type(expr)):
            return None
        return inner if isinstance(inner, str) else self._columns[id(inner)]


def carrier(expr: Term, facts: Facts) -> Term | str | None:
    """The argument in which a function increases; or the name of a column, if several arguments increase in it or the
    expression is that column."""
    if not expr.args:
        return getattr(expr, "name", None)  # None for a constant
    call: Any = expr
    first, *rest = call.args
    if call.function in ("add", "multiply", "subtract", "divide", "floor_divide"):
        second = rest[0]
        if facts.is_constant(first) and call.function in ("add", "multiply"):
            first, second = second, first
        if not facts.is_constant(second):
            return None
        constant = facts._value(second).as_py()
        scales = call.function in ("multiply", "divide", "floor_divide")
        positive = isinstance(constant, (int, float)) and 0 < constant < math.inf
        return first if positive or (not scales and constant is not None) else None
    if call.function in ("floor", "ceil") or (call.function == "round" and call.options == (0,)):
        return first  # to other digits pyarrow's round leaves some values unrounded, past a neighbour
    if call.function == "cast":
        return first if keeps_order(facts.type(first), call.options[0]) else None
    if call.function in ("greatest", "least"):
        names = {facts.column(arg) for arg in call.args if not facts.is_constant(arg)}
        return names.pop() if len(names) == 1 else None
    return None


def bound_through(expr: Term, bound: int | float, schema: pa.Schema) -> int | float | None:
    """The bound on an expression that follows from a bound on the column in which it increases; both are physical."""
    name = _increasing_in(expr, schema)
    if name is None:
        return None
    kind = schema.field(name).type
    base = physical_type(kind)
    try:
        # Between two integers the first value that can still come is the next one.
        row = pa.array([float(bound) if pa.types.is_floating(base) else math.ceil(bound)], base)
        if not math.isfinite(row[0].as_py()):
            return None
        result = expr.evaluate(pa.record_batch([row.view(kind)], [name]))
    except (OopError, pa.ArrowException, OverflowError, ValueError):
        return None
    value: int | float | None = result.view(physical_type(result.type))[0].as_py()
    known = value is not None and math.isfinite(value) and not pa.types.is_duration(result.type)
    return value if known else None


def lower_through(expr: Term, low: int | float, schema: pa.Schema) -> int | float | None:
    """The least value such that the expression is that great only where its column is at least ``low``.

    The expression may have one value on both sides of ``low``, so the result is greater than its value just below.

    >>> from oop.operators.expressions.expr import col
    >>> [lower_through(col("ts") // 60, low, pa.schema({"ts": pa.int64()})) for low in (120, 121)]
    [2, 3]
    """
    name = _increasing_in(expr, schema)
    if name is None:
        return None
    whole = not pa.types.is_floating(physical_type(schema.field(name).type))
    before = bound_through(expr, math.ceil(low) - 1 if whole else low, schema)
    if before is None:
        return None
    return before + 1 if isinstance(before, int) else math.nextafter(before, math.inf)


@lru_cache(maxsize=256)
def _increasing_in(expr: Term, schema: pa.Schema) -> str | None:
    """Cached, because it is asked for every promise of a stream."""
    return Facts(schema).column(expr)
