"""One table of cases that every implementation of every kernel must agree on with `reference`.

A case names a kernel and makes its arguments afresh. What a kernel returns, what it leaves in its arguments
and what it raises are the result.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
from hypothesis import settings

from oop.errors import OopError
from oop.kernels.dispatch import Kernels
from oop.kernels.reference import Reach
from oop.kernels.reference_sessions import OPEN, session_dtype
from oop.kernels.slot_table import Discipline
from oop.kernels.views import Column, column, key_column

LEAST, MOST = -(2**63), 2**63 - 1
LARGE = 50_000

# No deadline: a busy machine is not a failure.
quick = settings(deadline=None, max_examples=80)


@dataclass(frozen=True)
class Case:
    kernel: str
    label: str
    make: Callable[[], tuple[Any, ...]]

    @property
    def id(self) -> str:
        return f"{self.kernel}-{self.label}"


def run_case(kernels: Kernels, case: Case) -> Any:
    """The result of a case: arrays, tuples, lists and plain values only, so that it can cross processes."""
    args = case.make()
    try:
        if case.kernel == "GroupTable":
            return _run_group_table(kernels, *args)
        if case.kernel == "JoinTable":
            return _run_join_table(kernels, *args)
        if case.kernel == "FlushTable":
            return _run_flush_table(kernels, *args)
        if case.kernel in ("SortBuffers", "RowBounds"):
            return _run_buffers(getattr(kernels, case.kernel), *args)
        if case.kernel == "extend_sessions" and isinstance(args[0], list):
            return _run_sessions(kernels, *args)
        return getattr(kernels, case.kernel)(*args), args
    except OopError as error:
        return type(error).__name__, str(error)


def _run_group_table(kernels: Kernels, kinds: list[str], batches: list[tuple[Any, ...]]) -> Any:
    table = kernels.GroupTable(kinds)
    ids = [table.map(*batch) for batch in batches]
    return ids, len(table), [(c.kind, c.data, c.offsets, c.valid) for c in table.columns()]


def _run_join_table(kernels: Kernels, dtype: Any, steps: list[tuple[Any, ...]]) -> Any:
    """Each step is a method and its arguments; "pages" is a probe from where the one before it ended, to the end."""
    table = kernels.JoinTable(dtype)
    found: list[Any] = [len(table)]
    for method, *args in steps:
        result = _probe_pages(table, *args) if method == "pages" else getattr(table, method)(*args)
        found.append((result, len(table)))
    return found


def _run_flush_table(kernels: Kernels, made: tuple[Any, ...], steps: list[tuple[Any, ...]]) -> Any:
    """Each step is a method and its arguments. "refused" is one that must fail, and leave the table as it was;
    "free" without places gives back all that have left, and "move" goes on in another table."""
    table = kernels.FlushTable(*made)
    found: list[Any] = []
    gone: list[Any] = []
    for method, *args in steps:
        result: Any = None
        if method == "refused":
            result = _refuse(table, *args)
        elif method == "move":
            table, result = _move_flush_table(kernels, table, made)
        elif method == "free" and not args:
            table.free(np.concatenate([np.zeros(0, np.int64), *gone]))
            gone = []
        elif method == "state":
            table.state = args[0]
        else:
            result = getattr(table, method)(*args)
            if method in ("push", "flush"):
                gone.append(result[1] if method == "push" else result)
                found.append((table.words(gone[-1]), table.wids(gone[-1])))
        slots, places = table.held()
        found.append((result, len(table), table.state, table.collided, table.installed, slots, places))
    return found


def _refuse(table: Any, method: str, *args: Any) -> str:
    try:
        if method == "state":
            table.state = args[0]
        else:
            getattr(table, method)(*args)
    except OopError as error:
        return str(error)
    raise AssertionError(f"{method} was not refused")


def _move_flush_table(kernels: Kernels, table: Any, made: tuple[Any, ...]) -> Any:
    slots, places = table.held()
    other = kernels.FlushTable(*made)
    restored = other.restore(slots, table.words(places), table.wids(places))
    other.state = table.state
    return other, restored


def _run_buffers(made: Any, slack: Any, dtype: Any, steps: list[Any]) -> Any:
    """A step is a pair of ids and values to push, a method, or groups whose bounds are asked for."""
    buffers = made(slack, dtype)
    found: list[Any] = []
    for step in steps:
        if isinstance(step, np.ndarray):
            found.append(buffers.bounds(step))
        else:
            found.append(getattr(buffers, step)() if isinstance(step, str) else buffers.push(*step))
        if hasattr(buffers, "places"):
            found.append((len(buffers), buffers.places))
    return found


def _run_sessions(kernels: Kernels, batches: list[tuple[Any, ...]], gap: Any, dtype: Any, keys: int) -> Any:
    """Batches of keys and times, and behind each the bound below which what is open is dropped."""
    room = 2 + sum(len(times) for _, times, _ in batches)
    heads, sessions = np.zeros(keys, np.uint32), np.zeros(room, session_dtype(dtype))
    free = np.arange(room - 1, 0, -1).astype(np.uint32)
    found: list[Any] = []
    for ids, times, bound in batches:
        extended = kernels.extend_sessions(ids, times, gap, heads, sessions, free)
        found.append(tuple(extended[:5]))  # how many were looked at in vain may differ
        gone = np.flatnonzero((sessions["state"] & OPEN > 0) & (sessions["end"] < bound))
        kernels.drop_sessions(gone, heads, sessions)
        sessions["state"][extended.absorbed] = 0
        again = np.concatenate((gone, extended.absorbed)).astype(np.uint32)
        free = np.concatenate((free[: len(free) - len(extended.made)], again))
        open_ = sessions[sessions["state"] > 0]
        found.append([open_[name] for name in sessions.dtype.names or ()])
    return found, heads


def _probe_pages(table: Any, words: Any, times: Any, reach: Reach, most: int) -> list[Any]:
    pages, done = [], 0
    while done < len(words):
        pages.append(table.probe(words, times, reach, done, most))
        assert pages[-1][2] > done
        done = pages[-1][2]
    return pages


def assert_same(found: Any, wanted: Any) -> None:
    """Equal in type, shape and value; NaN equals NaN, and floats may differ in the last digits."""
    if isinstance(wanted, Column):
        found, wanted = ((c.kind, c.data, c.offsets, c.valid) if isinstance(c, Column) else c for c in (found, wanted))
    if isinstance(wanted, np.ndarray):
        assert isinstance(found, np.ndarray)
        assert found.dtype == wanted.dtype
        if wanted.dtype == np.float64:
            np.testing.assert_allclose(found, wanted, rtol=1e-12, atol=1e-300)
        else:
            np.testing.assert_array_equal(found, wanted)
    elif isinstance(wanted, (tuple, list)):
        assert type(found) is type(wanted)
        assert len(found) == len(wanted)
        for one, other in zip(found, wanted, strict=True):
            assert_same(one, other)
    else:
        assert type(found) is type(wanted)
        assert found == wanted or (found != found and wanted != wanted)


def all_cases() -> list[Case]:
    cases = [
        *_window_cases(),
        *_repeat_cases(),
        *_late_cases(),
        *_group_cases(),
        *_word_cases(),
        *_flush_cases(),
        *_join_cases(),
        *_session_cases(),
        *_buffer_cases(),
        *_run_cases(),
        *_aggregate_cases(),
        *_summary_cases(),
        *_first_cases(),
        *_object_cases(),
    ]
    ids = [case.id for case in cases]
    assert len(set(ids)) == len(ids)
    return cases


def _rng() -> np.random.Generator:
    return np.random.default_rng(7)


def _times() -> dict[str, np.ndarray[Any, Any]]:
    """Times of each type and shape that kernels meet."""
    rng = _rng()
    return {
        "empty": np.zeros(0, np.int64),
        "one": np.array([5]),
        "equal": np.full(100, 12),
        "distinct": rng.permutation(1000) - 500,
        "negative": np.arange(-40, 40),
        "large": rng.integers(-(10**15), 10**15, LARGE),
        "strided": np.arange(60)[::3],
        "float_empty": np.zeros(0),
        "float_one": np.array([11.5]),
        "float_equal": np.full(100, 0.3),
        "float_edges": np.arange(-60, 60) * 0.1,
        "float_large": rng.normal(0, 1e6, LARGE),
        "float_zero": np.array([0.0, -0.0, 5e-324, -5e-324]),
    }


WINDOWS: list[tuple[Any, Any, Any]] = [
    (10, 10, 0),
    (10, 3, 0),
    (3, 10, 1),
    (60, 20, -7),
    (1, 1, 0),
    (7, 2, 10**9),
]
FLOAT_WINDOWS: list[tuple[Any, Any, Any]] = [
    (10.0, 3.0, 0.0),
    (3.5, 2.5, 1.5),
    (0.3, 0.1, 0.05),
    (0.1, 0.7, -3.3),
]


def _window_cases() -> Iterator[Case]:
    for label, times in _times().items():
        for window in FLOAT_WINDOWS if times.dtype == np.float64 else WINDOWS:
            name = f"{label}-{'_'.join(map(str, window))}"
            yield Case("wid_ranges", name, lambda times=times, window=window: (times, *window))
    odd: dict[str, tuple[Any, ...]] = {
        "too_low": (np.array([0, LEAST + 12, LEAST]), 10, 3, 0),
        "too_high": (np.array([MOST - 13, MOST - 12]), 10, 3, 0),
        "just_inside": (np.array([LEAST + 18, MOST - 18]), 10, 3, -5),
        "huge_window": (np.array([0]), 2**62, 2**62, 1),
        "widest": (np.array([0, 1, -1]), 2**61, 2**61, -(2**61)),
        "nan": (np.array([0.0, np.nan]), 1.0, 1.0, 0.0),
        "infinite": (np.array([np.inf]), 1.0, 1.0, 0.0),
        "too_far": (np.array([1e300]), 1.0, 1.0, 0.0),
        "too_fine": (np.array([1.0]), 1.0, 1e-300, 0.0),
        "zero_slide": (np.array([1]), 1, 0, 0),
        "float_slide": (np.array([1]), 1, 0.5, 0),
        "wrong_dtype": (np.array([1], np.int32), 1, 1, 0),
        "two_dimensions": (np.zeros((2, 2)), 1, 1, 0),
        "int_window_float_times": (np.array([11.5]), 10, 3, 0),
    }
    for label, args in odd.items():
        yield Case("wid_ranges", label, lambda args=args: args)
    for label, bound in (
        ("int", 3),
        ("beyond", 2**70),
        ("below", -(2**70)),
        ("half", 2.5),
        ("nan", float("nan")),
    ):
        for kernel in ("select_below", "select_not_below"):
            yield Case(kernel, label, lambda bound=bound: (np.array([5, 1, 3, 2, LEAST, MOST]), bound))

    slots = _rng().integers(-3, 4, 500)
    spread = {
        "empty": (slots[:0], 0),
        "one": (slots[:1], 0),
        "equal": (np.full(50, -9), 2),
        "few": (slots, 0),
        "shifted": (slots * 5, 2),
        "one_slice": (np.arange(8, 16), 3),
        "distinct": (_rng().permutation(LARGE) - 77, 0),
        "far_apart": (np.array([LEAST, 0, MOST, 0, LEAST]), 0),
        "widest": (np.array([LEAST, 0, MOST, -1]), 63),
        "strided": (np.arange(60)[::3], 1),
        "wrong_dtype": (slots.astype(np.int32), 0),
        "wrong_shift": (slots, 64),
    }
    for label, args in spread.items():
        yield Case("order_slots", label, lambda args=args: args)


def _repeat_cases() -> Iterator[Case]:
    ids = np.array([0, 1, 0, 3, 2, 3, 4, 5, 5])
    given: dict[str, tuple[Any, ...]] = {
        "none_known": (ids, 0),
        "some_known": (ids, 3),
        "all_known": (ids, 6),
        "empty": (ids[:0], 2),
        "strided": (ids[::2], 1),
        "random": (np.minimum(_rng().integers(0, 900, LARGE), np.arange(LARGE)), 100),
        "wrong_dtype": (ids.astype(np.int32), 0),
        "negative": (ids, -1),
    }
    for label, args in given.items():
        yield Case("select_new", label, lambda args=args: args)
    numbers = np.sort(_rng().integers(0, 40, 900))
    times = np.concatenate([np.sort(_rng().integers(-500, 500, int(n))) for n in np.bincount(numbers)])
    spans: dict[str, tuple[Any, ...]] = {
        "ints": (numbers, times, 9),
        "points": (numbers, times, 0),
        "floats": (numbers, times * 0.1, 0.3),
        "limits": (np.zeros(4, np.int64), np.array([LEAST, -1, 0, MOST]), MOST),
        "infinite": (np.zeros(3, np.int64), np.array([-np.inf, 0.0, np.inf]), 5.0),
        "one": (np.zeros(1, np.int64), np.array([LEAST]), 3),
        "empty": (numbers[:0], times[:0], 3),
        "strided": (numbers[::3], times[::3], 7),
        "negative_span": (numbers, times, -1),
        "wide_span": (numbers, times, 2**63),
        "float_span": (numbers, times, 0.5),
        "lengths": (numbers[:-1], times, 1),
    }
    for label, args in spans.items():
        yield Case("begin_spans", label, lambda args=args: args)


def _late_cases() -> Iterator[Case]:
    odd = {
        "float_nan": np.array([np.nan, 3.0, np.nan, 1.0, np.inf, 2.0]),
        "float_all_nan": np.full(3, np.nan),
        "float_infinite": np.array([-np.inf, 1.0]),
        "limits": np.array([LEAST, MOST, LEAST + 1, 0]),
    }
    for label, times in (_times() | odd).items():
        floats = times.dtype == np.float64
        for greatest in (None, 7.5 if floats else 7, -2.0 if floats else LEAST):
            for slack in (0.0, 0.25) if floats else (0, 5, MOST, 2**63 + 9, 2**65):
                name = f"{label}-{greatest}-{slack}"
                args = (times, greatest, slack)
                yield Case("prefix_bounds", name, lambda args=args: args)
                yield Case("scan_times", name, lambda args=args: args)
        for n in (0, 3, 2000):
            held = np.sort(times[: min(n + 1, 2)][~np.isnan(times[: min(n + 1, 2)])])
            args_rows = (times, held, n)
            yield Case("prefix_bounds_rows", f"{label}-{n}", lambda args=args_rows: args)
        codes = _rng().integers(0, 4, len(times))

        def by(times: Any = times, codes: Any = codes, slack: Any = 1.5 if floats else 3) -> tuple[Any, ...]:
            seen = np.array([True, False, True, False, False])
            return times, codes, np.array([3, 9, -4, 7, 0]).astype(times.dtype), seen, slack

        yield Case("prefix_bounds_by", label, by)
        yield Case("mark_late", f"{label}-rows", lambda times=times: (times, np.roll(times, 1)))
        for bound in (0, 7, 2.5, float("nan"), float("inf"), -float("inf"), 2**70, -(2**70), np.int64(3)):
            yield Case("mark_late", f"{label}-{bound!r}", lambda times=times, bound=bound: (times, bound))
    yield Case("prefix_bounds_rows", "too_many_held", lambda: (np.array([1]), np.arange(3), 1))
    yield Case("prefix_bounds", "negative_slack", lambda: (np.array([1]), None, -1))
    yield Case("prefix_bounds", "float_slack", lambda: (np.array([1]), None, 0.5))
    yield Case(
        "prefix_bounds_by",
        "code_too_large",
        lambda: (np.array([1]), np.array([2]), np.zeros(2, np.int64), np.zeros(2, bool), 0),
    )
    yield Case("mark_late", "short_bounds", lambda: (np.array([1, 2]), np.array([1])))
    yield Case("mark_late", "other_type", lambda: (np.array([1, 2]), np.array([1.0, 2.0])))


def key_columns() -> dict[str, list[Column]]:
    """Key columns of each kind and shape."""
    rng = _rng()
    hot = rng.integers(0, 5, 300)
    words = ["", "a", "ab", "b\0", "b", "é" * 20, None]
    return {
        "int": [column(pa.array(rng.integers(-50, 50, 300)))],
        "int_nulls": [column(pa.array([3, None, 3, None, 0, 1]))],
        "all_null": [column(pa.nulls(4))],
        "limits": [column(pa.array([LEAST, MOST, 0, None, -1, MOST]))],
        "uint": [column(pa.array([2**64 - 1, 0, 2**63, None, 0], pa.uint64()))],
        "float": [column(pa.array([0.0, -0.0, float("nan"), -float("nan"), None, 1e300, float("inf")]))],
        "bytes": [column(pa.array([words[i % 7] for i in range(100)]))],
        "bytes_sliced": [column(pa.array([words[i % 7] for i in range(100)]).slice(13, 40))],
        "decimal": [column(pa.array([1, None, 2, 1], pa.decimal128(5)))],
        "int32_pair": [key_column(pa.array(rng.integers(-40, 40, 2000, np.int32))) for _ in range(2)],
        "int32_pair_nulls": [
            key_column(pa.array([None if r % 5 == i else int(r) - 20 for r in rng.integers(0, 40, 500)], pa.int32()))
            for i in range(2)
        ],
        "int32_pair_many": [key_column(pa.array(rng.integers(0, 200, LARGE, np.int32))) for _ in range(2)],
        "zeros_and_nulls": [key_column(pa.array([0, None, 1, 0, None], pa.int32())) for _ in range(2)],
        "narrow": [
            key_column(pa.array([1, -1, None, 1, -128, 127], pa.int8())),
            key_column(pa.array([1, 65535, 0, 1, 7, 7], pa.uint16())),
            key_column(pa.array([True, False, None, True, True, False])),
            key_column(pa.array([2**32 - 1, 0, 5, 2**32 - 1, 1, 1], pa.uint32())),
        ],
        "five_words": [Column("int", rng.integers(0, 3, 700)) for _ in range(5)],
        "many_columns": [key_column(pa.array([1, None, 2, None, i % 3], pa.int8())) for i in range(40)],
        "low_bits_equal": [Column("int", np.arange(5000) << 44)],
        "high_bits_equal": [Column("uint", np.arange(5000).astype(np.uint64))],
        "hostile": [Column("int", _hostile())],
        "hostile_pair": [Column("int", _hostile()), Column("int", _hostile()[::-1].copy())],
        "long_bytes": [
            column(pa.array(["x" * n + tail for n in (0, 7, 8, 9, 31, 64, 1000) for tail in ("", "a", "b")]))
        ],
        "prefixes": [column(pa.array([("k" * n)[:n] for n in range(200)])), column(pa.array(["k"] * 200))],
        "split_apart": [column(pa.array(["ab", "a", ""])), column(pa.array(["c", "bc", "abc"]))],
        "pair": [column(pa.array(hot)), column(pa.array(rng.integers(0, 70, 300)))],
        "wide_pair": [
            Column("int", rng.integers(LEAST, MOST, 300)),
            Column("int", rng.integers(LEAST, MOST, 300)),
        ],
        "mixed": [
            column(pa.array([words[i] for i in hot])),
            column(pa.array(hot * 0.5)),
            column(pa.array(hot % 2 == 0)),
            column(pa.array(hot, pa.timestamp("us", tz="UTC"))),
        ],
        "equal": [Column("int", np.full(1000, 9))],
        "distinct": [Column("int", rng.permutation(LARGE))],
        "empty": [Column("int", np.zeros(0, np.int64))],
        "empty_bytes": [column(pa.array([], pa.string()))],
        "one": [Column("float", np.array([1.5]))],
        "none": [],
    }


def _hostile() -> np.ndarray[Any, Any]:
    """Keys that the unseeded mixer of `hash_partition` sends to neighbouring places: inverted from their hashes."""
    inverse = {
        0xBF58476D1CE4E5B9: pow(0xBF58476D1CE4E5B9, -1, 2**64),
        0x94D049BB133111EB: pow(0x94D049BB133111EB, -1, 2**64),
    }

    def unshift(word: int, by: int) -> int:
        out = word
        for _ in range(64 // by):
            out = word ^ (out >> by)
        return out

    found = []
    for place in range(3000):
        word = unshift(place, 31) * inverse[0x94D049BB133111EB] % 2**64
        word = unshift(word, 27) * inverse[0xBF58476D1CE4E5B9] % 2**64
        found.append(unshift(word, 30))
    return np.array(found, np.uint64).view(np.int64)


def _group_cases() -> Iterator[Case]:
    for label, columns in key_columns().items():
        length = len(columns[0]) if columns else 5
        kinds = [c.kind for c in columns]
        batches = [(columns, length), (columns, length)]
        yield Case("GroupTable", label, lambda kinds=kinds, batches=batches: (kinds, batches))
        rows = np.random.default_rng(3).integers(0, max(length, 1), length // 2)
        yield Case("GroupTable", f"{label}-rows", lambda a=(kinds, [(columns, length, rows)] * 2): a)
        for shards in (1, 3, 64):
            args = (columns, shards, length)
            yield Case("hash_partition", f"{label}-{shards}", lambda args=args: args)
    zeros, nulls = (
        [key_column(pa.array([z, 1, z], pa.int32())), Column("int32", np.zeros(3, np.int32))] for z in (0, None)
    )
    yield Case("GroupTable", "nulls_later", lambda: (["int32"] * 2, [(zeros, 3), (nulls, 3), (zeros, 3), (nulls, 3)]))
    yield Case("GroupTable", "wrong_kind", lambda: (["float"], [([Column("int", np.array([1]))], 1)]))
    yield Case("GroupTable", "wrong_length", lambda: (["int"], [([Column("int", np.array([1]))], 2)]))
    yield Case("GroupTable", "row_outside", lambda: (["int"], [([Column("int", np.array([1]))], 1, np.array([1]))]))
    crossed = Column("bytes", np.zeros(9, np.uint8), np.array([0, 9, 3, 9]))
    yield Case("GroupTable", "crossed_offsets", lambda: (["bytes"], [([crossed], 3)]))
    yield Case("hash_partition", "crossed_offsets", lambda: ([crossed], 3, 3))
    yield Case("hash_partition", "no_shards", lambda: ([], 0, 1))
    keys = [Column("int", _rng().integers(-9, 9, 900)), column(pa.array([str(i % 7) for i in range(900)]))]
    for shards in (1, 2, 3, 40):
        yield Case("exchange_rows", f"{shards}", lambda n=shards: _exchange(keys, 900, n))
    yield Case("exchange_rows", "empty", lambda: _exchange([Column("int", np.zeros(0, np.int64))], 0, 2))
    yield Case("exchange_rows", "no_room", lambda: _exchange(keys, 900, 2, room=300))
    yield Case("exchange_rows", "no_values", lambda: (keys, [], [], np.zeros(3, np.int64)))
    yield Case(
        "exchange_rows", "missing_out", lambda: (keys, [np.zeros(900)], [[np.zeros(900)]], np.zeros(2, np.int64))
    )
    yield Case("exchange_rows", "wide", lambda: _exchange(keys, 900, 2, dtypes=(np.complex128,)))
    yield Case("exchange_rows", "crossed_offsets", lambda: _exchange([crossed], 3, 3))
    rows = np.array([4, 0, 0, 2])
    for dtype in (np.int8, np.uint16, np.int32, np.float32, np.int64, np.float64, np.uint64, np.bool_):
        yield Case("take_fixed", np.dtype(dtype).name, lambda dtype=dtype: (np.arange(5).astype(dtype), rows))
    yield Case("take_fixed", "empty", lambda: (np.zeros(0), rows[:0]))
    yield Case("take_fixed", "large", lambda: (np.arange(LARGE), np.arange(LARGE)[::-1].copy()))
    yield Case("take_fixed", "strided", lambda: (np.arange(10)[::2], rows))
    yield Case("take_fixed", "outside", lambda: (np.arange(4), rows))
    yield Case("take_fixed", "negative", lambda: (np.arange(5), -rows))
    yield Case("take_fixed", "objects", lambda: (np.array(["a"] * 5, object), rows))
    yield Case("take_fixed", "wide", lambda: (np.zeros(5, np.complex128), rows))


def _word_cases() -> Iterator[Case]:
    for label, columns in key_columns().items():
        length = len(columns[0]) if columns else 5
        name = f"wrong-{label}" if any(c.kind == "bytes" for c in columns) else label
        yield Case("pack_words", f"{name}-nulls", lambda args=(columns, True, length): args)
        if any(c.valid is not None for c in columns):
            name = f"wrong-{label}"
        yield Case("pack_words", name, lambda args=(columns, False, length): args)
    eights = [Column("int8", np.roll(np.arange(-60, 60), i).astype(np.int8)) for i in range(65)]
    words = [Column("int", np.roll(np.arange(LEAST, LEAST + 9), i)) for i in range(64)]
    some = np.arange(9) % 4 > 0
    holes = [Column(c.kind, c.data, None, np.roll(some, i)) for i, c in enumerate(words)]
    large = [Column("int32", _rng().integers(-(2**31), 2**31, LARGE).astype(np.int32)) for _ in range(2)]
    given: dict[str, tuple[Any, ...]] = {
        "large": (large, False),
        "64_narrow": (eights[:64], False),
        "64_narrow-nulls": (eights[:64], True),
        "64_wide": (words, False),
        "64_wide-nulls": (holes, True),
        "strided": ([Column("int32", np.arange(20, dtype=np.int32)[::-2], None, (np.arange(20) % 3 > 0)[::2])], True),
        "no_column-no_row": ([], False, 0),
        "wrong-65": (eights, False),
        "wrong-65_nulls": (eights, True),
        "wrong-lengths": ([words[0], eights[0]], False),
        "wrong-length": (words[:1], False, 8),
        "wrong-no_length": ([], False),
    }
    for label, args in given.items():
        yield Case("pack_words", label, lambda args=args: args)


DISCIPLINES = {
    "in_order": Discipline(in_order=True),
    "in_order-next": Discipline(in_order=True, next_slot=True),
    "in_order-every": Discipline(in_order=True, every=2),
    "lazy": Discipline(),
    "lazy-next": Discipline(next_slot=True),
    "every_1": Discipline(every=1),
    "every_1-next": Discipline(every=1, next_slot=True),
    "every_3": Discipline(every=3),
    "every_3-next": Discipline(every=3, next_slot=True),
}


def _flush_rows(n: int, size: int, width: int, keys: int, in_order: bool, windows: int = 9) -> tuple[Any, ...]:
    """Rows whose key says which slot they are for."""
    rng = _rng()
    codes = rng.integers(0, keys, n)
    words = np.column_stack([(codes >> i) * 0x1E3779B97F4A7C15 for i in range(width)]).view(np.uint64)
    wids = np.sort(rng.integers(-2, windows, n)) if in_order else np.arange(n) * windows // n - rng.integers(0, 3, n)
    return (codes * 7 % size).astype(np.int32), words, wids


def _flush_steps(rows: tuple[Any, ...], lengths: list[int], in_order: bool) -> list[tuple[Any, ...]]:
    """Rows in pieces; in between places are given back, bounds come, old aggregates leave, and the table moves."""
    steps: list[tuple[Any, ...]] = []
    ends = np.cumsum(lengths)
    for number, (end, length) in enumerate(zip(ends.tolist(), lengths, strict=True)):
        steps.append(("push", *(column[end - length : end] for column in rows)))
        last = int(rows[2][max(end - 1, 0)])
        if number % 2:
            steps.append(("free",))
        if number % 3 == 1:
            steps.append(("advance", last - 1))
        if number % 5 == 4:
            steps += [("flush", last - (not in_order), 0, 1), ("flush", last - (not in_order)), ("free",), ("move",)]
    return [*steps, ("free",), ("flush", None), ("free",), ("flush", None)]


def _flush_cases() -> Iterator[Case]:
    pieces = [1, 1, 3, 40, 0, 300, 7, 129, 5, 5, 400, 2, 107]
    for label, discipline in DISCIPLINES.items():
        ordered = discipline.in_order
        for size, width, keys in ((1, 1, 3), (2, 2, 5), (7, 1, 5), (7, 3, 40), (64, 1, 100), (300, 1, 90)):
            rows = _flush_rows(sum(pieces), size, width, keys, ordered)
            steps = _flush_steps(rows, pieces, ordered)
            yield _flush_case(f"{label}-{size}-{width}", steps, (size, width, 700, discipline))
        many = _flush_rows(12_000, 5000, 1, 4000, ordered)
        parts = [4000, 100, 3900, 4000]
        yield _flush_case(f"large-{label}", _flush_steps(many, parts, ordered), (5000, 1, 8000, discipline))
        sparse = _flush_rows(400, 5000, 1, 60, ordered, windows=40)
        yield _flush_case(f"sparse-{label}", _flush_steps(sparse, [20] * 20, ordered), (5000, 1, 100, discipline))
        most = _flush_rows(700, 7, 1, 9, ordered)
        for given in most:
            given.flags.writeable = False
        thirds = [given[::3] for given in most]
        limits = (np.zeros(4, np.int32), np.zeros((4, 1), np.uint64), np.array([LEAST, LEAST, MOST - 1, MOST]))
        steps = [("push", *thirds), ("free",), ("flush", None), ("free",), ("move",), ("advance", LEAST)]
        steps += [("advance", 5), ("advance", 4), ("move",), ("advance", MOST), ("flush", LEAST), ("flush", MOST)]
        yield _flush_case(f"strided-{label}", steps, (7, 1, 250, discipline))
        ends = [("push", *limits), ("free",), ("flush", MOST), ("free",), ("flush", None)]
        yield _flush_case(f"limits-{label}", ends, (3, 1, 4, discipline))
    # Keys of two words whose tags are the same: their words still tell them apart.
    firsts = np.arange(50, dtype=np.uint64)
    twins = np.column_stack((firsts, _mix(firsts)))
    alike = (np.zeros(50, np.int32), twins, np.zeros(50, np.int64))
    yield _flush_case("alike", [("push", *alike), ("push", *alike)], (1, 2, 100, Discipline()))
    yield from _wrong_flush_cases()


def _mix(words: Any) -> Any:
    """The finaliser of splitmix64."""
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        words = (words ^ (words >> np.uint64(shift))) * np.uint64(factor)
    return words ^ (words >> np.uint64(31))


def _flush_case(label: str, steps: list[tuple[Any, ...]], made: tuple[Any, ...]) -> Case:
    return Case("FlushTable", label, lambda: (made, steps))


def _wrong_flush_cases() -> Iterator[Case]:
    """What is refused leaves the table as it was; the rows behind it are taken."""
    slots, words, wids = np.array([0, 1, 0], np.int32), np.array([[1], [2], [3]], np.uint64), np.array([4, 4, 5])
    push, two = ("push", slots, words, wids), np.array([0, 1], np.int32)
    wrong: dict[str, tuple[Any, ...]] = {
        "slot_outside": ("push", slots + np.int32(2), words, wids),
        "slot_negative": ("push", -slots, words, wids),
        "slots_int64": ("push", slots.astype(np.int64), words, wids),
        "slots_list": ("push", [0, 1, 0], words, wids),
        "slots_grid": ("push", slots.reshape(1, 3), words, wids),
        "words_int64": ("push", slots, words.astype(np.int64), wids),
        "words_flat": ("push", slots, words[:, 0], wids),
        "words_wide": ("push", slots, np.zeros((3, 2), np.uint64), wids),
        "words_short": ("push", slots, words[:2], wids),
        "words_list": ("push", slots, [[1], [2], [3]], wids),
        "wids_short": ("push", slots, words, wids[:2]),
        "wids_float": ("push", slots, words, wids * 1.0),
        "too_many": ("push", np.zeros(5, np.int32), np.zeros((5, 1), np.uint64), np.full(5, 9)),
        "restore_taken": ("restore", two[:1] + np.int32(1), words[:1], wids[:1]),
        "restore_nothing": ("restore", two[:0], words[:0], wids[:0]),
        "free_outside": ("free", np.array([6])),
        "free_negative": ("free", np.array([-1])),
        "free_int32": ("free", two),
        "free_too_many": ("free", np.array([0, 1, 2, 0])),
        "state_short": ("state", (0, 0, 0)),
        "state_hand": ("state", (0, 0, 2, 1, 0, 0)),
        "state_hand_negative": ("state", (0, 0, -1, 1, 0, 0)),
        "state_to_visit": ("state", (0, 0, 0, 3, 0, 0)),
        "state_to_visit_negative": ("state", (0, 0, 0, -1, 0, 0)),
        "state_beyond": ("state", (2**63, 0, 0, 0, 0, 0)),
        "state_since": ("state", (0, 0, 0, 0, -1, 0)),
        "advance_beyond": ("advance", 2**63),
        "flush_beyond": ("flush", LEAST - 1),
        "flush_no_slots": ("flush", None, 1, 0),
        "flush_other_slots": ("flush", None, 0, 10**6),
    }
    for label, step in wrong.items():
        steps = [push, ("refused", *step), ("free",), push, ("flush", None)]
        yield _flush_case(f"refused-{label}", steps, (2, 1, 4, Discipline()))
    ordered = Discipline(in_order=True)
    back = (("push", slots, words, wids[::-1]), ("push", slots, words, wids - 1))
    later, again = (("push", slots, words, wids + more) for more in (9, 10))
    full = ("refused", "push", *(np.concatenate((given, given[-1:])) for given in (slots, words, wids + 9)))
    for number, step in enumerate(back):
        yield _flush_case(f"refused-back_{number}", [push, ("refused", *step), ("free",), later], (2, 1, 4, ordered))
    # The hand goes up to the last slot once. Out of order there is none, and what is said of it does not matter.
    uneven = ("state", (0, 0, 1, 2, 0, 0))
    yield _flush_case("refused-uneven", [("refused", *uneven), push], (2, 1, 4, ordered))
    yield _flush_case("uneven", [push, uneven, ("free",), later], (2, 1, 4, Discipline(every=1)))
    for label in ("in_order", "lazy"):
        steps = [push, full, ("free",), later, full, ("flush", None), full, ("free",), again]
        yield _flush_case(f"refused-not_given_back-{label}", steps, (2, 1, 4, DISCIPLINES[label]))
    restores: dict[str, tuple[Any, ...]] = {
        "twice": (np.zeros(2, np.int32), words[:2], wids[:2]),
        "outside": (two + np.int32(1), words[:2], wids[:2]),
        "negative": (-two, words[:2], wids[:2]),
        "short": (two, words[:1], wids[:2]),
        "int64": (two.astype(np.int64), words[:2], wids[:2]),
        "list": ([0, 1], words[:2], wids[:2]),
    }
    for label, given in restores.items():
        yield _flush_case(f"refused-restore_{label}", [("refused", "restore", *given), push], (2, 1, 4, Discipline()))
    tables = {"no_slots": (0, 1, 4), "slots": (2**31, 1, 4), "room": (2, 1, 0), "places": (2**30, 1, 2**30)}
    tables |= {"no_words": (2, 0, 4), "words": (2, 66, 4)}
    for label, made in tables.items():
        yield _flush_case(f"wrong-{label}", [], made)
    yield _flush_case("wrong-every", [], (2, 1, 4, Discipline(every=-1)))


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
    rng = _rng()
    few = rng.integers(0, 40, 600).astype(np.uint64)
    limits = np.array([LEAST, LEAST + 1, LEAST + 2, -(2**62), -1, 0, 1, 2**62, MOST - 2, MOST - 1, MOST])
    odd = np.array([math.nan, math.inf, -math.inf, 0.0, -0.0, 5e-324, -5e-324, 1e308, -1e308, 0.5, 1.0])
    hostile = _hostile().view(np.uint64)
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


def _join_cases() -> Iterator[Case]:
    for label, (words, times) in _join_rows().items():
        places = _rng().permutation(len(words))
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
    """Rows in several inserts between which the table grows; some go, and others take their places."""
    rng = _rng()
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
    """What comes last is met first, whatever has gone in between."""
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


def _session_cases() -> Iterator[Case]:
    rng = _rng()

    def many(rows: int, keys: int, spread: int, floats: bool, parts: int = 4) -> list[tuple[Any, ...]]:
        batches = []
        for part in range(parts):
            times = part * spread // 2 + rng.integers(0, spread, rows)
            batches.append((rng.integers(0, keys, rows), times * 0.25 if floats else times, part * spread // 8))
        return batches

    for floats in (False, True):
        dtype, gap = (np.float64, 0.75) if floats else (np.int64, 3)
        name = "float" if floats else "int"

        def script(label: str, batches: list[tuple[Any, ...]], keys: int = 3, gap: Any = gap, d: Any = dtype) -> Case:
            return Case("extend_sessions", label, lambda: (batches, gap, d, keys))

        def rows(keys: list[int], times: list[float], bound: float = -9.0, d: Any = dtype) -> tuple[Any, ...]:
            return np.array(keys, np.int64), np.array(times, d), bound

        yield script(f"{name}-empty", [rows([], [])])
        yield script(f"{name}-one", [rows([1], [-5])])
        yield script(f"{name}-equal_to_the_gap", [rows([0] * 3, [1, 1 + gap, 1 - gap])])
        yield script(f"{name}-beyond_the_gap", [rows([0] * 3, [1, 9, -7])])
        yield script(f"{name}-bridged", [rows([0, 0, 1, 0], [0, 2 * gap, gap, gap])])
        yield script(f"{name}-bridged_by_turns", [rows([0] * 7, [0, 2 * gap, 4 * gap, 6 * gap, gap, 5 * gap, 3 * gap])])
        yield script(
            f"{name}-falling", [rows([0] * 9, [40, 30, 30, 22, 21, 12, 12, 3, 2]), rows([0] * 3, [35, 25, 11])]
        )
        yield script(f"{name}-few_keys", many(300, 5, 600, floats), 5)
        yield script(f"{name}-one_key", many(300, 1, 3_000, floats), 1)
        yield script(f"{name}-many_keys", many(500, 200, 40, floats), 200)
        yield script(f"{name}-large", many(LARGE // 25, 400, 300, floats), 400)
        yield script(f"{name}-no_gap", [rows([0] * 4, [5, 5, 6, 4])], gap=dtype(0).item())
    yield Case(
        "extend_sessions", "limits", lambda: ([(np.zeros(2, np.int64), np.array([LEAST, MOST - 3]), 0)], 3, np.int64, 1)
    )

    def plain(**changed: Any) -> tuple[Any, ...]:
        given: dict[str, Any] = {
            "keys": np.array([0, 1]),
            "times": np.array([5, 6]),
            "gap": 2,
            "heads": np.zeros(2, np.uint32),
            "sessions": np.zeros(4, session_dtype(np.int64)),
            "free": np.array([3, 2, 1], np.uint32),
        }
        return tuple({**given, **changed}.values())

    frozen = np.zeros(4, session_dtype(np.int64))
    frozen.flags.writeable = False
    wrong: dict[str, dict[str, Any]] = {
        "key_outside": {"keys": np.array([0, 2])},
        "key_negative": {"keys": np.array([0, -1])},
        "keys_short": {"keys": np.array([0])},
        "keys_int32": {"keys": np.array([0, 1], np.int32)},
        "times_int32": {"times": np.array([5, 6], np.int32)},
        "times_float": {"times": np.array([5.0, 6.0])},
        "too_late": {"times": np.array([5, MOST - 1])},
        "gap_negative": {"gap": -1},
        "gap_float": {"gap": 2.0},
        "gap_bool": {"gap": True},
        "gap_infinite": {"gap": math.inf},
        "heads_int64": {"heads": np.zeros(2, np.int64)},
        "heads_strided": {"heads": np.zeros(4, np.uint32)[::2]},
        "sessions_float": {"sessions": np.zeros(4, session_dtype(np.float64))},
        "sessions_frozen": {"sessions": frozen},
        "free_few": {"free": np.array([1], np.uint32)},
        "free_nobody": {"free": np.array([2, 0], np.uint32)},
        "free_outside": {"free": np.array([4, 1], np.uint32)},
        "free_int64": {"free": np.array([2, 1])},
    }
    for label, changed in wrong.items():
        yield Case("extend_sessions", f"wrong-{label}", lambda changed=changed: plain(**changed))
    for value in (math.nan, math.inf, -math.inf, 1.7e308):
        given = {"times": np.array([5.0, value]), "gap": 1e308, "sessions": np.zeros(4, session_dtype(np.float64))}
        yield Case("extend_sessions", f"wrong-time_{value}", lambda given=given: plain(**given))

    def open_two() -> tuple[Any, Any]:
        heads, sessions = np.array([2, 1], np.uint32), np.zeros(4, session_dtype(np.int64))
        sessions[1:3] = [(5, 7, 0, 0, 1, OPEN), (6, 8, 0, 0, 0, OPEN)]
        return heads, sessions

    slots = {
        "none": [],
        "both": [2, 1],
        "twice": [1, 1],
        "not_open": [1, 3],
        "nobody": [0],
        "outside": [4],
        "below": [-1],
    }
    for label, given in slots.items():
        yield Case("drop_sessions", label, lambda given=given: (np.array(given, np.int64), *open_two()))
    for last in (6, 7, 8, LEAST, MOST, 7.0, True, None):
        yield Case("sessions_until", str(last), lambda last=last: (open_two()[1], last))
    for label, found in {"none": np.zeros(1, session_dtype(np.int64)), "strided": open_two()[1][::2]}.items():
        yield Case("sessions_until", label, lambda found=found: (found, 5))
    for last in (0.5, math.inf, -math.inf, 3):

        def floats(last: Any = last) -> tuple[Any, Any]:
            found = np.zeros(6, session_dtype(np.float64))
            found[1:5] = [
                (0.0, 0.5, 0, 0, 0, OPEN),
                (-1.0, 4.0, 0, 0, 0, 3),
                (-9.0, 0.25, 0, 0, 0, 4),
                (2, 4, 0, 0, 0, 1),
            ]
            return found, last

        yield Case("sessions_until", f"float-{last}", floats)
    yield Case("drop_sessions", "int32", lambda: (np.array([1], np.int32), *open_two()))


def _disorder() -> dict[str, np.ndarray[Any, Any]]:
    """Values in many orders; a few thousand each, more than are sorted together at a time."""
    rng, n = _rng(), 9000
    at = np.arange(n)
    shaken = 7 * at + rng.integers(0, 300, n)
    far = np.where(rng.random(n) < 0.1, rng.integers(0, 60_000, n), 0)
    odd = np.where(rng.random(n) < 0.05, np.nan, shaken / 8)
    odd[rng.random(n) < 0.05] = -0.0
    odd[rng.random(n) < 0.02] = -np.inf
    odd[rng.random(n) < 0.02] = -np.nan
    odd[rng.random(n) < 0.02] = np.inf
    return {
        "shaken": shaken,
        "far": shaken - far,
        "ascending": at // 3,
        "falling": -at,
        "same": np.full(n, 4),
        "few": rng.integers(0, 5, n),
        "limits": rng.choice(np.array([LEAST, LEAST + 1, -1, 0, MOST - 1, MOST]), n),
        "sentinels": np.where(rng.random(n) < 0.01, MOST, shaken),  # almost all are equal in their leading bits
        "any": rng.integers(LEAST, MOST, n),
        "powers": np.left_shift(1, rng.integers(0, 63, n)) + rng.integers(0, 40, n),
        "floats": shaken * 0.1,
        "odd": odd,
    }


def _buffer_cases() -> Iterator[Case]:
    rng = _rng()
    whole, pieces = [9000], [3, 40, 700, 1, 2000, 0, 200, 5, 5, 5, 4000, 1000]
    for label, values in _disorder().items():
        n = len(values)
        shapes: tuple[tuple[str, Any, list[int], tuple[int, ...]], ...] = (
            ("whole", None, whole, (0, 1, 50, 1500)),
            ("pieces", None, pieces, (7, 1500)),
            ("three", rng.integers(0, 3, n), whole, (7, 1500)),
            ("three_pieces", rng.integers(0, 3, n), pieces, (50,)),
            ("skewed", rng.zipf(1.4, n) % 300, pieces, (1, 50)),
            ("many", rng.integers(0, 4000, n), whole, (1,)),
            ("many_pieces", rng.integers(0, 4000, n), pieces, (2,)),
        )
        for shape, ids, lengths, slacks in shapes:
            ends = np.cumsum(lengths)
            spans = [slice(end - length, end) for end, length in zip(ends, lengths, strict=True)]
            pushed = [(None if ids is None else ids[span], values[span]) for span in spans]
            sorts = [*pushed, "compact", pushed[0], "compact", "drain", pushed[-1], "drain", "drain"]
            every = np.zeros(1, np.int64) if ids is None else np.unique(ids)
            some = every[::-2]  # those that have come, not in order
            bounds = [*pushed, every, some, "held", pushed[0], "held", some[:0], every, some]
            for slack in slacks:
                for kernel, steps in (("SortBuffers", sorts), ("RowBounds", bounds)):
                    args = (slack, values.dtype, steps)
                    yield Case(kernel, f"{label}-{shape}-{slack}", lambda args=args: args)
    one = np.zeros(1, np.int64)
    figure = np.array([1, 3, 1, 2, 4, 4, 8, 3, 4, 4])
    strided, other = np.arange(40)[::-2], np.arange(40) % 5
    for wrong in (one - 1, one, one + 10, one * 1.0):
        yield Case(
            "RowBounds", f"wrong-bounds_of_{wrong[0]}", lambda wrong=wrong: (1, np.int64, [(one[:0], one[:0]), wrong])
        )
    for kernel in ("SortBuffers", "RowBounds"):
        yield Case(kernel, "figure-8", lambda: (2, np.int64, [(None, figure)]))
        yield Case(kernel, "nothing", lambda: (2, np.int64, [(None, one[:0]), (one[:0], one[:0])]))
        yield Case(kernel, "strided", lambda: (2, np.int64, [(other[::2], strided), (other[::2], strided)]))
        yield Case(kernel, "endless", lambda: (2**31 - 1, np.int64, [(None, figure), (one + 9, one)]))
        yield Case(kernel, "wrong-slack", lambda: (-1, np.int64, []))
        yield Case(kernel, "wrong-slack_float", lambda: (2.0, np.int64, []))
        yield Case(kernel, "wrong-slack_large", lambda: (2**31, np.int64, []))
        yield Case(kernel, "wrong-dtype", lambda: (1, np.int32, []))
        yield Case(kernel, "wrong-values", lambda: (1, np.int64, [(None, one * 1.0)]))
        yield Case(kernel, "wrong-ids", lambda: (1, np.int64, [(one - 1, one)]))
        yield Case(kernel, "wrong-short", lambda: (1, np.int64, [(figure, one)]))


def _run_cases() -> Iterator[Case]:
    rng = _rng()
    for label, values in _disorder().items():
        for runs in (1, 2, 3, 8, 100, 500):
            starts = np.sort(rng.integers(0, len(values) + 1, runs + 1))
            starts[0], starts[-1] = 0, len(values)
            sorted_runs = values.copy()
            for begin, end in pairwise(starts.tolist()):
                sorted_runs[begin:end] = np.sort(sorted_runs[begin:end])
            yield Case("merge_runs", f"{label}-{runs}", lambda v=sorted_runs, s=starts: (v, s))
    none, nan = np.zeros(0, np.int64), np.array([1.0, np.nan, 2.0])
    yield Case("merge_runs", "nothing", lambda: (none, np.zeros(4, np.int64)))
    yield Case("merge_runs", "strided", lambda: (np.arange(20)[::2], np.array([0, 9, 3, 9, 10, 9])[::2]))
    yield Case("merge_runs", "wrong-falls", lambda: (np.array([1, 2, 1]), np.array([0, 1, 3])))
    yield Case("merge_runs", "wrong-falls_nan", lambda: (nan, np.array([0, 3])))
    yield Case("merge_runs", "wrong-no_runs", lambda: (none, none))
    yield Case("merge_runs", "wrong-start", lambda: (np.arange(3), np.array([1, 3])))
    yield Case("merge_runs", "wrong-end", lambda: (np.arange(3), np.array([0, 2])))
    yield Case("merge_runs", "wrong-back", lambda: (np.arange(3), np.array([0, 2, 1, 3])))
    yield Case("merge_runs", "wrong-beyond", lambda: (np.arange(3), np.array([0, 7, 3])))
    yield Case("merge_runs", "wrong-dtype", lambda: (np.arange(3, dtype=np.int32), np.array([0, 3])))


def _exchange(keys: Any, rows: int, shards: int, room: int | None = None, dtypes: Any = None) -> tuple[Any, ...]:
    dtypes = dtypes or (np.int8, np.uint16, np.float32, np.int64, np.float64, np.bool_)
    values = [np.arange(rows).astype(dtype) for dtype in dtypes]
    outs = [[np.zeros(rows + 2 if room is None else room, dtype) for _ in range(shards)] for dtype in dtypes]
    return keys, values, outs, np.arange(shards) % 2


def _values() -> dict[str, tuple[Any, Any, Any, int]]:
    """ids, values, valid and the number of groups."""
    rng = _rng()
    ids = rng.integers(0, 40, 500)
    valid = rng.random(500) < 0.7
    numbers = rng.normal(0, 100, 500)
    nans = np.where(rng.random(500) < 0.2, np.nan, numbers)
    return {
        "empty": (ids[:0], np.zeros(0, np.int64), None, 3),
        "empty_float": (ids[:0], np.zeros(0), None, 0),
        "one": (np.array([2]), np.array([-5]), None, 3),
        "one_null": (np.array([2]), np.array([-5]), np.array([False]), 3),
        "int": (ids, rng.integers(-1000, 1000, 500), None, 50),
        "int_nulls": (ids, rng.integers(-1000, 1000, 500), valid, 50),
        "int_limits": (ids % 3, rng.choice([LEAST, MOST, -1, 0], 500), valid, 3),
        "uint": (ids, rng.integers(0, 2**64 - 1, 500, np.uint64), valid, 50),
        "float": (ids, numbers, None, 50),
        "float_nulls": (ids, numbers, valid, 50),
        "float_nan": (ids, nans, valid, 50),
        "float_all_nan": (ids % 2, np.full(500, np.nan), None, 2),
        "float_offset": (ids % 4, numbers + 1e9, None, 4),
        "equal": (np.zeros(500, np.int64), np.full(500, 7), None, 1),
        "distinct": (np.arange(500)[::-1].copy(), np.arange(500), None, 500),
        "large": (rng.integers(0, 1000, LARGE), rng.integers(-(10**12), 10**12, LARGE), None, 1000),
        "id_too_large": (np.array([0, 3]), np.array([1, 2]), None, 3),
        "id_negative": (np.array([0, -1]), np.array([1, 2]), None, 3),
        "short_values": (np.array([0, 1]), np.array([1]), None, 3),
        "short_valid": (np.array([0, 1]), np.array([1, 2]), np.array([True]), 3),
        "wrong_ids": (np.array([0, 1], np.int32), np.array([1, 2]), None, 3),
    }


def _aggregate_cases() -> Iterator[Case]:
    """Each update into fresh arrays that hold rubbish, and each merge into arrays that hold something."""
    for label, (ids, values, valid, groups) in _values().items():
        dtype, floats = values.dtype, values.dtype == np.float64

        def zeros(groups: int = groups) -> Any:
            return np.zeros(groups, np.int64)

        def rubbish(groups: int = groups, dtype: Any = dtype) -> Any:
            return np.full(groups, 77, dtype)

        def held(groups: int = groups) -> Any:
            return np.arange(groups) % 2

        rows = (ids, values, valid)
        yield Case("add_count", label, lambda ids=ids, valid=valid, z=zeros: (ids, valid, z()))
        for kernel in ("take_min", "take_max"):
            yield Case(kernel, label, lambda rows=rows, r=rubbish, z=zeros: (*rows, r(), z()))
        yield Case(
            "add_moments",
            label,
            lambda rows=rows, z=zeros: (*rows, z(), z().astype(float), z().astype(float)),
        )
        if floats:
            yield Case("add_sum_float", label, lambda rows=rows, z=zeros: (*rows, z().astype(float), z()))
        else:
            yield Case("add_sum_int", label, lambda rows=rows, z=zeros: (*rows, z(), z(), z()))

        partial = np.arange(len(ids)) % 3
        yield Case("merge_count", label, lambda ids=ids, p=partial, h=held: (ids, p, h()))
        for kernel in ("merge_min", "merge_max"):
            args = (ids, values, partial)
            yield Case(kernel, label, lambda args=args, r=rubbish, h=held: (*args, r(), h()))
        reals = values.astype(np.float64)
        yield Case(
            "merge_sum_float",
            label,
            lambda a=(ids, reals, partial), h=held: (*a, h().astype(float), h()),
        )
        yield Case(
            "merge_moments",
            label,
            lambda a=(ids, partial, reals, reals * reals), h=held: (*a, h(), h() * 0.5, h() * 0.0),
        )
        if not floats:
            parts = (ids, (values >> values.dtype.type(40)).astype(np.int64), partial * 10**9, partial)
            yield Case("merge_sum_int", label, lambda a=parts, h=held: (*a, h() * 3, h() * 5, h()))
    yield Case(
        "merge_sum_int",
        "beyond",
        lambda: (
            np.zeros(9, np.int64),
            np.full(9, 2**60),
            np.zeros(9, np.int64),
            np.ones(9, np.int64),
            np.zeros(1, np.int64),
            np.zeros(1, np.int64),
            np.zeros(1, np.int64),
        ),
    )
    one, two = np.zeros(1, np.int64), np.zeros(2, np.int64)
    for label, hi_in, lo_in in (
        ("least_hi", LEAST, 0),
        ("great_hi", 2**61 + 1, 0),
        ("great_lo", 0, 2**32),
        ("low_lo", 0, -1),
    ):
        parts = (two, np.full(2, hi_in), np.full(2, lo_in), np.ones(2, np.int64))
        yield Case("merge_sum_int", label, lambda parts=parts: (*parts, one.copy(), one.copy(), one.copy()))
    less = np.array([1, -1])
    yield Case("merge_min", "negative_count", lambda: (two, two, less, one.copy(), one.copy()))
    yield Case("merge_sum_float", "negative_count", lambda: (two, two * 0.5, less, one * 0.5, one.copy()))
    frozen = np.zeros(1, np.int64)
    frozen.flags.writeable = False
    yield Case("add_count", "frozen", lambda: (one, None, frozen))
    grid = np.zeros((1, 1), np.int64)
    yield Case("add_sum_int", "two_dimensions", lambda: (one, grid, None, one.copy(), one.copy(), one.copy()))
    yield Case("add_moments", "two_dimensions", lambda: (one, grid, None, one.copy(), one * 0.5, one * 0.5))
    fits = (np.array([-(2**31), 2**31 - 1, 0]), np.array([0, 2**32 - 1, 5]))
    yield Case("sum_int_result", "int64", lambda: (*fits, pa.int64()))
    yield Case("sum_int_result", "negative_uint64", lambda: (*fits, pa.uint64()))
    yield Case("sum_int_result", "uint64", lambda: (np.array([2**32 - 1]), np.array([2**32 - 1]), "uint64"))
    yield Case("sum_int_result", "overflow", lambda: (np.array([2**31]), np.array([0]), pa.int64()))
    yield Case("sum_int_result", "other_type", lambda: (*fits, pa.int32()))


def _summaries(groups: int, held: bool = False, count: int = 1, hi: int = 3, lo: int = 5) -> Any:
    """Summaries that hold nothing but rubbish, or something in every other group."""
    state = np.zeros((groups, 5), np.int64)
    state[:, 3:] = 77, -77
    if held:
        state[::2] = count, hi, lo, -3, 500
    return state


def _summary_cases() -> Iterator[Case]:
    for label, (ids, values, valid, groups) in _values().items():
        if values.dtype != np.int64:
            continue
        for held in (False, True):
            name = f"{label}-held" if held else label
            rows = (ids, values, valid)
            yield Case("add_summary", name, lambda a=rows, g=groups, h=held: (*a, _summaries(g, h)))
            partial = np.arange(len(ids)) % 3
            some = np.resize(values, len(ids))
            words = (partial, some >> 40, partial * 10**9, some, np.maximum(some, 9))
            parts = (ids, np.column_stack(words).astype(np.int64))
            yield Case("merge_summary", name, lambda a=parts, g=groups, h=held: (*a, _summaries(g, h)))
    one, two = np.zeros(1, np.int64), np.zeros(2, np.int64)
    for dtype in (np.int32, np.uint64, np.float64):
        yield Case("add_summary", np.dtype(dtype).name, lambda d=dtype: (two, two.astype(d), None, _summaries(1)))
    yield Case("add_summary", "two_dimensions", lambda: (one, np.zeros((1, 1), np.int64), None, _summaries(1)))
    strided = np.arange(12)[::3]
    yield Case("add_summary", "strided", lambda: (strided, strided * 7, strided % 2 == 0, _summaries(10)))
    yield Case("merge_summary", "strided", lambda: (strided, _summaries(8, True)[::2], _summaries(10)))
    yield Case("merge_summary", "columns", lambda: (strided, np.asfortranarray(_summaries(4, True)), _summaries(10)))
    frozen = _summaries(1)
    frozen.flags.writeable = False
    yield Case("merge_summary", "frozen_partials", lambda: (one, frozen, _summaries(1)))
    wrong = {
        "frozen": frozen,
        "flat": np.zeros(5, np.int64),
        "narrow": np.zeros((1, 4), np.int64),
        "wide": np.zeros((1, 6), np.int64),
        "deep": np.zeros((1, 5, 1), np.int64),
        "by_columns": np.asfortranarray(_summaries(2)),
        "strided_state": _summaries(4)[::2],
        "state_int32": np.zeros((1, 5), np.int32),
        "state_float": np.zeros((1, 5)),
        "list": [[0] * 5],
    }
    for label, state in wrong.items():
        yield Case("add_summary", label, lambda state=state: (one, one, None, state))
        yield Case("merge_summary", label, lambda state=state: (one, _summaries(1, True), state))
    for label in ("flat", "narrow", "wide", "deep", "state_int32", "state_float", "list"):
        yield Case("merge_summary", f"{label}-partials", lambda state=wrong[label]: (one, state, _summaries(1)))
    yield Case("merge_summary", "short_partials", lambda: (two, _summaries(1, True), _summaries(1)))

    # At the limit, over it, and over it but back again.
    full = {"count": 1, "hi": 2**61, "lo": 2**32 - 1}
    for label, values in (("limit", [0]), ("beyond", [1]), ("back", [1, -1]), ("below", [MOST, -MOST, LEAST])):
        some = (np.zeros(len(values), np.int64), np.array(values), None)
        yield Case("add_summary", label, lambda a=some: (*a, _summaries(1, True, **full)))
        lows = some[1]
        parts = (some[0], np.column_stack((lows * 0 + 1, lows >> 32, lows & (2**32 - 1), lows, lows)))
        yield Case("merge_summary", label, lambda a=parts: (*a, _summaries(1, True, **full)))
    far = np.zeros(9, np.int64)
    for label, hi in (("far_up", 2**60), ("far_down", -(2**60))):
        yield Case(
            "merge_summary", label, lambda hi=hi: (far, np.tile(_summaries(1, True, hi=hi), (9, 1)), _summaries(1))
        )
    spread = np.tile(_summaries(1, True, hi=2**60), (9, 1))
    spread[::2, :2] = 0, LEAST
    yield Case("merge_summary", "far_spread", lambda: (np.arange(9), spread, _summaries(9)))
    for label, count, hi, lo in (
        ("negative_count", -1, 0, 0),
        ("least_hi", 1, LEAST, 0),
        ("great_hi", 1, 2**61 + 1, 0),
        ("great_lo", 1, 0, 2**32),
        ("low_lo", 1, 0, -1),
        ("empty_rubbish", 0, LEAST, -1),
    ):
        part = _summaries(1, True, count, hi, lo)
        yield Case("merge_summary", label, lambda part=part: (one, part, _summaries(1)))


def _firsts(groups: int, held: bool = False) -> Any:
    """Nothing, or in turn nothing, a null and a value."""
    state = np.zeros((groups, 3), np.int64)
    if held:
        state[:, 0] = np.arange(groups) % 3
        state[:, 1] = np.where(state[:, 0] > 0, np.arange(groups) % 7, 0)
        state[:, 2] = np.where(state[:, 0] > 1, 5, 0)
    return state


def _first_cases() -> Iterator[Case]:
    rng = _rng()
    for label, (ids, values, valid, groups) in _values().items():
        if values.dtype != np.int64:
            continue
        by = np.resize(rng.integers(-3, 4, 500), len(ids))
        known = None if valid is None else np.resize(rng.random(500) < 0.8, len(ids))
        masks = {label: (None, valid), f"{label}-known": (known, None), f"{label}-both": (known, valid)}
        for which in ("first", "last"):
            for name, (there, some) in masks.items():
                rows = (ids, by, there, values, some)
                for held in (False, True):
                    yield Case(
                        f"take_{which}",
                        f"{name}{'-held' if held else ''}",
                        lambda a=rows, g=groups, h=held: (*a, _firsts(g, h)),
                    )
            parts = _firsts(len(ids), True)
            yield Case(f"merge_{which}", label, lambda a=(ids, parts), g=groups: (*a, _firsts(g, True)))
    one, strided = np.zeros(1, np.int64), np.arange(12)[::3]
    extremes = np.array([LEAST, MOST, LEAST, MOST])
    frozen = _firsts(1)
    frozen.flags.writeable = False
    bad = _firsts(1)
    bad[0, 0] = 3
    for which in ("first", "last"):
        yield Case(
            f"take_{which}", "strided", lambda: (strided, strided, strided % 2 == 0, strided, None, _firsts(10, True))
        )
        yield Case(f"take_{which}", "limits", lambda: (strided // 5, extremes, None, extremes[::-1], None, _firsts(2)))
        yield Case(f"merge_{which}", "strided", lambda: (strided, _firsts(8, True)[::2], _firsts(10, True)))
        for label, state in (
            ("frozen", frozen),
            ("flat", np.zeros(3, np.int64)),
            ("wide", np.zeros((1, 5), np.int64)),
            ("state_float", np.zeros((1, 3))),
        ):
            yield Case(f"take_{which}", label, lambda s=state: (one, one, None, one, None, s))
            yield Case(f"merge_{which}", label, lambda s=state: (one, _firsts(1, True), s))
        yield Case(f"take_{which}", "by_float", lambda: (one, one * 0.5, None, one, None, _firsts(1)))
        yield Case(f"take_{which}", "values_uint", lambda: (one, one, None, one.astype(np.uint64), None, _firsts(1)))
        yield Case(f"take_{which}", "short_known", lambda: (one, one, np.ones(2, np.bool_), one, None, _firsts(1)))
        for label, parts in (("no_kind", bad), ("negative_kind", -bad), ("short_partials", _firsts(0))):
            yield Case(f"merge_{which}", label, lambda p=parts: (one, p, _firsts(1)))


def _object_cases() -> Iterator[Case]:
    ids = np.array([0, 1, 1, 0, 2])
    values = np.array(["b", None, "a", "c", None], object)
    numbers = np.array([10**40, None, 2, -5, None], object)
    for kernel in ("take_min_object", "take_max_object"):
        yield Case(kernel, "text", lambda: (ids, values, np.full(3, None), np.zeros(3, np.int64)))
    yield Case("add_sum_object", "int", lambda: (ids, numbers, np.full(3, None), np.zeros(3, np.int64)))
    counts_in = np.array([1, 0, 2, 3, 0])
    for kernel in ("merge_min_object", "merge_max_object"):
        yield Case(kernel, "text", lambda: (ids, values, counts_in, np.full(3, "b", object), np.ones(3, np.int64)))
    yield Case(
        "merge_sum_object",
        "int",
        lambda: (ids, numbers, counts_in, np.full(3, 1, object), np.ones(3, np.int64)),
    )
