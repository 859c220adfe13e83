"""Values that are rare or nearly alike (NaN, infinity, null, small floats, dictionaries) come through the engine."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

import oop
from oop.testing import Harness


def test_dictionaries_that_differ_from_batch_to_batch():
    batches = [
        pa.record_batch({"ts": [i], "k": pa.array([str(i)]).cast(pa.dictionary(pa.int8(), pa.string()))})
        for i in range(300)
    ]
    stream = oop.source(batches, time="ts", punctuate=oop.ordered())
    assert stream.filter(oop.col("k") != "7").run().to_table().num_rows == 299
    counted = stream.window(oop.tumbling(1000)).group_by("k").agg(n=oop.count()).run().to_table()
    assert sorted(counted.column("k").to_pylist(), key=int) == [str(i) for i in range(300)]


def test_infinity_in_a_second_attribute_promises_nothing():
    table = pa.table({"ts": [1, 2, 3], "e": [1.0, float("inf"), 2.0]})
    run = oop.source(table, time="ts", punctuate={"ts": oop.ordered(), "e": oop.ordered()}).run()
    assert (run.to_table().num_rows, len(run.late)) == (3, 0)
    table = pa.table({"ts": [1, 2, 3], "e": [float("-inf"), 1.0, 2.0]})
    stream = oop.source(table, time="ts", punctuate={"ts": oop.ordered(), "e": oop.ordered(1)})
    assert stream.group_by("e").agg(n=oop.count()).run(oop.Embedded(check=True)).to_table().num_rows == 3


def test_groups_without_values_can_be_saved():
    schema = {"ts": "int64", "s": "string", "d": pa.decimal128(9, 2)}

    def pipeline(s):
        return s.window(oop.tumbling(10)).agg(lo=oop.min("s"), hi=oop.max("s"), sum=oop.sum("d"))

    h = Harness(pipeline, schema)
    h.push({"ts": [1], "s": [None], "d": [None]})
    other = Harness(pipeline, schema)
    other.load(h.save(), h.given)
    other.end()
    assert other.rows() == [{"window_start": 0, "window_end": 10, "lo": None, "hi": None, "sum": None}]


def test_every_on_float_times_ends():
    stream = oop.source(pa.table({"ts": [1.0, 50.0, 3.0]}), time="ts", punctuate=oop.slack(2, every=0.1))
    assert stream.window(oop.tumbling(5)).agg(n=oop.count()).run().to_table().num_rows == 2


@pytest.mark.parametrize("kind", [pa.float16(), pa.float32(), pa.float64()], ids=str)
def test_small_floats_stand_in_their_windows(kind):
    times = [i / 10 for i in range(300)]
    data = []
    for t in times:
        batch = pa.record_batch({"ts": pa.array([t], pa.float64()).cast(kind, safe=False)})
        data += [batch, oop.Punctuation({"ts": batch.column(0)[0].as_py()})]
    stream = oop.source(data, time="ts", punctuate=oop.punctuated()).window(oop.tumbling(0.1))
    first = stream.agg(n=oop.count(), lo=oop.min("ts"), hi=oop.max("ts"))
    rows = first.run(oop.Embedded(check=True)).to_table().to_pylist()
    assert all(r["window_start"] <= r["lo"] <= r["hi"] < r["window_end"] for r in rows)
    second = first.window(oop.tumbling(0.3)).agg(n=oop.sum("n")).run(oop.Embedded(check=True)).to_table()
    assert sum(second.column("n").to_pylist()) == 300
    assert len(set(second.column("window_start").to_pylist())) == second.num_rows


def test_a_promise_about_the_group_nan():
    nan = float("nan")
    h = Harness(lambda s: s.window(oop.tumbling(10)).group_by("k").agg(n=oop.count()), {"ts": "int64", "k": "float64"})
    h.push({"ts": [1], "k": [nan]})
    h.promise(where={"k": nan}, ts=50)
    h.push({"ts": [3], "k": [nan]})
    h.end()
    assert (len(h.rows()), len(h.late)) == (1, 1)


@pytest.mark.parametrize(
    "kind", [pa.time64("ns"), pa.timestamp("ns"), pa.duration("ns"), pa.timestamp("us", "UTC")], ids=str
)
def test_groups_that_differ_by_nanoseconds(kind):
    data = [pa.record_batch({"ts": [t], "k": pa.array([k], kind)}) for t, k in ((30, 1), (2, 2), (1, 2))]
    stream = oop.source(data, time="ts", punctuate=oop.ordered(by="k"))
    run = stream.window(oop.tumbling(10)).group_by("k").agg(n=oop.count()).run()
    assert (run.to_table().num_rows, len(run.late)) == (2, 1)
    with pytest.raises(oop.LateRow, match="breaks the promise ts < 2"):
        stream.late("raise").run().to_table()


def test_groups_are_those_that_the_column_holds():
    data = [pa.record_batch({"ts": [i, i], "k": [1, 2]}) for i in range(0, 100, 10)]

    def windows(groups):
        stream = oop.source(data, time="ts", punctuate=oop.ordered(by="k", groups=groups))
        return len(list(stream.window(oop.tumbling(10)).agg(n=oop.count()).run()))

    assert windows([1, 2]) == windows(pa.array([1, 2])) == windows(np.array([1, 2])) > 1
    with pytest.raises(oop.SchemaMismatch, match="'1'"):
        windows(["1", "2"])
    with pytest.raises(oop.SchemaMismatch, match="itself"):
        oop.source(data, time="ts", punctuate=oop.ordered(by="ts"))


def test_columns_that_are_called_like_ours():
    table = pa.table({"ts": [5, 1], "broke": ["a", "b"], "__wid_start": [1, 2]})
    stream = oop.source(table, time="ts", punctuate=oop.ordered())
    run = stream.run()
    run.to_table()
    assert run.late.to_table().to_pylist() == [
        {"ts": 1, "broke": "b", "__wid_start": 2, "_broke": "ts < 5", "late_by": 4.0}
    ]
    with pytest.raises(oop.SchemaMismatch, match="__wid_start"):
        stream.window(oop.tumbling(5)).agg(n=oop.count())


def test_a_filter_on_null_fixes_the_group():
    data = pa.table({"ts": [1, 2, 30], "k": ["a", None, None]})
    stream = oop.source(data, time="ts", punctuate=oop.ordered(by="k")).filter(oop.col("k").is_null())
    assert stream.window(oop.tumbling(10)).agg(n=oop.count()).run().to_table().num_rows == 2
