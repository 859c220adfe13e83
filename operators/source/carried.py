"""Reads promises that the data carries, or that a source gives when asked. Users write them with the column's own
values."""

from __future__ import annotations

import pyarrow as pa

from oop.errors import SchemaMismatch, UnknownColumn
from oop.operators.core.group_values import of_value
from oop.operators.core.times import is_time_type, physical
from oop.punctuation import Punctuation
from oop.punctuation.patterns import Bound, Equal, GroupPattern, Range


def normalise(punct: Punctuation, schema: pa.Schema) -> Punctuation:
    """A promise as a user wrote it, with physical bounds and group values as the column holds them."""
    for name in (*punct.below, *punct.where):
        if name not in schema.names:
            raise UnknownColumn.of(name, schema.names)
    below = {name: _bound(name, bound, schema) for name, bound in punct.below.items()}
    where: dict[str, GroupPattern] = {}
    for name, pattern in punct.where.items():
        type_ = schema.field(name).type
        if isinstance(pattern, Equal):
            where[name] = Equal(of_value(pattern.value, type_))
        elif isinstance(pattern, Range):
            high = None if pattern.high is None else _bound(name, pattern.high, schema)
            where[name] = Range(_bound(name, pattern.low, schema), high)
        else:
            where[name] = type(pattern)(of_value(v, type_) for v in pattern.values)
    return Punctuation(below, where)


def _bound(name: str, bound: Bound, schema: pa.Schema) -> Bound:
    type_ = schema.field(name).type
    if not is_time_type(type_):
        raise SchemaMismatch(
            f"a bound or range needs an integer, float, date or timestamp, and {name!r} is {type_}",
            hint=f"name single values, as in where={{{name!r}: …}}, or promise about another column",
        )
    return physical(bound, type_)
