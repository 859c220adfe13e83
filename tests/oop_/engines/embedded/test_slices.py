"""What a promise releases leaves in bounded slices, inputs are looked after in between, and promises go first."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import oop
from oop.engines.embedded import arcs, boxes, sharded_boxes
from oop.operators.aggregate import window_results
from oop.operators.aggregate.operator import AggregateOperator
from oop.operators.core.batches import BATCH_ROWS
from oop.operators.core.context import Context
from oop.testing import Harness

GROUPS = 500_000
SCHEMA = pa.schema({"ts": pa.int64(), "k": pa.int64()})
Build = Callable[[oop.Stream], oop.Stream]


def rows(ts: int, keys: Any) -> pa.RecordBatch:
    return pa.record_batch({"ts": np.full(len(keys), ts), "k": np.asarray(keys)})


class Crank:
    """An input turned by hand: a window of many groups, then single rows of the next, which wait as long as the first
    is not out. ``reads`` has for each of those how much of the window was out when it was taken."""

    def __init__(self, groups: int) -> None:
        self.groups, self.seen = groups, 0
        self.waiting = False
        self.reads: list[int] = []

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        for start in range(0, self.groups, 50_000):
            yield rows(5, range(start, min(start + 50_000, self.groups)))
        self.waiting = True
        while self.seen < self.groups:
            self.reads.append(self.seen)
            yield rows(15, [1])
        self.waiting = False


@pytest.mark.parametrize("scheduler", [oop.MinCost(), oop.RoundRobin()], ids=str)
@pytest.mark.parametrize("batch_rows", [BATCH_ROWS, 10_000])
def test_an_input_is_looked_after_between_the_slices_of_a_window(scheduler: Any, batch_rows: int) -> None:
    crank = Crank(GROUPS)
    stream = oop.source(crank, time="ts", punctuate=oop.ordered(), schema=SCHEMA)
    counted = stream.window(oop.tumbling(10)).group_by("k").agg(n=oop.count())
    run = counted.run(oop.Embedded(scheduler=scheduler, batch_rows=batch_rows))
    last = 0
    for batch in run:
        assert batch.num_rows <= batch_rows
        crank.seen += batch.num_rows
        if batch.column("window_start")[0].as_py() == 10:
            last = batch.column("n")[0].as_py()
    assert crank.seen == GROUPS + 1
    assert last == len(crank.reads), "a row that was taken in between is in its own window"
    gaps = np.diff([*crank.reads, GROUPS])
    assert gaps.max() <= 2 * batch_rows, "the window went out without a look at the input"


def test_what_is_not_known_to_wait_does_not_hold_up_a_window() -> None:
    """The next element of an input that does not say what waits may be long in coming: the window goes out first."""
    crank = Crank(GROUPS)
    stream = oop.source(iter(crank), time="ts", punctuate=oop.ordered(), schema=SCHEMA)
    for batch in stream.window(oop.tumbling(10)).group_by("k").agg(n=oop.count()).run():
        crank.seen += batch.num_rows
    assert crank.reads == [0]


def test_an_input_that_can_wait_is_not_read_while_a_window_goes_out() -> None:
    """Rows at hand would only fill queues: what a reader of the first slice finds there is what was there before."""
    table = pa.table({"ts": np.repeat([5, 15], 300_000), "k": np.tile(np.arange(300_000), 2)})
    stream = oop.source(table, time="ts", punctuate=oop.ordered())
    run = (
        stream.window(oop.tumbling(10)).group_by("k").agg(n=oop.count()).run(oop.Embedded(threads=1, batch_rows=10_000))
    )
    source = run.metrics.box("Source")
    taken = set()
    for batch in run:
        if batch.column("window_start")[0].as_py() == 0:
            taken.add(run.metrics.box("Source").rows_in)
    assert source.rows_in == 0 and len(taken) == 1


def test_the_rows_that_waited_are_taken_a_turn_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Behind a release there is a full queue: it is not worked off in one go either."""
    taken = []
    run_box = boxes.Box.run

    def run(box: boxes.Box, most: int | None) -> bool:
        before = box.rows_in
        found = run_box(box, most)
        taken.append(box.rows_in - before)
        return found

    monkeypatch.setattr(boxes.Box, "run", run)
    sources = [
        oop.source(pa.table({"ts": np.arange(50_000)}), time="ts", punctuate=oop.at_end(), name=f"s{i}")
        for i in range(8)
    ]
    # an aggregate that is not for a program, which would take the rows past the queues
    total = oop.union(*sources).window(oop.tumbling(1_000_000)).agg(n=oop.count_distinct("ts"))
    assert total.run(oop.Embedded(threads=1, batch_rows=20_000)).to_table().column("n").to_pylist() == [50_000]
    assert 40_000 <= max(taken) < 60_000


PIPELINES: dict[str, Build] = {
    "filter": lambda s: s.filter(oop.col("k") >= 0),
    "tumbling": lambda s: s.window(oop.tumbling(10)).group_by("k").agg(n=oop.count(), v=oop.var("k")),
    "medians": lambda s: s.window(oop.tumbling(10)).group_by("k").agg(n=oop.median("k"), d=oop.count_distinct("ts")),
    "texts": lambda s: (
        s.with_columns(t=oop.col("k").cast("string"), u=oop.col("ts").cast("string"))
        .window(oop.tumbling(10))
        .group_by("t", "u")
        .agg(c=oop.collect("k"), f=oop.first("t"))
    ),
    "sliding": lambda s: s.window(oop.sliding(10, every=5)).group_by("k").agg(n=oop.count()),
    "no window": lambda s: s.group_by("ts", "k").agg(n=oop.count()),
    "sessions": lambda s: s.window(oop.session(3)).group_by("k").agg(n=oop.count()),
    "landmark": lambda s: s.window(oop.landmark(0, every=10)).group_by("k").agg(n=oop.count()),
    "shown early": lambda s: s.window(oop.tumbling(10)).group_by("k").agg(n=oop.count()).emit("on_change"),
    "dedup any": lambda s: s.dedup("ts", "k"),
    "dedup first": lambda s: s.dedup("ts", "k", keep="first"),
    "dedup last in a span": lambda s: s.dedup("k", keep="last", within=3),
    "sort": lambda s: s.sort(),
    "left join": lambda s: s.join(s.filter(oop.col("k") < 7), on="k", within=(0, 0), how="left"),
    "full join": lambda s: s.join(s.filter(oop.col("k") < 0), on="k", within=(0, 2), how="full"),
    "anti join": lambda s: s.join(s.filter(oop.col("k") % 2 == 0), on="k", within=(0, 2), how="anti"),
    "many pairs": lambda s: s.join(s.filter(oop.col("k") < 40), within=(0, 0)),
}


@pytest.mark.parametrize("name", PIPELINES)
@pytest.mark.parametrize("engine", [{}, {"threads": 2}, {"scheduler": oop.RoundRobin(train=300)}], ids=str)
def test_no_batch_is_larger_than_said_and_the_answer_is_the_same(name: str, engine: dict[str, Any]) -> None:
    rng = np.random.default_rng(3)
    table = pa.table({"ts": np.repeat(np.arange(20), 150), "k": rng.integers(0, 120, 3_000)})
    stream = PIPELINES[name](oop.source(table, time="ts", punctuate=oop.ordered()))
    whole = stream.run(oop.Embedded(threads=1)).to_table()
    batches = list(stream.run(oop.Embedded(check=True, batch_rows=64, **engine)))
    assert max(b.num_rows for b in batches) <= 64
    found = pa.Table.from_batches([b.replace_schema_metadata(None) for b in batches])
    if name == "shown early":  # what is shown so far depends on batches
        whole, found = (t.filter(pa.compute.field("emit") == "final") for t in (whole, found))
    assert as_rows(found) == as_rows(whole)
    if name == "sort" and not engine:
        assert found.column("ts").to_pylist() == sorted(found.column("ts").to_pylist())


def as_rows(table: pa.Table) -> list[str]:
    return sorted(map(repr, table.to_pylist()))


@pytest.mark.parametrize("name", ["tumbling", "sliding", "sessions", "no window", "sort", "dedup first"])
def test_in_order_stays_in_order(name: str) -> None:
    table = pa.table({"ts": np.repeat(np.arange(20), 150), "k": np.tile(np.arange(150), 20)})
    stream = PIPELINES[name](oop.source(table, time="ts", punctuate=oop.ordered()))
    whole = stream.run(order="iop").to_table()
    batches = list(stream.run(oop.Embedded(check=True, batch_rows=64), order="iop"))
    found = pa.Table.from_batches([b.replace_schema_metadata(None) for b in batches])
    assert max(b.num_rows for b in batches) <= 64
    assert as_rows(found) == as_rows(whole)
    first = found.column(0).to_pylist()
    assert first == sorted(first)


def test_a_slice_costs_what_it_gives(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing of a window's results is made before it is asked for, and a large table is not copied."""
    monkeypatch.setattr(window_results, "FEW", 1_000)
    inputs = [pa.schema({"__wid_start": pa.int64(), "__wid_end": pa.int64(), "k": pa.int64()})]
    stream = oop.source(pa.table({"ts": [1], "k": [1]}), time="ts", punctuate=oop.ordered())
    spec = stream.window(oop.tumbling(10)).group_by("k").agg(n=oop.count()).flow.node.spec
    operator = spec.start(Context(inputs, batch_rows=1_000))
    assert isinstance(operator, AggregateOperator)
    ids = pa.array(np.zeros(10_000, np.int64))
    batch = pa.record_batch({"__wid_start": ids, "__wid_end": ids, "k": np.arange(10_000)})
    assert not list(operator.process_batch(batch))
    held = next(iter(operator.store.tables.values())).accumulators[0].counts
    leaving = operator.process_punctuation((oop.END,))
    first, second = next(leaving), next(leaving)
    assert (first.num_rows, second.num_rows) == (1_000, 1_000)
    assert second.column("k").to_pylist() == list(range(1_000, 2_000))
    made = np.frombuffer(second.column("n").buffers()[1], np.int64)
    assert np.shares_memory(made, held)
    assert sum(b.num_rows for b in leaving if isinstance(b, pa.RecordBatch)) == 8_000


def test_the_box_with_a_promise_runs_before_one_with_rows_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """And so does every box that the promise comes to: its window is out before the other rows are looked at."""
    served: list[str] = []
    run_box = boxes.Box.run

    def run(box: boxes.Box, most: int | None) -> bool:
        served.append(
            box.node.spec.describe().split()[0]
            + ("!" if box.pending is not None or any(arc.queued_promises for arc in box.inputs) else "")
        )
        return run_box(box, most)

    monkeypatch.setattr(boxes.Box, "run", run)
    live = (pa.record_batch({"ts": [t]}) for t in (1, 2))
    plain = oop.source(live, time="ts", punctuate=oop.at_end(), schema=pa.schema({"ts": pa.int64()}))
    promised = oop.source(
        [pa.record_batch({"ts": [3, 5]}), oop.Punctuation({"ts": 20})], time="ts", punctuate=oop.punctuated()
    )
    windows = promised.window(oop.tumbling(10)).agg(n=oop.count()).select(ts=oop.col("window_start"))
    text = oop.col("ts").cast("string")  # without steps: what a program takes does not wait
    both = oop.union(plain.filter(text != "0"), windows)
    run_ = both.run()
    results = run_.elements()
    first = next(results).column("ts").to_pylist()
    assert first[0] == 0, "the window came out behind rows that nobody waited for"
    names = [name.rstrip("!") for name in served]
    assert served[0].endswith("!") and names.index("Aggregate") < names.index("Filter")
    rest = [b.column("ts").to_pylist() for b in results if isinstance(b, pa.RecordBatch)]
    assert sorted(sum(rest, first)) == [0, 1, 2]


def test_boxes_nearest_to_the_result_come_first() -> None:
    stream = oop.source(pa.table({"ts": [1]}), time="ts", punctuate=oop.ordered())
    run = stream.filter(oop.col("ts") > 0).with_columns(a=oop.col("ts")).run()
    order: list[str] = []
    for box in run._boxes[1:]:
        box.inputs[0].put(oop.Punctuation({"ts": 1}))
        box.run = lambda most, box=box: bool(order.append(box.node.spec.name)) or True  # type: ignore[method-assign]
    run._rounds.serve_promises()
    assert order[:2] == ["Project", "Filter"]


def test_few_rows_overtake_a_promise_on_their_way_to_threads() -> None:
    arc = arcs.Arc(None, 0, None)
    batch = rows(1, range(1_000))
    for number in range(300):
        arc.put(batch)
        if number == 10:
            arc.put(oop.Punctuation({"ts": 1}))
    train, promises = arc.take_past_promises(sharded_boxes.CROSSING_ROWS)
    assert promises == [oop.Punctuation({"ts": 1})]
    assert sum(b.num_rows for b in train) <= 11_000 + arcs.OVERTAKING_ROWS + 1_000
    assert arc.queued_promises == 0


def test_a_window_on_threads_does_not_keep_them_from_others() -> None:
    """A shard gives about a slice, then others have their turn."""
    table = pa.table({"ts": np.append(np.zeros(40_000, np.int64), 100), "k": np.append(np.arange(40_000), 0)})
    stream = oop.source(table, time="ts", punctuate=oop.ordered())
    run = (
        stream.window(oop.tumbling(10)).group_by("k").agg(n=oop.count()).run(oop.Embedded(threads=2, batch_rows=1_000))
    )
    (box,) = [b for b in run._boxes if isinstance(b, sharded_boxes.ShardedBox)]
    given: list[int] = []
    emit = box.sharded._emit

    def watched(shard: Any, elements: Any, item: Any) -> bool:
        counted: list[int] = []

        def count() -> Iterator[Any]:
            for element in elements:
                counted.append(element.num_rows if isinstance(element, pa.RecordBatch) else 0)
                yield element

        done = emit(shard, count(), item)
        given.append(sum(counted))
        return done

    box.sharded._emit = watched  # type: ignore[method-assign]
    assert run.to_table().num_rows == 40_001
    assert max(given) <= 2_000


def test_a_state_that_is_saved_on_threads_is_whole() -> None:
    """What a promise releases is out before anything is saved."""

    def plan(s: oop.Stream) -> oop.Stream:
        return s.window(oop.tumbling(10)).group_by("k").agg(n=oop.count())

    h = Harness(plan, {"ts": "int64", "k": "int64"}, threads=2)
    for box in h.run._boxes:
        for each in [box.operator, *(shard.operator for shard in getattr(box.operator, "shards", ()))]:
            each.batch_rows = 10
    h.push({"ts": [1] * 1_000 + [11], "k": [*range(1_000), 5]})
    h.promise(ts=10)
    saved = h.save()
    other = Harness(plan, {"ts": "int64", "k": "int64"}, threads=2)
    other.load(saved, h.given)
    other.end()
    assert (len(h.rows()), other.rows()) == (1_000, [{"window_start": 10, "window_end": 20, "k": 5, "n": 1}])


def test_what_is_on_its_way_out_is_not_open() -> None:
    keys = list(range(50))
    data = [*(rows(ts, keys) for ts in (1, 12, 25)), oop.Punctuation({"ts": 20})]
    stream = oop.source(iter(data), time="ts", punctuate=oop.punctuated(), schema=SCHEMA)
    run = stream.window(oop.tumbling(10)).group_by("k").agg(n=oop.count()).run(oop.Embedded(batch_rows=2))
    assert next(iter(run)).num_rows == 2
    (box,) = [b for b in run._boxes if b.pending is not None]
    assert "[20, 30)" in str(run.blame())
    assert box.pending is None
    assert run.to_table().num_rows == 148


@pytest.mark.parametrize("wrong", [0, -1, 1.5, True, None, "9"])
def test_batch_rows_is_a_count(wrong: Any) -> None:
    with pytest.raises(ValueError, match="batch_rows is a number of at least 1"):
        oop.Embedded(batch_rows=wrong)


def test_a_scheduler_has_turns() -> None:
    with pytest.raises(ValueError, match=r"a scheduler has a method turn, as oop.RoundRobin\(\) does; not 3"):
        oop.Embedded(scheduler=3)  # type: ignore[arg-type]
