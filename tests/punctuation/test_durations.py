"""Durations as users write them."""

from datetime import timedelta
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from oop.punctuation.durations import NANOSECONDS, in_units, nanoseconds

names = st.sampled_from(sorted(NANOSECONDS))


@settings(max_examples=200, deadline=None)
@given(st.integers(-(10**6), 10**6), names, names)
def test_a_duration_is_whole_in_the_columns_unit_or_refused(number, name, unit):
    exact = Fraction(number * NANOSECONDS[name], NANOSECONDS[unit])
    if exact.denominator == 1:
        assert in_units(f"{number}{name}", NANOSECONDS[unit]) == exact
    else:
        with pytest.raises(ValueError, match=f"whole number .*1{unit}"):
            in_units(f"{number}{name}", NANOSECONDS[unit])


@settings(max_examples=200, deadline=None)
@given(st.decimals(-1000, 1000, places=3), names)
def test_decimals_are_exact(number, name):
    assert nanoseconds(f"{number} {name}") == Fraction(number) * NANOSECONDS[name]


@settings(max_examples=200, deadline=None)
@given(st.timedeltas())
def test_a_timedelta_is_exact_in_microseconds(duration):
    assert in_units(duration, NANOSECONDS["us"]) == duration // timedelta(microseconds=1)


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("250ms", "1/4"), ("5s", 5), ("1min", 60), ("2h", 7200), ("1d", 86400), ("1.5 h", 5400), (" 90sec ", 90),
     ("-30s", -30), ("+1m", 60), ("2days", 172800)],
)  # fmt: skip
def test_the_units_that_are_known(text, seconds):
    assert nanoseconds(text) == Fraction(seconds) * NANOSECONDS["s"]


@pytest.mark.parametrize("text", ["", "5", "s", "5 parsecs", "1e3s", "5S", "1h30min", "--5s", "5.s"])
def test_other_texts_are_refused(text):
    with pytest.raises(ValueError, match=r"not a duration|unknown unit"):
        in_units(text, 1)


@pytest.mark.parametrize("duration", ["5s", timedelta(seconds=5)])
def test_a_column_of_numbers_takes_numbers_only(duration):
    with pytest.raises(ValueError, match="plain numbers"):
        in_units(duration, None)


def test_a_number_is_already_in_the_columns_unit():
    assert in_units(30, None) == in_units(30, 1000) == in_units(30.0, 1000) == 30
    assert isinstance(in_units(30.0, 1000), int)
    assert in_units(0.5, None, whole=False) == 0.5
    for duration in (0.5, float("nan"), float("inf")):
        with pytest.raises(ValueError, match="whole number"):
            in_units(duration, 1000)
    for duration in (float("nan"), float("inf"), True):
        with pytest.raises(ValueError, match="not a duration"):
            in_units(duration, None, whole=False)
