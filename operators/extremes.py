"""Expressions that increase in several columns: the greatest and the least of some, and functions of these.

Every such expression is the least of some greatests of expressions that each increase in one column: an increasing
function of a greatest is the greatest of the function's values, and the greatest of leasts is the least of the
greatests of all choices among them. How bounds cross these two is in `oop.punctuation.translate`.
"""

from __future__ import annotations

import itertools

import pyarrow as pa

from oop.operators.expressions import Call, Expr
from oop.operators.kinds import keeps_order, ordered
from oop.operators.monotone import carrier

Form = list[list[Expr]]
"""The least of the greatests of these."""


def least_of_greatests(expr: Expr, schema: pa.Schema) -> Form | None:
    """The expression in that form, or None where it does not provably increase.

    >>> from oop.operators.expressions import col, greatest, least
    >>> schema = pa.schema({"a": pa.int64(), "b": pa.int64()})
    >>> least_of_greatests(greatest(col("a"), col("b") - 5, 0) // 60, schema)
    [[greatest(a, 0) // 60, greatest(b - 5, 0) // 60]]
    >>> least_of_greatests(least(col("a"), col("b")), schema), least_of_greatests(col("a") - col("b"), schema)
    ([[a], [b]], None)
    """
    if expr.increasing_in(schema) is not None:
        return [[expr]]
    if not isinstance(expr, Call) or not ordered(expr.type(schema)):
        return None
    if expr.function in ("greatest", "least"):
        return _of_extreme(expr, schema)
    inner = carrier(expr, schema)
    return _through(expr, inner, schema) if isinstance(inner, Expr) else None


def _of_extreme(call: Call, schema: pa.Schema) -> Form | None:
    inner = [a for a in call.args if a.columns()]
    if len(inner) == 1:
        return _through(call, inner[0], schema)
    kind = call.type(schema)
    constants = [a for a in call.args if not a.columns()]
    forms: list[Form] = []
    for arg in inner:
        # a constant may stand beside each argument as well as beside all
        form = least_of_greatests(call._call(call.function, arg, *constants) if constants else arg, schema)
        if form is None or not keeps_order(arg.type(schema), kind):
            return None
        forms.append([[_in_type(e, kind, schema) for e in term] for term in form])
    if call.function == "least":
        return list(itertools.chain(*forms))
    return [list(itertools.chain(*chosen)) for chosen in itertools.product(*forms)]


def _through(call: Call, inner: Expr, schema: pa.Schema) -> Form | None:
    """A function of one argument that increases in it."""
    form = least_of_greatests(inner, schema)
    if form is None:
        return None
    kind = inner.type(schema)

    def applied(to: Expr) -> Expr:
        args = tuple(_in_type(to, kind, schema) if a is inner else a for a in call.args)
        return Call(call.function, args, call.options)

    return [[applied(e) for e in term] for term in form]


def _in_type(expr: Expr, kind: pa.DataType, schema: pa.Schema) -> Expr:
    return expr if expr.type(schema) == kind else expr.cast(kind)
