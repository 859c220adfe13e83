"""Running programs (`oop.kernels.steps`): a whole train goes from the batches that came into the groups of its rows.

A train is taken in chunks, each as a whole or not at all. What a program cannot judge makes a chunk *odd*: the time is
null or NaN, a number does not fit its type, a window cannot be computed. Nothing has been done with an odd chunk. The
caller takes its rows another way, which knows what to say about them, and lets the program go on behind it.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import Protocol

import numpy as np
import pyarrow as pa

from oop.kernels.checks import Array, Bools, Ints, KernelError
from oop.kernels.signatures.groups import GroupTableBase
from oop.kernels.signatures.sessions import Extended, Slots
from oop.kernels.signatures.stem import KernelWithState, Stem
from oop.kernels.steps import ProgramCode

NO_ROWS = np.zeros(0, np.int64)


class GuardState:
    """What a source has seen and promised: rows below ``greatest`` minus ``slack``, or below ``bound``, are late.

    Without ``slack`` the rows themselves imply nothing, unless there is a ``rank``: then rows are late that are below
    the rank + 1 greatest times so far, the ``top``, which ascend. ``places[i]`` rows of a train come before a promise
    of ``bounds[i]``, which the data carries.

    ``reached`` is not the guard's: it is the last of the values that must ascend, where a program has such a step.
    """

    __slots__ = ("bound", "bounds", "greatest", "places", "rank", "reached", "slack", "top")

    def __init__(self, slack: float | None = None, rank: int | None = None) -> None:
        self.slack, self.rank = slack, rank
        self.greatest: float | None = None
        self.top: Array = NO_ROWS
        self.bound: float | None = None
        self.reached: float | None = None
        self.places: Ints = NO_ROWS
        self.bounds: Array = NO_ROWS

    def follow(self, other: GuardState) -> None:
        """Become as another one is."""
        self.slack, self.greatest, self.bound = other.slack, other.greatest, other.bound
        self.rank, self.top, self.reached = other.rank, other.top, other.reached
        self.places, self.bounds = other.places, other.bounds


class SliceTarget(Protocol):
    """The groups of one slice of slots: a table of keys, and arrays of aggregates by id."""

    @property
    def codes(self) -> GroupTableBase: ...

    @property
    def texts(self) -> Mapping[int, GroupTableBase]:
        """For each key that is text the table that gives it its codes; if there is no other key, ``codes`` itself."""
        ...

    def arrays(self) -> list[Array]:
        """The arrays with all the room that they have."""
        ...

    def make_room(self, groups: int) -> None:
        """Let all arrays have room for so many groups."""
        ...


class SessionTarget(SliceTarget, Protocol):
    """The open sessions of all keys (`oop.kernels.signatures.sessions`); the arrays have their aggregates by slot."""

    @property
    def heads(self) -> Slots: ...

    @property
    def sessions(self) -> Array: ...

    @property
    def free(self) -> Slots:
        """The slots that are free."""
        ...

    def make_session_room(self, rows: int) -> None:
        """Let there be a head for each key, and free slots for so many rows."""
        ...

    def extended(self, found: Extended, rows: int) -> None:
        """Called with what became of so many rows. The aggregates of absorbed sessions are still to be merged into
        those of the survivors."""
        ...


class SliceTargets(Protocol):
    """Where rows go, by slice. A slice has ``2 ** shift`` slots; with ``slotted`` the slot is the last key column.

    ``version`` is another number whenever a target, or an array of one, may have been replaced by anyone but the
    program.
    """

    @property
    def fits(self) -> bool:
        """Can a program bring rows now? If not, they go the operator's own way."""
        ...

    @property
    def shift(self) -> int: ...

    @property
    def slotted(self) -> bool: ...

    @property
    def version(self) -> int: ...

    def target(self, number: int) -> SliceTarget:
        """The target of a slice, which is made if there is none."""
        ...

    def widen(self) -> bool:
        """Make slices wider, because the rows of a chunk go to very many; False if they cannot be. No target is in use
        then."""
        ...

    def took(self, numbers: list[int], rows: list[int]) -> None:
        """Called with how many rows these slices were given since it was called last; no target is in use then."""
        ...


class NoTargets:
    """The targets of a program that hands rows out."""

    shift = version = 0
    slotted = False
    fits = True

    def begin(self) -> None:
        """A train begins."""

    def target(self, number: int) -> SliceTarget:
        raise KernelError("rows that are handed out go to no target")

    def widen(self) -> bool:
        return False

    def took(self, numbers: list[int], rows: list[int]) -> None:
        raise KernelError("rows that are handed out go to no target")


class TrainProgramBase(KernelWithState):
    """Runs a code. ``late`` are the numbers of the late rows in the train, ``broken`` the bounds that they broke, and
    ``counts`` how many rows came to each mark, since the beginning.

    If the code hands rows out, ``kept`` are the numbers of those in the train (None: all of its rows), and ``columns``
    are the values of its outputs in these rows, each with which of them are there (None: all).

    With several shards, each has a program, which judges a part of every train. Its rows wait in it for the programs of
    their shards, which take them from all programs (`take_sent`) when these have run their parts."""

    late: Ints
    broken: Array
    counts: Ints
    kept: Ints | None
    columns: list[tuple[Array, Bools | None]]

    def __init__(self, code: ProgramCode, shard: int = 0, shards: int = 1) -> None:
        if not 0 <= shard < shards:
            raise KernelError(f"there is no shard {shard} of {shards}")
        self.code = code
        self.shard, self.shards = shard, shards
        self.kept, self.columns = None, []
        self.run_init()

    @abstractmethod
    def start(
        self,
        batches: Sequence[pa.RecordBatch],
        guard: GuardState,
        targets: SliceTargets,
        first: int = 0,
        end: int | None = None,
    ) -> None:
        """Begin a train, or the part of it from the row ``first`` on, up to the row ``end`` (None: the last one, too).
        The batches have the columns that the code was written for. ``guard`` is as it was before the train."""

    @abstractmethod
    def take_sent(self, senders: Sequence[TrainProgramBase]) -> None:
        """Take the rows that the programs of all shards have for this one, when all have run their parts."""

    @abstractmethod
    def go_on(self) -> tuple[int, int] | None:
        """Run the rest of the train, or of the part. None at its end; else the numbers of the first row of an odd chunk
        and of the row behind it. The guard then is as it was before that chunk, and is read again when the program goes
        on."""

    @abstractmethod
    def skip_rest(self) -> None:
        """Behind an odd chunk: the rest of the train is taken another way. The program must still go on, to its end."""

    @abstractmethod
    def finish(self) -> None:
        """End the train, also after an error: batches are given back, and targets are told what they took. Nothing
        happens if none is under way."""

    def run(self, batches: Sequence[pa.RecordBatch], guard: GuardState, targets: SliceTargets) -> list[tuple[int, int]]:
        """Run a whole train; the result is the odd chunks, which were left out."""
        odd = []
        self.start(batches, guard, targets)
        try:
            while (rows := self.go_on()) is not None:
                odd.append(rows)
        finally:
            self.finish()
        return odd


class ProgramKernels(Stem):
    TrainProgram: type[TrainProgramBase]
