"""The compiled kernels for tests, whether or not this checkout has been built, and the results to compare with."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.kernels.processes import CSRC, ROOT, build_native, run_cases


@pytest.fixture(scope="session")
def native_library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The compiled module: that of the checkout if it is newer than every source, otherwise a new one."""
    sources = max(path.stat().st_mtime for path in CSRC.glob("*.*"))
    for built in (ROOT / "kernels").glob("_native*.so"):
        if built.stat().st_mtime > sources:
            return built
    library, said = build_native(tmp_path_factory.mktemp("native"))
    assert "warning" not in said
    return library


@pytest.fixture(scope="session")
def wanted(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """The results of the reference for all cases, from a process that cannot import the others."""
    return run_cases("reference", "-", tmp_path_factory.mktemp("reference") / "results")
