"""The Arrow types of column expressions: which have an order, which casts keep it, which types compare."""

from __future__ import annotations

from collections.abc import Callable

import pyarrow as pa
from pyarrow import types

PER_SECOND = {"s": 1, "ms": 1_000, "us": 1_000_000, "ns": 1_000_000_000}
UTC = (None, "UTC", "Etc/UTC", "+00:00")  # zones whose local time is UTC
_FAMILIES: tuple[tuple[str, Callable[[pa.DataType], bool]], ...] = (
    ("number", lambda t: types.is_integer(t) or types.is_floating(t) or types.is_decimal(t)),
    ("string", lambda t: types.is_string(t) or types.is_large_string(t)),
    ("binary", lambda t: types.is_binary(t) or types.is_large_binary(t) or types.is_fixed_size_binary(t)),
    ("date", types.is_date),
    ("timestamp", types.is_timestamp),
)


def is_ordered(kind: pa.DataType) -> bool:
    """Whether values of this type have a physical order that a bound can follow."""
    return (
        types.is_integer(kind) or types.is_float32(kind) or types.is_float64(kind)
        or types.is_date(kind) or types.is_timestamp(kind) or types.is_duration(kind)
    )  # fmt: skip


def physical_type(kind: pa.DataType) -> pa.DataType:
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
            return source.tz in UTC
        return types.is_timestamp(target) or bool(target == pa.int64())
    if types.is_date32(source):
        return types.is_timestamp(target) and target.tz in UTC
    return types.is_float32(source) and types.is_float64(target)


def _range(kind: pa.DataType) -> tuple[int, int]:
    bits = kind.bit_width
    return (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1) if types.is_signed_integer(kind) else (0, 2**bits - 1)


def check_comparable(a: pa.DataType, b: pa.DataType, exact: bool) -> None:
    """Raise TypeError for types that do not compare; ``exact`` is for equality."""
    if types.is_timestamp(a) and types.is_timestamp(b) and (a.tz is None) != (b.tz is None):
        raise TypeError(f"one time has a zone, the other none ({a} and {b}): give both a zone, or neither")
    # Equal means the same value to a group-by too, and there a date is no timestamp and a string no bytes.
    left, right = (next((name for name, has in _FAMILIES if has(kind)), None) for kind in (a, b))
    if exact and left and right and left != right:
        raise TypeError(f"{a} is never equal to {b}: cast one of them")
