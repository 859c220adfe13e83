"""Cases of the kernels that part rows by shard, and of the one that takes rows by number."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa

from oop.kernels.views import Column, column
from tests.kernels.cases.inputs import LARGE, Case, key_columns, new_rng


def cases() -> Iterator[Case]:
    for label, columns in key_columns().items():
        length = len(columns[0]) if columns else 5
        for shards in (1, 3, 64):
            args = (columns, shards, length)
            yield Case("hash_partition", f"{label}-{shards}", lambda args=args: args)
    crossed = Column("bytes", np.zeros(9, np.uint8), np.array([0, 9, 3, 9]))
    yield Case("hash_partition", "crossed_offsets", lambda: ([crossed], 3, 3))
    yield Case("hash_partition", "no_shards", lambda: ([], 0, 1))
    keys = [Column("int", new_rng().integers(-9, 9, 900)), column(pa.array([str(i % 7) for i in range(900)]))]
    for shards in (1, 2, 3, 40):
        yield Case("exchange_rows", f"{shards}", lambda n=shards: _exchange(keys, 900, n))
    yield Case("exchange_rows", "empty", lambda: _exchange([Column("int", np.zeros(0, np.int64))], 0, 2))
    yield Case("exchange_rows", "no_room", lambda: _exchange(keys, 900, 2, room=300))
    yield Case("exchange_rows", "no_values", lambda: (keys, [], [], np.zeros(3, np.int64)))
    yield Case(
        "exchange_rows", "missing_out", lambda: (keys, [np.zeros(900)], [[np.zeros(900)]], np.zeros(2, np.int64))
    )
    yield Case("exchange_rows", "wide", lambda: _exchange(keys, 900, 2, dtypes=(np.complex128,)))
    yield Case("exchange_rows", "crossed_offsets", lambda: _exchange([crossed], 3, 3))
    rows = np.array([4, 0, 0, 2])
    for dtype in (np.int8, np.uint16, np.int32, np.float32, np.int64, np.float64, np.uint64, np.bool_):
        yield Case("take_fixed", np.dtype(dtype).name, lambda dtype=dtype: (np.arange(5).astype(dtype), rows))
        yield Case("take_out", np.dtype(dtype).name, lambda dtype=dtype: (np.arange(5).astype(dtype), rows))
    yield Case("take_out", "large", lambda: (np.arange(LARGE), np.arange(LARGE)[::-3].copy()))
    for label, values in {
        "strided": np.arange(10)[::2],
        "outside": np.arange(4),
        "objects": np.array(["a"] * 5, object),
    }.items():
        yield Case("take_out", label, lambda values=values: (values, rows))
    yield Case("take_out", "empty", lambda: (np.zeros(0), rows[:0]))
    yield Case("take_fixed", "empty", lambda: (np.zeros(0), rows[:0]))
    yield Case("take_fixed", "large", lambda: (np.arange(LARGE), np.arange(LARGE)[::-1].copy()))
    yield Case("take_fixed", "strided", lambda: (np.arange(10)[::2], rows))
    yield Case("take_fixed", "outside", lambda: (np.arange(4), rows))
    yield Case("take_fixed", "negative", lambda: (np.arange(5), -rows))
    yield Case("take_fixed", "objects", lambda: (np.array(["a"] * 5, object), rows))
    yield Case("take_fixed", "wide", lambda: (np.zeros(5, np.complex128), rows))


def _exchange(keys: Any, rows: int, shards: int, room: int | None = None, dtypes: Any = None) -> tuple[Any, ...]:
    dtypes = dtypes or (np.int8, np.uint16, np.float32, np.int64, np.float64, np.bool_)
    values = [np.arange(rows).astype(dtype) for dtype in dtypes]
    outs = [[np.zeros(rows + 2 if room is None else room, dtype) for _ in range(shards)] for dtype in dtypes]
    return keys, values, outs, np.arange(shards) % 2
