"""In which type the keys of two sides are compared, and whether they meet on one worker."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.types as pt

from oop.errors import SchemaMismatch
from oop.kernels import views
from oop.operators.rows.layout import as_type

NamedType = tuple[str, pa.DataType]
_UNITS = ("s", "ms", "us", "ns")


def common_type(left: NamedType, right: NamedType) -> pa.DataType:
    """The type that holds the values of both columns; SchemaMismatch if there is none.

    >>> common_type(("a", pa.int32()), ("b", pa.int64()))
    DataType(int64)
    >>> common_type(("a", pa.int32()), ("b", pa.string()))
    Traceback (most recent call last):
        ...
    oop.errors.SchemaMismatch: the keys 'a' (int32) and 'b' (string) cannot be compared
    Hint: cast one of them: .with_columns(b=oop.col('b').cast('int32'))
    """
    a, b = (views.value_type(type_) for _, type_ in (left, right))
    for type_ in (a, b):
        views.kind_of(type_)  # refuses what cannot be a key
    found = a if a == b else _wider(a, b)
    if found is None:
        raise SchemaMismatch(
            f"the keys {left[0]!r} ({left[1]}) and {right[0]!r} ({right[1]}) cannot be compared",
            hint=f"cast one of them: .with_columns({right[0]}=oop.col({right[0]!r}).cast('{a}'))",
        )
    return found


def _wider(a: pa.DataType, b: pa.DataType) -> pa.DataType | None:
    if pt.is_null(a) or pt.is_null(b):
        return b if pt.is_null(a) else a
    if pt.is_integer(a) and pt.is_integer(b):
        if pa.uint64() not in (a, b):
            return pa.int64()
        return pa.uint64() if pt.is_unsigned_integer(a) and pt.is_unsigned_integer(b) else None
    if pt.is_floating(a) and pt.is_floating(b):
        return pa.float64()
    if _is_text(a) and _is_text(b):
        return pa.large_string()
    if _is_binary(a) and _is_binary(b):
        return pa.large_binary()
    if pt.is_decimal(a) and pt.is_decimal(b) and a.scale == b.scale:
        precision = max(a.precision, b.precision)
        return pa.decimal128(precision, a.scale) if precision <= 38 else pa.decimal256(precision, a.scale)
    if pt.is_timestamp(a) and pt.is_timestamp(b) and (a.tz is None) == (b.tz is None):
        return pa.timestamp(_finer(a, b), a.tz)
    if pt.is_duration(a) and pt.is_duration(b):
        return pa.duration(_finer(a, b))
    if pt.is_date(a) and pt.is_date(b):
        return pa.date32()
    if pt.is_time(a) and pt.is_time(b):
        unit = _finer(a, b)
        return pa.time32(unit) if unit in ("s", "ms") else pa.time64(unit)
    return None


def as_key(array: pa.Array, type_: pa.DataType) -> pa.Array:
    """A key column in the type in which it is compared. A value that does not fit has no equal, so it becomes null.

    >>> as_key(pa.array([1, 10**12], pa.timestamp("s")), pa.timestamp("ns")).null_count
    1
    """
    try:
        return as_type(array, type_)
    except pa.ArrowInvalid:
        if len(array) == 1:
            return pa.nulls(1, type_)
        half = len(array) // 2
        return pa.concat_arrays([as_key(array.slice(0, half), type_), as_key(array.slice(half), type_)])


def same_shard(a: pa.DataType, b: pa.DataType) -> bool:
    """Does a value hash alike in both types, so that equal keys reach the same worker?

    >>> same_shard(pa.int8(), pa.int64()), same_shard(pa.float32(), pa.float64())
    (True, False)
    """
    a, b = views.value_type(a), views.value_type(b)
    if a == b or (pt.is_integer(a) and pt.is_integer(b)):
        return True
    return {a, b} == {pa.string(), pa.large_string()}


def _finer(a: pa.DataType, b: pa.DataType) -> str:
    return max(a.unit, b.unit, key=_UNITS.index)


def _is_text(type_: pa.DataType) -> bool:
    return bool(pt.is_string(type_) or pt.is_large_string(type_) or pt.is_string_view(type_))


def _is_binary(type_: pa.DataType) -> bool:
    return bool(pt.is_binary(type_) or pt.is_large_binary(type_) or pt.is_binary_view(type_))
