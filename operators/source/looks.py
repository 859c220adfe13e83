"""One look at a batch: all times are there, in 64 bits and finite, and no row is late.

Nearly all batches are like that, so every batch is first checked this way: a kernel says whether any row is late. If
one is, the guard does the rest. The check is possible if a single thing decides: one policy on the time, or a bound on
the time that the data has promised.
"""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np

from oop.operators.source.guard import Guard
from oop.punctuation import Frontier
from oop.punctuation.patterns import Bound


class Look(Protocol):
    """A quick check of a batch by the one thing that decides."""

    def passes(self, times: np.ndarray) -> bool:
        """Is no row late? If so, the policy has taken the rows in; if not, nothing has changed."""
        ...

    def rise(self) -> Bound | None:
        """The bound that can be promised now, if it is new; it counts as promised from now on."""
        ...


class ByNothing:
    """No policy judges rows, and the data has promised nothing."""

    def passes(self, times: np.ndarray) -> bool:
        return True

    def rise(self) -> Bound | None:
        return None


class ByBound(ByNothing):
    """What the data has promised decides."""

    def __init__(self, bound: Bound, kernels: Any) -> None:
        self.bound, self.kernels = bound, kernels

    def passes(self, times: np.ndarray) -> bool:
        return not self.kernels.find_late(times, self.bound).any()


def find_look(guard: Guard, given: Frontier) -> Look | None:
    """The quick check for this guard; None if one look is not enough. ``given`` is what the data has promised."""
    if guard.judges:
        judge = guard.alone  # a judge is a look itself
        if judge is None or not judge.looks or judge.progress.every is not None or not given.is_empty:
            return None
        return judge
    if given.is_empty:
        return ByNothing()
    if given.ended or not given.is_linear or set(given.all.linear) != {guard.time}:
        return None
    bound = given.bound(guard.time)
    return ByBound(bound, guard.kernels) if bound is not None and fits_int64(bound) else None


def fits_int64(bound: Bound | None) -> bool:
    """Can a bound, if there is one, be compared with times that are whole numbers?"""
    return bound is None or -(2**63) <= bound < 2**63
