"""The OOP paper's Q9 (section 8.2): the packets of three links in the last five minutes, every minute.

    SELECT count(*) [RANGE 5 min, SLIDE 1 min, WA ts]
    FROM M1 UNION M2 UNION C

A window is put out when the least of the links' promises has passed its end, however far a link is behind. Each row is
aggregated once, into its pane of one slide; the five windows that it belongs to share the pane. This example uses
seconds instead of minutes.
"""

import numpy as np

import oop
from oop import packets


def query(m1: oop.Stream, m2: oop.Stream, c: oop.Stream, range: str = "5min", slide: str = "1min") -> oop.Stream:
    windows = oop.union(m1, m2, c).window(oop.sliding(range, every=slide))
    return windows.agg(packets=oop.count(), longest=oop.max("len"))


def link(name: str) -> oop.Stream:
    ticks = LINKS[name].ticks()
    policy = oop.slack("2s", every="1s")
    return oop.source(
        lambda: (tick.batch for tick in ticks), time="ts", punctuate=policy, name=name, schema=packets.SCHEMA
    )


LINKS = packets.generate(rows=50_000, seed=9)
per_second = query(link("Main1"), link("Main2"), link("Control"), "5s", "1s")


def main() -> None:
    run = per_second.run()
    answer = run.to_table().sort_by("window_start")
    print(f"{answer.num_rows} windows; the first:")
    for row in answer.slice(0, 6).to_pylist():
        print(f"{row['window_start']:%H:%M:%S} – {row['window_end']:%H:%M:%S}  {row['packets']:>5,}  {row['longest']}")
    expected = count_directly(answer["window_start"].cast("int64").to_numpy())
    print("agrees with a direct count:", answer["packets"].to_pylist() == expected)
    held = run.metrics.box("Aggregate").peak_buffered_rows
    print(f"panes held at the peak: {held}, for {run.metrics.box('Union').rows_in:,} rows")


def count_directly(starts: np.ndarray) -> list[int]:
    times = packets.merged(LINKS).times
    return [int(((times >= start) & (times < start + 5 * packets.SECOND)).sum()) for start in starts]


if __name__ == "__main__":
    main()
