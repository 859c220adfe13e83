"""The beginning and end of a ring: it runs once, and can be left at any moment, with its thread and in a fork."""

from __future__ import annotations

import sys
import threading
import time

import pytest

from oop.kernels.checks import KernelError
from oop.kernels.ring import PacketRing
from tests.kernels.processes import run_python
from tests.kernels.rings import FAST, drain_all, until


def test_a_ring_runs_once() -> None:
    ring = PacketRing(rows=None, slots=100, **FAST)
    assert ring.waiting() == 0 and ring.drain(10).rows == 0
    ring.start()
    for again in (ring.start, lambda: ring.offer(1)):
        with pytest.raises(KernelError, match="runs once"):
            again()
    until(lambda: ring.waiting() == 100)
    for _ in range(3):
        ring.stop()
    made = ring.counts()
    assert made.written == 100  # what is there stays there
    time.sleep(0.005)
    assert ring.counts() == made
    assert len(drain_all(ring)[0]) == 100
    with pytest.raises(KernelError, match="runs once"):
        ring.start()


def test_a_ring_without_rows_has_ended() -> None:
    for rows, stopped in ((0, False), (None, True)):
        ring = PacketRing(rows=rows, slots=10, **FAST)
        ring.stop() if stopped else ring.start()
        until(lambda ring=ring: ring.waiting() is None)  # type: ignore[misc]


def test_several_threads_stop_it() -> None:
    ring = PacketRing(rows=None, slots=100, **FAST)
    ring.start()
    threads = [threading.Thread(target=ring.stop) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    ring.stop()
    until(lambda: ring.drain(1000).rows == 0)
    assert ring.waiting() is None


COUNT_THREADS = """
import gc, os, time
from oop.kernels.ring import PacketRing

def threads():
    return len(os.listdir("/proc/self/task"))

before = threads()
rings = [PacketRing(rate=1_000_000, rows=None, groups=5, seed=0, slots=100) for _ in range(3)]
assert threads() == before
for ring in rings:
    ring.start()
assert threads() == before + 3
del ring, rings
gc.collect()
end = time.monotonic() + 60
while threads() != before:
    assert time.monotonic() < end, (threads(), before)
    time.sleep(0.001)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="counts threads in /proc")
def test_the_thread_goes_with_the_ring() -> None:
    """In a process of its own, where no other threads come and go."""
    done = run_python("-c", COUNT_THREADS)
    assert (done.returncode, done.stderr) == (0, "")


def test_numbers_that_c_could_not_take() -> None:
    fine = {"rate": 1, "rows": 1, "groups": 1, "seed": 0, "slots": 1}
    wrong = [{"rate": 0}, {"rate": 10**10}, {"rows": -1}, {"groups": 0}, {"groups": 2**31 + 1}, {"slots": 0}]
    for one in wrong:
        with pytest.raises(KernelError, match="no ring of"):
            PacketRing(**{**fine, **one})


def test_leaving_without_a_stop() -> None:
    code = "from oop.kernels.ring import PacketRing\n"
    code += "ring = PacketRing(rate=1_000_000, rows=None, groups=5, seed=0, slots=100)\nring.start()\n"
    done = run_python("-c", code + "while not ring.waiting(): pass\n")
    assert (done.returncode, done.stderr) == (0, "")


FORK = """
import os, sys, warnings
warnings.simplefilter("ignore", DeprecationWarning)  # newer Pythons warn of every fork beside threads
from oop.errors import OopError
from oop.kernels.ring import PacketRing
ring = PacketRing(rate=1_000_000, rows=None, groups=5, seed=0, slots=100)
ring.start()
while ring.waiting() < 100:
    pass
child = os.fork()
if not child:
    try:
        ring.drain(10)
    except OopError as error:
        print(error, flush=True)
    ring.stop()
    del ring
    os._exit(7)
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
assert ring.drain(10).rows == 10
ring.stop()
"""


def test_a_fork_leaves_the_ring_behind() -> None:
    done = run_python("-c", FORK)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == "the ring's producer runs in the process that this one was forked from\n"


FORK_AND_READ = """
import os, signal, warnings
warnings.simplefilter("ignore", DeprecationWarning)
import oop
ring = oop.Ring(rate=1, rows=2)
ring.start()
while not ring.counts.produced:
    pass
ring.drain(1)
child = os.fork()
if not child:
    signal.alarm(20)
    try:
        oop.source(ring, time="ts", punctuate=oop.ordered()).run().to_table()
    except oop.OopError as error:
        print(error, flush=True)
    os._exit(7)
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
ring.stop()
"""


def test_a_run_in_a_fork_does_not_wait_for_rows_that_cannot_come() -> None:
    done = run_python("-c", FORK_AND_READ)
    assert (done.returncode, done.stderr) == (0, "")
    assert "the ring's producer runs in the process that this one was forked from" in done.stdout


def test_without_the_compiled_module() -> None:
    code = "import sys; sys.modules['oop.kernels._native'] = None\nimport oop\n"
    code += "try: oop.Ring(rate=1)\nexcept oop.OopError as error: print(type(error).__name__, error)\n"
    said = run_python("-c", code).stdout
    assert said.startswith("KernelError a ring needs the compiled kernels") and "install a C compiler" in said
