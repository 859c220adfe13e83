"""Runs in processes of their own: Ctrl-C ends them promptly, and a fork leaves their threads behind."""

from __future__ import annotations

import pytest

from tests.kernels.processes import run_python
from tests.oop_.engines.embedded.interrupts import (
    watch_threads,
)


@pytest.fixture(autouse=True)
def others():
    yield from watch_threads()


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
pa.array([0])  # Arrow imports pandas at its first conversion, and a child never ends an import that a fork cut short
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
