"""The kernels of Aurora's order specifications alone, against Python's heapq, row by row: BSort with a slack of 1,000
rows, with disorder within the slack and beyond it; BSort with a slack of 10,000 and batches of 100 rows; which rows are
out of order. Also the merge of eight inputs in order, against pyarrow's sort.

    python benchmarks/bsort.py --full
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute
from _contenders import WARM_UP_ROWS, timed
from _harness import Case, Ratio, Task, at_least, compare, options
from _workload import BATCH_ROWS, START, read, write

from oop.kernels.dispatch import kernels

SLACK = 1_000
LARGE_SLACK = 10_000
FEW_ROWS = 100  # rows of a small batch
STEP = 7  # microseconds from row to row
INPUTS = 8


@dataclass(frozen=True)
class Shaken:
    """Every row comes up to 900 rows after its turn, and a ``share`` of the rows up to ``late`` rows later still."""

    rows: int
    share: float = 0.0
    late: int = 0

    def write(self, path: Path) -> None:
        random = np.random.default_rng(0)
        turn = np.arange(self.rows)
        at = turn + random.integers(0, 900, self.rows)
        far = random.random(self.rows) < self.share
        at[far] += random.integers(0, max(self.late, 1), int(far.sum()))
        _write(path, START + STEP * np.argsort(at, kind="stable"))


@dataclass(frozen=True)
class Inputs:
    """Several inputs with equally many rows, one behind the other. Each input is in order."""

    rows: int

    def write(self, path: Path) -> None:
        random = np.random.default_rng(0)
        each = [np.cumsum(random.integers(0, 2 * STEP, len(part))) for part in _parts(self.rows)]
        _write(path, START + np.concatenate(each))


def _write(path: Path, values: Any) -> None:
    write(path, pa.table({"ts": pa.array(values)}))


def _parts(rows: int) -> list[Any]:
    return np.array_split(np.arange(rows), INPUTS)


def measure(path: str, task: str, slack: int = SLACK, batch_rows: int = BATCH_ROWS) -> dict[str, Any]:
    """Seconds of the second run and of the first, and check sums of the answer."""
    values = read(Path(path))["ts"].to_numpy()
    work = TASKS[task]
    if not task.startswith("merge"):
        work(values[:WARM_UP_ROWS], slack, batch_rows)
    first, _ = timed(work, values, slack, batch_rows)
    seconds, answer = timed(work, values, slack, batch_rows)
    places = answer.astype(np.int64)
    check = {"rows": len(places), "groups": 1, "order": int((places * (np.arange(len(places)) % 1_009)).sum())}
    return {"seconds": seconds, "first_seconds": first, "rows": len(values), "check": check}


def _sort(values: Any, slack: int, batch_rows: int) -> Any:
    buffers = kernels().SortBuffers(slack, np.int64)
    left = [buffers.push(None, values[i : i + batch_rows]).copy() for i in range(0, len(values), batch_rows)]
    return np.concatenate([*left, buffers.drain()])


def _sort_heapq(values: Any, slack: int, batch_rows: int) -> Any:
    heap: list[tuple[int, int]] = []
    left = []
    for i in range(0, len(values), batch_rows):
        for number, value in enumerate(values[i : i + batch_rows].tolist(), start=i):
            if len(heap) < slack:
                heapq.heappush(heap, (value, number))
            else:
                left.append(heapq.heappushpop(heap, (value, number))[1])
    left += [number for _, number in sorted(heap)]
    return np.array(left)


def _judge(values: Any, slack: int, batch_rows: int) -> Any:
    """Which rows are out of order, as 0 and 1."""
    chosen = kernels()
    bounds = chosen.RowBounds(slack, np.int64)
    batches = (values[i : i + batch_rows] for i in range(0, len(values), batch_rows))
    return np.concatenate([chosen.find_late(batch, bounds.push(None, batch)) for batch in batches])


def _judge_heapq(values: Any, slack: int, batch_rows: int) -> Any:
    """Which rows are out of order, by a heap of the values before each row."""
    heap: list[int] = []
    late = []
    for value in values.tolist():
        if len(heap) <= slack:
            heapq.heappush(heap, value)
            late.append(False)
        else:
            late.append(value < heap[0])
            heapq.heappushpop(heap, value)
    return np.array(late)


def _merge(values: Any, slack: int, batch_rows: int) -> Any:
    return kernels().merge_runs(values, np.cumsum([0, *map(len, _parts(len(values)))]))


def _merge_pyarrow(values: Any, slack: int, batch_rows: int) -> Any:
    return pa.compute.sort_indices(pa.array(values)).to_numpy()


TASKS = {
    "sort": _sort,
    "sort_heapq": _sort_heapq,
    "judge": _judge,
    "judge_heapq": _judge_heapq,
    "merge": _merge,
    "merge_pyarrow": _merge_pyarrow,
}


def cases(rows: int) -> list[Case]:
    within, beyond, inputs = Shaken(rows), Shaken(rows, 0.1, 10 * SLACK), Inputs(rows)

    def case(name: str, target: Any, workload: Any, tasks: dict[str, str], **how: int) -> Case:
        contenders = {title: Task(workload, measure, task=task, **how) for title, task in tasks.items()}
        return Case(name, contenders, [Ratio(*contenders, target)])

    sort, judge = {"oop": "sort", "heapq": "sort_heapq"}, {"oop": "judge", "heapq": "judge_heapq"}
    merge = {"oop": "merge", "pyarrow": "merge_pyarrow"}

    return [
        case("BSort within its slack", at_least(20), within, sort),
        case("BSort beyond its slack", at_least(4), beyond, sort),
        case("BSort of small batches", at_least(1), within, sort, slack=LARGE_SLACK, batch_rows=FEW_ROWS),
        case("which rows are out of order", at_least(4), beyond, judge),
        case("merge of eight inputs", at_least(0.5), inputs, merge),
    ]


if __name__ == "__main__":
    chosen = options(__doc__ or "", rows=500_000, repeat=1, full=2_000_000)
    compare("bsort", chosen, cases(chosen.rows))
