"""The paper's Q9, in seconds for minutes: a count over five seconds, every second.

Each row is aggregated once, into its pane of one second; the five windows that it belongs to share the pane.
"""

import numpy as np

import oop
from oop import packets

arrivals = packets.merged(packets.generate(rows=50_000, seed=9))
stream = oop.source(arrivals.rows, time="ts", punctuate=oop.slack("7s", every="1s"), name="links")
per_second = stream.window(oop.sliding("5s", every="1s")).agg(packets=oop.count(), longest=oop.max("len"))


def main() -> None:
    run = per_second.run()
    answer = run.to_table().sort_by("window_start")
    print(f"{answer.num_rows} windows; the first:")
    for row in answer.slice(0, 6).to_pylist():
        print(f"{row['window_start']:%H:%M:%S} – {row['window_end']:%H:%M:%S}  {row['packets']:>5,}  {row['longest']}")
    expected = count_directly(answer["window_start"].cast("int64").to_numpy())
    print("agrees with a direct count:", answer["packets"].to_pylist() == expected)
    held = run.metrics.box("Aggregate").peak_buffered_rows
    print(f"panes held at the peak: {held}, for {arrivals.rows.num_rows:,} rows")


def count_directly(starts: np.ndarray) -> list[int]:
    times = arrivals.times
    return [int(((times >= start) & (times < start + 5 * packets.SECOND)).sum()) for start in starts]


if __name__ == "__main__":
    main()
