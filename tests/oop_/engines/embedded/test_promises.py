"""Promises in the engine: of timers on a clock, of the data, about groups and several columns, as users write them."""

from __future__ import annotations

import threading
import time
from datetime import UTC, datetime

import numpy as np
import pyarrow as pa
import pytest

import oop
from oop.testing import Harness, ManualClock, elements


def test_a_timer_advances_through_a_lull_on_a_hand_cranked_clock():
    clock = ManualClock(100)
    h = Harness(
        lambda s: s.window(oop.tumbling(10)).agg(n=oop.count()),
        {"ts": "int64"},
        punctuate=oop.timer(1, lull=20),
        clock=clock,
    )
    h.push({"ts": [95, 99]})
    h.tick()
    assert h.promises() == [oop.Punctuation({"window_start": 90}), oop.Punctuation({"window_end": 100})]
    assert h.rows() == []
    clock.advance(21)
    h.tick()  # nothing came: the bound is now - lull
    assert h.rows() == [{"window_start": 90, "window_end": 100, "n": 2}]
    h.push({"ts": [100, 101]})  # 100 is under now - lull = 101
    assert [r["broke"] for r in h.late.to_table().to_pylist()] == ["ts < 101"]


def test_a_silent_live_input_does_not_hold_up_the_others():
    """On the real clock: one link speaks once and then stays silent, and windows still close."""
    stop = threading.Event()

    def now() -> int:
        return time.time_ns() // 1_000_000

    def silent():
        yield row(now())
        stop.wait(20)

    def lively():
        while not stop.is_set():
            yield row(now())
            time.sleep(0.02)

    def row(ms: int) -> pa.RecordBatch:
        return pa.record_batch({"ts": pa.array([ms], pa.timestamp("ms"))})

    schema = pa.schema({"ts": pa.timestamp("ms")})
    policy = oop.timer("50ms", lull="200ms")
    links = [oop.source(d, time="ts", punctuate=policy, schema=schema) for d in (silent, lively)]
    run = oop.union(*links).window(oop.tumbling("100ms")).agg(n=oop.count()).run()
    started = time.monotonic()
    seen = [next(iter(run)), next(iter(run))]
    assert time.monotonic() - started < 10
    assert sum(b.num_rows for b in seen) >= 2
    run.stop()
    stop.set()
    assert run.to_table().num_rows == 0


def test_a_timer_on_numbers_needs_a_clock_that_counts_in_them():
    stream = oop.source(
        lambda: iter(()), time="ts", punctuate=oop.timer(1, lull=5), schema=pa.schema({"ts": pa.int64()})
    )
    with pytest.raises(oop.SchemaMismatch, match="clock"):
        stream.run()
    assert stream.run(oop.Embedded(clock=ManualClock(3))).to_table().num_rows == 0


def test_a_timer_is_refused_on_data_of_the_past(tmp_path):
    table = pa.table({"ts": pa.array([1], pa.timestamp("s"))})
    with pytest.raises(ValueError, match="past"):
        oop.source(table, time="ts", punctuate=oop.timer("1s", lull="5s"))


def test_promises_in_the_data_need_a_punctuated_source():
    data = elements("""
        ts
        1
        -- ts < 5
    """)
    stream = oop.source(data, time="ts", punctuate=oop.ordered())
    with pytest.raises(oop.SchemaMismatch, match="punctuated"):
        stream.run().to_table()


def test_a_promise_that_goes_backwards_changes_nothing():
    h = Harness(lambda s: s, {"ts": "int64"})
    h.promise(ts=5)
    h.promise(ts=3)
    h.promise(ts=5)
    assert h.promises() == [oop.Punctuation({"ts": 5})]
    h.push({"ts": [4, 5]})
    assert h.rows() == [{"ts": 5}]
    assert h.late.to_table().column("broke").to_pylist() == ["ts < 5"]


def test_an_end_in_a_finite_input_makes_what_follows_late():
    data = [pa.record_batch({"ts": [1]}), oop.END, pa.record_batch({"ts": [2]})]
    run = oop.source(data, time="ts", punctuate=oop.punctuated()).run()
    assert run.to_table().to_pylist() == [{"ts": 1}]
    assert run.late.to_table().to_pylist() == [{"ts": 2, "broke": "END", "late_by": None}]


def test_a_slow_reader_does_not_make_rows_late_under_a_timer():
    """Rows that have arrived wait for the reader; the clock must not pass them by meanwhile."""

    def data():
        for _ in range(10):
            yield pa.record_batch({"ts": pa.array([time.time_ns() // 1_000_000], pa.timestamp("ms"))})

    next(data())  # Arrow loads pandas at its first conversion, and a row on its way for so long would be late
    schema = pa.schema({"ts": pa.timestamp("ms")})
    stream = oop.source(data, time="ts", punctuate=oop.timer("1ms", lull="20ms"), schema=schema)
    run = stream.run()
    rows = 0
    for batch in run:
        rows += batch.num_rows
        time.sleep(0.03)  # longer than the lull
    assert (rows, len(run.late)) == (10, 0)


def test_timers_on_attributes_of_different_units():
    clock = ManualClock(1_000)
    schema = pa.schema({"a": pa.int64(), "b": pa.timestamp("us")})

    class TwoUnits(ManualClock):
        def now(self, type_):
            return 1_000 if type_ == pa.int64() else 1_000_000_000

    h = Harness(
        lambda s: s,
        schema,
        time="a",
        punctuate={"a": oop.timer(1, lull=10), "b": oop.timer("1us", lull="10us")},
        clock=TwoUnits(clock),
    )
    h.push(pa.record_batch({"a": [995], "b": pa.array([999_999_995], pa.timestamp("us"))}))
    h.tick()
    assert h.promises() == [oop.Punctuation({"a": 995}), oop.Punctuation({"b": 999_999_995})]


def test_late_rows_survive_a_save_and_can_be_drained():
    h = Harness(lambda s: s, {"ts": "int64"})
    h.promise(ts=5)
    h.push({"ts": [4, 6]})
    snapshot = h.save()
    other = Harness(lambda s: s, {"ts": "int64"})
    other.load(snapshot, h.given)
    assert other.late.to_table().to_pylist() == [{"ts": 4, "broke": "ts < 5", "late_by": 1.0}]
    assert [t.num_rows for t in other.late.drain().values()] == [1]
    assert (len(other.late), other.late.to_table().num_rows) == (1, 0)
    other.push({"ts": [3]})
    third = Harness(lambda s: s, {"ts": "int64"})
    third.load(other.save(snapshot), other.given)
    assert (len(third.late), third.late.to_table().column("ts").to_pylist()) == (2, [3])


def test_a_promise_about_several_columns_ends_the_windows_of_a_group():
    h = Harness(
        lambda s: s.window(oop.sliding(7, every=3)).group_by("link", "v").agg(n=oop.count()),
        {"ts": "int64", "link": "string", "v": "int64"},
    )
    h.push({"ts": [34], "link": ["B"], "v": [1]})
    h.feed(oop.Punctuation(where={"link": "B", "v": 1}))
    assert sorted(r["window_start"] for r in h.rows()) == [30, 33]
    assert h.buffered_rows == 0


@pytest.mark.parametrize("idle", [None, 500])
def test_many_groups_do_not_cost_their_square(idle):
    count, groups = 20_000, 400
    table = pa.table({"ts": list(range(count)), "g": [i % groups for i in range(count)]})
    stream = oop.source(table, time="ts", punctuate=oop.ordered(by="g", idle=idle))
    start = time.monotonic()
    counted = stream.window(oop.tumbling(1_000)).group_by("g").agg(n=oop.count()).run().to_table()
    assert sum(counted.column("n").to_pylist()) == count
    assert time.monotonic() - start < 15


@pytest.mark.parametrize("value", [1.5, True, "a", 2**70])
def test_a_promise_about_a_group_that_the_column_cannot_hold(value):
    h = Harness(lambda s: s, {"ts": "int64", "k": "int64"})
    with pytest.raises(oop.SchemaMismatch, match="can hold"):
        h.promise(where={"k": value}, ts=50)


def test_bounds_as_users_write_them():
    for kind in (pa.timestamp("s"), pa.timestamp("us"), pa.date64()):
        h = Harness(lambda s: s, {"ts": kind})
        h.promise(ts=np.datetime64("2020-01-01"))
        h.promise(ts=datetime(2020, 1, 1, 0, 0, 1, 500_000))
        second = h.promises()[-1].below["ts"]
        assert second == {"s": 1577836802, "us": 1577836801500000}.get(getattr(kind, "unit", ""), 1577836801500)
    zoned = Harness(lambda s: s, {"ts": pa.timestamp("s", "Europe/Berlin")})
    zoned.promise(ts=datetime(2020, 1, 1, tzinfo=UTC))
    assert zoned.promises()[0].below["ts"] == 1577836800
    with pytest.raises(oop.SchemaMismatch, match="zone"):
        zoned.promise(ts=datetime(2021, 1, 1))
