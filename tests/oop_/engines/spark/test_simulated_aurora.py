"""Aurora's operators in micro-batches: one source is one channel, and its rows keep their order on the way."""

from __future__ import annotations

import random
from pathlib import Path

import pyarrow as pa
import pytest

import oop
from oop import aurora
from oop.engines.spark.dataframes import check_clocks
from oop.plan.final import final_plan
from tests.oop_.engines.spark.simulated import Simulated
from tests.oop_.engines.spark.test_simulated import CASES, bag, late_rows, plain
from tests.operators import fuzz

BY_LINK = oop.Order("ts", 1, "link")
NAMES = pa.table({"k": [1, 2], "name": ["one", "two"]})


def _row_windows(s: oop.Stream) -> oop.Stream:
    """Windows of rows behind windows of time, whose results come in an order by themselves."""
    counts = aurora.Aggregate({"n": oop.count()}, oop.Order("ts", 1), 5, 5)(s.filter(oop.col("k") > 0))
    return aurora.Aggregate({"n": oop.sum("n"), "last": oop.max("ts")}, oop.Order("Tup#"), 2, 1)(counts)


PLANS = {
    "assume": aurora.Assume(oop.Order("ts", 2)),
    "assume by groups": aurora.Assume(oop.Order("v", 1, ["link", "k"])),
    "assume of pairs": aurora.Assume(oop.Order("ts", 1, ["link", "k"]), groups=[("A", 1), ("B", None), (None, 2)]),
    "assume of all groups": aurora.Assume(BY_LINK, groups=["A", "B", "C", None]),
    "slack by time": lambda s: s.assume(oop.slack(3)).window(oop.tumbling(5)).agg(n=oop.count()),
    "slack by time and group": lambda s: s.assume(oop.slack(3, by="link", idle=9)),
    "numbers": aurora.Assume(oop.Order("Tup#", group_by="link")),
    "aggregate": aurora.Aggregate({"n": oop.count(), "v": oop.max("v")}, BY_LINK, 6, 3),
    "predicate": aurora.Aggregate({"n": oop.count()}, BY_LINK, 6, oop.col("k") == 1),
    "row windows": _row_windows,
    "across": aurora.XSection({"n": oop.count()}, BY_LINK, 5, 5, idle=9),
    "tumble": aurora.Tumble({"n": oop.count(), "v": oop.max("v")}, ["link"]),
    "tumble shown": aurora.Tumble({"n": oop.count(), "v": oop.max("v")}, ["link"], emit=2),
    "join": lambda s: aurora.Join(oop.col("link") == oop.col("link_right"), 3, BY_LINK, oop.Order("ts"))(s, s),
    "static join": lambda s: aurora.Join(oop.col("k") == oop.col("k_right"), left=oop.Order("ts"))(s, NAMES),
}


@pytest.mark.parametrize("name", PLANS)
def test_micro_batches_change_nothing(name: str, tmp_path: Path) -> None:
    for seed in range(CASES):
        rng = random.Random(f"{name} {seed}")
        batches = [e for e in fuzz.random_stream(rng, pa.int64()) if isinstance(e, pa.RecordBatch)]
        source = oop.source(batches, time="ts", punctuate=None, schema=fuzz.schema_of(pa.int64()))
        stream = PLANS[name](source)
        run = stream.run()
        expected = bag(run.to_table())
        folder = tmp_path / str(seed)
        sizes = {"rows": rng.choice([1, 4, 1000]), "tasks": rng.randint(1, 3), "shards": rng.randint(1, 3)}
        simulated = Simulated(stream, folder, rng, **sizes)
        assert bag(simulated.run()) == expected, f"seed {seed}"
        aside = [row for shards in run.late.operators.values() for row in shards.table().to_pylist()]
        assert late_rows(folder / "late") == plain(aside), f"seed {seed}"


def test_results_come_before_the_end(tmp_path: Path) -> None:
    """What one shard promises holds where it alone takes rows: windows close in the micro-batch that shows it."""
    rows = pa.table({"ts": list(range(100)), "link": ["A"] * 100})
    stream = aurora.Aggregate({"n": oop.count()}, oop.Order("ts", group_by="link"), 10, 10)(
        oop.source(rows.to_batches(max_chunksize=5), time="ts", punctuate=None)
    )
    simulated = Simulated(stream, tmp_path, random.Random(1), rows=10, tasks=1, shards=3)
    seen = 0
    for _ in range(6):
        assert simulated.micro_batch()
        seen = sum(batch.num_rows for batch in simulated.result)
    assert seen >= 4


def test_spark_gives_operators_no_clock() -> None:
    source = oop.source(pa.table({"ts": [1]}), time="ts", punctuate=None)
    timed = aurora.Aggregate({"n": oop.count()}, oop.Order("ts"), 1, 1, timeout="1s")(source)
    with pytest.raises(oop.OopError, match="looks at the clock"):
        check_clocks(final_plan(timed.flow))


def test_spark_stamps_no_rows() -> None:
    source = oop.source(pa.table({"v": [1]}), time="at", punctuate=oop.arrival())
    with pytest.raises(oop.OopError, match=r"stamps rows .*test_simulated_aurora.py"):
        check_clocks(final_plan(source.flow))
