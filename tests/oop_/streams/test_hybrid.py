"""Hybrid aggregation as a user meets it: which implementation a stream gets, and that it makes no difference."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

import oop
from oop.operators.aggregate.hybrid import HybridOperator
from oop.operators.aggregate.hybrid_costs import (
    BUFFERED,
    INCREMENTAL,
    Estimate,
    PeriodCounts,
    QueryTraits,
    estimate,
    is_enough,
)
from oop.operators.aggregate.operator import AggregateOperator
from oop.operators.core.context import Context
from oop.operators.core.marks import mark_partial
from oop.testing import Harness, bag, disorder, forced
from tests.operators import fuzz

SCHEMA = {"ts": "int64", "k": "int64"}
SECOND = 1_000
alone = oop.aggregate(0, lambda s: s + 1)  # no merge


def stream(rows, rate, groups, late=0.1, seed=0):
    """Rows at so many for a thousand units of time, some of them late by up to half of that."""
    random = np.random.default_rng(seed)
    ts = np.arange(rows) * SECOND // rate
    order = np.argsort(ts + np.where(random.random(rows) < late, random.integers(0, SECOND // 2, rows), 0))
    return pa.table({"ts": ts[order], "k": random.integers(0, groups, rows)})


def windowed(table, every, how="hybrid", **aggregates):
    source = oop.source(table.to_batches(max_chunksize=4_096), time="ts", punctuate=oop.slack(SECOND // 2, every=100))
    grouped = source.window(oop.sliding(SECOND, every=every)).group_by("k")
    return forced(
        grouped.agg(
            **(aggregates or {"n": oop.count(), "most": oop.max("ts"), "sum": oop.sum("ts"), "v": oop.var("k")})
        ),
        how,
    )


def answers(stream, threads=1):
    run = stream.run(engine=oop.Embedded(threads=threads))
    table = run.to_table().sort_by([("window_start", "ascending"), ("k", "ascending")])
    exact = [name for name in table.column_names if name != "v"]
    return table.select(exact), run.metrics.box("Aggregate")


@pytest.mark.parametrize(
    ("table", "every", "note"),
    [
        (stream(60_000, 20_000, 10), 100, "incremental"),
        (stream(6_000, 500, 10), 10, "buffered from window "),  # few rows a window
        (stream(40_000, 10_000, 10**9), 100, "buffered from window "),  # each row a group
    ],
    ids=["many rows a group", "few rows a window", "each row a group"],
)
def test_each_side_is_chosen_where_it_is_better(table, every, note):
    found, box = answers(windowed(table, every))
    assert box.note.startswith(note)
    assert found == answers(windowed(table, every, INCREMENTAL))[0] == answers(windowed(table, every, BUFFERED))[0]


def test_a_stream_that_changes_is_followed():
    first, then = stream(20_000, 500, 10), stream(500_000, 100_000, 10, seed=1)
    moved = then.set_column(0, "ts", pa.compute.add(then["ts"], 41_000))
    stations = []
    right = HybridOperator._switch

    def switch(self, to, found=None):
        stations.append(to)
        right(self, to, found)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(HybridOperator, "_switch", switch)
        found, box = answers(windowed(pa.concat_tables([first, moved]), 20, n=oop.count()))
    assert stations == [BUFFERED, INCREMENTAL]
    assert box.note.startswith("incremental from window ")
    assert found == answers(windowed(pa.concat_tables([first, moved]), 20, INCREMENTAL, n=oop.count()))[0]


def test_what_cannot_merge_is_buffered_and_shown_for_each_thread():
    table = stream(20_000, 5_000, 100)
    run = windowed(table, 100, n=alone()).run(engine=oop.Embedded(threads=2))
    found, box = (
        run.to_table().sort_by([("window_start", "ascending"), ("k", "ascending")]),
        run.metrics.box("Aggregate"),
    )
    assert box.note == BUFFERED
    assert f"\n    {BUFFERED}" in str(run.metrics)
    assert found == answers(windowed(table, 100, INCREMENTAL, n=alone()))[0]


def operator_of(h):
    return h.run._boxes[-1].operator


def hybrid(every=2, keys=("k",), how="hybrid", late="drop", **aggregates):
    return Harness(
        lambda s: forced(s.window(oop.sliding(6, every=every)).group_by(*keys).agg(**aggregates or N), how),
        SCHEMA,
        late=late,
    )


N = {"n": oop.count()}


@pytest.mark.parametrize("to", [BUFFERED, INCREMENTAL])
def test_a_switch_is_made_behind_every_window_that_has_a_row(to):
    h, model = hybrid(), hybrid(how=INCREMENTAL)
    operator = operator_of(h)
    operator.newer = BUFFERED if to == INCREMENTAL else INCREMENTAL
    for each in (h, model):
        each.push({"ts": [0, 3, 7], "k": [1, 1, 2]})
        each.promise(ts=1)
    operator._switch(to)
    assert operator.boundary == 4  # 7 is in the windows 1 to 3
    rows = {"ts": [2, 5, 9, 11, 20], "k": [1, 1, 2, 1, 1]}  # 9 and 11 on both sides
    for each in (h, model):
        each.push(rows)
    assert len(operator.store) and len(operator.rows)
    for bound in (9, 11, 12, 15):
        for each in (h, model):
            each.promise(ts=bound)
        assert bag(h.rows()) == bag(model.rows())
        assert h.promises() == model.promises()
        assert (operator.boundary is None) == (bound >= 12)  # [6, 12) is the last before it
    assert operator.buffered_rows == (len(operator.rows) if to == BUFFERED else len(operator.store))
    for each in (h, model):
        each.end()
    assert bag(h.rows()) == bag(model.rows())
    assert operator.buffered_rows == operator.state_bytes == 0


@pytest.mark.parametrize("how", ["hybrid", BUFFERED])
@pytest.mark.parametrize("function", [oop.count(), alone()], ids=["merges", "does not merge"])
def test_late_rows_count_as_they_do_with_partial_aggregates(how, function):
    for seed in range(40):
        elements = disorder(fuzz.random_stream(fuzz.random.Random(seed), pa.int64(), grouped=False), seed)
        found = {}
        for side in (how, INCREMENTAL):
            h = Harness(
                lambda s, side=side: forced(s.window(oop.sliding(7, every=2)).group_by("k").agg(n=function), side),
                fuzz.schema_of(pa.int64()),
                late="admit",
            )
            h.feed(*elements)
            h.end()
            found[side] = bag(h.rows()), operator_of(h).late_unused, h.promises()
        assert found[how] == found[INCREMENTAL], seed


def test_columns_of_any_type_are_held():
    schema = pa.schema(
        [
            ("ts", pa.timestamp("us", "Europe/Berlin")),
            ("k", pa.dictionary(pa.int32(), pa.string())),
            ("flag", pa.bool_()),
            ("price", pa.decimal128(9, 2)),
            ("name", pa.string()),
        ]
    )
    rows = [
        {"ts": i, "k": [None, "a", "b"][i % 3], "flag": i % 2 == 0, "price": i, "name": [None, "x", "yy"][i % 3]}
        for i in range(20)
    ]
    batch = pa.RecordBatch.from_pylist(rows, schema=schema)
    found = {}
    for how in (INCREMENTAL, BUFFERED):
        source = oop.source([batch], time="ts", punctuate=oop.at_end())
        functions = {
            "n": oop.sum("flag"),
            "total": oop.sum("price"),
            "least": oop.min("name"),
            "last": oop.last("k"),
            "all": oop.collect("name", 9),
        }
        grouped = source.window(oop.sliding("6us", every="2us")).group_by("k", "flag")
        table = forced(grouped.agg(**functions), how).run().to_table()
        found[how] = table.schema, bag(table.to_pylist())
    assert found[BUFFERED] == found[INCREMENTAL]


def test_what_is_held_back_is_the_same_window():
    for seed in range(30):
        elements = fuzz.random_stream(fuzz.random.Random(seed), pa.int64(), grouped=False)
        pipelines = [
            Harness(
                lambda s, how=how: forced(s.window(oop.sliding(7, every=2)).group_by("k").agg(n=oop.count()), how),
                fuzz.schema_of(pa.int64()),
            )
            for how in (INCREMENTAL, BUFFERED)
        ]
        for element in elements:
            for h in pipelines:
                h.feed(element)
            assert operator_of(pipelines[0]).oldest() == operator_of(pipelines[1]).oldest()


def test_partial_aggregates_that_arrive_make_it_incremental():
    h, model = hybrid(how=BUFFERED), hybrid(how=INCREMENTAL)
    for each in (h, model):
        each.push({"ts": [0, 3], "k": [1, 1]})
    operator = operator_of(h)
    batches = [mark_partial(table.to_batch()) for table in operator_of(model).store.tables.values()]
    assert len(operator.rows) == 2
    for each in (h, model):
        for batch in batches:
            list(operator_of(each).process_batch(batch))
    assert operator.settled and not len(operator.rows)
    for each in (h, model):
        each.push({"ts": [4], "k": [2]})
        each.end()
    assert bag(h.rows()) == bag(model.rows())


def test_state_that_was_saved_as_partial_aggregates_is_taken():
    model, h = hybrid(how=INCREMENTAL, n=alone()), hybrid(n=alone())
    model.push({"ts": [0, 3, 7], "k": [1, 1, 2]})
    h.load(model.save(), model.given)
    for each in (h, model):
        each.push({"ts": [4], "k": [2]})
        each.end()
    assert bag(h.rows()) == bag(model.rows())


def test_only_windows_that_overlap_may_switch():
    def started(window, how="hybrid", **aggregates):
        source = oop.source(list, time="ts", schema=pa.schema([("ts", pa.int64())]), punctuate=oop.slack(1))
        node = forced(source.window(window).agg(**aggregates or N), how).flow.node
        return type(node.spec.start(Context(node.input_schemas())))

    assert started(oop.sliding(6, every=2)) is HybridOperator
    assert started(oop.rows(6, every=2)) is HybridOperator
    assert started(oop.tumbling(6)) is AggregateOperator
    assert started(oop.sliding(6, every=8)) is AggregateOperator
    assert started(oop.sliding(6, every=2), n=oop.seen()) is AggregateOperator
    assert started(oop.sliding(6, every=2), INCREMENTAL) is AggregateOperator
    assert started(oop.tumbling(6), BUFFERED) is HybridOperator


def test_a_way_that_is_not_known_is_refused():
    with pytest.raises(ValueError, match="incremental"):
        forced(windowed(stream(10, 10, 1), 100), "quick")
    with pytest.raises(ValueError, match="aggregate"):
        forced(oop.source(stream(10, 10, 1), time="ts", punctuate=oop.slack(1)), BUFFERED)


def counted(rows, groups, open_=20, query=None):
    """Ten windows a row, a promise for each window; of a pane so many rows, of a window so many groups."""
    counts = PeriodCounts(rows * 100, 500, 100, 100, 100, groups * 100, open_)
    return estimate(query or QueryTraits(10, 24, True, (0, 0)), counts), counts


def test_costs():
    assert counted(100_000, 100)[0].prefers(BUFFERED) == INCREMENTAL
    assert counted(10_000, 100_000)[0].prefers(INCREMENTAL) == BUFFERED
    assert counted(10_000, 100_000)[0].prefers(BUFFERED) == BUFFERED
    assert counted(1_000, 1_000, query=QueryTraits(10, 24, False, (0,)))[0].prefers(INCREMENTAL) == BUFFERED
    assert is_enough(*counted(100_000, 100))
    assert not is_enough(counted(1, 1)[0], PeriodCounts(1, 1, 1))  # nothing has closed


def test_rows_may_not_take_much_more_than_partial_aggregates():
    faster = {INCREMENTAL: 9.0, BUFFERED: 1.0}
    assert Estimate(faster, {INCREMENTAL: 1e6, BUFFERED: 1e8}).prefers(INCREMENTAL) == BUFFERED
    assert Estimate(faster, {INCREMENTAL: 1e6, BUFFERED: 1e9}).prefers(INCREMENTAL) == INCREMENTAL
    assert Estimate(faster, {INCREMENTAL: 1e6, BUFFERED: 1e9}).prefers(BUFFERED) == INCREMENTAL
    assert Estimate(faster, {INCREMENTAL: 1e9, BUFFERED: 1e9}).prefers(INCREMENTAL) == BUFFERED


def test_where_neither_is_faster_the_smaller_one_is_taken():
    even = {INCREMENTAL: 1.1, BUFFERED: 1.0}
    assert Estimate(even, {INCREMENTAL: 3e6, BUFFERED: 1e6}).prefers(INCREMENTAL) == BUFFERED
    assert Estimate(even, {INCREMENTAL: 1.5e6, BUFFERED: 1e6}).prefers(INCREMENTAL) == INCREMENTAL
    assert Estimate(even, {INCREMENTAL: 1e6, BUFFERED: 3e6}).prefers(BUFFERED) == BUFFERED
