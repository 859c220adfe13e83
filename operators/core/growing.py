"""Arrays by the number of a group, which grow with the groups."""

from __future__ import annotations

import numpy as np


def with_room(array: np.ndarray, groups: int, fill: float) -> np.ndarray:
    """The array, with room for so many groups and as many again where it had to grow: a new group seldom copies all.

    >>> len(with_room(np.zeros(4), 3, 0)), len(with_room(np.zeros(4), 5, 0))
    (4, 10)
    """
    if groups <= len(array):
        return array
    longer = np.full(2 * groups, fill, array.dtype)
    longer[: len(array)] = array
    return longer
