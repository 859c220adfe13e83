"""The guard of an input: which rows are late, what they broke, and where in a batch a promise comes due.

A row is late iff it is under the bound implied by the rows before it, so lateness does not depend on batches. Slack by
time and by rows go through kernels, by group too; a timer, and every policy that has no kernel, goes row by row through
its executable specification (`oop.punctuation.progress`). The policy says which (`judges`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TypeAlias

import numpy as np
import pyarrow as pa

from oop.kernels import dispatch, views
from oop.operators.core.breaches import broken_promises
from oop.operators.core.row_groups import groups_of
from oop.operators.core.train import Helps, helping
from oop.operators.source.entries import Breach, Entry
from oop.operators.source.judges import judge_of
from oop.operators.source.judges.judge import Greater, Judge
from oop.punctuation import Frontier, GroupPromises, Punctuation
from oop.punctuation.group_promises import Promise
from oop.punctuation.policy_fields import Judgement
from oop.punctuation.progress import Progress

Broken: TypeAlias = tuple[np.ndarray, Entry]
"""Which rows of a batch broke a promise, and the ledger's entry for them."""
Cut: TypeAlias = tuple[int, Punctuation]
"""A promise that comes due before a row of the batch."""

ROWS_A_STEP = 512  # with at least so many rows a step, the rows that reach steps are found by bisection


class Guard:
    """``time`` is the attribute whose values are known to be there and finite."""

    def __init__(self, progress: Sequence[Progress], time: str) -> None:
        self.judges = [judge_of(p) for p in progress if p.policy.judgement is not Judgement.NOTHING]
        self.alone = self.judges[0] if len(self.judges) == 1 and self.judges[0].attribute == time else None
        self.time = time
        self.kernels = dispatch.kernels()

    def resume(self, rows: int) -> None:
        """Tell the judges that the policies were restored to their state after ``rows`` rows."""
        for judge in self.judges:
            judge.resume(rows)

    def judge(
        self, batch: pa.RecordBatch, given: Frontier, helps: Helps, ends: Sequence[int] = ()
    ) -> tuple[np.ndarray | None, list[Broken], Iterable[Cut]]:
        """Late rows (None: none), what they broke, and promises that come due on the way and help a consumer.

        ``given`` is what the data itself has promised. ``ends`` are the ends of the batches that were joined into this
        one; at each of them a promise may come due, too. Whether a promise helps is asked when those before it have
        left.
        """
        if given.is_empty and (not self.judges or self._scan(batch, helps, ends)):
            return None, [], []
        found: list[Breach] = []
        cuts: Iterable[Cut] = ()
        for judge in self.judges:
            below, bounds, greater, due = self._bounds(judge, batch, ends)
            if due:
                cuts = helping(judge.attribute, due, bounds[due].tolist(), helps)
            if below.any():
                found.append(Breach(below, judge.attribute, bounds, None, greater))
        found += [_breach(promise, rows, batch) for promise, rows in broken_promises(given, batch)]
        if not found:
            return None, [], cuts
        late = np.zeros(batch.num_rows, bool)
        entries: list[Broken] = []
        for i, breach in enumerate(found):
            new = breach.rows & ~late
            if new.any():
                entries.append((new, breach.entry(batch, new, found[i + 1 :])))
                late |= new
        return late, entries, cuts

    def _scan(self, batch: pa.RecordBatch, helps: Helps, ends: Sequence[int]) -> bool:
        """Does one look at the times tell that no row is late and no promise on the way helps? It does for most
        batches."""
        return (
            self.alone is not None
            and self.alone.looks
            and self.alone.passes(views.times(batch.column(self.time)), helps, ends)
        )

    def _bounds(
        self, judge: Judge, batch: pa.RecordBatch, ends: Sequence[int]
    ) -> tuple[np.ndarray, np.ndarray, Greater | None, list[int]]:
        """For each row whether it is below the bound that the rows before it imply, and that bound. Under slack by rows
        also, for each late row, at least and at most how many greater rows came before it. And the rows before which
        the bound comes due as a promise, where one policy makes them."""
        counts = _countable(batch.column(judge.attribute))
        rows = batch if counts is None else batch.filter(pa.array(counts))
        times = views.times(rows.column(judge.attribute))
        late, bounds, greater = judge.judge(times, rows)
        if counts is not None:
            some_late, some_bounds = late, bounds
            late, bounds = np.zeros(len(counts), bool), np.full(len(counts), _least(times.dtype), times.dtype)
            late[counts], bounds[counts] = some_late, some_bounds
        progress = judge.progress
        # bisection finds the steps only where every row has a bound
        alone = progress.rises and len(self.judges) == 1 and (progress.every is None or counts is None)
        return late, bounds, greater, due_rows(progress, bounds, ends) if alone else []


def _countable(column: pa.Array) -> np.ndarray | None:
    """The rows whose value can be judged and moves a bound; None if that holds for all.

    A second attribute may be null, NaN or infinite: null and NaN break no promise, and infinity must not make one that
    covers everything.
    """
    counts = None
    if column.null_count:
        counts = views.booleans(column.is_valid())
    if pa.types.is_floating(column.type):
        values = views.times(column.fill_null(0.0))
        judged = ~np.isnan(values) & (values != np.inf)
        counts = judged if counts is None else counts & judged
    return None if counts is None or counts.all() else counts


def due_rows(progress: Progress, bounds: np.ndarray, ends: Sequence[int]) -> list[int]:
    """The rows before which a bound comes due as a promise: where it reaches a new step of ``every``; without steps, at
    the ends of the batches that were joined, as if they had come one by one."""
    least, every = _least(bounds.dtype), progress.every
    if every is None:
        return [end for end in ends[:-1] if end < len(bounds) and bounds[end] > least]
    start = int(np.searchsorted(bounds, least, side="right"))
    found: list[int]
    if isinstance(every, int) and start < len(bounds) and _are_few_steps(bounds, start, every):
        found = list(_steps(bounds, start, every, progress.promised))
        if found:
            progress.promised = bounds[found[-1]].item()
        return found
    with np.errstate(all="ignore"):
        reached = np.floor_divide(bounds[start:], every)  # neither bounds nor the steps that they reach decrease
    promised = progress.promised
    new = np.ones(len(reached), bool)
    new[1:] = reached[1:] > reached[:-1]
    if promised is not None:
        new &= reached > promised // every
    found = (np.flatnonzero(new) + start).tolist()
    if found:
        progress.promised = bounds[found[-1]].item()
    return found


def _are_few_steps(bounds: np.ndarray, start: int, every: int) -> bool:
    """Do whole bounds reach so few steps that it is faster to look for each?"""
    if bounds.dtype != np.int64:
        return False
    return int(bounds[-1]) // every - int(bounds[start]) // every < len(bounds) // ROWS_A_STEP


def _steps(bounds: np.ndarray, start: int, every: int, promised: int | float | None) -> Iterator[int]:
    """The rows from ``start`` on whose bound is the first to reach a new step."""
    step = int(bounds[start]) // every - 1 if promised is None else int(promised // every)
    last = int(bounds[-1]) // every
    while step < last:
        start += int(np.searchsorted(bounds[start:], (step + 1) * every))
        step = int(bounds[start]) // every
        yield start


def _breach(promise: Promise, rows: np.ndarray, batch: pa.RecordBatch) -> Breach:
    if isinstance(promise, GroupPromises):
        return _breach_of_groups(promise, rows, batch)
    if len(promise.below) != 1:
        return Breach(rows, None, None, str(promise))
    ((attribute, bound),) = promise.below.items()
    return Breach(rows, attribute, np.full(len(rows), bound), str(promise) if promise.where else None)


def _breach_of_groups(promises: GroupPromises, rows: np.ndarray, batch: pa.RecordBatch) -> Breach:
    """The breach of promises about groups: for each row its group's bound, also as text."""
    of, groups = groups_of(promises.columns, batch.filter(pa.array(rows)))
    said = dict(zip(promises.bounds, map(str, promises), strict=True))
    numbers = np.array([promises.bounds.get(group, 0) for group in groups])  # a dictionary may have more than occurs
    bounds, places = np.zeros(len(rows), numbers.dtype), np.zeros(len(rows), np.int32)
    bounds[rows], places[rows] = numbers[of], of
    texts = pa.array([said.get(group, "") for group in groups], pa.string())
    return Breach(rows, promises.attribute, bounds, pa.DictionaryArray.from_arrays(pa.array(places), texts))


def _least(dtype: np.dtype) -> int | float:
    return np.iinfo(np.int64).min if dtype == np.int64 else -np.inf
