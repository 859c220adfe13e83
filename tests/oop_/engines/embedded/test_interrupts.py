"""A run that is cut short and read on gives the whole answer or an error, never fewer rows; and leaves nothing."""

from __future__ import annotations

import asyncio
import gc
import itertools
import os
import random
import signal
import threading
import time
import weakref

import pyarrow as pa
import pytest

import oop
from oop.engines.embedded.pool import Pool
from oop.operators.aggregate.aggregate import AggregateOperator
from tests.kernels.processes import run_python
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
    threads_of_runs,
)


@pytest.fixture(autouse=True)
def others():
    """The threads of other tests, whose inputs may be silent for ever; none comes to them."""
    before = threads_of_runs()
    yield before
    gc.collect()
    assert threads_left(before) == []


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


@pytest.mark.parametrize("raised", [KeyboardInterrupt, SystemExit, asyncio.CancelledError])
def test_what_an_operator_raises_in_a_thread_ends_the_run(monkeypatch, raised):
    def failing(self, batch, port=0):
        raise raised
        yield

    monkeypatch.setattr(AggregateOperator, "process_batch", failing)
    run = interrupts.aggregated(False).run(oop.Embedded(threads=3))
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


def test_an_interrupt_in_blame_is_remembered_too(monkeypatch):
    stream = interrupts.aggregated(False)
    run = stream.run(oop.Embedded(batch_rows=5))
    next(iter(run))
    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr("oop.engines.embedded.boxes.Box.finish", lambda self: (_ for _ in ()).throw(KeyboardInterrupt))
        run.blame()
    with pytest.raises(oop.RunInterrupted):
        run.to_table()


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


CTRL_C = """
import itertools, os, signal, threading, time
import pyarrow as pa
import oop

def batches():
    for t in itertools.count():
        yield pa.record_batch({"ts": [t], "k": [t % 3]})
        if t > 200:
            time.sleep(LULL)

def write(counts, engine):
    counts.run(engine, to=lambda batch: None)

def read(counts, engine):
    for batch in counts.run(engine):
        pass

stream = oop.source(batches, time="ts", punctuate=oop.ordered()).window(oop.tumbling(10))
counts = stream.group_by("k").agg(n=oop.count())
for do in (write, read):
    threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT)).start()
    begun = time.monotonic()
    try:
        do(counts, oop.Embedded(threads=3, readers=READERS))
    except KeyboardInterrupt:
        assert time.monotonic() - begun < 5
    until = time.monotonic() + 10
    while any(t.name.startswith("oop-worker") for t in threading.enumerate()):
        assert time.monotonic() < until
        time.sleep(0.01)
print("ended")
"""


@pytest.mark.parametrize("readers", [True, False])
def test_ctrl_c_ends_a_live_run_promptly(readers):
    lull = "60" if readers else "0.001"  # a source that is silent for long, while a thread reads it
    done = run_python("-c", CTRL_C.replace("READERS", str(readers)).replace("LULL", lull))
    assert (done.returncode, done.stdout, done.stderr) == (0, "ended\n", "")


FORK = """
import os, signal, warnings
warnings.simplefilter("ignore", DeprecationWarning)  # newer Pythons warn of every fork beside threads
import pyarrow as pa
import oop

def batches():
    for t in range(40):
        yield pa.record_batch({"ts": [t], "k": [t % 3]})

stream = oop.source(batches, time="ts", punctuate=oop.ordered()).window(oop.tumbling(10))
for engine in (oop.Embedded(threads=2), oop.Embedded(readers=True)):
    run = stream.group_by("k").agg(n=oop.count()).run(engine)
    first = next(iter(run)).num_rows
    child = os.fork()
    if not child:
        signal.alarm(20)
        try:
            run.to_table()
        except oop.OopError as error:
            print(str(error).splitlines()[0], flush=True)
        os._exit(7)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
    print(first + run.to_table().num_rows, flush=True)  # the parent's goes on
"""


def test_a_child_process_does_not_wait_for_its_parents_threads():
    done = run_python("-c", FORK)
    assert (done.returncode, done.stderr) == (0, "")
    refused = "this run has threads, which a fork leaves behind: it can only be read in the process that began it"
    assert done.stdout == f"{refused} (at <string>:19)\n12\n" * 2


FORK_BESIDE_THREADS = """
import os, signal, threading, warnings
warnings.simplefilter("ignore", DeprecationWarning)
import numpy as np
import pyarrow as pa
import oop
from oop.kernels import pages, scratch

def allocate():
    return scratch.new_array(20_000, np.int64), scratch.lasting_array(20_000, np.int64), pages.huge_array(3 << 20)

def work():
    while True:
        allocate()

table = pa.table({"ts": np.arange(2_000), "k": np.arange(2_000) % 50})
stream = oop.source(table, time="ts", punctuate=oop.ordered()).window(oop.tumbling(100)).group_by("k")
counts = stream.agg(n=oop.count())
threading.Thread(target=work, daemon=True).start()
threading.Thread(target=lambda: [counts.run().to_table() for _ in iter(int, 1)], daemon=True).start()
kept = allocate()
for number in range(30):
    child = os.fork()
    if not child:
        signal.alarm(20)
        allocate()
        del kept
        rows = counts.run(oop.Embedded(threads=1 + number % 2)).to_table().num_rows
        os._exit(7 if rows == 1_000 else 8)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7, number
os._exit(0)
"""


def test_children_that_are_forked_while_other_threads_work():
    done = run_python("-c", FORK_BESIDE_THREADS)
    assert (done.returncode, done.stderr) == (0, "")
