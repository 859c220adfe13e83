"""``import oop`` is cheap: it leaves the heavy libraries to those who use them."""

import subprocess
import sys

import pytest

MEASURE = """
import sys, time
start = time.perf_counter()
import oop
print(time.perf_counter() - start)
print(" ".join(sys.modules))
"""

HEAVY = {"numba", "pyspark", "pyarrow.dataset", "pyarrow.parquet"}


def import_oop() -> tuple[float, set[str]]:
    """Import oop in a new interpreter: the seconds it took, the modules it loaded."""
    done = subprocess.run([sys.executable, "-c", MEASURE], capture_output=True, text=True, check=True)
    seconds, modules = done.stdout.splitlines()
    return float(seconds), set(modules.split())


def test_import_leaves_heavy_libraries_alone():
    _, loaded = import_oop()
    assert not HEAVY & loaded


@pytest.mark.alone
def test_import_is_quick():
    best = min(import_oop()[0] for _ in range(5))
    assert best < 0.3, f"import oop took {best:.2f} s at best"
