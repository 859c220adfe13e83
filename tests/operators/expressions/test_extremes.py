"""Expressions that increase in several columns: what is promised about them, no row that may come breaks."""

from __future__ import annotations

import math
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st

import oop
from oop.errors import OopError
from oop.operators.core.context import Context
from oop.operators.core.coverage import covered
from oop.operators.expressions.expr import Expr, col, greatest, least
from oop.operators.expressions.extremes import least_of_greatests
from oop.operators.passing.project import Project
from oop.punctuation import Frontier, Punctuation

KINDS = [
    (pa.int64(), pa.int64()),
    (pa.int8(), pa.int64()),
    (pa.uint64(), pa.uint8()),
    (pa.uint64(), pa.int64()),
    (pa.int64(), pa.float64()),
    (pa.float32(), pa.float64()),
    (pa.timestamp("s"), pa.timestamp("ms")),
    (pa.timestamp("us", "UTC"), pa.timestamp("us", "Europe/Berlin")),
    (pa.date32(), pa.date32()),
    (pa.date32(), pa.timestamp("s")),
    (pa.decimal128(5, 1), pa.int64()),
]


def column(values: list[Any], kind: pa.DataType) -> pa.Array:
    if pa.types.is_decimal(kind):
        return pa.array(values, pa.int64()).cast(pa.decimal128(21, 1)).cast(kind)
    if not pa.types.is_temporal(kind):
        return pa.array(values, kind)
    return pa.array(values, pa.int32() if pa.types.is_date32(kind) else pa.int64()).cast(kind)


# Made once: to make a recursive strategy takes Hypothesis longer than to draw from it.
number = st.one_of(st.integers(-3, 9), st.none(), st.just(2.5))
deeper = st.recursive(
    st.sampled_from([col("a"), col("b")]),
    lambda inner: st.one_of(
        st.builds(lambda f, x, y: f(x, y), st.sampled_from([greatest, least]), inner, inner),
        st.builds(lambda f, x, n: f(n, x), st.sampled_from([greatest, least]), inner, number),
        st.builds(lambda x, n: x + n, inner, st.integers(-3, 3)),
        st.builds(lambda x: x // 2, inner),
        st.builds(lambda x: x * 2, inner),
        st.builds(lambda x, y: x + y, inner, inner),
        st.builds(lambda x: -x, inner),
    ),
    max_leaves=5,
)
expressions = st.one_of(st.sampled_from([greatest(col("a"), col("b")), least(col("a"), col("b"))]), deeper)


promises = st.lists(
    st.builds(
        lambda below, where: Punctuation(below, where),
        st.one_of(
            st.builds(lambda a: {"a": a}, st.integers(0, 12)),
            st.builds(lambda b: {"b": b}, st.integers(0, 12)),
            st.builds(lambda a, b: {"a": a, "b": b}, st.integers(0, 12), st.integers(0, 12)),
        ),
        st.sampled_from([{}, {}, {"k": 1}, {"k": oop.not_in(1)}]),
    ),
    min_size=2,
    max_size=6,
)
whole = st.one_of(st.integers(0, 12), st.none())
rows = st.lists(st.tuples(whole, whole, st.sampled_from([1, 2])), max_size=12)


@settings(max_examples=600, deadline=None)
@given(expressions, st.sampled_from(KINDS), promises, rows, st.booleans())
def test_no_row_that_may_come_breaks_what_is_promised(expr, kinds, said, values, keep):
    batch = pa.record_batch(
        {
            "a": column([v[0] for v in values], kinds[0]),
            "b": column([v[1] for v in values], kinds[1]),
            "k": pa.array([v[2] for v in values], pa.int64()),
        }
    )
    columns = (("e", expr), ("k", col("k"))) if keep else (("e", expr),)
    spec = Project(columns)
    try:
        spec.schema([batch.schema])
    except OopError:
        return  # types that do not go together
    if any(pa.types.is_decimal(k) for k in kinds):
        said = [p for p in said if "a" not in p.below]  # no progressing attribute
    given_ = Frontier.of(*said)
    out = spec.crossing([batch.schema]).translate([given_])
    event("promised" if any(True for _ in out.promises()) else "nothing")
    coming = batch.filter(pa.array(~covered(given_, batch)))
    try:
        (result,) = spec.start(Context([batch.schema])).process_batch(coming)
    except OopError:
        return  # out of range
    assert not covered(out, result).any()


A_B = pa.schema({"a": pa.int64(), "b": pa.int64()})


def bound_of(expr: Expr, *said: Punctuation, schema: pa.Schema = A_B) -> float | int | None:
    return Project((("e", expr),)).crossing([schema]).translate([Frontier.of(*said)]).bound("e")


@pytest.mark.parametrize(
    ("expr", "said", "bound"),
    [
        (greatest(col("a"), col("b")), [{"a": 5}], 5),  # infinite elsewhere
        (greatest(col("a"), col("b")), [{"a": 5, "b": 7}], 5),
        (greatest(col("a"), col("b")), [{"a": 5, "b": 7}, {"a": 6, "b": 6}, {"b": 4}], 6),
        (greatest(col("a"), col("b") - 5), [{"a": 5, "b": 7}], 2),
        (greatest(col("a"), col("a") + 3, col("b")), [{"a": 5, "b": 7}], 7),  # each of a's would do
        (greatest(col("a"), col("b"), 9), [{"a": 5}], 9),
        (greatest(col("a"), col("b")) // 2, [{"a": 5, "b": 9}], 2),
        (least(col("a"), col("b")), [{"a": 5}], None),
        (least(col("a"), col("b")), [{"a": 5, "b": 7}], None),
        (least(col("a"), col("b")), [{"a": 5}, {"b": 7}], 5),
        (least(col("a"), col("b"), 3), [{"a": 5}, {"b": 7}], 3),
        (least(col("a"), greatest(col("b"), col("a") - 9)), [{"a": 5}, {"b": 4}], 4),
        (greatest(col("a"), least(col("a") - 1, col("b"))), [{"a": 5}], 5),
        (greatest(col("a"), None), [{"a": 5}], None),
        (greatest(col("a"), col("b"), None), [{"a": 5}], None),
        (least(col("a"), col("b"), math.nan), [{"a": 5}, {"b": 7}], None),
        (greatest(col("a"), -col("b")), [{"a": 5}], None),
        (col("a") + col("b"), [{"a": 5}, {"b": 5}], None),
    ],
)
def test_bounds_cross(expr: Expr, said: list[dict[str, int]], bound: int | None) -> None:
    assert bound_of(expr, *map(Punctuation, said)) == bound


def test_bounds_cross_to_the_unit_of_the_result() -> None:
    schema = pa.schema({"a": pa.timestamp("s"), "b": pa.timestamp("ms")})
    assert bound_of(greatest(col("a"), col("b")), Punctuation({"a": 5, "b": 7000}), schema=schema) == 5000
    assert bound_of(least(col("a"), col("b")), Punctuation({"a": 5}), Punctuation({"b": 700}), schema=schema) == 700


def test_bounds_cross_by_group_and_together_with_other_attributes() -> None:
    schema = pa.schema({"a": pa.int64(), "b": pa.int64(), "c": pa.int64(), "k": pa.string()})
    spec = Project(
        (("e", least(col("a"), col("b"))), ("g", greatest(col("a"), col("b"))), ("c", col("c")), ("k", col("k")))
    )
    said = [
        Punctuation({"a": 5, "c": 2}),
        Punctuation({"b": 4, "c": 3}),
        Punctuation({"a": 9}, {"k": "A"}),
        Punctuation({"b": 8}, {"k": "A"}),
    ]
    out = spec.crossing([schema]).translate([Frontier.of(*said)])
    assert out.covers(Punctuation({"e": 4, "c": 2}))
    assert out.covers(Punctuation({"g": 5, "c": 2}))
    assert out.bound("e", {"k": "A"}) == 8
    assert out.bound("g", {"k": "A"}) == 9
    assert out.bound("g") is None


def test_the_form_of_a_nested_expression() -> None:
    expr = greatest(least(col("a"), col("b")), col("b") - 1)
    assert str(least_of_greatests(expr, A_B)) == "[[a, b - 1], [b, b - 1]]"
