"""Row numbers are carried by the operators on the way from a source to an operator that counts rows.

A plan is written without them. An operator that needs the number of each row has a `Numbered` node in front of it,
which `numbered` puts there as a placeholder. When the plan is lowered, `resolved` takes the placeholders out, and lets
the operators in front of them carry the hidden column. So a stream that is also used otherwise stays one node, and its
other readers do not see the column. An operator says by `Spec.with_number` how it carries the number, and by
`Spec.numbers_rows` that it gives numbers itself.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from oop.errors import OopError, SchemaMismatch
from oop.operators.expressions.expr import col
from oop.operators.passing.project import Project
from oop.operators.passing.union import Union
from oop.operators.rows.number import Number
from oop.operators.source.numbers import SEQ, Numbered, of_source, schema_with_number
from oop.plan.flow import Flow
from oop.plan.graph import Edge, Node, make_node, walk


def numbered(flow: Flow) -> Flow:
    """The flow with the number of each row as the last column (`SEQ`), for an operator that counts rows."""
    if isinstance(flow.node.spec, Numbered):
        return flow
    check_numbers(flow.node)
    return flow.then(Numbered(), "row numbers", time=flow.time)


def ranked(flow: Flow, time: str) -> Flow:
    """The flow with its rows ranked by time. Rows of the same time are ranked by their source and their number there,
    or by their values if they have no numbers."""
    schema_with_number(flow.schema)  # refuses a user's column of the same name, also where rows are ranked by value
    try:
        check_numbers(flow.node, sources=True)
    except SchemaMismatch:
        ties = tuple(name for name in flow.schema.names if name != time)
        return flow.then(Number(time, ties), ".number()", time=flow.time)
    with_numbers = flow.then(Numbered(sources=True), "row numbers", time=flow.time)
    return with_numbers.then(Number(time, (SEQ,)), ".number()", time=flow.time)


def check_numbers(root: Node, sources: bool = False) -> None:
    """Raise SchemaMismatch if the rows of a node have no number. The error names the operator that loses it. With
    ``sources``, numbers are told apart by source, and so rows behind a union have one too."""
    waiting, seen = [root], {id(root)}
    while waiting:
        node = waiting.pop()
        _check_number(node, sources)
        if not node.spec.numbers_rows:
            above = [edge.node for edge in node.inputs if id(edge.node) not in seen]
            waiting += above
            seen.update(map(id, above))


def _check_number(node: Node, sources: bool) -> None:
    if isinstance(node.spec, Numbered):
        return  # its rows have numbers, as was checked when it was made
    schema_with_number(node.schema)  # refuses a user's column of the same name
    through = sources and isinstance(node.spec, Union)
    if not through and node.spec.with_number() is None:
        raise SchemaMismatch(
            f"rows are counted as a source gave them, and behind {node.call} at {node.site} they have no number",
            hint="number what comes out of it: .number(), or count the rows before it",
        )
    if node.data is not None and node.data.channel is not None:
        raise SchemaMismatch(
            f"the rows of {node.call} at {node.site} come through several channels, each with an order of its own",
            hint="leave channel= out: the rows of a source as a whole are counted as Spark's tasks bring them",
        )


def resolved(root: Node) -> Node:
    """The plan with row numbers in place of `Numbered` nodes. The very same plan if there are none."""
    nodes = walk(root)
    carriers = _carriers(node for node in nodes if isinstance(node.spec, Numbered))
    if not carriers:
        return root
    made: dict[int, Edge] = {}  # what has replaced each node
    for node in nodes:
        inputs = [_now(made[id(edge.node)], edge.route) for edge in node.inputs]
        if isinstance(node.spec, Numbered):
            made[id(node)] = _with_columns(inputs[0], node.schema.names)
        else:
            made[id(node)] = Edge(_rewritten(node, inputs, id(node) in carriers))
    return made[id(root)].node


def _carriers(placeholders: Iterable[Node]) -> set[int]:
    """The ids of the nodes that must carry the number: from each `Numbered` node up to the node that gives it."""
    found: set[int] = set()
    waiting = [edge.node for placeholder in placeholders for edge in placeholder.inputs]
    while waiting:
        node = waiting.pop()
        if id(node) not in found:
            found.add(id(node))
            waiting += [] if node.spec.numbers_rows else [edge.node for edge in node.inputs]
    return found


def _rewritten(node: Node, inputs: Sequence[Edge], carries: bool) -> Node:
    """The node with these inputs, some of which may carry the number now."""
    if not carries:
        if all(new.node is old.node for new, old in zip(inputs, node.inputs, strict=True)):
            return node
        if _gives_the_same(node, inputs):
            return replace(node, inputs=tuple(inputs))
    if carries and isinstance(node.spec, Union):
        return make_node(node.spec, _of_sources(node, inputs), node.site, node.call)
    spec = node.spec.with_number()
    if spec is None or node.spec.numbers_rows or len(inputs) > 1:  # give it only the columns that it was written for
        inputs = [_with_columns(new, old.node.schema.names) for new, old in zip(inputs, node.inputs, strict=True)]
        spec = spec if carries else node.spec
    assert spec is not None
    return make_node(spec, inputs, node.site, node.call, node.data)


def _of_sources(node: Node, inputs: Sequence[Edge]) -> list[Edge]:
    """The inputs of a union, with numbers that also say which source a row is from. Sources are counted over all
    inputs."""
    found, before = [], 0
    for new, old in zip(inputs, node.inputs, strict=True):
        columns = (*((name, col(name)) for name in old.node.schema.names), (SEQ, of_source(col(SEQ), before)))
        found.append(Edge(make_node(Project(columns), [new], node.site, node.call)))
        before += _sources_of(old.node)
    return found


def _sources_of(root: Node) -> int:
    """How many sources the row numbers of a node tell apart. A source that is read twice counts twice."""
    found: dict[int, int] = {}
    for node in walk(root):
        found[id(node)] = 1 if node.spec.numbers_rows else sum(found[id(edge.node)] for edge in node.inputs)
    return found[id(root)]


def _gives_the_same(node: Node, inputs: Sequence[Edge]) -> bool:
    """Does the spec give the same columns with these inputs? It does if it names all columns that it uses."""
    try:
        return bool(node.spec.schema([edge.node.schema for edge in inputs]).equals(node.schema))
    except OopError:
        return False


def _with_columns(edge: Edge, names: Sequence[str]) -> Edge:
    """An edge whose rows have these columns, in this order."""
    if edge.node.schema.names == list(names):
        return edge
    spec = Project(tuple((name, col(name)) for name in names))
    return Edge(make_node(spec, [edge], edge.node.site, edge.node.call))


def _now(made: Edge, route: int | None) -> Edge:
    return made if route is None else Edge(made.node, route)
