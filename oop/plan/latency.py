"""To measure the latency of results, every row of the plan gets Aurora's QoS timestamp (`operators/passing/qos.py`).

A row that an operator makes has the timestamp of the oldest row that it comes from (Aurora paper, footnote 3). So an
aggregate takes the least, a join and a Resample the lesser of two.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from oop.operators.core.spec import Spec
from oop.operators.expressions.expr import col, if_else, least
from oop.operators.functions.extremes import min as least_value
from oop.operators.join.fields import SUFFIX
from oop.operators.join.join import Join
from oop.operators.passing.project import Project
from oop.operators.passing.qos import ENTERED, LEFT_ENTERED, Enter, Monitor, name_taken
from oop.operators.resample.resample import Resample
from oop.plan.graph import Edge, Node, make_node, rebuilt


def measured(root: Node) -> Node:
    """The plan with timestamps, and with a monitor at its end. Behind an operator that cannot carry timestamps, rows
    get new ones."""
    last = rebuilt(root, _stamped)
    return make_node(Monitor(), [Edge(last)], root.site, root.call)


def _stamped(node: Node, inputs: tuple[Edge, ...]) -> Node:
    if node.is_source:
        return make_node(Enter(), [Edge(node)], node.site, node.call)
    if isinstance(node.spec, Join):
        if ENTERED + SUFFIX in node.schema.names:
            raise name_taken(node.site, ENTERED + SUFFIX)
        return _joined(node, inputs)
    if ENTERED in node.schema.names:
        raise name_taken(node.site)
    carrying = _carrying(node.spec)
    found = make_node(carrying, inputs, node.site, node.call, node.data)
    if LEFT_ENTERED in set(found.schema.names).difference(node.schema.names):  # a Resample: its left row counts too
        columns = [(name, col(name)) for name in node.schema.names]
        lesser = Project((*columns, (ENTERED, least(col(ENTERED), col(LEFT_ENTERED)))))
        return make_node(lesser, [Edge(found)], node.site, node.call)
    if ENTERED in found.schema.names:
        return found
    return make_node(Enter(), [Edge(found)], node.site, node.call)


def _carrying(spec: Spec) -> Spec:
    """The spec that also gives the oldest timestamp of the rows behind each row. The same spec if it cannot."""
    if isinstance(spec, Project):
        return Project((*spec.columns, (ENTERED, col(ENTERED))))
    stamps = (ENTERED, LEFT_ENTERED) if isinstance(spec, Resample) else (ENTERED,)
    return spec.with_inner(_carrying) or spec.with_aggregates([(name, least_value(name)) for name in stamps]) or spec


def _joined(node: Node, inputs: tuple[Edge, ...]) -> Node:
    """A join with the lesser of both sides' timestamps. In a padded row the timestamp of the other side is null. A row
    of a semi join also comes from the right rows that released it."""
    spec: Any = node.spec
    found = make_node(replace(spec, least_of=ENTERED) if spec.how == "semi" else spec, inputs, node.site, node.call)
    ours, theirs = col(ENTERED), col(ENTERED + SUFFIX)
    if theirs.name not in found.schema.names:
        return found
    lesser = if_else(ours.is_null(), theirs, if_else(theirs.is_null(), ours, least(ours, theirs)))
    columns = [(name, col(name)) for name in node.schema.names]
    return make_node(Project((*columns, (ENTERED, lesser))), [Edge(found)], node.site, node.call)
