"""Expressions: their functions, what evaluating keeps, how they are written, compared and renamed, and many terms."""

from __future__ import annotations

import math
import pickle
from datetime import date, datetime
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest

from oop.errors import OopError, SchemaMismatch, UnknownColumn
from oop.operators.expressions.expr import Col, Expr, as_expr, col, greatest, if_else, least, lit
from oop.operators.expressions.extremes import least_of_greatests
from tests.operators.expressions.evaluated import run, typed
from tests.steps import Steps


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
