"""Flows have two times, and the stream progresses on both (OOP paper, section 3.1, example 3).

A router exports a flow when it ends, so flows come in order of ``end``, and out of order of ``start``. No flow lasts
longer than an hour. So one source promises about both times, and each query uses the one that it needs.
"""

import pyarrow as pa

import oop

MINUTE = 60
FLOWS = pa.table(
    {
        "start": pa.array([m * MINUTE for m in (0, 3, 1, 30, 6, 58, 2, 61, 119, 75)], pa.timestamp("s")),
        "end": pa.array([m * MINUTE for m in (1, 4, 9, 31, 50, 59, 61, 62, 120, 130)], pa.timestamp("s")),
        "bytes": [10, 20, 30, 40, 50, 60, 70, 80, 90, 100],
    }
)

flows = oop.source(FLOWS, time="end", punctuate={"end": oop.ordered(), "start": oop.slack("1h")}, name="netflow")
ended = flows.window(oop.tumbling("30min")).agg(flows=oop.count(), bytes=oop.sum("bytes"))
started = flows.window(oop.tumbling("30min"), on="start").agg(flows=oop.count(), bytes=oop.sum("bytes"))


def show(title: str, stream: oop.Stream) -> None:
    run = stream.run()
    print(title)
    for row in run.to_table().sort_by("window_start").to_pylist():
        print(f"  {row['window_start']:%H:%M}  {row['flows']} flows, {row['bytes']} bytes")
    print(f"  {len(run.late)} late")


def main() -> None:
    show("flows that ended in", ended)
    show("flows that started in", started)


if __name__ == "__main__":
    main()
