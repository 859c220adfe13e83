"""A ring of packets that a thread in C writes at a set rate, and Python drains (`csrc/ring.h` says how).

There is no other implementation, because measurements at a rate that Python could keep up with would measure Python.
`make_packets` specifies the contents of a row.

>>> ts, src, dst, length = make_packets(0, 3, rate=1000, groups=4, seed=1)
>>> ts.tolist(), src.tolist()
([0, 1000, 2000], [0, 0, 0])
"""

from __future__ import annotations

import importlib
from typing import Any, NamedTuple

import numpy as np

from oop.kernels.checks import Array, KernelError
from oop.kernels.dispatch import INSTALL_HINT
from oop.kernels.scratch import new_array

MOST_RATE = 1_000_000_000
MOST_GROUPS = 2**31
DESTINATIONS = 512
UNTIL_STOPPED = 2**63 - 1
_ROW_BYTES = 20
_GOLDEN = 0x9E3779B97F4A7C15

PacketColumns = tuple[Array, Array, Array, Array]


def make_packets(first: int, rows: int, *, rate: int, groups: int, seed: int) -> PacketColumns:
    """The rows with these numbers: times in microseconds, src, dst, len."""
    numbers = np.arange(first, first + rows)
    ts = numbers // rate * 1_000_000 + numbers % rate * 1_000_000 // rate
    words = _mix(_mix(np.array([seed], np.uint64)) + numbers.astype(np.uint64) * np.uint64(_GOLDEN))
    group = ((words >> np.uint64(32)) * np.uint64(groups) >> np.uint64(32)).astype(np.int64)
    length = 40 + ((words & np.uint64(0xFFFFFFFF)) * np.uint64(1460) >> np.uint64(32)).astype(np.int32)
    return ts, (group // DESTINATIONS).astype(np.int32), (group % DESTINATIONS).astype(np.int32), length


def _mix(words: Array) -> Array:
    """The finaliser of splitmix64."""
    words = (words ^ (words >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    words = (words ^ (words >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return words ^ (words >> np.uint64(31))


class Drained(NamedTuple):
    """Rows that were drained into one block, column after column, each with room for ``room`` values."""

    block: Array
    rows: int
    room: int

    def columns(self) -> PacketColumns:
        """The columns ts, src, dst and len, without a copy."""
        narrow = self.block[8 * self.room :].view(np.int32).reshape(3, self.room)[:, : self.rows]
        return self.block[: 8 * self.rows].view(np.int64), narrow[0], narrow[1], narrow[2]


class PacketRingCounts(NamedTuple):
    """Numbers of rows, nanoseconds, and times of rows in microseconds: see `oop_ring_counts`."""

    written: int
    dropped: int
    drained: int
    greatest_fill: int
    behind: int
    producer_cpu: int
    drainer_cpu: int
    longest_cpu: int
    longest_cpu_at: int
    longest: int
    longest_at: int
    pauses: tuple[int, ...]
    parts: tuple[int, ...]


class PacketRing:
    """The ring, its producer and its counts. Callers check the numbers that they give; only what C relies on is checked
    here.

    Its thread stops when it is garbage collected. A forked child cannot use it, and it does no harm there.
    """

    def __init__(self, *, rate: int, rows: int | None, groups: int, seed: int, slots: int, window: int = 0) -> None:
        total = UNTIL_STOPPED if rows is None else rows
        if (
            not (1 <= rate <= MOST_RATE and total >= 0 and 1 <= groups <= MOST_GROUPS and 1 <= slots <= MOST_GROUPS)
            or window < 0
        ):
            raise KernelError(f"no ring of {slots} slots, {rate} rows a second, {rows} in all, {groups} groups")
        library = _library()
        self._lib: Any = library.lib
        self._ffi: Any = library.ffi
        packets = self._ffi.new("oop_packets *", [rate, total, groups, seed, window])
        made = self._lib.oop_new_ring(packets, slots)
        if made == self._ffi.NULL:
            raise KernelError(f"no memory for a ring of {slots} slots")
        self._ring = self._ffi.gc(made, self._lib.oop_free_ring)
        self._bytes = self._ffi.typeof("uint8_t[]")

    def start(self) -> None:
        """Let the producer begin: the first row is due now."""
        self._check(self._lib.oop_start_ring(self._ring))

    def stop(self) -> None:
        """Stop the producer; what is in the ring can still be drained. It may be called more than once."""
        self._check(self._lib.oop_stop_ring(self._ring))

    def offer(self, due: int) -> None:
        """Do what the producer does when this many rows are due, for a ring that was not started."""
        self._check(self._lib.oop_offer_rows(self._ring, due))

    def waiting(self) -> int | None:
        """How many rows are in the ring; None if there are none and none will come."""
        found: int = self._lib.oop_ring_waiting(self._ring)
        if found < -1:
            self._check(-found)
        return None if found < 0 else found

    def drain(self, most: int) -> Drained:
        """Take up to `most` rows out, without waiting for any. Only one thread may drain at a time."""
        most = min(max(most, 0), self.waiting() or 0)
        room = -(-most // 16) * 16
        block = new_array(room * _ROW_BYTES, np.uint8)
        rows = self._lib.oop_drain_ring(self._ring, most, self._ffi.from_buffer(self._bytes, block))
        if rows < 0:
            self._check(-rows)
        return Drained(block, rows, room)

    def forget_pauses(self) -> None:
        """Count pauses anew. Only the thread that drains may call it."""
        self._lib.oop_forget_pauses(self._ring)

    def counts(self) -> PacketRingCounts:
        """What has been counted so far; rows that were written and not drained are in the ring."""
        found = self._ffi.new("oop_ring_counts *")
        self._lib.oop_count_ring(self._ring, found)
        *numbers, _, _ = PacketRingCounts._fields
        return PacketRingCounts._make(
            [*(getattr(found, name) for name in numbers), tuple(found.pauses), tuple(found.parts)]
        )

    def _check(self, code: int) -> None:
        if code != self._lib.OOP_OK:
            raise KernelError(self._tell(code))

    def _tell(self, code: int) -> str:
        lib = self._lib
        said = {
            lib.OOP_RING_BUSY: "another thread is draining this ring: one drains it at a time",
            lib.OOP_RING_ELSEWHERE: "the ring's producer runs in the process that this one was forked from",
            lib.OOP_RING_USED: "the ring was started or stopped before: it runs once",
            lib.OOP_RING_NO_THREAD: "the system gives no thread for the ring's producer",
        }
        return said.get(code, f"a ring failed with code {code}")


def _library() -> Any:
    """The compiled module, imported when it is first needed."""
    try:
        return importlib.import_module("oop.kernels.native.library")
    except ImportError as error:
        raise KernelError(f"a ring needs the compiled kernels: {error}", hint=INSTALL_HINT) from error
