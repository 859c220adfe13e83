"""``import oop`` is cheap: it leaves the heavy libraries to those who use them."""

import os
import subprocess
import sys

import pytest

MEASURE = """
import sys, time
start = time.perf_counter()
import {}
print(time.perf_counter() - start)
print(" ".join(sys.modules))
"""

HEAVY = {"numba", "pyspark", "pyarrow.dataset", "pyarrow.parquet"}


def import_oop(what: str = "oop") -> tuple[float, set[str]]:
    """Import it in a new interpreter: the seconds it took, the modules it loaded. Bytecode is kept, as it is for users,
    so that the second import compiles nothing."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    command = [sys.executable, "-c", MEASURE.format(what)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
    seconds, modules = done.stdout.splitlines()
    return float(seconds), set(modules.split())


def test_import_leaves_heavy_libraries_alone():
    _, loaded = import_oop()
    assert not HEAVY & loaded


@pytest.mark.alone
def test_import_is_quick():
    """0.3 s where NumPy and Arrow, which it needs, take 0.13; a machine may be slower or busy, but for both."""
    found = [(import_oop()[0], import_oop("numpy, pyarrow.compute")[0]) for _ in range(5)]
    best, needed = (min(seconds) for seconds in zip(*found, strict=True))
    assert best < max(0.3, 2.3 * needed), f"import oop took {best:.2f} s at best, what it needs {needed:.2f}"


RUNS = """
import sys
import oop
import pyarrow as pa
table = pa.table({"ts": [1, 5, 12, 30], "k": [1, 2, 1, 2], "name": ["a", "b", None, "a"]})
def source(policy):
    return oop.source(table, time="ts", punctuate=policy)
plain, slack, by = source(oop.ordered()), source(oop.slack(5)), source(oop.ordered(by="k", idle=100))
plans = [
    plain.window(oop.tumbling(10)).group_by("k").agg(n=oop.count()),
    slack.window(oop.sliding(10, 5)).group_by("name").agg(mean=oop.mean("ts"), most=oop.max("ts")),
    by.window(oop.tumbling(10)).group_by("k").agg(n=oop.count()),
    plain.window(oop.session(5)).group_by("k").agg(n=oop.count()),
    plain.window(oop.rows(2)).agg(n=oop.count()),
    plain.join(slack, on="k", within=(-5, 5)),
    plain.union(slack).filter(oop.col("k") > 1).select("ts", "name"),
]
before = set(sys.modules)
for plan in plans:
    for threads in (1, 2):
        plan.run(oop.Embedded(threads=threads)).to_table()
print(sorted(name for name in set(sys.modules) - before if name.startswith("oop")))
"""


def test_a_run_loads_no_module_of_ours():
    """A child process that is forked while another thread imports a module waits for that import for ever."""
    done = subprocess.run([sys.executable, "-c", RUNS], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
