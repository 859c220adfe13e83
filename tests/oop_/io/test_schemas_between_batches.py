"""Batches may differ in order, encoding and metadata; any other difference is an error that loses nothing before it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest

import oop
from oop.errors import SchemaMismatch
from oop.io.opening import open_data
from tests.oop_.io.inputs import BATCHES, TABLE, P, batches_of, rows_of, until_error


def test_a_schema_that_changes_loses_nothing_before_it() -> None:
    changed = pa.record_batch({"ts": [1.5], "k": ["a"]})
    rows, error = until_error(open_data([BATCHES[0], P, BATCHES[1], changed, BATCHES[2]]))
    assert rows == TABLE[:200].to_pylist()
    assert isinstance(error, SchemaMismatch)
    assert "batch 2 (from 0) of iterable: column 'ts' is double, the stream has int64" in str(error)


@pytest.mark.parametrize(
    ("columns", "said"),
    [
        ({"ts": [1]}, "column 'k' is missing; the stream has it as string"),
        ({"ts": [1], "k": ["a"], "z": [1]}, "column 'z' (int64) is new; the stream has ts, k"),
        ({"ts": pa.array([1], pa.int32()), "k": ["a"]}, "column 'ts' is int32, the stream has int64"),
        ({"ts": pa.array([1], pa.timestamp("s")), "k": ["a"]}, "column 'ts' is timestamp[s]"),
    ],
)
def test_what_differs_is_said(columns: dict[str, Any], said: str) -> None:
    assert said in str(until_error(open_data([BATCHES[0], pa.record_batch(columns)]))[1])


@pytest.mark.parametrize(
    "other",
    [
        {"k": ["a"], "ts": [1]},
        {"ts": [1], "k": pa.array(["a"]).dictionary_encode()},
        {"ts": [1], "k": pa.array(["a"], pa.large_string())},
        {"ts": [1], "k": pa.array(["a"], pa.string_view())},
        {"ts": pa.array([1]).dictionary_encode(), "k": ["a"]},
        {"ts": [1], "k": pc.run_end_encode(pa.array(["a"]))},
        {"ts": pc.run_end_encode(pa.array([1])), "k": pc.run_end_encode(pa.array(["a"]))},
    ],
)
def test_order_and_encoding_may_differ(other: dict[str, Any]) -> None:
    batch = pa.record_batch(other)
    for data in ([BATCHES[0], batch], [batch, BATCHES[0]]):
        given = open_data(data)
        assert {e.schema for e in batches_of(given)} == {given.schema}
        assert {"ts": 1, "k": "a"} in rows_of(given)


def test_a_small_dictionary_is_widened() -> None:
    """Its indices fit one batch, not what several batches or a window hold together."""
    schema = pa.schema({"k": pa.dictionary(pa.int8(), pa.string())})
    many = pa.record_batch({"k": [str(i) for i in range(1000)]})
    given = open_data([many], schema=schema)
    assert given.schema.field("k").type == pa.dictionary(pa.int32(), pa.string())
    assert len(rows_of(given)) == 1000


def _inside(nested: str, texts: list[str], index: pa.DataType) -> pa.Array:
    coded = pa.array(texts).dictionary_encode().cast(pa.dictionary(index, pa.string()))
    if nested == "struct":
        return pa.StructArray.from_arrays([coded], ["x"])
    ends = pa.array(range(len(texts) + 1), pa.int32())
    if nested == "map":
        return pa.MapArray.from_arrays(ends, pa.array(texts), coded)
    if nested == "large list":
        return pa.LargeListArray.from_arrays(ends.cast(pa.int64()), coded)
    return pa.ListArray.from_arrays(ends, coded) if nested == "list" else pa.FixedSizeListArray.from_arrays(coded, 1)


@pytest.mark.parametrize("nested", ["struct", "list", "large list", "fixed list", "map"])
def test_small_dictionaries_inside_of_other_values_are_widened(nested: str) -> None:
    def some(first: int, index: pa.DataType) -> pa.RecordBatch:
        texts = [f"v{i}" for i in range(first, first + 100)]
        return pa.record_batch({"ts": range(100), "k": _inside(nested, texts, index)})

    batches = [some(0, pa.int8()), some(100, pa.uint8()), some(200, pa.int64())]
    left, right = (oop.source(batches, time="ts", punctuate=oop.slack(500)) for _ in range(2))
    assert oop.union(left, right).sort().run().to_table().num_rows == 600
    assert left.join(right, within=(0, 0)).run().to_table().num_rows == 900
    assert oop.source(batches, time="ts", punctuate=oop.ordered()).run().to_table().num_rows == 102
    with pytest.raises(oop.OopError, match="has no order"):
        left.dedup("ts", keep="first")


@pytest.mark.parametrize("late", ["drop", "admit", "raise"])
@pytest.mark.parametrize("encode", [pc.run_end_encode, pc.dictionary_encode])
def test_encoded_columns_and_late_rows(encode: Callable[[pa.Array], pa.Array], late: str) -> None:
    """pyarrow cannot filter runs, and a late row is filtered out."""
    times, keys = [5, 9, 2, None, 12, 3], ["a", "a", "b", "b", None, "b"]
    table = pa.table({"ts": times, "k": encode(pa.array(keys)), "n": encode(pa.array([1, 1, 1, 2, None, 2]))})
    options: dict[str, Any] = {"time": "ts", "name": "s", "late": late, "nulls": "aside"}
    for data in (table, [b for i in (0, 2, 4) for b in table.slice(i, 2).to_batches()]):
        stream = oop.source(data, punctuate=oop.ordered(), **options).filter(oop.col("k") != "x")
        run = stream.window(oop.tumbling(10)).group_by("k").agg(n=oop.sum("n")).run()
        if late == "raise":
            with pytest.raises(oop.LateRow, match=r"ts=2, k='b', n=1"):
                run.to_table()
            continue
        found = {(r["window_start"], r["k"]): r["n"] for r in run.to_table().to_pylist()}
        assert found == {"admit": {(0, "a"): 2, (0, "b"): 3}, "drop": {(0, "a"): 2}}[late]
        assert [(r["ts"], r["k"], r["n"]) for r in run.late["s"].to_pylist() if r["ts"]] == [(2, "b", 1), (3, "b", 2)]
        assert [(r["k"], r["n"]) for r in run.late["s"].to_pylist() if not r["ts"]] == [("b", 2)]


def test_a_time_in_runs_is_a_time() -> None:
    times = pc.run_end_encode(pa.array([5, 5, 3, 20]))
    run = oop.source(pa.table({"ts": times}), time="ts", punctuate=oop.ordered()).run()
    assert run.to_table().to_pydict() == {"ts": [5, 5, 20]}
    assert len(run.late) == 1


def test_metadata_and_nullability_are_ignored() -> None:
    strict = pa.schema([pa.field("ts", pa.int64(), nullable=False, metadata={"a": "b"})], metadata={"c": "d"})
    loose = pa.record_batch({"ts": [None, 2]}, schema=pa.schema({"ts": pa.int64()}))
    given = open_data([pa.record_batch({"ts": [1]}, schema=strict), loose])
    assert [row["ts"] for row in rows_of(given)] == [1, None, 2]
    assert len({str(e.schema) for e in batches_of(given)}) == 1


def test_a_column_of_only_nulls_takes_the_declared_type() -> None:
    nulls = pa.record_batch({"ts": [3], "k": pa.nulls(1)})
    assert rows_of(open_data([BATCHES[0], nulls]))[-1] == {"ts": 3, "k": None}


def test_two_columns_of_one_name() -> None:
    twice = pa.RecordBatch.from_arrays([pa.array([1]), pa.array([2])], names=["ts", "ts"])
    with pytest.raises(SchemaMismatch, match="two columns are named 'ts'"):
        open_data(twice)
    with pytest.raises(SchemaMismatch, match="two columns are named 'ts'"):
        list(open_data([twice], schema=pa.schema({"ts": pa.int64()})).elements())


@pytest.mark.parametrize("data", [TABLE, TABLE.to_reader()])
def test_a_declared_schema_is_checked_where_the_real_one_is_known(data: Any) -> None:
    with pytest.raises(SchemaMismatch, match="column 'k' is string, the declared schema has int64"):
        open_data(data, schema=pa.schema({"ts": pa.int64(), "k": pa.int64()}))
