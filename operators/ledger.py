"""The ledger of rows set aside at an input: late ones with the promise that each broke, and rows without a time.

Nothing is dropped in silence. Entries keep the rows as they came; the table with promises as text is made on demand.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from oop.kernels import views
from oop.operators.base import Part, read_text, text_part

BROKE, LATE_BY = "broke", "late_by"
WITHOUT_TIME = "a row without a time"


@dataclass(frozen=True)
class Entry:
    """Rows that broke a promise on one attribute: ``bounds`` are theirs, one for each row; or one text for all.

    An entry that was saved and loaded has its columns ``said`` already.
    """

    rows: pa.RecordBatch
    attribute: str | None
    bounds: np.ndarray | None
    text: str | None = None
    said: tuple[pa.Array, pa.Array] | None = None

    def table(self) -> pa.Table:
        table = pa.Table.from_batches([self.rows.replace_schema_metadata(None)])
        broke, late_by = self.said or self._say()
        names = free_names(self.rows.schema)
        return table.append_column(names[0], broke).append_column(names[1], late_by)

    def _say(self) -> tuple[pa.Array, pa.Array]:
        count = self.rows.num_rows
        if self.bounds is None:
            broke = pa.array([self.text] * count, pa.string())
            late_by = pa.nulls(count, pa.float64())
        else:
            broke = pa.array([f"{self.attribute} < {b}" for b in self.bounds.tolist()], pa.string())
            values = views.times(self.rows.column(self.attribute))
            late_by = pa.array(self.bounds.astype(np.float64) - values.astype(np.float64))
        return broke, late_by


def free_names(schema: pa.Schema) -> tuple[str, str]:
    """``broke`` and ``late_by``, with underscores in front if the user has columns of these names."""
    found = [BROKE, LATE_BY]
    for i, name in enumerate(found):
        while name in schema.names:
            name = f"_{name}"
        found[i] = name
    return found[0], found[1]


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
        self._saved = 0  # entries that are saved, the next number, and numbers of saved ones that are drained
        self._next = 0
        self._gone: list[int] = []

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
        broke, late_by = free_names(plain)
        fields = [*plain, pa.field(broke, pa.string()), pa.field(late_by, pa.float64())]
        tables = [e.table() for e in self.entries]
        schema = pa.schema(fields)
        return pa.concat_tables([t.cast(schema) for t in tables]) if tables else schema.empty_table()

    def drain(self) -> pa.Table:
        """The rows so far, which it then forgets; the counts stay."""
        table = self.table()
        self._gone += range(self._next - self._saved, self._next)
        self.entries, self.nbytes, self._saved = [], 0, 0
        return table

    def save(self) -> Iterator[Part]:
        """The entries since the last save, each as a part, and the counts."""
        yield text_part("late", {"late": self.late, "aside": self.aside})
        for number in self._gone:
            yield f"late/{number}", None
        self._gone = []
        for entry in self.entries[self._saved :]:
            yield f"late/{self._next}", entry.table().combine_chunks().to_batches()[0]
            self._next += 1
        self._saved = len(self.entries)

    def load(self, parts: Iterable[Part]) -> None:
        found = {k: p for k, p in parts if p is not None}
        if "late" not in found:
            return
        self.entries, self.nbytes = [], 0
        numbers = sorted(int(k.removeprefix("late/")) for k in found if k.startswith("late/"))
        for number in numbers:
            part = found[f"late/{number}"]
            said = tuple(part.columns[-2:])
            self.add(Entry(part.select(self.schema.names), None, None, said=said))
        counts = read_text(found["late"])
        assert isinstance(counts, Mapping)
        self.late, self.aside = counts["late"], counts["aside"]
        self._saved = len(self.entries)
        self._next = numbers[-1] + 1 if numbers else 0
