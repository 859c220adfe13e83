"""`run(order="iop")`: the same logical plan with the physical operators of an in-order system (OOP paper, section 2).

Every operator that is sensitive to order says what its inputs must be in order of. A stream that is not in that order
is sorted right in front of the operator, so filters and projections come before the sort. The promises of the sources
release rows from the sort. A union becomes an ordered merge by what its readers need (`oop/plan/orders.py`), a sliding
aggregate buffers its rows, and a join waits until its output is in order. Other operators go by the order of their rows
(`operators/in_order/wrapper.py`). All of it runs on one thread, because several would mix up the order.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import fields, replace

from oop.errors import NeverEmits
from oop.operators.in_order.join import InOrderJoin
from oop.operators.in_order.merge import OrderedMerge
from oop.operators.in_order.sort import InputSort
from oop.operators.in_order.wrapper import InOrder
from oop.operators.join.join import Join
from oop.operators.passing.union import Union
from oop.operators.rows.releasing import Releasing
from oop.operators.source.numbers import SEQ
from oop.operators.windows.bucket import Bucket
from oop.plan.early import is_early
from oop.plan.graph import Edge, Node, check_emits, consumers, interests, make_node, rebuilt, walk
from oop.plan.in_order_steps import Counterpart, grouped_step, input_step, is_grouping, passing_step
from oop.plan.orders import NO_ORDER, Possible, order_before

_Made = tuple[Node, Counterpart]


def in_order(root: Node, time: str | None = None) -> Node:
    """The plan as an in-order system runs it, with the result in order of ``time`` where possible. Early results are
    not put in order, because a sort would make them wait."""
    time = time if time in root.schema.names else None
    early = is_early(root)
    plan = _Plan(root, NO_ORDER if early else time)
    last, step = plan.built()
    if time is not None and time not in step.ordered and not early:
        last = _sorted_if_possible(last, time, plan.possible.attributes(root))
    return _asked_alone(last)


class _Plan:
    """The first pass finds what each operator needs. The second, from the result back to the sources, finds which
    orders are asked for. The third makes the nodes. ``above`` names the step that an operator reads from, and ``last``
    is the order of the result."""

    def __init__(self, root: Node, last: str | None) -> None:
        self.root, self.nodes, self.last = root, walk(root), last
        self.possible = Possible(root)
        self.readers = consumers(root)
        self.steps: dict[int, Counterpart] = {}
        for node in self.nodes:
            self.steps[id(node)] = self._step(node, [self.steps[id(edge.node)] for edge in node.inputs])
        self.orders = self._orders()
        self.made: dict[tuple[int, str | None], _Made] = {}
        self.sorts: dict[tuple[int, int | None, str], Node] = {}  # by node, output and attribute

    def _orders(self) -> dict[int, dict[str | None, None]]:
        """By id of a node: the orders that its readers ask for."""
        found: dict[int, dict[str | None, None]] = {id(self.root): {self._to_ask(self.root, self.last): None}}
        for node in reversed(self.nodes):
            for order in found[id(node)]:
                for edge, asked in zip(node.inputs, self._asked(node, order, found[id(node)]), strict=True):
                    found.setdefault(id(edge.node), {})[asked] = None
        return found

    def _asked(self, node: Node, order: str | None, orders: Collection[str | None]) -> list[str | None]:
        """The order that a node asks of each input when it is asked for ``order``, one of ``orders``."""
        step = self.steps[id(node)]
        asked = step.inputs
        if isinstance(node.spec, Union):
            asked = [order] * len(node.inputs)
        elif isinstance(node.spec, Join):
            asked = self._join(node, orders).inputs
        elif isinstance(node.spec, Releasing):
            asked = [node.spec.on]
        elif node.spec.passes and asked == [None]:
            asked = [order_before(node, order)]
        return [self._to_ask(edge.node, on) for edge, on in zip(node.inputs, asked, strict=True)]

    def _to_ask(self, node: Node, order: str | None) -> str | None:
        """The order that is asked of a node, if its reader asks for ``order``. A union is merged by that order, or by
        its time if any order will do. If no promise could release that order, the union is not merged, and rows are
        sorted where they are needed."""
        if not isinstance(node.spec, Union) or order == NO_ORDER:
            return order
        order = self.steps[id(node)].time if order is None else order
        return order if order is not None and self.possible.releases(node, order) else NO_ORDER

    def built(self) -> _Made:
        nodes: dict[tuple[object, ...], Node] = {}
        for node in self.nodes:
            orders = self.orders[id(node)]
            for order in orders:
                asked = self._asked(node, order, orders)
                given = [self.made[id(edge.node), on] for edge, on in zip(node.inputs, asked, strict=True)]
                step = self._made_of(node, order, [step for _, step in given])
                edges = [
                    self._sorted(Edge(above, edge.route), made, on, edge.node, node)
                    for (above, made), on, edge in zip(given, step.inputs, node.inputs, strict=True)
                ]
                # one node serves all orders, unless it is a union or its inputs exist once for each order
                key = id(node), isinstance(node.spec, Union) and order, *((id(e.node), e.route) for e in edges)
                if key not in nodes:
                    nodes[key] = make_node(step.spec, edges, node.site, node.call, node.data)
                self.made[id(node), order] = nodes[key], step
        return self.made[id(self.root), next(iter(self.orders[id(self.root)]))]

    def _sorted(self, edge: Edge, above: Counterpart, on: str | None, of: Node, node: Node) -> Edge:
        """An input in the order that the operator needs. Operators that need the same order share the sort."""
        if not on or on in above.ordered:
            return edge
        key = id(edge.node), edge.route, on
        if key not in self.sorts:
            sort = InputSort(on, beside=_beside(self.possible.attributes(of), on))
            self.sorts[key] = make_node(sort, [edge], node.site, node.call)
        return Edge(self.sorts[key])

    def _step(self, node: Node, given: Sequence[Counterpart]) -> Counterpart:
        """The step of a node, as far as it does not depend on the node's readers."""
        spec = node.spec
        if node.is_source:
            return input_step(node.source, node)
        if isinstance(spec, Union):  # it is in the orders that all inputs have without a sort
            times = {above.time for above in given}
            time = times.pop() if len(times) == 1 else None
            return Counterpart(
                spec, [None] * len(given), time, frozenset.intersection(*(above.ordered for above in given))
            )
        if isinstance(spec, Join):
            return self._join(node, ())
        if isinstance(spec, Releasing):  # it sorts by itself, unless its input is already in order
            released = {spec.on, *((SEQ,) if SEQ in node.schema.names else ())}
            sorted_ = spec.on in given[0].ordered
            note = f"holds the rows of the last {spec.on}"
            spec_ = InOrder(spec, spec.on, spec.on, note) if sorted_ else spec
            return Counterpart(spec_, [None], spec.on, frozenset(released))
        if is_grouping(spec):
            return grouped_step(spec, node, given[0], self.possible)
        if isinstance(spec, Bucket) and any(is_grouping(reader.spec) for reader, _ in self.readers.get(id(node), ())):
            # a sort by `on` destroys other orders
            kept = given[0].ordered if spec.on in given[0].ordered else frozenset({spec.on})
            return Counterpart(spec, [spec.on], given[0].time, kept)
        return passing_step(node, given)

    def _made_of(self, node: Node, order: str | None, given: Sequence[Counterpart]) -> Counterpart:
        """The final step of a node, given those of its inputs, for one of the orders that are asked for."""
        step = self.steps[id(node)]
        if isinstance(node.spec, Union):
            if not order:  # no reader needs an order, or there is none that all inputs could have
                return replace(step, ordered=frozenset())
            merge = OrderedMerge(node.spec.ports, order, _beside(self.possible.attributes(node), order))
            return Counterpart(merge, [order] * len(given), step.time, frozenset({order}))
        if isinstance(node.spec, Join):
            return self._join(node, self.orders[id(node)])
        return step if is_grouping(node.spec) else self._step(node, given)

    def _join(self, node: Node, orders: Collection[str | None]) -> Counterpart:
        """The in-order join, whose output is in order of its leading time. The out-of-order join is used instead in
        three cases: a reader asks for joint promises, or for an order of a column that only the whole frontier of a
        side releases; the join is unbounded, so that nothing tells when the last match has come; or it is a full join,
        which has no single time."""
        spec = node.spec
        assert isinstance(spec, Join)
        if spec.unbounded or spec.how == "full":
            return Counterpart(spec, [NO_ORDER, NO_ORDER], spec.times[0] if spec.how != "full" else None)
        join = InOrderJoin(**{f.name: getattr(spec, f.name) for f in fields(spec)})
        outputs = join.names(node.input_schemas()).outputs
        time = outputs[join.lead][spec.times[join.lead]]
        times = {time, outputs[1 - join.lead].get(spec.times[1 - join.lead])}
        others = {order for order in orders if order is not None} - times
        if any(order == NO_ORDER or self.possible.releases(node, order) for order in others):
            return Counterpart(spec, [NO_ORDER, NO_ORDER], time)
        return Counterpart(join, list(spec.times), time, frozenset({time}))


def _sorted_if_possible(root: Node, time: str, promised: Collection[str]) -> Node:
    """The result sorted, unless no promise could ever release its rows."""
    found = make_node(InputSort(time, beside=_beside(promised, time)), [Edge(root)], root.site, root.call)
    try:
        check_emits(found)
    except NeverEmits:
        return root
    return found


def _beside(promised: Collection[str], on: str) -> tuple[str, ...]:
    return tuple(sorted(name for name in promised if name != on))


def _asked_alone(root: Node) -> Node:
    """Let sorts and merges pass only promises about attributes that a reader asks about, because for each promise they
    must look at the rows that they hold."""
    if not any(isinstance(n.spec, (InputSort, OrderedMerge)) and n.spec.beside for n in walk(root)):
        return root
    wanted = interests(root)

    def narrowed(node: Node, edges: tuple[Edge, ...]) -> Node:
        spec = node.spec
        if isinstance(spec, (InputSort, OrderedMerge)) and spec.beside:
            used = {name for interest in wanted[id(node)] for name in interest.uses}
            spec = replace(spec, beside=tuple(name for name in spec.beside if name in used))
        return replace(node, spec=spec, inputs=edges)

    return rebuilt(root, narrowed)
