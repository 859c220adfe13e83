"""Windows of rows: what is counted, when windows leave, who sees the numbers, and what is refused."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pytest

import oop
from oop.errors import LateRow, SchemaMismatch, TimeError, UnknownColumn
from oop.plan.final import final_plan
from oop.plan.graph import sources
from oop.plan.numbering import check_numbers
from oop.testing import Harness

TABLE = pa.table({"ts": [5, 1, None, 9, 7, 8, 2], "k": list("abababa"), "v": [1, 2, 3, 4, 5, 6, 7]})


def source(data: Any = TABLE, policy: Any = None, **options: Any) -> oop.Stream:
    return oop.source(data, time="ts", punctuate=policy, **{"nulls": "aside", "name": "s", **options})


def starts(stream: oop.Stream) -> dict[int, Any]:
    return {row["window_start"]: row["n"] for row in stream.run().to_table().to_pylist()}


def count(stream: oop.Stream, *window: int, **options: Any) -> oop.Stream:
    return stream.window(oop.rows(*window, **options)).agg(n=oop.count())


def test_rows_are_counted_before_anything_is_left_out() -> None:
    """Row 2 has no time, rows 1 and 6 are late, row 0 is filtered: windows simply miss them."""
    some = source(policy=oop.slack(2)).filter(oop.col("v") > 1)
    assert starts(count(some, 1)) == {3: 1, 4: 1, 5: 1}
    assert starts(count(some, 2)) == {2: 1, 4: 2}
    assert starts(count(some.late("admit"), 2)) == {0: 1, 2: 1, 4: 2, 6: 1}


def test_windows_at_the_edges_have_the_rows_that_they_have() -> None:
    numbers = source(pa.table({"ts": range(5)}))
    assert starts(count(numbers, 3)) == {0: 3, 3: 2}
    assert starts(count(numbers, 3, every=2)) == {-2: 1, 0: 3, 2: 3, 4: 1}
    assert starts(count(numbers, 1, every=2, offset=1)) == {1: 1, 3: 1}
    assert starts(count(numbers, 4, offset=-1)) == {-1: 3, 3: 2}
    result = count(numbers, 3)
    assert result.schema.field("window_start").type == result.schema.field("window_end").type == pa.int64()
    assert starts(count(source(TABLE.slice(0, 0)), 3)) == {}


def test_windows_are_common_to_all_keys_and_keys_may_be_made() -> None:
    table = source().window(oop.rows(4)).group_by("k", odd=oop.col("v") % 2 == 1).agg(n=oop.count()).run().to_table()
    found = {(r["window_start"], r["k"], r["odd"]): r["n"] for r in table.to_pylist()}
    assert found == {(0, "a", True): 1, (0, "b", False): 2, (4, "a", True): 2, (4, "b", False): 1}


def test_a_window_leaves_as_soon_as_its_last_row_was_read() -> None:
    """Whatever the source promises about its time: here nothing, though filters drop every row."""
    harness = Harness(lambda s: count(s.filter(oop.col("ts") < 0), 2, every=2), {"ts": "int64"}, punctuate={})
    harness.push({"ts": [1, 2, 3]})
    assert harness.promises() == [oop.Punctuation({"window_start": 2}), oop.Punctuation({"window_end": 4})]
    harness.push({"ts": [-4]})
    assert harness.rows() == [{"window_start": 2, "window_end": 4, "n": 1}]
    assert harness.buffered_rows == 0
    harness.push({"ts": []})
    harness.push({"ts": [-4]})
    assert harness.rows() == []
    harness.end()
    assert harness.rows() == [{"window_start": 4, "window_end": 6, "n": 1}]


def test_promises_about_numbers_cut_a_train_only_where_they_help() -> None:
    harness = Harness(lambda s: count(s, 4), {"ts": "int64"}, punctuate=oop.slack(5))
    batches = [pa.record_batch({"ts": [i, i]}) for i in range(7)]
    harness.feed(*batches)
    said = [box.promises_out for box in harness.run._boxes if box.node.data is not None]
    assert said == [4], "the first, and one for each window: of seven"
    assert [row["window_start"] for row in harness.rows()] == [0, 4, 8]


def test_carried_promises_and_numbers_in_one_train() -> None:
    promises = [oop.Punctuation({"ts": t}) for t in (0, 2, 4, 6)]
    batches = [pa.record_batch({"ts": [t, t + 1, t - 9]}) for t in (0, 2, 4, 6)]
    elements = [e for pair in zip(batches, promises, strict=True) for e in pair]
    stream = source(elements, oop.punctuated())
    both = oop.union(count(stream, 4), stream.window(oop.tumbling(4)).agg(n=oop.count()))
    rows = [tuple(r.values()) for r in both.run().to_table().to_pylist()]
    assert sorted(rows) == [(-12, -8, 1), (0, 4, 4), (0, 4, 4), (4, 8, 3), (4, 8, 4), (8, 12, 2)]


def test_the_counter_is_saved() -> None:
    def start() -> Harness:
        return Harness(lambda s: count(s, 4), {"ts": "int64"}, punctuate=oop.slack(5))

    first, second = start(), start()
    first.push({"ts": [1, 2, 3]})
    second.load(first.save(), first.given)
    second.push({"ts": [4, 5]})
    assert second.rows() == [{"window_start": 0, "window_end": 4, "n": 4}]


@pytest.mark.parametrize("bad", [{"nulls": "raise"}, {"late": "raise", "policy": oop.slack(2)}])
def test_a_failure_lets_only_the_windows_before_it_leave(bad: dict[str, Any]) -> None:
    """The row that fails is number 3; of the window that it belongs to nothing may leave."""
    first, second = [1, 9, 9], [None if "nulls" in bad else 0, 9, 9, 9, 9]
    batches = [pa.record_batch({"ts": pa.array(first + second, pa.int64())})]
    run = count(source(batches, **bad), 2).run()
    found = []
    with pytest.raises((TimeError, LateRow), match="row 3"):
        for batch in run:
            found += batch.to_pylist()
    assert found == [{"window_start": 0, "window_end": 2, "n": 2}]


def test_a_stream_that_is_also_used_otherwise_is_read_once() -> None:
    def live() -> Iterator[pa.RecordBatch]:
        yield TABLE.to_batches()[0]

    once = source(live(), oop.at_end(), schema=TABLE.schema)
    some = once.filter(oop.col("v") > 1)
    left = count(some, 3).select(a="window_start", n="n")
    plain = some.join(once, on="k", within=(0, 0)).select(a="v", n="v_right")
    both = oop.union(left, plain, once.select(a="v", n="v"))
    assert len(sources(final_plan(both.flow))) == 1
    assert final_plan(both.flow).schema.names == ["a", "n"]
    found = sorted(row["a"] for row in both.run().to_table().to_pylist())
    assert found == sorted([*[0, 3, 6], *[2, 4, 5, 6, 7], *[1, 2, 4, 5, 6, 7]])


def test_nobody_sees_the_numbers() -> None:
    stream = source(policy=oop.slack(2))
    run = oop.union(count(stream, 3).select(ts="window_start"), stream.select("ts")).run()
    assert run.to_table().schema.names == ["ts"]
    assert run.late.to_table().schema.names == ["ts", "k", "v", "broke", "late_by"]
    assert stream.schema.names == TABLE.schema.names
    with pytest.raises(UnknownColumn, match="__seq"):
        stream.select("__seq")
    carried = count(source([*TABLE.to_batches(), oop.Punctuation({"__seq": 3})], oop.punctuated()), 3)
    with pytest.raises(UnknownColumn, match="__seq"):
        carried.run().to_table()
    harness = Harness(
        lambda s: oop.union(s, s.window(oop.rows(2)).agg(n=oop.count()).select(ts="window_start")),
        {"ts": "int64"},
        punctuate=oop.ordered(),
    )
    harness.push({"ts": [11, 12]})
    assert harness.promises() == [oop.Punctuation({"ts": 2})]


def test_a_window_on_what_was_counted() -> None:
    counts = count(source(pa.table({"ts": range(10)})), 2)
    assert starts(counts.window(oop.tumbling(6)).agg(n=oop.sum("n"))) == {0: 6, 6: 4}
    by_start = counts.group_by("window_start").agg(n=oop.sum("n"))  # promised about, though the source promises nothing
    assert starts(by_start) == {0: 2, 2: 2, 4: 2, 6: 2, 8: 2}


def test_dictionaries_and_threads() -> None:
    table = pa.table({"ts": range(1000), "k": pa.array(["a", "b", None, "a"] * 250).dictionary_encode()})
    counts = source(table).window(oop.rows(100, every=50)).group_by("k").agg(n=oop.count())
    one, two = (counts.run(engine=oop.Embedded(threads=n)).to_table().to_pylist() for n in (1, 2))
    assert sorted(map(repr, one)) == sorted(map(repr, two))
    assert len(one) == 3 * 21


def test_explain() -> None:
    chosen = source(policy=oop.slack(2)).select("ts").describe("ts").filter(oop.col("ts") > 0)
    assert count(chosen, 100, every=10, offset=5).explain().splitlines() == [
        "Aggregate n=count()                                  emits a window when wid < W is promised",
        "└─ Bucket rows 100 every 10 offset 5 on row number   row number < t becomes wid < W(t)",
        "   └─ Filter ts > 0                                  promises pass",
        "      └─ Describe ts and row number                  promises are rolled up to what helps",
        "         └─ Project ts                               bounds cross increasing functions",
        "            └─ Source s   slack 2   late: drop   rows numbered",
    ]


@pytest.mark.parametrize(
    ("lost", "by"),
    [
        (lambda s: oop.union(s, s).filter(oop.col("v") > 1), "union of 2"),
        (lambda s: s.join(s, on="k", within=(0, 1)), r"\.join\(…\)"),
        (lambda s: s.window(oop.tumbling(5)).agg(n=oop.count()).select("n"), r"\.agg\(n=count\)"),
        (lambda s: count(s, 5), r"\.agg\(n=count\)"),
    ],
)
def test_numbers_end_where_streams_meet_or_rows_are_held(lost: Any, by: str) -> None:
    with pytest.raises(SchemaMismatch, match=rf"behind {by} at .*test_row_windows.py:\d+ they have no number") as wrong:
        lost(source(policy=oop.ordered())).window(oop.rows(3))
    assert ".number()" in str(wrong.value)


def test_what_is_refused() -> None:
    with pytest.raises(SchemaMismatch, match=r"counts rows, it is not on 'ts'.*test_row_windows\.py"):
        source().window(oop.rows(3), on="ts")
    with pytest.raises(SchemaMismatch, match="may not be called __seq"):
        source().with_columns(__seq=oop.lit(1)).select("ts").window(oop.rows(3))
    with pytest.raises(SchemaMismatch, match="may not be called __seq"):
        source(pa.table({"ts": [1], "__seq": [1]})).window(oop.rows(3))
    for time, other in (("ts", "__seq"), ("__seq", "ts")):
        named = oop.source(pa.table({time: [1, 2], other: [5, 5]}), time=time, punctuate=oop.ordered())
        for stream in (named, named.union(named), named.dedup(time)):
            with pytest.raises(SchemaMismatch, match="may not be called __seq"):
                stream.number("n")
    assert source(pa.table({"ts": [1], "__seq": [1]})).run().to_table().schema.names == ["ts", "__seq"]
    for wrong in ("5s", 2.0, True, None):
        with pytest.raises(ValueError, match=r"the range of a window of rows is a whole number.*oop.tumbling"):
            oop.rows(wrong)  # type: ignore[arg-type]
    for wrong in (0, -1, 2**62):
        with pytest.raises(ValueError, match="the every of a window of rows must be"):
            oop.rows(3, every=wrong)
    with pytest.raises(ValueError, match="the offset of a window of rows"):
        oop.rows(3, offset=-(2**62))
    with pytest.raises(TypeError, match=r"window= takes oop.tumbling"):
        source().join(source(), window=oop.rows(3))


def test_arrival_order_is_that_of_one_channel() -> None:
    stream = source().filter(oop.col("v") > 1)
    (edge,) = stream.flow.node.inputs
    channels = replace(edge.node, data=replace(edge.node.data, channel="k"))
    with pytest.raises(SchemaMismatch, match="come through several channels"):
        check_numbers(replace(stream.flow.node, inputs=(replace(edge, node=channels),)))
