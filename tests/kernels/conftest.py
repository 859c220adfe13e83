"""The compiled kernels for tests, whether or not this checkout has been built."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


def find_compiler() -> str | None:
    return shutil.which(os.environ.get("CC", "cc").split()[0])


@pytest.fixture(scope="session")
def native_library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The compiled module: the checkout's own if it is newer than every source, else a new one."""
    sources = max(path.stat().st_mtime for path in (ROOT / "csrc").iterdir())
    for built in (ROOT / "kernels").glob("_native*.so"):
        if built.stat().st_mtime > sources:
            return built
    if find_compiler() is None:
        pytest.skip("no C compiler")
    folder = tmp_path_factory.mktemp("native")
    command = [sys.executable, str(ROOT / "csrc" / "build.py"), str(folder)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "warning" not in done.stderr
    return next(folder.glob("_native*.so"))
