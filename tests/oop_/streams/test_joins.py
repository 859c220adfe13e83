"""What users see of joins: columns, kinds of input, what is refused and how it is said."""

from __future__ import annotations

import decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import oop
from oop.operators.core.marks import is_late
from oop.testing import Harness, check_operator
from oop.testing.laws import bag


def stream(name: str = "input", punctuate: Any = None, **columns: Any) -> oop.Stream:
    table = pa.table(columns or {"ts": [1, 2], "k": [1, 2]})
    return oop.source(table, time="ts", punctuate=punctuate or oop.ordered(), name=name)


def rows(joined: oop.Stream, **engine: Any) -> list[dict[str, Any]]:
    return joined.run(engine=oop.Embedded(check=True, **engine)).to_table().to_pylist()


# --- columns and types


def test_columns_that_clash_get_a_suffix() -> None:
    joined = stream(ts=[1], k=[1], a=[5]).join(stream(ts=[1], k=[1], b=[6]), on="k", within=(0, 0))
    assert joined.schema.names == ["ts", "k", "a", "ts_right", "k_right", "b"]
    assert rows(joined) == [{"ts": 1, "k": 1, "a": 5, "ts_right": 1, "k_right": 1, "b": 6}]


def test_padded_columns_may_be_null() -> None:
    schema = pa.schema([pa.field("ts", pa.int64(), False), pa.field("k", pa.int64(), False)])
    one = oop.source(pa.table({"ts": [1], "k": [1]}, schema=schema), time="ts", punctuate=oop.ordered())
    joined = one.join(one.with_columns(k=oop.col("k") + 1), on="k", within=(0, 0), how="full")
    assert all(field.nullable for field in joined.schema)
    assert len(rows(joined)) == 2


@pytest.mark.parametrize(
    "keys",
    [
        pa.array(["a", "b", None]),
        pa.array(["a", "b", None], pa.large_string()),
        pa.array(["a", "b", None]).dictionary_encode(),
        pa.array([b"a", b"b", None]),
        pa.array([decimal.Decimal("1.5"), decimal.Decimal("2.5"), None]),
        pa.array([1.5, -0.0, None]),
        pa.array([1.5, 2.5, None], pa.float32()),
        pa.array([True, False, None]),
        pa.array([1, 2, None], pa.uint8()),
        pa.array([1, 2**63, None], pa.uint64()),
        pa.array([1, 2, None], pa.date32()),
        pa.array([1, 2, None], pa.timestamp("ns", tz="Europe/Oslo")),
        pa.array([1, 2, None], pa.duration("s")),
        pa.array([b"ab", b"cd", None], pa.binary(2)),
    ],
    ids=lambda keys: str(keys.type),
)
@pytest.mark.parametrize("threads", [1, 2])
def test_keys_of_any_type(keys: pa.Array, threads: int) -> None:
    one = stream(ts=[1, 2, 3], k=keys, v=[1, 2, 3])
    other = stream(ts=[1, 2, 3], k=keys, w=[1, 2, 3])
    found = rows(one.join(other, on="k", within=(-5, 5), how="full").select("v", "w"), threads=threads)
    alone = [{"v": 3, "w": None}, {"v": None, "w": 3}]
    assert bag(found) == bag([{"v": 1, "w": 1}, {"v": 2, "w": 2}, *alone])


@pytest.mark.parametrize(
    ("left", "right"),
    [
        (pa.int8(), pa.int64()),
        (pa.uint16(), pa.int32()),
        (pa.uint32(), pa.uint64()),
        (pa.float32(), pa.float64()),
        (pa.timestamp("s"), pa.timestamp("us")),
        (pa.date32(), pa.date64()),
    ],
    ids=str,
)
@pytest.mark.parametrize("threads", [1, 2])
def test_keys_of_two_types_are_compared_by_value(left: pa.DataType, right: pa.DataType, threads: int) -> None:
    numbers = pa.array([1, 2, 3], pa.int32())
    a = numbers.cast(pa.int32()).cast(left) if left != pa.timestamp("s") else numbers.cast(pa.int64()).cast(left)
    if right == pa.timestamp("us"):
        b = pa.array([1_000_000, 2_000_000, 5], pa.int64()).cast(right)
    elif right == pa.date64():
        b = pa.array([1, 2, 7], pa.int32()).cast(pa.date32()).cast(right)
    else:
        b = pa.array([1, 2, 7]).cast(right)
    joined = stream(ts=[1, 1, 1], k=a, v=[1, 2, 3]).join(stream(ts=[1, 1, 1], k=b, w=[1, 2, 3]), on="k", within=(0, 0))
    assert bag(rows(joined.select("v", "w"), threads=threads)) == bag([{"v": 1, "w": 1}, {"v": 2, "w": 2}])


def test_every_kind_of_column_passes() -> None:
    columns = {
        "ts": [1, 2],
        "k": [1, 2],
        "text": ["a", None],
        "list": [[1, 2], None],
        "struct": [{"a": 1}, {"a": None}],
        "flag": [True, None],
        "number": pa.array([decimal.Decimal("1.10"), None]),
        "when": pa.array([1, None], pa.timestamp("ns", tz="UTC")),
        "word": pa.array(["x", None]).dictionary_encode(),
        "small": pa.array([1, None], pa.int8()),
    }
    joined = stream(**columns).join(stream(**columns), on="k", within=(0, 0), how="left")
    given = pa.table(columns).to_pylist()
    wanted = [{**r, **{f"{n}_right": v for n, v in r.items()}} for r in given]
    assert rows(joined) == wanted


def test_columns_that_nobody_uses_are_not_held() -> None:
    """Of a wide row only what is counted by is taken; the answer is the same."""
    batch = pa.record_batch({"ts": [1] * 1000, "k": range(1000), "text": ["x" * 1000] * 1000})

    def held(pipeline: Any) -> int:
        harness = Harness(pipeline, batch.schema, batch.schema)
        harness.feed(batch)
        return sum(box.operator.state_bytes for box in harness.run._boxes)

    def counted(a: oop.Stream, b: oop.Stream) -> oop.Stream:
        return a.join(b, on="k", within=(0, 5)).window(oop.tumbling(10)).agg(n=oop.count())

    assert held(counted) < 100_000 < 1_000_000 < held(lambda a, b: a.join(b, on="k", within=(0, 5)))


# --- what is refused


@pytest.mark.parametrize(
    ("arguments", "error", "says"),
    [
        ({"on": "k"}, oop.NeverEmits, r"without a band .*\n?.*within=\("),
        ({"on": "k", "within": (0, None)}, oop.NeverEmits, "without a band"),
        ({"on": "k", "within": (3, 1)}, ValueError, "lo is greater than hi"),
        ({"on": "k", "within": (3, 3), "closed": "left"}, ValueError, "no difference lies between"),
        ({"on": "k", "within": (0, 1), "closed": "open"}, ValueError, "closed is one of"),
        ({"on": "k", "within": 3}, ValueError, "within=\\(lo, hi\\)"),
        ({"on": "k", "ranges": 3}, ValueError, "ranges=\\(left, right\\)"),
        ({"on": "k", "within": (0, 1), "times": "ts"}, ValueError, "times=\\(left, right\\)"),
        ({"on": "k", "within": (0, 2**70)}, ValueError, "fit 64 bits"),
        ({"within": (-(2**63), 2**63)}, ValueError, "fit 64 bits"),
        ({"on": "k", "ranges": (1, 1), "closed": "left"}, ValueError, "leave it out"),
        ({"on": "k", "within": (0, 1), "unbounded": True}, ValueError, "leave out unbounded"),
        ({"on": "k", "within": ("1s", "2s")}, ValueError, "plain numbers"),
        ({"on": "k", "within": (0, 1), "window": oop.tumbling(3)}, ValueError, "within and window"),
        ({"on": "k", "window": oop.sliding(3, every=1)}, ValueError, "tumbling"),
        ({"on": "k", "window": 3}, TypeError, "oop.tumbling"),
        ({"on": "k", "ranges": (-1, 1)}, ValueError, "not negative"),
        ({"on": "q", "within": (0, 1)}, oop.UnknownColumn, "no column 'q'"),
        ({"on": {"k": "q"}, "within": (0, 1)}, oop.UnknownColumn, "no column 'q'"),
        ({"on": ["k", "k"], "within": (0, 1)}, oop.SchemaMismatch, "named twice"),
        ({"on": 5, "within": (0, 1)}, TypeError, "on= takes column names"),
        ({"within": (0, 1), "how": "outer"}, ValueError, "how is one of"),
        ({"within": (0, 1), "where": "k"}, TypeError, "where= takes an expression"),
        ({"within": (0, 1), "where": oop.col("k") + 1}, oop.SchemaMismatch, "true or false"),
        ({"within": (0, 1), "times": ("ts", "q")}, oop.UnknownColumn, "no column 'q'"),
    ],
    ids=lambda value: str(value) if isinstance(value, dict) else "",
)
def test_wrong_arguments(arguments: dict[str, Any], error: type[Exception], says: str) -> None:
    with pytest.raises(error, match=says):
        stream().join(stream(), **arguments)


def test_keys_that_cannot_be_compared() -> None:
    with pytest.raises(oop.SchemaMismatch, match=r"'k' \(int64\) and 'k' \(string\) cannot be compared") as caught:
        stream().join(stream(ts=[1], k=["a"]), on="k", within=(0, 1))
    assert "test_joins.py" in str(caught.value)
    assert "cast" in str(caught.value)


def test_times_that_cannot_be_compared() -> None:
    seconds, millis = (stream(ts=pa.array([1], pa.timestamp(unit)), k=[1]) for unit in ("s", "ms"))
    with pytest.raises(oop.SchemaMismatch, match="not of one kind"):
        seconds.join(millis, on="k", within=("0s", "1s"))


@pytest.mark.parametrize("mute", [0, 1])
def test_an_input_that_never_promises(mute: int) -> None:
    streams = [stream("one"), stream("two")]
    streams[mute] = oop.source(pa.table({"ts": [1], "k": [1]}), time="ts", punctuate=None, name="mute")
    joined = streams[0].join(streams[1], on="k", within=(0, 1))
    with pytest.raises(oop.NeverEmits, match="input 'mute' makes no promise about 'ts'"):
        joined.run()


def test_a_window_on_a_full_join_must_say_on_what() -> None:
    joined = stream().join(stream(), on="k", within=(0, 1), how="full")
    with pytest.raises(oop.SchemaMismatch, match="no one time"):
        joined.window(oop.tumbling(5)).agg(n=oop.count())


def test_a_row_that_went_out_alone_is_in_no_window_of_the_other_time() -> None:
    joined = stream(ts=[1, 2], k=[1, 2]).join(stream(ts=[1, 3], k=[1, 9]), on="k", within=(0, 1), how="full")
    for time, starts in (("ts", 2), ("ts_right", 2)):
        counted = joined.window(oop.tumbling(1), on=time).agg(n=oop.count())
        assert len(rows(counted)) == starts


# --- explain and static tables


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


def test_columns_of_which_rows_cannot_be_picked() -> None:
    views = pa.table({"k": pa.array(["a"], pa.string_view()), "v": [1]})
    assert rows(stream(ts=[1], k=["a"]).join(views, on="k").select("v")) == [{"v": 1}]
    odd = pa.array([1, 1]).dictionary_encode()
    runs = pa.RunEndEncodedArray.from_arrays(pa.array([2], pa.int32()), pa.array([7]))
    assert len(rows(stream(ts=[1, 2], k=odd).join(stream(ts=[1, 2], k=odd), on="k", within=(0, 0)))) == 2
    decoded = [{"ts": 1, "r": 7}, {"ts": 2, "r": 7}]
    assert rows(stream(ts=[1, 2], r=runs).join(stream(ts=[1, 2]), within=(0, 0)).select("ts", "r")) == decoded
    assert rows(stream(ts=[1, 2]).join(pa.table({"ts": [1, 2], "r": runs}), on="ts").select("ts", "r")) == decoded
    with pytest.raises(oop.SchemaMismatch, match=r"column 'r' is struct<x: run_end_encoded.*runs inside") as wrong:
        stream(ts=[1, 2], r=pa.StructArray.from_arrays([runs], ["x"]))
    assert "test_joins.py" in str(wrong.value) and "run_end_decode" in str(wrong.value)


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        ({"on": {"k": 1}, "within": (0, 1)}, TypeError),
        ({"on": {"k": ["k"]}, "within": (0, 1)}, TypeError),
        ({"on": "k", "ranges": (None, 1)}, ValueError),
        ({"on": "k", "ranges": (1, 0)}, ValueError),
        ({"on": "k", "within": (0, 1), "closed": "neither"}, ValueError),
    ],
    ids=str,
)
def test_more_wrong_arguments(arguments: dict[str, Any], error: type[Exception]) -> None:
    with pytest.raises(error):
        stream().join(stream(), **arguments)


def test_a_semi_join_has_no_clash() -> None:
    left = stream(ts=[1], k=[1], k_right=[5])
    assert rows(left.join(stream(ts=[1], k=[1]), on="k", within=(0, 0), how="semi")) == [
        {"ts": 1, "k": 1, "k_right": 5}
    ]
