"""The way of rows from a producer to the stages behind it: they pass the operators in between, and are reduced, parted
and encoded."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import pyarrow as pa

from oop.engines.spark.cells import METRIC, PROMISES, ROWS, Cell, encode_batch, encode_promises
from oop.engines.spark.failures import located
from oop.engines.spark.shards import shard_keys
from oop.engines.spark.stages import Stages
from oop.operators.aggregate.gathering import Gathering
from oop.operators.core.batches import BATCH_ROWS, CROSSING_ROWS, as_one, in_runs, resized
from oop.operators.core.exchange import part_batches
from oop.operators.core.marks import route_of, without_route
from oop.plan.graph import Node
from oop.punctuation import Punctuation


class Passage:
    """Takes the rows that a producer puts out, and gives the cells to ship.

    ``split`` says which piece of its input the sender read, or which shard it is. With ``finishes`` the sender is the
    last stage, and batches of the result are not encoded.
    """

    def __init__(self, stages: Stages, sender: int, split: int, finishes: bool = False) -> None:
        self.stages = stages
        self.sender = sender
        self.split = split
        self.finishes = finishes
        self.number = 0
        self.keys = shard_keys(stages.shards)
        self.node = stages.producers[sender]
        self.steps: dict[int, Any] = {}
        self.lanes: dict[tuple[int, int], _Lane] = {}

    def push(self, batch: pa.RecordBatch) -> Iterator[Cell]:
        """Take rows in. Cells leave as soon as enough rows have gathered."""
        for target, port, piece in self._arrivals(self.node, batch):
            lane = self._lane(target, port)
            lane.take(piece)
            if lane.is_full:
                yield from self._ship(target, port, lane)

    def gathering(self, stage: Node) -> Gathering | None:
        """Where the rows for a stage of one input become partial aggregates, if they do. A program may fill it."""
        return self._lane(self.stages.number(stage), 0).gathering

    def gathered(self, stage: Node) -> Iterator[Cell]:
        """A program has put rows into the partial aggregates for a stage."""
        target = self.stages.number(stage)
        lane = self._lane(target, 0)
        lane.gathered()
        if lane.is_full:
            yield from self._ship(target, 0, lane)

    def _lane(self, target: int, port: int) -> _Lane:
        lane = self.lanes.get((target, port))
        if lane is None:
            lane = self.lanes[target, port] = _Lane(self.stages, target, port)
        return lane

    def flush(self) -> Iterator[Cell]:
        """Give everything that has been gathered."""
        for (target, port), lane in self.lanes.items():
            lane.close()
            yield from self._ship(target, port, lane)

    def promise(self, promises: list[Punctuation]) -> Iterator[Cell]:
        """The cells that bring these promises to every shard of every stage that the producer's promises may reach."""
        if not promises:
            return
        body = encode_promises(promises)
        for target in sorted(self.stages.targets(self.sender) - {self.stages.result}):
            for key in self.keys:
                yield self._cell(target, key, 0, PROMISES, body)

    def metric(self, what: int, value: int) -> Cell:
        return Cell(self.stages.result, self.keys[0], 0, self.sender, self.split, what, METRIC, value, b"")

    def _arrivals(self, node: Node, batch: pa.RecordBatch) -> Iterator[tuple[int, int, pa.RecordBatch]]:
        if node is self.stages.root:
            yield self.stages.result, 0, batch
        for reader, port, route in self.stages.readers(node):
            piece = batch
            if route is not None:
                if route_of(batch) != route:
                    continue
                piece = without_route(batch)
            if not reader.spec.passes:
                yield self.stages.number(reader), port, piece
                continue
            if id(reader) not in self.steps:
                self.steps[id(reader)] = self.stages.start(reader)
            with located(reader):
                for out in self.steps[id(reader)].process_batch(piece, port):
                    yield from self._arrivals(reader, out)

    def _ship(self, target: int, port: int, lane: _Lane) -> Iterator[Cell]:
        for batches in lane.drain():
            parts = lane.part(batches) if lane.sharded else batches
            for shard, part in enumerate(parts):
                if part.num_rows:
                    key = self.keys[shard] if lane.sharded else self.keys[0]
                    body = part if self.finishes and target == self.stages.result else encode_batch(part)
                    yield self._cell(target, key, port, ROWS, body, part.num_rows)

    def _cell(self, target: int, key: int, port: int, kind: int, body: Any, value: int = 0) -> Cell:
        self.number += 1
        return Cell(target, key, port, self.sender, self.split, self.number, kind, value, body)


class _Lane:
    """Rows on their way to one port of a stage, or to the result."""

    def __init__(self, stages: Stages, target: int, port: int) -> None:
        self.columns: list[str] | None = None
        self.by: tuple[str, ...] | None = None
        self.gathering: Gathering | None = None
        self.shards = stages.shards
        self.waiting: list[pa.RecordBatch] = []
        self.rows = 0  # how many rows wait
        if target != stages.result:
            node = stages.producers[target]
            self.columns = stages.columns(target, port)
            self.by = stages.shard_columns(target, port)
            partials = node.spec.partials(node.input_schemas())
            if partials is not None and not node.spec.forbids_partials:
                self.gathering = Gathering(partials)

    @property
    def sharded(self) -> bool:
        return self.by is not None and self.shards > 1

    @property
    def is_full(self) -> bool:
        return self.rows >= CROSSING_ROWS

    def take(self, batch: pa.RecordBatch) -> None:
        if self.columns is not None:
            batch = batch.select(self.columns)
        self._wait([batch] if self.gathering is None else self.gathering.take(batch))

    def gathered(self) -> None:
        """A program has put rows into the partial aggregates."""
        assert self.gathering is not None
        self._wait(self.gathering.settle())

    def _wait(self, batches: Iterable[pa.RecordBatch]) -> None:
        for batch in batches:
            self.waiting.append(batch)
            self.rows += batch.num_rows

    def close(self) -> None:
        """No more rows follow: let the partial aggregates that are still held join the rows that wait."""
        if self.gathering is not None:
            self._wait(self.gathering.drain())

    def drain(self) -> Iterator[list[pa.RecordBatch]]:
        """Batches that can be parted together: of one schema and with the same marks."""
        batches, self.waiting, self.rows = self.waiting, [], 0
        if self.columns is None:  # they go to the result, where no operator cuts them any more
            yield from ([batch] for run in in_runs(batches) for batch in resized(run, BATCH_ROWS))
        elif self.sharded:  # the parts are joined anyway
            yield from in_runs(batches)
        else:
            yield from map(as_one, in_runs(batches))

    def part(self, batches: list[pa.RecordBatch]) -> list[pa.RecordBatch]:
        assert self.by is not None
        return part_batches(batches, self.by, self.shards)
