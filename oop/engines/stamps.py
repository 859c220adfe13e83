"""When a source last promised something that helped: a reading of the run's clock and a number of rows.

This is all that `Run.blame` costs while nobody asks: a look at the clock for each promise that leaves a source.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Mapping
from dataclasses import dataclass

import pyarrow as pa

from oop.clocks import Clock
from oop.engines.boxes import Box
from oop.errors import OopError
from oop.operators.times import show_duration
from oop.punctuation import Equal, GroupPromises, Punctuation
from oop.punctuation.patterns import Bound, GroupPattern, Value

Group = tuple[tuple[str, ...], Value]
"""A group and its columns, as `GroupPromises` has them."""

_GROUPS = 1_024  # stamps by group; when there are more, those of groups that no promise names any more go


@dataclass(frozen=True)
class Stamp:
    """``time`` is what the clock showed, None if it cannot be read for this source; ``rows`` had been put out."""

    time: Bound | None
    rows: int


class Stamps:
    """Notes the promises that leave the box of a source."""

    def __init__(self, box: Box, clock: Clock, time: pa.DataType) -> None:
        self.box = box
        # a clock that moves by itself shows real time, one that a test moves counts in the column's unit
        self.unit = pa.timestamp("us") if clock.live else time
        self.live = clock.live
        self.read = _reader(clock, self.unit)
        self.all = self.now()
        self.by: dict[Group, Stamp] = {}
        self._room = _GROUPS

    def now(self) -> Stamp:
        return Stamp(self.read(), self.box.rows_out)

    def note(self, promise: Punctuation) -> None:
        group = group_key(promise.where)
        if group is None:
            self.all = self.now()
            return
        self._stamp([group])

    def note_groups(self, promises: GroupPromises) -> None:
        """The same for promises about many groups."""
        self._stamp((promises.columns, g) for g in promises.bounds)

    def _stamp(self, groups: Iterable[Group]) -> None:
        self.by.update(dict.fromkeys(groups, self.now()))
        if len(self.by) > self._room:
            named = {columns: self._named(columns) for columns in {columns for columns, _ in self.by}}
            self.by = {(c, v): s for (c, v), s in self.by.items() if v in named[c]}
            self._room = max(_GROUPS, 2 * len(self.by))

    def _named(self, columns: tuple[str, ...]) -> Container[Value]:
        """The groups of these columns that a promise names."""
        frontier = self.box.frontier
        if len(columns) == 1:
            return frontier.named(columns[0])
        bounds = frontier.across.cells.get(columns)
        return () if bounds is None else set(bounds.groups())

    def since(self, group: Group | None) -> tuple[str | None, int]:
        """How long ago the last promise about a group (None: about all rows) was, as text, and how many rows."""
        then, now = self.all if group is None else self.by.get(group, self.all), self.now()
        if then.time is None or now.time is None:
            return None, now.rows - then.rows
        if self.live:
            return f"{(now.time - then.time) / 1e6:.1f} s", now.rows - then.rows
        return show_duration(now.time - then.time, self.unit), now.rows - then.rows


def group_key(where: Mapping[str, GroupPattern]) -> Group | None:
    """The one group that these patterns name, None if they name none.

    >>> group_key({"link": Equal("A")}), group_key({"proto": Equal(6), "link": Equal("A")}), group_key({})
    ((('link',), 'A'), (('link', 'proto'), ('A', 6)), None)
    """
    columns = tuple(sorted(where))
    values = tuple(p.value for c in columns if isinstance(p := where[c], Equal))
    if not columns or len(values) < len(columns):
        return None
    return columns, values[0] if len(values) == 1 else values


def _reader(clock: Clock, unit: pa.DataType) -> Callable[[], Bound | None]:
    try:
        clock.now(unit)
    except OopError:  # it shows times that this column does not have
        return lambda: None
    return lambda: clock.now(unit)
