"""The fields of `Assume`, and what its running operator asks of them."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from oop.errors import SchemaMismatch, UnknownColumn
from oop.frozen import frozen
from oop.operators.assume.order import TUP, Order
from oop.operators.core.group_values import check_type
from oop.operators.core.spec import Spec
from oop.operators.core.times import check_time_type
from oop.punctuation import Policy
from oop.punctuation.patterns import Bound, Value


def without_number(schema: pa.Schema) -> pa.Schema:
    return pa.schema([field for field in schema if field.name != TUP])


@frozen(eq=False)
class AssumeFields(Spec):
    """``groups`` lists all groups (for several columns as tuples, in alphabetical order of the columns), or ``idle``
    says when a silent group no longer counts. With either there are also promises about all groups together. A
    ``policy``, with durations in the attribute's unit, decides itself which rows are on time; then only the columns of
    the order are used."""

    order: Order
    groups: tuple[Value, ...] | None = None
    idle: Bound | None = None
    policy: Policy | None = None
    text: str = ""  # the policy as the user wrote it

    @property
    def tells_rest(self) -> bool:
        """Is there a promise about all rows, whatever their group?"""
        if self.policy is not None:
            return self.policy.promises_rest
        return not self.order.group_by or self.groups is not None or self.idle is not None

    def schema(self, inputs: Sequence[pa.Schema]) -> pa.Schema:
        (schema,) = inputs
        on = () if self.order.on == TUP else (self.order.on,)
        for name in (*on, *self.order.group_by):
            if name not in schema.names:
                raise UnknownColumn.of(name, schema.names)
        for name in on:
            check_time_type(name, schema.field(name).type)
        for name in self.order.group_by:
            check_type(schema.field(name).type)
        if (self.groups is not None or self.idle is not None) and not (self.order.group_by and on):
            raise SchemaMismatch(
                f"groups= and idle= are about the groups of an order on an attribute, not about an {self.order}",
                hint="order by group, on an attribute of the rows",
            )
        return pa.schema([*without_number(schema), pa.field(TUP, pa.int64())]) if not on else schema
