"""The ledger of rows set aside, at an input or in the middle of a plan: late ones with the promise that each broke, and
rows without a time.

No row is dropped silently. Entries (`entries.py`) keep the rows as they came; the table with promises as text is made
on demand. Of rows that are drained, or for which there is no room, the lateness is kept in buckets (`lateness.py`), so
counts and histograms stay.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping

import numpy as np
import pyarrow as pa

from oop.operators.core.parts import Part, read_text, text_part
from oop.operators.source.coupled_entries import LOOSE, SMALL, coupled
from oop.operators.source.entries import TIME, UNKNOWN, WITHOUT_TIME, Entry, Measure, free_names
from oop.operators.source.lateness import Buckets, count_buckets
from oop.operators.source.room import Room

_ATTRIBUTE, _BOOKED = b"oop.attribute", b"oop.booked"


class Ledger:
    """Rows set aside, in the order in which they came.

    ``late`` counts rows that broke a promise (whether dropped or admitted), ``without_time`` those that have no time.
    The first rows that come are kept while there is ``room`` (None: all of them). ``not_kept`` counts the others, of
    which only the lateness is known.
    """

    def __init__(self, schema: pa.Schema) -> None:
        self.schema = schema
        self.entries: list[Entry] = []
        self.room: Room | None = None
        self.late = 0
        self.without_time = 0
        self.not_kept = 0
        self._rows = 0  # rows that are kept
        self._loose = 0  # small entries that have not been joined yet
        self.nbytes = 0  # a running total, because it is read after every round
        self.drained: dict[Measure, Buckets] = {}
        self._saved = 0  # entries that are saved, the next number, and numbers of saved ones that are drained
        self._next = 0
        self._gone: list[int] = []

    def add(self, entry: Entry) -> None:
        rows, timeless = entry.rows.num_rows, entry.has_no_time
        self.late += 0 if timeless else rows
        self.without_time += rows if timeless else 0
        room = rows if self.room is None else self.room.take(rows)
        if room < rows:
            self.not_kept += rows - room
            self._count([entry.piece(room, rows)])
            entry = entry.piece(0, room)
        if room:
            self._keep(entry)
            self._loose += rows < SMALL
        if self._loose >= LOOSE:
            first = max(self._saved, len(self.entries) - LOOSE)  # entries that are saved stay as they are
            loose = self.entries[first:]
            self.entries[first:] = together = list(coupled(loose))
            self.nbytes += sum(e.nbytes for e in together) - sum(e.nbytes for e in loose)
            self._loose = 0

    def _keep(self, entry: Entry) -> None:
        self.entries.append(entry)
        self.nbytes += entry.nbytes
        self._rows += entry.rows.num_rows

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

    def late_by(self, attribute: str, unit: str = TIME) -> tuple[np.ndarray, int]:
        """The lateness of the kept rows that broke a promise on an attribute, and the number of rows that broke a
        promise which was not about a single bound."""
        found, unknown = [np.zeros(0)], self.drained.get(UNKNOWN, Buckets()).total()
        for measure, late in _measured(self.entries):
            if measure == (attribute, unit):
                found.append(late)
            elif measure == UNKNOWN:
                unknown += len(late)
        return np.concatenate(found), unknown

    def _count(self, entries: Iterable[Entry]) -> None:
        """Count the lateness of the rows of entries that are not kept."""
        for measure, late in _measured(entries):
            self.drained[measure] = self.drained.get(measure, Buckets()) + count_buckets(late)

    def drain(self) -> pa.Table:
        """The rows so far, which it then forgets; the counts stay, also of how late they were."""
        table = self.table()
        self._count(self.entries)
        self._gone += range(self._next - self._saved, self._next)
        self._forget()
        return table

    def _forget(self) -> None:
        if self.room is not None:
            self.room.give_back(self._rows)
        self.entries, self.nbytes, self._saved, self._rows, self._loose = [], 0, 0, 0, 0

    def save(self) -> Iterator[Part]:
        """The entries since the last save, each as a part, and the counts."""
        drained = [[*measure, *pair] for measure, counts in self.drained.items() for pair in counts.items()]
        counts = {"late": self.late, "without_time": self.without_time, "not_kept": self.not_kept, "drained": drained}
        yield text_part("late", counts)
        for number in self._gone:
            yield f"late/{number}", None
        self._gone = []
        for entry in self.entries[self._saved :]:
            table = entry.table()
            for array in entry.booked.values():
                table = table.append_column("booked", pa.array(array))
            part = table.combine_chunks().to_batches()[0]
            said = {_ATTRIBUTE: entry.attribute or "", _BOOKED: json.dumps(list(entry.booked))}
            yield f"late/{self._next}", part.replace_schema_metadata(said)
            self._next += 1
        self._saved = len(self.entries)

    def load(self, parts: Iterable[Part]) -> None:
        found = {k: p for k, p in parts if p is not None}
        if "late" not in found:
            return
        self._forget()
        numbers = sorted(int(k.removeprefix("late/")) for k in found if k.startswith("late/"))
        for number in numbers:
            part = found[f"late/{number}"]
            known = len(self.schema)
            said = tuple(part.columns[known : known + 2])
            attribute = part.schema.metadata[_ATTRIBUTE].decode() or None
            text = WITHOUT_TIME if part.num_rows and said[0][0].as_py() == WITHOUT_TIME else None
            arrays = [array.to_numpy() for array in part.columns[known + 2 :]]
            booked = dict(zip(map(tuple, json.loads(part.schema.metadata[_BOOKED])), arrays, strict=True))
            self._keep(Entry(part.select(list(range(known))), attribute, None, text, said, booked))
        if self.room is not None:
            self.room.give_back(-self._rows)
        counts = read_text(found["late"])
        assert isinstance(counts, Mapping)
        self.late, self.without_time = counts["late"], counts["without_time"]
        self.not_kept = counts.get("not_kept", 0)
        self.drained = {}
        for attribute, unit, bucket, count in counts["drained"]:
            self.drained.setdefault((attribute, unit), Buckets())[bucket] = count
        self._saved = len(self.entries)
        self._next = numbers[-1] + 1 if numbers else 0


def _measured(entries: Iterable[Entry]) -> Iterator[tuple[Measure, np.ndarray]]:
    return (pair for entry in entries if not entry.has_no_time for pair in entry.measured())
