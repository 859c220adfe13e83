"""The input stage of a foreign DataFrame: a policy and a guard for each channel, before anything is reduced.

A channel is all rows with one value in a declared column, or the source as a whole. A channel is never a task of Spark,
because tasks come and go. The source promises what all of its channels promise, so skew between channels makes no row
late. A channel that appears later starts at what is promised by then. `channels=` names channels that are known to
exist: until each of them has promised, the source promises nothing.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from itertools import groupby
from typing import Any

import numpy as np
import pyarrow as pa

from oop.engines.spark.cells import FRONTIER, LATE, ROWS, TICK, WITHOUT_TIME, Cell
from oop.engines.spark.failures import located
from oop.engines.spark.late_files import write_late
from oop.engines.spark.passage import Passage
from oop.engines.spark.runner import batches_of, main_bound
from oop.engines.spark.scout import dump, load_state
from oop.engines.spark.stages import Stages
from oop.io.sound import reading
from oop.kernels import dictionaries, views
from oop.operators.core.context import Context
from oop.operators.core.operator import Element
from oop.operators.core.parts import Part, read_text, text_part
from oop.operators.source.ledger import Ledger
from oop.operators.source.operator import InputOperator
from oop.punctuation import END, Frontier
from oop.punctuation.encoding import dumps, loads

WHOLE = "null"
"""The channel of a source that has only one. Where there is a channel column, the channel of rows without a value."""


class InputRunner:
    """All channels of one source, in one worker, because the promises of the source follow from all of them together.

    ``expected`` are the channels that are known to exist. The schema's metadata in a cell's body names its channel.
    """

    finishes = False

    def __init__(self, stages: Stages, number: int, expected: Iterable[str] = (), late_to: str | None = None) -> None:
        self.stages = stages
        self.number = number
        self.node = stages.producers[number]
        self.late_to = late_to
        self.schema = stages.source_schema(number, whole=late_to is not None)
        self.channels: dict[str, InputOperator] = {}
        self.promised: dict[str, Frontier] = {}
        self.changed: set[str] = set()
        self.out = Frontier()
        self.batches = 0
        for channel in expected:
            self._open(channel)

    def _open(self, channel: str) -> InputOperator:
        spec = self.node.source
        operator = self.channels[channel] = InputOperator(
            spec, Context([self.schema], interests=self.stages.interests(self.number))
        )
        self.promised[channel] = Frontier()
        for promise in self.out.promises():  # rows below what the source has promised are late
            operator.ports.advance((promise,), 0)
            self.promised[channel].advance(promise)
        self.changed.add(channel)
        return operator

    def run(self, cells: Iterable[Cell]) -> Iterator[Cell]:
        cells = sorted(cells, key=lambda c: c.order)
        passage = Passage(self.stages, self.number, 0, self.finishes)
        self.batches += 1
        with located(self.node):
            rows = sorted(((channel_of(c), c) for c in cells if c.kind == ROWS), key=lambda pair: pair[0])
            new = [c for c in dict.fromkeys(channel for channel, _ in rows) if c not in self.channels]
            for channel in new:
                self._open(channel)
            for channel, group in groupby(rows, key=lambda pair: pair[0]):
                yield from self._push(passage, channel, batches_of(cell for _, cell in group))
            for cell in cells:
                if cell.kind == TICK:
                    yield from self._tick(passage, cell)
            met = Frontier.meet(self.promised.values()) if self.promised else Frontier()
            promises = list(self.out.advance_to(met))
        yield from passage.flush()
        yield from passage.promise(promises)
        yield from self._metrics(passage)

    def _push(self, passage: Passage, channel: str, batches: Iterable[pa.RecordBatch]) -> Iterator[Cell]:
        operator = self.channels[channel]
        self.changed.add(channel)
        for batch in batches:
            plain = batch.replace_schema_metadata(None).select(self.schema.names)
            yield from self._take(passage, channel, operator.process_batch(plain))

    def _take(self, passage: Passage, channel: str, elements: Iterable[Element]) -> Iterator[Cell]:
        for element in elements:
            if isinstance(element, pa.RecordBatch):
                yield from passage.push(element)
            else:
                self.promised[channel].take(element)

    def _tick(self, passage: Passage, cell: Cell) -> Iterator[Cell]:
        """Take a tick of the clock, or the end of the input, for all channels, also the silent ones."""
        said: Any = loads(cell.body.decode())
        for channel, operator in self.channels.items():
            if "now" in said and operator.clocked:
                self.changed.add(channel)
                yield from self._take(passage, channel, operator.tick(lambda type_: said["now"][str(type_)]))
            if said.get("ended"):
                self.changed.add(channel)
                yield from self._take(passage, channel, operator.process_punctuation((END,)))
        if said.get("ended") and not self.channels:
            self.promised[WHOLE] = Frontier.of(END)

    def _metrics(self, passage: Passage) -> Iterator[Cell]:
        late = without_time = 0
        for channel, operator in self.channels.items():
            ledger = operator.ledger
            if ledger.entries and self.late_to is not None:
                piece = f"{self.batches:012}-{hashlib.sha256(channel.encode()).hexdigest()[:8]}"
                write_late(self.late_to, self.stages.name(self.number), piece, ledger.table())
            late, without_time = late + ledger.late, without_time + ledger.without_time
            operator.ledger = Ledger(operator.output)
        if late:
            yield passage.metric(LATE, late)
        if without_time:
            yield passage.metric(WITHOUT_TIME, without_time)
        bound = main_bound(self.out)
        if bound is not None:
            yield passage.metric(FRONTIER, bound)

    def save(self) -> Iterator[Part]:
        """A part for each channel that has changed, and one for the source."""
        for channel in sorted(self.changed & self.channels.keys()):
            promised = self.promised[channel].to_json()
            yield text_part(f"channel/{channel}", {"state": dump(self.channels[channel]), "promised": promised})
        self.changed = set()
        yield text_part("input", {"out": self.out.to_json(), "batches": self.batches})

    def load(self, parts: Mapping[str, pa.RecordBatch]) -> None:
        self.channels, self.promised = {}, {}
        for key, part in parts.items():
            said: Any = read_text(part)
            if key == "input":
                self.out = Frontier.from_json(said["out"])
                self.batches = said["batches"]
            else:
                channel = key.removeprefix("channel/")
                load_state(self._open(channel), said["state"])
                self.promised[channel] = Frontier.from_json(said["promised"])
        self.changed = set()


CHANNEL = b"oop.channel"


def channel_of(cell: Cell) -> str:
    with reading("a batch from another stage"), pa.ipc.open_stream(cell.body) as reader:
        return (reader.schema.metadata or {}).get(CHANNEL, WHOLE.encode()).decode()


def by_channel(batch: pa.RecordBatch, column: str | None) -> Iterator[pa.RecordBatch]:
    """The rows of each channel as one batch, in their order. The batch names the channel in its metadata."""
    if column is None:
        yield batch.replace_schema_metadata(None)
        return
    values = batch.column(column)
    if pa.types.is_dictionary(values.type):  # a dictionary may hold a value twice
        values = values.dictionary_decode()
    encoded = dictionaries.encode_dictionary(values)
    codes = views.column(encoded.indices.fill_null(len(encoded.dictionary))).data
    rows = batch.take(pa.array(np.argsort(codes, kind="stable")))
    names, start = [*encoded.dictionary.to_pylist(), None], 0
    for name, count in zip(names, np.bincount(codes, minlength=len(names)).tolist(), strict=True):
        if count:
            yield rows.slice(start, count).replace_schema_metadata({CHANNEL: dumps(name).encode()})
        start += count
