"""A program gives what its expression gives, for values and errors alike, and costs few Python calls a batch."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from oop.errors import OopError
from oop.operators.core.context import Context
from oop.operators.expressions.expr import Expr, col, greatest, if_else, least, lit
from oop.operators.expressions.program import Program
from oop.operators.passing.filter import Filter
from tests.punctuation.counting import calls

COLUMNS = {
    "i": pa.array([-3, 0, None, 7, 2**62]),
    "j": pa.array([2, 3, 5, None, 1]),
    "small": pa.array([1, -1, None, 100, 127], pa.int8()),
    "u": pa.array([0, 1, 2**64 - 1, None, 5], pa.uint64()),
    "f": pa.array([0.5, float("nan"), None, -2.0, 1e300]),
    "g": pa.array([1, 2, None, 3.5, 0], pa.float32()),
    "b": pa.array([True, False, None, True, False]),
    "c": pa.array([None, True, None, False, False]),
    "s": pa.array(["a", "bc", None, "", "é"]),
    "large": pa.array(["a", "x", None, "", "é"], pa.large_string()),
    "coded": pa.array(["a", "b", None, "a", "a"]).dictionary_encode(),
    "view": pa.array(["a", "b", None, "a", "a"], pa.string_view()),
    "raw": pa.array([b"a", b"", None, b"a", b"b"]),
    "d": pa.array([date(2020, 1, 1), None, date(1969, 12, 31), date(2024, 2, 29), date(1, 1, 1)]),
    "t": pa.array([datetime(2020, 1, 1), None, datetime(1969, 12, 31), datetime(2024, 2, 29), datetime(1970, 1, 1)]),
    "ns": pa.array([0, None, -1, 5, 6], pa.timestamp("ns")),
    "z": pa.array([0, None, -1, 5, 6], pa.timestamp("ms", "UTC")),
    "span": pa.array([timedelta(1), None, timedelta(-1), timedelta(0), timedelta(seconds=1)]),
    "m": pa.array([Decimal("1.50"), None, Decimal("-2"), Decimal("0"), Decimal("9.99")]),
    "none": pa.nulls(5),
}
BATCH = pa.record_batch(COLUMNS)
LITERALS = [
    0, 3, 3.0, 2.5, 2**63, 2**70, -1, True, None, "a", b"a", date(2020, 1, 1), datetime(2020, 1, 1),
    datetime(9999, 1, 1), datetime(2020, 1, 1, tzinfo=UTC), timedelta(seconds=5), Decimal("1.5"), float("nan"),
]  # fmt: skip
TWO: dict[str, Callable[[Any, Any], Expr]] = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "/": lambda a, b: a / b,
    "//": lambda a, b: a // b,
    "%": lambda a, b: a % b,
    "==": lambda a, b: a == b,
    "!=": lambda a, b: a != b,
    "<": lambda a, b: a < b,
    ">=": lambda a, b: a >= b,
    "&": lambda a, b: a & b,
    "|": lambda a, b: a | b,
    "greatest": greatest,
    "least": least,
    "fill": lambda a, b: a.fill_null(b),
    "choice": lambda a, b: if_else(col("b"), a, b),
}
ONE: list[Callable[[Any], Expr]] = [
    lambda x: -x,
    lambda x: ~x,
    lambda x: x.abs(),
    lambda x: x.floor(),
    lambda x: x.is_null(),
    lambda x: x.is_not_null(),
    lambda x: x.is_nan(),
    lambda x: x.lower(),
    lambda x: x.length(),
    lambda x: x.year(),
    lambda x: x.second(),
    lambda x: x.starts_with("a"),
    lambda x: x.isin([1, 2]),
    lambda x: x.isin(["a"]),
    lambda x: x.cast(pa.string()),
    lambda x: x,
]


def outcome(evaluate: Callable[[pa.RecordBatch], pa.Array], batch: pa.RecordBatch) -> tuple[object, ...]:
    try:
        found = evaluate(batch)
    except (OopError, TypeError) as error:
        return type(error), str(error)
    assert isinstance(found, pa.Array)
    return found.type, found.to_string(window=len(BATCH))  # Python has no dates so far off


def check(expr: Expr) -> None:
    program = Program(expr)
    for batch in (BATCH, BATCH.slice(1, 3)):
        assert outcome(program.evaluate, batch) == outcome(expr.evaluate, batch), expr


@pytest.mark.parametrize("name", TWO)
def test_of_two(name: str) -> None:
    make = TWO[name]
    for a, b in itertools.product(COLUMNS, COLUMNS):
        check(make(col(a), col(b)))
    for column, value in itertools.product(COLUMNS, LITERALS):
        check(make(col(column), lit(value)))
        check(make(lit(value), col(column)))


def test_of_one() -> None:
    for make, column in itertools.product(ONE, COLUMNS):
        check(make(col(column)))
    for value in LITERALS:
        check(lit(value))


def test_nested() -> None:
    i, j = col("i"), col("j")
    both = i // 2 + j  # stands in several places, and is computed once
    for expr in (
        (both > 3) & (both < 100) | col("b"),
        (lit(2) + 3) * j > lit(1) + 1.5,
        if_else(col("s") == "a", i, j * 2).fill_null(0) - 1,
        (i + i) * 2 > 0,  # overflows
        j / (j - j),
        (lit(1) / lit(0)) > j,
        col("missing") > 1,
        ~(col("coded") == "a") & (col("t") + timedelta(days=1) > datetime(2020, 1, 1)),
    ):
        check(expr)
    deep: Expr = j
    for _ in range(3_000):
        deep = deep + 1
    check(deep)


def test_other_types() -> None:
    """It is compiled anew when the types of columns change, or their places."""
    program = Program(col("x") > 2)
    for x in (pa.array([1, 3]), pa.array([1.5, 2.5]), pa.array([1, 3], pa.uint64()), pa.array([Decimal("2.5")])):
        for batch in (pa.record_batch({"x": x}), pa.record_batch({"y": x, "x": x})):
            assert outcome(program.evaluate, batch) == outcome(program.expr.evaluate, batch)
    twice = pa.RecordBatch.from_arrays([pa.array([1]), pa.array([2])], names=["x", "x"])
    with pytest.raises(OopError, match="2 columns have the name 'x'"):
        program.evaluate(twice)


@pytest.mark.parametrize(
    ("expr", "most"),
    [
        (col("i") >= 0, 1),
        ((col("i") >= 0) & (col("f") < 2.5) | (col("s") == "a"), 1),
        (col("i") * 2 + col("j") > col("j") - 1, 1),
        (~col("b") & col("s").is_null(), 1),
        (col("t") >= datetime(2020, 1, 1), 1),
    ],
)
def test_calls(expr: Expr, most: int) -> None:
    program = Program(expr)
    batch = BATCH.slice(0, 2)
    program.evaluate(batch)
    assert calls(lambda: program.evaluate(batch)) <= most


def test_calls_of_a_filter() -> None:
    batch = BATCH.select(["i", "s"])
    running = Filter(col("i") >= 0).start(Context([batch.schema]))
    assert [b.num_rows for b in running.process_batch(batch)] == [3]
    assert calls(lambda: running.process_batch(batch)) <= 3
