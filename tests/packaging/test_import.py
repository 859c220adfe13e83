"""``import oop`` is cheap: it leaves the heavy libraries to those who use them."""

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
    """Import it in a new interpreter: the seconds it took, the modules it loaded."""
    done = subprocess.run([sys.executable, "-c", MEASURE.format(what)], capture_output=True, text=True, check=True)
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
