"""The plan of the OOP paper's figure 3: a cheap predicate spares many rows an expensive one; the union needs no order.

    SELECT count(*)
    FROM packets [RANGE 10 sec, SLIDE 10 sec, WA ts]
    WHERE A OR B

Rows that pass the cheap predicate overtake those that take the long way. Promises take both ways and meet in the union,
so the window count knows exactly when a window is complete.
"""

import oop
from oop import packets

A = oop.col("len") < 500
B = (oop.col("src") * 31 + oop.col("dst") * 17) % 10 < 4  # the expensive one


def query(stream: oop.Stream, a: oop.Expr = A, b: oop.Expr = B) -> oop.Stream:
    passed, rest = stream.split(a)
    return oop.union(passed, rest.filter(b)).window(oop.tumbling("10s")).agg(packets=oop.count())


PACKETS = packets.generate(rows=20_000, seed=3)["Main1"].rows

stream = oop.source(PACKETS, time="ts", punctuate=oop.slack("1s"), name="packets")
per_ten_seconds = query(stream)


def main() -> None:
    print(per_ten_seconds.explain(), "\n")
    run = per_ten_seconds.run()
    answer = run.to_table().sort_by("window_start")
    for row in answer.slice(0, 3).to_pylist():
        print(f"{row['window_start']:%M:%S}  {row['packets']} packets")
    through_b = run.metrics.box("Filter")
    print(f"counted {sum(answer['packets'].to_pylist())} of {PACKETS.num_rows} rows")
    print(f"predicate B looked at {through_b.rows_in} rows and kept {through_b.rows_out}; {len(run.late)} were late")


if __name__ == "__main__":
    main()
