"""The OOP paper's Q2 (section 4.2): a sliding-window join, which is a band join in other words.

    SELECT *
    FROM Main1 [WA ts, RANGE 3 min], Main2 [WA ts, RANGE 2 min]
    WHERE Main1.srcIP = Main2.destIP

A row of Main1 meets those of Main2 that are less than 2 minutes older and less than 3 minutes younger than it. A row
of Main1 is held until Main2 promises to have passed it by 3 minutes, a row of Main2 until Main1 has passed it by 2.
"""

from itertools import pairwise

import numpy as np
import pyarrow as pa

import oop

HALF_AN_HOUR = 30 * 60


def query(main1: oop.Stream, main2: oop.Stream) -> oop.Stream:
    return main1.join(main2, on={"src": "dst"}, ranges=("3min", "2min"))


def link(name: str, seed: int, rows: int = 5_000) -> oop.Stream:
    """Packets of 200 hosts in half an hour, up to 20 s out of order, read ten seconds at a time."""
    random = np.random.default_rng(seed)
    times = random.integers(0, HALF_AN_HOUR, rows)
    arrival = times + random.integers(0, 21, rows)
    order = np.argsort(arrival, kind="stable")
    packets = pa.record_batch(
        {
            "ts": pa.array(times[order], pa.timestamp("s")),
            "src": random.integers(0, 200, rows),
            "dst": random.integers(0, 200, rows),
        }
    )
    edges = np.searchsorted(arrival[order], np.arange(0, HALF_AN_HOUR + 40, 10))
    batches = [packets.slice(a, b - a) for a, b in pairwise(edges)]
    return oop.source(lambda: iter(batches), time="ts", punctuate=oop.slack("20s", every="10s"), name=name)


pairs = query(link("Main1", seed=1), link("Main2", seed=2))


def main() -> None:
    print(pairs.explain(), "\n")
    run = pairs.run()
    answer = run.to_table()
    first = answer.sort_by([("ts", "ascending"), ("ts_right", "ascending"), ("src", "ascending")])
    for row in first.slice(0, 5).to_pylist():
        print(f"{row['src']:>3} at {row['ts']:%M:%S}, as a destination at {row['ts_right']:%M:%S}")
    join = run.metrics.box("Join")
    print(f"{answer.num_rows:,} pairs of {join.rows_in:,} rows; {join.peak_buffered_rows:,} were held at the peak")


if __name__ == "__main__":
    main()
