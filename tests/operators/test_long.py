"""Slow cases: the laws on many more seeds, and a stream long enough to see memory grow, if it did."""

from __future__ import annotations

import resource
import sys

import numpy as np
import pyarrow as pa
import pytest

import oop
from tests.operators import test_laws

pytestmark = pytest.mark.slow

LAWS = [
    test_laws.test_source,
    test_laws.test_filter,
    test_laws.test_select_and_with_columns,
    test_laws.test_split_and_union_of_its_outputs,
    test_laws.test_union,
    test_laws.test_bucket_and_aggregate_over_tumbling_windows,
    test_laws.test_aggregate_over_sliding_windows,
    test_laws.test_aggregate_over_windows_with_gaps,
    test_laws.test_aggregate_with_late_rows_admitted,
    test_laws.test_group_by_on_a_progressing_attribute,
    test_laws.test_a_second_window_on_the_result_of_the_first,
]


@pytest.mark.parametrize("law", LAWS, ids=lambda law: law.__name__.removeprefix("test_"))
@pytest.mark.parametrize("thousand", [1, 2, 3])
def test_laws_on_more_seeds(law, thousand):
    law(range(1_000 * thousand, 1_000 * thousand + 1_000))


def test_memory_stays_flat_over_a_long_stream():
    rows, batch = 20_000_000, 50_000

    def data():
        rng = np.random.default_rng(7)
        for start in range(0, rows, batch):
            ts = np.arange(start, start + batch) - rng.integers(0, 2_000, batch)
            yield pa.record_batch({"ts": ts, "k": rng.integers(0, 1_000, batch)})

    schema = pa.schema({"ts": pa.int64(), "k": pa.int64()})
    stream = oop.source(data, time="ts", punctuate=oop.slack(4_000), schema=schema)
    run = stream.window(oop.sliding(20_000, every=5_000)).group_by("k").agg(n=oop.count(), hi=oop.max("ts")).run()
    unit = 1 if sys.platform == "darwin" else 1024
    counted, early = 0, None
    for result in run:
        counted += sum(result.column("n").to_pylist())
        if early is None and run.metrics.box("Source").rows_in > rows // 10:
            early = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit
    assert counted == 4 * rows
    assert len(run.late) == 0
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit - early
    assert grown < 64 * 2**20, f"{grown / 2**20:.0f} MiB more than after a tenth of the stream"
