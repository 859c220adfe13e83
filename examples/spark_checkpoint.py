"""A query on Spark is stopped half-way and started again: with the same checkpoint each window comes out once.

The checkpoint has the position in the file, the state of the policy, and the open windows. The output folder has a list
of the files that are part of the result. Spark follows this list when it reads the folder, because a micro-batch that
was stopped may have left other files. The number of rows of a micro-batch may change from run to run; the plan and the
number of shards may not.
"""

import tempfile
import time
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

import oop
from oop import packets
from oop.engines.spark.session import local_session


def windows(folder: Path) -> pa.Table:
    return local_session().read.parquet(str(folder)).toArrow().sort_by("window_start")


def main() -> None:
    with tempfile.TemporaryDirectory() as name:
        path, checkpoint, out = (Path(name) / n for n in ("packets.parquet", "checkpoint", "out"))
        pq.write_table(pa.table(packets.generate(20_000)["Main1"].rows), path, row_group_size=200)
        stream = oop.source(path, time="ts", punctuate=oop.slack("1s"), name="Main1")
        counts = stream.window(oop.tumbling("1s")).agg(packets=oop.count())

        first = counts.run(engine=oop.Spark(checkpoint=checkpoint, shards=1, rows=200), to=out)
        while len(first.recentProgress) < 3:  # micro-batches, of 50
            time.sleep(0.05)
        first.stop()
        early = windows(out).num_rows

        second = counts.run(engine=oop.Spark(checkpoint=checkpoint, shards=1), to=out)
        second.awaitTermination()
        result = windows(out)

        print("stopped after some of the windows:", 0 < early < result.num_rows)
        print(f"in the end: {result.num_rows} windows, {len(set(result['window_start'].to_pylist()))} different ones")
        print("the same answer as without a stop:", result.equals(counts.run().to_table()))

        try:
            counts.run(engine=oop.Spark(checkpoint=checkpoint, shards=3), to=out)
        except oop.OopError as refused:
            print("refused:", refused.what)


if __name__ == "__main__":
    main()
