"""The OOP paper's Q1 (section 2): packets of three links per minute, each link with its own way of promising.

    SELECT count(*)
    FROM Control UNION Main1 UNION Main2 [RANGE 1 minute, SLIDE 1 minute, WA ts]

The union promises the least of what its links promise, and a minute is put out when that has passed its end.
Show the plan without running it: ``oop explain examples/q1_union_count.py:per_minute``
"""

import pyarrow as pa

import oop

MINUTE = 60


def query(control: oop.Stream, main1: oop.Stream, main2: oop.Stream) -> oop.Stream:
    return oop.union(control, main1, main2).window(oop.tumbling("1min")).agg(packets=oop.count())


def link(times: list[int]) -> pa.Table:
    return pa.table({"ts": pa.array(times, pa.timestamp("s")), "len": [100] * len(times)})


# Control has few packets. It carries its own promises between the batches, so that it does not hold the others up.
control = oop.source(
    [link([5, 70]), oop.Punctuation(below={"ts": 2 * MINUTE}), link([130]), oop.Punctuation(below={"ts": 4 * MINUTE})],
    time="ts",
    punctuate=oop.punctuated(),
    name="Control",
)
main1 = oop.source(link([1, 20, 61, 119, 125, 200]), time="ts", punctuate=oop.ordered(), name="Main1")
main2 = oop.source(link([30, 10, 90, 58, 121, 190]), time="ts", punctuate=oop.slack("40s"), name="Main2")

per_minute = query(control, main1, main2)


def main() -> None:
    print(per_minute.explain(), "\n")
    for element in per_minute.run().elements():
        if isinstance(element, oop.Punctuation):
            print("promise:", element)
        else:
            for row in element.to_pylist():
                print(f"{row['window_start']:%H:%M} – {row['window_end']:%H:%M}  {row['packets']} packets")


if __name__ == "__main__":
    main()
