"""The OOP paper's Q5 (section 8.1): packets of two links for each source and destination, per minute.

    SELECT srcIP, destIP, count(*)
    FROM M1 UNION M2 [RANGE 1 min, SLIDE 1 min, WA ts]
    GROUP BY srcIP, destIP

M2 arrives 3 to 6 s behind M1. The union passes the rows of both at once and promises what the later link promises. Only
the groups of the open minute wait, and they are complete when they leave.
"""

import pyarrow as pa

import oop
from oop import packets


def query(m1: oop.Stream, m2: oop.Stream) -> oop.Stream:
    return oop.union(m1, m2).window(oop.tumbling("1min")).group_by("src", "dst").agg(packets=oop.count())


def link(name: str, arrivals: packets.Arrivals) -> oop.Stream:
    """Rows as they arrive, a second at a time, with 50 hosts on either side."""
    src, dst = (arrivals.rows[side].to_numpy() % 50 for side in ("src", "dst"))
    rows = pa.record_batch({"ts": arrivals.rows["ts"], "src": src, "dst": dst})
    batches = arrivals.by_second(rows)
    return oop.source(lambda: iter(batches), time="ts", punctuate=oop.slack("2s", every="1s"), name=name)


LINKS = packets.generate(rows=100_000, seed=5)
per_pair = query(link("M1", LINKS["Main1"]), link("M2", LINKS["Main2"]))


def main() -> None:
    print(per_pair.explain(), "\n")
    run = per_pair.run()
    answer = run.to_table()
    busiest = answer.sort_by([("packets", "descending"), ("window_start", "ascending"), ("src", "ascending")])
    for row in busiest.slice(0, 5).to_pylist():
        print(f"{row['window_start']:%H:%M}  {row['src']:>2} → {row['dst']:<2}  {row['packets']} packets")
    held = run.metrics.box("Aggregate").peak_buffered_rows
    print(f"{answer.num_rows:,} groups of {run.metrics.box('Union').rows_in:,} packets; {held:,} were held at the peak")


if __name__ == "__main__":
    main()
