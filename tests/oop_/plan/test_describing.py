"""Which plans get a Describe, what it drops, and that nothing else changes."""

from __future__ import annotations

import re
from collections.abc import Callable

import pyarrow as pa
import pytest

import oop
from oop.operators.passing.describe import Describe
from oop.plan.describing import described
from oop.plan.final import final_plan
from oop.plan.graph import interests, walk
from oop.testing import Harness

ROWS = pa.table({"ts": [1], "ts_right": [1], "link": ["A"], "proto": ["tcp"]})
SCHEMA = {"ts": "int64", "ts_right": "int64", "link": "string", "proto": "string"}
LINEAR = oop.ordered()
BY_LINK = oop.ordered(by="link", groups=["A", "B"])
BOTH = oop.punctuated(on=["ts", "ts_right"])
LATER = oop.greatest(oop.col("ts"), oop.col("ts_right"))


def source(policy: oop.Policy, name: str = "s") -> oop.Stream:
    return oop.source(ROWS, time="ts", punctuate=policy, name=name)


def per_link(s: oop.Stream) -> oop.Stream:
    return s.window(oop.tumbling(10)).group_by("link").agg(n=oop.count())


def second(s: oop.Stream) -> oop.Stream:
    return per_link(s).window(oop.tumbling(60)).agg(n=oop.sum("n"))


def both_levels(s: oop.Stream) -> oop.Stream:
    """One result that is used by link and for all links together."""
    links = per_link(s)
    fine = links.window(oop.tumbling(60)).group_by("link").agg(n=oop.sum("n"))
    return fine.union(links.window(oop.tumbling(60)).agg(n=oop.sum("n")).with_columns(link=oop.lit("all")))


def in_plan(stream: oop.Stream) -> list[str]:
    return [node.spec.describe() for node in walk(final_plan(stream.flow)) if isinstance(node.spec, Describe)]


@pytest.mark.parametrize(
    ("pipeline", "policy"),
    [
        (lambda s: s, BY_LINK),
        (lambda s: s.window(oop.tumbling(10)).agg(n=oop.count()), LINEAR),
        (lambda s: s.window(oop.tumbling(10)).agg(n=oop.count()), BY_LINK),  # the source's gate does it
        (lambda s: s.filter(oop.col("link") == "A").window(oop.tumbling(10)).agg(n=oop.count()), BY_LINK),
        (per_link, BY_LINK),
        (second, LINEAR),
        (second, oop.punctuated()),
        (lambda s: per_link(s).window(oop.tumbling(60)).group_by("link").agg(n=oop.sum("n")), BY_LINK),
        (lambda s: per_link(s).union(per_link(s)), BY_LINK),
        (lambda s: s.group_by("ts", "ts_right").agg(n=oop.count()), BOTH),
        (lambda s: s.window(oop.tumbling(10)).agg(n=oop.count()), BOTH),
        (lambda s: s.select(t=LATER).window(oop.tumbling(10), on="t").agg(n=oop.count()), BOTH),
    ],
)
def test_a_plan_that_promises_what_is_asked_stays_as_it_is(
    pipeline: Callable[[oop.Stream], oop.Stream], policy: oop.Policy
) -> None:
    stream = pipeline(source(policy))
    assert in_plan(stream) == []
    assert final_plan(stream.flow) is stream.flow.node


@pytest.mark.parametrize(
    ("pipeline", "policy", "found"),
    [
        (second, BY_LINK, ["Describe window_start"]),
        (second, oop.slack(5, by="link"), ["Describe window_start"]),
        (second, oop.punctuated(by="link"), ["Describe window_start"]),
        (both_levels, BY_LINK, ["Describe wid"]),
        (
            lambda s: s.group_by("ts", "ts_right").agg(n=oop.count()).window(oop.tumbling(10)).agg(n=oop.sum("n")),
            BOTH,
            ["Describe ts"],
        ),
        (
            lambda s: s.with_columns(t=LATER).window(oop.tumbling(10), on="t").group_by("link").agg(n=oop.count()),
            BOTH,
            ["Describe t by link"],
        ),
    ],
)
def test_a_plan_that_promises_more_finely_gets_a_describe(
    pipeline: Callable[[oop.Stream], oop.Stream], policy: oop.Policy, found: list[str]
) -> None:
    stream = pipeline(source(policy))
    assert in_plan(stream) == found


def test_windows_far_longer_than_a_unit_are_seen_through() -> None:
    table = pa.table({"ts": pa.array([1], pa.timestamp("ns")), "link": ["A"]})
    s = oop.source(table, time="ts", punctuate=oop.ordered(by="link", groups=["A"]))
    first = s.window(oop.tumbling("1d")).group_by("link").agg(n=oop.count())
    assert in_plan(first.window(oop.tumbling("7d")).agg(n=oop.sum("n"))) == ["Describe window_start"]


def test_the_describe_of_a_shared_node_is_one_node_and_sources_stay_the_same() -> None:
    links = per_link(source(BY_LINK))
    totals = [links.window(oop.tumbling(n)).agg(n=oop.sum("n")) for n in (20, 60)]
    stream = totals[0].union(totals[1])
    plan = walk(final_plan(stream.flow))
    (describe,) = [n for n in plan if isinstance(n.spec, Describe)]
    assert sum(e.node is describe for n in plan for e in n.inputs) == 2
    assert plan[0] is walk(stream.flow.node)[0]


def test_describing_twice_changes_nothing() -> None:
    plan = final_plan(second(source(BY_LINK)).flow)
    assert described(plan) is plan


def test_routes_of_a_split_behind_a_describe() -> None:
    many, few = per_link(source(BY_LINK)).split(oop.col("n") > 1)
    stream = many.window(oop.tumbling(60)).agg(n=oop.sum("n")).union(few.window(oop.tumbling(60)).agg(n=oop.sum("n")))
    assert in_plan(stream) == ["Describe window_start"]
    assert stream.run().to_table().to_pylist() == [{"window_start": 0, "window_end": 60, "n": 1}]


def test_many_diamonds_on_top_of_each_other_do_not_ask_without_end() -> None:
    stream = source(BY_LINK)
    for _ in range(12):
        stream = stream.union(stream.with_columns(ts=oop.col("ts") + 1))
    asked = interests(final_plan(stream.flow))
    assert max(map(len, asked.values())) <= 16
    assert second(stream).run().to_table().column("n").to_pylist() == [4096]


def test_explain_shows_it() -> None:
    lines = second(source(BY_LINK)).explain().split("\n")
    assert [re.split(r"\s{2,}", line.strip(" └─"))[:2] for line in lines] == [
        ["Aggregate n=sum(n)", "emits a window when wid < W is promised"],
        ["Bucket tumbling 60 on window_start", "window_start < t becomes wid < W(t)"],
        ["Describe window_start", "promises are rolled up to what helps"],
        ["Aggregate n=count() by link", "emits a window when wid < W is promised"],
        ["Bucket tumbling 10 on ts", "ts < t becomes wid < W(t)"],
        ["Source s", "ordered by link"],
    ]


def test_behind_it_there_is_one_promise_a_step() -> None:
    h = Harness(second, SCHEMA, punctuate=oop.punctuated(by="link"))
    for bound in range(0, 200, 10):
        for link in ("A", oop.not_in("A")):
            h.promise(where={"link": link}, ts=bound)
    (describe,) = [b for b in h.run._boxes if isinstance(b.node.spec, Describe)]
    assert describe.promises_in == 40  # of each group and bound one: nobody asked about window_end
    assert describe.promises_out == 4  # the first, and at 60, 120, 180
    assert [p.below["window_start"] for p in h.promises() if "window_start" in p.below] == [0, 60, 120, 180]


def test_a_source_drops_joint_and_group_wise_promises_that_help_nobody() -> None:
    h = Harness(lambda s: s.window(oop.tumbling(10)).agg(n=oop.count()), SCHEMA)
    gate = h.sources[0].operator.gate
    h.promise(ts=30, ts_right=20)
    h.promise(where={"link": "A"}, ts=50)
    assert list(gate.passed.promises()) == []
    h.promise(where={"link": oop.not_in("A")}, ts=40)
    assert list(gate.passed.promises()) == [oop.Punctuation({"ts": 40})]
    assert h.frontier.bound("window_start") == 40


def test_a_filter_asks_for_the_groups_that_it_fixes() -> None:
    h = Harness(lambda s: s.filter(oop.col("link") == "A").window(oop.tumbling(10)).agg(n=oop.count()), SCHEMA)
    h.promise(where={"link": "A"}, ts=50)
    h.promise(where={"proto": "tcp"}, ts=70)
    assert h.frontier.bound("window_start") == 50
    assert list(h.sources[0].operator.gate.passed.promises()) == [oop.Punctuation({"ts": 50}, {"link": "A"})]


def test_a_projection_maps_the_names_that_are_asked_for() -> None:
    def pipeline(s: oop.Stream) -> oop.Stream:
        renamed = s.select("proto", wire="link", minute=oop.col("ts") // 60)
        return renamed.window(oop.tumbling(10), on="minute").group_by("wire").agg(n=oop.count())

    h = Harness(pipeline, SCHEMA)
    for seconds in range(0, 2000, 100):
        h.promise(where={"link": "A"}, ts=seconds)
        h.promise(where={"proto": "tcp"}, ts=seconds)
    passed = h.sources[0].operator.gate.passed
    assert h.sources[0].promises_out == 4  # at 0, 600, 1200, 1800: a window is ten minutes
    assert list(passed.promises()) == [oop.Punctuation({"ts": 1800}, {"link": "A"})]


def test_a_group_by_uses_joint_promises() -> None:
    h = Harness(lambda s: s.group_by("ts", "ts_right").agg(n=oop.count()), SCHEMA, punctuate=BOTH)
    h.push({"ts": [1, 9], "ts_right": [2, 2], "link": ["A", "A"], "proto": ["tcp", "tcp"]})
    h.promise(ts=5, ts_right=5)
    assert h.rows() == [{"ts": 1, "ts_right": 2, "n": 1}]


def test_a_window_on_the_greatest_of_two_times_goes_out_by_joint_promises() -> None:
    h = Harness(
        lambda s: s.with_columns(t=LATER).window(oop.tumbling(10), on="t").agg(n=oop.count()), SCHEMA, punctuate=BOTH
    )
    h.push({"ts": [1, 9], "ts_right": [2, 12], "link": ["A", "A"], "proto": ["tcp", "tcp"]})
    h.promise(ts=10, ts_right=11)
    assert h.rows() == [{"window_start": 0, "window_end": 10, "n": 1}]


def test_by_hand() -> None:
    h = Harness(lambda s: s.describe("ts", by="link"), SCHEMA)
    h.promise(ts=5, ts_right=7)
    h.promise(ts_right=7)
    h.promise(where={"link": "A"}, ts=9)
    h.promise(where={"proto": "tcp"}, ts=9)
    h.promise(where={"proto": oop.not_in("tcp")}, ts=8)
    h.end()
    assert h.promises() == [oop.Punctuation({"ts": 9}, {"link": "A"}), oop.Punctuation({"ts": 8}), oop.END]


def test_by_hand_in_steps_of_a_duration() -> None:
    table = pa.table({"ts": pa.array([0, 59, 60, 130], pa.timestamp("s"))})
    s = oop.source(table.to_batches(max_chunksize=1), time="ts", punctuate=oop.ordered()).describe(every="1min")
    assert s.explain().startswith("Describe ts every 1min")
    assert [e.below.get("ts") for e in s.run().elements() if isinstance(e, oop.Punctuation)] == [0, 60, 130, None]


@pytest.mark.parametrize(
    ("make", "error", "says"),
    [
        (lambda s: s.describe("tss"), oop.UnknownColumn, "did you mean 'ts'"),
        (lambda s: s.describe("ts", by="lnk"), oop.UnknownColumn, "link"),
        (lambda s: s.describe("link"), oop.SchemaMismatch, "must be an integer, float, date or timestamp"),
        (lambda s: s.select("link").describe(), oop.SchemaMismatch, "no one time"),
        (lambda s: s.describe("ts", every=0), ValueError, "greater than 0"),
        (lambda s: s.describe("ts", every="1s"), ValueError, "1s"),
    ],
)
def test_what_cannot_be_described(make: Callable[[oop.Stream], oop.Stream], error: type[Exception], says: str) -> None:
    with pytest.raises(error, match=says):
        make(source(LINEAR))
