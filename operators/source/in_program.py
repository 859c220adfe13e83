"""The guard of a source inside a program: what it knows goes in with a train, and comes back with what it found.

A program judges rows as `guard.py` does, for the policies that `Input.write` lets pass. Rows that it cannot judge come
back as an odd chunk. They are given to the operator itself, which knows what to say about them, and the program goes on
behind them.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Protocol

import numpy as np
import pyarrow as pa

from oop.kernels import views
from oop.kernels.checks import INT64_MAX, INT64_MIN, Array, Ints
from oop.kernels.signatures.programs import NO_ROWS, GuardState
from oop.operators.core.batches import concat
from oop.operators.core.operator import Element
from oop.operators.core.times import is_whole
from oop.operators.core.train import helping
from oop.operators.source.entries import Entry, Measure
from oop.operators.source.guard import Cut, due_rows
from oop.operators.source.lent_judges import lend
from oop.operators.source.operator import InputOperator
from oop.punctuation import Punctuation
from oop.punctuation.group_promises import Promise
from oop.punctuation.patterns import Bound

_FEW, _SMALL = 4, 1_024  # more batches than so many, of fewer rows on average, are joined


class LateRows(Protocol):
    """What programs have found late in a train: the numbers of the rows, and the bounds that they broke."""

    late: Ints
    broken: Array


class GuardInProgram:
    """Between the operator of a source and the program that does its work."""

    def __init__(self, operator: InputOperator) -> None:
        self.operator = operator
        self.time = operator.spec.time
        self.whole = is_whole(operator.output.field(self.time).type)
        self.dtype = np.dtype(np.int64 if self.whole else np.float64)
        self.lent = lend(operator.guard.alone, self.dtype)
        self.guard = GuardState()
        self.batches: Sequence[pa.RecordBatch] = ()
        self._helps = operator.gate.helps
        self._least: Bound = INT64_MIN if self.whole else -math.inf  # no bound
        self.ends: list[int] = []
        """The numbers of rows up to the end of each batch of the train, as they came."""
        self._first_row = 0
        self._givens = -1  # as of which `operator.givens` the next two hold
        self._can_judge = False
        self._bound: Bound | None = None
        self._was_odd = False  # had the train an odd chunk?
        self._given_at = 0  # the row of the train up to which `lent` has taken note of rows
        self._measured: list[Mapping[Measure, np.ndarray]] = []  # how late the late rows before that one were

    def _look_at_given(self) -> None:
        """Look at what the data has promised: can a program judge rows by it, and by which bound?"""
        given = self.operator.ports.frontiers[0]
        self._givens, self._can_judge, self._bound = self.operator.givens, True, None
        if not given.is_empty:
            plain = self.lent is None and not given.ended and given.is_linear
            bound = given.bound(self.time) if plain and set(given.all.linear) == {self.time} else None
            self._can_judge, self._bound = bound is not None and self._fits(bound), bound

    def begin(self, train: Sequence[Element]) -> Sequence[pa.RecordBatch] | None:
        """The batches of a train for the program, whose promises are the guard's; None if the train, or what has been
        promised, is not for a program."""
        operator, guard = self.operator, self.guard
        if self._givens != operator.givens:
            self._look_at_given()
        if not self._can_judge:
            return None
        batches: list[pa.RecordBatch] = []
        ends: list[int] = []
        places: list[int] = []
        bounds: list[Bound] = []
        rows, time = 0, self.time
        for element in train:  # one pass: there may be very many small elements, and to fetch them is most of the time
            if isinstance(element, pa.RecordBatch):
                batches.append(element)
                rows += len(element)
                ends.append(rows)
                continue
            linear = element.linear
            if linear is None or linear[0] != time:
                return None
            places.append(rows)
            bounds.append(linear[1])
        if not batches or batches[0].schema.metadata is not None:  # all batches of a source have one schema
            return None
        if bounds and not (operator.punctuated and self._fit(bounds)):
            return None
        if len(batches) > _FEW and rows < len(batches) * _SMALL:
            whole = concat(batches)  # to hand a batch over costs more than to copy so few rows
            batches = batches if whole is None else [whole]
        guard.bound = self._bound
        if self.lent is not None:
            self.lent.give(guard)
        if bounds:
            guard.places, guard.bounds = np.array(places, np.int64), np.array(bounds, self.dtype)
        elif len(guard.places):
            guard.places, guard.bounds = NO_ROWS, NO_ROWS
        self.batches, self._first_row, self._was_odd = batches, operator.rows_seen, False
        self._given_at, self._measured = 0, []
        self.ends = ends
        operator.rows_seen += rows
        return batches

    def _fit(self, bounds: Sequence[Bound]) -> bool:
        if self.whole:
            return set(map(type, bounds)) == {int} and self._fits(min(bounds)) and self._fits(max(bounds))
        return all(map(self._fits, bounds))

    def _fits(self, bound: Bound) -> bool:
        if self.whole:
            return isinstance(bound, int) and INT64_MIN <= bound <= INT64_MAX
        return isinstance(bound, float) and abs(bound) < float("inf")

    def odd(self, first: int, end: int) -> list[Element]:
        """The elements of an odd chunk, rows and promises, for the operator itself, which knows all that came before.
        `resume` must follow."""
        operator, guard = self.operator, self.guard
        self._was_odd = True
        if self.lent is not None:
            if self.lent.measures:
                times = self._times(self._given_at, first)
                late = NO_ROWS
                if len(times):
                    self.lent.behind(times)
                    late = np.flatnonzero(times < self.lent.within())
                self._measured.append(self.lent.measure(times, late))
                self.lent.came(times)
                self._given_at = end
            self.lent.take(guard)
        elif guard.bound is not None:
            operator.ports.advance((Punctuation({self.time: guard.bound}),), 0)
        operator.forget_look()
        self._seen, operator.rows_seen = operator.rows_seen, self._first_row + first
        # one in front of the first row was not taken yet, because the chunk came back before it was
        cuts = [(p, b) for p, b in zip(guard.places.tolist(), guard.bounds.tolist(), strict=True) if first <= p < end]
        found: list[Element] = []
        for place, bound in [*cuts, (end, None)]:
            found += rows_between(self.batches, first, place)
            first = place
            if bound is not None:
                found.append(Punctuation({self.time: bound}))
        return found

    def resume(self) -> None:
        """Take over what the operator has seen of an odd chunk."""
        self.operator.rows_seen = self._seen
        if self.lent is not None:
            self.lent.give(self.guard)
        else:
            self.guard.bound = self.operator.ports.frontiers[0].bound(self.time)

    def _times(self, first: int, end: int) -> np.ndarray:
        """The times of the rows with these numbers."""
        times = [views.times(batch.column(self.time)) for batch in rows_between(self.batches, first, end)]
        return times[0] if len(times) == 1 else np.concatenate([np.zeros(0, self.dtype), *times])

    def take_late(self, late: LateRows) -> None:
        """Book the late rows that programs have found, also if the train failed behind them."""
        booked = {} if self.lent is None or not self.lent.measures else self._book(late.late)
        first = at = 0
        for batch in self.batches if len(late.late) else ():
            end = int(np.searchsorted(late.late, first + batch.num_rows))
            if end > at:
                rows = batch.take(pa.array(late.late[at:end] - first))
                measured = {measure: found[at:end] for measure, found in booked.items()}
                self.operator.ledger.add(Entry(rows, self.time, late.broken[at:end], booked=measured))
            first, at = first + batch.num_rows, end

    def _book(self, late: np.ndarray) -> Mapping[Measure, np.ndarray]:
        """How late these rows were, by other measures than the time. Only rows up to the last of them are looked at:
        where the train failed, no other is known to have a time."""
        assert self.lent is not None
        first, end = self._given_at, int(late[-1]) + 1 if len(late) else 0
        if end > first:
            self._measured.append(self.lent.measure(self._times(first, end), late[late >= first] - first))
        found: dict[Measure, list[np.ndarray]] = {}
        for some in self._measured:
            for measure, values in some.items():
                found.setdefault(measure, []).append(values)
        return {measure: np.concatenate(values) for measure, values in found.items()}

    def promises(self, late: LateRows) -> list[tuple[int, Promise]]:
        """The promises that follow from a train that programs have run, each with how many of its rows come before it.
        Most trains have none."""
        operator, guard = self.operator, self.guard
        cuts: Iterable[Cut] = ()
        if self.lent is not None:
            if self.lent.measures:
                self.lent.came(self._times(self._given_at, self.ends[-1]))
            self.lent.take(guard)
            if len(self.ends) > 1 or operator.progress[0].every is not None:
                cuts = self._due()
        elif len(guard.places):
            operator.ports.advance((Punctuation({self.time: guard.bounds.max().item()}),), 0)
            operator.forget_look()
            cuts = helping(self.time, guard.places.tolist(), np.maximum.accumulate(guard.bounds).tolist(), self._helps)
        found: list[tuple[int, Promise]] = []
        for place, made in cuts:
            if operator.gate.passes(made):
                found.append((place, made))  # not in a comprehension, because most trains have none
        if len(guard.places):
            operator._note(Punctuation({self.time: guard.bounds.max().item()}), self._behind(late))
        self.batches = ()
        for promise in operator.promises():
            found.append((self.ends[-1], promise))
        return found

    def _behind(self, late: LateRows) -> int:
        """How many rows on time came behind the promise that raised the bound last."""
        guard = self.guard
        place = int(guard.places[int(guard.bounds.argmax())])
        rows = sum(batch.num_rows for batch in self.batches)
        return rows - place - int((late.late >= place).sum())

    def _due(self) -> Iterator[Cut]:
        """The promises that came due on the way and help a consumer. Most batches have none, which the bound behind
        them tells."""
        lent, progress = self.lent, self.operator.progress[0]
        assert lent is not None
        bound = lent.tracker.bound
        if self._was_odd or bound is None or not progress.due(bound, progress.promised):
            return
        if not self._helps(Punctuation({self.time: bound})):
            progress.promised = bound  # the steps up to this one help no consumer, so they count as promised
            return
        first = 0
        for batch in self.batches:
            rows = batch.num_rows
            end = first + rows
            bound = lent.behind(views.times(batch.column(self.time))) if rows else None
            if bound is not None and progress.due(bound, progress.promised):
                if self._helps(Punctuation({self.time: bound})):
                    bounds = lent.within()
                    due = due_rows(progress, bounds, [*(row - first for row in self.ends if first < row < end), rows])
                    yield from helping(self.time, [first + row for row in due], bounds[due].tolist(), self._helps)
                    if progress.every is None and end in self.ends[:-1] and bound > self._least:
                        yield from helping(self.time, [end], [bound], self._helps)
                else:
                    progress.promised = bound
            first = end


def rows_between(batches: Sequence[pa.RecordBatch], first: int, end: int) -> Iterator[pa.RecordBatch]:
    """The rows of several batches with these numbers.

    >>> batches = [pa.record_batch({"x": [0, 1, 2]}), pa.record_batch({"x": [3, 4]})]
    >>> [b["x"].to_pylist() for b in rows_between(batches, 2, 4)]
    [[2], [3]]
    """
    start = 0
    for batch in batches:
        low, high = max(first - start, 0), min(end - start, batch.num_rows)
        if low < high:
            yield batch.slice(low, high - low)
        start += batch.num_rows
