"""Groups as promises name them: Python values, exactly as a column holds them.

A column of nanoseconds gives its numbers, since Python's own time types end at microseconds.

>>> of_column(pa.array([1, 2], pa.time64("ns")))
[1, 2]
>>> of_value("A", pa.string()), of_value(1.5, pa.int64())
Traceback (most recent call last):
    ...
oop.errors.SchemaMismatch: 1.5 is not a value that a column of type int64 can hold
Hint: name a group as the column holds it
"""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from typing import Any

import pyarrow as pa

from oop.errors import SchemaMismatch
from oop.kernels import views
from oop.punctuation.patterns import Equal, Value, group_value

_MOST_DIGITS = 100  # a decimal column has at most 76


def of_column(array: pa.Array) -> list[Value]:
    """The group of each row."""
    if _is_nanoseconds(array.type):
        array = array.cast(pa.int64())
    return [group_value(v) for v in array.to_pylist()]


def of_value(value: Any, type_: pa.DataType) -> Value:
    """A value that a user wrote, as the column holds it; SchemaMismatch if the column cannot hold exactly that."""
    if pa.types.is_dictionary(type_):
        type_ = type_.value_type
    check_type(type_)
    value = value.as_py() if isinstance(value, pa.Scalar) else value.item() if hasattr(value, "item") else value
    if value is None:
        return None
    wrong = SchemaMismatch(
        f"{shorten(value)} is not a value that a column of type {type_} can hold",
        hint="name a group as the column holds it",
    )
    if isinstance(value, Decimal) and (not value.is_finite() or abs(value.adjusted()) > _MOST_DIGITS):
        raise wrong  # converting it to a whole number would take all memory
    try:
        held = of_column(pa.array([value], type_))[0]
    except (pa.ArrowException, OverflowError, TypeError, ValueError) as error:
        raise wrong from error
    same = _is_nanoseconds(type_) or (isinstance(value, bool) == isinstance(held, bool) and Equal(value).matches(held))
    if not same:  # it was rounded, or read in another zone, so the promise would be about another group
        raise wrong
    return held


def shorten(value: Any) -> str:
    """A value as text that fits an error message."""
    if isinstance(value, int) and abs(value) > 10**_MOST_DIGITS:
        return f"a number of more than {_MOST_DIGITS} digits"
    text = repr(value)
    return text if len(text) <= 200 else f"{text[:200]}…"


def of_group(group: Any, types: Sequence[pa.DataType]) -> Value:
    """A group that a user wrote, as the columns hold it: a tuple if there are several columns.

    >>> of_group(("A", 6), [pa.string(), pa.int64()]), of_group("A", [pa.string()])
    (('A', 6), 'A')
    """
    if len(types) == 1:
        return of_value(group, types[0])
    return tuple(of_value(value, type_) for value, type_ in zip(group, types, strict=True))


def check_type(type_: pa.DataType) -> None:
    """Can a column of this type name groups?"""
    if pa.types.is_dictionary(type_):
        type_ = type_.value_type
    views.kind_of(type_)  # refuses lists, structs and the like


def _is_nanoseconds(type_: pa.DataType) -> bool:
    t = pa.types
    return (t.is_timestamp(type_) or t.is_duration(type_) or t.is_time64(type_)) and type_.unit == "ns"
