"""The loops around users' functions: their checks, and which of the two kinds of loops runs."""

from __future__ import annotations

import functools
from abc import ABC, abstractmethod
from collections.abc import Sequence

import numpy as np

from oop.kernels import dispatch
from oop.kernels.checks import Array, Bools, Ints, KernelError, check_array, check_ids, check_valid
from oop.kernels.user.folds import KINDS, Fold, Result


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


def user_loops(fold: Fold, name: str | None = None) -> UserLoops:
    """The loops of a fold on one implementation of the kernels. They are compiled at once, so that errors come early.

    >>> from oop.kernels.user.folds import Functions
    >>> total = Functions(0, lambda state, value: state + value)
    >>> counts, state = np.zeros(2, np.int64), total.columns(2)
    >>> loops = user_loops(Fold(total, ("int",)), "reference")
    >>> loops.add(np.array([0, 1, 0]), [np.array([5, 6, 7])], None, counts, state)
    >>> counts, state
    (array([2, 1]), [array([12,  6])])
    """
    return _load(fold, name or dispatch.kernels().name)


@functools.lru_cache(maxsize=256)
def _load(fold: Fold, name: str) -> UserLoops:
    if name == "reference":
        from oop.kernels.user.plain import PlainLoops

        return PlainLoops(fold)
    try:
        from oop.kernels.user.compiled import CompiledLoops
    except ImportError as error:
        raise KernelError(
            f"user-defined aggregates are compiled by Numba, which cannot be imported: {error}",
            hint="pip install numba",
        ) from error
    return CompiledLoops(fold)
