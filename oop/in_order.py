"""`run(order="iop")`: the same logical plan with the physical operators of an in-order system (paper 004, section 2).

Every operator that is sensitive to order says what its inputs must be in order of. Where a stream is not, it is sorted
right there, by what its sources promise; so filters and projections come before the sort. A union becomes an ordered
merge, a sliding aggregate buffers its rows, a join waits until its output is in order; other operators go by the order
of their rows (`operators/in_order.py`). All of it runs on one thread: several would mix up the order.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import TypeGuard

import pyarrow as pa

from oop.emitting import is_early
from oop.errors import NeverEmits, SchemaMismatch
from oop.operators.aggregate import WINDOW_END, WINDOW_START, Aggregate
from oop.operators.aggregates import ACCOUNTS
from oop.operators.base import Spec
from oop.operators.bucket import WID_START, Bucket
from oop.operators.buffered_aggregate import BufferedAggregate
from oop.operators.dedup import Dedup
from oop.operators.emit import Emit
from oop.operators.group_by import GroupBy
from oop.operators.in_order import InOrder
from oop.operators.in_order_join import InOrderJoin
from oop.operators.input import Input
from oop.operators.input_sort import InputSort
from oop.operators.join import Join
from oop.operators.landmark import LandmarkAggregate
from oop.operators.numbers import SEQ
from oop.operators.ordered_merge import OrderedMerge
from oop.operators.partition_rows import PartitionRows
from oop.operators.project import Project
from oop.operators.releasing import Releasing
from oop.operators.session import Session
from oop.operators.static_join import StaticJoin
from oop.operators.union import Union
from oop.plan import Edge, Node, check_emits, consumers, make_node, walk
from oop.punctuation.policies import Slack


@dataclass(frozen=True)
class _Made:
    """A node of the new plan: its time, and the attributes that its rows are in order of."""

    node: Node
    time: str | None
    ordered: frozenset[str] = frozenset()


@dataclass(frozen=True)
class _Step:
    """What becomes of an operator: what each input must be in order of (None: of nothing), and as in `_Made`."""

    spec: Spec
    inputs: Sequence[str | None]
    time: str | None
    ordered: frozenset[str] = frozenset()


_Sorts = dict[tuple[int, int | None, str], Node]
"""By what they sort, and by which attribute."""


def in_order(root: Node, time: str | None = None) -> Node:
    """The plan as an in-order system runs it; its rows in order of ``time``, where that can be. Results that are shown
    early are not: they would have to wait for that."""
    made: dict[int, _Made] = {}
    sorts: _Sorts = {}
    readers = consumers(root)
    for node in walk(root):
        given = [made[id(edge.node)] for edge in node.inputs]
        step = _step(node, given, [reader for reader, _ in readers.get(id(node), ())])
        if not _has_an_order(node, given, step):
            step = _Step(node.spec, [None] * len(given), None)
        edges = [
            _sorted(Edge(above.node, edge.route), above, on, node, sorts)
            for above, on, edge in zip(given, step.inputs, node.inputs, strict=True)
        ]
        new = make_node(step.spec, edges, node.site, node.call, node.data)
        made[id(node)] = _Made(new, step.time, step.ordered)
    last = made[id(root)]
    if time is None or time not in last.node.schema.names or time in last.ordered or is_early(root):
        return last.node
    return _sorted_if_possible(last.node, time)


def _sorted(edge: Edge, above: _Made, on: str | None, node: Node, sorts: _Sorts) -> Edge:
    """An input in the order that the operator needs; who else needs the same shares the sort."""
    if on is None or on in above.ordered:
        return edge
    key = id(edge.node), edge.route, on
    if key not in sorts:
        sorts[key] = make_node(InputSort(on), [edge], node.site, node.call)
    return Edge(sorts[key])


def _sorted_if_possible(root: Node, time: str) -> Node:
    """The result in order, unless nothing that is promised could ever release its rows."""
    found = make_node(InputSort(time), [Edge(root)], root.site, root.call)
    return found if _releases(found) else root


def _releases(sort: Node) -> bool:
    try:
        check_emits(sort)
    except NeverEmits:
        return False
    return True


def _has_an_order(node: Node, given: Sequence[_Made], step: _Step) -> bool:
    """Can inputs be sorted as a step asks for? A union needs no order if not, and behind a join whose state grows
    nothing ever tells one: there operators stay as they are out of order."""
    if not isinstance(node.spec, Union) and not any(_grows(above.node) for above in given):
        return True
    return all(
        on is None
        or on in above.ordered
        or _releases(make_node(InputSort(on), [Edge(above.node)], node.site, node.call))
        for above, on in zip(given, step.inputs, strict=True)
    )


def _grows(root: Node) -> bool:
    return any(isinstance(node.spec, Join) and node.spec.unbounded for node in walk(root))


def _step(node: Node, given: Sequence[_Made], readers: Sequence[Node]) -> _Step:
    spec = node.spec
    if isinstance(spec, Input):
        return _input(spec, node)
    if isinstance(spec, Union):
        times = {above.time for above in given}
        time = times.pop() if len(times) == 1 else None
        if time is None or time not in node.schema.names:  # of nothing that all could be in order of
            return _Step(spec, [None] * len(given), None)
        return _Step(OrderedMerge(spec.ports, time), [time] * len(given), time, frozenset({time}))
    if isinstance(spec, Join):
        return _join(spec, node)
    if isinstance(spec, Releasing):  # it sorts by itself, unless that is done already
        released = {spec.on, *((SEQ,) if SEQ in node.schema.names else ())}
        sorted_ = spec.on in given[0].ordered
        note = f"holds the rows of the last {spec.on}"
        return _Step(InOrder(spec, spec.on, spec.on, note) if sorted_ else spec, [None], spec.on, frozenset(released))
    if _grouping(spec):
        return _grouped(spec, node.site, given[0])
    if isinstance(spec, Bucket) and any(_grouping(reader.spec) for reader in readers):
        return _Step(spec, [spec.on], given[0].time, given[0].ordered | {spec.on})
    return _passing(node, given)


def _grouping(spec: Spec) -> TypeGuard[Aggregate | GroupBy | Session | Dedup | Emit]:
    """Is it one that is the same in any order? Aurora's go by arrival, and stay as they are."""
    of = spec.of if isinstance(spec, Emit) else spec
    return type(of) in (Aggregate, LandmarkAggregate, PartitionRows, GroupBy, Session, Dedup)


def _input(spec: Input, node: Node) -> _Step:
    if spec.late == "admit":
        raise SchemaMismatch(
            'in-order operators take no late rows: order="iop" and late="admit" exclude each other',
            at=node.site,
            hint='pass late="drop", or run it with order="oop"',
        )
    # rows behind the greatest so far are late, and do not pass the guard; but policies look at no infinite value
    linear = [a for a, policy in spec.policies if isinstance(policy, Slack) and not policy.bound and policy.by is None]
    ordered = {a for a in linear if a == spec.time or not pa.types.is_floating(node.schema.field(a).type)}
    return _Step(spec, [], spec.time, frozenset(ordered | ({SEQ} if spec.numbers else set())))


def _join(spec: Join, node: Node) -> _Step:
    if spec.unbounded or spec.how == "full":  # nothing tells when the last match has come, or there is no one time
        inputs = [None, None] if spec.unbounded else list(spec.times)
        return _Step(spec, inputs, spec.times[0] if spec.how != "full" else None)
    join = InOrderJoin(**{f.name: getattr(spec, f.name) for f in fields(spec)})
    time = join.names(node.input_schemas()).outputs[join.lead][spec.times[join.lead]]
    return _Step(join, list(spec.times), time, frozenset({time}))


def _grouped(spec: Aggregate | GroupBy | Session | Dedup | Emit, site: str, above: _Made) -> _Step:
    of = spec.of if isinstance(spec, Emit) else spec
    if isinstance(of, Aggregate) and any(f.function in ACCOUNTS for _, f in of.aggregates):
        raise SchemaMismatch(
            'in-order operators keep no account of late rows: oop.seen(), late() and aside() need order="oop"', at=site
        )
    if isinstance(of, PartitionRows):
        return _driven(spec, SEQ, out=None, time=None, note="holds one open window of each partition")
    if isinstance(of, LandmarkAggregate):
        if of.endless:
            return _Step(spec, [None], None)
        note = "holds the groups since the landmark"
        return _driven(spec, of.on, by=WID_START, out=WINDOW_END, time=WINDOW_END, note=note)
    if isinstance(of, Aggregate):
        if of.grid.overlaps and of is spec:
            buffered = BufferedAggregate(of.keys, of.aggregates, of.grid, of.on, of.time)
            return _Step(buffered, [of.on], WINDOW_START, frozenset({WINDOW_START, WINDOW_END}))
        return _driven(spec, of.on, by=WID_START, out=WINDOW_START, time=WINDOW_START, note="holds one open window")
    if isinstance(of, Session):
        return _driven(spec, of.on, out=WINDOW_END, time=WINDOW_START, note="holds one session of each key")
    assert isinstance(of, Dedup | GroupBy)
    on = of.time if isinstance(of, Dedup) and of.within is not None else _goes_by(of.on, above)
    if on is None:
        return _Step(spec, [None], None)
    return _driven(spec, on, out=on, time=on, note=f"holds what has the last {on}")


def _goes_by(attributes: Sequence[str], above: _Made) -> str | None:
    """Of the attributes of a group the first that rows are, or can be brought, in order of. About the others, as those
    of a join's other side, there may be promises only together with it."""
    for name in attributes:
        if name in above.ordered or _releases(make_node(InputSort(name), [Edge(above.node)], "", "")):
            return name
    return next(iter(attributes), None)


def _driven(spec: Spec, on: str, *, by: str | None = None, out: str | None, time: str | None, note: str) -> _Step:
    """An operator that goes by the order of its rows: they come in order of ``on``, and so of ``by`` (a window's number
    for its time), which it goes by; what it puts out is in order of ``out``, and has ``time`` as its time. Of what it
    shows early only the final rows are in order."""
    ordered = frozenset() if out is None or isinstance(spec, Emit) else frozenset({out})
    return _Step(InOrder(spec, by or on, out, note), [on], time, ordered)


def _passing(node: Node, given: Sequence[_Made]) -> _Step:
    """What passes rows passes their order, under the names that columns have behind it."""
    above, spec = given[0], node.spec
    if isinstance(spec, Project):
        images = spec.crossing(node.input_schemas()[0]).attributes
        # a bound on one time is one on the greatest of two, but the order of the one is not that of the other
        alone = {name for name, expr in spec.columns if len(expr.columns()) == 1}
        ordered = frozenset(name for on in above.ordered for name, _ in images.get(on, ()) if name in alone)
        names = [] if above.time is None else [name for name, f in images.get(above.time, ()) if f is None]
        return _Step(spec, [None], above.time if above.time in names else next(iter(names), None), ordered)
    kept = frozenset(above.ordered & set(node.schema.names))
    mixes = isinstance(spec, StaticJoin) and spec.how == "left"  # rows that meet none leave behind the others
    return _Step(spec, [None] * len(given), above.time, kept if spec.passes and not mixes else frozenset())
