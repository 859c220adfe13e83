"""Two partitions in one streaming DataFrame, the second a minute behind the first: with channels no row is late.

Each partition is in order, as the partitions of a Kafka topic are. Spark's watermark is the greatest time in the whole
query, less a delay, so skew between partitions looks like disorder: rows of the slow partition are dropped, unless
everything waits for longer than the skew. A channel makes its own promises, and the source promises what all its
channels do.
"""

import os
import tempfile
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

import oop
from oop.engines.spark.session import local_session

BEHIND = 60  # seconds
CLOSING = 3600


def write(folder: Path) -> int:
    """Write files with 20 s of each partition, 5 rows a second. The last file has one row for each partition, from much
    later, which lets the windows before it out. Returns the number of rows without these two."""
    files = [[s / 5 for s in range(n * 100, n * 100 + 100)] for n in range(4)]
    rows = [[(0, s) for s in seconds] + [(1, s - BEHIND) for s in seconds] for seconds in files]
    for n, found in enumerate([*rows, [(0, CLOSING), (1, CLOSING)]]):
        times = pa.array([round((BEHIND + s) * 1e6) for _, s in found], pa.timestamp("us", "UTC"))
        path = folder / f"{n}.parquet"
        pq.write_table(pa.table({"ts": times, "partition": [p for p, _ in found]}), path)
        os.utime(path, (n, n))  # Spark takes files by their age
    return sum(map(len, rows))


def read(folder: Path) -> Any:
    """A stream of one file in each micro-batch, because Spark promises no order among several. Any session will do."""
    session = local_session()
    session.conf.set("spark.sql.shuffle.partitions", 1)  # for Spark's own query: 200 would take a minute
    reader = session.readStream.schema("ts TIMESTAMP, partition LONG").option("maxFilesPerTrigger", 1)
    return reader.parquet(str(folder))


def with_channels(frame: Any) -> tuple[int, int]:
    """The number of rows counted, and of late rows."""
    packets = oop.source(
        frame, time="ts", punctuate=oop.slack("5s"), channel="partition", channels=[0, 1], name="packets"
    )
    counts = packets.window(oop.tumbling("10s")).agg(n=oop.count())
    query = counts.run(engine=oop.Spark(shards=1, trigger={"availableNow": True}))
    return sum(query.to_table()["n"].to_pylist()), query.counts["packets"]["late"]


def with_watermark(frame: Any) -> int:
    """The number of rows counted."""
    from pyspark.sql.functions import window

    counts = frame.withWatermark("ts", "5 seconds").groupBy(window("ts", "10 seconds")).count()
    writer = counts.writeStream.format("memory").queryName("counts").outputMode("append")
    writer.trigger(availableNow=True).start().awaitTermination()
    return sum(row["count"] for row in frame.sparkSession.table("counts").collect())


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        rows = write(Path(folder))
        frame = read(Path(folder))
        counted, late = with_channels(frame)
        print(f"oop with channels:          {counted:,} of {rows:,} rows counted, {late} late")
        counted = with_watermark(frame)
        print(f"Spark's own withWatermark:  {counted:,} of {rows:,} rows counted, {rows - counted} dropped")


if __name__ == "__main__":
    main()
