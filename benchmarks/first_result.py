"""How soon is there a first result? The demo's query, from run() to the first batch, with nothing warmed up.

python benchmarks/first_result.py --full
"""

from time import perf_counter
from typing import Any

from _harness import at_most, limited, options, repeated, report

from oop import packets
from oop.cli import demo

LIMIT = at_most(1)
ROWS = 4_000_000  # the demo's own


def measure(rows: int, way: int) -> dict[str, Any]:
    feeds = demo.Feeds(packets.generate(rows), lambda taken: None)
    begin = perf_counter()
    first = next(iter(demo.WAYS[way].stream(feeds).run()))
    seconds = perf_counter() - begin
    if not first.num_rows:
        raise SystemExit(f"{demo.WAYS[way].name}: the first batch is empty")
    return {"seconds": seconds}


if __name__ == "__main__":
    chosen = options(__doc__ or "", rows=ROWS, repeat=1, full=ROWS)
    results = []
    for i, way in enumerate(demo.WAYS):
        if chosen.wants(way.name):
            runs = repeated(way.name, chosen, measure, rows=chosen.rows, way=i)
            results.append(limited(way.name, [run["seconds"] for run in runs], LIMIT, "seconds"))
    report("first_result", chosen, results)
