"""Landmark windows of all groups so far, in micro-batches: they are cut off where the last row is, if no promise is
beyond it, however promises are delayed."""

from __future__ import annotations

import random
from pathlib import Path

import pyarrow as pa

import oop
from oop.testing import disorder
from tests.oop_.engines.spark.simulated import Simulated
from tests.oop_.engines.spark.test_simulated import CASES, bag
from tests.operators import fuzz
from tests.operators.aggregate.test_laws_windows import closed


def test_landmark_windows_in_micro_batches(tmp_path: Path) -> None:
    for seed in range(3 * CASES):
        rng = random.Random(seed)
        elements = disorder(closed(rng, fuzz.random_stream(rng, pa.int64()), pa.int64()), seed=seed)
        source = oop.source(elements, time="ts", punctuate=oop.punctuated(by="link"), schema=fuzz.schema_of(pa.int64()))
        keys = rng.choice([[], ["link"], ["link", "k"]])
        stream = source.window(oop.landmark(-10, every=5)).group_by(*keys).agg(n=oop.count(), v=oop.max("v"))
        expected = bag(stream.run().to_table())
        sizes = {"rows": rng.choice([1, 4, 1000]), "tasks": rng.randint(1, 3), "shards": rng.randint(1, 3)}
        simulated = Simulated(stream, tmp_path / str(seed), rng, **sizes)
        assert bag(simulated.run()) == expected, f"seed {seed}"
        for place, runner in simulated.kept.items():
            assert runner.operator.buffered_rows == 0, f"seed {seed}: {place} is not empty at the end"
