"""The columns with the start and the end of each group's window."""

from __future__ import annotations

import numpy as np

from oop.kernels.scratch import lasting_array
from oop.operators.groups.shape import Edges
from oop.operators.groups.table import Table
from oop.operators.groups.table_pieces import TablePiece
from oop.operators.windows.windows import Windows

_FEW = 512  # windows of at most so many groups take the memory of their edges from NumPy


class WindowEdges:
    """Gives edges of windows of a grid. The pieces of one window follow each other, and share the memory of theirs."""

    def __init__(self, grid: Windows) -> None:
        self.grid = grid
        self._shared: tuple[int, np.ndarray, np.ndarray] | None = None  # a slot, and the edges of its first piece

    def of(self, table: Table | TablePiece) -> Edges:
        if table.slotted:
            return self.grid.edges(table.slots())
        groups, slot, shared = len(table), table.slot, self._shared
        self._shared = None
        if shared is None or shared[0] != slot or len(shared[1]) < groups:
            start, end = self.grid.edges(np.array([slot]))  # one window has the same edges in every row
            if groups <= _FEW:
                return start.repeat(groups), end.repeat(groups)
            shared = slot, _constant(start, groups), _constant(end, groups)
        if isinstance(table, TablePiece) and table.stop < len(table.table):
            self._shared = shared
        return shared[1][:groups], shared[2][:groups]


def _constant(value: np.ndarray, length: int) -> np.ndarray:
    out = lasting_array(length, value.dtype)
    out[:] = value
    return out
