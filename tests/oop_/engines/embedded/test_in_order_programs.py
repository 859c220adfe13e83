"""Programs in plans that run in order: the same rows in the same order as the boxes give one by one, and what each box
counts and promises in the end."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import oop
from oop.engines.embedded.inner_superbox import InnerSuperbox
from oop.errors import PunctuationViolated
from oop.plan.final import lower
from oop.plan.superboxes import Superbox, superboxes
from oop.testing.laws import bag
from tests.oop_.engines.embedded.drawn_pipelines import (
    drawn_cut_pipeline,
    drawn_filter,
    drawn_pipeline,
    drawn_stream,
    units,
)
from tests.oop_.engines.embedded.test_superboxes import BOXES, kernels, numbers, taken
from tests.operators.fuzz import CASES

__all__ = ["kernels", "taken"]
col = oop.col


def outcome(stream: oop.Stream, **options: Any) -> dict[str, Any]:
    """All that a run in order tells: rows, the order of their times, late rows, and what each box counted; or the
    error."""
    run = stream.run(oop.Embedded(**options), order="iop")
    found: dict[str, Any] = {}
    try:
        rows = run.to_table()
        time = next((name for name in ("window_start", "ts") if name in rows.column_names), None)
        found["rows"], found["order"] = bag(rows.to_pylist()), [] if time is None else rows[time].to_pylist()
    except (oop.OopError, ArithmeticError) as wrong:
        found["error"] = type(wrong).__name__, str(wrong)
    found["late"] = bag(run.late.to_table().to_pylist())
    if "error" not in found:
        boxes = run.metrics.boxes
        found["counts"] = [(box.name, box.rows_in, box.rows_out, box.frontier, box.buffered_rows) for box in boxes]
    return found


def assert_same_as_boxes(stream: oop.Stream, threads: int = 1, **options: Any) -> dict[str, Any]:
    wanted = outcome(stream, threads=1, scheduler=BOXES)
    found = outcome(stream, threads=threads, **options)
    assert found == wanted
    return found


def programs(stream: oop.Stream) -> list[Superbox]:
    return [found for found in superboxes(lower(stream.flow, oop.Embedded(), "iop")) if found.code is not None]


@pytest.mark.parametrize("threads", [1, 2])
def test_drawn_pipelines(kernels: str, threads: int) -> None:
    whole = inside = rows = late = errors = 0
    for seed in range(CASES):
        stream, rng = drawn_stream(seed)
        found = rng.choice([*[drawn_pipeline] * 4, drawn_cut_pipeline, drawn_keyed])(rng, stream)
        made = programs(found)
        whole += any(one.has_state and one.nodes[0].is_source for one in made)
        inside += any(one.has_state and not one.nodes[0].is_source for one in made)
        told = assert_same_as_boxes(found, threads)
        rows += len(told.get("rows", ()))
        late += len(told["late"])
        errors += "error" in told
    assert whole > CASES // 20 and inside > CASES // 10, (whole, inside)
    assert rows > 3 * CASES and late > CASES // 2 and errors, (rows, late, errors)


def drawn_keyed(rng: random.Random, stream: oop.Stream) -> oop.Stream:
    """Sessions, or the first rows of keys, or groups."""
    if rng.random() < 0.5:
        stream = stream.filter(drawn_filter(rng))
    keys = rng.sample(["k", "b", "t", "v"], rng.randint(0, 2))
    functions = {"n": oop.count(), "s": oop.sum("k"), "low": oop.min("v"), "first": oop.first("k")}
    kind = rng.choice(["session", "dedup", "group"])
    if kind == "session":
        window = oop.session(units(rng.choice([1, 3, 12]), stream.schema.field("ts").type))
        return stream.window(window).group_by(*keys).agg(**functions)
    return stream.dedup("ts", *keys) if kind == "dedup" else stream.group_by("ts", *keys).agg(**functions)


def counted(batches: Any, schema: pa.Schema | None = None, **options: Any) -> oop.Stream:
    options = {"punctuate": oop.ordered(), "name": "it", **options}
    stream = oop.source(batches, time="ts", schema=schema, **options)
    return stream.filter(col("v") >= 0).window(oop.tumbling(10)).group_by("k").agg(n=oop.count(), s=oop.sum("v"))


def test_what_becomes_a_program() -> None:
    def names(stream: oop.Stream) -> list[list[str]]:
        return [[node.spec.name for node in found.nodes] for found in programs(stream)]

    rows = numbers(np.arange(30))
    late = {"punctuate": oop.slack(3)}
    assert names(counted([rows])) == [["Source", "Filter", "Bucket", "InOrder"]]
    assert names(counted([rows], **late)) == [["Source", "Filter"], ["Bucket", "InOrder"]]
    stream = oop.source([rows], time="ts", punctuate=oop.ordered())
    for ends in (stream.window(oop.session(3)).agg(n=oop.count()), stream.dedup("ts", "k")):
        assert names(ends) == []
        assert "no program: in order each time ends what it holds" in ends.explain("iop", engine=oop.Embedded())
    assert "one program with Bucket" in counted([rows], **late).explain("iop", engine=oop.Embedded())
    assert names(stream.window(oop.tumbling(10)).agg(n=oop.count_distinct("v"))) == [["Source", "Bucket"]]


def test_a_train_in_order_passes_no_box(taken: list[int]) -> None:
    batches = [numbers(np.arange(i, i + 100), k=np.arange(100) % 3) for i in range(0, 1_000, 100)]
    run = counted(batches).run(oop.Embedded(threads=1), order="iop")
    assert sum(run.to_table()["n"].to_pylist()) == 1_000
    assert taken[0] == 1_000


def test_rows_complete_windows_without_a_promise() -> None:
    """What rows have reached is progress, for a program too: here the source promises next to nothing before its
    end."""
    stream = oop.source([numbers([1, 2, 11]), numbers([25])], time="ts", punctuate=oop.ordered(every=1_000))
    stream = stream.window(oop.tumbling(10)).agg(n=oop.count())
    shown = [
        str(e) if isinstance(e, oop.Punctuation) else e["window_start"].to_pylist()
        for e in stream.run(order="iop").elements()
    ]
    assert shown[2:4] == [[0, 10], "window_start < 20"] and shown.index([20]) > 3, shown


@pytest.mark.parametrize("skew", [0, 1, 15, 60])
def test_inputs_are_merged_before_a_program(kernels: str, skew: int, taken: list[int]) -> None:
    """A merge holds rows, which a union does not, so no program of a source goes through it."""
    times = np.arange(6_000) // 7
    batches = [numbers(times[i : i + 100], k=np.arange(100) % 3) for i in range(0, 6_000, 100)]

    def source(behind: int) -> oop.Stream:
        arriving = [*[batches[0].slice(0, 0)] * behind, *batches]
        return oop.source(lambda: iter(arriving), time="ts", punctuate=oop.ordered(), schema=batches[0].schema)

    both = source(0).filter(col("v") > 0).union(source(skew))
    assert_same_as_boxes(both)
    assert_same_as_boxes(both.with_columns(w=col("v") + 1))
    counts = both.window(oop.tumbling(10)).group_by("k").agg(n=oop.count())
    assert [[n.spec.name for n in p.nodes] for p in programs(counts)] == [["Source", "Filter"], ["Bucket", "InOrder"]]
    assert_same_as_boxes(counts)


ODD = {
    "overflow": numbers([31, 32], v=2**63 - 1),
    "no time": pa.record_batch({"ts": [31, None, 33], "k": [1, 1, 2], "v": [1, 1, 1]}),
    "far ahead": numbers([2**63 - 1]),
}
BEHIND = {
    "windows": lambda s: s.filter(col("v") >= 0).window(oop.tumbling(10)).group_by("k").agg(s=oop.sum("v")),
    "no state": lambda s: s.filter(col("v") >= 0).window(oop.sliding(10, every=5)).group_by("k").agg(n=oop.count()),
    "text": lambda s: s.filter(col("v") >= 0).with_columns(t=col("k").cast("string")).dedup("ts", "t"),
    "dedup": lambda s: s.filter(col("v") >= 0).dedup("ts", "k"),
    "sessions": lambda s: s.filter(col("v") >= 0).window(oop.session(3)).group_by("k").agg(n=oop.count()),
    "groups": lambda s: s.group_by("ts", "k").agg(n=oop.count()),
    "overflow on the way": lambda s: s.filter(col("v") + 2**62 >= 0).group_by("ts", "k").agg(s=oop.sum("v")),
}


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("odd", ODD)
@pytest.mark.parametrize("behind", BEHIND)
@pytest.mark.parametrize("policy", [oop.ordered(), oop.slack(4), oop.ordered(every=7)], ids=str)
def test_rows_behind_an_odd_chunk_stay_in_order(behind: str, odd: str, policy: Any, threads: int) -> None:
    """Rows of one train, some before, some in and many behind an odd chunk."""
    before = numbers(np.arange(3_000) // 100, k=np.arange(3_000) % 5)
    after = numbers(33 + np.arange(9_000) // 300, k=np.arange(9_000) % 3)
    batches = [before, ODD[odd], after, numbers([70, 71], v=2**62), numbers(np.arange(70, 90), k=2)]
    stream = oop.source(batches, time="ts", punctuate=policy, nulls="aside", name="it")
    assert_same_as_boxes(BEHIND[behind](stream), threads)


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize(
    "behind",
    [
        lambda s: s.assume(oop.slack(40), on="v").window(oop.tumbling(10), on="v").agg(n=oop.count()),
        lambda s: s.bsort(50, on="v"),
        lambda s: s.wsort("v", timeout="1h"),
        lambda s: s.sort(),
    ],
    ids=["assume", "bsort", "wsort", "sort"],
)
def test_what_goes_by_arrival_gets_rows_as_they_came(behind: Any, threads: int) -> None:
    """Out of order too, the rows of an odd chunk take another way, and those behind them must not come before."""
    rng = np.random.default_rng(1)
    rows = numbers(np.arange(9_000) // 3, k=rng.integers(0, 5, 9_000), v=np.arange(9_000) // 8 - rng.integers(0, 9))
    batches = [rows.slice(0, 3_000), ODD["no time"], rows.slice(3_000)]
    stream = oop.source(batches, time="ts", punctuate=oop.at_end(), nulls="aside", name="it").filter(col("k") > 1)
    found, wanted = (
        behind(stream).run(oop.Embedded(threads=threads, **options)).to_table().to_pylist()
        for options in ({}, {"scheduler": BOXES})
    )
    assert found == wanted


@pytest.mark.parametrize("threads", [1, 2])
def test_the_rows_that_pass_within_a_span_are_those_that_come_first(threads: int) -> None:
    """Rows of a key follow each other closely, so that which of them pass, and how many, depends on their order."""
    rng = np.random.default_rng(1)
    rows = numbers(np.arange(9_000) // 4 + rng.integers(0, 6, 9_000), k=rng.integers(0, 3, 9_000))
    batches = [rows.slice(0, 3_000), ODD["no time"], rows.slice(3_000)]
    stream = oop.source(batches, time="ts", punctuate=oop.at_end(), nulls="aside", name="it")
    passed = stream.filter(col("v") >= 0).dedup("k", within=3)
    wanted, found = (
        bag(passed.run(oop.Embedded(**options)).to_table().to_pylist())
        for options in ({"threads": 1, "scheduler": BOXES}, {"threads": threads})
    )
    assert found == wanted


@pytest.mark.parametrize("behind", BEHIND)
@pytest.mark.parametrize("sizes", [{"batch_rows": 16}, {"queue_rows": 20}, {"batch_rows": 8, "queue_rows": 8}], ids=str)
def test_full_queues_do_not_change_the_order(behind: str, sizes: dict[str, int]) -> None:
    """The output of a window fills the queues, and rows come while the rest of it waits."""
    times = np.arange(4_000) // 40
    batches = [numbers(times[i : i + 90], k=np.arange(i, i + 90) % 64) for i in range(0, 3_960, 90)]
    for policy in (oop.ordered(), oop.slack(3, every=11)):
        stream = oop.source(lambda: iter(batches), time="ts", punctuate=policy, schema=batches[0].schema, name="it")
        assert_same_as_boxes(BEHIND[behind](stream), **sizes)


@pytest.mark.parametrize("policy", [oop.ordered(), oop.slack(4)], ids=str)
def test_batches_of_one_row(policy: Any) -> None:
    batches = [numbers([i // 3], k=i % 5) for i in range(200)]
    for behind in BEHIND.values():
        stream = oop.source(lambda: iter(batches), time="ts", punctuate=policy, schema=batches[0].schema, name="it")
        assert_same_as_boxes(behind(stream))


def test_rows_out_of_order_are_refused_where_they_come(monkeypatch: pytest.MonkeyPatch) -> None:
    """A program leaves them to the operator, which says where it is."""
    took: list[bool] = []
    take = InnerSuperbox.take

    def unsorted(runs: Any, bound: Any) -> pa.RecordBatch | None:
        rows: list[pa.RecordBatch] = runs._new
        runs._new = []
        return pa.concat_batches(rows) if rows else None

    def counting(superbox: InnerSuperbox, batch: pa.RecordBatch) -> bool:
        took.append(take(superbox, batch))
        return took[-1]

    monkeypatch.setattr("oop.operators.in_order.sorted_runs.SortedRuns.take_below", unsorted)
    monkeypatch.setattr(InnerSuperbox, "take", counting)
    stream = counted([numbers([5, 25, 4, 26])], punctuate=oop.slack(30))
    with pytest.raises(PunctuationViolated, match=r"order of '__wid_start'.*test_in_order_programs\.py") as raised:
        stream.run(oop.Embedded(threads=1), order="iop").to_table()
    assert took == [True] and "in-order plan" in str(raised.value)


@pytest.mark.parametrize("policy", [oop.ordered(), oop.slack(15)], ids=str)
def test_what_is_saved_in_between_is_what_the_boxes_save(kernels: str, policy: Any) -> None:
    batches = [numbers(np.arange(t, t + 20), k=np.arange(20) % 6) for t in range(0, 200, 20)]

    def parts(**options: Any) -> tuple[dict[str, Any], Any]:
        run = counted(lambda: iter(batches), batches[0].schema, punctuate=policy).run(
            oop.Embedded(**options), order="iop"
        )
        next(iter(run))
        operator = run._boxes[-1].operator
        saved = {key: None if part is None else bag(part.to_pylist()) for key, part in operator.save()}
        return saved, (operator.buffered_rows, str(run.blame()).split("(")[0])

    assert parts(threads=1) == parts(threads=1, scheduler=BOXES)
