"""When a source made the promises that it has made: a reading of the run's clock and a number of rows.

This is all that `Run.blame` costs while nobody asks: a look at the clock for each promise that a source makes, whether
it helps somebody and leaves it or not. What follows from the rows of a batch is promised at its end.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Container, Iterable, Mapping
from dataclasses import dataclass

import pyarrow as pa

from oop.clocks import Clock
from oop.engines.embedded.boxes import Box
from oop.errors import OopError
from oop.operators.core.times import show_duration
from oop.operators.source.input import InputOperator
from oop.operators.source.numbers import SEQ
from oop.punctuation import Equal, GroupPromises
from oop.punctuation.group_promises import Promise
from oop.punctuation.patterns import Bound, GroupPattern, Value
from oop.punctuation.progress_groups import Grouped
from oop.punctuation.ranges import is_ranged

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
_Group = tuple[tuple[str, ...], Value | _Rest] | None
"""The columns of a group and the group, as `GroupPromises` has them; None for all rows."""


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
        self.last: Promise | None = None  # that said anything new, of more than the numbers of rows
        self._room = _GROUPS

    def note(self, promise: Promise, behind: int = 0) -> None:
        """A promise was made, so many rows ago."""
        if isinstance(promise, GroupPromises):
            each = (((promise.columns, group), bound) for group, bound in promise.bounds.items())
            is_new = self._put(promise.attribute, each, behind)
        elif is_ranged(promise):  # neither a group nor all rows are further than before
            is_new = True
        else:
            group = group_key(promise.where)
            is_new = False
            for attribute, bound in promise.below.items() or [(None, math.inf)]:
                is_new |= self._put(attribute, [(group, bound)], behind) and attribute != SEQ
        self.last = promise if is_new else self.last

    def _put(self, attribute: str | None, bounds: Iterable[tuple[_Group, Bound]], behind: int) -> bool:
        """Note these bounds; is one of them new?"""
        get = self.by.get
        # what is said again was said before
        new = [(g, b) for g, b in bounds if (before := get((attribute, g))) is None or before.bound < b]
        if not new:
            return False
        time, rows = self.read(), self.box.rows_out - behind
        for group, bound in new:
            self.by[attribute, group] = Stamp(time, rows, bound)
        if len(self.by) > self._room:
            self._forget()
        return True

    def _forget(self) -> None:
        """Groups of which nothing is promised any more, but what is promised of all rows."""
        told_apart = {group[0] for _, group in self.by if group is not None}
        named = {columns: self._named(columns) for columns in told_apart}
        self.by = {k: s for k, s in self.by.items() if k[1] is None or k[1][1] is _REST or k[1][1] in named[k[1][0]]}
        self._room = max(_GROUPS, 2 * len(self.by))

    def _named(self, columns: tuple[str, ...]) -> Container[object]:
        """The groups of these columns that a promise names."""
        frontier = self.box.frontier
        bounds = frontier.across.cells.get(columns)
        named: set[object] = set(frontier.named(columns[0]) if len(columns) == 1 else bounds.groups() if bounds else ())
        operator = self.box.operator
        for progress in operator.progress if isinstance(operator, InputOperator) else ():
            if isinstance(progress, Grouped) and progress.columns == columns:
                named.update(group for group, _ in progress.given.items())
        return named

    def since(self, attribute: str, bound: Bound | None, where: Mapping[str, GroupPattern]) -> tuple[str | None, int]:
        """How long ago this bound was promised for a group (without patterns: for all rows), as text, and how many rows
        ago; if none was, since the run began."""
        then, now = self._found(attribute, bound, where), Stamp(self.read(), self.box.rows_out)
        if then.time is None or now.time is None:
            return None, now.rows - then.rows
        if self.live:
            return f"{(now.time - then.time) / 1e6:.1f} s", now.rows - then.rows
        return show_duration(now.time - then.time, self.unit), now.rows - then.rows

    def _found(self, attribute: str, bound: Bound | None, where: Mapping[str, GroupPattern]) -> Stamp:
        if bound is None:
            return self.start
        group = group_key(where)
        groups = {None, group, group and (group[0], _REST)}
        stamps = [self.by.get((name, g)) for name in (attribute, None) for g in groups]
        # the first promise that said as much: it may be said of a group, and later of all rows
        reaching = [stamp for stamp in stamps if stamp is not None and stamp.bound >= bound]
        return min(reaching, key=lambda stamp: stamp.rows, default=self.start)


def group_key(where: Mapping[str, GroupPattern]) -> _Group:
    """The one group that these patterns name, or the rest; None if they name none.

    >>> group_key({"link": Equal("A")}), group_key({"proto": Equal(6), "link": Equal("A")}), group_key({})
    ((('link',), 'A'), (('link', 'proto'), ('A', 6)), None)
    """
    if not where:
        return None
    columns = tuple(sorted(where))
    values = tuple(p.value for c in columns if isinstance(p := where[c], Equal))
    if len(values) < len(columns):
        return columns, _REST
    return columns, values[0] if len(values) == 1 else values


def _reader(clock: Clock, unit: pa.DataType) -> Callable[[], Bound | None]:
    try:
        clock.now(unit)
    except OopError:  # it shows times that this column does not have
        return lambda: None
    return lambda: clock.now(unit)
