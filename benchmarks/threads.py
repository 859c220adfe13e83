"""What does a second thread bring? Count by (src, dst) per window of 1 s, a tenth of the rows late by up to 2 s.

python benchmarks/threads.py --full
"""

from _harness import Case, Contender, Ratio, at_least, compare, options
from _workload import Workload


def cases(rows: int) -> list[Case]:
    contenders = {title: Contender(Workload(rows), {"threads": n}) for n, title in ((1, "1 thread"), (2, "2 threads"))}
    return [Case("count", contenders, [Ratio("2 threads", "1 thread", at_least(1.6))])]


if __name__ == "__main__":
    chosen = options(__doc__ or "", rows=1_000_000, repeat=3)
    compare("threads", chosen, cases(chosen.rows))
