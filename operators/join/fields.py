"""The fields of `Join`, and what its running operator asks of them: which rows meet, and what their pairs look like."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from oop.frozen import frozen
from oop.operators.core.spec import Spec, UsedColumns
from oop.operators.expressions.expr import Expr
from oop.operators.groups.store_operator import unique_schema
from oop.operators.join.band import LEFT, RIGHT, Band, SameWindow
from oop.operators.join.keys import common_type
from oop.operators.join.promises import Names
from oop.operators.passing.filter import check_predicate
from oop.operators.rows.layout import check_takeable

SUFFIX = "_right"


def called_right(left: Sequence[str], right: Sequence[str]) -> dict[str, str]:
    """The name in a pair of each right column: with a suffix if the left side has a column of the same name."""
    return {n: n + SUFFIX if n in left else n for n in right}


@frozen(eq=False)
class JoinFields(Spec):
    """``on`` are pairs of key columns, ``times`` the time column of each side. ``least_of`` names a right column of a
    semi join: each left row goes out with the least value of that column among the right rows that released it."""

    on: tuple[tuple[str, str], ...]
    times: tuple[str, str]
    band: Band | SameWindow
    how: str = "inner"
    where: Expr | None = None
    unbounded: bool = False
    text: str = ""  # band and keys as the user wrote them
    least_of: str | None = None

    @property
    def pads(self) -> tuple[bool, bool]:
        """Which sides' rows go out alone if they met no partner."""
        return self.how in ("left", "full", "anti"), self.how in ("right", "full")

    @property
    def gives_pairs(self) -> bool:
        return self.how not in ("semi", "anti")

    def keys(self, side: int) -> tuple[str, ...]:
        return tuple(pair[side] for pair in self.on)

    def key_types(self, inputs: Sequence[pa.Schema]) -> list[pa.DataType]:
        return [common_type((a, inputs[LEFT].field(a).type), (b, inputs[RIGHT].field(b).type)) for a, b in self.on]

    def pair_names(self, inputs: Sequence[pa.Schema]) -> tuple[dict[str, str], dict[str, str]]:
        """The names of each side's columns in a pair, which are the names that ``where`` uses."""
        left = inputs[LEFT].names
        return {n: n for n in left}, called_right(left, inputs[RIGHT].names)

    def names(self, inputs: Sequence[pa.Schema]) -> Names:
        left, right = self.pair_names(inputs)
        return Names(self.times, (left, right if self.gives_pairs else {}), self.linked(inputs), self.pads)

    def linked(self, inputs: Sequence[pa.Schema]) -> tuple[tuple[str, str], ...]:
        """The keys that have one type on both sides, so that a promise by group means the same on both."""
        return tuple((a, b) for a, b in self.on if inputs[LEFT].field(a).type == inputs[RIGHT].field(b).type)

    def pair_schema(self, inputs: Sequence[pa.Schema]) -> pa.Schema:
        fields = []
        for side, names in enumerate(self.pair_names(inputs)):
            fields += [pa.field(names[f.name], f.type, f.nullable or self.pads[1 - side]) for f in inputs[side]]
        return unique_schema(fields)

    def schema(self, inputs: Sequence[pa.Schema]) -> pa.Schema:
        self.key_types(inputs)
        for field in (f for schema in inputs for f in schema):
            check_takeable(field)
        if self.where is not None:
            check_predicate(self.where, self.pair_schema(inputs))
        if self.gives_pairs:
            return self.pair_schema(inputs)
        left = [f.remove_metadata() for f in inputs[LEFT]]
        if self.least_of is None:
            return pa.schema(left)
        called = self.pair_names(inputs)[RIGHT][self.least_of]
        return unique_schema([*left, pa.field(called, inputs[RIGHT].field(self.least_of).type)])

    def needs(self, wanted: UsedColumns, inputs: Sequence[pa.Schema]) -> list[UsedColumns]:
        """The columns that conditions look at, and those that go out."""
        used = set() if self.where is None else set(self.where.columns())
        used |= set(self.schema(inputs).names) if wanted is None else wanted
        return [
            frozenset({self.times[side], *self.keys(side), *(n for n, called in names.items() if called in used)})
            for side, names in enumerate(self.pair_names(inputs))
        ]
