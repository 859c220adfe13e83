"""Aurora's QoS timestamp: each result has the entry of the oldest row that it comes from."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import oop
from oop.operators.aggregate.shown import Shown
from oop.operators.passing.qos import ENTERED, least_in, steps_of
from oop.plan.final import final_plan
from oop.plan.latency import measured
from oop.testing import ManualClock
from tests.oop_.plan.plans import PLANS

Plan = Callable[..., oop.Stream]
WAIT = 100


def arrivals(clock: ManualClock, times: list[int], offset: int = 0) -> Iterator[pa.RecordBatch]:
    """A row each; the clock moves on before the next is given."""
    for ts in times:
        clock.advance(WAIT)
        yield pa.record_batch({"ts": [ts], "k": [ts % 2], "v": [offset + ts]})


def run(plan: Plan, times: list[int], order: str = "oop") -> Any:
    clock = ManualClock(0)
    schema = pa.schema([("ts", pa.int64()), ("k", pa.int64()), ("v", pa.int64())])
    source = oop.source(lambda: arrivals(clock, times), time="ts", punctuate=oop.ordered(), schema=schema)
    found = plan(source).run(engine=oop.Embedded(clock=clock, latency=True, threads=1), order=order)
    table = found.to_table()
    assert ENTERED not in table.schema.names
    return table, found.metrics.latency


@pytest.mark.parametrize("order", ["oop", "iop"])
def test_a_window_has_waited_since_its_first_row(order):
    table, latency = run(lambda s: s.window(oop.tumbling(10)).agg(n=oop.count()), [1, 3, 11], order)
    assert table.to_pylist() == [
        {"window_start": 0, "window_end": 10, "n": 2},
        {"window_start": 10, "window_end": 20, "n": 1},
    ]
    # the first row entered at 100 and the window left with the third, at 300; the other left when it had come
    assert (latency.rows, latency.greatest, latency.mean) == (2, 200, 100)


def test_what_passes_has_waited_for_nothing():
    _, latency = run(lambda s: s.filter(oop.col("ts") > 1).select("v"), [1, 2, 3])
    assert (latency.rows, latency.greatest) == (2, 0)


def test_a_pair_is_as_old_as_the_older_of_its_rows():
    join = lambda s: s.filter(oop.col("k") == 0).join(s.filter(oop.col("k") == 1), within=(1, 1))  # noqa: E731
    table, latency = run(join, [2, 3, 6])
    assert table.num_rows == 1 and latency.greatest == WAIT


@pytest.mark.parametrize("order", ["oop", "iop"])
@pytest.mark.parametrize(
    ("times", "oldest"),
    [
        ([3, 4, 20], 100),  # the right row was there before the left one
        ([1, 5, 4, 20], 200),  # it came behind two right ones, of which one entered at 100 and is not near
        ([5, 7, 6, 20], 100),  # it came behind two that are near
        ([4, 3, 5, 20], 100),  # it has met one when the next comes
    ],
)
def test_a_row_of_a_semi_join_is_as_old_as_the_oldest_that_it_comes_from(times, oldest, order):
    def plan(s):
        even = s.filter(oop.col("k") == 0)
        return even.filter(oop.col("ts") < 20).join(s.filter(oop.col("k") == 1), within=(-1, 1), how="semi")

    clock = ManualClock(0)
    schema = pa.schema([("ts", pa.int64()), ("k", pa.int64()), ("v", pa.int64())])
    source = oop.source(lambda: arrivals(clock, times), time="ts", punctuate=oop.slack(5), schema=schema)
    run = oop.Embedded(clock=clock, threads=1).run(measured(final_plan(plan(source).flow, order)).inputs[0].node)
    assert run.to_table()[ENTERED].to_pylist() == [oldest]


def test_a_row_that_goes_out_alone_has_its_own():
    join = lambda s: s.join(s.filter(oop.col("k") == 5), within=(0, 1), how="left")  # noqa: E731
    table, latency = run(join, [1, 2, 9])
    assert table.num_rows == 3 and (latency.rows, latency.greatest) == (3, 2 * WAIT)


@pytest.mark.parametrize("order", ["oop", "iop"])
@pytest.mark.parametrize("name", PLANS)
def test_every_plan_can_be_measured_and_answers_the_same(name, order):
    rows = pa.table(
        {
            "ts": [1, 2, 2, 5, 9, 14, 15, 15, 30, 31],
            "link": ["A", "B", None, "A", "A", "B", "C", "A", "B", "A"],
            "k": [1, 2, None, 1, 1, 2, 2, 1, 1, 2],
            "v": [5, 0, 3, None, 7, 5, 5, 1, 0, 2],
            "x": [0.5, 1.5, None, 2.0, 1.0, 0.25, 4.0, 2.5, 1.0, 3.0],
        }
    )
    sources = [oop.source(rows, time="ts", punctuate=oop.ordered(), name=n) for n in "ab"]
    plain, found = (
        PLANS[name](*sources).run(engine=oop.Embedded(latency=latency, check=True, threads=1), order=order)
        for latency in (False, True)
    )
    expected, answer = plain.to_table(), found.to_table()
    assert sorted(map(str, answer.to_pylist())) == sorted(map(str, expected.to_pylist()))
    assert answer.schema.equals(expected.schema)
    assert found.metrics.latency.rows == expected.num_rows and plain.metrics.latency is None
    assert str(found.metrics.latency).startswith(f"latency of {expected.num_rows} rows: mean ")


def test_a_timestamp_alone_is_no_news():
    shown = Shown(pa.schema({"k": pa.int64(), "n": pa.int64(), ENTERED: pa.int64()}), ["k"])
    assert shown.news(pa.record_batch({"k": [1], "n": [5], ENTERED: [9]})).num_rows == 1
    assert shown.news(pa.record_batch({"k": [1], "n": [5], ENTERED: [7]})).num_rows == 0


def test_a_column_of_that_name_is_refused():
    s = oop.source(pa.table({"ts": [1], ENTERED: [2]}), time="ts", punctuate=oop.ordered())
    with pytest.raises(oop.SchemaMismatch, match=f"may not be called {ENTERED}"):
        measured(final_plan(s.flow))


def test_steps_cover_everything():
    powers = 2 ** np.arange(3, 53)  # of microseconds: some 140 years
    values = np.concatenate([np.arange(5_000), powers, powers - 1])
    steps = steps_of(values)
    assert all(least_in(s) <= v < least_in(s + 1) for v, s in zip(values.tolist(), steps.tolist(), strict=True))


@pytest.mark.parametrize(
    "plan",
    [
        lambda s: s.select("ts", **{ENTERED: oop.col("v")}),
        lambda s: s.number(ENTERED),
        lambda s: s.window(oop.tumbling(5)).agg(**{ENTERED: oop.count()}),
        lambda s: s.with_columns(**{ENTERED + "_right": oop.col("v")}).join(s, within=(0, 1)),
    ],
)
def test_a_column_of_that_name_made_on_the_way_is_refused(plan):
    s = oop.source(pa.table({"ts": [1], "v": [2]}), time="ts", punctuate=oop.ordered())
    with pytest.raises(oop.SchemaMismatch, match=f"may not be called {ENTERED}") as raised:
        plan(s).run(engine=oop.Embedded(latency=True))
    assert "test_latency.py" in str(raised.value)


@pytest.mark.parametrize("order", ["oop", "iop"])
@pytest.mark.parametrize("left", [1, 3])
def test_a_resampled_row_is_as_old_as_the_older_of_its_two_sides(left, order):
    near = oop.col("ts") == left

    def plan(s):
        return s.filter(near | (oop.col("ts") > 3)).resample(s.filter(~near), within=5, n=oop.count())

    table, latency = run(plan, [1, 3, 20, 40], order)
    assert table.to_pylist()[0] == {"ts": left, "n": 1}
    assert latency.greatest == 2 * WAIT, "the first row entered at 100, and the third, at 300, concludes the result"


def test_a_resampled_row_that_none_is_near_to_is_as_old_as_its_left_row():
    beats, reports = (
        oop.source(pa.table({"t": times}), time="t", punctuate=oop.at_end()) for times in ([10, 20], [11, 40])
    )
    run = beats.resample(reports, within=3, n=oop.count()).run(oop.Embedded(latency=True))
    assert run.to_table().to_pylist() == [{"t": 10, "n": 1}, {"t": 20, "n": 0}]
    assert run.metrics.latency.rows == 2
