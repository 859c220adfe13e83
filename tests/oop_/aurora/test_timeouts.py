"""A window of Aurora's that waits too long is put out by the clock: by group too, when saved, when shown before."""

from __future__ import annotations

import random

import pyarrow as pa
import pytest

import oop
from oop import aurora
from oop.testing import Harness, ManualClock
from tests.oop_.aurora.reports import REPORTS


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
