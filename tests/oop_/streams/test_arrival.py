"""Windows on arrival time (OOP paper, section 4.2): rows are stamped by the engine's clock as they come in."""

from __future__ import annotations

import threading
from datetime import UTC, datetime, timedelta

import pyarrow as pa
import pytest

import oop
from oop.testing import Harness, ManualClock

START = datetime(2024, 1, 1)


def second(n: float) -> datetime:
    return START + timedelta(seconds=n)


def counting(clock: ManualClock) -> Harness:
    plan = lambda s: s.window(oop.tumbling("1s")).agg(n=oop.count())  # noqa: E731
    return Harness(plan, {"v": "int64"}, time="at", punctuate=oop.arrival(), clock=clock)


def test_a_window_is_complete_when_the_clock_has_passed_it():
    clock = ManualClock(START)
    harness = counting(clock)
    harness.push({"v": [1, 2]})
    clock.advance(timedelta(milliseconds=999))
    harness.push({"v": [3]})
    harness.tick()
    assert harness.rows() == []
    clock.advance(timedelta(milliseconds=1))
    harness.tick()  # in a lull
    assert harness.rows() == [{"window_start": START, "window_end": second(1), "n": 3}]
    clock.advance(timedelta(seconds=5))
    harness.push({"v": [4]})
    clock.advance(timedelta(seconds=1))
    harness.push({"v": [5]})  # or with the next rows
    assert harness.rows() == [{"window_start": second(6), "window_end": second(7), "n": 1}]
    assert harness.late["input 0"].num_rows == 0


def test_stamps_never_decrease_also_where_the_clock_does():
    clock = ManualClock(5_000_000)
    harness = Harness(lambda s: s, {"v": "int64"}, time="at", punctuate=oop.arrival(), clock=clock)
    harness.push({"v": [1]})
    clock.advance(-2_000_000)
    harness.push({"v": [2]})
    harness.tick()
    clock.advance(3_000_000)
    harness.push({"v": [3]})
    stamps = [row["at"].timestamp() - datetime(1970, 1, 1).timestamp() for row in harness.rows()]
    assert stamps == [5, 5, 6]
    assert harness.promises() == [oop.Punctuation({"at": 5_000_000}), oop.Punctuation({"at": 6_000_000})]


def test_a_stamp_goes_on_where_it_was_saved():
    clock = ManualClock(9_000_000)
    harness, other = counting(clock), counting(ManualClock(1))  # the other machine's clock is behind
    harness.push({"v": [1]})
    other.load(harness.save(), harness.given)
    other.push({"v": [2]})
    other.end()
    assert [row["n"] for row in other.rows()] == [2]


def test_beside_promises_about_the_data_s_own_time():
    clock = ManualClock(0)
    policies = {"ts": oop.slack(2), "at": oop.arrival()}
    harness = Harness(lambda s: s, {"ts": "int64"}, punctuate=policies, clock=clock)
    harness.push({"ts": [5]})
    clock.advance(7)
    harness.push({"ts": [1, 9]})
    assert [row["ts"] for row in harness.rows()] == [5, 9]
    assert harness.frontier == oop.Frontier.of(oop.Punctuation({"ts": 7}), oop.Punctuation({"at": 7}))
    (late,) = harness.late["input 0"].to_pylist()
    assert (late["ts"], late["broke"], late["at"].microsecond) == (1, "ts < 3", 7), "late rows have arrived, too"


def test_a_sliding_window_join_on_arrival():
    """As in the papers that 4.2 quotes: what came at most so long before or after."""
    clock = ManualClock(0)
    join = lambda a, b: a.join(b, on="k", within=("-2s", "3s"))  # noqa: E731
    harness = Harness(join, {"k": "int64"}, {"k": "int64"}, time="at", punctuate=oop.arrival(), clock=clock)
    for now, port in ((0, 0), (3, 1), (4, 1), (5, 0)):
        clock.advance(now * 1_000_000 - clock.now(pa.int64()))
        harness.push({"k": [1]}, port)
        harness.tick()
    found = [(r["at"].second, r["at_right"].second) for r in harness.rows()]
    assert sorted(found) == [(0, 3), (5, 3), (5, 4)]
    clock.advance(10_000_000)
    harness.tick()
    assert harness.buffered_rows == 0, "what has passed the band is purged by the clock alone"


class Stepping(ManualClock):
    """A tenth of a second further at every look."""

    def now(self, type_: pa.DataType) -> oop.punctuation.patterns.Bound:
        self.advance(100_000)
        return super().now(type_)


def test_a_live_input_that_is_silent_does_not_hold_its_windows():
    clock = Stepping(0)
    more = threading.Event()

    def rows():
        yield pa.record_batch({"v": [1]})
        assert more.wait(20), "the first window did not come out in the lull"
        yield pa.record_batch({"v": [2]})

    s = oop.source(rows, time="at", punctuate=oop.arrival(), schema=pa.schema({"v": pa.int64()}))
    found = []
    for batch in s.window(oop.tumbling("1s")).agg(n=oop.count()).run(oop.Embedded(clock=clock, readers=True)):
        found += batch["n"].to_pylist()
        more.set()
    assert found == [1, 1]


def test_many_small_batches_are_stamped_together():
    batches = [pa.record_batch({"v": [i]}) for i in range(100)]
    s = oop.source(batches, time="at", punctuate=oop.arrival())
    run = s.window(oop.tumbling("1d")).agg(n=oop.count(), v=oop.sum("v")).run(oop.Embedded(clock=ManualClock(3)))
    assert run.to_table().to_pylist()[0]["v"] == sum(range(100))
    assert run.metrics.box("Source").batches_out == 1


def test_by_the_wall_clock():
    s = oop.source(pa.table({"v": [1, 2]}), time="at", punctuate=oop.arrival())
    before = datetime.now(UTC).replace(tzinfo=None)
    (first, second_) = s.run().to_table()["at"].to_pylist()
    assert (
        before - timedelta(seconds=1) < first == second_ < datetime.now(UTC).replace(tzinfo=None) + timedelta(seconds=1)
    )


def test_in_order_its_rows_need_no_sort():
    s = oop.source(pa.table({"v": [1, 2]}), time="at", punctuate=oop.arrival())
    counts = s.window(oop.tumbling("1s")).agg(n=oop.count())
    assert "Sort" not in counts.explain(order="iop")
    assert counts.run(oop.Embedded(clock=ManualClock(0)), order="iop").to_table()["n"].to_pylist() == [2]
    assert "Source table   arrival" in counts.explain()


def test_what_is_refused():
    table = pa.table({"ts": [1]})
    with pytest.raises(oop.SchemaMismatch, match="a column 'ts' of its own"):
        oop.source(table, time="ts", punctuate=oop.arrival())
    with pytest.raises(oop.UnknownColumn, match="when"):
        oop.source(table, time="when", punctuate={"at": oop.arrival()})
    with pytest.raises(oop.SchemaMismatch, match="cannot assume arrival"):
        oop.source(table, time="ts", punctuate=None).assume(oop.arrival())
