"""Hypothesis uses the same examples in every run, so that a test fails only because of a change; `make slow` tries new
examples (`OOP_NEW_EXAMPLES`). There is no deadline, since machines are noisy.

Spark has one local session for all tests of a process.

Numba code that one process has compiled is loaded by the others, and by later runs. The folder for it is named after
all sources of the kernels, since Numba does not notice changes of a loop that is called from another file.
"""

from __future__ import annotations

import gc
import hashlib
import os
import shlex
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

settings.register_profile("same", derandomize=True, deadline=None)
settings.register_profile("new", deadline=None)
settings.load_profile("new" if os.environ.get("OOP_NEW_EXAMPLES") else "same")


def pytest_configure(config: pytest.Config) -> None:
    """Runs before xdist starts its workers, which get this environment. A folder that the caller named is left
    alone."""
    # Without bytecode on disk, every process that a test starts, such as one for each stage on Spark, would compile all
    # of oop by itself.
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    sys.dont_write_bytecode = False
    if "OOP_JIT_CACHE" not in os.environ:
        os.environ.update(OOP_JIT_CACHE="1", NUMBA_CACHE_DIR=str(_jit_folder(config)))


def pytest_collection_finish() -> None:
    """What there is now stays to the end, so the garbage collector need not look at it again and again."""
    gc.collect()
    gc.freeze()


def _jit_folder(config: pytest.Config) -> Path:
    """Where Numba keeps its code: below pytest's cache, or a new folder if that is switched off."""
    if not hasattr(config, "cache"):
        new = tempfile.mkdtemp(prefix="oop_jit_")
        config.add_cleanup(lambda: shutil.rmtree(new))
        return Path(new)
    said = hashlib.sha256(sys.version.encode())
    for package in ("numba", "llvmlite", "numpy"):
        said.update(version(package).encode())
    for name, value in sorted(os.environ.items()):
        said.update(f"{name}={value}".encode() if name.startswith("NUMBA_") else b"")
    for source in sorted((Path(__file__).parents[1] / "kernels").rglob("*.py")):
        said.update(str(source).encode() + source.read_bytes())
    kept = config.cache.mkdir("oop_jit")
    for old in kept.iterdir():
        if time.time() - old.stat().st_mtime > 7 * 24 * 3600:
            shutil.rmtree(old, ignore_errors=True)
    folder = kept / said.hexdigest()[:16]
    folder.mkdir(exist_ok=True)
    os.utime(folder)  # still in use
    return folder


def _worker_python(folder: Path) -> Path:
    """A script that starts this Python with the packages installed here. Spark starts a new Python for every stage of a
    query, with its own zip in front of the path. From the zip all of pyspark would be compiled anew each time, which
    takes longer than the stage."""
    script = folder / "python"
    said = os.pathsep.join([str(Path(__file__).parents[1]), *filter(None, [os.environ.get("PYTHONPATH")])])
    script.write_text(f'#!/bin/sh\nPYTHONPATH={shlex.quote(said)} exec {shlex.quote(sys.executable)} "$@"\n')
    script.chmod(0o755)
    return script


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """A session in which tasks are retried twice, as on a cluster. A test that lets oop find a session by itself must
    ask for this one too; otherwise oop would make another, which the tests after it would get."""
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
            # queries are short, so compiling them well costs more than it saves
            .config("spark.driver.extraJavaOptions", "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC")
            .config("spark.sql.session.timeZone", "UTC")
            .config("spark.sql.shuffle.partitions", "2")  # for Spark's own operators, with which ours are compared
            .config("spark.driver.host", "127.0.0.1")
            .config("spark.driver.bindAddress", "127.0.0.1")
            .config("spark.sql.warehouse.dir", str(tmp_path_factory.mktemp("warehouse")))
            .getOrCreate()
        )
    yield session
    session.stop()
