"""Cases of the table with the rows that one side of a join holds."""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import numpy as np

from oop.kernels.dispatch import Kernels
from oop.kernels.signatures.joins import Reach
from tests.kernels.cases.inputs import LARGE, LEAST, MOST, Case, hostile_keys, new_rng


def run_join_table(kernels: Kernels, kernel: str, dtype: Any, steps: list[tuple[Any, ...]]) -> Any:
    """Run steps, each of which is a method and its arguments. "pages" probes repeatedly, each time from where the last
    probe ended, until all rows are probed."""
    table = kernels.JoinTable(dtype)
    found: list[Any] = [len(table)]
    for method, *args in steps:
        result = _probe_pages(table, *args) if method == "pages" else getattr(table, method)(*args)
        found.append((result, len(table)))
    return found


def _probe_pages(table: Any, words: Any, times: Any, reach: Reach, most: int) -> list[Any]:
    pages, done = [], 0
    while done < len(words):
        pages.append(table.probe(words, times, reach, done, most))
        assert pages[-1][2] > done
        done = pages[-1][2]
    return pages


REACHES = [
    Reach(-3, 3),
    Reach(-3, 3, low_open=True),
    Reach(-3, 3, high_open=True),
    Reach(-3, 3, low_open=True, high_open=True),
    Reach(0, 0),
    Reach(0, 0, low_open=True),
    Reach(5, -5),
    Reach(2, 9),
    Reach(-math.inf, math.inf),
    Reach(-math.inf, math.inf, low_open=True, high_open=True),
    Reach(-math.inf, -1),
    Reach(0, math.inf, low_open=True),
    Reach(LEAST + 1, MOST - 1),
    Reach(LEAST + 1, MOST - 1, low_open=True, high_open=True),
    Reach(MOST - 1, MOST - 1),
    Reach(MOST - 1, math.inf, low_open=True),
    Reach(LEAST + 1, LEAST + 1),
    Reach(-math.inf, LEAST + 1, high_open=True),
    Reach(-(2**62), 2**62),
]


FLOAT_REACHES = [
    *REACHES,
    Reach(-0.5, 0.25),
    Reach(-0.5, 0.25, low_open=True, high_open=True),
    Reach(-0.0, 5e-324),
    Reach(0.0, 5e-324, low_open=True),
    Reach(-5e-324, -0.0, high_open=True),
    Reach(1e308, math.inf),
    Reach(1.7976931348623157e308, math.inf, low_open=True),
    Reach(10**300, 10**301),
]


def _join_rows() -> dict[str, tuple[Any, Any]]:
    """Words and times of the rows of a join."""
    rng = new_rng()
    few = rng.integers(0, 40, 600).astype(np.uint64)
    limits = np.array([LEAST, LEAST + 1, LEAST + 2, -(2**62), -1, 0, 1, 2**62, MOST - 2, MOST - 1, MOST])
    odd = np.array([math.nan, math.inf, -math.inf, 0.0, -0.0, 5e-324, -5e-324, 1e308, -1e308, 0.5, 1.0])
    hostile = hostile_keys().view(np.uint64)
    return {
        "empty": (few[:0], np.zeros(0, np.int64)),
        "one": (few[:1], np.array([5])),
        "equal": (np.full(150, 9, np.uint64), rng.integers(-9, 9, 150)),
        "distinct": (rng.permutation(1000).astype(np.uint64), rng.integers(-9, 9, 1000)),
        "few": (few, rng.integers(-20, 20, 600)),
        "limits": (np.zeros(11, np.uint64), limits),
        "word_limits": (np.array([0, 2**64 - 1, 2**63, 1] * 5, np.uint64), np.arange(20)),
        "hostile": (hostile, np.arange(3000) % 7),
        "low_bits_equal": (np.arange(3000).astype(np.uint64) << np.uint64(50), np.arange(3000) % 7),
        "float_empty": (few[:0], np.zeros(0)),
        "float_one": (few[:1], np.array([11.5])),
        "float_few": (few, rng.integers(-80, 80, 600) * 0.25),
        "float_odd": (np.zeros(11, np.uint64), odd),
    }


def cases() -> Iterator[Case]:
    for label, (words, times) in _join_rows().items():
        places = new_rng().permutation(len(words))
        put = ("insert", places, words, times)
        around = np.roll(times, 1)
        reaches = FLOAT_REACHES if times.dtype == np.float64 else REACHES
        steps = [("probe", words, around, Reach(-1, 1)), put, ("read", places[::-1])]
        steps += [("probe", words, other, reach) for other in (times, around) for reach in reaches]
        yield _join_case(label, steps, times.dtype)
        half = len(words) // 2
        for most in (1, 5, 2**62):
            ends = [("probe", words, times, Reach(-9, 9), start, most) for start in (half, len(words))]
            pages = ("pages", words[:200], around[:200], Reach(-9, 9), most)
            yield _join_case(f"{label}-most_{most}", [put, pages, *ends], times.dtype)
    crowd = [("insert", np.arange(LARGE), np.ones(LARGE, np.uint64), np.arange(LARGE))]
    crowd += [("pages", np.ones(3, np.uint64), np.arange(3), Reach(0, math.inf), most) for most in (5, 2**62)]
    yield _join_case("crowd", crowd)
    for dtype in (np.int64, np.float64):
        yield _join_case(f"large-{np.dtype(dtype)}", _large_join(dtype), dtype)
    yield from _join_order_cases()
    yield from _wrong_join_cases()


def _join_case(label: str, steps: list[tuple[Any, ...]], dtype: Any = np.int64) -> Case:
    return Case("JoinTable", label, lambda: (dtype, steps))


def _large_join(dtype: Any) -> list[tuple[Any, ...]]:
    """Steps that insert rows while the table grows, remove some of them, and put others into their places."""
    rng = new_rng()
    parts = list(pairwise((0, 7, 900, 1000, 20_000, LARGE)))
    places = np.concatenate([first + rng.permutation(last - first) for first, last in parts])
    words = rng.integers(0, 700, LARGE).astype(np.uint64)
    times = rng.integers(-(10**6), 10**6, LARGE).astype(dtype)
    probe = ("probe", words[:700], times[:700], Reach(-20_000, 30_000))
    steps: list[tuple[Any, ...]] = []
    for first, last in parts:
        steps += [("insert", places[first:last], words[first:last], times[first:last]), probe]
    gone = rng.permutation(places)[: LARGE // 3]
    back = rng.permutation(gone)[: LARGE // 6]
    again = ("insert", back, words[: len(back)][::-1], times[: len(back)])
    steps += [("remove", gone), probe, again, probe, ("read", back), ("pages", *probe[1:], 1000)]
    held = np.concatenate([np.setdiff1d(places, gone), back])
    return [*steps, ("remove", held), probe, ("insert", held, words[: len(held)], times[: len(held)]), probe]


def _join_order_cases() -> Iterator[Case]:
    """Cases in which the row that came last must be met first, whatever was removed in between."""
    five, words, times = np.arange(5), np.full(5, 7, np.uint64), np.arange(5) * 10
    look = ("probe", words[:1], times[:1], Reach(-math.inf, math.inf))
    chain = [("insert", five, words, times), look]
    for place in ([2], [4], [0], [1, 3]):
        chain += [("remove", np.array(place)), look]
    for place in ([3], [0, 4], [2, 1]):
        chain += [("insert", np.array(place), words[: len(place)], times[: len(place)]), look]
    yield _join_case("chain", chain)
    after_gap = ("insert", np.array([5000]), words[:1], times[:1])
    yield _join_case("gap", [after_gap, look, ("insert", five, words, times), look, ("remove", np.array([5000])), look])
    none = ("insert", five[:0], words[:0], times[:0])
    nothing = [none, ("remove", five[:0]), ("read", five[:0]), ("probe", words[:0], times[:0], Reach(0, 0))]
    yield _join_case("nothing", [*nothing, look])
    strided = np.arange(60)[::3], np.arange(40).astype(np.uint64)[::2], np.arange(20)[::-1]
    for array in strided:
        array.flags.writeable = False
    yield _join_case(
        "strided",
        [
            ("insert", *strided),
            ("probe", *strided[1:], Reach(-2, 2)),
            ("read", strided[0]),
            ("remove", strided[0][::2]),
        ],
    )


def _wrong_join_cases() -> Iterator[Case]:
    one, word, two, words = np.array([3]), np.ones(1, np.uint64), np.array([1, 2]), np.ones(2, np.uint64)
    put, near = ("insert", one, word, one), Reach(-1, 1)
    wrong: dict[str, tuple[Any, ...]] = {
        "taken": put,
        "taken_last": ("insert", np.array([1, 3]), words, two),
        "insert_twice": ("insert", np.array([1, 1]), words, two),
        "insert_negative": ("insert", -one, word, one),
        "insert_too_large": ("insert", np.array([2**32 - 2]), word, one),
        "insert_far_too_large": ("insert", np.array([MOST]), word, one),
        "insert_places_int32": ("insert", one.astype(np.int32), word, one),
        "insert_words_int64": ("insert", two, two, two),
        "insert_times_float": ("insert", one, word, one * 0.5),
        "insert_times_int32": ("insert", one, word, one.astype(np.int32)),
        "insert_short_places": ("insert", one, words, two),
        "insert_short_words": ("insert", two, word, two),
        "insert_grid": ("insert", two.reshape(1, 2), words, two),
        "remove_empty": ("remove", two),
        "remove_far": ("remove", np.array([3, 1000])),
        "remove_twice": ("remove", np.array([3, 3])),
        "remove_negative": ("remove", -one),
        "remove_too_large": ("remove", np.array([3, 2**40])),
        "remove_uint64": ("remove", word),
        "read_empty": ("read", np.array([3, 2])),
        "read_far": ("read", np.array([3, 1000])),
        "read_negative": ("read", np.array([LEAST])),
        "read_too_large": ("read", np.array([2**32 - 2])),
        "read_float": ("read", one * 1.0),
        "probe_words_int64": ("probe", two, two, near),
        "probe_times_float": ("probe", words, two * 0.5, near),
        "probe_short_words": ("probe", word, two, near),
        "start_negative": ("probe", words, two, near, -1),
        "start_beyond": ("probe", words, two, near, 3),
        "most_zero": ("probe", words, two, near, 0, 0),
        "most_negative": ("probe", words, two, near, 0, -5),
        "reach_nan": ("probe", words, two, Reach(math.nan, 1)),
        "reach_half": ("probe", words, two, Reach(-1, 1.5)),
        "reach_real": ("probe", words, two, Reach(-1.0, 1)),
        "reach_least": ("probe", words, two, Reach(LEAST, 1)),
        "reach_most": ("probe", words, two, Reach(-1, MOST)),
        "reach_beyond": ("probe", words, two, Reach(-1, 2**70)),
        "reach_from_infinity": ("probe", words, two, Reach(math.inf, math.inf)),
        "reach_to_minus_infinity": ("probe", words, two, Reach(-math.inf, -math.inf)),
    }
    for label, step in wrong.items():
        yield _join_case(f"wrong-{label}", [put, step])
    yield _join_case("wrong-remove_again", [put, ("remove", one), ("remove", one)])
    yield _join_case("wrong-read_removed", [put, ("remove", one), ("read", one)])
    yield _join_case("wrong-remove_of_none", [("remove", one)])
    for high in (math.nan, -math.inf):
        yield _join_case(f"wrong-float_{high}", [("probe", words, two * 0.5, Reach(-1.5, high))], np.float64)
    yield _join_case("wrong-float_times", [put], np.float64)
    for dtype in (np.int32, np.uint64, np.float32):
        yield _join_case(f"wrong-table_{np.dtype(dtype)}", [], dtype)


RUNNERS = {"JoinTable": run_join_table}
