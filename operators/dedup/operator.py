"""The running `Dedup` without a span: rows of new keys pass, or the best row of each key waits."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence

import numpy as np
import pyarrow as pa

from oop.operators.core.context import Context
from oop.operators.core.marks import is_late
from oop.operators.core.operator import Element, Held, Keeping, Kept
from oop.operators.core.parts import Part
from oop.operators.dedup.best_rows import BestRows
from oop.operators.dedup.fields import DedupFields
from oop.operators.dedup.keyed_times import KeyedTimes
from oop.operators.dedup.oldest import oldest_kept
from oop.operators.dedup.seen_keys import SeenKeys
from oop.operators.dedup.targets import SeenTargets
from oop.operators.rows.layout import as_type, take_column
from oop.punctuation import Frontier, Punctuation
from oop.punctuation.group_promises import Advance


class DedupOperator(Keeping, ABC):
    """``late_unused`` counts admitted late rows, because it is no longer known whether their key was put out."""

    def __init__(self, spec: DedupFields, context: Context) -> None:
        super().__init__(spec, context)
        self.spec = spec
        self.undecided, self.complete = spec.covering(), spec.covering(held=True)
        (schema,), (needed,) = context.inputs, spec.needs(context.wanted, context.inputs)
        self.schema = pa.schema([f for f in schema if needed is None or f.name in needed])
        self.prepare()

    @abstractmethod
    def prepare(self) -> None:
        """Make the containers that hold the state."""

    @abstractmethod
    def state(self) -> Mapping[str, SeenKeys | KeyedTimes]:
        """What holds the state, by how the names of its saved parts begin."""

    @abstractmethod
    def take(self, batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
        """Take rows that came on time; give the rows that leave at once."""

    @abstractmethod
    def free(self, promises: Sequence[Punctuation]) -> Iterator[pa.RecordBatch]:
        """The rows that leave because the input has made these promises."""

    def process_batch(self, batch: pa.RecordBatch, port: int = 0) -> Iterator[Element]:
        if is_late(batch):
            self.late_unused += batch.num_rows
        elif batch.num_rows:
            yield from self.take(batch)

    def process_punctuation(self, advance: Advance, port: int = 0) -> Iterator[Element]:
        new = self.ports.advance_singly(advance, port)
        if not new:
            return
        yield from self.free(new)
        yield from self.ports.promises(new)

    def covering(self, promises: Sequence[Punctuation], held: bool = False) -> Frontier:
        """The frontier that newly covered rows match: what these promises add, or all that is promised if a group
        column is dropped on the way."""
        crossing, found = self.complete if held else self.undecided, Frontier()
        for promise in promises:
            added = crossing.added(promise, self.ports.frontiers)
            if added is None:
                return crossing.translate(self.ports.frontiers)
            for image in added:
                found.take(image)
        return found

    def leaving(self, batch: pa.RecordBatch, rows: np.ndarray | None = None) -> pa.RecordBatch:
        """Rows of a batch (None: all) in the output's types: text that comes from another thread is in dictionaries."""
        columns = [
            as_type(batch.column(f.name), f.type) if rows is None else take_column(batch.column(f.name), rows, f.type)
            for f in self.schema
        ]
        return pa.RecordBatch.from_arrays(columns, schema=self.schema)

    def kept(self) -> Iterable[Kept]:
        return self.state().values()

    def save(self) -> Iterator[Part]:
        yield from self.save_common()
        for prefix, held in self.state().items():
            yield from held.save(prefix)

    def load(self, parts: Iterable[Part]) -> None:
        found = self.load_common(parts)
        for prefix, held in self.state().items():
            held.load(found, prefix)


class PassFirstComer(DedupOperator):
    """keep="any": a row of a new key passes; the key is held until a promise covers it."""

    seen: SeenKeys

    def prepare(self) -> None:
        self.seen = SeenKeys(self.schema, self.spec.keys, next(iter(self.spec.on), None))

    def state(self) -> Mapping[str, SeenKeys | KeyedTimes]:
        return {"": self.seen}

    def take(self, batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
        new = self.seen.add(batch)
        if len(new):
            yield self.leaving(batch, None if len(new) == batch.num_rows else new)

    def targets(self) -> SeenTargets:
        return SeenTargets(self.seen)

    def free(self, promises: Sequence[Punctuation]) -> Iterator[pa.RecordBatch]:
        self.seen.drop_covered(self.covering(promises))
        yield from ()


class KeepBest(PassFirstComer):
    """keep="first" and "last": the best row of a key leaves when a promise covers the key."""

    def prepare(self) -> None:
        spec = self.spec
        on = next(iter(spec.on), None)
        self.seen = BestRows(self.schema, spec.keys, on, spec.ties(self.schema), spec.keep == "last")

    def take(self, batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
        self.seen.add(self.leaving(batch))
        yield from ()

    def free(self, promises: Sequence[Punctuation]) -> Iterator[pa.RecordBatch]:
        yield from self.seen.take_covered(self.covering(promises), self.batch_rows)

    def oldest(self) -> Held | None:
        """A row of the first slice, by the attribute that keys wait for."""
        return oldest_kept(self.seen, self.spec.keys, self.ports.frontiers[0])
