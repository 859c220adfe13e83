"""Accounts of late rows: where windows count late rows, the sources send these rows on, so that the windows get them.

Between a source and such a window there are only operators that pass rows. Every other reader of the source and of
these operators gets an `OnTime` in front of it, which takes the late rows out.
"""

from __future__ import annotations

from dataclasses import replace

from oop.errors import SchemaMismatch
from oop.operators.aggregate.aggregate import Aggregate
from oop.operators.aggregate.emit import Emit
from oop.operators.functions.function import any_keeps_account
from oop.operators.passing.on_time import OnTime
from oop.plan.graph import Edge, Node, rebuilt, walk


def check_accounts(node: Node, site: str) -> None:
    """Raise SchemaMismatch if rows that were late at the sources cannot be counted behind this node."""
    for above in walk(node):
        if above.inputs and not above.spec.passes:
            raise SchemaMismatch(
                f"late rows are known at the sources only, and {above.call} at {above.site} lies in between",
                at=site,
                hint="take oop.seen(), oop.late() and oop.aside() in the first window behind the sources",
            )


def accounted(root: Node) -> Node:
    """The plan in which late rows travel to the windows that count them. The very same plan if there is no such
    window."""
    counting = [node for node in walk(root) if _counts(node)]
    if not counting:
        return root
    carrying = {id(above) for node in counting for edge in node.inputs for above in walk(edge.node)}

    def make(node: Node, inputs: tuple[Edge, ...]) -> Node:
        if id(node) in carrying:
            spec = replace(node.source, account=True) if node.is_source else node.spec
        else:
            spec = node.spec
            if not _counts(node):
                pairs = zip(inputs, node.inputs, strict=True)
                inputs = tuple(_on_time(new) if id(old.node) in carrying else new for new, old in pairs)
        return replace(node, spec=spec, inputs=inputs)

    return rebuilt(root, make)


def _counts(node: Node) -> bool:
    spec = node.spec.of if isinstance(node.spec, Emit) else node.spec
    return isinstance(spec, Aggregate) and any_keeps_account(spec.aggregates)


def _on_time(edge: Edge) -> Edge:
    """An `OnTime` behind an edge, which may be one output of a split. The new edge needs no route, because the
    `OnTime` gets only that output's rows."""
    node = edge.node
    return Edge(Node(OnTime(), (edge,), node.site, node.call, node.schema))
