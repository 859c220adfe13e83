"""The embedded engine: queues that push back, failures that lose nothing, runs that are stopped, what is read."""

from __future__ import annotations

import pickle
import threading

import pyarrow as pa
import pytest

import oop
from oop.engines.embedded import arcs, boxes
from oop.engines.embedded.schedulers import MinCost


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


def test_a_plan_is_not_refused_because_of_the_bound_it_is_asked_with():
    table = pa.table({"ts": pa.array([30, 60], pa.uint64())})
    stream = oop.source(table, time="ts", punctuate=oop.ordered()).with_columns(t=oop.col("ts") - 10)
    assert stream.window(oop.tumbling(10), on="t").agg(n=oop.count()).run().to_table().num_rows == 2


def test_select_takes_a_column():
    stream = oop.source(pa.table({"ts": [1]}), time="ts", punctuate=oop.at_end())
    with pytest.raises(ValueError, match="at least one"):
        stream.select()


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
