"""Dictionary columns, made by tables with a secret seed.

Arrow's hashes have no seed, so values can be chosen to collide: 30,000 such values took a hundred times as long.
Batches of few rows are left to Arrow, whatever values they hold.

>>> encode_dictionary(pa.array(["b", "a", None, "b"])).to_pylist()
['b', 'a', None, 'b']
"""

from __future__ import annotations

import functools
from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.types as pt

from oop.errors import SchemaMismatch
from oop.kernels import dispatch, views
from oop.kernels.views import Column

FEW = 256  # rows; comparing each of them with every other takes no longer than making a table


def encode_dictionary(values: pa.Array) -> pa.DictionaryArray:
    """The values as a dictionary column. Its dictionary has each value once, in order of first appearance; nulls are in
    the indices.

    Types that Arrow cannot encode raise ArrowNotImplementedError.
    """
    if len(values) <= FEW or not _is_plain(values.type):
        return values.dictionary_encode()
    bits = _bits(values)
    rows = None if bits.valid is None else np.flatnonzero(bits.valid)
    table = dispatch.kernels().GroupTable([bits.kind])
    found = table.map([bits], len(bits), rows)
    first = np.zeros(len(table), np.int64)
    first[found[::-1]] = np.arange(len(bits))[::-1] if rows is None else rows[::-1]  # the last write wins
    indices = found
    if rows is not None:
        indices = np.zeros(len(bits), np.int64)
        indices[rows] = found
    mask = None if bits.valid is None else ~bits.valid
    return pa.DictionaryArray.from_arrays(pa.array(indices.astype(np.int32), mask=mask), _take(values, bits, first))


def encode_as(values: pa.Array, type: pa.DictionaryType) -> pa.DictionaryArray:
    """The values as a dictionary column of this type."""
    try:
        encoded = encode_dictionary(values)
        indices, dictionary = encoded.indices, encoded.dictionary
    except pa.ArrowNotImplementedError:
        # Arrow cannot hash this type; a dictionary may repeat values.
        indices, dictionary = pa.array(np.arange(len(values), dtype=np.int64)), values
    return pa.DictionaryArray.from_arrays(indices.cast(type.index_type), dictionary, ordered=type.ordered)


def to_arrow_type(view: Column, type: pa.DataType) -> pa.Array:
    """Like `views.to_arrow`, for dictionary types too.

    >>> to_arrow_type(views.column(pa.array(["b", "a"])), pa.dictionary(pa.int8(), pa.string())).to_pylist()
    ['b', 'a']
    """
    if isinstance(type, pa.BaseExtensionType):
        return pa.ExtensionArray.from_storage(type, to_arrow_type(view, type.storage_type))
    if isinstance(type, pa.DictionaryType):
        return encode_as(to_arrow_type(view, type.value_type), type)
    return views.to_arrow(view, type)


def concat_batches(batches: Sequence[pa.RecordBatch]) -> pa.RecordBatch:
    """Concatenate batches of one schema, at least one; their dictionaries may differ, and may hold nulls.

    >>> one, other = (pa.record_batch({"k": pa.array(k).dictionary_encode()}) for k in (["a", "b"], ["c", "b"]))
    >>> concat_batches([one, other]).column("k").to_pylist()
    ['a', 'b', 'c', 'b']
    """
    schema = batches[0].schema
    if len(batches) == 1:
        return batches[0]
    if not any(pt.is_dictionary(type) for type in schema.types):
        return pa.concat_batches(batches)
    columns = [concat_arrays([batch.column(i) for batch in batches]) for i in range(len(schema))]
    return pa.RecordBatch.from_arrays(columns, schema=schema)


def concat_arrays(arrays: Sequence[pa.Array]) -> pa.Array:
    """Concatenate arrays of one type; see `concat_batches`."""
    first = arrays[0]
    if not pt.is_dictionary(first.type) or all(a.dictionary.equals(first.dictionary) for a in arrays[1:]):
        return pa.concat_arrays(arrays)
    known = encode_dictionary(pa.concat_arrays([a.dictionary for a in arrays]))
    starts = np.cumsum([0, *(len(a.dictionary) for a in arrays)]).tolist()
    pieces = [known.indices.slice(at).take(a.indices) for at, a in zip(starts, arrays, strict=False)]
    indices = pa.concat_arrays(pieces).cast(first.type.index_type)
    return pa.DictionaryArray.from_arrays(indices, known.dictionary, ordered=first.type.ordered)


def _bits(values: pa.Array) -> Column:
    """The values as a key column that compares bits: -0.0 is not 0.0 here, since values must come back unchanged."""
    if not pt.is_floating(values.type):
        return views.key_column(values)
    data, valid = views.fixed_column(values)
    bits = data.view(f"uint{8 * data.itemsize}")
    return Column("uint" if data.itemsize == 8 else bits.dtype.name, bits, None, valid)


def _take(values: pa.Array, bits: Column, rows: np.ndarray) -> pa.Array:
    if pt.is_string_view(values.type) or pt.is_binary_view(values.type):  # Arrow cannot take rows of these
        return views.to_arrow(views.take_rows(bits, rows), values.type)
    return values.take(pa.array(rows))


@functools.cache
def _is_plain(type: pa.DataType) -> bool:
    """Can columns of this type be keys of a `GroupTable`?"""
    if isinstance(type, pa.BaseExtensionType) or pt.is_null(type) or pt.is_dictionary(type):
        return False
    try:
        views.kind_of(type)
    except SchemaMismatch:
        return False
    return True
