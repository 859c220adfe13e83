"""Rows of a DataFrame that Spark reads, as cells for its input stage (`channels.py`)."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import pyarrow as pa

from oop.clocks import Clock
from oop.engines.spark.cells import DDL, ROWS, TICK, Cell, batches, encode_batch
from oop.engines.spark.channels import by_channel
from oop.engines.spark.shards import shard_keys
from oop.engines.spark.stages import Stages
from oop.engines.spark.timers import LAST_SPLIT, Timers
from oop.plan.source_data import SourceData
from oop.punctuation.encoding import dumps


def foreign_cells(
    session: Any, stages: Stages, number: int, data: SourceData, *, batch: bool, clock: Clock, whole: bool
) -> Any:
    """The DataFrame of a source's rows as cells. In a batch a cell with the end follows, in a stream the ticks of its
    timers, if it has any."""
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
    from oop.engines.spark.datasource import make_ticks  # which needs pyspark

    session.dataSource.register(make_ticks(timers))
    return rows.union(session.readStream.format("oop").load())


def _encode(
    schema: pa.Schema, channel: str | None, number: int, key: int, found: Iterator[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    from pyspark import TaskContext

    context = TaskContext.get()
    split = context.partitionId() if context is not None else 0

    def cells() -> Iterator[Cell]:
        count = 0
        for batch in found:
            # Spark gives times in the time zone of its session: the cast changes the zone, not the instants
            columns = [column.cast(field.type) for column, field in zip(batch.columns, schema, strict=True)]
            for piece in by_channel(pa.RecordBatch.from_arrays(columns, schema=schema), channel):
                count += 1
                yield Cell(number, key, 0, number, split, count, ROWS, piece.num_rows, encode_batch(piece))

    return batches(cells())
