"""What the functions of column expressions compute: Arrow arrays and scalars in, the same out.

pyarrow does the work. This module adds what it lacks: integers that are floored and never wrap, literals that take the
unit of the column beside them, integers of any size beside floats (`alignment` does these two), nulls and NaN that
stay. A function raises TypeError for types that do not fit; all other errors of pyarrow are about the values.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial, reduce

import numpy as np
import pyarrow as pa
from pyarrow import types

from oop.frozen import frozen
from oop.operators.core.compute import compute as pc
from oop.operators.expressions.alignment import (
    Datum,
    align,
    align_alternatives,
    as_integer,
    broadcast,
    plain,
    to_double,
    typed_null,
)
from oop.operators.expressions.kinds import PER_SECOND, UTC, check_comparable, physical_type


@frozen()
class Aligned:
    """One of pyarrow's functions, of operands that are first brought to types that go together. How they are converted
    follows from their types and from literals, never from a column's values: `program` relies on this."""

    name: str
    align: Callable[..., Sequence[Datum]]

    def __call__(self, *args: Datum) -> Datum:
        return pc.call_function(self.name, list(self.align(*args)))

    def is_direct(self, aligned: Sequence[Datum]) -> bool:
        """Is the result nothing but pyarrow's function of these, whatever values columns have?"""
        return True


class _Arithmetic(Aligned):
    def __call__(self, *args: Datum) -> Datum:
        return _checked(self.name, *self.align(*args))

    def is_direct(self, aligned: Sequence[Datum]) -> bool:
        return not any(types.is_temporal(v.type) for v in aligned)


def _checked(name: str, *args: Datum) -> Datum:
    holes = [v for v in args if isinstance(v, pa.Array) and v.null_count]
    if not holes or not any(types.is_temporal(v.type) for v in args):
        return pc.call_function(name, list(args))
    # With times pyarrow also checks what lies under a null, which may be anything, and may overflow.
    zeros = (pa.scalar(0, physical_type(v.type)).cast(v.type) for v in args)
    result = pc.call_function(name, [pc.coalesce(v, zero) for v, zero in zip(args, zeros, strict=True)])
    valid = reduce(pc.and_, map(pc.is_valid, holes))
    return pc.if_else(valid, result, pa.scalar(None, result.type))


def _divide(a: Datum, b: Datum) -> Datum:
    a, b = align(a, b)
    if types.is_integer(a.type) and types.is_integer(b.type):
        return pc.divide_checked(to_double(a), to_double(b))
    if types.is_floating(a.type) and types.is_floating(b.type):
        return pc.divide(a, b)  # IEEE: 1.0 / 0.0 is inf
    return pc.divide_checked(a, b)


def _floored(a: Datum, b: Datum, want_quotient: bool) -> Datum:
    a, b = align(a, b)
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
    # pyarrow truncates: a remainder without the divisor's sign means that the quotient was rounded up.
    off = pc.and_(pc.not_equal(rest, zero), pc.xor(pc.less(rest, zero), pc.less(b, zero)))
    if want_quotient:
        return pc.if_else(off, pc.subtract(quotient, pa.scalar(1, quotient.type)), quotient)
    return pc.if_else(off, pc.add(rest, pc.cast(b, rest.type)), rest)


def _signed(value: Datum) -> bool:
    return types.is_signed_integer(value.type)


def _floored_floats(a: Datum, b: Datum, want_quotient: bool) -> Datum:
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


def _comparable(exact: bool, a: Datum, b: Datum) -> tuple[Datum, Datum]:
    """The operands of a comparison; ``exact`` is for equality."""
    a, b = plain(a), plain(b)
    check_comparable(a.type, b.type, exact=exact)
    a, b = as_integer(a, b.type), as_integer(b, a.type)
    a, b = typed_null(a, b.type), typed_null(b, a.type)
    a, b = align(a, b)
    if types.is_timestamp(a.type) and types.is_timestamp(b.type):
        a, b = _coarsened(a, b), _coarsened(b, a)
    integers = types.is_integer(a.type) and types.is_integer(b.type)
    if integers and _signed(a) != _signed(b) and pa.uint64() in (a.type, b.type):
        a, b = a.cast(pa.decimal128(20, 0)), b.cast(pa.decimal128(20, 0))  # no integer type holds both
    return a, b


def _coarsened(value: Datum, other: Datum) -> Datum:
    """A column of ns beside a year that ns cannot reach: in the literal's unit the answer is the same."""
    scalar = isinstance(other, pa.Scalar) and other.is_valid
    if scalar and PER_SECOND[other.type.unit] < PER_SECOND[value.type.unit]:
        return cast(value, pa.timestamp(other.type.unit, value.type.tz))
    return value


def _booleans(*args: Datum) -> list[Datum]:
    return [typed_null(plain(a), pa.bool_()) for a in args]


def _extreme(name: str) -> Callable[..., Datum]:
    def extreme(a: Datum, b: Datum) -> Datum:
        a, b = align_alternatives(a, b)
        if types.is_timestamp(a.type) and types.is_timestamp(b.type) and a.type.tz:
            # pyarrow has no kernel for zones
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


def _if_else(condition: Datum, a: Datum, b: Datum) -> Datum:
    return pc.if_else(typed_null(plain(condition), pa.bool_()), *align_alternatives(a, b))


def _isin(x: Datum, values: tuple[object, ...]) -> Datum:
    x = plain(x)
    known = [v for v in values if v is not None and v == v]  # as with ==, a null or NaN equals nothing
    wanted = pa.array(known) if known else pa.array([], x.type)
    check_comparable(x.type, wanted.type, exact=True)
    try:
        wanted = wanted.cast(x.type)
    except pa.ArrowInvalid:
        x = cast(x, wanted.type)
    if types.is_floating(x.type):  # both zeros are one number, as with ==
        zero = pa.scalar(0.0, x.type)
        x, wanted = pc.add(x, zero), pc.add(wanted, zero)
    null = pa.scalar(None, pa.bool_())
    return pc.if_else(pc.is_null(x), null, pc.is_in(x, value_set=wanted))


def cast(x: Datum, target: pa.DataType) -> Datum:
    """Cast to another type, by value: what does not fit is refused, integers round to floats, times round down."""
    x = plain(x)
    source = x.type
    if types.is_timestamp(source) and types.is_date32(target):
        if source.tz not in UTC:
            x = pc.local_timestamp(x)
        days = _floored(x.cast(pa.int64()), pa.scalar(86_400 * PER_SECOND[source.unit]), True)
        return days.cast(pa.int32()).cast(target)  # pyarrow's own cast wraps beyond int32
    if types.is_timestamp(source) and types.is_timestamp(target):
        step = PER_SECOND[source.unit] // PER_SECOND[target.unit]
        if step > 1:  # pyarrow's own cast refuses, or rounds towards 1970
            return _floored(x.cast(pa.int64()), pa.scalar(step), True).cast(target)
    rounds = types.is_integer(source) and types.is_floating(target)
    return pc.cast(x, options=pc.CastOptions(target, allow_float_truncate=rounds))


def _rounding(function: Callable[..., Datum]) -> Callable[..., Datum]:
    """Integers are whole already; pyarrow would turn them into floats, and refuse large ones."""

    def rounded(x: Datum, *options: int) -> Datum:
        return x if types.is_integer(x.type) and options in ((), (0,)) else function(x, *options)

    return rounded


def _length(x: Datum) -> Datum:
    x = plain(x)
    binary = types.is_binary(x.type) or types.is_large_binary(x.type)
    return pc.binary_length(x) if binary else pc.utf8_length(x)


def _plain(x: Datum) -> list[Datum]:
    return [plain(x)]


def _with_pattern(function: Callable[..., Datum]) -> Callable[..., Datum]:
    return lambda x, pattern: function(plain(x), pattern)


_EQUALITIES = ("equal", "not_equal")
_COMPARISONS = ("less", "less_equal", "greater", "greater_equal")
_PARTS = ("year", "month", "day", "hour", "minute", "second")
FUNCTIONS: dict[str, Callable[..., Datum]] = {
    "add": _Arithmetic("add_checked", align),
    "subtract": _Arithmetic("subtract_checked", align),
    "multiply": _Arithmetic("multiply_checked", align),
    "divide": _divide,
    "floor_divide": lambda a, b: _floored(a, b, True),
    "mod": lambda a, b: _floored(a, b, False),
    **{name: Aligned(name, partial(_comparable, True)) for name in _EQUALITIES},
    **{name: Aligned(name, partial(_comparable, False)) for name in _COMPARISONS},
    "and": Aligned("and_kleene", _booleans),
    "or": Aligned("or_kleene", _booleans),
    "invert": Aligned("invert", _booleans),
    "negate": Aligned("negate_checked", _plain),
    "abs": Aligned("abs_checked", _plain),
    "greatest": _extreme("max_element_wise"),
    "least": _extreme("min_element_wise"),
    "floor": _rounding(pc.floor),
    "ceil": _rounding(pc.ceil),
    "round": _rounding(pc.round),
    "cast": cast,
    "if_else": _if_else,
    "fill_null": lambda a, b: pc.coalesce(*align_alternatives(a, b)),
    "isin": _isin,
    "is_null": Aligned("is_null", _plain),
    "is_not_null": Aligned("is_valid", _plain),
    "is_nan": Aligned("is_nan", _plain),
    "lower": Aligned("utf8_lower", _plain),
    "upper": Aligned("utf8_upper", _plain),
    "length": _length,
    "starts_with": _with_pattern(pc.starts_with),
    "ends_with": _with_pattern(pc.ends_with),
    "contains": _with_pattern(pc.match_substring),
    **{part: Aligned(part, _plain) for part in _PARTS},
}
