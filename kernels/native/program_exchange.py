"""What rows that programs in C send to each other's shards need (`programs.py`, `csrc/exchange.h`)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from oop.kernels.checks import Array
from oop.kernels.native.library import ffi, from_buffer, point
from oop.kernels.scratch import lasting_array
from oop.kernels.steps import ProgramCode

_WIDE = 16  # values that a store writes at once, at most


class Exchange:
    """The rows that one program sends. Their arrays come with the first train."""

    def __init__(self, run: Any, code: ProgramCode, shard: int, shards: int) -> None:
        carried = code.carried()
        self.run, self.shards, self.columns = run, shards, len(carried)
        self._carried = ffi.new("int32_t[]", [*carried, 0])
        self._sent = ffi.new("oop_sent[]", max(shards * len(carried), 1))
        self._sent_rows = np.zeros(shards, np.int64)
        self._senders = ffi.new("oop_run *[]", shards)
        self._arrays: list[Array] = []
        run.shard, run.shards = shard, shards
        run.shard_register = -1 if code.shard is None else code.shard
        run.carried, run.carried_count, run.sent = self._carried, len(carried), self._sent
        run.sent_rows = point(self._sent_rows)

    def begin(self, rows: int) -> None:
        """Make room for a train of which the program judges so many rows."""
        if rows + _WIDE > self.run.sent_room:
            # all may go to one shard, and wide vectors write some more values
            self._make_room(rows + rows // 4 + _WIDE)

    def _make_room(self, room: int) -> None:
        run, count = self.run, self.shards * self.columns
        data, valid = lasting_array(count * room, np.int64), lasting_array(count * room, np.uint8)
        self._arrays = [data, valid]
        for i, sent in enumerate(self._sent[0:count]):
            part = slice(i * room, (i + 1) * room)
            sent.data, sent.valid = from_buffer("uint8_t[]", data[part].view(np.uint8)), point(valid[part])
        run.sent_room = room

    def senders(self, runs: Sequence[Any]) -> Any:
        """The runs of all shards, as C takes them."""
        for i, run in enumerate(runs):
            self._senders[i] = run
        return self._senders
