"""What does disorder cost? Count by (src, dst) per window of 1 s: in order, and with 10 % and 50 % of the rows late by
up to 2 s.

    python benchmarks/disorder.py --full
"""

from _harness import Case, Contender, Ratio, at_least, compare, options
from _workload import Workload

SHARES = {"in order": 0.0, "10 % disorder": 0.1, "50 % disorder": 0.5}
TARGETS = {"50 % disorder": at_least(0.9)}


def cases(rows: int) -> list[Case]:
    contenders = {name: Contender(Workload(rows, late=share)) for name, share in SHARES.items()}
    ratios = [Ratio(name, "in order", TARGETS.get(name)) for name, share in SHARES.items() if share]
    return [Case("count", contenders, ratios)]


if __name__ == "__main__":
    chosen = options(__doc__ or "", rows=1_000_000, repeat=3)
    compare("disorder", chosen, cases(chosen.rows))
