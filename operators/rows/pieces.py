"""Rows held in pieces, as they came. A new piece is joined with the pieces before it that are not much longer.

So there are never many pieces, and no row is copied often.

>>> pieces = ["a" * 20, "bbb", "cc"]
>>> take_short(pieces, 2), pieces == ["a" * 20]
(['bbb', 'cc'], True)
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar, cast

import numpy as np

from oop.kernels.dictionaries import concat_batches

PieceT = TypeVar("PieceT")
RowsAndArraysT = TypeVar("RowsAndArraysT", bound=tuple[Any, ...])
"""A batch, and arrays with one value for each of its rows."""


def take_short(pieces: list[PieceT], rows: int, length: Callable[[Any], int] = len) -> list[PieceT]:
    """Remove and give, in their order, the last pieces, with which a new piece of so many rows is to be joined."""
    start = len(pieces)
    while start and length(pieces[start - 1]) <= 2 * rows:
        start -= 1
        rows += length(pieces[start])
    found = pieces[start:]
    del pieces[start:]
    return found


def append_beside(pieces: list[RowsAndArraysT], piece: RowsAndArraysT) -> None:
    """Append a piece, joined with the short pieces before it."""
    pieces.append(one_piece([*take_short(pieces, _rows_of(piece), _rows_of), piece]))


def one_piece(pieces: Sequence[RowsAndArraysT]) -> RowsAndArraysT:
    """One or more pieces as a single piece.

    >>> import pyarrow as pa
    >>> batch = pa.record_batch({"ts": [5, 9]})
    >>> rows, stamps = one_piece([(batch, np.array([1, 1])), (batch.slice(1), np.array([2]))])
    >>> rows.column(0).to_pylist(), stamps.tolist()
    ([5, 9, 9], [1, 1, 2])
    """
    if len(pieces) == 1:
        return pieces[0]
    batches, *arrays = zip(*pieces, strict=True)
    return cast(RowsAndArraysT, (concat_batches(batches), *map(np.concatenate, arrays)))


def _rows_of(piece: tuple[Any, ...]) -> int:
    rows: int = piece[0].num_rows
    return rows
