"""The open sessions that a program in C extends: they are lent to it from train to train (`programs.py`)."""

from __future__ import annotations

from typing import Any

import numpy as np

from oop.kernels.checks import Ints
from oop.kernels.native.library import ffi, from_buffer, lib, point
from oop.kernels.signatures.programs import NO_ROWS, SessionTarget
from oop.kernels.signatures.sessions import Extended
from oop.kernels.steps import Sessions

_SPARE = 8 * lib.OOP_ROWS  # free slots that are asked for at a time


class LentSessions:
    """The sessions of one target, and the lists of what becomes of the rows of a train."""

    def __init__(self, code: Sessions) -> None:
        self.struct: Any = ffi.new("oop_open_sessions *")
        self.target: SessionTarget | None = None
        self._frees = 0
        self._lists: tuple[Ints, Ints] = NO_ROWS, NO_ROWS
        self.struct.times, self.struct.is_float = code.times, code.floats
        if code.floats:
            self.struct.gap_float = code.gap
        else:
            self.struct.gap = code.gap

    def lend(self, target: SessionTarget) -> None:
        """Point at the arrays of a target, after they may have been replaced or sessions may have gone."""
        struct, self.target = self.struct, target
        heads, records, free = target.heads, target.sessions, target.free
        struct.heads, struct.head_room = from_buffer("uint32_t[]", heads), len(heads)
        struct.records, struct.room = ffi.from_buffer("oop_session[]", records.view(np.uint8)), len(records)
        struct.free, struct.frees = ffi.from_buffer("uint32_t[]", free), len(free)
        self._frees = len(free)
        struct.lowers = struct.merges = struct.steps = struct.rows = 0

    def settle(self) -> None:
        """Tell the target what became of the rows since its sessions were lent."""
        struct, target = self.struct, self.target
        if target is None or not struct.rows:
            return
        made = target.free[struct.frees : self._frees][::-1].astype(np.int64)
        lowered, absorbed = (
            listed[:count].copy() for listed, count in zip(self._lists, (struct.lowers, struct.merges), strict=True)
        )
        found = Extended(NO_ROWS, made, lowered, absorbed, survivors(target.sessions, absorbed), struct.steps)
        target.extended(found, struct.rows)
        self.lend(target)

    def make_room(self, target: SessionTarget) -> None:
        """Make room for the rows of a chunk."""
        self.settle()  # now, because slots that are freed come behind those that are free
        target.make_session_room(_SPARE)
        self.lend(target)
        if self.struct.list_room < _SPARE:
            self._lists = np.empty(_SPARE, np.int64), np.empty(_SPARE, np.int64)
            self.struct.lowered, self.struct.absorbed = map(point, self._lists)
            self.struct.list_room = _SPARE


def survivors(sessions: Any, absorbed: Ints) -> Ints:
    """The sessions that have the rows of absorbed ones in the end: one may be absorbed by one that was, too."""
    found = absorbed
    while len(found):
        gone = sessions["state"][found] & lib.OOP_SESSION_ABSORBED > 0
        if not gone.any():
            break
        found = np.where(gone, sessions["older"][found], found).astype(np.int64)
    return found
