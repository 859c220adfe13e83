"""Expressions that never decrease as a column grows: a bound on the column is then one on the expression."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import TYPE_CHECKING

import pyarrow as pa

from oop.errors import OopError
from oop.operators.kinds import keeps_order, ordered, physical

if TYPE_CHECKING:
    from oop.operators.expressions import Call, Expr


def increases_in(call: Call, schema: pa.Schema) -> str | None:
    """The column in which a function of expressions provably never decreases."""
    inner = carrier(call, schema)
    if inner is None or not ordered(call.type(schema)):
        return None
    return inner if isinstance(inner, str) else inner.increasing_in(schema)


def carrier(call: Call, schema: pa.Schema) -> Expr | str | None:
    """The argument in which the function increases (or the column, where several share it)."""
    first, *rest = call.args
    if call.function in ("add", "multiply", "subtract", "divide", "floor_divide"):
        second = rest[0]
        if not first.columns() and call.function in ("add", "multiply"):
            first, second = second, first
        if second.columns():
            return None
        constant = _constant(second)
        scales = call.function in ("multiply", "divide", "floor_divide")
        positive = isinstance(constant, (int, float)) and 0 < constant < math.inf
        return first if positive or (not scales and constant is not None) else None
    if call.function in ("floor", "ceil") or (call.function == "round" and call.options == (0,)):
        return first  # to other digits pyarrow's round leaves some values unrounded, past a neighbour
    if call.function == "cast":
        return first if keeps_order(first.type(schema), call.options[0]) else None
    if call.function in ("greatest", "least"):
        names = {arg.increasing_in(schema) for arg in call.args if arg.columns()}
        return names.pop() if len(names) == 1 else None
    return None


def _constant(expr: Expr) -> object:
    return expr._value(pa.record_batch([], [])).as_py()


def bound_through(expr: Expr, bound: int | float, schema: pa.Schema) -> int | float | None:
    """What becomes of a bound on the column in which the expression increases; both are physical."""
    name = _increasing_in(expr, schema)
    if name is None:
        return None
    kind = schema.field(name).type
    base = physical(kind)
    try:
        # Between two integers the first value that can still come is the next one.
        row = pa.array([float(bound) if pa.types.is_floating(base) else math.ceil(bound)], base)
        if not math.isfinite(row[0].as_py()):
            return None
        result = expr.evaluate(pa.record_batch([row.view(kind)], [name]))
    except (OopError, pa.ArrowException, OverflowError, ValueError):
        return None
    value: int | float | None = result.view(physical(result.type))[0].as_py()
    known = value is not None and math.isfinite(value) and not pa.types.is_duration(result.type)
    return value if known else None


def lower_through(expr: Expr, low: int | float, schema: pa.Schema) -> int | float | None:
    """What becomes of a lower bound: whatever is at least that comes from a column that is at least ``low``.

    The expression may have one value on both sides of ``low``, so it is a value greater than that just below.

    >>> from oop.operators.expressions import col
    >>> [lower_through(col("ts") // 60, low, pa.schema({"ts": pa.int64()})) for low in (120, 121)]
    [2, 3]
    """
    name = _increasing_in(expr, schema)
    if name is None:
        return None
    whole = not pa.types.is_floating(physical(schema.field(name).type))
    before = bound_through(expr, math.ceil(low) - 1 if whole else low, schema)
    if before is None:
        return None
    return before + 1 if isinstance(before, int) else math.nextafter(before, math.inf)


@lru_cache(maxsize=256)
def _increasing_in(expr: Expr, schema: pa.Schema) -> str | None:
    """Asked for every promise of a stream; the answer is the same each time."""
    return expr.increasing_in(schema)
