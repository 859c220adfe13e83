"""The in-order counterpart of each operator: what its inputs must be in order of, and what its output is in order of.
Those of unions and joins depend on their readers, and are in `oop/plan/in_order.py`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TypeGuard

import pyarrow as pa

from oop.errors import SchemaMismatch
from oop.frozen import frozen
from oop.operators.aggregate.aggregate import Aggregate
from oop.operators.aggregate.emit import Emit
from oop.operators.aggregate.fields import WINDOW_END, WINDOW_START
from oop.operators.aggregate.group_by import GroupBy
from oop.operators.aggregate.landmark import LandmarkAggregate
from oop.operators.aggregate.partition_rows import PartitionRows
from oop.operators.core.spec import Spec
from oop.operators.dedup.dedup import Dedup
from oop.operators.functions.function import any_keeps_account
from oop.operators.in_order.aggregate import BufferedAggregate
from oop.operators.in_order.wrapper import InOrder
from oop.operators.passing.project import Project
from oop.operators.session.session import Session
from oop.operators.source.input import Input
from oop.operators.source.numbers import SEQ
from oop.operators.windows.bucket import WID_START
from oop.plan.graph import Node
from oop.plan.orders import NO_ORDER, Possible, image_of_order, mixes


@frozen()
class Counterpart:
    """The in-order counterpart of an operator: its physical spec, what each input must be in order of (None: any order;
    `NO_ORDER`: it goes by promises, not by order), the time of its rows, and the attributes that they are in order of.
    """

    spec: Spec
    inputs: Sequence[str | None]
    time: str | None
    ordered: frozenset[str] = frozenset()


_GroupingSpec = Aggregate | GroupBy | Session | Dedup | Emit


def is_grouping(spec: Spec) -> TypeGuard[_GroupingSpec]:
    """Is this an operator with groups that gives the same answer for any order of rows? Aurora's operators are not
    such, because they go by arrival; they have no in-order counterpart."""
    of = spec.of if isinstance(spec, Emit) else spec
    return type(of) in (Aggregate, LandmarkAggregate, PartitionRows, GroupBy, Session, Dedup)


def input_step(spec: Input, node: Node) -> Counterpart:
    if spec.late == "admit":
        raise SchemaMismatch(
            'in-order operators take no late rows: order="iop" and late="admit" exclude each other',
            at=node.site,
            hint='pass late="drop", or run it with order="oop"',
        )
    # Rows behind the greatest value so far are late, so rows that pass the guard are in order. Of an attribute beside
    # the time that is a float this does not hold, because policies ignore infinite values.
    linear = [a for a, policy in spec.policies if policy.keeps_order]
    ordered = {a for a in linear if a == spec.time or not pa.types.is_floating(node.schema.field(a).type)}
    return Counterpart(spec, [], spec.time, frozenset(ordered | ({SEQ} if spec.numbers else set())))


def grouped_step(spec: _GroupingSpec, node: Node, above: Counterpart, possible: Possible) -> Counterpart:
    of = spec.of if isinstance(spec, Emit) else spec
    if isinstance(of, Aggregate) and any_keeps_account(of.aggregates):
        raise SchemaMismatch(
            "in-order operators keep no account of late rows: oop.seen(), late() and aside()",
            at=node.site,
            hint='run it with order="oop"',
        )
    if isinstance(of, PartitionRows):
        return _driven(spec, SEQ, out=None, time=None, note="holds one open window of each partition")
    if isinstance(of, LandmarkAggregate):
        if of.endless:
            return Counterpart(spec, [None], None)
        note = "holds the groups since the landmark"
        return _driven(spec, of.on, by=WID_START, out=WINDOW_END, time=WINDOW_END, note=note)
    if isinstance(of, Aggregate):
        if of.grid.overlaps and of is spec:
            buffered = BufferedAggregate(of.keys, of.aggregates, of.grid, of.on, of.time)
            return Counterpart(buffered, [of.on], WINDOW_START, frozenset({WINDOW_START, WINDOW_END}))
        step = _driven(spec, of.on, by=WID_START, out=WINDOW_START, time=WINDOW_START, note="holds one open window")
        return replace(step, ordered=step.ordered and step.ordered | {WINDOW_END})
    if isinstance(of, Session):
        return _driven(spec, of.on, out=WINDOW_END, time=WINDOW_START, note="holds one session of each key")
    assert isinstance(of, (GroupBy, Dedup))
    if isinstance(of, Dedup) and of.within is not None:
        # the last row of a span leaves when the span is over, after later rows of spans that began earlier
        out = None if of.keep == "last" else of.time
        return _driven(spec, str(of.time), out=out, time=of.time, note=f"holds one span of {of.within} of each key")
    on = _goes_by(of, node, above, possible)
    if not on:
        return Counterpart(spec, [on], None)
    return _driven(spec, on, out=on, time=on, note=f"holds what has the last {on}")


def _goes_by(spec: GroupBy | Dedup, node: Node, above: Counterpart, possible: Possible) -> str | None:
    """The key whose order a group-by or dedup goes by. Of the keys that may be promised about, it is one that the rows
    are already in order of, else the time, else the first. If only promises about several keys together could release
    groups it is `NO_ORDER`, and the operator waits for those. If no key is promised about it is the first key, so that
    the check of the plan says what is missing."""
    input_ = node.inputs[0].node
    released = [name for name in spec.on if possible.releases(input_, name)]
    if released:
        return next((n for n in released if n in above.ordered), above.time if above.time in released else released[0])
    if any(spec.blocking([f], node.input_schemas()) is None for f in possible.without_groups(input_)):
        return NO_ORDER
    return next(iter(spec.on), None)


def _driven(spec: Spec, on: str, *, by: str | None = None, out: str | None, time: str | None, note: str) -> Counterpart:
    """The step of an operator that goes by the order of its rows. Rows come in order of ``on``, and therefore of
    ``by``, by which the operator acts (such as a window's number, which follows from its time). The output is in order
    of ``out``, unless it has early results, and its time is ``time``."""
    ordered = frozenset() if out is None or isinstance(spec, Emit) else frozenset({out})
    return Counterpart(InOrder(spec, by or on, out, note), [on], time, ordered)


def passing_step(node: Node, given: Sequence[Counterpart]) -> Counterpart:
    """An operator that passes rows keeps their order, under the names that columns have behind it."""
    above, spec = given[0], node.spec
    if isinstance(spec, Project):
        schema = node.input_schemas()[0]
        ordered = frozenset(name for name, on in image_of_order(spec, schema).items() if on in above.ordered)
        images = spec.crossing([schema]).attributes
        names = [] if above.time is None else [name for name, f in images.get(above.time, ()) if f is None]
        return Counterpart(spec, [None], above.time if above.time in names else next(iter(names), None), ordered)
    kept = frozenset(above.ordered & set(node.schema.names))
    return Counterpart(spec, [None] * len(given), above.time, kept if spec.passes and not mixes(node) else frozenset())
