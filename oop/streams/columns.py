"""Operators that look at one row at a time, and unions: `Stream.filter`, `select`, `with_columns`, `split`, `union`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from oop.operators.expressions.expr import Col, Expr, as_expr, col
from oop.operators.passing.filter import Filter
from oop.operators.passing.split import Split
from oop.operators.passing.union import Union
from oop.plan.flow import Flow


def filtered(flow: Flow, predicate: Expr) -> Flow:
    if not isinstance(predicate, Expr):
        raise TypeError(f"filter takes an expression such as oop.col('len') > 40, not {predicate!r}")
    return flow.then(Filter(predicate), f".filter({predicate!r})", time=flow.time)


def selected(flow: Flow, columns: Sequence[str | Expr], named: Mapping[str, Expr | str]) -> Flow:
    chosen: list[tuple[str, Expr]] = []
    for column in columns:
        expr = col(column) if isinstance(column, str) else column
        if not isinstance(expr, Col):
            raise TypeError(f"name the expression: .select(name={expr!r})")
        chosen.append((expr.name, expr))
    chosen += [(n, col(e) if isinstance(e, str) else as_expr(e)) for n, e in named.items()]
    if not chosen:
        raise ValueError("select takes at least one column")
    return flow.project(chosen, ".select")


def with_columns(flow: Flow, named: Mapping[str, Any]) -> Flow:
    given = {n: as_expr(e) for n, e in named.items()}
    chosen: list[tuple[str, Expr]] = [(n, given.pop(n, col(n))) for n in flow.schema.names]
    return flow.project(chosen + list(given.items()), ".with_columns")


def split(flow: Flow, predicates: tuple[Expr, ...]) -> tuple[Flow, ...]:
    if not predicates:
        raise ValueError("split takes at least one predicate")
    found = flow.then(Split(predicates), f".split({', '.join(map(repr, predicates))})", time=flow.time)
    return tuple(replace(found, route=i) for i in range(len(predicates) + 1))


def united(first: Flow, others: Sequence[Flow]) -> Flow:
    time = first.time if {first.time} == {flow.time for flow in (first, *others)} else None
    count = 1 + len(others)
    return first.then(Union(count), f"union of {count}", time=time, others=others)
