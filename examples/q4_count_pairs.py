"""The OOP paper's Q4 (section 8.1): packets of one link for each source and destination, per minute.

    SELECT srcIP, destIP, count(*)
    FROM M [WA ts, RANGE 1 min, SLIDE 1 min]
    GROUP BY srcIP, destIP

A tenth of the packets is out of order; the promise ``ts < 1 min`` puts out all groups of the first minute.
"""

import oop
from oop import packets


def query(m: oop.Stream) -> oop.Stream:
    return m.window(oop.tumbling("1min")).group_by("src", "dst").agg(packets=oop.count())


LINK = packets.generate(rows=100_000, seed=4)["Main1"].rows
per_pair = query(oop.source(LINK, time="ts", punctuate=oop.slack("1s", every="1s"), name="M"))


def main() -> None:
    print(per_pair.explain(), "\n")
    answer = per_pair.run().to_table()
    busiest = answer.sort_by([("packets", "descending"), ("window_start", "ascending"), ("src", "ascending")])
    for row in busiest.slice(0, 5).to_pylist():
        print(f"{row['window_start']:%H:%M}  {row['src']:>3} → {row['dst']:<3}  {row['packets']} packets")
    counted = sum(answer["packets"].to_pylist())
    print(f"{answer.num_rows:,} groups of {counted:,} packets; the link had {LINK.num_rows:,}")


if __name__ == "__main__":
    main()
