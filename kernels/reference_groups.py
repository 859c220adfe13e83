"""Group keys to dense ids, and keys to shards, in NumPy.

Keys are compared as SQL groups them: null equals null, NaN equals NaN, -0.0 equals 0.0.
"""

from __future__ import annotations

import itertools
import sys
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from oop.kernels.checks import Array, Ints, KernelError, ShardFull, check_array, check_ids, check_out
from oop.kernels.views import DTYPES, Column, change_width, concat_columns, take_rows, wide_kind

# Codes of two columns are combined as code * cardinality + code; beyond this int64 would overflow.
CODE_LIMIT = 2**62

OFFSETS_OUTSIDE = "offsets point outside the data"

Words = NDArray[np.uint64]


class GroupTable:
    """Gives every distinct key a dense id, in order of first appearance.

    >>> table = GroupTable(["int", "bytes"])
    >>> import pyarrow as pa
    >>> from oop.kernels.views import column
    >>> table.map([column(pa.array([7, 7, None])), column(pa.array(["a", "b", "a"]))])
    array([0, 1, 2])
    >>> table.map([column(pa.array([None, 8])), column(pa.array(["a", "a"]))])
    array([2, 3])
    >>> len(table), table.columns()[0].data, table.columns()[0].valid
    (4, array([7, 7, 0, 8]), array([ True,  True, False,  True]))
    """

    def __init__(self, kinds: Sequence[str]) -> None:
        for kind in kinds:
            if kind not in DTYPES:
                raise KernelError(f"no kind of column {kind!r}; there are {', '.join(DTYPES)}")
        self.kinds = list(kinds)
        self._ids: dict[Any, int] = {}
        self._parts: list[list[Column]] = [[] for _ in kinds]
        self._key_bytes = 0

    def __len__(self) -> int:
        return len(self._ids)

    @property
    def nbytes(self) -> int:
        """Bytes that the keys and their ids hold."""
        arrays = sum(part.nbytes for parts in self._parts for part in parts)
        return arrays + self._key_bytes + sys.getsizeof(self._ids)

    def reserve(self, groups: int) -> None:
        """Make room for so many groups beforehand; only a hint."""

    def map(self, columns: Sequence[Column], length: int | None = None, rows: Ints | None = None) -> Ints:
        """The id of every row's key; new keys get the next ids. Without key columns, give `length`.

        `rows`, if given, are the numbers of the rows to take, in that order.
        """
        length = check_columns(columns, length)
        check_kinds(columns, self.kinds)
        check_offsets(columns)
        if rows is not None:
            check_ids(rows, length, name="rows")
            columns, length = [take_rows(column, rows) for column in columns], len(rows)
        if not length:
            return np.zeros(0, np.int64)
        if not columns:
            self._ids.setdefault((), 0)
            return np.zeros(length, np.int64)
        columns = [normalize_column(column) for column in columns]
        _, firsts, codes = np.unique(_combine_codes(columns), return_index=True, return_inverse=True)
        order = np.argsort(firsts)
        rows = firsts[order]
        ids_in_order = self._map_distinct([take_rows(column, rows) for column in columns])
        ids = np.empty(len(rows), np.int64)
        ids[order] = ids_in_order
        return ids[codes]

    def columns(self) -> list[Column]:
        """The keys, row i being the key of id i; with -0.0 as 0.0, and every NaN the same one."""
        for kind, parts in zip(self.kinds, self._parts, strict=True):
            parts[:] = [concat_columns(wide_kind(kind), parts)]
        return [change_width(parts[0], kind) for kind, parts in zip(self.kinds, self._parts, strict=True)]

    def _map_distinct(self, columns: list[Column]) -> Ints:
        """Ids of keys that are distinct and in order of appearance."""
        keys = list_keys(columns)
        known = self._ids
        before = len(known)
        ids = np.fromiter(map(known.get, keys, itertools.repeat(-1)), np.int64, len(keys))
        new = np.flatnonzero(ids < 0)
        if len(new):
            ids[new] = np.arange(before, before + len(new))
            new_keys = [keys[row] for row in new.tolist()]
            known.update(zip(new_keys, itertools.count(before)))
            for parts, column in zip(self._parts, columns, strict=True):
                parts.append(take_rows(column, new))
            self._key_bytes += sum(map(_size_key, new_keys))
        return ids


def hash_partition(columns: Sequence[Column], shards: int, length: int | None = None) -> NDArray[np.int32]:
    """The shard of every row, by a hash of its key that is the same in every process and on every machine.

    >>> hash_partition([Column("int", np.array([1, 2, 3, 1]))], 4)
    array([3, 0, 3, 3], dtype=int32)
    """
    check_shards(shards)
    length = check_columns(columns, length)
    check_offsets(columns)
    hashes = np.zeros(length, np.uint64)
    for column in columns:
        hashes = (hashes ^ _word_column(normalize_column(column))) * np.uint64(0x9E3779B97F4A7C15)
        hashes ^= hashes >> np.uint64(32)
    hashes = _mix_words(hashes)
    # The high half scaled to the shards: no modulo, and as even as the hash.
    return (((hashes >> np.uint64(32)) * np.uint64(shards)) >> np.uint64(32)).astype(np.int32)


def exchange_rows(keys: Sequence[Column], values: Sequence[Array], outs: Sequence[Sequence[Array]], ends: Ints) -> None:
    """Rows to the shards of their keys: the values of shard s are appended to `outs[…][s]`, of each column, in order.

    `ends[s]` values are there already; it is brought up to date.

    >>> outs, ends = [[np.zeros(3, np.int64) for _ in range(2)]], np.array([1, 0])
    >>> exchange_rows([Column("int", np.array([2, 1]))], [np.array([7, 8])], outs, ends)
    >>> outs, ends
    ([[array([0, 7, 0]), array([8, 0, 0])]], array([2, 1]))
    """
    length = check_exchange(keys, values, outs, ends)
    shard = hash_partition(keys, len(ends), length)
    for s, end in enumerate(ends.tolist()):
        rows = np.flatnonzero(shard == s)
        for value, out in zip(values, outs, strict=True):
            if len(rows) > len(out[s]) - end:
                raise ShardFull
            out[s][end : end + len(rows)] = value[rows]
        ends[s] += len(rows)


def check_exchange(keys: Sequence[Column], values: Sequence[Array], outs: Sequence[Sequence[Array]], ends: Ints) -> int:
    """What `exchange_rows` is given fits together; the number of rows."""
    check_array("ends", ends, np.int64)
    check_out(len(ends), ends=ends)
    check_shards(len(ends))
    length = check_columns(keys, len(values[0]) if values else None)
    if len(outs) != len(values) or any(len(out) != len(ends) for out in outs):
        raise KernelError("there must be an array for each column and shard")
    rooms = {len(out) for column in outs for out in column}
    if len(rooms) > 1 or (rooms and not 0 <= int(ends.min()) <= int(ends.max()) <= min(rooms)):
        raise KernelError("the arrays of all shards must be of one length, and hold what ends says")
    for value, column in zip(values, outs, strict=True):
        check_fixed(value)
        check_array("values", value, value.dtype, length)
        for out in column:
            check_array("out", out, value.dtype)
            if not out.flags.writeable or not out.flags.c_contiguous:
                raise KernelError("output arrays must be writable and contiguous")
    return length


def check_fixed(values: Array) -> None:
    wrong = not isinstance(values, np.ndarray) or values.ndim != 1 or values.dtype.hasobject
    if wrong or values.dtype.itemsize not in (1, 2, 4, 8):
        raise KernelError("values must be a one-dimensional array of 1, 2, 4 or 8 bytes each")


def take_fixed(values: Array, rows: Ints) -> Array:
    """`values[rows]`, for values of a fixed width of 1, 2, 4 or 8 bytes.

    >>> take_fixed(np.array([5, 6, 7], np.int16), np.array([2, 0]))
    array([7, 5], dtype=int16)
    """
    check_fixed(values)
    check_ids(rows, len(values), name="rows")
    return values[rows]


def _size_key(key: Any) -> int:
    return sys.getsizeof(key) + (sum(map(sys.getsizeof, key)) if isinstance(key, tuple) else 0)


def check_shards(shards: int) -> None:
    if not 1 <= shards < 2**31:
        raise KernelError(f"shards must be from 1 to {2**31 - 1}, not {shards}")


def check_columns(columns: Sequence[Column], length: int | None) -> int:
    """The number of rows, which all columns (and `length`, if given) agree on."""
    lengths = {len(column) for column in columns}
    if length is not None:
        lengths.add(length)
    if len(lengths) != 1:
        wanted = "give length= when there is no key column" if not lengths else "key columns differ in length"
        raise KernelError(f"{wanted}: {sorted(lengths)}")
    return lengths.pop()


def check_offsets(columns: Sequence[Column]) -> None:
    """The rows of bytes columns lie within their data; `Column` itself looks only at the ends."""
    for column in columns:
        if column.offsets is not None and (np.diff(column.offsets) < 0).any():
            raise KernelError(OFFSETS_OUTSIDE)


def check_kinds(columns: Sequence[Column], kinds: Sequence[str]) -> None:
    """The columns are of the kinds that a table holds."""
    found = [column.kind for column in columns]
    if found != list(kinds):
        raise KernelError(f"the table holds keys of {list(kinds)}, not {found}")


def normalize_column(column: Column) -> Column:
    """Wide, and floats such that equal keys are equal bits: one NaN, and no -0.0."""
    if column.kind != "float":
        return change_width(column, wide_kind(column.kind))
    with np.errstate(invalid="ignore"):
        data = column.data + 0.0
    data[np.isnan(data)] = np.nan
    return Column("float", data, None, column.valid)


def list_keys(columns: Sequence[Column]) -> list[Any]:
    """One Python value a row that is equal exactly if the keys are.

    Several numbers are packed into one bytes object, with a word that says which are null: a million tuples
    of numbers would take twice the memory, and the garbage collector would visit each.
    """
    if len(columns) == 1:
        return list_values(columns[0])
    numbers = [column for column in columns if column.kind != "bytes"]
    texts = [list_values(column) for column in columns if column.kind == "bytes"]
    if not numbers:
        return list(zip(*texts, strict=True))
    words = np.zeros((len(numbers[0]), len(numbers) + -(-len(numbers) // 64)), np.uint64)
    for place, column in enumerate(numbers):
        words[:, place] = column.data.view(np.uint64)
        if column.valid is not None:
            words[~column.valid, place] = 0
            words[:, len(numbers) + place // 64] |= (~column.valid).astype(np.uint64) << np.uint64(place % 64)
    packed = words.view(f"V{words.shape[1] * 8}").reshape(-1).tolist()
    return list(zip(packed, *texts, strict=True)) if texts else packed


def list_values(column: Column) -> list[Any]:
    """Python values that are equal exactly if the keys are; None for null.

    >>> list_values(Column("bytes", np.frombuffer(b"abc", np.uint8), np.array([0, 1, 3])))
    [b'a', b'bc']
    """
    if column.offsets is not None:
        data = column.data.tobytes()
        ends = column.offsets.tolist()
        values: list[Any] = [data[start:end] for start, end in itertools.pairwise(ends)]
    else:
        # A NaN is not equal to itself, its bits are.
        bits = column.data.view(np.int64) if column.kind == "float" else column.data
        values = bits.tolist()
    if column.valid is not None:
        for row in np.flatnonzero(~column.valid).tolist():
            values[row] = None
    return values


def _combine_codes(columns: Sequence[Column]) -> Ints:
    """One int64 a row that is equal exactly if all columns are."""
    total, cardinality = _encode_column(columns[0])
    for column in columns[1:]:
        codes, count = _encode_column(column)
        if cardinality * count > CODE_LIMIT:
            total, cardinality = _compress_codes(total)
        if cardinality * count > CODE_LIMIT:
            codes, count = _compress_codes(codes)
        total, cardinality = total * count + codes, cardinality * count
    return total


def _encode_column(column: Column) -> tuple[Ints, int]:
    """Codes from 0 to a cardinality; 0 is null if there is one. Narrow integers need no sort."""
    if column.kind == "bytes":
        codes, count = _encode_bytes(column)
    else:
        bits = column.data.view(np.int64) if column.kind == "float" else column.data
        if column.valid is not None:
            bits = np.where(column.valid, bits, bits[np.argmax(column.valid)])
        least = bits.min()
        count = int(bits.max()) - int(least) + 1
        if count < CODE_LIMIT:
            codes = (bits - least).view(np.int64)
        else:
            codes, count = _compress_codes(bits)
    if column.valid is None:
        return codes, count
    return np.where(column.valid, codes + 1, 0), count + 1


def _compress_codes(codes: Array) -> tuple[Ints, int]:
    values, dense = np.unique(codes, return_inverse=True)
    return dense.astype(np.int64, copy=False), len(values)


def _encode_bytes(column: Column) -> tuple[Ints, int]:
    """By Python's hash, which is seeded for each process as Arrow's is not."""
    numbers: dict[bytes | None, int] = {}
    codes = [numbers.setdefault(value, len(numbers)) for value in list_values(column)]
    return np.array(codes, np.int64), max(len(numbers), 1)


def _word_column(column: Column) -> Words:
    """One word a row: the number itself, a hash of the bytes, or the mark of a null."""
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
    # The byte plus one, so that zero bytes count too.
    np.cumsum((data[first:last].astype(np.uint64) + np.uint64(1)) * powers[places], out=sums[1:])
    rows = sums[offsets[1:] - first] - sums[offsets[:-1] - first]
    return rows + lengths.astype(np.uint64)


def _mix_words(words: Words) -> Words:
    """The finaliser of splitmix64: every input bit reaches every output bit."""
    words = (words ^ (words >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    words = (words ^ (words >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return words ^ (words >> np.uint64(31))
