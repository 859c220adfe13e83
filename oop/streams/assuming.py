"""`Stream.assume`: a bound on disorder that is enforced inside a plan (OOP paper, section 2, option 2)."""

from __future__ import annotations

from oop.errors import SchemaMismatch, UnknownColumn
from oop.io.policies import fitted
from oop.operators.assume.assume import Assume
from oop.operators.assume.order import Order
from oop.operators.core.group_values import check_type
from oop.plan.flow import Flow
from oop.punctuation import Policy
from oop.punctuation.policy import checked
from oop.streams.locating import AtUsersLine
from oop.streams.waiting import time_of


def assumed(flow: Flow, policy: Policy, on: str | None) -> Flow:
    with AtUsersLine():
        spec = _make_assume(flow, policy, on)
    return flow.then(spec, f".assume({policy})", time=spec.order.on)


def _make_assume(flow: Flow, policy: Policy, on: str | None) -> Assume:
    attribute = time_of(flow, on, "say .assume(…, on=…)")
    if not checked(policy, "assume").is_data_driven:
        raise SchemaMismatch(
            f"a plan cannot assume {policy}: it says nothing of how rows follow each other",
            hint="assume oop.ordered() or oop.slack(…); other policies are for sources",
        )
    fit = fitted(policy, attribute, flow.schema, "assume")
    for name in fit.columns:
        if name not in flow.schema.names:
            raise UnknownColumn.of(name, flow.schema.names)
        check_type(flow.schema.field(name).type)
    return Assume(Order(attribute, group_by=fit.columns), policy=fit, text=str(policy))
