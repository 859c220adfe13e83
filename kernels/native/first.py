"""The value of one column at the least or the greatest value of another, in C."""

from __future__ import annotations

from typing import Any

from oop.kernels.checks import Bools, Ints
from oop.kernels.native.library import check_code, contiguous, lib, point


def take_first(ids: Ints, by: Ints, known: Bools | None, values: Ints, valid: Bools | None, state: Ints) -> None:
    _run(lib.oop_take_first, (ids, by, known, values, valid), state)


def take_last(ids: Ints, by: Ints, known: Bools | None, values: Ints, valid: Bools | None, state: Ints) -> None:
    _run(lib.oop_take_last, (ids, by, known, values, valid), state)


def merge_first(ids: Ints, state_in: Ints, state: Ints) -> None:
    _run(lib.oop_merge_first, (ids, state_in), state)


def merge_last(ids: Ints, state_in: Ints, state: Ints) -> None:
    _run(lib.oop_merge_last, (ids, state_in), state)


def _run(kernel: Any, rows: tuple[Any, ...], state: Ints) -> None:
    held = [None if a is None else contiguous(a) for a in rows]
    check_code(kernel(*map(point, held), len(rows[0]), len(state), point(state)))
