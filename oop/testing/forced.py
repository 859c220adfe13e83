"""A plan whose last aggregate must run in one given way, for tests and benchmarks."""

from __future__ import annotations

from dataclasses import replace

from oop.operators.aggregate.aggregate import Aggregate
from oop.plan.flow import Flow
from oop.plan.graph import make_node
from oop.streams.stream import Stream


def forced(stream: Stream, how: str) -> Stream:
    """The stream, with the aggregate at its end run in this way: ``"incremental"``, ``"buffered"``, or as its rows
    suggest (``"hybrid"``). The answer is the same.

    >>> import oop, pyarrow as pa
    >>> s = oop.source(pa.table({"ts": [1, 2, 12]}), time="ts", punctuate=oop.ordered())
    >>> counts = s.window(oop.sliding(10, every=5)).agg(n=oop.count())
    >>> run = forced(counts, "buffered").run()
    >>> run.to_table()["n"].to_pylist(), run.metrics.box("Aggregate").note
    ([2, 2, 1, 1], 'buffered')
    """
    node = stream.flow.node
    if not isinstance(node.spec, Aggregate) or how not in ("incremental", "buffered", "hybrid"):
        raise ValueError(
            f'forced takes an aggregate over windows and "incremental", "buffered" or "hybrid", not {how!r}'
        )
    made = make_node(replace(node.spec, how=how), node.inputs, node.site, node.call)
    return Stream(Flow(made, stream.time))
