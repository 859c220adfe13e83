"""Count, exact sum, least and greatest of integers together, in C."""

from __future__ import annotations

from oop.kernels.checks import Bools, Ints
from oop.kernels.native.aggregates import run_by_group
from oop.kernels.native.library import lib
from oop.kernels.signatures.sums import STEP_ROWS, in_steps


def add_summary(ids: Ints, values: Ints, valid: Bools | None, state: Ints) -> None:
    for some in in_steps(STEP_ROWS, (ids, values, valid)):
        run_by_group(lib.oop_add_summary, len(state), some, (state,))


def merge_summary(ids: Ints, state_in: Ints, state: Ints, step: int) -> None:
    for some in in_steps(step, (ids, state_in), counts_in=state_in[:, 0]):
        run_by_group(lib.oop_merge_summary, len(state), some, (state,))
