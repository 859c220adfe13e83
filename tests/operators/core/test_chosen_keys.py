"""Keys that are chosen to collide make nothing slow. Tables of this library have secret seeds; Arrow's hash of whole
numbers is public, and can be turned round."""

from __future__ import annotations

from collections.abc import Callable
from time import perf_counter
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as compute
import pytest

import oop
from oop.io.fitting import _encoded
from oop.kernels import dictionaries, views
from oop.operators.core import coverage, row_groups
from oop.operators.rows import layout as held_rows

N = 40_000
_FACTOR = 11400714785074694791  # Arrow's hash of a number: its product with this, the bytes reversed


def numbers_with_hashes(hashes: np.ndarray) -> pa.Array:
    inverse = np.uint64(pow(_FACTOR, -1, 2**64))
    return pa.array((hashes.byteswap() * inverse).view(np.int64))


def colliding() -> pa.Array:
    """Half of them in places next to each other; the others begin there, and differ only in bits that Arrow looks at
    last: before it has come to them it goes from place to place, through all that are taken."""
    block = np.arange(N // 2, dtype=np.uint64)
    others = block[: N // 16, None] + (np.arange(1, 9, dtype=np.uint64) << np.uint64(46))
    return numbers_with_hashes(np.concatenate([block, others.T.reshape(-1)]))


def any_numbers() -> pa.Array:
    return pa.array(np.random.default_rng(5).integers(-(2**62), 2**62, N))


def in_dictionary(values: pa.Array) -> pa.Array:
    return pa.DictionaryArray.from_arrays(pa.array(np.arange(len(values), dtype=np.int32)), values)


def seconds(what: Callable[[pa.Array], Any], values: pa.Array) -> float:
    """The best of some."""
    found = []
    for _ in range(5):
        begin = perf_counter()
        what(values)
        found.append(perf_counter() - begin)
    return min(found)


def joined(values: pa.Array) -> Any:
    """Two batches with different dictionaries."""
    pieces = [in_dictionary(values.slice(0, N - 1)), in_dictionary(values.slice(1))]
    return dictionaries.concat_batches([pa.record_batch({"k": piece}) for piece in pieces])


def counted(values: pa.Array) -> Any:
    """Dictionary-typed keys from end to end, in two batches with different dictionaries."""
    pieces = [in_dictionary(values.slice(0, N // 2)), in_dictionary(values.slice(N // 2))]
    batches = [pa.record_batch({"ts": np.full(len(k), i), "k": k}) for i, k in enumerate(pieces)]
    stream = oop.source(batches, time="ts", punctuate=oop.ordered()).window(oop.tumbling(10))
    return stream.group_by("k").agg(n=oop.count()).run(oop.Embedded(threads=1)).to_table()


DICTIONARY = pa.dictionary(pa.int32(), pa.int64())


def test_they_do_collide_in_arrow():
    values = colliding()
    assert len(values.unique()) == len(values) == N
    assert seconds(pa.Array.dictionary_encode, values) > 15 * seconds(pa.Array.dictionary_encode, any_numbers())


@pytest.mark.parametrize(
    "what",
    [
        dictionaries.encode_dictionary,
        joined,
        counted,
        row_groups.encode_groups,
        lambda values: dictionaries.to_arrow_type(views.column(values), DICTIONARY),
        lambda values: held_rows.as_type(values, DICTIONARY),
        lambda values: _encoded(values, DICTIONARY),
    ],
    ids=["encode", "join dictionaries", "keys", "groups of promises", "results", "held rows", "input"],
)
def test_but_not_here(what):
    assert seconds(what, colliding()) < 6 * seconds(what, any_numbers())


@pytest.mark.parametrize("groups", [dictionaries.FEW, dictionaries.FEW + 1])
def test_arrow_finds_only_a_few_named_groups(groups, monkeypatch):
    asked = []

    def index_in(array: pa.Array, value_set: pa.Array) -> pa.Array:
        asked.append(len(value_set))
        return compute.index_in(array, value_set=value_set)

    monkeypatch.setattr(row_groups.pc, "index_in", index_in, raising=False)
    named = oop.Frontier()
    for k in range(groups):
        named.advance(oop.Punctuation({"ts": k}, {"k": k}))
    rows = 10 * groups
    batch = pa.record_batch({"ts": np.zeros(rows, np.int64), "k": np.arange(rows)})
    assert np.flatnonzero(coverage.covered(named, batch)).tolist() == list(range(1, groups))
    assert asked == ([groups] if groups <= dictionaries.FEW else [])


VALUES = [None, 0, 1, 2, 3, 5, 5, 5, 8, 13]


def column_of(type_: pa.DataType, rows: int, first: int = 0) -> pa.Array:
    """Few values of a type in many rows; the first of them is null."""
    rng = np.random.default_rng(3)
    numbers = pa.array([VALUES[i] for i in rng.integers(first, len(VALUES), rows)], pa.int32())
    if pa.types.is_fixed_size_binary(type_):
        return pa.array([None if v is None else b"%3d" % v for v in numbers.to_pylist()], type_)
    if views.kind_of(type_) == "bytes" and not pa.types.is_decimal(type_):
        return numbers.cast(pa.string()).cast(type_)
    return (numbers if type_.bit_width == 32 else numbers.cast(pa.int64())).cast(type_)


TYPES = [pa.int8(), pa.uint16(), pa.int64(), pa.uint64(), pa.float32(), pa.float64(), pa.bool_(), pa.string()]
TYPES += [pa.large_string(), pa.string_view(), pa.binary(), pa.binary(3), pa.decimal128(30, 2), pa.date32()]
TYPES += [pa.timestamp("ns"), pa.timestamp("us", "UTC"), pa.time32("s"), pa.duration("ms")]


@pytest.mark.parametrize("type_", TYPES, ids=str)
def test_a_dictionary_is_the_one_that_arrow_makes(type_):
    """With few rows, which are left to Arrow, and with many; also of a slice."""
    for rows in (0, 1, dictionaries.FEW, 700):
        for values in (
            column_of(type_, rows),
            column_of(type_, rows + 9).slice(7, rows),
            column_of(type_, rows, first=1),
        ):
            found = dictionaries.encode_dictionary(values)
            found.validate(full=True)
            assert found.equals(values.dictionary_encode())


def test_floats_come_back_as_they_were():
    values = pa.array(np.tile(np.array([0.0, -0.0, np.nan, 1.5, np.inf]), 100))
    found = dictionaries.encode_dictionary(values).dictionary_decode()
    assert [*map(str, found.to_pylist())] == [*map(str, values.to_pylist())]


def test_dictionaries_are_joined_whatever_they_hold():
    """Nulls in the dictionary and in the indices, values twice, values that no row has, no rows at all."""
    parts = [
        pa.DictionaryArray.from_arrays(pa.array([0, 1, None, 2], pa.int8()), pa.array(["a", None, "b"])),
        pa.DictionaryArray.from_arrays(pa.array([3, 0, 0], pa.int8()), pa.array(["b", "c", "b", "d"])),
        pa.DictionaryArray.from_arrays(pa.array([], pa.int8()), pa.array([], pa.string())),
    ]
    for order in ([0, 1, 2], [2, 1, 0], [1, 1], [1, 0, 1]):
        batches = [pa.record_batch({"k": parts[i], "n": pa.array(range(len(parts[i])), pa.int64())}) for i in order]
        found = dictionaries.concat_batches(batches)
        found.validate(full=True)
        assert found.schema == batches[0].schema
        assert found.to_pylist() == [row for batch in batches for row in batch.to_pylist()]
