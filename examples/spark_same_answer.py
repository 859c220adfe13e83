"""The OOP paper's Q1 on both engines: the same plan gives the same windows, and finds the same rows late.

Control carries its promises, Main1 has enough slack for the rows that were held up on the way, and Main2's slack is too
small on purpose: whether a row is late depends on the rows before it, not on the engine or on how micro-batches were
cut. Spark runs in this process (local mode); with a session of your own it is ``oop.Spark(session)``.
"""

import tempfile
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

import oop
from oop import packets


def query(folder: Path) -> oop.Stream:
    links = packets.generate(rows=20_000, seed=1)
    for name in ("Main1", "Main2"):
        pq.write_table(pa.table(links[name].rows), folder / f"{name}.parquet", row_group_size=1_000)

    control = []
    for tick in links["Control"].ticks():
        control += [tick.batch, oop.END if tick.low is None else oop.Punctuation(below={"ts": tick.low})]
    return (
        oop.union(
            oop.source(control, time="ts", punctuate=oop.punctuated(), name="Control"),
            oop.source(folder / "Main1.parquet", time="ts", punctuate=oop.slack("1s"), name="Main1"),
            oop.source(folder / "Main2.parquet", time="ts", punctuate=oop.slack("500ms"), name="Main2"),
        )
        .window(oop.tumbling("20s"))
        .agg(packets=oop.count(), bytes=oop.sum("len"))
    )


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        stream = query(Path(folder))
        run = stream.run()
        embedded = run.to_table().sort_by("window_start")
        # few rows in a micro-batch, so that there are several
        started = stream.run(engine=oop.Spark(shards=2, rows=5_000))
        spark = started.to_table().sort_by("window_start")

    for row, other in zip(embedded.to_pylist(), spark.to_pylist(), strict=True):
        print(f"{row['window_start']:%H:%M:%S}  embedded {row['packets']:,}  Spark {other['packets']:,}")
    for name in ("Control", "Main1", "Main2"):
        print(f"late in {name}: embedded {run.late[name].num_rows:,}, Spark {started.counts[name]['late']:,}")
    print("the same answer:", spark.equals(embedded))


if __name__ == "__main__":
    main()
