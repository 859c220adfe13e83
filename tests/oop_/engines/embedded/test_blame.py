"""`Run.blame`: what it says, in whole pipelines."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Any

import pyarrow as pa
import pytest

import oop
from oop.operators.core.operator import Element
from oop.testing import Harness, ManualClock

TS = {"ts": "int64"}
ROW = {"ts": "int64", "host": "string", "v": "int64"}


def counted(stream: oop.Stream) -> oop.Stream:
    return stream.window(oop.tumbling(10)).agg(n=oop.count())


def without_site(line: str) -> str:
    head, _, tail = line.partition(" (tests")
    return head + tail.partition(")")[2]


def test_the_chain_of_a_union() -> None:
    clock = ManualClock(100)
    h = Harness(lambda a, b: counted(oop.union(a, b)), TS, TS, clock=clock)
    assert h.run.blame() is None
    h.push({"ts": [3, 12]}, 0)
    h.promise(0, ts=15)
    h.push({"ts": [4]}, 1)
    h.promise(1, ts=4)
    clock.advance(7)
    h.push({"ts": [5, 6]}, 1)
    blame = h.run.blame()
    assert blame is not None
    assert list(map(without_site, str(blame).splitlines())) == [
        "window [0, 10) of Aggregate n=count() is open",
        "  it needs ts < 10 from Union of 2, which has promised ts < 4",
        "  it is held back by source 'input 1': promised ts < 4, 7 ago (2 rows ago)",
        "  released when 'input 1' promises ts < 10",
    ]
    assert blame.sources[0].release == oop.Punctuation({"ts": 10})
    h.promise(1, ts=10)
    after = h.run.blame()
    assert after is not None and after.what == "window [10, 20)"
    assert [s.source for s in after.sources] == ["input 1", "input 0"], "the one with the least progress comes first"
    h.end()
    assert h.run.blame() is None


def test_a_promise_that_helped_nobody_is_shown_too() -> None:
    h = Harness(counted, TS)
    h.push({"ts": [3]})
    h.promise(ts=4)
    h.promise(ts=9)  # no window more: it stays at the source
    blame = h.run.blame()
    assert blame is not None and blame.sources[0].promised == "ts < 9"


def test_times_are_shown_as_the_column_has_them() -> None:
    clock = ManualClock(datetime(2026, 1, 1))
    h = Harness(
        lambda s: s.window(oop.tumbling("1min")).agg(n=oop.count()),
        {"ts": pa.timestamp("ms")},
        punctuate=oop.slack("5s"),
        clock=clock,
    )
    h.push({"ts": [datetime(2026, 1, 1, 0, 0, 30)]})
    clock.advance(timedelta(seconds=90))
    text = str(h.run.blame())
    assert "window [2026-01-01 00:00:00.000, 2026-01-01 00:01:00.000)" in text
    assert "promised ts < 2026-01-01 00:00:25.000, 90s ago (0 rows ago)" in text
    assert "released when 'input 0' promises ts < 2026-01-01 00:01:00.000" in text


def test_a_source_that_promises_at_its_end() -> None:
    h = Harness(counted, TS, punctuate=oop.at_end())
    h.push({"ts": [3]})
    blame = h.run.blame()
    assert blame is not None and blame.sources[0].release is oop.END
    assert "it has promised nothing since" in str(blame)
    assert "released when 'input 0' ends" in str(blame)


def test_a_group_holds_back_its_window_alone() -> None:
    h = Harness(lambda s: s.window(oop.tumbling(10)).group_by("host").agg(n=oop.count()), ROW)
    h.push({"ts": [1, 2, 3], "host": ["A", "B", None], "v": [0, 0, 0]})
    for host, bound in (("A", 20), ("B", 4), (None, 30)):
        h.promise(ts=bound, where={"host": host})
    blame = h.run.blame()
    assert blame is not None
    assert blame.what == "window [0, 10) of host = 'B'"
    assert blame.sources[0].group == "group host = 'B'"
    assert blame.sources[0].release == oop.Punctuation({"ts": 10}, {"host": "B"})


def test_the_group_that_holds_all_rows_back_is_named() -> None:
    """Without the group among the keys, the slowest group decides: also one that never came."""
    policy = oop.slack(1, by="host", groups=["A", "B", "C"])
    h = Harness(counted, ROW, punctuate=policy)
    h.push({"ts": [11, 3], "host": ["A", "B"], "v": [0, 0]})
    blame = h.run.blame()
    assert blame is not None
    assert blame.sources[0].group == "group host = 'C'"
    assert blame.sources[0].promised is None
    h.push({"ts": [25], "host": ["C"], "v": [0]})
    blame = h.run.blame()
    assert blame is not None
    assert (blame.sources[0].group, blame.sources[0].promised) == ("group host = 'B'", "ts < 2")


def test_groups_of_several_columns_are_named() -> None:
    """As those of one column: the group itself where it has a window of its own, else those that are slowest."""
    policy = oop.slack(1, by=["host", "v"], groups=[("A", 1), ("B", 1), ("B", 2)])
    h = Harness(counted, ROW, punctuate=policy)
    h.push({"ts": [11, 3], "host": ["A", "B"], "v": [1, 1]})
    blame = h.run.blame()
    assert blame is not None
    assert (blame.sources[0].group, blame.sources[0].promised) == ("group (host = 'B', v = 2)", None)
    h.push({"ts": [3], "host": ["B"], "v": [2]})
    blame = h.run.blame()
    assert blame is not None
    assert blame.sources[0].group == "groups (host = 'B', v = 1), (host = 'B', v = 2)"
    assert blame.sources[0].promised == "ts < 2"
    own = Harness(lambda s: s.window(oop.tumbling(10)).group_by("v", "host").agg(n=oop.count()), ROW, punctuate=policy)
    own.push({"ts": [11, 13, 12], "host": ["A", "B", "B"], "v": [1, 1, 2]})
    own.push({"ts": [25, 24], "host": ["A", "B"], "v": [1, 2]})
    blame = own.run.blame()
    assert blame is not None
    assert blame.what.startswith("window [10, 20)")
    assert (blame.sources[0].group, blame.sources[0].promised) == ("group host = 'B', v = 1", "ts < 12")
    assert blame.sources[0].release == oop.Punctuation({"ts": 20}, {"host": "B", "v": 1})
    assert blame.sources[0].rows == 2, "rows of other groups that promised since do not count as its own"


def test_stamps_of_groups_of_several_columns_are_forgotten_too() -> None:
    h = Harness(lambda s: s.window(oop.tumbling(10)).group_by("host", "v").agg(n=oop.count()), ROW)
    stamps: Any = h.sources[0].stamps
    for v in range(2_000):
        h.sources[0].process_train([oop.Punctuation({"ts": v}, {"host": "A", "v": v})])
        if v % 100 == 0:
            h.promise(ts=v)
    assert len(stamps.by) <= 1_024


def test_an_aggregate_on_an_aggregate_is_a_link() -> None:
    h = Harness(lambda s: counted(s).window(oop.tumbling(30)).agg(n=oop.sum("n")), TS)
    h.push({"ts": [1, 12]})
    h.promise(ts=11)
    blame = h.run.blame()
    assert blame is not None
    assert (blame.what, blame.operator) == ("window [0, 30)", "Aggregate n=sum(n)")
    (link,) = blame.links
    assert (link.operator, link.needs, link.promised) == (
        "Aggregate n=count()",
        "window_start < 30",
        "window_start < 10",
    )
    assert blame.sources[0].release == oop.Punctuation({"ts": 30})


@pytest.mark.parametrize("how", ["inner", "left", "anti"])
def test_a_row_of_a_join_is_held_by_the_other_side(how: str) -> None:
    h = Harness(lambda a, b: a.join(b, on="host", within=(-2, 5), how=how), ROW, ROW)
    h.push({"ts": [10], "host": ["A"], "v": [0]}, 0)
    h.promise(0, ts=100)
    h.promise(1, ts=3)
    blame = h.run.blame()
    assert blame is not None
    assert blame.what == "left row at ts = 10"
    assert [(s.source, s.release) for s in blame.sources] == [("input 1", oop.Punctuation({"ts": 16}))]
    h.promise(1, ts=15)
    assert h.run.blame() is not None
    h.promise(1, ts=16)
    assert h.run.blame() is None


def test_a_row_of_a_window_join() -> None:
    h = Harness(lambda a, b: a.join(b, window=oop.tumbling(10)), TS, TS)
    h.push({"ts": [13]}, 1)
    h.promise(1, ts=100)
    blame = h.run.blame()
    assert blame is not None
    assert blame.what == "right row in window [10, 20)"
    assert [(s.source, s.release) for s in blame.sources] == [("input 0", oop.Punctuation({"ts": 20}))]


def test_a_join_without_a_band_waits_for_the_end() -> None:
    h = Harness(lambda a, b: a.join(b, on="host", unbounded=True), ROW, ROW)
    h.push({"ts": [13], "host": ["A"], "v": [0]}, 0)
    blame = h.run.blame()
    assert blame is not None and [s.release for s in blame.sources] == [oop.END]


def test_a_group_with_two_times_needs_either_or_both() -> None:
    """Joint promises: the least that releases a group is about both of its times."""
    h = Harness(
        lambda a, b: a.join(b, on="host", within=(-5, 5)).group_by("ts", "ts_right").agg(n=oop.count()), ROW, ROW
    )
    h.push({"ts": [10], "host": ["A"], "v": [0]}, 0)
    h.push({"ts": [12], "host": ["A"], "v": [0]}, 1)
    h.promise(0, ts=11)
    blame = h.run.blame()
    assert blame is not None
    assert (blame.what, [s.source for s in blame.sources]) == ("group ts=10, ts_right=12", ["input 1"])
    assert blame.sources[0].release == oop.Punctuation({"ts": 13})
    h.promise(1, ts=13)
    assert h.rows() == [{"ts": 10, "ts_right": 12, "n": 1}]


@pytest.mark.parametrize("threads", [1, 2])
def test_between_batches_after_an_error_and_after_stop(threads: int) -> None:
    def batch(*times: int) -> pa.RecordBatch:
        return pa.record_batch({"ts": list(times), "k": [t % 3 for t in times]})

    def run_of(elements: Any) -> oop.Run:
        source = oop.source(elements, time="ts", punctuate=oop.ordered(), name="north", schema=batch(0).schema)
        windowed = source.window(oop.tumbling(10)).group_by("k").agg(n=oop.count())
        return windowed.run(engine=oop.Embedded(threads=threads))

    def failing() -> Iterator[Element]:
        yield batch(1, 2, 3)
        yield batch(14, 15)
        raise RuntimeError("gone")

    run = run_of(itertools.chain([batch(1, 2, 3), batch(14, 15)], itertools.repeat(batch(16))))
    next(iter(run))
    blame = run.blame()
    assert blame is not None and blame.what == "window [10, 20)"
    run.stop()
    again = run.blame()
    assert again is not None and again.what == "window [10, 20)"

    run = run_of(failing())
    with pytest.raises(RuntimeError):
        run.to_table()
    blame = run.blame()
    assert blame is not None
    assert (blame.what, blame.sources[0].promised) == ("window [10, 20)", "ts < 15")

    run = run_of([batch(1, 2, 3), batch(14, 15)])
    assert run.to_table().num_rows == 5
    assert run.blame() is None


def test_stamps_of_groups_that_caught_up_are_forgotten() -> None:
    h = Harness(lambda s: s.window(oop.tumbling(10)).group_by("v").agg(n=oop.count()), ROW)
    stamps: Any = h.sources[0].stamps
    for v in range(3_000):
        h.sources[0].process_train([oop.Punctuation({"ts": 20}, {"v": v})])
    assert len(stamps.by) == 3_000, "each has a promise of its own"
    h.promise(ts=30)
    asked = []

    class Counting(oop.Frontier):
        def named(self, column: str) -> set[Any]:
            asked.append(column)
            return super().named(column)

    stamps.box.operator.gate.passed = Counting()
    for v in range(3_000, 3_000 + 2 * 3_000):
        stamps.note(oop.Punctuation({"ts": 40}, {"v": v}))
    assert len(stamps.by) < 6_000
    assert len(asked) < 10, "once for a column, not for each of its groups"
