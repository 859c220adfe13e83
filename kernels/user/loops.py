"""Which of the two kinds of loops around users' functions runs."""

from __future__ import annotations

import functools

from oop.kernels import dispatch
from oop.kernels.checks import KernelError
from oop.kernels.user.checked import UserLoops
from oop.kernels.user.folds import Fold
from oop.kernels.user.plain import PlainLoops


def user_loops(fold: Fold, name: str | None = None) -> UserLoops:
    """The loops of a fold on one implementation of the kernels. They are compiled at once, so that errors come early.

    >>> import numpy as np
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
        return PlainLoops(fold)
    try:
        from oop.kernels.user.compiled import CompiledLoops
    except ImportError as error:
        raise KernelError(
            f"user-defined aggregates are compiled by Numba, which cannot be imported: {error}",
            hint="pip install numba",
        ) from error
    return CompiledLoops(fold)
