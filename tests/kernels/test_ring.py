"""The ring: what is in a row, what is lost, and that it can be left at any moment. Rates are asserted alone."""

from __future__ import annotations

import random
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from oop.kernels.checks import KernelError
from oop.kernels.ring import MOST_GROUPS, PacketRing, make_packets
from tests.kernels.processes import CSRC, find_compiler, run_python

THREADS = Path(__file__).with_name("ring_threads.c")
SANITIZERS = {"address": ["-fsanitize=address,undefined"], "thread": ["-fsanitize=thread"]}
FAST = {"rate": 1_000_000, "groups": 3_000, "seed": 5}
"""A row for every microsecond: its time is its number."""


def until(holds: Callable[[], bool]) -> None:
    """However busy the machine is; a minute is for what will never be."""
    end = time.monotonic() + 60
    while not holds():
        assert time.monotonic() < end, "this does not come true"
        time.sleep(0.001)


def is_made(ring: PacketRing, rows: int) -> bool:
    counts = ring.counts()
    return counts.written + counts.dropped >= rows


def drain_all(ring: PacketRing, most: int = 1000) -> list[np.ndarray]:
    """Until its end."""
    found: list[list[np.ndarray]] = [[], [], [], []]
    while ring.waiting() is not None:
        for pieces, column in zip(found, ring.drain(most).columns(), strict=True):
            pieces.append(column)
    return [np.concatenate(pieces) for pieces in found]


def assert_rows(found: list[np.ndarray]) -> None:
    """Rows of FAST in order, each as its number says."""
    numbers = found[0]
    assert (np.diff(numbers) > 0).all()
    wanted = make_packets(0, int(numbers[-1]) + 1, **FAST)
    for column, whole in zip(found, wanted, strict=True):
        assert column.dtype == whole.dtype
        np.testing.assert_array_equal(column, whole[numbers])


# Content


@pytest.mark.parametrize("rate", [1, 3, 999_983, 1_000_000, 3_000_000, 1_000_000_000])
@pytest.mark.parametrize("groups", [1, 1_000, MOST_GROUPS])
@pytest.mark.parametrize("seed", [0, 2**64 - 1])
def test_rows_are_as_their_numbers_say(rate: int, groups: int, seed: int) -> None:
    ring = PacketRing(rate=rate, rows=3_000, groups=groups, seed=seed, slots=5_000)
    ring.offer(1_234)
    first = ring.drain(10_000).columns()
    ring.offer(10_000)
    rest = drain_all(ring)
    wanted = make_packets(0, 3_000, rate=rate, groups=groups, seed=seed)
    for start, end, whole in zip(first, rest, wanted, strict=True):
        np.testing.assert_array_equal(np.concatenate([start, end]), whole)


def test_rows_are_spread_over_the_groups() -> None:
    _, src, dst, length = make_packets(0, 200_000, rate=1000, groups=1_000, seed=1)
    counts = np.bincount(src.astype(np.int64) * 512 + dst)
    assert len(counts) == 1_000 and counts.min() > 120 and counts.max() < 290  # six deviations from 200
    assert length.min() == 40 and length.max() == 1_499
    other = make_packets(0, 200_000, rate=1000, groups=1_000, seed=2)
    assert (other[2] == dst).mean() < 0.02
    later = make_packets(150_000, 50_000, rate=1000, groups=1_000, seed=1)
    np.testing.assert_array_equal(later[2], dst[150_000:])


# Loss


@pytest.mark.parametrize("slots", [1, 2, 7, 600])
def test_what_finds_the_ring_full_is_dropped_and_counted(slots: int) -> None:
    """Against a list: offers and drains in any order, around the ring many times."""
    chance = random.Random(slots)
    ring = PacketRing(rows=None, slots=slots, **FAST)
    held: list[int] = []
    due = dropped = drained = fullest = 0
    for _ in range(500):
        if chance.random() < 0.5:
            more = chance.randrange(2 * slots + 2)
            fits = min(more, slots - len(held))
            held += range(due, due + fits)
            due, dropped, fullest = due + more, dropped + more - fits, max(fullest, len(held))
            ring.offer(due)
        else:
            most = chance.randrange(slots + 3)
            taken = ring.drain(most)
            assert taken.rows == min(most, len(held))
            wanted, held = held[: taken.rows], held[taken.rows :]
            drained += taken.rows
            assert taken.columns()[0].tolist() == wanted
            if wanted:
                assert_rows(list(taken.columns()))
        counts = ring.counts()
        assert (counts.written, counts.dropped, counts.drained) == (due - dropped, dropped, drained)
        assert counts.greatest_fill == fullest and ring.waiting() == len(held)
    assert dropped and drained > 3 * slots


@pytest.mark.parametrize("slots", [1, 2, 7, 1_000])
def test_nobody_drains(slots: int) -> None:
    ring = PacketRing(rows=20_000, slots=slots, **FAST)
    ring.start()
    until(lambda: is_made(ring, 20_000))
    counts = ring.counts()
    assert (counts.written, counts.dropped, counts.greatest_fill) == (slots, 20_000 - slots, slots)
    found = drain_all(ring)
    assert found[0].tolist() == list(range(slots))
    assert_rows(found)


@pytest.mark.parametrize("slots", [1, 2, 7, 1_000])
def test_rows_that_are_drained_are_right_whatever_was_lost(slots: int) -> None:
    ring = PacketRing(rows=50_000, slots=slots, **FAST)
    ring.start()
    found = drain_all(ring, 300)
    assert_rows(found)
    counts = ring.counts()
    assert counts.written == counts.drained == len(found[0]) == 50_000 - counts.dropped
    assert counts.greatest_fill == slots or not counts.dropped


def test_nothing_is_lost_where_there_is_room() -> None:
    ring = PacketRing(rows=30_000, slots=30_000, **FAST)
    ring.start()
    found = drain_all(ring)
    assert found[0].tolist() == list(range(30_000)) and ring.counts().dropped == 0
    assert_rows(found)
    assert ring.drain(10).rows == 0 and ring.waiting() is None


# Beginning and end


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


# Pauses


def work(seconds: float) -> None:
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        pass


def test_the_longest_pause_is_of_the_threads_own_time() -> None:
    ring = PacketRing(rows=None, slots=1_000, **FAST)
    began = time.thread_time()
    for due in (10, 20, 30, 40):
        ring.offer(due)
        ring.drain(100)
        if due == 20:
            work(0.05)
        elif due == 30:
            time.sleep(0.2)
    counts, spent = ring.counts(), time.thread_time() - began
    assert 50_000_000 <= counts.longest_cpu <= counts.drainer_cpu <= spent * 1e9
    assert counts.longest_cpu_at == 19
    assert counts.longest >= 200_000_000
    assert sum(counts.pauses) == 3
    assert sum(n for step, n in enumerate(counts.pauses) if 2 ** (step + 1) > counts.longest_cpu) >= 1


def test_another_thread_makes_no_pause() -> None:
    ring = PacketRing(rows=None, slots=1_000, **FAST)
    ring.drain(1)
    work(0.02)
    other = threading.Thread(target=ring.drain, args=(1,))
    other.start()
    other.join()
    ring.drain(1)
    assert ring.counts().longest_cpu == ring.counts().longest == sum(ring.counts().pauses) == 0


# Threads


def test_several_threads_drain_it_in_turn() -> None:
    ring = PacketRing(rows=50_000, slots=50_000, **FAST)
    found: list[np.ndarray] = []

    def drain() -> None:
        while ring.waiting() is not None:
            try:
                found.append(ring.drain(100).columns()[0])
            except KernelError as error:
                assert "another thread is draining" in str(error)

    threads = [threading.Thread(target=drain) for _ in range(3)]
    ring.start()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert np.sort(np.concatenate(found)).tolist() == list(range(50_000))


def build(folder: Path, source: Path, flags: list[str]) -> Path:
    compiler = find_compiler()
    if compiler is None:
        pytest.skip("no C compiler")
    probe, program = folder / "probe.c", folder / "program"
    probe.write_text("int main(void) { return 0; }\n")
    common = [compiler, "-O1", "-g", "-pthread", "-Wall", "-Wextra", "-Werror", *flags, f"-I{CSRC}"]
    for sources in ([probe], [THREADS, source]):
        done = subprocess.run([*common, *map(str, sources), "-o", str(program)], capture_output=True, text=True)
        if sources == [probe] and (done.returncode or subprocess.run([str(program)], capture_output=True).returncode):
            pytest.skip(f"no {' '.join(flags)} here: {done.stderr}")
        assert done.returncode == 0, done.stderr
    return program


@pytest.mark.parametrize("name", SANITIZERS)
def test_sanitizers_find_nothing(name: str, tmp_path: Path) -> None:
    program = build(tmp_path, CSRC / "ring.c", SANITIZERS[name])
    done = subprocess.run([str(program)], capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (0, "all as it should be\n", "")


@pytest.mark.parametrize(
    ("name", "right", "wrong", "report"),
    [
        ("thread", "written, memory_order_release", "written, memory_order_relaxed", "data race"),
        ("address", "aligned_alloc(LINE, room * 20)", "aligned_alloc(LINE, room * 16)", "heap-buffer-overflow"),
    ],
)
def test_sanitizers_report_what_is_broken(name: str, right: str, wrong: str, report: str, tmp_path: Path) -> None:
    text = (CSRC / "ring.c").read_text()
    assert text.count(right) == 1
    broken = tmp_path / "ring.c"
    broken.write_text(text.replace(right, wrong))
    done = subprocess.run([str(build(tmp_path, broken, SANITIZERS[name]))], capture_output=True, text=True)
    assert done.returncode != 0 and report in done.stderr


# Rates


@pytest.mark.alone
@pytest.mark.parametrize("rate", [2_000, 2_000_000])
def test_rows_come_at_their_rate(rate: int) -> None:
    ring = PacketRing(rate=rate, rows=rate // 2, groups=1, seed=0, slots=rate)
    began = time.perf_counter()
    ring.start()
    until(lambda: is_made(ring, rate // 4))
    half = time.perf_counter() - began
    until(lambda: is_made(ring, rate // 2))
    whole = time.perf_counter() - began
    assert half >= 0.249 and 0.499 <= whole < 1.0
    assert ring.counts().producer_cpu < 0.3e9
