"""The Spark engine without Spark: micro-batches cut at random, tasks retried, state saved and loaded between any two.

Everything that decides an answer is the engine's own (planner, source stage, runners, cells, parts); only shuffling and
storing are played, as unkindly as Spark may do it.
"""

from __future__ import annotations

import pickle
import random
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pyarrow as pa

import oop
from oop.clocks import Clock, WallClock
from oop.engines.spark.blocks import Files
from oop.engines.spark.cells import BYTES, METRIC, ROWS, Cell, decode, encode_batch
from oop.engines.spark.identity import identity_of
from oop.engines.spark.reading import Planner, SourceReading, read_split
from oop.engines.spark.runner import StageRunner
from oop.engines.spark.shards import shard_keys
from oop.engines.spark.spool import Spool, Spooled
from oop.engines.spark.stages import Stages, without_data
from oop.plan.final import lower
from oop.plan.graph import sources

Store = dict[str, bytes]


class Simulated:
    """``rows`` in a micro-batch from each source, ``tasks`` that share it. ``written`` are bytes of state, by batch."""

    def __init__(
        self,
        stream: oop.Stream,
        folder: Path,
        rng: random.Random,
        *,
        rows: int,
        tasks: int = 2,
        shards: int = 2,
        keep_late: bool = True,
    ) -> None:
        root = lower(stream.flow, oop.Spark())
        # cloudpickle, which Spark uses, takes what pickle cannot; what pickle can is shipped alike
        self.stages = _shipped(Stages(without_data(root), shards))
        self.rng = rng
        self.late_to = late = str(folder / "late") if keep_late else None
        self.clock: Clock = WallClock()
        self.readings: dict[int, SourceReading] = {}
        for number, node in zip(self.stages.sources, sources(root), strict=True):
            assert node.data is not None
            files: Files | Spooled = Files(node.data.paths)
            if not node.data.paths:
                files = Spool(node.data, folder / str(number)).spooled
                files.complete()
            self.readings[number] = SourceReading(
                self.stages, number, files, identity_of(self.stages), rows, tasks, self.clock, late
            )
        self.offsets = {n: Planner(r).initial() for n, r in self.readings.items()}
        self.planners = {n: Planner(r) for n, r in self.readings.items()}
        self.stores: dict[tuple[int, int], Store] = {}
        self.kept: dict[tuple[int, int], StageRunner] = {}
        self.result: list[pa.RecordBatch] = []
        self.metrics: list[Cell] = []
        self.batches = 0

    def run(self) -> pa.Table:
        while self.micro_batch():
            pass
        schema = self.stages.root.schema.remove_metadata()
        plain = [b.replace_schema_metadata(None).cast(schema) for b in self.result]
        return pa.Table.from_batches(plain, schema=schema)

    def micro_batch(self) -> bool:
        """One micro-batch; False if there was nothing to do."""
        ends = {n: p.latest(self.offsets[n]) for n, p in self.planners.items()}
        if ends == self.offsets:
            return False
        cells: list[Cell] = []
        for number, reading in self.readings.items():
            if ends[number] == self.offsets[number]:
                continue
            planner = self.planners[number] if self.rng.random() < 0.7 else Planner(reading)  # or after a restart
            for split in planner.splits(self.offsets[number], ends[number]):
                made = list(read_split(reading, _shipped(split)))
                if self.rng.random() < 0.3:
                    assert _said(made) == _said(read_split(reading, split)), "a retried task gave something else"
                cells += made
        for number in self.stages.stages:
            cells = self._stage(number, cells)
        for cell in cells:
            assert cell.stage == self.stages.result
            if cell.kind == ROWS:
                self.result.append(decode(cell.body))
            elif cell.kind == METRIC:
                self.metrics.append(cell)
        self.offsets = ends
        self.batches += 1
        return True

    def _stage(self, number: int, cells: list[Cell]) -> list[Cell]:
        out = [c for c in cells if c.stage != number]
        for shard, key in enumerate(shard_keys(self.stages.shards)):
            mine = [c for c in cells if c.stage == number and c.key == key]
            if not mine:
                continue
            self.rng.shuffle(mine)
            place = (number, shard)
            made = None
            if self.rng.random() < 0.3:  # an attempt that fails after its work: nothing of it may stay
                made = list(self._runner(place, fresh=True).run(mine))
                self.rng.shuffle(mine)
            runner = self._runner(place, fresh=self.rng.random() < 0.4)
            found = list(runner.run(mine))
            assert made is None or _said(made) == _said(found), "a retried attempt gave something else"
            store = self.stores.setdefault(place, {})
            for name, part in runner.save():
                if part is None:
                    store.pop(name, None)
                else:
                    store[name] = encode_batch(part)
            self.kept[place] = runner
            out += found
        return out

    def _runner(self, place: tuple[int, int], fresh: bool) -> StageRunner:
        """The runner that stayed in a worker, or one that is loaded from what was saved."""
        if place in self.kept and not fresh:
            return self.kept[place]
        runner = StageRunner(self.stages, *place, late_to=self.late_to)
        if place in self.stores:
            runner.load({name: decode(body) for name, body in self.stores[place].items()})
        return runner


def _said(cells: Iterable[Cell]) -> list[Any]:
    """What cells say, in their order. Memory under a null may differ, and how much of it was taken. As text, a NaN is
    like another."""
    kept = (c for c in cells if not (c.kind == METRIC and c.number == BYTES))
    return [(c[:8], repr(decode(c.body).to_pylist()) if c.kind == ROWS else c.body) for c in kept]


def _shipped(value: Any) -> Any:
    try:
        return pickle.loads(pickle.dumps(value))
    except (AttributeError, TypeError, pickle.PicklingError):
        from pyspark import cloudpickle

        return pickle.loads(cloudpickle.dumps(value))
