"""Columns of a result as Spark has them: a type that Spark lacks becomes the nearest type that holds its values."""

from __future__ import annotations

import pyarrow as pa

from oop.errors import SchemaMismatch
from oop.kernels.dictionaries import encode_dictionary

_UNSIGNED = {pa.uint8(): pa.int16(), pa.uint16(): pa.int32(), pa.uint32(): pa.int64(), pa.uint64(): pa.decimal128(20)}


def spark_schema(schema: pa.Schema) -> pa.Schema:
    """The schema that a result's batches are cast to before Spark gets them.

    >>> spark_schema(pa.schema({"ts": pa.timestamp("ms"), "n": pa.uint32()}))
    ts: timestamp[us]
    n: int64
    """
    return pa.schema([pa.field(f.name, _nearest(f.type, f.name)) for f in schema])


def _nearest(type_: pa.DataType, name: str) -> pa.DataType:
    t = pa.types
    if t.is_dictionary(type_):
        return _nearest(type_.value_type, name)
    if type_ in _UNSIGNED:
        return _UNSIGNED[type_]
    if t.is_float16(type_):
        return pa.float32()
    if t.is_large_string(type_) or t.is_string_view(type_):
        return pa.string()
    if t.is_large_binary(type_) or t.is_fixed_size_binary(type_) or t.is_binary_view(type_):
        return pa.binary()
    if t.is_timestamp(type_):
        return pa.timestamp("us", None if type_.tz is None else "UTC")
    if t.is_date64(type_):
        return pa.date32()
    if t.is_duration(type_):
        return pa.duration("us")
    if t.is_decimal(type_):
        return pa.decimal128(min(type_.precision, 38), type_.scale)
    if t.is_list(type_) or t.is_large_list(type_) or t.is_fixed_size_list(type_):
        return pa.list_(_nearest(type_.value_type, name))
    if t.is_struct(type_):
        return pa.struct([pa.field(f.name, _nearest(f.type, name)) for f in type_])
    if t.is_map(type_):
        return pa.map_(_nearest(type_.key_type, name), _nearest(type_.item_type, name))
    if t.is_time(type_) or t.is_union(type_) or t.is_interval(type_):
        raise SchemaMismatch(
            f"column {name!r} is {type_}, which Spark cannot hold", hint=f"cast it: oop.col({name!r}).cast('int64')"
        )
    return type_


def can_finish(schema: pa.Schema) -> bool:
    """Can the last stage put out these columns as rows (`finishing.py`)?"""
    return not any(pa.types.is_nested(field.type) or pa.types.is_null(field.type) for field in schema)


def as_spark(batch: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    """A batch in the schema of `spark_schema`. A value that does not fit is an error, and is never cut."""
    columns = []
    for column, field in zip(batch.columns, schema, strict=True):
        if column.type == field.type:
            columns.append(column)
            continue
        try:
            columns.append(column.cast(field.type))
        except pa.ArrowInvalid as wrong:
            raise SchemaMismatch(
                f"column {field.name!r} has a value that Spark's {field.type} cannot hold: {wrong}",
                hint="Spark counts time in microseconds: round it with a cast first"
                if pa.types.is_temporal(field.type)
                else "cast the column to a type that Spark has",
            ) from wrong
    return pa.RecordBatch.from_arrays(columns, schema=schema)


def from_spark(batch: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    """A batch that Spark gives back, in the schema that it had before `as_spark`.

    >>> from_spark(pa.record_batch({"n": [1, 2]}), pa.schema({"n": pa.uint32()})).schema
    n: uint32
    """
    columns = [_back(column, field.type) for column, field in zip(batch.columns, schema, strict=True)]
    return pa.RecordBatch.from_arrays(columns, schema=schema)


def _back(column: pa.Array, type_: pa.DataType) -> pa.Array:
    if pa.types.is_dictionary(type_):
        return encode_dictionary(_back(column, type_.value_type)).cast(type_)
    return column if column.type == type_ else column.cast(type_)
