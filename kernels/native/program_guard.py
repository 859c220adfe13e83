"""What a guard knows, as a program in C has it (`programs.py`, `csrc/guards.h`)."""

from __future__ import annotations

from typing import Any

import numpy as np

from oop.kernels.checks import FLOAT64, INT64_MAX, Array
from oop.kernels.native.library import from_buffer
from oop.kernels.signatures.programs import GuardState


class LentGuard:
    """Between a guard and a run. What the run has already is not written again: a live input has few rows at a time."""

    def __init__(self, run: Any, floats: bool, reals: bool) -> None:
        """``floats``: are the times floats, and ``reals``: are the values floats that are to ascend?"""
        self.run, self.floats, self.reals = run, floats, reals
        self._known: tuple[Any, ...] | None = None
        self._top = self._top_before = np.zeros(0)

    def read(self, guard: GuardState) -> None:
        run = self.run
        if guard.rank is not None:
            run.ranks = guard.rank + 1
            self._read_top(guard.rank, guard.top)
        slack, greatest, bound, reached = known = guard.slack, guard.greatest, guard.bound, guard.reached
        if known == self._known:
            return
        self._known = known
        run.seen, run.bounded, run.has_reached = greatest is not None, bound is not None, reached is not None
        if self.reals:
            run.reached_float = reached or 0.0
        else:
            run.reached = reached or 0
        if self.floats:
            run.slack = -1 if slack is None else 0
            run.slack_float = slack or 0.0
            run.greatest_float, run.bound_float = greatest or 0.0, bound or 0.0
        else:
            run.slack = -1 if slack is None else min(slack, INT64_MAX)
            run.greatest, run.bound = greatest or 0, bound or 0

    def _read_top(self, rank: int, top: Array) -> None:
        """Copy the greatest times, which the run changes."""
        run = self.run
        if len(self._top) != rank + 1:
            self._top, before = (np.zeros(rank + 1, FLOAT64 if self.floats else np.int64) for _ in range(2))
            self._top_before = before
            run.top, run.top_before = (from_buffer("uint8_t[]", a.view(np.uint8)) for a in (self._top, before))
        self._top[: len(top)] = top
        run.top_held = len(top)

    def write(self, guard: GuardState) -> None:
        run = self.run
        if guard.rank is not None:
            guard.top = np.sort(self._top[: run.top_held])
        if run.seen:
            guard.greatest = run.greatest_float if self.floats else run.greatest
        if run.bounded:
            guard.bound = run.bound_float if self.floats else run.bound
        if run.has_reached:
            guard.reached = run.reached_float if self.reals else run.reached
        self._known = guard.slack, guard.greatest, guard.bound, guard.reached
