"""The ends of the sessions that went out, by key: an admitted late row must touch none of these sessions.

They are kept only if late rows are admitted, and only for as long as a late row could still reach back that far.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pyarrow as pa

from oop.kernels import views
from oop.kernels.signatures.sessions import Dropped
from oop.operators.core.keys import read_key
from oop.operators.core.parts import Part
from oop.operators.session.table import SessionTable

PART = "emitted"


class EmittedEnds:
    """The greatest end of a session that went out, for each key of the table."""

    def __init__(self, table: SessionTable) -> None:
        self.table = table
        dtype = table.sessions["end"].dtype
        self._nothing = dtype.type(-np.inf) if dtype == np.float64 else np.iinfo(dtype).min
        self._ends = np.full(0, self._nothing, dtype)

    @property
    def nbytes(self) -> int:
        return self._ends.nbytes

    def _make_room(self) -> None:
        more = len(self.table.keys) - len(self._ends)
        if more > 0:
            self._ends = np.append(self._ends, np.full(more + len(self._ends) // 2, self._nothing, self._ends.dtype))

    def note(self, found: Dropped) -> None:
        """Remember the ends of sessions that go out."""
        self._make_room()
        np.maximum.at(self._ends, found.keys, found.ends)

    def are_before(self, ids: np.ndarray, times: np.ndarray) -> np.ndarray:
        """Which rows, given by key and time, come after the end of every session of their key that went out?"""
        self._make_room()
        return self._ends[ids] < times

    def tidy(self, reach: int | float) -> None:
        """Forget ends below ``reach``, which no later row touches, and keys that have neither an end nor a session."""
        self._make_room()
        self._ends[self._ends < reach] = self._nothing
        old = self.table.tidy(np.flatnonzero(self._ends > self._nothing))
        if old is not None:
            self._ends = self._ends[old]

    def release(self) -> None:
        """Forget all ends, when no late row can come any more."""
        self._ends = self._ends[:0].copy()

    def save(self) -> Part:
        ids = np.flatnonzero(self._ends > self._nothing)
        columns = [*self.table.keys_of(ids).values(), pa.array(self._ends[ids])]
        return PART, pa.RecordBatch.from_arrays(columns, names=[str(i) for i in range(len(columns))])

    def load(self, parts: Mapping[str, pa.RecordBatch | None]) -> None:
        self._ends = self._ends[:0]
        part = parts.get(PART)
        if part is not None and part.num_rows:
            ids = self.table.map([read_key(key) for key in part.columns[:-1]], part.num_rows)
            self._make_room()
            self._ends[ids] = views.times(part.columns[-1])
