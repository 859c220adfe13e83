"""`SessionTargets`: open sessions as a program sees them, which brings rows (`oop.kernels.signatures.programs`)."""

from __future__ import annotations

from collections.abc import Mapping

from oop.kernels.checks import Array
from oop.kernels.signatures.groups import GroupTableBase
from oop.kernels.signatures.sessions import Extended, Slots
from oop.operators.session.table import SessionTable


class OpenTarget:
    """The sessions of all keys."""

    def __init__(self, table: SessionTable) -> None:
        self.table = table
        self.codes: GroupTableBase = table.keys.ids
        self.texts: Mapping[int, GroupTableBase] = table.keys.texts

    @property
    def heads(self) -> Slots:
        return self.table.heads

    @property
    def sessions(self) -> Array:
        return self.table.sessions

    @property
    def free(self) -> Slots:
        return self.table.free

    def arrays(self) -> list[Array]:
        return [array for accumulator in self.table.accumulators for array in accumulator.whole_arrays()]

    def make_room(self, groups: int) -> None:
        """Aggregates are of sessions, not of keys."""

    def make_session_room(self, rows: int) -> None:
        self.table.make_heads()
        self.table.make_room(rows)

    def extended(self, found: Extended, rows: int) -> None:
        self.table.extended(found, rows)


class SessionTargets:
    """Where a program's rows go: all sessions are one slice."""

    shift = 0
    slotted = False

    def __init__(self, table: SessionTable) -> None:
        self.table = table
        self._trains = 0

    @property
    def fits(self) -> bool:
        """Rows that look at many sessions of their key each must be sorted first."""
        return not self.table.sorts

    @property
    def version(self) -> int:
        return self._trains + self.table.version

    def begin(self) -> None:
        """A train begins. Sessions may have gone out since the last one, and their slots are free again."""
        self._trains += 1

    def target(self, number: int) -> OpenTarget:
        return OpenTarget(self.table)

    def widen(self) -> bool:
        return False

    def took(self, numbers: list[int], rows: list[int]) -> None:
        """The target knows already."""
