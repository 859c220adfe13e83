"""The ledger of rows set aside at an input: late ones with the promise that each broke, and rows without a time.

Nothing is dropped in silence. Entries keep the rows as they came; the table with promises as text is made on demand.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from oop.kernels import views

BROKE, LATE_BY = "broke", "late_by"
WITHOUT_TIME = "a row without a time"


@dataclass(frozen=True)
class Entry:
    """Rows that broke a promise on one attribute: ``bounds`` are theirs, one for each row; or one text for all."""

    rows: pa.RecordBatch
    attribute: str | None
    bounds: np.ndarray | None
    text: str | None = None

    def table(self) -> pa.Table:
        count = self.rows.num_rows
        if self.bounds is None:
            broke = pa.array([self.text] * count, pa.string())
            late_by = pa.nulls(count, pa.float64())
        else:
            broke = pa.array([f"{self.attribute} < {b}" for b in self.bounds.tolist()], pa.string())
            values = views.times(self.rows.column(self.attribute))
            late_by = pa.array(self.bounds.astype(np.float64) - values.astype(np.float64))
        plain = self.rows.replace_schema_metadata(None)
        table = pa.Table.from_batches([plain])
        return table.append_column(BROKE, broke).append_column(LATE_BY, late_by)


class Ledger:
    """Rows set aside, in the order in which they came.

    ``late`` counts rows that broke a promise (whether dropped or admitted), ``aside`` rows without a time.
    """

    def __init__(self, schema: pa.Schema) -> None:
        self.schema = schema
        self.entries: list[Entry] = []
        self.late = 0
        self.aside = 0
        self.nbytes = 0  # kept as a total: it is asked for after every round

    def add(self, entry: Entry) -> None:
        self.entries.append(entry)
        self.nbytes += entry.rows.nbytes + (0 if entry.bounds is None else entry.bounds.nbytes)
        if entry.text == WITHOUT_TIME:
            self.aside += entry.rows.num_rows
        else:
            self.late += entry.rows.num_rows

    def __iter__(self) -> Iterator[Entry]:
        return iter(self.entries)

    def table(self) -> pa.Table:
        """The rows, the promise that each ``broke``, and ``late_by`` how much (in the attribute's unit)."""
        plain = self.schema.remove_metadata()
        fields = [*plain, pa.field(BROKE, pa.string()), pa.field(LATE_BY, pa.float64())]
        tables = [e.table() for e in self.entries]
        schema = pa.schema(fields)
        return pa.concat_tables([t.cast(schema) for t in tables]) if tables else schema.empty_table()
