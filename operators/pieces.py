"""Rows held in pieces, as they came: a short piece is joined with those before it that are not much longer.

So there are never many, and no row is copied often.

>>> pieces = ["a" * 20, "bbb", "cc"]
>>> take_short(pieces, 2), pieces == ["a" * 20]
(['bbb', 'cc'], True)
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

Piece = TypeVar("Piece")


def take_short(pieces: list[Piece], rows: int, length: Callable[[Any], int] = len) -> list[Piece]:
    """Remove and give, in their order, the last pieces: those that one of so many rows is to be joined with."""
    start = len(pieces)
    while start and length(pieces[start - 1]) <= 2 * rows:
        start -= 1
        rows += length(pieces[start])
    found = pieces[start:]
    del pieces[start:]
    return found
