"""Pieces of tables that are complete: their results are made piece by piece, without a copy of the table.

A window of very many groups leaves in pieces (OOP paper, section 6), and the cost of a piece is that of its groups.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, repeat

import numpy as np
import pyarrow as pa

from oop.frozen import frozen
from oop.kernels.once import once
from oop.operators.core.batches import together
from oop.operators.functions.accumulators import Accumulator
from oop.operators.groups.shape import Edges, Shape
from oop.operators.groups.table import Table


@frozen(eq=False)
class TablePiece:
    """The groups of a table from ``start`` up to ``stop``; what it gives may share memory with the table."""

    table: Table
    start: int
    stop: int

    def __len__(self) -> int:
        return self.stop - self.start

    @property
    def shape(self) -> Shape:
        return self.table.shape

    @property
    def slotted(self) -> bool:
        return self.table.slotted

    @property
    def slot(self) -> int:
        return self.table.slot

    def slots(self) -> np.ndarray:
        if not self.slotted:
            return np.full(len(self), self.slot, np.int64)
        return self.table.slots()[self.start : self.stop]

    @once
    def accumulators(self) -> list[Accumulator]:
        return [a.piece(self.start, self.stop) for a in self.table.accumulators]

    def select(self, indices: np.ndarray) -> Table:
        """Some of the groups, as a table of their own."""
        return self.table.select(indices + self.start)

    def results(self, edges: Edges | None = None) -> list[pa.Array]:
        keys = self.table.key_arrays(self.start, self.stop)
        return [*keys.values(), *self.shape.results(self.accumulators, edges)]


def pieces_of(table: Table, most: int) -> Sequence[Table | TablePiece]:
    """The whole table in pieces of at most ``most`` groups."""
    groups = len(table)
    if groups <= most:
        return (table,) if groups else ()
    return [TablePiece(table, start, min(start + most, groups)) for start in range(0, groups, most)]


def in_pieces(tables: Iterable[Table], most: int) -> Iterator[list[Table | TablePiece]]:
    """Lists of pieces that leave together, with at most ``most`` groups each. Small tables leave together, because a
    batch downstream costs more than a row. Only a larger table is cut: to fill a piece from two would cost a copy."""
    return together(chain.from_iterable(map(pieces_of, tables, repeat(most))), most)
