"""From what a user composed to the plan that an engine is given."""

from __future__ import annotations

from dataclasses import replace

from oop.operators.expressions.expr import col
from oop.operators.passing.project import Project
from oop.plan.accounting import accounted
from oop.plan.describing import described
from oop.plan.flow import Flow
from oop.plan.graph import Edge, Node, make_node, rebuilt
from oop.plan.numbering import resolved

ORDERS = ("oop", "iop")
"""Out of order, and in order."""


def final_plan(flow: Flow, order: str = "oop") -> Node:
    """The plan as it runs. Its last node is the flow's; one output of a split gets a node of its own."""
    node = flow.node
    if flow.route is not None:
        names = tuple((name, col(name)) for name in flow.schema.names)
        node = make_node(Project(names), [flow.edge], node.site, node.call)
    if order not in ORDERS:
        raise ValueError(f"order is 'oop' (out of order) or 'iop' (in order), not {order!r}")
    plan = accounted(resolved(node))
    if order == "iop":
        from oop.plan.in_order import in_order  # here, as few plans need it: `import oop` should be quick

        plan = in_order(plan, flow.time)
    return described(plan)


def with_late(flow: Flow, mode: str) -> Flow:
    """The same flow, whose sources treat late rows this way."""

    def make(node: Node, inputs: tuple[Edge, ...]) -> Node:
        return replace(node, spec=node.spec.with_late(mode), inputs=inputs)

    return replace(flow, node=rebuilt(flow.node, make))
