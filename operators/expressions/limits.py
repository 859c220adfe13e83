"""The ranges that a filter keeps columns within: what is promised about such a range holds for all rows that pass.

>>> limits = both_limits(limits_of("k", "greater_equal", 10), limits_of("k", "less", 20))
>>> limits, ranges_of(limits, pa.schema({"k": pa.int64()}))
({'k': (10, 20)}, {'k': Range(low=10, high=20)})
"""

from __future__ import annotations

import math

import pyarrow as pa

from oop.punctuation.patterns import Bound, Range

Limits = dict[str, tuple[Bound, Bound]]
"""For each column the least value that it can have, and a bound that all its values are below."""

TURNED = {"less": "greater", "less_equal": "greater_equal", "greater": "less", "greater_equal": "less_equal"}
"""Comparisons, and what they become when their sides are exchanged."""


def limits_of(column: str, function: str, constant: object) -> Limits:
    """The limits that comparing a column with a constant sets; beyond 2**53 integers would be rounded to floats."""
    if not isinstance(constant, int | float) or isinstance(constant, bool) or not abs(constant) < 2**53:
        return {}
    if function.startswith("greater"):
        return {column: (constant, math.inf)}
    return {column: (-math.inf, constant if function == "less" else math.nextafter(constant, math.inf))}


def both_limits(a: Limits, b: Limits) -> Limits:
    """The limits of rows in which both hold."""
    shared = {c: (max(a[c][0], b[c][0]), min(a[c][1], b[c][1])) for c in a.keys() & b.keys()}
    return {**a, **b, **shared}


def ranges_of(limits: Limits, schema: pa.Schema) -> dict[str, Range]:
    """The limits that have a beginning, for columns that are compared as they are, which narrow floats are not."""
    found = {}
    for column, (low, high) in limits.items():
        type_ = schema.field(column).type
        if -math.inf < low < high and (pa.types.is_integer(type_) or pa.types.is_float64(type_)):
            found[column] = Range(low, None if high == math.inf else high)
    return found
