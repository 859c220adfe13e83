"""Windows that count rows: those of the whole stream, or those of each partition."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from numbers import Integral
from typing import ClassVar

import pyarrow as pa

from oop.errors import UnknownColumn, WrongArgument
from oop.frozen import frozen
from oop.operators.aggregate.aggregate import Aggregate
from oop.operators.aggregate.partition_rows import PartitionRows
from oop.operators.groups.store_operator import NamedAggregates
from oop.operators.source.numbers import SEQ
from oop.operators.windows.bucket import Bucket, Grid
from oop.plan.flow import Flow
from oop.plan.numbering import numbered
from oop.site import user_line
from oop.windows.window import Window


@frozen()
class RowWindow(Window):
    """Window ``w`` covers the rows ``[offset + w·every, offset + w·every + range)``, numbered from 0 as the source gave
    them (OOP paper, section 5.2)."""

    range: int
    every: int
    offset: int = 0
    accounts: ClassVar[bool] = True
    counts_rows: ClassVar[bool] = True

    def check(self, time: pa.DataType) -> None:
        """Nothing to check: the window is on no column of the user's."""

    def aggregated(self, flow: Flow, on: str, keys: tuple[str, ...], functions: NamedAggregates, call: str) -> Flow:
        grid = Grid(self.range, self.every, self.offset)
        bucketed = numbered(flow).then(Bucket(SEQ, grid, str(self)), f".window({self})")
        return bucketed.then(Aggregate(keys, functions, grid, SEQ, pa.int64()), call, time="window_start")

    def __str__(self) -> str:
        every = f" every {self.every}" if self.every != self.range else ""
        return f"rows {self.range}{every}" + (f" offset {self.offset}" if self.offset else "")


@frozen()
class PartitionedRowWindow(RowWindow):
    """A `RowWindow` in which each partition counts its own rows; ``by`` are the columns that tell partitions apart."""

    by: tuple[str, ...] = ()
    accounts: ClassVar[bool] = False

    def aggregated(self, flow: Flow, on: str, keys: tuple[str, ...], functions: NamedAggregates, call: str) -> Flow:
        for name in self.by:
            if name not in flow.schema.names:
                raise UnknownColumn.of(name, flow.schema.names, at=user_line())
        keys = (*self.by, *(key for key in keys if key not in self.by))
        grid = Grid(self.range, self.every, self.offset)
        spec = PartitionRows(keys, functions, grid, SEQ, pa.int64(), self.by, str(self))
        return numbered(flow).then(spec, call, time="window_start")

    def __str__(self) -> str:
        return f"{super().__str__()} by {', '.join(self.by)}"


def rows(range: int, every: int | None = None, offset: int = 0, *, by: str | Sequence[str] | None = None) -> RowWindow:
    """Windows of ``range`` rows; a new one begins after every ``every`` rows (default: side by side).

    ``by`` names the columns of partitions, each of which counts its own rows as they reach the window; the columns are
    among the keys of the result.

    Rows are counted as the source gives them, before filters and with late ones, over all groups, so the answer does
    not depend on the plan. Windows that reach over the first or the last row come out too, with the rows that they
    have.

    >>> import oop
    >>> s = oop.source(pa.table({"ts": [5, 1, 3, 9, 7]}), time="ts", punctuate=None)
    >>> late = s.filter(oop.col("ts") > 1).window(oop.rows(2)).agg(n=oop.count(), ts=oop.max("ts"))
    >>> for row in late.run().to_table().to_pylist():
    ...     print(row)
    {'window_start': 0, 'window_end': 2, 'n': 1, 'ts': 5}
    {'window_start': 2, 'window_end': 4, 'n': 2, 'ts': 9}
    {'window_start': 4, 'window_end': 6, 'n': 1, 'ts': 7}
    """
    every = range if every is None else every
    counts = _count("range", range, 1), _count("every", every, 1), _count("offset", offset, 1 - _MOST_ROWS)
    if by is None:
        return RowWindow(*counts)
    columns = (by,) if isinstance(by, str) else tuple(by) if isinstance(by, Iterable) else ()
    if not columns or not all(isinstance(name, str) for name in columns) or len(set(columns)) < len(columns):
        raise WrongArgument(
            f"by= names the columns of partitions, each once, not {by!r}",
            at=user_line(),
            hint="write by='host' or by=['host', 'port']; an expression gets a name first: .with_columns(name=…)",
        )
    return PartitionedRowWindow(*counts, columns)


_MOST_ROWS = 2**62
"""The limit of rows in a window, and of its offset; its edges are int64."""


def _count(name: str, value: int, least: int) -> int:
    if isinstance(value, bool) or not isinstance(value, Integral):
        raise ValueError(
            f"the {name} of a window of rows is a whole number, not {value!r}; windows of time are oop.tumbling(…) "
            "and oop.sliding(…)"
        )
    if value < least or value >= _MOST_ROWS:
        limit = f"at least {least}" if value < least else "less than 2**62"
        raise ValueError(f"the {name} of a window of rows must be {limit}, not {value}")
    return int(value)
