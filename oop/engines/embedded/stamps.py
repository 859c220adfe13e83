"""Stamps tell when a source made each of its promises: by the run's clock, and as a number of rows.

While nobody asks for blame, stamps are all that it costs: a look at the clock for each promise that a source makes,
whether the promise helps a consumer and leaves the source or not. A promise that follows from the rows of a batch is
made at the end of the batch.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Container, Iterable, Mapping
from functools import partial
from typing import NamedTuple

import pyarrow as pa

from oop.clocks import Clock, WallClock
from oop.engines.embedded.boxes import Box
from oop.errors import OopError
from oop.operators.core.times import show_duration
from oop.operators.source.numbers import SEQ
from oop.punctuation import Equal, GroupPromises
from oop.punctuation.group_promises import Promise
from oop.punctuation.patterns import Bound, GroupPattern, Value
from oop.punctuation.ranges import is_ranged

_GROUPS = 1_024  # when there are more stamps than this, those of groups that no promise names any more are dropped


class Stamp(NamedTuple):
    """``time`` is what the clock showed, or None if it cannot be read for this source. ``rows`` is how many rows the
    source had put out, and ``bound`` is the bound that was promised."""

    time: Bound | None
    rows: int
    bound: Bound = -math.inf


class _Rest:
    """Stands for the rest: all groups that the promise does not name."""


_REST = _Rest()
GroupKey = tuple[tuple[str, ...], Value | _Rest] | None
"""The columns of a group and the group, as `GroupPromises` has them; None for all rows."""


class Stamps:
    """Notes the promises that a source makes. There is a stamp for each attribute and group. A promise without a bound,
    which is the end of a group, is stamped under the attribute None and counts for every attribute."""

    def __init__(self, box: Box, clock: Clock, time: pa.DataType) -> None:
        self.box = box
        # A clock that moves by itself shows real time. A clock that a test moves counts in the column's unit.
        self.unit = pa.timestamp("us") if clock.live else time
        self.live = clock.live
        self.read = _reader(clock, self.unit)
        self.start = Stamp(self.read(), box.rows_out)
        self.by: dict[tuple[str | None, GroupKey], Stamp] = {}
        self.last: Promise | None = None  # the last promise that said anything new, other than about row numbers
        self._room = _GROUPS

    def note(self, promise: Promise, behind: int = 0) -> None:
        """Note a promise that was made ``behind`` rows ago."""
        if promise.linear is not None:
            self._note_bound(promise, *promise.linear, behind)  # most are like this, one with every batch
        elif isinstance(promise, GroupPromises):
            each = (((promise.columns, group), bound) for group, bound in promise.bounds.items())
            if self._put(promise.attribute, each, behind):
                self.last = promise
        elif is_ranged(promise):  # a range moves neither a group nor all rows
            self.last = promise
        else:
            group = group_key(promise.where)
            for attribute, bound in promise.below.items() or [(None, math.inf)]:
                if self._put(attribute, [(group, bound)], behind) and attribute != SEQ:
                    self.last = promise

    def _note_bound(self, promise: Promise, attribute: str, bound: Bound, behind: int) -> None:
        """Note a promise that is a bound on one attribute for all rows."""
        before = self.by.get((attribute, None))
        if before is not None and before.bound >= bound:
            return
        self.by[attribute, None] = Stamp(self.read(), self.box.rows_out - behind, bound)
        if len(self.by) > self._room:
            self._forget()
        if attribute != SEQ:
            self.last = promise

    def _put(self, attribute: str | None, bounds: Iterable[tuple[GroupKey, Bound]], behind: int) -> bool:
        """Note these bounds. True if one of them is new."""
        get = self.by.get
        # a bound that is promised again keeps its first stamp
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
        """Drop the stamps of groups that no promise names any more."""
        told_apart = {group[0] for _, group in self.by if group is not None}
        named = {columns: self._named(columns) for columns in told_apart}
        self.by = {k: s for k, s in self.by.items() if k[1] is None or k[1][1] is _REST or k[1][1] in named[k[1][0]]}
        self._room = max(_GROUPS, 2 * len(self.by))

    def _named(self, columns: tuple[str, ...]) -> Container[object]:
        """The groups of these columns that a promise names."""
        frontier = self.box.frontier
        bounds = frontier.across.single.get(columns)
        named: set[object] = set(frontier.named(columns[0]) if len(columns) == 1 else bounds.groups() if bounds else ())
        for progress in self.box.input_operator.progress:
            if progress.columns == columns:
                named.update(progress.told_groups())
        return named

    def since(self, attribute: str, bound: Bound | None, where: Mapping[str, GroupPattern]) -> tuple[str | None, int]:
        """How long ago this bound was promised for a group (without patterns: for all rows), as text, and how many rows
        ago. If it was not promised, both count from the beginning of the run."""
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
        # of the promises that reach the bound the first one: it may have been about the group, or about all rows
        reaching = [stamp for stamp in stamps if stamp is not None and stamp.bound >= bound]
        return min(reaching, key=lambda stamp: stamp.rows, default=self.start)


def group_key(where: Mapping[str, GroupPattern]) -> GroupKey:
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
    except OopError:  # the clock shows times that this column cannot hold
        return lambda: None
    return clock.reader(unit) if isinstance(clock, WallClock) else partial(clock.now, unit)
