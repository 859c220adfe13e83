"""What the functions of column expressions compute: Arrow arrays and scalars in, the same out.

pyarrow does the work. This module adds what it lacks: integers that are floored and never wrap, literals
that take the unit of the column beside them, integers of any size beside floats, nulls and NaN that stay.
A scalar always stands for a literal (columns are arrays), so a rule for literals looks at scalars only.
A function raises TypeError for types that do not fit; whatever else pyarrow raises is about the values.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from decimal import Decimal
from functools import reduce
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import types

Value = Any  # pa.Array | pa.Scalar: pyarrow has no common base for the two, nor type hints

_PER_SECOND = {"s": 1, "ms": 1_000, "us": 1_000_000, "ns": 1_000_000_000}
_UTC = (None, "UTC", "Etc/UTC", "+00:00")
_FAMILIES: tuple[tuple[str, Callable[[pa.DataType], bool]], ...] = (
    ("number", lambda t: types.is_integer(t) or types.is_floating(t) or types.is_decimal(t)),
    ("string", lambda t: types.is_string(t) or types.is_large_string(t)),
    ("binary", lambda t: types.is_binary(t) or types.is_large_binary(t) or types.is_fixed_size_binary(t)),
    ("date", types.is_date),
    ("timestamp", types.is_timestamp),
)


def natural(value: object) -> pa.Scalar:
    """A Python value as the scalar that holds it exactly.

    >>> natural(300).type, natural(2**63).type
    (DataType(int64), DataType(uint64))
    """
    if isinstance(value, int) and not isinstance(value, bool) and not -(2**63) <= value < 2**63:
        return pa.scalar(value, pa.uint64()) if 0 < value < 2**64 else pa.scalar(Decimal(value))
    return pa.scalar(value)


def ordered(kind: pa.DataType) -> bool:
    """Whether values of this type have a physical order that a bound can follow."""
    return (
        types.is_integer(kind) or types.is_float32(kind) or types.is_float64(kind)
        or types.is_date(kind) or types.is_timestamp(kind) or types.is_duration(kind)
    )  # fmt: skip


def physical(kind: pa.DataType) -> pa.DataType:
    """The number type under an ordered type: days of a date32, units since the epoch of a timestamp."""
    if types.is_integer(kind) or types.is_floating(kind):
        return kind
    return pa.int32() if types.is_date32(kind) else pa.int64()


def keeps_order(source: pa.DataType, target: pa.DataType) -> bool:
    """Whether a cast is non-decreasing, for every value that it does not refuse.

    >>> keeps_order(pa.int32(), pa.int64()), keeps_order(pa.int64(), pa.int32())
    (True, False)
    """
    if source == target:
        return True
    if types.is_integer(source):
        if types.is_integer(target):
            low, high = _range(source)
            return _range(target)[0] <= low and high <= _range(target)[1]
        if types.is_timestamp(target):
            return bool(source == pa.int64())
        return types.is_float32(target) or types.is_float64(target)
    if types.is_timestamp(source):
        # The date of a zoned timestamp is its local date, and local time runs backwards at a change of clock.
        if types.is_date32(target):
            return source.tz in _UTC
        return types.is_timestamp(target) or bool(target == pa.int64())
    if types.is_date32(source):
        return types.is_timestamp(target) and target.tz in _UTC
    return types.is_float32(source) and types.is_float64(target)


def _range(kind: pa.DataType) -> tuple[int, int]:
    bits = kind.bit_width
    return (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1) if types.is_signed_integer(kind) else (0, 2**bits - 1)


def _plain(value: Value) -> Value:
    """Without dictionary and view encodings, for which most of pyarrow's functions have no kernel."""
    kind = value.type
    if types.is_dictionary(kind):
        return _plain(value.cast(kind.value_type))
    if types.is_string_view(kind):
        return value.cast(pa.string())
    return value.cast(pa.binary()) if types.is_binary_view(kind) else value


def _to_double(value: Value) -> Value:
    """Rounded to the nearest double, where pyarrow would refuse integers beyond 2**53."""
    return pc.cast(value, options=pc.CastOptions(pa.float64(), allow_float_truncate=True))


def _beside(value: Value, other: pa.DataType) -> Value:
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


def _align(a: Value, b: Value) -> tuple[Value, Value]:
    a, b = _plain(a), _plain(b)
    a, b = _beside(a, b.type), _beside(b, a.type)
    if types.is_floating(a.type) and types.is_integer(b.type):
        return a, _to_double(b)
    if types.is_integer(a.type) and types.is_floating(b.type):
        return _to_double(a), b
    return a, b


def _arithmetic(name: str) -> Callable[..., Value]:
    return lambda a, b: _checked(name, *_align(a, b))


def _checked(name: str, *args: Value) -> Value:
    holes = [v for v in args if isinstance(v, pa.Array) and v.null_count]
    if not holes or not any(types.is_temporal(v.type) for v in args):
        return pc.call_function(name, list(args))
    # With times pyarrow also checks what lies under a null, which may be anything, and may overflow.
    zeros = (pa.scalar(0, physical(v.type)).cast(v.type) for v in args)
    result = pc.call_function(name, [pc.coalesce(v, zero) for v, zero in zip(args, zeros, strict=True)])
    valid = reduce(pc.and_, map(pc.is_valid, holes))
    return pc.if_else(valid, result, pa.scalar(None, result.type))


def _divide(a: Value, b: Value) -> Value:
    a, b = _align(a, b)
    if types.is_integer(a.type) and types.is_integer(b.type):
        return pc.divide_checked(_to_double(a), _to_double(b))
    if types.is_floating(a.type) and types.is_floating(b.type):
        return pc.divide(a, b)  # IEEE: 1.0 / 0.0 is inf
    return pc.divide_checked(a, b)


def _floored(a: Value, b: Value, want_quotient: bool) -> Value:
    a, b = _align(a, b)
    for kind in (a.type, b.type):
        if not (types.is_integer(kind) or types.is_floating(kind) or types.is_null(kind)):
            raise TypeError(f"no {'//' if want_quotient else '%'} for {a.type} and {b.type}")
    if types.is_floating(a.type) or types.is_floating(b.type):
        return _floored_floats(a, b, want_quotient)
    if not want_quotient:
        # The remainder by -1 is 0, as by 1; the quotient of the least integer by -1 would overflow.
        b = pc.if_else(pc.equal(b, pa.scalar(-1)), pa.scalar(1, b.type), b) if _signed(b) else b
    quotient = pc.divide_checked(a, b)
    rest = pc.subtract(a, pc.multiply(quotient, b))
    if not (_signed(a) or _signed(b)):
        return quotient if want_quotient else rest
    zero = pa.scalar(0, rest.type)
    # pyarrow truncates: a remainder that has not the divisor's sign means that the quotient was rounded up.
    off = pc.and_(pc.not_equal(rest, zero), pc.xor(pc.less(rest, zero), pc.less(b, zero)))
    if want_quotient:
        return pc.if_else(off, pc.subtract(quotient, pa.scalar(1, quotient.type)), quotient)
    return pc.if_else(off, pc.add(rest, pc.cast(b, rest.type)), rest)


def _signed(value: Value) -> bool:
    return types.is_signed_integer(value.type)


def _floored_floats(a: Value, b: Value, want_quotient: bool) -> Value:
    rows = max((len(v) for v in (a, b) if isinstance(v, pa.Array)), default=None)
    width = 1 if rows is None else rows
    if not width:
        return pa.array([], pa.float64())
    arrays = [broadcast(v, width).cast(pa.float64()) for v in (a, b)]
    x, y = (v.to_numpy(zero_copy_only=False) for v in arrays)
    with np.errstate(all="ignore"):
        if want_quotient:
            near = x / y
            # Exact below 2**51, where an error of the division cannot reach the next integer. Beyond, numpy's
            # own is not provably non-decreasing in x; the rounded quotient is.
            values = np.where(np.abs(near) < 2.0**51, np.floor_divide(x, y), np.floor(near))
        else:
            values = np.mod(x, y)
    null = pc.or_(pc.is_null(arrays[0]), pc.is_null(arrays[1])).to_numpy(zero_copy_only=False)
    result = pa.array(values, mask=null, from_pandas=False)
    return result[0] if rows is None else result


def broadcast(value: Value, rows: int) -> pa.Array:
    return pa.repeat(value, rows) if isinstance(value, pa.Scalar) else value


def _compare(name: str) -> Callable[..., Value]:
    return lambda a, b: _compared(name, _plain(a), _plain(b))


def _compared(name: str, a: Value, b: Value) -> Value:
    _check_comparable(a.type, b.type, exact=name in ("equal", "not_equal"))
    a, b = _as_integer(a, b.type), _as_integer(b, a.type)
    a, b = _typed_null(a, b.type), _typed_null(b, a.type)
    a, b = _align(a, b)
    if types.is_timestamp(a.type) and types.is_timestamp(b.type):
        a, b = _coarsened(a, b), _coarsened(b, a)
    integers = types.is_integer(a.type) and types.is_integer(b.type)
    if integers and _signed(a) != _signed(b) and pa.uint64() in (a.type, b.type):
        a, b = a.cast(pa.decimal128(20, 0)), b.cast(pa.decimal128(20, 0))  # no integer type holds both
    return pc.call_function(name, [a, b])


def _check_comparable(a: pa.DataType, b: pa.DataType, exact: bool) -> None:
    if types.is_timestamp(a) and types.is_timestamp(b) and (a.tz is None) != (b.tz is None):
        raise TypeError(f"one time has a zone, the other none ({a} and {b}): give both a zone, or neither")
    # Equal means the same value to a group-by too, and there a date is no timestamp and a string no bytes.
    left, right = (next((name for name, has in _FAMILIES if has(kind)), None) for kind in (a, b))
    if exact and left and right and left != right:
        raise TypeError(f"{a} is never equal to {b}: cast one of them")


def _as_integer(value: Value, other: pa.DataType) -> Value:
    """Keeps a comparison exact: 3.0 beside an integer column is 3; 2**53 + 1 beside floats is refused."""
    if not isinstance(value, pa.Scalar) or not value.is_valid:
        return value
    number = value.as_py()
    if types.is_integer(other) and isinstance(number, float) and number.is_integer() and abs(number) < 2**63:
        return pa.scalar(int(number))
    return value.cast(pa.float64()) if types.is_floating(other) and types.is_integer(value.type) else value


def _typed_null(value: Value, other: pa.DataType) -> Value:
    return value.cast(other) if types.is_null(value.type) else value


def _coarsened(value: Value, other: Value) -> Value:
    """A column of ns beside a year that ns cannot reach: in the literal's unit the answer is the same."""
    scalar = isinstance(other, pa.Scalar) and other.is_valid
    if scalar and _PER_SECOND[other.type.unit] < _PER_SECOND[value.type.unit]:
        return cast(value, pa.timestamp(other.type.unit, value.type.tz))
    return value


def _logical(name: str) -> Callable[..., Value]:
    return lambda *args: pc.call_function(name, [_typed_null(_plain(a), pa.bool_()) for a in args])


def _fitted(value: Value, other: pa.DataType) -> Value:
    """A literal as the column's own type where that loses nothing, so that the column keeps its type."""
    kinds = (value.type, other)
    alike = all(map(types.is_integer, kinds)) or all(map(types.is_floating, kinds))
    if alike and isinstance(value, pa.Scalar):
        try:
            cast_value = value.cast(other)
        except pa.ArrowInvalid:
            return value
        return cast_value if cast_value.as_py() == value.as_py() else value
    return _typed_null(value, other)


def _alike(a: Value, b: Value) -> tuple[Value, Value]:
    a, b = _plain(a), _plain(b)
    _check_comparable(a.type, b.type, exact=False)
    return _align(_fitted(a, b.type), _fitted(b, a.type))


def _extreme(name: str) -> Callable[..., Value]:
    def extreme(a: Value, b: Value) -> Value:
        a, b = _alike(a, b)
        if types.is_timestamp(a.type) and types.is_timestamp(b.type) and a.type.tz:
            # pyarrow's has no kernel for zones
            zone, (a, b) = a.type.tz, (v.cast(pa.timestamp(v.type.unit)) for v in (a, b))
            result = extreme(a, b)
            return result.cast(pa.timestamp(result.type.unit, zone))
        # A row with a null or NaN breaks no bound; if the other operand took its place, its result might.
        result = pc.call_function(name, [a, b], pc.ElementWiseAggregateOptions(skip_nulls=False))
        if types.is_floating(result.type):
            nan = pc.or_kleene(pc.is_nan(a), pc.is_nan(b))
            result = pc.if_else(nan, pa.scalar(math.nan, result.type), result)
        return result

    return lambda *args: reduce(extreme, args)


def _if_else(condition: Value, a: Value, b: Value) -> Value:
    return pc.if_else(_typed_null(_plain(condition), pa.bool_()), *_alike(a, b))


def _isin(x: Value, values: tuple[object, ...]) -> Value:
    x = _plain(x)
    known = [v for v in values if v is not None and v == v]  # as with ==, a null or NaN equals nothing
    wanted = pa.array(known) if known else pa.array([], x.type)
    _check_comparable(x.type, wanted.type, exact=True)
    try:
        wanted = wanted.cast(x.type)
    except pa.ArrowInvalid:
        x = cast(x, wanted.type)
    null = pa.scalar(None, pa.bool_())
    return pc.if_else(pc.is_null(x), null, pc.is_in(x, value_set=wanted))


def cast(x: Value, target: pa.DataType) -> Value:
    """To another type, by value: what does not fit is refused, integers round to floats, times round down."""
    x = _plain(x)
    source = x.type
    if types.is_timestamp(source) and types.is_date32(target):
        if source.tz not in _UTC:
            x = pc.local_timestamp(x)
        days = _floored(x.cast(pa.int64()), pa.scalar(86_400 * _PER_SECOND[source.unit]), True)
        return days.cast(pa.int32()).cast(target)  # pyarrow's own cast wraps beyond int32
    if types.is_timestamp(source) and types.is_timestamp(target):
        step = _PER_SECOND[source.unit] // _PER_SECOND[target.unit]
        if step > 1:  # pyarrow's own cast refuses, or rounds towards 1970
            return _floored(x.cast(pa.int64()), pa.scalar(step), True).cast(target)
    rounds = types.is_integer(source) and types.is_floating(target)
    return pc.cast(x, options=pc.CastOptions(target, allow_float_truncate=rounds))


def _rounding(function: Callable[..., Value]) -> Callable[..., Value]:
    """Integers are whole already; pyarrow would turn them into floats, and refuse large ones."""

    def rounded(x: Value, *options: int) -> Value:
        return x if types.is_integer(x.type) and options in ((), (0,)) else function(x, *options)

    return rounded


def _length(x: Value) -> Value:
    x = _plain(x)
    binary = types.is_binary(x.type) or types.is_large_binary(x.type)
    return pc.binary_length(x) if binary else pc.utf8_length(x)


def _unary(function: Callable[..., Value]) -> Callable[..., Value]:
    return lambda x, *options: function(_plain(x), *options)


_COMPARISONS = ("equal", "not_equal", "less", "less_equal", "greater", "greater_equal")
_PARTS = ("year", "month", "day", "hour", "minute", "second")
FUNCTIONS: dict[str, Callable[..., Value]] = {
    "add": _arithmetic("add_checked"),
    "subtract": _arithmetic("subtract_checked"),
    "multiply": _arithmetic("multiply_checked"),
    "divide": _divide,
    "floor_divide": lambda a, b: _floored(a, b, True),
    "mod": lambda a, b: _floored(a, b, False),
    **{name: _compare(name) for name in _COMPARISONS},
    "and": _logical("and_kleene"),
    "or": _logical("or_kleene"),
    "invert": _logical("invert"),
    "negate": _unary(pc.negate_checked),
    "abs": _unary(pc.abs_checked),
    "greatest": _extreme("max_element_wise"),
    "least": _extreme("min_element_wise"),
    "floor": _rounding(pc.floor),
    "ceil": _rounding(pc.ceil),
    "round": _rounding(pc.round),
    "cast": cast,
    "if_else": _if_else,
    "fill_null": lambda a, b: pc.coalesce(*_alike(a, b)),
    "isin": _isin,
    "is_null": _unary(pc.is_null),
    "is_not_null": _unary(pc.is_valid),
    "is_nan": _unary(pc.is_nan),
    "lower": _unary(pc.utf8_lower),
    "upper": _unary(pc.utf8_upper),
    "length": _length,
    "starts_with": _unary(pc.starts_with),
    "ends_with": _unary(pc.ends_with),
    "contains": _unary(pc.match_substring),
    **{part: _unary(getattr(pc, part)) for part in _PARTS},
}
