"""The harness: a pipeline driven by hand. Push a batch, push a promise, read what came out."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import copy
from typing import Any

import pyarrow as pa

from oop.clocks import Clock
from oop.engines.embedded.boxes import Box
from oop.engines.embedded.crank import Crank
from oop.engines.embedded.engine import Embedded, Run
from oop.engines.late import Late
from oop.operators.core.operator import Element
from oop.operators.core.parts import Part
from oop.operators.source.carried import normalise
from oop.operators.source.input import Input
from oop.operators.source.numbers import SEQ, promised
from oop.plan.final import lower
from oop.punctuation import END, Frontier, Policy, Punctuation, punctuated
from oop.streams.sources import source
from oop.streams.stream import Stream
from oop.testing.promising import Promising

Snapshot = list[dict[str, pa.RecordBatch]]


class Harness:
    """``pipeline`` takes one stream for each schema and gives the stream to test.

    >>> h = Harness(lambda a, b: a.union(b), {"ts": "int64"}, {"ts": "int64"})
    >>> h.promise(0, ts=5)
    >>> h.promises()
    []
    >>> h.promise(1, ts=3)
    >>> h.promises()
    [Punctuation(ts < 3)]
    """

    def __init__(
        self,
        pipeline: Callable[..., Stream],
        *schemas: pa.Schema | Mapping[str, str],
        time: str = "ts",
        punctuate: Policy | Mapping[str, Policy] | None = None,
        late: str = "drop",
        clock: Clock | None = None,
        threads: int = 1,
        order: str = "oop",
    ) -> None:
        self.schemas = [_schema(s) for s in schemas]
        policy = punctuated() if punctuate is None else punctuate
        streams = [
            source(list, time=time, punctuate=policy, late=late, schema=s, name=f"input {i}")
            for i, s in enumerate(self.schemas)
        ]
        self.order = order
        self._clock = clock
        # inputs are known by their data, because rewriting the plan may replace their nodes
        self._inputs = {id(s.flow.node.data): i for i, s in enumerate(streams)}
        self.stream = pipeline(*streams)
        self.root = lower(self.stream.flow, Embedded(), order)
        self._start(threads)

    def _start(self, threads: int) -> None:
        self.run = Run(self.root, Embedded(check=True, clock=self._clock, readers=False, threads=threads))
        self.crank = Crank(self.run)
        self.sources: dict[int, Box] = {}
        for box in self.crank.boxes:
            if box.node.data is not None and id(box.node.data) in self._inputs:
                self.sources[self._inputs[id(box.node.data)]] = box
        self.given = [Frontier() for _ in self.schemas]
        self._out: list[Element] = []

    def again(self, threads: int = 1) -> Harness:
        """Another run of the same plan, from its beginning. It saves making the plan, which takes longer than a short
        run of it.

        >>> h = Harness(lambda s: s, {"ts": "int64"})
        >>> h.push({"ts": [1]})
        >>> len(h.again().rows()), len(h.rows())
        (0, 1)
        """
        other = copy(self)
        other._start(threads)
        return other

    def push(self, rows: pa.RecordBatch | Mapping[str, Sequence[Any]] | Sequence[Mapping], port: int = 0) -> None:
        """Push rows: a batch, columns, or a list of dicts.

        >>> h = Harness(lambda s: s, {"ts": "int64"})
        >>> h.push({"ts": [1, 2]})
        >>> h.push([{"ts": 3}])
        >>> [row["ts"] for row in h.rows()]
        [1, 2, 3]
        """
        if isinstance(rows, Mapping):
            rows = pa.RecordBatch.from_pydict(dict(rows), schema=self.schemas[port])
        elif not isinstance(rows, pa.RecordBatch):
            rows = pa.RecordBatch.from_pylist(list(rows), schema=self.schemas[port])
        self.feed(rows, port=port)

    def promise(self, port: int = 0, where: Mapping[str, Any] | None = None, **below: Any) -> None:
        """Push a promise: ``promise(ts=5)`` pushes ``ts < 5``.

        >>> h = Harness(lambda s: s, {"ts": "int64", "link": "string"})
        >>> h.promise(ts=5)
        >>> h.promise(ts=9, where={"link": "A"})
        >>> h.frontier
        Frontier(ts < 5; link = 'A': ts < 9)
        """
        self.feed(Punctuation(below, where), port=port)

    def end(self, port: int | None = None) -> None:
        """Push the end of one input, or of all.

        >>> import oop
        >>> h = Harness(lambda s: s.window(oop.tumbling(10)).agg(n=oop.count()), {"ts": "int64"})
        >>> h.push({"ts": [1, 2]})
        >>> h.end()
        >>> h.rows()
        [{'window_start': 0, 'window_end': 10, 'n': 2}]
        """
        for i in self.sources if port is None else [port]:
            self.feed(END, port=i)

    def feed(self, *elements: Element, port: int = 0) -> None:
        """Push elements, several of them as one train, and let every operator process what follows.

        >>> h = Harness(lambda s: s, {"ts": "int64"})
        >>> h.feed(pa.record_batch({"ts": [7]}), Punctuation({"ts": 5}))
        >>> h.rows(), h.promises()
        ([{'ts': 7}], [Punctuation(ts < 5)])
        """
        for element in elements:
            if isinstance(element, Punctuation):
                self.given[port].advance(normalise(element, self.schemas[port]))
        if port in self.sources:
            self.sources[port].process_train(list(elements))
            self._count(elements, port)
        self.settle()

    def _count(self, elements: Sequence[Element], port: int) -> None:
        """Note the promise about row numbers, which a source that numbers its rows makes by itself."""
        spec, given = self.sources[port].node.spec, self.given[port]
        rows = sum(e.num_rows for e in elements if isinstance(e, pa.RecordBatch))
        if isinstance(spec, Input) and spec.numbers and rows and not given.ended:
            given.advance(promised(int(given.bound(SEQ) or 0) + rows))

    def tick(self) -> None:
        """Let timers, and operators that are clocked, look at the clock.

        >>> import oop
        >>> from oop.testing import ManualClock
        >>> clock = ManualClock(0)
        >>> h = Harness(lambda s: s, {"ts": "int64"}, punctuate=oop.timer(1, lull=5), clock=clock)
        >>> clock.advance(8)
        >>> h.tick()
        >>> h.promises()
        [Punctuation(ts < 3)]
        """
        self.crank.tick()
        self.settle()

    def settle(self) -> None:
        """Let every operator process what waits for it. `feed` does this by itself.

        >>> h = Harness(lambda s: s, {"ts": "int64"})
        >>> h.settle()
        >>> h.out()
        []
        """
        self._out.extend(self.crank.settle())

    def out(self) -> list[Element]:
        """The elements that came out since the last call.

        >>> h = Harness(lambda s: s, {"ts": "int64"})
        >>> h.push({"ts": [7]})
        >>> h.promise(ts=5)
        >>> [e if isinstance(e, Punctuation) else e.to_pylist() for e in h.out()], h.out()
        ([[{'ts': 7}], Punctuation(ts < 5)], [])
        """
        out, self._out = self._out, []
        return out

    def rows(self) -> list[dict[str, Any]]:
        """The rows that came out since the last call. Promises are left for `promises`.

        >>> h = Harness(lambda s: s, {"ts": "int64"})
        >>> h.push({"ts": [7]})
        >>> h.rows(), h.rows()
        ([{'ts': 7}], [])
        """
        rows = [r for e in self._out if isinstance(e, pa.RecordBatch) for r in e.to_pylist()]
        self._out = [e for e in self._out if isinstance(e, Punctuation)]
        return rows

    def promises(self) -> list[Punctuation]:
        """The promises that came out since the last call. Rows are left for `rows`.

        >>> h = Harness(lambda s: s, {"ts": "int64"})
        >>> h.promise(ts=5)
        >>> h.promises(), h.promises()
        ([Punctuation(ts < 5)], [])
        """
        promises = [e for e in self._out if isinstance(e, Punctuation)]
        self._out = [e for e in self._out if not isinstance(e, Punctuation)]
        return promises

    @property
    def frontier(self) -> Frontier:
        """All that the output has promised.

        >>> h = Harness(lambda s: s, {"ts": "int64"})
        >>> h.promise(ts=5)
        >>> h.promise(ts=8)
        >>> h.frontier
        Frontier(ts < 8)
        """
        return self.crank.boxes[-1].frontier

    def expected_frontier(self) -> Frontier:
        """What the plan's crossings allow the output to promise, given the promises that were pushed, and the steps of
        ``every=``.

        >>> import oop
        >>> h = Harness(lambda s: s.window(oop.tumbling(10)).agg(n=oop.count()), {"ts": "int64"})
        >>> h.promise(ts=25)
        >>> h.expected_frontier().bound("window_start")
        20
        """
        return self._promising().allowed()[id(self.root)]

    def check_prompt(self) -> None:
        """Check that promises are exactly what the plan's crossings allow.

        An operator that holds promises back must promise what its open results allow. It may have promised more,
        because earlier promises about groups may be finer, but never more than the crossings allow. In order, promises
        also follow from rows, so there may be more of them.

        >>> h = Harness(lambda s: s.sort(), {"ts": "int64"})
        >>> h.promise(ts=5)
        >>> h.check_prompt()
        """
        self._promising().check_prompt(in_order=self.order == "iop")

    def check_held_back(self) -> None:
        """Check that open results, as they are now, break no promise that was made.

        >>> import oop
        >>> h = Harness(lambda s: s.window(oop.session(5)).agg(n=oop.count()), {"ts": "int64"})
        >>> h.push({"ts": [7]})
        >>> h.promise(ts=9)
        >>> h.check_held_back()
        """
        self._promising().check_held_back()

    def check_steps(self) -> None:
        """Check operators that promise in steps: each step must be promised as soon as it is reached.

        >>> h = Harness(lambda s: s.describe("ts", every=10), {"ts": "int64"})
        >>> h.promise(ts=14)
        >>> h.check_steps()
        """
        self._promising().check_steps()

    def _promising(self) -> Promising:
        given = {id(box.node): self.given[i] for i, box in self.sources.items()}
        return Promising(self.root, self.crank.boxes, given)

    @property
    def late(self) -> Late:
        """The late rows of all inputs.

        >>> h = Harness(lambda s: s, {"ts": "int64"})
        >>> h.promise(ts=5)
        >>> h.push({"ts": [4, 7]})
        >>> h.late["input 0"].to_pylist(), h.rows()
        ([{'ts': 4, 'broke': 'ts < 5', 'late_by': 1.0}], [{'ts': 7}])
        """
        return self.run.late

    @property
    def buffered_rows(self) -> int:
        """Rows or groups held by all operators.

        >>> h = Harness(lambda s: s.sort(), {"ts": "int64"})
        >>> h.push({"ts": [7, 3]})
        >>> h.promise(ts=5)
        >>> h.buffered_rows
        1
        """
        return sum(box.operator.buffered_rows for box in self.crank.boxes)

    @property
    def state_bytes(self) -> int:
        """The memory of the state of all operators, without static tables and without rows set aside, which are kept
        for `late`.

        >>> h = Harness(lambda s: s.sort(), {"ts": "int64"})
        >>> h.push({"ts": [1, 2]})
        >>> before = h.state_bytes
        >>> h.end()
        >>> before > 0, h.state_bytes
        (True, 0)
        """
        boxes = [b for b in self.crank.boxes if b.node.inputs and not b.node.spec.passes]
        aside = sum(ledger.nbytes for b in boxes for ledger in b.operator.ledgers)
        return sum(b.operator.state_bytes for b in boxes) - aside

    def _operators(self) -> Iterator[Any]:
        return (box.operator for box in self.crank.boxes)

    def save(self, into: Snapshot | None = None) -> Snapshot:
        """The parts of every operator. With an earlier snapshot, the parts that have changed are written into it.

        >>> h = Harness(lambda s: s.sort(), {"ts": "int64"})
        >>> h.push({"ts": [7, 3]})
        >>> other = Harness(lambda s: s.sort(), {"ts": "int64"})
        >>> other.load(h.save(), h.given)
        >>> other.end()
        >>> [row["ts"] for row in other.rows()]
        [3, 7]
        """
        snapshot = into if into is not None else [{} for _ in self.crank.boxes]
        for operator, parts in zip(self._operators(), snapshot, strict=True):
            for key, part in operator.save():
                if part is None:
                    assert key in parts, f"a part is said to be gone that was never saved: {key}"
                    del parts[key]
                else:
                    parts[key] = part
        return snapshot

    def load(self, snapshot: Snapshot, given: Sequence[Frontier]) -> None:
        """Continue from a snapshot. ``given`` are the frontiers that the inputs had when it was taken.

        >>> h, other = (Harness(lambda s: s.sort(), {"ts": "int64"}) for _ in range(2))
        >>> h.push({"ts": [7]})
        >>> other.load(h.save(), h.given)
        >>> other.buffered_rows
        1
        """
        for operator, parts in zip(self._operators(), snapshot, strict=True):
            items: list[Part] = list(parts.items())
            operator.load(items)
        self.given = [f.copy() for f in given]


def _schema(schema: pa.Schema | Mapping[str, str]) -> pa.Schema:
    if isinstance(schema, pa.Schema):
        return schema
    return pa.schema([(n, pa.type_for_alias(t) if isinstance(t, str) else t) for n, t in schema.items()])
