"""Expressions that increase in several columns: the greatest and the least of some, and functions of these.

Every such expression is the least of some greatests of expressions that each increase in one column: an increasing
function of a greatest is the greatest of the function's values, and the greatest of leasts is the least of the
greatests of all choices among them. How bounds cross these two is in `oop.punctuation.translate`.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import pyarrow as pa

from oop.operators.expressions.expr import Call, Expr
from oop.operators.expressions.kinds import is_ordered, keeps_order
from oop.operators.expressions.monotone import Facts, carrier

Form = list[list[Expr]]
"""The least of the greatests of these."""
_DEEP = 50  # nested greatests and leasts looked through at most: each choice among them is a term


def least_of_greatests(expr: Expr, facts: Facts | pa.Schema, depth: int = 0) -> Form | None:
    """The expression in that form, or None where it does not provably increase.

    >>> from oop.operators.expressions.expr import col, greatest, least
    >>> schema = pa.schema({"a": pa.int64(), "b": pa.int64()})
    >>> least_of_greatests(greatest(col("a"), col("b") - 5, 0) // 60, schema)
    [[greatest(a, 0) // 60, greatest(b - 5, 0) // 60]]
    >>> least_of_greatests(least(col("a"), col("b")), schema), least_of_greatests(col("a") - col("b"), schema)
    ([[a], [b]], None)
    """
    facts = facts if isinstance(facts, Facts) else Facts(facts)
    outer: list[tuple[Call, Expr]] = []  # functions of one argument that increase in it, from the outermost on
    while facts.column(expr) is None:
        if not isinstance(expr, Call) or not is_ordered(facts.type(expr)):
            return None
        varying = [a for a in expr.args if not facts.is_constant(a)]
        extreme = expr.function in ("greatest", "least")
        if extreme and len(varying) > 1:
            form = None if depth > _DEEP else _of_extreme(expr, varying, facts, depth)
            return None if form is None else _through(outer, form, facts)
        inner = varying[0] if extreme else carrier(expr, facts)
        if not isinstance(inner, Expr):
            return None
        outer.append((expr, inner))
        expr = inner
    return _through(outer, [[expr]], facts)


def _of_extreme(call: Call, inner: list[Expr], facts: Facts, depth: int) -> Form | None:
    kind = facts.type(call)
    constants = [a for a in call.args if facts.is_constant(a)]
    forms: list[Form] = []
    for arg in inner:
        # a constant may stand beside each argument as well as beside all
        form = least_of_greatests(call._call(call.function, arg, *constants) if constants else arg, facts, depth + 1)
        if form is None or not keeps_order(facts.type(arg), kind):
            return None
        forms.append([[_in_type(e, kind, facts) for e in term] for term in form])
    if call.function == "least":
        return list(itertools.chain(*forms))
    return [list(itertools.chain(*chosen)) for chosen in itertools.product(*forms)]


def _through(outer: Sequence[tuple[Call, Expr]], form: Form, facts: Facts) -> Form:
    """The form after functions of one argument are applied to it, from the innermost on."""
    for call, inner in reversed(outer):
        kind = facts.type(inner)
        form = [[_applied(call, inner, _in_type(e, kind, facts)) for e in term] for term in form]
    return form


def _applied(call: Call, inner: Expr, to: Expr) -> Expr:
    return Call(call.function, tuple(to if a is inner else a for a in call.args), call.options)


def _in_type(expr: Expr, kind: pa.DataType, facts: Facts) -> Expr:
    return expr if facts.type(expr) == kind else expr.cast(kind)
