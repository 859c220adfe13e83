"""When a source last promised something that helped: a reading of the run's clock and a number of rows.

This is all that `Run.blame` costs while nobody asks: a look at the clock for each promise that leaves a source.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import pyarrow as pa

from oop.clocks import Clock
from oop.engines.boxes import Box
from oop.errors import OopError
from oop.operators.times import show_duration
from oop.punctuation import Equal, GroupPromises, Punctuation
from oop.punctuation.patterns import Bound, Value
from oop.punctuation.ranges import is_ranged

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
        self.by: dict[tuple[str, Value], Stamp] = {}
        self._room = _GROUPS

    def now(self) -> Stamp:
        return Stamp(self.read(), self.box.rows_out)

    def note(self, promise: Punctuation) -> None:
        groups = [(c, p.value) for c, p in promise.where.items() if isinstance(p, Equal)]
        if is_ranged(promise):
            return  # neither a group nor all rows are further than before
        if not groups:
            self.all = self.now()
            return
        self._stamp(groups)

    def note_groups(self, promises: GroupPromises) -> None:
        """The same for promises about many groups."""
        alone = len(promises.columns) == 1
        self._stamp((c, g if alone else g[i]) for i, c in enumerate(promises.columns) for g in promises.bounds)

    def _stamp(self, groups: Iterable[tuple[str, Value]]) -> None:
        self.by.update(dict.fromkeys(groups, self.now()))
        if len(self.by) > self._room:
            named = {c: self.box.frontier.named(c) for c in {c for c, _ in self.by}}
            self.by = {(c, v): s for (c, v), s in self.by.items() if v in named[c]}
            self._room = max(_GROUPS, 2 * len(self.by))

    def since(self, group: tuple[str, Value] | None) -> tuple[str | None, int]:
        """How long ago the last promise about a group (None: about all rows) was, as text, and how many rows."""
        then, now = self.all if group is None else self.by.get(group, self.all), self.now()
        if then.time is None or now.time is None:
            return None, now.rows - then.rows
        if self.live:
            return f"{(now.time - then.time) / 1e6:.1f} s", now.rows - then.rows
        return show_duration(now.time - then.time, self.unit), now.rows - then.rows


def _reader(clock: Clock, unit: pa.DataType) -> Callable[[], Bound | None]:
    try:
        clock.now(unit)
    except OopError:  # it shows times that this column does not have
        return lambda: None
    return lambda: clock.now(unit)
