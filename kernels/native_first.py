"""The value at the least or the greatest of something else, in C; see `oop.kernels.reference_first`."""

from __future__ import annotations

from typing import Any

from oop.kernels.checks import Bools, Ints
from oop.kernels.native_library import check_code, contiguous, lib, point
from oop.kernels.reference_first import check_first_rows, check_firsts


def take_first(ids: Ints, by: Ints, known: Bools | None, values: Ints, valid: Bools | None, state: Ints) -> None:
    """Keep the value with the least `by`."""
    check_first_rows(ids, by, known, values, valid, state)
    _run(lib.oop_take_first, (ids, by, known, values, valid), state)


def take_last(ids: Ints, by: Ints, known: Bools | None, values: Ints, valid: Bools | None, state: Ints) -> None:
    """Keep the value with the greatest `by`."""
    check_first_rows(ids, by, known, values, valid, state)
    _run(lib.oop_take_last, (ids, by, known, values, valid), state)


def merge_first(ids: Ints, state_in: Ints, state: Ints) -> None:
    """The first of first values."""
    check_firsts(ids, state_in, state)
    _run(lib.oop_merge_first, (ids, state_in), state)


def merge_last(ids: Ints, state_in: Ints, state: Ints) -> None:
    """The last of last values."""
    check_firsts(ids, state_in, state)
    _run(lib.oop_merge_last, (ids, state_in), state)


def _run(kernel: Any, rows: tuple[Any, ...], state: Ints) -> None:
    held = [None if a is None else contiguous(a) for a in rows]
    check_code(kernel(*map(point, held), len(rows[0]), len(state), point(state)))
