"""Boxes: operators made ready to run (Aurora's word). The queues between them are in `arcs.py`.

A box takes elements from the arcs that lead to it, and puts its output on the arcs that lead away. Boxes and arcs count
what passes; the metrics of a run are made of these counts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from time import perf_counter
from typing import Protocol

import pyarrow as pa

from oop.engines.embedded.arcs import Arc, count_promises
from oop.engines.embedded.sharded import TURN_BATCHES
from oop.errors import OopError, PunctuationViolated
from oop.operators.core.batches import BATCH_ROWS, cut
from oop.operators.core.breaches import broken_promises
from oop.operators.core.coverage import matching
from oop.operators.core.marks import is_late, is_partial
from oop.operators.core.operator import Element, Operator
from oop.operators.source.operator import InputOperator
from oop.operators.windows.bucket import WID_START
from oop.plan.graph import Node
from oop.punctuation import Frontier, Punctuation
from oop.punctuation.group_promises import Advance, Promise, one_by_one

CAPACITY_ROWS = 524_288  # rows that may wait in a queue, or be on their way through other threads


NEXT_ROUND = -1
"""As the round of a box's last turn: the round that is about to begin."""


class Gauge:
    """Rows held by all boxes of a run together, now and at the peak."""

    def __init__(self) -> None:
        self.held = 0
        self.peak = 0

    def change(self, by: int) -> None:
        self.held += by
        self.peak = max(self.peak, self.held)


class Notes(Protocol):
    """Something that notes each promise that leaves a box (`stamps.py`). ``last`` is the last promise that was new."""

    last: Promise | None

    def note(self, promise: Promise) -> None: ...


class PromiseListener(Protocol):
    """Something that notes each promise that comes to a box or leaves it (`pulses.py`)."""

    def came(self) -> None: ...

    def left(self, promise: Promise) -> None: ...


class TakesBatches(Protocol):
    """Something that may take a batch in the place of the box (`inner_superbox.py`)."""

    def take(self, batch: pa.RecordBatch) -> bool: ...


@dataclass(eq=False)
class Box:
    """A running operator with the arcs that it reads and feeds. With ``check`` the box watches that its operator keeps
    its own promises.

    One element may give very much output. When a queue behind the box is full, or the box has put out the rows of a
    turn, the rest of the output stays ``pending``: it is not made yet, and the box takes nothing else before it. No
    batch that leaves has more than ``batch_rows``.
    """

    node: Node
    operator: Operator
    gauge: Gauge = field(default_factory=Gauge)
    inputs: list[Arc[Box]] = field(default_factory=list)
    outputs: list[Arc[Box]] = field(default_factory=list)
    check: bool = False
    batch_rows: int = BATCH_ROWS
    queue_rows: int | None = None
    turn_rows: int = TURN_BATCHES * BATCH_ROWS
    rows_in: int = 0
    rows_out: int = 0
    batches_in: int = 0
    batches_out: int = 0
    promises_in: int = 0
    promises_out: int = 0
    seconds: float = 0.0
    peak_buffered: int = 0
    peak_bytes: int = 0
    held: int = 0
    failed: bool = False
    stamps: Notes | None = None  # of a source: when it made its promises
    pulse: PromiseListener | None = None  # with `silent_for=`: when it promised, and how long promises waited
    pending: Iterator[Element] | None = None
    unfinished: bool = False  # its last turn ended before its work did
    round: int = 0  # the round of its last turn

    def __post_init__(self) -> None:
        self._turn_ends = 0  # the value of `rows_out` at which the turn ends
        self.exits = self.outputs
        """The arcs on which rows may leave because of rows that it takes."""
        self.superbox: TakesBatches | None = None  # of which it is the first box, if it is no source
        self.capacity = CAPACITY_ROWS if self.queue_rows is None else self.queue_rows
        """The capacity, in rows, of the queues behind it."""

    @property
    def input_operator(self) -> InputOperator:
        """The operator of a box whose node is a source."""
        assert isinstance(self.operator, InputOperator)
        return self.operator

    @property
    def frontier(self) -> Frontier:
        """All that it has promised."""
        return self.operator.promised

    @property
    def has_work(self) -> bool:
        if self.failed:
            return False
        for arc in self.inputs:  # loops without generators, here and below: they run many times for each batch
            if arc.queue:
                return True
        return self.pending is not None

    @property
    def is_full(self) -> bool:
        """Is a queue behind it full? The queue of the result counts too."""
        for arc in self.outputs:
            if arc.queued_rows >= self.capacity and (arc.target is None or not arc.target.failed):
                return True
        return False

    @property
    def can_run(self) -> bool:
        """Has it work, and do the boxes behind it have room for what comes out?"""
        if self.failed:
            return False
        if self.pending is None:
            for arc in self.inputs:
                if arc.queue:
                    break
            else:
                return False
        for arc in self.exits:
            if arc.queued_rows >= self.capacity and arc.target is not None and not arc.target.failed:
                return False
        return True

    @property
    def is_pushed_back(self) -> bool:
        """Does a box behind it have more waiting than its queue should hold?"""
        for arc in self.exits:
            if arc.queued_rows >= self.capacity and arc.target is not None and not arc.target.failed:
                return True
        return False

    def run(self, rows: int | None) -> bool:
        """Take at most this many rows (None: all that wait), but no more than a turn, from the ports in turn. True if
        there was anything to do."""
        taken, worked = 0, False
        turn = self.turn_rows  # the rows that it may take, and put out, before others have their turn
        self._turn_ends = self.rows_out + turn
        rows = turn if rows is None else min(rows, turn)
        if self.pending is not None:
            self._go_on(iter, self.pending)
            worked = True
        waits = True
        while waits and self.pending is None and taken < rows:
            waits = False
            for arc in self.inputs:
                if not arc.queue:
                    continue
                if self.pending is not None:
                    break
                if isinstance(arc.queue[0], pa.RecordBatch):
                    batch = arc.take()
                    taken += batch.num_rows
                    self.rows_in += batch.num_rows
                    self.batches_in += 1
                    if self.superbox is None or not self.superbox.take(batch):
                        self.emit(self.operator.process_batch, batch, arc.port, pausing=True)
                else:
                    self.process_advance(arc.take_advance(), arc.port)
                worked = waits = True
        self.unfinished = self.pending is not None or (taken >= turn and self.has_work)
        if self.operator.holds_state:
            self.measure()
        return worked

    def begin_turn(self) -> None:
        """From here on it may put out the rows of a turn."""
        self._turn_ends = self.rows_out + self.turn_rows

    def end_turn(self) -> None:
        self.unfinished = self.pending is not None
        if self.operator.holds_state:
            self.measure()

    def process_advance(self, advance: Advance, port: int = 0) -> None:
        if self.operator.holds_state:
            self.measure()  # a promise is about to free state, so state is at a peak now
        self.promises_in += 1 if len(advance) == 1 else sum(map(count_promises, advance))
        if self.pulse is not None:
            self.pulse.came()
        self._go_on(self.operator.process_punctuation, advance, port)

    def process_train(self, elements: list[Element]) -> int:
        """Process a train of elements in an input box; returns the number of rows."""
        assert isinstance(self.operator, InputOperator)  # not `input_operator`, to save a call for each batch
        rows = batches = 0
        for element in elements:
            if isinstance(element, pa.RecordBatch):
                rows += element.num_rows
                batches += 1
        self.rows_in += rows
        self.batches_in += batches
        self.promises_in += len(elements) - batches
        self.emit(self.operator.process_train, elements)
        self.measure()
        return rows

    def _go_on(self, hook: Callable[..., Iterable[Element]], *given: object) -> None:
        """Put out what a hook gives, until a queue behind the box is full or its turn has ended. The rest stays
        pending."""
        self.pending = None
        self.emit(hook, *given, pausing=True)

    def finish(self) -> None:
        """Put out the rest of the pending output, however full the queues are. Call it before asking what the box
        holds."""
        if self.pending is not None:
            elements, self.pending, self.unfinished = self.pending, None, False
            self.emit(iter, elements)
            self.measure()

    def emit(self, hook: Callable[..., Iterable[Element]], *given: object, pausing: bool = False) -> None:
        """Put what a hook gives on every arc that leads away. An error of the operator gets the user's line. With
        ``pausing`` the output stops where the turn ends or a queue is full, and the rest stays pending."""
        start = perf_counter()
        try:
            elements = iter(hook(*given))
            for element in elements:
                if isinstance(element, pa.RecordBatch) and element.num_rows <= self.batch_rows and not self.check:
                    self.rows_out += element.num_rows  # does what `_put` does, without a call for each batch
                    self.batches_out += 1
                    for arc in self.outputs:
                        arc.put(element)
                else:
                    self._put(element)
                if not pausing:
                    continue
                full = self.rows_out >= self._turn_ends
                for arc in self.outputs:  # asks what `is_full` asks, without a call for each element
                    if arc.queued_rows >= self.capacity and (arc.target is None or not arc.target.failed):
                        full = True
                if full:
                    self.pending = elements
                    break
        except OopError as wrong:
            raise wrong.located(self.node.site) from wrong.__cause__
        except Exception as wrong:
            wrong.add_note(f"in {self.node.spec.describe()}, written at {self.node.site}")
            raise
        finally:
            self.seconds += perf_counter() - start

    def tick(self, punct: Punctuation) -> None:
        """Process the promise that the clock makes."""
        self._turn_ends = self.rows_out + self.turn_rows
        self._go_on(self.operator.process_punctuation, (punct,))
        self.unfinished = self.pending is not None
        self.measure()

    def measure(self) -> None:
        operator = self.operator
        if operator.holds_state:
            held, size = operator.buffered_rows, operator.state_bytes
            if held != self.held:
                self.gauge.change(held - self.held)
                self.held = held
                self.peak_buffered = max(self.peak_buffered, held)
            if size > self.peak_bytes:
                self.peak_bytes = size

    def _put(self, element: Element) -> None:
        if not isinstance(element, pa.RecordBatch):
            self.promises_out += 1 if isinstance(element, Punctuation) else len(element)
            if self.stamps is not None:
                self.stamps.note(element)
            if self.pulse is not None:
                self.pulse.left(element)
        elif element.num_rows > self.batch_rows:
            for piece in cut(element, self.batch_rows):
                self._put(piece)
            return
        else:
            self.rows_out += element.num_rows
            self.batches_out += 1
            if self.check and not is_late(element):
                self._watch(element)
        for arc in self.outputs:
            arc.put(element)

    def _watch(self, batch: pa.RecordBatch) -> None:
        if is_partial(batch) and WID_START not in batch.schema.names:
            return  # panes: only the aggregate that merges them knows their windows
        for promise, rows in broken_promises(self.frontier, batch):
            row = batch.filter(pa.array(rows)).slice(0, 1)
            broken = next(p for p in one_by_one([promise]) if matching(p, row).all())
            raise PunctuationViolated(
                f"{self.node.spec.describe()} put out {row.to_pylist()[0]} after it had promised {broken}",
                hint="this is a bug in the operator: please report it with the plan and the input",
            )
