"""Keys to shards, and rows by number, in Numba. The hash is fixed: it must be the reference's, bit by bit."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from oop.kernels.checks import Array, Bools, Ints, KernelError, check_ids
from oop.kernels.jit_compiler import as_input, as_mask, compile_loop
from oop.kernels.reference_groups import Words, check_columns, check_shards, normalize_column
from oop.kernels.views import Column

# Unsigned, each of them: Numba makes a float of an unsigned and a signed integer.
GOLDEN, PRIME = np.uint64(0x9E3779B97F4A7C15), np.uint64(0x100000001B3)
NULL = np.uint64(0xA0761D6478BD642F)
FACTOR_1, FACTOR_2 = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
SHIFT_1, SHIFT_2, SHIFT_3, HALF = np.uint64(30), np.uint64(27), np.uint64(31), np.uint64(32)
ONE = np.uint64(1)


def hash_partition(columns: Sequence[Column], shards: int, length: int | None = None) -> NDArray[np.int32]:
    """The shard of every row; see `oop.kernels.reference_groups.hash_partition`."""
    check_shards(shards)
    hashes = np.zeros(check_columns(columns, length), np.uint64)
    for column in columns:
        column = normalize_column(column)
        data, valid = as_input(column.data), as_mask(column.valid)
        if column.offsets is None:
            _fold_words(data.view(np.uint64), valid, hashes)
        elif not _fold_bytes(data, as_input(column.offsets), valid, hashes):
            raise KernelError("offsets point outside the data")
    shard = np.empty(len(hashes), np.int32)
    _scale_hashes(hashes, np.uint64(shards), shard)
    return shard


def partition_rows(columns: Sequence[Column], shards: int, length: int | None = None) -> tuple[Ints, Ints]:
    """The rows of each shard together; see `oop.kernels.reference_groups.partition_rows`."""
    shard = hash_partition(columns, shards, length)
    order, starts = np.empty(len(shard), np.int64), np.zeros(shards + 1, np.int64)
    _order_shards(shard, starts, order)
    return order, starts


def take_fixed(values: Array, rows: Ints) -> Array:
    """`values[rows]`; see `oop.kernels.reference_groups.take_fixed`."""
    if not isinstance(values, np.ndarray) or values.ndim != 1 or values.dtype.itemsize not in (1, 2, 4, 8):
        raise KernelError("values must be a one-dimensional array of 1, 2, 4 or 8 bytes each")
    check_ids(rows, len(values), name="rows")
    if values.dtype.hasobject or not values.flags.c_contiguous:
        # References must be counted, and a copy of all values may cost more than some of them.
        return values[rows]
    # As unsigned numbers: four types of argument, whatever the types of values.
    bits = as_input(values).view(f"uint{8 * values.itemsize}")
    taken = np.empty(len(rows), bits.dtype)
    _take(bits, as_input(rows), taken)
    return taken.view(values.dtype)


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
    """Are the offsets right? A column checks its outermost ones only."""
    for i in range(len(hashes)):
        word = NULL
        if not len(valid) or valid[i]:
            first, last = offsets[i], offsets[i + 1]
            if not 0 <= first <= last <= len(data):
                return False
            # Horner's rule, from the last byte: the first is multiplied once.
            word = np.uint64(0)
            for j in range(last - first):
                # The byte plus one, so that zero bytes count too.
                word = (word + np.uint64(data[last - 1 - j]) + ONE) * PRIME
            word += np.uint64(last - first)
        hashes[i] = _fold(hashes[i], word)
    return True


@compile_loop
def _scale_hashes(hashes: Words, shards: np.uint64, shard: NDArray[np.int32]) -> None:
    for i in range(len(hashes)):
        # The high half scaled to the shards: no modulo, and as even as the hash.
        shard[i] = ((_mix(hashes[i]) >> HALF) * shards) >> HALF


@compile_loop
def _order_shards(shard: NDArray[np.int32], starts: Ints, order: Ints) -> None:
    for i in range(len(shard)):
        starts[shard[i] + 1] += 1
    for s in range(1, len(starts)):
        starts[s] += starts[s - 1]
    places = starts[:-1].copy()
    for i in range(len(shard)):
        order[places[shard[i]]] = i
        places[shard[i]] += 1


@compile_loop
def _take(values: Array, rows: Ints, taken: Array) -> None:
    for i in range(len(rows)):
        taken[i] = values[rows[i]]
