"""`oop.Ring` as a source: the answers, the end, and an engine that is never held up by it."""

from __future__ import annotations

import gc
import threading
import time
from collections.abc import Callable

import numpy as np
import pyarrow as pa
import pytest

import oop
from oop.engines.embedded.feeds import Done, RingFeed
from oop.io.opening import open_data
from oop.io.ring import SCHEMA

ROWS = 30_000


def full_size(rows: int = ROWS, **more: int) -> oop.Ring:
    """A ring that holds all of its rows: none can be lost, however busy the machine is."""
    return oop.Ring(rate=1_000_000, rows=rows, **{"groups": 2_000, "slots": rows, "batch": 1_000, **more})


def source(ring: oop.Ring, every: str | None = "1ms") -> oop.Stream:
    return oop.source(ring, time="ts", punctuate=oop.ordered(every=every), name="ring")


def counts_by_group(ring: oop.Ring, window: int, rows: int = ROWS) -> dict[tuple[int, int, int], int]:
    """What the answer should be, from the numbers of the rows."""
    batch = ring.packets(0, rows)
    ts, src, dst = (np.asarray(batch.column(name).cast(pa.int64())) for name in ("ts", "src", "dst"))
    found, counts = np.unique(np.stack([ts // window, src, dst]), axis=1, return_counts=True)
    return {tuple(key): n for key, n in zip(found.T.tolist(), counts.tolist(), strict=True)}


def until(holds: Callable[[], bool]) -> None:
    end = time.monotonic() + 60
    while not holds():
        assert time.monotonic() < end, "this does not come true"
        time.sleep(0.001)


def is_still(ring: oop.Ring) -> bool:
    """Its producer has stopped."""
    made = ring.counts.produced
    time.sleep(0.05)
    return ring.counts.produced == made


# Answers


@pytest.mark.parametrize(
    "engine",
    [
        oop.Embedded(check=True),
        oop.Embedded(threads=2),
        oop.Embedded(scheduler=oop.RoundRobin(train=300)),
        oop.Embedded(readers=True),
    ],
    ids=["one", "threads", "round robin", "readers"],
)
def test_counts_are_those_of_the_rows_by_number(engine: oop.Embedded) -> None:
    ring = full_size(seed=9)
    stream = source(ring).window(oop.tumbling("2ms")).group_by("src", "dst").agg(n=oop.count())
    run = stream.run(engine)
    found = run.to_table()
    starts = (found["window_start"].cast(pa.int64()).to_numpy() // 2_000).tolist()
    keys = zip(starts, found["src"].to_pylist(), found["dst"].to_pylist(), strict=True)
    assert dict(zip(keys, found["n"].to_pylist(), strict=True)) == counts_by_group(ring, 2_000)
    counts = ring.counts
    assert (counts.produced, counts.dropped, counts.drained, counts.waiting) == (ROWS, 0, ROWS, 0)
    assert run.metrics.box("Source").rows_in == ROWS and len(run.late.to_table()) == 0
    assert counts.reader_seconds > 0 and counts.producer_seconds > 0
    assert 0 < counts.longest_pause <= counts.reader_seconds
    assert 0 <= counts.longest_pause_at < ROWS


def test_rows_come_in_batches_that_are_not_too_large() -> None:
    run = source(full_size(batch=700)).run()
    batches = list(run)
    assert max(batch.num_rows for batch in batches) <= 700
    assert pa.Table.from_batches(batches)["ts"].cast(pa.int64()).to_pylist() == list(range(ROWS))
    assert batches[0].schema == SCHEMA


def test_who_has_fallen_behind_catches_up_with_large_batches() -> None:
    ring = oop.Ring(rate=1_000_000, rows=5_000, slots=5_000, batch=1_000, enough=100)
    ring.start()
    while ring.counts.produced < 5_000:
        time.sleep(0.001)
    sizes = [batch.num_rows for train in ring.trains(10_000) for batch in train]
    assert sum(sizes) == 5_000 and sizes[0] == 1_000 == max(sizes)
    assert min(sizes[:-1]) >= 100 and sizes[-1] <= 100


def test_a_scheduler_may_ask_for_less() -> None:
    run = source(full_size(3_000)).run(oop.Embedded(scheduler=oop.RoundRobin(train=50)))
    assert max(batch.num_rows for batch in run) <= 50


def test_what_is_lost_is_missing_and_nothing_else() -> None:
    ring = oop.Ring(rate=1_000_000, rows=ROWS, slots=50, groups=2_000)
    table = source(ring).run().to_table()
    numbers = table["ts"].cast(pa.int64()).to_numpy()
    assert table == pa.Table.from_batches([ring.packets(0, ROWS)]).take(pa.array(numbers))
    assert len(table) == ring.counts.drained == ROWS - ring.counts.dropped


def test_it_is_read_while_it_is_written() -> None:
    """Promises that follow from some rows leave before the last row is made."""
    ring = oop.Ring(rate=100_000, groups=10)
    run = source(ring).window(oop.tumbling("1ms")).agg(n=oop.count()).run()
    for batch in run:
        assert batch["n"][0].as_py() == 100 or ring.counts.dropped
        break
    run.stop()
    assert ring.counts.produced > ring.counts.drained - 1 >= 100


# The end


def test_the_end_is_promised() -> None:
    assert list(source(full_size(100)).run().elements())[-1] is oop.END
    nothing = oop.Ring(rate=1, rows=0)
    assert source(nothing).run().to_table().num_rows == nothing.counts.produced == 0


def test_a_ring_that_is_stopped_ends_with_what_it_holds() -> None:
    ring = oop.Ring(rate=1_000_000, groups=10, batch=500)
    stream = source(ring).window(oop.tumbling("1ms")).agg(n=oop.count())
    total = 0
    for batch in stream.run():
        ring.stop()
        total += sum(batch["n"].to_pylist())
    assert total == ring.counts.drained == ring.counts.produced - ring.counts.dropped > 0
    assert ring.counts.waiting == 0


def test_another_thread_may_stop_it() -> None:
    ring = oop.Ring(rate=1_000_000, groups=10)
    threading.Timer(0.02, ring.stop).start()
    assert source(ring).run().to_table().num_rows == ring.counts.drained


def read_some(ring: oop.Ring) -> None:
    next(iter(source(ring).run()))


def read_and_stop(ring: oop.Ring) -> None:
    run = source(ring).run()
    for _ in run:
        run.stop()


def read_into_a_failure(ring: oop.Ring) -> None:
    with pytest.raises(oop.OopError, match="division by zero"):
        source(ring).select("ts", x=oop.col("len") // (oop.col("dst") - 5)).run().to_table()


@pytest.mark.parametrize("read", [read_some, read_and_stop, read_into_a_failure])
def test_the_producer_stops_with_the_run(read: Callable[[oop.Ring], None]) -> None:
    ring = oop.Ring(rate=1_000_000, groups=10)
    read(ring)
    gc.collect()
    assert ring.counts.drained > 0 and is_still(ring)


def test_a_ring_is_read_once() -> None:
    ring = full_size(100)
    stream = source(ring)
    assert stream.run().to_table().num_rows == 100
    with pytest.raises(oop.SourceError, match=r"already read(.|\n)*oop\.Ring for each source"):
        stream.run()
    twice = full_size(100)
    with pytest.raises(oop.SourceError, match=r"already read(.|\n)*test_ring\.py"):
        oop.union(source(twice), source(twice)).run()


def test_a_callable_makes_one_for_each_run() -> None:
    stream = oop.source(lambda: full_size(100), time="ts", punctuate=oop.ordered())
    assert stream.run().to_table().num_rows == stream.run().to_table().num_rows == 100


# Waiting


def test_an_empty_ring_holds_up_nobody() -> None:
    """A row a second: the others are all there long before the second one, whenever that is."""
    ring = oop.Ring(rate=1)
    other = (pa.record_batch({"ts": pa.array([t]).view(SCHEMA.field("ts").type)}) for t in range(50))
    beside = oop.source(other, time="ts", punctuate=oop.ordered())
    run = oop.union(source(ring).select("ts"), beside).run()
    rows, reads = 0, 0
    for batch in run:
        rows, reads = rows + batch.num_rows, reads + 1
        if rows >= 51:
            break
    assert reads > 25  # a reader that waits would have let them come together, or not at all
    run.stop()


def test_a_feed_says_that_there_is_nothing_yet() -> None:
    ring = oop.Ring(rate=1, batch=1)
    feed = RingFeed(ring.trains(10), ring)
    said = []
    while None not in said:
        said.append(feed.next())
    assert all(train is None or len(train) == 1 for train in said)
    ring.stop()
    while not isinstance(said[-1], Done):
        said.append(feed.next())
    feed.close()
    assert not feed.waiting


def test_few_rows_come_together() -> None:
    """Less than a batch is left to grow for a while, but not for long."""
    ring = oop.Ring(rate=1_000_000, rows=20_000, slots=20_000, batch=1_000)
    assert ring.pause == pytest.approx(0.001)
    assert oop.Ring(rate=1_000_000, slots=100).pause == pytest.approx(25e-6)
    assert oop.Ring(rate=1).pause == 0.01
    sizes = [sum(batch.num_rows for batch in train) for train in ring.trains(65_536) if train]
    assert sum(sizes) == 20_000 and max(sizes) <= 1_000


def test_elements_are_waited_for() -> None:
    given = open_data(full_size(5_000), batch_rows=300)
    assert (given.kind, given.label, given.count_rows()) == ("live", "ring", None)
    sizes = [element.num_rows for element in given.elements()]
    assert sum(sizes) == 5_000 and max(sizes) <= 300


def test_rows_in_the_ring_have_arrived() -> None:
    """A timer must not look at the clock while they wait."""
    ring = full_size(100)
    ring.start()
    until(lambda: ring.counts.produced == 100)
    feed = RingFeed(ring.trains(60), ring)
    seen = [feed.waiting]
    while not isinstance(train := feed.next(), Done):
        if train is not None:
            seen.append(feed.waiting)
    assert seen == [True, True, False]


def test_a_timer_goes_by_the_clock() -> None:
    class Standing:
        live = True

        def now(self, type_: pa.DataType) -> int:
            return 0  # all rows are still to come

    stream = oop.source(full_size(2_000), time="ts", punctuate=oop.timer(every="1ms", lull="1ms"))
    run = stream.window(oop.tumbling("1ms")).agg(n=oop.count()).run(oop.Embedded(clock=Standing()))
    assert run.to_table()["n"].to_pylist() == [1000, 1000]


# By hand


def test_by_hand() -> None:
    ring = full_size(1_000)
    assert ring.drain(5).num_rows == 0
    ring.start()
    until(lambda: ring.counts.produced == 1_000)
    first, second, rest = ring.drain(10), ring.drain(0), ring.drain(5_000)
    assert (first.num_rows, second.num_rows, rest.num_rows) == (10, 0, 990)
    assert pa.Table.from_batches([first, rest]).combine_chunks() == pa.Table.from_batches([ring.packets(0, 1_000)])
    assert first.schema == SCHEMA
    for batch in (first, second, rest):
        batch.validate(full=True)
    ring.stop()
    assert "1,000 rows produced, 0 dropped, 1,000 drained, 0 in the ring" in str(ring.counts)
    assert repr(ring) == "Ring(rate=1000000, rows=1000, groups=2000, slots=1000)"


def test_a_ring_that_was_started_is_read_on() -> None:
    ring = full_size(1_000)
    ring.start()
    assert source(ring).run().to_table().num_rows == 1_000


# Wrong things


@pytest.mark.parametrize(
    ("given", "what"),
    [
        ({"rate": 0}, "rate is a whole number from 1 to 1,000,000,000, not 0"),
        ({"rate": 2.5}, "not 2.5"),
        ({"rate": True}, "not True"),
        ({"rate": 10**10}, "rate is"),
        ({"rate": 1, "rows": -1}, "rows is a whole number from 0"),
        ({"rate": 1, "groups": 0}, "groups is"),
        ({"rate": 1, "groups": 2**31 + 1}, "groups is"),
        ({"rate": 1, "slots": 0}, "slots is"),
        ({"rate": 1, "slots": None}, "not None"),
        ({"rate": 1, "batch": 0}, "batch is"),
        ({"rate": 1, "seed": -1}, "seed is"),
        ({"rate": 1, "seed": "a"}, "not 'a'"),
    ],
    ids=str,
)
def test_arguments(given: dict[str, object], what: str) -> None:
    with pytest.raises(oop.WrongArgument) as raised:
        oop.Ring(**given)  # type: ignore[arg-type]
    assert what in raised.value.what and "test_ring.py" in str(raised.value.at)
    assert "oop.Ring(rate=" in str(raised.value.hint)


def test_its_schema_is_fixed() -> None:
    with pytest.raises(oop.SchemaMismatch):
        oop.source(oop.Ring(rate=1), time="ts", punctuate=oop.ordered(), schema=pa.schema({"ts": pa.int64()}))
    with pytest.raises(oop.UnknownColumn, match="'time'"):
        oop.source(oop.Ring(rate=1), time="time", punctuate=oop.ordered())
