"""A plan gets a `Preaggregate`, the low-level half of an aggregate (OOP paper, section 6), where the user asks for it.

On Spark rows are preaggregated in the worker that has them, unless the user forbids it, so that fewer rows are encoded
and shuffled (`oop/engines/spark/passage.py`). In one process it does not pay: to look up a group costs as much as in
the aggregate, and saves less than that, even where rows cross to other threads. A count was slower with a table of
slots, also on two threads (`benchmarks/threads.py`).
"""

from __future__ import annotations

from dataclasses import replace

import pyarrow as pa

from oop.errors import SchemaMismatch
from oop.operators.aggregate.aggregate import Aggregate
from oop.operators.aggregate.flush import Flush
from oop.operators.aggregate.preaggregate import Preaggregate
from oop.operators.core.spec import Spec
from oop.operators.functions.function import any_keeps_account
from oop.operators.in_order.wrapper import InOrder
from oop.plan.graph import Edge, Node, make_node, rebuilt, sources, walk

BY_ITSELF = Flush()
"""Lazy-flush of no given size, with no promise delayed; out of order, and if windows do not overlap, without slots."""


def preaggregated(root: Node) -> Node:
    """The plan with a Preaggregate wherever the user asked for one."""

    def make(node: Node, inputs: tuple[Edge, ...]) -> Node:
        made = replace(node, inputs=inputs)
        of = aggregate_of(node.spec)
        if of is None or not of.flush:
            return made
        flush = BY_ITSELF if of.flush is True else of.flush
        _check(node, of, flush)
        return _behind(made, Preaggregate(of, flush, isinstance(node.spec, InOrder)))

    return rebuilt(root, make) if any(_asks(node) for node in _aggregates(root)) else root


def notes(root: Node, shuffles: bool) -> dict[int, str]:
    """By id of an aggregate without a Preaggregate: why it has none. With ``shuffles`` the engine preaggregates rows
    by itself, because they go to other processes."""
    found = {}
    for node in _aggregates(root):
        if not isinstance(node.inputs[0].node.spec, Preaggregate):
            why = why_not(node, shuffles)
            found[id(node)] = f"not preaggregated: {why}" if why else "preaggregated by the workers that have the rows"
    return found


def why_not(node: Node, shuffles: bool) -> str:
    """Why rows are not preaggregated unless the user asks for it. An empty text if they are."""
    of = aggregate_of(node.spec)
    if of is not None and of.forbids_partials:
        return "forbidden"
    if of is None or of.partials(node.input_schemas()) is None:
        return "its functions do not merge"
    return "" if shuffles else "in one process it costs what it saves"


def aggregate_of(spec: Spec) -> Aggregate | None:
    """The aggregate of a spec, if a Preaggregate could stand before it: each of its windows must leave once, when it is
    complete."""
    of = spec.of if isinstance(spec, InOrder) else spec
    return of if type(of) is Aggregate else None


def _asks(node: Node) -> bool:
    of = aggregate_of(node.spec)
    return of is not None and bool(of.flush)


def _aggregates(root: Node) -> list[Node]:
    return [node for node in walk(root) if aggregate_of(node.spec) is not None]


def _behind(node: Node, spec: Preaggregate) -> Node:
    """The node behind a Preaggregate of its own."""
    (edge,) = node.inputs
    return replace(node, inputs=(Edge(make_node(spec, [edge], node.site, node.call)),))


def _check(node: Node, of: Aggregate, flush: Flush) -> None:
    """Refuse to delay promises for an aggregate that takes or counts late rows. It recognises late rows by what has
    been promised, so a delayed promise would hide them."""
    if not flush.m or isinstance(node.spec, InOrder):
        return
    admits = any(s.source.late == "admit" for s in sources(node))
    if admits or any_keeps_account(of.aggregates):
        raise SchemaMismatch(
            f"{node.call} takes or counts late rows, and its preaggregate lets promises wait for {flush.m} windows",
            at=node.site,
            hint="take m=0: oop.lazy_flush(m=0)",
        )


def check_mergeable(of: Spec, schemas: list[pa.Schema], call: str, site: str) -> None:
    """Refuse to preaggregate an aggregate for which that is impossible."""
    if aggregate_of(of) is None:
        raise SchemaMismatch(
            f"{call} cannot be preaggregated: only windows that go out once, when they are complete, can",
            at=site,
            hint="take oop.tumbling(…), oop.sliding(…), oop.calendar(…) or oop.rows(…)",
        )
    if of.partials(schemas) is None:
        raise SchemaMismatch(
            f"{call} cannot be preaggregated: not all of its functions merge",
            at=site,
            hint="give oop.aggregate(…) a merge function",
        )
