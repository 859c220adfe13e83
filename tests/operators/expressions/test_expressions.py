from __future__ import annotations

import math
import pickle
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal
from fractions import Fraction
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import assume, event, example, given, settings
from hypothesis import strategies as st

from oop.errors import OopError, SchemaMismatch, UnknownColumn
from oop.operators.expressions.expr import Col, Expr, as_expr, col, greatest, if_else, least, lit
from oop.operators.expressions.extremes import least_of_greatests
from oop.operators.expressions.kinds import ordered, physical
from tests.steps import Steps

EXAMPLES = 300
I64 = (-(2**63), 2**63 - 1)
ints = st.integers(*I64) | st.integers(-20, 20) | st.sampled_from([*I64, 2**53 + 1, -(2**53) - 1])


def run(expr: Expr, **columns: Any) -> list[Any]:
    made = {n: v if isinstance(v, pa.Array) else pa.array(v) for n, v in columns.items()}
    return expr.evaluate(pa.record_batch(made)).to_pylist()


def typed(expr: Expr, **kinds: pa.DataType) -> pa.DataType:
    return expr.type(pa.schema(kinds))


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


class TestFunctions:
    def test_nulls_and_nan(self) -> None:
        x = [1.0, math.nan, None]
        assert run(col("x").is_nan(), x=x) == [False, True, None]
        assert run(col("x").is_null(), x=x) == [False, False, True]
        assert run(col("x").is_not_null(), x=x) == [True, True, False]
        assert str(run(least(col("x"), 2.0), x=x)) == "[1.0, nan, None]"
        assert str(run(greatest(col("x"), 2.0), x=x)) == "[2.0, nan, None]"
        assert run(if_else(col("x") > 0, 1, 2), x=[1, -1, None]) == [1, 2, None]
        assert run(if_else(col("x") > 0, None, col("x")), x=[1, -1]) == [None, -1]

    def test_rounding(self) -> None:
        assert run(col("x").floor() + col("x").ceil(), x=[-1.5]) == [-3.0]
        assert run(col("x").round(), x=[0.5, 1.5, -1.5]) == [0.0, 2.0, -2.0]
        assert run(col("x").round(1), x=[0.26]) == [0.3]
        for expr in (col("x").floor(), col("x").ceil(), col("x").round()):
            assert run(expr, x=[2**60 + 1]) == [2**60 + 1]

    def test_cast(self) -> None:
        assert run(col("x").cast("string"), x=[1]) == ["1"]
        assert run(col("x").cast(pa.int8()), x=[1.0]) == [1]
        for expr, x in (
            (col("x").cast("int8"), [300]),
            (col("x").cast("int64"), [1.5]),
            (col("x").cast("int64"), ["a"]),
        ):
            with pytest.raises(OopError):
                run(expr, x=x)
        us = pa.array([-1, 1_999_999]).cast(pa.timestamp("us"))
        assert run(col("x").cast("timestamp[s]").cast("int64"), x=us) == [-1, 1]
        assert run(col("x").cast("date32"), x=us) == [date(1969, 12, 31), date(1970, 1, 1)]
        late = pa.array([datetime(2020, 1, 1, 23, 30)], pa.timestamp("us", "Europe/Berlin"))
        assert run(col("x").cast("date32"), x=late) == [date(2020, 1, 2)]
        assert typed(col("x").cast("timestamp[us, tz=UTC]"), x=pa.int64()) == pa.timestamp("us", "UTC")
        with pytest.raises(OopError):  # days beyond int32
            run(col("x").cast("date32"), x=pa.array([2**61]).cast(pa.timestamp("s")))
        with pytest.raises(SchemaMismatch, match="int46"):
            col("x").cast("int46")

    def test_parts_of_time(self) -> None:
        x = pa.array([datetime(2020, 2, 3, 4, 5, 6)])
        parts = [
            col("x").year(),
            col("x").month(),
            col("x").day(),
            col("x").hour(),
            col("x").minute(),
            col("x").second(),
        ]
        assert [run(part, x=x)[0] for part in parts] == [2020, 2, 3, 4, 5, 6]


class TestEvaluate:
    def test_literals_broadcast_and_empty_batches_keep_the_type(self) -> None:
        batch = pa.record_batch({"x": pa.array([1, 2, 3], pa.int16())})
        assert lit("a").evaluate(batch).to_pylist() == ["a"] * 3
        assert (lit(7) // lit(2.0)).evaluate(batch).to_pylist() == [3.0] * 3
        for expr in (
            lit("a"),
            col("x") // 2,
            col("x") % 2.5,
            greatest(col("x"), 1),
            col("x").isin([1]),
            lit(None),
        ):
            full, none = expr.evaluate(batch), expr.evaluate(batch.slice(0, 0))
            assert len(full) == 3 and len(none) == 0 and full.type == none.type == expr.type(batch.schema)

    def test_slices(self) -> None:
        x = pa.record_batch({"x": [None, 1.5, 2.5, None]}).slice(1, 3)
        assert (col("x") // 1).evaluate(x).to_pylist() == [1.0, 2.0, None]

    def test_errors_name_expression_and_types(self) -> None:
        schema = pa.schema({"len": pa.int64(), "link": pa.string()})
        with pytest.raises(UnknownColumn, match="did you mean 'len'"):
            (col("lenn") + 1).type(schema)
        with pytest.raises(SchemaMismatch) as error:
            ((col("len") + col("link")) * 2).type(schema)
        for part in ("len + link", "int64 and string", "(len + link) * 2"):
            assert part in str(error.value)
        with pytest.raises(SchemaMismatch):
            (col("len") & col("len")).type(schema)
        with pytest.raises(SchemaMismatch, match="2 columns"):
            col("a").type(pa.schema([("a", pa.int8()), ("a", pa.int8())]))
        with pytest.raises(OopError, match="1 // len: division by zero, in 1 // len > 2"):
            run(1 // col("len") > 2, len=[0])

    def test_no_truth_value(self) -> None:
        for wrong in (
            lambda: col("a") and col("b"),
            lambda: 1 < col("a") < 3,
            lambda: col("a") in [col("b")],
        ):
            with pytest.raises(TypeError, match=r"use & \|"):
                wrong()

    def test_constants_of_one_row_only(self) -> None:
        for several in ([1, 2], np.array([1, 2]), pa.array([1]), pa.chunked_array([[1]])):
            with pytest.raises(TypeError, match="isin"):
                lit(several)
        with pytest.raises(TypeError):
            lit(object())
        with pytest.raises(TypeError):
            col(3)  # type: ignore[arg-type]


class TestStructure:
    @pytest.mark.parametrize(
        ("expr", "text"),
        [
            (col("len") > 40, "len > 40"),
            (lit(40) < col("len"), "40 < len"),
            ((col("a") + 1) * col("b"), "(a + 1) * b"),
            (col("a") + 1 * col("b"), "a + 1 * b"),
            (col("a") - (col("b") - 1), "a - (b - 1)"),
            (col("a") - col("b") - 1, "a - b - 1"),
            (col("x").cast("int64"), "cast(x, int64)"),
            ((col("a") == "A") & ~(col("b") != 1), "(a == 'A') & ~(b != 1)"),
            (-(col("a") + 1) // 2, "-(a + 1) // 2"),
            ((col("a") > 1) == (col("b") > 1), "(a > 1) == (b > 1)"),
            (col("a").isin([1, 2]), "isin(a, (1, 2))"),
            (greatest(col("a"), col("b")).round(1), "round(greatest(a, b), 1)"),
            (col("t") < datetime(2020, 1, 1), "t < 2020-01-01 00:00:00"),
        ],
    )
    def test_repr(self, expr: Expr, text: str) -> None:
        assert repr(expr) == text

    def test_same_hash_pickle_rename_columns(self) -> None:
        expr = (col("a") + 1 > col("b")) | col("a").cast("int8").isin([1, math.nan])
        copy = pickle.loads(pickle.dumps(expr))
        assert copy.same(expr) and len({copy, expr}) == 2
        assert expr.columns() == {"a", "b"}
        assert expr.rename({"a": "x"}).columns() == {"x", "b"}
        assert expr.rename({"a": "b", "b": "a"}).rename({"a": "b", "b": "a"}).same(expr)
        assert not lit(1).same(lit(True)) and not lit(1).same(1) and lit(math.nan).same(lit(math.nan))
        assert not (col("a") + 1).same(col("a") - 1) and not col("a").isin([1]).same(col("a").isin([1, 2]))
        assert as_expr("a").same(lit("a")) and isinstance(as_expr(col("a")), Col)
        with pytest.raises(AttributeError):
            col("a").name = "b"  # type: ignore[misc]

    def test_fixed(self) -> None:
        assert (col("a") == "A").fixed() == (lit("A") == col("a")).fixed() == {"a": "A"}
        assert ((col("a") == 1) & (col("b") > 2) & col("c").isin(["x"])).fixed() == {"a": 1, "c": "x"}
        nothing = [
            (col("a") == 1) | (col("b") == 2), ~(col("a") == 1), col("a") != 1, col("a") == col("b"),
            col("a") + 1 == 2, col("a") == math.nan, col("a") == None, col("a").isin([1, 2]),  # noqa: E711
            col("a").isin([]), col("a").isin([math.nan]), col("a"), lit(1) == lit(1),
            col("a") == Decimal("0.1"),
        ]  # fmt: skip
        assert [expr.fixed() for expr in nothing] == [{}] * len(nothing)


def ts(unit: str = "us", zone: str | None = None) -> pa.DataType:
    return pa.timestamp(unit, zone)


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
        base = physical(kind)
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
            got = result.view(physical(result.type))[0].as_py()
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
    assert ordered(pa.date32()) and ordered(pa.duration("s")) and not ordered(pa.decimal128(5, 2))


class TestMany:
    """Expressions of very many terms, each in the next."""

    SCHEMA = pa.schema({"ts": pa.int64(), "b": pa.int64()})

    @staticmethod
    def summed(terms: int, of: object) -> Expr:
        found: Expr = col("ts")
        for _ in range(terms):
            found = found + of
        return found

    @pytest.mark.parametrize("of", [1, col("b")])
    def test_what_is_asked_of_one_is_linear_in_its_terms(self, of: object) -> None:
        def asked(terms: int) -> int:
            expr = self.summed(terms, of)
            with Steps() as steps:
                assert expr.type(self.SCHEMA) == pa.int64()
                assert expr.increasing_in(self.SCHEMA) == ("ts" if isinstance(of, int) else None)
                assert least_of_greatests(expr, self.SCHEMA) == ([[expr]] if isinstance(of, int) else None)
                assert expr.columns() == ({"ts"} if isinstance(of, int) else {"ts", "b"})
            return steps.taken

        assert asked(400) <= 4.1 * asked(100)

    def test_it_may_have_more_terms_than_python_may_recurse(self) -> None:
        expr = self.summed(5_000, 1)
        other = pickle.loads(pickle.dumps(expr))
        assert other.same(expr) and not other.same(self.summed(5_000, 2))
        assert other.rename({"ts": "t"}).evaluate(pa.record_batch({"t": [1, 2]})).to_pylist() == [5_001, 5_002]
        assert repr(expr) == "ts" + " + 1" * 5_000
        both = col("b") == 3
        for _ in range(3_000):
            both = both & (col("ts") > 0)
        assert both.fixed() == {"b": 3}

    def test_a_part_that_stands_in_many_places_is_computed_once(self) -> None:
        expr: Expr = col("b")
        for _ in range(60):
            expr = expr + expr - expr
        assert expr.evaluate(pa.record_batch({"b": [7]})).to_pylist() == [7]
