"""Sort and number as a user meets them: what comes out when, what is held, and what is refused."""

from __future__ import annotations

from decimal import Decimal

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
