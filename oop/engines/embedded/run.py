"""`Run`: one run of a plan, which `Stream.run` gives to the user. Reading it drives it, round by round (`rounds.py`).

Beside the result a run has its late rows, and tells about itself by blame, health and metrics.
"""

from __future__ import annotations

import threading
import weakref
from collections.abc import Container, Iterator
from contextlib import ExitStack
from functools import partial
from typing import TYPE_CHECKING

import pyarrow as pa

from oop.engines.blame import Blame
from oop.engines.embedded.feeds import Feed
from oop.engines.embedded.health import Health
from oop.engines.embedded.measuring import gather
from oop.engines.embedded.network import Network
from oop.engines.embedded.pool import Pool
from oop.engines.embedded.reading import Reader, Reading
from oop.engines.embedded.rounds import Rounds
from oop.engines.embedded.tracing import find_blame
from oop.engines.late import Late
from oop.engines.metrics import Metrics
from oop.errors import WrongArgument
from oop.io.sinks import Sink
from oop.operators.core.operator import Element
from oop.operators.passing.qos import ENTERED
from oop.operators.source.ledger import Ledger
from oop.operators.source.operator import InputOperator
from oop.plan.graph import Node
from oop.punctuation import GroupPromises, Punctuation
from oop.site import user_line

if TYPE_CHECKING:
    from oop.engines.embedded.options import Options


class Run:
    """One run of a pipeline. Reading it drives it. Iterating over it gives batches; `elements` also gives the promises.

    >>> import oop
    >>> run = oop.source(pa.table({"ts": [1, 2]}), time="ts", punctuate=oop.ordered()).run()
    >>> [batch.to_pydict() for batch in run]
    [{'ts': [1, 2]}]
    """

    def __init__(self, root: Node, options: Options) -> None:
        self._root = root
        self._hidden = ENTERED if options.latency else None
        network = Network(root, options)
        self._boxes, self._sources, self._result = network.boxes, network.sources, network.result
        self._pool, self._gauge = network.pool, network.gauge
        self._arrived, self._pause = network.arrived, network.pause
        self._rounds = Rounds(network, options)
        self._stopped = False
        self._has_read = self._has_run = True  # was there anything to read, and anything to do, in the last round?
        self._left: Iterator[Punctuation] = iter(())  # the promises of a `GroupPromises` that are still to be given
        feeds = [source.feed for source in self._sources]
        # A run that nobody reads to its end is closed when it is collected. When the process ends, inputs are not
        # closed, because another thread may be reading one.
        weakref.finalize(self, _close, feeds, None).atexit = False
        if self._pool is not None:
            weakref.finalize(self, self._pool.close)
        self._close = partial(_close, feeds, self._pool)
        self._reading = Reading(self._close, network.is_threaded)

    def _next(self) -> Element | GroupPromises | None:
        """The next element of the result, after as many rounds as that takes. None at the end, which is when all
        sources have ended or the run was stopped."""
        rounds = self._rounds
        while not self._stopped:
            if self._reading.questions:
                self._reading.answer()
            if self._result.queue:
                return self._result.take_element()
            if not self._has_run:
                if rounds.failure is not None:
                    raise rounds.failure  # by now the results of what came before it have left
                if not self._has_read:
                    if rounds.have_ended:
                        break
                    self._arrived.wait(self._pause)  # until a reader has something, or the clock has moved
            self._has_read = rounds.failure is None and rounds.read()
            self._has_run = rounds.run()
        self._close()
        return None

    def _next_batch(self) -> pa.RecordBatch | None:
        self._left = iter(())
        while True:
            self._result.drop_promises()
            element = self._next()
            if element is None or isinstance(element, pa.RecordBatch):
                return element

    def _next_element(self) -> Element | None:
        for promise in () if self._stopped else self._left:
            return promise
        element = self._next()
        if not isinstance(element, GroupPromises):
            return element
        self._left = iter(element)
        return next(self._left)

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
        return self._reading.do(self._table)  # one reading, because rows that it has taken would otherwise be lost

    def _table(self) -> pa.Table:
        batches = []
        while (batch := self._next_batch()) is not None:
            batches.append(batch.replace_schema_metadata(None))
        return pa.Table.from_batches(batches, schema=self._root.schema.remove_metadata())

    def stop(self) -> None:
        """Stop the run. Windows that are still open stay unfinished, because this is not the end of the stream.

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
            if ledgers and not box.node.is_source:
                operators[_free_name(box.node.spec.name, {**inputs, **operators})] = ledgers
        return Late(inputs, operators, self._hidden)

    def blame(self) -> Blame | None:
        """Why the oldest open window (or group, or row of a join) has not come out; None if nothing is open.

        Ask between two batches, after `stop`, after an error, or in ``on_silent``. If another thread reads the run, it
        answers between two of its rounds. It cannot answer while it waits for an input that has no reader thread.

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
        if self._reading.is_over or self._rounds.telling == threading.get_ident():
            return self._find_blame()
        return self._reading.ask(self._find_blame)

    def _find_blame(self) -> Blame | None:
        self._rounds.finish()
        return find_blame(self._boxes)

    @property
    def health(self) -> Health:
        """For each input and operator: what it last promised, when, and how long promises wait in it. Only runs with
        ``oop.Embedded(silent_for=…)`` have it.

        >>> import oop
        >>> from oop.testing import ManualClock
        >>> s = oop.source(pa.table({"ts": [1, 12]}), time="ts", punctuate=oop.ordered(), name="north")
        >>> run = s.filter(oop.col("ts") > 0).run(oop.Embedded(silent_for="10s", clock=ManualClock(0)))
        >>> _ = run.to_table()
        >>> run.health.box("Filter").pace.answers, run.health.silent
        (2, ())
        """
        if self._rounds.monitor is None:
            raise WrongArgument(
                "nobody watches this run: when its inputs and operators promised was not noted",
                at=user_line(),
                hint="run it with oop.Embedded(silent_for='10s')",
            )
        return self._rounds.monitor.health()

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


def _free_name(name: str, taken: Container[str]) -> str:
    """The name, with a number behind it if it is taken already."""
    found, n = name, 2
    while found in taken:
        found, n = f"{name} ({n})", n + 1
    return found


def _close(feeds: list[Feed], pool: Pool | None) -> None:
    """End the run: stop its threads and close all inputs, even if closing one of them fails."""
    if pool is not None:
        pool.close()
    with ExitStack() as stack:
        for feed in feeds:
            stack.callback(feed.close)
