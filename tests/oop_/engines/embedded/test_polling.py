"""Progress by polling (OOP paper, section 3.2): a source is asked how far it is while it has nothing to read."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from datetime import datetime
from itertools import pairwise
from typing import Any

import pyarrow as pa
import pytest

import oop
from oop.engines.embedded import polling
from oop.io.lulls import Lull

TS = pa.schema({"ts": pa.int64()})


class Feed:
    """Gives rows, then says how far it is and is silent until it is told to go on."""

    def __init__(self, *steps: tuple[list[int], Any]) -> None:
        self.steps = steps
        self.bound: Any = None
        self.go_on = threading.Event()
        self.asked_by: set[int] = set()

    def rows(self) -> Iterator[pa.RecordBatch]:
        for times, bound in self.steps:
            if times:
                yield pa.record_batch({"ts": pa.array(times, pa.int64())})
            self.bound = bound
            if bound is not None:
                assert self.go_on.wait(20), "the answer did not count in the lull"
                self.go_on.clear()

    def progress(self) -> Any:
        self.asked_by.add(threading.get_ident())
        return self.bound

    def source(self, **options: Any) -> oop.Stream:
        options = {"punctuate": None, "schema": TS, "name": "north", **options}
        return oop.source(self.rows, time="ts", progress=self.progress, **options)


def test_windows_close_in_a_lull():
    feed = Feed(([1, 12], 10), ([13], 20))
    counts = feed.source().window(oop.tumbling(10)).agg(n=oop.count())
    found = []
    for batch in counts.run():
        found += batch.to_pylist()
        feed.go_on.set()
    assert [(r["window_start"], r["n"]) for r in found] == [(0, 1), (10, 2)]
    assert feed.asked_by == {threading.get_ident()}, "the engine's own thread asks"


def test_what_has_been_given_is_worked_off_before_the_answer():
    """The source says 100 right behind its rows: none of them is late, however long a batch takes on its way."""
    feed = Feed((list(range(100)), 100), ([100], None))
    s = feed.source()
    run = s.run()
    found = []
    for element in run.elements():
        found.append(element if isinstance(element, oop.Punctuation) else element.num_rows)
        if isinstance(element, oop.Punctuation):
            feed.go_on.set()
    assert found == [100, oop.Punctuation({"ts": 100}), 1, oop.END]
    assert len(run.late) == 0


def test_what_goes_backwards_is_swallowed_and_rows_that_break_it_are_late():
    feed = Feed(([5], 8), ([9, 7], 3), ([], oop.Punctuation({"ts": 12})))
    s = feed.source()
    run = s.run()
    promised = []
    for element in run.elements():
        if isinstance(element, oop.Punctuation):
            promised.append(element)
            feed.go_on.set()
        elif element["ts"][0].as_py() == 9:
            feed.go_on.set()  # the answer 3 gives no promise that could do it
    assert promised == [oop.Punctuation({"ts": 8}), oop.Punctuation({"ts": 12}), oop.END]
    assert run.late["north"].to_pylist() == [{"ts": 7, "broke": "ts < 8", "late_by": 1.0}]


def test_a_source_may_say_that_it_has_ended():
    feed = Feed(([5], oop.END))
    counts = feed.source().window(oop.tumbling(10)).agg(n=oop.count())
    assert counts.run().to_table()["n"].to_pylist() == [1]
    feed.go_on.set()  # the thread still waits


def test_beside_a_policy_and_as_a_datetime():
    rows = threading.Event()

    def read() -> Iterator[pa.RecordBatch]:
        yield pa.record_batch({"ts": [datetime(2024, 1, 1)]})
        assert rows.wait(20)

    s = oop.source(
        read, time="ts", punctuate=oop.slack("1h"), progress=lambda: datetime(2024, 1, 1, 0, 0, 1), name="north"
    )
    assert "slack 1h, polled" in s.explain()
    for batch in s.window(oop.tumbling("1s")).agg(n=oop.count()).run():
        assert batch.num_rows == 1
        rows.set()


def test_a_slow_source_does_not_hold_up_a_union():
    """The Control link of the OOP paper, section 2: it has no rows, and says so when asked."""
    silent = threading.Event()

    def control() -> Iterator[pa.RecordBatch]:
        assert silent.wait(20), "it held up the union"
        yield pa.record_batch({"ts": [30]})

    link = oop.source(control, time="ts", punctuate=None, schema=TS, progress=lambda: 25)
    main = oop.source([pa.record_batch({"ts": [1, 12, 40]})], time="ts", punctuate=oop.ordered())
    found = []
    for batch in link.union(main).window(oop.tumbling(10)).agg(n=oop.count()).run():
        found += batch["window_start"].to_pylist()
        if 10 in found:
            silent.set()
    assert found == [0, 10, 30, 40]


def test_the_plan_knows_that_it_may_promise():
    def counts(s: oop.Stream) -> oop.Stream:
        return s.window(oop.tumbling(10)).agg(n=oop.count())

    assert counts(Feed().source()).run().to_table().num_rows == 0
    with pytest.raises(oop.NeverEmits):
        counts(oop.source(Feed().rows, time="ts", punctuate=None, schema=TS)).run()


def test_what_holds_a_window_is_found_by_blame():
    feed = Feed(([1, 12], 5))
    run = feed.source().window(oop.tumbling(10)).agg(n=oop.count()).run()
    elements_ = run.elements()
    threading.Timer(0.3, feed.go_on.set).start()
    threading.Timer(0.2, run.stop).start()
    list(elements_)
    blame = run.blame()
    assert blame is not None and blame.sources[0].promised == "ts < 5"
    assert blame.sources[0].release == oop.Punctuation({"ts": 10})


def test_errors_have_the_name_of_the_source():
    def wrong() -> Any:
        raise RuntimeError("no connection")

    stop = threading.Event()

    def rows() -> Iterator[pa.RecordBatch]:
        yield pa.record_batch({"ts": [1]})
        stop.wait(20)

    s = oop.source(rows, time="ts", punctuate=None, schema=TS, progress=wrong, name="north")
    with pytest.raises(RuntimeError, match="no connection") as found:
        s.run().to_table()
    assert "source 'north' how far it is" in found.value.__notes__[0]
    for answer in ("5", float("nan"), True, datetime(2024, 1, 1), oop.Punctuation({"when": 5})):
        s = oop.source(rows, time="ts", punctuate=None, schema=TS, progress=lambda a=answer: a, name="north")
        with pytest.raises(oop.SourceError, match=r"source 'north' was asked how far it is"):
            s.run().to_table()
    stop.set()


def test_what_is_refused():
    with pytest.raises(oop.SourceError, match="lies there whole"):
        oop.source(pa.table({"ts": [1]}), time="ts", punctuate=None, progress=lambda: 1)
    with pytest.raises(TypeError, match="progress= is called"):
        oop.source(iter([pa.record_batch({"ts": [1]})]), time="ts", punctuate=None, progress=5)  # type: ignore[arg-type]


def test_an_answer_counts_only_while_the_same_call_still_waits(monkeypatch):
    """Elements in the hands of the reader must not be overtaken: the one who asks looks twice."""
    monkeypatch.setattr(polling, "_PAUSE", 0.0)
    answers = iter([10, 20, 30, 35, 40])
    s = oop.source(iter([pa.record_batch({"ts": [1]})]), time="ts", punctuate=None, progress=lambda: next(answers))
    poll = polling.Poll(s.flow.node, s.flow.node.data)
    lull = poll.lull = Lull()
    assert poll.ask(7) is None, "nobody waits"
    lull._calls[7] = 1
    assert poll.ask(7) is None, "10 is said, and does not count yet"
    assert poll.ask(7) == 10
    lull._calls[7] = 2
    assert poll.ask(7) is None, "20 was said in another call: what that gave may be on its way"
    assert poll.ask(7) == 30
    del lull._calls[7]
    assert poll.ask(7) is None, "an element is in its hands"
    poll.lull = None  # the engine itself reads, and found nothing
    assert poll.ask(None) == 40


def test_it_is_asked_at_most_every_hundredth_of_a_second():
    asked: list[float] = []
    stop = threading.Event()
    threading.Timer(0.1, stop.set).start()

    def rows() -> Iterator[pa.RecordBatch]:
        stop.wait(20)
        yield pa.record_batch({"ts": [1]})

    def progress() -> None:
        asked.append(time.monotonic())

    busy = oop.source(lambda: (pa.record_batch({"ts": [i]}) for i in range(200)), time="ts", punctuate=oop.ordered())
    s = oop.source(rows, time="ts", punctuate=None, schema=TS, progress=progress)
    s.union(busy).run().to_table()
    assert all(b - a >= 0.009 for a, b in pairwise(asked))
