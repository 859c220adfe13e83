"""The Spark side of a source that oop reads itself: a Python data source whose tasks yield cells.

Spark starts a micro-batch when `latestOffset` gives a new offset. The offset holds the policies' state, so a clock tick
or the end makes a micro-batch even if there are no new rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

import pyarrow as pa
from pyspark.sql.datasource import DataSource, DataSourceReader, DataSourceStreamReader, InputPartition

from oop.engines.spark.cells import DDL, batches
from oop.engines.spark.reading import Planner, SourceReading, read_split
from oop.engines.spark.timers import Timers

try:
    from pyspark.sql.streaming.datasource import ReadAllAvailable, SupportsTriggerAvailableNow
except ImportError:  # before Spark 4.2 a source cannot limit a micro-batch, and reads all that is there

    class SupportsTriggerAvailableNow:  # type: ignore[no-redef]
        pass

    class ReadAllAvailable:  # type: ignore[no-redef]
        pass


def make_source(reading: SourceReading) -> type[DataSource]:
    """The data source of one source of one query."""
    return _data_source(partial(StreamReader, reading), partial(BatchReader, reading))


def make_ticks(timers: Timers) -> type[DataSource]:
    """A data source whose rows are ticks of a clock."""
    return _data_source(partial(TickReader, timers))


def _data_source(
    stream: Callable[[], DataSourceStreamReader], batch: Callable[[], DataSourceReader] | None = None
) -> type[DataSource]:
    """A new class for each source, because Spark takes a class, and what a source reads must be part of it."""

    class OopSource(DataSource):
        @classmethod
        def name(cls) -> str:
            return "oop"

        def schema(self) -> str:
            return DDL

        def streamReader(self, schema: Any) -> DataSourceStreamReader:
            return stream()

        def reader(self, schema: Any) -> DataSourceReader:
            assert batch is not None, "a clock has no batch"
            return batch()

    return OopSource


class StreamReader(DataSourceStreamReader, SupportsTriggerAvailableNow):  # type: ignore[misc]
    def __init__(self, reading: SourceReading) -> None:
        self.reading = reading
        self.planner = Planner(reading)
        self.at: dict[str, Any] | None = None

    def initialOffset(self) -> dict[str, Any]:
        return self.planner.initial()

    def prepareForTriggerAvailableNow(self) -> None:
        self.planner.freeze()

    def latestOffset(self, start: dict[str, Any] | None = None, limit: object = None) -> dict[str, Any]:
        begin = start or self.at or self.planner.initial()
        self.at = self.planner.latest(begin, unlimited=start is None)
        return self.at

    def getDefaultReadLimit(self) -> Any:
        return ReadAllAvailable()  # the planner limits the size of a micro-batch itself

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> Sequence[InputPartition]:
        return [InputPartition(split) for split in self.planner.splits(start, end)]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        return batches(read_split(self.reading, partition.value))


class BatchReader(DataSourceReader):
    """The whole of a bounded input at once: one micro-batch from its beginning to its end."""

    def __init__(self, reading: SourceReading) -> None:
        self.reading = reading

    def partitions(self) -> Sequence[InputPartition]:
        planner = Planner(self.reading)
        planner.freeze()
        start = planner.initial()
        return [InputPartition(split) for split in planner.splits(start, planner.latest(start, unlimited=True))]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        return batches(read_split(self.reading, partition.value))


class TickReader(DataSourceStreamReader, SupportsTriggerAvailableNow):  # type: ignore[misc]
    def __init__(self, timers: Timers) -> None:
        self.timers = timers
        self.at: dict[str, Any] | None = None
        self.frozen: dict[str, Any] | None = None

    def initialOffset(self) -> dict[str, Any]:
        return {}

    def prepareForTriggerAvailableNow(self) -> None:
        self.frozen = self.timers.offset(None)

    def latestOffset(self, start: dict[str, Any] | None = None, limit: object = None) -> dict[str, Any]:
        self.at = self.frozen or self.timers.offset(start or self.at)
        return self.at

    def getDefaultReadLimit(self) -> Any:
        return ReadAllAvailable()

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> Sequence[InputPartition]:
        return [InputPartition(end)]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        return batches(self.timers.cells(partition.value))
