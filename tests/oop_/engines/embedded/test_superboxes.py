"""Superboxes: whatever runs as one program answers as the boxes do one by one, late rows, promises and counts too."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import oop
from oop.engines.embedded import lanes
from oop.engines.embedded.superbox import RunningSuperbox
from oop.operators.source.operator import InputOperator
from oop.plan.final import lower
from oop.plan.superboxes import superboxes
from oop.testing.laws import bag
from tests.oop_.engines.embedded.drawn_pipelines import drawn_cut_pipeline, drawn_pipeline, drawn_stream
from tests.operators.fuzz import CASES

BOXES = oop.RoundRobin()
"""A scheduler that lets each box run by itself."""
col = oop.col


@pytest.fixture(params=["native", "jit", "reference"])
def kernels(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv("OOP_KERNELS", request.param)
    return str(request.param)


def outcome(stream: oop.Stream, **options: Any) -> dict[str, Any]:
    """All that a run tells: rows, late rows, what was promised in the end, and what each box counted; or the error."""
    run = stream.run(oop.Embedded(**options))
    found: dict[str, Any] = {}
    try:
        found["rows"] = bag(run.to_table().to_pylist())
    except (oop.OopError, ArithmeticError) as wrong:
        found["error"] = type(wrong).__name__, str(wrong)
    found["late"] = bag(run.late.to_table().to_pylist())
    if "error" not in found:
        boxes = run.metrics.boxes
        found["counts"] = [(box.name, box.rows_in, box.rows_out, box.frontier, box.buffered_rows) for box in boxes]
        found["batches in"] = boxes[0].batches_in, boxes[0].promises_in
    return found


def assert_same_as_boxes(stream: oop.Stream, threads: int = 1) -> dict[str, Any]:
    wanted = outcome(stream, threads=1, scheduler=BOXES)
    found = outcome(stream, threads=threads)
    assert found == wanted
    return found


def is_one_program(stream: oop.Stream) -> bool:
    return superboxes(lower(stream.flow, oop.Embedded()))[0].has_state


@pytest.fixture
def taken(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The rows of each train that a program took."""
    rows: list[int] = []
    take = RunningSuperbox.take

    def counting(superbox: RunningSuperbox, train: Any) -> int | None:
        found = take(superbox, train)
        rows.append(found or 0)
        return found

    monkeypatch.setattr(RunningSuperbox, "take", counting)
    return rows


@pytest.mark.parametrize(("threads", "rows_at_once"), [(1, 0), (2, 1), (3, 1), (2, lanes.PARALLEL_ROWS)])
def test_drawn_pipelines(kernels: str, threads: int, rows_at_once: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Lanes judge small trains at once, too, or one lane judges for all."""
    monkeypatch.setattr(lanes, "PARALLEL_ROWS", rows_at_once)
    ran = rows = late = errors = 0
    for seed in range(CASES):
        stream, rng = drawn_stream(seed)
        counts = drawn_pipeline(rng, stream)
        if not is_one_program(counts):
            continue
        found = assert_same_as_boxes(counts, threads)
        ran += 1
        rows += len(found.get("rows", ()))
        late += len(found["late"])
        errors += "error" in found
    assert ran > CASES // 2 and rows > 3 * CASES and late > CASES // 2 and errors, (ran, rows, late, errors)


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("before", [0, 512, 2048, 4096])
def test_a_promise_in_front_of_an_odd_chunk_counts(kernels: str, before: int, threads: int) -> None:
    """The chunk comes back before the promise at its first row was taken."""
    schema = pa.schema({"ts": pa.int64(), "v": pa.int64()})
    odd = pa.record_batch({"ts": pa.array([5, 9, 12, None], pa.int64()), "v": [1] * 4}, schema=schema)
    rows = pa.record_batch({"ts": [12] * before, "v": [1] * before}, schema=schema)
    for elements in ([rows, oop.Punctuation({"ts": 11}), odd], [oop.Punctuation({"ts": 11}), rows, odd]):
        stream = oop.source(elements, time="ts", punctuate=oop.punctuated(), schema=schema, nulls="aside", name="it")
        counts = stream.filter(col("v") > 0).window(oop.tumbling(10)).group_by("v").agg(n=oop.count())
        assert is_one_program(counts)
        found = assert_same_as_boxes(counts, threads)
        assert len(found["late"]) == 3, found


def test_a_join_of_a_stream_with_itself_holds_no_train() -> None:
    """A program would put a whole train into both of its queues."""
    elements: list[Any] = []
    for i in range(100):
        ts = np.arange(10 * i, 10 * i + 10).repeat(10)
        elements += [numbers(ts, k=np.arange(100) % 7, v=np.ones(100, int)), oop.Punctuation({"ts": 10 * i + 10})]
    stream = oop.source(elements, time="ts", punctuate=oop.punctuated(), name="it").filter(col("v") > 0)
    pairs = stream.join(stream.select("ts", "k", z=col("v")), on=["k"], within=(-2, 3))
    run = pairs.run(oop.Embedded(threads=1))
    run.to_table()
    wanted = pairs.run(oop.Embedded(threads=1, scheduler=BOXES))
    wanted.to_table()
    assert run.metrics.box("Join").peak_buffered_rows <= 2 * wanted.metrics.box("Join").peak_buffered_rows < 1_000
    assert "several operators read it" in pairs.explain(engine=oop.Embedded())


def test_drawn_pipelines_that_are_cut(kernels: str) -> None:
    handed_out = inside = rows = errors = 0
    for seed in range(CASES):
        stream, rng = drawn_stream(seed)
        found = drawn_cut_pipeline(rng, stream)
        boxes = superboxes(lower(found.flow, oop.Embedded()))
        handed_out += any(one.rows is not None for one in boxes)
        inside += any(one.has_state and not one.nodes[0].is_source for one in boxes)
        told = assert_same_as_boxes(found, rng.choice([1, 1, 2]))
        rows += len(told.get("rows", ()))
        errors += "error" in told
    assert handed_out > CASES // 3 and inside > CASES // 8 and rows > 3 * CASES and errors, (handed_out, inside, rows)


def per_key(batches: Any, schema: pa.Schema | None = None, **options: Any) -> oop.Stream:
    options = {"punctuate": oop.slack(5), "name": "it", **options}
    stream = oop.source(batches, time="ts", schema=schema, **options)
    return stream.filter(col("v") >= 0).window(oop.tumbling(10)).group_by("k").agg(n=oop.count(), s=oop.sum("v"))


def numbers(times: Any, k: Any = 1, v: Any = 2) -> pa.RecordBatch:
    times = np.asarray(times)
    columns = {"k": np.broadcast_to(k, len(times)), "v": np.broadcast_to(v, len(times))}
    return pa.record_batch({"ts": times, **{n: np.ascontiguousarray(c) for n, c in columns.items()}})


def test_a_train_passes_no_box(monkeypatch: pytest.MonkeyPatch, taken: list[int]) -> None:
    def fails(*_: object) -> None:
        raise AssertionError("rows went from box to box")

    monkeypatch.setattr(InputOperator, "process_batch", fails)
    batches = [numbers(np.arange(i, i + 100), k=np.arange(100) % 3) for i in range(0, 1_000, 100)]
    table = per_key(batches).run(oop.Embedded(threads=1)).to_table()
    assert sum(table["n"].to_pylist()) == 1_000
    assert taken[0] == 1_000


def test_promises_on_the_way_close_their_windows_in_turn() -> None:
    """The rows of a train have overtaken them; what leaves is the same."""
    elements = [e for i in range(5) for e in (numbers([10 * i, 10 * i + 3]), oop.Punctuation({"ts": 10 * i + 5}))]
    counts = per_key(elements, punctuate=oop.punctuated())
    shown = [
        str(e) if isinstance(e, oop.Punctuation) else e["window_start"].to_pylist() for e in counts.run().elements()
    ]
    one_by_one = per_key(lambda: iter(elements), elements[0].schema, punctuate=oop.punctuated())
    assert shown == [
        str(e) if isinstance(e, oop.Punctuation) else e["window_start"].to_pylist() for e in one_by_one.run().elements()
    ]
    assert [0] in shown and [30] in shown


def test_rows_that_are_spread_thinly_widen_slices(kernels: str, taken: list[int]) -> None:
    times = np.arange(0, 40_000, 7)
    batches = [numbers(times[i : i + 900], k=np.arange(len(times[i : i + 900])) % 2) for i in range(0, len(times), 900)]
    assert_same_as_boxes(per_key(batches, punctuate=oop.at_end()))
    assert sum(taken) >= len(times)


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize(
    "odd",
    [
        numbers([31, 32], v=2**63 - 1),  # the sum does not fit, but that is known at the end alone
        pa.record_batch({"ts": [31, None, 33], "k": [1, 1, 2], "v": [1, 1, 1]}),
        numbers([2**63 - 1, 30]),
        numbers([-(2**63), 30]),
    ],
    ids=["overflow", "no time", "far ahead", "far behind"],
)
@pytest.mark.parametrize("nulls", ["raise", "aside"])
def test_odd_rows_take_the_other_way(odd: pa.RecordBatch, nulls: str, threads: int) -> None:
    many = numbers(np.arange(3_000) // 100, k=np.arange(3_000) % 5)
    batches = [many, odd, numbers(np.arange(30, 40), k=np.arange(10) % 3), odd, numbers([45])]
    assert_same_as_boxes(per_key(batches, nulls=nulls), threads)


@pytest.mark.parametrize("threads", [1, 2])
def test_an_error_of_an_expression_is_that_of_the_boxes(threads: int) -> None:
    batches = [numbers(np.arange(20)), numbers([21, 22], v=[5, 0]), numbers([23])]
    stream = oop.source(batches, time="ts", punctuate=oop.ordered())
    found = assert_same_as_boxes(
        stream.filter(100 // col("v") > 3).window(oop.tumbling(10)).group_by("k").agg(n=oop.count()), threads
    )
    assert "division by zero" in found["error"][1]
    assert "test_superboxes.py" in found["error"][1]


CORNERS = {
    "first of computed unsigned": (None, {"x": oop.first(col("u") + col("u")), "y": oop.last(col("u").cast("uint8"))}),
    "zeros are one number": (col("f").isin([0.0, 7]), {"n": oop.count(), "s": oop.sum("ts")}),
    "the other zero": (col("f").isin([-0.0]), {"n": oop.count()}),
    "nan beside null": (oop.greatest(col("f"), col("g")).is_nan(), {"n": oop.count()}),
    "null beside nan": (oop.least(col("g"), col("f")).is_null(), {"n": oop.count()}),
    "nan beside a null literal": ((oop.least(col("f"), oop.lit(None)) > 0).is_null(), {"n": oop.count()}),
}


@pytest.mark.parametrize("name", CORNERS)
def test_corners_of_values(kernels: str, name: str) -> None:
    columns = {
        "ts": pa.array([1, 2, 3, 4]),
        "u": pa.array([5, 7, 0, 100], pa.uint32()),
        "f": pa.array([0.0, -0.0, math.nan, 1.0]),
        "g": pa.array([None, 1.0, None, math.nan]),
    }
    predicate, functions = CORNERS[name]
    stream = oop.source([pa.record_batch(columns)], time="ts", punctuate=oop.at_end())
    stream = stream if predicate is None else stream.filter(predicate)
    assert_same_as_boxes(stream.window(oop.tumbling(10)).agg(**functions))


@pytest.mark.parametrize("slack", [2**63 - 1, 2**63, 2**70])
def test_slack_beyond_all_times(slack: int) -> None:
    times = [numbers([2**62, -5, -(2**62), 2**62 - 1])]
    assert_same_as_boxes(per_key(times, punctuate=oop.slack(slack)))


@pytest.mark.parametrize("threads", [1, 2])
def test_late_rows_before_an_error_are_booked(threads: int) -> None:
    """The error is in a later chunk than they are."""
    times = pa.array([100, 50, 50, *range(100, 2_200), 2_300, None], pa.int64())
    rows = pa.record_batch({"ts": times, "k": np.ones(len(times), np.int64), "v": np.ones(len(times), np.int64)})
    found = assert_same_as_boxes(per_key([rows]), threads)
    assert len(found["late"]) == 1 and sum(found["late"].values()) == 2 and "error" in found


def test_several_sources_fill_one_operator(kernels: str) -> None:
    """Each has a program of its own, which must notice what others have done to the tables."""
    rng = random.Random(3)

    def source(name: str) -> oop.Stream:
        times = [sorted(rng.randint(0, 300) for _ in range(500)) for _ in range(6)]
        batches = [numbers(t, k=np.arange(500) % rng.choice([7, 400])) for t in times]
        return oop.source(batches, time="ts", punctuate=oop.slack(300), name=name)

    union = oop.union(source("a"), source("b").filter(col("k") > 2), source("c"))
    assert_same_as_boxes(union.window(oop.tumbling(10)).group_by("k").agg(n=oop.count(), s=oop.sum("v")))


def test_what_is_saved_in_between_is_what_the_boxes_save(kernels: str) -> None:
    batches = [numbers(np.arange(t, t + 40), k=np.arange(40) % 6) for t in range(0, 200, 20)]

    def parts(**options: Any) -> dict[str, Any]:
        run = per_key(lambda: iter(batches), batches[0].schema, punctuate=oop.slack(15)).run(oop.Embedded(**options))
        next(iter(run))
        operator = run._boxes[-1].operator
        return {key: None if part is None else bag(part.to_pylist()) for key, part in operator.save()}

    assert parts(threads=1) == parts(threads=1, scheduler=BOXES)


def test_blame_and_memory_know_what_a_program_brought() -> None:
    batches = [numbers(np.arange(30), k=np.arange(30)), numbers([31])]

    def told(**options: Any) -> tuple[Any, ...]:
        run = per_key(lambda: iter(batches), batches[0].schema).run(oop.Embedded(**options))
        next(iter(run))
        box = run.metrics.box("Aggregate")
        return str(run.blame()).split("(")[0], box.buffered_rows, box.peak_buffered_rows, box.state_bytes > 0

    assert told(threads=1) == told(threads=1, scheduler=BOXES)


def test_a_policy_that_is_polled_or_asked_for_more_than_time_is_left_to_boxes() -> None:
    batches = [numbers(np.arange(30), k=np.arange(30) % 3)]

    def why(**options: Any) -> str:
        return superboxes(lower(per_key(batches, **options).flow, oop.Embedded()))[0].reason

    assert why() == ""
    assert why(punctuate=oop.slack(rows=3)) == ""
    assert "policy" in why(punctuate=oop.slack(rows=10_000))
    assert why(late="admit") == "late='admit'"
    assert "policy" in why(punctuate=oop.ordered(by="k"))


@pytest.mark.parametrize("threads", [1, 2])
def test_an_interrupt_in_a_program_ends_the_run(monkeypatch: pytest.MonkeyPatch, threads: int) -> None:
    """It may come when a table is asked to grow, in the middle of a train; batches are given back."""
    from oop.kernels.native.groups import GroupTable

    pytest.importorskip("oop.kernels._native")
    monkeypatch.setenv("OOP_KERNELS", "native")
    batches = [numbers(np.arange(5_000) // 100, k=np.arange(5_000))]
    grow = GroupTable.make_more_room

    def interrupted(table: GroupTable) -> None:
        if len(table) > 60:
            raise KeyboardInterrupt
        grow(table)

    monkeypatch.setattr(GroupTable, "make_more_room", interrupted)
    run = per_key(batches).run(oop.Embedded(threads=threads))
    with pytest.raises(KeyboardInterrupt):
        run.to_table()
    with pytest.raises(oop.RunInterrupted):
        run.to_table()


def test_a_program_without_rows_in_it_changes_nothing() -> None:
    empty = numbers([1]).slice(0, 0)
    found = assert_same_as_boxes(per_key([empty, empty]))
    assert found["rows"] == bag([])


STREAMS: dict[str, Callable[[oop.Stream], oop.Stream]] = {
    "computed text": lambda s: s.with_columns(t=col("k").cast("string")).window(oop.tumbling(5)).group_by("t"),
    "sliding": lambda s: s.window(oop.sliding(10, 5)).group_by("k"),
}


@pytest.mark.parametrize("name", STREAMS)
def test_what_has_no_steps_runs_as_boxes(name: str) -> None:
    stream = oop.source([numbers(np.arange(50), k=np.arange(50) % 3)], time="ts", punctuate=oop.ordered())
    counts = STREAMS[name](stream).agg(n=oop.count())
    assert not is_one_program(counts)
    assert_same_as_boxes(counts)


def test_operators_that_derive_from_an_aggregate_are_left_alone() -> None:
    """Over sliding windows in order another operator than the aggregate's own takes the rows."""
    batches = [numbers(np.arange(t, t + 40), k=np.arange(40) % 6) for t in range(0, 200, 20)]
    stream = oop.source(batches, time="ts", punctuate=oop.slack(30))
    counts = stream.window(oop.sliding(10, 5)).group_by("k").agg(n=oop.count())
    wanted = outcome(counts, threads=1, scheduler=BOXES)["rows"]
    assert bag(counts.run(oop.Embedded(threads=1), order="iop").to_table().to_pylist()) == wanted
    assert not any(found.has_state for found in superboxes(lower(counts.flow, oop.Embedded(), "iop")))


def rows_then_error() -> Iterator[pa.RecordBatch]:
    yield numbers(np.arange(20))
    raise OSError("the line was cut")


def test_a_source_that_fails_has_its_rows_taken_first() -> None:
    run = per_key(rows_then_error(), numbers([1]).schema, punctuate=oop.ordered()).run(oop.Embedded(threads=1))
    found = []
    with pytest.raises(OSError, match="cut"):
        for batch in run:
            found += batch["n"].to_pylist()
    assert found == [10]


def test_a_program_that_is_given_fewer_columns_hands_fewer_out(kernels: str, taken: list[int]) -> None:
    """Rows are numbered, which cuts the plan, and behind that nobody needs their time."""
    batches = [numbers(np.arange(30), k=np.arange(30) % 6)]
    kept = oop.source(batches, time="ts", punctuate=oop.slack(5), name="it").filter(col("v") >= 0)
    found = assert_same_as_boxes(kept.window(oop.rows(4, every=3)).agg(n=oop.count()))
    assert found["rows"]


def test_a_source_that_is_alone_has_longer_trains_before_state():
    """What holds no rows takes many in one call; rows that are handed out wait in queues, so fewer come at once."""
    rows = pa.table({"ts": np.arange(300_000), "k": np.arange(300_000) % 3})
    batches = rows.to_batches(max_chunksize=50_000)

    def trains(plan: Callable[[oop.Stream], oop.Stream]) -> list[int]:
        found: list[int] = []
        run = plan(oop.source(batches, time="ts", punctuate=oop.ordered())).run(engine=oop.Embedded(threads=1))
        [source] = run._rounds.sources
        take = source.take

        def taken(train: Any) -> int:
            found.append(take(train))
            return found[-1]

        source.take = taken
        assert run.to_table().num_rows
        return found

    count = lambda s: s.window(oop.tumbling(1_000)).group_by("k").agg(n=oop.count())  # noqa: E731
    assert max(trains(count)) == 300_000
    assert max(trains(lambda s: s.filter(col("k") > 0))) == 100_000
