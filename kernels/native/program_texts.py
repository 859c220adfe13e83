"""What programs in C need for keys that are text (`programs.py`, `csrc/texts.h`): lists of texts, and room for them."""

from __future__ import annotations

from typing import Any

import numpy as np

from oop.kernels.checks import Array
from oop.kernels.native.groups import FACTOR, SEED
from oop.kernels.native.library import ffi, from_buffer, lib, point
from oop.kernels.steps import BYTES, STRING, Op, ProgramCode

_TEXT, _MEMO = ffi.sizeof("oop_text"), ffi.sizeof("oop_text_memo")
_FIRST_ROOM = 4 * lib.OOP_ROWS  # texts of a list; it always has room for the rows of a chunk, or begins anew


class TextLists:
    """The lists of all registers that are keys or decide the shards of rows. Texts of chunks that are of one batch stay
    in the batch; others are brought together in room of their own, which must stay as long as the train does."""

    def __init__(self, run: Any, code: ProgramCode, registers: Any) -> None:
        self.run = run
        parted = {}  # the registers of text by which rows are parted; and are they strings?
        for step in code.steps:
            if step.op is Op.SHARD:
                found = enumerate(step.numbers, step.a)
                parted.update({register: kind == STRING for register, kind in found if kind in (STRING, BYTES)})
        used = {*parted, *(key for key, kind in zip(code.keys, code.kinds, strict=True) if kind == "bytes")}
        self._lists = ffi.new("oop_texts[]", max(len(used), 1))
        self._held: list[Array] = []
        self._texts: list[Array] = []
        self._bytes = np.zeros(0, np.uint8)
        self._old_bytes: list[Array] = []
        for made, register in zip(self._lists, sorted(used), strict=False):
            self._texts.append(np.empty(_FIRST_ROOM * _TEXT, np.uint8))
            made.texts, made.room = ffi.from_buffer("oop_text[]", self._texts[-1]), _FIRST_ROOM
            made.memos = ffi.from_buffer("oop_text_memo[]", self._new(lib.OOP_TEXT_MEMOS * _MEMO, np.uint8))
            made.places = ffi.from_buffer("uint32_t[]", self._new(lib.OOP_TEXT_PLACES, np.uint32))
            made.codes = point(self._new(lib.OOP_ROWS, np.int32))
            if register in parted:
                made.words, made.is_hashed = point(self._new(lib.OOP_ROWS, np.uint64)), parted[register]
            made.seed, made.factor, made.null = SEED, FACTOR, -1
            registers[register].own = ffi.addressof(made)
        run.lists, run.list_count = self._lists, len(used)

    def _new(self, length: int, dtype: Any) -> Array:
        self._held.append(np.zeros(length, dtype))
        return self._held[-1]

    @property
    def nbytes(self) -> int:
        return sum(held.nbytes for held in (*self._held, *self._texts, *self._old_bytes, self._bytes))

    def make_more_bytes(self) -> None:
        """Make room for the texts of a chunk."""
        run = self.run
        self._old_bytes.append(self._bytes)
        self._bytes = np.empty(2 * run.needed, np.uint8)
        run.text, run.text_room, run.text_used = from_buffer("uint8_t[]", self._bytes), len(self._bytes), 0

    def make_more_room(self) -> None:
        """Make room in a list of which all texts must stay."""
        place, room = self.run.column, 2 * self.run.needed
        made = self._lists[place]
        texts = np.empty(room * _TEXT, np.uint8)
        texts[: made.count * _TEXT] = self._texts[place][: made.count * _TEXT]
        self._texts[place] = texts
        made.texts, made.room = ffi.from_buffer("oop_text[]", texts), room

    def finish(self) -> None:
        """A train has ended, and with it the life of its texts."""
        if self._old_bytes:
            self._old_bytes.clear()
