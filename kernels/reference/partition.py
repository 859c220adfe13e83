"""Keys to shards, rows to the shards of their keys, and rows by number, in NumPy."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from oop.kernels.checks import Array, Ints, ShardFull, Words
from oop.kernels.keys import check_offsets, normalize_column
from oop.kernels.views.columns import Column


def hash_partition(columns: Sequence[Column], shards: int, length: int) -> NDArray[np.int32]:
    check_offsets(columns)
    hashes = np.zeros(length, np.uint64)
    for column in columns:
        hashes = (hashes ^ _word_column(normalize_column(column))) * np.uint64(0x9E3779B97F4A7C15)
        hashes ^= hashes >> np.uint64(32)
    hashes = _mix_words(hashes)
    # The high half is scaled to the number of shards: this takes no modulo, and is as even as the hash.
    return (((hashes >> np.uint64(32)) * np.uint64(shards)) >> np.uint64(32)).astype(np.int32)


def exchange_rows(
    keys: Sequence[Column], values: Sequence[Array], outs: Sequence[Sequence[Array]], ends: Ints, length: int
) -> None:
    shard = hash_partition(keys, len(ends), length)
    for s, end in enumerate(ends.tolist()):
        rows = np.flatnonzero(shard == s)
        for value, out in zip(values, outs, strict=True):
            if len(rows) > len(out[s]) - end:
                raise ShardFull
            out[s][end : end + len(rows)] = value[rows]
        ends[s] += len(rows)


def take_fixed(values: Array, rows: Ints) -> Array:
    return values[rows]


def take_out(values: Array, rows: Ints) -> Array:
    taken = np.zeros(len(rows), values.dtype)
    first = np.unique(rows, return_index=True)[1]
    taken[first] = values[rows[first]]
    values[rows] = 0
    return taken


def _word_column(column: Column) -> Words:
    """One word for each row: the number itself, a hash of the bytes, or a constant for null."""
    words = column.data.view(np.uint64) if column.offsets is None else _hash_bytes(column.data, column.offsets)
    if column.valid is None:
        return words
    return np.where(column.valid, words, np.uint64(0xA0761D6478BD642F))


def _hash_bytes(data: Array, offsets: Ints) -> Words:
    """A polynomial in each row's bytes, modulo 2**64, as differences of one running sum."""
    lengths = np.diff(offsets)
    first, last = int(offsets[0]), int(offsets[-1])
    powers = np.full(int(lengths.max(initial=0)), 0x100000001B3, np.uint64)
    np.multiply.accumulate(powers, out=powers)
    places = np.arange(first, last) - np.repeat(offsets[:-1], lengths)
    sums = np.zeros(last - first + 1, np.uint64)
    # One is added to each byte, so that zero bytes count too.
    np.cumsum((data[first:last].astype(np.uint64) + np.uint64(1)) * powers[places], out=sums[1:])
    rows = sums[offsets[1:] - first] - sums[offsets[:-1] - first]
    return rows + lengths.astype(np.uint64)


def _mix_words(words: Words) -> Words:
    """The finaliser of splitmix64: every input bit reaches every output bit."""
    words = (words ^ (words >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    words = (words ^ (words >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return words ^ (words >> np.uint64(31))
