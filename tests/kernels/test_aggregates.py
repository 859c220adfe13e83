"""The reference's aggregates against Python integers and fractions, and merges against the whole."""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from oop.errors import OopError
from oop.kernels.checks import KernelError
from oop.kernels.dispatch import kernels
from tests.kernels.cases import quick

k = kernels("reference")

GROUPS = 4
LEAST, MOST = -(2**63), 2**63 - 1
ints = st.one_of(st.integers(-9, 9), st.sampled_from([LEAST, MOST]), st.integers(LEAST, MOST))
uints = st.one_of(st.integers(0, 9), st.sampled_from([0, 2**64 - 1]))
reals = st.one_of(st.floats(-1e6, 1e6), st.just(math.nan), st.sampled_from([math.inf, -math.inf, 0.0]))


@st.composite
def rows_of(draw: Any, values: Any, dtype: Any) -> tuple[Any, Any, Any, int]:
    rows = draw(st.lists(st.tuples(st.integers(0, GROUPS - 1), values, st.booleans()), max_size=30))
    ids = np.array([row[0] for row in rows], np.int64)
    valid = None if draw(st.booleans()) else np.array([row[2] for row in rows], np.bool_)
    return ids, np.array([row[1] for row in rows], dtype), valid, draw(st.integers(0, 30))


any_rows = st.one_of(rows_of(ints, np.int64), rows_of(uints, np.uint64), rows_of(reals, np.float64))
int_rows = st.one_of(rows_of(ints, np.int64), rows_of(uints, np.uint64))


def _by_group(ids: Any, values: Any, valid: Any) -> dict[int, list[Any]]:
    found: dict[int, list[Any]] = {}
    for row, (group, value) in enumerate(zip(ids.tolist(), values.tolist(), strict=True)):
        if valid is None or valid[row]:
            found.setdefault(group, []).append(value)
    return found


def _zeros(count: int) -> Any:
    return [np.zeros(GROUPS, np.int64) for _ in range(count)]


def _halves(ids: Any, values: Any, valid: Any, cut: int) -> Any:
    for some in (slice(None, cut), slice(cut, None)):
        yield ids[some], values[some], None if valid is None else valid[some]


@quick
@given(any_rows)
def test_counts(rows: Any) -> None:
    ids, values, valid, _ = rows
    (counts,) = _zeros(1)
    k.add_count(ids, valid, counts)
    wanted = _by_group(ids, values, valid)
    assert counts.tolist() == [len(wanted.get(group, [])) for group in range(GROUPS)]
    everyone = np.arange(GROUPS)
    k.merge_count(np.concatenate([everyone, everyone]), np.concatenate([counts, counts]), counts)
    assert counts.tolist() == [3 * len(wanted.get(group, [])) for group in range(GROUPS)]


@quick
@given(int_rows)
def test_integer_sums_are_exact(rows: Any) -> None:
    ids, values, valid, cut = rows
    hi, lo, counts = _zeros(3)
    partials = []
    for half in _halves(ids, values, valid, cut):
        k.add_sum_int(*half, hi, lo, counts)
        partials.append(_zeros(3))
        k.add_sum_int(*half, *partials[-1])
    wanted = _by_group(ids, values, valid)
    _assert_sums(hi, lo, counts, wanted)
    merged = _zeros(3)
    columns = [np.concatenate(parts) for parts in zip(*partials, strict=True)]
    k.merge_sum_int(np.tile(np.arange(GROUPS), 2), *columns, *merged)
    _assert_sums(*merged, wanted)


def _assert_sums(hi: Any, lo: Any, counts: Any, wanted: dict[int, list[int]]) -> None:
    assert ((lo >= 0) & (lo < 2**32)).all()
    assert [int(h) * 2**32 + int(low) for h, low in zip(hi, lo, strict=True)] == [
        sum(wanted.get(group, [])) for group in range(GROUPS)
    ]
    assert counts.tolist() == [len(wanted.get(group, [])) for group in range(GROUPS)]


@quick
@given(st.lists(st.one_of(st.integers(-(2**64), 2**65), st.sampled_from([LEAST, MOST, 2**64 - 1, 0]))))
def test_integer_results_fit_or_raise(totals: list[int]) -> None:
    hi = np.array([total >> 32 for total in totals], np.int64)
    lo = np.array([total & (2**32 - 1) for total in totals], np.int64)
    for type, low, high in (("int64", LEAST, MOST), ("uint64", 0, 2**64 - 1)):
        if all(low <= total <= high for total in totals):
            found = k.sum_int_result(hi, lo, type)
            assert found.dtype == type
            assert found.tolist() == totals
        else:
            with pytest.raises(OopError, match="does not fit"):
                k.sum_int_result(hi, lo, type)


@quick
@given(rows_of(st.floats(-1e6, 1e6), np.float64))
def test_float_sums(rows: Any) -> None:
    ids, values, valid, cut = rows
    sums, (counts,) = np.zeros(GROUPS), _zeros(1)
    for half in _halves(ids, values, valid, cut):
        part, (count,) = np.zeros(GROUPS), _zeros(1)
        k.add_sum_float(*half, part, count)
        k.merge_sum_float(np.arange(GROUPS), part, count, sums, counts)
    wanted = _by_group(ids, values, valid)
    for group in range(GROUPS):
        assert sums[group] == pytest.approx(math.fsum(wanted.get(group, [])), rel=1e-12, abs=1e-6)
        assert counts[group] == len(wanted.get(group, []))


def _rank(value: Any) -> tuple[bool, Any]:
    return (True, 0) if value != value else (False, value)


@quick
@given(any_rows)
def test_least_and_greatest(rows: Any) -> None:
    ids, values, valid, cut = rows
    wanted = _by_group(ids, values, valid)
    for take, merge, choose in ((k.take_min, k.merge_min, min), (k.take_max, k.merge_max, max)):
        direct, merged = (np.full(GROUPS, 5, values.dtype) for _ in range(2))
        counts, merged_counts = _zeros(2)
        for half in _halves(ids, values, valid, cut):
            take(*half, direct, counts)
            part, (count,) = np.full(GROUPS, 6, values.dtype), _zeros(1)
            take(*half, part, count)
            merge(np.arange(GROUPS), part, count, merged, merged_counts)
        for group in range(GROUPS):
            held = wanted.get(group, [])
            assert counts[group] == merged_counts[group] == len(held)
            if held:
                assert _rank(direct[group]) == _rank(merged[group]) == _rank(choose(held, key=_rank))


@quick
@given(st.one_of(rows_of(st.floats(-1e6, 1e6), np.float64), rows_of(st.integers(-(10**6), 10**6), np.int64)))
def test_moments(rows: Any) -> None:
    ids, values, valid, cut = rows
    direct: Any = (np.zeros(GROUPS, np.int64), np.full(GROUPS, 3.5), np.full(GROUPS, 3.5))
    merged: Any = (np.zeros(GROUPS, np.int64), np.full(GROUPS, 3.5), np.full(GROUPS, 3.5))
    partials: list[Any] = []
    for half in _halves(ids, values, valid, cut):
        k.add_moments(*half, *direct)
        partials.append((np.zeros(GROUPS, np.int64), np.zeros(GROUPS), np.zeros(GROUPS)))
        k.add_moments(*half, *partials[-1])
    columns = [np.concatenate(parts) for parts in zip(*partials, strict=True)]
    k.merge_moments(np.tile(np.arange(GROUPS), 2), *columns, *merged)
    for group, held in _by_group(ids, values, valid).items():
        exact = [Fraction(value) for value in held]
        mean = sum(exact) / len(exact)
        spread = sum((value - mean) ** 2 for value in exact)
        for counts, means, m2 in (direct, merged):
            assert counts[group] == len(held)
            assert means[group] == pytest.approx(float(mean), rel=1e-9, abs=1e-6)
            assert m2[group] == pytest.approx(float(spread), rel=1e-6, abs=1e-3)


def test_moments_do_not_cancel_far_from_zero() -> None:
    counts, means, m2 = np.zeros(1, np.int64), np.zeros(1), np.zeros(1)
    for start in range(0, 1000, 10):
        values = 1e9 + np.arange(start, start + 10) % 2
        k.add_moments(np.zeros(10, np.int64), values, None, counts, means, m2)
    assert m2[0] == pytest.approx(250.0, rel=1e-6)


def test_sums_beyond_their_bits_raise() -> None:
    arrays = [np.zeros(1, np.int64) for _ in range(3)]
    many = np.zeros(3, np.int64)
    with pytest.raises(OopError, match="beyond"):
        k.merge_sum_int(many, np.full(3, 2**60), many, many + 1, *arrays)


@pytest.mark.parametrize("ids", [[-1], [2], [LEAST], [MOST]])
def test_ids_are_checked_before_anything_is_written(ids: list[int]) -> None:
    counts = np.zeros(2, np.int64)
    with pytest.raises(KernelError, match="from 0 to 1"):
        k.add_count(np.array([0, *ids]), None, counts)
    assert counts.tolist() == [0, 0]


def test_outputs_must_be_writable() -> None:
    counts = np.zeros(2, np.int64)
    counts.flags.writeable = False
    with pytest.raises(KernelError, match="writable"):
        k.add_count(np.array([0]), None, counts)


def test_decimals_are_summed_exactly() -> None:
    values = np.array([Decimal("9" * 38), Decimal("0.01"), None], object)
    sums, counts = np.full(1, None), np.zeros(1, np.int64)
    k.add_sum_object(np.zeros(3, np.int64), values, sums, counts)
    assert sums[0] == Decimal("9" * 38 + ".01")
    assert str(sums[0]) == "9" * 38 + ".01"
    assert counts[0] == 2


@quick
@given(st.lists(st.tuples(st.integers(0, 2), st.one_of(st.none(), st.text(max_size=2))), max_size=20))
def test_text_extremes(rows: list[tuple[int, str | None]]) -> None:
    ids = np.array([group for group, _ in rows], np.int64)
    values = np.array([value for _, value in rows] + [None], object)[:-1]
    for take, choose in ((k.take_min_object, min), (k.take_max_object, max)):
        out, counts = np.full(3, None), np.zeros(3, np.int64)
        take(ids, values, out, counts)
        for group in range(3):
            held = [value for at, value in rows if at == group and value is not None]
            assert counts[group] == len(held)
            assert out[group] == (choose(held) if held else None)
