"""Group-wise promises (OOP paper, A.1.1): a slow group holds up its own windows only.

Sensor B lags far behind A. A promise for the stream as a whole could be no better than B's. Promises by sensor let A's
windows out at once.
"""

from collections.abc import Iterator

import pyarrow as pa

import oop


def readings(*rows: tuple[str, int, float]) -> pa.RecordBatch:
    sensors, times, values = zip(*rows, strict=True)
    return pa.record_batch({"sensor": list(sensors), "ts": list(times), "value": list(values)})


ARRIVALS = [
    readings(("A", 1, 20.0), ("A", 7, 20.5), ("B", 2, 30.0)),
    readings(("A", 12, 21.0), ("A", 18, 21.5)),
    readings(("A", 23, 22.0)),
    readings(("B", 9, 31.0), ("B", 11, 31.5), ("B", 24, 32.0)),
]
taken = 0


def feed() -> Iterator[pa.RecordBatch]:
    global taken
    for batch in ARRIVALS:
        taken += 1
        yield batch


policy = oop.ordered(by="sensor", groups=["A", "B"])
sensors = oop.source(feed, time="ts", punctuate=policy, name="sensors")
means = sensors.window(oop.tumbling(10)).group_by("sensor").agg(mean=oop.mean("value"))


def main() -> None:
    print(means.explain(), "\n")
    for batch in means.run():
        for row in batch.to_pylist():
            print(f"after batch {taken}: {row['sensor']} [{row['window_start']}, {row['window_end']})  {row['mean']}")


if __name__ == "__main__":
    main()
