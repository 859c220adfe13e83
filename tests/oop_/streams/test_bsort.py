"""BSort as a user meets it: what comes out when, what it promises, what it holds, what is refused."""

from __future__ import annotations

import time

import pyarrow as pa
import pytest

import oop
from oop.operators.aurora.bsort_rows import BSortRows
from oop.testing import Harness

AK = {"ts": "int64", "k": "string"}


def test_figure_8_step_by_step():
    """Aurora paper, figure 8: slack 2, a buffer of three rows of which the least is evicted."""
    h = Harness(lambda s: s.bsort(slack=2), {"ts": "int64"})
    evicted = []
    for a in (1, 3, 1, 2, 4, 4, 8, 3, 4, 4):
        h.push({"ts": [a]})
        evicted.append([r["ts"] for r in h.rows()])
    assert evicted == [[], [], [1], [1], [2], [3], [4], [3], [4], [4]]
    assert h.buffered_rows == 2
    h.end()
    assert [r["ts"] for r in h.rows()] == [4, 8]


def test_a_promise_goes_no_further_than_the_least_that_is_held():
    h = Harness(lambda s: s.bsort(slack=2), {"ts": "int64"})
    h.push({"ts": [3, 7]})
    h.promise(ts=10)
    assert h.out() == [oop.Punctuation({"ts": 3})]
    h.push({"ts": [12]})
    assert [r["ts"] for r in h.rows()] == [3]
    assert h.promises() == [oop.Punctuation({"ts": 7})], "the row that held it back has left"
    h.push({"ts": [11]})
    assert [r["ts"] for r in h.rows()] == [7]
    assert h.promises() == [oop.Punctuation({"ts": 10})]


def test_a_promise_that_is_held_back_is_so_after_a_load():
    h, other = (Harness(lambda s: s.bsort(slack=2), {"ts": "int64"}) for _ in range(2))
    h.push({"ts": [3, 7]})
    h.promise(ts=10)
    other.load(h.save(), h.given)
    other.push({"ts": [12]})
    assert other.promises() == [oop.Punctuation({"ts": 7})], "the row that held it back has left"


def test_what_was_held_at_the_peak_does_not_stay():
    rows = pa.record_batch({"ts": list(range(50_000)), "k": ["k"] * 50_000})
    buffers = BSortRows(rows.schema, "ts", (), 60_000)
    empty = buffers.nbytes
    buffers.add(rows)
    assert buffers.nbytes > empty + rows.nbytes
    assert sum(batch.num_rows for batch in buffers.take(buffers.held())) == 50_000
    assert buffers.nbytes == empty


def test_the_end_of_a_group_lets_its_rows_go():
    h = Harness(lambda s: s.bsort(slack=3, by="k"), AK)
    h.push({"ts": [5, 9, 4, 8], "k": ["a", "b", "a", "b"]})
    h.promise(where={"k": "a"}, ts=6)
    assert h.out() == [oop.Punctuation({"ts": 4}, {"k": "a"})]
    h.promise(where={"k": "a"})
    assert [r["ts"] for r in h.rows()] == [4, 5]
    assert h.promises() == [oop.Punctuation({}, {"k": "a"})]
    assert h.buffered_rows == 2


def test_rows_without_a_value_come_last_and_hold_no_promise_back():
    schema = pa.schema([("ts", pa.int64()), ("x", pa.float64())])
    h = Harness(lambda s: s.bsort(slack=3, on="x"), schema, punctuate={"x": oop.punctuated()})
    h.push({"ts": [1, 2, 3], "x": [None, float("nan"), 2.5]})
    h.promise(x=2.0)
    assert h.promises() == [oop.Punctuation({"x": 2.0})]
    h.push({"ts": [4, 5], "x": [3.5, 9.0]})
    assert [r["ts"] for r in h.rows()] == [3, 4]
    h.end()
    assert [r["ts"] for r in h.rows()] == [5, 2, 1]


def test_admitted_late_rows_pass_at_once():
    h = Harness(lambda s: s.bsort(slack=2), {"ts": "int64"}, late="admit")
    h.push({"ts": [5, 6]})
    h.promise(ts=4)
    h.push({"ts": [1]})
    assert [r["ts"] for r in h.rows()] == [1]


@pytest.mark.parametrize("slack", [0, 20])
@pytest.mark.parametrize("threads", [1, 3])
def test_groups_on_threads_are_sorted_alike(threads, slack):
    table = pa.table({"ts": [(i * 7919) % 1000 for i in range(5000)], "k": [f"k{i % 13}" for i in range(5000)]})
    s = oop.source(table, time="ts", punctuate=oop.at_end()).bsort(slack=slack, by="k")
    found = s.run(engine=oop.Embedded(threads=threads, check=True)).to_table().to_pylist()
    alone = s.run(engine=oop.Embedded(threads=1)).to_table().to_pylist()
    for k in range(13):
        name = f"k{k}"
        assert [r["ts"] for r in found if r["k"] == name] == [r["ts"] for r in alone if r["k"] == name]


def test_columns_of_any_type_pass_as_they_are():
    schema = pa.schema(
        [
            ("ts", pa.timestamp("us", tz="Asia/Tokyo")),
            ("tags", pa.list_(pa.string())),
            ("name", pa.dictionary(pa.int32(), pa.string())),
            ("price", pa.decimal128(9, 2)),
        ]
    )
    columns = [pa.array([3, 1, 2], pa.int64()).cast(schema.field(0).type), pa.array([["x"], [], None])]
    columns += [pa.array(["b", None, "b"]).dictionary_encode(), pa.array([None, None, None], pa.decimal128(9, 2))]
    table = pa.Table.from_arrays(columns, schema=schema)
    found = oop.source(table, time="ts", punctuate=oop.at_end()).bsort(slack=2).run().to_table()
    assert found.schema == schema
    assert found.to_pylist() == sorted(table.to_pylist(), key=lambda r: r["ts"])


def test_columns_that_nobody_uses_are_not_held():
    s = oop.source(pa.table({"ts": [3, 1], "k": ["a", "b"], "wide": ["x", "y"]}), time="ts", punctuate=oop.at_end())
    run = s.bsort(slack=5).select("k").run()
    (box,) = [b for b in run._boxes if b.node.spec.name == "BSort"]
    assert box.operator.rows.schema.names == ["ts", "k"]
    assert run.to_table()["k"].to_pylist() == ["b", "a"]


@pytest.mark.alone
def test_a_large_slack_is_not_quadratic():
    """Ten thousand rows held, row by row and in batches: a row costs what its place in a heap costs."""
    rows = 40_000
    table = pa.table({"ts": [(i * 7919) % rows for i in range(rows)]})
    s = oop.source(table, time="ts", punctuate=oop.at_end())
    seconds = {}
    for slack in (10, 10_000):
        start = time.perf_counter()
        s.bsort(slack=slack).run().to_table()
        seconds[slack] = time.perf_counter() - start
    assert seconds[10_000] < 20 * seconds[10] + 0.5
    h = Harness(lambda s: s.bsort(slack=10_000), {"ts": "int64"})
    h.push({"ts": list(range(10_000))})
    start = time.perf_counter()
    for i in range(500):
        h.push({"ts": [20_000 - i]})
    assert time.perf_counter() - start < 2.5, "single rows, each into a buffer of ten thousand"


def test_explain_and_blame():
    s = oop.source(iter([pa.record_batch({"ts": [3], "k": ["a"]})]), time="ts", punctuate=oop.ordered(), name="north")
    note = "holds 2 rows of each group; a promise goes no further than the least of them"
    assert s.bsort(slack=2, by="k").explain().splitlines()[0] == f"BSort on ts, slack 2 by k   {note}"
    h = Harness(lambda s: s.bsort(slack=2), {"ts": "int64"})
    for ts in (3, 5):
        h.push({"ts": [ts]})
        assert "the row with ts = 3, until more than 2 are held" in str(h.run.blame())
    h.push({"ts": [6]})
    assert "the row with ts = 5, until more than 2 are held" in str(h.run.blame())


def test_what_is_refused():
    s = oop.source(pa.table({"ts": [1], "k": ["a"]}), time="ts", punctuate=oop.at_end())
    with pytest.raises(ValueError, match="slack is 0 rows or more, not -1"):
        s.bsort(slack=-1)
    with pytest.raises(TypeError, match="slack is a whole number of rows, not '5s'"):
        s.bsort(slack="5s")
    with pytest.raises(oop.UnknownColumn, match="kk"):
        s.bsort(slack=1, by="kk")
    with pytest.raises(oop.SchemaMismatch, match="must be an integer, float, date or timestamp"):
        s.bsort(slack=1, on="k")
