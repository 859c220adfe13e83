"""Calendar windows against Python's own arithmetic with zones, instant by instant."""

from __future__ import annotations

import random
import struct
import zoneinfo
from collections import Counter
from datetime import UTC, date, datetime, timedelta
from functools import cache
from importlib import resources
from itertools import pairwise
from pathlib import Path
from zoneinfo import ZoneInfo

import numpy as np
import pyarrow as pa
import pytest

import oop
from oop.operators.windows.calendar import Calendar
from oop.operators.windows.zones import _changes, clock

ZONES = [
    "Europe/Berlin",
    "America/Sao_Paulo",  # set its clock at midnight
    "America/St_Johns",  # set its clock back at 0:01, into the day before
    "Pacific/Apia",  # skipped the 30th of December 2011
    "America/New_York",
    "Asia/Kolkata",
    "Australia/Lord_Howe",  # sets its clock by half an hour
    "Africa/Casablanca",
    "UTC",
]
UNITS = ["hour", "day", "week", "month", "quarter", "year"]
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@cache
def local(instant: datetime, zone: str) -> datetime:
    """What the clock shows, without a zone."""
    return instant.astimezone(ZoneInfo(zone)).replace(tzinfo=None)


def opens(moment: datetime, unit: str) -> datetime:
    """The local time at which the unit of a local time begins."""
    day = moment.replace(hour=0, minute=0, second=0, microsecond=0)
    month = day.replace(day=1)
    return {
        "hour": moment.replace(minute=0, second=0, microsecond=0),
        "day": day,
        "week": day - timedelta(days=day.weekday()),
        "month": month,
        "quarter": month.replace(month=(month.month - 1) // 3 * 3 + 1),
        "year": month.replace(month=1),
    }[unit]


def follows(begin: datetime, unit: str) -> datetime:
    """The local time at which the unit after the one that begins here begins."""
    days = {"hour": timedelta(hours=1), "day": timedelta(days=1), "week": timedelta(days=7)}
    if unit in days:
        return begin + days[unit]
    return opens(begin + timedelta(days={"month": 31, "quarter": 93, "year": 366}[unit]), unit)


@cache
def first_instant(wanted: datetime, zone: str) -> datetime:
    """The first instant at which the clock shows this time or a later one; clocks are changed on the minute."""
    around = wanted.replace(tzinfo=UTC) - timedelta(hours=28)
    coarse = [around + timedelta(minutes=30 * i) for i in range(2 * 56)]
    near = next(t for t in coarse if local(t, zone) >= wanted)  # earlier ones than half an hour do not show it
    fine = (near - timedelta(minutes=90) + timedelta(minutes=i) for i in range(91))
    return next(t for t in fine if local(t, zone) >= wanted)


@cache
def window_of(instant: datetime, unit: str, zone: str) -> tuple[datetime, datetime]:
    """Start and end of the window: that of the clock's time, or a later one if the clock has shown that before."""
    begin = opens(local(instant, zone), unit)
    while (end := first_instant(follows(begin, unit), zone)) <= instant:
        begin = follows(begin, unit)
    return first_instant(begin, zone), end


def windows_of(instants: list[datetime], unit: str, zone: str) -> Counter:
    return Counter(window_of(t, unit, zone) for t in instants)


CHANGES = [
    datetime(2024, 3, 31, 1, tzinfo=UTC),  # Berlin
    datetime(2024, 10, 27, 1, tzinfo=UTC),
    datetime(2018, 11, 4, 3, tzinfo=UTC),  # São Paulo: from 0:00 to 1:00
    datetime(2018, 2, 18, 2, tzinfo=UTC),  # and from 0:00 to 23:00
    datetime(2006, 10, 29, 2, 31, tzinfo=UTC),  # St. John's: from 0:01 to 23:01
    datetime(2011, 12, 30, 10, tzinfo=UTC),  # Apia
    datetime(2023, 3, 19, 2, tzinfo=UTC),  # Casablanca, in Ramadan
    datetime(2024, 4, 6, 15, tzinfo=UTC),  # Lord Howe
    datetime(1968, 2, 29, tzinfo=UTC),
    datetime(1969, 12, 31, 23, 59, tzinfo=UTC),
    datetime(2100, 3, 1, tzinfo=UTC),
]


@pytest.mark.parametrize("zone", ZONES)
def test_windows_of_random_instants(zone):
    rng = random.Random(zone)
    for column in ("s", "ms", "us", "ns"):
        for unit in UNITS:
            moments = [
                rng.choice(CHANGES) + timedelta(seconds=rng.randint(-100_000, 100_000))
                if rng.random() < 0.7
                else EPOCH + timedelta(seconds=rng.randint(-600_000_000, 4_000_000_000))
                for _ in range(8)
            ]
            times = pa.array(moments, pa.timestamp("s", "UTC")).cast(pa.timestamp(column, zone))
            stream = oop.source(pa.table({"ts": times}), time="ts", punctuate=oop.at_end())
            result = stream.window(oop.calendar(unit)).agg(n=oop.count()).run().to_table()
            assert result.schema.field("window_start").type == times.type
            found = Counter()
            for row in result.cast(
                result.schema.set(0, pa.field("window_start", pa.timestamp("us", "UTC"))).set(
                    1, pa.field("window_end", pa.timestamp("us", "UTC"))
                )
            ).to_pylist():
                found[row["window_start"], row["window_end"]] += row["n"]
            assert found == windows_of(moments, unit, zone), (column, unit)


def starts(unit, tz, *instants, every=1):
    """The windows' starts and lengths in hours, on a column of UTC without a zone."""
    calendar = Calendar(unit, every, tz, "s")
    seconds = np.array(
        [int((datetime.fromisoformat(i) - EPOCH.replace(tzinfo=None)).total_seconds()) for i in instants]
    )
    first, end = calendar.edges(calendar.wids(seconds)[0])
    moments = [(EPOCH + timedelta(seconds=int(s))).replace(tzinfo=None).isoformat(" ", "minutes") for s in first]
    return list(zip(moments, ((end - first) / 3600).tolist(), strict=True))


def test_changes_of_clock():
    assert starts("day", "Europe/Berlin", "2024-03-31T12:00", "2024-10-27T12:00") == [
        ("2024-03-30 23:00", 23),
        ("2024-10-26 22:00", 25),
    ]
    assert starts("hour", "Europe/Berlin", "2024-10-27T00:30", "2024-10-27T01:30", "2024-10-27T02:30") == [
        ("2024-10-27 00:00", 2),  # the hour from two to three comes twice
        ("2024-10-27 00:00", 2),
        ("2024-10-27 02:00", 1),
    ]
    # midnight was skipped in São Paulo: the day begins at 1:00
    assert starts("day", "America/Sao_Paulo", "2018-11-04T12:00") == [("2018-11-04 03:00", 23)]
    # in Apia the 31st followed the 29th
    assert starts("day", "Pacific/Apia", "2011-12-30T09:59", "2011-12-30T10:00") == [
        ("2011-12-29 10:00", 24),
        ("2011-12-30 10:00", 24),
    ]
    # a day begins at the first of its two midnights
    assert starts("day", "America/St_Johns", "2006-10-29T02:30", "2006-10-29T03:00") == [("2006-10-29 02:30", 25)] * 2


def test_a_day_that_was_skipped_is_an_empty_window():
    calendar = Calendar("day", 1, "Pacific/Apia", "s")
    skipped = (date(2011, 12, 30) - date(1970, 1, 1)).days
    assert calendar.start(skipped) == calendar.end(skipped) == calendar.start(skipped + 1)
    # the promise reaches past it at once
    assert calendar.wid_bound(calendar.start(skipped)) == skipped + 1


def test_several_units_are_counted_from_the_one_that_1970_begins_in():
    assert starts("month", None, "1969-12-31T23:59", "1970-05-01T00:00", every=5) == [
        ("1969-08-01 00:00", 153 * 24),
        ("1970-01-01 00:00", 151 * 24),
    ]
    assert starts("week", None, "1970-01-01T00:00", every=2) == [("1969-12-29 00:00", 14 * 24)]
    assert starts("hour", "Asia/Kolkata", "1970-01-01T00:00", every=6) == [("1969-12-31 18:30", 6)]


@pytest.mark.parametrize("zone", [None, "Europe/Berlin", "America/New_York", "Pacific/Apia", "+05:30"])
@pytest.mark.parametrize("unit", UNITS)
def test_times_near_and_far_are_in_the_window_that_contains_them(unit, zone):
    """Also beyond the years that Python's datetime has."""
    rng = random.Random(f"{unit} {zone}")
    calendar = Calendar(unit, rng.choice([1, 2, 7]), zone, "s")
    spans = [10**5, 10**9, 10**11, 10**13, calendar.limit - 1]
    times = np.array([0, -1, *(rng.randint(-span, span) for span in spans for _ in range(20))])
    wids, _ = calendar.wids(times)
    start, end = calendar.edges(wids)
    assert (start <= times).all() and (times < end).all()
    for wid, time in zip(wids.tolist(), times.tolist(), strict=True):
        assert calendar.wid_bound(time) == wid == calendar.wids(np.array([time]))[0][0]
    in_order = np.argsort(times)
    assert (np.diff(wids[in_order]) >= 0).all()
    assert calendar.wid_bound(2**70) > wids.max() and calendar.wid_bound(-(2**70)) < wids.min()


def test_the_rules_of_a_zone_hold_for_ever():
    """The calendar repeats after 400 years, and with it the changes of clock."""
    cycle = 146_097 * 24
    berlin = Calendar("day", 1, "Europe/Berlin", "s")
    for year in (2400, 10_000, 10_000_000):
        days = 146_097 * ((year - 2000) // 400)
        for day in ("2024-03-31", "2024-10-27", "2024-06-01"):
            wid = (date.fromisoformat(day) - date(1970, 1, 1)).days
            then = berlin.start(wid + days) - berlin.start(wid)
            assert then == days * 86_400 == (year - 2000) // 400 * cycle * 3600


def test_local_mean_time():
    """Before zones were made, clocks followed the sun, to the second."""
    moment = datetime(1700, 5, 5, 12, tzinfo=UTC)
    offset = moment.astimezone(ZoneInfo("Asia/Kolkata")).utcoffset()
    calendar = Calendar("day", 1, "Asia/Kolkata", "us")
    start = calendar.start(calendar.wid_bound((moment - EPOCH) // timedelta(microseconds=1)))
    assert EPOCH + timedelta(microseconds=start) == datetime(1700, 5, 5, tzinfo=UTC) - offset


def test_wide_batches_are_not_looked_up_among_starts():
    rng = random.Random(1)
    calendar = Calendar("hour", 1, "America/Sao_Paulo", "s")
    many = np.array([rng.randint(-(10**9), 4 * 10**9) for _ in range(300)])
    dense = np.concatenate([many[:1] + i for i in range(5000)])
    assert calendar.wids(many)[0].tolist() == [calendar.wid_bound(t) for t in many.tolist()]
    assert calendar.wids(dense)[0].tolist() == [calendar.wid_bound(t) for t in dense.tolist()]
    assert [len(a) for a in calendar.wids(many[:0])] == [0, 0]


def test_no_change_of_any_zone_is_missed():
    """Against the transitions in the zones' own files."""
    compared, rng = 0, random.Random(0)
    for name in sorted(zoneinfo.available_timezones()):
        written = transitions(zone_file(name))
        for instant, offset in [t for t in written if t[0] > -(2**36)][::3]:
            changes = dict(_changes(ZoneInfo(name), instant - rng.randint(20_000, 86_400), instant + 54_321))
            if changes.get(instant) == offset:
                compared += 1
            else:  # a change of name only
                assert all(o == offset for o in changes.values()), (name, instant, offset)
        shown = [written[0], *(b for a, b in pairwise(written) if a[1] != b[1])] if written else []
        assert all(b[0] - a[0] > 3 * 86_400 for a, b in pairwise(shown)), name
    assert compared > 1_000


def zone_file(name: str) -> bytes:
    """Where `zoneinfo` finds it: in the first of its folders, else in the package tzdata."""
    for folder in zoneinfo.TZPATH:
        if (path := Path(folder) / name).is_file():
            return path.read_bytes()
    return (resources.files("tzdata") / "zoneinfo" / name).read_bytes()


def transitions(file: bytes) -> list[tuple[int, int]]:
    """Instants and the offsets from then on, of a file as RFC 8536 has it."""
    counts = struct.unpack(">6l", file[20:44])
    after = 44 + counts[3] * 5 + counts[4] * 6 + counts[5] + counts[2] * 8 + counts[1] + counts[0]
    _, _, _, times, types, _ = counts = struct.unpack(">6l", file[after + 20 : after + 44])
    begin = after + 44
    instants = struct.unpack(f">{times}q", file[begin : begin + times * 8])
    kinds = file[begin + times * 8 : begin + times * 9]
    offsets = [struct.unpack(">l", file[begin + times * 9 + i * 6 :][:4])[0] for i in range(types)]
    return [(t, offsets[k]) for t, k in zip(instants, kinds, strict=True)]


def test_a_clock_of_years_that_do_not_follow_each_other():
    far, near = clock("Europe/Berlin", (1970, 2024, 12_024), 1), clock("Europe/Berlin", (2024,), 1)
    times = np.arange(1704067200, 1735689600, 1000)
    assert (far.local(times) == near.local(times)).all()


def on(type_, window, values=(0,)):
    stream = oop.source(pa.table({"ts": pa.array(values).cast(type_)}), time="ts", punctuate=oop.at_end())
    return stream.window(window).agg(n=oop.count())


def test_which_zone_counts():
    evening = 1704150000 + 1800  # 2024-01-01 23:30 UTC
    table = {
        (None, None): "2024-01-01 00:00",  # local time, whatever the place
        (None, "Europe/Berlin"): "2024-01-01 23:00",  # taken as UTC
        ("Europe/Berlin", None): "2024-01-01 23:00",
        ("Europe/Berlin", "America/New_York"): "2024-01-01 05:00",
        ("+05:30", None): "2024-01-01 18:30",
    }
    for (column, tz), start in table.items():
        result = on(pa.timestamp("s", column), oop.calendar("day", tz=tz), [evening]).run().to_table()
        found = result.column("window_start").cast(pa.int64())[0].as_py()
        assert (EPOCH + timedelta(seconds=found)).strftime("%Y-%m-%d %H:%M") == start, (column, tz)


def test_dates():
    for type_ in (pa.date32(), pa.date64()):
        days = pa.array([-1, 0, 58, 59], pa.int32()).cast(pa.date32()).cast(type_)
        stream = oop.source(pa.table({"ts": days}), time="ts", punctuate=oop.ordered())
        rows = stream.window(oop.calendar("month")).agg(n=oop.count()).run().to_table()
        assert rows.schema.field("window_end").type == type_
        assert rows.column("window_start").to_pylist() == [date(1969, 12, 1), *(date(1970, m, 1) for m in (1, 2, 3))]
        assert rows.column("n").to_pylist() == [1, 1, 1, 1]


def test_errors():
    with pytest.raises(oop.SchemaMismatch, match="plain numbers have no calendar") as wrong:
        on(pa.int64(), oop.calendar("day"))
    assert "test_calendar.py" in str(wrong.value) and "cast" in str(wrong.value)
    with pytest.raises(oop.SchemaMismatch, match="no time of day"):
        on(pa.date64(), oop.calendar("hour"))
    with pytest.raises(oop.SchemaMismatch, match="no time of day"):
        on(pa.date64(), oop.calendar("day", tz="Asia/Kolkata"))
    with pytest.raises(ValueError, match="one of hour, day"):
        oop.calendar("fortnight")
    with pytest.raises(ValueError, match="Europe/Berlin"):
        oop.calendar("day", tz="Middle-earth/Shire")
    for every in (0, 1.5, True):
        with pytest.raises(ValueError, match="every"):
            oop.calendar("day", every=every)
    with pytest.raises(ValueError, match="does not fit"):
        on(pa.timestamp("ns"), oop.calendar("year", every=10_000))
    with pytest.raises(oop.TimeError, match="too close"):
        on(pa.timestamp("ns"), oop.calendar("year"), [2**63 - 1]).run().to_table()


def test_explain_and_joins():
    calendar = oop.calendar("month", tz="Europe/Berlin", every=3)
    assert "Bucket calendar 3 months in Europe/Berlin on ts" in on(pa.timestamp("s"), calendar).explain()
    days = oop.source(
        pa.table({"ts": pa.array([0, 80_000, 90_000], pa.timestamp("s"))}), time="ts", punctuate=oop.ordered()
    )
    pairs = days.join(days, window=oop.calendar("day", tz="Europe/Berlin")).run().to_table()
    assert pairs.num_rows == 1 + 2 * 2
