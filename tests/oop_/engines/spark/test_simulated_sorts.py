"""BSort on the simulated Spark engine: one source has an order, and its rows leave in the same as embedded."""

from __future__ import annotations

import random
from pathlib import Path

import pyarrow as pa
import pytest

import oop
from oop.plan.final import final_plan
from tests.oop_.engines.spark.simulated import Simulated
from tests.operators import fuzz


@pytest.mark.parametrize("keys", [(), ("link",)])
def test_rows_leave_in_the_same_order(keys: tuple[str, ...], tmp_path: Path) -> None:
    for seed in range(max(4, fuzz.CASES // 50)):
        rng = random.Random(f"{keys} {seed}")
        rows = [{"ts": rng.randint(0, 20), "link": rng.choice(["A", "B", None]), "n": n} for n in range(60)]
        source = oop.source(pa.Table.from_pylist(rows), time="ts", punctuate=oop.at_end())
        stream = source.bsort(rng.choice([1, 4, 100]), by=keys)
        simulated = Simulated(stream, tmp_path / str(seed), rng, rows=rng.choice([1, 7, 1000]), tasks=rng.randint(1, 3))
        found, expected = simulated.run().to_pylist(), stream.run().to_table().to_pylist()
        for link in ["A", "B", None] if keys else ["all"]:
            of = [[r["n"] for r in each if link in ("all", r["link"])] for each in (found, expected)]
            assert of[0] == of[1], f"seed {seed}"


def test_a_clock_is_refused() -> None:
    from oop.engines.spark.dataframes import check_clocks

    source = oop.source(pa.table({"ts": [1]}), time="ts", punctuate=oop.at_end())
    with pytest.raises(oop.OopError, match="looks at the clock, and on Spark operators are given none"):
        check_clocks(final_plan(source.wsort("ts", timeout="1s").flow))
