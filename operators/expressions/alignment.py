"""Values and literals beside each other, brought to types that go together and for which pyarrow has kernels.

A scalar always stands for a literal (columns are arrays), so a rule for literals looks at scalars only.
"""

from __future__ import annotations

from datetime import date, datetime, timedelta
from decimal import Decimal
from typing import Any

import pyarrow as pa
from pyarrow import types

from oop.operators.core.compute import compute as pc
from oop.operators.expressions.kinds import check_comparable

Datum = Any  # pa.Array | pa.Scalar: pyarrow has no common base for the two, nor type hints


def natural(value: object) -> pa.Scalar:
    """A Python value as the scalar that holds it exactly.

    >>> natural(300).type, natural(2**63).type
    (DataType(int64), DataType(uint64))
    """
    if isinstance(value, int) and not isinstance(value, bool) and not -(2**63) <= value < 2**63:
        return pa.scalar(value, pa.uint64()) if 0 < value < 2**64 else pa.scalar(Decimal(value))
    return pa.scalar(value)


def is_exact(value: object) -> bool:
    """Whether a column equal to this literal holds just this value, as Python compares values."""
    if isinstance(value, Decimal):
        return value.is_finite() and Decimal(float(value)) == value
    if isinstance(value, float):
        return abs(value) < 2**53  # beyond, integers round to it; NaN fails too
    return isinstance(value, (bool, int, str, bytes, date, datetime, timedelta))


def broadcast(value: Datum, rows: int) -> pa.Array:
    return pa.repeat(value, rows) if isinstance(value, pa.Scalar) else value


def plain(value: Datum) -> Datum:
    """Without dictionary and view encodings, for which most of pyarrow's functions have no kernel."""
    kind = value.type
    if types.is_dictionary(kind):
        return plain(value.cast(kind.value_type))
    if types.is_string_view(kind):
        return value.cast(pa.string())
    return value.cast(pa.binary()) if types.is_binary_view(kind) else value


def to_double(value: Datum) -> Datum:
    """Rounded to the nearest double, where pyarrow would refuse integers beyond 2**53."""
    return pc.cast(value, options=pc.CastOptions(pa.float64(), allow_float_truncate=True))


def align(a: Datum, b: Datum) -> tuple[Datum, Datum]:
    """Operands: literals in the unit of the column, integers beside floats as doubles."""
    a, b = plain(a), plain(b)
    a, b = _beside(a, b.type), _beside(b, a.type)
    if types.is_floating(a.type) and types.is_integer(b.type):
        return a, to_double(b)
    if types.is_integer(a.type) and types.is_floating(b.type):
        return to_double(a), b
    return a, b


def _beside(value: Datum, other: pa.DataType) -> Datum:
    """A literal in the unit or sign of the operand beside it, if it fits exactly: ts[s] + 5 s stays ts[s]."""
    kind = value.type
    if not isinstance(value, pa.Scalar) or not value.is_valid:
        return value
    target = None
    if types.is_duration(kind) and (types.is_timestamp(other) or types.is_duration(other)):
        target = pa.duration(other.unit)
    elif (
        (types.is_integer(kind) and types.is_uint64(other) and value.as_py() >= 0)
        or (types.is_timestamp(kind) and types.is_timestamp(other) and (kind.tz is None) == (other.tz is None))
        or (types.is_string(kind) and types.is_large_string(other))
    ):
        target = other
    try:
        return value if target is None else value.cast(target)
    except pa.ArrowInvalid:
        return value


def as_integer(value: Datum, other: pa.DataType) -> Datum:
    """Keep a comparison exact: 3.0 beside an integer column is 3; 2**53 + 1 beside floats is refused."""
    if not isinstance(value, pa.Scalar) or not value.is_valid:
        return value
    number = value.as_py()
    if types.is_integer(other) and isinstance(number, float) and number.is_integer() and abs(number) < 2**63:
        return pa.scalar(int(number))
    return value.cast(pa.float64()) if types.is_floating(other) and types.is_integer(value.type) else value


def typed_null(value: Datum, other: pa.DataType) -> Datum:
    return value.cast(other) if types.is_null(value.type) else value


def align_alternatives(a: Datum, b: Datum) -> tuple[Datum, Datum]:
    """Two alternatives for one result: a literal takes the type of the column beside it."""
    a, b = plain(a), plain(b)
    check_comparable(a.type, b.type, exact=False)
    return align(_fitted(a, b.type), _fitted(b, a.type))


def _fitted(value: Datum, other: pa.DataType) -> Datum:
    """A literal as the column's own type where that loses nothing, so that the column keeps its type."""
    kinds = (value.type, other)
    same = all(map(types.is_integer, kinds)) or all(map(types.is_floating, kinds))
    if same and isinstance(value, pa.Scalar):
        try:
            cast_value = value.cast(other)
        except pa.ArrowInvalid:
            return value
        return cast_value if cast_value.as_py() == value.as_py() else value
    return typed_null(value, other)
