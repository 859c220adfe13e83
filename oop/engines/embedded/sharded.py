"""A stateful operator on several threads: rows are parted by key, and each shard has an operator of its own.

To the engine it is one operator with the two hooks. Its output comes a little later, and `ready` gives it. Any thread
may part a batch. A shard takes its items in order, on one thread at a time, so that no promise overtakes a row. The
output promises what all shards promise, like a union of the shards.
"""

from __future__ import annotations

import itertools
import sys
import threading
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from time import perf_counter
from typing import Any

import pyarrow as pa

from oop.engines.embedded.pool import Pool
from oop.engines.embedded.shard_program import ShardProgram
from oop.errors import OopError
from oop.operators.core.context import Context
from oop.operators.core.exchange import part_batches
from oop.operators.core.marks import is_partial
from oop.operators.core.oldest import oldest_of
from oop.operators.core.operator import Element, Held, Operator
from oop.operators.core.parts import FRONTIERS, SHARDS, Part, check_shards, text_part
from oop.operators.core.ports import Ports
from oop.operators.core.spec import Spec
from oop.punctuation import Frontier, GroupPromises, Punctuation
from oop.punctuation.crossing import Met
from oop.punctuation.group_promises import Advance, Promise
from oop.punctuation.patterns import Equal

TURN_BATCHES = 2  # how many full batches a box or a shard puts out before others have their turn


class Item:
    """Something that waits for all shards, numbered in the order in which it came."""

    __slots__ = ("number", "port")

    def __init__(self, number: int, port: int) -> None:
        self.number = number
        self.port = port


class Promises(Item):
    """Promises for every shard, which a shard takes together. Promises are put together here and not by the shards. If
    each shard took together whatever waits for it, its promises would depend on the timing of threads."""

    __slots__ = ("advance",)

    def __init__(self, number: int, port: int, advance: Advance) -> None:
        super().__init__(number, port)
        self.advance = advance


class Ticket(Item):
    """Some batches. The thread that parts them by shard fills in ``by_shard``, which has the rows of each shard."""

    __slots__ = ("batches", "by_shard")

    def __init__(self, number: int, port: int, batches: Sequence[pa.RecordBatch]) -> None:
        super().__init__(number, port)
        self.batches = batches
        self.by_shard: list[pa.RecordBatch] | None = None


@dataclass(eq=False)
class Shard:
    """One of the operators, and the work that waits for it."""

    number: int
    operator: Operator
    program: ShardProgram | None = None  # if there is one, it takes the batches that are for it
    queue: deque[Item] = field(default_factory=deque)
    busy: bool = False
    pending: Iterator[Element] | None = None  # the rest of the output of the first item in the queue
    finished: int = -1  # the number of the last item that it has finished


class Sharded(Operator):
    """``columns`` are, for each port, the columns whose values decide the shard. ``pool`` runs the work.

    ``waiting_rows`` is how many rows are on their way through the shards, where a promise counts as one row for each
    shard. About ``room`` rows of results may wait to be taken; shards that would put out more pause in the middle of an
    item.
    """

    def __init__(
        self, spec: Spec, context: Context, columns: Sequence[tuple[str, ...]], shards: int, pool: Pool
    ) -> None:
        self.shards = [Shard(i, spec.start(context)) for i in range(shards)]
        self.columns = columns
        self.needed = _needed(spec, context)
        self.pool = pool
        self.batch_rows = context.batch_rows
        self.ports = Ports(Met(shards), Context([spec.schema(context.inputs)] * shards))
        self.said = Frontier()  # the promises that have been taken from here
        self.waiting_rows = 0
        self.room = sys.maxsize
        self.seconds = 0.0
        self.peak_rows = 0
        self.peak_bytes = 0
        self._lock = threading.Lock()
        self._out: deque[Element] = deque()
        self._out_rows = 0
        self._paused = False  # is there a shard that waits until results are taken?
        self._settling = False  # `settle` takes no results, so shards must not pause until it has ended
        self._numbers = itertools.count()
        self._unfinished = 0
        self._behind = False  # has a shard made promises that other shards have not made yet?
        self._failure: Exception | None = None
        self._failed_at = sys.maxsize  # the number of the first item that failed

    def process_batch(self, batch: pa.RecordBatch, port: int = 0) -> Iterator[Element]:
        return self.process_batches([batch], port)

    def process_batches(self, batches: Sequence[pa.RecordBatch], port: int = 0) -> Iterator[Element]:
        """Take batches that stand in a row and have the same marks. They are parted together."""
        ticket = Ticket(next(self._numbers), port, batches)
        with self._lock:
            self._append(ticket, sum(batch.num_rows for batch in batches))
        self.pool.submit(partial(self._part, ticket))
        return self.ready()

    def process_punctuation(self, advance: Advance, port: int = 0) -> Iterator[Element]:
        with self._lock:
            self._append(Promises(next(self._numbers), port, advance), len(advance) * len(self.shards))
            self._wake(self.shards)
        return self.ready()

    def ready(self) -> Iterator[Element]:
        """The output so far. An error of a thread is raised here, when all output of what came before it has left."""
        while True:
            with self._lock:
                if not self._out:
                    failure = self._failure if self.is_idle else None
                    break
                element = self._out.popleft()
                self._out_rows -= _rows_of(element)
                if self._paused and not self._is_full:
                    self._paused = False
                    self._wake(self.shards)
            if isinstance(element, Punctuation | GroupPromises):
                self.said.take(element)
            yield element
        if failure is not None:
            raise failure

    @property
    def promised(self) -> Frontier:
        return self.said

    @property
    def has_output(self) -> bool:
        return bool(self._out) or (self._failure is not None and self.is_idle)

    @property
    def is_idle(self) -> bool:
        return not self._unfinished

    def settle(self) -> None:
        """Wait until everything that was taken in has been processed, however many results wait by then."""
        self._settling = True
        try:
            with self._lock:
                self._wake(self.shards)
            while not self.is_idle:
                if self.pool.is_closed:
                    raise OopError("the run has ended, with rows still on their way", hint="save before stop()")
                self.pool.help()
        finally:
            self._settling = False

    @property
    def _is_full(self) -> bool:
        return self._out_rows >= self.room and not self._settling

    def _append(self, item: Item, weight: int) -> None:
        self.waiting_rows += weight
        self._unfinished += len(self.shards)
        for shard in self.shards:
            shard.queue.append(item)

    def _wake(self, shards: Iterable[Shard]) -> None:
        """Submit the work of each shard that can go on to the pool. The caller must hold the lock."""
        if self._is_full:
            self._paused = True
            return
        for shard in shards:
            if not shard.busy and _can_go_on(shard):
                shard.busy = True
                self.pool.submit(partial(self._work, shard))

    def _part(self, ticket: Ticket) -> None:
        start = perf_counter()
        by_shard: list[pa.RecordBatch] = []
        try:
            rows = [b if is_partial(b) else b.select(self.needed[ticket.port]) for b in ticket.batches]
            by_shard = part_batches(rows, self.columns[ticket.port], len(self.shards))
        except Exception as error:
            self._fail(error, ticket.number)
        with self._lock:
            ticket.by_shard, ticket.batches = by_shard, ()
            self.seconds += perf_counter() - start
            self._wake(self.shards)

    def _work(self, shard: Shard) -> None:
        """Begin or continue the first item of a shard, then submit the shard again. One call does a bounded amount of
        work, so that it does not keep the reader's thread long, and one shard does not delay the others."""
        start = perf_counter()
        with self._lock:
            item = shard.queue[0]
            # items behind one that failed are only removed; items before it are still processed
            counts = item.number < self._failed_at
        done = True
        try:
            if counts:
                if shard.pending is None:
                    shard.pending = self._process(shard, item)
                done = self._emit(shard, shard.pending, item)
        except Exception as error:  # anything else, such as an interrupt, goes to the pool and ends the run at once
            self._fail(error, item.number)
        with self._lock:
            if done:
                shard.pending, shard.finished = None, item.number
                shard.queue.popleft()
                self._unfinished -= 1
                self.waiting_rows -= _weight(item, shard)
                self._catch_up(item)
            self.seconds += perf_counter() - start
            shard.busy = False
            self._wake([shard])

    def _process(self, shard: Shard, item: Item) -> Iterator[Element]:
        if isinstance(item, Ticket):
            assert item.by_shard is not None
            rows = item.by_shard[shard.number]
            if not rows.num_rows:
                return
            if shard.program is not None and shard.program.fits(rows):
                yield from shard.program.take(rows)
            else:
                yield from shard.operator.process_batch(rows, item.port)
            return
        assert isinstance(item, Promises)
        self._note_peak()  # a promise is about to free state, so state is at a peak now
        yield from shard.operator.process_punctuation(item.advance, item.port)

    def _emit(self, shard: Shard, elements: Iterator[Element], item: Item) -> bool:
        """Put out one turn of the output. False if there may be more."""
        # If rows caused a promise, and it names a value of each column that decides the shard, then it is about a group
        # that no other shard has.
        own = self.columns[item.port] if isinstance(item, Ticket) else None
        rows = 0
        for element in elements:
            with self._lock:
                if isinstance(element, Punctuation | GroupPromises):
                    for new in self.ports.advance((element,), shard.number):
                        self._out.extend(self._following(new, own))
                else:
                    self._out.append(element)
                    self._out_rows += element.num_rows
                    rows += element.num_rows
            if rows >= TURN_BATCHES * self.batch_rows or self._is_full:
                return False
        return True

    def _following(self, promise: Promise, own: tuple[str, ...] | None) -> list[Promise]:
        """The promises of the whole operator that follow from a shard's new promise. If rows caused the promise,
        ``own`` are the columns that decide the shard, else None."""
        if isinstance(promise, GroupPromises):
            alone = own is not None and set(own) <= set(promise.columns)
            return self.ports.leaving((promise,)) if alone else self.ports.promises((promise,))
        if own is not None and all(isinstance(promise.where.get(c), Equal) for c in own):
            return self.ports.leaving((promise,))
        # Where promises are about groups of several columns, a promise leaves when the last shard has made it. The meet
        # of all shards is not taken while some are behind, because it would tell apart all combinations of groups.
        frontiers = self.ports.frontiers
        if not any(f.has_several or len(f.by) > 1 for f in frontiers):
            return self.ports.promises((promise,))
        if all(frontier.covers(promise) for frontier in frontiers):
            return self.ports.leaving((promise,))
        self._behind = True
        return []

    def _catch_up(self, item: Item) -> None:
        """Once all shards have finished this item, put out what else follows from their promises together. As a rule
        all shards have promised the same then, and nothing else follows."""
        if not self._behind or any(shard.finished != item.number for shard in self.shards):
            return
        self._behind = False
        first, *others = self.ports.frontiers
        if any(first != other for other in others):
            self._out.extend(self.ports.whole())

    def _fail(self, error: Exception, number: int) -> None:
        with self._lock:
            if number < self._failed_at:
                self._failure, self._failed_at = error, number

    def _note_peak(self) -> None:
        with self._lock:
            self.peak_rows = max(self.peak_rows, self.buffered_rows)
            self.peak_bytes = max(self.peak_bytes, self.state_bytes)

    @property
    def buffered_rows(self) -> int:
        return sum(shard.operator.buffered_rows for shard in self.shards)

    @property
    def state_bytes(self) -> int:
        return sum(shard.operator.state_bytes for shard in self.shards)

    @property
    def ledgers(self) -> Sequence[Any]:
        return [ledger for shard in self.shards for ledger in shard.operator.ledgers]

    @property
    def late_unused(self) -> int:  # type: ignore[override]
        return sum(shard.operator.late_unused for shard in self.shards)

    @property
    def note(self) -> str:  # type: ignore[override]
        """The notes of all shards, each of which decides by itself."""
        return "; ".join(sorted({shard.operator.note for shard in self.shards} - {""}))

    @property
    def shows_open(self) -> bool:  # type: ignore[override]
        return all(shard.operator.shows_open for shard in self.shards)

    def open_results(self) -> Iterator[pa.RecordBatch]:
        for shard in self.shards:
            yield from shard.operator.open_results()

    def oldest(self) -> Held | None:
        """The oldest thing that any shard holds, when everything taken in has been processed (or the run has ended)."""
        if self.pool.is_closed:
            self.pool.rest()
        else:
            self.settle()
        return oldest_of([s.operator.oldest() for s in self.shards])

    def save(self) -> Iterator[Part]:
        """The parts of every shard, under its number. What still waits is processed first."""
        self.settle()
        yield text_part(SHARDS, len(self.shards))
        yield self.ports.save()
        for shard in self.shards:
            yield from ((f"{shard.number}/{key}", part) for key, part in shard.operator.save())

    def load(self, parts: Iterable[Part]) -> None:
        found = dict(parts)
        check_shards(found, len(self.shards))
        own = found.pop(FRONTIERS)
        assert own is not None
        self.ports.load(own)
        self.said = self.ports.out.copy()
        for shard in self.shards:
            prefix = f"{shard.number}/"
            shard.operator.load([(k.removeprefix(prefix), p) for k, p in found.items() if k.startswith(prefix)])


def _can_go_on(shard: Shard) -> bool:
    if not shard.queue:
        return False
    first = shard.queue[0]
    return not isinstance(first, Ticket) or first.by_shard is not None


def _rows_of(element: Element) -> int:
    return element.num_rows if isinstance(element, pa.RecordBatch) else 0


def _weight(item: Item, shard: Shard) -> int:
    if isinstance(item, Ticket):
        return item.by_shard[shard.number].num_rows if item.by_shard else 0
    return len(item.advance) if isinstance(item, Promises) else 0


def _needed(spec: Spec, context: Context) -> list[list[str]]:
    """For each port, the columns that the operator must be given. Other columns need not be parted."""
    asked = spec.needs(context.wanted, context.inputs)
    return [
        [name for name in schema.names if columns is None or name in columns]
        for schema, columns in zip(context.inputs, asked, strict=True)
    ]
