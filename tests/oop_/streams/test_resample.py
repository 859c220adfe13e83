"""Resample as a user meets it: Aurora's figure 11, what comes out when, what is held, and what is refused."""

from __future__ import annotations

import time

import pyarrow as pa
import pytest

import oop
from oop import aurora
from oop.operators.resample import near_rows
from oop.testing import Harness

H = {"Time": "int64"}
X = {"Sid": "int64", "Time": "int64", "Pos": "int64"}


def at(clock: str) -> int:
    hours, minutes = clock.split(":")
    return 60 * int(hours) + int(minutes)


def test_figure_11():
    """Aurora paper, section 5.2.2.4: heartbeats every 15 min, positions within 10 min of them averaged for each
    soldier.

    The paper's text does not have the figure's rows. These are made up so that what it says of them holds: the first
    result is soldier 2's, though row 1 is soldier 1's, and it comes with soldier 2's first row later than 2:10, row 3.
    The results are computed from the definition.
    """
    box = aurora.Resample(
        {"Pos": oop.mean("Pos")}, size=10, left=oop.Order("Time"), right=oop.Order("Time", group_by="Sid")
    )
    h = Harness(box, H, X, time="Time", punctuate=oop.at_end())
    for beat in ("2:00", "2:15", "2:30"):
        h.push({"Time": [at(beat)]}, 0)
    rows = [
        (1, "2:00", 10),
        (2, "2:00", 15),
        (2, "2:11", 23),  # the first of soldier 2 later than 2:10
        (1, "2:08", 14),
        (1, "2:25", 20),  # in reach of 2:15, not beyond it; beyond 2:10
        (2, "2:30", 31),  # beyond 2:25
        (1, "2:41", 32),  # beyond 2:25 and 2:40
    ]
    came = []
    for sid, clock, pos in rows:
        h.push({"Sid": [sid], "Time": [at(clock)], "Pos": [pos]}, 1)
        came.append([(r["Sid"], r["Time"], r["Pos"]) for r in h.rows()])
    assert came == [
        [],
        [],
        [(2, at("2:00"), 15.0)],
        [],
        [(1, at("2:00"), 12.0)],
        [(2, at("2:15"), 23.0)],
        [(1, at("2:15"), 17.0), (1, at("2:30"), 20.0)],
    ]
    h.end()
    assert [(r["Sid"], r["Time"], r["Pos"]) for r in h.rows()] == [(2, at("2:30"), 31.0)]
    assert h.buffered_rows == 0
    assert len(h.late) == 0


def test_the_slack_decides_when_a_computation_concludes():
    box = aurora.Resample(
        {"n": oop.count()}, 10, oop.Order("Time"), oop.Order("Time", slack=1, group_by="Sid"), groups=[1]
    )
    h = Harness(box, H, X, time="Time", punctuate=oop.at_end())
    h.push({"Time": [100]}, 0)
    h.push({"Sid": [1, 1], "Time": [95, 111], "Pos": [0, 0]}, 1)
    assert h.rows() == [], "one more row may come that is out of order"
    h.push({"Sid": [1], "Time": [108], "Pos": [0]}, 1)
    assert h.rows() == []
    h.push({"Sid": [1], "Time": [112], "Pos": [0]}, 1)
    assert h.rows() == [{"Sid": 1, "Time": 100, "n": 2}]
    h.push({"Sid": [1], "Time": [107], "Pos": [0]}, 1)
    assert h.late["Assume (2)"]["Time"].to_pylist() == [107]
    assert len(h.late) == 1


def test_a_left_row_that_comes_later_has_its_results_at_once():
    h = Harness(lambda a, b: a.resample(b, within=2, by="k", n=oop.count()), *({"ts": "int64", "k": "string"},) * 2)
    h.push({"ts": [10, 11, 10], "k": ["a", "a", "b"]}, 1)
    h.promise(1, where={"k": "a"}, ts=20)
    assert h.rows() == []
    h.push({"ts": [9, 9], "k": [None, None]}, 0)
    assert h.rows() == [{"k": "a", "ts": 9, "n": 2}] * 2, "for every row, also for equal ones"
    h.promise(1, ts=20)
    assert h.rows() == [{"k": "b", "ts": 9, "n": 1}] * 2
    assert h.buffered_rows == 3, "right rows, for left rows that may come"
    h.promise(0, ts=13)
    assert h.buffered_rows == 1
    assert h.frontier == oop.Frontier.of(oop.Punctuation({"ts": 13}))
    h.promise(0, ts=30)
    assert h.buffered_rows == 0
    assert h.frontier == oop.Frontier.of(oop.Punctuation({"ts": 18}))


def test_aggregates_may_look_at_the_left_time():
    """Aurora paper, footnote 10: "a weighted average of positions reported, with weights determined by the difference
    between the time of the reports and t"."""
    beats = oop.source(pa.table({"Time": [10.0]}), time="Time", punctuate=oop.at_end())
    reports = pa.table({"Time": [8.0, 11.0], "Pos": [3.0, 6.0]})
    reports = oop.source(reports, time="Time", punctuate=oop.at_end())
    away = oop.col("Time") - oop.col("Time_left")
    weight = 1 / oop.if_else(away < 0, -away, away)
    near = beats.resample(reports, within=5, sums=oop.sum(oop.col("Pos") * weight), weights=oop.sum(weight))
    assert near.select("Time", Pos=oop.col("sums") / oop.col("weights")).run().to_table().to_pylist() == [
        {"Time": 10.0, "Pos": 5.0}
    ]


def test_a_function_of_the_user():
    spread = oop.aggregate((0, 0), lambda s, x: (s[0] + 1, s[1] + x * x), final=lambda s: s[1] / s[0])
    beats = oop.source(pa.table({"t": [10, 20]}), time="t", punctuate=oop.at_end())
    reports = oop.source(pa.table({"Time": [9, 12, 30], "Pos": [1, 3, 5]}), time="Time", punctuate=oop.at_end())
    found = beats.resample(reports, within=3, square=spread("Pos"), at=oop.max("t")).run().to_table()
    # "for every tuple, t, from S1, tuple … is output": none is near to 20, and a function of no rows is null
    assert found.to_pylist() == [{"t": 10, "square": 5.0, "at": 10}, {"t": 20, "square": None, "at": None}]


def test_windows_behind_it():
    beats = oop.source(pa.table({"ts": list(range(0, 100, 10))}), time="ts", punctuate=oop.ordered())
    rows = pa.table({"ts": list(range(100)), "k": [i % 3 for i in range(100)]})
    reports = oop.source(rows, time="ts", punctuate=oop.slack(rows=2, by="k", groups=[0, 1, 2]))
    near = beats.resample(reports, within=4, by="k", n=oop.count())
    found = near.window(oop.tumbling(50)).agg(n=oop.sum("n")).run(engine=oop.Embedded(check=True)).to_table()
    expected = [sum(abs(t - u) <= 4 for t in range(w, w + 50, 10) for u in range(100)) for w in (0, 50)]
    assert found["n"].to_pylist() == expected


def test_rows_without_a_time_are_near_to_none():
    schema = pa.schema([("ts", pa.int64()), ("x", pa.float64())])
    h = Harness(
        lambda a, b: a.resample(b, within=2, times=("x", "x"), n=oop.count()), schema, schema, punctuate=oop.at_end()
    )
    h.push({"ts": [1, 2, 3], "x": [None, float("nan"), 5.0]}, 0)
    h.push({"ts": [1, 2, 3], "x": [float("nan"), 4.0, None]}, 1)
    assert h.buffered_rows == 2
    h.end()
    assert h.rows() == [{"x": 5.0, "n": 1}]


def test_admitted_late_rows_are_ignored_and_counted():
    h = Harness(lambda a, b: a.resample(b, within=2, n=oop.count()), *({"ts": "int64"},) * 2, late="admit")
    for port in (0, 1):
        h.promise(port, ts=10)
        h.push({"ts": [9]}, port)
    assert h.buffered_rows == 0
    assert sum(box.late_unused for box in h.run.metrics.boxes) == 2


def test_many_groups_and_many_left_rows():
    """A thousand groups of a hundred rows, each promised about by itself: not every promise looks at every group."""
    rows = pa.table({"ts": [i // 1000 for i in range(100_000)], "k": [i % 1000 for i in range(100_000)]})
    beats = oop.source(pa.table({"ts": list(range(0, 100, 5))}), time="ts", punctuate=oop.ordered())
    reports = oop.source(rows, time="ts", punctuate=None)
    box = aurora.Resample({"n": oop.count()}, 2, oop.Order("ts"), oop.Order("ts", group_by="k"))
    start = time.perf_counter()
    found = box(beats, reports).run().to_table()
    assert found.num_rows == 20_000
    assert sum(found["n"].to_pylist()) == 1000 * sum(abs(t - u) <= 2 for t in range(0, 100, 5) for u in range(100))
    assert time.perf_counter() - start < 20


def test_groups_whose_rows_are_gone_are_forgotten():
    h = Harness(
        lambda a, b: a.resample(b, within=1, by="k", n=oop.count()), {"ts": "int64"}, {"ts": "int64", "k": "int64"}
    )
    groups = 5_000
    h.push({"ts": [*range(groups), 2 * groups], "k": [*range(groups), -1]}, 1)
    h.promise(ts=groups)
    (operator,) = [box.operator for box in h.run._boxes if box.node.spec.name == "Resample"]
    assert operator.buffered_rows < 5 and len(operator.rows.values) < groups
    h.push({"ts": [2 * groups]})
    h.end()
    assert h.rows() == [{"k": -1, "ts": 2 * groups, "n": 1}]


def test_explain_says_what_is_never_freed():
    beats = oop.source(pa.table({"Time": [1]}), time="Time", punctuate=None, name="H")
    rows = pa.table({"Time": [1], "Sid": [1]})
    reports = oop.source(rows, time="Time", punctuate=None, name="X")
    order = oop.Order("Time", group_by="Sid")
    box = aurora.Resample({"n": oop.count()}, 10, oop.Order("Time"), order)
    first = box(beats, reports).explain().splitlines()[0]
    assert first.startswith(
        "Resample n=count() by Sid, Time within 10 of Time   emits a result when Time < t of its group"
    )
    assert first.endswith("left rows stay until the right ends: nothing is promised about Time of all groups")
    known = aurora.Resample({"n": oop.count()}, 10, oop.Order("Time"), order, groups=[1, 2])
    assert "stay" not in known(beats, reports).explain()
    silent = beats.resample(aurora.Assume(oop.Order("Time"))(reports), within=10, n=oop.count())
    assert "right rows stay until the left ends" in silent.explain()


def test_what_holds_it_back():
    h = Harness(lambda a, b: a.resample(b, within=2, n=oop.count()), *({"ts": "int64"},) * 2)
    h.push({"ts": [7]}, 0)
    assert "left row at ts = 7" in str(h.run.blame())
    assert "ts < 10" in str(h.run.blame())


def test_what_is_refused():
    beats = oop.source(pa.table({"ts": [1]}), time="ts", punctuate=oop.ordered())
    silent = oop.source(pa.table({"ts": [1], "k": ["a"]}), time="ts", punctuate=None)
    days = oop.source(pa.table({"day": pa.array([1], pa.date32())}), time="day", punctuate=oop.ordered())
    with pytest.raises(oop.NeverEmits, match="makes no promise about 'ts'"):
        beats.resample(silent, within=1, n=oop.count()).run()
    with pytest.raises(oop.SchemaMismatch, match="cannot be compared"):
        beats.resample(days, within=1, n=oop.count())
    with pytest.raises(oop.UnknownColumn, match="kk"):
        beats.resample(silent, within=1, by="kk", n=oop.count())
    with pytest.raises(ValueError, match="within is a span of time, not -1"):
        beats.resample(silent, within=-1, n=oop.count())
    with pytest.raises(TypeError, match="n is not an aggregate"):
        beats.resample(silent, within=1, n=5)
    with pytest.raises(TypeError, match="what is resampled is a stream"):
        beats.resample(pa.table({"ts": [1]}), within=1, n=oop.count())
    with pytest.raises(oop.SchemaMismatch, match="would be called 'ts'"):
        beats.resample(silent, within=1, ts=oop.count())


def test_without_groups_results_come_by_the_left_rows_time(monkeypatch):
    beats = oop.source(pa.table({"t": [0, 10, 20, 30, 40]}), time="t", punctuate=oop.ordered())
    reports = oop.source(pa.table({"t": [11, 31, 32, 100]}), time="t", punctuate=oop.ordered())
    for pairs in (1_000_000, 1):  # in one go, and in stretches of left rows
        monkeypatch.setattr(near_rows, "_MOST_PAIRS", pairs)
        found = beats.resample(reports, within=2, n=oop.count()).run().to_table().to_pylist()
        assert [(row["t"], row["n"]) for row in found] == [(0, 0), (10, 1), (20, 0), (30, 2), (40, 0)]
