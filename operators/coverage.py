"""Whole batches against a frontier: which rows does it cover, and what is the bound for each?

A frontier is asked once for each group that occurs, the comparisons are made on arrays.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from oop.kernels import views
from oop.operators.compute import compute as pc
from oop.operators.group_values import of_column
from oop.punctuation import Frontier, Punctuation
from oop.punctuation.patterns import Bound, GroupPattern, Range, Value

INT64_MIN, INT64_MAX = -(2**63), 2**63 - 1


def as_int64(bound: Bound | None) -> int:
    """A bound on whole numbers for a kernel: nothing promised is the least value, the end the greatest."""
    if bound is None:
        return INT64_MIN
    if math.isinf(bound):
        return INT64_MAX if bound > 0 else INT64_MIN
    return max(INT64_MIN, min(INT64_MAX, math.ceil(bound)))


def int_bounds(frontier: Frontier, attribute: str, keys: Mapping[str, pa.Array]) -> int | np.ndarray:
    """The bound on a whole-number attribute for each row; one number where all rows share it."""
    return bounds_of_rows(frontier, attribute, keys, as_int64)


def bounds_of_rows(
    frontier: Frontier, attribute: str, keys: Mapping[str, pa.Array], convert: Callable[[Bound | None], Any]
) -> Any:
    """What ``convert`` makes of the bound on an attribute, for each row; one value where all rows share it."""
    ranges = [r for r in frontier.ranges if r.below.keys() <= {attribute} and r.where.keys() <= keys.keys()]
    if ranges:
        return _bounds_in_ranges(frontier.without_ranges(), ranges, attribute, keys, convert)
    keys = {c: keys[c] for c in told_apart(frontier, keys)}
    if not keys:
        return convert(frontier.bound(attribute))
    of, cells = cells_of(keys)
    return np.array([convert(frontier.bound(attribute, dict(zip(keys, cell, strict=True)))) for cell in cells])[of]


def _bounds_in_ranges(
    others: Frontier,
    ranges: Sequence[Punctuation],
    attribute: str,
    keys: Mapping[str, pa.Array],
    convert: Callable[[Bound | None], Any],
) -> np.ndarray:
    """The same where values of keys are in ranges: all rows are compared with each range, and have the greatest of the
    bounds that hold for them."""
    rows = pa.RecordBatch.from_arrays(list(keys.values()), names=list(keys))
    groups = {c: keys[c] for c in told_apart(others, keys)}
    of, cells = cells_of(groups) if groups else (np.zeros(rows.num_rows, np.intp), [()])
    found = [others.bound(attribute, dict(zip(groups, cell, strict=True))) for cell in cells]
    reached = [r.below.get(attribute, math.inf) for r in ranges]
    bounds: list[Bound | None] = [None, *sorted({b for b in (*found, *reached) if b is not None})]
    rank = {bound: i for i, bound in enumerate(bounds)}
    of = np.array([rank[b] for b in found])[of]
    for promise, bound in zip(ranges, reached, strict=True):
        of = np.where(matching(Punctuation({}, promise.where), rows), np.maximum(of, rank[bound]), of)
    return np.array([convert(bound) for bound in bounds])[of]


def is_promised(frontier: Frontier, attribute: str, keys: Sequence[str]) -> bool:
    """Is there a bound on the attribute, if only for some groups of these columns?"""
    if frontier.bound(attribute) is not None:
        return True
    named = (corners for c, g in frontier.by.items() if c in keys for corners in g.groups.values())
    if any(corners.bound(attribute) is not None for corners in named):
        return True
    return any(p.where.keys() <= set(keys) and p.below.keys() <= {attribute} for p in frontier.several)


def cells_of(keys: Mapping[str, pa.Array]) -> tuple[np.ndarray, list[tuple[Value, ...]]]:
    """The combinations of values that occur in these columns, and for each row which one it has.

    >>> of, cells = cells_of({"link": pa.array(["A", "B", "A"]), "k": pa.array([1, 1, 1])})
    >>> of.tolist(), cells
    ([0, 1, 0], [('A', 1), ('B', 1)])
    """
    encoded = [encode(array) for array in keys.values()]
    distinct, of = np.unique(np.stack([codes for codes, _ in encoded]), axis=1, return_inverse=True)
    cells = [tuple(v[code] for (_, v), code in zip(encoded, cell, strict=True)) for cell in distinct.T]
    return of.reshape(-1), cells


def group_columns(frontier: Frontier) -> list[str]:
    """The columns by which it has group-wise promises."""
    return frontier.group_columns()


def told_apart(frontier: Frontier, keys: Container[str]) -> list[str]:
    """The key columns by which rows have different bounds: those of groups, and those that have bounds themselves."""
    bounded = {a for corner in frontier.all for a in corner}
    return sorted(c for c in {*group_columns(frontier), *bounded} if c in keys)


def encode(array: pa.Array) -> tuple[np.ndarray, list[Value]]:
    """Dense codes for the rows, and the value of each code; null and NaN are values like others."""
    encoded = array if pa.types.is_dictionary(array.type) else pc.dictionary_encode(array, null_encoding="encode")
    values = of_column(encoded.dictionary)
    codes = encoded.indices
    if codes.null_count:  # a dictionary column whose nulls are in its indices
        codes = pc.fill_null(codes, len(values))
        values = [*values, None]
    return views.column(codes).data, values


def covered(frontier: Frontier, batch: pa.RecordBatch) -> np.ndarray:
    """Which rows match a promise already made?"""
    mask = np.zeros(batch.num_rows, bool)
    for found in _matches(frontier, batch):
        mask |= found
    return mask


def broken_promises(frontier: Frontier, batch: pa.RecordBatch) -> Iterator[tuple[Punctuation, np.ndarray]]:
    """For each promise that rows of the batch match, which rows. Of columns that the batch lacks, because nobody uses
    them, nothing can be said."""
    some, names = covered(frontier, batch), set(batch.schema.names)
    if not some.any():
        return
    for promise in frontier.promises():
        if not promise.patterns().keys() <= names:
            continue
        here = some & matching(promise, batch)
        if here.any():
            yield promise, here


def _matches(frontier: Frontier, batch: pa.RecordBatch) -> Iterator[np.ndarray]:
    """Masks whose union is what the frontier covers; group-wise linear promises in one pass over the column."""
    for corner in frontier.all:
        yield matching(Punctuation(corner), batch)
    for column, grouping in frontier.by.items():
        if column not in batch.schema.names:
            continue
        codes, values = encode(batch.column(column))
        entries = [grouping.at(v) for v in values]
        for attribute in {a for e in entries for a in e.linear}:
            bounds = np.array([e.linear.get(attribute, -math.inf) for e in entries])
            if attribute in batch.schema.names:
                yield _below_each(batch.column(attribute), bounds[codes], entries, codes, attribute)
        for code, entry in enumerate(entries):
            if entry.ended:
                yield codes == code
            for corner in entry.joint:
                yield (codes == code) & matching(Punctuation(corner), batch)
    for promise in frontier.several:
        yield matching(promise, batch)


def _below_each(column: pa.Array, bounds: np.ndarray, entries: list, codes: np.ndarray, attribute: str) -> np.ndarray:
    """Row i is below bounds[i]; whole numbers are compared as such, not as floats."""
    valid, values = _values(column)
    if values.dtype == np.int64:
        exact = np.array([as_int64(e.linear.get(attribute)) for e in entries], np.int64)
        bounds = exact[codes]
    return np.less(values, bounds) & valid


def matching(promise: Punctuation, batch: pa.RecordBatch) -> np.ndarray:
    """Which rows match all of its patterns? A column that the batch does not have is null in every row."""
    mask = np.ones(batch.num_rows, bool)
    for attribute, bound in promise.below.items():
        if attribute not in batch.schema.names:
            return np.zeros(batch.num_rows, bool)
        valid, values = _values(batch.column(attribute))
        mask &= valid & _below(values, bound)
    for name, pattern in promise.where.items():
        mask &= _matches_group(batch, name, pattern)
    return mask


def _below(values: np.ndarray, bound: Bound) -> np.ndarray:
    if values.dtype != np.int64:
        return np.less(values, bound)
    # every value is below a bound beyond the type
    return np.less(values, as_int64(bound)) if bound <= INT64_MAX else np.ones(len(values), bool)


def _matches_group(batch: pa.RecordBatch, name: str, pattern: GroupPattern) -> np.ndarray:
    if name not in batch.schema.names:
        return np.full(batch.num_rows, pattern.matches(None))
    if isinstance(pattern, Range):
        valid, values = _values(batch.column(name))
        inside: np.ndarray = valid & ~_below(values, pattern.low) & ~np.isnan(values)
        return inside if pattern.high is None else inside & _below(values, pattern.high)
    codes, groups = encode(batch.column(name))
    return np.array([pattern.matches(v) for v in groups], bool)[codes]


def _values(column: pa.Array) -> tuple[np.ndarray, np.ndarray]:
    """Validity, and physical numbers with anything under a null."""
    if not column.null_count:
        return np.ones(len(column), bool), views.times(column)
    valid = views.booleans(column.is_valid())
    return valid, views.times(pc.fill_null(column, column.drop_null()[0] if valid.any() else _zero(column.type)))


def _zero(type_: pa.DataType) -> pa.Scalar:
    return pa.scalar(0, pa.int32() if pa.types.is_date32(type_) else pa.int64()).cast(type_)
