"""Join (Aurora paper, section 5.2.2.3): pairs whose attributes are near, and for which a predicate holds.

"A simple variation of the symmetric hash join (that prunes internal tables of tuples that, because of the assumed
orderings, are guaranteed not to join with tuples that have yet to arrive from the opposite stream) produces the correct
join result". That variation is the join of oop, given the promises of the two orders. "Join need not sort its inputs in
order to process disordered streams but can instead delay pruning tuples to account for slack."
"""

from __future__ import annotations

from numbers import Number
from typing import Any

import numpy as np
import pyarrow as pa

from oop.aurora.arguments import wrong
from oop.aurora.assuming import Assume
from oop.aurora.equalities import equalities
from oop.aurora.join_groups import check_freed, narrowed, of_one_type
from oop.errors import OopError
from oop.operators.assume.order import Order
from oop.operators.core.times import duration_in
from oop.operators.expressions.expr import Expr, col
from oop.operators.join.fields import called_right
from oop.punctuation import at_end
from oop.punctuation.durations import Duration
from oop.site import user_line
from oop.streams.joining import read_table
from oop.streams.sources import source
from oop.streams.stream import Stream


class Join:
    """``Join(P, size=s, left=O1, right=O2)(S1, S2)``: pairs t, u with ``|t.A - u.B| <= size`` for which P holds.

    ``P`` is an expression over both rows (None: it holds for all pairs). In it, as in the result, columns of the right
    that clash have the suffix ``_right``. Pairs that satisfy its equalities between columns of the two sides are found
    by hashing.

    An order by groups frees rows of the other side if the groups' columns are among these equalities, or if P lists
    their values (``oop.col("Sid").isin(["a", "b"])``). It also does if there are promises about all groups together:
    from the source, or from ``left=Assume(order, groups=[…])`` or ``idle=…`` in the place of an order. Otherwise no row
    could ever be freed, and the join is refused.

    Either side, or both, may be a table that does not change: a path, an Arrow table. The paper calls it "a window on a
    stream that is infinite in size", so there is no ``size``, and only a stream has an order.

    >>> import pyarrow as pa, oop
    >>> x = oop.source(pa.table({"Sid": [1, 2], "Time": [0, 30], "Pos": [5, 9]}), time="Time", punctuate=None)
    >>> y = oop.source(pa.table({"Sid": [7, 8], "Time": [10, 45], "Pos": [5, 9]}), time="Time", punctuate=None)
    >>> same = oop.col("Pos") == oop.col("Pos_right")
    >>> meet = Join(same, size=10, left=oop.Order("Time"), right=oop.Order("Time"))
    >>> meet(x, y).run().to_table().to_pylist()
    [{'Sid': 1, 'Time': 0, 'Pos': 5, 'Sid_right': 7, 'Time_right': 10, 'Pos_right': 5}]
    >>> names = pa.table({"Sid": [1, 2], "Name": ["Ann", "Bob"]})
    >>> named = Join(oop.col("Sid") == oop.col("Sid_right"), left=oop.Order("Time"))
    >>> named(x, names).run().to_table()["Name"].to_pylist()
    ['Ann', 'Bob']
    """

    def __init__(
        self,
        P: Expr | None,
        size: Duration | None = None,
        left: Order | Assume | None = None,
        right: Order | Assume | None = None,
    ) -> None:
        if P is not None and not isinstance(P, Expr):
            raise wrong(f"P is an expression, not {P!r}", "write oop.col('Pos') == oop.col('Pos_right'), or None")
        self.predicate, self.size = P, size
        self.sides = tuple(o if o is None or isinstance(o, Assume) else Assume(o) for o in (left, right))

    def __call__(self, left: Any, right: Any) -> Stream:
        streams = [isinstance(side, Stream) for side in (left, right)]
        try:
            if all(streams):
                return self._of_streams(left, right)
            for side in (0, 1):
                if not streams[side]:
                    self._check_static(side)
            if not any(streams):
                return self._of_tables(left, right)
            return self._with_right_table(left, right) if streams[0] else self._with_left_table(left, right)
        except OopError as error:
            raise error.located(user_line()) from error.__cause__

    def _of_streams(self, left: Stream, right: Stream) -> Stream:
        first, second = self.sides
        if self.size is None or first is None or second is None:
            raise wrong(
                "a join of two streams has a size, and an order for each", "write Join(P, size=…, left=…, right=…)"
            )
        both = left.schema, right.schema
        linked = [pair for pair in equalities(self.predicate, *both)[0] if of_one_type(pair, *both)]
        called = {name: name for name in left.schema.names}, called_right(left.schema.names, right.schema.names)
        left, first = narrowed(left, first, self.predicate, called[0], [a for a, _ in linked])
        right, second = narrowed(right, second, self.predicate, called[1], [b for _, b in linked])
        left, right = first(left), second(right)
        if duration_in(self.size, left.schema.field(first.order.on).type) < 0:
            raise wrong(f"the size of a join is 0 or more, not {self.size!r}", "write 60, or '1h'")
        pairs, rest = equalities(self.predicate, left.schema, right.schema)
        check_freed(0, left, first, linked, called[0])
        check_freed(1, right, second, linked, called[1])
        return left.join(
            right,
            on=dict(pairs) or None,
            within=(f"-{self.size.strip().lstrip('+')}" if isinstance(self.size, str) else -self.size, self.size),
            where=rest,
            times=(first.order.on, second.order.on),
        )

    def _check_static(self, table: int) -> None:
        if self.sides[table] is not None:
            raise wrong("a table that does not change is in no order", "give one for a stream alone")
        if self.size is not None:
            raise wrong("a table that does not change is a window of infinite size", "leave out size=")

    def _of_tables(self, left: Any, right: Any) -> Stream:
        """Join two tables: "Join also permits one or both of its inputs to be static tables". The rows of the left
        become a stream that ends; its time is the number of the row."""
        for side in (left, right):
            if side is None or isinstance(side, Number):
                raise wrong(f"a side of a join is a stream or a table, not {side!r}", "give a pa.table, or a path")
        rows, table = read_table(left), read_table(right)
        number = "__row"
        while number in rows.schema.names or number in table.schema.names:
            number = f"_{number}"
        numbered = rows.append_column(number, pa.array(np.arange(len(rows))))
        found = self._with_right_table(source(numbered, time=number, punctuate=at_end()), table)
        columns = [(name, col(name)) for name in found.schema.names if name != number]
        return Stream(found.flow.project(columns, "Join"))

    def _with_right_table(self, left: Stream, data: Any) -> Stream:
        left = left if self.sides[0] is None else self.sides[0](left)
        table = read_table(data)
        pairs, rest = equalities(self.predicate, left.schema, table.schema)
        return left.join(table, on=dict(pairs) or None, where=rest)

    def _with_left_table(self, data: Any, right: Stream) -> Stream:
        """Join a table with a stream. In oop the stream is the left side of such a join, so its columns are renamed
        before it, and all columns are put in Aurora's order behind it."""
        right = right if self.sides[1] is None else self.sides[1](right)
        table = read_table(data)
        pairs, rest = equalities(self.predicate, table.schema, right.schema)
        called = called_right(table.schema.names, right.schema.names)
        columns = [(called[name], col(name)) for name in right.schema.names]
        renamed = Stream(right.flow.project(columns, "Join"))
        found = renamed.join(table, on={called[b]: a for a, b in pairs} or None, where=rest)
        names = [*table.schema.names, *called.values()]
        return Stream(found.flow.project([(name, col(name)) for name in names], "Join"))
