"""The layout of rows while they are held: columns in plain types, which get their own types back when they leave."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from oop.errors import SchemaMismatch
from oop.kernels import dictionaries, dispatch, views


def plain_type(type_: pa.DataType) -> pa.DataType:
    """The type in which a column is held. Dictionaries are decoded, because those of several batches cannot be
    concatenated, and text gets 64-bit offsets, which reach beyond 2 GB."""
    type_ = views.value_type(type_)
    if pa.types.is_string(type_):
        return pa.large_string()
    return pa.large_binary() if pa.types.is_binary(type_) else type_


def plain_schema(schema: pa.Schema) -> pa.Schema:
    """The columns in the types in which they are held: see `plain_type`."""
    return pa.schema([pa.field(f.name, plain_type(f.type)) for f in schema])


def own_copy(column: pa.Array) -> pa.Array:
    """A copy if the column is a small slice of a large buffer, which it would keep alive; else the column itself.

    >>> own_copy(pa.array(range(1_000)).slice(5, 1)).get_total_buffer_size() < 100
    True
    """
    if column.get_total_buffer_size() <= 2 * column.nbytes:
        return column
    return column.take(pa.array(np.arange(len(column))))


def held_as(batch: pa.RecordBatch, plain: pa.Schema) -> pa.RecordBatch:
    """Rows in the layout in which they are held, which is a `plain_schema`."""
    columns = [as_type(own_copy(batch.column(f.name)), f.type) for f in plain]
    return pa.RecordBatch.from_arrays(columns, schema=plain)


def laid_out(batch: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    """Rows in the types of a schema. They were held, or came from another thread, where text is in dictionaries."""
    return pa.RecordBatch.from_arrays([as_type(batch.column(f.name), f.type) for f in schema], schema=schema)


def as_type(array: pa.Array, type_: pa.DataType) -> pa.Array:
    """The values of the array in another type: dictionaries are decoded, or encoded if ``type_`` is a dictionary."""
    if array.type == type_:
        return array
    if pa.types.is_dictionary(array.type):
        array = array.dictionary_decode()
    if pa.types.is_dictionary(type_):
        return dictionaries.encode_as(array.cast(type_.value_type), type_)
    return array.cast(type_)


def take_column(array: pa.Array, rows: np.ndarray, type_: pa.DataType) -> pa.Array:
    """Rows of a column, as an array of ``type_``."""
    values = views.fixed_values(array) if array.type == type_ else None
    if values is None:
        return as_type(array.take(pa.array(rows)), type_)
    taken = dispatch.kernels().take_fixed(values, rows)
    return pa.Array.from_buffers(type_, len(rows), [None, pa.py_buffer(taken)])


def check_takeable(field: pa.Field) -> None:
    """Raise SchemaMismatch if Arrow cannot take rows of such a column."""
    try:
        pa.nulls(1, field.type).take(pa.array([0]))
    except (pa.ArrowNotImplementedError, pa.ArrowInvalid) as wrong:
        raise SchemaMismatch(
            f"rows cannot be picked from the column {field.name!r} of type {field.type}",
            hint="cast it to a plain type, or leave it out with .select(…)",
        ) from wrong
