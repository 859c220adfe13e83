"""A run that is cut short and read on gives the whole answer or an error, never fewer rows; and leaves nothing."""

from __future__ import annotations

import os
import random
import signal

import pyarrow as pa
import pytest

import oop
from oop.engines.embedded.reading import Reading
from tests.oop_.engines.embedded import interrupts
from tests.oop_.engines.embedded.interrupts import (
    ENGINES,
    PLANS,
    WAYS,
    Fault,
    Interrupt,
    Trial,
    read_on,
    rows_of,
    threads_left,
    watch_threads,
)


@pytest.fixture(autouse=True)
def others():
    yield from watch_threads()


# An interrupt in a finalizer, or when a thread has done all but end, is swallowed by Python: the run goes on, rightly.
swallowed = pytest.mark.filterwarnings(
    "ignore::pytest.PytestUnraisableExceptionWarning", "ignore::pytest.PytestUnhandledThreadExceptionWarning"
)


@swallowed
@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("plan", PLANS)
def test_the_law_of_interrupts(plan, engine, others):
    new = os.environ.get("OOP_NEW_EXAMPLES")
    chosen = random.Random(None if new else f"{plan} {engine}")
    expected = rows_of(PLANS[plan](False).run().to_table().to_batches())
    for elsewhere in (False, True) if engine != "one thread" else (False,):
        points = Trial(plan, engine, "batches", 0, elsewhere).run().points
        if not points:
            continue  # the reader has done all of the work before another thread came to it
        for kind in (Interrupt, Fault, Interrupt) * (20 if new else 1):
            trial = Trial(plan, engine, chosen.choice(WAYS), chosen.randint(1, points), elsewhere, kind).run()
            assert trial.outcome != "hangs", trial
            assert trial.outcome == "refused" or rows_of(trial.found) == expected, (trial, trial.where)
            assert threads_left(others) == [], (trial, trial.where)  # while the run itself is still there


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("engine", ENGINES)
def test_what_a_run_has_handed_over_is_not_lost_by_who_reads_it_here(engine, way):
    """At every point of `read_on` itself. The run is whole, so rows that are missing are those which the test lost."""
    expected = rows_of([PLANS["aggregate"](False).run().to_table()])
    points = Trial("aggregate", engine, way, 0, within=read_on.__code__).run().points
    assert points > 1
    for at in range(1, points + 1):
        trial = Trial("aggregate", engine, way, at, within=read_on.__code__).run()
        assert (trial.outcome, rows_of(trial.found)) == ("whole", expected), (trial, trial.where)


@swallowed
@pytest.mark.parametrize("engine", ENGINES)
def test_the_law_of_real_signals(engine):
    """At random times, in the main thread, which is the only one that a signal reaches."""
    chosen = random.Random(engine)
    stream = interrupts.aggregated(live="readers" in ENGINES[engine])
    expected = rows_of(stream.run().to_table().to_batches())

    def interrupted(*_):
        raise Interrupt

    before = signal.signal(signal.SIGALRM, interrupted)
    outcomes = set()
    try:
        for way in WAYS * 5:
            run, found = stream.run(oop.Embedded(**ENGINES[engine])), []
            try:
                signal.setitimer(signal.ITIMER_REAL, chosen.uniform(0.0001, 0.015))
                read_on(run, way, found)
                signal.setitimer(signal.ITIMER_REAL, 0)
                outcomes.add("whole")
            except Interrupt:
                try:
                    read_on(run, way, found)
                    outcomes.add("went on")
                except oop.RunInterrupted:
                    outcomes.add("refused")
                    continue
            assert rows_of(found) == expected
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert "refused" in outcomes


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("threads", [1, 2])
def test_a_run_that_was_interrupted_says_so_and_names_the_line(threads, way):
    def batches():
        yield pa.record_batch({"ts": [1, 2], "k": [1, 2]})
        raise KeyboardInterrupt

    stream = oop.source(batches, time="ts", punctuate=oop.ordered()).window(oop.tumbling(10))
    run = stream.group_by("k").agg(n=oop.count()).run(oop.Embedded(threads=threads))
    with pytest.raises(KeyboardInterrupt):
        read_on(run, way, [])
    for again in WAYS:
        with pytest.raises(
            oop.RunInterrupted,
            match=r"interrupted by KeyboardInterrupt.*rows would be missing \(at .*:\d+\)\nHint: run",
        ) as raised:
            read_on(run, again, [])
        assert isinstance(raised.value.__cause__, KeyboardInterrupt)
    assert run.metrics.boxes[0].rows_in == 2  # what there was can still be looked at
    run.blame()


def test_an_error_in_the_readers_own_loop_is_none_of_the_runs():
    stream = interrupts.aggregated(False)
    run, found = stream.run(oop.Embedded(batch_rows=5)), []
    for number in range(3):
        with pytest.raises(KeyboardInterrupt):
            for batch in run:
                found.append(batch)
                if len(found) > number:
                    raise KeyboardInterrupt
    found += run.to_table().to_batches()
    assert rows_of(found) == rows_of(stream.run().to_table().to_batches())


def test_an_interrupt_in_blame_is_remembered_too(monkeypatch):
    stream = interrupts.aggregated(False)
    run = stream.run(oop.Embedded(batch_rows=5))
    next(iter(run))
    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr("oop.engines.embedded.boxes.Box.finish", lambda self: (_ for _ in ()).throw(KeyboardInterrupt))
        run.blame()
    with pytest.raises(oop.RunInterrupted):
        run.to_table()


def test_an_interrupt_when_a_thread_has_just_begun_to_read_ends_the_run():
    """It comes when the lock is given back, after the run has become the thread's."""

    class Interrupting:
        def __enter__(self) -> None:
            pass

        def __exit__(self, *error: object) -> None:
            raise KeyboardInterrupt

    closed: list[bool] = []
    reading = Reading(close=lambda: closed.append(True), threaded=True)
    reading._lock = Interrupting()
    with pytest.raises(KeyboardInterrupt):
        reading.do(lambda: "a batch")
    assert closed == [True]
    with pytest.raises(oop.RunInterrupted, match="interrupted by KeyboardInterrupt"):
        reading.do(lambda: "a batch")


def test_a_refusal_to_read_ends_nothing():
    closed: list[bool] = []
    reading = Reading(close=lambda: closed.append(True), threaded=False)

    def within() -> None:
        with pytest.raises(oop.RunInterrupted, match="by code that the run itself calls"):
            reading.do(lambda: "a batch")

    reading.do(within)
    assert (closed, reading.do(lambda: "a batch")) == ([], "a batch")
