"""Join of a stream with a static table, which is read once and held once (Aurora, sections 2.1 and 5.2.2.3).

Every row meets the table as it is, so nothing of the stream is held, and promises pass.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from oop.kernels import dispatch, views
from oop.kernels.reference_joins import Reach
from oop.operators.base import Element, Operator, Passing, Spec
from oop.operators.compute import compute as pc
from oop.operators.expressions import Expr
from oop.operators.filter import check_predicate
from oop.operators.held_rows import as_type, take_column
from oop.operators.holding import unique_schema
from oop.operators.join import SUFFIX
from oop.operators.join_keys import common_type
from oop.operators.join_words import KeyWords
from oop.operators.marks import keep_late

KINDS = ("inner", "left", "semi", "anti")
_PAIRS = 65_536
_ANY = Reach(-math.inf, math.inf)


@dataclass(frozen=True, eq=False)
class StaticJoin(Spec):
    """``on`` are pairs of a column of the stream and one of the table."""

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
        fields = [
            pa.field(f.name + SUFFIX if f.name in stream.names else f.name, f.type, f.nullable or self.how == "left")
            for f in self.table.schema
        ]
        return unique_schema([*(f.remove_metadata() for f in stream), *fields])

    def schema(self, inputs: Sequence[pa.Schema]) -> pa.Schema:
        self.key_types(inputs[0])
        pairs = self.pair_schema(inputs[0])
        if self.where is not None:
            check_predicate(self.where, pairs)
        return pairs if self.how in ("inner", "left") else inputs[0]

    def start(self, inputs: Sequence[pa.Schema]) -> Operator:
        return StaticJoinOperator(self, inputs)

    def describe(self) -> str:
        kind = "" if self.how == "inner" else f" {self.how}"
        condition = "" if self.where is None else f" where {self.where!r}"
        return f"Join{kind} with a table of {self.table.num_rows} rows {self.text}{condition}".rstrip()

    def promise_note(self) -> str:
        return "promises pass"


class StaticJoinOperator(Passing):
    def __init__(self, spec: StaticJoin, inputs: Sequence[pa.Schema]) -> None:
        super().__init__(spec, inputs)
        self.spec, self.input = spec, inputs[0]
        self.types = spec.key_types(inputs[0])
        self.pairs, self.output = spec.pair_schema(inputs[0]), spec.schema(inputs)
        self.columns = [_one(c) for c in spec.table.columns]
        self.words = KeyWords(self.types)
        self._index()

    def _index(self) -> None:
        """Find the table's rows by key. Null keys meet nothing."""
        names = self.spec.table.schema.names
        keys = [as_type(self.columns[names.index(b)], t) for (_, b), t in zip(self.spec.on, self.types, strict=True)]
        rows, keys = _known(keys, self.spec.table.num_rows)
        self.table = dispatch.kernels().JoinTable(np.int64)
        self.table.insert(rows, self.words.of(keys, len(rows)), np.zeros(len(rows), np.int64))

    def process_batch(self, batch: pa.RecordBatch, port: int = 0) -> Iterator[Element]:
        keys = [as_type(batch.column(a), t) for (a, _), t in zip(self.spec.on, self.types, strict=True)]
        rows, keys = _known(keys, batch.num_rows)
        words = self.words.of(keys, len(rows))
        matched = np.zeros(batch.num_rows, np.bool_)
        start = 0
        while start < len(rows):
            places = np.zeros(len(rows), np.int64)
            mine, theirs, start = self.table.probe(words, places, _ANY, start, _PAIRS)
            pairs = self._pairs(batch, rows[mine], theirs)
            if self.spec.where is not None:
                passed = pc.fill_null(self.spec.where.evaluate(pairs), False)
                pairs, mine = pairs.filter(passed), mine[views.booleans(passed)]
            matched[rows[mine]] = True
            if self.spec.how in ("inner", "left") and pairs.num_rows:
                yield keep_late(pairs, batch)
        if self.spec.how != "inner":
            chosen = np.flatnonzero(matched if self.spec.how == "semi" else ~matched)
            if len(chosen):
                yield keep_late(self._alone(batch, chosen), batch)
        if self.words.is_crowded(len(self.table)):  # keys of the stream that the table does not have
            self.words.clear()
            self._index()

    def _pairs(self, batch: pa.RecordBatch, mine: np.ndarray, theirs: np.ndarray) -> pa.RecordBatch:
        own = [take_column(c, mine, f.type) for c, f in zip(batch.columns, self.input, strict=True)]
        other = [take_column(c, theirs, c.type) for c in self.columns]
        return pa.RecordBatch.from_arrays(own + other, schema=self.pairs)

    def _alone(self, batch: pa.RecordBatch, chosen: np.ndarray) -> pa.RecordBatch:
        own = [take_column(c, chosen, f.type) for c, f in zip(batch.columns, self.input, strict=True)]
        padding = [pa.nulls(len(chosen), c.type) for c in self.columns] if self.spec.how == "left" else []
        return pa.RecordBatch.from_arrays(own + padding, schema=self.output)


def _known(keys: Sequence[pa.Array], length: int) -> tuple[np.ndarray, list[pa.Array]]:
    """The rows of which no key is null, and their keys."""
    valid = np.ones(length, np.bool_)
    for key in keys:
        if key.null_count:
            valid &= views.booleans(key.is_valid())
    if valid.all():
        return np.arange(length), list(keys)
    return np.flatnonzero(valid), [key.filter(pa.array(valid)) for key in keys]


def _one(column: pa.ChunkedArray) -> pa.Array:
    if column.num_chunks == 1:
        return column.chunk(0)
    if pa.types.is_dictionary(column.type):
        column = column.unify_dictionaries()
    combined = column.combine_chunks()
    return combined if isinstance(combined, pa.Array) else pa.concat_arrays(combined.chunks)
