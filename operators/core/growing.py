"""Arrays that are indexed by group, and grow with the number of groups."""

from __future__ import annotations

import numpy as np


def with_room(array: np.ndarray, groups: int, fill: float) -> np.ndarray:
    """The array with room for ``groups``. Where it grows, it gets twice that room, so that new groups seldom copy it.

    >>> len(with_room(np.zeros(4), 3, 0)), len(with_room(np.zeros(4), 5, 0))
    (4, 10)
    """
    if groups <= len(array):
        return array
    longer = np.full(2 * groups, fill, array.dtype)
    longer[: len(array)] = array
    return longer
