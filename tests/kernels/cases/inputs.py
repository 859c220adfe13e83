"""Inputs that the cases of several stems share."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from hypothesis import settings

from oop.kernels.views import Column, column, key_column

LEAST, MOST = -(2**63), 2**63 - 1


LARGE = 50_000


# There is no deadline, because a busy machine is no failure.
quick = settings(deadline=None, max_examples=80)


@dataclass(frozen=True)
class Case:
    kernel: str
    label: str
    make: Callable[[], tuple[Any, ...]]

    @property
    def id(self) -> str:
        return f"{self.kernel}-{self.label}"


def new_rng() -> np.random.Generator:
    return np.random.default_rng(7)


def some_times() -> dict[str, np.ndarray[Any, Any]]:
    """Times of each type and shape that kernels meet."""
    rng = new_rng()
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


def key_columns() -> dict[str, list[Column]]:
    """Key columns of each kind and shape."""
    rng = new_rng()
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
        "hostile": [Column("int", hostile_keys())],
        "hostile_pair": [Column("int", hostile_keys()), Column("int", hostile_keys()[::-1].copy())],
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


def hostile_keys() -> np.ndarray[Any, Any]:
    """Keys that the unseeded mixer of `hash_partition` sends to neighbouring places. They are computed by inverting
    hashes."""
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


def disorder() -> dict[str, np.ndarray[Any, Any]]:
    """Values in many orders; each array has thousands of values, more than are sorted together at a time."""
    rng, n = new_rng(), 9000
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


def some_values() -> dict[str, tuple[Any, Any, Any, int]]:
    """ids, values, valid and the number of groups."""
    rng = new_rng()
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
