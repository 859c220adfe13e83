"""Which orders an in-order plan can make, and which its operators need (see `oop/plan/in_order.py`).

A union can be merged by any attribute that all its inputs promise about. So first its readers are asked which orders
they need, through filters and projections, under the names that columns have there. An order that no reader needs is
not made. If readers need several orders there is one merge for each, and no row is sorted by one attribute only to be
sorted by another.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress

import pyarrow as pa

from oop.errors import TimeError
from oop.operators.join.static import StaticJoin
from oop.operators.passing.project import Project
from oop.operators.source.numbers import SEQ
from oop.plan.graph import PROBES, Node, could_promise, walk
from oop.punctuation import Frontier

NO_ORDER = ""
"""Asked for by an operator that goes by promises, which no order of rows would help. (None: any order will do.)"""


class Possible:
    """What each node of a plan may come to promise when the plan runs out of order. `check_emits` asks the same."""

    def __init__(self, root: Node) -> None:
        self._found = [_frontiers(root, could_promise(root, bound)) for bound in PROBES]

    def _all(self, node: Node) -> Iterator[Frontier]:
        for found in self._found:
            if id(node) in found:
                yield found[id(node)]

    def releases(self, node: Node, attribute: str) -> bool:
        """Could a promise about all rows ever release rows that wait to be put in order of this attribute?"""
        return any(frontier.bound(attribute) is not None for frontier in self._all(node))

    def without_groups(self, node: Node) -> Iterator[Frontier]:
        for frontier in self._all(node):
            yield Frontier.of(*(p for p in frontier.promises() if not p.where))

    def attributes(self, node: Node) -> set[str]:
        """The attributes that may be promised about, alone or together with others. Row numbers are left out, because
        they cross no buffer."""
        found = {name for f in self.without_groups(node) for p in f.promises() for name in p.below}
        return (found & set(node.schema.names)) - {SEQ}


def _frontiers(root: Node, given: Mapping[int, Frontier]) -> dict[int, Frontier]:
    found = dict(given)
    for node in walk(root):
        inputs = [found.get(id(edge.node)) for edge in node.inputs]
        known = [f for f in inputs if f is not None]
        if id(node) in found or len(known) < len(inputs):
            continue
        with suppress(TimeError):  # no window can reach the bound that is tried; a real bound may do better
            found[id(node)] = node.crossing.translate(known)
    return found


def mixes(node: Node) -> bool:
    """Does a node that passes rows change their order? A left join with a static table does: rows without a match
    leave last."""
    return isinstance(node.spec, StaticJoin) and node.spec.how == "left"


def image_of_order(spec: Project, schema: pa.Schema) -> dict[str, str]:
    """By column of a projection: the input column whose order it has, because its value increases with that column
    alone. The greatest of two times has bounds, but is not in the order of either."""
    sources: dict[str, set[str]] = {}
    for source, images in spec.crossing([schema]).attributes.items():
        for name, _ in images:
            sources.setdefault(name, set()).add(source)
    return {name: next(iter(found)) for name, found in sources.items() if len(found) == 1}


def order_before(node: Node, order: str | None) -> str | None:
    """The order that the input of an operator that passes rows must have, so that its output is in this order."""
    if not order:
        return order
    (schema,) = node.input_schemas()[:1]
    if isinstance(node.spec, Project):
        return image_of_order(node.spec, schema).get(order, NO_ORDER)
    return order if order in schema.names and not mixes(node) else NO_ORDER
