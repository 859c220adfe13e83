"""Slices of time, as a join saves them: every number that was in use is named once it is not."""

from __future__ import annotations

import numpy as np

from oop.operators.core.time_slices import SPREAD, TimeSlices


def test_numbers_that_are_gone_are_named_also_when_slices_get_longer_twice() -> None:
    slices = TimeSlices(0, whole=True)
    slices.add(np.arange(1), np.array([2]))
    assert slices.take_changes() == [2]
    slices.replace(2, np.zeros(0, np.int64))  # freed, and then
    many = SPREAD * 5
    slices.add(np.arange(many), np.arange(many) * 4)
    assert slices.shift >= 4
    assert 2 in slices.take_changes()


def test_whole_slices_and_the_one_at_the_bound() -> None:
    slices = TimeSlices(32, whole=True)  # eight units each
    slices.add(np.arange(4), np.array([1, 9, 17, 25]))
    assert list(slices.below(18)) == [(0, True), (1, True), (2, False)]
    assert list(slices.below(-np.inf)) == []
    assert [whole for _, whole in slices.below(np.inf)] == [True] * 4


def test_bytes_are_those_of_the_places() -> None:
    slices = TimeSlices(1.5, whole=False)
    slices.add(np.arange(100), np.linspace(0, 9, 100))
    assert slices.nbytes == 400
    for number in slices.numbers():
        slices.replace(number, slices.places(number)[:1])
    assert slices.nbytes == 4 * len(slices.numbers())
