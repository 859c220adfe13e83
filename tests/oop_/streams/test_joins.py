"""What users see of joins: columns, types of keys, what is refused and how it is said."""

from __future__ import annotations

import decimal
from typing import Any

import pyarrow as pa
import pytest

import oop
from oop.testing import Harness
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


def test_a_semi_join_has_no_clash() -> None:
    left = stream(ts=[1], k=[1], k_right=[5])
    assert rows(left.join(stream(ts=[1], k=[1]), on="k", within=(0, 0), how="semi")) == [
        {"ts": 1, "k": 1, "k_right": 5}
    ]


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
