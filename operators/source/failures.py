"""Rows at which a source may fail: those without a time, and late rows if they are errors."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from oop.errors import LateRow, TimeError
from oop.kernels import views
from oop.operators.core.row_text import show_row
from oop.operators.source.entries import WITHOUT_TIME, Entry
from oop.operators.source.fields import InputFields
from oop.operators.source.guard import Broken
from oop.operators.source.ledger import Ledger
from oop.operators.source.numbers import Numbers


def with_time(
    spec: InputFields, batch: pa.RecordBatch, first_row: int, ledger: Ledger
) -> tuple[pa.RecordBatch, Numbers, TimeError | None]:
    """Rows without a time belong to no window: an error that names the row, or set aside by choice.

    Also gives the numbers of the rows that are left, counted from the stream's first.
    """
    numbers = range(first_row, first_row + batch.num_rows)
    column = batch.column(spec.time)
    if not column.null_count and not pa.types.is_floating(column.type):
        return batch, numbers, None
    missing = views.booleans(column.is_null())
    if pa.types.is_floating(column.type):
        missing |= ~np.isfinite(views.times(column.fill_null(0.0)))
    if not missing.any():
        return batch, numbers, None
    if spec.nulls == "aside":
        ledger.add(Entry(batch.filter(pa.array(missing)), None, None, WITHOUT_TIME))
        return batch.filter(pa.array(~missing)), first_row + np.flatnonzero(~missing), None
    row = int(np.flatnonzero(missing)[0])
    value = column[row].as_py()
    return (
        batch.slice(0, row),
        numbers,
        TimeError(
            f"source {spec.source!r}: row {first_row + row} has {'no value' if value is None else value} "
            f"in its time column {spec.time!r}",
            hint='filter such rows out, or pass nulls="aside" to set them aside like late rows',
        ),
    )


def is_everywhere(times: pa.Array) -> bool:
    """Does every row have a time?"""
    if times.null_count:
        return False
    return not pa.types.is_floating(times.type) or bool(np.isfinite(views.times(times)).all())


def late_row(
    source: str, batch: pa.RecordBatch, late: np.ndarray, entries: Sequence[Broken], numbers: Numbers
) -> tuple[int, LateRow]:
    """The first late row of a batch, and the error that names it with the promise that it broke."""
    row = int(np.flatnonzero(late)[0])
    rows, entry = next((rows, entry) for rows, entry in entries if rows[row])
    broke = entry.table().columns[-2][int(rows[:row].sum())].as_py()
    values = show_row(batch, row)
    return row, LateRow(
        f"source {source!r}: row {numbers[row]} breaks the promise {broke}: {values}",
        hint='promise less (a greater slack), or pass late="drop" or late="admit"',
    )
