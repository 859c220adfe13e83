"""`Stream.assume`: a bound on disorder that is enforced inside a plan (OOP paper, section 2, option 2)."""

from __future__ import annotations

from datetime import datetime

import pyarrow as pa
import pytest

import oop
from oop.testing import Harness


def batches(*times: list[int]) -> list[pa.RecordBatch]:
    return [pa.record_batch({"ts": t}) for t in times]


def test_behind_a_union_it_decides_by_the_order_of_arrival():
    """The links promise nothing; the slack of what both give together closes windows, and sets rows aside."""
    plan = Harness(
        lambda a, b: a.union(b).assume(oop.slack(5)).window(oop.tumbling(10)).agg(n=oop.count()),
        {"ts": "int64"},
        {"ts": "int64"},
        punctuate=oop.at_end(),
    )
    plan.push({"ts": [1, 9]}, 0)
    plan.push({"ts": [14]}, 1)
    plan.push({"ts": [10]}, 0)  # 4 behind the other link: on time
    assert plan.rows() == []
    plan.push({"ts": [16]}, 1)
    assert plan.rows() == [{"window_start": 0, "window_end": 10, "n": 2}]
    plan.push({"ts": [9, 12]}, 0)
    assert plan.late["Assume"].to_pylist() == [{"ts": 9, "broke": "ts < 11", "late_by": 2.0}]
    plan.end()
    assert plan.rows() == [{"window_start": 10, "window_end": 20, "n": 4}]


def test_a_new_time_column_is_promised_about():
    rows = pa.table({"ts": [1, 2, 30], "took": [10, 2, 1]})
    s = oop.source(rows, time="ts", punctuate=oop.ordered()).with_columns(done=oop.col("ts") + oop.col("took"))
    counts = s.assume(oop.slack(7), on="done")
    assert counts.time == "done"
    run = counts.window(oop.tumbling(10)).agg(n=oop.count()).run()
    assert [r["n"] for r in run.to_table().to_pylist()] == [1, 1, 1]
    elements = [e for e in counts.run().elements() if isinstance(e, oop.Punctuation)]
    assert oop.Frontier.of(*elements[:-1]) == oop.Frontier.of(
        oop.Punctuation({"ts": 30}), oop.Punctuation({"done": 24})
    )


def test_behind_a_join_whose_sides_promise_nothing_of_the_column():
    left = oop.source(batches([1, 5, 30]), time="ts", punctuate=oop.ordered())
    pairs = left.join(left, within=(0, 4)).with_columns(mid=(oop.col("ts") + oop.col("ts_right")) // 2)
    run = pairs.assume(oop.slack(10), on="mid").window(oop.tumbling(10)).agg(n=oop.count()).run()
    assert [(r["window_start"], r["n"]) for r in run.to_table().to_pylist()] == [(0, 3), (30, 1)]


def test_a_plan_whose_source_promises_nothing_can_emit():
    s = oop.source(batches([1, 12]), time="ts", punctuate=None)
    with pytest.raises(oop.NeverEmits):
        s.window(oop.tumbling(10)).agg(n=oop.count()).run()
    counts = s.assume(oop.ordered()).window(oop.tumbling(10)).agg(n=oop.count())
    assert [r["n"] for r in counts.run().to_table().to_pylist()] == [1, 1]
    assert "Assume ordered on ts" in counts.explain()
    with pytest.raises(oop.NeverEmits):  # nothing is ever promised about groups that were not seen
        s.with_columns(k=1).assume(oop.ordered(by="k")).window(oop.tumbling(10)).agg(n=oop.count()).run()


def test_durations_are_in_the_column_s_unit():
    times = [datetime(2024, 1, 1, 0, 0, second) for second in (1, 9, 3, 5)]
    s = oop.source(pa.table({"ts": times}), time="ts", punctuate=None)
    run = s.assume(oop.slack("5s")).run()
    assert run.to_table()["ts"].to_pylist() == [times[i] for i in (0, 1, 3)]
    assert run.late["Assume"]["ts"].to_pylist() == [times[2]]


def test_rows_without_a_value_are_set_aside():
    table = pa.table({"ts": [1, 2, 3], "x": [1.5, None, float("nan")]})
    run = oop.source(table, time="ts", punctuate=oop.ordered()).assume(oop.slack(1), on="x").run()
    assert run.to_table()["ts"].to_pylist() == [1]
    assert run.late["Assume"]["ts"].to_pylist() == [2, 3]


def test_in_order_the_answer_is_the_same():
    s = oop.source(batches([1, 7, 3], [12, 4, 25]), time="ts", punctuate=oop.slack(20)).assume(oop.slack(5))
    counts = s.window(oop.tumbling(10)).agg(n=oop.count())
    assert counts.run(order="iop").to_table() == counts.run().to_table()


def test_what_cannot_be_assumed_is_refused():
    s = oop.source(batches([1]), time="ts", punctuate=None)
    # that the last has durations which do not fit whole numbers is not what is wrong with it
    for policy in (oop.at_end(), oop.punctuated(), oop.timer(1, lull=1), oop.timer("1s", lull="2s")):
        with pytest.raises(oop.SchemaMismatch, match=r"cannot assume .*test_assume.py"):
            s.assume(policy)
    with pytest.raises(TypeError, match="assume takes a policy"):
        s.assume("5s")
    with pytest.raises(oop.UnknownColumn, match="when"):
        s.assume(oop.ordered(), on="when")
    with pytest.raises(oop.UnknownColumn, match="link"):
        s.assume(oop.ordered(by="link"))
    with pytest.raises(oop.SchemaMismatch, match="string"):
        s.with_columns(k="a").assume(oop.ordered(), on="k")
    with pytest.raises(ValueError, match="negative"):
        s.assume(oop.slack(-1))
