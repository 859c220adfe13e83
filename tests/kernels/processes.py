"""Builds the compiled kernels, and runs the table of cases in a process of its own."""

from __future__ import annotations

import os
import pickle
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.kernels.cases import all_cases, assert_same

ROOT = Path(__file__).resolve().parents[2]
CSRC = ROOT / "csrc"


def find_compiler() -> str | None:
    return shutil.which(os.environ.get("CC", "cc").split()[0])


def build_native(folder: Path, *flags: str, csrc: Path = CSRC) -> tuple[Path, str]:
    """The compiled module, built from the sources in `csrc` with further flags, and what the compiler said."""
    if find_compiler() is None:
        pytest.skip("no C compiler")
    command = [sys.executable, str(csrc / "build.py"), str(folder), *flags]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return next(folder.glob("_native*.so")), done.stderr


def run_python(*args: str, env: dict[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    """Run Python in a new process, which finds this checkout and gets nothing else from this process's environment."""
    env = {"PYTHONPATH": str(ROOT), "PATH": "", **(env or {})}
    return subprocess.run([sys.executable, "-W", "error", *args], capture_output=True, text=True, env=env)


def run_cases(name: str, library: str, results: Path, env: dict[str, str] | None = None) -> dict[str, Any]:
    """The results of the cases on one implementation, alone in a process, which must end without an error.

    Numba loads what other processes of this test run have compiled from the same sources (`tests/conftest.py`).
    """
    script = ROOT / "tests" / "kernels" / "run_cases.py"
    cache = {name: os.environ[name] for name in ("OOP_JIT_CACHE", "NUMBA_CACHE_DIR") if name in os.environ}
    done = run_python(str(script), name, library, str(results), env={**cache, **(env or {})})
    assert done.returncode == 0, done.stderr
    chosen, found = pickle.loads(results.read_bytes())
    assert chosen == name
    return found


def assert_cases_same(found: dict[str, Any], wanted: dict[str, Any]) -> None:
    for case in all_cases():
        try:
            assert_same(found[case.id], wanted[case.id])
        except AssertionError as error:
            raise AssertionError(f"{case.id} differs: {error}") from error
