"""What a row and a promise cost goes by what they change, not by how many groups there are: steps are counted after n
groups and after 4 n."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pyarrow as pa
import pytest

import oop
from oop import col
from oop.operators.aggregate.operator import AggregateOperator
from oop.operators.core.coverage import covered
from oop.punctuation import Frontier
from tests.steps import Steps

SCHEMA = pa.schema({"ts": pa.int64(), "k": pa.string(), "j": pa.int64(), "v": pa.int64()})
GROUPS = 60
ROUNDS = 4
SLACK = 1.15  # arrays that grow, and searches by halves, cost a little more


def rows(time: int, groups: range) -> pa.RecordBatch:
    columns = [[time] * len(groups), [f"g{g}" for g in groups], [g % 3 for g in groups], [1] * len(groups)]
    return pa.RecordBatch.from_arrays(
        [pa.array(c, f.type) for c, f in zip(columns, SCHEMA, strict=True)], schema=SCHEMA
    )


def promise(bound: int, group: int, by: str) -> oop.Punctuation:
    return oop.Punctuation({"ts": bound}, {"k": f"g{group}", "j": group % 3} if by == "k, j" else {"k": f"g{group}"})


def elements(count: int, by: str, size: int, rest: bool, steps: Steps) -> Iterator[pa.RecordBatch | oop.Punctuation]:
    """Many groups, and then some rounds that are counted: a batch with rows of new groups and promises about these, a
    promise about one of the old ones and, with the ``rest``, one about all rows that covers none of them."""
    yield rows(10, range(count))
    for group in range(count):
        yield promise(40 if group % 2 else 5, group, by)
    for i in range(2 * ROUNDS):
        if i == ROUNDS:
            steps.start()
        here = range(count + i * size, count + (i + 1) * size)
        yield rows(100 + i, here)
        for group in here:
            yield promise(50 + i, group, by)
        yield promise(60 + i, i, by)
        if rest:
            yield oop.Punctuation({"ts": 10 * i - 200})
    steps.stop()


def other(count: int, by: str) -> oop.Stream:
    """Beside them a stream that is further, with bounds of the same groups."""
    said = [promise(300, group, by) for group in range(count + 100)]
    return oop.source([*said, rows(400, range(3))], time="ts", schema=SCHEMA, punctuate=oop.punctuated())


Plan = Callable[[oop.Stream, int, str], oop.Stream]
PLANS: dict[str, Plan] = {
    "tumbling": lambda s, n, by: s.window(oop.tumbling(10)).group_by("k", "j").agg(n=oop.count()),
    "sliding": lambda s, n, by: s.window(oop.sliding(20, 5)).group_by("k", "j").agg(n=oop.count()),
    "all groups": lambda s, n, by: s.window(oop.tumbling(10)).agg(n=oop.count()),
    "filter": lambda s, n, by: s.filter(col("v") > 0).window(oop.tumbling(10)).group_by("k", "j").agg(n=oop.count()),
    "one group": lambda s, n, by: s.filter(col("k") == "g1").window(oop.tumbling(10)).agg(n=oop.count()),
    "split": lambda s, n, by: s.split(col("v") > 0)[0],
    "select": lambda s, n, by: s.select(t=col("ts") + 1, k=col("k"), j=col("j")),
    "drop": lambda s, n, by: s.select("ts", "v"),
    "sort": lambda s, n, by: s.sort(),
    "group by": lambda s, n, by: s.group_by("k", "j", "ts").agg(n=oop.count()),
    "dedup": lambda s, n, by: s.dedup("k", "j", "ts"),
    "dedup within": lambda s, n, by: s.dedup("k", "j", within=5),
}
WITHOUT_REST: dict[str, Plan] = {
    "session": lambda s, n, by: s.window(oop.session(10)).group_by("k", "j").agg(n=oop.count()),
    "join": lambda s, n, by: s.join(other(n, by), on=["k", "j"], within=(-5, 5)),
    "union": lambda s, n, by: s.union(other(n, by)).window(oop.tumbling(10)).group_by("k", "j").agg(n=oop.count()),
}


def taken(plan: Plan, count: int, by: str, size: int, rest: bool = True) -> int:
    steps = Steps()
    source = oop.source(
        elements(count, by, size, rest, steps), time="ts", schema=SCHEMA, punctuate=oop.punctuated(), late="drop"
    )
    try:
        for _ in plan(source, count, by).run(engine=oop.Embedded(threads=1)).elements():
            pass
    finally:
        steps.stop()
    assert steps.taken > 1_000
    return steps.taken


@pytest.mark.parametrize(("by", "size"), [("k", 1), ("k, j", 5)])
@pytest.mark.parametrize("name", PLANS)
def test_a_round_costs_the_same_after_four_times_as_many_groups(name: str, by: str, size: int) -> None:
    few, many = (taken(PLANS[name], count, by, size) for count in (GROUPS, 4 * GROUPS))
    assert many <= SLACK * few


@pytest.mark.parametrize("by", ["k", "k, j"])
@pytest.mark.parametrize("name", WITHOUT_REST)
def test_so_it_does_where_one_about_all_rows_would_move_every_group(name: str, by: str) -> None:
    """What a promise about all rows changes there are the promises about all groups."""
    few, many = (taken(WITHOUT_REST[name], count, by, 1, rest=False) for count in (GROUPS, 4 * GROUPS))
    assert many <= SLACK * few


@pytest.mark.parametrize(("name", "by"), [("tumbling", "k"), ("sliding", "k, j")])
def test_windows_of_other_groups_are_not_looked_at(name: str, by: str) -> None:
    """Each batch has a row of a new group in a window of its own, which stays open. A promise about it, and one about
    an old group that lets its window go, cost the same however many are open."""

    def come(count: int, steps: Steps) -> Iterator[pa.RecordBatch | oop.Punctuation]:
        for i in range(count + ROUNDS):
            if i == count:
                steps.start()
            yield rows(10 * i, range(i, i + 1))
            yield promise(10 * i - 5, i, by)
            yield promise(10 * i + 50, i // 2, by)
        steps.stop()

    def taken_after(count: int) -> int:
        steps = Steps()
        source = oop.source(come(count, steps), time="ts", schema=SCHEMA, punctuate=oop.punctuated())
        try:
            for _ in PLANS[name](source, count, by).run(engine=oop.Embedded(threads=1)).elements():
                pass
        finally:
            steps.stop()
        assert steps.taken > 1_000
        return steps.taken

    assert taken_after(4 * GROUPS) <= SLACK * taken_after(GROUPS)


@pytest.mark.parametrize("joint", [False, True])
def test_what_two_streams_promise_about_groups_of_two_columns_meets_by_group(joint: bool) -> None:
    def met(count: int) -> int:
        def said(bound: int) -> Frontier:
            bounds = {"ts": bound, "v": bound} if joint else {"ts": bound}
            where = [{"k": f"g{g}", "j": g % 3} for g in range(count)]
            return Frontier.of(oop.Punctuation({"ts": 1}), *(oop.Punctuation(bounds, groups) for groups in where))

        ours, theirs = said(9), said(7)
        with Steps() as steps:
            assert Frontier.meet([ours, theirs]) == theirs
        return steps.taken

    assert met(4 * GROUPS) <= 4 * SLACK * met(GROUPS)


def test_what_rows_of_few_groups_cost_does_not_go_by_what_is_promised() -> None:
    """A guard asks about the groups that a batch has, also where many promises are, and rows that break one."""

    def asked(groups: int, by: str) -> int:
        frontier = Frontier.of(*(promise(50, group, by) for group in range(groups)))
        with Steps() as steps:
            assert covered(frontier, rows(10, range(3))).all()
        return steps.taken

    for by in ("k", "k, j"):
        assert asked(4 * GROUPS, by) == asked(GROUPS, by)


def test_late_rows_of_many_groups_are_linear() -> None:
    """Each broke the promise about its own group, and all are looked at together."""

    def judged(groups: int) -> int:
        said = [promise(50, group, "k") for group in range(groups)]
        late = [rows(10, range(groups)), oop.Punctuation({"ts": 100})]
        stream = oop.source([*said, *late], time="ts", schema=SCHEMA, punctuate=oop.punctuated(), late="drop")
        with Steps() as steps:
            run = stream.run()
            assert run.to_table().num_rows == 0
        assert run.late.to_table()["broke"].to_pylist() == [f"ts < 50, k = 'g{g}'" for g in range(groups)]
        return steps.taken

    assert judged(4 * GROUPS) <= 4 * SLACK * judged(GROUPS)


def test_joint_promises_in_a_staircase_are_linear() -> None:
    """Each is new, and none implies another: only a search finds that out cheaply."""

    def advanced(corners: int) -> int:
        frontier = Frontier()
        with Steps() as steps:
            for i in range(corners):
                assert frontier.advance(oop.Punctuation({"ts": i, "v": corners - i}))
                assert covered(frontier, rows(i + 1, range(1))).sum() == 0
        return steps.taken

    assert advanced(4 * GROUPS) <= 4 * SLACK * advanced(GROUPS)


def test_windows_forget_groups_that_nobody_speaks_of() -> None:
    """Groups come and go: what is known of how far promises reach is bounded by those that there are, and counted."""

    def come_and_go() -> Iterator[pa.RecordBatch | oop.Punctuation]:
        for i in range(900):
            yield rows(i, range(i, i + 1))
            yield promise(i + 5, i, "k")
            if i % 20 == 0:
                yield oop.Punctuation({"ts": i - 100})

    stream = oop.source(come_and_go(), time="ts", schema=SCHEMA, punctuate=oop.punctuated())
    run = stream.window(oop.tumbling(10)).group_by("k").agg(n=oop.count()).run(engine=oop.Embedded(threads=1))
    windows = next(b.operator for b in run._boxes if isinstance(b.operator, AggregateOperator))
    most = 0
    for _ in run:
        most = max(most, len(windows.reach.table))
        if windows.reach.columns is not None:
            assert windows.state_bytes >= windows.reach.nbytes > 0
    assert 0 < most < 450
    assert windows.state_bytes == 0
