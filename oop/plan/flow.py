"""`Flow`: a plan while it is being composed. A stream is a flow with the methods that users call. Windows, and all code
that makes an operator from what a user wrote, take a flow and give the next one."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from oop.errors import OopError, SchemaMismatch
from oop.frozen import frozen
from oop.operators.core.spec import Spec
from oop.operators.expressions.expr import Col, Expr
from oop.operators.groups.store_operator import unique_schema
from oop.operators.passing.project import Project
from oop.plan.early import is_early
from oop.plan.graph import Edge, Node, make_node
from oop.site import user_line


@frozen(eq=False)
class Flow:
    """``node`` is the last node so far, and ``time`` the column that windows are on by default. If the node is a split,
    ``route`` is its output."""

    node: Node
    time: str | None = None
    route: int | None = None

    @property
    def schema(self) -> pa.Schema:
        """The columns of its rows."""
        return self.node.schema

    @property
    def edge(self) -> Edge:
        """The input edge of an operator that reads this flow."""
        return Edge(self.node, self.route)

    def then(self, spec: Spec, call: str, *, time: str | None = None, others: Sequence[Flow] = ()) -> Flow:
        """The flow behind one more operator, which also reads ``others``. ``call`` is the step as the user wrote it."""
        if not spec.passes and any(is_early(flow.node) for flow in (self, *others)):
            raise SchemaMismatch(
                "results that may still change cannot be aggregated, joined or held: .emit(…) is terminal",
                at=user_line(),
                hint="put .emit(…) last; rows may still be filtered and projected",
            )
        edges = [self.edge, *(other.edge for other in others)]
        return Flow(make_node(spec, edges, user_line(), call), time)

    def project(self, columns: Sequence[tuple[str, Expr]], call: str) -> Flow:
        """The flow with only these columns. If the time column is there under another name, that is the new time."""
        site = user_line()
        try:
            unique_schema([pa.field(name, pa.null()) for name, _ in columns])
        except OopError as wrong:
            raise wrong.located(site) from None
        time = self.time if any(name == self.time for name, _ in columns) else None
        if time is None:
            time = next((name for name, e in columns if isinstance(e, Col) and e.name == self.time), None)
        shown = ", ".join(name for name, _ in columns)
        return self.then(Project(tuple(columns)), f"{call}({shown})", time=time)
