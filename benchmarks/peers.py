"""Count by (src, dst) per window of 1 s, with a tenth of the rows late by up to 2 s: oop against the batch GROUP BY of
DuckDB and Polars over the same Arrow table, two threads each, and against a bare scatter-add over the same ids on one
core.

    python benchmarks/peers.py --full
"""

from _contenders import FIVE
from _harness import Case, Contender, Ratio, Target, at_least, compare, options
from _workload import Workload

DAY = 24 * 60 * 60


def case(
    name: str, workload: Workload, duckdb: Target, polars: Target | None = None, aggregates: tuple[str, ...] = ("n",)
) -> Case:
    contenders = {
        title: Contender(workload, {"contender": title, "aggregates": aggregates})
        for title in ("oop", "duckdb", "polars", "scatter-add")
    }
    ratios = [Ratio("oop", "duckdb", duckdb), Ratio("oop", "polars", polars), Ratio("oop", "scatter-add")]
    return Case(name, contenders, ratios)


def cases(rows: int) -> list[Case]:
    # of 8 M rows this makes 12 M rows of 10 M groups, all in one window
    many = Workload(rows * 3 // 2, groups=rows * 5 // 4, every_group=True, window=DAY)
    return [
        case("count", Workload(rows), at_least(2.5), at_least(4)),
        case("five aggregates", Workload(rows), at_least(2), aggregates=FIVE),
        case("two strings", Workload(rows, strings=True), at_least(1.5)),
        case("many groups", many, at_least(1)),
    ]


if __name__ == "__main__":
    chosen = options(__doc__ or "", rows=500_000, repeat=1)
    compare("peers", chosen, cases(chosen.rows))
