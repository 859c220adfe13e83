"""Rows of a DataFrame that Spark reads itself, as cells for its input stage (see `channels`)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import pyarrow as pa

from oop.clocks import Clock
from oop.engines.spark.cells import DDL, ROWS, TICK, Cell, batches, encode
from oop.engines.spark.channels import by_channel
from oop.engines.spark.shards import shard_keys
from oop.engines.spark.stages import Stages
from oop.io.inputs import Input as Data
from oop.operators.source.input import Input
from oop.plan.graph import Node
from oop.punctuation.encoding import dumps
from oop.punctuation.patterns import Bound
from oop.punctuation.policies import Timer

LAST_SPLIT = 1 << 62  # sorts after all splits with rows


def foreign_cells(
    session: Any, stages: Stages, number: int, data: Data, *, batch: bool, clock: Clock, whole: bool
) -> Any:
    """The DataFrame of a source's rows as cells; in a batch its end follows."""
    key = shard_keys(stages.shards)[0]
    schema = stages.source_schema(number, whole)
    names = dict.fromkeys([*schema.names, *([data.channel] if data.channel else [])])
    schema = pa.schema([data.schema.field(name) for name in names])
    rows = data.frame.select(*("`" + name.replace("`", "``") + "`" for name in names))
    rows = rows.mapInArrow(partial(_encode, schema, data.channel, number, key), DDL)
    if batch:
        end = Cell(number, key, 0, number, LAST_SPLIT, 0, TICK, 0, dumps({"ended": True}).encode())
        return rows.union(session.createDataFrame([tuple(end)], DDL))
    timers = Timers.of(stages.producers[number], number, key, clock)
    if timers is None:
        return rows
    from oop.engines.spark.datasource import make_ticks

    session.dataSource.register(make_ticks(timers))
    return rows.union(session.readStream.format("oop").load())


@dataclass(frozen=True)
class Timers:
    """The driver's clock for a source that is read elsewhere: without new rows there would be no micro-batch, and
    nothing would be promised in a lull (OOP paper, A.1.1)."""

    number: int
    key: int
    types: tuple[pa.DataType, ...]
    every: tuple[Bound, ...]
    clock: Clock

    @classmethod
    def of(cls, node: Node, number: int, key: int, clock: Clock) -> Timers | None:
        assert isinstance(node.spec, Input)
        found = [(node.schema.field(a).type, p.every or 0) for a, p in node.spec.policies if isinstance(p, Timer)]
        if not found:
            return None
        types, every = zip(*found, strict=True)
        return cls(number, key, types, every, clock)

    def offset(self, start: Mapping[str, Bound] | None) -> dict[str, Bound]:
        """The time now, in the unit of each timer's column; the old one until a timer's ``every`` has passed."""
        now = {str(type_): self.clock.now(type_) for type_ in self.types}
        if start and all(now[str(t)] - start[str(t)] < e for t, e in zip(self.types, self.every, strict=True)):
            return dict(start)
        return now

    def cells(self, now: Mapping[str, Bound]) -> Iterator[Cell]:
        body = dumps({"now": dict(now)}).encode()
        yield Cell(self.number, self.key, 0, self.number, LAST_SPLIT, 0, TICK, 0, body)


def _encode(
    schema: pa.Schema, channel: str | None, number: int, key: int, found: Iterator[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    from pyspark import TaskContext

    context = TaskContext.get()
    split = context.partitionId() if context is not None else 0

    def cells() -> Iterator[Cell]:
        count = 0
        for batch in found:
            # Spark hands over times in the zone of its session: the same instants under another name
            columns = [column.cast(field.type) for column, field in zip(batch.columns, schema, strict=True)]
            for piece in by_channel(pa.RecordBatch.from_arrays(columns, schema=schema), channel):
                count += 1
                yield Cell(number, key, 0, number, split, count, ROWS, piece.num_rows, encode(piece))

    return batches(cells())
