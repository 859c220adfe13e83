"""The embedded engine: the plan runs in this process, driven by whoever reads its result.

Every arc has a queue; a scheduler decides which box runs and how many rows it takes. A queue that is full pushes back:
the boxes that feed it wait, up to the sources, which are not read.
"""

from __future__ import annotations

import os
import threading
import weakref
from collections.abc import Callable, Container, Iterator
from contextlib import ExitStack
from copy import copy
from functools import partial
from typing import Any

import pyarrow as pa

from oop.clocks import Clock, WallClock
from oop.engines.blame import Blame
from oop.engines.embedded.arcs import Arc
from oop.engines.embedded.bell import Bell
from oop.engines.embedded.boxes import Box, Gauge
from oop.engines.embedded.feeds import DirectFeed, Done, Failed, Feed, RingFeed, ThreadFeed, Train
from oop.engines.embedded.health import Health, Monitor, OnSilent, silent_span
from oop.engines.embedded.measuring import gather
from oop.engines.embedded.polling import Poll
from oop.engines.embedded.pool import Pool
from oop.engines.embedded.reading import Reader, Reading
from oop.engines.embedded.schedulers import MinCost, Scheduler
from oop.engines.embedded.sharded import SLICES, Sharded
from oop.engines.embedded.sharded_boxes import SHARDED_TRAIN_ROWS, ShardedBox
from oop.engines.embedded.stamps import Stamps
from oop.engines.embedded.tracing import find_blame
from oop.engines.late import Late
from oop.engines.metrics import Metrics
from oop.errors import OopError, WrongArgument
from oop.io.sinks import Sink, open_sink
from oop.operators.core.arrival import CLOCK, arrives_at
from oop.operators.core.context import BATCH_ROWS, Context
from oop.operators.core.operator import Element
from oop.operators.passing.qos import ENTERED
from oop.operators.source.ledger import Ledger
from oop.operators.source.operator import InputOperator
from oop.operators.source.room import Room
from oop.plan.graph import Node, check_emits, interests, needed_columns, sources, walk
from oop.plan.preaggregating import notes, preaggregated
from oop.punctuation import END, GroupPromises, Punctuation
from oop.punctuation.durations import Duration
from oop.site import user_line

_MANY_ROWS = 1_000_000
_MOST_THREADS = 4  # unless asked for: between kernels they wait for one interpreter
_SOURCE_ROWS = 65_536  # rows that a source gives in one round, if it has them at hand
_LATE_ROWS = 1_000_000  # late rows that are kept of each source
_ELEMENT_ROWS = 1_024  # each waiting element counts as this many rows more, because many small elements are work too


class Embedded:
    """Run in this process. ``check=True`` watches that every operator keeps its own promises (for tests).

    ``threads=n`` spreads the groups of each operator that has keys over n threads; the order of the results is then
    free. Without it there is one thread, unless the inputs are known to have a million rows or more: then there is one
    for each core, up to four.

    ``latency=True`` measures how long each row of the result took since the oldest row that it comes from entered: in
    ``Run.metrics.latency``. It costs a column on the way.

    ``readers=True`` gives every live input a thread that reads it, so that one which is silent does not hold up the
    others; without it, inputs are read in turn (a plan with a timer has such threads anyway).

    ``batch_rows`` is the most that any batch has, on the way and in the result. A window of very many groups leaves in
    such slices, and between two of them the engine looks after inputs that say that something waits: those with a
    reader, and iterables with an attribute ``waiting``. Smaller slices are shorter pauses.

    ``silent_for="10s"`` watches for inputs that have promised nothing for so long by the clock, and for operators that
    have not answered a promise for so long: ``Run.health`` tells of all of them, and ``on_silent`` is called with an
    `oop.Silence` when one falls silent, and when that is over. Live inputs then have readers.

    ``queue_rows`` is how many rows may wait before an operator (default: half a million). A queue that is full pushes
    back on whatever feeds it, and at last on the source.

    ``late_rows`` is how many late rows (and rows without a time) are kept for ``Run.late``, of each source and of each
    operator that sets rows aside (default: a million). Of those beyond it ``Run.late`` knows how many they are and how
    late they were, and says that they were not kept. A run without an end drains them: ``run.late.drain()``.

    >>> import oop
    >>> s = oop.source(pa.table({"ts": [1, 2]}), time="ts", punctuate=oop.ordered())
    >>> s.run(engine=Embedded(scheduler=oop.RoundRobin())).to_table().num_rows
    2
    >>> [batch.num_rows for batch in s.run(Embedded(batch_rows=1))]
    [1, 1]
    """

    runs_in_order = True

    def __init__(
        self,
        *,
        threads: int | None = None,
        scheduler: Scheduler | None = None,
        clock: Clock | None = None,
        readers: bool = False,
        check: bool = False,
        latency: bool = False,
        batch_rows: int = BATCH_ROWS,
        queue_rows: int | None = None,
        silent_for: Duration | None = None,
        on_silent: OnSilent | None = None,
        late_rows: int = _LATE_ROWS,
    ) -> None:
        if threads is not None:
            _check_count("threads", threads)
        _check_count("batch_rows", batch_rows)
        if queue_rows is not None:
            _check_count("queue_rows", queue_rows)
        _check_count("late_rows", late_rows, least=0)
        if scheduler is not None and not callable(getattr(scheduler, "turn", None)):
            raise ValueError(f"a scheduler has a method turn, as oop.RoundRobin() does; not {scheduler!r}")
        if on_silent is not None and (silent_for is None or not callable(on_silent)):
            raise ValueError(f"on_silent= is a callable, and goes with silent_for=; not {on_silent!r}")
        self.silent_for = None if silent_for is None else silent_span(silent_for)
        self.on_silent = on_silent
        self.threads = threads
        self.scheduler = scheduler or MinCost()
        self.clock = clock or WallClock()
        self.readers = readers
        self.check = check
        self.latency = latency
        self.batch_rows = batch_rows
        self.queue_rows = queue_rows
        self.late_rows = late_rows

    def run(self, root: Node, *, to: Any = None) -> Run:
        """What `Stream.run` calls, with the plan.

        >>> import oop
        >>> s = oop.source(pa.table({"ts": [1, 2]}), time="ts", punctuate=oop.ordered())
        >>> s.run(oop.Embedded(threads=1)).to_table().num_rows
        2
        """
        check_emits(root)
        root = self.plan(root)
        sink = None if to is None else open_sink(to, root.schema)
        try:
            run = Run(root, self)
        except BaseException:
            if sink is not None:
                sink.abort()
            raise
        if sink is not None:
            run._reading.do(partial(run._write, sink))
        return run

    def plan(self, root: Node) -> Node:
        """The plan as this engine runs it, with its options applied: preaggregation and the measuring of latency.

        >>> import oop
        >>> s = oop.source(pa.table({"ts": [1], "k": [1]}), time="ts", punctuate=oop.ordered(), name="north")
        >>> counts = s.window(oop.tumbling(10)).group_by("k").preaggregate().agg(n=oop.count())
        >>> print(counts.explain(engine=oop.Embedded()).splitlines()[1].split("   ")[0])
        └─ Preaggregate lazy-flush, sized as it runs, no window late
        """
        if self.latency:
            from oop.plan.latency import measured  # here, as few plans need it: `import oop` should be quick

            root = measured(root)
        return preaggregated(root)

    def notes(self, root: Node) -> dict[int, str]:
        """What `Stream.explain` says more of a plan's nodes.

        >>> import oop
        >>> s = oop.source(pa.table({"ts": [1], "k": [1]}), time="ts", punctuate=oop.ordered(), name="north")
        >>> counts = s.window(oop.tumbling(10)).group_by("k").agg(n=oop.count())
        >>> print(counts.explain(engine=oop.Embedded()).splitlines()[0].split("; ")[1])
        not preaggregated: in one process it costs what it saves
        """
        return notes(root, shuffles=False)


def _check_count(name: str, given: object, least: int = 1) -> None:
    if not isinstance(given, int) or isinstance(given, bool) or given < least:
        raise ValueError(f"{name} is a number of at least {least}, not {given!r}")


def _free_name(name: str, taken: Container[str]) -> str:
    """The name, or one like it that is not taken."""
    found, n = name, 2
    while found in taken:
        found, n = f"{name} ({n})", n + 1
    return found


def _threads_for(root: Node) -> int:
    """The number of threads that pays. Below a million rows, starting threads costs more than they save."""
    rows = sum(node.data.count_rows() or 0 for node in sources(root) if node.data is not None)
    return min(os.cpu_count() or 1, _MOST_THREADS) if rows >= _MANY_ROWS else 1


class _Source:
    """An input box with its feed, which opens when the run is first read."""

    def __init__(self, box: Box, feed: Feed) -> None:
        assert isinstance(box.operator, InputOperator)
        self.box = box
        self.operator = box.operator
        self.feed = feed
        self.done = False
        data = box.node.data
        self.is_live = data is not None and data.kind == "live"
        self.asked = None if data is None or data.progress is None else Poll(box.node, data)

    def tick(self, clock: Clock) -> None:
        """Let timers look at the clock, but not while rows that have arrived still wait: the tick would make them
        late."""
        if self.operator.clocked and not self.done and not self.feed.waiting:
            self.box.emit(self.operator.tick, clock.now)

    def poll(self) -> None:
        """Ask the source how far it is. Call it only when nothing of the source waits to be read."""
        thread = self.feed.thread if isinstance(self.feed, ThreadFeed) else None
        said = None if self.asked is None else self.asked.ask(None if thread is None else thread.ident)
        if said is None or self.asked is None:
            return
        try:
            promise = self.operator.answer(said)
        except (OopError, TypeError, ValueError) as wrong:
            raise self.asked.refused(said, wrong).located(self.box.node.site) from wrong
        self.done = promise.is_end
        self.box.emit(self.operator.take_promise, promise)


class Run:
    """One run of a pipeline; reading it drives it. Iterate for batches, `elements` also gives the promises.

    >>> import oop
    >>> run = oop.source(pa.table({"ts": [1, 2]}), time="ts", punctuate=oop.ordered()).run()
    >>> [batch.to_pydict() for batch in run]
    [{'ts': [1, 2]}]
    """

    def __init__(self, root: Node, engine: Embedded) -> None:
        self._root = root
        self._scheduler = copy(engine.scheduler)  # a copy, because a scheduler may count the turns of one run
        self._clock = engine.clock
        self._hidden = ENTERED if engine.latency else None
        self._arrived = Bell()
        self._pause = 0.01  # how long to wait for something
        self._batch_rows, self._queue_rows = engine.batch_rows, engine.queue_rows
        self._result: Arc[Box] = Arc(None, 0, None, engine.batch_rows)
        self._stopped = False
        self._failure: BaseException | None = None
        self._telling: int | None = None  # the thread that is calling on_silent now; no operator is at work meanwhile
        self._gauge = Gauge()
        self._clocked: list[Box] = []  # boxes that look at the clock
        threads = engine.threads or _threads_for(root)
        self._pool = Pool(threads, self._arrived) if threads > 1 else None
        if self._pool is not None:
            # Arrow loads pandas, where there is one, at its first conversion. Not in a thread: an interrupt in the
            # middle of it would leave the import locked for all.
            pa.array([0])
        self._round_rows = _SOURCE_ROWS if self._pool is None else SHARDED_TRAIN_ROWS
        # rows that cross to threads together must not be split by turns
        self._turn_rows = max(SLICES * engine.batch_rows, 0 if self._pool is None else SHARDED_TRAIN_ROWS)
        self._boxes, self._sources = self._build(root, engine)
        silent_for = engine.silent_for
        self._monitor = None if silent_for is None else Monitor(self._boxes, self._clock, silent_for, engine.on_silent)
        self._there_and_back = self._boxes[::-1] + self._boxes
        self._train: int | None = getattr(self._scheduler, "train", None)
        self._rounds = 0
        self._has_read = self._has_run = True  # in the last round: was there anything to read, and to do?
        self._left: Iterator[Punctuation] = iter(())  # the promises of a `GroupPromises` that are still to be read
        feeds = [source.feed for source in self._sources]
        # A run that nobody reads to its end is closed when it is gone. When the process ends, inputs are left alone:
        # another thread may be reading one.
        weakref.finalize(self, _close, feeds, None).atexit = False
        if self._pool is not None:
            weakref.finalize(self, self._pool.close)
        self._close = partial(_close, feeds, self._pool)
        threaded = self._pool is not None or any(isinstance(s.feed, ThreadFeed) for s in self._sources)
        self._reading = Reading(self._close, threaded)

    def _build(self, root: Node, engine: Embedded) -> tuple[list[Box], list[_Source]]:
        asked, needed = interests(root), needed_columns(root)
        boxes: dict[int, Box] = {}
        inputs: list[Box] = []
        timers = False
        for node in walk(root):
            context = Context(
                node.input_schemas(), self._batch_rows, needed[id(node)], asked[id(node)], self._clock.now
            )
            box = boxes[id(node)] = self._box(node, context, engine.check)
            operator = box.operator
            room = Room(engine.late_rows)
            for ledger in operator.ledgers:
                ledger.room = room
            for port, edge in enumerate(node.inputs):
                arc = Arc(box, port, edge.route, engine.batch_rows)
                boxes[id(edge.node)].outputs.append(arc)
                box.inputs.append(arc)
            if isinstance(operator, InputOperator):
                inputs.append(box)
                stamps = Stamps(box, self._clock, node.schema.field(operator.spec.time).type)
                box.stamps, operator.made = stamps, stamps.note
                for progress in operator.clocked:  # refuses a clock that cannot count in the column's unit
                    self._clock.now(node.schema.field(progress.attribute).type)
                    timers = True
            if node.spec.clocked:
                self._clocked.append(box)
                timers = True
        boxes[id(root)].outputs.append(self._result)
        threaded = engine.readers or engine.silent_for is not None or (timers and self._clock.live)
        return list(boxes.values()), [self._source(box, threaded) for box in inputs]

    def _box(self, node: Node, context: Context, check: bool) -> Box:
        columns = node.spec.shard_columns(node.input_schemas())
        sizes: dict[str, Any] = {"batch_rows": self._batch_rows, "queue_rows": self._queue_rows}
        if self._pool is None or columns is None:
            operator = node.spec.start(context)
            return Box(node, operator, self._gauge, check=check, turn_rows=self._turn_rows, **sizes)
        sharded = Sharded(node.spec, context, columns, self._pool.threads, self._pool)
        return ShardedBox(node, sharded, self._gauge, check=check, **sizes)

    def _source(self, box: Box, threaded: bool) -> _Source:
        data = box.node.data
        assert data is not None
        try:
            trains = data.trains(min(getattr(self._scheduler, "train", _SOURCE_ROWS), _SOURCE_ROWS))
        except OopError as wrong:
            raise wrong.located(box.node.site) from None
        if data.ring is not None:
            self._pause = min(self._pause, data.ring.pause)
            return _Source(box, RingFeed(trains, data.ring))
        live = (threaded or data.progress is not None) and data.kind == "live"
        return _Source(box, ThreadFeed(trains, self._arrived) if live else DirectFeed(trains, data.waiting))

    def _next(self) -> Element | GroupPromises | None:
        """The next element of the result, after as many rounds as that takes. None at the end: all sources have ended,
        or the run was stopped."""
        while not self._stopped:
            if self._reading.questions:
                self._reading.answer()
            if self._result.queue:
                return self._result.take_element()
            if not self._has_run:
                if self._failure is not None:
                    raise self._failure  # the results of what came before it have left
                if not self._has_read:
                    if all(s.done for s in self._sources):
                        break
                    self._wait()
            self._has_read = self._failure is None and self._read()
            self._has_run = self._step()
        self._close()
        return None

    def _next_batch(self) -> pa.RecordBatch | None:
        self._left = iter(())
        while not isinstance(element := self._next(), pa.RecordBatch | None):
            pass
        return element

    def _next_element(self) -> Element | None:
        for promise in () if self._stopped else self._left:
            return promise
        element = self._next()
        if not isinstance(element, GroupPromises):
            return element
        self._left = iter(element)
        return next(self._left)

    def _step(self) -> bool:
        """Run one round. If there was nothing to do in it, run a task of the pool. False if nothing is left to do."""
        # asked before the round, so that the round sees everything that threads put out before they went idle
        busy = self._pool is not None and not self._pool.is_idle
        if self._pool is not None:
            self._pool.check()
        ran = self._round()
        if busy and not ran and self._pool is not None:
            self._pool.help()
        return ran or busy

    def _read(self) -> bool:
        """Let every source that has room give the rows of one round."""
        any_read = False
        self._tick()  # tick first, or a busy source would starve the clock
        # While a box is still putting out what a promise released, only inputs that say that something waits are read,
        # because those could overflow. Rows of other inputs can wait where they are, and reading such an input may
        # block.
        releasing = False
        for box in self._boxes:  # a loop, as below: it is asked for each batch
            if box.unfinished:
                releasing = True
                break
        for source in self._sources:
            rows = 0
            while not source.done and rows < self._round_rows and not source.box.is_pushed_back:
                if releasing and not source.feed.waiting:
                    break
                train = source.feed.next()
                if train is None:
                    self._guarded(source.box, source.poll)
                    break
                any_read = True
                rows += self._take_guarded(source, train)
                if self._failure is not None:
                    return True
                if source.is_live and not releasing:
                    break  # the next element may be long in coming
                rows += _ELEMENT_ROWS if releasing else 0
            if source.operator.clocked:
                self._guarded(source.box, partial(source.tick, self._clock))
        if self._monitor is not None:  # after reading: what waited while nobody read the run does not count as silence
            self._watch(self._monitor)
        return any_read

    def _watch(self, monitor: Monitor) -> None:
        """Let the monitor look. An error raised by ``on_silent`` ends the run, once what came before it has left.
        ``on_silent`` may ask for blame."""
        self._telling = threading.get_ident()
        try:
            monitor.look()
        except Exception as error:
            self._failure = self._failure or error
        finally:
            self._telling = None

    def _tick(self) -> None:
        """Let operators look at the clock, but not while rows wait in front of them: those arrived before."""
        for box in self._clocked:
            if not box.has_work and not box.failed:
                punct = arrives_at(self._clock.now(CLOCK))
                self._guarded(box, partial(box.tick, punct))

    def _guarded(self, box: Box, action: Callable[[], Any]) -> Any:
        """Do something for a box. An error is kept, and raised later, when what came before it has left."""
        try:
            return action()
        except Exception as error:
            self._fail(box, error)
            return None

    def _fail(self, box: Box, error: BaseException) -> None:
        self._failure = self._failure or error
        box.failed = True

    def _take_guarded(self, source: _Source, train: Train | Failed | Done) -> int:
        try:
            return self._take(source, train)
        except Exception as error:
            self._fail(source.box, error)
            return 0

    def _take(self, source: _Source, train: Train | Failed | Done) -> int:
        node = source.box.node
        if isinstance(train, Failed):
            error = train.error
            if isinstance(error, OopError):
                error.located(node.site)
            else:
                error.add_note(f"while reading {node.call}, written at {node.site}")
            self._failure = error
            return 0
        if isinstance(train, Done):
            source.done = True
            train = [END]
        elif source.is_live:
            # rows of a finite input behind its END are late, not lost; a live input may never give anything more
            for element in train:
                if isinstance(element, Punctuation) and element.is_end:
                    source.done = True
        return source.box.process_train(train)

    def _round(self) -> bool:
        self._rounds += 1
        ran = self._serve_promises()
        for box, rows in self._scheduler.turn(self._boxes):
            ran |= self._run(box, rows)
        return ran

    def _serve_promises(self) -> bool:
        """Run the boxes that hold a promise before all others, because a promise is an element of high priority (OOP
        paper, A.1.1): first those nearest to the result, then the boxes that the promise reaches on its way."""
        ran = False
        for box in self._there_and_back:
            if box.pending is None:
                for arc in box.inputs:
                    if arc.queued_promises:
                        break
                else:
                    continue  # it holds no promise
            ran |= self._run(box, self._train)
        return ran

    def _run(self, box: Box, rows: int | None) -> bool:
        """Let a box have its turn. A box that could not finish gets no second turn in a round, because inputs wait
        too."""
        if (box.unfinished and box.round == self._rounds) or not box.can_run:
            return False
        try:
            box.run(rows)
        except Exception as error:
            self._fail(box, error)
        box.round = self._rounds
        return True

    def _results(self) -> Iterator[Element]:
        while self._result.queue and not self._stopped:
            element = self._result.take_element()
            if isinstance(element, GroupPromises):
                yield from element
            else:
                yield element

    def _wait(self) -> None:
        """Wait until a reader has something or the clock has moved."""
        self._arrived.wait(self._pause)

    def elements(self) -> Iterator[Element]:
        """The result's batches and promises, in an order in which no promise overtakes a row.

        >>> import oop
        >>> s = oop.source(pa.table({"ts": [1, 5]}), time="ts", punctuate=oop.ordered())
        >>> [e if isinstance(e, oop.Punctuation) else e.num_rows for e in s.run().elements()]
        [2, Punctuation(ts < 5), END]
        """
        return Reader(self._reading, self._next_element)

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        return Reader(self._reading, self._next_batch)

    def to_table(self) -> pa.Table:
        """Everything that is still to come, as one table.

        >>> import oop
        >>> s = oop.source(pa.table({"ts": [1, 2]}), time="ts", punctuate=oop.ordered())
        >>> s.run().to_table().to_pydict()
        {'ts': [1, 2]}
        """
        return self._reading.do(self._table)  # as one reading: rows already taken are nowhere else

    def _table(self) -> pa.Table:
        batches = []
        while (batch := self._next_batch()) is not None:
            batches.append(batch.replace_schema_metadata(None))
        return pa.Table.from_batches(batches, schema=self._root.schema.remove_metadata())

    def stop(self) -> None:
        """Stop reading; windows that are still open stay unfinished (this is not the end of the stream).

        >>> import itertools, oop
        >>> endless = (pa.record_batch({"ts": [t]}) for t in itertools.count())
        >>> run = oop.source(endless, time="ts", punctuate=oop.ordered()).run()
        >>> for batch in run:
        ...     if batch["ts"][0].as_py() == 3:
        ...         run.stop()
        >>> batch.to_pylist()
        [{'ts': 3}]
        """
        self._stopped = True
        self._arrived.ring()  # another thread may be reading, and waiting for something to come

    def _write(self, sink: Sink) -> None:
        try:
            while (element := self._next_element()) is not None:
                if isinstance(element, Punctuation):
                    sink.promise(element)
                else:
                    sink.write(element)
        except BaseException:
            sink.abort()
            raise
        sink.close()

    @property
    def late(self) -> Late:
        """The rows set aside so far, with the promise that each broke.

        >>> import oop
        >>> run = oop.source(pa.table({"ts": [5, 1]}), time="ts", punctuate=oop.ordered(), name="north").run()
        >>> _ = run.to_table()
        >>> run.late["north"].to_pylist()
        [{'ts': 1, 'broke': 'ts < 5', 'late_by': 4.0}]
        """
        inputs: dict[str, InputOperator] = {}
        for source in self._sources:
            inputs[_free_name(source.operator.spec.source, inputs)] = source.operator
        operators: dict[str, list[Ledger]] = {}
        for box in self._boxes:
            ledgers = list(box.operator.ledgers)
            if ledgers and not isinstance(box.operator, InputOperator):
                operators[_free_name(box.node.spec.name, {**inputs, **operators})] = ledgers
        return Late(inputs, operators, self._hidden)

    def blame(self) -> Blame | None:
        """Why the oldest open window (or group, or row of a join) has not come out; None if nothing is open.

        Ask between two batches, after `stop`, after an error, or in ``on_silent``. While another thread reads the run,
        that one answers between two of its rounds; not while it waits for an input that has no reader of its own.

        >>> import oop
        >>> batches = (pa.record_batch({"ts": [t]}) for t in (1, 12, 14))
        >>> s = oop.source(batches, time="ts", punctuate=oop.ordered(), name="north")
        >>> run = s.window(oop.tumbling(10)).agg(n=oop.count()).run()
        >>> next(iter(run)).to_pylist()
        [{'window_start': 0, 'window_end': 10, 'n': 1}]
        >>> print(run.blame())
        window [10, 20) of Aggregate n=count() (...) is open
          it is held back by source 'north': promised ts < 12, ... s ago (0 rows ago)
          released when 'north' promises ts < 20
        """
        if self._reading.is_over or self._telling == threading.get_ident():
            return self._find_blame()
        return self._reading.ask(self._find_blame)

    def _find_blame(self) -> Blame | None:
        self._finish()
        return find_blame(self._boxes)

    def _finish(self) -> None:
        """Finish the pending output of all boxes, so that what they hold is exactly what is open."""
        for box in self._boxes:
            self._guarded(box, box.finish)

    @property
    def health(self) -> Health:
        """For each input and operator what it last promised, when, and how long promises wait in it; where it is asked
        for by ``oop.Embedded(silent_for=…)``.

        >>> import oop
        >>> from oop.testing import ManualClock
        >>> s = oop.source(pa.table({"ts": [1, 12]}), time="ts", punctuate=oop.ordered(), name="north")
        >>> run = s.filter(oop.col("ts") > 0).run(oop.Embedded(silent_for="10s", clock=ManualClock(0)))
        >>> _ = run.to_table()
        >>> run.health.box("Filter").pace.answers, run.health.silent
        (2, ())
        """
        if self._monitor is None:
            raise WrongArgument(
                "nobody watches this run: when its inputs and operators promised was not noted",
                at=user_line(),
                hint="run it with oop.Embedded(silent_for='10s')",
            )
        return self._monitor.health()

    @property
    def metrics(self) -> Metrics:
        """Counts so far, for each box and arc.

        >>> import oop
        >>> s = oop.source(pa.table({"ts": [1, 2, 12]}), time="ts", punctuate=oop.ordered())
        >>> run = s.filter(oop.col("ts") > 1).run()
        >>> _ = run.to_table()
        >>> [(box.name.split()[0], box.rows_in, box.rows_out) for box in run.metrics.boxes]
        [('Source', 3, 3), ('Filter', 3, 2)]
        """
        return gather(self._boxes, self._gauge.peak)


class Crank:
    """Drives a run by hand, for tests, which look into it while it stands still. ``boxes`` are its operators, inputs
    first and the one of the result last."""

    def __init__(self, run: Run) -> None:
        self._run = run
        self.boxes = run._boxes
        self.inputs = [source.operator for source in run._sources]

    def tick(self) -> None:
        """Let inputs and operators look at the clock."""
        for source in self._run._sources:
            source.tick(self._run._clock)
        self._run._tick()

    def settle(self) -> Iterator[Element]:
        """Let every operator take what waits for it; what came out."""
        while self._run._step():
            pass
        if self._run._failure is not None:
            raise self._run._failure
        yield from self._run._results()


def _close(feeds: list[Feed], pool: Pool | None) -> None:
    """End the run: stop its threads and close all inputs, even if closing one of them fails."""
    if pool is not None:
        pool.close()
    with ExitStack() as stack:
        for feed in feeds:
            stack.callback(feed.close)
