"""Cases of the results of groups: columns of every kind and width, with nulls, also of words side by side."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa

from oop.kernels.dispatch import Kernels
from oop.kernels.signatures.results import GroupWords, ResultColumn, ResultKind
from oop.kernels.views import Column, key_column
from tests.kernels.cases.inputs import LEAST, MOST, Case, new_rng

CONSTANT, KEY, VALUES, COUNTED, SUM, MEAN = ResultKind
WORDS = 5
"""Words of a group that stand side by side: counts, the words of a sum, and two values."""


def run_results(kernels: Kernels, kernel: str, keys: list[Any], fields: Any, columns: Any, given: Any) -> Any:
    """The results of some tables, one after the other, whole and in slices: each with its arrays and its constants."""
    results = kernels.GroupResults(pa.schema(fields), columns)
    found = []
    for rows, arrays, constants in given:
        table = kernels.GroupTable([key.kind for key in keys])
        if rows:
            table.map([_first(key, rows) for key in keys], rows)
        step = max(1, len(table) // 3)
        slices = [(first, min(first + step, len(table))) for first in range(0, len(table), step)]
        for part in [(), *slices]:
            batch = results.give(table, arrays, constants, *part)
            if batch is not None:
                batch.validate(full=True)
            found.append(None if batch is None else [(str(column.type), _values(column)) for column in batch.columns])
        results.forget()
    return found


def _first(key: Column, rows: int) -> Column:
    return Column(key.kind, key.data[:rows], None, None if key.valid is None else key.valid[:rows])


def _values(column: pa.Array) -> list[Any]:
    if pa.types.is_floating(column.type):
        return [None if value is None else float(value) for value in column.to_pylist()]
    return (
        column.cast(pa.int64()).to_pylist() if column.type.bit_width == 64 else column.view(_whole(column)).to_pylist()
    )


def _whole(column: pa.Array) -> pa.DataType:
    return {8: pa.int8(), 16: pa.int16(), 32: pa.int32()}[column.type.bit_width]


def _summary(counts: Any, hi: Any, lo: Any, least: Any, most: Any) -> np.ndarray[Any, Any]:
    return np.ascontiguousarray(np.stack([np.array(a, np.int64) for a in (counts, hi, lo, least, most)], axis=1))


def _side_by_side(array: int, *words: int) -> tuple[GroupWords, ...]:
    return tuple(GroupWords(array, word, WORDS) for word in words)


def cases() -> Iterator[Case]:
    rng, n = new_rng(), 300
    keys = {
        "int": key_column(pa.array(rng.permutation(n))),
        "some_null": key_column(pa.array([None, *range(n - 1)], pa.int32())),
        "short": key_column(pa.array(np.arange(n).astype(np.int16))),
        "float": key_column(pa.array([float("nan"), -0.0, *np.arange(n - 2) + 0.5])),
    }
    types = {"int": pa.timestamp("us"), "some_null": pa.date32(), "short": pa.int16(), "float": pa.float64()}
    words = _summary(
        rng.integers(0, 3, n), rng.integers(-9, 9, n), rng.integers(0, 2**32, n), *rng.integers(-99, 99, (2, n))
    )
    arrays = [np.arange(n), words, rng.random(n)]
    aggregates = {
        "n": (pa.int64(), ResultColumn(VALUES, words=(GroupWords(0),))),
        "real": (pa.float64(), ResultColumn(VALUES, words=(GroupWords(2),))),
        "least": (pa.int8(), ResultColumn(COUNTED, words=_side_by_side(1, 3, 0))),
        "most": (pa.date32(), ResultColumn(COUNTED, words=_side_by_side(1, 4, 0))),
        "time": (pa.timestamp("s"), ResultColumn(COUNTED, words=_side_by_side(1, 4, 0))),
        "sum": (pa.int64(), ResultColumn(SUM, words=_side_by_side(1, 1, 2, 0))),
        "mean": (pa.float64(), ResultColumn(MEAN, words=_side_by_side(1, 1, 2, 0))),
    }
    fields = [pa.field("start", pa.int64()), pa.field("end", pa.float64())]
    columns = [ResultColumn(CONSTANT), ResultColumn(CONSTANT)]
    for number, (name, key) in enumerate(keys.items()):
        fields.append(pa.field(name, types[name]))
        columns.append(ResultColumn(KEY, number))
        assert len(key) == n
    fields += [pa.field(name, type_) for name, (type_, _) in aggregates.items()]
    columns += [column for _, column in aggregates.values()]
    shorter = [arrays[0][:20], words[:20].copy(), arrays[2][:20]]
    given = [
        (n, arrays, (LEAST, 1.5)),
        (1, arrays, (MOST, -0.0)),
        (9, shorter, (0, float("inf"))),
        (0, arrays, (1, 1.0)),
    ]
    yield Case("GroupResults", "all", lambda: (list(keys.values()), fields, columns, given))
    yield Case(
        "GroupResults", "wrong-short_array", lambda: (list(keys.values()), fields, columns, [(30, shorter, (1, 1.0))])
    )
    yield Case(
        "GroupResults", "wrong-no_array", lambda: (list(keys.values()), fields, columns, [(3, arrays[:1], (1, 1.0))])
    )
    count = [ResultColumn(VALUES, words=(GroupWords(0),))]
    yield Case("GroupResults", "no_key", lambda: ([], [fields[0]], count, [(5, [np.array([7])], ())]))
    key = [keys["int"]]
    for label, (type_, number) in {
        "wide": (pa.int32(), 0),
        "behind": (pa.int64(), 1),
        "before": (pa.int64(), -1),
    }.items():
        columns_ = [ResultColumn(KEY, number)]
        yield Case(
            "GroupResults",
            f"wrong-key_{label}",
            lambda t=type_, c=columns_: (key, [pa.field("k", t)], c, [(3, [], ())]),
        )
    for label, hi, lo in (
        ("fits", [-(2**31), 2**31 - 1, -1], [0, 2**32 - 1, 2**32 - 5]),
        ("above", [2**31], [0]),
        ("below", [-(2**31) - 1], [2**32 - 1]),
    ):
        sums = [_summary([2] * len(hi), hi, lo, hi, hi)]
        for kind, type_ in ((SUM, pa.int64()), (MEAN, pa.float64())):
            column = [ResultColumn(kind, words=_side_by_side(0, 1, 2, 0))]
            yield Case(
                "GroupResults",
                f"{kind.name.lower()}-{label}",
                lambda c=column, s=sums, t=type_: (key, [pa.field("s", t)], c, [(len(s[0]), s, ())]),
            )
    for label, column in {
        "words": ResultColumn(SUM, words=(GroupWords(0),)),
        "outside": ResultColumn(VALUES, words=(GroupWords(0, 3, 2),)),
    }.items():
        yield Case("GroupResults", f"wrong-{label}", lambda c=column: ([], [fields[0]], [c], []))
    yield Case("GroupResults", "wrong-bits", lambda: ([], [pa.field("n", pa.int32())], count, []))


RUNNERS = {"GroupResults": run_results}
