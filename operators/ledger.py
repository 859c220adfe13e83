"""The ledger of rows set aside, at an input or in the middle of a plan: late ones with the promise that each broke, and
rows without a time.

Nothing is dropped in silence. Entries keep the rows as they came; the table with promises as text is made on demand.
Rows that are drained leave their lateness in buckets (`late_buckets`): counts and histograms stay.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np
import pyarrow as pa

from oop.kernels import views
from oop.operators.base import Part, read_text, text_part
from oop.operators.late_buckets import Buckets, count_buckets

BROKE, LATE_BY = "broke", "late_by"
WITHOUT_TIME = "a row without a time"
_ATTRIBUTE = b"oop.attribute"


@dataclass(frozen=True)
class Entry:
    """Rows that broke a promise on one attribute: ``bounds`` are theirs, one for each row. ``text`` is the promise that
    all of them broke, where it says more than a bound.

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
        if self.text is not None or self.bounds is None:
            broke = pa.array([self.text] * self.rows.num_rows, pa.string())
        else:
            broke = pa.array([f"{self.attribute} < {b}" for b in self.bounds.tolist()], pa.string())
        return broke, pa.array(self.late_by(), from_pandas=True)

    def late_by(self) -> np.ndarray:
        """By how much each row was late, in the attribute's unit; NaN where the promise was not about one bound."""
        if self.said is not None:
            return self.said[1].to_numpy(zero_copy_only=False)
        if self.bounds is None:
            return np.full(self.rows.num_rows, np.nan)
        values = views.times(self.rows.column(self.attribute))
        if values.dtype != np.int64 or self.bounds.dtype != np.int64:
            return self.bounds.astype(np.float64) - values.astype(np.float64)
        # nanoseconds of today are more than a float can tell apart, what lies between two of them is not
        return (self.bounds - values).view(np.uint64).astype(np.float64)


def free_names(schema: pa.Schema) -> tuple[str, str]:
    """``broke`` and ``late_by``, with underscores in front if the user has columns of these names."""
    found = [BROKE, LATE_BY]
    for i, name in enumerate(found):
        while name in schema.names:
            name = f"_{name}"
        found[i] = name
    return found[0], found[1]


@runtime_checkable
class SetsAside(Protocol):
    """An operator that sets rows aside: the input, and what assumes an order."""

    @property
    def ledger(self) -> Ledger: ...


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
        self.drained: dict[str | None, Buckets] = {}  # by attribute; None: rows that broke no single bound
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

    def late_by(self, attribute: str) -> tuple[np.ndarray, int]:
        """How late the rows are that broke a promise on an attribute and are still here; and how many others broke a
        promise that was not about one bound."""
        late = [e for e in self.entries if e.text != WITHOUT_TIME]
        found = [e.late_by() for e in late if e.attribute == attribute]
        unknown = sum(e.rows.num_rows for e in late if e.attribute is None) + self.drained.get(None, Buckets()).total()
        return np.concatenate(found) if found else np.zeros(0), unknown

    def drain(self) -> pa.Table:
        """The rows so far, which it then forgets; the counts stay, also of how late they were."""
        table = self.table()
        for entry in self.entries:
            if entry.text != WITHOUT_TIME:
                new = Buckets({0: entry.rows.num_rows}) if entry.attribute is None else count_buckets(entry.late_by())
                self.drained[entry.attribute] = self.drained.get(entry.attribute, Buckets()) + new
        self._gone += range(self._next - self._saved, self._next)
        self.entries, self.nbytes, self._saved = [], 0, 0
        return table

    def save(self) -> Iterator[Part]:
        """The entries since the last save, each as a part, and the counts."""
        drained = [[attribute, *pair] for attribute, counts in self.drained.items() for pair in counts.items()]
        yield text_part("late", {"late": self.late, "aside": self.aside, "drained": drained})
        for number in self._gone:
            yield f"late/{number}", None
        self._gone = []
        for entry in self.entries[self._saved :]:
            part = entry.table().combine_chunks().to_batches()[0]
            yield f"late/{self._next}", part.replace_schema_metadata({_ATTRIBUTE: entry.attribute or ""})
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
            attribute = (part.schema.metadata or {}).get(_ATTRIBUTE, b"").decode() or None
            text = WITHOUT_TIME if part.num_rows and said[0][0].as_py() == WITHOUT_TIME else None
            self.add(Entry(part.select(self.schema.names), attribute, None, text, said))
        counts = read_text(found["late"])
        assert isinstance(counts, Mapping)
        self.late, self.aside = counts["late"], counts["aside"]
        self.drained = {}
        for attribute, bucket, count in counts.get("drained", ()):
            self.drained.setdefault(attribute, Buckets())[bucket] = count
        self._saved = len(self.entries)
        self._next = numbers[-1] + 1 if numbers else 0
