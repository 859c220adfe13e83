"""The data of the benchmarks: packets with a source, a destination and a length, a million for each second of stream.

The parent process writes a workload to a file. Every fresh process reads it into memory as a whole before it is timed.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa

SECOND = 1_000_000
START = 1_219_536_000 * SECOND  # 2008-08-24, where a window of a second begins, and one of a day
LATE_BY = 2 * SECOND
DESTINATIONS = 510
BATCH_ROWS = 65_536


@dataclass(frozen=True)
class Workload:
    """``late`` is the share of rows that come up to 2 s late. ``window`` is in seconds. With ``every_group`` each group
    occurs, otherwise groups are drawn evenly. ``rate`` is the number of rows for a second of stream."""

    rows: int
    late: float = 0.1
    groups: int = 260_000
    window: int = 1
    strings: bool = False
    every_group: bool = False
    rate: int = SECOND

    def write(self, path: Path) -> None:
        """Write the table as Arrow IPC, not compressed, and beside it the dense id of each row's window and group."""
        random = np.random.default_rng(0)
        times = START + np.arange(self.rows) * SECOND // self.rate
        group = self._draw(random)
        length = random.integers(40, 1_500, self.rows, np.int32)
        at = times + np.where(random.random(self.rows) < self.late, random.integers(0, LATE_BY, self.rows), 0)
        order = np.argsort(at, kind="stable")
        times, group = times[order], group[order]
        columns = {
            "ts": pa.array(times).view(pa.timestamp("us")),
            "src": self._key(group // DESTINATIONS),
            "dst": self._key(group % DESTINATIONS),
            "len": pa.array(length[order]),
        }
        write(path, pa.table(columns))
        np.save(path.with_suffix(".npy"), (times - START) // (self.window * SECOND) * self.groups + group)

    def _draw(self, random: np.random.Generator) -> np.ndarray:
        if not self.every_group:
            return random.integers(0, self.groups, self.rows)
        more = random.integers(0, self.groups, self.rows - self.groups)
        return random.permutation(np.concatenate([np.arange(self.groups), more]))

    def _key(self, numbers: np.ndarray) -> pa.Array:
        if not self.strings:
            return pa.array(numbers.astype(np.int32))
        names = pa.array([f"host-{i}.example" for i in range(int(numbers.max()) + 1)])
        return names.take(pa.array(numbers))


def write(path: Path, table: pa.Table) -> None:
    """Write a table as Arrow IPC, not compressed, in batches of 64 k rows."""
    with pa.OSFile(str(path), "wb") as file, pa.ipc.new_file(file, table.schema) as writer:
        writer.write_table(table, max_chunksize=BATCH_ROWS)


def read(path: Path) -> pa.Table:
    """The whole table in memory, in batches of 64 k rows."""
    with pa.OSFile(str(path)) as file:
        return pa.ipc.open_file(file).read_all()


def read_ids(path: Path) -> np.ndarray:
    """The id of each row's window and group, in the same order."""
    return np.load(path.with_suffix(".npy"))
