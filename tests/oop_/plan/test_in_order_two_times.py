"""Of two times, each reader of a plan gets its rows in order of the one that it needs, and promises about both."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

import oop
from oop.operators.core.context import Context
from oop.operators.in_order.merge import OrderedMerge
from oop.testing import Harness
from tests.oop_.plan.plans import Plan, bag, held

TWO = {"start": "int64", "end": "int64", "k": "int64"}
BY_END = {"end": oop.ordered(), "start": oop.slack(10)}
BY_BOTH = {"end": oop.ordered(), "start": oop.ordered()}


def spans(punctuate: Any = BY_END) -> list[oop.Stream]:
    rows = pa.table({"start": [1, 4, 3, 9, 14, 30], "end": [2, 5, 8, 11, 20, 31], "k": [1, 2, 1, 2, 1, 2]})
    return [oop.source(rows, time="end", punctuate=punctuate, name=name) for name in "ab"]


def per_start(*streams: oop.Stream) -> oop.Stream:
    return oop.union(*streams).window(oop.tumbling(10), on="start").agg(n=oop.count())


def operators(plan: oop.Stream) -> list[str]:
    shown = plan.explain(order="iop").splitlines()
    return [line.strip(" │├└─").split("   ")[0] for line in shown]


def push_spans(h: Harness, spans: list[tuple[int, int]], port: int = 0) -> None:
    h.push([{"start": start, "end": end, "k": 1} for start, end in spans], port=port)


def harness(plan: Plan, punctuate: Any) -> Harness:
    return Harness(plan, TWO, TWO, time="end", punctuate=punctuate, order="iop")


def test_a_union_is_merged_by_what_its_reader_needs():
    plan = per_start(*spans())
    assert plan.run(order="iop").to_table().equals(plan.run().to_table())
    assert operators(plan) == [
        "in order: Aggregate n=count()",
        "Bucket tumbling 10 on start",
        "OrderedMerge of 2 on start",
        "InputSort by start",
        "Source a",
        "InputSort by start",
        "Source b",
    ]


def test_readers_that_need_other_orders_have_merges_of_their_own():
    """No row is sorted by one attribute only to be sorted by another; a filter before them runs for each."""
    both = oop.union(*spans()).filter(oop.col("k") == 1)
    by_start, by_end = (both.window(oop.tumbling(10), on=on).agg(n=oop.count()) for on in ("start", "end"))
    found = operators(by_start.union(by_end))
    assert [line for line in found if "Merge" in line or "Sort" in line] == [
        "OrderedMerge of 2 on window_start",
        "OrderedMerge of 2 on start",
        "InputSort by start",
        "InputSort by start",
        "OrderedMerge of 2 on end",  # the sources are in order of it
    ]
    same = both.window(oop.tumbling(10), on="end").agg(n=oop.count()).union(by_end)
    assert [line for line in operators(same) if "Filter" in line] == ["Filter k == 1"] * 2
    assert same.explain(order="iop").count("(the same as above)") == 1


def test_an_order_that_nobody_needs_is_not_made():
    later = oop.union(*spans()).select(t=oop.least(oop.col("start") + 9, oop.col("end")))
    found = operators(later.window(oop.tumbling(10), on="t").agg(n=oop.count()))
    assert found[2:5] == ["InputSort by t", "Project t=least(start + 9, end)", "Union of 2"]


def test_skew_is_held_by_the_merge_of_the_order_that_is_needed():
    h = harness(per_start, BY_BOTH)
    push_spans(h, [(at, at + 3) for at in range(100)])
    assert held(h) == {"OrderedMerge": 100}
    push_spans(h, [(35, 36)], port=1)
    assert held(h) == {"OrderedMerge": 64, "InOrder": 1}
    assert [r["n"] for r in h.rows()] == [10, 10, 10]


def test_synchronised_input_is_not_held_whichever_order_is_needed():
    h = harness(per_start, BY_BOTH)
    for at in range(50):
        push_spans(h, [(at, at + 3)])
        push_spans(h, [(at, at + 3)], port=1)
        assert held(h) == {"InOrder": 1}


def test_disorder_of_the_other_time_is_held_by_the_sorts_alone():
    h = harness(per_start, BY_END)
    for at in range(50):
        push_spans(h, [(at - at % 4, at)])
        push_spans(h, [(at - at % 4, at)], port=1)
    assert held(h) == {"InputSort": 10, "InOrder": 1}  # each those from 38: the last began at 48, and the slack is 10


def counted(a: oop.Stream, b: oop.Stream) -> oop.Stream:
    """In order of the one, then of the other."""
    return a.union(b).dedup("end", "start", "k").window(oop.tumbling(10), on="start").agg(n=oop.count())


def test_what_a_merge_holds_lowers_promises_about_the_other_time():
    assert "promises start < the least that it holds" in counted(*spans()).explain(order="iop")
    h = harness(counted, oop.punctuated(on=["end", "start"]))
    push_spans(h, [(3, 40), (25, 41), (26, 50)])
    h.promise(0, end=60)
    for port in (0, 1):
        h.promise(port, start=24)
    assert h.rows() == []  # the row that begins at 3 waits for the second input
    push_spans(h, [(24, 41)], port=1)
    h.promise(1, end=45)  # it leaves, with the promise that waited for it
    assert [(r["window_start"], r["n"]) for r in h.rows()] == [(0, 1)]


def test_rows_that_leave_raise_a_promise_that_was_lowered():
    """Not only the next promise does."""
    schema = pa.schema([("ts", pa.int64()), ("start", pa.int64())])
    merge = OrderedMerge(2, "ts", ("start",)).start(Context([schema] * 2))

    def given(ts: int, start: int, port: int) -> list[Any]:
        rows = pa.record_batch({"ts": [ts], "start": [start]}, schema=schema)
        return [e if isinstance(e, oop.Punctuation) else e.to_pylist() for e in merge.process_batch(rows, port)]

    assert given(7, 3, 0) == []
    assert [list(merge.process_punctuation((oop.Punctuation({"start": 9}),), port)) for port in (0, 1)] == [
        [],
        [oop.Punctuation({"start": 3})],
    ]
    assert given(8, 9, 1) == [[{"ts": 7, "start": 3}], oop.Punctuation({"start": 9})]


def test_groups_go_by_the_key_whose_order_is_there():
    a, b = spans()
    plans = {
        "in order: GroupBy n=count() by start, end": a.group_by("start", "end").agg(n=oop.count()),
        "in order: Dedup by start, end, keep any": a.dedup("start", "end"),
    }
    for name, plan in plans.items():
        assert not any("Sort by end" in line for line in operators(plan.select("end")))
        assert name in operators(plan)
        assert bag(plan.run(order="iop").to_table().to_pylist()) == bag(plan.run().to_table().to_pylist())
    pairs = a.join(b, on="k", within=(0, 3)).group_by("start", "end").agg(n=oop.count())
    assert "InOrderJoin on k within 0 … 3" in operators(pairs)


def test_groups_that_joint_promises_close_wait_for_those():
    a, b = spans()
    pairs = a.join(b, on="k", within=(0, 3)).group_by("start", "start_right").agg(n=oop.count())
    expected, found = (bag(pairs.run(order=order).to_table().to_pylist()) for order in ("oop", "iop"))
    assert found == expected and len(found) > 3
    assert "Join on k within 0 … 3" in operators(pairs)  # as rows come: no order releases such groups


def test_the_greatest_of_two_times_is_in_order_of_neither():
    """It was taken to be, and the window behind it said that rows came out of order."""
    (a, _) = spans()
    plan = a.with_columns(t=oop.greatest(oop.col("start") + 20, oop.col("end"))).window(oop.tumbling(5), on="t")
    counts = plan.agg(n=oop.count())
    assert counts.run(order="iop").to_table().equals(counts.run().to_table())
    assert "InputSort by t" in operators(counts)


def test_a_union_whose_time_nothing_is_promised_about_runs():
    """Its rows come as they come, as those of one source do."""
    both = oop.union(*spans({"start": oop.slack(10)}))
    assert both.run(order="iop").to_table().num_rows == 12


def test_windows_are_in_order_of_their_ends_as_well():
    windows = [s.window(oop.tumbling(5)).agg(n=oop.count()) for s in spans()]
    plan = oop.union(*windows).window(oop.tumbling(10), on="window_end").agg(n=oop.sum("n"))
    assert "OrderedMerge of 2 on window_end" in operators(plan)
    assert not any("InputSort" in line for line in operators(plan))
    assert plan.run(order="iop").to_table().equals(plan.run().to_table())
