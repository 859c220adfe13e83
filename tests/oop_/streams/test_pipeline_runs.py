"""A run of a pipeline: where results go, what its metrics and `explain` tell, how it is stopped and repeated."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest

import oop
from oop.testing import Harness
from tests.oop_.streams.pipelines import EXPECTED, INT_TIME, PACKETS, SMALL, bag, bag_of_text, per_pair, source, tumbled


@pytest.mark.parametrize("name", ["out.parquet", "out.arrow", "out.arrows", "out.csv", "folder/"])
def test_sinks_by_path(name: str, tmp_path: Path) -> None:
    to = str(tmp_path) + "/" + name
    run = per_pair(source(PACKETS, oop.slack(40))).run(to=to)
    assert run.metrics.box("Source").rows_in == PACKETS.num_rows
    policy = oop.punctuated() if name.endswith(("arrow", "arrows")) else oop.at_end()
    back = source(to.rstrip("/"), policy, time="window_start").run()
    assert bag_of_text(back.to_table().to_pylist()) == EXPECTED
    assert len(back.late) == 0


def test_sinks_that_are_called() -> None:
    batches: list[pa.RecordBatch] = []
    per_pair(source(PACKETS, oop.slack(40))).run(to=batches.append)
    assert bag([r for b in batches for r in b.to_pylist()]) == EXPECTED


def test_a_run_that_fails_leaves_no_file(tmp_path: Path) -> None:
    bad = source(pa.table({"ts": [5, 1]}), late="raise")
    with pytest.raises(oop.LateRow):
        bad.run(to=tmp_path / "out.parquet")
    assert list(tmp_path.iterdir()) == []


def test_metrics() -> None:
    stream = source(PACKETS.to_batches(max_chunksize=100), oop.slack(40), name="all")
    run = per_pair(stream.filter(oop.col("port") > 0)).run()
    table = run.to_table()
    metrics = run.metrics
    kept = sum(1 for r in PACKETS.to_pylist() if r["port"] > 0)
    inputs, filter_, bucket, aggregate = (metrics.box(n) for n in ("Source all", "Filter", "Bucket", "Aggregate"))
    assert (inputs.rows_in, inputs.rows_out) == (PACKETS.num_rows, PACKETS.num_rows)
    assert (filter_.rows_in, filter_.rows_out) == (PACKETS.num_rows, kept)
    assert filter_.selectivity == kept / PACKETS.num_rows
    assert (bucket.rows_out, aggregate.rows_in, aggregate.rows_out) == (kept, kept, table.num_rows)
    assert aggregate.buffered_rows == 0
    assert 0 < aggregate.peak_buffered_rows <= kept
    assert aggregate.peak_buffered_rows <= metrics.peak_rows <= kept
    assert aggregate.peak_state_bytes > 0
    assert all(b.seconds >= 0 and b.cost_per_row is not None for b in metrics.boxes)
    assert inputs.promises_out > 5
    assert [a.rows for a in metrics.arcs] == [PACKETS.num_rows, kept, kept, table.num_rows]
    assert all(a.queued_rows == 0 for a in metrics.arcs)
    assert "Aggregate" in str(metrics)
    with pytest.raises(KeyError, match="Aggregate"):
        metrics.box("Join")


def test_a_small_slack_holds_less_than_the_end() -> None:
    peaks = [
        per_pair(source(PACKETS.to_batches(max_chunksize=50), policy)).run
        for policy in (oop.slack(40), oop.slack(1000), oop.at_end())
    ]
    held = []
    for start in peaks:
        run = start()
        run.to_table()
        held.append(run.metrics.box("Aggregate").peak_buffered_rows)
    assert held == sorted(held)
    assert held[0] < held[2] / 2


def test_explain_as_in_the_style() -> None:
    table = pa.table({"ts": pa.array([1], pa.timestamp("s")), "segment": ["x"]})
    north, mid, south = (
        source(table, policy, name=name)
        for name, policy in (("north", oop.slack("5s")), ("mid", oop.ordered()), ("south", oop.at_end()))
    )
    cars = oop.union(north, mid, south).window(oop.tumbling("1min")).group_by("segment").agg(cars=oop.count())
    lines = cars.explain().split("\n")
    assert [re.split(r"\s{2,}", line.strip())[0] for line in lines] == [
        "Aggregate cars=count() by segment",
        "└─ Bucket tumbling 1min on ts",
        "└─ Union of 3",
        "├─ Source north",
        "├─ Source mid",
        "└─ Source south",
    ]
    assert "emits a window when wid < W is promised" in lines[0]
    assert "becomes wid" in lines[1]
    assert "promises the least of its inputs" in lines[2]
    assert lines[3].endswith("slack 5s   late: drop")
    assert lines[4].endswith("ordered   late: drop")
    assert lines[5].endswith("at end   late: drop")


def test_stop_is_not_the_end() -> None:
    closed = False
    given = 0

    def endless() -> Iterator[pa.RecordBatch]:
        nonlocal closed, given
        try:
            while True:
                yield pa.record_batch({"ts": [given, given + 1]})
                given += 2
        finally:
            closed = True

    run = tumbled(endless, schema=INT_TIME).run()
    found = []
    for element in run.elements():
        found.append(element)
        if isinstance(element, pa.RecordBatch) and element.column("window_start")[-1].as_py() >= 50:
            run.stop()
    assert closed
    assert not any(isinstance(e, oop.Punctuation) and e.is_end for e in found)
    rows = [r for e in found if isinstance(e, pa.RecordBatch) for r in e.to_pylist()]
    assert all(r["n"] == 10 for r in rows), "an open window stays unfinished"
    assert given < 100


def test_results_come_before_more_is_read() -> None:
    """A source that is a generator is not read ahead of its results."""
    read = 0

    def slowly() -> Iterator[pa.RecordBatch]:
        nonlocal read
        for t in range(0, 1000, 5):
            read = t
            yield pa.record_batch({"ts": [t]})

    for batch in tumbled(slowly(), schema=INT_TIME).run():
        end = batch.column("window_end")[-1].as_py()
        assert read < end + 10


def test_a_run_of_a_generator_cannot_be_repeated() -> None:
    stream = source(iter([SMALL]))
    assert stream.run().to_table().num_rows == 2
    with pytest.raises(oop.SourceError, match="callable"):
        stream.run().to_table()
    again = source(lambda: iter([SMALL]))
    assert [again.run().to_table().num_rows for _ in range(3)] == [2, 2, 2]


def test_a_result_stays_as_it_was_given() -> None:
    """A window of one pane shares it with the next; late rows that are admitted still go into it."""
    h = Harness(
        lambda s: s.window(oop.sliding(20, every=10)).agg(n=oop.count(), low=oop.min("v"), high=oop.max("v")),
        {"ts": "int64", "v": "int64"},
        late="admit",
    )
    h.push({"ts": [12, 13], "v": [5, 6]})
    h.promise(ts=20)
    (given,) = [e for e in h.out() if isinstance(e, pa.RecordBatch)]
    before = given.to_pylist()
    h.push({"ts": [14] * 5, "v": [1, 2, 3, 90, 91]})
    assert given.to_pylist() == before
    h.end()
    assert [r["n"] for r in h.rows()] == [7]
