"""Timers as monitors (OOP paper, section 5.1): who has not promised for so long is reported."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator

import pyarrow as pa
import pytest

import oop
from oop.engines.embedded.health import SilenceMonitor
from oop.testing import Harness, ManualClock

TS = pa.schema({"ts": pa.int64()})
Element = pa.RecordBatch | oop.Punctuation


def batch(*times: int) -> pa.RecordBatch:
    return pa.record_batch({"ts": pa.array(times, pa.int64())})


class Steps:
    """A live input that gives its elements one after the other; each but the first waits until it is let go."""

    def __init__(self, *elements: Element, first: bool = True) -> None:
        self.elements = elements
        self.go = threading.Semaphore(int(first))
        self.waits = False

    def __call__(self) -> Iterator[Element]:
        for element in self.elements:
            self._wait()
            yield element
        self._wait()

    def _wait(self) -> None:
        if not self.go.acquire(blocking=False):
            self.waits = True
            assert self.go.acquire(timeout=20), "nobody let it go on"
            self.waits = False


class InLulls(ManualClock):
    """One unit further at every look while all inputs wait: however busy the machine is."""

    def __init__(self, *inputs: Steps) -> None:
        super().__init__(0)
        self.inputs = inputs

    def now(self, type_: pa.DataType) -> oop.punctuation.patterns.Bound:
        if all(steps.waits for steps in self.inputs):
            self.advance(1)
        return super().now(type_)


def test_an_input_that_falls_silent_is_reported_once_and_when_it_speaks_again():
    """A lull of a live input, which a thread reads; the clock is moved by hand between rounds."""
    north = Steps(batch(1, 12), batch(25))
    clock, heard = InLulls(north), []

    def on_silent(silence: oop.Silence) -> None:
        heard.append(silence)
        if not silence.over:
            north.go.release()

    s = oop.source(north, time="ts", punctuate=oop.ordered(), schema=TS, name="north")
    counts = s.window(oop.tumbling(10)).agg(n=oop.count())
    run = counts.run(oop.Embedded(clock=clock, silent_for=30, on_silent=on_silent))
    assert [row["n"] for row in run.to_table().to_pylist()] == [1, 1, 1]
    assert [(h.name, h.over) for h in heard] == [("source 'north'", False), ("source 'north'", True)] * 2
    assert [str(h.promised) for h in heard] == ["ts < 12", "ts < 12", "ts < 25", "ts < 25"]
    assert heard[0].holds_up == "window [10, 20) of Aggregate n=count()"
    assert all(h.lasted >= 30 for h in heard)
    assert "it holds up window [10, 20)" in str(heard[0]) and "speaks again" in str(heard[1])
    assert run.health.silent == () and run.health.box("north").ended


def monitored(
    plan: Callable[..., oop.Stream], *schemas: dict[str, str], policy: oop.punctuation.Policy, silent_for: int = 10
) -> tuple[Harness, ManualClock, SilenceMonitor, list[oop.Silence]]:
    """A plan that is driven by hand, with a monitor."""
    harness, clock, heard = Harness(plan, *schemas, punctuate=policy), ManualClock(0), list[oop.Silence]()
    return harness, clock, SilenceMonitor(harness.run._boxes, clock, silent_for, heard.append), heard


def counting(s: oop.Stream) -> oop.Stream:
    return s.window(oop.tumbling(10)).agg(n=oop.count())


@pytest.mark.parametrize("policy", [oop.ordered(), oop.slack(2, every=3), oop.ordered(by="k", idle=5)])
def test_promises_that_help_nobody_are_no_silence(policy):
    """What the input promises in the middle of a window is swallowed, and yet it is alive."""
    harness, clock, monitor, heard = monitored(counting, {"ts": "int64", "k": "int64"}, policy=policy)
    for ts in range(0, 9, 3):
        clock.advance(9)
        harness.push({"ts": [ts], "k": [1]})
        monitor.look()
    before = monitor.health().box("source")
    assert heard == [] and before.silent == 0
    clock.advance(9)
    harness.push({"ts": [0], "k": [1]})  # late: no progress
    monitor.look()
    assert heard == [] and monitor.health().box("source").silent == 9
    clock.advance(1)
    monitor.look()
    monitor.look()
    assert [h.over for h in heard] == [False] and heard[0].since == before.since


def test_answers_that_do_not_go_on_are_a_silence():
    harness, clock, monitor, _ = monitored(counting, {"ts": "int64"}, policy=oop.punctuated())
    box = harness.run._sources[0].box
    for bound, lasted in ((5, 0), (5, 6), (4, 12)):
        box.emit(box.operator.take_promise, oop.Punctuation({"ts": bound}))
        assert monitor.health().box("source").silent == lasted
        clock.advance(6)


def test_an_operator_that_does_not_answer_is_reported_where_it_stops():
    """A union waits for its slow input; what is behind it was asked nothing, and is not reported."""
    slow, fast = Steps(first=False), Steps(batch(5), batch(30))
    fast.go.release()
    clock, heard = InLulls(slow, fast), []

    def on_silent(silence: oop.Silence) -> None:
        heard.append(silence)
        if {h.name for h in heard} >= {"source 'slow'", "source 'fast'", "Union of 2"}:
            slow.go.release()
            fast.go.release()

    sources = [
        oop.source(steps, time="ts", punctuate=oop.ordered(), schema=TS, name=name)
        for steps, name in ((slow, "slow"), (fast, "fast"))
    ]
    united = sources[0].union(sources[1])
    run = (
        united.window(oop.tumbling(10))
        .agg(n=oop.count())
        .run(oop.Embedded(clock=clock, silent_for=60, on_silent=on_silent))
    )
    assert run.to_table().num_rows == 2
    names = {h.name for h in heard}
    assert names == {"source 'slow'", "source 'fast'", "Union of 2"}
    (union,) = (h for h in heard if h.name == "Union of 2" and not h.over)
    assert not union.is_input and union.promised is None
    assert next(h for h in heard if h.name == "source 'slow'").promised is None
    assert run.health.box("Union").pace.answers >= 1
    assert run.health.box("Union").pace.longest >= 60, "so long its first promise waited for the other input"


def test_how_long_promises_wait_is_measured():
    harness, clock, monitor, _ = monitored(
        lambda a, b: counting(a.union(b)), {"ts": "int64"}, {"ts": "int64"}, policy=oop.punctuated()
    )
    harness.promise(0, ts=12)
    clock.advance(3)
    harness.promise(0, ts=20)
    clock.advance(4)
    waiting = monitor.health().box("Union")
    assert (waiting.waiting, waiting.promised, waiting.pace.answers) == (7, None, 0)
    assert monitor.health().box("Aggregate").waiting is None, "nothing has come to it"
    harness.push({"ts": [15]}, 1)
    harness.promise(1, ts=14)
    answered = monitor.health().box("Union")
    assert (answered.waiting, answered.promised, answered.silent) == (None, oop.Punctuation({"ts": 14}), 0)
    assert (answered.pace.answers, answered.pace.mean, answered.pace.longest) == (1, 7.0, 7.0)
    assert (answered.rows, answered.batches) == (0, 0)
    harness.push({"ts": [16, 17]}, 1)
    assert (monitor.health().box("Union").rows, monitor.health().box("Union").batches) == (2, 1)
    text = str(monitor.health())
    assert "Union of 2" in text and "1 answered in 7 us, at most 7 us" in text and "promised ts < 14" in text


def test_an_input_that_never_promises_before_its_end_is_not_expected_to():
    heard = []
    s = oop.source([batch(1)] * 5, time="ts", punctuate=oop.at_end())
    run = s.agg(n=oop.count()).run(oop.Embedded(clock=InLulls(), silent_for=1, on_silent=heard.append))
    assert run.to_table()["n"].to_pylist() == [5]
    assert heard == []


def test_an_input_that_only_numbers_its_rows_is_not_expected_to_promise():
    """Windows of rows need no promise about a time; that rows are numbered is nothing that a user reads of."""
    clock, heard = ManualClock(0), list[oop.Silence]()
    counts = lambda s: s.window(oop.rows(2)).agg(n=oop.count())  # noqa: E731
    harness = Harness(counts, {"ts": "int64"}, punctuate=None)
    monitor = SilenceMonitor(harness.run._boxes, clock, 10, heard.append)
    harness.push({"ts": [1, 2, 3]})
    clock.advance(100)
    monitor.look()
    assert heard == [] and monitor.health().box("source").promised is None


@pytest.mark.parametrize("policy", [oop.ordered(), None])
def test_the_last_promise_is_shown_whoever_made_it(policy):
    """Of a policy and of answers that go further it is the last that said anything new."""
    harness, clock = Harness(counting, {"ts": "int64"}, punctuate=policy or oop.punctuated()), ManualClock(0)
    monitor = SilenceMonitor(harness.run._boxes, clock, 10, None)
    box = harness.run._sources[0].box
    harness.push({"ts": [1, 12]})
    for bound in (25, 20):
        box.emit(box.operator.take_promise, oop.Punctuation({"ts": bound}))
        assert str(monitor.health().box("source").promised) == "ts < 25"
    harness.push({"ts": [26]})
    assert str(monitor.health().box("source").promised) == ("ts < 26" if policy else "ts < 25")


def test_the_last_promise_is_shown_whatever_it_is_about():
    policies = {"ts": oop.ordered(), "us": oop.slack(5)}
    harness = Harness(lambda s: s, {"ts": "int64", "us": "int64"}, punctuate=policies)
    monitor = SilenceMonitor(harness.run._boxes, ManualClock(0), 10, None)
    harness.push({"ts": [3], "us": [10]})
    harness.push({"ts": [3], "us": [20]})
    assert str(monitor.health().box("source").promised) == "us < 15"


def test_who_is_told_may_ask_for_blame():
    north = Steps(batch(1, 12))
    found: list[str] = []

    def on_silent(silence: oop.Silence) -> None:
        found.append(str(run.blame()).splitlines()[0])
        north.go.release()

    s = oop.source(north, time="ts", punctuate=oop.ordered(), schema=TS, name="north")
    run = counting(s).run(oop.Embedded(clock=InLulls(north), silent_for=30, on_silent=on_silent))
    assert run.to_table()["n"].to_pylist() == [1, 1]
    assert "window [10, 20) of Aggregate" in found[0] and "is open" in found[0]


def test_another_thread_may_ask_for_blame():
    """The one that reads answers, though its input is silent."""
    north = Steps(batch(1, 12))
    s = oop.source(north, time="ts", punctuate=oop.ordered(), schema=TS, name="north")
    run = counting(s).run(oop.Embedded(readers=True))
    tables = list[pa.Table]()
    reader = threading.Thread(target=lambda: tables.append(run.to_table()))
    reader.start()
    until = time.monotonic() + 20
    while (blame := run.blame()) is None or "[10, 20)" not in blame.what:
        assert time.monotonic() < until
    north.go.release()
    reader.join(20)
    assert tables[0]["n"].to_pylist() == [1, 1] and run.blame() is None


def test_whoever_reads_waits_for_who_looks():
    """Between two batches another thread may look, and the next reading waits until it has."""
    run = counting(oop.source([batch(t) for t in range(200)], time="ts", punctuate=oop.ordered(), schema=TS)).run()
    over = threading.Event()

    def ask() -> None:
        while not over.is_set():
            run.blame()

    asking = threading.Thread(target=ask)
    asking.start()
    try:
        assert sum(each.num_rows for each in run) == 20
    finally:
        over.set()
        asking.join(20)


def test_who_is_told_may_stop_the_run():
    steps = Steps(batch(1))
    runs = []

    def stop(silence: oop.Silence) -> None:
        runs[0].stop()

    s = oop.source(steps, time="ts", punctuate=oop.ordered(), schema=TS)
    runs.append(s.run(oop.Embedded(clock=InLulls(steps), silent_for=30, on_silent=stop)))
    assert runs[0].to_table().num_rows == 1
    assert len(runs[0].health.silent) == 1
    steps.go.release()


def test_an_error_of_who_is_told_ends_the_run():
    steps = Steps(batch(1))

    def wrong(silence: oop.Silence) -> None:
        raise RuntimeError("no pager")

    s = oop.source(steps, time="ts", punctuate=oop.ordered(), schema=TS, name="north")
    run = s.run(oop.Embedded(clock=InLulls(steps), silent_for=30, on_silent=wrong))
    rows = 0
    with pytest.raises(RuntimeError, match="no pager") as found:
        for element in run:
            rows += element.num_rows
    assert rows == 1, "what came before it has left"
    assert "source 'north'" in found.value.__notes__[0]
    steps.go.release()


def test_with_threads():
    heard = []
    table = pa.table({"ts": list(range(1000)), "k": [i % 7 for i in range(1000)]})
    s = oop.source(table.to_batches(max_chunksize=10), time="ts", punctuate=oop.ordered(), name="north")
    counts = s.window(oop.tumbling(100)).group_by("k").agg(n=oop.count())
    run = counts.run(oop.Embedded(threads=2, silent_for="1h", on_silent=heard.append))
    assert run.to_table().num_rows == 70
    assert run.health.box("Aggregate").pace.answers > 0 and run.health.box("Aggregate").ended
    assert heard == []


def test_what_is_refused():
    with pytest.raises(oop.WrongArgument, match="nobody watches this run"):
        _ = oop.source([batch(1)], time="ts", punctuate=oop.ordered()).run().health
    with pytest.raises(ValueError, match="goes with silent_for"):
        oop.Embedded(on_silent=print)
    with pytest.raises(ValueError, match="on_silent= is a callable"):
        oop.Embedded(silent_for="1s", on_silent="print")  # type: ignore[arg-type]
    for span in (0, "-1s"):
        with pytest.raises(oop.OopError):
            oop.Embedded(silent_for=span)
    with pytest.raises(KeyError, match="south"):
        run = oop.source([batch(1)], time="ts", punctuate=oop.ordered()).run(oop.Embedded(silent_for="1s"))
        run.health.box("south")
