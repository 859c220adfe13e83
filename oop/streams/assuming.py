"""`Stream.assume`: a bound on disorder that is enforced inside a plan (OOP paper, section 2, option 2)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from oop.errors import SchemaMismatch, UnknownColumn
from oop.io.policies import fitted
from oop.operators.assume.assume import Assume
from oop.operators.assume.order import Order
from oop.operators.core.group_values import check_type
from oop.punctuation import Policy
from oop.streams.waiting import time_of

if TYPE_CHECKING:
    from oop.streams.stream import Stream


def make_assume(stream: Stream, policy: Policy, on: str | None) -> Assume:
    attribute = time_of(stream, on, "say .assume(…, on=…)")
    if isinstance(policy, Policy) and not policy.is_data_driven:
        raise SchemaMismatch(
            f"a plan cannot assume {policy}: it says nothing of how rows follow each other",
            hint="assume oop.ordered() or oop.slack(…); other policies are for sources",
        )
    fit = fitted(policy, attribute, stream.schema, "assume")
    for name in fit.columns:
        if name not in stream.schema.names:
            raise UnknownColumn.of(name, stream.schema.names)
        check_type(stream.schema.field(name).type)
    return Assume(Order(attribute, group_by=fit.columns), policy=fit, text=str(policy))
