"""Open sessions of programs' cases, with counts (`programs.py`)."""

from __future__ import annotations

import numpy as np

from oop.kernels.dispatch import Kernels
from oop.kernels.signatures.sessions import Extended, session_dtype
from oop.operators.core.keys import KeyTable


class OpenSlice:
    """The one slice of a program that ends at sessions; its arrays stand by slot."""

    def __init__(self, kernels: Kernels, kinds: list[str], arrays: list[str]) -> None:
        self.keys = KeyTable(kinds, kernels)
        self.codes, self.texts = self.keys.ids, self.keys.texts
        self.held = [np.zeros(1, a) for a in arrays]
        self.heads = np.zeros(1, np.uint32)
        self.sessions = np.zeros(1, session_dtype(np.int64))
        self.free = np.zeros(0, np.uint32)

    def arrays(self) -> list[np.ndarray]:
        return self.held

    def make_room(self, groups: int) -> None:
        """Arrays are of sessions."""

    def make_session_room(self, rows: int) -> None:
        self.heads = np.append(self.heads, np.zeros(len(self.codes), np.uint32))
        more, room = max(rows - len(self.free), 0), len(self.sessions)
        self.sessions = np.append(self.sessions, np.zeros(more, self.sessions.dtype))
        self.free = np.append(self.free, np.arange(room + more - 1, room - 1, -1).astype(np.uint32))
        self.held = [np.append(array, np.zeros(more, array.dtype)) for array in self.held]

    def extended(self, found: Extended, rows: int) -> None:
        self.free = self.free[: len(self.free) - len(found.made)]
        for array in self.held:
            np.add.at(array, found.survivors, array[found.absorbed])
            array[found.absorbed] = 0
        self.sessions["state"][found.absorbed] = 0  # their slots stay unused

    def open(self) -> list[tuple[int, ...]]:
        """The open sessions, in an order that does not depend on slots."""
        slots = np.flatnonzero(self.sessions["state"])
        records = self.sessions[slots]
        columns = [records[name] for name in ("key", "start", "end")] + [array[slots] for array in self.held]
        return sorted(zip(*(column.tolist() for column in columns), strict=True))
