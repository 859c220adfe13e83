"""Whatever an input, an operator, a sink or a reader does to end a run, the run ends, and its threads with it."""

from __future__ import annotations

import asyncio
import gc
import itertools
import threading
import time
import weakref

import pyarrow as pa
import pytest

import oop
from oop.engines.embedded.pool import Pool
from oop.operators.aggregate.operator import AggregateOperator
from oop.operators.groups.targets import StoreTargets
from tests.oop_.engines.embedded import interrupts
from tests.oop_.engines.embedded.interrupts import (
    ENGINES,
    Fault,
    threads_left,
    watch_threads,
)


@pytest.fixture(autouse=True)
def others():
    yield from watch_threads()


@pytest.mark.parametrize("raised", [KeyboardInterrupt, SystemExit, asyncio.CancelledError, GeneratorExit, Fault])
@pytest.mark.parametrize("engine", ["one thread", "threads", "readers", "both"])
def test_whatever_an_input_raises_ends_the_run(engine, raised):
    """Also in a thread that reads it: nobody else would notice, and the run would wait for ever."""

    def batches():
        yield pa.record_batch({"ts": [1, 2], "k": [1, 2]})
        raise raised

    stream = oop.source(batches, time="ts", punctuate=oop.ordered()).window(oop.tumbling(10))
    run = stream.group_by("k").agg(n=oop.count()).run(oop.Embedded(**ENGINES[engine]))
    with pytest.raises(raised):
        run.to_table()
    with pytest.raises(Fault if raised is Fault else oop.RunInterrupted):
        run.to_table()


@pytest.mark.parametrize("scheduler", [oop.MinCost(), oop.RoundRobin()], ids=["programs", "boxes"])
@pytest.mark.parametrize("raised", [KeyboardInterrupt, SystemExit, asyncio.CancelledError])
def test_what_an_operator_raises_in_a_thread_ends_the_run(monkeypatch, raised, scheduler):
    def failing(self, batch, port=0):
        raise raised
        yield

    def no_table(self, number):
        raise raised

    monkeypatch.setattr(AggregateOperator, "process_batch", failing)
    monkeypatch.setattr(StoreTargets, "target", no_table)
    run = interrupts.aggregated(False).run(oop.Embedded(threads=3, scheduler=scheduler))
    with pytest.raises(raised):
        run.to_table()
    with pytest.raises(oop.RunInterrupted):
        next(iter(run))


def test_a_thread_that_cannot_be_started_ends_the_run(monkeypatch):
    def refused(self):
        raise MemoryError("no more threads")

    run, pool = interrupts.aggregated(live=True).run(oop.Embedded(readers=True)), Pool(2)
    monkeypatch.setattr(threading.Thread, "start", refused)
    with pytest.raises(MemoryError, match="no more threads"):
        run.to_table()
    until = time.monotonic() + 10
    with pytest.raises(MemoryError, match="no more threads"):
        while time.monotonic() < until:
            pool.submit(lambda: None)
            pool.help()


@pytest.mark.parametrize("raised", [KeyboardInterrupt, Fault])
@pytest.mark.parametrize("engine", ["one thread", "both"])
def test_a_sink_that_raises_ends_the_threads_of_its_run(engine, raised, others):
    closed = []

    def batches():
        try:
            for t in itertools.count():
                yield pa.record_batch({"ts": [t], "k": [t % 3]})
        finally:
            closed.append(True)

    def write(batch):
        raise raised

    stream = oop.source(batches, time="ts", punctuate=oop.ordered()).window(oop.tumbling(10))
    with pytest.raises(raised) as error:
        stream.group_by("k").agg(n=oop.count()).run(oop.Embedded(**ENGINES[engine]), to=write)
    assert threads_left(others) == []  # though the traceback still holds the run
    assert closed == [True] and error.tb is not None


@pytest.mark.parametrize("engine", ["one thread", "threads", "readers", "both"])
def test_a_run_that_is_abandoned_is_gone_at_once(engine, others):
    """Without the collector: a thread, or a source's open file, should not have to wait for it."""
    closed = threading.Event()

    def batches():
        try:
            for t in itertools.count():
                yield pa.record_batch({"ts": [t], "k": [t % 3]})
        finally:
            closed.set()

    stream = oop.source(batches, time="ts", punctuate=oop.ordered()).window(oop.tumbling(10))
    gc.disable()
    try:
        run = stream.group_by("k").agg(n=oop.count()).run(oop.Embedded(**ENGINES[engine]))
        reader = iter(run)
        next(reader)
        gone = weakref.ref(run)
        del run, reader
        assert gone() is None
        assert closed.wait(10) and threads_left(others) == []
    finally:
        gc.enable()


@pytest.mark.parametrize("engine", ["one thread", "threads", "readers", "both"])
def test_stop_from_another_thread(engine, others):
    """Of one-row batches that never cease."""

    def batches():
        for t in itertools.count():
            yield pa.record_batch({"ts": [t], "k": [t % 3]})
            time.sleep(0.0005)

    stream = oop.source(batches, time="ts", punctuate=oop.ordered()).window(oop.tumbling(10))
    run = stream.group_by("k").agg(n=oop.count()).run(oop.Embedded(**ENGINES[engine]))
    taken = []
    reader = threading.Thread(target=lambda: taken.extend(run), daemon=True)
    reader.start()
    time.sleep(0.1)
    run.stop()
    reader.join(10)
    assert taken and not reader.is_alive()
    assert threads_left(others) == []


def test_two_threads_that_read_one_run():
    """One at a time, and each batch once. Whoever comes in between is told; the other one goes on."""
    inside, go_on = threading.Event(), threading.Event()

    def batches():
        yield pa.record_batch({"ts": [1]})
        inside.set()
        go_on.wait(10)
        yield pa.record_batch({"ts": [2]})

    run = oop.source(batches, time="ts", punctuate=oop.ordered()).run()
    found = []
    reader = threading.Thread(target=lambda: found.extend(run))
    reader.start()
    assert inside.wait(10)
    with pytest.raises(oop.RunInterrupted, match="is being read, by another thread"):
        run.to_table()
    go_on.set()
    reader.join(10)
    assert [batch.to_pydict() for batch in found] == [{"ts": [1]}, {"ts": [2]}]
    assert run.to_table().num_rows == 0


def test_an_input_that_raises_behind_its_end_is_not_read_on():
    def batches():
        yield pa.record_batch({"ts": [1]})
        yield oop.END
        raise Fault

    for engine in (oop.Embedded(), oop.Embedded(readers=True)):
        run = oop.source(batches, time="ts", punctuate=oop.punctuated()).run(engine)
        assert run.to_table().num_rows == 1


def test_a_stop_iteration_of_somebodys_own_does_not_look_like_the_end():
    class Scheduler:
        def turn(self, boxes):
            raise StopIteration

    run = interrupts.aggregated(False).run(oop.Embedded(scheduler=Scheduler()))
    for _ in range(2):
        with pytest.raises(RuntimeError, match="StopIteration"):
            list(run)
