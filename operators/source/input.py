"""Input: the description of a source as a plan holds it; `operator.py` runs it (OOP paper, sections 3.2, 5.1 and 5.4).

A row is late iff it is below the bound implied by the rows before it, so lateness does not depend on batches; the
promise itself may follow later. A promise ends the batch in progress (A.1.1). A promise that helps no consumer is held
back.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import pyarrow as pa

from oop.errors import SchemaMismatch, UnknownColumn
from oop.operators.core.context import Context
from oop.operators.core.group_values import check_type
from oop.operators.core.operator import Operator
from oop.operators.core.spec import Spec
from oop.operators.core.times import check_time_type
from oop.operators.source.numbers import promised, schema_with_number
from oop.operators.source.operator import InputOperator
from oop.operators.source.stamping import with_arrival
from oop.punctuation import Frontier, Policy, Punctuation
from oop.punctuation.patterns import Value

LATE_MODES = ("drop", "raise", "admit")
NULL_MODES = ("raise", "aside")


@dataclass(frozen=True)
class Input(Spec):
    """``policies`` have their durations in the attributes' units; ``text`` is what the user wrote.

    ``numbers`` says that each row gets its number as a column, and that there are promises about it.
    """

    source: str
    time: str
    policies: tuple[tuple[str, Policy], ...]
    late: str = "drop"
    nulls: str = "raise"
    text: str = ""
    account: bool = False
    """Do late rows travel on, to be counted by the operators that have their windows?"""
    numbers: bool = False
    polled: bool = False
    """Is the source asked for a promise while it has nothing to read?"""
    name = "Source"
    numbers_rows = True

    def with_late(self, mode: str) -> Spec:
        return replace(self, late=mode)

    def schema(self, inputs: Sequence[pa.Schema]) -> pa.Schema:
        schema = with_arrival(inputs[0], self.policies)
        for name in (self.time, *(a for a, _ in self.policies)):
            if name not in schema.names:
                raise UnknownColumn.of(name, schema.names)
            check_time_type(name, schema.field(name).type)
        for attribute, policy in self.policies:
            for name in (*(policy.attributes or ()), *policy.columns):
                if name not in schema.names:
                    raise UnknownColumn.of(name, schema.names)
            for name in policy.columns:
                check_type(schema.field(name).type)
                if name in (policy.attributes or (attribute,)):
                    raise SchemaMismatch(f"promises about {name!r} cannot be by {name!r} itself")
        return schema_with_number(schema) if self.numbers else schema

    def with_number(self) -> Spec | None:
        return replace(self, numbers=True)

    def could_promise(self, groups: Mapping[str, Iterable[Value]], bound: int, ahead: int = 1) -> Frontier:
        """What the source may come to promise, for the checks of a plan before it runs. ``bound`` stands for any bound.

        ``groups`` are values that the plan's filters fix. Any group may come, but the checks ask only about these.
        Bounds of groups, and of several attributes together, may be ``ahead`` of the bound of all rows.
        """
        frontier = Frontier.of(promised(bound)) if self.numbers else Frontier()  # whatever the policies
        if self.polled:
            frontier.advance(Punctuation({self.time: bound}))
        for attribute, policy in self.policies:
            for promise in policy.could_promise(attribute, groups, bound, ahead):
                frontier.advance(promise)
        return frontier

    def start(self, context: Context) -> Operator:
        return InputOperator(self, context)

    def describe(self) -> str:
        numbers = "   rows numbered" if self.numbers else ""
        said = ", ".join(filter(None, (self.text, "polled" if self.polled else ""))) or "no promises"
        return f"Source {self.source}   {said}   late: {self.late}{numbers}"
