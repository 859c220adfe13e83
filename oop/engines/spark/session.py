"""The Spark session: a local one is made if there is none, which prints nothing. Any session is checked and set up."""

from __future__ import annotations

import atexit
import os
import re
import shutil
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from oop.errors import OopError
from oop.io.targets import is_address

ROCKSDB = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
_STORE = "spark.sql.streaming.stateStore.providerClass"
_PARTITIONS = "spark.sql.shuffle.partitions"
_BYTES = "spark.sql.execution.arrow.maxBytesPerBatch"
_CHANGELOG = "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled"
_OLDEST = (4, 0)


def absolute(path: str | os.PathLike[str]) -> str:
    """A path that Java and Python understand alike: each has a working directory of its own."""
    said = os.fspath(path)
    return said if is_address(said) else os.path.abspath(said)


def check_installed() -> None:
    """Raise an error that says in one sentence what is missing, if anything is."""
    try:
        import pyspark
    except ImportError as missing:
        raise OopError(
            "the Spark engine needs pyspark, which is not installed", hint="pip install 'oop[spark]'"
        ) from missing
    version = tuple(int(n) for n in re.findall(r"\d+", pyspark.__version__)[:2])
    if version < _OLDEST:
        raise OopError(
            f"the Spark engine needs Spark 4.0 or newer, and this is {pyspark.__version__}",
            hint="pip install --upgrade 'oop[spark]'",
        )
    # pyspark warns at every use, about something that oop's tests cover
    warnings.filterwarnings("ignore", message="PySpark does not yet fully support pandas", category=FutureWarning)
    try:
        import google.protobuf  # noqa: F401
    except ImportError as missing:
        raise OopError(
            "Spark's stateful operator needs the package protobuf, which is not installed",
            hint="pip install 'oop[spark]'",
        ) from missing


def check_java() -> None:
    """Refuse to start if the Java that Spark would run is missing or too old."""
    home = os.environ.get("JAVA_HOME")
    java = str(Path(home) / "bin" / "java") if home else shutil.which("java")
    hint = "install Java 17 or newer, for example the package openjdk-17-jre-headless, or set JAVA_HOME"
    if java is None or not Path(java).exists():
        raise OopError("Spark needs Java, and there is none here", hint=hint)
    said = subprocess.run([java, "-version"], capture_output=True, text=True, check=False).stderr
    found = re.search(r'version "(?:1\.)?(\d+)', said)
    if found is not None and int(found[1]) < 17:
        raise OopError(f"Spark needs Java 17 or newer, and {java} is {found[1]}", hint=hint)


def local_session() -> Any:
    """The session that exists already, or a new one in this process on all cores, which prints nothing."""
    check_installed()
    from pyspark.sql import SparkSession

    active = SparkSession.getActiveSession() or SparkSession._instantiatedSession  # each thread has its own active one
    if active is not None:
        return active
    check_java()
    # workers must run this Python, because it has the packages
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    builder = (
        SparkSession.builder.appName("oop")
        .master("local[*]")
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.sql.session.timeZone", "UTC")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.driver.host", "127.0.0.1")
    )
    log = new_log()
    try:
        with stderr_to(log):
            session = builder.getOrCreate()
        atexit.register(log.unlink, missing_ok=True)
        return session
    except Exception as failure:
        raise OopError(f"Spark did not start: {str(failure).partition(chr(10))[0]}", hint=f"see {log}") from failure


def new_log() -> Path:
    """An empty file that only this user may read. Its name is random, so that nobody can have put a link there."""
    handle, path = tempfile.mkstemp(prefix=f"oop-spark-{os.getpid()}-", suffix=".log")
    os.close(handle)
    return Path(path)


@contextmanager
def stderr_to(path: Path) -> Iterator[None]:
    """Let a process that is started inside write its errors to a file. Java inherits this process's error stream, and
    so goes on writing there as long as it lives."""
    sys.stderr.flush()
    ours = os.dup(2)
    with path.open("ab") as file:
        os.dup2(file.fileno(), 2)
    try:
        yield
    finally:
        os.dup2(ours, 2)
        os.close(ours)


def check_classic(session: Any) -> None:
    if type(session).__module__.startswith("pyspark.sql.connect"):
        raise OopError(
            "the Spark engine needs a classic Spark session, not Spark Connect",
            hint="SparkSession.builder.master(…) without remote(…)",
        )


def set_up(session: Any, shards: int) -> dict[str, str | None]:
    """Set what the stages need in a session: a state store that they can use, and as many partitions as shards.

    A query takes the settings that its session has when it starts. Returns the settings as they were before.
    """
    wanted = {_STORE: ROCKSDB, _PARTITIONS: str(shards), _BYTES: str(256 << 20)}
    if session.conf.get(_CHANGELOG, None) is None:
        wanted[_CHANGELOG] = "true"  # a micro-batch then uploads only what it changed, not all files of the store
    before = {name: session.conf.get(name, None) for name in wanted}
    restore_settings(session, wanted)
    return before


def restore_settings(session: Any, settings: Mapping[str, str | None]) -> None:
    for name, value in settings.items():
        if value is None:
            session.conf.unset(name)
        else:
            session.conf.set(name, value)
