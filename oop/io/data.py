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

    ``kind`` tells data that lies there whole (a file, in memory) from data that comes; ``rows`` is the number
    of rows where that is written somewhere. Every batch of `elements` has exactly this schema. ``plain`` is data that
    is a list, ``frame`` a Spark DataFrame with its ``channel`` column and the ``channels`` that are known, ``paths``
    are the files that it reads, ``ring`` is one that tells when nothing is there. ``waiting`` says whether the next
    element is at hand, where that can be known. ``progress`` tells how far it is, ``lull`` whether it is waited for.

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
        """The number of rows where it can be known without reading. Of a list they are counted only when asked for:
        there may be very many batches, and small."""
        return self.rows if self.plain is None else _count_rows(self.plain)

    def elements(self) -> Iterator[InputElement]:
        """The batches and promises from the beginning, anew at each call."""
        if self.used and self.once:
            raise consumed(self.label)
        raw = self.start() if self.peeked is None else self.peeked
        self.used, self.peeked = True, None
        return self._fitted(raw)

    def trains(self, rows: int) -> Iterator[list[InputElement]]:
        """The elements in lists of about so many rows; one element each where the next may be long in coming. Of a
        ring an empty list: there is nothing yet."""
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
        """The rows of each element, if every batch is as the stream has them: then none is looked at on its way."""
        schema, most = self.schema, self.batch_rows
        found = []
        for element in elements:
            if isinstance(element, pa.RecordBatch):
                rows = element.num_rows
                if rows > most or not element.schema.equals(schema, check_metadata=True) or not _fits_together(element):
                    return None
                found.append(rows)
            elif isinstance(element, Punctuation):
                found.append(0)
            else:
                return None
        return found

    def _fitted(self, raw: Iterator[InputElement]) -> Iterator[InputElement]:
        number = 0
        with closing_if_possible(raw):
            for element in raw:
                if isinstance(element, Punctuation):
                    yield element
                    continue
                where = f"batch {number} (from 0) of {self.label}"
                if self.kind != "file" and not _fits_together(element):
                    with reading(where, "its buffers are too short for its rows: build it anew"):
                        element.validate()
                batch = fit(element, self.schema, where)
                number += 1
                if batch.num_rows <= self.batch_rows:
                    yield batch
                else:
                    for at in range(0, batch.num_rows, self.batch_rows):
                        yield batch.slice(at, self.batch_rows)


def _fits_together(batch: pa.RecordBatch) -> bool:
    """Are its buffers as long as its rows say? What a caller holds in memory is looked at no closer than that."""
    try:
        batch.validate()
    except pa.ArrowException:
        return False
    return True


def _cut(elements: list[InputElement], lengths: list[int], rows: int) -> Iterator[list[InputElement]]:
    """What `trains` gives, for a list whose elements have so many rows each: where they are small, steps count."""
    ends = np.cumsum(lengths)
    start = before = 0
    while start < len(elements):
        enough = int(np.searchsorted(ends, before + rows)) + 1
        end = min(enough, len(elements), start + TRAIN_ELEMENTS)
        yield elements[start:end]
        start, before = end, int(ends[end - 1])


def _count_rows(elements: Iterable[Any]) -> int | None:
    """Where it can be known without reading: none of them is itself to be read."""
    rows = 0
    for element in elements:
        if isinstance(element, pa.RecordBatch | pa.Table):
            rows += element.num_rows
        elif not isinstance(element, Punctuation):
            return None
    return rows


def consumed(label: str) -> SourceError:
    """For data that cannot be read again."""
    hint = "pass a list, or a callable that makes a new one for each run"
    return SourceError(f"the {label} was already consumed: it can be read only once", hint=hint)
