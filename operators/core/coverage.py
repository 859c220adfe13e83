"""Whole batches against a frontier: which rows does it cover, and what is the bound for each?

A frontier is asked once for each group that occurs, and the comparisons are made on arrays.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from oop.kernels import views
from oop.operators.core.compute import compute as pc
from oop.operators.core.row_groups import distinct_groups, encode_groups, groups_of
from oop.punctuation import Corners, Frontier, GroupPromises, Punctuation
from oop.punctuation.patterns import Bound, Group, GroupPattern, Range, Value
from oop.punctuation.staircase import Staircase

INT64_MIN, INT64_MAX, UINT64_MAX = -(2**63), 2**63 - 1, 2**64 - 1
_FEW = 8  # rows are few beside promises, or promises beside rows, if there are more than so many of these for each


def as_int64(bound: Bound | None) -> int:
    """A bound on whole numbers for a kernel: nothing promised is the least value, the end the greatest."""
    if type(bound) is int and INT64_MIN <= bound <= INT64_MAX:
        return bound
    if bound is None:
        return INT64_MIN
    if math.isinf(bound):
        return INT64_MAX if bound > 0 else INT64_MIN
    return max(INT64_MIN, min(INT64_MAX, math.ceil(bound)))


def as_float(bound: Bound | None) -> float:
    """A bound on floats for a kernel; nothing promised is minus infinity."""
    return -math.inf if bound is None else float(bound)


def int_bounds(frontier: Frontier, attribute: str, keys: Mapping[str, pa.Array]) -> int | np.ndarray:
    """The bound on a whole-number attribute for each row; one number where all rows share it."""
    return bounds_of_rows(frontier, attribute, keys, as_int64)


def bounds_of_rows(
    frontier: Frontier,
    attribute: str,
    keys: Mapping[str, pa.Array],
    convert: Callable[[Bound | None], Any],
    named: Iterable[Group] | None = None,
) -> Any:
    """What ``convert`` makes of the bound on an attribute, for each row; one value where all rows share it. If groups
    are ``named``, rows of other groups have the bound that holds for all rows."""
    ranges = [r for r in frontier.ranges if r.below.keys() <= {attribute} and r.where.keys() <= keys.keys()]
    if ranges:
        return _bounds_in_ranges(frontier.without_ranges(), ranges, attribute, keys, convert)
    keys = {c: keys[c] for c in columns_told_apart(frontier, keys)}
    if not keys:
        return convert(frontier.bound(attribute))
    of, groups = distinct_groups(keys, named)
    return np.array([convert(frontier.bound(attribute, dict(zip(keys, group, strict=True)))) for group in groups])[of]


def bound_of_group(
    frontier: Frontier, attribute: str, group: Mapping[str, Value], types: Sequence[pa.DataType]
) -> Bound | None:
    """The bound on an attribute for one group, of columns of these types. A frontier compares ranges with numbers, so a
    date or timestamp is compared as the physical number of its column."""
    if not frontier.ranges or not any(map(pa.types.is_temporal, types)):
        return frontier.bound(attribute, group)
    keys = {c: pa.array([value], type_) for (c, value), type_ in zip(group.items(), types, strict=True)}
    found = bounds_of_rows(frontier, attribute, keys, lambda bound: [bound])
    bound: Bound | None = np.array(found, object).item()
    return bound


def _bounds_in_ranges(
    others: Frontier,
    ranges: Sequence[Punctuation],
    attribute: str,
    keys: Mapping[str, pa.Array],
    convert: Callable[[Bound | None], Any],
) -> np.ndarray:
    """Like `bounds_of_rows`, for a frontier with promises about ranges: all rows are compared with each range, and have
    the greatest of the bounds that hold for them."""
    rows = pa.RecordBatch.from_arrays(list(keys.values()), names=list(keys))
    apart = {c: keys[c] for c in columns_told_apart(others, keys)}
    of, groups = distinct_groups(apart) if apart else (np.zeros(rows.num_rows, np.intp), [()])
    found = [others.bound(attribute, dict(zip(apart, group, strict=True))) for group in groups]
    reached = [r.below.get(attribute, math.inf) for r in ranges]
    bounds: list[Bound | None] = [None, *sorted({b for b in (*found, *reached) if b is not None})]
    rank = {bound: i for i, bound in enumerate(bounds)}
    of = np.array([rank[b] for b in found], np.intp)[of]
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


group_columns = Frontier.group_columns
"""The columns by which a frontier has group-wise promises."""


def columns_told_apart(frontier: Frontier, keys: Container[str]) -> list[str]:
    """The key columns by which rows have different bounds: those of groups, and those that have bounds themselves."""
    return sorted(c for c in {*group_columns(frontier), *frontier.all.attributes()} if c in keys)


def covered(frontier: Frontier, batch: pa.RecordBatch) -> np.ndarray:
    """Which rows match a promise already made?"""
    mask = np.zeros(batch.num_rows, bool)
    for found in _matches(frontier, batch) if batch.num_rows else ():
        mask |= found
    return mask


def _matches(frontier: Frontier, batch: pa.RecordBatch) -> Iterator[np.ndarray]:
    """Masks whose union is what the frontier covers; group-wise linear promises take one pass over the column."""
    everyone = frontier.all
    if everyone.ended:
        yield np.ones(batch.num_rows, bool)
    for attribute, bound in everyone.linear.items():
        yield _below_bound(batch, attribute, bound)
    if everyone.joint:
        yield _below_joint(everyone, batch)
    for column, grouping in frontier.by.items():
        if column not in batch.schema.names:
            continue
        named = grouping.named() if grouping.flat.size * _FEW < batch.num_rows and grouping.is_flat else None
        codes, values = encode_groups(batch.column(column), named)
        entries = [grouping.at(v) for v in values]
        for attribute in {a for e in entries for a in e.linear}:
            if attribute in batch.schema.names:
                bounds = [e.linear.get(attribute) for e in entries]
                yield _below_each(batch.column(attribute), bounds, codes)
        for code, entry in enumerate(entries):
            if entry.ended:
                yield codes == code
            if entry.joint:
                yield (codes == code) & _below_joint(entry, batch)
    for promise in (*frontier.across.mixed, *frontier.ranges):
        yield matching(promise, batch)
    for columns, bounds_of in frontier.across.single.items():
        for attribute, known in bounds_of.linear.items():
            yield below_groups(GroupPromises(columns, attribute, known), batch)
        if bounds_of.more:
            of, groups = groups_of(columns, batch)
            for number, more in enumerate(map(bounds_of.more.get, groups)):
                if more is not None:
                    yield (of == number) if more.ended else (of == number) & _below_joint(more, batch)


def _below_joint(corners: Corners, batch: pa.RecordBatch) -> np.ndarray:
    """Which rows are below a corner with several attributes?"""
    mask = np.zeros(batch.num_rows, bool)
    for steps in corners.stairs.values():
        rows, places = steps_above(steps, batch)
        mask[rows[places < len(steps)]] = True
    for corner in corners.wide:
        mask |= matching(Punctuation(corner), batch)
    return mask


def steps_above(steps: Staircase, batch: pa.RecordBatch) -> tuple[np.ndarray, np.ndarray]:
    """The rows that have both attributes, and the step that each is below; ``len(steps)`` stands for none."""
    if not {steps.first, steps.second} <= set(batch.schema.names):
        return np.zeros(0, np.int64), np.zeros(0, np.int64)
    (valid, first), (there, second) = (numbers_of(batch.column(c)) for c in (steps.first, steps.second))
    rows = np.flatnonzero(valid & there)
    beyond = max(steps.rising[-1], steps.falling[0]) > INT64_MAX
    if len(rows) * _FEW >= len(steps) and not beyond:
        return rows, _places_above(steps, first[rows], second[rows])
    found = []
    for value, beside in zip(first[rows].tolist(), second[rows].tolist(), strict=True):
        # NaN is below no bound, and has no order among bounds
        under = value == value and steps.covers((value, True), (beside, True))
        found.append(steps.above((value, True)) if under else len(steps))
    return rows, np.array(found, np.int64)


def _places_above(steps: Staircase, first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """The step that each row is below, as `steps_above` gives it, for many rows at a time."""
    rising, falling = (
        np.array(bounds if values.dtype == np.float64 else [_whole(b, values.dtype) for b in bounds], values.dtype)
        for bounds, values in ((steps.rising, first), (steps.falling, second))
    )
    places = np.searchsorted(rising, first, "right")  # NaN is behind all
    return np.where(second < np.append(falling, falling[-1])[places], places, len(steps))


def below_groups(promises: GroupPromises, batch: pa.RecordBatch) -> np.ndarray:
    """Which rows are below the bound of their group? A column that the batch does not have is null in every row."""
    if promises.attribute not in batch.schema.names:
        return np.zeros(batch.num_rows, bool)
    few = len(promises) * _FEW < batch.num_rows
    of, groups = groups_of(promises.columns, batch, promises.bounds if few else None)
    return _below_each(batch.column(promises.attribute), list(map(promises.bounds.get, groups)), of)


def _below_each(column: pa.Array, bounds: Sequence[Bound | None], codes: np.ndarray) -> np.ndarray:
    """Row i is below bounds[codes[i]], if there is one; whole numbers are compared as such, not as floats."""
    valid, values = numbers_of(column)
    if values.dtype != np.float64:
        below = values < np.array([_whole(b, values.dtype) for b in bounds], values.dtype)[codes]
        most = np.iinfo(values.dtype).max
        beyond = [b is not None and b > most for b in bounds]  # every value is below a bound beyond the type
        return (below | np.array(beyond)[codes] if any(beyond) else below) & valid
    return (values < np.array([-math.inf if b is None else b for b in bounds], np.float64)[codes]) & valid


def matching(promise: Punctuation, batch: pa.RecordBatch) -> np.ndarray:
    """Which rows match all of its patterns? A column that the batch does not have is null in every row."""
    mask = np.ones(batch.num_rows, bool)
    for attribute, bound in promise.below.items():
        mask &= _below_bound(batch, attribute, bound)
    for name, pattern in promise.where.items():
        mask &= _matches_group(batch, name, pattern)
    return mask


def _below_bound(batch: pa.RecordBatch, attribute: str, bound: Bound) -> np.ndarray:
    if attribute not in batch.schema.names:
        return np.zeros(batch.num_rows, bool)
    valid, values = numbers_of(batch.column(attribute))
    return valid & _below(values, bound)


def _below(values: np.ndarray, bound: Bound) -> np.ndarray:
    if values.dtype == np.float64:
        return np.less(values, bound)
    if bound > np.iinfo(values.dtype).max:  # every value is below a bound beyond the type
        return np.ones(len(values), bool)
    return np.less(values, np.array(_whole(bound, values.dtype), values.dtype))


def _whole(bound: Bound | None, dtype: np.dtype) -> int:
    """A bound for values of a whole type; nothing promised is its least value."""
    if dtype == np.int64:
        return as_int64(bound)
    return 0 if bound is None or bound <= 0 else UINT64_MAX if bound > UINT64_MAX else math.ceil(bound)


def _matches_group(batch: pa.RecordBatch, name: str, pattern: GroupPattern) -> np.ndarray:
    if name not in batch.schema.names:
        return np.full(batch.num_rows, pattern.matches(None))
    if isinstance(pattern, Range):
        valid, values = numbers_of(batch.column(name))
        inside: np.ndarray = valid & ~_below(values, pattern.low) & ~np.isnan(values)
        return inside if pattern.high is None else inside & _below(values, pattern.high)
    codes, groups = encode_groups(batch.column(name))
    return np.array([pattern.matches(v) for v in groups], bool)[codes]


def numbers_of(column: pa.Array) -> tuple[np.ndarray, np.ndarray]:
    """Validity, and physical numbers with any number under a null; unsigned if one exceeds the greatest int64."""
    if not column.null_count:
        valid = np.ones(len(column), bool)
    else:
        valid = views.booleans(column.is_valid())
        column = pc.fill_null(column, column.drop_null()[0] if valid.any() else _zero(column.type))
    if pa.types.is_uint64(column.type) and len(column):
        unsigned: np.ndarray = views.column(column).data
        if int(unsigned.max()) > INT64_MAX:
            return valid, unsigned
    return valid, views.times(column)


def _zero(type_: pa.DataType) -> pa.Scalar:
    return pa.scalar(0, pa.int32() if pa.types.is_date32(type_) else pa.int64()).cast(type_)
