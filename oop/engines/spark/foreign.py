"""Rows of a DataFrame that Spark reads itself, as cells for its input stage (see `channels`)."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import pyarrow as pa

from oop.clocks import Clock
from oop.engines.spark.cells import DDL, ROWS, TICK, Cell, batches, encode
from oop.engines.spark.channels import by_channel
from oop.engines.spark.shards import shard_keys
from oop.engines.spark.stages import Stages
from oop.fitting import fit
from oop.inputs import Input
from oop.punctuation.encoding import dumps

_ENOUGH_ROWS = 65_536


def foreign_cells(session: Any, stages: Stages, number: int, data: Input, batch: bool, clock: Clock) -> Any:
    """The DataFrame of a source's rows as cells; in a batch its end follows."""
    key = shard_keys(stages.shards)[0]
    rows = data.frame.mapInArrow(partial(_encode, data.schema, data.channel, number, key), DDL)
    if not batch:
        return rows
    end = Cell(number, key, 0, number, 1 << 62, 0, TICK, 0, dumps({"ended": True}).encode())
    return rows.union(session.createDataFrame([tuple(end)], DDL))


def _encode(
    schema: pa.Schema, channel: str | None, number: int, key: int, found: Iterator[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    from pyspark import TaskContext

    context = TaskContext.get()
    split = context.partitionId() if context is not None else 0

    def cells() -> Iterator[Cell]:
        count = 0
        for batch in found:
            for piece in by_channel(fit(batch, schema, "a batch of the DataFrame"), channel):
                count += 1
                yield Cell(number, key, 0, number, split, count, ROWS, piece.num_rows, encode(piece))

    return batches(cells())
