"""The reference's group table and partition against dicts of Python values."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from oop.kernels.checks import KernelError
from oop.kernels.dispatch import kernels
from oop.kernels.views import DTYPES, Column, column, key_column, kind_of, to_arrow
from tests.kernels.cases import key_columns, quick

k = kernels("reference")

TYPES: dict[str, tuple[pa.DataType, st.SearchStrategy[Any]]] = {
    "narrow": (pa.int8(), st.integers(-3, 3)),
    "int": (pa.int64(), st.sampled_from([-(2**63), 2**63 - 1, 0, 1])),
    "uint": (pa.uint64(), st.sampled_from([0, 1, 2**63, 2**64 - 1])),
    "float": (pa.float64(), st.sampled_from([0.0, -0.0, float("nan"), 1.5, float("-inf")])),
    "text": (pa.string(), st.sampled_from(["", "a", "b", "ab", "a\0"])),
    "bool": (pa.bool_(), st.booleans()),
}


@st.composite
def batches_of_keys(draw: Any) -> tuple[list[pa.DataType], list[list[tuple[Any, ...]]]]:
    chosen = [TYPES[name] for name in draw(st.lists(st.sampled_from(sorted(TYPES)), min_size=1, max_size=4))]
    row = st.tuples(*(st.one_of(st.none(), values) for _, values in chosen))
    return [type for type, _ in chosen], draw(st.lists(st.lists(row, max_size=12), max_size=4))


def _comparable(key: tuple[Any, ...]) -> tuple[Any, ...]:
    return tuple("NaN" if value != value else value for value in key)


def _columns(types: list[pa.DataType], rows: list[tuple[Any, ...]]) -> list[Column]:
    return [column(pa.array([row[place] for row in rows], type)) for place, type in enumerate(types)]


@quick
@given(batches_of_keys())
def test_ids_are_dense_and_in_order_of_appearance(drawn: Any) -> None:
    types, batches = drawn
    table = k.GroupTable([kind_of(type) for type in types])
    model: dict[Any, int] = {}
    for rows in batches:
        wanted = [model.setdefault(_comparable(row), len(model)) for row in rows]
        assert table.map(_columns(types, rows)).tolist() == wanted
        assert len(table) == len(model)
    columns = [to_arrow(c, type).to_pylist() for c, type in zip(table.columns(), types, strict=True)]
    assert [_comparable(row) for row in zip(*columns, strict=True)] == list(model)


@quick
@given(batches_of_keys(), st.integers(1, 9))
def test_equal_keys_have_equal_shards(drawn: Any, shards: int) -> None:
    types, batches = drawn
    model: dict[Any, int] = {}
    for rows in batches:
        found = k.hash_partition(_columns(types, rows), shards, len(rows))
        assert found.dtype == np.int32
        for row, shard in zip(rows, found.tolist(), strict=True):
            assert 0 <= shard < shards
            assert model.setdefault(_comparable(row), shard) == shard


@pytest.mark.parametrize("label", ["sequence", "multiples", "floats", "text", "pairs"])
def test_shards_are_even(label: str) -> None:
    rows = np.arange(20_000)
    columns = {
        "sequence": [Column("int", rows)],
        "multiples": [Column("int", rows << 20)],
        "floats": [Column("float", rows * 0.25)],
        "text": [column(pa.array([f"host-{row}.example" for row in rows]))],
        "pairs": [Column("int", rows % 200), Column("int", rows // 200)],
    }[label]
    for shards in (2, 7, 16):
        counts = np.bincount(k.hash_partition(columns, shards, len(rows)), minlength=shards)
        assert (np.abs(counts - 20_000 / shards) < 6 * np.sqrt(20_000 / shards)).all()


def _mix(word: int) -> int:
    word = (word ^ (word >> 30)) * 0xBF58476D1CE4E5B9 % 2**64
    word = (word ^ (word >> 27)) * 0x94D049BB133111EB % 2**64
    return word ^ (word >> 31)


def _word_of(value: int | str | None) -> int:
    """The word of one value, written out: what every implementation must compute."""
    if value is None:
        return 0xA0761D6478BD642F
    if isinstance(value, int):
        return value % 2**64
    raw = value.encode()
    powers = (pow(0x100000001B3, place + 1, 2**64) for place in range(len(raw)))
    return (sum((byte + 1) * power for byte, power in zip(raw, powers, strict=True)) + len(raw)) % 2**64


def test_shards_do_not_change_between_releases() -> None:
    """Saved state is found again by shard, so the hash is fixed."""
    rows = [(1, "a"), (None, ""), (-1, None), (7, "long text")]
    wanted = []
    for row in rows:
        word = 0
        for value in row:
            word = (word ^ _word_of(value)) * 0x9E3779B97F4A7C15 % 2**64
            word ^= word >> 32
        wanted.append((_mix(word) >> 32) * 1000 >> 32)
    found = k.hash_partition(_columns([pa.int64(), pa.string()], rows), 1000, 4).tolist()
    assert found == wanted == [880, 638, 244, 222]


def test_no_key_is_one_group() -> None:
    table = k.GroupTable([])
    assert len(table) == 0
    assert table.map([], 0).tolist() == []
    assert len(table) == 0
    assert table.map([], 3).tolist() == [0, 0, 0]
    assert len(table) == 1
    assert table.columns() == []
    with pytest.raises(KernelError, match="length"):
        table.map([])


def test_key_columns_come_back_empty_and_in_their_kind() -> None:
    kinds = ["int", "uint", "float", "bytes"]
    assert [(c.kind, len(c)) for c in k.GroupTable(kinds).columns()] == [(kind, 0) for kind in kinds]


def test_bytes_grow_with_keys() -> None:
    table = k.GroupTable(["int"])
    empty = table.nbytes
    table.map([Column("int", np.arange(1000))])
    assert table.nbytes > empty + 8 * 1000


@pytest.mark.parametrize("label", sorted(label for label, columns in key_columns().items() if columns))
def test_splitting_a_batch_changes_nothing(label: str) -> None:
    columns = key_columns()[label]
    step = max(7, len(columns[0]) // 100)  # many pieces, but not thousands
    arrays = [
        to_arrow(c, pa.large_binary() if c.kind == "bytes" else pa.from_numpy_dtype(DTYPES[c.kind])) for c in columns
    ]
    whole, parts = k.GroupTable([c.kind for c in columns]), k.GroupTable([c.kind for c in columns])
    ids = [parts.map([key_column(a.slice(row, step)) for a in arrays]) for row in range(0, len(arrays[0]), step)]
    assert np.concatenate([*ids, np.zeros(0, np.int64)]).tolist() == whole.map(columns).tolist()


def test_a_table_that_grows_little_has_the_same_ids_and_less_room() -> None:
    pytest.importorskip("oop.kernels._native")
    tables = [kernels("native").GroupTable(["int"] * 4) for _ in range(2)]
    tables[1].grows_little = True
    random = np.random.default_rng(0)
    for _ in range(10):
        keys = [Column("int", random.integers(0, 2**40, 10_000)) for _ in range(4)]
        wanted, found = (table.map(keys) for table in tables)
        assert np.array_equal(wanted, found)
    assert len(tables[0]) == len(tables[1]) == 100_000
    assert all(np.array_equal(a.data, b.data) for a, b in zip(*(t.columns() for t in tables), strict=True))
    entries = 16 * 2**18
    assert tables[1].nbytes - entries <= 1.25 * 32 * len(tables[1]) < tables[0].nbytes - entries


def test_keys_whose_hashes_are_equal_are_told_apart() -> None:
    pytest.importorskip("oop.kernels._native")
    from oop.kernels.native import groups

    def fold(word: int) -> int:
        product = word * groups.FACTOR
        return (product ^ product >> 64) & (2**64 - 1)

    # The hash of two words is fold(fold(seed ^ a) ^ b), so this b gives all of these a's the same one.
    first = np.arange(1, 9, dtype=np.uint64)
    second = np.array([fold(groups.SEED ^ a) ^ 5 for a in first.tolist()], np.uint64)
    rows = np.random.default_rng(0).integers(0, len(first), 2_000)
    others = np.arange(2_000, dtype=np.uint64)
    table = groups.GroupTable(["uint", "uint"])
    for chosen in (slice(0, 3), slice(None)):  # first some of them, and then the rest beside those that are known
        here = rows[rows < 3] if chosen.stop else rows
        numbers = np.concatenate([here, 100 + np.arange(len(others))])
        keys = [Column("uint", np.concatenate([c[here], o])) for c, o in ((first, others), (second, others + 1))]
        known = table.map(keys)
        found = [(a, b) for a, b in zip(*(c.data[known].tolist() for c in table.columns()), strict=True)]
        assert found == list(zip(*(k.data.tolist() for k in keys), strict=True))
        assert len(np.unique(known)) == len(np.unique(numbers))


def test_a_table_that_expects_many_groups_begins_larger() -> None:
    pytest.importorskip("oop.kernels._native")
    from oop.kernels.native.groups import GroupTable

    table, keys = GroupTable(["int"]), np.arange(1_000)
    small = table.room
    table.reserve(64 * 100)
    assert table.room >= 100 > small
    assert table.map([Column("int", keys)]).tolist() == keys.tolist()
    room = table.room
    table.reserve(64 * 10 * room)  # it has groups, and grows as they come
    assert table.room == room
