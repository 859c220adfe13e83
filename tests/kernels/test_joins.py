"""The reference's join table against a dict of Python values, in which no difference of times overflows."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from oop.kernels.checks import KernelError
from oop.kernels.dispatch import kernels
from oop.kernels.signatures.joins import Reach
from tests.kernels.cases import LEAST, MOST, quick

k = kernels("reference")

INTS = st.sampled_from([LEAST, LEAST + 1, -(2**62), -3, -1, 0, 1, 2, 2**62, MOST - 1, MOST])
FLOATS = st.sampled_from([math.nan, math.inf, -math.inf, -1.5, -0.0, 0.0, 5e-324, 2.0, 1e308, -1e308])
WORDS = st.sampled_from([0, 1, 2**63, 2**64 - 1])


def _reaches(ends: Any) -> Any:
    low = st.one_of(st.just(-math.inf), ends)
    return st.builds(Reach, low, st.one_of(st.just(math.inf), ends), st.booleans(), st.booleans())


INT_REACHES = _reaches(st.sampled_from([LEAST + 1, -(2**62), -2, 0, 1, 2**62, MOST - 1]))
FLOAT_REACHES = _reaches(st.sampled_from([-1e308, -1.5, -0.0, 5e-324, 2, 1e308]))


def _meets(t: Any, s: Any, reach: Reach) -> bool:
    apart = s - t
    above = apart > reach.low if reach.low_open else apart >= reach.low
    return above and (apart < reach.high if reach.high_open else apart <= reach.high)


def _columns(rows: list[tuple[int, Any]], dtype: Any) -> tuple[Any, Any]:
    return np.array([word for word, _ in rows], np.uint64), np.array([time for _, time in rows], dtype)


def _check_table(
    dtype: Any, steps: list[tuple[Any, ...]], probing: list[tuple[int, Any]], reach: Reach, by: str = "reference"
) -> None:
    """Steps insert rows and then remove some by their order in the model, whose newest rows are its last."""
    table = kernels(by).JoinTable(dtype)
    model: dict[int, tuple[int, Any]] = {}
    for rows, gone, backwards in steps:
        free = [place for place in range(200) if place not in model][: len(rows)]
        free = free[::-1] if backwards else free
        table.insert(np.array(free, np.int64), *_columns(rows, dtype))
        model.update(zip(free, rows, strict=True))
        places = [place for turn, place in enumerate(model) if turn in gone]
        table.remove(np.array(places, np.int64))
        model = {place: row for place, row in model.items() if place not in places}
        assert len(table) == len(model)
    wanted = [
        (i, place)
        for i, (word, time) in enumerate(probing)
        for place, row in reversed(model.items())
        if row[0] == word and _meets(time, row[1], reach)
    ]
    words, times = _columns(probing, dtype)
    mine, theirs, done = table.probe(words, times, reach)
    assert list(zip(mine.tolist(), theirs.tolist(), strict=True)) == wanted
    assert done == len(probing)


def _steps(times: Any) -> Any:
    rows = st.lists(st.tuples(WORDS, times), max_size=12)
    return st.lists(st.tuples(rows, st.sets(st.integers(0, 20)), st.booleans()), max_size=4), rows


@quick
@given(*_steps(INTS), INT_REACHES)
def test_whole_times_meet_as_in_the_model(steps: Any, probing: Any, reach: Reach) -> None:
    _check_table(np.int64, steps, probing, reach)


@quick
@given(*_steps(FLOATS), FLOAT_REACHES)
def test_real_times_meet_as_in_the_model(steps: Any, probing: Any, reach: Reach) -> None:
    _check_table(np.float64, steps, probing, reach)


NARROW = st.sampled_from([0, 5, 2**30 - 1, 2**30, 2**31, 2**32 - 1, 2**32, -1, -(2**30), 2**40, 2**40 + 5, LEAST, MOST])
NARROW_REACHES = _reaches(st.sampled_from([-(2**32), -5, 0, 5, 2**31]))


@quick
@given(*_steps(NARROW), NARROW_REACHES)
def test_rows_that_are_narrow_for_a_while_meet_as_in_the_model(steps: Any, probing: Any, reach: Reach) -> None:
    pytest.importorskip("oop.kernels.native.joins")
    fitting = [[(word % 2**32, time) for word, time in rows] for rows in (*(rows for rows, *_ in steps), probing)]
    _check_table(np.int64, steps, probing, reach, "native")
    narrow = [(rows, *rest) for rows, (_, *rest) in zip(fitting, steps, strict=False)]
    _check_table(np.int64, narrow, fitting[-1], reach, "native")


FAR = st.builds(
    lambda base, by: base + by, st.sampled_from([2**59, -(2**59)]), st.sampled_from([-(2**31), -1, 0, 1, 5])
)
FAR_REACHES = _reaches(st.sampled_from([-(2**62), -(2**61) - 1, -(2**60), -1, 0, 2**31, 2**60, 2**61 + 1, 2**62]))


@quick
@given(*_steps(FAR), FAR_REACHES, st.booleans())
def test_times_and_reaches_that_are_far_meet_as_in_the_model(
    steps: Any, probing: Any, reach: Reach, one_sided: bool
) -> None:
    """Sums of such times and reaches need more than 64 bits, or are judged as if they did."""
    pytest.importorskip("oop.kernels.native.joins")
    fitting = [[(word % 2, abs(time) if one_sided else time) for word, time in rows] for rows, *_ in steps]
    narrow = [(rows, *rest) for rows, (_, *rest) in zip(fitting, steps, strict=True)]
    _check_table(np.int64, narrow, probing, reach, "native")
    _check_table(np.int64, narrow, [(word % 2, abs(time)) for word, time in probing], reach, "native")


def test_a_table_that_grows_keeps_the_order_of_its_chains() -> None:
    native_joins = pytest.importorskip("oop.kernels.native.joins")
    random = np.random.default_rng(3)
    tables, reach, at = [k.JoinTable(np.int64), native_joins.JoinTable(np.int64)], Reach(-(10**9), 10**9), 0
    for length in (1, 5, 40, 300, 4_000, 9_000):
        words, times = random.integers(0, 1 + length // 8, length).astype(np.uint64), random.integers(0, 99, length)
        for table in tables:
            table.insert(np.arange(at, at + length), words, times)
        at += length
        wanted, found = (table.probe(words, times, reach) for table in tables)
        assert all(np.array_equal(a, b) for a, b in zip(wanted, found, strict=True))


@pytest.mark.parametrize("step", [2**20, 2**29, 2**40])
def test_times_that_go_on_move_the_base_of_narrow_rows(step: int) -> None:
    """Rows become wide only if those that are held at a time are too far apart."""
    native_joins = pytest.importorskip("oop.kernels.native.joins")
    tables, reach, length = [k.JoinTable(np.int64), native_joins.JoinTable(np.int64)], Reach(-step, step), 500
    for turn in range(40):
        places, words = np.arange(length) + turn % 3 * length, np.arange(length, dtype=np.uint64)
        times = turn * step + np.arange(length)
        answers = []
        for table in tables:
            if turn >= 3:
                table.remove(places)
            table.insert(places, words, times)
            answers.append([*table.probe(words, times, reach), *table.read(places)])
        assert all(np.array_equal(a, b) for a, b in zip(*answers, strict=True))
    assert (tables[1].nbytes < 24 * 3 * length) == (step < 2**40)


@quick
@given(st.lists(st.integers(0, 5), max_size=15), st.lists(st.integers(0, 6), max_size=15), st.integers(1, 20))
def test_pages_hold_what_fits_and_lose_nothing(held: list[int], probing: list[int], most: int) -> None:
    table, reach = k.JoinTable(np.int64), Reach(-math.inf, math.inf)
    table.insert(np.arange(len(held)), *_columns([(word, 0) for word in held], np.int64))
    words, times = _columns([(word, 0) for word in probing], np.int64)
    whole, pages, done = table.probe(words, times, reach), list[Any](), 0
    counts = [held.count(word) for word in probing]
    while done < len(probing):
        pages.append(table.probe(words, times, reach, done, most))
        first, done = done, pages[-1][2]
        assert len(pages[-1][0]) == sum(counts[first:done])
        assert done == first + 1 or sum(counts[first:done]) <= most
        assert done == len(probing) or sum(counts[first : done + 1]) > most
    for one in (0, 1):
        assert [x for page in pages for x in page[one].tolist()] == whole[one].tolist()


def test_an_insert_that_fails_leaves_nothing() -> None:
    table, one, words = k.JoinTable(np.int64), np.array([1]), np.ones(2, np.uint64)
    table.insert(one, words[:1], one)
    with pytest.raises(KernelError, match="where there is none"):
        table.insert(np.array([0, 1]), words, np.array([5, 6]))
    assert len(table) == 1
    with pytest.raises(KernelError, match="no row"):
        table.read(np.array([0]))


def test_bytes_grow_with_rows() -> None:
    table = k.JoinTable(np.int64)
    empty = table.nbytes
    table.insert(np.arange(1000), np.arange(1000).astype(np.uint64), np.arange(1000))
    assert table.nbytes >= empty + 16 * 1000


def test_neighbouring_words_are_scattered_whatever_the_secrets(monkeypatch: pytest.MonkeyPatch) -> None:
    """With one product alone some factors bring numbers that follow each other to few places."""
    native_joins = pytest.importorskip("oop.kernels.native.joins")
    rows, heads = 100_000, 2**17
    expected = heads * (1 - math.exp(-rows / heads))
    random = np.random.default_rng(1)
    for _ in range(40):
        for name in ("_SEED", "_FACTOR"):
            monkeypatch.setattr(native_joins, name, int(random.integers(2**63)) * 2 + 1)
        table = native_joins.JoinTable(np.int64)
        table.insert(np.arange(rows), np.arange(rows, dtype=np.uint64), np.arange(rows))
        assert len(table._heads) == heads
        assert abs(np.count_nonzero(table._heads) - expected) < 0.02 * heads
