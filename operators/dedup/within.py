"""Dedup within a span: rows of a key at most ``within`` apart are the same event.

First and last are decided in order of time, whatever order rows come in: the first row of a key begins a span ``[t0, t0
+ within]``, the rows in it are its duplicates, and the next row behind it begins the next span. With ``keep="any"`` a
row passes if no row of its key that is near has been put out. That is decided row by row in order of arrival, however
rows are cut into batches.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import pyarrow as pa

from oop.kernels import dispatch, views
from oop.kernels.dictionaries import concat_batches
from oop.kernels.signatures.joins import Reach
from oop.operators.core.batches import cut
from oop.operators.core.compute import compute as pc
from oop.operators.core.oldest import oldest_of
from oop.operators.core.operator import Held
from oop.operators.core.times import is_whole
from oop.operators.dedup.best_rows import BestRows
from oop.operators.dedup.keyed_times import KeyedTimes
from oop.operators.dedup.oldest import oldest_kept, oldest_span
from oop.operators.dedup.operator import DedupOperator
from oop.operators.dedup.seen_keys import SeenKeys
from oop.operators.join.band import LEFT, Band
from oop.operators.join.promises import Moved
from oop.punctuation import Frontier, Punctuation

_MANY = 65_536  # this many rows are put into spans at a time
_ANYWHERE = Reach(-math.inf, math.inf)


class Within(DedupOperator):
    """The common base: keys with times, held until ``bound - t > within``."""

    times: KeyedTimes

    def prepare(self) -> None:
        spec = self.spec
        assert spec.time is not None and spec.within is not None
        self.time, self.within = spec.time, spec.within
        self.times = KeyedTimes(self.schema, spec.keys, self.time, self.within, spec.keep == "last")

    def part_timeless(self, batch: pa.RecordBatch) -> tuple[pa.RecordBatch, pa.RecordBatch]:
        """The rows with a time, and those without, which are near no other row, so they pass."""
        column = batch.column(self.time)
        there = column.is_valid() if is_whole(column.type) else pc.fill_null(pc.invert(pc.is_nan(column)), False)
        if views.booleans(there).all():
            return batch, batch.slice(0, 0)
        return batch.filter(there), batch.filter(pc.invert(there))

    def forget(self, promises: Sequence[Punctuation]) -> Iterator[pa.RecordBatch]:
        return self.times.take_covered(self.covering(promises, held=True), self.batch_rows)

    def begins(self, numbers: np.ndarray, times: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Rows in order of key, then of time, and which of these begin a span."""
        order = np.lexsort((times, numbers))
        return order, dispatch.kernels().begin_spans(numbers[order], times[order], self.within)


class PassOneNear(Within):
    """keep="any": whether a row passes is decided when it comes."""

    def state(self) -> Mapping[str, SeenKeys | KeyedTimes]:
        return {"": self.times}

    def take(self, batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
        batch, timeless = self.part_timeless(batch)
        if timeless.num_rows:
            yield self.leaving(timeless)
        if not batch.num_rows:
            return
        numbers, times = self.times.numbers(batch), views.times(batch.column(self.time))
        fresh = np.ones(len(times), np.bool_)
        fresh[self.times.near(numbers, times, Reach(-self.within, self.within))[0]] = False
        left = np.flatnonzero(fresh)
        rows = left[self._first_comers(numbers[left], times[left])]
        if len(rows):
            self.times.insert(numbers[rows], times[rows])
            yield self.leaving(batch, rows)

    def _first_comers(self, numbers: np.ndarray, times: np.ndarray) -> np.ndarray:
        """The rows that pass, of rows given in order of arrival.

        Clusters of rows of a key that are further apart than the span do not influence each other. If the rows of a
        cluster come in order of time, those that begin a span pass. If all are near each other, the first passes. Only
        in other clusters rows are examined one by one.
        """
        order, begins = self.begins(numbers, times)
        keys, moments = numbers[order], times[order]
        apart = np.append(True, (keys[1:] != keys[:-1]) | (_steps(moments) > self.within))[: len(order)]
        of = np.cumsum(apart) - 1
        disordered = np.zeros(of[-1] + 1 if len(of) else 0, np.bool_)
        disordered[of[1:][(order[1:] < order[:-1]) & ~apart[1:]]] = True
        begins &= ~disordered[of]
        starts = np.append(np.flatnonzero(apart), len(order))
        for i in np.flatnonzero(disordered).tolist():
            here = slice(starts[i], starts[i + 1])
            begins[starts[i] + _pass_in_turn(order[here], moments[here], self.within)] = True
        return np.sort(order[begins])

    def free(self, promises: Sequence[Punctuation]) -> Iterator[pa.RecordBatch]:
        for _ in self.forget(promises):
            pass  # their rows have left long ago
        yield from ()


class KeepInSpan(Within):
    """keep="first" and "last": holds one waiting row for each key and time, and for each open span its start, with
    "last" also its last row so far."""

    def prepare(self) -> None:
        super().prepare()
        keys = tuple(k for k in self.spec.keys if k != self.time)
        ties = [n for n in self.spec.ties(self.schema) if n != self.time]
        self.last = self.spec.keep == "last"
        self.waiting = BestRows(self.schema, (*keys, self.time), self.time, ties, self.last)

    def state(self) -> Mapping[str, SeenKeys | KeyedTimes]:
        return {"waiting/": self.waiting, "spans/": self.times}

    def take(self, batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
        batch, timeless = self.part_timeless(batch)
        if timeless.num_rows:
            yield self.leaving(timeless)
        self.waiting.add(self.leaving(batch))

    def free(self, promises: Sequence[Punctuation]) -> Iterator[pa.RecordBatch]:
        together: list[pa.RecordBatch] = []
        for rows in self.waiting.take_covered(self.covering(promises), _MANY):  # in order of time
            together.append(rows)
            if sum(r.num_rows for r in together) >= _MANY:
                yield from self._decide(together)
                together = []
        if together:
            yield from self._decide(together)
        yield from self.forget(promises)

    def _decide(self, together: list[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Put rows into spans. No earlier row can come any more."""
        rows = concat_batches(together)
        numbers, times = self.times.numbers(rows), views.times(rows.column(self.time))
        open_ = np.unique(self.times.near(numbers, times, _ANYWHERE)[1])  # the open span of each key, if any
        theirs, starts = self.times.read(open_)
        order, begins = self.begins(np.append(theirs, numbers), np.append(starts, times))
        every = np.append(theirs, numbers)[order]
        firsts = np.flatnonzero(begins)  # each span's first and last row, and whether it is the last span of its key
        lasts = np.append(firsts[1:], len(order)) - 1
        newest = np.append(every[firsts[1:]] != every[firsts[:-1]], True)
        began = np.append(starts, times)[order[firsts]]
        chosen = order[lasts if self.last else firsts]
        kept = _rows(rows, chosen[newest] - len(open_)) if self.last else None
        leaves = chosen[~newest] if self.last else chosen  # last: the last rows of spans that another span follows
        from_rows = leaves[leaves >= len(open_)] - len(open_)
        if len(from_rows):
            yield from cut(_rows(rows, from_rows), self.batch_rows)
        if self.last and (leaves < len(open_)).any():
            yield from cut(self.times.rows(open_[leaves[leaves < len(open_)]]), self.batch_rows)
        self.times.insert(every[firsts[newest]], began[newest], kept)
        if len(open_):
            self.times.remove(open_)

    def oldest(self) -> Held | None:
        """The oldest waiting row, or with "last" that of a span that may still get a row."""
        frontier = self.ports.frontiers[0]
        row = oldest_kept(self.waiting, self.spec.keys, frontier)
        return row if row is not None and not self.last else oldest_of([row, self._oldest_span(frontier)])

    def _oldest_span(self, frontier: Frontier) -> Held | None:
        complete = Moved(Band(0, self.within), LEFT)
        return oldest_span(self.times, frontier, complete)


def _steps(ascending: np.ndarray) -> np.ndarray:
    """The differences of ascending times. They are unsigned, because two int64 may be further apart than int64
    holds."""
    return np.diff(ascending.view(np.uint64) if ascending.dtype == np.int64 else ascending)


def _pass_in_turn(turns: np.ndarray, times: np.ndarray, within: int | float) -> np.ndarray:
    """The rows that pass if they come in the order ``turns``: a row passes if no row near it has. Times ascend.

    >>> _pass_in_turn(np.array([1, 0, 2]), np.array([1, 3, 5]), 2), _pass_in_turn(np.array([0, 2, 1]), np.arange(3), 1)
    (array([1]), array([0, 2]))
    """
    moments = times.tolist()
    passed: list[int | float] = []
    found = []
    for place in np.argsort(turns).tolist():
        moment = moments[place]
        at = bisect_left(passed, moment)
        before = at > 0 and moment - passed[at - 1] <= within
        if not before and not (at < len(passed) and passed[at] - moment <= within):
            passed.insert(at, moment)
            found.append(place)
    return np.sort(np.array(found, np.int64))


def _rows(batch: pa.RecordBatch, rows: np.ndarray) -> pa.RecordBatch:
    return batch.take(pa.array(rows))
