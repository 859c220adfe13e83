"""The ledger of rows set aside, at an input or in the middle of a plan: late ones with the promise that each broke, and
rows without a time.

No row is dropped silently. Entries keep the rows as they came; the table with promises as text is made on demand. Of
rows that are drained, or for which there is no room, the lateness is kept in buckets (`lateness.py`), so counts and
histograms stay.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa

from oop.operators.core.coverage import numbers_of
from oop.operators.core.parts import Part, read_text, text_part
from oop.operators.source.coupled_entries import LOOSE, SMALL, coupled
from oop.operators.source.lateness import Buckets, count_buckets
from oop.operators.source.room import Room

BROKE, LATE_BY = "broke", "late_by"
WITHOUT_TIME = "a row without a time"
_ATTRIBUTE, _BOOKED = b"oop.attribute", b"oop.booked"
TIME, AT_LEAST, AT_MOST = "time", "rows at least", "rows at most"
Measure = tuple[str | None, str]
"""What lateness is measured by: an attribute, and whether in its unit or in rows of slack. None as the attribute stands
for a promise that is not about a single bound."""
_UNKNOWN: Measure = (None, TIME)
_ENTRY_BYTES = 1_024  # about what an entry takes beside its rows


@dataclass(frozen=True)
class Entry:
    """Rows that broke a promise on one attribute; ``bounds`` has the bound that each row broke. ``text`` is the promise
    that all rows broke, or that each row broke, if it says more than a bound.

    ``booked`` is how late the rows were by other measures: on further attributes whose promises they broke, and in rows
    of slack; NaN for a row that was not late by that measure. An entry that was saved and loaded, or was made of
    several, has the columns of `say` in ``said``.
    """

    rows: pa.RecordBatch
    attribute: str | None
    bounds: np.ndarray | None
    text: str | pa.DictionaryArray | None = None
    said: tuple[pa.Array, pa.Array] | None = None
    booked: Mapping[Measure, np.ndarray] = field(default_factory=dict)

    @property
    def nbytes(self) -> int:
        arrays = [*self.booked.values(), *([] if self.bounds is None else [self.bounds]), *(self.said or ())]
        if isinstance(self.text, pa.DictionaryArray):
            arrays.append(self.text)
        return int(self.rows.nbytes) + sum(array.nbytes for array in arrays) + _ENTRY_BYTES

    @property
    def has_no_time(self) -> bool:
        """Were these rows set aside because they have no time?"""
        return isinstance(self.text, str) and self.text == WITHOUT_TIME

    def piece(self, start: int, stop: int) -> Entry:
        """The entry of the rows from ``start`` to ``stop``."""
        said = None if self.said is None else (self.said[0][start:stop], self.said[1][start:stop])
        bounds = None if self.bounds is None else self.bounds[start:stop]
        text = self.text[start:stop] if isinstance(self.text, pa.DictionaryArray) else self.text
        booked = {measure: array[start:stop] for measure, array in self.booked.items()}
        return Entry(self.rows.slice(start, stop - start), self.attribute, bounds, text, said, booked)

    def table(self) -> pa.Table:
        table = pa.Table.from_batches([self.rows.replace_schema_metadata(None)])
        broke, late_by = self.say()
        names = free_names(self.rows.schema)
        return table.append_column(names[0], broke).append_column(names[1], late_by)

    def say(self) -> tuple[pa.Array, pa.Array]:
        """The columns ``broke`` and ``late_by``."""
        if self.said is not None:
            return self.said
        if isinstance(self.text, pa.DictionaryArray):
            broke = self.text.cast(pa.string())
        elif self.text is not None or self.bounds is None:
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
        return _late_by(self.rows.column(self.attribute), self.bounds)

    def measured(self) -> Iterator[tuple[Measure, np.ndarray]]:
        """How late the rows were, by each measure. A row that also broke a promise which is not about a single bound
        counts under no other measure, because it is not known which slack would have kept it."""
        unknown = np.full(self.rows.num_rows, self.attribute is None)
        if _UNKNOWN in self.booked:
            unknown |= ~np.isnan(self.booked[_UNKNOWN])
        if unknown.any():
            yield _UNKNOWN, np.ones(int(unknown.sum()))
        if unknown.all():
            return
        main = (self.attribute, TIME)
        for measure in {main: None, **self.booked}:
            found = self.booked.get(measure)
            if measure == main:
                found = self.late_by() if found is None else np.fmax(self.late_by(), found)
            assert found is not None
            if measure != _UNKNOWN:
                yield measure, found[~(unknown | np.isnan(found))]


@dataclass(frozen=True)
class Breach:
    """Which rows of a batch broke a promise, on which attribute, and the bound that each broke. ``text`` is the
    promise, if it says more than that. ``greater`` is, under slack by rows, at least and at most how many greater rows
    came before each of these rows."""

    rows: np.ndarray
    attribute: str | None
    bounds: np.ndarray | None
    text: str | pa.DictionaryArray | None = None
    greater: tuple[np.ndarray, np.ndarray] | None = None

    def entry(self, batch: pa.RecordBatch, new: np.ndarray, others: Iterable[Breach]) -> Entry:
        """The entry of the ``new`` rows of this breach, with the other promises that they broke."""
        kept = batch.filter(pa.array(new))
        booked: dict[Measure, np.ndarray] = {}
        for breach in (self, *others):
            both = breach.rows & new
            if not both.any():
                continue
            for measure, late in breach._measured(batch, both):
                wide = np.full(len(new), np.nan)
                wide[both] = late
                if breach is not self or measure != (self.attribute, TIME):
                    booked[measure] = np.fmax(booked[measure], wide[new]) if measure in booked else wide[new]
        bounds = None if self.bounds is None else self.bounds[new]
        text = self.text.filter(pa.array(new)) if isinstance(self.text, pa.DictionaryArray) else self.text
        return Entry(kept, self.attribute, bounds, text, booked=booked)

    def _measured(self, batch: pa.RecordBatch, some: np.ndarray) -> Iterator[tuple[Measure, np.ndarray]]:
        if self.bounds is None:
            yield _UNKNOWN, np.ones(int(some.sum()))
            return
        yield (self.attribute, TIME), _late_by(batch.column(self.attribute).filter(pa.array(some)), self.bounds[some])
        if self.greater is not None:
            chosen = some[self.rows]
            yield (self.attribute, AT_LEAST), self.greater[0][chosen]
            yield (self.attribute, AT_MOST), self.greater[1][chosen]


def _late_by(column: pa.Array, bounds: np.ndarray) -> np.ndarray:
    values = numbers_of(column)[1]
    if values.dtype == np.uint64:  # may be beyond int64, and too large for the differences of floats
        return np.array([float(b - v) for b, v in zip(bounds.tolist(), values.tolist(), strict=True)])
    if values.dtype != np.int64 or bounds.dtype != np.int64:
        return bounds.astype(np.float64) - values.astype(np.float64)
    # Today's nanoseconds are too large for floats to tell apart, but their differences are not.
    return (bounds - values).view(np.uint64).astype(np.float64)


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
        found, unknown = [np.zeros(0)], self.drained.get(_UNKNOWN, Buckets()).total()
        for measure, late in _measured(self.entries):
            if measure == (attribute, unit):
                found.append(late)
            elif measure == _UNKNOWN:
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
