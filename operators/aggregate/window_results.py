"""Results of windows that are not large, made by one call of the kernels.

What is the same for every window, such as where its columns come from, is found out once. The columns are copies, so
the window's table can serve the next window.
"""

from __future__ import annotations

import pyarrow as pa

from oop.kernels import dispatch
from oop.kernels.signatures.results import ResultColumn, ResultKind
from oop.operators.core.keys import KeyTable
from oop.operators.core.times import is_whole
from oop.operators.groups.shape import Shape
from oop.operators.groups.table import Table
from oop.operators.groups.table_pieces import TablePiece
from oop.operators.windows.bucket import Grid
from oop.operators.windows.windows import Windows

FEW = 32_768
"""Groups of a window, at most, for which a copy costs less than new arrays for the next window. What must be computed,
or does not lie side by side, is copied in any case."""
_SMALL = 512
"""Groups of a window, at most, whose arrays the kernels keep known: such a window costs little more than a call."""


class WindowResults:
    """Gives the batches of windows, each of which has a table of its own."""

    def __init__(self, shape: Shape, columns: list[ResultColumn], output: pa.Schema, windows: Windows) -> None:
        edges = [ResultColumn(ResultKind.CONSTANT)] * 2
        # while a window closes, the next one has begun, so that two tables serve in turn: there is a kernel for each,
        # which knows its arrays already
        make = dispatch.kernels().GroupResults
        self.kernels = make(output, edges + columns), make(output, edges + columns)
        self.windows = windows
        # keys, and counts that lie side by side, could leave in the memory that holds them
        self._copies = any(c.kind > ResultKind.VALUES or any(w.width > 1 for w in c.words) for c in columns)
        self.whole = is_whole(output.field(0).type)
        # on a grid of whole numbers edges are computed here, as `Grid.start` and `Grid.end` would
        steps = (windows.range, windows.slide, windows.offset) if isinstance(windows, Grid) else ()
        self.grid = steps if self.whole and all(type(step) is int for step in steps) else ()

    @staticmethod
    def of(shape: Shape, output: pa.Schema, windows: Windows) -> WindowResults | None:
        """None if an aggregate, a key or the time is of a kind that the kernel does not give."""
        time = output.field(0).type
        columns = shape.result_columns
        if columns is None or time.bit_width != 64 or pa.types.is_unsigned_integer(time):
            return None
        return WindowResults(shape, columns, output, windows)

    def give(self, piece: Table | TablePiece) -> pa.RecordBatch | None:
        """The results of a window, or of a piece of one; None if it has many groups that need no copy, or only some of
        those it had, or a sum does not fit its type."""
        table, first, stop = (
            (piece, 0, piece.groups) if isinstance(piece, Table) else (piece.table, piece.start, piece.stop)
        )
        keys = table.keys
        few = 0 < table.groups <= FEW
        if not (few or self._copies) or table.slotted or not isinstance(keys, KeyTable):
            return None
        edges: tuple[int | float, int | float]
        if self.grid:
            range_, slide, offset = self.grid
            start = offset + table.slot * slide
            edges = start, start + range_
        else:
            number, windows = int if self.whole else float, self.windows
            edges = number(windows.start(table.slot)), number(windows.end(table.slot))
        kernel, other = self.kernels
        self.kernels = other, kernel
        batch = kernel.give(keys.ids, table.arrays(), edges, first, stop)
        if table.groups > _SMALL:
            kernel.forget()
        return batch
