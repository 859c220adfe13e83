"""Rows are held where in-order systems hold them, in merges and sorts, and leave even without a number for a time."""

from __future__ import annotations

import math
import random
from typing import Any

import pyarrow as pa
import pytest

import oop
from oop.operators.core.context import Context
from oop.operators.in_order.merge import OrderedMerge
from oop.operators.in_order.sorted_runs import SortedRuns
from oop.testing import Harness
from tests.oop_.plan.plans import SCHEMA, Row, bag, held, push


def test_skew_fills_the_merge_and_nothing_else():
    plan = lambda a, b: a.union(b).window(oop.tumbling(10)).agg(n=oop.count())  # noqa: E731
    h = Harness(plan, SCHEMA, SCHEMA, punctuate=oop.ordered(), order="iop")
    push(h, list(range(100)))
    assert held(h) == {"OrderedMerge": 100}
    push(h, [35], port=1)  # what is not above 35 leaves
    assert held(h) == {"OrderedMerge": 64, "InOrder": 1}
    assert [(r["window_start"], r["n"]) for r in h.rows()] == [(0, 10), (10, 10), (20, 10)]
    oop_h = Harness(plan, SCHEMA, SCHEMA, punctuate=oop.ordered())
    push(oop_h, list(range(100)))
    assert held(oop_h) == {"Aggregate": 10}  # ten windows with one partial aggregate each


def test_a_heartbeat_advances_the_merge_in_a_lull():
    h = Harness(lambda a, b: a.union(b), SCHEMA, SCHEMA, punctuate=oop.punctuated(), order="iop")
    push(h, [1, 2, 3])
    h.promise(ts=5)
    assert held(h) == {"OrderedMerge": 3}
    h.promise(1, ts=3)  # no row came on it
    assert [r["ts"] for r in h.rows()] == [1, 2, 3]
    assert held(h) == {}


def test_synchronised_and_ordered_input_is_not_held():
    """Beyond what an operator needs: a window's groups, the rows of a sliding window, the band of a join."""
    h = Harness(lambda a, b: a.union(b), SCHEMA, SCHEMA, punctuate=oop.ordered(), order="iop")
    for at in range(50):
        push(h, [at])
        push(h, [at], port=1)
        assert held(h) == {}
    tumbling = Harness(
        lambda a: a.window(oop.tumbling(10)).group_by("k").agg(n=oop.count()),
        SCHEMA,
        punctuate=oop.ordered(),
        order="iop",
    )
    sliding = Harness(
        lambda a: a.window(oop.sliding(10, every=2)).agg(n=oop.count()), SCHEMA, punctuate=oop.ordered(), order="iop"
    )
    for at in range(50):
        push(tumbling, [at])
        push(sliding, [at])
        assert held(tumbling) == {"InOrder": 1}
        assert held(sliding)["BufferedAggregate"] <= 12
    join = Harness(lambda a, b: a.join(b, on="k", within=(0, 3)), SCHEMA, SCHEMA, punctuate=oop.ordered(), order="iop")
    for at in range(50):
        push(join, [at])
        push(join, [at], port=1)
        assert sum(held(join).values()) <= 4 + 5  # left rows that may meet one still, and right rows they may meet


def test_disorder_is_held_by_the_sort_at_the_input_alone():
    h = Harness(
        lambda a: a.filter(oop.col("k") == 1).window(oop.tumbling(10)).agg(n=oop.count()),
        SCHEMA,
        punctuate=oop.slack(5),
        order="iop",
    )
    push(h, [3, 1, 2, 9, 7])
    push(h, [8, 8, 8], k=2)  # filtered before it is sorted
    assert held(h) == {"InputSort": 2, "InOrder": 1}
    assert h.rows() == []


def test_what_a_sort_holds_is_what_is_counted():
    """Kept by sums as rows come and go: batches that wait may be many."""
    runs = SortedRuns(pa.schema([("x", pa.float64()), ("k", pa.string())]), "x")
    rng = random.Random(3)
    for bound in [*range(60), math.inf]:
        x = [rng.choice([None, math.nan, bound + rng.random() * 9]) for _ in range(rng.randint(0, 6))]
        runs.add(pa.record_batch({"x": pa.array(x, pa.float64()), "k": pa.array(["k" * len(x)] * len(x), pa.string())}))
        runs.take_below(bound)
        assert runs.nbytes == sum(rows.nbytes for rows in runs.held())
    assert list(runs.take_valueless())
    assert (len(runs), runs.nbytes) == (0, 0)


def test_who_needs_the_same_order_shares_the_sort():
    s = oop.source(pa.table({"ts": [1], "k": [1]}), time="ts", punctuate=oop.slack(5))
    shown = s.join(s, on="k", within=(0, 2)).explain(order="iop")
    assert shown.count("InputSort by ts") == 2 and shown.count("(the same as above)") == 1
    assert shown.count("Source") == 1


def test_a_join_that_has_ended_holds_no_keys():
    schema = {"ts": "int64", "k": "string"}
    plan = lambda a, b: a.join(b, on="k", within=(0, 3))  # noqa: E731
    h = Harness(plan, schema, schema, punctuate=oop.ordered(), order="iop")
    for port in (0, 1):
        h.push({"ts": [1, 2], "k": ["x", "y"]}, port=port)
    assert h.state_bytes
    h.end()
    assert len(h.rows()) == 2 and h.state_bytes == 0


X = {"ts": oop.slack(10), "x": oop.slack(100.0)}


def floats(x: list[float | None], punctuate: Any = X, name: str = "a", size: int = 3) -> oop.Stream:
    rows = pa.table({"ts": list(range(len(x))), "x": x})
    batches = rows.to_batches(max_chunksize=size)
    return oop.source(lambda: iter(batches), time="ts", punctuate=punctuate, schema=rows.schema, name=name)


NO_NUMBERS = [[math.nan], [math.inf], [1.0, math.nan], [math.nan, 3.0, None, math.nan, 5.0, math.inf]]


@pytest.mark.parametrize("x", NO_NUMBERS)
@pytest.mark.parametrize("ordered", [False, True])
def test_rows_with_nan_and_infinity_leave_as_well(x: list[float | None], ordered: bool) -> None:
    policy = {"ts": oop.ordered(), "x": oop.ordered()} if ordered else X
    a, b = (floats(x, policy, name) for name in "ab")
    for plan in (
        a.group_by("x").agg(n=oop.count()),
        a.select("x").union(b.select("x")).dedup("x"),
        a.join(b, within=(-1.0, 1.0), times=("x", "x"), how="left"),
    ):
        expected, found = (bag(plan.run(order=order).to_table().to_pylist()) for order in ("oop", "iop"))
        assert found == expected


def test_infinity_says_nothing_about_order():
    """A policy looks at finite values alone: 3.0 is not late."""
    s = floats([math.inf, 3.0, 5.0], {"ts": oop.ordered(), "x": oop.ordered()}, size=1)
    found = s.group_by("x").agg(n=oop.count()).run(order="iop", engine=oop.Embedded(check=True)).to_table()
    assert found["x"].to_pylist() == [3.0, 5.0, math.inf]


def test_nan_of_one_input_does_not_let_the_others_leave():
    schema = pa.schema([("x", pa.float64())])
    merge = OrderedMerge(3, "x").start(Context([schema] * 3))

    def given(x: float, port: int) -> list[Row]:
        batch = pa.record_batch([pa.array([x])], schema=schema)
        return [row for b in merge.process_batch(batch, port) for row in b.to_pylist()]

    assert len(given(math.nan, 0)) == 1  # it has no place in the order
    list(merge.process_punctuation((oop.END,), 0))
    assert given(9.0, 1) == []  # the third input may bring an earlier one
    assert given(4.0, 2) == [{"x": 4.0}]


def test_an_input_that_has_come_to_infinity_is_saved_as_such():
    schema = pa.schema([("x", pa.float64())])
    merge, other = (OrderedMerge(2, "x").start(Context([schema] * 2)) for _ in range(2))
    rows = pa.record_batch([pa.array([math.inf])], schema=schema)
    assert list(merge.process_batch(rows, 0)) == []
    other.load(merge.save())
    found = [batch.num_rows for batch in other.process_batch(rows, 1)]
    assert sum(found) == 2 and other.buffered_rows == 0, "neither input has an earlier one"
