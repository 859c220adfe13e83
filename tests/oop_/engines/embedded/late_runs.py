"""Random rows of which some are late, a run over them, and the shares of them to ask for."""

from __future__ import annotations

import random
from typing import Any

import pyarrow as pa

import oop

SHARES = (0.5, 0.9, 0.99, 0.999, 1.0)


def run_of(table: Any, policy: Any, **options: Any) -> oop.Run:
    run = oop.source(table, time="ts", punctuate=policy, name="north", **options).run()
    for _ in run:
        pass
    return run


def random_table(rng: random.Random) -> pa.Table:
    times, at = [], rng.randint(-50, 50)
    for _ in range(rng.randint(1, 200)):
        at += rng.choice([0, 0, 1, 3])
        times.append(at - rng.choice([0, 0, 0, rng.randint(0, 5), rng.randint(0, 60)]))
    links = [rng.choice("AB") for _ in times]
    return pa.table({"ts": pa.array(times, rng.choice([pa.int64(), pa.int32()])), "link": links})
