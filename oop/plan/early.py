"""Plans that show results before these are complete."""

from __future__ import annotations

from oop.operators.aggregate.emit import Emit
from oop.plan.graph import Node, walk


def is_early(node: Node) -> bool:
    """Does a plan show results that may still change?"""
    return any(isinstance(n.spec, Emit) and n.spec.is_early for n in walk(node))
