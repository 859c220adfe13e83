"""The reference's buffers, bounds and merges against what they are said to be, written out."""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from oop.kernels.dispatch import NAMES, kernels
from tests.kernels.cases import LEAST, MOST, quick

k = kernels("reference")

INTS = st.sampled_from([LEAST, -3, -1, 0, 1, 2, 3, 4, 5, MOST])
FLOATS = st.sampled_from([math.nan, math.inf, -math.inf, -1.5, -0.0, 0.0, 2.0, 3.0])
COLUMNS = st.one_of(
    st.lists(INTS, max_size=40).map(lambda values: np.array(values, np.int64)),
    st.lists(FLOATS, max_size=40).map(lambda values: np.array(values, np.float64)),
)


def _rank(value: Any) -> tuple[bool, Any]:
    return (value != value, 0 if value != value else value)


def _bubble(rows: list[int], values: list[Any], passes: int) -> list[int]:
    rows = list(rows)
    for _ in range(passes):
        for i in range(len(rows) - 1):
            if _rank(values[rows[i]]) > _rank(values[rows[i + 1]]):
                rows[i], rows[i + 1] = rows[i + 1], rows[i]
    return rows


def _pieces(values: Any, data: Any) -> Iterator[slice]:
    cuts = data.draw(st.lists(st.integers(0, len(values)), max_size=4).map(sorted))
    for begin, end in pairwise([0, *cuts, len(values)]):
        yield slice(begin, end)


@quick
@given(COLUMNS, st.integers(0, 6), st.integers(1, 3), st.data())
def test_sort_buffers_are_passes_of_a_bubble_sort(values: Any, slack: int, groups: int, data: Any) -> None:
    ids = np.array([data.draw(st.integers(0, groups - 1)) for _ in values], np.int64)
    buffers = k.SortBuffers(slack, values.dtype)
    pool: list[int] = []  # rows by place
    out: list[int] = []
    for piece in _pieces(values, data):
        pool += range(piece.start, piece.stop)
        out += [pool[place] for place in buffers.push(ids[piece], values[piece])]
        assert buffers.places == len(pool)
        if data.draw(st.booleans()):
            pool = [pool[place] for place in buffers.compact()]
            assert pool == sorted(pool) and not set(pool) & set(out) and len(pool) == len(buffers)
        if data.draw(st.booleans()):  # elsewhere
            pool = [pool[place] for place in buffers.compact()]
            buffers = k.SortBuffers(slack, values.dtype)
            assert not len(buffers.push(ids[pool], values[pool]))
    out += [pool[place] for place in buffers.drain()]
    for group in range(groups):
        mine = [row for row in range(len(values)) if ids[row] == group]
        assert [row for row in out if ids[row] == group] == _bubble(mine, values.tolist(), slack)


@quick
@given(COLUMNS, st.integers(0, 6), st.integers(1, 3), st.data())
def test_row_bounds_tell_which_rows_are_out_of_order(values: Any, slack: int, groups: int, data: Any) -> None:
    ids = np.array([data.draw(st.integers(0, groups - 1)) for _ in values], np.int64)
    bounds = k.RowBounds(slack, values.dtype)
    late: list[bool] = []
    for piece in _pieces(values, data):
        late += k.find_late(values[piece], bounds.push(ids[piece], values[piece])).tolist()
        if data.draw(st.booleans()):
            held, bounds = bounds.held(), k.RowBounds(slack, values.dtype)
            bounds.push(*held)
    wanted = [int(((values[:i] > values[i]) & (ids[:i] == ids[i])).sum()) > slack for i in range(len(values))]
    assert late == wanted


@quick
@given(COLUMNS, st.integers(0, 6))
def test_row_bounds_of_one_group_are_prefix_bounds_rows(values: Any, slack: int) -> None:
    bounds = k.RowBounds(slack, values.dtype)
    wanted, greatest = k.prefix_bounds_rows(values, values[:0], slack)
    np.testing.assert_array_equal(bounds.push(None, values), wanted)
    np.testing.assert_array_equal(bounds.held()[1], greatest)


@quick
@given(st.lists(COLUMNS, min_size=1, max_size=5))
def test_merge_runs_is_a_stable_sort(columns: list[Any]) -> None:
    runs = [np.sort(column.astype(columns[0].dtype)) for column in columns if column.dtype == columns[0].dtype]
    values, starts = np.concatenate(runs), np.cumsum([0, *map(len, runs)])
    order = k.merge_runs(values, starts)
    assert order.tolist() == sorted(range(len(values)), key=lambda row: _rank(values[row].item()))


def test_state_is_counted() -> None:
    for name in NAMES:
        buffers = kernels(name).SortBuffers(100, np.int64)
        assert not len(buffers)
        buffers.push(None, np.arange(150))
        assert len(buffers) == 100 and buffers.nbytes >= 1600
        buffers.drain()
        assert not len(buffers)
        bounds = kernels(name).RowBounds(99, np.int64)
        bounds.push(np.zeros(150, np.int64), np.arange(150))
        assert bounds.nbytes >= 1600
