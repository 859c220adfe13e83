"""`Corners` against a plain list of corners: with one, two and three attributes, and all kinds of each other."""

from __future__ import annotations

import math
from collections.abc import Mapping

from hypothesis import given, settings
from hypothesis import strategies as st

from oop.punctuation.corners import Corners

bounds = st.integers(0, 5) | st.sampled_from([2.5, math.inf])
corners = st.dictionaries(st.sampled_from("abc"), bounds, min_size=1, max_size=3)
points = st.dictionaries(st.sampled_from("abc"), st.integers(0, 5), max_size=2)


def within(inner: Mapping[str, float], outer: Mapping[str, float], point: Mapping[str, float]) -> bool:
    return all(inner[a] <= b if a in inner else a in point and point[a] < b for a, b in outer.items())


@settings(max_examples=300, deadline=None)
@given(st.lists(corners, max_size=14), st.lists(st.tuples(corners, points), max_size=6), st.data())
def test_they_are_the_greatest_of_what_was_added(added, asked, data):
    found, model = Corners(), []
    for corner in added:
        new = not any(within(corner, old, {}) for old in model)
        assert found.add(corner) == new
        if new:
            model = [*(old for old in model if not within(old, corner, {})), corner]
    for corner, point in asked:
        assert found.covers(corner, point) == any(within(corner, old, point) for old in model)
    again = found.copy()
    for corner in data.draw(st.lists(st.sampled_from(model), unique_by=id) if model else st.just([])):
        again.remove(corner)
        model.remove(corner)
    key = lambda c: sorted(c.items())  # noqa: E731
    assert sorted(again, key=key) == sorted(model, key=key)
    assert bool(again) == bool(model)
