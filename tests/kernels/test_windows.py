"""The reference's windows and bounds against plain Python: floor, fractions, sorted lists, dicts."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from oop.errors import TimeError
from oop.kernels.dispatch import kernels
from oop.punctuation.translate import wid_bound, window_end
from tests.kernels.cases import quick

k = kernels("reference")

LEAST = -(2**63)
spans = st.integers(1, 10**6)
offsets = st.integers(-(10**6), 10**6)
int_times = st.lists(st.integers(-(10**12), 10**12), max_size=20)
reals = st.floats(-1e6, 1e6)
float_spans = st.floats(1e-3, 1e3)
any_times = st.one_of(
    st.lists(st.integers(LEAST, -LEAST - 1), max_size=30).map(lambda rows: np.array(rows, np.int64)),
    st.lists(st.integers(-5, 5), max_size=30).map(lambda rows: np.array(rows, np.int64)),
    st.lists(st.floats(allow_nan=True), max_size=30).map(lambda rows: np.array(rows, np.float64)),
)


@quick
@given(int_times, spans, spans, offsets)
def test_int_wids_are_the_windows_that_hold_the_time(rows: list[int], range_: int, slide: int, offset: int) -> None:
    firsts, lasts = k.wid_ranges(np.array(rows, np.int64), range_, slide, offset)
    for t, first, last in zip(rows, firsts.tolist(), lasts.tolist(), strict=True):
        assert first == math.floor(Fraction(t - offset - range_, slide)) + 1
        assert last == math.floor(Fraction(t - offset, slide))
        for w in {first - 1, first, last, last + 1}:
            start = offset + w * slide
            assert (first <= w <= last) == (start <= t < start + range_)


@quick
@given(st.lists(reals, max_size=20), float_spans, float_spans, reals)
def test_float_wids_hold_literally(rows: list[float], range_: float, slide: float, offset: float) -> None:
    firsts, lasts = k.wid_ranges(np.array(rows, np.float64), range_, slide, offset)
    for t, first, last in zip(rows, firsts.tolist(), lasts.tolist(), strict=True):
        for w in {first - 1, first, last, last + 1}:
            start = offset + w * slide
            assert (first <= w <= last) == (start <= t < window_end(w, range_, slide, offset))


def test_float_wids_of_the_examples() -> None:
    first, last = k.wid_ranges(np.array([11.5]), 10.0, 3.0, 0.0)
    assert (first[0], last[0]) == (1, 3)
    first, last = k.wid_ranges(np.array([1.7, 3.0]), 3.5, 2.5, 1.5)
    assert first.tolist() == [-1, 0]
    assert last.tolist() == [0, 0]


def test_gaps_have_no_window() -> None:
    first, last = k.wid_ranges(np.array([0, 2, 3, 9, 10]), 3, 10, 0)
    assert (first <= last).tolist() == [True, True, False, False, True]


@quick
@given(st.lists(reals, min_size=1, max_size=5), reals, float_spans, float_spans, reals)
def test_a_closed_window_gets_no_row(
    rows: list[float], bound: float, range_: float, slide: float, offset: float
) -> None:
    times = np.array([t for t in rows if t >= bound], np.float64)
    first, last = k.wid_ranges(times, range_, slide, offset)
    assert ((first >= wid_bound(bound, range_, slide, offset)) | (first > last)).all()


@quick
@given(reals, float_spans, reals)
def test_a_float_time_is_in_exactly_one_tumbling_window(time: float, range_: float, offset: float) -> None:
    first, last = k.wid_ranges(np.array([time]), range_, range_, offset)
    assert first[0] == last[0]
    wid = float(first[0])
    assert offset + wid * range_ <= time < offset + (wid + 1) * range_


def test_a_time_at_the_limit_says_so() -> None:
    with pytest.raises(TimeError, match="too close to the limit of 64-bit integers"):
        k.wid_ranges(np.array([2**63 - 1]), 10, 10, 0)


def _least(times: Any) -> Any:
    return -math.inf if times.dtype == np.float64 else LEAST


def _lowered(time: Any, slack: Any) -> Any:
    return time - slack if isinstance(time, float) else max(LEAST, time - slack)


@quick
@given(any_times, st.integers(0, 2**66), st.integers(0, 30))
def test_prefix_bounds(times: Any, slack: int, cut: int) -> None:
    highest, wanted = None, []
    for t in times.tolist():
        wanted.append(_least(times) if highest is None else _lowered(highest, slack))
        if t == t and (highest is None or t > highest):
            highest = t
    bounds, greatest = k.prefix_bounds(times, None, slack)
    assert bounds.tolist() == wanted
    assert greatest == highest
    # The same however the rows are cut into batches.
    head, seen = k.prefix_bounds(times[:cut], None, slack)
    tail, seen = k.prefix_bounds(times[cut:], seen, slack)
    assert np.concatenate([head, tail]).tolist() == wanted
    assert seen == highest


@quick
@given(any_times, st.integers(0, 6), st.integers(0, 30))
def test_prefix_bounds_rows(times: Any, n: int, cut: int) -> None:
    wanted = []
    for row in range(len(times)):
        before = sorted((t for t in times[:row].tolist() if t == t), reverse=True)
        wanted.append(before[n] if len(before) > n else _least(times))
    nothing = np.zeros(0, times.dtype)
    head, held = k.prefix_bounds_rows(times[:cut], nothing, n)
    tail, held = k.prefix_bounds_rows(times[cut:], held, n)
    assert np.concatenate([head, tail]).tolist() == wanted
    assert held.tolist() == sorted(t for t in times.tolist() if t == t)[-(n + 1) :]


@quick
@given(any_times, st.lists(st.integers(0, 3), min_size=30, max_size=30), st.integers(0, 9), st.integers(0, 30))
def test_prefix_bounds_by(times: Any, groups: list[int], slack: int, cut: int) -> None:
    highest: dict[int, Any] = {}
    wanted = []
    for t, group in zip(times.tolist(), groups, strict=False):
        wanted.append(_lowered(highest[group], slack) if group in highest else _least(times))
        if t == t:
            highest[group] = max(t, highest.get(group, t))
    codes = np.array(groups[: len(times)], np.int64)
    greatest, seen = np.full(4, 99, times.dtype), np.zeros(4, np.bool_)
    parts = [
        k.prefix_bounds_by(times[some], codes[some], greatest, seen, slack)
        for some in (slice(None, cut), slice(cut, None))
    ]
    assert np.concatenate(parts).tolist() == wanted
    assert {group: greatest[group] for group in np.flatnonzero(seen)} == highest


@quick
@given(any_times, st.one_of(st.integers(-(2**70), 2**70), st.integers(-5, 5), st.floats()))
def test_find_late_compares_exactly(times: Any, bound: Any) -> None:
    # Python compares an integer with a float exactly.
    wanted = [t < bound for t in times.tolist()]
    assert k.find_late(times, bound).tolist() == wanted
    assert k.select_below(times, bound).tolist() == [row for row, late in enumerate(wanted) if late]
    assert k.select_not_below(times, bound).tolist() == [row for row, late in enumerate(wanted) if not late]


def test_slack_by_rows_is_not_quadratic() -> None:
    """A descending stream is the worst case of a list that is kept sorted by insertion."""
    times = np.arange(200_000)[::-1].copy()
    bounds, greatest = k.prefix_bounds_rows(times, np.zeros(0, np.int64), 100_000)
    assert bounds[-1] == 99_999
    assert len(greatest) == 100_001
