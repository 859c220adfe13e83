"""Aurora's boxes: timeouts, windows across groups, static tables, splits, and what is refused."""

from __future__ import annotations

import random
from datetime import datetime, timedelta
from functools import reduce
from operator import or_
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import oop
from oop import aurora
from oop.aurora.join_groups import listed
from oop.testing import Harness, ManualClock

REPORTS = {"Sid": "string", "Time": "int64", "Pos": "int64"}
ORDER = oop.Order("Time", group_by="Sid")
REFUSED = r"(?s)test_boxes.py:\d+.*Hint: "


def source(**columns: list) -> oop.Stream:
    return oop.source(pa.table(columns), time=next(iter(columns)), punctuate=None)


def test_it_is_there_after_import() -> None:
    assert oop.aurora is aurora and "aurora" in oop.__all__
    with pytest.raises(AttributeError, match="no attribute 'borealis'"):
        oop.borealis  # noqa: B018


def test_times_may_be_timestamps() -> None:
    start = datetime(2024, 1, 1, 1)
    times = [start + timedelta(minutes=m) for m in (0, 15, 61, 45)]
    quotes = source(Time=times, Sid=["IBM"] * 4, Price=[24, 20, 17, 13])
    box = aurora.Aggregate(
        {"AvgPrice": oop.mean("Price")}, assuming=oop.Order("Time", 1, "Sid"), size="1h", advance="1h"
    )
    assert box(quotes).schema.names == ["Time", "Sid", "AvgPrice"]
    assert box(quotes).run().to_table().to_pylist()[0] == {"Time": start, "Sid": "IBM", "AvgPrice": 19.0}


def test_several_group_columns() -> None:
    rows = source(Time=[1, 1, 6, 7, 2], a=["x", "y", "x", "y", "y"], b=[1, None, 1, None, None])
    run = aurora.Aggregate({"n": oop.count()}, oop.Order("Time", group_by=["a", "b"]), 5, 5)(rows).run()
    first = next(iter(run)).to_pylist()
    assert first == [{"Time": 0, "a": "x", "b": 1, "n": 1}, {"Time": 0, "a": "y", "b": None, "n": 1}]
    assert run.to_table().num_rows == 2
    assert run.late.to_table()["broke"].to_pylist() == ["Time < 7, a = 'y', b = None"]


def test_rows_without_a_place_in_the_order_are_set_aside() -> None:
    rows = source(t=[1, 2, 3, 4, 5], x=[1.0, None, float("nan"), float("inf"), 2.0])
    run = aurora.Assume(oop.Order("x"))(rows).run()
    assert run.to_table()["t"].to_pylist() == [1, 5]
    assert run.late["Assume"]["t"].to_pylist() == [2, 3, 4]
    assert set(run.late["Assume"]["broke"].to_pylist()) == {"a row without a time"}
    assert len(run.late) == 3 and repr(run.late) == "<Late table: 0, Assume: 3>"


def test_ledgers_have_names_and_are_drained() -> None:
    rows = source(t=[1, 2, 3], x=[3, 2, 1])
    run = aurora.Assume(oop.Order("x", 1))(aurora.Assume(oop.Order("x"))(rows)).run(engine=oop.Embedded(threads=2))
    assert run.to_table()["t"].to_pylist() == [1]
    assert run.late["Assume"]["late_by"].to_pylist() == [1.0, 2.0] and run.late["Assume (2)"].num_rows == 0
    assert "Assume" in run.late and run.late.to_table().num_rows == 2
    assert run.late.drain()["Assume"].num_rows == 2
    assert run.late["Assume"].num_rows == 0 and len(run.late) == 2


def test_ledgers_of_threads_are_one() -> None:
    rows = source(Time=[9, 9, 9, 1, 2, 3], Sid=["a", "b", "c", "a", "b", "c"])
    run = aurora.Assume(ORDER)(rows).run(engine=oop.Embedded(threads=3))
    assert run.to_table().num_rows == 3
    assert sorted(run.late["Assume"]["Time"].to_pylist()) == [1, 2, 3]


@pytest.mark.parametrize("threads", [1, 2])
def test_timeout_by_group(threads: int) -> None:
    """Each window of each group has its own time; sliding ones too."""
    clock = ManualClock(0)
    box = aurora.Aggregate({"n": oop.count()}, oop.Order("Time", 1, "Sid"), size=4, advance=2, timeout=5)
    harness = Harness(box, REPORTS, time="Time", punctuate=oop.at_end(), clock=clock, threads=threads)

    def at(now: int) -> list[tuple[str, int, int]]:
        clock.advance(now - clock.now(pa.int64()))
        harness.tick()
        return sorted((r["Sid"], r["Time"], r["n"]) for r in harness.rows())

    at(0)
    harness.push({"Sid": ["a"], "Time": [3], "Pos": [0]})
    assert at(2) == []
    harness.push({"Sid": ["b", "a"], "Time": [3, 4], "Pos": [0, 0]})  # a's third window begins
    assert at(5) == []
    assert at(6) == [("a", 0, 1), ("a", 2, 2)]
    harness.push({"Sid": ["a", "b"], "Time": [5, 5], "Pos": [0, 0]})
    assert at(8) == [("a", 4, 2), ("b", 0, 1), ("b", 2, 2)], "rows count where the window is still open"
    harness.end()
    assert sorted((r["Sid"], r["Time"], r["n"]) for r in harness.rows()) == [("b", 4, 1)]
    assert harness.run.metrics.box("Aggregate n").late_unused == 1, "of a's row at 5 its first window"
    assert harness.buffered_rows == 0


def begun_windows(events: list, size: int, slack: int, timeout: int) -> tuple[list, int]:
    """What windows that begin at marked rows put out, by the definitions: [when, start, rows]; and rows ignored."""
    came: list[tuple[int, bool]] = []
    kept: list[int] = []
    windows: dict[int, list] = {}  # start: when it began, the rows it went out with early
    out, ignored, now = [], 0, 0

    def close(bound: float, at: int) -> None:
        nonlocal ignored
        for start in sorted(windows):
            if start + size <= bound:
                _, early = windows.pop(start)
                rows = sum(start <= v < start + size for v in kept)
                if early is None:
                    out.append([at, start, rows])
                else:
                    ignored += rows - early

    for at, event in enumerate(events):
        if isinstance(event, int):
            now += event
            for start, (began, early) in sorted(windows.items(), key=lambda w: (w[1][0], w[0])):
                if early is None and now > began + timeout:
                    windows[start][1] = sum(start <= v < start + size for v in kept)
                    out.append([at, start, windows[start][1]])
            continue
        value, begins = event
        in_order = sum(v > value for v, _ in came) <= slack
        came.append(event)
        if in_order:
            kept.append(value)
            if begins and value not in windows:
                windows[value] = [now, None]
        if len(came) > slack:
            close(sorted((v for v, _ in came), reverse=True)[slack], at)
    close(float("inf"), len(events))
    return out, ignored


@pytest.mark.parametrize("seed", range(150))
def test_timeouts_of_windows_that_begin_where_a_predicate_holds(seed: int) -> None:
    rng = random.Random(seed)
    size, slack, timeout = rng.choice([1, 4, 9]), rng.choice([0, 1, 3]), rng.choice([2, 5])
    events: list = []
    for low in range(rng.randint(1, 40)):
        tick = rng.random() < 0.4
        events.append(rng.randint(1, 4) if tick else (low + rng.randint(-4, 4), rng.random() < 0.4))
    clock = ManualClock(0)
    box = aurora.Aggregate({"n": oop.count()}, oop.Order("t", slack), size, oop.col("b"), timeout=timeout)

    def start() -> Harness:
        return Harness(box, {"t": "int64", "b": "bool"}, time="t", punctuate=oop.at_end(), clock=clock)

    h = start()
    h.tick()
    found: list = []
    for at, event in enumerate([*events, None]):
        if seed % 2 and at % 5 == 4:
            other = start()
            other.load(h.save(), h.given)
            h = other
            h.tick()
        if event is None:
            h.end()
        elif isinstance(event, int):
            clock.advance(event)
            h.tick()
        else:
            h.push({"t": [event[0]], "b": [event[1]]})
        found += [[at, row["t"], row["n"]] for row in h.rows()]
    expected, ignored = begun_windows(events, size, slack, timeout)
    assert found == expected
    assert sum(box.late_unused for box in h.run.metrics.boxes) == ignored
    assert h.buffered_rows == 0


def test_a_join_of_any_rows_with_groups_that_are_known() -> None:
    """Nothing relates the groups of the two sides: rows stay until the slowest group has passed them."""
    known = aurora.Assume(ORDER, groups=["a", "b"])
    box = aurora.Join(oop.col("Pos") < oop.col("Pos_right"), size=2, left=known, right=known)
    h = Harness(box, REPORTS, REPORTS, time="Time", punctuate=oop.at_end())
    h.push({"Sid": ["a", "b", "a"], "Time": [1, 2, 9], "Pos": [1, 5, 1]}, 0)
    h.push({"Sid": ["b", "a"], "Time": [3, 4], "Pos": [4, 6]}, 1)
    found = [(r["Sid"], r["Time"], r["Sid_right"], r["Time_right"]) for r in h.rows()]
    assert sorted(found) == [("a", 1, "b", 3), ("b", 2, "a", 4)]
    assert h.buffered_rows == 5
    h.push({"Sid": ["b"], "Time": [8], "Pos": [0]}, 0)  # now no row of the left comes below 8
    assert h.buffered_rows == 4
    h.push({"Sid": ["a", "b"], "Time": [12, 12], "Pos": [0, 0]}, 1)
    assert h.rows() == []
    h.end(0)
    h.end(1)
    assert h.buffered_rows == 0


def test_a_timeout_is_saved() -> None:
    clock = ManualClock(0)
    box = aurora.Aggregate({"n": oop.count()}, oop.Order("Time"), size=4, advance=4, timeout=5)

    def start() -> Harness:
        return Harness(box, REPORTS, time="Time", punctuate=oop.at_end(), clock=clock)

    harness = start()
    harness.tick()
    harness.push({"Sid": ["a", "a"], "Time": [1, 5], "Pos": [0, 0]})
    assert harness.rows() == [{"Time": 0, "n": 1}]
    for now, expected in ((5, []), (6, [{"Time": 4, "n": 1}]), (7, [])):
        other = start()
        other.load(harness.save(), harness.given)
        harness = other
        clock.advance(now - clock.now(pa.int64()))
        harness.tick()
        assert harness.rows() == expected
    harness.push({"Sid": ["a"], "Time": [6], "Pos": [0]})
    harness.end()
    assert harness.rows() == []


def test_windows_that_time_out_together_leave_as_they_would_one_by_one() -> None:
    """A box that is scheduled late (Aurora paper, footnote 8) finds several at once: what began first is first, and of
    those that began together the lesser, however many a slice has. What follows may go by that order (figure 16)."""
    clock = ManualClock(0)
    box = aurora.Aggregate({"n": oop.count()}, oop.Order("Time", 500), size=4, advance=2, timeout=10)
    harness = Harness(box, REPORTS, time="Time", punctuate=oop.at_end(), clock=clock)
    harness.tick()
    for times in ([400, 9], [403, 5], list(range(399, 199, -1))):
        harness.push([{"Sid": "a", "Time": time, "Pos": 0} for time in times])
        clock.advance(1)
        harness.tick()
    clock.advance(20)
    harness.tick()
    first, second, third = [6, 8, 398, 400], [2, 4, 402], list(range(198, 398, 2))
    assert [row["Time"] for row in harness.rows()] == first + second + third


def test_windows_of_rows_that_time_out_are_not_full() -> None:
    clock = ManualClock(0)
    box = aurora.Aggregate({"n": oop.count()}, oop.Order("Tup#"), size=3, advance=1, timeout=5)
    harness = Harness(box, REPORTS, time="Time", punctuate=oop.at_end(), clock=clock)
    harness.tick()
    harness.push({"Sid": ["a", "a"], "Time": [1, 5], "Pos": [0, 0]})
    assert harness.rows() == []
    clock.advance(6)
    harness.tick()
    assert harness.rows() == [{"Tup#": 0, "n": 2}, {"Tup#": 1, "n": 1}]
    harness.push({"Sid": ["a"] * 3, "Time": [7, 8, 9], "Pos": [0] * 3})
    assert harness.rows() == [{"Tup#": 2, "n": 3}]
    harness.end()
    assert harness.rows() == []


def test_tumble_times_out() -> None:
    clock = ManualClock(0)
    harness = Harness(
        aurora.Tumble({"n": oop.count()}, "Sid", timeout=5), REPORTS, time="Time", punctuate=oop.at_end(), clock=clock
    )

    def at(now: int, *sids: str) -> list[tuple[str, int]]:
        clock.advance(now - clock.now(pa.int64()))
        harness.tick()
        if sids:
            harness.push({"Sid": list(sids), "Time": [0] * len(sids), "Pos": [0] * len(sids)})
        return [(r["Sid"], r["n"]) for r in harness.rows()]

    assert at(0, "a", "a") == []
    assert at(5, "a") == []
    assert at(6) == [("a", 3)]
    assert at(7, "a") == [], "ignored"
    assert at(8, "a", "b") == [], "it was out already"
    assert at(9, "c") == [("b", 1)]
    assert at(14) == [] and at(15) == [("c", 1)]
    harness.end()
    assert harness.rows() == [] and harness.buffered_rows == 0
    assert harness.run.metrics.box("Tumble").late_unused == 2


def test_a_tumble_that_shows_its_window_times_out() -> None:
    """Both parameters together: when results are put out, and when a window times out (Aurora* and Medusa paper,
    footnote)."""
    clock = ManualClock(0)
    box = aurora.Tumble({"n": oop.count()}, "Sid", timeout=5, emit=2)
    harness = Harness(box, REPORTS, time="Time", punctuate=oop.at_end(), clock=clock)

    def at(now: int, *sids: str) -> list[tuple[str, int, str]]:
        clock.advance(now - clock.now(pa.int64()))
        harness.tick()
        if sids:
            harness.push({"Sid": list(sids), "Time": [0] * len(sids), "Pos": [0] * len(sids)})
        return [(r["Sid"], r["n"], r["emit"]) for r in harness.rows()]

    assert at(0, "a", "a", "a") == [("a", 2, "partial")]
    assert at(6) == [("a", 3, "final")]
    assert at(7, "a", "a") == [], "ignored"
    assert at(8, "b", "b", "b", "a") == [("b", 2, "partial"), ("b", 3, "final")]
    harness.end()
    assert [(r["Sid"], r["n"], r["emit"]) for r in harness.rows()] == [("a", 1, "final")]
    assert harness.buffered_rows == 0 and harness.state_bytes == 0


def test_a_split_tumble_shows_results_of_all_rows_alone() -> None:
    rows = pa.table({"A": [1, 1, 2, 2, 2, 4, 4], "B": [2, 3, 2, 1, 6, 5, 2]})
    s = oop.source(rows, time="A", punctuate=oop.ordered())
    box = aurora.Tumble({"result": oop.count()}, "A", emit="on_close")
    assert box.split(oop.col("B") < 3)(s).run().to_table() == box(s).run().to_table()


@pytest.mark.parametrize("emit", [0, -1, True, 2.5, "often"])
def test_an_emission_that_is_none(emit: object) -> None:
    with pytest.raises(oop.WrongArgument, match=r"emit= says when results are put out.*\n?.*emit=10"):
        aurora.Tumble({"n": oop.count()}, "A", emit=emit)  # type: ignore[arg-type]


def test_a_tumble_is_saved_with_its_time() -> None:
    """Since when its window is open, and whether it is out already."""
    clock = ManualClock(0)

    def start() -> Harness:
        box = aurora.Tumble({"n": oop.count()}, "Sid", timeout=5)
        return Harness(box, REPORTS, time="Time", punctuate=oop.at_end(), clock=clock)

    harness = start()
    harness.tick()
    harness.push({"Sid": ["a"], "Time": [0], "Pos": [0]})
    snapshot = None
    for now, expected in ((4, []), (6, [{"Sid": "a", "n": 1}]), (7, [])):
        snapshot = harness.save(snapshot)
        other = start()
        other.load(snapshot, harness.given)
        harness = other
        clock.advance(now - clock.now(pa.int64()))
        harness.tick()
        assert harness.rows() == expected
    harness.push({"Sid": ["a", "b"], "Time": [0, 0], "Pos": [0, 0]})
    harness.end()
    assert harness.rows() == [{"Sid": "b", "n": 1}], "a is out, and what came for it since is ignored"


def test_a_live_source_times_out() -> None:
    """By the clock of the machine, in a run that nobody drives by hand: a source that is silent does not hold it up."""
    import threading

    seen = threading.Event()

    def reports():
        yield pa.record_batch({"Time": [1], "Pos": [5]})
        seen.wait(20)

    source = oop.source(reports, time="Time", punctuate=None, schema=pa.schema({"Time": pa.int64(), "Pos": pa.int64()}))
    box = aurora.Aggregate({"n": oop.count()}, oop.Order("Time"), size=1, advance=1, timeout="50ms")
    run = box(source).run()
    assert next(iter(run)).to_pylist() == [{"Time": 1, "n": 1}]
    seen.set()
    assert run.to_table().num_rows == 0


def test_xsection_waits_for_every_group() -> None:
    box = aurora.XSection({"n": oop.count(), "most": oop.max("Pos")}, ORDER, size=5, advance=5, groups=["a", "b"])
    harness = Harness(box, REPORTS, time="Time", punctuate=oop.at_end())
    harness.push({"Sid": ["a", "a", "a"], "Time": [1, 6, 11], "Pos": [1, 2, 3]})
    assert harness.rows() == []
    harness.push({"Sid": ["b", "b"], "Time": [3, 7], "Pos": [9, 1]})
    assert harness.rows() == [{"Time": 0, "n": 2, "most": 9}]
    assert harness.promises() == [oop.Punctuation({"Time": 5})]
    harness.push({"Sid": ["c", "c"], "Time": [6, 7], "Pos": [0, 0]})
    assert harness.late["Assume"].to_pylist()[0]["broke"] == "Time < 7, Sid = 'c'", "it must keep up with the others"
    harness.end()
    assert [r["n"] for r in harness.rows()] == [3, 1]


def test_xsection_of_groups_that_retire() -> None:
    box = aurora.XSection({"n": oop.count()}, ORDER, size=5, advance=5, idle=10)
    harness = Harness(box, REPORTS, time="Time", punctuate=oop.at_end())
    harness.push({"Sid": ["a", "b"], "Time": [1, 2], "Pos": [0, 0]})
    harness.push({"Sid": ["a"], "Time": [12], "Pos": [0]})
    assert harness.rows() == [], "b is not yet silent for more than 10"
    harness.push({"Sid": ["a"], "Time": [13], "Pos": [0]})
    assert harness.rows() == [{"Time": 0, "n": 2}]


def test_xsection_of_unknown_groups_needs_the_end() -> None:
    box = aurora.XSection({"n": oop.count()}, ORDER, size=5, advance=5)
    with pytest.raises(oop.NeverEmits, match=r"test_boxes.py:\d+") as error:
        box(oop.source(pa.table({"Time": [1], "Sid": ["a"]}), time="Time", punctuate=None))
    assert "groups=" in str(error.value)
    stream = oop.source(pa.table({"Time": [1, 2], "Sid": ["a", "b"]}), time="Time", punctuate=oop.at_end())
    assert box(stream).run().to_table().to_pylist() == [{"Time": 0, "n": 2}]


def test_joins_with_tables(tmp_path: Path) -> None:
    names = pa.table({"Sid": ["a", "b"], "Name": ["Ann", "Bob"], "Pos": [0, 5]})
    pq.write_table(names, tmp_path / "names.parquet")
    reports = source(Time=[1, 3, 2, 4], Sid=["a", "b", "a", "c"], Pos=[1, 2, 3, 4])
    same = (oop.col("Sid") == oop.col("Sid_right")) & (oop.col("Pos") > oop.col("Pos_right"))
    right = aurora.Join(same, left=oop.Order("Time"))
    for table in (names, str(tmp_path / "names.parquet")):
        run = right(reports, table).run()
        assert run.to_table().to_pylist() == [
            {"Time": 1, "Sid": "a", "Pos": 1, "Sid_right": "a", "Name": "Ann", "Pos_right": 0}
        ]
        assert run.late["Assume"]["Time"].to_pylist() == [2], "out of order"
    left = aurora.Join(same, right=oop.Order("Time", 1))(names, reports)
    assert left.schema.names == ["Sid", "Name", "Pos", "Time", "Sid_right", "Pos_right"]
    assert left.run().to_table().to_pylist() == [
        {"Sid": "b", "Name": "Bob", "Pos": 5, "Time": 3, "Sid_right": "b", "Pos_right": 2}
    ]
    everyone = aurora.Join(None, left=oop.Order("Time", 1))(reports, names)
    assert everyone.run().to_table().num_rows == 8


def test_a_join_of_two_tables() -> None:
    """ "Join also permits one or both of its inputs to be static tables" (Aurora paper, section 5.2.2.3)."""
    names = pa.table({"Sid": [2, 1, None], "Name": ["Bob", "Ann", "?"], "__row": [7, 8, 9]})
    ranks = pa.table({"Sid": [1, 2, 1, None], "Rank": [10, 20, 30, 40]})
    same = aurora.Join(oop.col("Sid") == oop.col("Sid_right"))(names, ranks)
    assert same.schema.names == ["Sid", "Name", "__row", "Sid_right", "Rank"]
    found = {(r["Sid"], r["Name"], r["__row"], r["Sid_right"], r["Rank"]) for r in same.run().to_table().to_pylist()}
    assert found == {(2, "Bob", 7, 2, 20), (1, "Ann", 8, 1, 10), (1, "Ann", 8, 1, 30)}
    assert aurora.Join(None)(names, ranks).run(order="iop").to_table().num_rows == 12
    counted = aurora.Aggregate({"n": oop.count()}, oop.Order("Sid", 3), 1, 1)(same)
    assert counted.run().to_table().to_pylist() == [{"Sid": 1, "n": 2}, {"Sid": 2, "n": 1}]
    for order in ({"left": oop.Order("Sid")}, {"right": oop.Order("Sid")}):
        with pytest.raises(ValueError, match="is in no order"):
            aurora.Join(None, **order)(names, ranks)
    with pytest.raises(ValueError, match="leave out size="):
        aurora.Join(None, size=1)(names, ranks)


def test_joins_of_other_predicates() -> None:
    nan = float("nan")
    x = source(Time=[1, 2, 3], k=pa.array([1, 2, 3], pa.int32()), f=[0.5, nan, 1.5])
    y = source(Time=[1, 2, 3], k=pa.array([3, 2, 1], pa.int64()), f=[0.5, nan, 1.5])
    order = oop.Order("Time")
    for predicate, count in (
        (oop.col("k") == oop.col("k_right"), 3),
        (oop.col("f") == oop.col("f_right"), 2),
        (oop.col("k") * 1 == oop.col("k_right"), 3),
        ((oop.col("k") == oop.col("k_right")) & (oop.col("Time") == oop.col("k")), 3),
        ((oop.col("k") == oop.col("k_right")) & (oop.col("Time") == oop.col("Time_right")), 1),
        ((oop.col("k") == oop.col("k_right")) & (oop.col("k") == oop.col("Time_right")), 1),
        (None, 9),
    ):
        assert aurora.Join(predicate, 5, order, order)(x, y).run().to_table().num_rows == count, repr(predicate)


def test_joins_on_numbers_of_rows() -> None:
    """An order on Tup# is that of arrival."""
    x, y = source(Time=[7, 5, 6]), source(Time=[9, 9, 8])
    zipped = aurora.Join(None, 0, oop.Order("Tup#"), oop.Order("Tup#"))(x, y).run().to_table()
    assert sorted(zip(zipped["Time"].to_pylist(), zipped["Time_right"].to_pylist(), strict=True)) == [
        (5, 9),
        (6, 8),
        (7, 9),
    ]


def test_an_order_by_groups_in_a_join_needs_an_equality() -> None:
    x = source(Time=[1], Sid=["a"])
    with pytest.raises(
        oop.SchemaMismatch, match=r"the right order is by 'Sid'.*'Sid_right'.*(?s:.)*oop.col\('Sid_right'\)"
    ):
        aurora.Join(None, 1, oop.Order("Time"), ORDER)(x, x)
    same = oop.col("Sid") == oop.col("Sid_right")
    assert aurora.Join(same, 1, oop.Order("Time"), ORDER)(x, x).run().to_table().num_rows == 1


@pytest.mark.parametrize(
    ("predicate", "freed"),
    [
        (oop.col("Sid_right") == "a", [3, 1, 1]),
        (oop.col("Sid_right").isin(["a", "b"]), [4, 5, 3]),
        ((oop.col("Sid_right") == "b") | (oop.col("Sid_right") == "a"), [4, 5, 3]),
        ((oop.col("Sid_right") == "a") & oop.col("Sid_right").isin(["a", "b"]), [3, 1, 1]),  # only what both list
        (oop.col("Sid_right").isin(["d", "b", "a"]) & oop.col("Sid_right").isin(["a", "b"]), [4, 5, 3]),
        ((oop.col("Sid_right") == "a") & (oop.col("Sid_right") == "b"), [3, 3, 3]),  # no row passes
    ],
    ids=str,
)
def test_a_join_whose_predicate_lists_the_groups_frees_by_these(predicate, freed) -> None:
    """With one group its own bound frees rows of the left; with two it is the slower one's."""
    box = aurora.Join(predicate & (oop.col("Pos") < oop.col("Pos_right")), 2, oop.Order("Time"), ORDER)
    h = Harness(box, REPORTS, REPORTS, time="Time", punctuate=oop.at_end())
    h.push({"Sid": ["x", "y", "z"], "Time": [1, 2, 3], "Pos": [0, 0, 0]}, 0)
    held = []
    for sid, time in (("b", 3), ("a", 9), ("b", 30)):
        h.push({"Sid": [sid, "c"], "Time": [time, 500 - time], "Pos": [5, 5]}, 1)  # c is not listed: it frees nothing
        held.append(h.buffered_rows)
    assert held == freed
    found = sorted((r["Time"], r["Sid_right"], r["Time_right"]) for r in h.rows())
    assert found == ([] if freed[0] == 3 else [(1, "b", 3), (2, "b", 3), (3, "b", 3)])


def test_a_predicate_may_list_thousands_of_groups() -> None:
    """Each ``or`` is nested in the next, deeper than Python's stack is."""
    found = listed(reduce(or_, [oop.col("Sid") == number for number in range(3_000)]))
    assert found == tuple(range(3_000))


def test_a_join_by_groups_is_freed_by_what_the_source_promises_of_all() -> None:
    rows = pa.table({"Time": [1, 2, 9, 30], "Sid": ["a", "b", "a", "c"], "Pos": [1, 2, 3, 4]})
    s = oop.source(rows.to_batches(1), time="Time", punctuate=oop.slack(3), schema=rows.schema)
    run = aurora.Join(oop.col("Pos") <= oop.col("Pos_right"), 2, ORDER, ORDER)(s, s).run()
    assert run.to_table().num_rows == 5
    (join,) = [box for box in run.metrics.boxes if box.name.startswith("Join")]
    assert join.peak_buffered_rows < 8
    at_end = oop.source(rows, time="Time", punctuate=oop.at_end())
    with pytest.raises(oop.SchemaMismatch, match="would free no row"):
        aurora.Join(None, 2, ORDER, ORDER)(at_end, at_end)


@pytest.mark.parametrize(
    "predicate",
    [
        oop.col("Sid_right") > "a",
        oop.col("Sid_right").isin([]),
        (oop.col("Sid_right") == "a") | (oop.col("Time") == 3),
        ~(oop.col("Sid_right") == "a"),
        oop.col("Sid") == "a",
        oop.col("Time_right") == 1,
    ],
    ids=str,
)
def test_a_join_whose_predicate_does_not_list_the_groups_is_refused(predicate) -> None:
    x = source(Time=[1], Sid=["a"])
    with pytest.raises(oop.SchemaMismatch, match="would free no row"):
        aurora.Join(predicate, 1, oop.Order("Time"), ORDER)(x, x)


def test_a_join_of_groups_of_which_some_columns_are_equal_and_others_listed() -> None:
    x = source(Time=[1, 2], Sid=["a", "b"], Ex=["N", "L"])
    order, same = oop.Order("Time", group_by=["Sid", "Ex"]), oop.col("Sid") == oop.col("Sid_right")
    found = aurora.Join(same & (oop.col("Ex_right") == "N"), 1, oop.Order("Time"), order)(x, x)
    assert found.run().to_table()["Sid"].to_pylist() == ["a"]
    assert "Assume order on Time, by Sid " in found.explain()
    for several in (oop.col("Ex_right").isin(["N", "L"]), oop.col("Ex_right") > "A"):
        with pytest.raises(oop.SchemaMismatch, match="the right order is by 'Ex'"):
            aurora.Join(same & several, 1, oop.Order("Time"), order)(x, x)


def test_orders_by_several_columns_name_their_groups() -> None:
    order = oop.Order("Time", group_by=["Sid", "Ex"])
    x = source(Time=[1, 9, 3, 8], Sid=["a", "a", "b", "b"], Ex=["N", "N", "L", "L"], Pos=[4, 5, 6, 7])
    for groups in ([("a", "N"), ("b", "L")], [{"Ex": "N", "Sid": "a"}, ("b", "L")]):
        box = aurora.XSection({"Mean": oop.mean("Pos")}, order, 5, 5, groups=groups)
        assert "of (Ex = 'N', Sid = 'a'), (Ex = 'L', Sid = 'b')" in box(x).explain()
        assert box(x).run().to_table().to_pylist() == [{"Time": 0, "Mean": 5.0}, {"Time": 5, "Mean": 6.0}]
    with pytest.raises(oop.WrongArgument, match=r"test_boxes.py.*(?s:.)*a tuple of Sid, Ex"):
        aurora.Assume(order, groups=[("a", "N", 1)])
    with pytest.raises(oop.SchemaMismatch, match="5 is not a value"):
        aurora.Assume(order, groups=[("a", 5)])(x)
    with pytest.raises(oop.SchemaMismatch, match="groups= and idle="):
        aurora.Assume(oop.Order("Tup#", group_by=["Sid", "Ex"]), groups=[("a", "N")])(x)


def test_combination_functions() -> None:
    functions = {"n": oop.count(), "s": oop.sum("B"), "least": oop.min("B"), "most": oop.max("B")}
    assert [str(f) for f in aurora.Tumble(functions, "A").combined.functions.values()] == [
        "sum(n)",
        "sum(s)",
        "min(least)",
        "max(most)",
    ]
    product = oop.aggregate(1, lambda s, v: s * v, lambda a, b: a * b)("B")
    merged = source(part=[6, 20])
    assert aurora.Tumble({"p": product.combine("part")})(merged).run().to_table().to_pylist() == [{"p": 120}]
    ends = oop.aggregate(1, lambda s, v: s * v, lambda a, b: a * b, lambda s: -s)("B")
    named = oop.aggregate(0, lambda s, v: s + v, name="sum")("B")
    for other in (oop.mean("B"), oop.var("B"), oop.count_distinct("B"), oop.last("B"), oop.top("B", 2), ends, named):
        with pytest.raises(oop.OopError, match="has no combination function"):
            aurora.Tumble({"x": other}, "A").split(oop.col("B") < 3)
    with pytest.raises(oop.OopError, match="a mean is a sum and a count"):
        oop.mean("B").combine("x")


def test_a_count_of_a_split_is_that_of_one_machine() -> None:
    """Aurora* and Medusa paper, section 5.1: the split takes place after tuple 3, by B < 3. Its merge waits for a
    promise about A, as the paper's does for WSort's timeout; here A is in order."""
    schema = {"A": "int64", "B": "int64"}
    rows = [(1, 2), (1, 3), (2, 2), (2, 1), (2, 6), (4, 5), (4, 2)]
    box = aurora.Tumble({"result": oop.count()}, "A")
    route = (oop.col("Tup#") < 3) | (oop.col("B") < 3)

    def machine(number: int):
        def boxes(stream: oop.Stream) -> oop.Stream:
            routed = aurora.Filter(route)(aurora.Assume(oop.Order("Tup#"))(stream))
            return box(routed[number])

        return boxes

    def whole(stream: oop.Stream) -> oop.Stream:
        numbered = aurora.Assume(oop.Order("Tup#"))(aurora.Assume(oop.Order("A"))(stream))
        return box.split(route)(numbered)

    found = []
    for boxes in (machine(0), machine(1), whole, box):
        harness = Harness(boxes, schema, time="A", punctuate=oop.at_end())
        harness.push([dict(zip(schema, row, strict=True)) for row in rows])
        found.append([(r["A"], r["result"]) for r in harness.rows()])
    assert found[:2] == [[(1, 2), (2, 2)], [(2, 1)]], "machine 1 has seen tuples 1, 2, 3, 4 and 7, machine 2 5 and 6"
    assert found[3] == [(1, 2), (2, 3)]
    # the merging Tumble has the same tuples, of which the last may still grow: A < 4 is promised, so it does not
    assert found[2] == [(1, 2), (2, 3)]


@pytest.mark.parametrize(
    "make",
    [
        lambda: aurora.Aggregate(oop.count(), ORDER, 1, 1),
        lambda: aurora.Aggregate({"n": 5}, ORDER, 1, 1),
        lambda: aurora.Assume("Time"),
        lambda: aurora.Assume(ORDER, groups="ab"),
        lambda: aurora.Join(5),
        lambda: aurora.Join(None)(5, 6),
        lambda: aurora.Join(None, 5, ORDER)(source(Time=[1], Sid=["a"]), source(Time=[1], Sid=["a"])),
        lambda: aurora.Tumble({"n": oop.count()})(5),
        lambda: aurora.Union()(),
    ],
)
def test_wrong_arguments(make) -> None:
    with pytest.raises(oop.WrongArgument, match=REFUSED):
        make()


@pytest.mark.parametrize(
    "make",
    [
        lambda s: aurora.Aggregate({}, ORDER, 1, oop.col("Time") > 1, timeout=0),
        lambda s: aurora.Aggregate({}, ORDER, 1, oop.col("Time") > 1, offset=5),
        lambda s: aurora.Aggregate({}, oop.Order("Tup#"), 1, 1, offset=5),
        lambda s: aurora.Aggregate({}, ORDER, 0, 1)(s),
        lambda s: aurora.Aggregate({}, ORDER, 1, 1, timeout=0),
        lambda s: aurora.Slide({"n": oop.count()}, ORDER, 2, 3)(s),
        lambda s: aurora.XSection({}, oop.Order("Time"), 1, 1),
        lambda s: aurora.XSection({}, oop.Order("Tup#", group_by="Sid"), 1, 1),
        lambda s: aurora.Assume(ORDER, groups=["a"], idle=5),
        lambda s: aurora.Assume(oop.Order("Time"), groups=["a"]),
        lambda s: aurora.Assume(ORDER, groups=[]),
        lambda s: aurora.Assume(ORDER, idle=-1)(s),
        lambda s: aurora.Join(None, 5, ORDER)(s, pa.table({"x": [1]})),
        lambda s: aurora.Join(None, right=ORDER)(s, pa.table({"x": [1]})),
        lambda s: aurora.Join(None, -1, ORDER, ORDER)(s, s),
        lambda s: aurora.Tumble({"n": oop.count()}).merge(s, s),
    ],
)
def test_wrong_values(make) -> None:
    with pytest.raises(oop.WrongArgument, match=REFUSED):
        make(source(Time=[1], Sid=["a"]))


def test_a_size_in_hours_of_plain_numbers_has_no_meaning() -> None:
    with pytest.raises(ValueError, match="'1h' has no meaning; give a number"):
        aurora.Aggregate({}, ORDER, "1h", "1h")(source(Time=[1], Sid=["a"]))


@pytest.mark.parametrize(
    "make",
    [
        lambda s: aurora.Assume(oop.Order("time")),
        lambda s: aurora.Assume(oop.Order("Time", group_by="sid")),
        lambda s: aurora.Assume(oop.Order("Sid")),
        lambda s: aurora.Assume(oop.Order("Tup#", group_by="Sid"), groups=["a"]),
        lambda s: aurora.Assume(ORDER, groups=[5]),
        lambda s: aurora.Assume(oop.Order("time", group_by="Sid"), groups=["a"]),
        lambda s: aurora.Tumble({"n": oop.count()}, "sid"),
        lambda s: aurora.Tumble({"n": oop.sum("Sid")}, "Sid"),
        lambda s: aurora.Tumble({"n": oop.late()}, "Sid"),
        lambda s: aurora.Tumble({"Sid": oop.count()}, "Sid"),
        lambda s: aurora.Aggregate({"n": oop.seen()}, ORDER, 1, 1),
        lambda s: aurora.Aggregate({"Time": oop.count()}, ORDER, 1, 1),
        lambda s: aurora.Aggregate({"n": oop.count()}, ORDER, 1, oop.col("Time") + 1),
    ],
)
def test_what_does_not_fit_the_stream_names_the_line(make) -> None:
    stream = source(Time=[1], Sid=["a"])
    with pytest.raises(oop.OopError, match=r"test_boxes.py:\d+"):
        make(stream)(stream)
