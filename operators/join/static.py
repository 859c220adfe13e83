"""Join of a stream with a static table, which is read once and held once (Aurora paper, sections 2.1 and 5.2.2.3).

Every row meets the table as it is, so nothing of the stream is held, and promises pass.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np
import pyarrow as pa

from oop.frozen import frozen
from oop.kernels import dispatch, views
from oop.kernels.signatures.joins import Reach
from oop.operators.core.compute import compute as pc
from oop.operators.core.context import Context
from oop.operators.core.marks import keep_late
from oop.operators.core.operator import Element, Operator
from oop.operators.core.spec import PassingSpec, UsedColumns
from oop.operators.expressions.expr import Expr
from oop.operators.groups.store_operator import unique_schema
from oop.operators.join.fields import called_right
from oop.operators.join.keys import as_key, common_type
from oop.operators.join.side import PAIRS
from oop.operators.join.words import KeyWords
from oop.operators.passing.filter import check_predicate
from oop.operators.rows.layout import take_column

KINDS = ("inner", "left", "semi", "anti")
_ANY = Reach(-math.inf, math.inf)


@frozen(eq=False)
class StaticJoin(PassingSpec):
    """``on`` are pairs of a column of the stream and one of the table, ``text`` is how they are shown."""

    table: pa.Table
    on: tuple[tuple[str, str], ...]
    how: str = "inner"
    where: Expr | None = None
    text: str = ""
    name = "StaticJoin"

    def key_types(self, stream: pa.Schema) -> list[pa.DataType]:
        table = self.table.schema
        return [common_type((a, stream.field(a).type), (b, table.field(b).type)) for a, b in self.on]

    def pair_schema(self, stream: pa.Schema) -> pa.Schema:
        names = called_right(stream.names, self.table.schema.names)
        fields = [pa.field(names[f.name], f.type, f.nullable or self.how == "left") for f in self.table.schema]
        return unique_schema([*(f.remove_metadata() for f in stream), *fields])

    def schema(self, inputs: Sequence[pa.Schema]) -> pa.Schema:
        self.key_types(inputs[0])
        pairs = self.pair_schema(inputs[0])
        if self.where is not None:
            check_predicate(self.where, pairs)
        return pairs if self.how in ("inner", "left") else inputs[0]

    def needs(self, wanted: UsedColumns, inputs: Sequence[pa.Schema]) -> list[UsedColumns]:
        """The columns that conditions look at, and those that go out."""
        if wanted is None:
            return [None]
        tested = frozenset() if self.where is None else self.where.columns()
        return [frozenset(a for a, _ in self.on) | ((wanted | tested) & frozenset(inputs[0].names))]

    def start(self, context: Context) -> Operator:
        return StaticJoinOperator(self, context)

    def describe(self) -> str:
        kind = "" if self.how == "inner" else f" {self.how}"
        condition = "" if self.where is None else f" where {self.where!r}"
        return f"Join{kind} with a table of {self.table.num_rows} rows {self.text}{condition}".rstrip()


class StaticJoinOperator(Operator):
    def __init__(self, spec: StaticJoin, context: Context) -> None:
        super().__init__(spec, context)
        (stream,), wanted = context.inputs, context.wanted
        self.spec = spec
        self.types = spec.key_types(stream)
        self.pairs, self.output = spec.pair_schema(stream), spec.schema(context.inputs)
        if wanted is not None:
            kept = [f for f in self.output if f.name in wanted]
            self.output = pa.schema(kept or [self.output[0]])  # a batch without columns would have no rows
        self.gives_pairs = spec.how in ("inner", "left")
        theirs = [f.name for f in self.pairs][len(stream) :]
        self.columns = {name: _chunk(column) for name, column in zip(theirs, spec.table.columns, strict=True)}
        tested = frozenset() if spec.where is None else spec.where.columns()
        self.tested = pa.schema([f for f in self.pairs if f.name in tested] or [self.pairs[0]])
        self.words = KeyWords(self.types)
        self._index()

    @property
    def state_bytes(self) -> int:
        """The bytes of the index. The table itself belongs to the spec, and all instances share it."""
        return self.table.nbytes + self.words.nbytes

    def _index(self) -> None:
        """Index the table's rows by key. Null keys meet nothing, so they are left out."""
        table = self.spec.table
        keys = [as_key(_chunk(table.column(b)), t) for (_, b), t in zip(self.spec.on, self.types, strict=True)]
        rows, keys = _known(keys, table.num_rows)
        self.table = dispatch.kernels().JoinTable(np.int64)
        self.table.insert(rows, self.words.of(keys, len(rows)), np.zeros(len(rows), np.int64))

    def process_batch(self, batch: pa.RecordBatch, port: int = 0) -> Iterator[Element]:
        keys = [as_key(batch.column(a), t) for (a, _), t in zip(self.spec.on, self.types, strict=True)]
        rows, keys = _known(keys, batch.num_rows)
        words, points = self.words.of(keys, len(rows)), np.zeros(len(rows), np.int64)
        matched = np.zeros(batch.num_rows, np.bool_)
        start = 0
        while start < len(rows):
            found, theirs, start = self.table.probe(words, points, _ANY, start, PAIRS)
            mine = rows[found]
            if self.spec.where is not None:
                passed = self.spec.where.evaluate(self._pairs(self.tested, batch, mine, theirs))
                chosen = views.booleans(pc.fill_null(passed, False))
                mine, theirs = mine[chosen], theirs[chosen]
            matched[mine] = True
            if self.gives_pairs and len(mine):
                yield keep_late(self._pairs(self.output, batch, mine, theirs), batch)
        if self.spec.how != "inner":
            alone = np.flatnonzero(matched if self.spec.how == "semi" else ~matched)
            if len(alone):
                yield keep_late(self._pairs(self.output, batch, alone, None), batch)
        if self.words.is_crowded(len(self.table)):  # by keys of the stream that the table does not have
            self.words.clear()
            self._index()

    def _pairs(
        self, schema: pa.Schema, batch: pa.RecordBatch, mine: np.ndarray, theirs: np.ndarray | None
    ) -> pa.RecordBatch:
        """Pairs of rows of the batch and of the table in the columns of ``schema``; nulls if ``theirs`` is None."""
        arrays = []
        for field in schema:
            if field.name not in self.columns:
                arrays.append(take_column(batch.column(field.name), mine, field.type))
            elif theirs is None:
                arrays.append(pa.nulls(len(mine), field.type))
            else:
                arrays.append(take_column(self.columns[field.name], theirs, field.type))
        return pa.RecordBatch.from_arrays(arrays, schema=schema)


def _known(keys: Sequence[pa.Array], length: int) -> tuple[np.ndarray, list[pa.Array]]:
    """The rows of which no key is null, and their keys."""
    valid = np.ones(length, np.bool_)
    for key in keys:
        if key.null_count:
            valid &= views.booleans(key.is_valid())
    if valid.all():
        return np.arange(length), list(keys)
    return np.flatnonzero(valid), [key.filter(pa.array(valid)) for key in keys]


def _chunk(column: pa.ChunkedArray) -> pa.Array:
    """A column of the table as an array. The table has at most one chunk."""
    return column.chunk(0) if column.num_chunks else pa.nulls(0, column.type)
