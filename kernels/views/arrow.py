"""Arrow columns as arrays, without a copy where widths agree, and arrays as Arrow columns."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.types as pt

from oop.errors import SchemaMismatch, TimeError
from oop.kernels.checks import FLOAT64, INT64, INT64_MAX, Array, Bools
from oop.kernels.views.columns import DTYPES, NARROW, WIDE, Column, wide_kind

_INTEGERS = [make() for sign in ("int", "uint") for bits in (8, 16, 32, 64) for make in [getattr(pa, f"{sign}{bits}")]]
_FLOATS = [pa.float16(), pa.float32(), pa.float64()]
_DATES = [pa.date32(), pa.date64(), pa.timestamp("s")]
_OTHER_TIMES = [pa.time32("s"), pa.time64("us"), pa.duration("s")]
# How numbers and times lie in memory, by the id of their type, which does not depend on unit and time zone. Every
# column of every batch is looked up, and a type itself would take longer to look up than its id.
_FIXED_DTYPES: dict[int, np.dtype[Any]] = {
    **{type.id: np.dtype(type.to_pandas_dtype()) for type in (*_INTEGERS, *_FLOATS)},
    **{type.id: np.dtype(f"int{type.bit_width}") for type in (*_DATES, *_OTHER_TIMES)},
}
_TIME_TYPES = frozenset(type.id for type in (*_INTEGERS, *_FLOATS, *_DATES))
_DICTIONARY: int = pa.dictionary(pa.int32(), pa.int32()).id


@functools.cache
def kind_of(type: pa.DataType) -> str:
    """The kind of `Column` that holds an Arrow type.

    >>> kind_of(pa.timestamp("us", tz="UTC")), kind_of(pa.dictionary(pa.int8(), pa.string()))
    ('int', 'bytes')
    """
    if isinstance(type, pa.BaseExtensionType):
        return kind_of(type.storage_type)
    if pt.is_dictionary(type):
        return kind_of(type.value_type)
    if pt.is_unsigned_integer(type):
        return "uint"
    if pt.is_floating(type):
        return "float"
    if _is_variable(type) or pt.is_fixed_size_binary(type) or pt.is_decimal(type):
        return "bytes"
    if pt.is_integer(type) or pt.is_boolean(type) or pt.is_null(type):
        return "int"
    if pt.is_date(type) or pt.is_time(type) or pt.is_timestamp(type) or pt.is_duration(type):
        return "int"
    raise SchemaMismatch(
        f"a column of type {type} cannot be a key or a value here",
        hint="use numbers, booleans, dates, times, strings, binary or decimals; take structs and lists apart",
    )


def column(array: pa.Array | pa.ChunkedArray) -> Column:
    """The arrays of an Arrow column, without a copy where widths agree.

    >>> column(pa.array([1, None, 3], pa.int32())).valid.tolist()
    [True, False, True]
    """
    kind = kind_of(array.type)
    values = fixed_values(array)
    if values is not None:
        return Column(kind, values.astype(WIDE[kind], copy=False))
    plain = _flatten(array)
    valid = _valid(plain)
    type = plain.type
    if pt.is_null(type):
        return Column(kind, np.zeros(len(plain), np.int64), None, valid)
    if pt.is_large_binary(type) or pt.is_large_string(type):
        return _view_variable(plain, np.int64, valid)
    if pt.is_binary(type) or pt.is_string(type):
        return _view_variable(plain, np.int32, valid)
    if kind == "bytes":
        width = type.byte_width
        data = _view_buffer(plain.buffers()[1], np.uint8, plain.offset * width, len(plain) * width)
        return Column(kind, data, np.arange(len(plain) + 1, dtype=np.int64) * width, valid)
    data = _view_fixed(plain)
    return Column(kind, data.astype(DTYPES[kind], copy=False), None, valid)


def value_type(type: pa.DataType) -> pa.DataType:
    """The type of the values of a dictionary column; any other type as it is.

    >>> value_type(pa.dictionary(pa.int8(), pa.string()))
    DataType(string)
    """
    return type.value_type if pt.is_dictionary(type) else type


@functools.cache
def key_kind(type: pa.DataType) -> str:
    """The kind of `Column` in which an Arrow type serves as a key: integers in their own width.

    >>> key_kind(pa.int32()), key_kind(pa.timestamp("us")), key_kind(pa.bool_()), key_kind(pa.float32())
    ('int32', 'int', 'int8', 'float')
    """
    kind = kind_of(type)
    if isinstance(type, pa.BaseExtensionType):
        return key_kind(type.storage_type)
    if pt.is_dictionary(type):
        return key_kind(type.value_type)
    if kind not in ("int", "uint") or pt.is_null(type):
        return kind
    bits = 8 if pt.is_boolean(type) else type.bit_width
    return kind if bits == 64 else f"{kind}{bits}"


def key_column(array: pa.Array | pa.ChunkedArray) -> Column:
    """The arrays of an Arrow column as a key, without a copy unless it must be decoded.

    >>> key_column(pa.array([1, None, 3], pa.int16())).data.dtype
    dtype('int16')
    """
    kind = key_kind(array.type)
    narrow = NARROW.get(kind)
    values = fixed_values(array)
    if values is not None:
        return Column(kind, values.astype(WIDE[kind], copy=False) if narrow is None else values.view(narrow))
    if narrow is None:
        return column(array)
    plain = _flatten(array)
    return Column(kind, _view_fixed(plain).view(NARROW[kind]), None, _valid(plain))


def times(array: pa.Array | pa.ChunkedArray) -> Array:
    """A time column as int64 (in its own unit) or float64, without nulls.

    >>> times(pa.array([0, 86_400], pa.timestamp("s")))
    array([    0, 86400])
    """
    if array.type.id == _DICTIONARY:
        array = _flatten(array)
    if array.type.id not in _TIME_TYPES:
        raise SchemaMismatch(
            f"a column of type {array.type} cannot be a time column",
            hint="a time column is an integer, float, date32, date64 or timestamp; cast it first",
        )
    values = fixed_values(array)
    if values is not None and (values.dtype == INT64 or values.dtype == FLOAT64):  # nearly always
        return values
    view = column(array)
    if view.valid is not None:
        raise TimeError(f"the time column is null in row {int(np.argmin(view.valid))}")
    if view.kind == "uint":
        if len(view) and int(view.data.max()) > INT64_MAX:
            raise TimeError(f"time {int(view.data.max())} does not fit a 64-bit signed integer")
        return view.data.astype(np.int64)
    return view.data


def booleans(array: pa.BooleanArray) -> Bools:
    """A boolean column without nulls as an array. Arrow's own conversion would load pandas where it is installed.

    >>> booleans(pa.array([True, False, True]).slice(1))
    array([False,  True])
    """
    bits = array.buffers()[1]
    if bits is None or not len(array):
        return np.zeros(len(array), np.bool_)
    first, last = array.offset // 8, -(-(array.offset + len(array)) // 8)
    found = np.unpackbits(np.frombuffer(bits, np.uint8, last - first, first), bitorder="little")
    start = array.offset - 8 * first
    return found[start : start + len(array)].view(np.bool_)


def fixed_values(array: pa.Array | pa.ChunkedArray) -> Array | None:
    """The values of a column of numbers or times without nulls, as they lie in memory; None for any other column.

    >>> fixed_values(pa.array([1, 2], pa.int16())), fixed_values(pa.array(["a"]))
    (array([1, 2], dtype=int16), None)
    """
    dtype = _FIXED_DTYPES.get(array.type.id)
    if dtype is None or array.null_count or not isinstance(array, pa.Array):
        return None
    buffer, count = array.buffers()[1], len(array)
    if buffer is None or not count:
        return np.zeros(count, dtype)
    # as in `_view_buffer`, but without a call, because every batch takes this path
    items = np.frombuffer(buffer, dtype, count, array.offset * dtype.itemsize)
    return items if items.flags.aligned else items.copy()


def fixed_column(array: pa.Array) -> tuple[Array, Bools | None]:
    """The values of a column of numbers or times as they lie in memory, and which of them are valid (None: all).

    >>> fixed_column(pa.array([1, None], pa.int16()))[1]
    array([ True, False])
    """
    plain = _flatten(array)
    return _view_buffer(plain.buffers()[1], fixed_dtype(plain.type), plain.offset, len(plain)), _valid(plain)


def to_arrow(view: Column, type: pa.DataType) -> pa.Array:
    """The Arrow array of `type` that `column` would turn into `view`; shares memory where widths agree.

    Only `oop.kernels.dictionaries.to_arrow_type` makes dictionary columns, because that takes a table of the kernels.

    >>> to_arrow(Column("int", np.array([0, 1])), pa.bool_()).to_pylist()
    [False, True]
    """
    if kind_of(type) != wide_kind(view.kind):
        raise SchemaMismatch(f"a column of kind {view.kind} cannot become {type}")
    if isinstance(type, pa.BaseExtensionType):
        return pa.ExtensionArray.from_storage(type, to_arrow(view, type.storage_type))
    if type.id == _DICTIONARY:
        raise SchemaMismatch(f"values are encoded as {type} by oop.kernels.dictionaries")
    if pt.is_null(type):
        return pa.nulls(len(view))
    validity = None if view.valid is None else pa.py_buffer(np.packbits(view.valid, bitorder="little"))
    if view.kind == "bytes":
        return _bytes_to_arrow(view, type, validity)
    if view.kind == "float":
        dtype = type.to_pandas_dtype()
        with np.errstate(over="ignore"):
            data = view.data.astype(dtype, copy=False)
        return pa.Array.from_buffers(type, len(view), [validity, pa.py_buffer(np.ascontiguousarray(data))])
    held = pa.from_numpy_dtype(view.data.dtype)
    values = pa.Array.from_buffers(held, len(view), [validity, pa.py_buffer(np.ascontiguousarray(view.data))])
    if held == type:
        return values
    if pt.is_integer(type) or pt.is_boolean(type):
        return values.cast(type)
    # Dates, times, timestamps and durations are numbers of their own width under another name.
    return values.cast(pa.int32() if type.bit_width == 32 else pa.int64()).view(type)


def _valid(array: pa.Array) -> Bools | None:
    return None if array.null_count == 0 else booleans(array.is_valid())


def _is_variable(type: pa.DataType) -> bool:
    """Is the type text or binary of variable length, in any of Arrow's layouts?"""
    if pt.is_string(type) or pt.is_large_string(type) or pt.is_string_view(type):
        return True
    return bool(pt.is_binary(type) or pt.is_large_binary(type) or pt.is_binary_view(type))


def _flatten(array: pa.Array | pa.ChunkedArray) -> pa.Array:
    """One chunk, with dictionaries decoded, extensions as their storage, and no string views."""
    if isinstance(array, pa.ChunkedArray):
        chunks = [_flatten(chunk) for chunk in array.chunks]
        if not chunks:
            return _flatten(pa.nulls(0, array.type))
        if len(chunks) == 1:
            return chunks[0]
        if pt.is_string(chunks[0].type) or pt.is_binary(chunks[0].type):
            # Together the chunks may hold more than 32-bit offsets reach.
            chunks = [chunk.cast(pa.large_binary()) for chunk in chunks]
        return pa.concat_arrays(chunks)
    if isinstance(array.type, pa.BaseExtensionType):
        return _flatten(array.storage)
    if pt.is_dictionary(array.type):
        values = _flatten(array.dictionary)
        if pt.is_string(values.type) or pt.is_binary(values.type):
            # A short dictionary may decode to more than 32-bit offsets reach.
            values = values.cast(pa.large_binary())
        return values.take(array.indices)
    if pt.is_string_view(array.type) or pt.is_binary_view(array.type):
        return array.cast(pa.large_binary())
    return array


def _view_buffer(buffer: pa.Buffer | None, dtype: Any, start: int, count: int) -> Array:
    """`count` items of an Arrow buffer from item `start`, aligned."""
    if buffer is None or not count:
        return np.zeros(count, dtype)
    items = np.frombuffer(buffer, dtype, count, start * np.dtype(dtype).itemsize)
    # A memory-mapped file may hold its buffers at any address; C and Numba need aligned ones.
    return items if items.flags.aligned else items.copy()


def _view_fixed(array: pa.Array) -> Array:
    """The numbers of a fixed-width array in their own width, nulls included."""
    if pt.is_boolean(array.type):
        return _view_fixed(array.cast(pa.uint8()))
    dtype = fixed_dtype(array.type)
    assert dtype is not None
    return _view_buffer(array.buffers()[1], dtype, array.offset, len(array))


def fixed_dtype(type: pa.DataType) -> np.dtype[Any] | None:
    """How numbers and times lie in memory; None for every other type."""
    return _FIXED_DTYPES.get(type.id)


def _view_variable(array: pa.Array, dtype: Any, valid: Bools | None) -> Column:
    if not len(array):
        return Column("bytes", np.zeros(0, np.uint8), np.zeros(1, np.int64), valid)
    _, offsets_buffer, data_buffer = array.buffers()
    offsets = _view_buffer(offsets_buffer, dtype, array.offset, len(array) + 1)
    first, last = int(offsets[0]), int(offsets[-1])
    data = _view_buffer(data_buffer, np.uint8, first, last - first)
    offsets = offsets.astype(np.int64, copy=False)
    return Column("bytes", data, offsets - first if first else offsets, valid)


def _bytes_to_arrow(view: Column, type: pa.DataType, validity: pa.Buffer | None) -> pa.Array:
    assert view.offsets is not None
    if pt.is_fixed_size_binary(type) or pt.is_decimal(type):
        width = type.byte_width
        data = _pad_rows(view, width, type)
        return pa.Array.from_buffers(type, len(view), [validity, pa.py_buffer(data)])
    text = pt.is_string(type) or pt.is_large_string(type) or pt.is_string_view(type)
    large = pa.large_string() if text else pa.large_binary()
    buffers = [validity, pa.py_buffer(np.ascontiguousarray(view.offsets)), pa.py_buffer(view.data)]
    return pa.Array.from_buffers(large, len(view), buffers).cast(type)


def _pad_rows(view: Column, width: int, type: pa.DataType) -> Array:
    """Rows of exactly `width` bytes each; those under a null may have had any length."""
    assert view.offsets is not None
    lengths = np.diff(view.offsets)
    wrong = lengths != width
    if not wrong.any():
        return np.ascontiguousarray(view.data[view.offsets[0] : view.offsets[-1]])
    if view.valid is None or (wrong & view.valid).any():
        raise SchemaMismatch(f"values that are not {width} bytes long cannot become {type}")
    rows = np.zeros((len(view), width), np.uint8)
    keep = np.flatnonzero(~wrong)
    rows[keep] = view.data[view.offsets[keep][:, None] + np.arange(width)]
    return rows.reshape(-1)
