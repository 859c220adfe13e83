"""The OOP paper's Q7 (section 8.2): packets and their replies within n of each other, counted per minute.

    SELECT count(*) [RANGE 1 min, SLIDE 1 min, WA M1.ts]
    FROM M1, M2
    WHERE M1.ts > M2.ts - n AND M1.ts <= M2.ts + n AND M1.srcIP = M2.destIP AND M1.destIP = M2.srcIP
      AND M1.srcPort = M2.destPort AND M1.destPort = M2.srcPort

The paper's band is open at one end: ``-n <= M2.ts - M1.ts < n``. Pairs leave the join as they are found, in no order;
its promise about M1.ts, ``min(M1, M2 - n)``, says when the count of a minute is complete.
"""

import pyarrow as pa

import oop
from oop import packets

REPLY = {"src": "dst", "dst": "src", "sport": "dport", "dport": "sport"}


def query(m1: oop.Stream, m2: oop.Stream, n: str = "1s") -> oop.Stream:
    pairs = m1.join(m2, on=REPLY, within=(f"-{n}", n), closed="left")
    return pairs.window(oop.tumbling("1min")).agg(pairs=oop.count())


def link(name: str, arrivals: packets.Arrivals) -> oop.Stream:
    """Rows as they arrive, a second at a time, of 10 hosts with two ports each."""
    src, dst = (arrivals.rows[side].to_numpy() for side in ("src", "dst"))
    hosts = {"src": src % 10, "dst": dst % 10, "sport": src // 10 % 2, "dport": dst // 10 % 2}
    rows = pa.record_batch({"ts": arrivals.rows["ts"], **hosts})
    batches = arrivals.by_second(rows)
    return oop.source(lambda: iter(batches), time="ts", punctuate=oop.slack("2s", every="1s"), name=name)


LINKS = packets.generate(rows=20_000, seed=7)
m1, m2 = link("M1", LINKS["Main1"]), link("M2", LINKS["Main2"])
per_minute = query(m1, m2)


def main() -> None:
    print(per_minute.explain(), "\n")
    for n in ("1s", "5s", "20s"):
        run = query(m1, m2, n).run()
        rows = run.to_table().sort_by("window_start").to_pylist()
        counts = ", ".join(f"{row['window_start']:%H:%M} {row['pairs']:,}" for row in rows)
        print(f"n = {n:<3}  {counts}; the join held {run.metrics.box('Join').peak_buffered_rows:,} rows at the peak")


if __name__ == "__main__":
    main()
