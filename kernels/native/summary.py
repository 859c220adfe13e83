"""Count, exact sum, least and greatest of integers together, in C."""

from __future__ import annotations

import numpy as np

from oop.kernels.checks import Bools, Ints
from oop.kernels.native.library import lib
from oop.kernels.native.sums import run_in_steps
from oop.kernels.signatures.sums import STEP_ROWS


def add_summary(ids: Ints, values: Ints, valid: Bools | None, state: Ints) -> None:
    run_in_steps(lib.oop_add_summary, STEP_ROWS, (ids, values, valid), len(state), (state,))


def merge_summary(ids: Ints, state_in: Ints, state: Ints, step: int) -> None:
    if step < len(ids):
        held = np.flatnonzero(state_in[:, 0])
        ids, state_in = ids[held], state_in[held]
    run_in_steps(lib.oop_merge_summary, step, (ids, state_in), len(state), (state,))
