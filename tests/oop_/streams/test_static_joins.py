"""Joins with a static table, and what `explain` says of a join whose state grows."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import oop
from oop.testing import check_operator
from oop.testing.laws import bag
from tests.oop_.streams.test_joins import rows, stream


def test_explain_says_that_state_grows() -> None:
    joined = stream("a").join(stream("b"), on="k", unbounded=True)
    assert "its state grows" in joined.explain()
    assert len(rows(joined)) == 2


@pytest.fixture
def table() -> pa.Table:
    return pa.table({"k": [1, 1, 3, None], "name": ["x", "y", "z", "nobody"]})


def test_static_table(table: pa.Table) -> None:
    one = stream(ts=[1, 2, 3], k=[1, 2, None])
    inner = [{"ts": 1, "name": "x"}, {"ts": 1, "name": "y"}]
    assert bag(rows(one.join(table, on="k").select("ts", "name"))) == bag(inner)
    alone = [{"ts": 2, "name": None}, {"ts": 3, "name": None}]
    assert bag(rows(one.join(table, on="k", how="left").select("ts", "name"))) == bag(inner + alone)
    assert rows(one.join(table, on="k", how="semi").select("ts")) == [{"ts": 1}]
    assert rows(one.join(table, on="k", how="anti").select("ts")) == [{"ts": 2}, {"ts": 3}]
    longer = one.join(table, where=oop.col("name") > "x", how="inner").select("ts", "name")
    assert len(rows(longer)) == 6


def test_static_tables_from_elsewhere(table: pa.Table, tmp_path: Path) -> None:
    duckdb = pytest.importorskip("duckdb")
    pq.write_table(table, tmp_path / "names.parquet")
    for given in (
        str(tmp_path / "names.parquet"),
        duckdb.sql("SELECT 1 AS k, 'x' AS name UNION ALL SELECT 1, 'y'"),
        table.to_batches()[0],
    ):
        assert len(rows(stream().join(given, on="k"))) == 2


def test_static_tables_with_many_keys_of_the_stream_that_they_lack() -> None:
    """Keys that are numbered in a table do not pile up."""
    names = pa.table({"k": ["key 7"], "v": [1]})
    batches = [pa.table({"ts": [i] * 3000, "k": [f"key {i * 3000 + j}" for j in range(3000)]}) for i in range(8)]
    joined = oop.source(batches, time="ts", punctuate=oop.ordered()).join(names, on="k")
    run = joined.run()
    assert run.to_table().num_rows == 1


def test_static_tables_are_refused_what_makes_no_sense(table: pa.Table) -> None:
    for arguments, says in (
        ({"within": (0, 1)}, "leave out within="),
        ({"within": "both"}, "leave out within="),
        ({"how": "full"}, "never ends for sure"),
        ({"on": "q"}, "no column 'q'"),
    ):
        with pytest.raises((ValueError, oop.OopError), match=says):
            stream().join(table, **{"on": "k", **arguments})
    with pytest.raises(oop.SourceError, match="no such file"):
        stream().join("nowhere.parquet", on="k")


def test_laws_of_a_static_join(table: pa.Table) -> None:
    elements = [pa.record_batch({"ts": [1, 5, 3], "k": [1, 3, 2]}), oop.Punctuation({"ts": 4}), oop.END]
    expected = [{"ts": 1, "name": "x"}, {"ts": 1, "name": "y"}, {"ts": 5, "name": "z"}]
    for seed in range(20):
        check_operator(lambda s: s.join(table, on="k").select("ts", "name"), elements, seed=seed, expected=expected)
