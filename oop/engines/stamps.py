"""When a source made the promises that it has made: a reading of the run's clock and a number of rows.

This is all that `Run.blame` costs while nobody asks: a look at the clock for each promise that a source makes, whether
it helps somebody and leaves it or not. What follows from the rows of a batch is promised at its end.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass

import pyarrow as pa

from oop.clocks import Clock
from oop.engines.boxes import Box
from oop.errors import OopError
from oop.operators.input import InputOperator
from oop.operators.times import show_duration
from oop.punctuation import Equal, GroupPromises
from oop.punctuation.group_promises import Promise
from oop.punctuation.patterns import Bound, GroupPattern, Value
from oop.punctuation.progress_groups import Grouped

_GROUPS = 1_024  # stamps by group; when there are more, those of groups that no promise names any more go


@dataclass(frozen=True)
class Stamp:
    """``time`` is what the clock showed, None if it cannot be read for this source; ``rows`` had been put out. What was
    promised then reached to ``bound``."""

    time: Bound | None
    rows: int
    bound: Bound = -math.inf


class _Rest:
    """In the place of a group: all that the promise does not name."""


_REST = _Rest()
_Group = tuple[str, Value | _Rest] | None
"""A column and a value of it; None for all rows."""


class Stamps:
    """Notes the promises that a source makes. Stamps are by attribute and group; a promise without a bound, the end of
    a group, is one about every attribute."""

    def __init__(self, box: Box, clock: Clock, time: pa.DataType) -> None:
        self.box = box
        # a clock that moves by itself shows real time, one that a test moves counts in the column's unit
        self.unit = pa.timestamp("us") if clock.live else time
        self.live = clock.live
        self.read = _reader(clock, self.unit)
        self.start = Stamp(self.read(), box.rows_out)
        self.by: dict[tuple[str | None, _Group], Stamp] = {}
        self._room = _GROUPS

    def note(self, promise: Promise, behind: int = 0) -> None:
        """A promise was made, so many rows ago."""
        if isinstance(promise, GroupPromises):
            alone = len(promise.columns) == 1
            for i, column in enumerate(promise.columns):
                each = (((column, g if alone else g[i]), bound) for g, bound in promise.bounds.items())
                self._put(promise.attribute, each, behind)
            return
        groups: list[_Group] = [(c, p.value if isinstance(p, Equal) else _REST) for c, p in promise.where.items()]
        for attribute, bound in promise.below.items() or [(None, math.inf)]:
            self._put(attribute, ((group, bound) for group in groups or [None]), behind)

    def _put(self, attribute: str | None, bounds: Iterable[tuple[_Group, Bound]], behind: int) -> None:
        get = self.by.get
        # what is said again was said before
        new = [(g, b) for g, b in bounds if (before := get((attribute, g))) is None or before.bound < b]
        if not new:
            return
        time, rows = self.read(), self.box.rows_out - behind
        for group, bound in new:
            self.by[attribute, group] = Stamp(time, rows, bound)
        if len(self.by) > self._room:
            self._forget()

    def _forget(self) -> None:
        """Groups of which nothing is promised any more, but what is promised of all rows."""
        columns = {group[0] for _, group in self.by if group is not None}
        named: dict[str, set[object]] = {c: set(self.box.frontier.named(c)) for c in columns}
        operator = self.box.operator
        for progress in operator.progress if isinstance(operator, InputOperator) else ():
            if isinstance(progress, Grouped) and progress.by in named:
                named[progress.by].update(progress.given)
        self.by = {k: s for k, s in self.by.items() if k[1] is None or k[1][1] is _REST or k[1][1] in named[k[1][0]]}
        self._room = max(_GROUPS, 2 * len(self.by))

    def since(
        self, attribute: str, bound: Bound | None, group: tuple[str, GroupPattern] | None
    ) -> tuple[str | None, int]:
        """How long ago a bound was promised for a group (None: for all rows), as text, and how many rows; that nothing
        was (None), since the beginning."""
        then, now = self._found(attribute, bound, group), Stamp(self.read(), self.box.rows_out)
        if then.time is None or now.time is None:
            return None, now.rows - then.rows
        if self.live:
            return f"{(now.time - then.time) / 1e6:.1f} s", now.rows - then.rows
        return show_duration(now.time - then.time, self.unit), now.rows - then.rows

    def _found(self, attribute: str, bound: Bound | None, group: tuple[str, GroupPattern] | None) -> Stamp:
        if bound is None:
            return self.start
        groups: list[_Group] = [None]
        if group is not None:
            column, pattern = group
            groups += [(column, pattern.value), (column, _REST)] if isinstance(pattern, Equal) else [(column, _REST)]
        stamps = [self.by.get((name, g)) for name in (attribute, None) for g in groups]
        # the first promise that said as much: it may be said of a group, and later of all rows
        reaching = [stamp for stamp in stamps if stamp is not None and stamp.bound >= bound]
        return min(reaching, key=lambda stamp: stamp.rows, default=self.start)


def _reader(clock: Clock, unit: pa.DataType) -> Callable[[], Bound | None]:
    try:
        clock.now(unit)
    except OopError:  # it shows times that this column does not have
        return lambda: None
    return lambda: clock.now(unit)
