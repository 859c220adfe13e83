"""Landmark windows by example: steps without rows, groups that end, what is refused."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta

import pyarrow as pa
import pytest

import oop
from oop.operators.functions.counts import Count
from oop.testing import Harness

SCHEMA = {"ts": "int64", "link": "string"}


def running(window, *keys, **options):
    return Harness(lambda s: s.window(window).group_by(*keys).agg(n=oop.count()), SCHEMA, **options)


def ends(rows):
    return [(r["window_end"], r.get("link"), r["n"]) for r in sorted(rows, key=lambda r: (r["window_end"], str(r)))]


def test_a_promise_that_jumps_puts_out_every_step():
    h = running(oop.landmark(0, every=10), "link")
    h.push({"ts": [3, 25], "link": ["A", "B"]})
    h.promise(ts=50)
    assert ends(h.rows()) == [
        (10, "A", 1),
        (20, "A", 1),
        *((end, link, 1) for end in (30, 40, 50) for link in ("A", "B")),
    ]
    assert [str(p) for p in h.promises()] == ["window_end < 60"]
    h.promise(ts=69)
    assert ends(h.rows()) == [(60, "A", 1), (60, "B", 1)]
    h.push({"ts": [71], "link": ["A"]})
    h.end()
    assert ends(h.rows()) == [(70, "A", 1), (70, "B", 1), (80, "A", 2), (80, "B", 1)]
    assert h.buffered_rows == 0


def test_a_jump_over_many_steps_comes_in_batches():
    h = running(oop.landmark(0, every=1))
    h.push({"ts": [0], "link": [None]})
    h.promise(ts=200_000)
    sizes = [e.num_rows for e in h.out() if isinstance(e, pa.RecordBatch)]
    assert sum(sizes) == 200_000 and max(sizes) <= 65_536


def test_a_jump_over_very_many_steps_waits_for_whoever_reads():
    """No more of it is made than the queues are meant for, also with an operator between."""
    jump = [pa.record_batch({"ts": [0]}), oop.Punctuation({"ts": 20_000_000})]
    stream = oop.source(lambda: iter(jump), time="ts", punctuate=oop.punctuated(), schema=jump[0].schema)
    counts = stream.window(oop.landmark(0, every=1)).agg(n=oop.count())
    for plan in (counts, counts.filter(oop.col("n") > 0)):
        run = plan.run()
        read = 0
        for batch in run:
            read += batch.num_rows
            assert run.metrics.boxes[2].rows_out <= read + 2_000_000
            if read > 3_000_000:
                run.stop()


def test_a_jump_into_a_wrong_century_is_refused():
    """With what to do about it; what came before it has left."""
    times = pa.array([0, 1, 2, 10**11], pa.int64()).cast(pa.timestamp("s"))
    stream = oop.source([pa.record_batch({"ts": times})], time="ts", punctuate=oop.ordered())
    run = stream.window(oop.landmark("1970-01-01", every="1s")).agg(n=oop.count()).run()
    with pytest.raises(oop.OopError, match="without a change") as refused:
        run.to_table()
    assert "changes=True" in refused.value.hint and "test_landmark.py" in str(refused.value)
    changed = stream.window(oop.landmark("1970-01-01", every="1s", changes=True)).agg(n=oop.count())
    assert changed.run().to_table()["n"].to_pylist() == [1, 2, 3, 4]


def test_nothing_is_put_out_for_steps_before_a_groups_first_row():
    h = running(oop.landmark(0, every=10), "link")
    h.promise(ts=10**15)
    h.push({"ts": [10**15 + 5], "link": ["A"]})
    h.promise(ts=10**15 + 10)
    assert ends(h.rows()) == [(10**15 + 10, "A", 1)]


def test_rows_before_the_landmark_are_in_no_window():
    h = running(oop.landmark(100, every=10))
    h.push({"ts": [99, -5, 100], "link": [None] * 3})
    h.end()
    assert ends(h.rows()) == [(110, None, 1)]


def test_each_group_goes_as_far_as_its_own_bound_reaches():
    h = running(oop.landmark(0, every=10), "link")
    h.push({"ts": [1, 2], "link": ["A", "B"]})
    h.promise(where={"link": "A"}, ts=30)
    assert ends(h.rows()) == [(10, "A", 1), (20, "A", 1), (30, "A", 1)]
    assert [str(p) for p in h.promises()] == ["window_end < 40, link = 'A'"]
    h.promise(ts=20)
    assert ends(h.rows()) == [(10, "B", 1), (20, "B", 1)]
    h.promise(ts=40)
    assert ends(h.rows()) == [(30, "B", 1), (40, "A", 1), (40, "B", 1)]


@pytest.mark.parametrize("changes", [False, True])
def test_a_group_that_ends_leaves_with_its_last_row(changes):
    h = running(oop.landmark(0, every=10, changes=changes), "link")
    h.push({"ts": [1, 2, 31, 55], "link": ["A", "B", "A", "B"]})
    h.promise(ts=10)
    assert len(h.rows()) == 2 and h.buffered_rows == 4
    h.promise(where={"link": "A"})
    assert ends(h.rows()) == [(e, "A", n) for e, n in ((20, 1), (30, 1), (40, 2)) if not changes or n == 2]
    assert h.buffered_rows == 2  # B, and its row that waits
    h.end()
    assert ends(h.rows()) == [
        (e, "B", n) for e, n in ((20, 1), (30, 1), (40, 1), (50, 1), (60, 2)) if not changes or n == 2
    ]
    assert h.buffered_rows == 0


def test_a_group_that_ends_after_its_rows_are_out_is_dropped():
    h = running(oop.landmark(0, every=10), "link")
    h.push({"ts": [1, 2], "link": ["A", "B"]})
    h.promise(ts=10)
    h.rows()
    h.promise(where={"link": "A"})
    assert h.rows() == [] and h.buffered_rows == 1
    h.promise(ts=20)
    assert ends(h.rows()) == [(20, "B", 1)]


def test_a_late_row_counts_from_the_first_open_window_on():
    h = running(oop.landmark(0, every=10), late="admit")
    h.push({"ts": [5], "link": [None]})
    h.promise(ts=20)
    assert ends(h.rows()) == [(10, None, 1), (20, None, 1)]
    h.push({"ts": [6], "link": [None]})
    h.promise(ts=40)
    assert ends(h.rows()) == [(30, None, 2), (40, None, 2)]
    h.end()
    assert h.rows() == []


def test_a_late_row_changes_its_group_in_the_first_open_window():
    h = running(oop.landmark(0, every=10, changes=True), "link", late="admit")
    h.push({"ts": [5, 7], "link": ["A", "B"]})
    h.promise(ts=20)
    assert ends(h.rows()) == [(10, "A", 1), (10, "B", 1)]
    h.push({"ts": [6], "link": ["A"]})
    h.promise(ts=40)
    assert ends(h.rows()) == [(30, "A", 2)]


def test_groups_that_changed():
    h = running(oop.landmark(0, every=10, changes=True), "link")
    h.push({"ts": [1, 2, 15], "link": ["A", "B", "A"]})
    h.promise(ts=10**15)
    assert ends(h.rows()) == [(10, "A", 1), (10, "B", 1), (20, "A", 2)]
    assert h.buffered_rows == 2


def table(type_, numbers):
    width = pa.int32() if type_.bit_width == 32 else pa.int64()
    return pa.table({"ts": pa.array(numbers, width).cast(type_)})


def starts(type_, start, every, numbers=(0,)):
    stream = oop.source(table(type_, numbers), time="ts", punctuate=oop.ordered())
    result = stream.window(oop.landmark(start, every=every)).agg(n=oop.count()).run().to_table()
    assert result.schema.field("window_start").type == type_
    return result.column("window_start").to_pylist()


def test_landmarks_of_temporal_columns():
    day = datetime(2024, 1, 1)
    for start in (day, date(2024, 1, 1), "2024-01-01", "2024-01-01T00:00:00", 1_704_067_200):
        assert starts(pa.timestamp("s"), start, "1d", [1_704_067_200]) == [day]
    for start in (day, date(2024, 1, 1), "2024-01-01", 19_723):
        assert starts(pa.date32(), start, timedelta(days=2), [19_724]) == [date(2024, 1, 1)]
    berlin = pa.timestamp("us", "Europe/Berlin")
    for start in (day.replace(tzinfo=UTC), "2024-01-01T01:00:00+01:00"):
        assert starts(berlin, start, "1h", [1_704_067_200_000_000]) == [day.replace(tzinfo=UTC)]
    assert starts(pa.timestamp("ns"), "1969-12-31T23:00", "1h", [-1]) == [datetime(1969, 12, 31, 23)]


def test_errors():
    with pytest.raises(ValueError, match="plain numbers"):
        starts(pa.int64(), "2024-01-01", 10)
    with pytest.raises(ValueError, match="greater than 0"):
        starts(pa.int64(), 0, 0)
    with pytest.raises(ValueError, match="whole number"):
        starts(pa.timestamp("s"), "2024-01-01T00:00:00.5", 10)
    with pytest.raises(ValueError, match=r"the landmark 1\.5 is not a whole number"):
        starts(pa.int64(), 1.5, 10)
    with pytest.raises(ValueError, match="every="):
        oop.landmark(0, changes=True)


def test_a_landmark_without_a_zone_on_a_column_with_one_is_told_what_to_write():
    winter, summer = "2024-01-01 00:00", date(2024, 7, 1)
    for start, zone, written in (
        (winter, "Europe/Berlin", "2024-01-01T00:00:00+01:00"),
        ("2024-01-01", "Europe/Berlin", "2024-01-01T00:00:00+01:00"),
        (datetime(2024, 1, 1), "Europe/Berlin", "2024-01-01T00:00:00+01:00"),
        (summer, "Europe/Berlin", "2024-07-01T00:00:00+02:00"),
        (winter, "+05:30", "2024-01-01T00:00:00+05:30"),
        (winter, "UTC", "2024-01-01T00:00:00+00:00"),
    ):
        type_ = pa.timestamp("s", zone)
        with pytest.raises(oop.WrongArgument, match=f"no zone, and the time column's is {re.escape(zone)}") as wrong:
            starts(type_, start, 10)
        assert "bound" not in str(wrong.value) and "test_landmark.py" in str(wrong.value)
        assert f"oop.landmark({written!r}) is that time in {zone}" in str(wrong.value.hint)
        assert str(wrong.value.hint).count("oop.landmark(") == (1 if zone == "UTC" else 2)
        begin = datetime.fromisoformat(written)
        assert starts(type_, written, "1h", [int(begin.timestamp())]) == [begin]


def test_a_landmark_with_a_zone_on_a_column_without_is_told_what_to_write():
    for type_ in (pa.timestamp("s"), pa.date32()):
        with pytest.raises(oop.WrongArgument, match=r"has a zone, and a time column of type .* has none") as wrong:
            starts(type_, "2024-01-01T00:00:00+01:00", 10)
        assert "oop.landmark('2024-01-01T00:00:00')" in str(wrong.value.hint)
        assert "oop.landmark('2023-12-31T23:00:00') if its times are UTC" in str(wrong.value.hint)


def test_an_aggregate_that_cannot_merge_is_refused():
    @dataclass(frozen=True)
    class Apart(Count):
        @property
        def can_merge(self):
            return False

    stream = oop.source(table(pa.int64(), [1]), time="ts", punctuate=oop.at_end())
    with pytest.raises(oop.SchemaMismatch, match=r"count\(\) cannot merge") as wrong:
        stream.window(oop.landmark(0, every=5)).agg(n=Apart())
    assert "test_landmark.py" in str(wrong.value)
    assert stream.window(oop.landmark(0)).agg(n=Apart()).run().to_table().num_rows == 1


def test_without_steps_only_the_end_completes_it():
    data = table(pa.timestamp("s"), [5, 1, 3])
    endless = oop.source(data, time="ts", punctuate=oop.slack("5s"), name="calls")
    with pytest.raises(oop.NeverEmits, match="only the end completes") as wrong:
        endless.window(oop.landmark(2)).agg(n=oop.count()).run()
    assert "every=" in str(wrong.value) and "at_end()" in str(wrong.value)
    ended = oop.source(data, time="ts", punctuate=oop.at_end()).window(oop.landmark(2)).agg(n=oop.count())
    assert ended.time is None
    assert ended.run().to_table().to_pylist() == [
        {"window_start": datetime(1970, 1, 1, 0, 0, 2), "window_end": None, "n": 2}
    ]


def test_explain_says_that_state_grows():
    stream = oop.source(table(pa.int64(), [1]), time="ts", punctuate=oop.at_end())
    shown = stream.window(oop.landmark(0, every=5)).agg(n=oop.count()).explain()
    assert "Bucket landmark 0 every 5 on ts" in shown and "grows with the groups" in shown
    assert "grows with the groups" in stream.window(oop.landmark(0)).agg(n=oop.count()).explain()


def test_state_is_accounted_for():
    h = running(oop.landmark(0, every=10), "link")
    operator = h.run._boxes[-1].operator
    empty = operator.state_bytes
    h.push({"ts": list(range(1000)), "link": [str(i % 100) for i in range(1000)]})
    h.promise(ts=1000)
    assert h.buffered_rows == 100 and operator.state_bytes > empty


def test_a_result_that_depends_on_the_window_is_made_for_each_step():
    rate = oop.aggregate(0.0, lambda s, x: s + x, lambda a, b: a + b, lambda s, start, end: s / (end - start))
    h = Harness(lambda s: s.window(oop.landmark(0, every=10)).agg(r=rate("v")), {"ts": "int64", "v": "double"})
    h.push({"ts": [1], "v": [60.0]})
    h.promise(ts=30)
    assert [row["r"] for row in h.rows()] == [6.0, 3.0, 2.0]


def test_results_so_far_are_running_ones():
    def plan(s):
        return s.window(oop.landmark(0, every=10)).group_by("k").agg(n=oop.count()).emit("on_change")

    h = Harness(plan, {"ts": "int64", "k": "string"})
    found = []
    for ts, k in ((1, "a"), (2, "b"), (12, "a")):
        h.push({"ts": [ts], "k": [k]})
        found.append([(r["window_end"], r["k"], r["n"]) for r in h.rows()])
    assert found == [[(10, "a", 1)], [(10, "b", 1)], [(20, "a", 2), (20, "b", 1)]]
    h.promise(ts=10)
    assert [(r["window_end"], r["k"], r["n"], r["emit"]) for r in h.rows()] == [
        (10, "a", 1, "final"),
        (10, "b", 1, "final"),
    ]
    h.push({"ts": [15], "k": ["b"]})
    assert [(r["window_end"], r["k"], r["n"]) for r in h.rows()] == [(20, "b", 2)]


def test_one_window_without_an_end_is_watched_by_early_results():
    s = oop.source(pa.table({"ts": [1, 2]}), time="ts", punctuate=oop.ordered())
    counts = s.window(oop.landmark(0)).agg(n=oop.count())
    with pytest.raises(oop.NeverEmits):
        counts.run()
    rows = counts.emit("on_change").run().to_table().to_pylist()
    assert [(r["window_end"], r["n"], r["emit"]) for r in rows] == [(None, 2, "partial"), (None, 2, "final")]


def test_a_date_is_no_instant_of_a_column_with_a_zone():
    times = pa.array([0], pa.timestamp("s", "Europe/Berlin"))
    s = oop.source(pa.table({"ts": times}), time="ts", punctuate=oop.ordered())
    with pytest.raises(ValueError, match="zone"):
        s.window(oop.landmark(date(2024, 1, 1), every="1d"))
