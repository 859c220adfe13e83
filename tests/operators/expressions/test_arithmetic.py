"""Arithmetic and comparisons are exact, are those of Python for whole numbers, and say so where they overflow."""

from __future__ import annotations

import math
from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal
from fractions import Fraction
from zoneinfo import ZoneInfo

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from oop.errors import OopError, SchemaMismatch
from oop.operators.expressions.expr import Expr, col, greatest, lit
from tests.operators.expressions.evaluated import I64, ints, run, ts, typed


class TestArithmetic:
    def test_literals_on_either_side(self) -> None:
        assert run(1 + col("x"), x=[1, None]) == [2, None]
        assert run(10 - col("x") * 2, x=[1, 2]) == [8, 6]
        assert run(np.int64(1) + col("x"), x=[1]) == [2]
        assert run(1 / col("x"), x=[2, 4]) == [0.5, 0.25]
        assert run(-col("x") + abs(col("x")), x=[-3, 3]) == [6, 0]
        assert run(Decimal("1.5") + col("x"), x=[Decimal("0.25")]) == [Decimal("1.75")]
        assert run(col("x") + None, x=[1]) == [None]

    @pytest.mark.parametrize(
        "expr", [col("x") + 1, col("x") * 2, col("x") - (-1), -(-col("x") - 2), abs(-col("x") - 1)]
    )
    def test_overflow_raises(self, expr: Expr) -> None:
        with pytest.raises(OopError) as error:
            run(expr, x=[I64[1]])
        assert "overflow" in str(error.value) and repr(expr) in str(error.value)

    @given(ints, ints)
    @example(I64[0], -1)
    @example(I64[1], -1)
    def test_integer_floor_division_is_pythons(self, a: int, b: int) -> None:
        quotient, rest = col("a") // col("b"), col("a") % col("b")
        if b == 0:
            for expr in (quotient, rest, col("a") / col("b")):
                with pytest.raises(OopError, match="division by zero"):
                    run(expr, a=[a], b=[b])
            return
        assert run(rest, a=[a, None], b=[b, b]) == [a % b, None]
        assert run(col("a") % b, a=[a]) == [a % b] and run(a % col("b"), b=[b]) == [a % b]
        if a // b > I64[1]:
            with pytest.raises(OopError, match="overflow"):
                run(quotient, a=[a], b=[b])
        else:
            assert run(quotient, a=[a, None], b=[b, b]) == [a // b, None]
            assert run(col("a") // b, a=[a]) == [a // b] and run(a // col("b"), b=[b]) == [a // b]

    @given(st.floats(-1e9, 1e9), st.floats(-1e9, 1e9))
    def test_float_floor_division_is_exact(self, a: float, b: float) -> None:
        assume(b and abs(a / b) < 2.0**51)
        assert run(col("a") // col("b"), a=[a, None], b=[b, b]) == [
            math.floor(Fraction(a) / Fraction(b)),
            None,
        ]
        assert run(col("a") % b, a=[a, None]) == [a % b, None]

    def test_floats_follow_ieee(self) -> None:
        assert run(col("x") / 0, x=[1.0, -1.0]) == [math.inf, -math.inf]
        assert run(col("x") // 0.0, x=[1.0]) == [math.inf]
        assert math.isnan(run(col("x") % 0.0, x=[1.0])[0]) and math.isnan(run(col("x") // 2, x=[math.nan])[0])

    @pytest.mark.parametrize("kind", [pa.int8(), pa.uint8(), pa.int32(), pa.uint32(), pa.uint64()])
    def test_all_integer_widths(self, kind: pa.DataType) -> None:
        x = pa.array([0, 1, 7, 100, None], kind)
        assert run(col("x") // 3, x=x) == [0, 0, 2, 33, None]
        assert run(col("x") % 3, x=x) == [0, 1, 1, 1, None]
        assert run(col("x") // col("x"), x=x.slice(1)) == [1, 1, 1, None]
        assert run(col("x") / 2, x=x) == [0, 0.5, 3.5, 50, None]

    def test_what_lies_under_a_null_does_not_overflow(self) -> None:
        data = pa.array([I64[1], I64[0], 5]).buffers()[1]
        day = timedelta(1)
        for kind in (ts("us"), ts("us", "UTC"), pa.duration("us")):
            x = pa.Array.from_buffers(kind, 3, [pa.py_buffer(b"\x04"), data])
            for expr in (col("x") + day, day + col("x"), col("x") - day, greatest(col("x"), col("x")) - day):
                assert expr.evaluate(pa.record_batch({"x": x})).is_valid().to_pylist() == [False, False, True]
        x = pa.Array.from_buffers(pa.int64(), 3, [pa.py_buffer(b"\x04"), data])
        assert run(col("x") * 2, x=x) == run(col("x") + col("x"), x=x) == [None, None, 10]
        assert run(col("x") * timedelta(microseconds=2), x=x)[:2] == [None, None]

    def test_mod_of_the_least_integer(self) -> None:
        assert run(col("x") % -1, x=[I64[0]]) == [0]

    def test_types(self) -> None:
        assert typed(col("x") / 2, x=pa.int8()) == pa.float64()
        assert typed(col("x") // 2, x=pa.int64()) == pa.int64()
        assert typed(col("x") + 1, x=pa.uint64()) == pa.uint64()
        assert typed(col("x") + timedelta(seconds=5), x=pa.timestamp("s")) == pa.timestamp("s")
        assert typed(col("x") + timedelta(milliseconds=5), x=pa.timestamp("s")) == pa.timestamp("us")
        assert typed(col("x") + timedelta(days=1), x=pa.timestamp("ns", "UTC")) == pa.timestamp("ns", "UTC")
        assert typed(col("x").fill_null(0), x=pa.int8()) == pa.int8()
        assert typed(greatest(col("x"), 5), x=pa.int16()) == pa.int16()
        assert typed(greatest(col("x"), 2.5), x=pa.int16()) == pa.float64()
        assert typed(lit(None), x=pa.int8()) == pa.null()

    def test_large_integers_beside_floats_round(self) -> None:
        assert run(col("x") * 1.0, x=[2**53 + 1]) == [2.0**53]
        assert run(col("x") / 1, x=[2**60 + 1]) == [2.0**60]


class TestCompare:
    def test_literals_that_do_not_fit(self) -> None:
        x = pa.array([1, None], pa.int8())
        assert run(col("x") < 300, x=x) == [True, None]
        assert run(col("x") < 2**70, x=x) == [True, None]
        assert run(col("x") < 2.5, x=x) == [True, None]
        u = pa.array([0, 2**64 - 1], pa.uint64())
        assert run(col("u") > -1, u=u) == [True, True]
        assert run(col("u") == 2**64 - 1, u=u) == [False, True]
        assert run(col("u") > col("i"), u=u, i=[-1, 5]) == [True, True]

    @given(ints, st.floats(allow_nan=False) | ints.map(float))
    def test_integers_against_float_literals_are_exact(self, a: int, b: float) -> None:
        assume(abs(b) < 2**63)
        assert run(col("x") < b, x=[a]) == [a < b]
        assert run(col("x") == b, x=[a]) == [a == b]

    def test_an_integer_literal_no_float_can_equal_is_refused(self) -> None:
        with pytest.raises(OopError):
            run(col("x") == 2**53 + 1, x=[2.0**53])

    def test_encoded_strings(self) -> None:
        plain = pa.array(["A", "b", None])
        for x in (
            plain,
            plain.dictionary_encode(),
            plain.cast(pa.large_string()),
            plain.cast(pa.string_view()),
        ):
            assert run(col("x") == "A", x=x) == [True, False, None]
            assert run(lit("A") < col("x"), x=x) == [False, True, None]
            assert run(col("x").isin(["A", "z"]), x=x) == [True, False, None]
            assert run(col("x").lower(), x=x) == ["a", "b", None]
            assert run(col("x").starts_with("A") | col("x").contains("b"), x=x) == [True, True, None]
            assert run(col("x").length(), x=x) == [1, 1, None]
            assert run(col("x").fill_null("?"), x=x) == ["A", "b", "?"]
            assert run(greatest(col("x"), "B"), x=x) == ["B", "b", None]
            assert run(col("x").is_null(), x=x) == [False, False, True]
            assert col("x").evaluate(pa.record_batch({"x": x})).type == x.type

    @pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
    @pytest.mark.parametrize("zone", [None, "UTC", "Europe/Berlin"])
    def test_timestamps_against_datetimes(self, unit: str, zone: str | None) -> None:
        tz = ZoneInfo(zone) if zone else None
        at = datetime(2020, 1, 1, tzinfo=tz)
        x = pa.array([at, None], pa.timestamp(unit, zone))
        assert run(col("x") == at, x=x) == [True, None]
        assert run(col("x") < at + timedelta(microseconds=1), x=x) == [True, None]
        assert run(col("x") >= datetime(9000, 1, 1, tzinfo=tz), x=x) == [False, None]
        assert run(col("x").isin([at]), x=x) == [True, None]
        assert run(greatest(col("x"), at + timedelta(1)), x=x) == [at + timedelta(1), None]
        other = at.replace(tzinfo=None if zone else UTC)
        with pytest.raises(SchemaMismatch, match="zone"):
            run(col("x") < other, x=x)
        if zone:
            assert run(col("x") == at.astimezone(timezone(timedelta(hours=5))), x=x) == [True, None]

    def test_dates(self) -> None:
        day = date(2020, 1, 1)
        assert run(col("x") == day, x=[day]) == [True]
        assert run(col("x") < datetime(2020, 1, 1, 1), x=[day]) == [True]
        with pytest.raises(SchemaMismatch, match="never equal"):
            run(col("x") == datetime(2020, 1, 1), x=[day])
        with pytest.raises(SchemaMismatch, match="never equal"):
            run(col("x") == "A", x=[b"A"])

    def test_between_and_isin(self) -> None:
        assert run(col("x").between(1, 2), x=[0, 1, 2, 3, None]) == [False, True, True, False, None]
        assert run(col("x").isin([1, 300]), x=pa.array([1, 2, None], pa.int8())) == [True, False, None]
        assert run(col("x").isin([1.0, 2.5]), x=[1, 2]) == [True, False]
        assert run(col("x").isin([]), x=[1, None]) == [False, None]
        assert run(col("x").isin([0.0]), x=[0.0, -0.0, 1.0]) == [True, True, False]  # as with ==
        assert run(col("x").isin([-0.0]), x=pa.array([0.0, -0.0], pa.float32())) == [True, True]
        assert run(col("x").isin([None, math.nan]), x=[1.0, None, math.nan]) == [False, None, False]

    @given(st.sampled_from([True, False, None]), st.sampled_from([True, False, None]))
    def test_kleene(self, a: bool | None, b: bool | None) -> None:
        both = False if False in (a, b) else None if None in (a, b) else True
        either = True if True in (a, b) else None if None in (a, b) else False
        x = pa.array([a], pa.bool_())
        for right, columns in ((lit(b), {}), (col("y"), {"y": pa.array([b], pa.bool_())})):
            assert run(col("x") & right, x=x, **columns) == [both]
            assert run(right | col("x"), x=x, **columns) == [either]
        assert run(~col("x"), x=x) == [None if a is None else not a]
