"""What it takes to go back to an earlier point in the progress of many groups: only groups that changed are kept.

A late row that is an error ends the batch in front of it, so what the rows behind it said has to be forgotten. A copy
of all groups for each batch would be quadratic where batches are small and groups are many.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from oop.punctuation.patterns import Bound, Value

if TYPE_CHECKING:
    from oop.punctuation.progress_groups import GroupedProgress

ABSENT = object()
"""In the place of a tracker's state: the group was not active."""


class Remembered:
    """``groups`` has, for each group that changed, its tracker's state, its floor and its bound as a retired group."""

    def __init__(self, greatest: Bound | None, rest: Bound | None) -> None:
        self.greatest, self.rest = greatest, rest
        self.groups: dict[Value, tuple[Any, Bound | None, Bound | None]] = {}

    def note(self, progress: GroupedProgress, group: Value) -> None:
        """The group is about to change."""
        if group not in self.groups:
            tracker = progress.trackers.get(group)
            seen = ABSENT if tracker is None else tracker.state()
            self.groups[group] = seen, progress.floors.get(group), progress.retired.own(group)
