"""The laws in oop/testing/laws.py for calendar and landmark windows, and for windows with an offset."""

from __future__ import annotations

import math
import random
from collections import defaultdict
from datetime import UTC, datetime, timedelta
from typing import Any

import pyarrow as pa
import pytest

import oop
from oop.testing import check_operator
from tests.operators import fuzz
from tests.operators.fuzz import TIMES
from tests.operators.test_laws import each, some_threads, some_time
from tests.operators.windows.test_calendar import window_of

ZONED = [
    (datetime(2024, 3, 31, 1, tzinfo=UTC), "Europe/Berlin"),
    (datetime(2024, 10, 27, 1, tzinfo=UTC), "Europe/Berlin"),
    (datetime(2018, 11, 4, 3, tzinfo=UTC), "America/Sao_Paulo"),
    (datetime(2006, 10, 29, 2, 31, tzinfo=UTC), "America/St_Johns"),
    (datetime(2011, 12, 30, 10, tzinfo=UTC), "Pacific/Apia"),
    (datetime(1969, 12, 31, 18, 30, tzinfo=UTC), "Asia/Kolkata"),
]
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def moved(elements: list[Any], time: pa.DataType, to: int, times: int) -> list[Any]:
    """A stream of whole numbers as one of times: each unit is so many of the column's, from a place on."""
    found: list[Any] = []
    for element in elements:
        if isinstance(element, oop.Punctuation):
            found.append(oop.Punctuation({a: b * times + to for a, b in element.below.items()}, element.where))
        else:
            numbers = pa.compute.add(pa.compute.multiply(element.column("ts"), times), to)
            found.append(pa.record_batch([numbers.cast(time), *element.columns[1:]], schema=fuzz.schema_of(time)))
    return found


def test_calendar_windows_across_changes_of_clock(seeds):
    """A unit of the fuzzer is half an hour, around a moment at which the clock is changed."""

    def case(rng, seed):
        change, zone = rng.choice(ZONED)
        unit = rng.choice(["hour", "day", "day", "week", "month", "year"])
        column, per_second = rng.choice([("s", 1), ("ms", 10**3), ("us", 10**6), ("ns", 10**9)])
        time = pa.timestamp(column, rng.choice([None, "UTC", zone]))
        seconds = (change - EPOCH) // timedelta(seconds=1)
        elements = moved(fuzz.random_stream(rng, pa.int64()), time, seconds * per_second, 1800 * per_second)
        keys = rng.choice([[], ["link"], ["k", "link"]])
        wanted = fuzz.some_aggregates(rng)
        members = defaultdict(list)
        for row in fuzz.on_time(elements):
            edges = window_of(EPOCH + timedelta(seconds=row["ts"] // per_second), unit, zone)
            members[(*edges, *(row[k] for k in keys))].append(row)
        rows = []
        for (start, end, *group), rows_of in members.items():
            numbers = [(e - EPOCH) // timedelta(seconds=1) * per_second for e in (start, end)]
            values = [pa.scalar(n, pa.int64()).cast(time).as_py() for n in numbers]
            named = dict(zip(["window_start", "window_end", *keys], [*values, *group], strict=True))
            rows.append({**named, **fuzz.aggregates(rows_of, wanted)})
        check_operator(
            lambda s: s.window(oop.calendar(unit, tz=zone)).group_by(*keys).agg(**wanted),
            elements,
            seed=seed,
            threads=some_threads(rng),
            expected=rows,
        )

    each(seeds, case)


def closed(rng: random.Random, elements: list[Any], time: pa.DataType) -> list[Any]:
    """The stream without ends of groups, and with a last row that no promise is beyond.

    What is put out for a group that has fallen silent depends on how far promises reach before the end.
    """
    kept = [e for e in elements if not isinstance(e, oop.Punctuation) or e.below]
    most = max((e.below["ts"] for e in kept if isinstance(e, oop.Punctuation)), default=0)
    row = {"ts": most + rng.randint(0, 9), "link": rng.choice(fuzz.LINKS), "k": 1, "v": 7, "x": None}
    return [*kept, fuzz.batch([row], fuzz.schema_of(time))]


class Model:
    """Landmark windows by their definition."""

    def __init__(self, rng: random.Random, time: pa.DataType) -> None:
        self.time = time
        self.begin, self.every = rng.randint(-20, 10), rng.randint(1, 9)
        if time == TIMES["float64"]:
            self.begin, self.every = self.begin * 0.5, self.every * 0.5

    def step(self, ts: Any) -> int:
        return math.floor((ts - self.begin) / self.every)  # exact: halves

    def placed(self, elements: list[Any], keys: list[str], late: str) -> list[tuple[dict[str, Any], int]]:
        """Rows with their step; one that is late in the first that is not out, if there is one."""
        given = oop.Frontier()
        found = []
        for element in elements:
            if isinstance(element, oop.Punctuation):
                given.advance(element)
                continue
            for row in fuzz.physical_rows(element):
                step = self.step(row["ts"])
                if given.covers_row(row):
                    bound = given.bound("ts", {k: row[k] for k in keys})
                    if late == "drop" or bound == math.inf:
                        continue
                    step = step if bound is None or step < 0 else max(step, self.step(bound))
                if step >= 0:
                    found.append((row, step))
        return found

    def rows(self, placed, keys, wanted, *, changes: bool) -> list[dict[str, Any]]:
        members = defaultdict(list)
        for row, step in placed:
            members[tuple(row[k] for k in keys)].append((step, row))
        last = max((step for _, step in placed), default=0)
        out = []
        for group, steps in members.items():
            own = {step for step, _ in steps}
            for w in sorted(own) if changes else range(min(own), last + 1):
                edges = {"window_start": self.begin, "window_end": self.begin + (w + 1) * self.every}
                if pa.types.is_temporal(self.time):
                    width = pa.int32() if self.time.bit_width == 32 else pa.int64()
                    edges = {n: pa.scalar(e, width).cast(self.time).as_py() for n, e in edges.items()}
                inside = [row for step, row in steps if step <= w]
                out.append({**edges, **dict(zip(keys, group, strict=True)), **fuzz.aggregates(inside, wanted)})
        return out


def since_landmark(rng, seed, *, changes, late="drop"):
    time = some_time(rng)
    model = Model(rng, time)
    elements = fuzz.random_stream(rng, time)
    if not changes:
        elements = closed(rng, elements, time)
    keys = rng.choice([[], ["k"], ["link"], ["k", "link"]])
    wanted = fuzz.some_aggregates(rng)
    rows = model.rows(model.placed(elements, keys, late), keys, wanted, changes=changes)
    window = oop.landmark(model.begin, every=model.every, changes=changes)
    check_operator(
        lambda s: s.window(window).group_by(*keys).agg(**wanted),
        elements,
        seed=seed,
        late=late,
        threads=some_threads(rng),
        expected=rows,
    )


def test_landmark_windows(seeds):
    def case(rng, seed):
        since_landmark(rng, seed, changes=seed % 2 == 1, late="admit" if seed % 3 == 0 else "drop")

    each(seeds, case)


@pytest.mark.parametrize("changes", [False, True])
def test_a_second_window_on_a_landmark_window(changes):
    """It is on the end: starts are all the same."""

    def case(rng, seed):
        elements = closed(rng, fuzz.random_stream(rng, TIMES["int64"]), TIMES["int64"])

        def pipeline(s):
            first = s.window(oop.landmark(-10, every=3, changes=changes)).group_by("link").agg(n=oop.count())
            assert first.time == "window_end"
            return first.window(oop.tumbling(10)).group_by("link").agg(n=oop.max("n"), steps=oop.count())

        check_operator(pipeline, elements, seed=seed, threads=some_threads(rng))

    each(range(fuzz.CASES // 10), case)


def test_a_landmark_window_without_an_end():
    def case(rng, seed):
        elements = [e for e in fuzz.random_stream(rng, TIMES["int64"]) if not isinstance(e, oop.Punctuation)]
        members = defaultdict(list)
        for row in fuzz.on_time(elements):
            if row["ts"] >= -3:
                members[row["link"]].append(row)
        rows = [
            {"window_start": -3, "window_end": None, "link": link, **fuzz.aggregates(m, {"n": 0, "hi": 0})}
            for link, m in members.items()
        ]
        check_operator(
            lambda s: s.window(oop.landmark(-3)).group_by("link").agg(n=oop.count(), hi=oop.max("v")),
            elements,
            seed=seed,
            punctuate=oop.at_end(),
            threads=some_threads(rng),
            expected=rows,
        )

    each(range(fuzz.CASES // 5), case)
