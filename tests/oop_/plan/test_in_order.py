"""`run(order="iop")` gives every plan the answer that it has out of order, in order; or the plan is refused."""

from __future__ import annotations

import random
from typing import Any

import pyarrow as pa
import pytest

import oop
from oop import aurora
from oop.engines.metrics import BoxMetrics
from oop.operators.aggregate import window_tables
from oop.operators.in_order import join_operator as in_order_join_operator
from oop.testing import Harness
from tests.oop_.plan.plans import PLANS, SCHEMA, UNORDERED, Plan, Row, bag, push
from tests.operators import fuzz


def answer(
    plan: Plan, streams: list[list[Any]], time: pa.DataType, order: str, policy: Any, check: bool = True
) -> list[Row]:
    sources = [
        oop.source(lambda e=e: iter(e), time="ts", punctuate=policy, schema=fuzz.schema_of(time), name=f"s{i}")
        for i, e in enumerate(streams)
    ]
    stream = plan(*sources)
    found = stream.run(order=order, engine=oop.Embedded(check=check, threads=1)).to_table()
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
        found = answer(PLANS[name], streams, time, "iop", policy, check=False)  # boxes may be programs now
        assert bag(found) == bag(expected), f"seed {seed}, {policy}, as programs"


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


def test_promises_about_groups_alone_are_refused_with_a_hint_that_helps():
    s = oop.source(pa.table({"ts": [1], "k": [1]}), time="ts", punctuate=oop.slack(1, by="k"))
    counts = s.window(oop.tumbling(10)).group_by("k").agg(n=oop.count())
    with pytest.raises(oop.NeverEmits, match='or run it with order="oop"'):
        counts.run(order="iop")
    assert counts.run().to_table().num_rows == 1
