"""Hypothesis: the same examples in every run, so that a change fails by what it changed; `make slow` tries new ones
(`OOP_NEW_EXAMPLES`). No deadline, since machines are noisy.

Spark: one local session for all tests of a process.

Numba: what one process of a run has compiled, the others of this run load. The folder is new for each run, since
Numba does not notice when a loop that another one calls, in another file, has changed.
"""

from __future__ import annotations

import os
import shlex
import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

settings.register_profile("same", derandomize=True, deadline=None)
settings.register_profile("new", deadline=None)
settings.load_profile("new" if os.environ.get("OOP_NEW_EXAMPLES") else "same")


def pytest_configure(config: pytest.Config) -> None:
    """Before xdist starts its workers, which get this environment. A folder that the caller named is left alone."""
    if "OOP_JIT_CACHE" not in os.environ:
        folder = tempfile.mkdtemp(prefix="oop_jit_")
        os.environ.update(OOP_JIT_CACHE="1", NUMBA_CACHE_DIR=folder)
        config.add_cleanup(lambda: shutil.rmtree(folder))


def _worker_python(folder: Path) -> Path:
    """This Python, with the packages that are here. Spark starts a new one for every stage of a query, with its own zip
    in front of the path: there all of pyspark would be compiled anew each time, which takes longer than the stage."""
    script = folder / "python"
    said = os.pathsep.join([str(Path(__file__).parents[1]), *filter(None, [os.environ.get("PYTHONPATH")])])
    script.write_text(f'#!/bin/sh\nPYTHONPATH={shlex.quote(said)} exec {shlex.quote(sys.executable)} "$@"\n')
    script.chmod(0o755)
    return script


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """Tasks are retried twice, as on a cluster. A test that lets oop find a session by itself asks for this one, too:
    else oop would make another, and the tests after it would get that."""
    from oop.engines.spark.session import check_installed, stderr_to

    check_installed()
    from pyspark.sql import SparkSession

    folder = tmp_path_factory.mktemp("spark")
    log = folder / "spark.log"
    os.environ["PYSPARK_PYTHON"] = str(_worker_python(folder))
    with stderr_to(log):
        session = (
            SparkSession.builder.master("local[2,3]")
            .config("spark.ui.enabled", "false")
            # short queries: compiling them well costs more than it saves
            .config("spark.driver.extraJavaOptions", "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC")
            .config("spark.sql.session.timeZone", "UTC")
            .config("spark.sql.shuffle.partitions", "2")  # for Spark's own operators, beside which ours are shown
            .config("spark.driver.host", "127.0.0.1")
            .config("spark.driver.bindAddress", "127.0.0.1")
            .config("spark.sql.warehouse.dir", str(tmp_path_factory.mktemp("warehouse")))
            .getOrCreate()
        )
    yield session
    session.stop()
