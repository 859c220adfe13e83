"""`StoreTargets`: a store as a program sees it, which brings rows to its tables (`oop.kernels.signatures.programs`)."""

from __future__ import annotations

from oop.operators.groups.store import Store
from oop.operators.groups.table import Table


class StoreTargets:
    """Where a program's rows go."""

    def __init__(self, store: Store) -> None:
        self.store = store

    @property
    def shift(self) -> int:
        return self.store.shift

    @property
    def slotted(self) -> bool:
        return self.store.shift > 0

    @property
    def version(self) -> int:
        return self.store.version

    @property
    def fits(self) -> bool:
        return True

    def begin(self) -> None:
        """A train begins."""
        self.store.begin_train()

    def target(self, number: int) -> Table:
        return self.store.table(number)

    def widen(self) -> bool:
        before = self.store.shift
        self.store.widen()
        return self.store.shift > before

    def took(self, numbers: list[int], rows: list[int]) -> None:
        self.store.took(numbers, sum(rows))
