"""Operators on several threads: the same answer as on one, errors as they were raised, and nothing left behind."""

from __future__ import annotations

import gc
import threading
import time
import traceback

import numpy as np
import pyarrow as pa
import pytest

import oop
from oop.engines.embedded import boxes, network, sharded_boxes
from oop.engines.embedded.pool import Pool
from oop.engines.embedded.sharded import Sharded
from oop.operators.aggregate.operator import AggregateOperator
from oop.operators.core.context import Context
from oop.testing import Harness
from oop.testing.laws import bag

ROWS = 60_000
BOXES = oop.RoundRobin()
"""A scheduler that lets rows go from box to box, and not through programs."""


@pytest.fixture(autouse=True)
def no_thread_is_left():
    yield
    gc.collect()
    until = time.monotonic() + 10
    while any(t.name.startswith("oop-worker") for t in threading.enumerate()) and time.monotonic() < until:
        time.sleep(0.01)  # they were told to end; nobody waits for them
    assert [t.name for t in threading.enumerate() if t.name.startswith("oop-worker")] == []


def packets(rows: int = ROWS, keys: int = 500) -> list[pa.RecordBatch]:
    """Rows up to 2,000 late, with keys of several types and some nulls."""
    random = np.random.default_rng(5)
    times = np.arange(rows)
    times = times[np.argsort(times + np.where(random.random(rows) < 0.2, random.integers(0, 2_000, rows), 0))]
    table = pa.table(
        {
            "ts": times,
            "src": pa.array(random.integers(0, keys, rows), pa.int32()),
            "dst": pa.array([None if i % 11 == 0 else f"host-{i % 7}" for i in random.integers(0, 99, rows)]),
            "len": pa.array(random.integers(40, 1500, rows), mask=random.random(rows) < 0.1),
        }
    )
    return table.to_batches(max_chunksize=7_000)


def per_pair(batches: list[pa.RecordBatch], window: oop.Window | None = None, late: int = 2_000) -> oop.Stream:
    stream = oop.source(batches, time="ts", punctuate=oop.slack(late, every=100))
    grouped = stream.window(window or oop.tumbling(5_000)).group_by("src", "dst")
    return grouped.agg(
        n=oop.count(), total=oop.sum("len"), low=oop.min("len"), mean=oop.mean("len"), var=oop.var("len")
    )


def rows_of(stream: oop.Stream, threads: int, **options):
    run = stream.run(oop.Embedded(threads=threads, check=True, **options))
    return bag(run.to_table().to_pylist()), run


@pytest.mark.parametrize("kernels", ["native", "jit", "reference"])
def test_several_threads_give_the_answer_of_one(kernels, monkeypatch):
    monkeypatch.setenv("OOP_KERNELS", kernels)
    stream = per_pair(packets(15_000))
    one, _ = rows_of(stream, 1)
    for threads in (2, 3, 5):
        assert rows_of(stream, threads)[0] == one


@pytest.mark.parametrize("window", [oop.tumbling(5_000), oop.sliding(9_000, every=2_000), oop.tumbling(3)], ids=str)
def test_windows_of_every_kind(window):
    stream = per_pair(packets(20_000, keys=20), window)
    assert rows_of(stream, 2)[0] == rows_of(stream, 1)[0]


@pytest.mark.parametrize("keys", [1, 2])
def test_all_rows_may_belong_to_one_shard(keys):
    stream = per_pair(packets(keys=keys))
    assert rows_of(stream, 4)[0] == rows_of(stream, 1)[0]


def test_the_same_rows_are_late():
    stream = per_pair(packets(), late=50)
    (one, first), (two, second) = rows_of(stream, 1), rows_of(stream, 2)
    assert one == two
    assert len(first.late) == len(second.late) > 1_000
    assert bag(first.late.to_table().to_pylist()) == bag(second.late.to_table().to_pylist())


def test_chained_operators_and_a_group_by():
    stream = oop.source(packets(), time="ts", punctuate=oop.slack(2_000))
    first = stream.window(oop.tumbling(1_000)).group_by("src").agg(n=oop.count())
    second = first.window(oop.tumbling(10_000)).group_by("src").agg(n=oop.sum("n"), windows=oop.count())
    grouped = stream.group_by("ts", "src").agg(n=oop.count())
    for one in (second, grouped):
        assert rows_of(one, 3)[0] == rows_of(one, 1)[0]


def test_a_text_key_may_also_be_aggregated():
    stream = oop.source(packets(), time="ts", punctuate=oop.slack(2_000)).window(oop.tumbling(10_000))
    text = oop.col("dst")
    counted = stream.group_by("src", "dst").agg(
        known=oop.count("dst"), last=oop.max("dst"), odd=oop.count(text == "host-3")
    )
    assert rows_of(counted, 2)[0] == rows_of(counted, 1)[0]


@pytest.mark.parametrize(
    "values",
    [
        pa.array([None, "a", "", "b"] * 500),
        pa.array([None, b"a", b"", b"b"] * 500),
        pa.array(["a", "b", None, "a"] * 500).dictionary_encode(),
        pa.DictionaryArray.from_arrays([0, 1, 2, None] * 500, ["a", "a", None]),
        pa.array([str(i) for i in range(2_000)], pa.large_string()),
        pa.array([None, 1, 2, 1] * 500, pa.decimal128(5, 2)),
        pa.array([b"aa", b"bb", None, b"aa"] * 500, pa.binary(2)),
        pa.array([None, 1.5, float("nan"), -0.0, 0.0] * 400),
        pa.array([None, True, False, True] * 500),
    ],
    ids=lambda v: str(v.type),
)
@pytest.mark.parametrize("others", [[], ["k"]], ids=["alone", "beside"])
def test_keys_of_every_type(values, others):
    batch = pa.record_batch({"ts": np.arange(2_000), "key": values, "k": np.arange(2_000) % 3})
    source = oop.source([batch.slice(0, 900), batch.slice(900)], time="ts", punctuate=oop.slack(10))
    grouped = source.window(oop.tumbling(700)).group_by("key", *others).agg(n=oop.count())
    (one, first), (two, second) = rows_of(grouped, 1), rows_of(grouped, 3)
    assert one == two
    assert first._root.schema == second._root.schema
    wanted: dict = {}
    for row in batch.to_pylist():
        key = row["key"] if row["key"] == row["key"] else "NaN"
        place = (row["ts"] // 700, key, *(row[o] for o in others))
        wanted[place] = wanted.get(place, 0) + 1
    assert sorted(dict(r)["n"] for r in one.elements()) == sorted(wanted.values())


@pytest.mark.parametrize("threads", [1, 2])
def test_dictionaries_that_arrow_cannot_join(threads):
    pieces = [pa.DictionaryArray.from_arrays([0, 1, 0], [None, name]) for name in ("a", "b", "c")]
    batches = [pa.record_batch({"ts": [1, 2, 3], "key": piece}) for piece in pieces]
    grouped = oop.source(batches, time="ts", punctuate=oop.slack(5)).window(oop.tumbling(10)).group_by("key")
    found, _ = rows_of(grouped.agg(n=oop.count()), threads)
    assert sorted((str(dict(r)["key"]), dict(r)["n"]) for r in found) == [("None", 6), ("a", 1), ("b", 1), ("c", 1)]


def test_no_promise_overtakes_a_row():
    frontier = oop.Frontier()
    for element in per_pair(packets()).run(oop.Embedded(threads=3)).elements():
        if isinstance(element, oop.Punctuation):
            assert frontier.advance(element)
        else:
            bound = frontier.bound("window_start")
            assert bound is None or min(element["window_start"].to_pylist()) >= bound
    assert frontier.ended


def test_promises_of_groups_go_to_every_shard():
    def pipeline(stream):
        return stream.window(oop.tumbling(10)).group_by("link").agg(n=oop.count())

    h = Harness(pipeline, {"ts": "int64", "link": "string"}, threads=3)
    h.push({"ts": [1, 2, 3], "link": ["A", "B", "C"]})
    h.promise(ts=12, where={"link": "B"})
    assert h.rows() == [{"window_start": 0, "window_end": 10, "link": "B", "n": 1}]
    h.promise(ts=12)
    assert sorted(r["link"] for r in h.rows()) == ["A", "C"]
    assert h.buffered_rows == 0


def test_a_join_promises_about_groups_as_on_one_thread(monkeypatch):
    """Of a key's two names: while one shard is behind, nobody looks at each group of the one with each of the other."""
    monkeypatch.setattr(oop.Punctuation, "intersect", lambda *promises: pytest.fail(f"looked at {promises}"))
    schema = pa.schema({"ts": pa.int64(), "k": pa.int64()})
    left, right = (oop.source([], time="ts", punctuate=oop.punctuated(), schema=schema) for _ in range(2))
    node = left.join(right, on="k", within=(-1, 1)).flow.node
    context, pool = (
        Context(node.input_schemas()),
        Pool(1),
    )  # the one thread is this one: nothing happens but when it helps
    sharded, alone = Sharded(node.spec, context, [("k",), ("k",)], 2, pool), node.spec.start(context)
    promises = [(oop.Punctuation({"ts": t}, {"k": k}), port) for t in (5, 9) for k in range(4) for port in (0, 1)]
    put_out, expected = [], oop.Frontier()
    for promise, port in promises:
        put_out += sharded.process_punctuation((promise,), port)
        pool.help()  # a shard is ahead of the other
        for new in alone.process_punctuation((promise,), port):
            expected.advance(new)
    sharded.settle()
    put_out += sharded.ready()
    assert oop.Frontier.of(*put_out) == expected


def test_an_error_in_a_thread_is_raised_with_its_traceback(monkeypatch):
    taken = []

    def failing(self, batch, port=0):
        taken.append(batch.num_rows)
        if len(taken) > 1:
            raise ZeroDivisionError("in the middle of it")
        yield from ()

    monkeypatch.setattr(AggregateOperator, "process_batch", failing)
    run = per_pair(packets()).run(oop.Embedded(threads=2, scheduler=BOXES))
    with pytest.raises(ZeroDivisionError, match="in the middle") as raised:
        run.to_table()
    assert "failing" in [frame.name for frame in traceback.extract_tb(raised.value.__traceback__)]
    assert "test_threads.py" in raised.value.__notes__[0]
    with pytest.raises(ZeroDivisionError):  # read on after a failure: it still is one
        run.to_table()


def test_our_own_errors_name_the_users_line():
    batches = [pa.record_batch({"ts": [1, 2, 3], "k": [1, 1, 1], "v": pa.array([2**62, 2**62, 2**62])})]
    stream = oop.source(batches, time="ts", punctuate=oop.ordered())
    summed = stream.window(oop.tumbling(10)).group_by("k").agg(total=oop.sum("v"))
    with pytest.raises(oop.OopError, match=r"does not fit int64.*\n?.*test_threads\.py"):
        summed.run(oop.Embedded(threads=2)).to_table()


def test_an_error_while_rows_are_parted(monkeypatch):
    def failing(*_):
        raise MemoryError("no room for the parts")

    monkeypatch.setattr("oop.engines.embedded.sharded.part_batches", failing)
    with pytest.raises(MemoryError, match="no room"):
        per_pair(packets()).run(oop.Embedded(threads=2, scheduler=BOXES)).to_table()


def test_what_came_before_an_error_leaves_first(monkeypatch):
    right = AggregateOperator.process_batch

    def failing(self, batch, port=0):
        if min(batch["__wid_start"].to_pylist()) >= 5 and 3 in batch["src"].to_pylist():
            raise RuntimeError("far into the stream")  # in one of the shards
        time.sleep(0.002 * (batch.num_rows % 3))  # and others are behind
        yield from right(self, batch, port)

    monkeypatch.setattr(AggregateOperator, "process_batch", failing)
    monkeypatch.setattr(sharded_boxes, "CROSSING_ROWS", 1_000)
    seen = []
    for threads in (1, 3):
        found = []
        with pytest.raises(RuntimeError, match="far into"):
            for batch in per_pair(packets()).run(oop.Embedded(threads=threads, scheduler=oop.RoundRobin(train=1_000))):
                found += batch.to_pylist()
        seen.append(bag(found))
    assert seen[0] and not seen[0] - seen[1], "with threads some of what came before the error is missing"


def test_of_two_errors_the_first_in_the_stream_is_raised(monkeypatch):
    def failing(self, batch, port=0):
        time.sleep(0.01 * (batch["src"][0].as_py() % 2))
        raise RuntimeError(f"at {min(batch['__wid_start'].to_pylist())}")
        yield

    monkeypatch.setattr(AggregateOperator, "process_batch", failing)
    monkeypatch.setattr(sharded_boxes, "CROSSING_ROWS", 1_000)
    with pytest.raises(RuntimeError, match="at 0"):
        per_pair(packets()).run(oop.Embedded(threads=3, scheduler=oop.RoundRobin(train=1_000))).to_table()


def test_a_run_that_is_not_read_to_its_end_ends_its_threads():
    run = per_pair(packets()).run(oop.Embedded(threads=3))
    next(iter(run))
    assert any(t.name.startswith("oop-worker") for t in threading.enumerate())
    del run


def test_stop_ends_them_too():
    run = per_pair(packets()).run(oop.Embedded(threads=3))
    taken = 0
    for _ in run:
        taken += 1
        run.stop()
    assert taken == 1 and run._pool is not None and run._pool.is_closed


def test_what_is_on_its_way_is_bounded(monkeypatch):
    monkeypatch.setattr(boxes, "CAPACITY_ROWS", 8_000)
    monkeypatch.setattr(sharded_boxes, "CROSSING_ROWS", 2_000)
    run = per_pair(packets()).run(oop.Embedded(threads=2, scheduler=oop.RoundRobin(train=1_000)))
    sharded = next(box.sharded for box in run._boxes if isinstance(box, sharded_boxes.ShardedBox))
    most = 0
    for _ in run.elements():
        most = max(most, sharded.waiting_rows)
    assert most <= 8_000 + 7_000
    assert sharded.waiting_rows == 0


@pytest.mark.parametrize("behind", [False, True])
def test_results_that_nobody_has_taken_are_bounded(monkeypatch, behind):
    """Of a join that makes much of few rows: shards pause when `queue_rows` wait, and go on when they are taken."""
    table = pa.table({"ts": np.arange(3_000), "k": np.arange(3_000) % 4})
    left, right = (oop.source(table, time="ts", punctuate=oop.ordered()) for _ in range(2))
    joined = left.join(right, on="k", within=(-200, 200))
    stream = joined.filter(oop.col("ts") >= 0) if behind else joined
    waited = []
    right_emit = Sharded._emit

    def watched(self, shard, elements, item):
        done = right_emit(self, shard, elements, item)
        waited.append(sum(e.num_rows for e in list(self._out) if isinstance(e, pa.RecordBatch)))
        return done

    monkeypatch.setattr(Sharded, "_emit", watched)
    run = stream.run(oop.Embedded(threads=3, queue_rows=2_000, batch_rows=500))
    rows = sum(batch.num_rows for batch in run)
    assert rows == stream.run(oop.Embedded(threads=1)).to_table().num_rows > 100_000
    assert max(waited) <= 2_000 + 3 * 500
    assert max(arc.peak_queued_rows for arc in run.metrics.arcs if "Join" in arc.source) <= 2_000 + 500


def test_what_is_bounded_can_be_settled():
    """Whoever waits for all that is on its way takes no results meanwhile."""
    batches = [pa.record_batch({"ts": np.arange(10 * i, 10 * i + 10), "k": np.arange(10) % 3}) for i in range(30)]
    stream = oop.source(batches, time="ts", punctuate=oop.ordered()).window(oop.tumbling(10, offset=5)).group_by("k")
    run = stream.agg(n=oop.count()).run(oop.Embedded(threads=2, queue_rows=1, batch_rows=1))
    found = [next(iter(run)).num_rows]
    assert run.blame() is not None
    found += [batch.num_rows for batch in run]
    assert sum(found) == 31 * 3


def test_metrics_of_all_shards_together():
    run = per_pair(packets()).run(oop.Embedded(threads=2))
    table = run.to_table()
    box = run.metrics.box("Aggregate")
    assert (box.rows_in, box.rows_out) == (ROWS, table.num_rows)
    assert box.buffered_rows == 0
    assert 0 < box.peak_buffered_rows <= run.metrics.peak_rows <= table.num_rows
    assert box.peak_state_bytes > 0
    assert box.seconds > 0


def test_state_of_another_number_of_threads_is_refused():
    def pipeline(stream):
        return stream.window(oop.tumbling(10)).group_by("k").agg(n=oop.count())

    h = Harness(pipeline, {"ts": "int64", "k": "int64"}, threads=2)
    h.push({"ts": [1, 2, 3], "k": [1, 2, 3]})
    snapshot = h.save()
    for threads in (1, 3):
        other = Harness(pipeline, {"ts": "int64", "k": "int64"}, threads=threads)
        with pytest.raises(oop.OopError, match=f"saved by 2 threads, and there are {threads}"):
            other.load(snapshot, h.given)
    again = Harness(pipeline, {"ts": "int64", "k": "int64"}, threads=2)
    again.load(snapshot, h.given)
    again.end()
    assert sorted(r["k"] for r in again.rows()) == [1, 2, 3]


def test_one_thread_unless_there_is_much_to_do(monkeypatch):
    stream = per_pair(packets())
    assert stream.run()._pool is None
    monkeypatch.setattr(network, "_MANY_ROWS", 1_000)
    monkeypatch.setattr("os.cpu_count", lambda: 64)
    run = stream.run()
    assert run._pool is not None and run._pool.threads == 4
    assert run.to_table().num_rows == stream.run(oop.Embedded(threads=1)).to_table().num_rows


def test_an_operator_without_keys_stays_on_one_thread():
    stream = oop.source(packets(), time="ts", punctuate=oop.slack(2_000)).window(oop.tumbling(1_000)).agg(n=oop.count())
    assert rows_of(stream, 3)[0] == rows_of(stream, 1)[0]


@pytest.mark.parametrize("wrong", [0, -1, 1.5, "2", True])
def test_threads_must_be_a_number(wrong):
    with pytest.raises(ValueError, match="threads is a number"):
        oop.Embedded(threads=wrong)


def test_a_pool_runs_every_task_and_forgets_none():
    pool = Pool(3)
    done: list[int] = []
    for i in range(200):
        pool.submit(lambda i=i: done.append(i))
    while not pool.is_idle:
        pool.help()
    pool.close()
    assert sorted(done) == list(range(200))
