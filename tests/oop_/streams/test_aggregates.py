"""First and last, distinct values, quantiles and lists: examples, edges, errors, and what DuckDB says."""

from __future__ import annotations

import subprocess
import sys
from decimal import Decimal
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import oop
from oop.operators.core.context import Context
from oop.testing import stream

ROOT = Path(__file__).resolve().parents[3]
NAN = float("nan")


def source(columns: dict, **options) -> oop.Stream:
    return oop.source(pa.table(columns), time="ts", punctuate=oop.slack(100), **options)


def one(columns: dict, **aggregates) -> dict:
    """The answer for all rows as one window."""
    [row] = source(columns).window(oop.tumbling(1000, offset=-500)).agg(**aggregates).run().to_table().to_pylist()
    return {name: row[name] for name in aggregates}


def test_first_and_last_go_by_time_not_by_arrival():
    rows = {"ts": [5, -3, 9, 0], "v": [50, 30, 90, 0]}
    assert one(rows, a=oop.first("v"), b=oop.last("v")) == {"a": 30, "b": 90}
    assert one(rows, a=oop.first(oop.col("v") * 2, by=-oop.col("ts"))) == {"a": 180}


def test_ties_are_broken_by_value_and_null_loses_them():
    rows = {"ts": [1, 1, 1, 2, 2, 2], "v": [7, None, 4, None, 3, 8]}
    assert one(rows, a=oop.first("v"), b=oop.last("v")) == {"a": 4, "b": 8}


def test_a_null_that_comes_first_is_the_first():
    rows = {"ts": [1, 2, 3], "v": pa.array([None, 5, None], pa.int64()), "s": [None, "x", None]}
    answer = one(rows, a=oop.first("v"), b=oop.last("v"), c=oop.first("s"), d=oop.last("s"))
    assert answer == {"a": None, "b": None, "c": None, "d": None}


def test_rows_without_a_by_are_left_out():
    rows = {"ts": [1, 2, 3, 4], "v": [1, 2, 3, 4], "by": [None, 8.0, 5.0, None], "s": ["a", "b", "c", "d"]}
    answer = one(rows, a=oop.first("v", by="by"), b=oop.last("s", by="by"), c=oop.collect("v", by="by"))
    assert answer == {"a": 3, "b": "b", "c": [3, 2]}
    nothing = {"ts": [1], "v": [1], "by": pa.array([None], pa.float64())}
    assert one(nothing, a=oop.first("v", by="by"), t=oop.top("v", 2, by="by")) == {"a": None, "t": None}


def test_nan_is_greater_than_every_number_and_zeros_of_time_are_one():
    rows = {"ts": [1, 2, 3, 4], "v": [1, 2, 3, 4], "by": [NAN, 0.0, -0.0, float("inf")]}
    assert one(rows, a=oop.first("v", by="by"), b=oop.last("v", by="by")) == {"a": 2, "b": 1}
    assert one(rows, t=oop.top("by", 2))["t"][1] == float("inf")


@pytest.mark.parametrize(
    "values",
    [
        pa.array([3, 1, 2], pa.int8()),
        pa.array([3, 1, 2**64 - 1], pa.uint64()),
        pa.array([1.5, -0.0, NAN], pa.float16()),
        pa.array([True, False, True]),
        pa.array(["c", "a", "b"], pa.large_string()),
        pa.array(["c", "a", "b"]).dictionary_encode(),
        pa.array([b"\xff", b"", b"b"]),
        pa.array([Decimal("1.5"), Decimal("-2.5"), Decimal("9.0")]),
        pa.array([5, -6, 7], pa.timestamp("ns", tz="America/New_York")),
        pa.array([5, -6, 7], pa.date32()),
        pa.array([None, None, None]),
    ],
    ids=lambda a: str(a.type),
)
def test_values_of_any_type_come_out_as_they_went_in(values):
    rows = {"ts": [1, 2, 3], "v": values}
    found = source(rows).window(oop.tumbling(10)).agg(a=oop.first("v"), b=oop.last("v"), c=oop.collect("v")).run()
    table = found.to_table()
    plain = values.dictionary_decode() if pa.types.is_dictionary(values.type) else values
    assert table.schema.field("a").type == plain.type
    wanted = plain.to_pylist()
    assert repr(table["a"].to_pylist() + table["b"].to_pylist()) == repr([wanted[0], wanted[2]])
    assert repr(table["c"].to_pylist()) == repr([wanted if wanted[0] is not None else None])


def test_distinct_values_are_equal_as_keys_are():
    rows = {"ts": range(6), "x": [NAN, -NAN, 0.0, -0.0, None, 1.0], "s": ["", "", None, "a", "A", "a"]}
    assert one(rows, x=oop.count_distinct("x"), s=oop.count_distinct("s")) == {"x": 3, "s": 3}
    assert one({"ts": [1], "x": pa.array([None], pa.int32())}, n=oop.count_distinct("x")) == {"n": 0}


def test_quantiles_of_few_values_are_exact():
    rows = {"ts": range(10), "v": [9, 1, 8, 2, 7, 3, 6, 4, 5, None], "x": [NAN, 2.0, NAN, 1.0, *[None] * 6]}
    answer = one(rows, a=oop.median("v"), b=oop.quantile("v", [0, 0.1, 0.9, 1]), c=oop.median("x"))
    assert answer == {"a": 5.0, "b": [1.0, 1.0, 9.0, 9.0], "c": 1.0}
    assert one({"ts": [1], "v": [NAN]}, a=oop.median("v"), b=oop.quantile("v", [0.5])) == {"a": None, "b": None}
    hundred = {"ts": range(100), "v": range(1, 101)}
    asked = [i / 100 for i in range(1, 101)]
    assert one(hundred, a=oop.quantile("v", asked)) == {"a": [float(i) for i in range(1, 101)]}


def test_lists_keep_their_limit_and_count_says_what_is_beyond():
    rows = {"ts": [4, 3, 2, 1, 1], "v": [1, 2, 3, 5, 4]}
    answer = one(rows, v=oop.collect("v", 3), n=oop.count("v"), t=oop.top("v", 2), u=oop.top("v", 2, by="ts"))
    assert answer == {"v": [4, 5, 3], "n": 5, "t": [5, 4], "u": [1, 2]}


def test_the_time_is_that_of_the_window_else_of_the_stream():
    rows = {"ts": [1, 2], "other": [8, 7], "v": [10, 20]}
    s = oop.source(pa.table(rows), time="ts", punctuate={"ts": oop.slack(9), "other": oop.slack(9)})
    by_other = s.window(oop.tumbling(10), on="other").agg(a=oop.first("v"))
    assert by_other.run().to_table()["a"].to_pylist() == [20]
    grouped = s.with_columns(day=oop.col("ts") // 10).group_by("day").agg(a=oop.first("v"))
    assert "first(v by other)" in by_other.explain()
    assert grouped.run().to_table().to_pylist() == [{"day": 0, "a": 10}]


def test_behind_a_join_it_is_the_left_time():
    left = source({"ts": [1, 2], "k": [1, 1], "v": [10, 20]})
    right = source({"ts": [5, 3], "k": [1, 1], "w": [50, 30]})
    joined = left.join(right, on="k", within=(0, 9))
    answer = joined.window(oop.tumbling(10)).agg(a=oop.last("v"), b=oop.first("w"), c=oop.first("w", by="ts_right"))
    assert answer.run().to_table().select(["a", "b", "c"]).to_pylist() == [{"a": 20, "b": 30, "c": 30}]


def test_where_there_is_no_time_it_must_be_named():
    s = source({"ts": [1], "k": [1], "v": [1]})
    full = s.join(s, on="k", within=(0, 1), how="full")
    with pytest.raises(oop.SchemaMismatch, match=r"first\(v\) goes by time.*test_aggregates.py") as error:
        full.group_by("ts").agg(a=oop.first("v"))
    assert "by=" in str(error.value)
    assert full.group_by("ts").agg(a=oop.first("v", by="ts")).schema.names == ["ts", "a"]


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: oop.quantile("v", 1.5), "q is a number from 0 to 1"),
        (lambda: oop.quantile("v", []), "q is a number from 0 to 1"),
        (lambda: oop.quantile("v", NAN), "q is a number from 0 to 1"),
        (lambda: oop.quantile("v", 0.5, k=2), "k is from 8 to 65535"),
        (lambda: oop.top("v", 0), "k is a whole number from 1"),
        (lambda: oop.collect("v", 2.5), "limit is a whole number from 1"),
    ],
)
def test_arguments_that_make_no_sense(make, said):
    with pytest.raises(ValueError, match=said):
        make()


@pytest.mark.parametrize("function", [oop.first, oop.last, oop.count_distinct, oop.median, lambda c: oop.top(c, 2)])
def test_columns_that_make_no_sense(function):
    s = source({"ts": [1], "l": [[1, 2]]})
    with pytest.raises(oop.SchemaMismatch, match=r"list.*test_aggregates\.py"):
        s.window(oop.tumbling(10)).agg(a=function("l"))
    with pytest.raises(oop.UnknownColumn, match="'w'"):
        s.window(oop.tumbling(10)).agg(a=function("w"))
    if function in (oop.first, oop.last):
        with pytest.raises(oop.SchemaMismatch, match="list"):
            s.window(oop.tumbling(10)).agg(a=function("ts", by="l"))
        with pytest.raises(oop.UnknownColumn, match="'w'"):
            s.window(oop.tumbling(10)).agg(a=function("ts", by="w"))


def test_quantiles_of_one_column_share_a_sketch():
    s = stream("ts | v\n1 | 5\n2 | 6")
    spec = s.window(oop.tumbling(10)).agg(a=oop.median("v"), b=oop.quantile("v", 0.9), c=oop.median("v", k=400))
    operator = spec.flow.node.spec.start(Context([spec.flow.node.inputs[0].node.schema]))
    assert len(operator.store.shape.accumulators()) == 2


def test_importing_oop_does_not_load_the_sketches():
    code = "import sys, oop; oop.median('v'); print('datasketches' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT, check=True)
    assert done.stdout.strip() == "False"


@pytest.mark.parametrize("threads", [1, 2])
def test_duckdb_agrees(threads):
    duckdb = pytest.importorskip("duckdb")
    rng = np.random.default_rng(3)
    n = 20_000
    times = rng.permutation(n)  # no ties: DuckDB may break them as it likes
    table = pa.table(
        {
            "ts": times,
            "k": rng.integers(0, 300, n),
            "v": pa.array(rng.integers(0, 50, n), mask=rng.random(n) < 0.2),
            "x": pa.array(rng.normal(0, 10, n).round(1), mask=rng.random(n) < 0.2),
            "s": pa.array([f"s{i}" for i in rng.integers(0, 40, n)], mask=rng.random(n) < 0.2),
        }
    )
    ours = (
        oop.source(table, time="ts", punctuate=oop.slack(n))
        .window(oop.tumbling(n))
        .group_by("k")
        .agg(
            fv=oop.first("v"),
            lx=oop.last("x"),
            fs=oop.first("s"),
            ls=oop.last("s", by=oop.col("ts") * 2),
            dv=oop.count_distinct("v"),
            dx=oop.count_distinct("x"),
            ds=oop.count_distinct("s"),
            q=oop.quantile("x", [0.1, 0.5, 0.99]),
            tv=oop.top("v", 3),
            ts3=oop.top("s", 3, by="ts"),
            c=oop.collect("x", 5),
        )
        .run(oop.Embedded(threads=threads))
        .to_table()
        .drop_columns(["window_start", "window_end"])
        .sort_by("k")
    )
    theirs = duckdb.sql("""
        select k, arg_min_null(v, ts) fv, arg_max_null(x, ts) lx, arg_min_null(s, ts) fs, arg_max_null(s, ts) ls,
            count(distinct v) dv, count(distinct x) dx, count(distinct s) ds,
            quantile_disc(x, [0.1, 0.5, 0.99]) q, max(v, 3) tv, arg_max(s, ts, 3) ts3,
            (list(x order by ts) filter (x is not null))[:5] c
        from "table" group by k order by k
    """)
    assert ours.to_pylist() == [dict(zip(theirs.columns, row, strict=True)) for row in theirs.fetchall()]
