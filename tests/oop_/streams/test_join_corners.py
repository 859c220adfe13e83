"""Joins with many keys, over long streams, and in the corners that a reading and attempts to break them found."""

from __future__ import annotations

import decimal
import math
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import oop
from oop.operators.core.marks import is_late
from oop.testing import Harness
from oop.testing.laws import bag
from tests.oop_.streams.test_joins import rows, stream

# --- many keys, long streams


def test_text_keys_that_come_and_go_do_not_pile_up() -> None:
    def batches(column: str) -> list[pa.Table]:
        return [
            pa.table({"ts": [i] * 2000, "k": [f"{i}/{j}" for j in range(2000)], column: ["payload"] * 2000})
            for i in range(30)
        ]

    left = oop.source(batches("a"), time="ts", punctuate=oop.ordered())
    right = oop.source(batches("b"), time="ts", punctuate=oop.ordered())
    run = left.join(right, on="k", within=(0, 1)).run(engine=oop.Embedded(scheduler=oop.RoundRobin(train=2000)))
    assert run.to_table().num_rows == 60_000
    assert run.metrics.box("Join").peak_state_bytes < 30_000_000


@pytest.mark.parametrize("order", ["oop", "iop"])
def test_keys_of_several_numbers_come_and_go(order: str) -> None:
    """The table of keys is rebuilt from time to time, and key columns are read from it."""
    count, rounds = 3_000, 16

    def stream(column: str) -> oop.Stream:
        batches = [
            pa.table({
                "ts": [i] * count,
                "a": pa.array(np.arange(count) % 7 - 3, pa.int64()),
                "b": pa.array(np.arange(count), pa.int32()),
                "x": np.where(np.arange(count) % 2, -0.0, i + 0.5),
                "t": [f"{i}/{j % 5}" for j in range(count)],
                column: np.arange(count) + i,
            })
            for i in range(rounds)
        ]  # fmt: skip
        return oop.source(batches, time="ts", punctuate=oop.ordered())

    on = ["a", "b", "x", "t"]
    run = stream("l").join(stream("r"), on=on, within=(0, 1)).run(order=order, engine=oop.Embedded(threads=1))
    rows = run.to_table()
    assert rows.num_rows == count * rounds
    for name in on:
        assert rows[name].to_pylist() == rows[f"{name}_right"].to_pylist()
    found = sorted(zip(*(rows[n].to_pylist() for n in ("ts", "b", "a", "x", "t", "l", "r")), strict=True))
    numbers = [(i, j) for i in range(rounds) for j in range(count)]
    assert found == [(i, j, j % 7 - 3, -0.0 if j % 2 else i + 0.5, f"{i}/{j % 5}", i + j, i + j) for i, j in numbers]
    signs = [math.copysign(1, x) for x in rows["x"].to_pylist() if not x]
    assert signs == [-1] * len(signs) and signs


def test_bytes_of_a_row_with_several_key_columns() -> None:
    """A key column that is in the table of keys is not stored again with each row."""
    count, keys = 200_000, 50_000
    k = np.random.default_rng(1).integers(0, keys, count)
    columns = {f"k{i}": k // (i + 1) + i for i in range(4)}
    batch = pa.table({"ts": np.arange(count), **columns})
    sides = (oop.source(batch, time="ts", punctuate=oop.at_end()) for _ in range(2))
    pairs = next(sides).join(next(sides), on=list(columns), within=(0, 0))
    run = pairs.window(oop.tumbling(count)).agg(n=oop.count()).run(oop.Embedded(threads=1))
    assert run.to_table()["n"].to_pylist() == [count]
    join = run.metrics.box("Join")
    assert join.peak_buffered_rows > count // 2
    assert join.peak_state_bytes < 56 * join.peak_buffered_rows


def test_a_key_that_meets_very_many() -> None:
    left, right = stream(ts=[1] * 400, k=[1] * 400), stream(ts=[1] * 400, k=[1] * 400)
    joined = left.join(right, on="k", within=(0, 0)).window(oop.tumbling(5)).agg(n=oop.count())
    assert rows(joined)[0]["n"] == 160_000


@pytest.mark.parametrize("time", [pa.int64(), pa.float64()])
def test_few_keys_and_a_side_that_is_far_behind(time: pa.DataType) -> None:
    """Many rows of each key are held, most of them out of reach: they are found by time as well."""
    times = pa.array(range(20_000), pa.int64()).cast(time)
    table = pa.table({"ts": times, "k": [i % 3 for i in range(20_000)]})
    schema = table.schema
    harness = Harness(lambda a, b: a.join(b, on="k", within=(-3, 5), closed="left"), schema, schema)
    for start in range(0, 20_000, 1000):
        harness.feed(*table.slice(start, 1000).to_batches())
    found = 0
    for start in range(0, 20_000, 1000):
        harness.feed(*table.slice(start, 1000).to_batches(), port=1)
        found += len(harness.rows())
    (join,) = (b.operator for b in harness.run._boxes if hasattr(b.operator, "sides"))
    assert join.sides[0].way.verifies
    # right - left is -3, 0 or 3 for the same key
    assert found == 20_000 + 2 * (20_000 - 3)


# --- what a reading found


def test_promises_by_a_key_of_two_types_do_not_free() -> None:
    """They name groups of one type, and the other side's rows have another: the plan is refused."""
    grouped = oop.slack(1, by="k")
    left = oop.source(
        pa.table({"ts": [1], "k": pa.array([1], pa.int32())}), time="ts", punctuate=grouped, name="narrow"
    )
    right = oop.source(pa.table({"ts": [1], "k": [1]}), time="ts", punctuate=grouped, name="wide")
    with pytest.raises(oop.NeverEmits):
        left.join(right, on="k", within=(0, 1)).run()
    same = oop.source(pa.table({"ts": [1], "k": [1]}), time="ts", punctuate=grouped)
    assert len(rows(same.join(right, on="k", within=(0, 1)))) == 1


def test_state_of_another_plan_is_refused() -> None:
    schema = pa.schema([("ts", pa.int64()), ("k", pa.int64()), ("v", pa.int64())])

    def counted(a: oop.Stream, b: oop.Stream) -> oop.Stream:
        return a.join(b, on="k", within=(0, 5)).window(oop.tumbling(10)).agg(n=oop.count())

    def summed(a: oop.Stream, b: oop.Stream) -> oop.Stream:
        return a.join(b, on="k", within=(0, 5)).window(oop.tumbling(10)).agg(n=oop.sum("v"))

    saving, loading = Harness(counted, schema, schema), Harness(summed, schema, schema)
    saving.push([{"ts": 1, "k": 1, "v": 7}])
    with pytest.raises(oop.OopError, match="saved without the column 'v'"):
        loading.load(saving.save(), saving.given)


def test_a_semi_join_marks_rows_that_met_only_late_ones() -> None:
    schema = pa.schema([("ts", pa.int64()), ("k", pa.int64())])
    harness = Harness(lambda a, b: a.join(b, on="k", within=(0, 9), how="semi"), schema, schema, late="admit")
    harness.promise(1, ts=5)
    harness.push([{"ts": 2, "k": 1}], port=1)  # late, and held: a left row from 0 on may still come
    harness.push([{"ts": 6, "k": 2}], port=1)
    harness.push([{"ts": 1, "k": 1}, {"ts": 1, "k": 2}])
    found = {r["k"]: is_late(e) for e in harness.out() if isinstance(e, pa.RecordBatch) for r in e.to_pylist()}
    assert found == {1: True, 2: False}


def test_a_batch_of_nulls_changes_nothing() -> None:
    schema = pa.schema([("ts", pa.int64()), ("k", pa.int64())])
    harness = Harness(lambda a, b: a.join(b, on="k", within=(0, 9)), schema, schema)
    harness.push({"ts": [1] * 1000, "k": list(range(1000))})
    harness.push({"ts": [1] * 3, "k": [None] * 3}, port=1)
    (join,) = (b.operator for b in harness.run._boxes if hasattr(b.operator, "sides"))
    assert join.sides[0].way.by_key_alone


def test_rows_that_left_a_semi_join_are_not_saved_or_freed_again() -> None:
    schema = pa.schema([("ts", pa.int64()), ("k", pa.int64())])
    harness = Harness(lambda a, b: a.join(b, on="k", within=(0, 9), how="semi"), schema, schema)
    harness.push({"ts": list(range(100)), "k": list(range(100))})
    harness.push({"ts": list(range(30)), "k": list(range(30))}, port=1)
    assert len(harness.rows()) == 30
    assert harness.buffered_rows == 70 + 30
    saved = harness.save()
    assert sum(p.num_rows for parts in saved for k, p in parts.items() if k.startswith("0/slice/")) == 70
    harness.push({"ts": [50] * 40, "k": list(range(200, 240))})  # into places that became free, or new ones
    harness.promise(1, ts=95)
    assert harness.rows() == []
    harness.end()
    assert harness.buffered_rows == 0


def test_wide_text_is_taken_from_several_batches_in_order() -> None:
    left = [pa.table({"ts": [i] * 50, "k": list(range(50)), "t": [f"{i}/{j}" for j in range(50)]}) for i in range(20)]
    right = pa.table({"ts": [20] * 50, "k": list(range(50))})
    joined = oop.source(left, time="ts", punctuate=oop.ordered()).join(
        oop.source(right, time="ts", punctuate=oop.ordered()), on="k", within=(0, 30)
    )
    found = rows(joined.select("ts", "k", "t"))
    assert len(found) == 1000
    assert all(r["t"] == f"{r['ts']}/{r['k']}" for r in found)


# --- what trying to break it found


@pytest.mark.parametrize("where", [oop.lit(True), oop.lit(1) == oop.lit(1)], ids=str)
def test_a_condition_that_looks_at_no_column(where: oop.Expr) -> None:
    assert len(rows(stream().join(stream(), on="k", within=(0, 0), where=where))) == 2
    assert len(rows(stream().join(pa.table({"k": [1, 2]}), on="k", where=where))) == 2
    assert rows(stream().join(stream(), on="k", within=(0, 0), where=~where)) == []


def test_a_bound_at_the_limit_is_not_the_end() -> None:
    most = 2**63 - 1
    schema = pa.schema([("ts", pa.int64()), ("k", pa.int64())])
    harness = Harness(lambda a, b: a.join(b, on="k", within=(0, 0), how="left"), schema, schema)
    harness.push([{"ts": most, "k": 1}])
    harness.promise(1, where={"k": 1}, ts=most)
    assert harness.buffered_rows == 1
    harness.push([{"ts": most, "k": 1}], port=1)
    assert harness.rows() == [{"ts": most, "k": 1, "ts_right": most, "k_right": 1}]


def test_a_silent_group_does_not_slow_the_others_down() -> None:
    """Slices of which only its rows are left are not looked into for every promise of another group."""
    schema = pa.schema([("ts", pa.int64()), ("k", pa.string())])
    harness = Harness(lambda a, b: a.join(b, on="k", within=(0, 10)), schema, schema)
    (join,) = (b.operator for b in harness.run._boxes if hasattr(b.operator, "sides"))
    looks = 0
    take = join.sides[0].take

    def counted(*arguments: Any) -> Any:
        nonlocal looks
        looks += 1
        return take(*arguments)

    join.sides[0].take = counted
    for start in range(0, 2000, 10):  # rows keep coming, into other slices than those of long ago
        harness.push({"ts": list(range(start, start + 10)), "k": ["silent", "active"] * 5})
        harness.promise(1, where={"k": "active"}, ts=start)
    assert harness.buffered_rows <= 1000 + 20
    assert looks < 2 * 1000  # there are 1,000 slices; a look into each for every promise would be 100,000


def test_values_that_do_not_fit_the_other_sides_type_meet_nothing() -> None:
    far = pa.array([1, 10**12], pa.timestamp("s"))
    near = pa.array([10**9, 5], pa.timestamp("ns"))
    joined = stream(ts=[1, 1], k=far, v=[1, 2]).join(
        stream(ts=[1, 1], k=near, w=[1, 2]), on="k", within=(0, 0), how="left"
    )
    assert bag(rows(joined.select("v", "w"))) == bag([{"v": 1, "w": 1}, {"v": 2, "w": None}])
    a = pa.array([decimal.Decimal("1.25")], pa.decimal128(38, 2))
    b = pa.array([decimal.Decimal("1.25")], pa.decimal256(10, 2))
    assert len(rows(stream(ts=[1], k=a).join(stream(ts=[1], k=b), on="k", within=(0, 0)))) == 1


def test_a_band_of_almost_nothing() -> None:
    times = pa.array([0.0, 5e-324])
    joined = stream(ts=times).join(stream(ts=times), within=(-5e-324, 5e-324))
    assert len(rows(joined)) == 4
