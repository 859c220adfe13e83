"""The OOP paper's Q3 (section 7): connections established per pair of seconds, unblocked by joint promises.

    SELECT S0.ts, S1.ts, count(*)
    FROM S0 [WA ts, RANGE 2 min], S1 [WA ts, RANGE 2 min]
    WHERE S0.destIP = S1.srcIP AND S0.destPort = S1.srcPort AND S0.flag = SYN AND S1.flag = SYN_ACK AND S0.ts < S1.ts
    GROUP BY S0.ts, S1.ts

The join promises jointly: no later pair has ``ts < a`` and ``ts_right < b`` once S0 has passed a and S1 has passed b.
So a group leaves when both links have passed its seconds; a promise about one of the two times comes two minutes later.
"""

from itertools import pairwise

import numpy as np
import pyarrow as pa

import oop

SYN, SYN_ACK = 2, 18  # the bits SYN, and SYN with ACK, of the TCP flags
MINUTES = 10


def query(s0: oop.Stream, s1: oop.Stream, band: str = "2min") -> oop.Stream:
    return pairs(s0, s1, band).group_by("ts", "ts_right").agg(connections=oop.count())


def pairs(s0: oop.Stream, s1: oop.Stream, band: str) -> oop.Stream:
    calls = in_seconds(s0.filter(oop.col("flags") == SYN))
    answers = in_seconds(s1.filter(oop.col("flags") == SYN_ACK))
    earlier = oop.col("ts") < oop.col("ts_right")
    return calls.join(answers, on={"dst": "src", "dport": "sport"}, ranges=(band, band), where=earlier)


def in_seconds(stream: oop.Stream) -> oop.Stream:
    return stream.with_columns(ts=oop.col("ts").cast("timestamp[s]"))


def links(rows: int = 20_000, seed: int = 3) -> list[oop.Stream]:
    """Packets to and from 500 servers in ten minutes; a third opens a connection, and is answered within 20 s."""
    random = np.random.default_rng(seed)
    called = np.sort(random.integers(0, MINUTES * 60 * 1_000, rows))
    answered = called + random.exponential(3_000, rows).astype(np.int64).clip(1, 20_000)
    opens = random.random(rows) < 1 / 3
    servers, ports = random.integers(0, 500, rows), random.choice([22, 80, 443], rows)
    found = []
    for name, times, side, flag in (("S0", called, ("dst", "dport"), SYN), ("S1", answered, ("src", "sport"), SYN_ACK)):
        flags = np.where(opens, flag, 16)
        columns = dict(zip(("ts", *side, "flags"), (times, servers, ports, flags), strict=True))
        packets = pa.table(columns).sort_by("ts")
        packets = packets.set_column(0, "ts", packets["ts"].cast(pa.timestamp("ms")))
        found.append(source(name, packets))
    return found


def source(name: str, packets: pa.Table) -> oop.Stream:
    """Read in steps of a second, so that both links advance together."""
    edges = np.searchsorted(packets["ts"].cast("int64").to_numpy(), np.arange(0, (MINUTES * 60 + 22) * 1_000, 1_000))
    batches = [packets.slice(a, b - a) for a, b in pairwise(edges)]
    return oop.source(lambda: iter(batches), time="ts", punctuate=oop.ordered(every="1s"), name=name)


s0, s1 = links()
connections = query(s0, s1)


def main() -> None:
    print(connections.explain(), "\n")
    run = connections.run()
    answer = run.to_table().sort_by([("ts", "ascending"), ("ts_right", "ascending")])
    for row in answer.slice(0, 5).to_pylist():
        print(f"called at {row['ts']:%M:%S}, answered at {row['ts_right']:%M:%S}: {row['connections']}")
    print(f"{answer.num_rows:,} groups; {run.metrics.box('GroupBy').peak_buffered_rows:,} were held at the peak")


if __name__ == "__main__":
    main()
