"""How much does a second thread gain? Count by (src, dst) per window of 1 s, with a tenth of the rows late by up to 2
s; beside it what DuckDB gains by its second thread, and both with one thread each. And how much does it gain to reduce
rows before they cross to threads, with few groups and with many?

    python benchmarks/threads.py --full
"""

from _harness import Case, Contender, Ratio, at_least, compare, options
from _workload import Workload


def cases(rows: int) -> list[Case]:
    contenders = {
        title + named: Contender(Workload(rows), {"contender": contender, "threads": n})
        for contender, named in (("oop", ""), ("duckdb", ", DuckDB"))
        for n, title in ((1, "1 thread"), (2, "2 threads"))
    }
    ratios = [
        Ratio("2 threads", "1 thread", at_least(1.6)),
        Ratio("2 threads, DuckDB", "1 thread, DuckDB"),
        Ratio("1 thread", "1 thread, DuckDB"),
    ]
    found = [Case("count", contenders, ratios)]
    for groups in (1_000, 260_000):
        workload = Workload(rows, groups=groups)
        ways = {"with a preaggregate": {"preaggregate": True}, "without": {}}
        compared = {title: Contender(workload, how) for title, how in ways.items()}
        found.append(Case(f"preaggregate, {groups:,} groups", compared, [Ratio(*ways)]))
    return found


if __name__ == "__main__":
    chosen = options(__doc__ or "", rows=1_000_000, repeat=3)
    compare("threads", chosen, cases(chosen.rows))
