"""Expressions asked for their values and types, and the numbers and types of time to try them with."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
from hypothesis import strategies as st

from oop.operators.expressions.expr import Expr

I64 = (-(2**63), 2**63 - 1)
ints = st.integers(*I64) | st.integers(-20, 20) | st.sampled_from([*I64, 2**53 + 1, -(2**53) - 1])


def run(expr: Expr, **columns: Any) -> list[Any]:
    made = {n: v if isinstance(v, pa.Array) else pa.array(v) for n, v in columns.items()}
    return expr.evaluate(pa.record_batch(made)).to_pylist()


def typed(expr: Expr, **kinds: pa.DataType) -> pa.DataType:
    return expr.type(pa.schema(kinds))


def ts(unit: str = "us", zone: str | None = None) -> pa.DataType:
    return pa.timestamp(unit, zone)
