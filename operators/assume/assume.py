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

import pyarrow as pa

from oop.frozen import frozen
from oop.operators.assume.fields import AssumeFields, without_number
from oop.operators.assume.operator import AssumeOperator
from oop.operators.assume.order import TUP
from oop.operators.core.context import Context
from oop.operators.core.operator import Operator
from oop.punctuation import Punctuation
from oop.punctuation.crossing import Carried, Counted, Crossing, Same
from oop.punctuation.patterns import Value
from oop.punctuation.translate import carry_unchanged


@frozen(eq=False)
class Assume(AssumeFields):
    """The spec of an Assume; `fields.py` says what it is given."""

    name = "Assume"
    needs_order = True
    sets_aside = True

    @property
    def counts(self) -> tuple[str, ...]:  # type: ignore[override]
        return (self.order.on,)

    def shard_columns(self, inputs: Sequence[pa.Schema]) -> list[tuple[str, ...]] | None:
        return None if self.tells_rest else [self.order.group_by]

    def crossing(self, inputs: Sequence[pa.Schema]) -> Crossing:
        """The input's promises hold for the rows that are left, except those about numbers, which rows get anew here.

        How far the order has come is known only to the running operator.
        """
        (schema,) = inputs
        renumbers = self.order.on == TUP and TUP in schema.names
        passing = Carried(*carry_unchanged(without_number(schema).names)) if renumbers else Same()
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
