"""The fields of `Input`, and what its running operator asks of them."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from oop.errors import SchemaMismatch, UnknownColumn
from oop.frozen import frozen
from oop.operators.core.group_values import check_type
from oop.operators.core.spec import Spec
from oop.operators.core.times import check_time_type
from oop.operators.source.numbers import schema_with_number
from oop.operators.source.stamping import with_arrival
from oop.punctuation import Policy


@frozen()
class InputFields(Spec):
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
