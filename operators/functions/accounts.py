"""How many rows a window has seen, how many of them were late, and how many were set aside: ``oop.seen()`` and so on.

Rows that were late and dropped travel on, marked, only to be counted where their windows are (`marks.mark_dropped`).
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from oop.operators.core.marks import is_dropped, is_late
from oop.operators.functions.accumulators import Accumulator, Ids, Prepared

ON_TIME, TAKEN, ASIDE = range(3)
"""A row came in time; late, and counts nevertheless; late, and is not in the results."""


def account_of(batch: pa.RecordBatch) -> np.ndarray:
    """What each of its rows is; a batch is one of the three as a whole."""
    code = ASIDE if is_dropped(batch) else TAKEN if is_late(batch) else ON_TIME
    return np.full(batch.num_rows, code, np.int8)


class Accounts(Accumulator):
    """Counts of rows that came before the window went out; its three functions share one."""

    fields = (("seen", np.int64), ("late", np.int64), ("aside", np.int64))
    which = "seen"

    def prepare(self, values: Any) -> Prepared:
        found: np.ndarray = values
        return found

    def update(self, ids: Ids, values: Any) -> None:
        if len(ids):
            for name in ("seen", "late", "aside")[: values[0] + 1]:
                self.kernels.add_count(ids, None, getattr(self, name))

    def merge(self, ids: Ids, other: Accumulator) -> None:
        for name, _ in self.fields:
            self.kernels.merge_count(ids, getattr(other, name), getattr(self, name))

    def result(self) -> pa.Array:
        return pa.array(getattr(self, self.which))

    @property
    def answers(self) -> np.ndarray:
        """Which groups have a row in the results at all?"""
        answers: np.ndarray = self.seen > self.aside
        return answers


class LateAccounts(Accounts):
    which = "late"


class AsideAccounts(Accounts):
    which = "aside"
