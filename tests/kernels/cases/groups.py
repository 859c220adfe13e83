"""Cases of the table that maps keys to dense ids."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa

from oop.kernels.dispatch import Kernels
from oop.kernels.views import DTYPES, Column, key_column
from tests.kernels.cases.inputs import Case, key_columns


def run_group_table(
    kernels: Kernels, kernel: str, kinds: list[str], batches: list[tuple[Any, ...]], by_rows: bool = False
) -> Any:
    table = kernels.GroupTable(kinds, by_rows)
    ids = [table.map(*batch) if batch else table.clear() for batch in batches]
    return ids, len(table), [(c.kind, c.data, c.offsets, c.valid) for c in table.columns()]


def cases() -> Iterator[Case]:
    for label, columns in key_columns().items():
        length = len(columns[0]) if columns else 5
        kinds = [c.kind for c in columns]
        batches = [(columns, length), (columns, length)]
        yield Case("GroupTable", label, lambda kinds=kinds, batches=batches: (kinds, batches))
        rows = np.random.default_rng(3).integers(0, max(length, 1), length // 2)
        yield Case("GroupTable", f"{label}-rows", lambda a=(kinds, [(columns, length, rows)] * 2): a)
        both = [(columns, length, rows), (columns, length)]
        yield Case("GroupTable", f"{label}-by_rows", lambda a=(kinds, both, True): a)
    zeros, nulls = (
        [key_column(pa.array([z, 1, z], pa.int32())), Column("int32", np.zeros(3, np.int32))] for z in (0, None)
    )
    yield Case("GroupTable", "nulls_later", lambda: (["int32"] * 2, [(zeros, 3), (nulls, 3), (zeros, 3), (nulls, 3)]))
    anew = [(nulls, 3), (), (zeros, 3), (), (nulls[::-1], 3), (zeros, 3)]
    yield Case("GroupTable", "cleared", lambda: (["int32"] * 2, anew))
    texts = [key_column(pa.array(values)) for values in (["a", "bc", "a"], ["bc", "", "def"])]
    yield Case("GroupTable", "cleared_text", lambda: (["bytes"], [([texts[0]], 3), (), ([texts[1]], 3)]))
    many = [Column("int", np.arange(i, 5_000)) for i in (0, 4_000)]
    yield Case("GroupTable", "cleared_many", lambda: (["int"], [([many[0]], 5_000), (), ([many[1]], 1_000)]))
    yield from _by_rows()
    yield Case("GroupTable", "wrong_kind", lambda: (["float"], [([Column("int", np.array([1]))], 1)]))
    yield Case("GroupTable", "wrong_length", lambda: (["int"], [([Column("int", np.array([1]))], 2)]))
    yield Case("GroupTable", "row_outside", lambda: (["int"], [([Column("int", np.array([1]))], 1, np.array([1]))]))
    crossed = Column("bytes", np.zeros(9, np.uint8), np.array([0, 9, 3, 9]))
    yield Case("GroupTable", "crossed_offsets", lambda: (["bytes"], [([crossed], 3)]))


def _by_rows() -> Iterator[Case]:
    """Keys that do not fit a word, in tables that keep them by row."""
    rng = np.random.default_rng(5)
    for kinds in (["int"] * 3, ["int16", "float", "uint8"], ["int"] * 16, ["uint32", "int32", "int8", "uint"]):
        for spread in (2, 400):
            columns = [Column(kind, rng.integers(0, spread, 3_000).astype(DTYPES[kind])) for kind in kinds]
            rows = rng.integers(0, 3_000, 4_000)
            batches = [(columns, 3_000), (columns, 3_000, rows), (), (columns, 3_000, rows)]
            yield Case("GroupTable", f"by_rows-{'-'.join(kinds)}-{spread}", lambda a=(kinds, batches, True): a)
    full, holed = ([_with_nulls(rng, kind, share) for kind in ("int", "float", "int16")] for share in (0.0, 0.3))
    batches = [(full, 500), (holed, 500), (full, 500), (), (holed, 500), (full, 500)]
    yield Case("GroupTable", "by_rows-nulls", lambda: (["int", "float", "int16"], batches, True))


def _with_nulls(rng: np.random.Generator, kind: str, share: float) -> Column:
    values = rng.choice([-0.0, 0.0, np.nan, 1.0], 500) if kind == "float" else rng.integers(0, 3, 500)
    return Column(kind, values.astype(DTYPES[kind]), None, rng.random(500) >= share if share else None)


RUNNERS = {"GroupTable": run_group_table}
