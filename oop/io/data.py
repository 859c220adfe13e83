"""`Data`: what a source reads, once it has been opened, as batches and promises that all have one schema."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import KW_ONLY, dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa

from oop.errors import SourceError
from oop.io.fitting import fit
from oop.io.ipc import InputElement
from oop.io.lulls import Lull
from oop.io.ring import Ring
from oop.io.sound import reading
from oop.operators.core.train import TRAIN_ELEMENTS, closing_if_possible, trains
from oop.plan.source_data import Kind
from oop.punctuation import Punctuation


@dataclass(eq=False)
class Data:
    """Data that a source can read; its schema is known before it runs.

    ``kind`` tells data that is there as a whole (a file, in memory) from data that comes live; ``rows`` is the number
    of rows, where it is known without reading. Every batch of `elements` has exactly this schema. ``once`` marks data
    that can be read only once; ``peeked`` are its elements if reading has begun, to learn the schema. ``plain`` is the
    list or tuple that was given, ``frame`` a Spark DataFrame with its ``channel`` column and the known ``channels``,
    ``paths`` are the files to read, ``ring`` is a ring buffer, which can tell when it is empty. ``waiting`` says
    whether the next element is at hand, where that can be known. ``progress`` tells how far the input is, ``lull``
    whether a thread is waiting for it.

    >>> import pyarrow as pa
    >>> from oop.io.opening import open_data
    >>> given = open_data(pa.table({"ts": [1, 2, 3]}))
    >>> given.label, given.kind, given.rows, given.schema.names
    ('table', 'memory', 3, ['ts'])
    """

    schema: pa.Schema
    kind: Kind
    label: str
    start: Callable[[], Iterator[InputElement]] = field(repr=False)
    batch_rows: int = field(repr=False)
    _: KW_ONLY
    rows: int | None = None
    once: bool = field(default=False, repr=False)
    plain: Sequence[InputElement] | None = field(default=None, repr=False)
    peeked: Iterator[InputElement] | None = field(default=None, repr=False)
    frame: Any = field(default=None, repr=False)
    channel: str | None = field(default=None, repr=False)
    channels: tuple[str, ...] = field(default=(), repr=False)
    paths: tuple[str, ...] = field(default=(), repr=False)
    ring: Ring | None = field(default=None, repr=False)
    waiting: Callable[[], bool] | None = field(default=None, repr=False)
    progress: Callable[[], Any] | None = field(default=None, repr=False)
    lull: Lull | None = field(default=None, repr=False)
    used: bool = field(default=False, repr=False, init=False)

    def count_rows(self) -> int | None:
        """The number of rows, where it can be known without reading. The rows of a list are counted only when this is
        called, since it may have very many small batches."""
        return self.rows if self.plain is None else _count_rows(self.plain)

    def elements(self) -> Iterator[InputElement]:
        """The batches and promises from the beginning, anew at each call."""
        if self.used and self.once:
            raise consumed(self.label)
        raw = self.start() if self.peeked is None else self.peeked
        self.used, self.peeked = True, None
        return self._fitted(raw)

    def trains(self, rows: int) -> Iterator[list[InputElement]]:
        """The elements in lists of about ``rows`` rows; live data gives lists of one element, since the next may be
        long in coming. A ring gives an empty list while it has nothing."""
        if self.ring is not None:
            return self.ring.trains(rows)
        elements = self.elements()
        if self.kind == "live":
            return ([element] for element in elements)
        lengths = None if self.plain is None else self._lengths(self.plain)
        if self.plain is None or lengths is None:
            return trains(elements, rows)
        return _cut(list(self.plain), lengths, rows)

    def _lengths(self, elements: Sequence[InputElement]) -> list[int] | None:
        """The rows of each element, if every batch already fits the stream, so that none must be checked on its way."""
        schema, most = self.schema, self.batch_rows
        found = []
        try:
            for element in elements:  # a loop without calls of ours, because there may be very many small elements
                if isinstance(element, pa.RecordBatch):
                    element.validate()  # as in `_fits_together`
                    rows = len(element)
                    if rows > most or not element.schema.equals(schema, check_metadata=True):
                        return None
                    found.append(rows)
                elif isinstance(element, Punctuation):
                    found.append(0)
                else:
                    return None
        except pa.ArrowException:
            return None
        return found

    def _fitted(self, raw: Iterator[InputElement]) -> Iterator[InputElement]:
        number = 0
        with closing_if_possible(raw):
            for element in raw:
                if isinstance(element, Punctuation):
                    yield element
                    continue
                batch = element
                if self.kind != "file" and not _fits_together(element):
                    with reading(self._place(number), "its buffers are too short for its rows: build it anew"):
                        element.validate()
                if not element.schema.equals(self.schema, check_metadata=True):
                    batch = fit(element, self.schema, self._place(number))
                number += 1
                if batch.num_rows <= self.batch_rows:
                    yield batch
                else:
                    for at in range(0, batch.num_rows, self.batch_rows):
                        yield batch.slice(at, self.batch_rows)

    def _place(self, number: int) -> str:
        return f"batch {number} (from 0) of {self.label}"


def _fits_together(batch: pa.RecordBatch) -> bool:
    """Are its buffers long enough for its rows? Batches that a caller holds in memory are checked no further."""
    try:
        batch.validate()
    except pa.ArrowException:
        return False
    return True


def _cut(elements: list[InputElement], lengths: list[int], rows: int) -> Iterator[list[InputElement]]:
    """The result of `trains`, for a list whose elements have these lengths. It slices the list, so that many small
    elements take few steps."""
    ends = np.cumsum(lengths)
    start = before = 0
    while start < len(elements):
        enough = int(np.searchsorted(ends, before + rows)) + 1
        end = min(enough, len(elements), start + TRAIN_ELEMENTS)
        yield elements[start:end]
        start, before = end, int(ends[end - 1])


def _count_rows(elements: Iterable[Any]) -> int | None:
    """The number of rows; None if an element would have to be read to know it."""
    rows = 0
    for element in elements:
        if isinstance(element, pa.RecordBatch | pa.Table):
            rows += element.num_rows
        elif not isinstance(element, Punctuation):
            return None
    return rows


def consumed(label: str) -> SourceError:
    """The error for data that cannot be read again."""
    hint = "pass a list, or a callable that makes a new one for each run"
    return SourceError(f"the {label} was already consumed: it can be read only once", hint=hint)
