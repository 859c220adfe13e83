"""The embedded engine: queues that push back, failures that lose nothing, timers on a clock, schedulers."""

from __future__ import annotations

import pickle
import threading
import time
from datetime import UTC, datetime

import numpy as np
import pyarrow as pa
import pytest

import oop
from oop.engines.embedded import arcs, boxes
from oop.engines.embedded.schedulers import MinCost
from oop.testing import Harness, ManualClock, elements


def numbers(count: int, batch: int = 10) -> list[pa.RecordBatch]:
    return [pa.record_batch({"ts": list(range(i, i + batch))}) for i in range(0, count, batch)]


class LastFirst:
    """A scheduler that runs the boxes nearest to the sources most often, so that queues fill up."""

    def turn(self, boxes):
        for box in boxes[:-1]:
            yield box, None
        yield boxes[-1], 5  # the last box takes little


def test_a_full_queue_pushes_back_on_its_source(monkeypatch):
    monkeypatch.setattr(boxes, "CAPACITY_ROWS", 100)
    given = []

    def data():
        for batch in numbers(5_000):
            given.append(batch.num_rows)
            yield batch

    stream = oop.source(data, time="ts", punctuate=oop.ordered(), schema=pa.schema({"ts": pa.int64()}))
    run = stream.filter(oop.col("ts") >= 0).select("ts").run(oop.Embedded(scheduler=LastFirst()))
    first = next(iter(run))
    assert sum(given) <= 400, "the source was read although nobody took its rows"
    assert first.num_rows + run.to_table().num_rows == 5_000
    assert all(arc.peak_queued_rows <= 100 + arcs.TRAIN_ROWS for arc in run.metrics.arcs)
    assert max(arc.peak_queued_rows for arc in run.metrics.arcs if arc.target.startswith("Project")) <= 200


@pytest.mark.parametrize("scheduler", [MinCost(), oop.RoundRobin(train=3)], ids=str)
def test_what_came_before_a_failure_is_delivered(scheduler):
    def data():
        yield from numbers(50)
        raise ConnectionError("the line went dead")

    stream = oop.source(data, time="ts", punctuate=oop.ordered(), schema=pa.schema({"ts": pa.int64()}))
    run = stream.window(oop.tumbling(10)).agg(n=oop.count()).run(oop.Embedded(scheduler=scheduler))
    seen = []
    with pytest.raises(ConnectionError, match="dead") as failure:
        for batch in run:
            seen += batch.to_pylist()
    assert [r["window_start"] for r in seen] == [0, 10, 20, 30]
    assert any("test_engine.py" in note for note in failure.value.__notes__)


def test_an_operator_that_fails_names_the_users_line_and_loses_nothing_before_it():
    batches = [pa.record_batch({"ts": [1, 2]}), pa.record_batch({"ts": [0, 3]})]
    stream = oop.source(batches, time="ts", punctuate=oop.slack(5)).with_columns(x=10 // oop.col("ts"))
    run = stream.run(oop.Embedded(scheduler=oop.RoundRobin(train=1)))
    seen = []
    with pytest.raises(oop.OopError, match=r"test_engine\.py"):
        for batch in run:
            seen += batch.to_pylist()
    assert [r["ts"] for r in seen] == [1, 2]
    with pytest.raises(oop.OopError, match="10 // ts"):
        run.to_table()  # not an empty table, as if all were well


def test_a_failed_or_finished_run_stays_so():
    run = oop.source(pa.table({"ts": [1]}), time="ts", punctuate=oop.ordered()).run()
    assert run.to_table().num_rows == 1
    assert run.to_table().num_rows == 0


def test_stop_leaves_open_windows_unfinished_and_closes_the_input():
    closed = threading.Event()

    def data():
        try:
            yield from numbers(10_000)
        finally:
            closed.set()

    stream = oop.source(data, time="ts", punctuate=oop.ordered(), schema=pa.schema({"ts": pa.int64()}))
    run = stream.window(oop.tumbling(25)).agg(n=oop.count()).run()
    first = next(iter(run))
    run.stop()
    assert run.to_table().num_rows == 0
    assert first.to_pylist()[0] == {"window_start": 0, "window_end": 25, "n": 25}
    assert closed.is_set()


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


def test_an_operator_that_breaks_its_promise_is_found_out():
    stream = oop.source(pa.table({"ts": [1, 2]}), time="ts", punctuate=oop.slack(5))
    run = stream.with_columns(x=oop.col("ts")).run(oop.Embedded(check=True))
    run._boxes[-1].frontier.advance(oop.Punctuation({"x": 2}))  # as if it had promised this
    with pytest.raises(oop.PunctuationViolated, match="after it had promised x < 2"):
        run.to_table()


def test_only_promises_that_help_leave_a_source():
    batches = numbers(100, 1)
    stream = oop.source(batches, time="ts", punctuate=oop.ordered())
    run = stream.window(oop.tumbling(25)).agg(n=oop.count()).run()
    run.to_table()
    # the first (nothing is complete below it), one for each window that it completes, and the end
    assert run.metrics.box("Source").promises_out == 5


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


def test_readers_let_a_lively_input_pass_a_silent_one():
    stop = threading.Event()

    def silent():
        stop.wait(20)
        yield pa.record_batch({"ts": [1]})

    schema = pa.schema({"ts": pa.int64()})
    links = [
        oop.source(d, time="ts", punctuate=oop.ordered(), schema=schema) for d in (silent, lambda: iter(numbers(20)))
    ]
    run = oop.union(*links).run(oop.Embedded(readers=True))
    assert next(iter(run)).num_rows == 10
    stop.set()
    assert run.to_table().num_rows == 11


def test_a_run_that_is_not_read_reads_nothing_and_a_bad_sink_uses_nothing_up(tmp_path):
    read = []

    def data():
        read.append(1)
        yield from numbers(10)

    stream = oop.source(data(), time="ts", punctuate=oop.ordered(), schema=pa.schema({"ts": pa.int64()}))
    with pytest.raises(FileNotFoundError):
        stream.run(to=tmp_path / "nowhere" / "out.parquet")
    assert read == []
    assert stream.run().to_table().num_rows == 10
    before = threading.active_count()
    timed = oop.source(data, time="ts", punctuate=oop.timer(1, lull=9), schema=pa.schema({"ts": pa.timestamp("s")}))
    timed.run()
    assert threading.active_count() == before


def test_dictionaries_that_differ_from_batch_to_batch():
    batches = [
        pa.record_batch({"ts": [i], "k": pa.array([str(i)]).cast(pa.dictionary(pa.int8(), pa.string()))})
        for i in range(300)
    ]
    stream = oop.source(batches, time="ts", punctuate=oop.ordered())
    assert stream.filter(oop.col("k") != "7").run().to_table().num_rows == 299
    counted = stream.window(oop.tumbling(1000)).group_by("k").agg(n=oop.count()).run().to_table()
    assert sorted(counted.column("k").to_pylist(), key=int) == [str(i) for i in range(300)]


def test_a_plan_is_not_refused_because_of_the_bound_it_is_asked_with():
    table = pa.table({"ts": pa.array([30, 60], pa.uint64())})
    stream = oop.source(table, time="ts", punctuate=oop.ordered()).with_columns(t=oop.col("ts") - 10)
    assert stream.window(oop.tumbling(10), on="t").agg(n=oop.count()).run().to_table().num_rows == 2


def test_select_takes_a_column():
    stream = oop.source(pa.table({"ts": [1]}), time="ts", punctuate=oop.at_end())
    with pytest.raises(ValueError, match="at least one"):
        stream.select()


def test_infinity_in_a_second_attribute_promises_nothing():
    table = pa.table({"ts": [1, 2, 3], "e": [1.0, float("inf"), 2.0]})
    run = oop.source(table, time="ts", punctuate={"ts": oop.ordered(), "e": oop.ordered()}).run()
    assert (run.to_table().num_rows, len(run.late)) == (3, 0)
    table = pa.table({"ts": [1, 2, 3], "e": [float("-inf"), 1.0, 2.0]})
    stream = oop.source(table, time="ts", punctuate={"ts": oop.ordered(), "e": oop.ordered(1)})
    assert stream.group_by("e").agg(n=oop.count()).run(oop.Embedded(check=True)).to_table().num_rows == 3


def test_groups_without_values_can_be_saved():
    schema = {"ts": "int64", "s": "string", "d": pa.decimal128(9, 2)}

    def pipeline(s):
        return s.window(oop.tumbling(10)).agg(lo=oop.min("s"), hi=oop.max("s"), sum=oop.sum("d"))

    h = Harness(pipeline, schema)
    h.push({"ts": [1], "s": [None], "d": [None]})
    other = Harness(pipeline, schema)
    other.load(h.save(), h.given)
    other.end()
    assert other.rows() == [{"window_start": 0, "window_end": 10, "lo": None, "hi": None, "sum": None}]


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


def test_every_on_float_times_ends():
    stream = oop.source(pa.table({"ts": [1.0, 50.0, 3.0]}), time="ts", punctuate=oop.slack(2, every=0.1))
    assert stream.window(oop.tumbling(5)).agg(n=oop.count()).run().to_table().num_rows == 2


@pytest.mark.parametrize("kind", [pa.float16(), pa.float32(), pa.float64()], ids=str)
def test_small_floats_stand_in_their_windows(kind):
    times = [i / 10 for i in range(300)]
    data = []
    for t in times:
        batch = pa.record_batch({"ts": pa.array([t], pa.float64()).cast(kind, safe=False)})
        data += [batch, oop.Punctuation({"ts": batch.column(0)[0].as_py()})]
    stream = oop.source(data, time="ts", punctuate=oop.punctuated()).window(oop.tumbling(0.1))
    first = stream.agg(n=oop.count(), lo=oop.min("ts"), hi=oop.max("ts"))
    rows = first.run(oop.Embedded(check=True)).to_table().to_pylist()
    assert all(r["window_start"] <= r["lo"] <= r["hi"] < r["window_end"] for r in rows)
    second = first.window(oop.tumbling(0.3)).agg(n=oop.sum("n")).run(oop.Embedded(check=True)).to_table()
    assert sum(second.column("n").to_pylist()) == 300
    assert len(set(second.column("window_start").to_pylist())) == second.num_rows


@pytest.mark.parametrize("value", [1.5, True, "a", 2**70])
def test_a_promise_about_a_group_that_the_column_cannot_hold(value):
    h = Harness(lambda s: s, {"ts": "int64", "k": "int64"})
    with pytest.raises(oop.SchemaMismatch, match="can hold"):
        h.promise(where={"k": value}, ts=50)


def test_a_promise_about_the_group_nan():
    nan = float("nan")
    h = Harness(lambda s: s.window(oop.tumbling(10)).group_by("k").agg(n=oop.count()), {"ts": "int64", "k": "float64"})
    h.push({"ts": [1], "k": [nan]})
    h.promise(where={"k": nan}, ts=50)
    h.push({"ts": [3], "k": [nan]})
    h.end()
    assert (len(h.rows()), len(h.late)) == (1, 1)


@pytest.mark.parametrize(
    "kind", [pa.time64("ns"), pa.timestamp("ns"), pa.duration("ns"), pa.timestamp("us", "UTC")], ids=str
)
def test_groups_that_differ_by_nanoseconds(kind):
    data = [pa.record_batch({"ts": [t], "k": pa.array([k], kind)}) for t, k in ((30, 1), (2, 2), (1, 2))]
    stream = oop.source(data, time="ts", punctuate=oop.ordered(by="k"))
    run = stream.window(oop.tumbling(10)).group_by("k").agg(n=oop.count()).run()
    assert (run.to_table().num_rows, len(run.late)) == (2, 1)
    with pytest.raises(oop.LateRow, match="breaks the promise ts < 2"):
        stream.late("raise").run().to_table()


def test_groups_are_those_that_the_column_holds():
    data = [pa.record_batch({"ts": [i, i], "k": [1, 2]}) for i in range(0, 100, 10)]

    def windows(groups):
        stream = oop.source(data, time="ts", punctuate=oop.ordered(by="k", groups=groups))
        return len(list(stream.window(oop.tumbling(10)).agg(n=oop.count()).run()))

    assert windows([1, 2]) == windows(pa.array([1, 2])) == windows(np.array([1, 2])) > 1
    with pytest.raises(oop.SchemaMismatch, match="'1'"):
        windows(["1", "2"])
    with pytest.raises(oop.SchemaMismatch, match="itself"):
        oop.source(data, time="ts", punctuate=oop.ordered(by="ts"))


@pytest.mark.parametrize("size", [1, 2, 3])
@pytest.mark.parametrize("last", [3, None])
def test_what_is_delivered_before_an_error_does_not_depend_on_batches(size, last):
    table = pa.table({"ts": [1, 11, last]})
    stream = oop.source(table.to_batches(max_chunksize=size), time="ts", punctuate=oop.ordered(), late="raise")
    seen = []
    with pytest.raises(oop.LateRow if last else oop.TimeError):
        for batch in stream.window(oop.tumbling(5)).agg(n=oop.count()).run():
            seen += batch.to_pylist()
    assert seen == [{"window_start": 0, "window_end": 5, "n": 1}]


def test_errors_cross_processes():
    error = pickle.loads(pickle.dumps(oop.TimeError("no time", at="a.py:3", hint="give one")))
    assert (type(error), str(error)) == (oop.TimeError, "no time (at a.py:3)\nHint: give one")


def test_a_generator_that_was_passed_is_closed_by_stop():
    closed = threading.Event()

    def data():
        try:
            yield from numbers(1_000)
        finally:
            closed.set()

    run = oop.source(data(), time="ts", punctuate=oop.ordered()).run()
    next(iter(run))
    run.stop()
    assert list(run) == []
    assert closed.is_set()


def test_columns_that_are_called_like_ours():
    table = pa.table({"ts": [5, 1], "broke": ["a", "b"], "__wid_start": [1, 2]})
    stream = oop.source(table, time="ts", punctuate=oop.ordered())
    run = stream.run()
    run.to_table()
    assert run.late.to_table().to_pylist() == [
        {"ts": 1, "broke": "b", "__wid_start": 2, "_broke": "ts < 5", "late_by": 4.0}
    ]
    with pytest.raises(oop.SchemaMismatch, match="__wid_start"):
        stream.window(oop.tumbling(5)).agg(n=oop.count())


def test_a_filter_on_null_fixes_the_group():
    data = pa.table({"ts": [1, 2, 30], "k": ["a", None, None]})
    stream = oop.source(data, time="ts", punctuate=oop.ordered(by="k")).filter(oop.col("k").is_null())
    assert stream.window(oop.tumbling(10)).agg(n=oop.count()).run().to_table().num_rows == 2


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
