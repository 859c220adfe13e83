"""What it takes to go back to an earlier point in the progress of many groups: only groups that changed are kept.

A late row that is an error ends the batch in front of it, so what the rows behind it said has to be forgotten. A copy
of all groups for each batch would be quadratic where batches are small and groups are many.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from oop.punctuation.patterns import Bound, Value

ABSENT = object()
"""In the place of a tracker's state: the group was not active."""


@dataclass
class Remembered:
    """``groups`` has, for each group that changed, its tracker's state, its floor and its bound as a retired group."""

    greatest: Bound | None
    rest: Bound | None
    groups: dict[Value, tuple[Any, Bound | None, Bound | None]] = field(default_factory=dict)
