"""Embedded = Spark, under the disorder fuzzer, with micro-batches, tasks and restarts at random."""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import oop
from oop.testing import disorder
from tests.oop_.engines.spark.pipelines import ONE, TWO
from tests.oop_.engines.spark.simulated import Simulated
from tests.operators import fuzz

CASES = max(3, fuzz.CASES // 60)


def bag(table: pa.Table) -> list[str]:
    """Rows in any order; sums of floats depend on the order of adding in their last digit."""
    rows = table.to_pylist()
    return sorted(repr({k: round(v, 9) if isinstance(v, float) else v for k, v in row.items()}) for row in rows)


def streams(rng: random.Random, count: int, late: str) -> list[oop.Stream]:
    time = rng.choice([pa.int64(), pa.timestamp("us")])
    found = []
    for name in "ab"[:count]:
        elements = disorder(fuzz.random_stream(rng, time), seed=rng.randrange(10**6))
        policy = oop.punctuated(by="link")
        schema = fuzz.schema_of(time)
        found.append(oop.source(elements, time="ts", punctuate=policy, late=late, name=name, schema=schema))
    return found


def late_rows(folder: Path) -> list[str]:
    import pyarrow.parquet as pq

    return plain(row for path in folder.rglob("*.parquet") for row in pq.read_table(path).to_pylist())


def plain(rows: Iterable[dict[str, Any]]) -> list[str]:
    """Late rows without what is said of them: of several promises that a row broke, any may be named."""
    return sorted(repr({k: v for k, v in row.items() if k not in ("broke", "late_by")}) for row in rows)


@pytest.mark.parametrize("name", [*ONE, *TWO])
def test_micro_batches_change_nothing(name: str, tmp_path: Path) -> None:
    for seed in range(CASES):
        rng = random.Random(f"{name} {seed}")
        pipeline = ONE.get(name) or TWO[name]
        inputs = streams(rng, 1 if name in ONE else 2, "drop")
        stream = pipeline(*inputs)
        run = stream.run()
        expected = bag(run.to_table())
        folder = tmp_path / str(seed)
        keep_late = rng.random() < 0.5  # if not, only the columns that are used are read
        sizes = {"rows": rng.choice([1, 4, 1000]), "tasks": rng.randint(1, 3), "shards": rng.randint(1, 3)}
        simulated = Simulated(stream, folder, rng, **sizes, keep_late=keep_late)
        assert bag(simulated.run()) == expected, f"seed {seed}"
        rows = [row for late in run.late.sources.values() for row in late.table().to_pylist()]
        assert not keep_late or late_rows(folder / "late") == plain(rows), f"seed {seed}"
        for place, runner in simulated.kept.items():
            assert runner.operator.buffered_rows == 0, f"seed {seed}: {place} is not empty at the end"


POLICIES = {
    "ordered": oop.ordered(),
    "slack": oop.slack(6),
    "slack in steps": oop.slack(6, every=5),
    "slack by rows": oop.slack(rows=3),
    "by group": oop.slack(4, by="link", groups=["A", "B", "C", None]),
    "groups that retire": oop.slack(4, by="link", idle=9),
    "groups of two columns": oop.slack(4, by=["link", "k"], groups=list(itertools.product(fuzz.LINKS, [1, 2, None]))),
    "those that retire": oop.slack(rows=1, by=["k", "link"], idle=9),
    "two attributes": {"ts": oop.slack(6), "v": oop.at_end()},
    "at the end": oop.at_end(),
}


@pytest.mark.parametrize("late", ["drop", "admit"])
@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("kind", ["memory", "parquet"])
def test_what_is_late_does_not_depend_on_how_the_input_is_cut(
    policy: str, late: str, kind: str, tmp_path: Path
) -> None:
    """The guard begins each split with what the rows before it imply; from a Parquet file's own words, where they say
    enough."""
    import pyarrow.parquet as pq

    for seed in range(max(2, CASES // 3)):
        rng = random.Random(f"{policy} {late} {seed}")
        batches = [e for e in fuzz.random_stream(rng, pa.int64()) if isinstance(e, pa.RecordBatch)]
        data: Any = pa.Table.from_batches(batches)
        folder = tmp_path / str(seed)
        if kind == "parquet":
            folder.mkdir()
            data = [str(folder / f"{i}.parquet") for i in range(2)]
            whole = pa.Table.from_batches(batches)
            half = whole.num_rows // 2
            for path, piece in zip(data, (whole.slice(0, half), whole.slice(half)), strict=True):
                pq.write_table(piece, path, row_group_size=3)
        source = oop.source(data, time="ts", punctuate=POLICIES[policy], late=late)
        stream = source.window(oop.tumbling(5)).group_by("link").agg(n=oop.count(), v=oop.max("v"))
        run = stream.run()
        expected = run.to_table()
        simulated = Simulated(stream, folder, rng, rows=rng.choice([1, 5, 1000]), tasks=rng.randint(1, 3))
        found = simulated.run()
        if late == "drop":  # an admitted row counts as long as its window is there, which is for the promises to say
            assert bag(found) == bag(expected), f"seed {seed}"
        rows = source.filter(oop.col("v").is_not_null()).window(oop.rows(4, every=3)).agg(n=oop.count())
        counted = Simulated(rows, folder / "rows", rng, rows=rng.choice([1, 5, 1000]), tasks=rng.randint(1, 3))
        assert bag(counted.run()) == bag(rows.run().to_table()), f"seed {seed}"
        rows = [row for ledger in run.late.sources.values() for row in ledger.table().to_pylist()]
        assert late_rows(folder / "late") == plain(rows), f"seed {seed}"
