"""Keys to shards, rows to the shards of their keys, and rows by number, in Numba.

The hash is fixed: it must agree with the reference bit by bit.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from oop.kernels.checks import Array, Bools, Ints, ShardFull, Words
from oop.kernels.jit.compiler import as_input, as_mask, compile_loop
from oop.kernels.keys import normalize_column, offsets_error
from oop.kernels.views.columns import Column

# All are unsigned, because Numba makes a float of an unsigned and a signed integer.
GOLDEN, PRIME = np.uint64(0x9E3779B97F4A7C15), np.uint64(0x100000001B3)
NULL = np.uint64(0xA0761D6478BD642F)
FACTOR_1, FACTOR_2 = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
SHIFT_1, SHIFT_2, SHIFT_3, HALF = np.uint64(30), np.uint64(27), np.uint64(31), np.uint64(32)
ONE = np.uint64(1)


def hash_partition(columns: Sequence[Column], shards: int, length: int) -> NDArray[np.int32]:
    hashes = np.zeros(length, np.uint64)
    for column in columns:
        column = normalize_column(column)
        data, valid = as_input(column.data), as_mask(column.valid)
        if column.offsets is None:
            _fold_words(data.view(np.uint64), valid, hashes)
        elif not _fold_bytes(data, as_input(column.offsets), valid, hashes):
            raise offsets_error()
    shard = np.empty(len(hashes), np.int32)
    _scale_hashes(hashes, np.uint64(shards), shard)
    return shard


def exchange_rows(
    keys: Sequence[Column], values: Sequence[Array], outs: Sequence[Sequence[Array]], ends: Ints, length: int
) -> None:
    shard = hash_partition(keys, len(ends), length)
    for s, end in enumerate(ends.tolist()):
        rows = _select_shard(shard, s)
        for value, column in zip(values, outs, strict=True):
            if len(rows) > len(column[s]) - end:
                raise ShardFull
            bits = as_input(value).view(f"uint{8 * value.itemsize}")
            _take(bits, rows, column[s][end : end + len(rows)].view(bits.dtype))
        ends[s] += len(rows)


def take_fixed(values: Array, rows: Ints) -> Array:
    if not values.flags.c_contiguous:
        return values[rows]  # copying all values may cost more than taking some of them
    # As unsigned numbers, values of all types have only four types of argument.
    bits = as_input(values).view(f"uint{8 * values.itemsize}")
    taken = np.empty(len(rows), bits.dtype)
    _take(bits, as_input(rows), taken)
    return taken.view(values.dtype)


def take_out(values: Array, rows: Ints) -> Array:
    bits = values.view(f"uint{8 * values.itemsize}")
    taken = np.empty(len(rows), bits.dtype)
    _take_out(bits, as_input(rows), taken)
    return taken.view(values.dtype)


@compile_loop
def _take_out(values: Array, rows: Ints, out: Array) -> None:
    for i in range(len(rows)):
        out[i] = values[rows[i]]
        values[rows[i]] = 0


@compile_loop
def _fold(hash: np.uint64, word: np.uint64) -> np.uint64:
    hash = (hash ^ word) * GOLDEN
    return hash ^ (hash >> HALF)


@compile_loop
def _mix(word: np.uint64) -> np.uint64:
    word = (word ^ (word >> SHIFT_1)) * FACTOR_1
    word = (word ^ (word >> SHIFT_2)) * FACTOR_2
    return word ^ (word >> SHIFT_3)


@compile_loop
def _fold_words(data: Words, valid: Bools, hashes: Words) -> None:
    for i in range(len(hashes)):
        hashes[i] = _fold(hashes[i], NULL if len(valid) and not valid[i] else data[i])


@compile_loop
def _fold_bytes(data: Array, offsets: Ints, valid: Bools, hashes: Words) -> bool:
    """Fold the bytes into the hashes; False if offsets are wrong, of which a column checks the outermost ones only."""
    for i in range(len(hashes)):
        word = NULL
        if not len(valid) or valid[i]:
            first, last = offsets[i], offsets[i + 1]
            if not 0 <= first <= last <= len(data):
                return False
            # Horner's rule, from the last byte on: the first byte is multiplied once.
            word = np.uint64(0)
            for j in range(last - first):
                # One is added to each byte, so that zero bytes count too.
                word = (word + np.uint64(data[last - 1 - j]) + ONE) * PRIME
            word += np.uint64(last - first)
        hashes[i] = _fold(hashes[i], word)
    return True


@compile_loop
def _scale_hashes(hashes: Words, shards: np.uint64, shard: NDArray[np.int32]) -> None:
    for i in range(len(hashes)):
        # The high half is scaled to the number of shards: this takes no modulo, and is as even as the hash.
        shard[i] = ((_mix(hashes[i]) >> HALF) * shards) >> HALF


@compile_loop
def _select_shard(shard: NDArray[np.int32], number: int) -> Ints:
    rows = np.empty(len(shard), np.int64)
    count = 0
    for i in range(len(shard)):
        if shard[i] == number:
            rows[count] = i
            count += 1
    return rows[:count]


@compile_loop
def _take(values: Array, rows: Ints, taken: Array) -> None:
    for i in range(len(rows)):
        taken[i] = values[rows[i]]
