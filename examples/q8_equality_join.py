"""The OOP paper's Q8 (section 8.2): packets and their replies of the same time, where some replies come late.

    SELECT M1.srcIP, M1.destIP, M1.ts
    FROM M1, M2 UNION C AS M3
    WHERE M1.ts = M3.ts AND M1.srcIP = M3.destIP AND M1.destIP = M3.srcIP
      AND M1.srcPort = M3.destPort AND M1.destPort = M3.srcPort

C is ten seconds behind. Rows of M1 wait for C, because M3 promises the least of M2 and C. Rows of M2 do not wait: the
promises of M1 free them at once.
"""

import pyarrow as pa

import oop
from oop import packets

REPLY = {"src": "dst", "dst": "src", "sport": "dport", "dport": "sport"}
DELAY = 10  # seconds


def query(m1: oop.Stream, m2: oop.Stream, c: oop.Stream) -> oop.Stream:
    return m1.join(m2.union(c), on=REPLY, within=(0, 0)).select("src", "dst", "ts")


def link(name: str, arrivals: packets.Arrivals, delay: int = 0) -> oop.Stream:
    """Rows as they arrive, a second at a time, of 10 hosts with two ports each; times in whole seconds."""
    src, dst = (arrivals.rows[side].to_numpy() for side in ("src", "dst"))
    hosts = {"src": src % 10, "dst": dst % 10, "sport": src // 10 % 2, "dport": dst // 10 % 2}
    rows = pa.record_batch({"ts": pa.array(arrivals.times // packets.SECOND, pa.timestamp("s")), **hosts})
    batches = [rows.slice(0, 0)] * delay + arrivals.by_second(rows)
    return oop.source(lambda: iter(batches), time="ts", punctuate=oop.slack("2s", every="1s"), name=name)


LINKS = packets.generate(rows=20_000, seed=8)
pairs = query(link("M1", LINKS["Main1"]), link("M2", LINKS["Main2"]), link("C", LINKS["Control"], DELAY))


def main() -> None:
    print(pairs.explain(), "\n")
    run = pairs.run()
    answer = run.to_table().sort_by([("ts", "ascending"), ("src", "ascending"), ("dst", "ascending")])
    for row in answer.slice(0, 5).to_pylist():
        print(f"{row['ts']:%M:%S}  {row['src']} → {row['dst']}")
    join = run.metrics.box("Join")
    print(f"{answer.num_rows:,} pairs of {join.rows_in:,} rows; {join.peak_buffered_rows:,} were held at the peak")


if __name__ == "__main__":
    main()
