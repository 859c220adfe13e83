"""`run(order="iop")`: the same answer as out of order for every plan, in order, and rows held where in-order systems
hold them."""

from __future__ import annotations

import math
import random
from collections import Counter
from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pytest

import oop
from oop import aurora
from oop.engines.metrics import BoxMetrics
from oop.operators.aggregate import window_tables
from oop.operators.core.context import Context
from oop.operators.in_order import join_operator as in_order_join_operator
from oop.operators.in_order.merge import OrderedMerge
from oop.operators.in_order.sorted_runs import SortedRuns
from oop.testing import Harness
from tests.operators import fuzz

Row = dict[str, Any]
Plan = Callable[..., oop.Stream]
N = {"n": oop.count(), "v": oop.min("v"), "x": oop.max("x")}


def twice(plan: Callable[[oop.Stream], oop.Stream]) -> Plan:
    return lambda a, b: plan(a)


PLANS: dict[str, Plan] = {
    "filter": twice(lambda a: a.filter(oop.col("v") >= 0)),
    "tumbling": twice(lambda a: a.window(oop.tumbling(7, offset=2)).group_by("link", "k").agg(**N)),
    "gaps": twice(lambda a: a.window(oop.sliding(3, every=7)).group_by("k").agg(**N)),
    "sliding": twice(lambda a: a.window(oop.sliding(9, every=4)).group_by("link").agg(**N)),
    "sliding that does not divide": twice(lambda a: a.window(oop.sliding(7, every=3)).agg(**N)),
    "user": twice(lambda a: a.window(oop.sliding(6, every=2)).agg(n=oop.aggregate(0, lambda s, v: s + v % 7)("v"))),
    "window on window": twice(
        lambda a: (
            a.window(oop.sliding(6, every=2))
            .group_by("k")
            .agg(n=oop.count())
            .window(oop.tumbling(8))
            .agg(m=oop.max("n"), s=oop.sum("n"))
        )
    ),
    "session": twice(lambda a: a.window(oop.session(3)).group_by("k").agg(**N)),
    "session and window": twice(
        lambda a: a.window(oop.session(2)).group_by("k").agg(n=oop.count()).window(oop.tumbling(9)).agg(s=oop.sum("n"))
    ),
    "landmark": twice(lambda a: a.window(oop.landmark(-60, every=20)).group_by("k").agg(n=oop.count())),
    "group by time": twice(lambda a: a.group_by("ts", "k").agg(**N)),
    "rows": twice(lambda a: a.window(oop.rows(5, every=2)).agg(**N)),
    "rows of partitions": twice(lambda a: a.window(oop.rows(3, by="k")).agg(**N)),
    "dedup": twice(lambda a: a.select("ts", "k").dedup()),
    "dedup last": twice(lambda a: a.dedup("ts", "k", keep="last")),
    "dedup within": twice(lambda a: a.dedup("k", within=4, keep="first")),
    "sort": twice(lambda a: a.sort("k", "link", "v", "x")),
    "early": twice(
        lambda a: (
            a.window(oop.sliding(9, every=4)).agg(n=oop.count()).emit("on_change").filter(oop.col("emit") == "final")
        )
    ),
    "split": twice(lambda a: oop.union(*a.split(oop.col("k") == 1)).window(oop.tumbling(6)).agg(n=oop.count())),
    "projected": twice(
        lambda a: a.select(t=oop.col("ts"), k=oop.col("k")).window(oop.tumbling(5), on="t").agg(n=oop.count())
    ),
    "union": lambda a, b: a.union(b),
    "union and window": lambda a, b: a.union(b).window(oop.sliding(8, every=4)).group_by("k").agg(**N),
    "numbers": lambda a, b: a.union(b).number().window(oop.rows(4)).agg(**N),
    "diamond": lambda a, b: a.union(a.filter(oop.col("k") == 1), b).window(oop.tumbling(6)).agg(n=oop.count()),
    **{
        how: lambda a, b, how=how: a.join(b.filter(oop.col("v") != 0), on="link", within=(-2, 3), how=how)
        for how in ("inner", "left", "right", "full", "semi", "anti")
    },
    "join and window": lambda a, b: (
        a.join(b, on="k", within=(0, 4)).window(oop.tumbling(5)).group_by("link").agg(n=oop.count())
    ),
    "right join and window": lambda a, b: (
        a.join(b, on="k", within=(0, 4), how="right").window(oop.tumbling(5)).agg(n=oop.count())
    ),
    "band alone": lambda a, b: a.join(b, within=(1, 2)),
    "open band": lambda a, b: a.join(b, on="k", within=(-2, 2), closed="neither", where=oop.col("v") >= 0),
    "window join": lambda a, b: a.join(b, on="k", window=oop.tumbling(4), how="left"),
    "join of a join": lambda a, b: a.join(b, on="k", within=(0, 2)).select("ts", "k").join(b, on="k", within=(-2, 2)),
    "groups of pairs": lambda a, b: a.join(b, on="k", within=(-1, 3)).group_by("ts", "ts_right").agg(n=oop.count()),
    "aurora aggregate": twice(lambda a: aurora.Aggregate(N, oop.Order("ts", slack=2), size=6, advance=3)(a)),
    "aurora by group": twice(lambda a: aurora.Aggregate(N, oop.Order("ts", 1, group_by="link"), 6, 6)(a)),
    "aurora rows": twice(lambda a: aurora.Aggregate(N, oop.Order("Tup#"), size=3, advance=1)(a)),
    "aurora tumble": twice(lambda a: aurora.Tumble({"n": oop.count()}, ["link"])(a)),
    "aurora join": lambda a, b: aurora.Join(
        oop.col("k") == oop.col("k_right"), size=2, left=oop.Order("ts", 2), right=oop.Order("ts", 2)
    )(a, b),
    "bsort": twice(lambda a: a.bsort(slack=3).select("ts", "k")),
    **{
        f"{how} join with a table": lambda a, b, how=how: (
            a.join(pa.table({"k": [2, 2], "w": [7, 8]}), on="k", how=how)
            .window(oop.sliding(6, every=2))
            .agg(n=oop.count())
        )
        for how in ("inner", "left", "anti")
    },
    "grown": lambda a, b: a.join(b, on="link", unbounded=True).select("ts", "ts_right", "link"),
}

UNORDERED = [plan for name, plan in PLANS.items() if name in ("grown", "rows of partitions") or "aurora" in name]
"""Nothing tells when their order is known: state grows, each partition counts for itself, or arrival decides."""


def bag(rows: list[Row]) -> Counter[str]:
    return Counter(str(sorted(row.items())) for row in rows)


def answer(plan: Plan, streams: list[list[Any]], time: pa.DataType, order: str, policy: Any) -> list[Row]:
    sources = [
        oop.source(lambda e=e: iter(e), time="ts", punctuate=policy, schema=fuzz.schema_of(time), name=f"s{i}")
        for i, e in enumerate(streams)
    ]
    stream = plan(*sources)
    found = stream.run(order=order, engine=oop.Embedded(check=True, threads=1)).to_table()
    rows: list[Row] = found.to_pylist()
    times = [] if stream.time is None else [r[stream.time] for r in rows if r[stream.time] is not None]
    if order == "iop" and plan not in UNORDERED:
        assert times == sorted(times), f"not in order of {stream.time}"
    return rows


@pytest.mark.parametrize("name", PLANS)
def test_in_order_gives_the_same_answer(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(window_tables, "AT_ONCE", 7)
    monkeypatch.setattr(in_order_join_operator, "_AT_ONCE", 3)
    for seed in range(max(fuzz.CASES // 10, 5)):
        rng = random.Random(seed)
        time = rng.choice([pa.int64(), pa.int32(), pa.float64()])
        policy = rng.choice([oop.punctuated(), oop.slack(12), oop.slack(rows=4), oop.ordered(), oop.at_end()])
        streams = [fuzz.random_stream(rng, time, grouped=False) for _ in range(2)]
        if policy != oop.punctuated():
            streams = [[e for e in s if isinstance(e, pa.RecordBatch)] for s in streams]
        expected, found = (answer(PLANS[name], streams, time, order, policy) for order in ("oop", "iop"))
        assert bag(found) == bag(expected), f"seed {seed}, {policy}"


@pytest.mark.parametrize(
    "name", ["tumbling", "sliding", "landmark", "union and window", "left", "window join", "dedup last"]
)
def test_saved_anywhere_it_goes_on(name: str) -> None:
    """In-order operators are saved and loaded as all others are."""
    for seed in range(20):
        rng = random.Random(seed)
        streams = [fuzz.random_stream(rng, pa.int64(), grouped=False, late=False) for _ in range(2)]
        ports = [port for port, stream in enumerate(streams) for _ in stream]
        rng.shuffle(ports)
        queues = [iter(stream) for stream in streams]
        whole, cut = start(name), start(name)
        at = rng.randint(0, len(ports))
        found: list[Row] = []
        for number, port in enumerate(ports):
            if number == at:
                found += cut.rows()
                snapshot, given = cut.save(), cut.given
                cut = start(name)
                cut.load(snapshot, given)
            element = next(queues[port])
            whole.feed(element, port=port)
            cut.feed(element, port=port)
        whole.end()
        cut.end()
        assert bag(found + cut.rows()) == bag(whole.rows())
        assert cut.buffered_rows == 0


def test_saved_before_the_end_it_knows_where_it_is():
    """What the order says and what the operator itself has reached are two things."""
    plan = lambda s: s.window(oop.landmark(0, every=20)).agg(n=oop.count())  # noqa: E731
    for rows in ([5], [5, 25, 26], [5, 70]):
        h, other = (Harness(plan, SCHEMA, punctuate=oop.ordered(), order="iop") for _ in range(2))
        push(h, rows)
        h.rows()
        other.load(h.save(), h.given)
        h.end()
        other.end()
        assert other.rows() == h.rows()


def start(name: str) -> Harness:
    return Harness(PLANS[name], *[fuzz.schema_of(pa.int64())] * 2, order="iop")


SCHEMA = {"ts": "int64", "k": "int64"}


def held(h: Harness) -> dict[str, int]:
    """Rows that are held now, by operator."""
    return {box.node.spec.name: box.held for box in h.run._boxes if box.held}


def push(h: Harness, times: list[int], port: int = 0, k: int = 1) -> None:
    h.push({"ts": times, "k": [k] * len(times)}, port=port)


def test_skew_fills_the_merge_and_nothing_else():
    plan = lambda a, b: a.union(b).window(oop.tumbling(10)).agg(n=oop.count())  # noqa: E731
    h = Harness(plan, SCHEMA, SCHEMA, punctuate=oop.ordered(), order="iop")
    push(h, list(range(100)))
    assert held(h) == {"OrderedMerge": 100}
    push(h, [35], port=1)  # what is not above 35 leaves
    assert held(h) == {"OrderedMerge": 64, "InOrder": 1}
    assert [(r["window_start"], r["n"]) for r in h.rows()] == [(0, 10), (10, 10), (20, 10)]
    oop_h = Harness(plan, SCHEMA, SCHEMA, punctuate=oop.ordered())
    push(oop_h, list(range(100)))
    assert held(oop_h) == {"Aggregate": 10}  # ten windows with one partial aggregate each


def test_a_heartbeat_advances_the_merge_in_a_lull():
    h = Harness(lambda a, b: a.union(b), SCHEMA, SCHEMA, punctuate=oop.punctuated(), order="iop")
    push(h, [1, 2, 3])
    h.promise(ts=5)
    assert held(h) == {"OrderedMerge": 3}
    h.promise(1, ts=3)  # no row came on it
    assert [r["ts"] for r in h.rows()] == [1, 2, 3]
    assert held(h) == {}


def test_synchronised_and_ordered_input_is_not_held():
    """Beyond what an operator needs: a window's groups, the rows of a sliding window, the band of a join."""
    h = Harness(lambda a, b: a.union(b), SCHEMA, SCHEMA, punctuate=oop.ordered(), order="iop")
    for at in range(50):
        push(h, [at])
        push(h, [at], port=1)
        assert held(h) == {}
    tumbling = Harness(
        lambda a: a.window(oop.tumbling(10)).group_by("k").agg(n=oop.count()),
        SCHEMA,
        punctuate=oop.ordered(),
        order="iop",
    )
    sliding = Harness(
        lambda a: a.window(oop.sliding(10, every=2)).agg(n=oop.count()), SCHEMA, punctuate=oop.ordered(), order="iop"
    )
    for at in range(50):
        push(tumbling, [at])
        push(sliding, [at])
        assert held(tumbling) == {"InOrder": 1}
        assert held(sliding)["BufferedAggregate"] <= 12
    join = Harness(lambda a, b: a.join(b, on="k", within=(0, 3)), SCHEMA, SCHEMA, punctuate=oop.ordered(), order="iop")
    for at in range(50):
        push(join, [at])
        push(join, [at], port=1)
        assert sum(held(join).values()) <= 4 + 5  # left rows that may meet one still, and right rows they may meet


def test_disorder_is_held_by_the_sort_at_the_input_alone():
    h = Harness(
        lambda a: a.filter(oop.col("k") == 1).window(oop.tumbling(10)).agg(n=oop.count()),
        SCHEMA,
        punctuate=oop.slack(5),
        order="iop",
    )
    push(h, [3, 1, 2, 9, 7])
    push(h, [8, 8, 8], k=2)  # filtered before it is sorted
    assert held(h) == {"InputSort": 2, "InOrder": 1}
    assert h.rows() == []


def test_what_order_excludes_is_refused():
    s = oop.source(pa.table({"ts": [1]}), time="ts", punctuate=oop.ordered(), late="admit")
    with pytest.raises(oop.SchemaMismatch, match="take no late rows") as raised:
        s.run(order="iop")
    assert "test_in_order.py" in str(raised.value)
    accounted = s.late("drop").window(oop.tumbling(5)).agg(late=oop.late())
    with pytest.raises(oop.SchemaMismatch, match="no account of late rows"):
        accounted.run(order="iop")
    with pytest.raises(ValueError, match="order is 'oop'"):
        s.run(order="sorted")
    with pytest.raises(ValueError, match="order is 'oop'"):
        s.explain(order="both")
    with pytest.raises(ValueError, match="run embedded"):
        s.late("drop").run(engine=oop.Spark(), order="iop")


def test_groups_alone_never_release_an_order():
    by_group = oop.source(pa.table({"ts": [1], "k": [1]}), time="ts", punctuate=oop.slack(3, by="k"))
    counts = by_group.window(oop.tumbling(5)).group_by("k").agg(n=oop.count())
    assert counts.run().to_table().num_rows == 1
    with pytest.raises(oop.NeverEmits):
        counts.run(order="iop")


def test_late_rows_are_the_same():
    rows = pa.table({"ts": [5, 9, 2, 14, 3, 30]})
    for order in ("oop", "iop"):
        run = oop.source(rows, time="ts", punctuate=oop.slack(4), name="s").window(oop.tumbling(5)).agg(n=oop.count())
        found = run.run(order=order)
        found.to_table()
        assert found.late["s"]["ts"].to_pylist() == [2, 3]


def test_explain_shows_the_buffers():
    a, b = (oop.source(pa.table({"ts": [1], "k": [1]}), time="ts", punctuate=oop.slack(5), name=name) for name in "ab")
    shown = a.union(b).window(oop.sliding(10, every=5)).agg(n=oop.count()).explain(order="iop")
    assert [line.strip(" │├└─").split("   ")[0] for line in shown.splitlines()] == [
        "BufferedAggregate n=count()",
        "Bucket sliding 10 every 5 on ts",
        "OrderedMerge of 2 on ts",
        "InputSort by ts",
        "Source a",
        "InputSort by ts",
        "Source b",
    ]
    assert "holds the rows of inputs that are ahead of the slowest" in shown


def test_metrics_name_the_in_order_operators():
    s = oop.source(pa.table({"ts": [1, 2]}), time="ts", punctuate=oop.ordered())
    run = s.window(oop.tumbling(5)).agg(n=oop.count()).run(order="iop")
    run.to_table()
    boxes: list[BoxMetrics] = list(run.metrics.boxes)
    assert any(box.name.startswith("in order: Aggregate") for box in boxes)


X = {"ts": oop.slack(10), "x": oop.slack(100.0)}


def floats(x: list[float | None], punctuate: Any = X, name: str = "a", size: int = 3) -> oop.Stream:
    rows = pa.table({"ts": list(range(len(x))), "x": x})
    batches = rows.to_batches(max_chunksize=size)
    return oop.source(lambda: iter(batches), time="ts", punctuate=punctuate, schema=rows.schema, name=name)


NO_NUMBERS = [[math.nan], [math.inf], [1.0, math.nan], [math.nan, 3.0, None, math.nan, 5.0, math.inf]]


@pytest.mark.parametrize("x", NO_NUMBERS)
@pytest.mark.parametrize("ordered", [False, True])
def test_rows_with_nan_and_infinity_leave_as_well(x: list[float | None], ordered: bool) -> None:
    policy = {"ts": oop.ordered(), "x": oop.ordered()} if ordered else X
    a, b = (floats(x, policy, name) for name in "ab")
    for plan in (
        a.group_by("x").agg(n=oop.count()),
        a.select("x").union(b.select("x")).dedup("x"),
        a.join(b, within=(-1.0, 1.0), times=("x", "x"), how="left"),
    ):
        expected, found = (bag(plan.run(order=order).to_table().to_pylist()) for order in ("oop", "iop"))
        assert found == expected


def test_infinity_says_nothing_about_order():
    """A policy looks at finite values alone: 3.0 is not late."""
    s = floats([math.inf, 3.0, 5.0], {"ts": oop.ordered(), "x": oop.ordered()}, size=1)
    found = s.group_by("x").agg(n=oop.count()).run(order="iop", engine=oop.Embedded(check=True)).to_table()
    assert found["x"].to_pylist() == [3.0, 5.0, math.inf]


def test_nan_of_one_input_does_not_let_the_others_leave():
    schema = pa.schema([("x", pa.float64())])
    merge = OrderedMerge(3, "x").start(Context([schema] * 3))

    def given(x: float, port: int) -> list[Row]:
        batch = pa.record_batch([pa.array([x])], schema=schema)
        return [row for b in merge.process_batch(batch, port) for row in b.to_pylist()]

    assert len(given(math.nan, 0)) == 1  # it has no place in the order
    list(merge.process_punctuation((oop.END,), 0))
    assert given(9.0, 1) == []  # the third input may bring an earlier one
    assert given(4.0, 2) == [{"x": 4.0}]


def test_an_input_that_has_come_to_infinity_is_saved_as_such():
    schema = pa.schema([("x", pa.float64())])
    merge, other = (OrderedMerge(2, "x").start(Context([schema] * 2)) for _ in range(2))
    rows = pa.record_batch([pa.array([math.inf])], schema=schema)
    assert list(merge.process_batch(rows, 0)) == []
    other.load(merge.save())
    found = [batch.num_rows for batch in other.process_batch(rows, 1)]
    assert sum(found) == 2 and other.buffered_rows == 0, "neither input has an earlier one"


@pytest.mark.parametrize("window", [oop.tumbling(10), oop.sliding(10, every=5), oop.session(10)])
def test_early_results_do_not_wait_for_an_order(window):
    plan = lambda s: s.window(window).agg(n=oop.count()).emit("on_change")  # noqa: E731
    h = Harness(plan, {"ts": "int64"}, punctuate=oop.ordered(), order="iop")
    h.push({"ts": [5, 6]})
    assert {r["emit"] for r in h.rows()} == {"partial"}


@pytest.mark.parametrize("how", ["inner", "left", "right"])
@pytest.mark.parametrize("near", [{"within": (-2, 3)}, {"window": oop.tumbling(4)}])
def test_a_join_promises_about_the_other_time_too(how, near):
    a, b = (
        oop.source(pa.table({"ts": t, "k": [1, 2, 1, 2, 1]}), time="ts", punctuate=oop.slack(5), name=name)
        for name, t in (("a", [1, 4, 3, 9, 20]), ("b", [2, 1, 5, 8, 21]))
    )
    other = "ts" if how == "right" else "ts_right"
    plan = a.join(b, on="k", how=how, **near).window(oop.tumbling(3), on=other).agg(n=oop.count())
    expected, found = (plan.run(order=o, engine=oop.Embedded(check=True)).to_table() for o in ("oop", "iop"))
    assert found.equals(expected)


def test_what_a_sort_holds_is_what_is_counted():
    """Kept by sums as rows come and go: batches that wait may be many."""
    runs = SortedRuns(pa.schema([("x", pa.float64()), ("k", pa.string())]), "x")
    rng = random.Random(3)
    for bound in [*range(60), math.inf]:
        x = [rng.choice([None, math.nan, bound + rng.random() * 9]) for _ in range(rng.randint(0, 6))]
        runs.add(pa.record_batch({"x": pa.array(x, pa.float64()), "k": pa.array(["k" * len(x)] * len(x), pa.string())}))
        runs.take_below(bound)
        assert runs.nbytes == sum(rows.nbytes for rows in runs.held())
    assert list(runs.take_valueless())
    assert (len(runs), runs.nbytes) == (0, 0)


def test_who_needs_the_same_order_shares_the_sort():
    s = oop.source(pa.table({"ts": [1], "k": [1]}), time="ts", punctuate=oop.slack(5))
    shown = s.join(s, on="k", within=(0, 2)).explain(order="iop")
    assert shown.count("InputSort by ts") == 2 and shown.count("(the same as above)") == 1
    assert shown.count("Source") == 1


BEHIND = {
    "a join that grows, union": lambda a, b: a.join(b, on="k", unbounded=True).union(a.join(b, on="k", unbounded=True)),
    "a join that grows, groups": lambda a, b: (
        a.join(b, on="k", unbounded=True).group_by("ts", "ts_right").agg(n=oop.count())
    ),
    "a join that grows, dedup": lambda a, b: a.join(b, on="k", unbounded=True).dedup(),
    "a Tumble without the time": lambda a, b: oop.union(
        *aurora.Tumble({"n": oop.count()}, ["k"])(a).split(oop.col("n") > 1)
    ),
    "a Tumble that names another so": lambda a, b: a.union(aurora.Tumble({"ts": oop.max("ts")}, ["k"])(b)),
    "promises about groups": lambda a, b: by_groups().union(a),
    "a promise about both sides": lambda a, b: (
        a.join(b.window(oop.tumbling(3)).group_by("k").agg(m=oop.count()), on="k", within=(-4, 0))
        .group_by("window_end", "ts")
        .agg(n=oop.count())
    ),
}


def by_groups() -> oop.Stream:
    rows = pa.table({"ts": [4, 1], "k": [1, 2]})
    return oop.source(rows, time="ts", punctuate=oop.slack(3, by="k"), name="groups")


@pytest.mark.parametrize("name", BEHIND)
def test_where_nothing_tells_an_order_rows_go_on_without(name):
    """A union needs none to answer; nor does what closes by promises about two attributes together."""
    a, b = (
        oop.source(pa.table({"ts": t, "k": [1, 2, 2, 1]}), time="ts", punctuate=oop.slack(5), name=s)
        for s, t in (("a", [1, 4, 3, 9]), ("b", [2, 1, 5, 8]))
    )
    plan = BEHIND[name](a, b)
    expected, found = (
        plan.run(order=o, engine=oop.Embedded(check=True)).to_table().to_pylist() for o in ("oop", "iop")
    )
    assert bag(found) == bag(expected) and found


@pytest.mark.parametrize("of", [oop.greatest, oop.least])
def test_the_order_of_a_time_is_not_that_of_two(of):
    """A bound on one may be a bound on the other; but rows in order of the one need not be in that of the other."""
    a, b = (
        oop.source(pa.table({"ts": t, "k": [1, 1, 1, 1]}), time="ts", punctuate=oop.ordered(), name=s)
        for s, t in (("a", [1, 2, 8, 9]), ("b", [2, 5, 6, 8]))
    )
    later = a.join(b, on="k", within=(-4, 4)).with_columns(t=of(oop.col("ts"), oop.col("ts_right")))
    for window in (oop.tumbling(2), oop.sliding(4, every=2), oop.session(1)):
        plan = later.window(window, on="t").agg(n=oop.count())
        expected, found = (plan.run(order=o, engine=oop.Embedded(check=True)).to_table() for o in ("oop", "iop"))
        assert found.equals(expected)


def test_a_join_that_has_ended_holds_no_keys():
    schema = {"ts": "int64", "k": "string"}
    plan = lambda a, b: a.join(b, on="k", within=(0, 3))  # noqa: E731
    h = Harness(plan, schema, schema, punctuate=oop.ordered(), order="iop")
    for port in (0, 1):
        h.push({"ts": [1, 2], "k": ["x", "y"]}, port=port)
    assert h.state_bytes
    h.end()
    assert len(h.rows()) == 2 and h.state_bytes == 0


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


def test_promises_about_groups_alone_are_refused_with_a_hint_that_helps():
    s = oop.source(pa.table({"ts": [1], "k": [1]}), time="ts", punctuate=oop.slack(1, by="k"))
    counts = s.window(oop.tumbling(10)).group_by("k").agg(n=oop.count())
    with pytest.raises(oop.NeverEmits, match='or run it with order="oop"'):
        counts.run(order="iop")
    assert counts.run().to_table().num_rows == 1
