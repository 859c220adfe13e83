"""The running `Resample` (Aurora paper, section 5.2.2.4 and figure 11).

A left row is matched with the right rows of a group once the group has passed it, which is at once, or when a promise
comes. It is held until all groups have passed it, also those of which no row came yet. A right row is held while a left
row near it may still come, or is held and the right row's group has not passed it. Rows without a time are near no
other row.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence

import numpy as np
import pyarrow as pa

from oop.kernels import views
from oop.operators.core.compute import compute as pc
from oop.operators.core.context import Context
from oop.operators.core.coverage import INT64_MAX, as_int64
from oop.operators.core.marks import is_late
from oop.operators.core.operator import Element, Held, Keeping, Kept
from oop.operators.core.parts import Part
from oop.operators.core.times import is_whole, show_time
from oop.operators.join.band import LEFT, RIGHT
from oop.operators.resample.fields import ResampleFields
from oop.operators.resample.lefts import LeftRows
from oop.operators.resample.near_rows import is_near_or_above
from oop.operators.resample.results import NearResults
from oop.operators.resample.rights import RightRows
from oop.punctuation import Punctuation
from oop.punctuation.group_promises import Advance
from oop.punctuation.patterns import Bound, Equal
from oop.punctuation.search import above

_LEFT, _RIGHT = "left", "right"


class ResampleOperator(Keeping):
    """``late_unused`` counts admitted late rows, which are ignored because they are out of order."""

    def __init__(self, spec: ResampleFields, context: Context) -> None:
        super().__init__(spec, context)
        inputs = context.inputs
        self.spec = spec
        self.types = [inputs[side].field(spec.times[side]).type for side in (LEFT, RIGHT)]
        self.whole = is_whole(self.types[LEFT])
        self.dtype = np.int64 if self.whole else np.float64
        self.results = NearResults(spec, inputs)
        needed = spec.needs(None, inputs)[RIGHT] or frozenset()
        fields = [f.remove_metadata() for f in inputs[RIGHT] if f.name in needed]
        self.rows = RightRows(pa.schema(fields), spec.times[RIGHT], spec.keys)
        self.lefts = LeftRows.empty(self.dtype, self.results.stamped)
        self.passed = np.zeros(0, self.dtype)  # for each group the least left value that it has not passed
        self._changed, self._saved = {_LEFT: False, _RIGHT: False}, {_LEFT: False, _RIGHT: False}

    def kept(self) -> Iterable[Kept]:
        return self.lefts, self.rows

    def process_batch(self, batch: pa.RecordBatch, port: int = 0) -> Iterator[Element]:
        if is_late(batch):
            self.late_unused += batch.num_rows
            return
        column = batch.column(self.spec.times[port])
        if column.null_count or not self.whole:
            batch = batch.filter(column.is_valid() if self.whole else pc.fill_null(pc.is_finite(column), False))
        if not batch.num_rows:
            return
        if port == LEFT:
            yield from self._take_left(LeftRows.read(batch, self.spec.left, self.results.stamped))
        else:
            self._take_right(batch)

    def _take_left(self, new: LeftRows) -> Iterator[pa.RecordBatch]:
        """Each group that has passed a left row gives its result; the row waits for the others."""
        passed = int(new.numbers_below(self._passed_by_all()))
        if not self.spec.keys:
            yield from self.results.of_each(new, self.rows, passed)
        elif len(self.rows):
            none = np.zeros(len(self.passed), np.int64)
            yield from self.results.of(new, self.rows, none, new.numbers_below(self.passed))
        if passed < len(new):
            self.lefts = self.lefts.merged(new.from_number(passed))
            self._changed[_LEFT] = True

    def _take_right(self, batch: pa.RecordBatch) -> None:
        batch = batch.select(self.rows.schema.names)
        ids = self.rows.enter(batch)
        self._look_up_groups()
        needed = self._needed(views.times(batch.column(self.spec.times[RIGHT])), ids)
        self.rows.add(batch.filter(pa.array(needed)), ids[needed])
        self._changed[_RIGHT] = True

    def _look_up_groups(self) -> None:
        """Find how far new groups have passed."""
        new = self.rows.values[len(self.passed) :]
        if new:
            bounds = [self._least_open(self._bound_of(group)) for group in new]
            self.passed = np.concatenate([self.passed, np.array(bounds, self.dtype)])

    def _bound_of(self, group: Sequence[object]) -> Bound | None:
        where = dict(zip(self.spec.keys, group, strict=True))
        return self.ports.frontiers[RIGHT].bound(self.spec.times[RIGHT], where)

    def _least_open(self, bound: Bound | None) -> int | float:
        """The least left value that a right row at or above this bound may be near to."""
        least = self.spec.band.least_held(LEFT, bound)
        return as_int64(least) if self.whole else float(least)

    def _passed_by_all(self) -> np.ndarray:
        return np.array(self._least_open(self.ports.frontiers[RIGHT].bound(self.spec.times[RIGHT])), self.dtype)

    def process_punctuation(self, advance: Advance, port: int = 0) -> Iterator[Element]:
        new = self.ports.advance_singly(advance, port)
        if not new:
            return
        if port == RIGHT:
            yield from self._conclude(new)
        self._free()
        yield from self.ports.whole()

    def _conclude(self, new: Sequence[Punctuation]) -> Iterator[pa.RecordBatch]:
        """The results of groups that have passed further left values."""
        before = self.passed
        self.passed = before.copy()
        for group in self._touched(new):
            self.passed[group] = self._least_open(self._bound_of(self.rows.values[group]))
        done = int(self.lefts.numbers_below(self._passed_by_all()))
        if not self.spec.keys:
            yield from self.results.of_each(self.lefts, self.rows, done)
        elif len(self.rows) and len(self.lefts):
            first, last = (self.lefts.numbers_below(bounds) for bounds in (before, self.passed))
            yield from self.results.of(self.lefts, self.rows, first, last)
        if done:
            self.lefts = self.lefts.from_number(done)
            self._changed[_LEFT] = True

    def _touched(self, new: Sequence[Punctuation]) -> Iterable[int]:
        """The groups that promises are about. If there are many groups, most promises name a single one."""
        found = set()
        for punct in new:
            values = [punct.where.get(k) for k in self.spec.keys]
            if not self.spec.keys or not all(isinstance(v, Equal) for v in values):
                return range(len(self.passed))
            number = self.rows.numbers.get(tuple(v.value for v in values if isinstance(v, Equal)))
            if number is not None:
                found.add(number)
        return found

    def _free(self) -> None:
        """Free the right rows that no left row needs, now or later."""
        if not len(self.rows):
            return
        _, times, ids = self.rows.all()
        needed = self._needed(times, ids)
        if not needed.all():
            self.rows.keep(needed)
            self._changed[_RIGHT] = True
            if not len(self.rows):
                self.passed = self.passed[:0]
            elif self.rows.is_crowded():
                self.rows.regroup()
                self.passed = self.passed[:0]
                self._look_up_groups()

    def _needed(self, times: np.ndarray, ids: np.ndarray) -> np.ndarray:
        """Which right rows may be near a left row that is still to come, or that is held and not passed by their
        group?"""
        bound = self.ports.frontiers[LEFT].bound(self.spec.left)
        least = -math.inf if bound is None else bound
        to_come = np.array(as_int64(least) if self.whole else float(least), self.dtype)
        waiting = self.lefts.numbers_below(self.passed)
        none = INT64_MAX if self.whole else math.inf
        here = np.append(self.lefts.values, np.array(none, self.dtype))[waiting]
        each = np.minimum(here, to_come)
        needed = is_near_or_above(times, each[ids], self.spec.size)
        return needed & (each[ids] != none)

    def oldest(self) -> Held | None:
        """The first left row, for which a group may still bring a row; if there is none, the first right row."""
        spec, size = self.spec, self.spec.size
        if len(self.lefts):
            at = self.lefts.values[0].item()
            what = f"left row at {spec.left} = {show_time(at, self.types[LEFT])}"
            return Held(what, RIGHT, Punctuation({spec.times[RIGHT]: above(at + size)}))
        if not len(self.rows):
            return None
        at = self.rows.all()[1].min().item()
        what = f"right row at {spec.times[RIGHT]} = {show_time(at, self.types[RIGHT])}"
        return Held(what, LEFT, Punctuation({spec.left: above(at + size)}))

    def save(self) -> Iterator[Part]:
        yield from self.save_common()
        for name, count in ((_LEFT, len(self.lefts)), (_RIGHT, len(self.rows))):
            if not self._changed[name]:
                continue
            if count:
                yield name, self.lefts.to_batch() if name == _LEFT else self.rows.all()[0]
            elif self._saved[name]:
                yield name, None
            self._changed[name], self._saved[name] = False, count > 0

    def load(self, parts: Iterable[Part]) -> None:
        found = self.load_common(parts)
        left, right = found.get(_LEFT), found.get(_RIGHT)
        stamped = self.results.stamped
        self.lefts = LeftRows.empty(self.dtype, stamped) if left is None else LeftRows.from_batch(left, stamped)
        self.rows.clear()
        self.passed = self.passed[:0]
        if right is not None:
            self.rows.add(right, self.rows.enter(right))
            self._look_up_groups()
        self._changed = {_LEFT: False, _RIGHT: False}
        self._saved = {_LEFT: left is not None, _RIGHT: right is not None}
