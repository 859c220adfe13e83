"""The loops around users' functions, whichever kind runs: their arguments are checked here."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence

import numpy as np

from oop.kernels.checks import Array, Bools, Ints, KernelError, check_array, check_ids, check_valid
from oop.kernels.results import Result
from oop.kernels.user.folds import KINDS, Fold


class UserLoops(ABC):
    """The loops of one fold. ``result`` is what `finish` returns, one array for each part. The arguments ``counts`` and
    ``state`` are the state of all groups."""

    result: Result

    def __init__(self, fold: Fold) -> None:
        self.fold = fold
        self.functions = fold.functions

    def add(
        self, ids: Ints, values: Sequence[Array], valid: Bools | None, counts: Ints, state: Sequence[Array]
    ) -> None:
        """Row i goes into group ids[i], if it is valid."""
        self._check(counts, state)
        check_ids(ids, len(counts))
        for kind, value in zip(self.fold.values, values, strict=True):
            check_array("values", value, KINDS[kind], len(ids))
        self._add(ids, values, check_valid(valid, len(ids)), counts, state)

    @property
    def address(self) -> int:
        """Where `add` is as a function of C, for programs (`OwnUpdate` in `oop.kernels.steps`)."""
        raise KernelError("these loops are not compiled")

    def take(self, ids: Ints, values: Sequence[Array], valid: Bools | None, arrays: Sequence[Array]) -> None:
        """As `add`, for a program that is interpreted: counts and state are the first of its ``arrays``."""
        kinds = zip(self.fold.values, values, strict=True)
        given = [np.ascontiguousarray(value, KINDS[kind]) for kind, value in kinds]
        self.add(ids, given, valid, arrays[0], arrays[1 : 1 + len(self.functions.states)])

    def fail_again(self, bits: Ints, arrays: Sequence[Array], group: int) -> None:
        """Raise the error of a row that the function at `address` refused, by giving it to `add`."""
        values = [bits[i : i + 1].view(KINDS[kind])[:1] for i, kind in enumerate(self.fold.values)]
        state = [array[group : group + 1].copy() for array in arrays[1 : 1 + len(self.functions.states)]]
        self.add(np.zeros(1, np.int64), values, None, np.zeros(1, np.int64), state)
        raise KernelError("a user's function has refused a row once, and not again")

    def merge(
        self, ids: Ints, counts_in: Ints, state_in: Sequence[Array], counts: Ints, state: Sequence[Array]
    ) -> None:
        """Merge group i of ``state_in`` into group ids[i]. An empty group takes over what it is given, without the
        user's `merge`, so groups that only change their place never need one."""
        self._check(counts, state)
        check_ids(ids, len(counts))
        self._check(counts_in, state_in, len(ids))
        if self.functions.merge is not None:
            self._merge(ids, counts_in, state_in, counts, state)
            return
        taken = np.flatnonzero(counts_in)
        places = ids[taken]
        if counts[places].any() or len(np.unique(places)) < len(places):
            raise KernelError("an aggregate without merge= was asked to merge")
        for ours, theirs in zip((counts, *state), (counts_in, *state_in), strict=True):
            ours[places] = theirs[taken]

    def finish(self, counts: Ints, state: Sequence[Array], edges: tuple[Array, Array] | None = None) -> list[Array]:
        """The results of all groups, which mean nothing for empty groups. Without `final` they are the state."""
        self._check(counts, state)
        if self.fold.edges is not None:
            if edges is None:
                raise KernelError("final= takes the window's start and end, and there is no window")
            for edge in edges:
                check_array("edges", edge, KINDS[self.fold.edges], len(counts))
        if self.functions.final is None:
            return list(state)
        return self._finish(counts, state, edges if self.fold.edges is not None else None)

    def _check(self, counts: Ints, state: Sequence[Array], size: int | None = None) -> None:
        check_array("counts", counts, np.int64, size)
        for kind, part in zip(self.functions.states, state, strict=True):
            check_array("state", part, KINDS[kind], len(counts))

    @abstractmethod
    def _add(
        self, ids: Ints, values: Sequence[Array], valid: Bools | None, counts: Ints, state: Sequence[Array]
    ) -> None: ...

    @abstractmethod
    def _merge(
        self, ids: Ints, counts_in: Ints, state_in: Sequence[Array], counts: Ints, state: Sequence[Array]
    ) -> None: ...

    @abstractmethod
    def _finish(self, counts: Ints, state: Sequence[Array], edges: tuple[Array, Array] | None) -> list[Array]: ...
