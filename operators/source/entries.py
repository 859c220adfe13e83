"""The entries of a ledger: rows that were set aside together, with the promise that each broke."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import field

import numpy as np
import pyarrow as pa

from oop.frozen import frozen
from oop.operators.core.coverage import numbers_of

BROKE, LATE_BY = "broke", "late_by"
WITHOUT_TIME = "a row without a time"
TIME, AT_LEAST, AT_MOST = "time", "rows at least", "rows at most"
Measure = tuple[str | None, str]
"""What lateness is measured by: an attribute, and whether in its unit or in rows of slack. None as the attribute stands
for a promise that is not about a single bound."""
UNKNOWN: Measure = (None, TIME)
_ENTRY_BYTES = 1_024  # about what an entry takes beside its rows


@frozen()
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
        if UNKNOWN in self.booked:
            unknown |= ~np.isnan(self.booked[UNKNOWN])
        if unknown.any():
            yield UNKNOWN, np.ones(int(unknown.sum()))
        if unknown.all():
            return
        main = (self.attribute, TIME)
        for measure in {main: None, **self.booked}:
            found = self.booked.get(measure)
            if measure == main:
                found = self.late_by() if found is None else np.fmax(self.late_by(), found)
            assert found is not None
            if measure != UNKNOWN:
                yield measure, found[~(unknown | np.isnan(found))]


@frozen()
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
            yield UNKNOWN, np.ones(int(some.sum()))
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
