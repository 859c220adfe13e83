"""`SeenTargets`: seen keys as a program sees them, which brings more of them (`oop.kernels.signatures.programs`)."""

from __future__ import annotations

from collections.abc import Mapping

from oop.kernels.checks import Array
from oop.kernels.signatures.groups import GroupTableBase
from oop.operators.core.keys import KeyTable
from oop.operators.core.time_slices import WIDEST
from oop.operators.dedup.seen_keys import SeenKeys


class SeenTarget:
    """The keys of one slice."""

    def __init__(self, keys: KeyTable) -> None:
        self.codes: GroupTableBase = keys.ids
        self.texts: Mapping[int, GroupTableBase] = keys.texts

    def arrays(self) -> list[Array]:
        return []

    def make_room(self, groups: int) -> None:
        """There is nothing beside the keys."""


class SeenTargets:
    """Where a program's keys go."""

    slotted = False
    """The value that decides the slice is a key anyway."""

    def __init__(self, seen: SeenKeys) -> None:
        self.seen = seen

    @property
    def shift(self) -> int:
        return self.seen.shift

    @property
    def version(self) -> int:
        return self.seen.version

    @property
    def fits(self) -> bool:
        return True

    def begin(self) -> None:
        """A train begins."""
        self.seen.begin_train()

    def target(self, number: int) -> SeenTarget:
        return SeenTarget(self.seen.table(number))

    def widen(self) -> bool:
        if self.seen.shift >= WIDEST:
            return False
        self.seen.widen(2)
        return True

    def took(self, numbers: list[int], rows: list[int]) -> None:
        self.seen.took(numbers)
