"""Trains: consecutive elements of one input that are taken together (Scheduling paper, section 4.2).

`trains` makes them of what an input gives. `join` makes the rows of a train one batch. A promise between two batches
then keeps its place, as the number of rows before it: rows after it that it covers are late, as they would be one by
one. Only linear promises on one attribute can ride in a joined train.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import field
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa

from oop.frozen import frozen
from oop.operators.core.batches import concat
from oop.operators.core.operator import Element
from oop.operators.core.times import is_whole
from oop.punctuation import GroupPromises, Punctuation
from oop.punctuation.patterns import Bound

Train: TypeAlias = list[Element]
"""Elements that are taken together."""
TRAIN_ELEMENTS = 65_536
"""The most elements of a train, however few rows they have."""
Helps: TypeAlias = Callable[[Punctuation], bool]
"""Would a promise change something for a consumer?"""


@frozen(eq=False)
class JoinedTrain:
    """A train whose rows are one batch. ``ends`` are the numbers of rows up to the end of each batch; ``places[i]``
    rows come before the promise ``attribute < bounds[i]``."""

    rows: pa.RecordBatch
    ends: list[int]
    attribute: str | None = None
    places: list[int] = field(default_factory=list)
    bounds: list[Bound] = field(default_factory=list)

    @property
    def promises(self) -> int:
        return len(self.bounds)

    def running_bounds(self, given: Bound | None) -> np.ndarray:
        """What is promised before the first promise of the train, and after each of them."""
        floats = isinstance(self.bounds[0], float)
        least = -np.inf if floats else np.iinfo(np.int64).min
        first = least if given is None else given
        return np.maximum.accumulate(np.array([first, *self.bounds], np.float64 if floats else np.int64))

    def helping(self, helps: Helps) -> Iterator[tuple[int, Punctuation]]:
        """The promises that help, each with its place."""
        assert self.attribute is not None
        return helping(self.attribute, self.places, self.running_bounds(None)[1:].tolist(), helps)


def helping(
    attribute: str, places: Sequence[int], bounds: Sequence[Bound], helps: Helps
) -> Iterator[tuple[int, Punctuation]]:
    """The bounds that help, of some that never decrease, as promises with their places.

    The answer of ``helps`` may change after each promise that is given. If a bound helps, so does every greater one, so
    most need not be asked about.

    >>> list(helping("ts", [10, 20, 30], [5, 6, 7], lambda p: p.below["ts"] > 5))
    [(20, Punctuation(ts < 6)), (30, Punctuation(ts < 7))]
    """

    def asked(bound: Bound) -> bool:
        return helps(Punctuation._rise(attribute, bound))

    at = 0
    while at < len(bounds) and asked(bounds[-1]):
        if not asked(bounds[at]):  # otherwise it is the next one, and need not be searched for
            at = bisect_left(bounds, True, at + 1, key=asked)
        yield places[at], Punctuation._rise(attribute, bounds[at])
        at += 1


def trains(elements: Iterator[Element], rows: int) -> Iterator[Train]:
    """Elements in trains of about so many rows. If the input fails, the elements before are given first.

    >>> batch = pa.record_batch({"ts": [1, 2]})
    >>> [len(train) for train in trains(iter([batch, Punctuation({"ts": 2}), batch, batch]), 3)]
    [3, 1]
    """
    train: Train = []
    held = 0
    with closing_if_possible(elements):
        while True:
            try:
                element = next(elements)
            except StopIteration:
                break
            except Exception:
                if train:  # what was read before it went wrong is not lost
                    yield train
                raise
            train.append(element)
            if isinstance(element, pa.RecordBatch):
                held += element.num_rows
            if held >= rows or len(train) >= TRAIN_ELEMENTS:
                yield train
                train, held = [], 0
    if train:
        yield train


def begin_of(train: Train, rows: int) -> tuple[Train, Train]:
    """The first so many rows of a train, with the promises up to them, and the rest; a batch may be cut in two.

    >>> batch = pa.record_batch({"ts": [1, 2]})
    >>> [[len(e) for e in part] for part in begin_of([batch, batch, batch], 3)]
    [[2, 1], [1, 2]]
    """
    for place, element in enumerate(train):
        if not isinstance(element, pa.RecordBatch):
            continue
        if rows < element.num_rows:
            first = [element.slice(0, rows)] if rows else []
            return [*train[:place], *first], [element.slice(rows), *train[place + 1 :]]
        rows -= element.num_rows
    return train, []


@contextmanager
def closing_if_possible(iterator: Iterator[Any]) -> Iterator[None]:
    """A generator that is not read to its end is closed, so that its ``finally`` runs now, not some time later."""
    try:
        yield
    finally:
        close = getattr(iterator, "close", None)
        if close is not None:
            close()


def join(train: Sequence[Element], schema: pa.Schema) -> JoinedTrain | None:
    """The train with its rows as one batch, or None where its elements must go one by one.

    >>> batch = pa.record_batch({"ts": [1, 2]})
    >>> train = join([batch, Punctuation({"ts": 2}), batch], batch.schema)
    >>> train.rows.num_rows, train.attribute, train.places, train.bounds
    (4, 'ts', [2], [2])
    """
    batches: list[pa.RecordBatch] = []
    ends: list[int] = []
    places: list[int] = []
    bounds: list[Bound] = []
    attribute: str | None = None
    rows = 0
    for element in train:  # a hot loop: there may be very many small elements
        if isinstance(element, pa.RecordBatch):
            batches.append(element)
            rows += element.num_rows
            ends.append(rows)
            continue
        if isinstance(element, GroupPromises) or element.linear is None:
            return None
        about, bound = element.linear
        if about != attribute:
            if attribute is not None or about not in schema.names:
                return None
            attribute = about
        places.append(rows)
        bounds.append(bound)
    # other numbers and times need the care of `operators/source/carried.py`
    kind = int if attribute is None or is_whole(schema.field(attribute).type) else float
    if bounds and (set(map(type, bounds)) != {kind} or not -(2**63) <= min(bounds) <= max(bounds) < 2**63):
        return None
    if not batches:
        return None
    rows_together = concat(batches)
    return None if rows_together is None else JoinedTrain(rows_together, ends, attribute, places, bounds)
