"""An expression that never decreases says of which column, and what a bound on that column says about it."""

from __future__ import annotations

import math
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st

from oop.errors import OopError, UnknownColumn
from oop.operators.expressions.expr import Expr, col, greatest, if_else, least, lit
from oop.operators.expressions.kinds import is_ordered, physical_type
from tests.operators.expressions.evaluated import I64, ints, ts

EXAMPLES = 300


class TestOrder:
    @pytest.mark.parametrize(
        ("expr", "kind"),
        [
            (col("x"), pa.int64()), (1 + col("x") - 3, pa.int64()), (col("x") * 2 // 3 / 4, pa.int32()),
            (0.5 * col("x"), pa.float32()), (col("x").cast("int64"), pa.int32()),
            (col("x").cast("float"), pa.int64()),
            (col("x").cast("double"), pa.float32()), (col("x").cast(ts("s")), ts()),
            (col("x").cast(ts("ns")), ts("s")),
            (col("x").cast("date32"), ts()), (col("x").cast("date32"), ts("us", "UTC")),
            (col("x").cast(ts()), pa.int64()),
            (col("x").floor().ceil().round(), pa.float64()), (greatest(col("x"), 3), pa.int64()),
            (least(3, greatest(col("x"), col("x") + 1)), pa.int64()),
            (col("x") + timedelta(1), ts("us", "Europe/Berlin")),
            (col("x") + timedelta(1), pa.date32()), (col("x").cast("int64") // (lit(2) + 1), ts()),
            (col("x") - (-lit(3)), pa.int64()), (col("x") - datetime(2020, 1, 1), ts()),
        ],
    )  # fmt: skip
    def test_increasing(self, expr: Expr, kind: pa.DataType) -> None:
        assert expr.increasing_in(pa.schema({"x": kind})) == "x"

    @pytest.mark.parametrize(
        ("expr", "kind"),
        [
            (-col("x"), pa.int64()), (col("x") * -1, pa.int64()), (col("x") * 0, pa.int64()),
            (3 - col("x"), pa.int64()),
            (col("x") % 3, pa.int64()), (3 / col("x"), pa.float64()), (col("x") // -2, pa.int64()),
            (abs(col("x")), pa.int64()), (col("x").cast("int32"), pa.int64()),
            (col("x").cast("uint64"), pa.int64()),
            (col("x").cast("int64"), pa.uint64()), (col("x").cast("int64"), pa.float64()),
            (col("x").cast("string"), pa.int64()), (col("x").cast("date32"), ts("us", "Europe/Berlin")),
            (col("x").hour(), ts()), (col("x").round(1), pa.float64()), (col("x"), pa.string()),
            (col("x").fill_null(0), pa.int64()), (col("x") + None, pa.int64()), (lit(1), pa.int64()),
            (col("x") > 1, pa.int64()), (greatest(col("x"), -col("x")), pa.int64()),
            (greatest(1, 2), pa.int64()),
            (col("x") * math.inf, pa.float64()), (col("x") + Decimal("1"), pa.int64()),
            (col("x") + col("x"), pa.int64()),
            (if_else(col("x") > 1, col("x"), 0), pa.int64()), (least(-col("x"), 1), pa.int64()),
            (col("x"), pa.bool_()),
        ],
    )  # fmt: skip
    def test_not_increasing(self, expr: Expr, kind: pa.DataType) -> None:
        assert expr.increasing_in(pa.schema({"x": kind})) is None
        assert expr.bound_of(1, pa.schema({"x": kind})) is None

    def test_two_columns(self) -> None:
        schema = pa.schema({"x": pa.int64(), "y": pa.int64()})
        assert (col("x") + col("y")).increasing_in(schema) is None
        assert greatest(col("x"), col("y")).increasing_in(schema) is None
        assert (col("y") + 1).increasing_in(schema) == "y"
        with pytest.raises(UnknownColumn):
            col("z").increasing_in(schema)

    def test_bound_of(self) -> None:
        def bound(expr: Expr, kind: pa.DataType, at: float) -> float | None:
            return expr.bound_of(at, pa.schema({"x": kind}))

        day = 86_400_000_000
        assert bound(col("x") // 60, pa.int64(), -1) == -1
        assert bound(col("x"), pa.int8(), 300) is None
        assert bound(col("x"), pa.int64(), 2.5) == 3
        assert bound(col("x") + 1, pa.int64(), I64[1]) is None
        assert bound(col("x").cast("date32"), ts(), 3 * day - 1) == 2
        assert bound(col("x") + timedelta(seconds=1), pa.date32(), 1) == day + 1_000_000
        assert bound(col("x") + timedelta(seconds=1), ts("s", "Europe/Berlin"), 5) == 6
        assert bound(col("x").cast(ts("ns")), ts("s"), 2**61) is None
        assert bound(col("x") / 2, pa.int64(), 3) == 1.5
        assert bound(greatest(col("x"), 5), pa.int64(), 3) == 5
        assert bound(col("x") - datetime(1970, 1, 1), ts(), 3) is None
        for wrong in (math.nan, math.inf, -math.inf, 10**400):
            assert bound(col("x"), pa.float64(), wrong) is None and bound(col("x"), pa.int64(), wrong) is None
        assert bound(col("x"), pa.float32(), 1e300) is None
        assert bound(col("x") * 1e10, pa.float64(), 1e300) is None
        assert bound(greatest(col("x"), math.nan), pa.float64(), 1.0) is None

    @settings(max_examples=EXAMPLES, deadline=None)
    @given(st.data())
    def test_bounds_are_sound(self, data: st.DataObject) -> None:
        """Whatever claims to increase: no row at or above the bound has a value below the bound's image."""
        kinds = [
            pa.int8(), pa.uint8(), pa.int32(), pa.int64(), pa.uint64(), pa.float32(), pa.float64(),
            pa.date32(), pa.date64(),
            ts("s"), ts("us"), ts("ns"), ts("us", "UTC"), ts("ms", "Europe/Berlin"),
        ]  # fmt: skip
        kind = data.draw(st.sampled_from(kinds), "type")
        schema = pa.schema({"x": kind})
        expr = data.draw(expressions(kind), "expression")
        try:
            column = expr.increasing_in(schema)
        except OopError:
            return  # types that do not go together
        base = physical_type(kind)
        values = data.draw(st.lists(numbers(base), min_size=2, max_size=8), "values")
        low, *rest = values
        bound = expr.bound_of(low, schema)
        event("a bound" if bound is not None else "no bound" if column else "not increasing")
        if bound is None:
            return
        for value in [*rest, *near(low, base)]:
            if not value >= low:
                continue
            try:
                result = expr.evaluate(pa.record_batch([pa.array([value], base).view(kind)], ["x"]))
            except OopError:
                continue  # such a row ends the run
            got = result.view(physical_type(result.type))[0].as_py()
            assert got is None or math.isnan(got) or got >= bound, (value, got, bound)
        for odd in (None, math.nan) if pa.types.is_floating(base) else (None,):
            got = expr.evaluate(pa.record_batch([pa.array([odd], base).view(kind)], ["x"]))[0].as_py()
            assert got is None or math.isnan(got), "a null or NaN must not turn into a value below the bound"


def numbers(base: pa.DataType) -> st.SearchStrategy[Any]:
    if base == pa.float32():
        return st.floats(allow_nan=False, allow_infinity=False, width=32) | st.integers(-99, 99).map(float)
    if base == pa.float64():
        return st.floats(allow_nan=False, allow_infinity=False) | st.floats(-100, 100)
    signed = pa.types.is_signed_integer(base)
    low = -(2 ** (base.bit_width - 1)) if signed else 0
    high = 2 ** (base.bit_width - signed) - 1
    return st.integers(low, high) | st.integers(max(low, -20), min(high, 20)) | st.sampled_from([low, high])


def near(value: Any, base: pa.DataType) -> list[Any]:
    if base == pa.float64():
        return [math.nextafter(value, math.inf), value]
    if base == pa.float32():
        return [value]
    return [value, *([value + 1] if pa.array([value], base)[0].as_py() < 127 else [])]


@st.composite
def expressions(draw: st.DrawFn, kind: pa.DataType) -> Expr:
    """Up to four functions deep, mostly of those that increase; one that does not must say so."""
    number = draw(st.integers(1, 40) | st.floats(-1, 1e6) | st.sampled_from([2**53 + 1, 1e-300, 1e300, 0.1, -2]))
    span = timedelta(
        days=draw(st.sampled_from([0, 1, -1, 400_000])), microseconds=draw(st.integers(0, 2) | ints) % 10**9
    )
    zone = UTC if getattr(kind, "tz", None) else None
    at = datetime(draw(st.integers(1, 9999)), 5, 6, 7, 8, 9, draw(st.sampled_from([0, 123456])), zone)
    timely = pa.types.is_temporal(kind)
    shift, edge = (span, at) if timely else (number, number)
    functions: list[Callable[[Expr], Expr]] = [
        lambda e: e + shift, lambda e: shift + e, lambda e: e - shift, lambda e: greatest(e, edge),
        lambda e: least(edge, e), lambda e: greatest(e, e + shift), lambda e: least(e, col("x")),
        lambda e: e - edge, lambda e: edge - e,
    ]  # fmt: skip
    functions += [
        lambda e: e * number, lambda e: number * e, lambda e: e / number, lambda e: e // number,
        lambda e: e % number,
        lambda e: e.floor(), lambda e: e.ceil(), lambda e: e.round(), lambda e: e.round(1),
        lambda e: e.round(-1),
        lambda e: -e, abs, lambda e: e.fill_null(0),
    ] if not timely else [lambda e: e.year(), lambda e: e.fill_null(edge)]  # fmt: skip
    targets = [
        pa.int64(),
        pa.float64(),
        pa.float32(),
        pa.int8(),
        pa.date32(),
        ts("s"),
        ts("us"),
        ts("ns", "UTC"),
    ]
    target = draw(st.sampled_from(targets))
    functions += [lambda e: e.cast(target)] * 3
    expr: Expr = col("x")
    for function in draw(st.lists(st.sampled_from(functions), max_size=4)):
        expr = function(expr)
    return expr


def test_ordered_types() -> None:
    assert is_ordered(pa.date32()) and is_ordered(pa.duration("s")) and not is_ordered(pa.decimal128(5, 2))
