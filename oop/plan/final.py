"""From what a user composed to the plan that an engine is given.

`lower` is the only way there: runs on every engine, DataFrames, `explain` and the harness of the tests call it, so that
tests run what users run.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from oop.operators.expressions.expr import col
from oop.operators.passing.project import Project
from oop.plan.accounting import accounted
from oop.plan.describing import described
from oop.plan.flow import Flow
from oop.plan.graph import Edge, Node, check_emits, make_node, rebuilt
from oop.plan.numbering import resolved

ORDERS = ("oop", "iop")
"""Out of order, and in order."""


def final_plan(flow: Flow, order: str = "oop") -> Node:
    """The plan that is the same for all engines: steps 1 to 5 of `lower`. Its last node is the flow's; one
    output of a split gets a node of its own."""
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


def lower(flow: Flow, engine: Any, order: str = "oop", *, check: bool = True) -> Node:
    """The physical plan, for an engine. These are the steps, in this order:

    1. One output of a split gets a node of its own.
    2. Row numbers are carried to whoever counts rows (`numbering.py`).
    3. Dropped rows travel on to windows that count them (`accounting.py`).
    4. In order: sorts and in-order operators are put in (`in_order.py`).
    5. Promises that are too fine are described (`describing.py`).
    6. A plan that could never emit is refused (`check_emits`). Whoever only looks at a plan leaves this out.
    7. The engine's own steps (`Engine.plan`): embedded, the measuring of latency and preaggregation; on Spark, none.

    An engine asks the lowered plan for interests and needed columns when it starts operators.
    """
    plan = final_plan(flow, order)
    if check:
        check_emits(plan)
    own = getattr(engine, "plan", None)  # an engine of a user may have `run` alone
    return plan if own is None else own(plan)  # type: ignore[no-any-return]


def with_late(flow: Flow, mode: str) -> Flow:
    """The same flow, whose sources treat late rows this way."""

    def make(node: Node, inputs: tuple[Edge, ...]) -> Node:
        return replace(node, spec=node.spec.with_late(mode), inputs=inputs)

    return replace(flow, node=rebuilt(flow.node, make))
