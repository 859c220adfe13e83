"""Offsets of tumbling and sliding windows, on every kind of time column."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta

import numpy as np
import pyarrow as pa
import pytest

import oop


def windows(type_, numbers, window):
    """Starts and ends as numbers, and how many rows are in each."""
    width = pa.int32() if type_.bit_width == 32 else pa.int64()
    times = pa.array(numbers, pa.float64()) if pa.types.is_floating(type_) else pa.array(numbers, width).cast(type_)
    stream = oop.source(pa.table({"ts": times}), time="ts", punctuate=oop.at_end())
    rows = stream.window(window).agg(n=oop.count()).run().to_table().sort_by("window_start").to_pylist()
    return [(r["window_start"], r["window_end"], r["n"]) for r in rows]


def hour(h, minute=0, day=2):
    return datetime(1970, 1, day, h, minute)


@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
@pytest.mark.parametrize("offset", ["15min", timedelta(minutes=15), np.timedelta64(15, "m"), "-45min", "135min"])
def test_every_way_to_write_an_offset(unit, offset):
    per_second = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}[unit]
    numbers = [86_400 * per_second + m * 60 * per_second for m in (0, 14, 15, 74, 75)]
    expected = [
        (hour(23, 15, day=1), hour(0, 15), 2),
        (hour(0, 15), hour(1, 15), 2),
        (hour(1, 15), hour(2, 15), 1),
    ]
    assert windows(pa.timestamp(unit), numbers, oop.tumbling("1h", offset=offset)) == expected


def test_before_1970_and_with_a_zone():
    type_ = pa.timestamp("s", "Europe/Berlin")
    found = windows(type_, [-1, -3600 * 6, 0], oop.tumbling("1d", offset="-6h"))
    start = datetime(1969, 12, 31, 18, tzinfo=UTC)
    assert found == [(start, start + timedelta(days=1), 3)]
    found = windows(type_, [-3600 * 6 - 1], oop.tumbling("1d", offset="18h"))
    assert found == [(start - timedelta(days=1), start, 1)]


def test_dates():
    # weeks from Monday: 1970 began on a Thursday
    expected = [(date(1969, 12, 22), date(1969, 12, 29), 1), (date(1969, 12, 29), date(1970, 1, 5), 2)]
    for offset in ("4d", timedelta(days=-3), 4, "-3d"):
        assert windows(pa.date32(), [-4, -3, 3], oop.tumbling("7d", offset=offset)) == expected
    with pytest.raises(ValueError, match="whole number"):
        windows(pa.date32(), [0], oop.tumbling("7d", offset="12h"))


def test_sliding_windows_and_gaps():
    found = windows(pa.timestamp("s"), [86_400 + 60], oop.sliding("1h", every="30min", offset="-10min"))
    assert found == [(hour(23, 20, day=1), hour(0, 20), 1), (hour(23, 50, day=1), hour(0, 50), 1)]
    found = windows(pa.int64(), [-8, -7, -5, 0, 3], oop.sliding(2, every=5, offset=-2))
    assert found == [(-7, -5, 1), (3, 5, 1)]


def test_plain_numbers():
    assert windows(pa.int32(), [-1, 0, 2, 3], oop.tumbling(5, offset=-2)) == [(-2, 3, 3), (3, 8, 1)]
    assert windows(pa.int32(), [-1, 0, 2, 3], oop.tumbling(5, offset=2**40 * 5 - 2)) == [(-2, 3, 3), (3, 8, 1)]
    assert windows(pa.float64(), [-0.25, 0.0], oop.tumbling(0.5, offset=-0.25)) == [(-0.25, 0.25, 2)]
    for wrong in ("5s", timedelta(seconds=5)):
        with pytest.raises(ValueError, match="plain numbers"):
            windows(pa.int64(), [0], oop.tumbling(5, offset=wrong))
    for wrong in (0.5, True, "yesterday"):
        with pytest.raises(ValueError, match=r"whole number|is a duration, not True|plain numbers"):
            windows(pa.int64(), [0], oop.tumbling(5, offset=wrong))


def test_explain_shows_it():
    stream = oop.source(pa.table({"ts": [1]}), time="ts", punctuate=oop.at_end())
    assert "tumbling 5 offset -2" in stream.window(oop.tumbling(5, offset=-2)).agg(n=oop.count()).explain()
