"""The groups that occur in columns, and which of them each row has."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np
import pyarrow as pa

from oop.kernels import dictionaries, views
from oop.operators.core.compute import compute as pc
from oop.operators.core.group_values import of_column
from oop.punctuation.patterns import Group, Value

_OTHER = object()  # stands for every value that is not named


def distinct_groups(
    keys: Mapping[str, pa.Array], named: Iterable[Group] | None = None
) -> tuple[np.ndarray, list[Group]]:
    """The combinations of values that occur in these columns, and for each row which one it has. If some are ``named``,
    values that occur in none of these may share one code.

    >>> of, groups = distinct_groups({"link": pa.array(["A", "B", "A"]), "k": pa.array([1, 1, 1])})
    >>> of.tolist(), groups
    ([0, 1, 0], [('A', 1), ('B', 1)])
    """
    known: list[Iterable[Value] | None] = [None] * len(keys)
    if named is not None:
        known = [dict.fromkeys(values) for values in zip(*named, strict=True)]
    encoded = [encode_groups(array, some) for array, some in zip(keys.values(), known, strict=True)]
    of = encoded[0][0].astype(np.int64)
    for codes, values in encoded[1:]:
        of = np.unique(of, return_inverse=True)[1] * len(values) + codes
    _, places, of = np.unique(of, return_index=True, return_inverse=True)
    columns = [[values[code] for code in codes[places].tolist()] for codes, values in encoded]
    return of, list(zip(*columns, strict=True))


def encode_groups(array: pa.Array, named: Iterable[Value] | None = None) -> tuple[np.ndarray, list[Value]]:
    """Dense codes for the rows, and the value of each code; null and NaN are values like others. If some are ``named``,
    others may share one code.

    >>> codes, values = encode_groups(pa.array(["a", "b", "c", "b"]), named=["b"])
    >>> codes.tolist(), values[0]
    ([1, 0, 1, 0], 'b')
    """
    found = None if named is None else _encode_named(array, list(named))
    if found is not None:
        return found
    if pa.types.is_dictionary(array.type) and len(array.dictionary) > len(array):
        array = array.dictionary_decode()  # a large dictionary, of which little occurs
    encoded = array if pa.types.is_dictionary(array.type) else dictionaries.encode_dictionary(array)
    values = of_column(encoded.dictionary)
    codes = encoded.indices
    if codes.null_count:
        codes = pc.fill_null(codes, len(values))
        values = [*values, None]
    return views.column(codes).data, values


def _encode_named(array: pa.Array, named: list[Value]) -> tuple[np.ndarray, list[Value]] | None:
    """Codes of the named values. None where Arrow would miss a value that equals a named one (here -0.0 equals 0.0, and
    NaN equals NaN), and where so many are named that values could be chosen to collide in its hash table."""
    if len(named) > dictionaries.FEW or pa.types.is_floating(array.type) or pa.types.is_dictionary(array.type):
        return None
    try:
        places = pc.index_in(array, value_set=pa.array(named, array.type))
    except (pa.ArrowException, TypeError, ValueError, OverflowError):
        return None
    return views.column(pc.fill_null(places, len(named))).data, [*named, _OTHER]


def groups_of(
    columns: tuple[str, ...], batch: pa.RecordBatch, named: Iterable[Group] | None = None
) -> tuple[np.ndarray, list[Value]]:
    """Which group of these columns each row has, and the groups as `GroupPromises` has them. If there are several
    columns and some groups are ``named``, the values of others may share one code."""
    nothing = pa.nulls(batch.num_rows)
    keys = {c: batch.column(c) if c in batch.schema.names else nothing for c in columns}
    return encode_groups(keys[columns[0]]) if len(columns) == 1 else distinct_groups(keys, named)
