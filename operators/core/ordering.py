"""The order of rows by the values of their columns, to sort them and to break ties of time.

NaN is greater than every number and null greater than every value, so that every two rows that differ have an order.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from oop.errors import SchemaMismatch
from oop.kernels import dispatch, views
from oop.operators.core.compute import compute as pc


def order_rows(columns: Sequence[pa.Array]) -> np.ndarray:
    """The numbers of the rows, least first; rows that are equal stay in their order.

    >>> order_rows([pa.array([2, 1, None, 1]), pa.array(["a", "c", "b", "b"])]).tolist()
    [3, 1, 0, 2]
    """
    keys = [_sortable(column) for column in columns]
    names = [str(i) for i in range(len(keys))]
    batch = pa.RecordBatch.from_arrays(keys, names=names)
    indices = pc.sort_indices(batch, sort_keys=[(name, "ascending") for name in names])
    return views.column(indices).data.astype(np.int64)


def order_by_time(times: np.ndarray, columns: Sequence[pa.Array]) -> np.ndarray:
    """The numbers of the rows by time, then by columns; only rows of equal times are compared by columns.

    >>> order_by_time(np.array([5, 1, 5]), [pa.array(["b", "c", "a"])]).tolist()
    [1, 2, 0]
    """
    order = np.argsort(times, kind="stable")
    ordered = times[order]
    same = ordered[1:] == ordered[:-1]
    if not columns or not same.any():
        return order
    tied = np.zeros(len(times), np.bool_)
    tied[1:] |= same
    tied[:-1] |= same
    runs = np.cumsum(np.append(True, ~same))
    places = np.flatnonzero(tied)
    rows = order[places]
    within = order_rows([pa.array(runs[places]), *(column.take(pa.array(rows)) for column in columns)])
    order[places] = rows[within]
    return order


def order_by_numbers(*numbers: np.ndarray) -> np.ndarray | None:
    """The order of rows by the last of these, then by those before it; None if they are in that order already.

    >>> order_by_numbers(np.array([1, 2, 3]), np.array([1, 0, 1])).tolist()
    [1, 0, 2]
    """
    order: np.ndarray | None = None
    for each in numbers:
        each = each if order is None else each[order]
        if (each[1:] < each[:-1]).any():
            found = dispatch.kernels().order_slots(each, 0)[1]
            assert found is not None
            order = found if order is None else order[found]
    return order


def check_order(field: pa.Field, why: str) -> None:
    """Has a column an order? ``why`` says what it is needed for."""
    column = pa.nulls(2, field.type)
    try:
        for columns in ([column], [column, column]):  # Arrow sorts by one column and by several in different ways
            order_rows(columns)
    except (pa.ArrowException, TypeError) as wrong:
        raise SchemaMismatch(
            f"the column {field.name!r} of type {field.type} has no order, which {why}",
            hint="take it apart or cast it with .with_columns(…), or leave it out with .select(…)",
        ) from wrong


def _sortable(column: pa.Array) -> pa.Array:
    """The column in a type that Arrow sorts, and sorts in the same order."""
    if isinstance(column.type, pa.BaseExtensionType):
        return _sortable(column.storage)
    if pa.types.is_dictionary(column.type):
        return _sortable(column.dictionary_decode())
    if pa.types.is_decimal(column.type) and column.type.bit_width < 128:
        return column.cast(pa.decimal128(column.type.precision, column.type.scale))
    return column.cast(pa.float32()) if pa.types.is_float16(column.type) else column
