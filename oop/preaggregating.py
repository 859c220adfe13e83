"""Where a plan gets a `Preaggregate`, the low-level half of an aggregate (paper 004, section 6): where the user says
so, or where rows would else cross to other threads one by one.

In one thread it would do for each row what the aggregate does anyway. On Spark rows are reduced in the worker that
has them (`engines/spark/passage.py`), with the same table.
"""

from __future__ import annotations

from dataclasses import replace

import pyarrow as pa

from oop.errors import SchemaMismatch
from oop.operators.aggregate import Aggregate
from oop.operators.aggregates import ACCOUNTS
from oop.operators.base import Spec
from oop.operators.flush import Flush
from oop.operators.in_order import InOrder
from oop.operators.input import Input
from oop.operators.preaggregate import Preaggregate
from oop.plan import Edge, Node, make_node, rebuilt, sources, walk

BY_ITSELF = Flush()
"""Lazy-flush, sized by what it sees, and no window late."""


def preaggregated(root: Node) -> Node:
    """The plan with a Preaggregate wherever the user asked for one."""

    def make(node: Node, inputs: tuple[Edge, ...]) -> Node:
        made = replace(node, inputs=inputs)
        of = aggregate_of(node.spec)
        if of is None or not of.flush:
            return made
        flush = BY_ITSELF if of.flush is True else of.flush
        _check(node, of, flush)
        return _behind(made, Preaggregate(of, flush, isinstance(node.spec, InOrder), "asked for"))

    return rebuilt(root, make) if any(_asks(node) for node in _aggregates(root)) else root


def spread(root: Node, threads: int) -> Node:
    """The plan for so many threads: with a Preaggregate before each aggregate that is spread over them."""

    def make(node: Node, inputs: tuple[Edge, ...]) -> Node:
        made = replace(node, inputs=inputs)
        of = aggregate_of(node.spec)
        if of is None or of.flush is not None or why_not(node, threads):
            return made
        return _behind(made, Preaggregate(of, BY_ITSELF, why="rows cross to other threads"))

    return rebuilt(root, make) if threads > 1 and _aggregates(root) else root


def notes(root: Node, threads: int | None) -> dict[int, str]:
    """By id of an aggregate without a Preaggregate: why it has none. ``threads`` None: on Spark."""
    found = {}
    for node in _aggregates(root):
        if not isinstance(node.inputs[0].node.spec, Preaggregate):
            why = why_not(node, threads)
            found[id(node)] = f"not preaggregated: {why}" if why else "preaggregated by the workers that have the rows"
    return found


def why_not(node: Node, threads: int | None) -> str:
    """Why rows are not preaggregated by themselves; an empty text if they are. ``threads`` None: on Spark."""
    of, schemas = aggregate_of(node.spec), node.input_schemas()
    if of is None:
        return "it is no aggregate of windows whose groups stand by themselves"
    if of.flush is False:
        return "forbidden"
    if isinstance(node.spec, InOrder):
        return "in order it runs in one thread"
    partials = of.partials(schemas)
    if partials is None:
        return "its functions do not merge"
    if threads is None:
        return ""
    if partials.shape.varies:
        return "its partial aggregates are as large as their rows"
    if threads < 2 or of.shard_columns(schemas) is None:
        return "rows stay in their thread"
    if _by_group(node, of):
        return "its input promises by group"
    return ""


def aggregate_of(spec: Spec) -> Aggregate | None:
    """The aggregate that a Preaggregate could stand before: each of its windows goes out once, when it is complete."""
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


def _by_group(node: Node, of: Aggregate) -> bool:
    """May a source promise about groups of the aggregate's keys? Each such promise would empty the table."""
    policies = [policy for source in sources(node) for _, policy in source.spec.policies]  # type: ignore[attr-defined]
    return any(policy.by is not None and policy.by in of.keys for policy in policies)


def _check(node: Node, of: Aggregate, flush: Flush) -> None:
    """Late rows are told from others by what has been promised: behind a promise that is late itself they are not."""
    if not flush.m or isinstance(node.spec, InOrder):
        return
    admits = any(isinstance(s.spec, Input) and s.spec.late == "admit" for s in sources(node))
    if admits or any(f.function in ACCOUNTS for _, f in of.aggregates):
        raise SchemaMismatch(
            f"{node.call} takes or counts late rows, and its preaggregate lets promises wait for {flush.m} windows",
            at=node.site,
            hint="take m=0: oop.lazy_flush(m=0)",
        )


def check_mergeable(of: Spec, schemas: list[pa.Schema], call: str, site: str) -> None:
    """Refuse to preaggregate what cannot be."""
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
