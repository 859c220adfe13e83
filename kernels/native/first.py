"""The value at the least or the greatest of something else, in C."""

from __future__ import annotations

from oop.kernels.checks import Bools, Ints
from oop.kernels.native.aggregates import run_by_group
from oop.kernels.native.library import lib


def take_first(ids: Ints, by: Ints, known: Bools | None, values: Ints, valid: Bools | None, state: Ints) -> None:
    run_by_group(lib.oop_take_first, len(state), (ids, by, known, values, valid), (state,))


def take_last(ids: Ints, by: Ints, known: Bools | None, values: Ints, valid: Bools | None, state: Ints) -> None:
    run_by_group(lib.oop_take_last, len(state), (ids, by, known, values, valid), (state,))


def merge_first(ids: Ints, state_in: Ints, state: Ints) -> None:
    run_by_group(lib.oop_merge_first, len(state), (ids, state_in), (state,))


def merge_last(ids: Ints, state_in: Ints, state: Ints) -> None:
    run_by_group(lib.oop_merge_last, len(state), (ids, state_in), (state,))
