"""Hypothesis: the same examples in every CI run, new ones elsewhere; no deadline, since machines are noisy.

Spark: one local session for all tests of a process.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

settings.register_profile("ci", derandomize=True, deadline=None)
settings.register_profile("dev", deadline=None)
settings.load_profile("ci" if os.environ.get("CI") else "dev")


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """Tasks are retried twice, as on a cluster. A test that lets oop find a session by itself asks for this one, too:
    else oop would make another, and the tests after it would get that."""
    from oop.engines.spark.session import check_installed, stderr_to

    check_installed()
    os.environ["PYSPARK_PYTHON"] = sys.executable
    root = str(Path(__file__).parents[1])
    os.environ["PYTHONPATH"] = os.pathsep.join([root, *filter(None, [os.environ.get("PYTHONPATH")])])
    from pyspark.sql import SparkSession

    log = tmp_path_factory.mktemp("spark") / "spark.log"
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
