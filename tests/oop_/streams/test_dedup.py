"""Dedup as a user meets it: which row of a key passes and when, what it holds and forgets, and what is refused."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

import oop
from oop.testing import Harness
from tests.oop_.streams.test_waiting import KV, operator


def test_any_passes_the_first_that_comes_at_once_and_forgets_its_key_when_promised():
    h = Harness(lambda s: s.dedup("ts", "k"), KV)
    h.push({"ts": [5, 3, 5], "k": ["a", "b", "a"], "v": [1, 2, 3]})
    assert [r["v"] for r in h.rows()] == [1, 2]
    h.push({"ts": [3, 5], "k": ["b", "b"], "v": [4, 5]})
    assert [r["v"] for r in h.rows()] == [5]
    assert h.buffered_rows == 3
    h.promise(ts=5)
    assert h.promises() == [oop.Punctuation({"ts": 5})]
    assert h.buffered_rows == 2
    h.promise(where={"k": "a"}, ts=9)
    assert h.buffered_rows == 1
    assert h.promises() == [oop.Punctuation({"ts": 9}, {"k": "a"})]


@pytest.mark.parametrize(("keep", "expected"), [("first", 1), ("last", 7)])
def test_first_and_last_hold_one_row_of_a_key_until_it_is_promised(keep, expected):
    h = Harness(lambda s: s.dedup("ts", keep=keep), KV)
    h.push({"ts": [5, 5, 8], "k": ["a", "a", "c"], "v": [4, 1, 0]})
    h.push({"ts": [5], "k": ["a"], "v": [7]})
    assert h.buffered_rows == 2
    assert h.out() == []
    h.promise(ts=6)
    batch, promise = h.out()
    assert batch.to_pylist() == [{"ts": 5, "k": "a", "v": expected}]
    assert promise == oop.Punctuation({"ts": 6})


def test_a_null_is_greater_than_every_value():
    rows = [{"ts": 1, "k": None, "v": 2}, {"ts": 1, "k": "z", "v": 1}]
    for keep, expected in (("first", "z"), ("last", None)):
        h = Harness(lambda s, keep=keep: s.dedup("ts", keep=keep), KV)
        h.push(rows)
        h.end()
        assert [r["k"] for r in h.rows()] == [expected]


def test_keys_that_are_null_nan_or_negative_zero_are_equal_as_in_groups():
    schema = pa.schema([("ts", pa.int64()), ("x", pa.float64())])
    h = Harness(lambda s: s.dedup(), schema)
    h.push({"ts": [1] * 6, "x": [None, float("nan"), 0.0, -0.0, None, float("nan")]})
    assert len(h.rows()) == 3


def test_a_key_may_be_another_attribute_that_is_promised_about():
    schema = pa.schema([("ts", pa.int64()), ("day", pa.int64()), ("v", pa.int64())])
    policy = oop.punctuated(on=["ts", "day"])
    h = Harness(lambda s: s.dedup("day", keep="last"), schema, punctuate=policy)
    h.push({"ts": [1, 9, 5], "day": [1, 1, 1], "v": [1, 2, 3]})
    h.promise(ts=20)
    assert h.out() == [], "a later row of the day may still come, and nothing is said about the time"
    h.promise(day=2)
    assert [r["v"] for r in h.rows()] == [2]
    assert h.promises() == [oop.Punctuation({"day": 2})]


def test_spans_are_decided_in_order_of_time():
    h = Harness(lambda s: s.dedup("k", keep="first", within=3), KV)
    h.push({"ts": [8, 5, 4, 1], "k": ["a"] * 4, "v": [8, 5, 4, 1]})
    h.promise(ts=5)  # 4 is in the span of 1
    assert [r["v"] for r in h.rows()] == [1]
    assert h.promises() == [oop.Punctuation({"ts": 5})]
    h.promise(ts=6)
    assert [r["v"] for r in h.rows()] == [5]
    h.push({"ts": [9], "k": ["a"], "v": [9]})
    h.end()
    assert [r["v"] for r in h.rows()] == [9], "8 is in the span of 5"


def test_the_last_of_a_span_waits_for_its_end_and_promises_stay_that_far_behind():
    h = Harness(lambda s: s.dedup("k", keep="last", within=3), KV)
    h.push({"ts": [1, 3, 4, 5], "k": ["a"] * 4, "v": [1, 3, 4, 5]})
    h.promise(ts=4)
    assert h.rows() == []
    assert h.buffered_rows == 3, "the last row of the open span, and two that wait"
    h.promise(ts=5)
    assert [r["v"] for r in h.rows()] == [4]
    assert h.promises() == [oop.Punctuation({"ts": 1}), oop.Punctuation({"ts": 2})]
    h.promise(ts=9)
    assert [r["v"] for r in h.rows()] == [5]


def test_any_within_a_span_looks_to_both_sides():
    h = Harness(lambda s: s.dedup("k", within=3), KV)
    for ts in (10, 7, 13, 14, 6):
        h.push({"ts": [ts], "k": ["a"], "v": [ts]})
    assert [r["v"] for r in h.rows()] == [10, 14, 6]
    h.promise(ts=9)
    assert h.buffered_rows == 3, "9 is not more than 3 behind 6"
    h.promise(ts=10)
    assert h.buffered_rows == 2


@pytest.mark.parametrize("keep", ["any", "first", "last"])
def test_rows_without_a_time_are_duplicates_of_none(keep):
    schema = pa.schema([("ts", pa.int64()), ("k", pa.string()), ("x", pa.float64())])

    def pipeline(s):
        return oop.Stream(replace(s.flow, time="x")).dedup("k", keep=keep, within=5)

    h = Harness(pipeline, schema, punctuate={"x": oop.punctuated()})
    h.push({"ts": [1, 2, 3, 4, 5], "k": ["a"] * 5, "x": [None, None, float("nan"), 4.0, 4.5]})
    h.end()
    assert sorted(r["ts"] for r in h.rows()) == [1, 2, 3, 5 if keep == "last" else 4]


def test_decimals_text_and_dictionaries_are_compared_as_values():
    schema = pa.schema(
        [
            ("ts", pa.timestamp("us", tz="UTC")),
            ("link", pa.dictionary(pa.int32(), pa.string())),
            ("price", pa.decimal128(9, 2)),
        ]
    )
    batch = pa.RecordBatch.from_pylist(
        [{"ts": -1, "link": link, "price": Decimal(p)} for link, p in (("b", 10), ("a", 9), ("a", 9), ("b", 9))],
        schema=schema,
    )
    for threads in (1, 2):
        s = oop.source([batch], time="ts", punctuate=oop.at_end())
        engine = oop.Embedded(threads=threads)
        assert s.dedup().run(engine=engine).to_table().num_rows == 3
        last = s.dedup("ts", "link", keep="last").run(engine=engine).to_table()
        assert last.schema == schema
        assert sorted((r["link"], r["price"]) for r in last.to_pylist()) == [("a", Decimal(9)), ("b", Decimal(10))]


def test_a_window_takes_from_a_dedup_only_the_columns_that_it_uses():
    table = pa.table({"ts": [1, 1, 12], "k": ["a", "a", "a"], "v": [1, 2, 3], "w": ["x"] * 3})
    s = oop.source(table, time="ts", punctuate=oop.slack(5))
    counted = s.dedup("ts", "k").window(oop.tumbling(10)).agg(n=oop.count())
    assert counted.run().to_table()["n"].to_pylist() == [1, 1]
    assert counted.run(engine=oop.Embedded(threads=2)).to_table()["n"].to_pylist() == [1, 1]


def test_many_keys_that_have_gone_leave_no_numbers_behind():
    h = Harness(lambda s: s.dedup("k", within=1), {"ts": "int64", "k": "int64"})
    for start in range(0, 60_000, 3_000):
        h.push({"ts": list(range(start, start + 3_000)), "k": list(range(start, start + 3_000))})
        h.promise(ts=start + 3_000)
    near = operator(h, "Dedup").times
    assert len(near) == 1
    assert len(near._keys) < 20_000
    h.end()
    assert len(h.rows()) == 60_000


def test_a_dedup_that_could_never_forget_is_refused():
    s = oop.source(pa.table({"ts": [1], "k": ["a"], "v": [1]}), time="ts", punctuate=oop.ordered())
    with pytest.raises(oop.NeverEmits, match=r"dedup\(k\) at .* could never forget a key") as raised:
        s.dedup("k").run().to_table()
    assert "make a key of the time, or say within=…" in str(raised.value)
    at_end = oop.source(pa.table({"ts": [1, 2], "k": ["a", "a"]}), time="ts", punctuate=oop.at_end())
    assert at_end.dedup("k", keep="last").run().to_table()["ts"].to_pylist() == [2]


def test_what_dedup_cannot_do_is_refused():
    s = oop.source(pa.table({"ts": [1], "tags": [[1]]}), time="ts", punctuate=oop.ordered())
    with pytest.raises(ValueError, match="keep is one of any, first, last, not 'best'"):
        s.dedup("ts", keep="best")
    with pytest.raises(oop.SchemaMismatch, match="cannot be a key"):
        s.dedup()
    with pytest.raises(oop.SchemaMismatch, match="has no order, which rows of the same key and time are told apart by"):
        s.dedup("ts", keep="first")
    with pytest.raises(oop.UnknownColumn):
        s.dedup("tss")
    with pytest.raises(ValueError, match="within is a span of time"):
        s.dedup("ts", within=-1)
    assert s.dedup("ts").run().to_table().num_rows == 1


def test_what_dedup_holds_is_named():
    h = Harness(lambda s: s.dedup("ts", keep="last"), KV)
    assert operator(h, "Dedup").oldest() is None
    h.push({"ts": [5, 3], "k": ["a", "b"], "v": [1, 2]})
    held = operator(h, "Dedup").oldest()
    assert (held.what, held.release) == ("the row with ts = 3", oop.Punctuation({"ts": 4}))


@pytest.mark.parametrize("keep", ["any", "first", "last"])
def test_a_bound_between_two_whole_numbers_covers_no_more_than_it_says(keep):
    h = Harness(lambda s: s.dedup(keep=keep), {"ts": "double"})
    h.push({"ts": [2.9]})
    h.promise(ts=2.7)
    h.push({"ts": [2.9, 2.8]})
    h.end()
    assert sorted(r["ts"] for r in h.rows()) == [2.8, 2.9]


@pytest.mark.parametrize(("keep", "kept"), [("first", [2.8]), ("last", [2.9])])
def test_a_span_of_float_times_begins_with_its_first_row(keep, kept):
    h = Harness(lambda s: s.dedup("id", within=1.0, keep=keep), {"ts": "double", "id": "int64"})
    h.push({"ts": [2.9], "id": [1]})
    h.promise(ts=2.7)
    h.push({"ts": [2.8], "id": [1]})
    h.end()
    assert [r["ts"] for r in h.rows()] == kept


def test_small_decimals_have_an_order():
    table = pa.table({"ts": [1, 1], "d": pa.array([2, 1], pa.decimal32(5, 2))})
    s = oop.source(table, time="ts", punctuate=oop.ordered())
    assert [int(v) for v in s.sort("d").run().to_table()["d"].to_pylist()] == [1, 2]
    assert s.dedup("ts", keep="first").run().to_table().num_rows == 1


def test_an_open_span_is_named():
    h = Harness(lambda s: s.dedup("k", within=5, keep="last"), KV)
    h.push({"ts": [3], "k": ["a"], "v": [0]})
    h.promise(ts=5)
    assert h.buffered_rows == 1
    assert "span" in str(h.run.blame())


@pytest.mark.parametrize("order", ["oop", "iop"])
@pytest.mark.parametrize("far", [-(2**63) + 1000, -(2**62), -(2**61) - 25, 2**61, 2**63 - 2**40, -1e19, -1e300])
@pytest.mark.parametrize(
    "plan",
    [
        lambda s: s.group_by("ts", "k").agg(n=oop.count()),
        lambda s: s.dedup("ts", "k", keep="first"),
        lambda s: s.dedup("k", within=1, keep="last"),
        lambda s: s.dedup("ts", "k"),
        lambda s: s.sort(),
    ],
)
def test_times_far_from_zero_are_covered_as_others(plan: Any, far: Any, order: str) -> None:
    """They stand in one slot of those by which state is cut, which promises must still reach."""
    h = Harness(plan, {"ts": "float64" if isinstance(far, float) else "int64", "k": "int64"}, order=order)
    h.push({"ts": [far, far, far + abs(far) // 2**40], "k": [0, 1, 0]})
    h.promise(ts=far + abs(far) // 2**30)
    assert len(h.rows()) == 3
    assert h.buffered_rows == 0
    h.end()
    assert h.rows() == []
