"""Threads of a ring: whose pauses count, several that drain it in turn, and that sanitizers find no race."""

from __future__ import annotations

import subprocess
import threading
import time
from pathlib import Path

import numpy as np
import pytest

from oop.kernels.checks import KernelError
from oop.kernels.ring import PacketRing
from tests.kernels.processes import CSRC, find_compiler
from tests.kernels.rings import FAST

THREADS = Path(__file__).with_name("ring_threads.c")
SANITIZERS = {"address": ["-fsanitize=address,undefined"], "thread": ["-fsanitize=thread"]}


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
