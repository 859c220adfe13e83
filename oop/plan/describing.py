"""Where a plan gets a `Describe`: behind an operator that may promise more finely than its consumers can use.

A `Describe` pays only for promises about groups or about several attributes together: there may be many of them, and
each costs its consumer a search. A superfluous bound on one attribute costs less than another box. A source needs no
`Describe`, because its `Gate` passes only promises that help.
"""

from __future__ import annotations

from dataclasses import replace

from oop.errors import TimeError
from oop.operators.passing.describe import Describe
from oop.plan.graph import PROBES, Edge, Node, consumers, could_promise, interests, walk
from oop.punctuation import Frontier, Interest, Punctuation
from oop.punctuation.interest import asked_of

_AHEAD = (2**30, 2**60)
"""How far groups are ahead of all rows in the promises that plans are tried with: far enough to span many windows, and
small enough for most types."""


def described(root: Node) -> Node:
    """The plan with a Describe wherever one would drop promises. The very same plan if there is no such place."""
    wanted = interests(root)
    finer = {found for ahead in _AHEAD for found in _promise_too_finely(root, wanted, ahead)}
    made: dict[int, Node] = {}
    for node in walk(root):
        inputs = tuple(Edge(made[id(e.node)], e.route) for e in node.inputs)
        changed = any(new.node is not old.node for new, old in zip(inputs, node.inputs, strict=True))
        made[id(node)] = kept = replace(node, inputs=inputs) if changed else node
        if id(node) in finer:
            spec = Describe(tuple(wanted[id(node)]))
            made[id(node)] = Node(spec, (Edge(kept),), node.site, node.call, node.schema)
    return made[id(root)]


def _promise_too_finely(root: Node, wanted: dict[int, list[Interest]], ahead: int) -> list[int]:
    """The ids of nodes whose promises are finer than all of their consumers together can use."""
    readers = consumers(root)
    given = could_promise(root, PROBES[1], ahead)
    promised: dict[int, Frontier] = {}
    found: list[int] = []
    for node in walk(root):
        asked = wanted[id(node)]
        possible = given[id(node)] if id(node) in given else _translated(node, promised)
        promised[id(node)] = asked_of(possible, asked)
        by_hand = all(isinstance(reader.spec, Describe) for reader, _ in readers.get(id(node), ()))
        if not node.is_source and not by_hand and any(_too_fine(p, asked) for p in possible.promises()):
            found.append(id(node))
    return found


def _translated(node: Node, promised: dict[int, Frontier]) -> Frontier:
    try:
        return node.crossing.translate([promised[id(e.node)] for e in node.inputs])
    except TimeError:  # no window can reach the bound that the plan was tried with
        return Frontier()


def _too_fine(promise: Punctuation, asked: list[Interest]) -> bool:
    """Is a promise too fine? It is if no interest tells its groups apart, or none uses its attributes together."""
    if promise.where and not any(i.keeps(promise) for i in asked):
        return True
    return len(promise.below) > 1 and not any(promise.below.keys() <= i.uses.keys() for i in asked)
