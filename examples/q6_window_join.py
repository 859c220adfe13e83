"""The OOP paper's Q6 (section 8.1): a join in tumbling windows of ten seconds, of two unions.

    SELECT M1.srcIP, M1.destIP, M1.ts
    FROM A UNION B AS M1, C UNION D AS M2
    WHERE M1.ts/10 = M2.ts/10 AND M1.srcIP = M2.destIP AND M1.destIP = M2.srcIP
      AND M1.srcPort = M2.destPort AND M1.destPort = M2.srcPort

B and D arrive 3 to 6 s behind A and C. The rows of a window are held by the join until the union on the other side
promises that the window is over.
"""

import pyarrow as pa

import oop
from oop import packets

REPLY = {"src": "dst", "dst": "src", "sport": "dport", "dport": "sport"}


def query(a: oop.Stream, b: oop.Stream, c: oop.Stream, d: oop.Stream) -> oop.Stream:
    m1, m2 = a.union(b), c.union(d)
    return m1.join(m2, on=REPLY, window=oop.tumbling("10s")).select("src", "dst", "ts")


def link(name: str, arrivals: packets.Arrivals) -> oop.Stream:
    """Rows as they arrive, a second at a time, of 20 hosts with two ports each."""
    src, dst = (arrivals.rows[side].to_numpy() for side in ("src", "dst"))
    hosts = {"src": src % 20, "dst": dst % 20, "sport": src // 20 % 2, "dport": dst // 20 % 2}
    rows = pa.record_batch({"ts": arrivals.rows["ts"], **hosts})
    batches = arrivals.by_second(rows)
    return oop.source(lambda: iter(batches), time="ts", punctuate=oop.slack("2s", every="1s"), name=name)


there, back = packets.generate(rows=20_000, seed=6), packets.generate(rows=20_000, seed=60)
pairs = query(link("A", there["Main1"]), link("B", there["Main2"]), link("C", back["Main1"]), link("D", back["Main2"]))


def main() -> None:
    print(pairs.explain(), "\n")
    run = pairs.run()
    answer = run.to_table().sort_by([("ts", "ascending"), ("src", "ascending")])
    for row in answer.slice(0, 5).to_pylist():
        print(f"{row['ts']:%M:%S.%f}  {row['src']:>2} → {row['dst']}")
    join = run.metrics.box("Join")
    print(f"{answer.num_rows:,} pairs of {join.rows_in:,} rows; {join.peak_buffered_rows:,} were held at the peak")


if __name__ == "__main__":
    main()
