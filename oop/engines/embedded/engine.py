"""`Embedded`: the engine in this process. It makes a `Run` (`run.py`) of a plan, with its options (`options.py`)."""

from __future__ import annotations

from functools import partial
from typing import Any

from oop.engines.embedded.options import Options
from oop.engines.embedded.run import Run
from oop.io.sinks import open_sink
from oop.plan import preaggregating, superboxes
from oop.plan.graph import Node

__all__ = ["Embedded", "Run"]


class Embedded(Options):
    """Run in this process. ``check=True`` watches that every operator keeps its own promises (for tests).

    ``threads=n`` spreads the groups of each operator that has keys over n threads; the results then come in any order.
    Without it there is one thread, unless the inputs are known to have a million rows or more: then there is one for
    each core, up to four.

    ``latency=True`` measures how long each row of the result took since the oldest row that it comes from entered.
    ``Run.metrics.latency`` has the answer. It costs one more column in every row.

    ``readers=True`` gives every live input a thread that reads it, so that a silent input does not hold up the others.
    Without it inputs are read in turn. (A plan with a timer has such threads anyway.)

    ``batch_rows`` is the most rows that any batch has, on the way and in the result. A window of very many groups
    leaves in batches of that size. Between two of them the engine reads inputs that say that something waits: those
    with a reader, and iterables with an attribute ``waiting``. Smaller batches are shorter pauses.

    ``silent_for="10s"`` watches for inputs that have promised nothing for that long by the clock, and for operators
    that have not answered a promise for that long. ``Run.health`` tells of all inputs and operators. ``on_silent`` is
    called with an `oop.Silence` when one of them falls silent, and when that is over. Live inputs then have readers.

    ``queue_rows`` is how many rows may wait in front of an operator (default: half a million). A queue that is full
    pushes back on whatever feeds it, and at last on the source.

    ``late_rows`` is how many late rows (and rows without a time) are kept for ``Run.late``, for each source and for
    each operator that sets rows aside (default: a million). Rows beyond that number are not kept: ``Run.late`` knows
    only how many they are and how late they were. A run without an end drains the rows: ``run.late.drain()``.

    >>> import oop, pyarrow as pa
    >>> s = oop.source(pa.table({"ts": [1, 2]}), time="ts", punctuate=oop.ordered())
    >>> s.run(engine=Embedded(scheduler=oop.RoundRobin())).to_table().num_rows
    2
    >>> [batch.num_rows for batch in s.run(Embedded(batch_rows=1))]
    [1, 1]
    """

    runs_in_order = True

    def run(self, root: Node, *, to: Any = None) -> Run:
        """Run a plan that `oop.plan.final.lower` has made for this engine. `Stream.run` calls this.

        >>> import oop, pyarrow as pa
        >>> s = oop.source(pa.table({"ts": [1, 2]}), time="ts", punctuate=oop.ordered())
        >>> s.run(oop.Embedded(threads=1)).to_table().num_rows
        2
        """
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

        >>> import oop, pyarrow as pa
        >>> s = oop.source(pa.table({"ts": [1], "k": [1]}), time="ts", punctuate=oop.ordered(), name="north")
        >>> counts = s.window(oop.tumbling(10)).group_by("k").preaggregate().agg(n=oop.count())
        >>> print(counts.explain(engine=oop.Embedded()).splitlines()[1].split("   ")[0])
        └─ Preaggregate lazy-flush, sized as it runs, no window late
        """
        if self.latency:
            from oop.plan.latency import measured  # imported here, because few plans need it

            root = measured(root)
        return preaggregating.preaggregated(root)

    def notes(self, root: Node) -> dict[int, str]:
        """Notes on nodes of a plan, by id, which `Stream.explain` adds to their lines.

        >>> import oop, pyarrow as pa
        >>> s = oop.source(pa.table({"ts": [1], "k": [1]}), time="ts", punctuate=oop.ordered(), name="north")
        >>> counts = s.window(oop.tumbling(10)).group_by("k").agg(n=oop.count())
        >>> print(*counts.explain(engine=oop.Embedded()).splitlines()[0].split("; ")[1:], sep=", ")
        not preaggregated: in one process it costs what it saves, one program with Source, Bucket
        """
        found = preaggregating.notes(root, shuffles=False)
        if self.joins_boxes:
            for node, note in superboxes.superbox_notes(root, parts=(self.threads or 1) > 1).items():
                found[node] = f"{found[node]}; {note}" if node in found else note
        return found
