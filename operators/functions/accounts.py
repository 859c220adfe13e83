"""seen, late and aside: how many rows came for a window, how many of them were late, and how many were set aside.

Rows that were late and dropped travel on, marked, only to be counted where their windows are (`marks.mark_dropped`).
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import pyarrow as pa

from oop.frozen import frozen
from oop.operators.core.marks import is_dropped, is_late
from oop.operators.expressions.expr import Expr
from oop.operators.functions.accumulators import Accumulator, Ids, Prepared
from oop.operators.functions.function import Evaluate, Function

ON_TIME, TAKEN, ASIDE = range(3)
"""What became of a row: it came in time; it was late, but counts; it was late, and is not in the results."""


def account_of(batch: pa.RecordBatch) -> np.ndarray:
    """For each row of a batch what became of it; it is the same for all rows of a batch."""
    code = ASIDE if is_dropped(batch) else TAKEN if is_late(batch) else ON_TIME
    return np.full(batch.num_rows, code, np.int8)


class Accounts(Accumulator):
    """Counts the rows that came before the window went out; three functions share this accumulator."""

    fields = (("seen", np.int64), ("late", np.int64), ("aside", np.int64))
    keeps_account = True
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
        """A group whose rows were all set aside has no row in the results."""
        answers: np.ndarray = self.seen > self.aside
        return answers


class LateAccounts(Accounts):
    """Like `Accounts`; the result is how many rows were late."""

    which = "late"


class AsideAccounts(Accounts):
    """Like `Accounts`; the result is how many rows were set aside."""

    which = "aside"


@frozen()
class Account(Function):
    """What the three functions have in common: they are over rows, and look at what became of them."""

    keeps_account = True
    accounts: ClassVar[type[Accounts]] = Accounts

    @property
    def exprs(self) -> tuple[Expr, ...]:
        return ()

    def start(self, schema: pa.Schema) -> Accumulator:
        return self.accounts(pa.int64(), pa.int64())

    def evaluator(self) -> Evaluate:
        return account_of

    def values_name(self, schema: pa.Schema) -> str:
        return "the row's account"

    def __str__(self) -> str:
        return f"{self.name}()"


class SeenCount(Account):
    name = "seen"


class LateCount(Account):
    name = "late"
    accounts = LateAccounts


class AsideCount(Account):
    name = "aside"
    accounts = AsideAccounts


def seen() -> Function:
    """How many rows came for the window before it went out, whatever became of them.

    >>> import oop
    >>> s = oop.source(pa.table({"ts": [1, 6, 2, 12]}), time="ts", punctuate=oop.ordered())
    >>> s.window(oop.tumbling(10)).agg(n=oop.count(), seen=oop.seen()).run().to_table().to_pylist()[0]
    {'window_start': 0, 'window_end': 10, 'n': 2, 'seen': 3}
    """
    return SeenCount()


def late() -> Function:
    """How many of the rows that came for the window were late.

    >>> import oop
    >>> s = oop.source(pa.table({"ts": [1, 6, 2, 12]}), time="ts", punctuate=oop.ordered(), late="admit")
    >>> s.window(oop.tumbling(10)).agg(n=oop.count(), late=oop.late()).run().to_table().to_pylist()[0]
    {'window_start': 0, 'window_end': 10, 'n': 3, 'late': 1}
    """
    return LateCount()


def aside() -> Function:
    """How many late rows came for the window and are not in its other aggregates (``late="drop"``).

    >>> import oop
    >>> s = oop.source(pa.table({"ts": [1, 6, 2, 12]}), time="ts", punctuate=oop.ordered())
    >>> counts = s.window(oop.tumbling(10)).agg(n=oop.count(), seen=oop.seen(), late=oop.late(), aside=oop.aside())
    >>> counts.run().to_table().to_pylist()[0]
    {'window_start': 0, 'window_end': 10, 'n': 2, 'seen': 3, 'late': 1, 'aside': 1}
    """
    return AsideCount()
