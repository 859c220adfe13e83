"""From the flow that a user composed to the plan that an engine is given.

`lower` is the only way to such a plan. Runs on every engine, DataFrames, `explain` and the harness of the tests call
it, so that tests run what users run.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from oop.operators.expressions.expr import col
from oop.operators.passing.project import Project
from oop.operators.source.input import LATE_MODES
from oop.plan.accounting import accounted
from oop.plan.describing import described
from oop.plan.flow import Flow
from oop.plan.graph import Edge, Node, check_emits, make_node, rebuilt
from oop.plan.numbering import resolved

ORDERS = ("oop", "iop")
"""Out of order, and in order."""


def final_plan(flow: Flow, order: str = "oop") -> Node:
    """The plan that is the same for all engines: steps 1 to 5 of `lower`."""
    node = flow.node
    if flow.route is not None:
        names = tuple((name, col(name)) for name in flow.schema.names)
        node = make_node(Project(names), [flow.edge], node.site, node.call)
    if order not in ORDERS:
        raise ValueError(f"order is 'oop' (out of order) or 'iop' (in order), not {order!r}")
    plan = accounted(resolved(node))
    if order == "iop":
        from oop.plan.in_order import in_order  # imported here, because few plans need it

        plan = in_order(plan, flow.time)
    return described(plan)


def lower(flow: Flow, engine: Any, order: str = "oop", *, check: bool = True) -> Node:
    """The physical plan for an engine. It is made in these steps:

    1. If the flow is one output of a split, it gets a node of its own.
    2. Row numbers are carried to the operators that count rows (`numbering.py`).
    3. Dropped rows travel on to windows that count them (`accounting.py`).
    4. With ``order="iop"``, sorts and in-order operators are put in (`in_order.py`). An engine that does not say
       ``runs_in_order`` refuses that.
    5. A Describe is put in where promises are too fine (`describing.py`).
    6. A plan that could never emit is refused (`check_emits`), unless ``check`` is False, as for a plan that is only
       shown.
    7. The engine applies its own steps by its method ``plan``: `Embedded` puts in preaggregation and the measuring of
       latency, `Spark` nothing. An engine of a user's own need not have the method.

    An engine asks the lowered plan for interests and needed columns when it starts operators.
    """
    if order == "iop" and not getattr(engine, "runs_in_order", False):
        raise ValueError("in-order plans run embedded: engine=oop.Embedded(…)")
    plan = final_plan(flow, order)
    if check:
        check_emits(plan)
    own = getattr(engine, "plan", None)
    return plan if own is None else own(plan)  # type: ignore[no-any-return]


def with_late(flow: Flow, mode: str) -> Flow:
    """The flow with sources that treat late rows by this mode."""
    if mode not in LATE_MODES:
        raise ValueError(f"late is one of {', '.join(LATE_MODES)}, not {mode!r}")

    def make(node: Node, inputs: tuple[Edge, ...]) -> Node:
        return replace(node, spec=node.spec.with_late(mode), inputs=inputs)

    return replace(flow, node=rebuilt(flow.node, make))
