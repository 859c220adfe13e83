"""Sort, number and dedup as a user meets them: what comes out when, what is held, and what is refused."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

import oop
from oop.testing import Harness

KV = {"ts": "int64", "k": "string", "v": "int64"}


def operator(harness: Harness, name: str):
    (box,) = [b for b in harness.run._boxes if b.node.spec.name == name]
    return box.operator


def test_sort_releases_what_is_promised_and_passes_the_promise_after_it():
    h = Harness(lambda s: s.sort(), KV)
    h.push({"ts": [5, 3, 9, 3], "k": ["a", "b", "c", "a"], "v": [1, 2, 3, 4]})
    assert h.rows() == []
    h.promise(ts=6)
    batch, promise = h.out()
    assert batch.column("ts").to_pylist() == [3, 3, 5]
    assert batch.column("v").to_pylist() == [2, 4, 1], "rows of one time as they came"
    assert promise == oop.Punctuation({"ts": 6})
    assert h.buffered_rows == 1
    h.end()
    assert [r["ts"] for r in h.rows()] == [9]


def test_sort_waits_for_all_groups():
    h = Harness(lambda s: s.sort(), KV)
    h.push({"ts": [1, 7], "k": ["a", "b"], "v": [0, 0]})
    h.promise(where={"k": "b"}, ts=9)
    assert h.out() == []
    h.promise(where={"k": oop.not_in("b")}, ts=5)
    assert [r["ts"] for r in h.rows()] == [1]
    assert h.promises() == [oop.Punctuation({"ts": 5})]


def test_sort_puts_rows_without_a_time_last():
    schema = pa.schema([("ts", pa.int64()), ("x", pa.float64())])
    h = Harness(lambda s: s.sort(on="x"), schema, punctuate={"x": oop.punctuated()})
    h.push({"ts": [1, 2, 3, 4], "x": [None, float("nan"), 2.5, -1.0]})
    h.promise(x=float("inf"))
    assert [r["ts"] for r in h.rows()] == [4, 3]
    h.end()
    assert [r["ts"] for r in h.rows()] == [2, 1]


def test_sort_keeps_columns_of_any_type():
    schema = pa.schema(
        [
            ("ts", pa.timestamp("us", tz="Asia/Tokyo")),
            ("tags", pa.list_(pa.string())),
            ("at", pa.struct([("x", pa.int32())])),
            ("price", pa.decimal128(20, 3)),
            ("link", pa.dictionary(pa.int32(), pa.string())),
            ("big", pa.large_string()),
            ("yes", pa.bool_()),
        ]
    )
    rows = [
        {
            "ts": t,
            "tags": [str(t)] * (t % 3),
            "at": {"x": t} if t % 2 else None,
            "price": Decimal(t) / 8 if t % 2 == 0 else None,
            "link": "AB"[t % 2],
            "big": None if t == -4 else "é" * t,
            "yes": t > 3,
        }
        for t in (7, -4, 0, 5)
    ]
    table = pa.Table.from_batches([pa.RecordBatch.from_pylist(rows[i : i + 2], schema=schema) for i in (0, 2)])
    sorted_ = oop.source(table, time="ts", punctuate=oop.at_end()).sort().run().to_table()
    assert sorted_.schema == schema
    assert sorted_.to_pylist() == table.sort_by("ts").to_pylist()


def test_an_aggregate_takes_from_a_sort_only_the_columns_that_it_uses():
    table = pa.table({"ts": [2, 1, 12], "k": ["a", "b", "a"], "v": [1, 2, 3]})
    s = oop.source(table, time="ts", punctuate=oop.slack(5))
    assert s.sort("v").window(oop.tumbling(10)).agg(n=oop.count()).run().to_table()["n"].to_pylist() == [2, 1]


def test_number_ranks_rows_of_all_inputs():
    h = Harness(lambda a, b: a.union(b).number("rank"), KV, KV)
    h.push({"ts": [4, 2], "k": ["a", "b"], "v": [0, 1]}, port=0)
    h.push({"ts": [2, 9], "k": ["a", "b"], "v": [0, 1]}, port=1)
    h.promise(0, ts=5)
    assert h.out() == []
    h.promise(1, ts=8)
    assert [(r["ts"], r["k"], r["rank"]) for r in h.rows()] == [(2, "b", 0), (2, "a", 1), (4, "a", 2)]
    assert h.promises() == [oop.Punctuation({"ts": 5}), oop.Punctuation({"rank": 3})]
    h.end()
    assert [r["rank"] for r in h.rows()] == [3]


def test_windows_count_by_the_numbers():
    def pipeline(a, b):
        return a.union(b).number("rank").window(oop.tumbling(2), on="rank").agg(n=oop.count(), first=oop.min("ts"))

    h = Harness(pipeline, KV, KV)
    h.push({"ts": [4, 1], "k": ["a"] * 2, "v": [0] * 2}, port=0)
    h.push({"ts": [2, 9], "k": ["a"] * 2, "v": [0] * 2}, port=1)
    h.promise(0, ts=5)
    h.promise(1, ts=8)
    assert [(r["window_start"], r["n"], r["first"]) for r in h.rows()] == [(0, 2, 1)]
    h.end()
    assert [(r["window_start"], r["n"], r["first"]) for r in h.rows()] == [(2, 2, 4)]


def test_numbers_go_on_after_a_load():
    pipeline = lambda s: s.number("rank")  # noqa: E731
    h = Harness(pipeline, KV)
    h.push({"ts": [1, 2, 7], "k": ["a"] * 3, "v": [0] * 3})
    h.promise(ts=5)
    other = Harness(pipeline, KV)
    other.load(h.save(), h.given)
    other.end()
    assert [(r["ts"], r["rank"]) for r in other.rows()] == [(7, 2)]


@pytest.mark.parametrize(
    "build", [lambda s: s.sort(), lambda s: s.number(), lambda s: s.dedup("ts"), lambda s: s.dedup("k", within=2)]
)
def test_late_rows_are_only_counted(build):
    h = Harness(build, KV, late="admit")
    h.promise(ts=5)
    h.push({"ts": [3, 6], "k": ["a", "b"], "v": [0, 0]})
    h.end()
    assert [r["ts"] for r in h.rows()] == [6]
    assert sum(box.late_unused for box in h.run.metrics.boxes) == 1


def test_what_is_held_is_named():
    h = Harness(lambda s: s.sort(), KV)
    sort = operator(h, "Sort")
    assert sort.oldest() is None
    h.push({"ts": [5, 3], "k": ["a", "b"], "v": [1, 2]})
    held = sort.oldest()
    assert (held.what, held.release) == ("the row with ts = 3", oop.Punctuation({"ts": 4}))
    h.feed(held.release)
    assert h.buffered_rows == 1


@pytest.mark.parametrize("build", [lambda s: s.sort(), lambda s: s.number()])
def test_nothing_is_promised_about_the_time(build):
    table = pa.table({"ts": [1], "k": ["a"]})
    s = oop.source(table, time="ts", punctuate=oop.slack(1, by="k"))
    with pytest.raises(oop.NeverEmits, match="only for groups of 'k' that it has seen"):
        build(s).run().to_table()


def test_what_cannot_be_sorted_is_refused():
    s = oop.source(pa.table({"ts": [1], "tags": [[1]]}), time="ts", punctuate=oop.ordered())
    with pytest.raises(oop.SchemaMismatch, match=r"'tags' of type .* has no order, which sorting needs"):
        s.sort("tags")
    with pytest.raises(oop.SchemaMismatch, match="has no order, which ranking rows of the same time needs"):
        s.sort().number()
    with pytest.raises(oop.UnknownColumn, match="tag"):
        s.sort("tag")
    with pytest.raises(oop.SchemaMismatch, match="no one time"):
        s.select("tags").sort()
    with pytest.raises(TypeError, match="columns are named"):
        s.sort(oop.col("ts"))


# --- dedup


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
