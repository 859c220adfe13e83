"""Assume: rows out of order are set aside, and what that allows is promised (Aurora paper, section 5.2.2).

Every order-sensitive operator of Aurora does this before its own work: "an operator that assumes an order
specification, O, over its input stream discards all tuples in its input stream, S, that are out of order wrt O in S".
Nothing is sorted and nothing is held: a row is judged by the rows of its group before it, in order of arrival. Assume
does inside a plan what the guard of an input does at a source. Rows that are set aside are in `Run.late`, each with the
promise that it broke. The input's promises hold for the rows that are left.

With a policy, rows are judged as a source with that policy judges them, for example by slack in time (OOP paper,
section 2, option 2: the bound on disorder is enforced inside the query, for example behind a union).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import pyarrow as pa

from oop.errors import SchemaMismatch, UnknownColumn
from oop.operators.assume.operator import AssumeOperator
from oop.operators.assume.order import TUP, Order
from oop.operators.core.context import Context
from oop.operators.core.group_values import check_type
from oop.operators.core.operator import Operator
from oop.operators.core.spec import Spec
from oop.operators.core.times import check_time_type
from oop.punctuation import Policy, Punctuation
from oop.punctuation.crossing import Carried, Counted, Crossing, Same
from oop.punctuation.patterns import Bound, Value
from oop.punctuation.translate import carry_unchanged


@dataclass(frozen=True, eq=False)
class Assume(Spec):
    """``groups`` lists all groups (for several columns as tuples, in alphabetical order of the columns), or ``idle``
    says when a silent group no longer counts. With either there are also promises about all groups together. A
    ``policy``, with durations in the attribute's unit, decides itself which rows are on time; then only the columns of
    the order are used."""

    order: Order
    groups: tuple[Value, ...] | None = None
    idle: Bound | None = None
    policy: Policy | None = None
    text: str = ""  # the policy as the user wrote it
    name = "Assume"
    sets_aside = True

    @property
    def counts(self) -> tuple[str, ...]:  # type: ignore[override]
        return (self.order.on,)

    @property
    def tells_rest(self) -> bool:
        """Is there a promise about all rows, whatever their group?"""
        if self.policy is not None:
            return self.policy.promises_rest
        return not self.order.group_by or self.groups is not None or self.idle is not None

    def shard_columns(self, inputs: Sequence[pa.Schema]) -> list[tuple[str, ...]] | None:
        return None if self.tells_rest else [self.order.group_by]

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
        return pa.schema([*_without_number(schema), pa.field(TUP, pa.int64())]) if not on else schema

    def crossing(self, inputs: Sequence[pa.Schema]) -> Crossing:
        """The input's promises hold for the rows that are left, except those about numbers, which rows get anew here.

        How far the order has come is known only to the running operator.
        """
        (schema,) = inputs
        renumbers = self.order.on == TUP and TUP in schema.names
        passing = Carried(*carry_unchanged(_without_number(schema).names)) if renumbers else Same()
        expected = [Punctuation({self.order.on: -math.inf})] if self.tells_rest else []
        if self.order.group_by:
            expected.append(Punctuation({self.order.on: -math.inf}, dict.fromkeys(self.order.group_by)))
        return Counted(passing, expected)

    def start(self, context: Context) -> Operator:
        return AssumeOperator(self, context)

    def describe(self) -> str:
        if self.policy is not None:
            return f"Assume {self.text} on {self.order.on}"
        groups = "" if self.groups is None else f", of {', '.join(map(self._show, self.groups))}"
        idle = "" if self.idle is None else f", idle after {self.idle}"
        return f"Assume {self.order}{groups}{idle}"

    def _show(self, group: Value) -> str:
        """A group of one column as its value; a group of several columns with their names."""
        columns = sorted(self.order.group_by)
        if len(columns) == 1:
            return repr(group)
        return f"({', '.join(f'{name} = {value!r}' for name, value in zip(columns, group, strict=True))})"

    def promise_note(self) -> str:
        if self.policy is not None:
            return f"promises {self.order.on} < what {self.text} allows"
        greatest = f"the greatest but {self.order.slack}" if self.order.slack else "the greatest"
        bound = "the number of rows" if self.order.on == TUP else f"{greatest} so far"
        by = " of each group" if self.order.group_by else ""
        together = ", and of all as the slowest" if self.order.group_by and self.tells_rest else ""
        return f"promises {self.order.on} < {bound}{by}{together}"


def _without_number(schema: pa.Schema) -> pa.Schema:
    return pa.schema([field for field in schema if field.name != TUP])
