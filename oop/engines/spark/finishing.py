"""The last stage puts out the result as rows, not as cells, which saves a hand-over to another worker.

Spark takes a pandas frame from a stage. Its columns may be Arrow's, so nothing is converted. Results with nested
columns cannot be put out like this: they go through cells, which are decoded later (`dataframes.py`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import pandas as pd
import pyarrow as pa

from oop.engines.spark.cells import ROWS, Cell, decode
from oop.engines.spark.types import as_spark

COUNTED = pa.schema([("kind", pa.int32()), ("sender", pa.int32()), ("number", pa.int64()), ("value", pa.int64())])
"""The columns of the counts (`METRIC` cells), which stand in front of the columns of the result."""


def finished(schema: pa.Schema) -> pa.Schema:
    """The columns of the last stage: those of counts, then those of the result, under names that cannot clash."""
    return pa.schema([*COUNTED, *(pa.field(f"c{i}", field.type) for i, field in enumerate(schema))])


def result_frames(cells: Iterable[Cell], schema: pa.Schema) -> Iterator[pd.DataFrame]:
    """Rows of the result, and counts. Cells from earlier stages are decoded; the last stage's own batches are not
    encoded."""
    columns = finished(schema)
    for cell in cells:
        rows = [pa.nulls(1, field.type) for field in schema]
        if cell.kind == ROWS:
            rows = as_spark(decode(cell.body) if isinstance(cell.body, bytes) else cell.body, schema).columns
        said = (cell.kind, cell.sender, cell.number, cell.value)
        counts = [pa.repeat(pa.scalar(v, f.type), len(rows[0])) for v, f in zip(said, COUNTED, strict=True)]
        yield _frame([*counts, *rows], columns)


def _frame(columns: list[pa.Array], schema: pa.Schema) -> pd.DataFrame:
    table = pa.Table.from_arrays(columns, schema=schema)
    return table.to_pandas(types_mapper=pd.ArrowDtype)
