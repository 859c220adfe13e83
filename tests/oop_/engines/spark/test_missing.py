"""What is missing is said in one sentence, with what to do."""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pytest

from oop.engines.spark import session
from oop.engines.spark.failures import ours
from oop.errors import OopError


def test_no_pyspark(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyspark", None)
    with pytest.raises(OopError, match="needs pyspark, which is not installed"):
        session.check_installed()


def test_an_old_spark(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyspark", SimpleNamespace(__version__="3.5.4"))
    with pytest.raises(OopError, match=r"needs Spark 4.0 or newer, and this is 3.5.4"):
        session.check_installed()


def test_no_protobuf(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "google.protobuf", None)
    with pytest.raises(OopError, match="needs the package protobuf"):
        session.check_installed()


def test_no_java(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(OopError, match="needs Java, and there is none here"):
        session.check_java()


def test_an_old_java(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    java = tmp_path / "bin" / "java"
    java.parent.mkdir()
    java.write_text("#!/bin/sh\necho 'openjdk version \"1.8.0_392\"' >&2\n")
    java.chmod(0o755)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    with pytest.raises(OopError, match=r"needs Java 17 or newer, and .*java is 8"):
        session.check_java()


def test_an_error_of_spark_itself_is_left_alone() -> None:
    assert ours(RuntimeError("java.lang.OutOfMemoryError")) is None


@pytest.mark.parametrize("bad", [0, True, 1.5])
def test_wrong_numbers_are_refused(bad: Any) -> None:
    import oop

    with pytest.raises(ValueError, match="shards is a number of at least 1"):
        oop.Spark(shards=bad)


@pytest.mark.parametrize("bad", [{}, {"bogus": 1}, 5, {"availableNow": True, "once": True}, {"continuous": "1 second"}])
def test_wrong_triggers_are_refused(bad: Any) -> None:
    import oop

    with pytest.raises(ValueError, match="with one of availableNow, once, processingTime"):
        oop.Spark(trigger=bad)


def test_a_trigger_of_a_dataframe_is_refused() -> None:
    import oop

    stream = oop.source(pa.table({"ts": [1]}), time="ts", punctuate=oop.ordered(), name="north")
    with pytest.raises(oop.WrongArgument, match=r"to_spark gives a DataFrame[\s\S]*writeStream.trigger"):
        stream.to_spark(trigger={"availableNow": True})


def test_wrong_sessions_and_folders_are_refused() -> None:
    import oop

    with pytest.raises(TypeError, match="session is a SparkSession, not 'local'"):
        oop.Spark("local")
    with pytest.raises(TypeError, match="checkpoint is a folder, not 5"):
        oop.Spark(checkpoint=5)  # type: ignore[arg-type]


def test_the_log_is_a_new_file_that_only_its_owner_may_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    secret = tmp_path / "secret"
    secret.write_text("mine")
    (tmp_path / f"oop-spark-{os.getpid()}.log").symlink_to(secret)  # what somebody could have foreseen
    first, second = session.new_log(), session.new_log()
    assert first != second and first.parent == tmp_path
    assert first.stat().st_mode & 0o777 == 0o600
    with session.stderr_to(first):
        os.write(2, b"from Java")
    assert first.read_text() == "from Java"
    assert secret.read_text() == "mine"
