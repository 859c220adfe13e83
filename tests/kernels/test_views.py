"""Every Arrow type that may be a key or a value becomes arrays and comes back the same."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from oop.errors import SchemaMismatch, TimeError
from oop.kernels import dictionaries, views
from oop.kernels.checks import KernelError

NUMBERS = [pa.int8(), pa.int16(), pa.int32(), pa.int64(), pa.uint8(), pa.uint16(), pa.uint32(), pa.uint64()]
NUMBERS += [pa.float16(), pa.float32(), pa.float64(), pa.date32(), pa.time32("s"), pa.time32("ms")]
NUMBERS += [
    pa.time64("us"),
    pa.time64("ns"),
    pa.duration("s"),
    pa.duration("ns"),
    pa.timestamp("ns", tz="UTC"),
]
NUMBERS += [pa.timestamp(unit) for unit in ("s", "ms", "us")]
TEXTS = [pa.string(), pa.large_string(), pa.string_view(), pa.binary(), pa.large_binary(), pa.binary_view()]
DECIMALS = [pa.decimal128(10, 2), pa.decimal256(60, 2)]


def _arrays() -> list[pa.Array]:
    arrays = [pa.array([1, None, 3, 0], pa.int64()).cast(pa.int32()).cast(pa.float64()).cast(pa.float16())]
    arrays += [pa.array([1, None, 3, 0], type) for type in NUMBERS if type != pa.float16()]
    arrays += [pa.array(["a", None, "", "bcé"], type) for type in TEXTS]
    arrays += [pa.array([Decimal("-1.23"), None, Decimal("9.00")], type) for type in DECIMALS]
    arrays += [
        pa.array([86_400_000, None, -86_400_000], pa.date64()),
        pa.array([True, None, False]),
        pa.array([b"abc", None, b"xyz"], pa.binary(3)),
        pa.array([b"", None], pa.binary(0)),
        pa.nulls(3),
        pa.array([b"0123456789abcdef", None], pa.uuid()) if hasattr(pa, "uuid") else pa.nulls(1),
    ]
    values = [pa.array(["x", None, "y"]), pa.array([5, 6, 7]), pa.array([0.5, None, 1.5])]
    values += [pa.array([Decimal("1.5"), Decimal("2.5"), None]), pa.array(["x", "y", None], pa.string_view())]
    for dictionary in values:
        for index in (pa.int8(), pa.uint16(), pa.int64()):
            indices = pa.array([0, 1, None, 0, 2], index)
            arrays.append(pa.DictionaryArray.from_arrays(indices, dictionary))
    return arrays


@pytest.mark.parametrize("array", _arrays(), ids=lambda array: str(array.type))
def test_round_trip(array: pa.Array) -> None:
    pieces: list[Any] = [array, array.slice(1), array.slice(1, 1), array.slice(0, 1), array.slice(0, 0)]
    pieces += [pa.chunked_array([array, array.slice(1)]), pa.chunked_array([], array.type)]
    for piece in pieces:
        view = views.column(piece)
        assert view.kind == views.kind_of(array.type)
        assert len(view) == len(piece)
        assert (view.valid is None) == (None not in piece.to_pylist())
        back = dictionaries.to_arrow_type(view, array.type)
        back.validate(full=True)
        assert back.type == array.type
        assert back.to_pylist() == piece.to_pylist()
        rows = views.take_rows(view, np.arange(len(view)))
        twice = dictionaries.to_arrow_type(views.concat_columns(view.kind, [rows, view]), array.type)
        assert twice.to_pylist() == piece.to_pylist() * 2
        if isinstance(array.type, pa.DictionaryType):
            plain = views.to_arrow(view, array.type.value_type)
            assert plain.type == array.type.value_type
            assert plain.to_pylist() == piece.to_pylist()


@pytest.mark.parametrize(
    "type", [pa.struct([("a", pa.int8())]), pa.list_(pa.int8()), pa.map_(pa.int8(), pa.int8())], ids=str
)
def test_nested_types_are_refused_by_name(type: pa.DataType) -> None:
    for call in (lambda: views.kind_of(type), lambda: views.column(pa.nulls(1, type))):
        with pytest.raises(SchemaMismatch) as raised:
            call()
        assert str(type) in str(raised.value)


def test_wide_columns_are_not_copied() -> None:
    array = pa.array([1, 2, 3], pa.timestamp("us"))
    at = array.buffers()[1].address
    assert views.times(array).ctypes.data == at
    assert views.times(array.slice(1)).ctypes.data == at + 8
    assert views.column(pa.chunked_array([array])).data.ctypes.data == at


TIMES = [*(type for type in NUMBERS if pa.types.is_integer(type)), pa.float16(), pa.float32(), pa.float64()]
TIMES += [pa.date32(), pa.timestamp("s"), pa.timestamp("ns", tz="Europe/Paris")]


@pytest.mark.parametrize("type", TIMES, ids=str)
def test_times(type: pa.DataType) -> None:
    array = pa.array(np.array([7, 1], np.float16)) if type == pa.float16() else pa.array([7, 1], type)
    found = views.times(array)
    assert found.tolist() == [7, 1]
    assert found.dtype == (np.float64 if pa.types.is_floating(type) else np.int64)
    assert views.times(pa.chunked_array([array, array])).tolist() == [7, 1, 7, 1]


def test_times_before_1970() -> None:
    assert views.times(pa.array([-1, -(2**62)], pa.timestamp("us"))).tolist() == [-1, -(2**62)]
    assert views.times(pa.array([-86_400_000], pa.date64())).tolist() == [-86_400_000]


def test_what_cannot_be_a_time() -> None:
    for type in (
        pa.bool_(),
        pa.string(),
        pa.time32("s"),
        pa.duration("s"),
        pa.decimal128(5),
        pa.list_(pa.int8()),
    ):
        with pytest.raises(SchemaMismatch, match="timestamp"):
            views.times(pa.nulls(1, type))
    with pytest.raises(TimeError, match="row 1"):
        views.times(pa.array([1, None]))
    with pytest.raises(TimeError, match=str(2**63)):
        views.times(pa.array([2**63], pa.uint64()))


def test_decimals_are_equal_as_bytes() -> None:
    view = views.column(pa.array([Decimal("1.50"), Decimal("1.5"), Decimal("-1.5")], pa.decimal128(9, 2)))
    assert view.offsets is not None
    rows = [view.data[i : i + 16].tobytes() for i in view.offsets[:-1]]
    assert rows[0] == rows[1] != rows[2]


def test_unaligned_buffers_become_aligned() -> None:
    raw = pa.py_buffer(b"\0" + np.array([1, 2], np.int64).tobytes()).slice(1)
    array = pa.Array.from_buffers(pa.int64(), 2, [None, raw])
    assert views.times(array).flags.aligned
    assert views.times(array).tolist() == [1, 2]


def test_columns_check_themselves() -> None:
    good = np.array([1])
    for wrong in (
        lambda: views.Column("text", good),
        lambda: views.Column("float", good),
        lambda: views.Column("int", good, good),
        lambda: views.Column("bytes", np.zeros(3, np.uint8)),
        lambda: views.Column("bytes", np.zeros(3, np.uint8), np.array([0, 4])),
        lambda: views.Column("int", good, None, np.array([True, True])),
    ):
        with pytest.raises(KernelError):
            wrong()
    with pytest.raises(SchemaMismatch):
        views.to_arrow(views.Column("int", good), pa.string())
    with pytest.raises(pa.ArrowInvalid):
        views.to_arrow(views.Column("int", np.array([300])), pa.int8())
